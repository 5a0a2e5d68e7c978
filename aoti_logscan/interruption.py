"""Ctrl-C: the first one ends the reading, so that what was read is diagnosed; the second the run.

A signal reaches the process, not a function, so whether one came is known to the whole process.
Nothing is raised by the first: reading asks, and waits for input by `wait_for`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterator, Sequence
from types import FrameType


class _State:
    """Whether Ctrl-C was pressed, and a pipe that becomes readable by it."""

    def __init__(self) -> None:
        self.is_asked = False
        self.wake: tuple[int, int] | None = None


_state = _State()


def is_asked() -> bool:
    """Whether the reading is to end."""
    return _state.is_asked


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """Take the first Ctrl-C within as the end of reading; elsewhere than in the main thread, not.

    A process that was told to ignore Ctrl-C goes on ignoring it.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    _state.is_asked = False
    _state.wake = os.pipe()
    for file in _state.wake:
        os.set_blocking(file, False)
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        for file in _state.wake:
            os.close(file)
        _state.wake = None
        _state.is_asked = False


def _note(_signal: int, _frame: FrameType | None) -> None:
    if _state.is_asked:
        raise KeyboardInterrupt
    _state.is_asked = True
    if _state.wake is not None:
        with contextlib.suppress(BlockingIOError):
            os.write(_state.wake[1], b"!")


def forget() -> None:
    """Read on after all: the first Ctrl-C was the end of something else."""
    _state.is_asked = False
    if _state.wake is not None:
        with contextlib.suppress(BlockingIOError):
            os.read(_state.wake[0], 1)


def pause(seconds: float) -> bool:
    """Wait so long; False as soon as the reading is to end."""
    if not _state.is_asked:
        files = [_state.wake[0]] if _state.wake else []
        select.select(files, [], [], seconds)
    return not _state.is_asked


def in_fork() -> None:
    """In a forked process: every Ctrl-C ends the reading, and none the process."""

    def note(_signal: int, _frame: FrameType | None) -> None:
        _state.is_asked = True

    signal.signal(signal.SIGINT, note)


def wait_for(files: Sequence[int]) -> list[int]:
    """The files that can be read from, at least one; none where the reading is to end."""
    if _state.is_asked:
        return []
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    wake = _state.wake[0] if _state.wake else None
    if wake is not None:
        poll.register(wake, select.POLLIN)
    return [file for file, _ in poll.poll() if file != wake]
