"""Real models under `aoti-logscan run`: no mark is lost, and a wrong input is found by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.live.conftest import COMMAND, SCRIPTS, Job, Piped, Printing, environment

pytestmark = pytest.mark.live

PRINTER = "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER"


class Recorded(NamedTuple):
    """What a run under the command gave."""

    status: int
    printed: str
    said: str
    report: dict[str, Any]


def record(
    folder: Path, step: str, command: Sequence[str | Path], target: Path, **flags: str
) -> Recorded:
    """Run on this rung, from this folder, with the recording in `target`."""
    diagnosis = target.with_suffix(".report")
    words: list[str | Path] = [
        "run",
        "--step",
        step,
        "--record",
        target,
        "-f",
        "json",
        "-o",
        diagnosis,
        "--",
    ]
    done = subprocess.run(
        [COMMAND, *words, *command],
        cwd=folder,
        env=environment(folder, **flags),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=600,
        check=False,
    )
    report = json.loads(diagnosis.read_bytes())
    return Recorded(done.returncode, done.stdout.decode(), done.stderr.decode(), report)


def states(report: dict[str, Any]) -> dict[str, str]:
    """The state of each flag."""
    return {flag["name"]: flag["state"] for flag in report["flags"]}


def test_all_marks_survive_a_crash(printing: Printing, piped: Piped, tmp_path: Path) -> None:
    run = record(printing.folder, "kernels", printing.command(3), tmp_path / "kept")
    assert run.status == 139
    assert run.printed == (tmp_path / "kept/output.log").read_text(encoding="utf-8")
    assert run.printed.count("before_launch:") == run.printed.count("after_launch:") == 2
    assert run.report["verdict"]["class"] == "host-crash"
    last = run.report["last_kernel"]
    assert (last["name"], last["open"]) == ("aoti_torch_cpu_mm_out", False)
    assert last["certainty"] != "sure"  # the operator that crashed prints no mark
    lost = piped(printing.in_pipe(3))
    assert lost["last_kernel"] is None


def test_open_mark_on_a_terminal_of_its_own_names_the_kernel_for_sure(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="live tests need the extra `live`")
    script = SCRIPTS / "unguarded_gather.py"
    subprocess.run(
        [sys.executable, script, "build", tmp_path],
        env=environment(tmp_path),
        capture_output=True,
        timeout=300,
        check=True,
    )
    command: list[str | Path] = [sys.executable, script, "run", tmp_path]
    run = record(tmp_path, "kernels", command, tmp_path / "kept")
    assert run.status == 139
    last = run.report["last_kernel"]
    assert (last["name"], last["open"]) == ("cpp_fused_index_mul_0", True)
    assert (last["certainty"], "pipe" in last["why"]) == ("sure", False)
    piped_out = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, timeout=300, check=False
    )
    assert b"before_launch" not in piped_out.stdout  # the pipe's buffer died with the process


def test_values_survive_a_crash_and_their_package_is_kept(
    printing: Printing, tmp_path: Path
) -> None:
    run = record(printing.folder, "inspect", printing.command(2), tmp_path / "kept")
    last = run.report["last_kernel"]
    printed = {(one["name"], one["phase"]): one for one in last["arguments"]}
    assert printed["buf1", "after"]["numel"] == 8
    assert (tmp_path / "kept/packages/level2.pt2").is_file()


def test_printer_is_not_on_for_a_package_that_is_only_loaded(job: Job, tmp_path: Path) -> None:
    command: list[str | Path] = [sys.executable, SCRIPTS / "serve.py", job.package, "shape"]
    run = record(job.folder, "kernels", command, tmp_path / "kept")
    assert f"{PRINTER} acts only on what the command compiles" in run.said
    assert states(run.report)[PRINTER] == "off"
    assert states(run.report)["TORCH_SHOW_CPP_STACKTRACES"] == "on"


def test_printer_is_on_where_the_command_compiles(tmp_path: Path, job: Job) -> None:
    command: list[str | Path] = [sys.executable, SCRIPTS / "build.py", tmp_path / "built.pt2"]
    run = record(job.folder, "kernels", command, tmp_path / "kept")
    assert run.status == 0
    assert states(run.report)[PRINTER] == "on"
    assert [file.name for file in (tmp_path / "kept/packages").iterdir()] == ["built.pt2"]
    assert list((tmp_path / "kept/trace").iterdir())


def test_wrong_shape_is_decided_by_climbing(job: Job, piped: Piped, tmp_path: Path) -> None:
    command: list[str | Path] = [sys.executable, SCRIPTS / "serve.py", job.package, "shape"]
    plain = subprocess.run(
        command, cwd=job.folder, env=environment(job.folder), capture_output=True, check=False
    )
    assert piped(plain.stderr.decode())["verdict"]["certainty"] != "sure"
    run = record(job.folder, "auto", command, tmp_path / "kept")
    assert run.report["verdict"]["class"] == "input-mismatch"
    assert run.report["verdict"]["certainty"] == "sure"
    facts = run.report["findings"][0]["facts"]
    assert (facts["input"], facts["dim"], facts["expected"], facts["actual"]) == (0, 1, 16, 17)
    assert facts["name"] in ("arg2_1", "arg3_1")  # from the package, found by the command line
    assert json.loads((tmp_path / "kept/run.json").read_bytes())["step"] == "sanity"
    assert not os.path.lexists(tmp_path / "kept-1-sanity")
