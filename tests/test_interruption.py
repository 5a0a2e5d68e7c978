"""Ctrl-C: what was read is diagnosed, whatever it was read from; a second one ends the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aoti_logscan import interruption

COMMAND = Path(sys.executable).with_name("aoti-logscan")
CHECK = b"Error: input_handles[0]: unmatched dtype, expected: 6(at::kFloat), but got: 7\n"
STEPS = b"step\n" * 2_000
STOPPED = "reading stopped: interrupted"


def _start(*args: object, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(COMMAND), "-f", "json", *map(str, args)],
        stdin=options.pop("stdin", subprocess.PIPE),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def _end(process: subprocess.Popen[bytes]) -> tuple[int, dict[str, Any]]:
    """Exit status and report."""
    output, errors = process.communicate(timeout=60)
    assert b"Traceback" not in errors
    return process.returncode, json.loads(output)


def _wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_read(file: int) -> bool:
    """Whether a pipe is empty: all that was written was read."""
    import fcntl
    import struct
    import termios

    (left,) = struct.unpack("i", fcntl.ioctl(file, termios.FIONREAD, b"\0\0\0\0"))
    return bool(left == 0)


def _problems(report: dict[str, Any]) -> list[str]:
    return [problem["what"] for source in report["sources"] for problem in source["problems"]]


@pytest.mark.parametrize(("end", "status"), [(CHECK, 1), (b"", 130)])
def test_pipe_that_never_ends_is_diagnosed_as_far_as_it_came(end: bytes, status: int) -> None:
    process = _start()
    assert process.stdin is not None
    process.stdin.write(STEPS + end)
    process.stdin.flush()
    _wait(lambda: _is_read(process.stdin.fileno()))  # type: ignore[union-attr]
    process.send_signal(signal.SIGINT)
    code, report = _end(process)
    assert code == status
    assert report["verdict"]["class"] == ("input-mismatch" if end else "none")
    assert report["sources"][0]["bytes"] == len(STEPS + end)
    assert _problems(report) == [STOPPED]


def test_record_that_the_interrupt_cuts_is_read_as_far_as_it_came() -> None:
    process = _start()
    assert process.stdin is not None
    process.stdin.write(STEPS + CHECK.rstrip())
    process.stdin.flush()
    _wait(lambda: _is_read(process.stdin.fileno()))  # type: ignore[union-attr]
    process.send_signal(signal.SIGINT)
    code, report = _end(process)
    assert (code, report["verdict"]["class"]) == (1, "input-mismatch")


@pytest.mark.parametrize("opened", [False, True])
def test_named_pipe_without_a_writer_can_be_interrupted(tmp_path: Path, opened: bool) -> None:
    fifo = tmp_path / "log"
    os.mkfifo(fifo)
    process = _start(fifo)
    writer = open(fifo, "wb") if opened else None  # noqa: SIM115 - held open over the wait
    if writer is not None:
        writer.write(CHECK)
        writer.flush()
        _wait(lambda: _is_read(writer.fileno()))
    else:
        _wait(lambda: _waits(process.pid))
    process.send_signal(signal.SIGINT)
    code, report = _end(process)
    assert code == (1 if opened else 130)
    assert _problems(report) == [STOPPED]
    if writer is not None:
        writer.close()


def _waits(process: int) -> bool:
    """Whether a process sleeps in a call of the kernel that waits for files."""
    where = Path(f"/proc/{process}/wchan").read_text(encoding="ascii")
    return "poll" in where


def test_signal_to_the_process_alone_ends_the_reading_of_many_files(tmp_path: Path) -> None:
    """Not Ctrl-C of a terminal, which reaches the processes that read for it too."""
    sparse = tmp_path / "ranks"
    sparse.mkdir()
    for rank in range(4):
        with open(sparse / f"rank_{rank}.log", "wb") as file:
            file.write(CHECK)
            file.truncate(4 << 30)
    process = _start(sparse)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if len(os.sched_getaffinity(0)) > 1:
        _wait(lambda: len(children.read_text(encoding="ascii").split()) > 1)
    process.send_signal(signal.SIGINT)
    code, report = _end(process)
    assert code in (1, 130)
    assert [source["name"].rpartition("/")[2] for source in report["sources"]] == [
        f"rank_{rank}.log" for rank in range(4)
    ]
    assert STOPPED in _problems(report)


def test_command_that_ignores_interrupts_goes_on_ignoring_them() -> None:
    process = subprocess.Popen(
        [str(COMMAND), "-f", "json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert process.stdin is not None
    process.stdin.write(STEPS)
    process.stdin.flush()
    _wait(lambda: _is_read(process.stdin.fileno()))  # type: ignore[union-attr]
    process.send_signal(signal.SIGINT)
    process.stdin.write(CHECK)
    code, report = _end(process)
    assert (code, report["verdict"]["class"]) == (1, "input-mismatch")


# --- in this process


def test_first_interrupt_is_noted_and_the_second_raises() -> None:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interruption.heeded():
            assert not interruption.is_asked()
            signal.raise_signal(signal.SIGINT)
            assert interruption.is_asked()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert not interruption.is_asked()
    finally:
        signal.signal(signal.SIGINT, before)


def test_wait_and_pause_end_at_once_where_reading_is_to_end() -> None:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ours, theirs = os.pipe()
    try:
        with interruption.heeded():
            signal.raise_signal(signal.SIGINT)
            assert interruption.wait_for([ours]) == []
            assert interruption.pause(3600) is False
            interruption.forget()
            assert not interruption.is_asked()
            os.write(theirs, b"x")
            assert interruption.wait_for([ours]) == [ours]
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(ours)
        os.close(theirs)
