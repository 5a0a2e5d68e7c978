"""Wordings that several renderers share; what comes from a log is not yet made visible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.report import (
    Argument,
    Evidence,
    Excerpt,
    Finding,
    IndexSource,
    Kernel,
    Lineage,
    Producer,
    Report,
)

#: statistics of an argument, in the order in which they are shown
STATISTICS = ("dtype", "device", "size", "stride", "numel", "min", "max", "mean")


def title_told(report: Report) -> str:
    """The verdict's title; what the class means where nothing failed or nothing decides."""
    cause = cause_of(report)
    if cause is not None:
        return cause.title
    return "No failure found" if report.verdict.failure_class == "none" else "Undecided"


def cause_of(report: Report) -> Finding | None:
    """The finding of the verdict."""
    at = report.verdict.finding
    return report.findings[at] if at is not None and 0 <= at < len(report.findings) else None


def fixes_told(report: Report) -> tuple[str, ...]:
    """What mends the failure, by the lineage else by the pattern, and is no next step already."""
    cause = cause_of(report)
    fixes = report.lineage.fixes if report.lineage else ()
    steps = {step.title for step in report.next_steps}
    return tuple(fix for fix in fixes or (cause.fixes if cause else ()) if fix not in steps)


def excerpt_of(evidence: Evidence, excerpts: Iterable[Excerpt]) -> Excerpt | None:
    """The lines around a piece of evidence, where they are at hand."""
    at = (evidence.source, evidence.line)
    return next((one for one in excerpts if (one.source, one.line) == at), None)


def index_told(source: IndexSource) -> str:
    """Where an index comes from."""
    if source.kind == "computed":
        return "computed from sizes"
    also = ", or from sizes" if source.kind == "mixed" else ""
    if source.input is not None:
        return f"from input {source.input.position} ({source.input.name}){also}"
    made = f" (made by {source.produced_by})" if source.produced_by else ""
    return f"from {source.argument or source.parameter or 'several tensors'}{made}{also}"


def check_told(lineage: Lineage) -> str:
    """The failed check as its assertion says it."""
    lower = f"{lineage.lower} <= " if lineage.lower is not None else ""
    upper = f" < {_plain(lineage.upper)}" if lineage.upper is not None else ""
    return f"{lower}{lineage.index}{upper}"


def _plain(bound: str) -> str:
    """A number without the suffix that it has in C++."""
    return re.sub(r"^(\d+)[lLuU]+$", r"\1", bound)


def bound_told(lineage: Lineage) -> str:
    """What the bound of a failed check is, down to the input and what is checked of it."""
    bound = lineage.bound
    assert bound is not None
    if lineage.upper is None:
        return f"at least {lineage.lower}" if lineage.lower is not None else "?"
    chain = [_plain(lineage.upper)]
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
        return f", checks allow up to {upper}"
    allowed = f"{lower} or more" if upper is None else f"{lower} to {upper}"
    return f", checks allow {allowed}"


def origin(stack: tuple[str, ...], nodes: tuple[str, ...]) -> str | None:
    """The user's lines, else the nodes of the graph."""
    if stack:
        return "; ".join(" ".join(own_frame(entry).split()) for entry in stack[:2])
    return f"graph nodes {', '.join(nodes[:8])}" if nodes else None


# a frame of a Python stack
#   File "/home/dev/model.py", line 7, in forward
_FRAME = lazy_re(r'^[ \t]*File "', re.MULTILINE)
#   File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/sparse.py", line 189, in forward
_OF_TORCH = lazy_re(r'File "[^"\n]*[/\\]torch[/\\](?:nn|_\w+|utils|functional\.py)\b')


def own_frame(entry: str) -> str:
    """The frame of an entry of a user's stack that is innermost in the user's own code.

    An entry may hold several frames, down to those of torch's modules.
    """
    starts = [match.start() for match in _FRAME.finditer(entry)]
    frames = [entry[a:b].strip() for a, b in pairwise([*starts, len(entry)])]
    own = [frame for frame in frames if not _OF_TORCH.match(frame)]
    return next(iter((own or frames)[-1:]), entry)


