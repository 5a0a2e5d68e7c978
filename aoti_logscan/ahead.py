"""A process that searches blocks for literals while this one parses earlier blocks.

A process, since the search calls back into Python for every literal it finds: a thread would wait
for the interpreter as long as this one parses. Blocks lie in memory that both share. It is a fork
that searches, answers, and ends with this one; where it is gone, this one searches by itself.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from typing import NamedTuple

from aoti_logscan.anchors import SHIFT, Anchors, Found
from aoti_logscan.forked import end, read, start, write

#: a block: its slot, its bytes, and where literals have to end after
_GIVEN = struct.Struct("<III")
#: an answer: how many literals, how many newlines
_COUNTS = struct.Struct("<II")


class Searched(NamedTuple):
    """What a block holds: literals, the newlines before each (from the block's start), and all."""

    found: list[Found]
    lines: list[int]
    newlines: int


def search(anchors: Anchors, view: memoryview, past: int) -> Searched:
    """The literals that end after `past`, with the newlines between `past` and each.

    One that began before has so many newlines less than none.
    """
    data = bytes(view)
    found, lines, at, count = anchors.find(view, past), [], past, 0
    for one in found:
        start = one >> SHIFT
        if start < past:
            lines.append(-data.count(b"\n", start, past))
            continue
        count += data.count(b"\n", at, start)
        at = start
        lines.append(count)
    return Searched(found, lines, count + data.count(b"\n", at))


class Ahead:
    """Shared slots of `size` bytes each, and the process that searches them in the given order.

    Where no process can be started, nothing is answered.
    """

    def __init__(self, anchors: Anchors, slots: int, size: int) -> None:
        self._anchors = anchors
        self._size = size
        self._memory = mmap.mmap(-1, slots * size)
        # before the fork, so that it is done once
        anchors.prepare()
        self._process = start(1, self._serve)

    def slot(self, number: int) -> memoryview:
        """The bytes of a slot."""
        return memoryview(self._memory)[number * self._size : (number + 1) * self._size]

    def give(self, slot: int, length: int, past: int) -> None:
        """Let the first bytes of a slot be searched for literals that end after `past`."""
        for process in self._process:
            process.tell(_GIVEN.pack(slot, length, past))

    def take(self) -> Searched | None:
        """What was found in the block that was given first; None where its process is gone."""
        if not self._process:
            return None
        (process,) = self._process
        head = process.read(_COUNTS.size)
        if head is None:
            return None
        count, newlines = _COUNTS.unpack(head)
        found, lines = array("Q"), array("i")
        data = process.read(count * (found.itemsize + lines.itemsize))
        if data is None:
            return None
        found.frombytes(data[: count * found.itemsize])
        lines.frombytes(data[count * found.itemsize :])
        return Searched(found.tolist(), lines.tolist(), newlines)

    def close(self) -> None:
        """End the process."""
        end(self._process)

    def _serve(self, commands: int, results: int) -> None:
        while (given := read(commands, _GIVEN.size)) is not None:
            slot, length, past = _GIVEN.unpack(given)
            with self.slot(slot)[:length] as view:
                searched = search(self._anchors, view, past)
            found, lines, newlines = searched
            head = _COUNTS.pack(len(found), newlines)
            write(results, head + array("Q", found).tobytes() + array("i", lines).tobytes())
