"""Streams of bytes: files, pipes and decompressors, all filling a buffer the same way.

A stream that breaks off (a truncated gzip, a file that vanished, a bomb) says why in `problem` and
ends; it never raises. UTF-16 is turned into UTF-8.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import cast

from aoti_logscan import interruption
from aoti_logscan.forked import widen

#: bytes that one compressed file may expand to, and how often it may outgrow its packed size once
#: it is past the first 100 MiB
MAX_EXPANDED = 16 << 30
MAX_RATIO = 1_000
RATIO_FROM = 100 << 20

#: packed bytes that are given to zstd at a time
_ZSTD_FEED = 1024

#: what a stream is made of
Raw = io.RawIOBase | io.BufferedIOBase

#: what reading damaged or vanished input raises
BROKEN: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    RuntimeError,  # an encrypted zip member; NotImplementedError: an unknown method
    ValueError,
)


class Limit:
    """What one compressed file or member may expand to; `packed` is its size in bytes.

    Members of an archive share the archive's limit: `whole`.
    """

    def __init__(self, packed: int, whole: Limit | None = None) -> None:
        self._packed = packed
        self._whole = whole
        self._seen = 0

    def over(self, count: int) -> str | None:
        """Count expanded bytes; says which limit they pass, if any."""
        self._seen += count
        if self._whole is not None and (over := self._whole.over(count)):
            return over
        if self._seen > MAX_EXPANDED:
            return f"expands to more than {MAX_EXPANDED >> 30} GiB; the rest was not read"
        if self._seen > RATIO_FROM and self._seen > self._packed * MAX_RATIO:
            return f"expands more than {MAX_RATIO} times; the rest was not read"
        return None


class Stream:
    """Bytes of one source; `problem` says why it ended early, None where it did not."""

    def __init__(self, raw: Raw, limit: Limit | None = None) -> None:
        self._raw = raw
        self._limit = limit
        self.problem: str | None = None

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; returns the number of bytes, 0 at the end or a break."""
        if self.problem:
            return 0
        # what was read ahead was read before the interrupt
        held = isinstance(self._raw, Joined) and self._raw.holds_more
        if interruption.is_asked() and not held:
            self.problem = "reading stopped: interrupted"
            return 0
        try:
            # a pipe is handed on as it comes
            fill = self._raw.readinto1 if hasattr(self._raw, "readinto1") else self._raw.readinto
            count = fill(view) or 0
        except BROKEN as error:
            self.problem = f"reading stopped: {reason(error)}"
            return 0
        if not count and interruption.is_asked():
            self.problem = "reading stopped: interrupted"
        if self._limit and (over := self._limit.over(count)):
            self.problem = over
            return 0
        return count

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()


class _Transcoded(Stream):
    """A UTF-16 source as UTF-8."""

    def __init__(self, raw: Raw, limit: Limit | None, encoding: str) -> None:
        super().__init__(raw, limit)
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


class Joined(io.RawIOBase):
    """Bytes that were read ahead of a stream, then the stream."""

    def __init__(self, head: bytes, rest: Raw) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        """True: it is read from."""
        return True

    @property
    def holds_more(self) -> bool:
        """Whether something is left of the bytes that were read ahead."""
        rest = self._rest
        return bool(self._head) or (isinstance(rest, Joined) and rest.holds_more)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer from the head, and from the stream once the head is used up."""
        if not self._head:
            fill = self._rest.readinto1 if hasattr(self._rest, "readinto1") else self._rest.readinto
            return fill(buffer) or 0
        count = min(len(buffer), len(self._head))
        buffer[:count] = self._head[:count]
        self._head = self._head[count:]
        return count

    def close(self) -> None:
        """Let go of the stream."""
        self._rest.close()
        super().close()


class KeptOpen(io.RawIOBase):
    """A stream whose end is not the end of what it reads from: standard input."""

    def __init__(self, raw: Raw) -> None:
        self._kept = raw

    def readable(self) -> bool:
        """True: it is read from."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with what there is."""
        fill = self._kept.readinto1 if hasattr(self._kept, "readinto1") else self._kept.readinto
        return fill(buffer) or 0


