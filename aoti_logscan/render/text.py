"""The report for a terminal: the verdict and the next step first, the rest folded."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from aoti_logscan.report import Evidence, Finding, IndexSource, Lineage, Producer, Report

_INDENT = "  "


def render_text(report: Report, *, show_all: bool = False, width: int = 80) -> str:
    """The report as plain text with a final newline; no control character of a log is in it.

    `width` is in columns; `show_all` unfolds consequences, context and harmless findings.
    """
    blocks = [
        list(_verdict(report, width)),
        list(_next_steps(report, width)),
        list(_last_kernel(report, width)),
        list(_explain(report, width)),
        list(_others(report, width, show_all)),
        list(_problems(report, width, show_all)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _verdict(report: Report, width: int) -> Iterator[str]:
    verdict = report.verdict
    if verdict.finding is None:
        title = {"none": "No failure found", "undecided": "Undecided"}[verdict.failure_class]
        yield title
        if verdict.failure_class == "none":
            yield _INDENT + _read_summary(report)
        else:
            yield from _wrapped(verdict.summary, width, _INDENT)
            for finding in report.findings[:3]:
                yield from _evidence(finding, width)
        return
    finding = report.findings[verdict.finding]
    yield _spread(finding.title, finding.certainty, width)
    yield from _wrapped(finding.summary, width, _INDENT)
    yield from _evidence(finding, width)
    if report.lineage is None:
        yield from _facts(finding, width)
    else:
        yield from _lineage(report.lineage, finding.rank, width)


def _lineage(lineage: Lineage, rank: int | None, width: int) -> Iterator[str]:
    """What makes the check fail, the index and its bound: a labelled line each."""
    proven = lineage.failing_values or lineage.candidates
    rows = [
        ("rank", None if rank is None else str(rank)),
        ("one of", ", ".join(lineage.candidates)),
        ("so", lineage.cause if proven else None),
        ("index", _index(lineage.index_source) if lineage.index_source else None),
        ("bound", _bound(lineage) if lineage.bound else None),
    ]
    for label, told in rows:
        if told and label in ("so", "one of"):
            yield from _wrapped(told, width, f"{_INDENT}{label:<8}", " " * (len(_INDENT) + 8))
        elif told:
            yield _clip(f"{_INDENT}{label:<8}{_one_line(told)}", width)


def _index(source: IndexSource) -> str:
    if source.kind == "computed":
        return "computed from sizes"
    also = ", or from sizes" if source.kind == "mixed" else ""
    if source.input is not None:
        return f"loaded from input {source.input.position} ({source.input.name}){also}"
    made = f", made by {source.produced_by}" if source.produced_by else ""
    return f"loaded from {source.argument or source.parameter or 'several tensors'}{made}{also}"


def _bound(lineage: Lineage) -> str:
    bound = lineage.bound
    assert bound is not None
    if lineage.upper is None:
        return f"at least {lineage.lower}" if lineage.lower is not None else "?"
    chain = [lineage.upper]
    if bound.parameter is not None and bound.parameter != lineage.upper:
        chain = [f"{lineage.upper}, where {bound.parameter}"]
    if bound.argument is not None and bound.argument != chain[-1]:
        chain.append(bound.argument)
    if bound.input is not None:
        of = f"size {bound.input.dim} of " if bound.input.dim is not None else ""
        chain.append(f"{of}input {bound.input.position} ({bound.input.name})")
    return " = ".join(chain) + _checked(bound.checked_lower, bound.checked_upper)


def _checked(lower: int | None, upper: int | None) -> str:
    """What the wrapper's checks demand of the bound; an exact size says nothing new."""
    if lower == upper:
        return ""
    if lower is None:
        return f", checked up to {upper}"
    return f", checked {lower} or more" if upper is None else f", checked {lower} to {upper}"


def origin(stack: tuple[str, ...], nodes: tuple[str, ...]) -> str | None:
    """The user's lines, else the nodes of the graph."""
    if stack:
        return "; ".join(" ".join(entry.split()) for entry in stack[:2])
    return f"graph nodes {', '.join(nodes[:8])}" if nodes else None


def _read_summary(report: Report) -> str:
    read = sum(source.bytes for source in report.sources)
    count = len(report.sources)
    return f"{count} {'source' if count == 1 else 'sources'}, {read:,} bytes read"


def _evidence(finding: Finding, width: int) -> Iterator[str]:
    for evidence in finding.evidence[:2]:
        at, text = _at(evidence), _one_line(evidence.text)
        if len(at) + 24 > width // 2:
            yield _INDENT + _clip_left(at, width - len(_INDENT))
            yield _clip(f"{_INDENT}{_INDENT}{text}", width)
        else:
            yield _clip(f"{_INDENT}{at}: {text}", width)
    if len(finding.evidence) > 2:
        yield f"{_INDENT}and in {len(finding.evidence) - 2} other sources"


