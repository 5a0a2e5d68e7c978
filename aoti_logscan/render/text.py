"""The report for a terminal: what failed, where, on which lines, what to do next; the rest folded.

One screen holds the answer: verdict, last kernel, lineage, evidence and the first next step. What
explains them stands below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.render.layout import (
    MEASURE,
    NARROWEST,
    Line,
    Piece,
    Style,
    clipped,
    clipped_left,
    clipped_within,
    columns,
    one_line,
    plain,
    spread,
    visible,
    wrapped,
)
from aoti_logscan.render.told import (
    bound_told,
    cause_of,
    fixes_told,
    index_told,
    kernel_told,
    not_at_fault_told,
    origin,
    own_exception_told,
    own_exceptions,
    own_frame,
    producer,
)
from aoti_logscan.report import (
    Argument,
    Certainty,
    Evidence,
    Finding,
    Flag,
    Kernel,
    Lineage,
    NextStep,
    Report,
)

_INDENT = "  "
#: columns of the labels of rows
_LABEL = 8
#: of one kind, what is shown unless all is asked for
_FEW = 3
#: characters of a fact that is not told twice
_LONG = 24
#: printed arguments that are shown unless all is asked for
_MAX_ARGUMENTS = 6


def render_text(report: Report, *, show_all: bool = False, width: int = 80) -> str:
    """The report as plain text with a final newline; no control character of a log is in it.

    `width` is in columns; `show_all` unfolds consequences, context, harmless findings and flags.
    """
    return "".join(
        f"{plain(line)}\n" for line in render_lines(report, show_all=show_all, width=width)
    )


def render_lines(report: Report, *, show_all: bool = False, width: int = 80) -> Iterator[Line]:
    """The report as lines of styled pieces, an empty one between blocks.

    No line but a command is wider than `width`, down to 20 columns.
    """
    width = max(width, NARROWEST)
    blocks = (
        _answer(report, width),
        _next_steps(report, width, show_all),
        _details(report, width, show_all),
        _explain(report, width),
        _others(report, width, show_all),
        _flags(report.flags, width) if show_all else (),
        _problems(report, width, show_all),
        _last_line(report, width),
    )
    between = False
    for block in blocks:
        lines = list(block)
        if lines and between:
            yield ()
        yield from lines
        between = between or bool(lines)


# --- the answer: verdict, last kernel, lineage, evidence


def _answer(report: Report, width: int) -> Iterator[Line]:
    verdict = report.verdict
    if verdict.failure_class == "none":
        yield (Piece("No failure found", "clean"),)
        yield from wrapped(_read_summary(report), width, first=(Piece(_INDENT),))
        yield from _own_exception(report, width)
    elif verdict.finding is None:
        yield (Piece("Undecided", "failure"),)
        yield from _prose(verdict.summary, width)
        if told := own_exception_told(report):
            yield from _prose(told, width)
        yield from _last_kernel(report.last_kernel, width)
        for finding in report.findings[:_FEW]:
            yield from _evidence(finding, width)
    else:
        yield from _decided(report, report.findings[verdict.finding], width)


def _decided(report: Report, cause: Finding, width: int) -> Iterator[Line]:
    yield from spread((), Piece(cause.title, "failure"), _certainty(cause.certainty), width)
    yield from _prose(cause.summary, width)
    yield from _last_kernel(report.last_kernel, width)
    if report.lineage is not None:
        yield from _lineage(report.lineage, cause.rank, width)
    yield from _evidence(cause, width)
    if report.lineage is None:
        yield from _facts(cause, width)
    yield from _own_exception(report, width)


def _own_exception(report: Report, width: int) -> Iterator[Line]:
    """An exception of the program's own that may be the reason, and where it was read."""
    told = own_exception_told(report)
    if told is not None:
        yield from _prose(told, width)
        yield from _evidence(own_exceptions(report)[0], width)


def _certainty(certainty: Certainty) -> Piece:
    return Piece(certainty, certainty)


