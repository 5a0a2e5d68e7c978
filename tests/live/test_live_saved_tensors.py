"""Tensors that a real run saved (level 1 of the value printer), read by the worker with torch."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.live.conftest import SCRIPTS, Scan, only_cause, run_python

pytestmark = pytest.mark.live

LEVEL = {"AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER": "1"}


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the run left: its log, the package, and a folder with the saved tensors."""
    pytest.importorskip("torch", reason="live tests need the extra `live`")
    folder = tmp_path_factory.mktemp("saving")
    output = run_python([SCRIPTS / "save_tensors.py"], folder, **LEVEL)
    assert output.status == 0, output.text
    (folder / "run.log").write_text(output.text)
    return folder


def test_kernel_that_makes_a_nan_is_found_from_saved_tensors(run_folder: Path, scan: Scan) -> None:
    report = scan(run_folder / "run.log", run_folder / "saving.pt2", run_folder / "tmp")
    facts = only_cause(report, "nan-or-inf")
    assert facts["kernel"].startswith("cpp_fused_log_relu_")
    assert facts["kind"] == "nan"
    product = [one for one in report["last_kernel"]["arguments"] if one["name"] == "buf0"]
    assert product[0]["size"] == [4, 8]
    assert (product[0]["min"], product[0]["max"], product[0]["nan"]) == (0, 0, False)
    made = [one for one in report["last_kernel"]["producers"] if one["argument"] == "buf0"]
    assert made[0]["kernel"] == "aoti_torch_cpu_mm_out"


class _Opens:
    """A pickle that would write a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self._path), "w")


def test_saved_file_runs_nothing_and_breaks_nothing(run_folder: Path, scan: Scan) -> None:
    trap, written = run_folder / "tmp" / "after_launch_cpp_fused_0_buf9_cpu.pt", run_folder / "trap"
    trap.write_bytes(pickle.dumps(_Opens(written)))
    (run_folder / "tmp" / "after_launch_cpp_fused_0_buf8_cpu.pt").write_bytes(b"PK\x03\x04cut")
    report = scan(run_folder / "run.log", run_folder / "tmp")
    problems = [problem["what"] for source in report["sources"] for problem in source["problems"]]
    assert not written.exists()
    assert any("buf9_cpu.pt: " in what for what in problems)
    assert any("buf8_cpu.pt: " in what for what in problems)
    assert report["verdict"]["class"] == "nan-or-inf"
