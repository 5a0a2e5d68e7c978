"""The report as a GitHub issue: the answer in a table, evidence in fences, long parts folded.

A part that would pass GitHub's limit is left out, or the end of it, and what is left out is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.render.markup import cell, code, fence, numbered, summary, words
from aoti_logscan.render.told import (
    bound_told,
    cause_of,
    check_told,
    excerpt_of,
    fixes_told,
    index_told,
    kernel_told,
    not_at_fault_told,
    origin,
    own_exception_told,
    producer,
    replaced_told,
    title_told,
    values_told,
)
from aoti_logscan.report import (
    Argument,
    CompileRecord,
    Dossier,
    Evidence,
    Excerpt,
    Finding,
    Flag,
    Kernel,
    LaunchReport,
    Lineage,
    NextStep,
    Report,
    SourceReport,
    SuspectCode,
)
from aoti_logscan.rungs import RUNGS

#: characters; GitHub takes 65,536
MAX_CHARACTERS = 65_000
#: findings of an undecided report, and places of one, that are shown with their surroundings
_MAX_FINDINGS = 3
_MAX_PLACES = 3
#: launches before the last one that are listed
_MAX_LAUNCHES = 30
_LANGUAGES = {"triton": "python", "python": "python", "cpp": "cpp"}
_NO_VERSION = (
    "its version was not found; please add what `python -m torch.utils.collect_env` prints"
)
_RAN = {True: "never came back", False: "came back", None: "call"}


def render_markdown(dossier: Dossier, *, redacted: Mapping[str, int] | None = None) -> str:
    """The dossier as GitHub Markdown with a final newline, of at most `MAX_CHARACTERS`.

    `redacted` says how many values of each kind were replaced, None that nothing was.
    """
    report = dossier.report
    page = _Page(_foot(report, redacted))
    for part in (_head(report), _evidence(dossier), _explained(report), _next_steps(report)):
        page.add(part)
    for section in _sections(dossier):
        page.fold(section)
    return page.text()


class _Section(NamedTuple):
    """A folded part; of its `items` the last ones may be left out. `head` opens a table."""

    title: str
    items: Sequence[str]
    head: str = ""


class _Page:
    """What is written so far; takes as much as there is room for."""

    #: characters for what is said of parts that were left out
    _RESERVE = 400

    def __init__(self, foot: str) -> None:
        self._foot = foot
        self._parts: list[str] = []
        self._left = MAX_CHARACTERS - self._RESERVE - len(foot) - 3
        self._omitted: list[str] = []

    def add(self, part: str) -> None:
        """Take a part of the answer itself; an empty one is none."""
        if part and not self._take(part):
            self._omitted.append(part.partition("\n")[0].strip("# "))

    def fold(self, section: _Section) -> None:
        """Take a folded part with as many of its items as there is room for."""
        if not section.items:
            return
        head = f"<details><summary>{summary(section.title)}</summary>\n\n"
        room = self._left - len(head) - len(section.head) - 100
        kept = list(_fitting(section.items, room))
        if not kept:
            self._omitted.append(f"{summary(section.title)} ({len(section.items)})")
            return
        left_out = len(section.items) - len(kept)
        body = "\n".join([section.head, *kept] if section.head else kept)
        note = f"\n\n{left_out} more are left out for length." if left_out else ""
        self._take(f"{head}{body}{note}\n\n</details>")

    def _take(self, part: str) -> bool:
        if len(part) + 2 > self._left:
            return False
        self._left -= len(part) + 2
        self._parts.append(part)
        return True

    def text(self) -> str:
        """All parts, then what was left out."""
        told = f"Left out for length: {'; '.join(self._omitted)}."
        if len(told) > self._RESERVE - 2:
            told = f"{len(self._omitted)} parts are left out for length."
        parts = [*self._parts, told] if self._omitted else self._parts
        return "\n\n".join([*parts, self._foot]) + "\n"


def _fitting(items: Iterable[str], room: int) -> Iterator[str]:
    for item in items:
        room -= len(item) + 1
        if room < 0:
            return
        yield item


# --- the answer


def _head(report: Report) -> str:
    """The title, the verdict in a sentence, and the table."""
    certainty = f" ({report.verdict.certainty})" if report.verdict.certainty else ""
    rows = [f"| {name} | {value} |" for name, value in _rows(report) if value]
    table = "\n".join(["| | |", "|---|---|", *rows])
    title = f"## {words(title_told(report))}{certainty}"
    why = report.lineage.cause if report.lineage and report.lineage.cause else None
    told = f"{report.verdict.summary.rstrip('.')}." + (f" So {why}." if why else "")
    own = own_exception_told(report)
    return "\n\n".join([title, words(told), *([f"{words(own)}."] if own else []), table])


def _rows(report: Report) -> Iterator[tuple[str, str | None]]:
    yield "Class", code(report.verdict.failure_class)
    if cause := cause_of(report):
        yield "Rank", None if cause.rank is None else str(cause.rank)
        known = [(name, str(value)) for name, value in cause.facts.items() if value is not None]
        yield "Facts", "<br>".join(f"{words(name)} {cell(value)}" for name, value in known)
    if report.last_kernel is not None:
        yield from _kernel_rows(report.last_kernel, not_at_fault_told(report))
    else:
        yield "Last kernel launched", "none is known"
    if report.lineage is not None:
        yield from _lineage_rows(report.lineage)
    yield "torch", ", ".join(map(cell, _versions(report))) or _NO_VERSION
    yield "Signature", cell(report.signature)
    yield "Tool", f"{report.tool.name} {report.tool.version}"


def _kernel_rows(kernel: Kernel, beside: str | None) -> Iterator[tuple[str, str | None]]:
    why = f"{kernel.certainty}: {words(kernel.why)}"
    told = [cell(kernel.name), why, *([words(beside)] if beside else [])]
    yield kernel_told(kernel), "<br>".join(filter(None, told))
    if kernel.call is not None:
        at = f"{kernel.call.file}:{kernel.call.line}" if kernel.call.file else None
        yield "Its call", "<br>".join(filter(None, [cell(at), cell(kernel.call.text)]))
    yield "It reads", "; ".join(cell(producer(one)) for one in kernel.producers[:6])
    yield "It comes from", cell(origin(kernel.user_stack, kernel.source_nodes))


def _lineage_rows(lineage: Lineage) -> Iterator[tuple[str, str | None]]:
    where = f" in {cell(lineage.kernel)}" if lineage.kernel else ""
    yield "Failed check", f"{cell(check_told(lineage))}{where}"
    yield "Kernels that fit", ", ".join(map(cell, lineage.candidates))
    yield "Index", words(index_told(lineage.index_source)) if lineage.index_source else None
    yield "Bound", cell(bound_told(lineage)) if lineage.bound else None
    yield "Fails with", "; ".join(map(_assigned, lineage.failing_values[:3]))
    yield "Model code", cell(origin(lineage.user_stack, ()))


def _assigned(values: Mapping[str, int]) -> str:
    return cell(", ".join(f"{name} = {value}" for name, value in values.items()))


def _versions(report: Report) -> list[str]:
    told = (source.torch_version for source in report.sources)
    return list(dict.fromkeys(version for version in told if version))


def _evidence(dossier: Dossier) -> str:
    """The lines that the verdict rests on, each with its surroundings."""
    cause = cause_of(dossier.report)
    findings = (cause,) if cause else dossier.report.findings[:_MAX_FINDINGS]
    told = [part for finding in findings for part in _places(finding, dossier.excerpts)]
    told += _mark(dossier, [one for finding in findings for one in finding.evidence])
    return "\n\n".join(["### Evidence", *told]) if told else ""


def _places(finding: Finding, excerpts: Sequence[Excerpt]) -> Iterator[str]:
    for evidence in finding.evidence[:_MAX_PLACES]:
        yield code(_at(evidence))
        yield _around(evidence, excerpts)
    more = len(finding.evidence) - _MAX_PLACES
    if more > 0:
        yield f"And in {more} further places."
    if finding.count > 1:
        yield f"One of {finding.count} records that say so."


def _mark(dossier: Dossier, told: Sequence[Evidence]) -> Iterator[str]:
    """Where the last kernel was seen, if that is another line."""
    kernel = dossier.report.last_kernel
    seen = kernel.evidence if kernel else None
    if kernel is None or seen is None or seen in told:
        return
    yield f"{kernel_told(kernel)}: {code(_at(seen))}"
    yield _around(seen, dossier.excerpts)


def _at(evidence: Evidence) -> str:
    return f"{evidence.source}:{evidence.line}"


def _around(evidence: Evidence, excerpts: Sequence[Excerpt]) -> str:
    one = excerpt_of(evidence, excerpts)
    return fence(numbered(one.text, one.first_line, (one.line,)) if one else evidence.text)


def _explained(report: Report) -> str:
    cause = cause_of(report)
    why = f"### Why\n\n{words(cause.explain)}" if cause and cause.explain else ""
    fixes = [f"- {words(fix)}" for fix in fixes_told(report)]
    helps = "\n".join(["### What helps\n", *fixes]) if fixes else ""
    return "\n\n".join(filter(None, [why, helps]))


def _next_steps(report: Report) -> str:
    """What was done already, as the flags show it, and what is open."""
    done = [_done(flag) for flag in report.flags if flag.state == "on" and flag.name in _STEPS]
    steps = [_step(step, report) for step in report.next_steps]
    stands = [told for name, told in _STANDS_FOR.items() if any(name in one for one in steps)]
    told = [f"{'; '.join(stands)}.\n"] if stands else []
    return "\n".join(["### Next steps\n", *told, *done, *steps]) if done or steps else ""


#: flags that are steps of debugging, done where they were on
_STEPS = tuple(name for rung in RUNGS for name in rung.sets)
_STANDS_FOR = {
    " SCRIPT.py": "`SCRIPT.py` stands for the program",
    " COMPILE_SCRIPT.py": "`COMPILE_SCRIPT.py` for what compiles the model",
}


def _done(flag: Flag) -> str:
    where = f" ({code(_at(flag.evidence))})" if flag.evidence else ""
    return f"- [x] {code(flag.name)} was on{where}: {words(flag.does)}"


# print(...)    torch.library.opcheck(...): a line for the program, none for a shell
_PYTHON_LINE = lazy_re(r"(?:print|torch(?:\.\w+)+)\(")


def _step(step: NextStep, report: Report) -> str:
    lineage = report.lineage
    told_above = (report.verdict.summary, lineage.cause if lineage else None)
    again = " (needs a new compilation)" if step.takes_effect == "compile" else ""
    costs = f"Costs: {step.costs}." if step.costs else ""
    why = None if step.why in told_above else step.why
    told = " ".join(filter(None, [why and f"{why.rstrip('.')}.", costs]))
    lines = [f"- [ ] **{words(step.title)}**{again}" + (f"<br>{words(told)}" if told else "")]
    if step.command:
        is_line = _PYTHON_LINE.match(step.command) or (
            lineage and step.command == lineage.assertion
        )
        language = "python" if is_line else "sh"
        lines += ["", *(f"  {line}" for line in fence(step.command, language).split("\n")), ""]
    return "\n".join(lines)


def _foot(report: Report, redacted: Mapping[str, int] | None) -> str:
    signature = f" Signature {code(report.signature)}." if report.signature else ""
    by = f"Written by {report.tool.name} {report.tool.version}."
    return f"<sub>{by}{signature} {words(replaced_told(redacted))}</sub>"


# --- folded parts


def _sections(dossier: Dossier) -> Iterator[_Section]:
    report = dossier.report
    if report.last_kernel is not None:
        yield _arguments(report.last_kernel.arguments)
    if report.lineage is not None and report.lineage.slice:
        lines = fence("\n".join(report.lineage.slice), _language(dossier))
        yield _Section("What the index is made of, in the kernel's own lines", [lines])
    for one in dossier.code:
        yield _suspect(one)
    yield _launches(dossier)
    rest = [one for at, one in enumerate(report.findings) if at != report.verdict.finding]
    yield _Section(f"Further findings ({len(rest)})", [_further(one) for one in rest])
    yield _compiles(report.compiles)
    yield _flags(report.flags)
    yield _sources(report.sources)


def _language(dossier: Dossier) -> str:
    """What the kernel is written in that the lineage is about."""
    lineage = dossier.report.lineage
    of = [one.language for one in dossier.code if lineage and one.name == lineage.kernel]
    return _LANGUAGES[of[-1]] if of else "text"


def _table(*columns: str) -> str:
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _arguments(arguments: Sequence[Argument]) -> _Section:
    told = [
        _row(cell(one.name), one.phase, ", ".join(f"{k} {cell(v)}" for k, v in values.items()))
        for one in arguments
        if (values := values_told(one))
    ]
    title = f"Arguments of the last kernel as they were printed ({len(told)})"
    return _Section(title, told, _table("argument", "launch", "values"))


def _suspect(suspect: SuspectCode) -> _Section:
    language = _LANGUAGES[suspect.language]
    if suspect.role == "call":
        title = f"Call of {suspect.name}" + (f" in {suspect.file}" if suspect.file else "")
    else:
        suffix = {"python": "py", "cpp": "cpp"}[language]
        of = f", compiled from {suspect.file}.{suffix}" if suspect.file else ""
        title = f"Code of {suspect.name}{of}"
    return _Section(
        title, [fence(numbered(suspect.text, suspect.first_line, suspect.lit), language)]
    )


def _launches(dossier: Dossier) -> _Section:
    """The launches that were marked last, the last one first."""
    marked = [one for one in dossier.launches if one.open is not None]
    last = marked[: -_MAX_LAUNCHES - 1 : -1]
    count = len(marked) + dossier.launches_left_out
    return _Section(
        f"The last {len(last)} of {count} launches that were marked, backwards",
        [_launch(one) for one in last],
        _table("launch", "kernel", "", "rank", "marked in"),
    )


def _launch(launch: LaunchReport) -> str:
    rank = "" if launch.rank is None else str(launch.rank)
    at = cell(f"{launch.source}:{launch.line}")
    return _row(str(launch.index), cell(launch.kernel), _RAN[launch.open], rank, at)


def _further(finding: Finding) -> str:
    rank = "" if finding.rank is None else f" on rank {finding.rank}"
    head = f"- {words(finding.title)} ({finding.role}{rank}): {words(finding.summary)}"
    return head + "".join(
        f"\n  - {code(_at(one))} {code(one.text)}" for one in finding.evidence[:1]
    )


def _compiles(compiles: Sequence[CompileRecord]) -> _Section:
    failed = [_compile(one) for one in compiles if not one.ok]
    title = f"Compilations that failed ({len(failed)} of {len(compiles)})"
    return _Section(title, failed, _table("id", "rank", "exception", "reason"))


def _compile(failed: CompileRecord) -> str:
    rank = "" if failed.rank is None else str(failed.rank)
    return _row(cell(failed.id), rank, cell(failed.fail_type), cell(failed.fail_reason))


def _flags(flags: Sequence[Flag]) -> _Section:
    """The flags of which something is known, a row each; the others by their names."""
    known = [_flag(one) for one in flags if one.state != "unknown"]
    rest = ", ".join(code(one.name) for one in flags if one.state == "unknown")
    rows = [*known, f"\nNothing tells whether these were on: {rest}"] if rest else known
    return _Section("Debugging flags", rows, _table("flag", "state", "takes effect", "told by"))


def _flag(flag: Flag) -> str:
    told = cell(_at(flag.evidence)) if flag.evidence else "generated code or a trace"
    return _row(cell(flag.name), flag.state, f"at {flag.takes_effect} time", told)


def _sources(sources: Sequence[SourceReport]) -> _Section:
    rows = [_source(one) for one in sources]
    return _Section("What was read", rows, _table("source", "bytes", "records", "not understood"))


def _source(source: SourceReport) -> str:
    records = ", ".join(f"{name} {count}" for name, count in source.records.items())
    problems = [f"line {one.line}: {one.what}" if one.line else one.what for one in source.problems]
    told = "<br>".join(map(words, problems[:5]))
    more = f"<br>and {len(problems) - 5} more" if len(problems) > 5 else ""
    return _row(cell(source.name), f"{source.bytes:,}", words(records), told + more)