def _last_kernel(kernel: Kernel | None, width: int) -> Iterator[Line]:
    """The kernel's name with its certainty; why it is not sure; the user's own line."""
    if kernel is None:
        return
    label = (Piece(kernel_told(kernel), "label"), Piece("  "))
    yield from spread(label, Piece(kernel.name), _certainty(kernel.certainty), width)
    if kernel.certainty != "sure":
        yield from _prose(kernel.why, width)
    if kernel.user_stack:
        yield _row("from", _user_line(kernel.user_stack[0]), width)


# File "/home/dev/model.py", line 7, in forward
_USER_LINE = lazy_re(r'^File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>\S+)')


def _user_line(entry: str) -> str:
    """The user's own frame of an entry of a stack, with its file as editors take it."""
    frame = own_frame(entry)
    head = _USER_LINE.match(frame)
    if head is None:
        return frame
    code = frame[head.end() :].strip()
    return f"{head['file']}:{head['line']} in {head['function']}" + (f" · {code}" if code else "")


def _lineage(lineage: Lineage, rank: int | None, width: int) -> Iterator[Line]:
    """What makes the check fail, the index and its bound: a labelled row each.

    What is proven to make it fail tells more than where the index comes from.
    """
    source = lineage.index_source
    proven = bool(lineage.failing_values)
    if rank is not None:
        yield _row("rank", str(rank), width)
    if lineage.candidates:
        yield from _rows("one of", ", ".join(lineage.candidates), width)
    if lineage.cause and (proven or lineage.candidates):
        yield from _rows("so", lineage.cause, width)
    if source is not None and not proven:
        yield from _rows("index", index_told(source), width)
    if lineage.bound is not None:
        yield from _rows("bound", bound_told(lineage), width)


def _read_summary(report: Report) -> str:
    read = sum(source.bytes for source in report.sources)
    count = len(report.sources)
    return f"{count} {'source' if count == 1 else 'sources'}, {read:,} bytes read"


def _evidence(finding: Finding, width: int) -> Iterator[Line]:
    """Where the finding was read and what stands there, on one line where both have room."""
    for evidence in finding.evidence[:2]:
        at, text = _at(evidence), one_line(evidence.text)
        if columns(at) + 24 > width // 2:
            yield _place(at, width)
            yield (Piece(_INDENT * 2), Piece(clipped_within(text, width - 4)))
        else:
            shown = clipped_within(text, width - len(_INDENT) - columns(at) - 2)
            yield (Piece(_INDENT), Piece(at, "path"), Piece(": "), Piece(shown))
    if len(finding.evidence) > 2:
        yield from _prose(f"and in {len(finding.evidence) - 2} other sources", width)


def _at(evidence: Evidence) -> str:
    return f"{visible(evidence.source)}:{evidence.line}"


def _place(at: str, width: int, indent: str = _INDENT) -> Line:
    return (Piece(indent), Piece(clipped_left(at, width - len(indent)), "path"))


def _facts(finding: Finding, width: int) -> Iterator[Line]:
    """Names and values of the facts that are known, as few lines as they fit.

    A long one that the summary tells already is left out.
    """
    known = [
        f"{name} {one_line(value)}"
        for name, value in (
            (name, str(one)) for name, one in finding.facts.items() if one is not None
        )
        if len(value) < _LONG or value not in finding.summary
    ]
    if finding.rank is not None:
        known.insert(0, f"rank {finding.rank}")
    row = ""
    for part in known:
        if row and columns(row) + columns(part) + 3 > width - len(_INDENT):
            yield (Piece(_INDENT), Piece(clipped(row, width - len(_INDENT))))
            row = ""
        row = f"{row} · {part}" if row else part
    if row:
        yield (Piece(_INDENT), Piece(clipped(row, width - len(_INDENT))))


# --- what to do


def _next_steps(report: Report, width: int, show_all: bool) -> Iterator[Line]:
    told = _told(report)
    for number, step in enumerate(report.next_steps, 1):
        label = f"{'Next' if number == 1 else '':5}{number}  "
        again = " (recompile)" if step.takes_effect == "compile" else ""
        first = (Piece(label, "label"),)
        yield from wrapped(step.title + again, min(width, MEASURE), style="title", first=first)
        if step.command:
            yield (Piece(" " * len(label)), Piece(visible(step.command), "command"))
        if reasons := _reasons(step, told):
            yield from wrapped(
                reasons,
                min(width, MEASURE),
                style="quiet",
                first=(Piece(" " * len(label)),),
                most=None if show_all else _FEW,
            )


