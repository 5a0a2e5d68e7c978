"""Inputs with bits flipped, by seeds: what is damaged is said, and what is whole is read."""

from __future__ import annotations

import gzip
import lzma
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from tests.conftest import Run
from tests.hostile.tool import fixture, scan, told

LOG = fixture("forms/a-dsa-report/input/dsa.log")
TRACE = fixture("forms/z-trace-payload-errors/input/trace/dedicated_log_torch_trace_ab12cd34.log")
PRINTED = fixture("printer-level3-crash-pipe/input/run.log")[-3000:]


def _flips(data: bytes, count: int, bits: int = 1) -> Iterator[bytes]:
    """The bytes with a few bits flipped, so many times."""
    for seed in range(count):
        chance, flipped = random.Random(seed), bytearray(data)
        for _ in range(bits):
            flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        yield bytes(flipped)


@pytest.mark.parametrize("data", [LOG, TRACE, PRINTED], ids=["log", "trace", "printed"])
@pytest.mark.parametrize("bits", [1, 40])
def test_flipped_text_is_read(run: Run, data: bytes, bits: int) -> None:
    for flipped in _flips(data, 80, bits):
        report = scan(run, "-", stdin=flipped)
        if flipped[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            assert report.sources[0].bytes == len(data)
    assert scan(run, "-", stdin=data).sources[0].problems == ()


@pytest.mark.parametrize(
    "pack",
    [
        gzip.compress,
        lzma.compress,
        zstandard.ZstdCompressor(write_checksum=True).compress,
    ],
    ids=["gzip", "xz", "zstd"],
)
def test_flipped_packed_log_is_whole_or_said_to_be_damaged(run: Run, pack: object) -> None:
    assert callable(pack)
    packed = pack(LOG)
    for flipped in _flips(packed, 80):
        report = scan(run, "-", stdin=flipped)
        damaged = told(report)
        assert damaged or report.sources[0].bytes == len(LOG)


def test_flipped_package_costs_its_log_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(fixture("input-dtype/input/run.log"))
    for flipped in _flips(fixture("input-dtype/input/model.pt2"), 60, 20):
        (tmp_path / "model.pt2").write_bytes(flipped)
        report = scan(run, tmp_path)
        assert report.verdict.failure_class == "input-mismatch"


def test_flipped_archives_are_read_as_far_as_they_go(run: Run, tmp_path: Path) -> None:
    for name, packed in _archives(tmp_path):
        for flipped in _flips(packed, 100, 3):
            report = scan(run, "-", stdin=flipped)
            classes = {report.verdict.failure_class}
            assert classes <= {"device-assert", "undecided", "none"}, name
            if classes == {"none"}:
                assert told(report) or report.sources[0].bytes, name


def _archives(tmp_path: Path) -> Iterator[tuple[str, bytes]]:
    import shutil

    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.log").write_bytes(LOG)
    (tmp_path / "logs/b.log").write_bytes(LOG)
    for kind in ("zip", "tar", "gztar"):
        made = shutil.make_archive(str(tmp_path / kind), kind, tmp_path / "logs")
        yield kind, Path(made).read_bytes()
