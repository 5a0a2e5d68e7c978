"""Lines of styled pieces: measured in columns, wrapped, cut, and free of control characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

#: what a piece of text is; `render/terminal.py` says how each looks on a terminal
Style = Literal[
    "plain",
    "title",
    "failure",
    "clean",
    "sure",
    "likely",
    "possible",
    "label",
    "path",
    "command",
    "quiet",
    "warning",
]

#: columns below which no line is made any narrower
NARROWEST = 20
#: columns that a text for reading fills at most
MEASURE = 120
#: characters of a text that are shown
MAX_TEXT = 4_000
#: characters in each column, so that marks without a width cannot pile up
_MARKS = 4


class Piece(NamedTuple):
    """Text in one style; it holds no newline and no control character."""

    text: str
    style: Style = "plain"


Line = tuple[Piece, ...]


def plain(line: Line) -> str:
    """The line without its styles and without blanks at its end."""
    return "".join(piece.text for piece in line).rstrip(" ")


# --- characters


def visible(text: str) -> str:
    """The text with everything that is no plain printable character shown as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    code = ord(char)
    if char.isspace() and code >= 0xA0:
        return " "
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str) -> str:
    """The text on one line, as `visible` shows it; what is beyond `MAX_TEXT` is cut."""
    shown = visible(" ".join(text[: 2 * MAX_TEXT].split()))
    if len(shown) <= MAX_TEXT and len(text) <= 2 * MAX_TEXT:
        return shown
    return shown[: MAX_TEXT - 1] + "…"


# --- columns


def columns(text: str) -> int:
    """How many columns of a terminal the text takes; it is as `visible` shows it."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 0 if unicodedata.combining(char) else 1


def width_of(line: Line) -> int:
    """How many columns the line takes."""
    return sum(columns(piece.text) for piece in line)


def _fitting(text: str, width: int) -> int:
    """How many of its first characters fit."""
    if len(text) <= width and text.isascii():
        return len(text)
    left = width
    for at, char in enumerate(text):
        left -= _columns(char)
        if left < 0 or at >= _MARKS * width:
            return at
    return len(text)


def clipped(text: str, width: int) -> str:
    """The text, cut at its end where it does not fit."""
    if _fitting(text, width) == len(text):
        return text
    return text[: _fitting(text, width - 1)] + "…"


def clipped_left(text: str, width: int) -> str:
    """The text, cut at its beginning where it does not fit."""
    if _fitting(text, width) == len(text):
        return text
    kept = _fitting(text[::-1], width - 1)
    return "…" + text[len(text) - kept :]


def clipped_within(text: str, width: int) -> str:
    """The text, cut in its middle where it does not fit: lines of logs tell most at both ends."""
    if _fitting(text, width) == len(text):
        return text
    end = clipped_left(text, width // 2)
    return text[: _fitting(text, width - columns(end))] + end


# --- lines


def wrapped(
    text: str,
    width: int,
    *,
    style: Style = "plain",
    first: Line = (),
    later: str | None = None,
    reserved: int = 0,
    most: int | None = None,
) -> list[Line]:
    """The text as lines of whole words; a word longer than a line is broken.

    `first` stands before the first line, `later` (else as many blanks) before the others;
    `reserved` are columns left free at the end of the first line. Of more than `most` lines, the
    last one shown is cut.
    """
    begin = " " * width_of(first) if later is None else later
    width = max(width, NARROWEST)
    rooms = (width - width_of(first) - reserved, width - len(begin))
    rows = list(_rows(one_line(text).split(), *rooms))
    if most is not None and len(rows) > most:
        rows[most - 1 :] = [clipped(" ".join(rows[most - 1 :]), rooms[1 if most > 1 else 0])]
    return [
        ((*first,) if at == 0 else (Piece(begin),)) + ((Piece(row, style),) if row else ())
        for at, row in enumerate(rows or [""])
    ]


def _rows(words: list[str], first: int, later: int) -> Iterator[str]:
    """The words in rows: the first of one width, the others of another."""
    row, room = "", first
    for word in words:
        if not row and columns(word) <= room:
            row = word
        elif row and columns(row) + 1 + columns(word) <= room:
            row = f"{row} {word}"
        else:
            if row or room < later:
                yield row
                room = later
            *whole, row = _pieces(word, room)
            yield from whole
    yield row


def _pieces(word: str, room: int) -> Iterator[str]:
    """The word, broken where it must be."""
    room = max(room, 1)
    while (fits := max(1, _fitting(word, room))) < len(word):
        yield word[:fits]
        word = word[fits:]
    yield word


def spread(first: Line, text: Piece, right: Piece, width: int) -> Iterator[Line]:
    """The text behind `first`, and `right` at the end of the first line; longer ones go on below.

    No wider than is good to read; where `right` has no room beside the first line, it stands below.
    """
    width = max(NARROWEST, min(width, MEASURE))
    taken = columns(right.text) + 2
    head, *rest = wrapped(
        text.text, width, style=text.style, first=first, later="  ", reserved=taken
    )
    gap = width - columns(plain(head)) - columns(right.text)
    if gap >= 2:
        yield (*_without_end(head), Piece(" " * gap), right)
        yield from rest
        return
    yield from (head, *rest)
    if right.text:
        yield from wrapped(right.text, width, style=right.style, first=(Piece("  "),))


def _without_end(line: Line) -> Line:
    """The line without the blanks at its end."""
    return (*line[:-1], *(piece._replace(text=piece.text.rstrip(" ")) for piece in line[-1:]))
