"""Parts that several sections of the page share: badges, places, quotations, code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from aoti_logscan.render.html_markup import (
    EMPTY,
    Html,
    Part,
    el,
    join,
    limited,
    more,
    plural,
    prose,
    shown,
    whole,
)
from aoti_logscan.render.told import excerpt_of
from aoti_logscan.report import Certainty, Evidence, Excerpt, Producer

#: lines of code kept in sight before and after a lit one
CONTEXT = 8
#: lines of one piece of code in the page, around the first lit one
MAX_CODE_LINES = 5_000
#: characters of one line of code or of an excerpt
MAX_LINE = 2_000

_MEANINGS = {
    "sure": "sure: the failure's own text says so",
    "likely": "likely: inferred from one indirect sign",
    "possible": "possible: other explanations fit as well",
}


def badge(certainty: Certainty | None) -> Html:
    """How sure something is, told by word, shape and colour."""
    if certainty is None:
        return EMPTY
    meaning = _MEANINGS.get(certainty)
    return el("span", certainty, class_=f"badge {certainty}", title=meaning)


def chip(*parts: Part, kind: str = "") -> Html:
    """A small label."""
    return el("span", *parts, class_=f"chip {kind}".strip())


def place(source: str, line: int | None) -> Html:
    """A file and a line; the folder is set apart, since the name is what is looked for."""
    folder, slash, name = source.replace("\\", "/").rpartition("/")
    return el(
        "span",
        el("span", folder + slash, class_="folder") if slash else None,
        el("b", name if line is None else f"{name}:{shown(line)}"),
        class_="place",
    )


def quotation(evidence: Evidence, excerpts: Iterable[Excerpt] = ()) -> Html:
    """A line of a source, in its surroundings where these are known."""
    found = excerpt_of(evidence, excerpts)
    lines = _excerpt(found) if found else el("pre", shown(evidence.text, MAX_LINE))
    told = place(evidence.source, evidence.line)
    return el("figure", el("figcaption", told), lines, class_="quote")


def _excerpt(excerpt: Excerpt) -> Html:
    """The lines with their numbers; each may wrap, since log lines are long."""
    rows = [
        el(
            "div",
            el("span", number, class_="number", aria_hidden="true"),
            el("mark" if number == excerpt.line else "span", text, class_="line"),
            class_="row lit" if number == excerpt.line else "row",
        )
        for number, text in _numbered(excerpt.text, excerpt.first_line)
    ]
    left = len(_lines(excerpt.text)) - len(rows)
    return join([el("div", *rows, class_="excerpt"), more(left, "lines")])


def _numbered(text: str, first: int, start: int = 0, limit: int = 200) -> list[tuple[int, str]]:
    """The lines that are shown, with their numbers."""
    kept = _lines(text)[start : start + limit]
    return [(number, shown(line, MAX_LINE)) for number, line in enumerate(kept, first + start)]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def listing(text: str, first: int, lit: Sequence[int]) -> Html:
    """Code with line numbers; what is far from the lit lines is folded."""
    total = len(_lines(text))
    middle = min(lit, default=first) - first
    start = max(0, min(middle - MAX_CODE_LINES // 2, total - MAX_CODE_LINES))
    lines = _numbered(text, first, start, MAX_CODE_LINES)
    segments = list(_segments(lines, set(lit)))
    inner = el("div", *(_segment(kind, rows) for kind, rows in segments), class_="lines")
    label = f"code, lines {shown(first + start)} to {shown(first + start + len(lines) - 1)}"
    box = el("div", inner, class_="code", tabindex=0, role="region", aria_label=label)
    return join([box, more(total - len(lines), "lines of code")])


def _segments(
    lines: Sequence[tuple[int, str]], lit: set[int]
) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Neighbouring lines of one kind: `lit`, `near` or `far`."""
    near = {line + step for line in lit for step in range(-CONTEXT, CONTEXT + 1)}
    near |= {number for number, _ in lines} if len(lines) <= 4 * CONTEXT else set()
    near |= {number for number, _ in lines[: 3 * CONTEXT]} if not lit else set()
    run: list[tuple[int, str]] = []
    before = ""
    for row in lines:
        kind = "lit" if row[0] in lit else "near" if row[0] in near else "far"
        if kind != before and run:
            yield before, run
            run = []
        run.append(row)
        before = kind
    if run:
        yield before, run


