"""Hostile archives, made cheaply: what is repeated is packed once."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import zstandard

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


def repeated(data: bytes, times: int, pack: Callable[[bytes], bytes] = gzip.compress) -> bytes:
    """Packed bytes that unpack to the data, so many times; made of as many packed streams."""
    return pack(data) * times


def header(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, target: str = "") -> bytes:
    """The header of a tar's member."""
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, target
    return info.tobuf(tarfile.GNU_FORMAT)


def member(name: str, data: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A member of a tar with its data."""
    return header(name, kind, len(data)) + data + bytes(-len(data) % 512)


#: what ends a tar
END = bytes(1024)


def tar(members: Mapping[str, bytes]) -> bytes:
    """A tar of files."""
    return b"".join(member(name, data) for name, data in members.items()) + END


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def entry(name: bytes, packed: int, size: int, at: int, crc: int = 0, method: int = 0) -> bytes:
    """A member in a zip's directory; `at` is where its data begins."""
    sizes = (crc, packed, size, len(name), 0, 0, 0, 0, 0, at)
    return struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, method, 0, 33, *sizes) + name


def directory_end(count: int, size: int, at: int) -> bytes:
    """The end of a zip whose directory has so many members and bytes, and begins at `at`."""
    far = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, at)
    far += struct.pack("<4sLQL", b"PK\6\7", 0, at + size, 1)
    return far + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *(0xFFFF,) * 2, *(0xFFFFFFFF,) * 2, 0)
