"""Devices, pipes, sockets and what may not be read: passed over, said, and never waited for."""

from __future__ import annotations

import ctypes
import os
import pty
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.hostile.tool import CLASS, ERROR, scan, spawn, told, told_of

ODD = "not a regular file"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/random", "/dev/tty"])
def test_device_is_not_read(run: Run, device: str) -> None:
    if not os.path.exists(device):
        pytest.skip(f"the system has no {device}")
    result = run(device)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: nothing could be opened: {device}: {ODD}\n"


def test_socket_and_pipe_in_a_folder_are_passed_over(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(ERROR)
    os.mkfifo(tmp_path / "pipe.log")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(tmp_path / "socket.log"))
        report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert told_of(report) == {"pipe.log": [ODD], "run.log": [], "socket.log": [ODD]}


def test_device_in_a_folder_is_passed_over(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(ERROR)
    try:
        os.mknod(tmp_path / "a.log", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        (tmp_path / "a.log").symlink_to("/dev/zero")
    report = scan(run, tmp_path)
    assert told_of(report) == {"a.log": [ODD], "run.log": []}


@pytest.mark.parametrize(
    ("option", "why"), [("--package", ODD), ("--patterns", "holds no pattern")]
)
def test_device_is_no_package_and_no_folder(
    run: Run, tmp_path: Path, option: str, why: str
) -> None:
    (tmp_path / "run.log").write_bytes(ERROR)
    report = scan(run, option, "/dev/zero", tmp_path / "run.log")
    assert report.verdict.failure_class == CLASS
    assert [what for what in told(report) if why in what] != []


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A folder that will hold others, too deep for Python to remove."""
    place = tmp_path / "deep"
    place.mkdir()
    yield place
    subprocess.run(["rm", "-rf", str(place)], check=True)


def _nest(place: Path, name: str, depth: int) -> int:
    """Make folders in one another; gives the innermost as an open descriptor."""
    here = os.open(place, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    return here


def test_folder_of_folders_without_end_is_walked(run: Run, deep: Path) -> None:
    innermost = _nest(deep, "d", 1100)
    log = os.open("run.log", os.O_WRONLY | os.O_CREAT, dir_fd=innermost)
    os.write(log, ERROR)
    os.close(log)
    os.close(innermost)
    assert scan(run, deep).verdict.failure_class == CLASS


def test_folder_of_folders_without_end_is_measured_for_the_progress_line(deep: Path) -> None:
    os.close(_nest(deep, "d", 1100))
    ours, theirs = pty.openpty()
    shown: list[bytes] = []

    def when_the_line_is_there() -> Iterator[bytes]:
        shown.append(os.read(ours, 1 << 16))
        yield ERROR

    environ = {**os.environ, "TERM": "xterm"}
    done = spawn(deep, "-", feed=when_the_line_is_there(), stderr=theirs, env=environ)
    os.close(theirs)
    os.close(ours)
    assert done.status == 1
    assert len(shown[0]) > 0
    assert b"Error" not in shown[0]
    assert b"Exception" not in shown[0]


def test_folder_whose_path_is_too_long_is_said(run: Run, deep: Path) -> None:
    (deep / "run.log").write_bytes(ERROR)
    os.close(_nest(deep, "d" * 250, 20))
    report = scan(run, deep)
    assert report.verdict.failure_class == CLASS
    assert ["file name too long"] in told_of(report).values()


def test_links_in_a_circle_are_not_followed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").symlink_to(tmp_path)
    (tmp_path / "c").symlink_to("c")
    (tmp_path / "run.log").write_bytes(ERROR)
    report = scan(run, tmp_path)
    assert told_of(report) == {
        "b": [ODD],
        "c": ["too many levels of symbolic links"],
        "run.log": [],
    }


def _as_anyone() -> None:
    """Permission bits bind from the next program on, though the user be root."""
    drop_from_bounding_set = 24
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder with a log, and with a log and a folder that may not be read."""
    (tmp_path / "run.log").write_bytes(ERROR)
    (tmp_path / "a.log").write_bytes(ERROR)
    (tmp_path / "a.log").chmod(0)
    (tmp_path / "b").mkdir(mode=0)
    return tmp_path


def test_what_may_not_be_read_is_said_and_the_rest_is_read(closed: Path) -> None:
    report = spawn("-f", "json", closed, ready=_as_anyone).report
    assert report.verdict.failure_class == CLASS
    refused = ["permission denied"]
    assert told_of(report) == {"a.log": refused, "b": refused, "run.log": []}


@pytest.mark.parametrize("name", ["a.log", "b"])
def test_what_may_not_be_read_alone_is_one_line(closed: Path, name: str) -> None:
    done = spawn(closed / name, ready=_as_anyone)
    assert done.status == 2
    why = f"nothing could be opened: {closed / name}: permission denied"
    assert done.err.decode() == f"Error: {why}\n"
