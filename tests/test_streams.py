"""Streams: packed bytes whole, cut and garbled, bombs, UTF-16, and archives by the command."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from aoti_logscan import streams
from aoti_logscan.streams import (
    Broken,
    Joined,
    KeptOpen,
    Limit,
    Raw,
    Stream,
    decompressor,
    peek,
    reason,
    text_stream,
)
from tests.conftest import Run

Pack = Callable[[bytes], bytes]

TEXT = b"one\ntwo \xc3\xa9\n"
#: text that hardly packs, so that a cut is somewhere in it
NOISE = random.Random(5).randbytes(60_000).hex().encode()
LONG = random.Random(6).randbytes(1_000_000).hex().encode()
ERROR = "RuntimeError: CUDA error: misaligned address\n"
PACKERS: dict[str, Pack] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}
EACH = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)


def _drain(stream: Stream, size: int = 4099) -> bytes:
    view = memoryview(bytearray(size))
    return b"".join(iter(lambda: bytes(view[: stream.readinto(view)]), b""))


def _unpack(packed: bytes, limit: Limit | None = None) -> tuple[bytes, str | None]:
    """What comes of packed bytes, and what the stream says at its end."""
    unpack = decompressor(packed)
    assert unpack is not None
    stream = Stream(unpack(io.BytesIO(packed)), limit)
    return _drain(stream), stream.problem


class _Slow(io.RawIOBase):
    """A pipe that hands on a byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part, self._rest = self._rest[:1], self._rest[1:]
        buffer[: len(part)] = part
        return len(part)


# packed


@EACH
def test_packed_bytes_come_whole(pack: Pack) -> None:
    assert _unpack(pack(NOISE)) == (NOISE, None)


@EACH
def test_packed_bytes_of_a_slow_pipe_come_whole(pack: Pack) -> None:
    head, raw = peek(_Slow(pack(NOISE)), 4096)
    unpack = decompressor(head)
    assert unpack is not None
    stream = Stream(unpack(raw))
    assert (_drain(stream), stream.problem) == (NOISE, None)


@EACH
def test_several_streams_in_one_are_joined(pack: Pack) -> None:
    assert _unpack(pack(TEXT) + pack(NOISE) + pack(b"")) == (TEXT + NOISE, None)


