"""A source block by block, read and searched ahead of whoever parses it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import NamedTuple, Protocol

from aoti_logscan.ahead import Ahead, search
from aoti_logscan.anchors import SHIFT, Anchors, Found

#: blocks that are read before the first of them is parsed
_SLOTS = 4


class Readable(Protocol):
    """A stream of bytes."""

    @property
    def problem(self) -> str | None:
        """Why it broke off, None where it did not."""

    def readinto(self, view: memoryview) -> int:
        """Fill the view from its start; 0 at the end."""


class Counted:
    """A stream that tells how much of it was read."""

    def __init__(self, stream: Readable, progress: Callable[[int], None] | None = None) -> None:
        self._stream = stream
        self._progress = progress
        self._read = 0

    def fill(self, view: memoryview) -> int:
        """Fill the view, which falls short only at the stream's end; gives the bytes read."""
        size = 0
        while size < len(view):
            count = self._stream.readinto(view[size:])
            if not count:
                break
            size += count
            self._read += count
            if self._progress is not None:
                self._progress(self._read)
        return size


class Block(NamedTuple):
    """The next bytes of a source, the literals that end in them, by offset, and their lines.

    `line` is that of the block's end.
    """

    data: memoryview
    found: list[Found]
    lines: list[int]
    line: int
    is_last: bool


class Tail(NamedTuple):
    """How far a source was read: bytes, the line there, and the last bytes, half a literal's."""

    offset: int
    line: int
    data: bytes


class _Given(NamedTuple):
    """A block that is being searched: its slot, the bytes carried into it, its own, its offset."""

    slot: int
    carried: int
    size: int
    offset: int
    is_last: bool


class Helped:
    """A source's blocks, read and searched ahead; `tail` is what was read before."""

    def __init__(self, source: Counted, anchors: Anchors, size: int, tail: Tail) -> None:
        self._source = source
        self._anchors = anchors
        self._size = size
        self._offset, self._line, self._tail = tail
        self._overlap = anchors.longest - 1
        self._ahead = Ahead(anchors, _SLOTS, self._overlap + size)
        self._pending: deque[_Given] = deque()

    def blocks(self) -> Iterator[Block]:
        """All blocks in order; the data of one is valid until the next one is asked for."""
        for slot in cycle(range(_SLOTS)):
            if not self._pending or not self._pending[-1].is_last:
                self._read(slot)
            if len(self._pending) == _SLOTS or self._pending[-1].is_last:
                block = self._first()
                yield block
                if block.is_last:
                    return

    def close(self) -> None:
        """End the process."""
        self._ahead.close()

    def _read(self, slot: int) -> None:
        view = self._ahead.slot(slot)
        carried = len(self._tail)
        view[:carried] = self._tail
        size = self._source.fill(view[carried : carried + self._size])
        given = _Given(slot, carried, size, self._offset, size < self._size)
        self._ahead.give(slot, carried + size, carried)
        self._pending.append(given)
        self._tail = bytes(view[max(0, carried + size - self._overlap) : carried + size])
        self._offset += size

    def _first(self) -> Block:
        given = self._pending.popleft()
        view = self._ahead.slot(given.slot)[: given.carried + given.size]
        searched = self._ahead.take() or search(self._anchors, view, given.carried)
        moved, line = given.offset - given.carried << SHIFT, self._line
        self._line += searched.newlines
        return Block(
            view[given.carried :],
            [one + moved for one in searched.found],
            [line + one for one in searched.lines],
            self._line,
            given.is_last,
        )
