"""A log that grows, read until a failure stands in it.

What was read is judged whenever the log has been quiet for a while, as if it ended there; a log
that is never quiet is judged all the same, but never for more than a fifth of the time. A log that
is cut or replaced is read anew.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable

from aoti_logscan import interruption
from aoti_logscan.blocks import Counted
from aoti_logscan.catalogue import Catalogue
from aoti_logscan.errors import UnreadablePathError
from aoti_logscan.pipeline import scanner, tells_a_failure
from aoti_logscan.scan import WINDOW, Scan, Scanned
from aoti_logscan.sources import shown
from aoti_logscan.streams import reason, text_stream

#: seconds without a new byte after which the log is judged, and between two looks at its size
QUIET = 1.0
_LOOK = 0.1
#: seconds after which a log that is never quiet is judged, and how much of the time that may take
_NEVER_QUIET = 10.0
_REST = 4


def until_failure(
    path: str,
    in_use: Catalogue,
    *,
    rank: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Return once a failure stands in the file, or the reading is to end.

    Raises `UnreadablePathError` where it is no file that can be read.
    """
    if not os.path.isfile(path):
        raise UnreadablePathError(f"--follow needs a file: {shown(path)}")
    judge = _Judge(in_use, rank)
    while not interruption.is_asked():
        try:
            followed = _Followed(path, in_use, progress)
        except OSError as error:
            if os.path.lexists(path):
                raise UnreadablePathError(f"{shown(path)}: {reason(error)}") from error
            interruption.pause(_LOOK)  # it is being replaced
            continue
        with followed:
            if _found(followed, judge):
                return


def _found(followed: _Followed, judge: _Judge) -> bool:
    """Whether a failure appears before the file is another one or the reading is to end."""
    while not interruption.is_asked():
        if followed.read():
            judge.saw_more()
        if judge.is_due() and judge.condemns(followed.scan.so_far()):
            return True
        if followed.is_replaced():
            return False
        interruption.pause(_LOOK)
    return False


class _Followed:
    """One file at a path, scanned as far as it has grown."""

    def __init__(
        self, path: str, in_use: Catalogue, progress: Callable[[int], None] | None
    ) -> None:
        self._path = path
        self._raw = io.FileIO(path)
        self._source = Counted(text_stream(self._raw), progress)
        self.scan: Scan = scanner(in_use).begin(shown(path))

    def __enter__(self) -> _Followed:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def read(self) -> bool:
        """Read what was added; whether that was anything."""
        before = self._raw.tell()
        while self.scan.read(self._source, WINDOW, grows=True) == WINDOW:
            if interruption.is_asked():
                break
        return self._raw.tell() > before

    def is_replaced(self) -> bool:
        """Whether another file lies at the path, or this one was cut."""
        try:
            there = os.stat(self._path)
        except OSError:
            return False
        here = os.fstat(self._raw.fileno())
        same = (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
        return not same or here.st_size < self._raw.tell()


class _Judge:
    """When what was read is judged, so that it neither waits for long nor takes all the time."""

    def __init__(self, in_use: Catalogue, rank: int | None) -> None:
        self._in_use = in_use
        self._rank = rank
        self._first: float | None = None
        self._last = 0.0
        self._not_before = 0.0

    def saw_more(self) -> None:
        """Something was added."""
        self._last = time.monotonic()
        self._first = self._first or self._last

    def is_due(self) -> bool:
        """Whether something was added that has not been judged, and now is the time."""
        now = time.monotonic()
        if self._first is None or now < self._not_before:
            return False
        return now - self._last >= QUIET or now - self._first >= _NEVER_QUIET

    def condemns(self, scanned: Scanned) -> bool:
        """Whether it tells a failure."""
        begun = time.monotonic()
        self._first = None
        found = tells_a_failure(scanned, self._in_use, self._rank)
        now = time.monotonic()
        self._not_before = now + _REST * (now - begun)
        return found
