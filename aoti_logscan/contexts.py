"""The lines around records, kept as they pass: a pipe is as good as a file."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from aoti_logscan.events import Event
from aoti_logscan.lines import ANSI, Window
from aoti_logscan.records import Draft

#: records of one type whose surroundings are kept, from the first ones and from the last ones
_MAX_CONTEXTS = 100
#: physical lines that are kept before and after a record, and bytes of either
_LINES_BEFORE, _LINES_AFTER = 4, 8
_MAX_CONTEXT = 4_000
_NEWLINE = 0x0A


class Context(NamedTuple):
    """Whole physical lines around a record, without colours; `first_line` is the first's number."""

    first_line: int
    text: str


class Contexts:
    """The lines around records, by their offsets: of each type the first ones and the last ones."""

    def __init__(self) -> None:
        self._first: dict[type[Event], int] = {}
        self._last: dict[type[Event], deque[int]] = {}
        self._found: dict[int, Context] = {}

    def add(self, draft: Draft, line: int, window: Window) -> None:
        """Keep what stands around a record, as far as the window holds it."""
        offset = window.base + draft.start
        count = self._first[draft.kind] = self._first.get(draft.kind, 0) + 1
        if count > _MAX_CONTEXTS:
            last = self._last.setdefault(draft.kind, deque())
            last.append(offset)
            if len(last) > _MAX_CONTEXTS:
                self._found.pop(last.popleft(), None)
        self._found[offset] = _context(draft, line, window)

    def update(self, found: Mapping[int, Context]) -> None:
        """Take in what another process kept."""
        self._found.update(found)

    @property
    def found(self) -> Mapping[int, Context]:
        """What was kept, by the offsets of the records."""
        return self._found


def _context(draft: Draft, line: int, window: Window) -> Context:
    """The record with the whole lines around it that are within the bytes that may be kept."""
    start, end = draft.start, min(draft.end, draft.start + _MAX_CONTEXT)
    first = _lines_back(window.buffer, start, max(0, start - _MAX_CONTEXT))
    last = _lines_on(window.buffer, end, min(window.size, end + _MAX_CONTEXT))
    first = _whole_from(window, first, start)
    last = _whole_to(window, last, start)
    text = ANSI.sub(b"", window.buffer[first:last]).decode("utf-8", "replace").removesuffix("\n")
    return Context(line - window.buffer.count(b"\n", first, start), text)


def _lines_back(buffer: bytearray, position: int, floor: int) -> int:
    position = buffer.rfind(b"\n", floor, position) + 1 or floor
    for _ in range(_LINES_BEFORE):
        if position > floor:
            position = buffer.rfind(b"\n", floor, position - 1) + 1 or floor
    return position


def _whole_from(window: Window, first: int, start: int) -> int:
    """Where the first line begins that is whole; the record itself where there is none."""
    if window.base + first == 0 or (first > 0 and window.buffer[first - 1] == _NEWLINE):
        return first
    return window.buffer.find(b"\n", first, start) + 1 or start


def _whole_to(window: Window, last: int, start: int) -> int:
    """Where the last line or, of one that is too long, the last word ends that is whole."""
    if last == window.size or window.buffer[last - 1] == _NEWLINE:
        return last
    for mark in (b"\n", b" "):
        found = window.buffer.rfind(mark, start, last)
        if found > start:
            return found
    return last


def _lines_on(buffer: bytearray, position: int, ceiling: int) -> int:
    for _ in range(_LINES_AFTER + 1):
        found = buffer.find(b"\n", position, ceiling)
        if found < 0:
            return ceiling
        position = found + 1
    return position
