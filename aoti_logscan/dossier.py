"""What is shown beside a report: the lines around its evidence, the code of its suspects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from aoti_logscan.artifacts.definition import Definition
from aoti_logscan.artifacts.library import Library
from aoti_logscan.artifacts.wrapper_code import stem
from aoti_logscan.contexts import Context
from aoti_logscan.lineage import Check
from aoti_logscan.report import (
    Dossier,
    Evidence,
    Excerpt,
    LaunchReport,
    Report,
    SuspectCode,
)

#: surroundings of records by the source's name and the record's offset
Contexts = Mapping[str, Mapping[int, Context]]

#: launches that are shown
MAX_LAUNCHES = 100_000
_MAX_SUSPECTS = 20
#: kernels whose code is shown, and characters of it
_MAX_CODES = 6
_MAX_CODE = 100_000
#: lines of a wrapper around a call
_AROUND_CALL = 12
#: findings that have excerpts, and places of each
_MAX_FINDINGS = 60
_MAX_PLACES = 3
#: characters of one line of an excerpt
_MAX_LINE = 400


def dossier(
    report: Report, launches: Sequence[LaunchReport], library: Library, contexts: Contexts
) -> Dossier:
    """The report with its excerpts, its launches and the code of its suspects."""
    return Dossier(
        report=report,
        launches=_shown(launches),
        launches_left_out=max(0, len(launches) - MAX_LAUNCHES),
        excerpts=tuple(_excerpts(report, contexts)),
        code=(*_calls(report, library), *_kernels(report, library)),
    )


def suspected(report: Report) -> tuple[str, ...]:
    """Kernels worth a look: the last one, those that made what it read, those of the findings."""
    names: list[str | None] = []
    if last := report.last_kernel:
        names += [last.name, *(producer.kernel for producer in last.producers)]
    if lineage := report.lineage:
        names += [lineage.kernel, *lineage.candidates]
    names += [finding.facts.get("kernel") for finding in report.findings]
    return tuple(dict.fromkeys(name for name in names if name))[:_MAX_SUSPECTS]


def _shown(launches: Sequence[LaunchReport]) -> tuple[LaunchReport, ...]:
    """The launches up to the limit: of more, the first half and the last."""
    if len(launches) <= MAX_LAUNCHES:
        return tuple(launches)
    half = MAX_LAUNCHES // 2
    return (*launches[:half], *launches[-half:])


# --- excerpts


def _excerpts(report: Report, contexts: Contexts) -> Iterator[Excerpt]:
    """The surroundings of the findings' evidence, then of the last kernel's, each once."""
    seen = set()
    for evidence in _places(report):
        at = (evidence.source, evidence.offset)
        context = contexts.get(evidence.source, {}).get(evidence.offset)
        if context is not None and at not in seen:
            seen.add(at)
            yield Excerpt(
                source=evidence.source,
                line=evidence.line,
                first_line=context.first_line,
                text=context.text,
            )


def _places(report: Report) -> Iterator[Evidence]:
    for finding in report.findings[:_MAX_FINDINGS]:
        yield from finding.evidence[:_MAX_PLACES]
    if report.last_kernel is not None and report.last_kernel.evidence is not None:
        yield report.last_kernel.evidence


def shortened(whole: Dossier) -> Dossier:
    """The dossier with excerpts of no line that is too long; what is cut may not be a secret."""
    excerpts = (
        msgspec.structs.replace(one, text="\n".join(map(_clipped, one.text.split("\n"))))
        for one in whole.excerpts
    )
    return msgspec.structs.replace(whole, excerpts=tuple(excerpts))


def _clipped(line: str) -> str:
    """A longer line without its middle: of a record in JSON both ends tell something."""
    if len(line) <= _MAX_LINE:
        return line
    return f"{line[: _MAX_LINE * 3 // 4]} ... {line[-_MAX_LINE // 4 :]}"


# --- code


def _calls(report: Report, library: Library) -> Iterator[SuspectCode]:
    """The wrapper's lines around the call of the last kernel."""
    kernel = report.last_kernel
    call = kernel.call if kernel else None
    if kernel is None or call is None or call.file is None or call.line is None:
        return
    launch = library.launch_on(call.file, call.line)
    if launch is None:
        return
    first = max(1, call.line - _AROUND_CALL)
    lines = launch.unit.wrapper.lines[first - 1 : call.line + _AROUND_CALL]
    yield SuspectCode(
        name=kernel.name,
        role="call",
        language="python" if launch.unit.name.endswith(".py") else "cpp",
        file=launch.unit.name,
        first_line=first,
        text="\n".join(lines),
        lit=(call.line,),
    )


def _kernels(report: Report, library: Library) -> Iterator[SuspectCode]:
    """The code of the kernels that may be at fault, as far as it is at hand."""
    found = ((name, library.defined(name)) for name in suspected(report))
    defined = [(name, definition) for name, definition in found if definition is not None]
    for name, definition in defined[:_MAX_CODES]:
        lit = tuple(_lit(report, definition, library))
        first, text = _around(definition, lit)
        yield SuspectCode(
            name=name,
            role="kernel",
            language=definition.language,
            file=definition.file,
            first_line=first,
            text=text,
            lit=lit,
        )


def _around(definition: Definition, lit: Sequence[int]) -> tuple[int, str]:
    """The text and the number of its first line; of a longer one what stands around a lit line."""
    if len(definition.text) <= _MAX_CODE:
        return definition.first, definition.text
    lines = definition.text.split("\n")
    per_line = len(definition.text) // len(lines) + 1
    count = max(1, _MAX_CODE // per_line)
    start = max(0, (lit[0] - definition.first if lit else 0) - count // 2)
    return definition.first + start, "\n".join(lines[start : start + count])[:_MAX_CODE]


def _lit(report: Report, definition: Definition, library: Library) -> Iterator[int]:
    """The lines of a kernel that the failure names: by file and line, else by the check's text."""
    if report.verdict.finding is None:
        return
    facts = report.findings[report.verdict.finding].facts
    file, line = facts.get("file"), facts.get("line")
    if file and line and definition.file == stem(file):
        yield line
        return
    yield from _asserting(facts, definition, library)


def _asserting(facts: Mapping[str, Any], definition: Definition, library: Library) -> Iterator[int]:
    check, code = Check.of(facts), library.code(definition)
    if check is not None and code is not None:
        yield from (one.line for one in code.assertions if check.is_said_by(one))
