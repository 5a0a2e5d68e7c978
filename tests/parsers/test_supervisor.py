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
        ("subprocess.CalledProcessError: Command '['python3', 'x.py']' died with"
         " <Signals.SIGSEGV: 11>.", "shell", "SIGSEGV", None),
        ("subprocess.CalledProcessError: Command 'python x.py' died with <Signals.SIGKILL: 9>.",
         "shell", "SIGKILL", None),
        ("[2023-07-10 04:26:35,999] [ERROR] [launch.py:324:sigkill_handler] ['/v/bin/python', '-u',"
         " 'x.py'] exits with return code = -11", "shell", "SIGSEGV", None),
        ("[ERROR] [launch.py:341:sigkill_handler] exits with return code = -9", "shell", "SIGKILL",
         None),
        ("2026-05-21T09:12:45.6581234Z ##[error]Process completed with exit code 139.", "shell",
         "SIGSEGV", None),
        ("Error: Process completed with exit code 134.", "shell", "SIGABRT", None),
        ("Process finished with exit code 139 (interrupted by signal 11:SIGSEGV)", "shell",
         "SIGSEGV", None),
        ("Process finished with exit code 134 (interrupted by signal 6: SIGABRT)", "shell",
         "SIGABRT", None),
        ("Process finished with exit code -1073741819 (0xC0000005)", "shell", None, None),
        ("worker exited with code -1073740791", "shell", None, None),
        ("Command '['python', 'x.py']' returned non-zero exit status 3221225477.", "shell", None,
         None),
        ("systemd-coredump[13]: Process 4242 (python) of user 1000 terminated abnormally with"
         " signal 11/SEGV, processing...", "shell", "SIGSEGV", None),
        ("timeout: the monitored command dumped core", "shell", None, None),
        ("ERROR: Job failed: exit code 139", "shell", "SIGSEGV", None),
        ("command terminated with exit code 137", "shell", "SIGKILL", None),
        ("ERROR: script returned exit code 134", "shell", "SIGABRT", None),
        ("Command terminated by signal 11", "shell", "SIGSEGV", None),
        ("ERROR 05-21 08:57:33 [multiproc_executor.py:230] Worker proc VllmWorker-1 died"
         " unexpectedly, shutting down executor.", "launcher", None, None),
        ("Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.", "launcher",
         None, None),
        ("Worker proc VllmWorker-1 died unexpectedly (exit code: -11), shutting down executor.",
         "shell", "SIGSEGV", None),
        ("Worker proc VllmWorker-1 died unexpectedly (exit code: None), shutting down executor.",
         "launcher", None, None),
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
        "Command '['python', 'x.py']' returned non-zero exit status 1.",
        "Command '['python', 'x.py']' died with <Signals.SIGTERM: 15>.",
        "                return \"Command '%s' died with %r.\" % (self.cmd, signal.Signals(-code))",
        "the model died with a smile",
        "['python', 'x.py'] exits with return code = 1",
        "['python', 'x.py'] exits with return code = 0",
        "['python', 'x.py'] exits with return code = -2",
        '            logger.error(f"{cmd} exits with return code = {last_return_code}")',
        "## exits with return code = -9",
        "##[error]Process completed with exit code 1.",
        "INFO: Process completed with exit code 0",
        "Process finished with exit code 0",
        "Process finished with exit code 1",
        "# why: Process finished with exit code 139 (interrupted by signal 11: SIGSEGV), they say",
        "Process finished with exit code -1073741510 (0xC000013A: interrupted by Ctrl+C)",
        "  -1073741819 (0xC0000005): Access Violation",
        "ERROR: Job failed: exit code 1",
        "command terminated with exit code 143",
        "Command terminated by signal 15",
        "child 7 terminated abnormally with signal 11",
        "timeout: the monitored command dumped core files for us to read",
        "resource_tracker: process died unexpectedly, relaunching.  Some resources might leak.",
        '                "Worker proc %s died unexpectedly, "',
        WRAPPER_CPP,
    ],
)
def test_orderly_end_and_prose_give_nothing(text: str) -> None:
    assert events(text + "\n", supervisor) == []


def test_coredump_names_the_process_that_died() -> None:
    text = (
        "May 21 08:57:33 n1 systemd-coredump[134090]: Process 4242 (pt_main (x)) of user 1000"
        " terminated abnormally with signal 6/ABRT, processing...\n"
    )
    event = one(text, supervisor)
    assert (event.process, _death(event)[1]) == ("4242", "SIGABRT")


def test_command_of_thousands_of_bytes_before_the_words_is_no_hindrance() -> None:
    command = "['python', " + ", ".join(f"'--option-{n}'" for n in range(400)) + "]"
    text = f"[ERROR] [launch.py:324:sigkill_handler] {command} exits with return code = -11\n"
    text += f"subprocess.CalledProcessError: Command '{command}' died with <Signals.SIGSEGV: 11>.\n"
    assert {_death(event) for event in events(text, supervisor)} == {("shell", "SIGSEGV", None)}


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
