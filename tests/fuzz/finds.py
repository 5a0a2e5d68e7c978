"""Inputs that broke something: one of each kind is kept, the shortest, with its traceback."""

from __future__ import annotations

import hashlib
import re
import traceback
from pathlib import Path

#: frames of a traceback that tell one fault from another
_TELLING = 4
_OURS = re.compile(r"[/\\](?:aoti_logscan|tests[/\\]fuzz)[/\\](?P<module>[\w/\\]+)\.py$")


class Finds:
    """A folder of inputs, each beside its traceback, that several processes may share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, data: bytes, error: BaseException) -> None:
        """Hold an input, unless one that is no longer broke the same."""
        file = self._folder / kind_of(error)
        if file.exists() and file.stat().st_size <= len(data):
            return
        file.write_bytes(data)
        told = "".join(traceback.format_exception(error))
        file.with_name(f"{file.name}.txt").write_text(told, encoding="utf-8", errors="replace")

    def listed(self) -> list[Path]:
        """The inputs, those too that ended the fuzzer's process."""
        return sorted(file for file in self._folder.iterdir() if file.suffix != ".txt")


def kind_of(error: BaseException) -> str:
    """A name for what broke, the same wherever the same lines of ours raise the same."""
    frames = [
        (match["module"], frame.name, frame.line)
        for frame in traceback.extract_tb(error.__traceback__)
        if (match := _OURS.search(frame.filename))
    ]
    told = (type(error).__name__, frames[-_TELLING:])
    digest = hashlib.sha256(repr(told).encode()).hexdigest()[:8]
    where = frames[-1][1].strip("<>_") if frames else "nowhere"
    return f"{type(error).__name__}-{where}-{digest}"
