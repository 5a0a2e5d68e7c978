"""How a process ended, as who watched over it tells; an orderly end is no death."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import Event, ProcessDeath
from aoti_logscan.parsers import supervisor
from tests.parsers.conftest import DRESSED, WRAPPER_CPP, around, events, every_cut, one, scan

SYSTEMD = "systemd[1]: infer.service: Main process exited, code=dumped, status=11/SEGV\n"


def _death(event: Event) -> tuple[str, str | None, int | None]:
    assert isinstance(event, ProcessDeath)
    return event.told_by, event.signal, event.rank


@pytest.mark.parametrize(
    ("text", "told_by", "signal", "rank"),
    [
        (SYSTEMD.strip(), "shell", "SIGSEGV", None),
        ("infer-1 exited with code 139", "shell", "SIGSEGV", None),
        ("      Exit Code:    134", "shell", "SIGABRT", None),
        ('            "ExitCode": 135,', "shell", "SIGBUS", None),
        ("        exitCode: 137", "shell", "SIGKILL", None),
        ("srun: error: n1: task 3: Exited with exit code 139", "shell", "SIGSEGV", None),
        ("[9.1] python3[48]: segfault at 0 ip 00007f3a sp 00007ffd error 4 in x.so[7f+2d]", "shell",
         "SIGSEGV", None),
        ("[9.1] traps: python3[48] general protection fault ip:7f3a sp:7ffd error:0 in x.so[7f+2d]",
         "shell", "SIGSEGV", None),
        ("[9.1] traps: runner[48] trap invalid opcode ip:7f3a sp:7ffd error:0 in x.so[7f+2d]",
         "shell", "SIGILL", None),
        ("mpirun noticed that process rank 2 with PID 551 on node n7 exited on signal 11 (x).",
         "shell", "SIGSEGV", 2),
        ("[n07:55121] Signal: Bus error (7)", "shell", "SIGBUS", None),
        ("RuntimeError: DataLoader worker (pid 4) is killed by signal: Bus error. It is possible",
         "shell", "SIGBUS", None),
        ("ProcessExitedException: process 1 terminated with signal SIGABRT", "shell", "SIGABRT", 1),
        ("fish: Job 1, 'python x.py' terminated by signal SIGSEGV (Address boundary error)",
         "shell", "SIGSEGV", None),
        ("(raylet) A worker died or was killed while executing a task by", "launcher", None, None),
    ],
)  # fmt: skip
def test_end_is_told(text: str, told_by: str, signal: str | None, rank: int | None) -> None:
    assert _death(one(text + "\n", supervisor)) == (told_by, signal, rank)


@pytest.mark.parametrize(
    "text",
    [
        "infer-1 exited with code 0",
        "infer-1 exited with code 1",
        "infer-1 exited with code 143",
        "systemd[1]: x.service: Main process exited, code=killed, status=15/TERM",
        "systemd[1]: x.service: Main process exited, code=exited, status=1/FAILURE",
        "      Exit Code:    0",
        '            "OOMKilled": false,',
        "A pod that was OOMKilled has used more than its limit.",
        "- `infer exited with code 139` means SIGSEGV",
        "Signal: strong (5)",
        WRAPPER_CPP,
    ],
)
def test_orderly_end_and_prose_give_nothing(text: str) -> None:
    assert events(text + "\n", supervisor) == []


@DRESSED
def test_dress_of_the_line_changes_nothing(dress: Callable[[str], str]) -> None:
    assert _death(one(dress(SYSTEMD), supervisor))[:2] == ("shell", "SIGSEGV")


def test_empty_text_gives_nothing() -> None:
    assert scan("", supervisor) == ((), 0, {}, ())


def test_cut_at_any_byte_invents_no_other_signal() -> None:
    assert {_death(event)[1] for event in every_cut(SYSTEMD, supervisor)} <= {"SIGSEGV"}


def test_hostile_line_is_read_in_linear_time() -> None:
    began = time.monotonic()
    for anchor in supervisor.ANCHORS:
        scan(anchor * (300_000 // len(anchor)) + b"\n", supervisor)
    assert time.monotonic() - began < 20


@settings(max_examples=80, deadline=None)
@given(around(*supervisor.ANCHORS, b"139", b"status=11/", b" rank 2 "))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, supervisor).size == len(data)