def _at(evidence: Evidence) -> str:
    return f"{visible(evidence.source)}:{evidence.line}"


def _facts(finding: Finding, width: int) -> Iterator[str]:
    """Names and values of the facts that are known, as few lines as they fit."""
    known = [
        f"{name} {_one_line(str(value))}"
        for name, value in finding.facts.items()
        if value is not None
    ]
    if finding.rank is not None:
        known.insert(0, f"rank {finding.rank}")
    line = ""
    for part in known:
        if line and len(line) + len(part) + 3 > width:
            yield _clip(line, width)
            line = ""
        line = f"{line} · {part}" if line else _INDENT + part
    if line:
        yield _clip(line, width)


def _next_steps(report: Report, width: int) -> Iterator[str]:
    for number, step in enumerate(report.next_steps, 1):
        label = f"{'Next' if number == 1 else '':5}{number}  "
        again = " (recompile)" if step.takes_effect == "compile" else ""
        yield from _wrapped(visible(step.title) + again, width, label, " " * len(label))
        if step.command:
            yield " " * len(label) + visible(step.command)


def _last_kernel(report: Report, width: int) -> Iterator[str]:
    kernel = report.last_kernel
    if kernel is None:
        return
    yield _spread(f"Last kernel launched  {kernel.name}", kernel.certainty, width)
    yield from _wrapped(kernel.why, width, _INDENT)
    if kernel.call is not None:
        at = f"{kernel.call.file}:{kernel.call.line}" if kernel.call.file else "the call"
        yield _INDENT + _clip_left(visible(at), width - len(_INDENT))
        yield _clip(f"{_INDENT}{_INDENT}{_one_line(kernel.call.text)}", width)
    reads = "; ".join(producer(one) for one in kernel.producers[:6])
    if reads:
        yield from _wrapped(reads, width, f"{_INDENT}reads   ", " " * (len(_INDENT) + 8))
    told = origin(kernel.user_stack, kernel.source_nodes)
    if told:
        yield from _wrapped(told, width, f"{_INDENT}from    ", " " * (len(_INDENT) + 8))


def producer(of: Producer) -> str:
    """A tensor that a kernel reads, with where it comes from."""
    if of.kernel is not None:
        return f"{of.argument} (made by {of.kernel})"
    at = f" (input {of.input.position})" if of.input is not None else ""
    return f"{of.argument}{at}"


def _explain(report: Report, width: int) -> Iterator[str]:
    if report.verdict.finding is None:
        return
    finding = report.findings[report.verdict.finding]
    if finding.explain:
        yield from _wrapped(finding.explain, width, "Why  ", "     ")
    fixes = (report.lineage.fixes if report.lineage else ()) or finding.fixes
    for number, fix in enumerate(fixes):
        label = "Fix  " if number == 0 else "     "
        yield from _wrapped(fix, width, f"{label}- ", "       ")


def _others(report: Report, width: int, show_all: bool) -> Iterator[str]:
    roles = ("consequence", "context", "harmless")
    rest = [finding for finding in report.findings if finding.role in roles]
    if not rest:
        return
    if not show_all:
        told = [
            f"{number} {role if number == 1 or role == 'harmless' else _PLURALS[role]}"
            for role in roles
            if (number := sum(finding.role == role for finding in rest))
        ]
        yield f"Also {', '.join(told)}   (--all shows them)"
        return
    for finding in rest:
        yield _spread(finding.title, finding.role, width)
        yield from _wrapped(finding.summary, width, _INDENT)
        yield from _evidence(finding, width)


_PLURALS = {"consequence": "consequences", "context": "beside it"}


def _problems(report: Report, width: int, show_all: bool) -> Iterator[str]:
    told = [
        f"{visible(source.name)}{f':{problem.line}' if problem.line else ''}: "
        f"{_one_line(problem.what)}"
        for source in report.sources
        for problem in source.problems
    ]
    shown = told if show_all else told[:3]
    for at, text in enumerate(shown):
        yield from _wrapped(text, width, "Note " if at == 0 else " " * 5, " " * 5)
    if len(told) > len(shown):
        yield f"{' ' * 5}and {len(told) - len(shown)} more (--all)"


def _spread(left: str, right: str, width: int) -> str:
    left = visible(left)
    return f"{left}{right:>{max(len(right) + 2, width - len(left))}}"


def _wrapped(text: str, width: int, first: str, later: str | None = None) -> list[str]:
    return textwrap.wrap(
        visible(" ".join(text.split())),
        width=max(width, 40),
        initial_indent=first,
        subsequent_indent=first if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _clip_left(text: str, width: int) -> str:
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :]


def visible(text: str) -> str:
    """The text with everything that is no plain printable character shown as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    code = ord(char)
    if char.isspace() and code >= 0xA0:
        return " "
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
