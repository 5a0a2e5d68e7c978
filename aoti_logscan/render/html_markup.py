"""Markup by construction: text is escaped unless its type says that it is markup.

An own builder of a few lines rather than a template engine: the page is made of values that come
from hostile logs, and here the type checker sees to it that none of them is taken for markup.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from aoti_logscan.render.layout import visible

#: characters of one text that are shown; what is beyond is counted
MAX_TEXT = 20_000

T = TypeVar("T")


class Html(msgspec.Struct, frozen=True):
    """Markup, to be written as it is."""

    markup: str


#: what an element may hold; None is nothing
Part = Html | str | int | None
#: the value of an attribute; True is an attribute without a value, None and False are none
Value = str | int | bool | None

EMPTY = Html("")


def el(tag: str, *parts: Part, **attributes: Value) -> Html:
    """An element; a name of an attribute may end in `_`, and other `_` are `-`."""
    return Html(f"<{tag}{_attributes(attributes)}>{join(parts).markup}</{tag}>")


def void(tag: str, **attributes: Value) -> Html:
    """An element that holds nothing and has no end, such as `meta`."""
    return Html(f"<{tag}{_attributes(attributes)}>")


def join(parts: Iterable[Part]) -> Html:
    """The parts one after the other."""
    return Html("".join(map(_markup, parts)))


def _markup(part: Part) -> str:
    if isinstance(part, Html):
        return part.markup
    return "" if part is None else html.escape(shown(part))


def _attributes(attributes: dict[str, Value]) -> str:
    return "".join(
        _attribute(name.rstrip("_").replace("_", "-"), value)
        for name, value in attributes.items()
        if value is not None and value is not False
    )


def _attribute(name: str, value: Value) -> str:
    if value is True:
        return f" {name}"
    return f' {name}="{html.escape(visible(shown(value)))}"'


def shown(value: Any, limit: int = MAX_TEXT) -> str:
    """Any value of a report as text: lines kept, all else that is not printable made visible."""
    text = value if isinstance(value, str) else _told(value)
    if len(text) > limit:
        text = f"{text[:limit]} … ({len(text) - limit:,} more characters)"
    if text.isprintable():
        return text
    return "\n".join(visible(line.rstrip("\r").expandtabs(4)) for line in text.split("\n"))


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        # str() of an int of thousands of digits raises
        return str(value) if value.bit_length() <= 64 else hex(value)
    if isinstance(value, dict):
        return ", ".join(f"{shown(name)}: {shown(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return "unknown" if value is None else str(value)


def whole(lines: Iterable[str]) -> Html:
    """Lines that were made visible, however long they are together."""
    return Html(html.escape("\n".join(lines)))


def prose(text: str) -> Html:
    """A sentence in which what stands between backquotes is code."""
    pieces = shown(" ".join(text.split())).split("`")
    if len(pieces) % 2 == 0:
        return join(["`".join(pieces)])
    return join(el("code", piece) if at % 2 else piece for at, piece in enumerate(pieces))


def sentence(text: str) -> Html:
    """Prose that begins with a capital, where it begins with a word and not with a name."""
    first = text.split(maxsplit=1)[:1]
    return prose(text[:1].upper() + text[1:] if first and first[0].isalpha() else text)


def limited(items: Sequence[T], limit: int) -> tuple[Sequence[T], int]:
    """The first items, and how many are beyond the limit."""
    return items[:limit], max(0, len(items) - limit)


def more(left: int, what: str) -> Html:
    """A line that says how many are not shown; nothing where all are."""
    return el("p", f"{left:,} more {what} not shown here", class_="more") if left else EMPTY


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 rank`, `2 ranks`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def anchor(url: str, *parts: Part) -> Html:
    """A link to a file beside the page; whatever `url` says, it leads nowhere else."""
    path = quote(url, safe="/%._-~#?=&+,@!$'()*;", errors="replace")
    return el("a", *parts, href=f"./{path}", rel="noreferrer")