@EACH
def test_cut_anywhere_gives_a_beginning_and_says_so(pack: Pack) -> None:
    packed = pack(NOISE)
    for cut in range(8, len(packed) - 1, len(packed) // 37):
        data, problem = _unpack(packed[:cut])
        assert NOISE.startswith(data)
        assert problem is not None
        assert problem.startswith("reading stopped: ")


@EACH
def test_cut_in_the_middle_keeps_what_could_be_unpacked(pack: Pack) -> None:
    packed = pack(LONG)
    data, _ = _unpack(packed[: len(packed) // 2])
    assert len(LONG) // 4 < len(data) <= len(LONG) // 2 + 1000


@pytest.mark.parametrize("name", PACKERS)
def test_garbled_middle_says_so_and_never_raises(name: str) -> None:
    checked = zstandard.ZstdCompressor(write_checksum=True).compress
    packed = bytearray(checked(NOISE) if name == "zst" else PACKERS[name](NOISE))
    middle = len(packed) // 2
    packed[middle : middle + 64] = bytes(64)
    data, problem = _unpack(bytes(packed))
    assert problem is not None
    assert problem.startswith("reading stopped: ")
    assert len(data) < len(NOISE) * 2


@EACH
def test_magic_alone_says_so(pack: Pack) -> None:
    data, problem = _unpack(pack(TEXT)[:6])
    assert data == b""
    assert problem is not None


@EACH
def test_stream_that_broke_stays_at_its_end(pack: Pack) -> None:
    packed = pack(NOISE)
    unpack = decompressor(packed)
    assert unpack is not None
    stream = Stream(unpack(io.BytesIO(packed[: len(packed) // 2])))
    _drain(stream)
    problem = stream.problem
    assert stream.readinto(memoryview(bytearray(10))) == 0
    assert stream.problem == problem


@pytest.mark.parametrize("head", [b"", b"\x1f", b"text", b"PK\x03\x04", b"BZ", b"\xfd7zXZ"])
def test_other_heads_are_not_packed(head: bytes) -> None:
    assert decompressor(head) is None


# limits


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "RATIO_FROM", 1 << 16)
    monkeypatch.setattr(streams, "MAX_RATIO", 20)
    monkeypatch.setattr(streams, "MAX_EXPANDED", 1 << 20)


@pytest.mark.usefixtures("small")
@EACH
def test_bomb_is_cut_and_told(pack: Pack) -> None:
    packed = pack(bytes(900_000))
    data, problem = _unpack(packed, Limit(len(packed)))
    assert problem == "expands more than 20 times; the rest was not read"
    assert len(data) <= (1 << 16) + 4099


@pytest.mark.usefixtures("small")
@EACH
def test_stream_beyond_the_largest_size_is_cut_and_told(pack: Pack) -> None:
    packed = pack(NOISE * 10)
    data, problem = _unpack(packed, Limit(1 << 30))
    assert problem is not None
    assert problem.startswith("expands to more than ")
    assert len(data) <= 1 << 20


@pytest.mark.usefixtures("small")
def test_small_stream_may_expand_as_often_as_it_likes() -> None:
    packed = gzip.compress(bytes(60_000))
    assert len(packed) * 20 < 60_000
    assert _unpack(packed, Limit(len(packed))) == (bytes(60_000), None)


@pytest.mark.usefixtures("small")
def test_members_count_towards_the_limit_of_their_archive() -> None:
    whole = Limit(1 << 30)
    told = [Limit(1 << 30, whole).over(400_000) for _ in range(3)]
    assert told[:2] == [None, None]
    assert told[2] is not None


def test_zstd_bomb_is_unpacked_piece_by_piece() -> None:
    packed = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    unpack = decompressor(packed)
    assert unpack is not None
    stream = Stream(unpack(io.BytesIO(packed)))
    assert len(_drain(stream, 1 << 20)) == 64 << 20


# text


@pytest.mark.parametrize("size", [1, 2, 3, 7, 4099])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_utf16_is_turned_into_utf8(mark: bytes, encoding: str, size: int) -> None:
    text = "a\u00e9\U0001f600\n" * 50
    stream = text_stream(io.BytesIO(mark + text.encode(encoding)))
    assert _drain(stream, size) == text.encode()


def test_utf16_of_a_slow_pipe_comes_whole() -> None:
    data = codecs.BOM_UTF16_LE + ("a\U0001f600" * 100).encode("utf-16-le")
    assert _drain(text_stream(_Slow(data))) == ("a\U0001f600" * 100).encode()


def test_utf16_that_ends_in_half_a_character_ends_in_a_mark() -> None:
    stream = text_stream(io.BytesIO(codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"x"))
    assert _drain(stream).decode() == "ab\ufffd"


def test_utf16_within_its_limit_counts_bytes_as_they_are_packed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "MAX_EXPANDED", 1000)
    data = codecs.BOM_UTF16_LE + ("x" * 5000).encode("utf-16-le")
    stream = text_stream(io.BytesIO(data), Limit(1 << 30))
    assert len(_drain(stream)) <= 1000
    assert stream.problem is not None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (codecs.BOM_UTF8 + b"abc", b"abc"),
        (codecs.BOM_UTF8, b""),
        (b"abc", b"abc"),
        (b"\xff", b"\xff"),
        (b"\xef\xbb", b"\xef\xbb"),
        (b"", b""),
    ],
)
def test_other_bytes_are_as_they_are(data: bytes, text: bytes) -> None:
    assert _drain(text_stream(io.BytesIO(data))) == text


# peeking and joining


@pytest.mark.parametrize("size", [0, 1, 5, 100])
def test_peek_takes_nothing_away(size: int) -> None:
    head, raw = peek(io.BytesIO(b"0123456789"), size)
    assert head == b"0123456789"[:size]
    assert _drain(Stream(raw)) == b"0123456789"


def test_peek_waits_for_a_slow_pipe_to_give_enough() -> None:
    head, raw = peek(_Slow(b"0123456789"), 4)
    assert (head, _drain(Stream(raw))) == (b"0123", b"0123456789")


def test_peek_at_what_breaks_keeps_what_came_and_the_reason() -> None:
    class Breaking(_Slow):
        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            if not self._rest:
                raise OSError(5, "Input/output error")
            return super().readinto(buffer)

    head, raw = peek(Breaking(b"abc"), 10)
    stream = Stream(raw)
    assert (head, _drain(stream)) == (b"abc", b"abc")
    assert stream.problem == "reading stopped: input/output error"


def test_joined_gives_its_head_in_pieces_and_then_the_rest() -> None:
    joined = Joined(b"abc", io.BytesIO(b"def"))
    view = memoryview(bytearray(2))
    pieces = [bytes(view[: joined.readinto(view)]) for _ in range(4)]
    assert pieces == [b"ab", b"c", b"de", b"f"]


def test_stream_that_could_not_be_opened_gives_its_reason() -> None:
    stream = Stream(Broken(FileNotFoundError(2, "No such file or directory")))
    assert (_drain(stream), stream.problem) == (
        b"",
        "reading stopped: no such file or directory",
    )


def test_closing_what_is_kept_open_leaves_its_source_open() -> None:
    source = io.BytesIO(b"abc")
    kept = KeptOpen(source)
    Stream(kept).close()
    assert (kept.closed, source.closed) == (True, False)


@pytest.mark.parametrize("wrap", [lambda raw: raw, lambda raw: Joined(b"", raw)])
def test_closing_a_stream_closes_its_file(wrap: Callable[[Raw], Raw]) -> None:
    source = io.BytesIO(b"abc")
    Stream(wrap(source)).close()
    assert source.closed


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(2, "No such file or directory"), "no such file or directory"),
        (OSError("not a gzip file"), "not a gzip file"),
        (EOFError("cut off"), "cut off"),
        (EOFError(), "EOFError"),
        (ValueError("bad"), "bad"),
    ],
)
def test_reason_is_a_few_words(error: Exception, text: str) -> None:
    assert reason(error) == text


