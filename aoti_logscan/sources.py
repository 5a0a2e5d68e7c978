"""Paths to bytes: what was named, opened as sources to scan or artifacts to open.

A file's kind is told by its bytes. Everything that is scanned, a file, a pipe or a decompressed
member, is a stream that fills a buffer; a stream that breaks off says so in `problem` and ends.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, cast

from aoti_logscan.errors import UnreadablePathError

#: bytes of an artifact (a package, a generated source) that are opened
MAX_ARTIFACT = 1 << 30
#: members of an archive that are opened
MAX_MEMBERS = 10_000
#: bytes that one archive may expand to, and how often one member may outgrow its packed size
#: once it is past the first 100 MiB
MAX_EXPANDED = 16 << 30
MAX_RATIO = 1_000
_RATIO_FROM = 100 << 20

_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)
_CODE_SUFFIXES = (".py", ".cpp", ".pt2")
_PACKAGE_MEMBER = re.compile(
    r"(?:^|/)(?:archive_format|data/aotinductor/.*|[^/]+\.wrapper\.(?:cpp|so))$"
)
_BINARY_KINDS = (
    (b"\x7fELF", "an ELF object"),
    (b"\x89PNG", "a PNG picture"),
    (b"%PDF", "a PDF"),
    (b"\x80\x02", "a pickle"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"BZh", "a bzip2 file"),
)


#: what a stream is made of: files, pipes, decompressors
Raw = io.RawIOBase | io.BufferedIOBase


class Stream:
    """Bytes of one source; `problem` says why it ended early, None where it did not."""

    def __init__(self, raw: Raw, head: bytes = b"", limit: Limit | None = None) -> None:
        self._raw = raw
        self._head = head
        self._limit = limit
        self.problem: str | None = None

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; returns the number of bytes, 0 at the end or a break."""
        if self._head:
            count = min(len(view), len(self._head))
            view[:count] = self._head[:count]
            self._head = self._head[count:]
            return count
        if self.problem:
            return 0
        try:
            # a pipe is handed on as it comes
            fill = self._raw.readinto1 if hasattr(self._raw, "readinto1") else self._raw.readinto
            count = fill(view) or 0
        except _BROKEN as error:
            self.problem = f"reading stopped: {_reason(error)}"
            return 0
        if self._limit and (over := self._limit.over(count)):
            self.problem = over
            return 0
        return count

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


class Limit:
    """What one archive or compressed file may expand to."""

    def __init__(self, packed: int) -> None:
        self._packed = packed
        self._seen = 0

    def over(self, count: int) -> str | None:
        """Count expanded bytes; says which limit they pass, if any."""
        self._seen += count
        if self._seen > MAX_EXPANDED:
            return f"expands to more than {MAX_EXPANDED >> 30} GiB; the rest was not read"
        if self._seen > _RATIO_FROM and self._seen > self._packed * MAX_RATIO:
            return f"expands more than {MAX_RATIO} times; the rest was not read"
        return None


class Source(NamedTuple):
    """Something to scan: the name it is shown by, how to open it, what is odd about it."""

    name: str
    open: Callable[[], Stream]
    note: str | None = None


class Artifact(NamedTuple):
    """A package or a file of generated code: the name it is shown by and its bytes."""

    name: str
    read: Callable[[], bytes]


class Unread(NamedTuple):
    """Something that was named but is not read, and why."""

    name: str
    why: str


Named = Source | Artifact | Unread


def find(paths: list[str]) -> Iterator[Named]:
    """What the paths name, in their order; folders are walked in the order of their names.

    `-` is standard input. Raises `UnreadablePathError` for a path that does not exist.
    """
    for path in paths:
        if path == "-":
            yield from _piped("<stdin>", cast(Raw, sys.stdin.buffer))
        elif not os.path.lexists(path):
            raise UnreadablePathError(f"no such file or directory: {path}")
        elif os.path.isdir(path):
            yield from _folder(path)
        else:
            yield from _file(path, in_folder=False)


def _folder(path: str) -> Iterator[Named]:
    try:
        entries = sorted(os.scandir(path), key=lambda entry: _natural(entry.name))
    except OSError as error:
        yield Unread(path, _reason(error))
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _folder(entry.path)
        else:
            yield from _file(entry.path, in_folder=True)


def _natural(name: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]


def _file(path: str, *, in_folder: bool) -> Iterator[Named]:
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and not in_folder)):
            yield Unread(path, "not a regular file")
            return
        if stat.S_ISFIFO(mode):
            yield from _piped(path, io.FileIO(path))
            return
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError as error:
        yield Unread(path, _reason(error))
        return
    if head.startswith(b"PK\x03\x04") or head.startswith(b"PK\x05\x06"):
        yield from _zip(path)
    elif path.endswith(_CODE_SUFFIXES):
        yield Artifact(path, lambda: Path(path).read_bytes()[:MAX_ARTIFACT])
    elif head.startswith(b"\x1f\x8b"):
        yield Source(path, lambda: _gzip(open(path, "rb"), os.path.getsize(path)))
    elif why := _not_a_log(head):
        yield Unread(path, why)
    else:
        yield Source(path, lambda: _decoded(io.FileIO(path)), _strange(head))