def _told(report: Report) -> str:
    """What stands above the steps, and is no news as the reason of one."""
    cause = report.lineage.cause if report.lineage is not None else None
    return f"{report.verdict.summary}\n{cause or ''}"


def _reasons(step: NextStep, told: str) -> str:
    """Why the step helps, unless that was told, and what it costs."""
    why = [step.why] if step.why and step.why not in told else []
    return " · ".join([*why, f"costs {step.costs}"] if step.costs else why)


# --- what stands behind the answer


def _details(report: Report, width: int, show_all: bool) -> Iterator[Line]:
    """Why this kernel, where it is launched, what it reads, where it comes from, its values."""
    kernel = report.last_kernel
    if kernel is None:
        return
    reads = "; ".join(producer(one) for one in kernel.producers[:6])
    told = (("index", _other_index(report.lineage)), ("reads", reads), ("from", _source(kernel)))
    rows = [
        *_call(kernel, width),
        *(row for label, text in told if text for row in _rows(label, text, width)),
        *_arguments(kernel.arguments, width, show_all),
    ]
    beside = not_at_fault_told(report)
    if beside is not None:
        yield from _titled("Last", f"{kernel.name}: {beside}", width)
    elif kernel.certainty == "sure" or rows:
        why = kernel.why if kernel.certainty == "sure" else kernel.name
        yield from _titled("Kernel", why, width)
    yield from rows


def _other_index(lineage: Lineage | None) -> str | None:
    """Where the index comes from too, beside the sizes that are proven to make it fail."""
    source = lineage.index_source if lineage is not None and lineage.failing_values else None
    return index_told(source) if source is not None and source.kind == "mixed" else None


def _call(kernel: Kernel, width: int) -> Iterator[Line]:
    if kernel.call is None:
        return
    file = kernel.call.file
    yield _place(visible(f"{file}:{kernel.call.line}") if file else "the call", width)
    yield (Piece(_INDENT * 2), Piece(clipped(one_line(kernel.call.text), width - 4)))


def _source(kernel: Kernel) -> str | None:
    """Where the kernel comes from, beyond the line that stands with its name."""
    if kernel.user_stack:
        return "; ".join(_user_line(entry) for entry in kernel.user_stack[1:_FEW])
    return origin((), kernel.source_nodes)


def _arguments(arguments: tuple[Argument, ...], width: int, show_all: bool) -> Iterator[Line]:
    """What was printed of the arguments, before and after the launch."""
    shown = arguments if show_all else arguments[:_MAX_ARGUMENTS]
    for argument in shown:
        yield from _rows(argument.phase, f"{argument.name}: {_values(argument)}", width)
    if len(arguments) > len(shown):
        yield from _prose(f"and {len(arguments) - len(shown)} more (--all)", width)


def _values(argument: Argument) -> str:
    """What was printed of an argument: what is wrong with it, type, size, place, statistics."""
    told = [name.upper() for name in ("nan", "inf") if getattr(argument, name)]
    size = None if argument.size is None else f"[{', '.join(map(str, argument.size))}]"
    told += [part for part in (argument.dtype, size, argument.device) if part is not None]
    told += [
        f"{name} {value}"
        for name in ("min", "max", "mean")
        if (value := getattr(argument, name)) is not None
    ]
    return ", ".join(told)


def _explain(report: Report, width: int) -> Iterator[Line]:
    """Why it fails, and the fixes that are not among the next steps."""
    cause = cause_of(report)
    if cause is None:
        return
    if cause.explain:
        yield from _titled("Why", cause.explain, width)
    for number, fix in enumerate(fixes_told(report)):
        label = "Fix" if number == 0 else ""
        first = (Piece(f"{label:<5}", "label"), Piece("- "))
        yield from wrapped(fix, min(width, MEASURE), first=first)


# --- what is folded


