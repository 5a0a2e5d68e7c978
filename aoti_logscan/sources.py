"""Paths to bytes: what was named, opened as sources to scan or artifacts to open.

A file's kind is told by its bytes. Files, pipes, decompressors and members of archives are all
streams; an archive inside an archive is opened, one inside that is not. Everything is handed out in
order and meant to be read at once: members of a tar can be read in no other order.
"""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from aoti_logscan.errors import UnreadablePathError
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.recording import ARRIVALS_HEAD
from aoti_logscan.streams import (
    BROKEN,
    KeptOpen,
    Limit,
    Patient,
    Raw,
    Stream,
    decompressor,
    peek,
    reason,
    text_stream,
)

#: bytes of an artifact (a package, a generated source) that are opened
MAX_ARTIFACT = 1 << 30
#: members of an archive that are opened
MAX_MEMBERS = 10_000
#: bytes of an archive inside another that are held
MAX_INNER = 256 << 20
#: archives inside one another that are opened
_DEPTH = 2
#: bytes that tell a file's kind
_HEAD = 4096

_CODE_SUFFIXES = (
    *(".py", ".cpp", ".pt2", "_metadata.json", "kernel_information.json"),
    *("inductor_provenance_tracking_node_mappings.json", ".wrapper.json"),
)
_PACKAGE_MEMBER = lazy_re(
    r"(?:^|/)(?:archive_format|data/aotinductor/.*|[^/]+\.wrapper\.(?:cpp|so))$"
)
# tmp/aoti_torchbefore_launch_cpp_fused_0_buf0_cpu.pt
_SAVED_TENSOR = lazy_re(r"(?:before|after)_launch_[^/\\]+\.pt$")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_BINARY_KINDS = (
    (b"\x7fELF", "an ELF object"),
    (b"\x89PNG", "a PNG picture"),
    (b"%PDF", "a PDF"),
    (b"\x80\x02", "a pickle"),
)


class Source(NamedTuple):
    """Something to scan: the name it is shown by, how to open it, what is odd about it.

    `size` are the bytes of a file of its own, which may be opened at any time and by any process;
    None where it has to be read at once, and in order.
    """

    name: str
    open: Callable[[], Stream]
    note: str | None = None
    size: int | None = None


class Artifact(NamedTuple):
    """A package or a file of generated code: the name it is shown by and its bytes."""

    name: str
    read: Callable[[], bytes]


class SavedFile(NamedTuple):
    """A tensor that the intermediate value printer saved: the name shown, and where it lies."""

    name: str
    path: str


class Unread(NamedTuple):
    """Something that was named but is not read, and why; `opened` if its bytes were seen."""

    name: str
    why: str
    opened: bool = True


Named = Source | Artifact | SavedFile | Unread


def find(paths: list[str]) -> Iterator[Named]:
    """What the paths name, in their order; folders are walked in the order of their names.

    `-` is standard input. Raises `UnreadablePathError` for a path that does not exist.
    """
    for path in paths:
        if path == "-":
            yield from _standard_input()
        elif not os.path.lexists(path):
            raise UnreadablePathError(f"no such file or directory: {path}")
        elif os.path.isdir(path):
            yield from _folder(path)
        else:
            yield from _file(path, in_folder=False)


def _standard_input() -> Iterator[Named]:
    if sys.stdin is None:
        yield Unread("<stdin>", "there is no standard input", opened=False)
    else:
        yield from _expand("<stdin>", _kept_open(sys.stdin.buffer), None, depth=0)


def _kept_open(stdin: BinaryIO) -> Raw:
    raw = getattr(stdin, "raw", None)
    return KeptOpen(Patient(raw) if isinstance(raw, io.FileIO) else cast(Raw, stdin))


def _folder(path: str) -> Iterator[Named]:
    try:
        entries = sorted(os.scandir(path), key=lambda entry: _natural(entry.name))
    except OSError as error:
        yield Unread(shown(path), reason(error), opened=False)
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
        info = os.stat(path)
        pipe = stat.S_ISFIFO(info.st_mode) and not in_folder
        if not (stat.S_ISREG(info.st_mode) or pipe):
            yield Unread(shown(path), "not a regular file", opened=False)
            return
        raw = _fifo(path) if pipe else io.FileIO(path)
    except OSError as error:
        yield Unread(shown(path), reason(error), opened=False)
        return
    if not pipe and _SAVED_TENSOR.search(path):
        raw.close()
        yield SavedFile(shown(path), path)
        return
    head, joined = peek(raw, _HEAD)
    if in_folder and head.startswith(ARRIVALS_HEAD):
        raw.close()  # beside the output of a recording
        return
    if pipe:
        yield from _expand(shown(path), joined, None, depth=0)
    elif head.startswith(_ZIP) and not path.endswith(".pt2"):
        raw.close()
        yield from _zip(shown(path), path, depth=0)
    elif decompressor(head) or _is_tar(head):
        for one in _expand(shown(path), joined, info.st_size, depth=0):
            yield _to_reopen(one, path, info.st_size) if isinstance(one, Source) else one
    else:
        raw.close()
        found = _plain(shown(path), head, lambda: io.FileIO(path), lambda: Path(path).read_bytes())
        yield found._replace(size=info.st_size) if isinstance(found, Source) else found


