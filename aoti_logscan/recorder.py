"""Writes a recording while a command runs: its bytes, when they came, and how it was run.

Nothing here raises: a recording that cannot be written says why in `problem`, once, and keeps the
last of the output in memory, where a failure is told.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aoti_logscan.recording import (
    ARRIVALS,
    ARRIVALS_HEAD,
    OUTPUT,
    RUN,
    TRACE,
    run_record,
)

#: bytes of the end of the output that are kept where they cannot be written
_TAIL = 1 << 20
#: milliseconds that one line of arrivals stands for at least
_TICK = 10
#: characters of the command that are noted
_MAX_COMMAND = 64 << 10
_WINDOW = 1 << 20
#: what a trace holds for each graph that was compiled
_COMPILED = b"inductor_output_code"


class Recorder:
    """A recording in the making. `problem` says why it stopped, None while all is well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problem: str | None = None
        self.printed = 0
        self.recorded = 0
        self._tail = bytearray()
        self._files: dict[str, int] = {}
        self._began = self._told = time.monotonic()
        self._untold = 0
        self._fields: dict[str, Any] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in (OUTPUT, ARRIVALS):
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
                self._files[name] = os.open(folder / name, flags, 0o644)
            _write(self._files[ARRIVALS], ARRIVALS_HEAD)
        except OSError as error:
            self._broke(error)

    def begin(self, **fields: Any) -> None:
        """Note how the command is run, so that it is known even if nobody lives to see its end."""
        self._began = self._told = time.monotonic()
        self._fields = fields | {
            "command": _bounded(fields["command"]),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        self._note()

    def write(self, piece: memoryview) -> None:
        """Take a piece of the output."""
        self.printed += len(piece)
        if self.problem is None:
            self._arrived(len(piece))
        if self.problem is None:
            try:
                while piece:
                    count = os.write(self._files[OUTPUT], piece)
                    self.recorded += count
                    piece = piece[count:]
                return
            except OSError as error:
                self._broke(error)
        self._tail += piece
        del self._tail[: max(0, len(self._tail) - _TAIL)]

    def end(self, **fields: Any) -> None:
        """Note how the command ended; its output is complete."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()
        self._fields |= fields | {
            "seconds": round(time.monotonic() - self._began, 3),
            "printed": self.printed,
            "recorded": self.recorded,
            "problem": self.problem,
        }
        with contextlib.suppress(OSError):
            self._fields["compiled"] = _compiled(self.folder / TRACE)
        self._note()

    def add(self, **fields: Any) -> None:
        """Note what was found out afterwards."""
        self._fields |= fields
        self._note()

    def lost(self) -> Path | None:
        """A file elsewhere with the end of the output that could not be recorded."""
        if not self._tail:
            return None
        for place in (None, "/dev/shm"):
            with contextlib.suppress(OSError):
                return _spilled(self._tail, place)
        return None

    def _arrived(self, count: int) -> None:
        now = time.monotonic()
        self._untold += count
        milliseconds = int((now - self._told) * 1000)
        if milliseconds < _TICK and self.recorded:
            return
        try:
            _write(self._files[ARRIVALS], b"%d\t%d\n" % (milliseconds, self._untold))
        except OSError as error:
            self._broke(error)
        self._told += milliseconds / 1000
        self._untold = 0

    def _note(self) -> None:
        """Write run.json anew; in place where there is no room for another one."""
        data = run_record(self._fields)
        for name in (f".{RUN}", RUN):
            try:
                with open(self.folder / name, "wb" if name != RUN else "r+b") as file:
                    file.write(data)
                    file.truncate()
                if name != RUN:
                    os.replace(self.folder / name, self.folder / RUN)
                return
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.unlink(self.folder / f".{RUN}")
                failed = error
        if self.problem is None:
            self._broke(failed)

    def _broke(self, error: OSError) -> None:
        at = f"after {self.recorded:,} bytes" if self.recorded else "at its start"
        self.problem = f"the recording in {self.folder} stopped {at}: {error.strerror or error}"


def _spilled(tail: bytes | bytearray, place: str | None) -> Path:
    """A new file in this folder (None: where temporary files go) that holds the tail."""
    from tempfile import mkstemp

    file, name = mkstemp(".log", "aoti-logscan-end-", place)
    try:
        _write(file, tail)
    except OSError:
        os.unlink(name)
        raise
    finally:
        os.close(file)
    return Path(name)


def _write(file: int, data: bytes | bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _bounded(command: Sequence[str]) -> list[str]:
    """The command, without what is beyond the limit."""
    kept: list[str] = []
    left = _MAX_COMMAND
    for word in command:
        if left <= 0:
            return [*kept, f"... {len(command) - len(kept)} more"]
        kept.append(word if len(word) <= left else f"{word[:left]}...")
        left -= len(word)
    return kept


def _compiled(trace: Path) -> bool | None:
    """Whether something was compiled, by the trace; None where none was asked for."""
    if not trace.is_dir():
        return None
    return any(_holds(file, _COMPILED) for file in trace.iterdir())


def _holds(path: Path, words: bytes) -> bool:
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
        before = b""
        while piece := file.read(_WINDOW):
            if words in before + piece:
                return True
            before = piece[-len(words) :]
    return False
