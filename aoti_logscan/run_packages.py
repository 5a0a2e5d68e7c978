"""The packages of a recorded run: found by their paths on the command line and in its output.

A recording keeps a copy of a small one, since the next run may build it anew; a larger one is
linked, a very large one only noted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from aoti_logscan.recording import PACKAGES

#: bytes of a package that are copied; up to the second number it is linked, else only noted
MAX_COPIED, MAX_LINKED = 64 << 20, 1 << 30
#: packages kept, paths looked up, places looked at
_MAX_PACKAGES, _MAX_PATHS, _MAX_PLACES = 100, 5_000, 50_000
#: bytes read at a time, and those of the piece before that a path may begin in
_WINDOW, _LONGEST_PATH = 1 << 20, 4096
_SUFFIX = b".pt2"
#: what a path may begin behind: quotes where it holds spaces, else these too
_QUOTES = (b'"', b"'", b"`", b"\n", b"\r")
_BREAKS = (*_QUOTES, b" ", b"\t", b"\0", b"=", b"(", b"[", b"{", b"<", b",", b":", b";", b"|")


class Package(NamedTuple):
    """A package file: where it is, and its size in bytes."""

    path: str
    size: int


def packages(named: Iterable[str], output: Path) -> Iterator[Package]:
    """The package files that exist under a path that is named, or that the output names."""
    words = (os.fsencode(word) for word in named)
    seen: set[bytes] = set()
    given: set[str] = set()
    for candidate in chain(_in_words(words), _in_file(output)):
        if candidate in seen:
            continue
        if len(seen) >= _MAX_PATHS:
            return
        seen.add(candidate)
        with contextlib.suppress(OSError, ValueError):
            if not os.path.isfile(candidate):
                continue
            path = os.path.realpath(os.fsdecode(candidate))
            if path not in given:
                given.add(path)
                yield Package(path, os.path.getsize(path))


def _in_words(words: Iterable[bytes]) -> Iterator[bytes]:
    for word in words:
        if word.endswith(_SUFFIX):
            yield word
        yield from _in_text(word)


def _in_file(output: Path) -> Iterator[bytes]:
    """Paths in the output, read by the piece; a path may be cut by the end of one."""
    with contextlib.suppress(OSError), open(output, "rb", buffering=0) as file:
        before, places = b"", 0
        while places < _MAX_PLACES and (piece := file.read(_WINDOW)):
            text = before + piece
            places += text.count(_SUFFIX)
            yield from _in_text(text)
            before = text[-_LONGEST_PATH:]


def _in_text(text: bytes) -> Iterator[bytes]:
    """What stands before each suffix: from the last quote, and from the last break."""
    at = text.find(_SUFFIX)
    while at >= 0:
        end = at + len(_SUFFIX)
        head = text[max(0, at - _LONGEST_PATH) : at]
        for breaks in (_QUOTES, _BREAKS):
            if name := head[max(map(head.rfind, breaks)) + 1 :]:
                yield name + _SUFFIX
        at = text.find(_SUFFIX, end)


def keep(found: Iterable[Package], folder: Path) -> Iterator[dict[str, Any]]:
    """Keep each package in the recording as its size allows; gives what was done."""
    for number, package in enumerate(found):
        if number >= _MAX_PACKAGES:
            return
        target = folder / PACKAGES / (f"{number}-" * (number > 0) + os.path.basename(package.path))
        yield {"path": package.path, "bytes": package.size, "kept": _kept(package, target)}


def _kept(package: Package, target: Path) -> str:
    try:
        target.parent.mkdir(exist_ok=True)
        if package.size <= MAX_COPIED:
            shutil.copyfile(package.path, target)
            return "copy"
        if package.size <= MAX_LINKED:
            target.symlink_to(package.path)
            return "link"
    except OSError:
        with contextlib.suppress(OSError):
            target.unlink()
    return "no"
