"""Members of archives, listed within bounds of memory and time, whatever an archive claims.

The standard library holds a zip's whole directory and a tar's longest name in memory, searches the
latter in quadratic time, and passes over a tar's member by as many reads as its size claims, also
where the file has long ended. So a directory is refused by its size before it is read, and the
blocks of a tar are walked here; `tarfile` only decodes its headers.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, NamedTuple, cast

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.streams import Limit, Raw

#: bytes of a zip's directory: forty thousand members with names of fifty characters
MAX_DIRECTORY = 4 << 20
#: headers of a tar that are read, folders and long names among them
MAX_HEADERS = 50_000
#: bytes of a tar's extended header, which holds a name
MAX_NAME = 1 << 18

_BLOCK = tarfile.BLOCKSIZE
_ENDED = "unexpected end of data"
_PIECE = 1 << 20
#: bytes of the smallest header before a zip member's data
_LOCAL_HEADER = 30
#: types of headers that describe the next one: pax, Solaris's pax; and those that nothing needs
_PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_PASSED_OVER = (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK)
_WITHOUT_DATA = (
    *(tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE),
    *(tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE),
)
# 30 path=logs/rank0.log, and a newline
_PAX_RECORD = lazy_re(rb"(?P<length>\d{1,9}) (?P<key>[^=\n]{1,200})=")
_NUMBER = lazy_re(r"\d{1,20}")


class TooMuchError(OSError):
    """An archive holds, or claims, more than is read; what it says is a sentence of its own."""


class Within(io.RawIOBase):
    """A stream that is broken off where it passes a limit: reading it raises `TooMuchError`."""

    def __init__(self, raw: Raw, limit: Limit) -> None:
        self._raw = raw
        self._limit = limit

    def readable(self) -> bool:
        """True: it is read from."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with what there is."""
        count = self._raw.readinto(buffer) or 0
        if over := self._limit.over(count):
            raise TooMuchError(over)
        return count

    def close(self) -> None:
        """Let go of the stream."""
        self._raw.close()
        super().close()


# --- tar


class TarMember(NamedTuple):
    """A member of a tar: its name, the bytes that are stored of it, what it is, and its data.

    `data` can be read until the next member is asked for. A sparse file is given without its holes.
    """

    name: str
    size: int
    is_folder: bool
    is_file: bool
    data: Raw


def tar_members(raw: Raw) -> Iterator[TarMember]:
    """The members of a tar, in order, without seeking.

    Raises `tarfile.TarError` where the archive is broken, `TooMuchError` where it is too large.
    """
    file = io.BufferedReader(cast(io.RawIOBase, raw), _PIECE)
    told: dict[str, str] = {}
    for count, header in enumerate(_headers(file), 1):
        if count > MAX_HEADERS:
            raise TooMuchError(f"members after the first {MAX_HEADERS} headers were not read")
        data = _Data(file, _size(header, told))
        if header.type in _PAX:
            told.update(_pax(data.name()))
        elif header.type == tarfile.GNUTYPE_LONGNAME:
            told["path"] = _text(data.name().rstrip(b"\0"))
        elif header.type not in _PASSED_OVER:
            yield _member(header, told, data)
            told = {}
        data.skip()


def _headers(file: io.BufferedReader[io.RawIOBase]) -> Iterator[tarfile.TarInfo]:
    """Each header, when all that belongs to the one before has been read."""
    while True:
        block = file.read(_BLOCK)
        if len(block) < _BLOCK:
            raise tarfile.ReadError(_ENDED)
        if not block.strip(b"\0"):
            return
        header = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
        more = header.type == tarfile.GNUTYPE_SPARSE and bool(block[482])
        while more:
            more = len(block := file.read(_BLOCK)) == _BLOCK and bool(block[504])
        yield header


def _size(header: tarfile.TarInfo, told: dict[str, str]) -> int:
    """Bytes that follow the header; links, folders and devices have none, whatever they say."""
    if header.type in _WITHOUT_DATA:
        return 0
    size = told.get("size", "")
    return int(size) if _NUMBER.fullmatch(size) else max(0, header.size)


def _member(header: tarfile.TarInfo, told: dict[str, str], data: _Data) -> TarMember:
    name = told.get("GNU.sparse.name") or told.get("path") or header.name
    return TarMember(name, data.left, header.isdir(), header.isreg(), cast(Raw, data))


def _pax(records: bytes) -> Iterator[tuple[str, str]]:
    """Keys and values of an extended header, up to the first that is none."""
    at = 0
    while record := _PAX_RECORD.match(records, at):
        end = at + int(record["length"])
        if not record.end() < end <= len(records):
            return
        yield _text(record["key"]), _text(records[record.end() : end - 1])
        at = end


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


class _Data(io.RawIOBase):
    """The data of one member; what is left of it when the archive ends is an error."""

    def __init__(self, file: io.BufferedReader[io.RawIOBase], size: int) -> None:
        self._file = file
        self._padding = -size % _BLOCK
        self.left = size

    def readable(self) -> bool:
        """True: it is read from."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer; raises `tarfile.ReadError` where the archive ends too soon."""
        view = memoryview(buffer)[: self.left]
        count = self._file.readinto(view)
        if not count and view:
            raise tarfile.ReadError(_ENDED)
        self.left -= count
        return count

    def name(self) -> bytes:
        """All of it, which is a name or a few."""
        if self.left > MAX_NAME:
            raise TooMuchError(f"a name of {self.left} bytes; it and the rest were not read")
        return self.read()

    def skip(self) -> None:
        """Pass over what was not read, and what fills the last block."""
        buffer = memoryview(bytearray(min(_PIECE, self.left)))
        while self.left:
            self.readinto(buffer)
        self._file.read(self._padding)


# --- zip


class _Directory:
    """A zip file whose directory is refused where it is too large.

    `ZipFile` reads a directory at once, of the size that the archive says, and nothing else in
    pieces of megabytes.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.tell, self.seekable = file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        """So many bytes; raises `TooMuchError` for more than a directory may have."""
        if size > MAX_DIRECTORY:
            raise TooMuchError(
                f"too many members, in a directory of {size} bytes, to be read: unpack some of them"
            )
        return self._file.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; raises `zipfile.BadZipFile` for one that no file has."""
        try:
            return self._file.seek(offset, whence)
        except OverflowError as error:
            raise zipfile.BadZipFile("a member beyond the end") from error


def open_zip(file: IO[bytes]) -> zipfile.ZipFile:
    """A zip archive to read from in pieces of at most `MAX_DIRECTORY` bytes; closes no file.

    Raises `TooMuchError` for one of too many members, and what else `streams.BROKEN` names.
    """
    return zipfile.ZipFile(cast(IO[bytes], _Directory(file)))


def apart(members: Sequence[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """The members whose packed bytes are theirs alone, or that are the first to have them.

    Many members of the same bytes are how a small archive expands without end.
    """
    overlapping = {id(member) for member in _overlapping(members)}
    return [member for member in members if id(member) not in overlapping]


def _overlapping(members: Iterable[zipfile.ZipInfo]) -> Iterator[zipfile.ZipInfo]:
    end = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset < end:
            yield member
        end = max(end, member.header_offset + _LOCAL_HEADER + member.compress_size)