def _piped(name: str, raw: Raw) -> Iterator[Named]:
    head = _read_head(raw, 4)
    if head.startswith(b"PK\x03\x04"):
        yield Unread(name, "an archive cannot be read from a pipe: give its path")
    elif head.startswith(b"\x1f\x8b"):
        joined = io.BufferedReader(_Joined(head, raw))
        yield Source(name, lambda: _gzip(joined, None))
    else:
        yield Source(name, lambda: _decoded(raw, head))


def _read_head(raw: Raw, size: int) -> bytes:
    head = b""
    while len(head) < size and (more := raw.read(size - len(head))):
        head += more
    return head


class _Joined(io.RawIOBase):
    """The bytes already read of a pipe, then the pipe."""

    def __init__(self, head: bytes, raw: Raw) -> None:
        self._head = head
        self._rest = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _gzip(raw: Raw, packed: int | None) -> Stream:
    unpacked = gzip.GzipFile(fileobj=raw)
    try:
        head = unpacked.read(4096)
    except _BROKEN as error:
        stream = Stream(raw)
        stream.problem = f"reading stopped: {_reason(error)}"
        return stream
    limit = Limit(packed) if packed is not None else None
    return _decoded(unpacked, head, limit)


def _decoded(raw: Raw, head: bytes = b"", limit: Limit | None = None) -> Stream:
    if not head:
        try:
            head = _read_head(raw, 4)
        except _BROKEN as error:
            stream = Stream(raw)
            stream.problem = f"reading stopped: {_reason(error)}"
            return stream
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return _Transcoded(raw, head[2:], limit, encoding)
    if head.startswith(codecs.BOM_UTF8):
        head = head[3:]
    return Stream(raw, head, limit)


class _Transcoded(Stream):
    """A UTF-16 source as UTF-8."""

    def __init__(self, raw: Raw, head: bytes, limit: Limit | None, encoding: str) -> None:
        super().__init__(raw, head, limit)
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._ready = b""

    def readinto(self, view: memoryview) -> int:
        chunk = bytearray(1 << 16)
        while not self._ready:
            count = super().readinto(memoryview(chunk))
            text = self._decoder.decode(bytes(chunk[:count]), final=not count)
            self._ready = text.encode("utf-8", "replace")
            if not count:
                break
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def _zip(path: str) -> Iterator[Named]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except _BROKEN as error:
        yield Unread(path, f"a broken zip archive: {_reason(error)}")
        return
    if any(_PACKAGE_MEMBER.search(member.filename) for member in members):
        yield Artifact(path, lambda: Path(path).read_bytes()[:MAX_ARTIFACT])
        return
    for member in members[:MAX_MEMBERS]:
        yield from _member(path, member)
    if len(members) > MAX_MEMBERS:
        yield Unread(path, f"{len(members) - MAX_MEMBERS} of {len(members)} members were not read")


def _member(path: str, member: zipfile.ZipInfo) -> Iterator[Named]:
    name = f"{path}!{member.filename}"
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as file:
            head = file.read(4096)
    except (*_BROKEN, RuntimeError) as error:
        yield Unread(name, _reason(error))
        return
    if member.filename.endswith(_CODE_SUFFIXES):
        yield Artifact(name, lambda: _member_bytes(path, member))
    elif head.startswith(b"\x1f\x8b"):
        yield Source(name, lambda: _gzip(_open_member(path, member), member.compress_size))
    elif why := _not_a_log(head):
        yield Unread(name, why)
    else:
        limit = Limit(member.compress_size)
        yield Source(
            name, lambda: _decoded(_open_member(path, member), limit=limit), _strange(head)
        )


def _open_member(path: str, member: zipfile.ZipInfo) -> Raw:
    return io.BufferedReader(cast(io.RawIOBase, zipfile.ZipFile(path).open(member)))


def _member_bytes(path: str, member: zipfile.ZipInfo) -> bytes:
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        return file.read(MAX_ARTIFACT)


def _not_a_log(head: bytes) -> str | None:
    for magic, kind in _BINARY_KINDS:
        if head.startswith(magic):
            return f"not a log: {kind}"
    return None


def _strange(head: bytes) -> str | None:
    """Says so where the start of a source is hardly text; it is read all the same."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    text = head.decode("utf-8", "replace")
    strange = sum(char in _STRANGE for char in text)
    if strange * 5 > len(text):
        return f"hardly text: {strange} of its first {len(text)} characters are none"
    return None


_STRANGE = {chr(code) for code in range(32) if chr(code) not in "\t\n\r\b\f\x1b"} | {"\ufffd"}


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