def _segment(kind: str, rows: Sequence[tuple[int, str]]) -> Html:
    numbers = whole(shown(number) for number, _ in rows)
    text = whole(line for _, line in rows)
    body = el(
        "div",
        el("pre", numbers, class_="number", aria_hidden="true"),
        el("pre", el("mark", text) if kind == "lit" else text),
        class_=f"segment {kind}",
    )
    if kind != "far" or len(rows) < 4:
        return body
    lines = plural(len(rows), "line")
    told = f"{lines} folded ({shown(rows[0][0])} to {shown(rows[-1][0])})"
    return el("details", el("summary", told), body, class_="fold")


def command(text: str, label: str) -> Html:
    """A command that can be pasted, with a button that copies it."""
    button = el("button", "Copy", type="button", class_="copy js", aria_label=f"Copy: {label}")
    return el("div", el("pre", el("code", text)), button, class_="command")


def minor(title: str) -> Html:
    """A heading of a part of a section that weighs less than others."""
    return el("h3", title, class_="minor")


def points(items: Sequence[str], class_: str = "points") -> Html:
    """Sentences as a list; nothing where there are none."""
    kept, left = limited(items, 50)
    if not kept:
        return EMPTY
    return join([el("ul", *(el("li", prose(one)) for one in kept), class_=class_), more(left, "")])


def stack(entries: Sequence[str], title: str = "The user's lines") -> Html:
    """A Python stack, as it was told."""
    kept, left = limited(entries, 50)
    if not kept:
        return EMPTY
    text = "\n".join(shown(entry.rstrip(), MAX_LINE) for entry in kept)
    return join([minor(title), el("pre", text, class_="stack"), more(left, "frames")])


def names(label: str, items: Sequence[str]) -> Html:
    """A labelled row of names; nothing where there are none."""
    kept, left = limited(items, 60)
    if not kept:
        return EMPTY
    codes = [el("code", shown(one, MAX_LINE)) for one in kept]
    return join([minor(label), el("p", *codes, class_="names"), more(left, "names")])


def producer(of: Producer) -> str:
    """Where a tensor that a kernel read comes from."""
    if of.kernel is not None:
        return f"made by {of.kernel}"
    return f"input {shown(of.input.position)} ({of.input.name})" if of.input else "unknown"


def section(name: str, title: str, *parts: Part, note: str | None = None) -> Html:
    """A section of the page with its heading, to which the navigation leads."""
    told = el("span", note, class_="note") if note else None
    head = el("h2", title, told, id=f"{name}-title")
    return el("section", head, *parts, id=name, aria_labelledby=f"{name}-title")


def table(label: str, heads: Sequence[str], rows: Iterable[Html], class_: str = "") -> Html:
    """A table that scrolls in itself where it is wider or longer than the page."""
    head = el("thead", el("tr", *(el("th", head, scope="col") for head in heads)))
    body = el("table", head, el("tbody", *rows), class_=class_ or None)
    return el("div", body, class_="scroll", tabindex=0, role="region", aria_label=label)


def row(
    heads: Sequence[str], cells: Sequence[Part], *, rank: int | None = None, sought: bool = True
) -> Html:
    """A row whose cells know their heads, for narrow screens; `sought` rows are searched."""
    first = el("th", cells[0], scope="row", data_head=heads[0])
    rest = (el("td", cell, data_head=head) for head, cell in zip(heads[1:], cells[1:], strict=True))
    return el("tr", first, *rest, data_sought=sought, data_rank=rank)