class Patient(io.RawIOBase):
    """A pipe or terminal, which is waited for: it ends where the reading is to end."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        widen(raw.fileno())

    def readable(self) -> bool:
        """True: it is read from."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with what there is, once there is something."""
        if not interruption.wait_for([self._raw.fileno()]):
            return 0
        return self._raw.readinto(buffer) or 0

    def close(self) -> None:
        """Let go of the pipe."""
        self._raw.close()
        super().close()


class Broken(io.RawIOBase):
    """A stream that could not be opened: reading it raises the reason."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def readable(self) -> bool:
        """True: it is read from."""
        return True

    def readinto(self, _buffer: memoryview) -> int:  # type: ignore[override]
        """Raise the reason."""
        raise self._error


def text_stream(raw: Raw, limit: Limit | None = None) -> Stream:
    """A stream of UTF-8 (or of bytes as they are); byte order marks are taken off."""
    head, raw = peek(raw, 4)
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return _Transcoded(_skip(raw, len(mark)), limit, encoding)
    if head.startswith(codecs.BOM_UTF8):
        raw = _skip(raw, len(codecs.BOM_UTF8))
    return Stream(raw, limit)


def _skip(raw: Raw, size: int) -> Raw:
    left = size
    while left and (got := raw.read(left)):
        left -= len(got)
    return raw


def peek(raw: Raw, size: int) -> tuple[bytes, Raw]:
    """The first `size` bytes and a stream that still begins with them."""
    head = b""
    read = raw.read1 if hasattr(raw, "read1") else raw.read
    try:
        while len(head) < size and (more := read(size - len(head))):
            head += more
    except BROKEN as error:
        return head, Joined(head, Broken(error))
    return head, Joined(head, raw)


def _gunzip(raw: Raw) -> Raw:
    return gzip.GzipFile(fileobj=cast(io.BufferedReader, raw))


def _unxz(raw: Raw) -> Raw:
    return lzma.LZMAFile(cast(io.BufferedReader, raw))


def _bunzip(raw: Raw) -> Raw:
    return bz2.BZ2File(cast(io.BufferedReader, raw))


class _Unzstd(io.RawIOBase):
    """A zstd stream; a frame that is cut raises, which the library's own reader does not tell."""

    def __init__(self, raw: Raw) -> None:
        import zstandard

        self._zstandard = zstandard
        self._raw = raw
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._begun = False
        self._packed = b""
        self._ready = b""

    def readable(self) -> bool:
        """True: it is read from."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with what is unpacked; 0 at the end of the last frame."""
        while not self._ready:
            if not self._packed and not (packed := self._raw.read(_ZSTD_FEED) or b""):
                if self._begun:
                    raise EOFError("a zstd frame is cut off")
                return 0
            self._packed = self._packed or packed
            self._unpack()
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _unpack(self) -> None:
        """Unpack what was read; it is little, since each byte may become many kilobytes."""
        try:
            self._ready = self._frame.decompress(self._packed)
        except self._zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        self._begun = not self._frame.eof
        self._packed = self._frame.unused_data if self._frame.eof else b""
        if self._frame.eof:
            self._frame = self._zstandard.ZstdDecompressor().decompressobj()

    def close(self) -> None:
        """Let go of the stream."""
        self._raw.close()
        super().close()


_DECOMPRESSORS: tuple[tuple[bytes, Callable[[Raw], Raw]], ...] = (
    (b"\x1f\x8b", _gunzip),
    (b"\x28\xb5\x2f\xfd", _Unzstd),
    (b"\xfd7zXZ\x00", _unxz),
    (b"BZh", _bunzip),
)


def decompressor(head: bytes) -> Callable[[Raw], Raw] | None:
    """What unpacks a stream that begins so; None where it is not compressed."""
    return next((unpack for magic, unpack in _DECOMPRESSORS if head.startswith(magic)), None)


def reason(error: BaseException) -> str:
    """The error in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
