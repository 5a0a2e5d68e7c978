"""Inputs cut at every byte: a report on what is left, and nothing in it from beyond the cut."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aoti_logscan.report import Report
from tests.conftest import Run
from tests.hostile.tool import CLASS, ERROR, assert_evidence_is_in, fixture, scan, told

LOG = fixture("forms/a-embedding-large-index/input/train.log")
TRACE = fixture("forms/z-trace-payload-errors/input/trace/dedicated_log_torch_trace_ab12cd34.log")
#: a record of code, of whose payload the errors are left
PART = b"".join(
    line
    for line in TRACE.splitlines(keepends=True)
    if b"inductor_output_code" in line or (line.startswith(b"\t") and b"rror" in line)
)
FAILED = (
    b"V1130 10:02:52.685000 2443 torch/_dynamo/utils.py:2009] "
    b'{"compilation_metrics": {"compile_id": "0/0", "fail_type": "InductorError", '
    b'"fail_reason": "NotImplementedError: round_to_cents of strided prices"}, "frame_id": 0}\n'
)


def _cuts(
    run: Run, packed: bytes, read: Callable[[bytes], bytes] = bytes
) -> Iterator[tuple[int, Report]]:
    """The report on each beginning of some bytes; `read` gives what can be read of one."""
    for cut in range(len(packed) + 1):
        report = scan(run, "-", stdin=packed[:cut])
        assert_evidence_is_in(report, read(packed[:cut]))
        yield cut, report


def test_log_cut_anywhere_tells_what_is_left_of_it(run: Run) -> None:
    classes = [report.verdict.failure_class for _, report in _cuts(run, LOG)]
    assert set(classes) == {"none", "device-assert", "aten-index-out-of-bounds"}
    assert classes[-1] == "aten-index-out-of-bounds"
    first = LOG.index(b"Assertion")
    assert set(classes[:first]) == {"none"}


def test_trace_cut_anywhere_never_takes_its_payload_for_a_failure(run: Run) -> None:
    assert {report.verdict.failure_class for _, report in _cuts(run, PART)} == {"none"}


def test_failure_in_a_trace_is_told_when_its_record_is_whole(run: Run) -> None:
    decided = [cut for cut, report in _cuts(run, FAILED) if report.verdict.failure_class != "none"]
    assert decided == [len(FAILED) - 1, len(FAILED)]


def _gunzipped(packed: bytes) -> bytes:
    return zlib.decompressobj(31).decompress(packed)


def test_gzip_cut_anywhere_gives_what_came_and_says_so(run: Run) -> None:
    packed = gzip.compress(LOG, mtime=0)
    for cut, report in _cuts(run, packed, _gunzipped):
        if 2 <= cut < len(packed):
            assert any(what.startswith("reading stopped: ") for what in told(report)), cut
    assert report.verdict.failure_class == "aten-index-out-of-bounds"
    assert told(report) == []


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("run.log", ERROR)
    return file.getvalue()


def test_zip_cut_anywhere_is_said_to_be_broken(run: Run) -> None:
    packed = _zip()
    for cut in range(4, len(packed)):
        report = scan(run, "-", stdin=packed[:cut])
        assert told(report) == ["a broken zip archive: File is not a zip file"]
    assert scan(run, "-", stdin=packed).verdict.failure_class == CLASS


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name in ("a.log", "b.log"):
            info = tarfile.TarInfo(name)
            info.size = len(ERROR)
            archive.addfile(info, io.BytesIO(ERROR))
    return file.getvalue()


def test_tar_cut_anywhere_gives_what_came_and_says_so(run: Run) -> None:
    packed = _tar()
    end = packed.rindex(ERROR) + 512
    for cut in range(262, end, 7):
        report = scan(run, "-", stdin=packed[:cut])
        assert any("unexpected end of data" in what for what in told(report)), cut
        assert (report.verdict.failure_class == CLASS) == (cut >= 512 + len(ERROR) - 1)
    assert told(scan(run, "-", stdin=packed[: end + 512])) == []


def test_package_cut_anywhere_is_a_problem_and_the_log_is_read(run: Run, tmp_path: Path) -> None:
    package = fixture("input-dtype/input/model.pt2")
    (tmp_path / "run.log").write_bytes(fixture("input-dtype/input/run.log"))
    for cut in range(0, len(package), len(package) // 97):
        (tmp_path / "model.pt2").write_bytes(package[:cut])
        report = scan(run, tmp_path)
        assert report.verdict.failure_class == "input-mismatch"
        assert len(told(report)) == 1


@pytest.mark.parametrize("name", ["crash-recorded-silently/input/run.json"])
def test_record_of_a_run_cut_anywhere_is_no_other_failure(run: Run, name: str) -> None:
    whole = fixture(name)
    for cut, report in _cuts(run, whole):
        if cut < len(whole) - 2 and cut > 40:
            assert report.verdict.failure_class == "none"
            assert told(report) == ["a run.json that cannot be read"]
    assert report.verdict.failure_class == "host-crash"
