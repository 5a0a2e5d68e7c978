"""Processes that search blocks for literals while this one parses earlier blocks.

Processes, since the search calls back into Python for every literal it finds: a thread would wait
for the interpreter as long as this one parses. Blocks lie in memory that all share. A process is a
fork that searches, answers, and ends with this one; where it is gone, this one searches by itself.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct
from array import array
from collections.abc import Callable

from aoti_logscan.anchors import Anchors, Found

#: a block: its slot, its bytes, and where literals have to end after
_GIVEN = struct.Struct("<III")
_COUNT = struct.Struct("<I")


def is_possible() -> bool:
    """Whether there is a second core, and processes can be forked."""
    return hasattr(os, "fork") and len(os.sched_getaffinity(0)) > 1


class Ahead:
    """Shared slots of `size` bytes each, and processes that search them.

    Blocks are given to the processes in turn; their answers are taken in the order they were given.
    """

    def __init__(self, anchors: Anchors, slots: int, size: int, processes: int) -> None:
        self._anchors = anchors
        self._size = size
        self._memory = mmap.mmap(-1, slots * size)
        # before the fork, so that it is done once
        anchors.prepare()
        self._workers = [_Worker(self._serve) for _ in range(processes)]
        self._given = 0
        self._taken = 0

    def slot(self, number: int) -> memoryview:
        """The bytes of a slot."""
        return memoryview(self._memory)[number * self._size : (number + 1) * self._size]

    def give(self, slot: int, length: int, past: int) -> None:
        """Let the first bytes of a slot be searched for literals that end after `past`."""
        self._workers[self._given % len(self._workers)].tell(_GIVEN.pack(slot, length, past))
        self._given += 1

    def take(self) -> list[Found] | None:
        """What was found in the block that was given first; None where its process is gone."""
        worker = self._workers[self._taken % len(self._workers)]
        self._taken += 1
        return worker.answer()

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.hang_up()
        # a later one holds the pipes of those before it too
        for worker in reversed(self._workers):
            worker.wait()

    def _serve(self, commands: int, results: int) -> None:
        while (given := _read(commands, _GIVEN.size)) is not None:
            slot, length, past = _GIVEN.unpack(given)
            with self.slot(slot)[:length] as view:
                found = self._anchors.find(view, past)
            _write(results, _COUNT.pack(len(found)) + array("Q", found).tobytes())


class _Worker:
    """One process and the two pipes to it; it ends when this process closes them or ends."""

    def __init__(self, serve: Callable[[int, int], None]) -> None:
        commands, self._commands = os.pipe()
        self._results, results = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            status = 1
            try:
                # who interrupts the run still wants what was given to it
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                os.close(self._commands)
                os.close(self._results)
                serve(commands, results)
                status = 0
            finally:
                os._exit(status)
        os.close(commands)
        os.close(results)

    def tell(self, command: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._commands, command)

    def answer(self) -> list[Found] | None:
        head = _read(self._results, _COUNT.size)
        if head is None:
            return None
        found = array("Q")
        data = _read(self._results, _COUNT.unpack(head)[0] * found.itemsize)
        if data is None:
            return None
        found.frombytes(data)
        return found.tolist()

    def hang_up(self) -> None:
        os.close(self._commands)
        os.close(self._results)

    def wait(self) -> None:
        os.waitpid(self._process, 0)


def _read(file: int, size: int) -> bytes | None:
    """So many bytes; None where the other end is gone before."""
    parts = []
    while size:
        part = os.read(file, size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
