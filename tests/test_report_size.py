"""A report has a limit: what is cut for it is told, and the cause stays."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from aoti_logscan.report import Evidence, Report
from aoti_logscan.report_size import limited
from tests.conftest import Run
from tests.dossiers import of_fixture


def _large(findings: int, places: int) -> Report:
    report = of_fixture("triton-oob-proven-by-package").report
    evidence = tuple(Evidence(f"rank{at}.log", 1, 0, "x" * 1000) for at in range(places))
    wide = msgspec.structs.replace(report.findings[1], evidence=evidence)
    return msgspec.structs.replace(report, findings=(report.findings[0], *[wide] * findings))


def test_small_report_is_as_it_was() -> None:
    report = _large(3, 3)
    assert limited(report) is report


@pytest.mark.parametrize(
    ("findings", "places", "kept", "found"),
    [(10, 200, 64, 11), (100, 200, 8, 101), (500, 200, 1, 501), (3000, 10, 1, 375)],
)
def test_places_are_cut_before_findings(findings: int, places: int, kept: int, found: int) -> None:
    report = limited(_large(findings, places), 1 << 20)
    assert len(msgspec.json.encode(report)) < (1 << 20) + 1000
    assert len(report.findings) == found
    assert report.findings[0].role == "cause"
    assert {len(one.evidence) for one in report.findings[1:]} == {kept}
    told = report.sources[0].problems[-1].what
    left_out = findings * places - (found - 1) * kept
    assert told.startswith(f"{left_out} places and {findings + 1 - found} findings are not listed")


def test_many_sources_of_one_error_are_reported(run: Run, tmp_path: Path) -> None:
    folder = tmp_path
    for rank in range(80):
        line = f"[rank{rank}]: RuntimeError: CUDA error: misaligned address {'x' * 500}\n"
        (folder / f"rank{rank}.log").write_text(line)
    report = json.loads(run("-f", "json", str(folder)).stdout)
    assert report["verdict"]["class"] == "misaligned-address"