def producer(of: Producer) -> str:
    """A tensor that a kernel reads, with where it comes from."""
    if of.kernel is not None:
        return f"{of.argument} (made by {of.kernel})"
    at = f" (input {of.input.position})" if of.input is not None else ""
    return f"{of.argument}{at}"


def kernel_told(kernel: Kernel) -> str:
    """What the report's kernel is: by its own text the one that failed, or the last that ran."""
    return "Kernel that failed" if kernel.found_by in _OWN_TEXTS else "Last kernel launched"


#: evidence that names a kernel outright, whatever was launched after it
_OWN_TEXTS = ("sanitizer", "device-assert", "stack-frame")


def not_at_fault_told(report: Report) -> str | None:
    """That the kernel launched last is not the one that the failure names; None where it may be."""
    cause, kernel = cause_of(report), report.last_kernel
    named = cause.facts.get("kernel") if cause is not None else None
    if named is None or kernel is None or kernel.found_by in _OWN_TEXTS or named == kernel.name:
        return None
    return f"launched last; the failure comes from {named}"


#: the pattern of exceptions that neither torch nor a GPU has part in
_OWN_EXCEPTION = "user-exception"


def own_exceptions(report: Report) -> tuple[Finding, ...]:
    """Exceptions of the program's own that may be the reason, where nothing better is known.

    Where a rank waited in vain, these are all but those told after it in the same source. Beside
    a symptom of torch, the GPU or the process there are none.
    """
    cause = cause_of(report)
    told = {one.failure_class for one in ((cause,) if cause else report.findings)}
    if not told <= {"collective-failure", "none"}:
        return ()
    found = (one for one in report.findings if one.pattern == _OWN_EXCEPTION and one.evidence)
    return tuple(one for one in found if cause is None or not _is_after(one, cause))


def _is_after(one: Finding, cause: Finding) -> bool:
    """Whether both were first told in one source, this one on a later line."""
    if not cause.evidence:
        return False
    mine, first = one.evidence[0], cause.evidence[0]
    return mine.source == first.source and mine.line > first.line


def own_exception_told(report: Report) -> str | None:
    """The first of them in a sentence without its full stop; None where there is none."""
    found = own_exceptions(report)
    if not found:
        return None
    who = "The program" if found[0].rank is None else f"Rank {found[0].rank}"
    may_be = ", which may be the reason" if report.verdict.failure_class != "none" else ""
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{who} raised an exception of its own{may_be}: {found[0].summary}{more}"


def values_told(argument: Argument) -> dict[str, str]:
    """The statistics that were printed of an argument, by their names."""
    told = {name: _shown(getattr(argument, name)) for name in STATISTICS}
    flagged = [name for name in ("nan", "inf") if getattr(argument, name)]
    found = {name: value for name, value in told.items() if value is not None}
    return found | ({"holds": ", ".join(flagged)} if flagged else {})


def _shown(value: object) -> str | None:
    if value is None:
        return None
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def replaced_told(redacted: Mapping[str, int] | None) -> str:
    """What was replaced before the report was written."""
    if redacted is None:
        return "Nothing was redacted."
    told = [_counted(kind, count) for kind, count in sorted(redacted.items()) if count]
    return f"Redacted: {', '.join(told) or 'nothing had to be replaced'}."


#: what the kinds of tokens stand for: one, several
_KINDS = {
    "dir": ("directory", "directories"),
    "user": ("user name", "user names"),
    "host": ("host name", "host names"),
    "ip": ("IP address", "IP addresses"),
    "mac": ("MAC address", "MAC addresses"),
    "email": ("e-mail address", "e-mail addresses"),
    "token": ("key or token", "keys or tokens"),
    "credentials": ("password or login", "passwords or logins"),
    "value": ("value of the environment", "values of the environment"),
}


def _counted(kind: str, count: int) -> str:
    one, several = _KINDS.get(kind, (f"value of kind {kind}", f"values of kind {kind}"))
    return f"{count} {one if count == 1 else several}"