def _others(report: Report, width: int, show_all: bool) -> Iterator[Line]:
    """Consequences, context and red herrings: counted, or each with its lines."""
    rest = [finding for finding in report.findings if finding.role in _PLURALS]
    if not rest:
        return
    if not show_all:
        yield from _titled("Also", f"{_counted(rest)} (--all shows them)", width, "quiet")
        return
    for finding in rest:
        yield from spread((), Piece(finding.title, "title"), Piece(finding.role, "quiet"), width)
        yield from _prose(finding.summary, width)
        yield from _evidence(finding, width)


_PLURALS = {"consequence": "consequences", "context": "beside it", "harmless": "harmless"}


def _counted(findings: Iterable[Finding]) -> str:
    roles = [finding.role for finding in findings]
    return ", ".join(
        f"{number} {role if number == 1 else plural}"
        for role, plural in _PLURALS.items()
        if (number := roles.count(role))  # type: ignore[arg-type]
    )


def _flags(flags: tuple[Flag, ...], width: int) -> Iterator[Line]:
    """The flags whose state is known, with what says so; the others by their names."""
    unknown = [flag.name for flag in flags if flag.state == "unknown"]
    if flags:
        yield (Piece("Flags", "label"),)
    for flag in flags:
        if flag.state != "unknown":
            yield from _flag(flag, width)
    if unknown:
        yield from _rows("unknown", ", ".join(unknown), width)


def _flag(flag: Flag, width: int) -> Iterator[Line]:
    yield from _rows(flag.state, f"{flag.name}, read at {_WHEN[flag.takes_effect]}", width)
    indent = " " * (len(_INDENT) + _LABEL)
    if flag.evidence is not None:
        yield _place(_at(flag.evidence), width, indent)
    told = f"{flag.does}; costs {flag.costs}"
    yield from wrapped(told, min(width, MEASURE), style="quiet", first=(Piece(indent),))


_WHEN = {"run": "run time", "compile": "compile time"}


def _problems(report: Report, width: int, show_all: bool) -> Iterator[Line]:
    told = [
        f"{visible(source.name)}{f':{problem.line}' if problem.line else ''}: "
        f"{one_line(problem.what)}"
        for source in report.sources
        for problem in source.problems
    ]
    shown = told if show_all else told[:_FEW]
    for at, text in enumerate(shown):
        label = Piece("Note " if at == 0 else " " * 5, "warning")
        yield from wrapped(text, width, first=(label,))
    if len(told) > len(shown):
        yield (Piece(f"{' ' * 5}and {len(told) - len(shown)} more (--all)"),)


def _last_line(report: Report, width: int) -> Iterator[Line]:
    """How to report the failure, and what it is known by."""
    if report.verdict.failure_class == "none":
        return
    label = Piece("Report  ", "label")
    hint = "--attach bug.zip writes the files for a bug report"
    known_by = one_line(f"signature {report.signature}") if report.signature else ""
    if columns(label.text + hint + known_by) + 2 <= width:
        yield from spread((label,), Piece(hint, "quiet"), Piece(known_by, "quiet"), width)
        return
    yield from wrapped(hint, width, style="quiet", first=(label,))
    if known_by:
        yield from wrapped(known_by, width, style="quiet", first=(Piece(" " * _LABEL),))


# --- rows


def _prose(text: str, width: int) -> list[Line]:
    return wrapped(text, min(width, MEASURE), first=(Piece(_INDENT),))


def _titled(label: str, text: str, width: int, style: Style = "plain") -> list[Line]:
    """A text behind a label at the margin."""
    first = (Piece(label, "label"), Piece("  "))
    return wrapped(text, min(width, MEASURE), style=style, first=first)


def _rows(label: str, text: str, width: int) -> list[Line]:
    """A text behind a label of the answer, wrapped."""
    first = (Piece(_INDENT), Piece(f"{label:<{_LABEL}}", "label"))
    return wrapped(text, width, first=first)


def _row(label: str, text: str, width: int) -> Line:
    """A text behind a label of the answer, on one line."""
    room = width - len(_INDENT) - _LABEL
    piece = Piece(clipped(one_line(text), room))
    return (Piece(_INDENT), Piece(f"{label:<{_LABEL}}", "label"), piece)
