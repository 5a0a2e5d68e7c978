"""What a line is in logs as people have them.

A physical line ends at `\\n`. Inside it, a carriage return starts a new line (progress bars), and
in a log that was stored as a string (JSON, Python's repr) the two characters backslash and n do.
`Window` finds the line around a position without copying the rest; `Line.text` is the line as the
program wrote it: unescaped, without ANSI codes, HTML entities resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aoti_logscan.lazy_re import lazy_re

#: a record longer than this is cut where the window ends
MAX_RECORD = 1 << 20
#: of a longer line, so much is seen before and after a position
_MAX_BEFORE = 64 << 10
_MAX_AFTER = 256 << 10
#: bytes of what stands before a record that tell who wrote it
_HEAD = 800
#: bytes of a prefix whose times may differ from line to line
_LONGEST_HEAD = 4096
#: bytes of a line in which a stored string must open
_OPENS_WITHIN = 4096

#: codes that colour a terminal, move its cursor or set its title
ANSI = lazy_re(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Za-z]|[=>78cDEHMNOZ])"
)
_ENTITY = lazy_re(rb"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
_ESCAPE = lazy_re(rb"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
# {"log": "Traceback ...\n", 'stderr': b'...\n', output="...\n": a quote that opens a string, but
# not the quote before a Windows path (File "C:\new\x.py")
_STRING_OPENS = lazy_re(rb"(?:^\s*|[\[{:|>\]]\s?|(?<=\w)=|\bF )b?[\"'](?![A-Za-z]:\\(?!\\))")
_NEWLINE_ESCAPE = lazy_re(rb"\\[nr]")
# {"message": "{\"log\": \"...\\n...: a string stored inside a string
_STRING_IN_STRING = lazy_re(rb"[{\[,:] ?\\\"")
_SIMPLE = {
    ord("n"): b"\n",
    ord("r"): b"\r",
    ord("t"): b"\t",
    ord("b"): b"\b",
    ord("f"): b"\f",
    ord("/"): b"/",
    ord("\\"): b"\\",
    ord('"'): b'"',
    ord("'"): b"'",
}


class IncompleteError(Exception):
    """The window ends inside a record that has to be read again when more is there."""


class Line:
    """One line: `start` and `end` are positions in the window, `next` where the next one starts."""

    __slots__ = ("end", "escaped", "mark", "next", "start", "text")

    def __init__(self, start: int, end: int, following: int, escaped: bool, text: bytes) -> None:
        self.start = start
        self.end = end
        self.next = following
        self.escaped = escaped
        self.text = text
        #: a position in the window and its column, to count columns from
        self.mark = (start, 0)


class Window:
    """A stretch of a source held in memory: `size` valid bytes, the first at offset `base`."""

    __slots__ = (
        "_begins_line",
        "_carried",
        "_ends_here",
        "_escape_read",
        "_is_stored",
        "_line",
        "_mark",
        "_mark_line",
        "_nested",
        "_physical",
        "base",
        "buffer",
        "final",
        "notes",
        "size",
    )

    def __init__(self, buffer: bytearray) -> None:
        self.buffer = buffer
        self.size = 0
        self.base = 0
        self.final = False
        #: what parsers remember of a stretch of the window, by name: from, to, an answer
        self.notes: dict[str, tuple[int, int, bool]] = {}
        self._mark = 0
        self._mark_line = 1
        self._physical = (0, -1)
        # whether the line that the window begins inside is a stored string
        self._carried = False
        # whether the current physical line is one, and whether that was looked at
        self._is_stored = False
        self._escape_read = False
        self._nested = False
        self._begins_line = True
        self._ends_here = False
        self._line: Line | None = None

    def drop(self, keep_from: int) -> None:
        """Forget the bytes before `keep_from`; positions shift down by as much."""
        if self._mark < keep_from:
            self.line_number(keep_from)
        self._physical_bounds(keep_from)
        inside = self._escaped
        if keep_from > 0:
            self._begins_line = self.buffer[keep_from - 1] == 0x0A
        view = memoryview(self.buffer)
        view[: self.size - keep_from] = view[keep_from : self.size]
        view.release()
        self.notes.clear()
        self.size -= keep_from
        self.base += keep_from
        self._mark -= keep_from
        self._physical = (0, -1)
        self._carried = inside
        self._line = None

    def room(self, size: int) -> memoryview:
        """Writable space for so many bytes behind what is held, as `grow` takes it in."""
        missing = self.size + size - len(self.buffer)
        if missing > 0:
            self.buffer.extend(bytes(missing))
        return memoryview(self.buffer)[self.size : self.size + size]

    def grow(self, size: int, final: bool) -> None:
        """Take in so many bytes that were written behind what is held; `final` ends the source."""
        self.size += size
        self.end_here(final)

    def end_here(self, final: bool) -> None:
        """Say whether the source ends with what is held, so that its last line is whole."""
        self.final = final
        # what was known of the last line is void
        self.notes.clear()
        self._physical = (0, -1)
        self._line = None

    def line_number(self, position: int) -> int:
        """The physical line (from 1) at `position`; cheap for positions that only grow."""
        start, end = self._physical
        if start <= position <= end and start <= self._mark <= end:
            return self._mark_line
        if position >= self._mark:
            self._mark_line += self.buffer.count(b"\n", self._mark, position)
        else:
            self._mark_line -= self.buffer.count(b"\n", position, self._mark)
        self._mark = position
        return self._mark_line

    def know_line(self, position: int, number: int) -> None:
        """Take it from whoever counted that `position` is in this line."""
        self._mark, self._mark_line = position, number

    def line_at(self, position: int, floor: int = 0) -> Line:
        """The line that holds `position`; raises `IncompleteError` if the window ends in it.

        Nothing before `floor` is taken for part of it.
        """
        line = self._line
        if line is not None and line.start <= position < line.next:
            return line
        start, end = self._physical_bounds(position)
        start = max(start, position - _MAX_BEFORE, floor)
        # a carriage return right before the newline begins no line
        inner = self.buffer.rfind(b"\r", start, max(start, min(position, end - 1))) + 1
        start = max(start, inner)
        if self._escaped:
            return self._escaped_line(position, start, end)
        return self._plain_line(start, position, end)

    def physical_line(self, position: int) -> tuple[int, int]:
        """Where the physical line that holds `position` begins and ends, whatever is in it."""
        start, end = self._physical_bounds(position)
        if not self._ends_here and self.size - start < MAX_RECORD:
            raise IncompleteError
        return start, end

    def following(self, line: Line, at_most: int) -> Iterator[Line]:
        """The lines after `line`; raises `IncompleteError` where more may still come."""
        for _ in range(at_most):
            if line.next >= self.size:
                if not self.final:
                    raise IncompleteError
                return
            line = self.line_at(line.next, floor=line.next)
            yield line

    def previous(self, line: Line) -> Line | None:
        """The line before, or None at the start of what is held."""
        if line.start == 0:
            return None
        return self.line_at(line.start - 1)

    def _physical_bounds(self, position: int) -> tuple[int, int]:
        start, end = self._physical
        if start <= position <= end:
            return start, end
        start = self.buffer.rfind(b"\n", 0, position) + 1
        end = self.buffer.find(b"\n", position, self.size)
        self._ends_here = end >= 0 or self.final
        if end < 0:
            end = self.size
        self._escape_read = False
        self._physical = (start, end)
        return start, end

    @property
    def _escaped(self) -> bool:
        """Whether the current physical line holds a stored string; looked at when it is asked."""
        start, end = self._physical
        if start == 0 and not self._begins_line:
            return self._carried
        if not self._escape_read:
            self._is_stored = self._is_escaped(start, end)
            self._escape_read = True
        return self._is_stored

    def _is_escaped(self, start: int, end: int) -> bool:
        reach = min(end, start + _OPENS_WITHIN)
        first = self.buffer.find(b"\\n", start, reach)
        head = bytes(self.buffer[start : reach if first < 0 else first + 2])
        if b'"' not in head and b"'" not in head:
            return False
        self._nested = _STRING_IN_STRING.search(head) is not None
        return _STRING_OPENS.search(head) is not None

    def _plain_line(self, start: int, position: int, end: int) -> Line:
        cut = self.buffer.find(b"\r", position, end)
        if 0 <= cut < end - 1 and cut - position <= _MAX_AFTER:
            return self._remember(start, cut, cut + 1, escaped=False)
        return self._last_of_physical(start, position, end, escaped=False)

    def _escaped_line(self, position: int, start: int, end: int) -> Line:
        begin = start
        search_to = position
        while (found := self._last_escape(start, search_to)) >= 0:
            if self._is_newline_escape(found, start):
                begin = found + 2
                break
            search_to = found
        reach = min(end, position + _MAX_AFTER)
        carriage = self.buffer.find(b"\r", position, reach)
        stop = carriage if 0 <= carriage < end - 1 else reach
        for match in _NEWLINE_ESCAPE.finditer(self.buffer, max(position - 1, begin), stop):
            found = match.start()
            if self._is_newline_escape(found, start) and found + 2 > position:
                doubled = self._nested and found > begin and self.buffer[found - 1] == 0x5C
                return self._remember(begin, found - doubled, found + 2, escaped=True)
        if stop == carriage:
            return self._remember(begin, carriage, carriage + 1, escaped=True)
        return self._last_of_physical(begin, position, end, escaped=True)

    def _last_escape(self, start: int, stop: int) -> int:
        return max(self.buffer.rfind(b"\\n", start, stop), self.buffer.rfind(b"\\r", start, stop))

    def _last_of_physical(self, start: int, position: int, end: int, *, escaped: bool) -> Line:
        if end - position > _MAX_AFTER:
            stop = position + _MAX_AFTER
            return self._remember(start, stop, stop, escaped=escaped)
        if not self._ends_here and self.size - start < MAX_RECORD:
            raise IncompleteError
        return self._remember(start, end, end + 1, escaped=escaped)

    def _is_newline_escape(self, at: int, start: int) -> bool:
        backslashes = 0
        while at - backslashes > start and self.buffer[at - backslashes - 1] == 0x5C:
            backslashes += 1
        return backslashes % 2 == 0 or (self._nested and backslashes == 1)

    def _remember(self, start: int, stop: int, following: int, *, escaped: bool) -> Line:
        text = clean(bytes(self.buffer[start:stop]), escaped)
        self._line = Line(start, stop, following, escaped, text)
        return self._line


class Hit:
    """Where an anchor was found: `start` and `end` in the window, and the line around it."""

    __slots__ = ("_line", "end", "start", "window")

    def __init__(self, window: Window, start: int, end: int) -> None:
        self.window = window
        self.start = start
        self.end = end
        self._line: Line | None = None

    @property
    def line(self) -> Line:
        """The line that the anchor stands in; raises `IncompleteError` if the window ends in it."""
        if self._line is None:
            self._line = self.window.line_at(self.start)
        return self._line

    @property
    def column(self) -> int:
        """Where the anchor stands in `line.text`."""
        line = self.line
        if len(line.text) == line.end - line.start:
            return self.start - line.start
        position, column = line.mark
        if position > self.start:
            position, column = line.start, 0
        between = _cleaned(bytes(self.window.buffer[position : self.start]), line.escaped)
        line.mark = (self.start, column + len(between))
        return line.mark[1]

    def head(self, column: int) -> bytes:
        """The text before a column, of a long one only its beginning and end."""
        text = self.line.text
        if column <= _HEAD:
            return text[:column]
        return text[: _HEAD // 2] + b"\0" + text[column - _HEAD // 2 : column]

    def following(self, at_most: int) -> Iterator[Line]:
        """The next lines of the window, whoever wrote them."""
        return self.window.following(self.line, at_most)


def clean(raw: bytes, escaped: bool) -> bytes:
    """The text of a line as its program wrote it."""
    return _cleaned(raw, escaped).rstrip(b"\r")


def is_clean(raw: bytes) -> bool:
    """Whether lines that are no stored strings hold nothing that `clean` would change."""
    if b"\x1b" in raw or b"\r" in raw or b"\0" in raw:
        return False
    return b"&" not in raw or _ENTITY.search(raw) is None


def _cleaned(raw: bytes, escaped: bool) -> bytes:
    if escaped and b"\\" in raw:
        raw = _ESCAPE.sub(_unescape, raw)
    if b"\x1b" in raw:
        raw = ANSI.sub(b"", raw)
    if b"&" in raw:
        raw = _ENTITY.sub(_entity, raw)
    # a log that was truncated while it was written to begins with zeros
    return raw.lstrip(b"\0")


def _unescape(match: re.Match[bytes]) -> bytes:
    body = match[0][1:]
    if body[0] in b"ux" and len(body) > 1:
        return chr(int(body[1:], 16)).encode("utf-8", "replace")
    return _SIMPLE.get(body[0], match[0])


def _entity(match: re.Match[bytes]) -> bytes:
    import html

    return html.unescape(match[0].decode("ascii")).encode("utf-8", "replace")


def strip_head(head: bytes, text: bytes) -> bytes | None:
    """`text` without a prefix like `head`, or None where it carries another prefix.

    Prefixes agree when they are equal but for the digits of times and line numbers; ranks and
    process ids must be the same. A line that holds nothing but the prefix may have lost its
    trailing blank.
    """
    if not head:
        return text
    if text.startswith(head):
        return text[len(head) :]
    if text.rstrip() == head.rstrip():
        return b""
    if len(head) > _LONGEST_HEAD or len(text) < len(head):
        return None
    if _digits_out(text[: len(head)]) == _digits_out(head):
        return text[len(head) :]
    return None


# 10:11:12   2026-06-21   12:23:33,044   loggers.py:118
_TIME_DIGITS = lazy_re(rb"\d+(?=[:.,T-])|(?<=[:.,T-])\d+")


def _digits_out(text: bytes) -> bytes:
    return _TIME_DIGITS.sub(lambda match: b"0" * len(match[0]), text)
