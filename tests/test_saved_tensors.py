"""Tensors that level 1 of the printer saved: their names, and what is said without torch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import msgspec
import pytest

from aoti_logscan.artifacts.saved_tensor import split_names
from tests.conftest import Run

SAVED = "aoti_torch_save_tensor_handle: Saved tensor to /srv/run/tmp/aoti_torch"


@pytest.mark.parametrize(
    ("names", "split"),
    [
        ("cpp_fused_mul_sin_0_buf0_cpu", ("cpp_fused_mul_sin_0", "buf0")),
        ("aoti_torch_cpu_addmm_out_arg3_1_cpu", ("aoti_torch_cpu_addmm_out", "arg3_1")),
        ("triton_poi_fused_add_0_buf12_cuda", ("triton_poi_fused_add_0", "buf12")),
        ("triton_poi_fused_add_0_primals_2", ("triton_poi_fused_add_0", "primals_2")),
        ("cpp_fused_add_1_fc1_weight_cpu", ("cpp_fused_add_1", "fc1_weight")),
        ("cpp_fused_add_11_fc1_weight_cpu", ("cpp_fused_add_11", "fc1_weight")),
        ("something_else_cpu", None),
    ],
)
def test_file_name_is_kernel_and_tensor(names: str, split: tuple[str, str] | None) -> None:
    kernels = ("cpp_fused_add_1", "cpp_fused_add_11", "cpp_fused_add")
    assert split_names(names, kernels) == split


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of level 1 with one saved file beside it, where torch is not installed."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    log = (
        f"{SAVED}before_launch_cpp_fused_0_buf0_cpu.pt\n{SAVED}after_launch_cpp_fused_0_buf0_cpu.pt\n"
        f"{SAVED}before_launch_cpp_fused_1_buf1_cpu.pt\n"
    )
    (tmp_path / "run.log").write_text(log)
    (tmp_path / "aoti_torchafter_launch_cpp_fused_0_buf0_cpu.pt").write_bytes(
        b"PK\x03\x04 not read"
    )
    return tmp_path


def test_without_torch_the_report_says_what_to_install(folder: Path, run: Run) -> None:
    report = msgspec.json.decode(run("-f", "json", str(folder)).stdout)
    problems = [problem["what"] for source in report["sources"] for problem in source["problems"]]
    assert "1 saved tensors were not read: pip install 'aoti-logscan[torch]'" in problems


def test_saved_tensors_mark_launches_even_unread(folder: Path, run: Run) -> None:
    result = run("kernels", "-f", "json", str(folder))
    found = msgspec.json.decode(result.stdout)
    assert [(one["kernel"], one["open"]) for one in found] == [
        ("cpp_fused_0", False),
        ("cpp_fused_1", True),
    ]


def test_events_stay_what_the_log_says(folder: Path, run: Run) -> None:
    lines = run("-f", "events", str(folder)).stdout.splitlines()
    assert {msgspec.json.decode(line)["event"] for line in lines} == {"saved-tensor"}