def _fifo(path: str) -> Raw:
    """A named pipe, opened without a wait for its writer, and waited for when it is read."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(file, True)
    return Patient(io.FileIO(file))


def _to_reopen(source: Source, path: str, packed: int) -> Source:
    """A compressed file as a source of its own; a member of an archive as it is."""
    if source.name != shown(path):
        return source
    return source._replace(open=lambda: _reopened(path, packed), size=packed)


def _reopened(path: str, packed: int) -> Stream:
    head, raw = peek(io.FileIO(path), _HEAD)
    unpack = decompressor(head)
    return text_stream(unpack(raw) if unpack else raw, Limit(packed))


def shown(path: str) -> str:
    """A path as it can be printed: bytes that are no UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _plain(name: str, head: bytes, opened: Callable[[], Raw], read: Callable[[], bytes]) -> Named:
    """A file or member that is neither compressed nor an archive."""
    if name.endswith(_CODE_SUFFIXES):
        return Artifact(name, lambda: read()[:MAX_ARTIFACT])
    if why := _not_a_log(head):
        return Unread(name, why)
    return Source(name, lambda: text_stream(opened()), _strange(head))


def _expand(
    name: str, raw: Raw, packed: int | None, *, depth: int, whole: Limit | None = None
) -> Iterator[Named]:
    """What a stream holds, after decompression: one source, or the members of an archive."""
    head, raw = peek(raw, _HEAD)
    if unpack := decompressor(head):
        head, raw = peek(unpack(raw), _HEAD)
    limit = Limit(packed, whole) if packed is not None else None
    if _is_tar(head) or head.startswith(_ZIP):
        if depth >= _DEPTH:
            yield Unread(name, "an archive inside an archive inside an archive is not opened")
        elif _is_tar(head):
            yield from _tar(name, raw, depth=depth)
        else:
            yield from _inner_zip(name, raw, depth=depth)
        return
    if name.endswith(_CODE_SUFFIXES):
        yield Artifact(name, lambda: _read_all(raw, MAX_ARTIFACT))
    elif why := _not_a_log(head):
        yield Unread(name, why)
    else:
        yield Source(name, lambda: text_stream(raw, limit), _strange(head))


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _read_all(raw: Raw, limit: int) -> bytes:
    parts, left = [], limit
    while left and (part := raw.read(min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _tar(name: str, raw: Raw, *, depth: int) -> Iterator[Named]:
    count, whole = 0, Limit(sys.maxsize)
    try:
        with tarfile.open(fileobj=io.BufferedReader(cast(io.RawIOBase, raw)), mode="r|") as archive:
            for member in archive:
                if member.isdir():
                    continue
                count += 1
                if count > MAX_MEMBERS:
                    yield Unread(name, f"members after the first {MAX_MEMBERS} were not read")
                    return
                inner = f"{name}!{member.name}"
                yield from _tar_member(inner, archive, member, whole, depth=depth)
    except BROKEN as error:
        yield Unread(name, f"a broken tar archive: {reason(error)}")


def _tar_member(
    name: str, archive: tarfile.TarFile, member: tarfile.TarInfo, whole: Limit, *, depth: int
) -> Iterator[Named]:
    file = archive.extractfile(member) if member.isreg() else None
    if file is None:
        yield Unread(name, "not a regular file")
    else:
        yield from _expand(name, cast(Raw, file), member.size, depth=depth + 1, whole=whole)


def _inner_zip(name: str, raw: Raw, *, depth: int) -> Iterator[Named]:
    """A zip archive that cannot be sought in: held in memory, within bounds."""
    try:
        data = _read_all(raw, MAX_INNER + 1)
    except BROKEN as error:
        yield Unread(name, reason(error))
        return
    if len(data) > MAX_INNER:
        yield Unread(name, f"an archive of more than {MAX_INNER >> 20} MiB in a pipe or archive")
        return
    yield from _zip(name, io.BytesIO(data), depth=depth)


def _zip(name: str, file: str | io.BytesIO, *, depth: int) -> Iterator[Named]:
    try:
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if not member.is_dir()]
    except BROKEN as error:
        yield Unread(name, f"a broken zip archive: {reason(error)}")
        return
    with archive:
        if any(_PACKAGE_MEMBER.search(member.filename) for member in members):
            yield Artifact(name, lambda: _bytes_of(file))
            return
        whole = Limit(sys.maxsize)
        for member in members[:MAX_MEMBERS]:
            yield from _zip_member(name, archive, member, whole, depth=depth)
    if len(members) > MAX_MEMBERS:
        yield Unread(name, f"{len(members) - MAX_MEMBERS} of {len(members)} members were not read")


def _bytes_of(file: str | io.BytesIO) -> bytes:
    return file.getvalue() if isinstance(file, io.BytesIO) else Path(file).read_bytes()


def _zip_member(
    name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, whole: Limit, *, depth: int
) -> Iterator[Named]:
    inner = f"{name}!{member.filename}"
    try:
        opened = archive.open(member)
    except BROKEN as error:
        yield Unread(inner, reason(error))
        return
    packed = member.compress_size
    yield from _expand(inner, cast(Raw, opened), packed, depth=depth + 1, whole=whole)


def _not_a_log(head: bytes) -> str | None:
    for magic, kind in _BINARY_KINDS:
        if head.startswith(magic):
            return f"not a log: {kind}"
    return None


def _strange(head: bytes) -> str | None:
    """Says so where the start of a source is hardly text; it is read all the same."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    text = head.decode("utf-8", "replace")
    strange = sum(char in _STRANGE for char in text)
    if strange * 5 > len(text):
        return f"hardly text: {strange} of its first {len(text)} characters are none"
    return None


_STRANGE = {chr(code) for code in range(32) if chr(code) not in "\t\n\r\b\f\x1b"} | {"\ufffd"}