# archives by the command


def _tar(members: dict[str, bytes], *odd: tarfile.TarInfo) -> bytes:
    """A tar archive: odd members first, then files."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for info in odd:
            archive.addfile(info)
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def _zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _odd(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _report(run: Run, path: Path, exit_code: int = 1) -> dict[str, Any]:
    result = run("-f", "json", str(path))
    assert result.exit_code == exit_code, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def _problems(report: dict[str, Any]) -> dict[str, list[str]]:
    return {
        source["name"].partition("!")[2]: [problem["what"] for problem in source["problems"]]
        for source in report["sources"]
    }


@EACH
def test_packed_log_is_read_and_its_line_told(run: Run, tmp_path: Path, pack: Pack) -> None:
    (tmp_path / "run.log.x").write_bytes(pack(b"hello\n" * 9 + ERROR.encode()))
    report = _report(run, tmp_path / "run.log.x")
    assert report["verdict"]["class"] == "misaligned-address"
    assert report["findings"][0]["evidence"][0]["line"] == 10
    assert report["sources"][0]["bytes"] == 54 + len(ERROR)
    assert report["sources"][0]["problems"] == []


@EACH
def test_packed_archive_of_ranks_is_read(run: Run, tmp_path: Path, pack: Pack) -> None:
    members = {"logs/rank0.log": b"fine\n", "logs/rank3.log": b"a\n" + ERROR.encode()}
    (tmp_path / "logs.tar.x").write_bytes(pack(_tar(members)))
    report = _report(run, tmp_path / "logs.tar.x")
    finding = report["findings"][0]
    assert (finding["class"], finding["rank"]) == ("misaligned-address", 3)
    evidence = finding["evidence"][0]
    assert (evidence["source"], evidence["line"]) == (
        f"{tmp_path}/logs.tar.x!logs/rank3.log",
        2,
    )
    assert [source["rank"] for source in report["sources"]] == [0, 3]


@EACH
def test_packed_archive_on_standard_input_is_read(run: Run, pack: Pack) -> None:
    result = run("-f", "json", "-", stdin=pack(_tar({"rank3.log": ERROR.encode()})))
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["findings"][0]["evidence"][0]["source"] == "<stdin>!rank3.log"


@EACH
def test_cut_packed_archive_gives_its_first_members(run: Run, tmp_path: Path, pack: Pack) -> None:
    members = {"a.log": ERROR.encode(), "b.log": LONG}
    packed = pack(_tar(members))
    (tmp_path / "logs.x").write_bytes(packed[: len(packed) * 3 // 4])
    report = _report(run, tmp_path / "logs.x")
    assert report["verdict"]["class"] == "misaligned-address"
    assert any(_problems(report).values())


def test_links_and_devices_in_an_archive_are_not_read(run: Run, tmp_path: Path) -> None:
    odd = [
        _odd("link", tarfile.SYMTYPE, "/etc/passwd"),
        _odd("hard", tarfile.LNKTYPE, "run.log"),
        _odd("null", tarfile.CHRTYPE),
        _odd("disk", tarfile.BLKTYPE),
        _odd("pipe", tarfile.FIFOTYPE),
        _odd("folder", tarfile.DIRTYPE),
    ]
    (tmp_path / "a.tar").write_bytes(_tar({"run.log": ERROR.encode()}, *odd))
    report = _report(run, tmp_path / "a.tar")
    refused = ["not a regular file"]
    assert _problems(report) == {
        "link": refused,
        "hard": refused,
        "null": refused,
        "disk": refused,
        "pipe": refused,
        "run.log": [],
    }


def test_member_that_climbs_out_is_only_a_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(_tar({"../../outside.log": ERROR.encode()}))
    report = _report(run, tmp_path / "a.tar")
    assert report["sources"][0]["name"] == f"{tmp_path}/a.tar!../../outside.log"
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar"]


@pytest.mark.parametrize("outer", [_zip, _tar], ids=["zip", "tar"])
@pytest.mark.parametrize("inner", [_zip, _tar], ids=["zip", "tar"])
def test_archive_in_an_archive_is_opened_and_one_in_that_is_not(
    run: Run,
    tmp_path: Path,
    outer: Callable[[dict[str, bytes]], bytes],
    inner: Callable[[dict[str, bytes]], bytes],
) -> None:
    innermost = inner({"c.log": ERROR.encode()})
    middle = inner({"b.log": b"fine\n", "deep": innermost})
    (tmp_path / "a").write_bytes(outer({"middle": middle}))
    report = _report(run, tmp_path / "a", exit_code=0)
    assert _problems(report) == {
        "middle!b.log": [],
        "middle!deep": ["an archive inside an archive inside an archive is not opened"],
    }


def test_packed_member_of_a_packed_archive_is_unpacked(run: Run, tmp_path: Path) -> None:
    members = {f"run.log.{name}": pack(ERROR.encode()) for name, pack in PACKERS.items()}
    (tmp_path / "a.tar.zst").write_bytes(PACKERS["zst"](_tar(members)))
    report = _report(run, tmp_path / "a.tar.zst")
    assert [source["bytes"] for source in report["sources"]] == [len(ERROR)] * 4


@pytest.mark.usefixtures("small")
def test_bomb_in_an_archive_is_a_problem_and_the_rest_is_read(run: Run, tmp_path: Path) -> None:
    members = {"bomb": gzip.compress(bytes(900_000)), "run.log": ERROR.encode()}
    (tmp_path / "a.zip").write_bytes(_zip(members))
    report = _report(run, tmp_path / "a.zip")
    assert report["verdict"]["class"] == "misaligned-address"
    (problem, *_), none = _problems(report).values()
    assert problem.startswith(("expands more than 20 times", "hardly text"))
    assert none == []


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", PACKERS)
def test_bomb_of_a_file_is_a_problem(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "bomb").write_bytes(PACKERS[name](b"\n" * 900_000))
    report = _report(run, tmp_path / "bomb", exit_code=0)
    (source,) = report["sources"]
    assert [problem["what"] for problem in source["problems"]] == [
        "expands more than 20 times; the rest was not read"
    ]
    assert source["bytes"] < 900_000
