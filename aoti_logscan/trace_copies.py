"""Copies of TORCH_TRACE files, made as they are read, for a program that reads them again.

A source may be a pipe, compressed or a member of an archive, and tlparse takes only plain files of
valid UTF-8; so each is copied as it passes, with `\\ufffd` for what is no UTF-8, and the copies of
sources that held no trace are dropped again.
"""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aoti_logscan.blocks import Readable

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory


class TraceCopy(NamedTuple):
    """One trace: the name of its source, and a plain file with its text."""

    source: str
    file: Path


class TraceCopies:
    """A temporary folder of copies; leaving the context removes it.

    `problem` says why the copies are not whole, None where they are.
    """

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._copy: _Copying | None = None
        self._error: str | None = None
        self.found: list[TraceCopy] = []
        self.problem: str | None = None

    def __enter__(self) -> TraceCopies:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def copying(self, stream: Readable) -> Readable:
        """The stream, with a copy made of what is read of it, where there is room for one."""
        try:
            self._copy = _Copying(stream, self._place() / f"trace-{len(self.found)}.log")
        except OSError as error:
            self._error = error.strerror or str(error)
            return stream
        return self._copy

    def _place(self) -> Path:
        from tempfile import TemporaryDirectory

        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="aoti-logscan-")
        return Path(self._folder.name)

    def done(self, source: str, *, is_trace: bool) -> None:
        """The source is read; the copy is kept where it is a trace."""
        copy, self._copy = self._copy, None
        if copy is None:
            if self._error and is_trace:
                self.problem = f"no copy of {source} could be made: {self._error}"
            return
        copy.close()
        if copy.error:
            self.problem = f"no copy of {source} could be made: {copy.error}"
        elif is_trace:
            self.found.append(TraceCopy(source, copy.file))
            return
        copy.file.unlink(missing_ok=True)


class _Copying:
    """A stream that writes what it gives to a file, as valid UTF-8."""

    def __init__(self, stream: Readable, file: Path) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._out = open(file, "wb")  # noqa: SIM115 - closed by `close`
        self.file = file
        self.error: str | None = None

    @property
    def problem(self) -> str | None:
        """As the stream's own."""
        return self._stream.problem

    def readinto(self, view: memoryview) -> int:
        """As the stream's own."""
        count = self._stream.readinto(view)
        self._write(self._decoder.decode(view[:count], final=not count))
        return count

    def _write(self, text: str) -> None:
        if self.error:
            return
        try:
            self._out.write(text.encode())
        except OSError as error:
            self.error = error.strerror or str(error)

    def close(self) -> None:
        """Finish the file."""
        try:
            self._out.close()
        except OSError as error:
            self.error = self.error or os.strerror(error.errno or 0)
