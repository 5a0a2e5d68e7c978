"""Paths to bytes: what was named, opened as sources to scan or artifacts to open.

A file's kind is told by its bytes. Files, pipes, decompressors and members of archives are all
streams; an archive inside an archive is opened, one inside that is not. Everything is handed out in
order and meant to be read at once: members of a tar can be read in no other order.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple, cast

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

if TYPE_CHECKING:
    import zipfile

    from aoti_logscan.archives import TarMember

#: bytes of a file of generated code that are opened
MAX_CODE = 64 << 20
#: memory, in bytes, that the lines of all generated code may take
MAX_ALL_CODE = 512 << 20
#: memory that a line takes beside its characters
_LINE = 56
#: members of an archive that are opened
MAX_MEMBERS = 10_000
#: bytes of an archive inside another that are held
MAX_INNER = 256 << 20
#: archives inside one another that are opened
_DEPTH = 2
#: bytes that tell a file's kind, and those of a file that is held that are read at a time
_HEAD, _PIECE = 4096, 1 << 20
#: bytes of UTF-16 that may be without a NUL
_FEW = 64
#: characters of a member's name that are shown, from its end
MAX_NAME = 1_000

#: what is said of pipes in folders, devices and links
_ODD = "not a regular file"
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


class Share:
    """The memory that generated code may take, which everything that is found shares."""

    def __init__(self) -> None:
        self._left = MAX_ALL_CODE

    def take(self, code: bytes) -> None:
        """Count the code; raises `OSError` where it is too much."""
        cost = len(code) + _LINE * code.count(b"\n")
        if cost > self._left:
            raise OSError(f"code beyond the first {MAX_ALL_CODE >> 20} MiB is not read")
        self._left -= cost


class PackageFile:
    """A package, open to seek in; `len` is its bytes, and `share` what its code counts towards."""

    def __init__(self, file: IO[bytes], share: Share) -> None:
        self.file = file
        self.share = share
        self._size = file.seek(0, io.SEEK_END)

    def __len__(self) -> int:
        return self._size


class Artifact(NamedTuple):
    """A package or a file of generated code: the name it is shown by, and what is in it.

    `read` gives a package to seek in, or the bytes of code, one more than `MAX_CODE` of too many;
    it raises `OSError` where they cannot be read or are too much with all that was read before.
    """

    name: str
    read: Callable[[], bytes | PackageFile]


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
    share = Share()
    for path in paths:
        if path == "-":
            yield from _standard_input(share)
        elif not os.path.lexists(path):
            raise UnreadablePathError(f"no such file or directory: {path}")
        elif os.path.isdir(path):
            yield from _folder(path, share)
        else:
            yield from _file(path, share, in_folder=False)


def _standard_input(share: Share) -> Iterator[Named]:
    if sys.stdin is None:
        yield Unread("<stdin>", "there is no standard input", opened=False)
    else:
        yield from _expand("<stdin>", _kept_open(sys.stdin.buffer), None, _Inside(share))


def _kept_open(stdin: BinaryIO) -> Raw:
    raw = getattr(stdin, "raw", None)
    return KeptOpen(Patient(raw) if isinstance(raw, io.FileIO) else cast(Raw, stdin))


def _folder(path: str, share: Share) -> Iterator[Named]:
    """What lies in a folder and those below it, however deep they are."""
    waiting = [(path, True)]
    while waiting:
        path, is_folder = waiting.pop()
        if not is_folder:
            yield from _file(path, share, in_folder=True)
            continue
        try:
            entries = sorted(os.scandir(path), key=_order, reverse=True)
            waiting += [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError as error:
            yield Unread(shown(path), reason(error), opened=False)


def _order(entry: os.DirEntry[str]) -> tuple[list[tuple[int, str]], str]:
    return _natural(entry.name), entry.name


def _natural(name: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]


def _file(path: str, share: Share, *, in_folder: bool) -> Iterator[Named]:
    try:
        info = os.stat(path)
        pipe = stat.S_ISFIFO(info.st_mode) and not in_folder
        if not (stat.S_ISREG(info.st_mode) or pipe):
            yield Unread(shown(path), _ODD, opened=False)
            return
        raw = _fifo(path) if pipe else _regular(path)
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
        yield from _expand(shown(path), joined, None, _Inside(share))
    elif head.startswith(_ZIP) and not path.endswith(".pt2"):
        raw.close()
        yield from _zip(shown(path), lambda: _sought(path), _Inside(share))
    elif decompressor(head) or _is_tar(head):
        for one in _expand(shown(path), joined, info.st_size, _Inside(share)):
            yield _to_reopen(one, path, info.st_size) if isinstance(one, Source) else one
    else:
        raw.close()
        found = _plain(path, head, share)
        yield found._replace(size=info.st_size) if isinstance(found, Source) else found


def _fifo(path: str) -> Raw:
    """A named pipe, opened without a wait for its writer, and waited for when it is read."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(file, True)
    return Patient(io.FileIO(file))


