"""The run.json of a recording: flags and death, and that it is nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aoti_logscan.recording import run_record
from tests.conftest import Run

SIGNALLED = {"command": ["x"], "environment": ["CUDA_LAUNCH_BLOCKING=1"], "signal": "SIGSEGV"}


@pytest.fixture
def scanned(run: Run, tmp_path: Path) -> Any:
    """The report on a folder with this run.json."""

    def report(data: bytes) -> dict[str, Any]:
        (tmp_path / "run.json").write_bytes(data)
        decoded: dict[str, Any] = msgspec.json.decode(run("-f", "json", str(tmp_path)).stdout)
        return decoded

    return report


def state(report: dict[str, Any], name: str) -> dict[str, Any]:
    [flag] = [flag for flag in report["flags"] if flag["name"] == name]
    found: dict[str, Any] = flag
    return found


def test_flags_and_death_have_their_lines(scanned: Any) -> None:
    report = scanned(run_record(SIGNALLED))
    assert report["findings"][0]["facts"]["signal"] == "SIGSEGV"
    assert report["findings"][0]["evidence"][0]["text"] == '"signal": "SIGSEGV"'
    flag = state(report, "CUDA_LAUNCH_BLOCKING")
    assert (flag["state"], flag["evidence"]["line"]) == ("on", 7)


@pytest.mark.parametrize("indent", [None, 4])
def test_file_that_was_formatted_anew_tells_the_same(scanned: Any, indent: int | None) -> None:
    fields = json.loads(run_record(SIGNALLED))
    separators = (",", ":") if indent is None else None
    report = scanned(json.dumps(fields, indent=indent, separators=separators).encode())
    assert report["findings"][0]["facts"]["signal"] == "SIGSEGV"
    assert state(report, "CUDA_LAUNCH_BLOCKING")["state"] == "on"
    assert '"SIGSEGV"' in report["findings"][0]["evidence"][0]["text"]


@pytest.mark.parametrize("compiled", [True, None, False])
def test_flag_of_compile_time_counts_unless_nothing_was_compiled(
    scanned: Any, compiled: bool | None
) -> None:
    setting = {"environment": ["TORCHINDUCTOR_NAN_ASSERTS=1"], "compiled": compiled}
    flag = state(scanned(run_record(setting)), "TORCHINDUCTOR_NAN_ASSERTS")
    assert flag["state"] == ("unknown" if compiled is False else "on")


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", None, 11, ["SIGSEGV"]])
def test_request_to_end_and_nonsense_are_no_death(scanned: Any, signal: object) -> None:
    assert scanned(run_record({"signal": signal}))["verdict"]["class"] == "none"


def test_errors_in_the_command_are_hidden(scanned: Any) -> None:
    words = ["RuntimeError: CUDA error: out of memory", "Segmentation fault (core dumped)"]
    assert scanned(run_record({"command": words, "status": 1}))["findings"] == []


def test_file_that_was_cut_is_a_problem(scanned: Any) -> None:
    report = scanned(run_record(SIGNALLED)[:-9])
    [source] = report["sources"]
    assert source["problems"] == [{"line": 1, "what": "a run.json that cannot be read"}]


def test_words_of_it_elsewhere_are_text(scanned: Any) -> None:
    data = b'see\n "aoti_logscan_run": "1", and\nSegmentation fault (core dumped)\n'
    assert scanned(data)["verdict"]["class"] == "host-crash"
