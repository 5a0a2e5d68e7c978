"""The first screen: what failed, how sure that is, on which line it rests, what to do next."""

from __future__ import annotations

from aoti_logscan.render.html_markup import (
    EMPTY,
    Html,
    Part,
    el,
    join,
    plural,
    prose,
    sentence,
    shown,
)
from aoti_logscan.render.html_parts import badge, chip, command, place
from aoti_logscan.render.told import (
    cause_of,
    kernel_told,
    not_at_fault_told,
    own_exception_told,
    title_told,
)
from aoti_logscan.report import Dossier, Evidence, NextStep, Report

_STATES = {"none": "passed", "undecided": "open"}


def verdict(dossier: Dossier, redacted: bool) -> Html:
    """The first screen."""
    report = dossier.report
    state = _STATES.get(report.verdict.failure_class, "failed")
    return el(
        "section",
        el("p", *_labels(report), class_="labels"),
        el("h1", title_told(report), id="verdict-title"),
        el("p", prose(report.verdict.summary), class_="summary"),
        _so(report),
        _own_exception(report),
        el("div", _evidence(report), _kernel(report), _next(report), class_="firsts"),
        _versions(report, redacted),
        id="verdict",
        class_=f"verdict {state}",
        aria_labelledby="verdict-title",
    )


def _labels(report: Report) -> list[Part]:
    cause = cause_of(report)
    rank = chip(f"rank {shown(cause.rank)}") if cause and cause.rank is not None else None
    kind = el("code", report.verdict.failure_class, class_="kind")
    return [badge(report.verdict.certainty), " ", kind, " ", rank]


def _so(report: Report) -> Html:
    """What the lineage comes to, in one sentence."""
    lineage = report.lineage
    if lineage is None or lineage.cause is None:
        return EMPTY
    return el("p", sentence(lineage.cause), ". ", el("a", "See how", href="#lineage"), class_="so")


def _own_exception(report: Report) -> Html:
    """An exception of the program's own that may be the reason."""
    told = own_exception_told(report)
    if told is None:
        return EMPTY
    return el("p", prose(told), ". ", el("a", "See it", href="#findings"), class_="so")


def _evidence(report: Report) -> Html:
    cause = cause_of(report)
    told = cause.evidence if cause else _first_evidence(report)
    if not told:
        read = plural(len(report.sources), "source")
        size = sum(source.bytes for source in report.sources)
        return _first("Evidence", el("p", f"{read}, {size:,} bytes read; no line tells a failure."))
    also = len(told) - 1
    more = el("a", f"and in {plural(also, 'more source')}", href="#findings") if also else None
    first = told[0]
    return _first(
        "Evidence",
        el("p", place(first.source, first.line), " ", more),
        el("pre", shown(first.text, 2_000), class_="said", tabindex=0),
        class_="first evidence",
    )


def _first_evidence(report: Report) -> tuple[Evidence, ...]:
    return next((one.evidence for one in report.findings if one.evidence), ())


def _kernel(report: Report) -> Html:
    kernel, beside = report.last_kernel, not_at_fault_told(report)
    if kernel is None:
        return _first("Last kernel launched", el("p", "Not known from what was read."))
    name = el("a", el("code", shown(kernel.name, 500)), href="#kernel")
    return _first(
        kernel_told(kernel),
        el("p", badge(kernel.certainty), " ", name, class_="kernel-name"),
        el("p", sentence(kernel.why), class_="why"),
        el("p", sentence(beside), class_="why") if beside else None,
    )


def _next(report: Report) -> Html:
    if not report.next_steps:
        return _first("Next", el("p", "Nothing to do: no step is advised."))
    step, *others = report.next_steps
    all_steps = el("a", f"all {len(others) + 1} steps", href="#next") if others else None
    return _first(
        "Next",
        el("p", prose(step.title), " ", recompiles(step), " ", all_steps),
        command(step.command, step.title) if step.command else None,
        class_="first next",
    )


def recompiles(step: NextStep) -> Html:
    """A label for what a step takes: a new compilation or only another run."""
    again = step.takes_effect == "compile"
    return chip("recompile", kind="compile") if again else chip("run again", kind="run")


def _first(head: str, *parts: Part, class_: str = "first") -> Html:
    return el("div", el("h2", head), *parts, class_=class_)


def _versions(report: Report, redacted: bool) -> Html:
    facts: list[tuple[str, Part]] = [
        ("Signature", el("code", report.signature or "none")),
        ("torch", _torch(report)),
        ("Ranks", _ranks(report)),
        ("Read", el("a", plural(len(report.sources), "source"), href="#sources")),
        ("Names and paths", "redacted" if redacted else el("strong", "not redacted")),
    ]
    pairs = (el("div", el("dt", name), el("dd", told)) for name, told in facts if told)
    return el("dl", *pairs, class_="versions")


def _torch(report: Report) -> Html:
    versions = sorted({one.torch_version for one in report.sources if one.torch_version})
    if not versions:
        return join(["version not told"])
    told = ", ".join(shown(version, 80) for version in versions[:3])
    left = f" and {len(versions) - 3} more" if len(versions) > 3 else ""
    return join([told, left])


def _ranks(report: Report) -> str | None:
    ranks = {one.rank for one in report.sources if one.rank is not None}
    ranks |= {one.rank for one in report.findings if one.rank is not None}
    return str(len(ranks)) if ranks else None