def _regular(path: str) -> io.FileIO:
    """A file to read from; raises `OSError` where it is none any more, rather than to wait."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(_ODD)
    return io.FileIO(file)


def _sought(path: str) -> IO[bytes]:
    return io.BufferedReader(_regular(path))


def _to_reopen(source: Source, path: str, packed: int) -> Source:
    """A compressed file as a source of its own; a member of an archive as it is."""
    if source.name != shown(path):
        return source
    return source._replace(open=lambda: _reopened(path, packed), size=packed)


def _reopened(path: str, packed: int) -> Stream:
    head, raw = peek(_regular(path), _HEAD)
    unpack = decompressor(head)
    return text_stream(unpack(raw) if unpack else raw, Limit(packed))


def shown(path: str) -> str:
    """A path as it can be printed: bytes that are no UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _plain(path: str, head: bytes, share: Share) -> Named:
    """A file that is neither compressed nor an archive."""
    name = shown(path)
    if name.endswith(".pt2"):
        return Artifact(name, lambda: PackageFile(_sought(path), share))
    if name.endswith(_CODE_SUFFIXES):
        return Artifact(name, lambda: _code(_regular(path), share))
    if why := _not_a_log(head):
        return Unread(name, why)
    return Source(name, lambda: text_stream(_regular(path)), _strange(head))


class _Inside(NamedTuple):
    """Where something is: how many archives are around it, and what the outermost may expand to."""

    share: Share
    depth: int = 0
    whole: Limit | None = None

    @property
    def deeper(self) -> _Inside:
        """Where the members of an archive are that is there."""
        return _Inside(self.share, self.depth + 1, self.whole or Limit(sys.maxsize))


def _expand(
    name: str, raw: Raw, packed: int | None, inside: _Inside, *, is_packed: bool = False
) -> Iterator[Named]:
    """What a stream holds, after decompression: one source, or the members of an archive.

    `packed` is its size in bytes, None where that is not known; `is_packed`, if it is unpacked as
    it is read.
    """
    head, raw = peek(raw, _HEAD)
    if unpack := decompressor(head):
        head, raw = peek(unpack(raw), _HEAD)
    limit = None
    if packed is not None and (unpack or is_packed):
        limit = Limit(packed, inside.whole)
    if _is_tar(head) or head.startswith(_ZIP):
        yield from _archive(name, _within(raw, limit), head, inside)
    elif name.endswith(_CODE_SUFFIXES):
        yield Artifact(name, lambda: _code(_within(raw, limit), inside.share))
    elif why := _not_a_log(head):
        yield Unread(name, why)
    else:
        yield Source(name, lambda: text_stream(raw, limit), _strange(head))


def _within(raw: Raw, limit: Limit | None) -> Raw:
    from aoti_logscan.archives import Within

    return Within(raw, limit or Limit(sys.maxsize))


def _code(raw: Raw, share: Share) -> bytes:
    """The bytes of a file of code, one more than `MAX_CODE` of those that are too many."""
    with raw:
        code = read_up_to(raw, MAX_CODE + 1)
    share.take(code)
    return code


def read_up_to(file: IO[bytes] | Raw, limit: int) -> bytes:
    """The bytes of a file from where it stands, so many at most, read by the piece."""
    held = io.BytesIO()
    while (left := limit - held.tell()) and (part := file.read(min(left, _PIECE))):
        held.write(part)
    return held.getvalue()


