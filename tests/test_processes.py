"""Several processes: what is found never depends on how many there are, or whether they live."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aoti_logscan import readings, scan
from aoti_logscan.ahead import Ahead
from aoti_logscan.forked import answers, cores
from aoti_logscan.parsers import OWNERS, PARSERS
from aoti_logscan.scan import Scanned, Scanner
from aoti_logscan.streams import Stream
from tests.conftest import FIXTURES, Run

COMMAND = Path(sys.executable).with_name("aoti-logscan")
LOGS = sorted(
    file
    for file in FIXTURES.glob("*/input/**/*")
    if file.suffix == ".log" and file.stat().st_size > 20_000
)


def _scan(log: Path, window: int, *, ahead: bool) -> Scanned:
    with pytest.MonkeyPatch.context() as patch, open(log, "rb") as file:
        patch.setattr(scan, "WINDOW", window)
        return Scanner(PARSERS, OWNERS).scan(log.name, Stream(file), ahead=ahead)


@pytest.mark.parametrize("window", [512, 4096, 65536])
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.parts[-3])
def test_search_ahead_finds_what_one_process_finds(log: Path, window: int) -> None:
    assert _scan(log, window, ahead=True) == _scan(log, window, ahead=False)


def test_search_ahead_that_is_killed_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    log = max(LOGS, key=lambda file: file.stat().st_size)
    wanted = _scan(log, 4096, ahead=False)
    given = Ahead.give
    killed: list[int] = []

    def give(self: Any, slot: int, length: int, past: int) -> None:
        if len(killed) == 9:
            for process in self._process:
                process.kill()
        killed.append(slot)
        given(self, slot, length, past)

    monkeypatch.setattr(Ahead, "give", give)
    assert _scan(log, 4096, ahead=True) == wanted
    assert len(killed) > 20


# --- many files


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how many cores there are, with files of any size read by as many processes."""
    monkeypatch.setattr(readings, "_SHARED_FROM", 0)

    def cores(count: int) -> None:
        monkeypatch.setattr(readings, "cores", lambda: count)

    return cores


def _ranks(folder: Path) -> Path:
    logs = FIXTURES / "ima-on-rank3-of-eight-others-nccl-timeout/input"
    text = b"".join(file.read_bytes() for file in sorted(logs.rglob("*")) if file.is_file())
    for rank in range(12):
        (folder / f"rank_{rank}.log").write_bytes(text * (1 + rank % 3))
    (folder / "empty.log").touch()
    return folder


@pytest.mark.parametrize("form", ["json", "events", "markdown", "html"])
def test_reports_on_many_files_do_not_depend_on_processes(
    run: Run, shared: Callable[[int], None], tmp_path: Path, form: str
) -> None:
    _ranks(tmp_path)
    found = set()
    for count in (1, 2, 5):
        shared(count)
        result = run("-f", form, str(tmp_path))
        assert result.exit_code in (0, 1)
        found.add(result.stdout)
    assert len(found) == 1


def test_file_that_ends_its_process_is_read_by_this_one(
    run: Run, shared: Callable[[int], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ranks(tmp_path)
    shared(1)
    wanted = run("-f", "json", str(tmp_path)).stdout
    shared(2)
    here, encoded = os.getpid(), readings._encoded

    def die(scanner: Any, source: Any, *rest: Any) -> bytes:
        if os.getpid() != here and "rank_7" in source.name:
            os.kill(os.getpid(), signal.SIGKILL)
        return encoded(scanner, source, *rest)

    monkeypatch.setattr(readings, "_encoded", die)
    assert json.loads(run("-f", "json", str(tmp_path)).stdout) == json.loads(wanted)


def test_cores_are_known_where_the_system_tells_no_affinity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cores() == os.cpu_count()
    monkeypatch.delattr(os, "fork")
    assert cores() == 1


def test_answers_come_for_every_number_and_none_for_one_that_ends_its_process() -> None:
    def work(number: int) -> bytes:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"x" * number * 100_000

    assert dict(answers(work, 4, 3)) == {n: b"x" * n * 100_000 for n in range(3)}


def test_many_sources_share_what_is_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "MAX_ALL_EVENTS", 60)
    monkeypatch.setattr(readings, "_LEAST_SHARE", 4)
    mark = "[ before_launch: k{0} ]\n[ after_launch: k{0} ]\n"
    for name in "abc":
        text = "".join(mark.format(f"_{name}{number}") for number in range(40))
        (tmp_path / f"{name}.log").write_text(text, encoding="utf-8")
    result = run("-f", "events", str(tmp_path))
    assert len(result.stdout.splitlines()) == 60
    report = json.loads(run("-f", "json", str(tmp_path)).stdout)
    problems = [[problem["what"] for problem in source["problems"]] for source in report["sources"]]
    assert problems == 3 * [["60 launch-mark records in the middle were counted but not kept"]]


@pytest.mark.parametrize("call", ["os.fork", "os.pipe", "mmap.mmap"])
def test_where_the_system_allows_no_process_one_does_it_all(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    log = max(LOGS, key=lambda file: file.stat().st_size)
    wanted = _scan(log, 4096, ahead=False)
    files = os.listdir("/proc/self/fd")

    def refuse(*_: object) -> None:
        raise OSError(errno.EAGAIN, "try again")

    monkeypatch.setattr(call, refuse)
    assert _scan(log, 4096, ahead=True) == wanted
    monkeypatch.undo()
    assert os.listdir("/proc/self/fd") == files


def test_command_runs_where_the_end_of_children_is_ignored(tmp_path: Path) -> None:
    log = max(LOGS, key=lambda file: file.stat().st_size)
    (tmp_path / "big.log").write_bytes(log.read_bytes() * 5)
    done = subprocess.run(
        [str(COMMAND), "-f", "json", str(tmp_path)],
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert (done.returncode, done.stderr) == (0, b"")
