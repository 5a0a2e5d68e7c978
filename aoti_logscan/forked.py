"""Processes forked from this one, that work on what it holds and answer through pipes.

They share what was in memory at the fork, so nothing is sent to them but what to do next. A process
ends when this one ends or hangs up. Ctrl-C ends no process, only its reading: who interrupts a run
still wants what was read.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
from collections.abc import Callable, Iterator

from aoti_logscan import interruption

#: a task of `answers`, and the number and size of an answer
_TASK = struct.Struct("<I")
_ANSWER = struct.Struct("<IQ")


def cores() -> int:
    """How many processes may run at once; 1 where none can be forked."""
    if not hasattr(os, "fork"):
        return 1
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Forked:
    """A process that runs `serve` with the pipe it is told things by and the one it answers by."""

    def __init__(self, serve: Callable[[int, int], None]) -> None:
        with contextlib.ExitStack() as opened:
            commands, self._commands = _pipe(opened)
            self._results, results = _pipe(opened)
            self._process = os.fork()
            opened.pop_all()
        if self._process == 0:
            status = 1
            try:
                interruption.in_fork()
                os.close(self._commands)
                os.close(self._results)
                serve(commands, results)
                status = 0
            finally:
                os._exit(status)
        os.close(commands)
        os.close(results)

    def fileno(self) -> int:
        """The pipe that it answers by."""
        return self._results

    def interrupt(self) -> None:
        """Pass Ctrl-C on, which reaches it by itself only where both are of a terminal."""
        os.kill(self._process, signal.SIGINT)

    def kill(self) -> None:
        """End it at once."""
        os.kill(self._process, signal.SIGKILL)

    def tell(self, command: bytes) -> None:
        """Send a few bytes; nothing happens where the process is gone."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._commands, command)

    def read(self, size: int) -> bytes | None:
        """So many bytes of its answer; None where it is gone before."""
        return read(self._results, size)


def _pipe(opened: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe that is closed with the stack."""
    pair = os.pipe()
    for file in pair:
        opened.callback(os.close, file)
    widen(pair[1])
    return pair


def widen(pipe: int) -> None:
    """Let a pipe hold a mebibyte, where the system lets it: both ends wait less often."""
    with contextlib.suppress(OSError, ImportError, AttributeError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


def start(count: int, serve: Callable[[int, int], None]) -> list[Forked]:
    """So many processes, or fewer where the system allows no more."""
    found: list[Forked] = []
    with contextlib.suppress(OSError):
        while len(found) < count:
            found.append(Forked(serve))
    return found


def end(processes: list[Forked]) -> None:
    """Hang up on all and wait until they are gone."""
    for process in processes:
        os.close(process._commands)
        os.close(process._results)
    # a later one holds the pipes of those before it too
    for process in reversed(processes):
        with contextlib.suppress(ChildProcessError):  # the system reaps what SIGCHLD is ignored for
            os.waitpid(process._process, 0)


def read(file: int, size: int) -> bytes | None:
    """So many bytes of a pipe; None where the other end is gone before."""
    parts = []
    while size:
        part = os.read(file, min(size, 1 << 20))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write(file: int, data: bytes) -> None:
    """All of the bytes into a pipe."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def answers(
    work: Callable[[int], bytes], count: int, processes: int
) -> Iterator[tuple[int, bytes]]:
    """Each number below `count` with what `work` gives for it, as they are done.

    Of one that takes its process with it there is no answer, nor of any where no process starts.
    """

    def serve(commands: int, results: int) -> None:
        while (task := read(commands, _TASK.size)) is not None:
            (number,) = _TASK.unpack(task)
            answer = work(number)
            write(results, _ANSWER.pack(number, len(answer)) + answer)

    waiting: Iterator[int] = iter(range(count))
    workers = start(min(processes, count), serve)
    try:
        busy = {worker.fileno(): worker for worker in workers if _give_next(worker, waiting)}
        while busy:
            ready = interruption.wait_for(list(busy))
            if not ready:
                waiting = iter(())
                for worker in busy.values():
                    worker.interrupt()
                ready = list(busy)
            for file in ready:
                answer = _answer(busy[file])
                if answer is not None:
                    yield answer
                if answer is None or not _give_next(busy[file], waiting):
                    del busy[file]
    finally:
        end(workers)


def _give_next(worker: Forked, waiting: Iterator[int]) -> bool:
    number = next(waiting, None)
    if number is not None:
        worker.tell(_TASK.pack(number))
    return number is not None


def _answer(worker: Forked) -> tuple[int, bytes] | None:
    head = worker.read(_ANSWER.size)
    if head is None:
        return None
    number, size = _ANSWER.unpack(head)
    data = worker.read(size)
    return None if data is None else (number, data)