def _archive(name: str, raw: Raw, head: bytes, inside: _Inside) -> Iterator[Named]:
    if inside.depth >= _DEPTH:
        yield Unread(name, "an archive inside an archive inside an archive is not opened")
    elif _is_tar(head):
        yield from _tar(name, raw, inside.deeper)
    else:
        yield from _inner_zip(name, raw, inside)


def _broken(kind: str, error: Exception) -> str:
    from aoti_logscan.archives import TooMuchError

    is_whole = isinstance(error, TooMuchError)
    return reason(error) if is_whole else f"a broken {kind} archive: {reason(error)}"


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _tar(name: str, raw: Raw, inside: _Inside) -> Iterator[Named]:
    from aoti_logscan.archives import tar_members

    count = 0
    try:
        for member in tar_members(raw):
            count += not member.is_folder
            if count > MAX_MEMBERS:
                yield Unread(name, f"members after the first {MAX_MEMBERS} were not read")
                return
            if not member.is_folder:
                yield from _tar_member(f"{name}!{member.name[-MAX_NAME:]}", member, inside)
    except BROKEN as error:
        yield Unread(name, _broken("tar", error))


def _tar_member(name: str, member: TarMember, inside: _Inside) -> Iterator[Named]:
    if member.is_file:
        yield from _expand(name, member.data, member.size, inside)
    else:
        yield Unread(name, _ODD)


def _inner_zip(name: str, raw: Raw, inside: _Inside) -> Iterator[Named]:
    """A zip archive that cannot be sought in: held in memory, within bounds."""
    try:
        data = read_up_to(raw, MAX_INNER + 1)
    except BROKEN as error:
        yield Unread(name, reason(error))
        return
    if len(data) > MAX_INNER:
        yield Unread(name, f"an archive of more than {MAX_INNER >> 20} MiB in a pipe or archive")
        return
    yield from _zip(name, lambda: io.BytesIO(data), inside)


def _zip(name: str, opened: Callable[[], IO[bytes]], inside: _Inside) -> Iterator[Named]:
    from aoti_logscan.archives import apart, open_zip

    try:
        file = opened()
        archive = open_zip(file)
        members = [one for one in archive.infolist() if not one.filename.endswith("/")]
    except BROKEN as error:
        yield Unread(name, _broken("zip", error))
        return
    with file, archive:
        if any(_PACKAGE_MEMBER.search(member.filename) for member in members):
            yield Artifact(name, lambda: PackageFile(opened(), inside.share))
            return
        own, within = apart(members), inside.deeper
        for member in own[:MAX_MEMBERS]:
            yield from _zip_member(name, archive, member, within)
    if len(own) > MAX_MEMBERS:
        yield Unread(name, f"{len(own) - MAX_MEMBERS} of {len(own)} members were not read")
    if len(own) < len(members):
        shared = len(members) - len(own)
        yield Unread(name, f"{shared} members were not read, whose bytes are those of others")


def _zip_member(
    name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, inside: _Inside
) -> Iterator[Named]:
    inner = f"{name}!{member.filename[-MAX_NAME:]}"
    try:
        opened = archive.open(member)
    except BROKEN as error:
        yield Unread(inner, reason(error))
        return
    raw = cast(Raw, opened)
    yield from _expand(inner, raw, member.compress_size, inside, is_packed=True)


def _not_a_log(head: bytes) -> str | None:
    for magic, kind in _BINARY_KINDS:
        if head.startswith(magic):
            return f"not a log: {kind}"
    return None


def _strange(head: bytes) -> str | None:
    """Says so where the start of a source is hardly text; it is read all the same."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _strange_wide(head)
    text = head.decode("utf-8", "replace")
    strange = sum(char in _STRANGE for char in text)
    if strange * 5 > len(text):
        return f"hardly text: {strange} of its first {len(text)} characters are none"
    return None


def _strange_wide(head: bytes) -> str | None:
    """The same of what is marked as UTF-16: even of other scripts each line has a few NULs."""
    if head.startswith(codecs.BOM_UTF32_LE):
        return "hardly text: UTF-32"
    if b"\0" not in head and len(head) > _FEW:
        return "hardly text: marked as UTF-16, which it is not"
    return None


_STRANGE = {chr(code) for code in range(32) if chr(code) not in "\t\n\r\b\f\x1b"} | {"\ufffd"}
