"""What expands without end: cut at its limits, in bounded memory, said, and the rest is read."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from aoti_logscan import sources, streams
from aoti_logscan.artifacts import package
from tests.conftest import Run
from tests.hostile.packed import (
    PACKERS,
    directory_end,
    entry,
    header,
    member,
    repeated,
    tar,
    zipped,
)
from tests.hostile.tool import CLASS, ERROR, MIB, Done, fixture, scan, spawn, told, told_of

BOUND = 250 * MIB
OFTEN = "expands more than 1000 times; the rest was not read"
LINES = (b"nothing to see\n" * 70_000)[:MIB]


def _read(path: Path, data: bytes, bound: int = BOUND) -> Done:
    path.write_bytes(data)
    done = spawn("-f", "json", path)
    assert done.peak < bound
    return done


@pytest.mark.parametrize("name", PACKERS)
def test_file_that_expands_too_often_is_cut(tmp_path: Path, name: str) -> None:
    packed = PACKERS[name](ERROR) + repeated(bytes(MIB), 300, PACKERS[name])
    done = _read(tmp_path / "bomb", packed)
    if len(packed) * 1000 < 300 * MIB:
        assert told(done.report)[-1] == OFTEN
        assert done.report.sources[0].bytes < 300 * MIB
    assert done.report.verdict.failure_class == CLASS


@pytest.mark.parametrize("name", ["bz2", "zst"])
def test_archive_that_expands_too_often_is_cut_though_nothing_of_it_is_a_log(
    tmp_path: Path, name: str
) -> None:
    start = member("run.log", ERROR) + header("lib.so", size=1 << 40) + b"\x7fELF"
    packed = repeated(start, 1, PACKERS[name]) + repeated(bytes(MIB), 300, PACKERS[name])
    done = _read(tmp_path / "bomb.tar", packed)
    assert done.report.verdict.failure_class == CLASS
    assert told(done.report)[-1] == OFTEN


def test_bomb_in_a_tar_in_a_zip_is_cut_and_the_rest_is_read(tmp_path: Path) -> None:
    bomb = repeated(bytes(MIB), 300, PACKERS["bz2"])
    inner = tar({"bomb.bz2": bomb, "run.log": ERROR})
    done = _read(tmp_path / "a.zip", zipped({"inner.tar": inner, "other.log": b"fine\n"}))
    assert done.report.verdict.failure_class == CLASS
    assert told_of(done.report)["inner.tar!bomb.bz2"][-1] == OFTEN
    assert told_of(done.report)["other.log"] == []


def test_inner_zip_of_a_gigabyte_is_not_held(tmp_path: Path) -> None:
    bomb = repeated(b"PK\3\4" + bytes(MIB - 4), 1024)
    done = _read(tmp_path / "a.tar", tar({"a.zip": bomb, "run.log": ERROR}), 450 * MIB)
    assert done.report.verdict.failure_class == CLASS
    assert "256 MiB" in told_of(done.report)["a.zip"][0] or OFTEN in told(done.report)


def _overlapping(count: int) -> bytes:
    """A zip of so many members that all are the same megabytes."""
    plain = LINES * 8
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflater.compress(plain) + deflater.flush()
    crc = zlib.crc32(plain)
    sizes = (0, 33, crc, len(packed), len(plain), 1, 0)
    local = struct.pack("<4s3H2H3L2H", b"PK\3\4", 20, 0, 8, *sizes) + b"a" + packed
    one = entry(b"a", len(packed), len(plain), 0, crc, 8)
    return local + one * count + directory_end(count, len(one) * count, len(local))


def test_members_that_share_their_bytes_are_read_once(tmp_path: Path) -> None:
    done = _read(tmp_path / "a.zip", _overlapping(5_000))
    assert sum(source.bytes for source in done.report.sources) == len(LINES) * 8
    assert told(done.report) == ["4999 members were not read, whose bytes are those of others"]


def test_entries_of_a_package_that_share_their_bytes_are_read_once(
    tmp_path: Path, run: Run
) -> None:
    (tmp_path / "a.pt2").write_bytes(_overlapping(5_000))
    shared = "4999 entries were not read, whose bytes are those of others"
    assert shared in told(scan(run, tmp_path))


def test_package_of_lines_without_end_is_cut(tmp_path: Path) -> None:
    code = b"x\n" * (10 * MIB)
    names = [f"m/data/aotinductor/model/{number}.wrapper.cpp" for number in range(5)]
    done = _read(tmp_path / "a.pt2", zipped(dict.fromkeys(names, code)), 1100 * MIB)
    problems = told(done.report)
    assert problems
    assert all("code beyond the first 512 MiB is not read" in what for what in problems)


def test_package_of_code_that_is_not_packed_is_read(tmp_path: Path, run: Run) -> None:
    code = zipped({"m/a.wrapper.cpp": b"// " + b"x" * 9 * MIB}, zipfile.ZIP_STORED)
    (tmp_path / "model.pt2").write_bytes(code)
    assert told(scan(run, tmp_path)) == []


def test_package_with_a_bomb_still_names_its_input(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package, "MAX_ENTRY", MIB)
    (tmp_path / "run.log").write_bytes(fixture("input-dtype/input/run.log"))
    model = tmp_path / "model.pt2"
    model.write_bytes(fixture("input-dtype/input/model.pt2"))
    with zipfile.ZipFile(model, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/data/aotinductor/model/bomb.cpp", bytes(50 * MIB))
    report = scan(run, tmp_path)
    assert report.findings[0].facts["name"] == "arg3_1"
    assert any("the rest was not read" in what for what in told(report))


def test_code_of_gigabytes_is_cut(tmp_path: Path) -> None:
    with open(tmp_path / "m_metadata.json", "wb") as file:
        file.truncate(4 << 30)
    (tmp_path / "run.log").write_bytes(ERROR)
    done = spawn("-f", "json", tmp_path)
    assert done.report.verdict.failure_class == CLASS
    assert "more than 67108864 bytes; the rest was not read" in told(done.report)
    assert done.peak < 350 * MIB


def test_package_of_terabytes_is_not_held(tmp_path: Path) -> None:
    with open(tmp_path / "model.pt2", "wb") as file:
        file.write(b"PK\3\4")
        file.truncate(1 << 40)
    done = spawn("-f", "json", tmp_path)
    assert told(done.report) == ["a broken package: File is not a zip file"]
    assert done.peak < BOUND


def test_package_longer_than_memory_is_read_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(fixture("input-dtype/input/run.log"))
    with open(tmp_path / "model.pt2", "wb") as file:
        file.write(b"PK\3\4")
        file.truncate(8 << 30)
        file.seek(8 << 30)
        file.write(fixture("input-dtype/input/model.pt2"))
    done = spawn("-f", "json", tmp_path)
    assert done.report.findings[0].facts["name"] == "arg3_1"
    assert done.peak < BOUND


def test_code_of_all_artifacts_has_a_limit(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_ALL_CODE", 10 * MIB)
    (tmp_path / "run.log").write_bytes(ERROR)
    for number in range(4):
        (tmp_path / f"{number}.py").write_bytes(b"x = 1\n" * 50_000)
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert told(report) == ["code beyond the first 10 MiB is not read"]


def test_code_in_an_archive_counts_towards_its_limit(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_EXPANDED", 10 * MIB)
    members = {"run.log": ERROR, **{f"{number}.py": bytes(3 * MIB) for number in range(5)}}
    (tmp_path / "a.zip").write_bytes(zipped(members))
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert sum("the rest was not read" in what for what in told(report)) == 2
