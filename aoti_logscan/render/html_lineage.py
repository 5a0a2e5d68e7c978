"""From the model's inputs to the failed index check, as two chains that meet in it."""

from __future__ import annotations

from collections.abc import Iterator

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
from aoti_logscan.render.html_parts import names, points, section, stack
from aoti_logscan.report import Bound, IndexSource, InputDim, Lineage


def lineage(found: Lineage | None) -> Html:
    """The section; nothing where no index check failed."""
    if found is None:
        return EMPTY
    return section(
        "lineage",
        "From the inputs to the failed check",
        el("p", sentence(found.cause), ".", class_="so") if found.cause else None,
        _figure(found),
        _failing(found),
        _candidates(found),
        _slice(found),
        _fixes(found),
        stack(found.user_stack),
        names("Graph nodes", found.source_nodes),
        names("ATen operators", found.aten_ops),
    )


def _figure(found: Lineage) -> Html:
    bound = list(_bound(found)) if found.bound else [_box("bound", found.upper or "not known")]
    return el(
        "figure",
        el(
            "div",
            _chain("Where the index comes from", list(_index(found))),
            _chain("Where its bound comes from", bound),
            class_="chains",
        ),
        el("div", el("h3", "The check"), _check(found), class_="check"),
        class_="lineage",
    )


def _chain(title: str, boxes: list[Html]) -> Html:
    items = (el("li", box) for box in boxes)
    return el("div", el("h3", title), el("ol", *items), class_="chain")


def _box(kind: str, title: Part, *notes: Part) -> Html:
    told = [el("span", note, class_="box-note") for note in notes if note]
    return el("span", el("span", kind, class_="box-kind"), el("code", title), *told, class_="box")


def _check(found: Lineage) -> Html:
    upper = f" < {found.upper}" if found.upper is not None else ""
    lower = f"{found.lower} <= " if found.lower is not None else ""
    kernel = (
        el("span", "in ", el("code", found.kernel), class_="box-note") if found.kernel else None
    )
    return el(
        "span",
        el("span", "assertion failed", class_="box-kind"),
        el("code", f"{lower}{found.index}{upper}"),
        kernel,
        class_="box failed",
    )


def _index(found: Lineage) -> Iterator[Html]:
    source = found.index_source
    if source is not None:
        yield from _origin(source)
    kind = {"loaded": "read from data", "computed": "made of sizes", "mixed": "data and sizes"}
    yield _box("index in the kernel", found.index, kind[source.kind] if source else "")


def _origin(source: IndexSource) -> Iterator[Html]:
    """The tensor that the index is loaded from, and what made it."""
    read_as = f"{source.parameter} in the kernel" if source.parameter else ""
    if source.produced_by is not None:
        yield _box("made by kernel", source.produced_by)
    if source.input is not None:
        renamed = source.argument if source.argument != source.input.name else None
        here = f"{renamed} in the wrapper" if renamed else ""
        yield _box(f"input {shown(source.input.position)}", source.input.name, here, read_as)
    elif source.argument is not None:
        yield _box("tensor in the wrapper", source.argument, read_as)
    elif source.parameter is not None:
        yield _box("parameter of the kernel", source.parameter)
    if source.kind == "computed":
        yield _box("sizes", "no data is read", "the index is arithmetic of sizes alone")


def _bound(found: Lineage) -> Iterator[Html]:
    bound = found.bound
    assert bound is not None
    if bound.input is not None:
        yield _dim(bound.input, _checked(bound))
    if bound.argument is not None:
        yield _box("size in the wrapper", bound.argument)
    if bound.parameter is not None and bound.parameter != found.upper:
        yield _box("parameter of the kernel", bound.parameter)
    yield _box("upper bound", found.upper if found.upper is not None else "none")


def _dim(of: InputDim, checked: str) -> Html:
    size = "" if of.dim is None else f".size({shown(of.dim)})"
    return _box(f"input {shown(of.position)}", f"{of.name}{size}", checked)


def _checked(bound: Bound) -> str:
    """What the wrapper's own checks demand of the dim."""
    lower, upper = bound.checked_lower, bound.checked_upper
    if lower is None and upper is None:
        return "no check of it is known"
    if lower == upper:
        return f"fixed at {shown(lower)}"
    at_least = "" if lower is None else f"at least {shown(lower)}"
    at_most = "" if upper is None else f"at most {shown(upper)}"
    return "checked: " + ", ".join(filter(None, (at_least, at_most)))


def _failing(found: Lineage) -> Html:
    """Sizes that make the check fail, proven by evaluation."""
    kept, left = limited(found.failing_values, 20)
    if not kept:
        return EMPTY
    told = (
        el("li", el("code", ", ".join(f"{name} = {shown(at)}" for name, at in one.items())))
        for one in kept
    )
    head = el("h3", "Sizes that make it fail, by evaluating the kernel's own code")
    return join([head, el("ul", *told, class_="points proven"), more(left, "sets of sizes")])


def _candidates(found: Lineage) -> Html:
    return names("Kernels that fit equally well", found.candidates)


def _slice(found: Lineage) -> Html:
    kept, left = limited(found.slice, 200)
    if not kept:
        return EMPTY
    code = el("pre", "\n".join(kept), class_="slice", tabindex=0)
    head = el("h3", "The lines of the kernel that the index is made of")
    return join([head, code, more(left, "lines")])


def _fixes(found: Lineage) -> Html:
    return join([el("h3", "What helps"), points(found.fixes)]) if found.fixes else EMPTY
