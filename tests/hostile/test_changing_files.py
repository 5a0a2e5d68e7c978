"""Files that grow, shrink, vanish or turn into something else while they are read."""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from aoti_logscan.streams import Stream
from tests.conftest import Run
from tests.hostile.packed import tar, zipped
from tests.hostile.tool import CLASS, ERROR, MIB, fixture, scan, told, told_of

#: a log whose failure stands in the first window, and one whose failure stands in the last
EARLY = ERROR + b"step\n" * (3 * MIB // 5)
LATE = b"step\n" * (3 * MIB // 5) + ERROR

Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Does something once, when the first kilobytes, or all, of the first source have been read."""

    def arrange(change: Callable[[], object]) -> None:
        waiting = [change]
        read = Stream.readinto

        def reads(stream: Stream, view: memoryview) -> int:
            count = read(stream, view[: 1 << 16])
            if waiting and (count > 1000 or not count):
                waiting.pop()()
            return count

        monkeypatch.setattr(Stream, "readinto", reads)

    return arrange


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a log is."""
    return tmp_path / "run.log"


def test_file_that_shrinks_is_read_as_far_as_it_goes(
    run: Run, log: Path, meanwhile: Meanwhile
) -> None:
    log.write_bytes(EARLY)
    meanwhile(lambda: os.truncate(log, 100_000))
    report = scan(run, log)
    assert report.verdict.failure_class == CLASS
    assert report.sources[0].bytes == 100_000


def test_file_that_is_emptied_keeps_what_was_read(
    run: Run, log: Path, meanwhile: Meanwhile
) -> None:
    log.write_bytes(EARLY)
    meanwhile(lambda: os.truncate(log, 0))
    report = scan(run, log)
    assert report.verdict.failure_class == CLASS
    assert 1 << 16 <= report.sources[0].bytes < 1 << 17


def test_file_that_grows_is_read_to_its_new_end(run: Run, log: Path, meanwhile: Meanwhile) -> None:
    log.write_bytes(b"step\n" * 100_000)

    def grow() -> None:
        with open(log, "ab") as file:
            file.write(LATE)

    meanwhile(grow)
    report = scan(run, log)
    assert report.verdict.failure_class == CLASS
    assert report.findings[0].evidence[0].line == 100_001 + LATE.count(b"\n") - 1


@pytest.mark.parametrize("as_what", ["nothing", "folder", "pipe", "another"])
def test_file_that_is_replaced_is_read_as_it_was(
    run: Run, log: Path, meanwhile: Meanwhile, as_what: str
) -> None:
    log.write_bytes(LATE)
    meanwhile(lambda: _replace(log, as_what))
    report = scan(run, log)
    assert report.verdict.failure_class == CLASS
    assert report.sources[0].bytes == len(LATE)


def _replace(path: Path, as_what: str) -> None:
    path.unlink()
    if as_what == "folder":
        path.mkdir()
    elif as_what == "pipe":
        os.mkfifo(path)
    elif as_what == "another":
        path.write_bytes(b"fine\n")


@pytest.mark.parametrize(
    ("as_what", "why"),
    [
        ("nothing", "no such file or directory"),
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
    ],
)
def test_file_that_is_gone_when_its_turn_comes_is_said(
    run: Run, tmp_path: Path, meanwhile: Meanwhile, as_what: str, why: str
) -> None:
    (tmp_path / "a.log").write_bytes(ERROR)
    (tmp_path / "b.log").write_bytes(ERROR)
    meanwhile(lambda: _replace(tmp_path / "b.log", as_what))
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert told_of(report) == {"a.log": [], "b.log": [why]}


def test_package_that_is_gone_when_its_turn_comes_is_said(
    run: Run, tmp_path: Path, meanwhile: Meanwhile
) -> None:
    (tmp_path / "a.tar").write_bytes(tar({"run.log": fixture("input-dtype/input/run.log")}))
    (tmp_path / "model.pt2").write_bytes(fixture("input-dtype/input/model.pt2"))
    meanwhile((tmp_path / "model.pt2").unlink)
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == "input-mismatch"
    assert told_of(report)["model.pt2"] == ["no such file or directory"]


def test_saved_tensor_that_vanishes_is_said(run: Run, tmp_path: Path, meanwhile: Meanwhile) -> None:
    tensor = tmp_path / "a_before_launch_cpp_fused_0_buf0_cpu.pt"
    tensor.write_bytes(b"PK\3\4")
    (tmp_path / "run.log").write_bytes(ERROR)
    meanwhile(tensor.unlink)
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert len(told(report)) == 1


def test_packed_file_that_shrinks_says_so(run: Run, log: Path, meanwhile: Meanwhile) -> None:
    log.write_bytes(gzip.compress(ERROR) + gzip.compress(os.urandom(3 * MIB), 0))
    meanwhile(lambda: os.truncate(log, 200_000))
    report = scan(run, log)
    assert report.verdict.failure_class == CLASS
    assert told(report)[-1].startswith("reading stopped: Compressed file ended before")


def test_archive_that_shrinks_says_so(run: Run, tmp_path: Path, meanwhile: Meanwhile) -> None:
    archive = tmp_path / "a.zip"
    members = {"a.log": EARLY, "b.log": LATE}
    archive.write_bytes(zipped(members, zipfile.ZIP_STORED))
    meanwhile(lambda: os.truncate(archive, 2 * MIB))
    report = scan(run, archive)
    assert report.verdict.failure_class == CLASS
    problems = told_of(report)
    assert problems["a.log"][0].startswith("reading stopped: ")
    assert problems["b.log"] != []


def test_archive_that_vanishes_is_read_as_it_was(
    run: Run, tmp_path: Path, meanwhile: Meanwhile
) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(zipped({"a.log": b"fine\n", "b.log": LATE}))
    meanwhile(archive.unlink)
    report = scan(run, archive)
    assert report.verdict.failure_class == CLASS
    assert told(report) == []


def test_folder_that_vanishes_is_said(run: Run, tmp_path: Path, meanwhile: Meanwhile) -> None:
    (tmp_path / "a.tar").write_bytes(tar({"run.log": ERROR}))
    (tmp_path / "b").mkdir()
    (tmp_path / "b/b.log").write_bytes(ERROR)

    def remove() -> None:
        (tmp_path / "b/b.log").unlink()
        (tmp_path / "b").rmdir()

    meanwhile(remove)
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert told_of(report) == {"run.log": [], "b": ["no such file or directory"]}
