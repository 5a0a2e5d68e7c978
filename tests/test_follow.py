"""`--follow`: a log that grows is read until a failure stands in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIXTURES, Run

COMMAND = Path(sys.executable).with_name("aoti-logscan")
FAILED = (FIXTURES / "input-dtype/input/run.log").read_bytes()
HEALTHY = b"step\n" * 100


class _Follower:
    """The command following a file that this process writes."""

    def __init__(self, path: Path, *args: str) -> None:
        self.path = path
        self.process = subprocess.Popen(
            [str(COMMAND), "-f", "json", "--follow", *args, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def add(self, data: bytes) -> None:
        with open(self.path, "ab") as file:
            file.write(data)

    def runs_on(self, seconds: float) -> bool:
        """Whether it is still there after a while in which it could have judged."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def end(self) -> tuple[int, dict[str, Any]]:
        output, errors = self.process.communicate(timeout=60)
        assert errors == b""
        return self.process.returncode, json.loads(output)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.log"
    path.write_bytes(HEALTHY)
    return path


def test_failure_that_is_written_later_is_diagnosed(log: Path) -> None:
    follower = _Follower(log)
    assert follower.runs_on(2.5)
    follower.add(FAILED)
    status, report = follower.end()
    assert (status, report["verdict"]["class"]) == (1, "input-mismatch")
    assert report["sources"][0]["bytes"] == len(HEALTHY + FAILED)
    assert report["findings"][0]["evidence"][0]["line"] == 101


def test_failure_that_is_there_already_is_diagnosed(log: Path) -> None:
    log.write_bytes(FAILED)
    status, report = _Follower(log).end()
    assert (status, report["verdict"]["class"]) == (1, "input-mismatch")


def test_record_that_comes_in_pieces_is_whole(log: Path) -> None:
    follower = _Follower(log)
    for byte in range(0, len(FAILED), 50):
        follower.add(FAILED[byte : byte + 50])
    status, report = follower.end()
    assert (status, report["verdict"]["class"]) == (1, "input-mismatch")
    assert report["findings"][0]["facts"]["expected"] == "float32"


def test_interrupt_prints_what_there_is(log: Path) -> None:
    follower = _Follower(log)
    assert follower.runs_on(1.5)
    follower.process.send_signal(signal.SIGINT)
    status, report = follower.end()
    assert (status, report["verdict"]["class"]) == (130, "none")
    assert report["sources"][0]["bytes"] == len(HEALTHY)
    assert report["sources"][0]["problems"] == []


def test_file_that_takes_the_place_is_read_from_its_start(log: Path) -> None:
    follower = _Follower(log)
    assert follower.runs_on(1.5)
    other = log.with_name("other")
    other.write_bytes(FAILED)
    os.replace(other, log)
    status, report = follower.end()
    assert (status, report["verdict"]["class"]) == (1, "input-mismatch")
    assert report["sources"][0]["bytes"] == len(FAILED)


def test_file_that_is_cut_is_read_from_its_start(log: Path) -> None:
    log.write_bytes(HEALTHY * 10)
    follower = _Follower(log)
    assert follower.runs_on(1.5)
    log.write_bytes(FAILED)
    status, report = follower.end()
    assert (status, report["verdict"]["class"]) == (1, "input-mismatch")


def test_file_that_is_gone_for_a_while_is_waited_for(log: Path) -> None:
    follower = _Follower(log)
    assert follower.runs_on(1.0)
    log.unlink()
    assert follower.runs_on(1.0)
    log.write_bytes(FAILED)
    assert follower.end()[0] == 1


def test_rank_that_is_asked_for_is_waited_for(log: Path) -> None:
    follower = _Follower(log, "--rank", "1")
    follower.add(b"[rank0]: " + FAILED.splitlines(keepends=True)[0])
    assert follower.runs_on(2.5)
    follower.add(b"[rank1]: " + FAILED.splitlines(keepends=True)[0])
    assert follower.end()[0] == 1


@pytest.mark.parametrize("paths", [[], ["-"], ["."], ["a.log", "b.log"]])
def test_only_one_file_can_be_followed(run: Run, paths: list[str]) -> None:
    result = run("--follow", *paths, stdin=b"")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: --follow needs ")


def test_block_that_is_not_whole_yet_is_no_failure(log: Path) -> None:
    follower = _Follower(log)
    follower.add(b"[  before_launch - cpp_fused_0 - buf0  ]:\nNumber of elements: 32\n")
    assert follower.runs_on(3)
    follower.add(b"Dtype: float32\n" + FAILED)
    code, report = follower.end()
    assert code == 1
    assert report["verdict"]["class"] == "input-mismatch"
