"""The last kernel launched, whole, and the code of those that may be at fault."""

from __future__ import annotations

from collections.abc import Sequence

from aoti_logscan.render.html_markup import (
    EMPTY,
    Html,
    Part,
    el,
    join,
    limited,
    more,
    sentence,
    shown,
)
from aoti_logscan.render.html_parts import (
    badge,
    chip,
    listing,
    minor,
    names,
    place,
    producer,
    quotation,
    row,
    section,
    stack,
    table,
)
from aoti_logscan.render.told import kernel_told
from aoti_logscan.report import Argument, Excerpt, Kernel, Producer, SuspectCode

_FOUND_BY = {
    "printer": "the intermediate value printer",
    "blocking-traceback": "a traceback of a blocking launch",
    "api-call": "the call that failed",
    "device-assert": "the assertion itself",
    "sanitizer": "compute-sanitizer",
    "stack-frame": "a frame of the C++ stack",
    "wrapper-order": "the order of the wrapper's calls",
}
_HEADS = ("Argument", "Mark", "Type", "Device", "Size", "Stride", "Min", "Max", "Mean", "NaN, inf")


def last_kernel(kernel: Kernel | None, excerpts: Sequence[Excerpt]) -> Html:
    """The section; nothing without a kernel, which the first screen tells."""
    if kernel is None:
        return EMPTY
    return section(
        "kernel",
        kernel_told(kernel),
        el("p", el("code", kernel.name, class_="big"), class_="kernel-name"),
        el("p", *_labels(kernel), class_="labels"),
        el("p", sentence(kernel.why), class_="why"),
        quotation(kernel.evidence, excerpts) if kernel.evidence else None,
        _call(kernel),
        _producers(kernel.producers),
        _arguments(kernel.arguments),
        stack(kernel.user_stack),
        names("Graph nodes", kernel.source_nodes),
        names("ATen operators", kernel.aten_ops),
    )


def _labels(kernel: Kernel) -> list[Part]:
    by = _FOUND_BY.get(kernel.found_by, kernel.found_by)
    state = {True: "never came back", False: "came back", None: None}[kernel.open]
    launch = None if kernel.launch_index is None else f"launch {shown(kernel.launch_index)}"
    rank = None if kernel.rank is None else f"rank {shown(kernel.rank)}"
    chips = [chip(told) for told in (f"told by {by}", state, launch, rank) if told]
    return [badge(kernel.certainty), *chips]


def _call(kernel: Kernel) -> Html:
    if kernel.call is None:
        return EMPTY
    at = place(kernel.call.file, kernel.call.line) if kernel.call.file else None
    head = minor("Its call in the generated code")
    return join([head, el("figure", at, el("pre", kernel.call.text), class_="quote")])


def _producers(of: Sequence[Producer]) -> Html:
    kept, left = limited(of, 60)
    if not kept:
        return EMPTY
    told = (el("li", el("code", one.argument), " ", _made(one)) for one in kept)
    return join([minor("What it reads"), el("ul", *told, class_="reads"), more(left, "")])


def _made(of: Producer) -> Html:
    return el("span", producer(of), class_="quiet")


def _arguments(arguments: Sequence[Argument]) -> Html:
    kept, left = limited(arguments, 200)
    if not kept:
        return EMPTY
    rows = (row(_HEADS, _cells(one), sought=False) for one in kept)
    head = minor("What was printed of its arguments")
    return join([head, table("Arguments", _HEADS, rows, "numbers"), more(left, "arguments")])


def _cells(one: Argument) -> list[Part]:
    bad = [name for name, there in (("NaN", one.nan), ("inf", one.inf)) if there]
    told = [shown(value) if value is not None else "" for value in _values(one)]
    return [el("code", one.name), one.phase, *told, el("b", " ".join(bad)) if bad else ""]


def _values(one: Argument) -> tuple[object, ...]:
    return (one.dtype, one.device, one.size, one.stride, one.min, one.max, one.mean)


def suspects(code: Sequence[SuspectCode]) -> Html:
    """The section; nothing where no code is at hand."""
    kept, left = limited(code, 40)
    if not kept:
        return EMPTY
    return section(
        "code",
        "The code in question",
        *(_suspect(one) for one in kept),
        more(left, "pieces of code"),
    )


def _suspect(one: SuspectCode) -> Html:
    what = "kernel" if one.role == "kernel" else "its call in the wrapper"
    unfold = el("button", "Unfold all", type="button", class_="unfold js")
    return el(
        "article",
        el("h3", el("code", one.name), " ", chip(what), " ", chip(one.language), unfold),
        el("p", place(one.file, None)) if one.file else None,
        listing(one.text, one.first_line, one.lit),
        class_="suspect",
    )
