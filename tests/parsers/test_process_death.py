"""How a process ended: the signal and who told it, and no death where the words are prose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import Event, ProcessDeath
from aoti_logscan.parsers import process_death
from tests.parsers.conftest import (
    DRESSED,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
)

FAULTHANDLER = (
    "Fatal Python error: Segmentation fault\n"
    "\n"
    "Current thread 0x00007f447302cb80 (most recent call first):\n"
    '  File "/usr/local/lib/python3.11/ctypes/__init__.py", line 519 in string_at\n'
    '  File "/home/dev/model/run/fh.py", line 4 in inner\n'
)


def _death(event: Event) -> tuple[str, str | None]:
    assert isinstance(event, ProcessDeath)
    return event.told_by, event.signal


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("bash: line 1:  8287 Segmentation fault      python script.py pw:meta", "SIGSEGV"),
        ("./run.sh: line 9:  2741 Aborted                 (core dumped) ./serve", "SIGABRT"),
        ("zsh: segmentation fault (core dumped)  python x.py", "SIGSEGV"),
        ("[1]    12345 segmentation fault (core dumped)  python x.py", "SIGSEGV"),
        ("[1]+  Segmentation fault      (core dumped) python x.py", "SIGSEGV"),
        ("Segmentation fault (core dumped)", "SIGSEGV"),
        ("Segmentation fault", "SIGSEGV"),
        ("Aborted (core dumped)", "SIGABRT"),
        ("Aborted", "SIGABRT"),
        ("Bus error (core dumped)", "SIGBUS"),
        ("Illegal instruction (core dumped)", "SIGILL"),
        ("Floating point exception (core dumped)", "SIGFPE"),
    ],
)
def test_shell_tells_the_signal(text: str, signal: str) -> None:
    assert _death(one(text + "\n", process_death)) == ("shell", signal)


@pytest.mark.parametrize(
    ("said", "signal"),
    [
        ("Segmentation fault", "SIGSEGV"),
        ("Aborted", "SIGABRT"),
        ("Bus error", "SIGBUS"),
        ("Illegal instruction", "SIGILL"),
        ("Floating point exception", "SIGFPE"),
        ("Cannot recover from stack overflow.", None),
    ],
)
def test_faulthandler_tells_the_signal(said: str, signal: str | None) -> None:
    event = one(f"Fatal Python error: {said}\n", process_death)
    assert _death(event) == ("faulthandler", signal)


@pytest.mark.parametrize(
    "text",
    [
        "double free or corruption (!prev)",
        "free(): invalid pointer",
        "free(): double free detected in tcache 2",
        "malloc(): corrupted top size",
        "malloc_consolidate(): unaligned fastbin chunk detected",
        "munmap_chunk(): invalid pointer",
        "corrupted size vs. prev_size",
        "*** stack smashing detected ***: terminated",
    ],
)
def test_libc_aborts(text: str) -> None:
    assert _death(one(text + "\n", process_death)) == ("libc", "SIGABRT")


@DRESSED
def test_dress_of_a_faulthandler_head_changes_nothing(dress: Callable[[str], str]) -> None:
    assert _death(one(dress(FAULTHANDLER), process_death)) == ("faulthandler", "SIGSEGV")


@DRESSED
def test_dress_of_a_shell_message_changes_nothing(dress: Callable[[str], str]) -> None:
    text = "bash: line 1:  8287 Segmentation fault      python script.py\n"
    assert _death(one(dress(text), process_death)) == ("shell", "SIGSEGV")


def test_deaths_of_two_ranks_are_told_apart() -> None:
    text = "[rank0]: Fatal Python error: Aborted\n[rank1]: Fatal Python error: Aborted\n"
    assert [event.rank for event in events(text, process_death)] == [0, 1]


def test_equal_deaths_are_counted() -> None:
    assert one("Aborted (core dumped)\nAborted (core dumped)\n", process_death).count == 2


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", process_death) == ((), 0, {}, ())


def test_cut_at_any_byte_invents_no_signal() -> None:
    found = {_death(event) for event in every_cut(FAULTHANDLER, process_death)}
    assert found <= {("faulthandler", "SIGSEGV"), ("faulthandler", None)}


@pytest.mark.parametrize(
    "text",
    [
        "Segmentation fault from GPU at 0xff00ffffffe00000, ctx_id: 1 (CCS) type: 0\n",
        "Operation Aborted by the user\n",
        'print("Segmentation fault")\n',
        "Segmentation faults are often caused by a wrong pointer\n",
        "the page about Bus errors and free(): what it means\n",
        "('Connection aborted.', RemoteDisconnected('x'))\n",
        WRAPPER_CPP,
    ],
    ids=["gpu", "user", "python-source", "prose", "docs", "requests", "wrapper"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, process_death) == []


@pytest.mark.parametrize("text", ["upload 17 Aborted\n", "Transaction state: Aborted\n"])
def test_state_of_another_program_is_no_death(text: str) -> None:
    assert events(text, process_death) == []


# LLVM


LLVM = (
    "LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.shfl.sync.bfly.i32\n"
    "PLEASE submit a bug report to https://example.org/issues and include the crash backtrace.\n"
    "Stack dump:\n"
    "0.\tProgram arguments: python train.py\n"
)


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        (LLVM, "SIGABRT"),
        ("LLVM ERROR: Found 1 machine code errors.\nAborted (core dumped)\n", "SIGABRT"),
        ("LLVM ERROR: out of memory\nAllocation failed\n", None),
        ("LLVM ERROR: unknown special variable\n", None),
    ],
)
def test_fatal_error_of_llvm_is_an_abort_where_it_says_so(text: str, signal: str | None) -> None:
    death = events(text, process_death)[0]
    assert isinstance(death, ProcessDeath)
    assert (death.told_by, death.signal) == ("libc", signal)


@DRESSED
def test_dress_of_the_fatal_error_changes_nothing(dress: Callable[[str], str]) -> None:
    death = events(dress(LLVM), process_death)[0]
    assert isinstance(death, ProcessDeath)
    assert (death.told_by, death.signal) == ("libc", "SIGABRT")


@pytest.mark.parametrize(
    "text",
    [
        "; GFX90A: LLVM ERROR: requested image instruction is not supported on this GPU\n",
        "//   LLVM ERROR: Found 1 machine code errors.\n",
        "When `LLVM ERROR: IO failure on output stream` shows up, clean the disk\n",
        '  OS << "LLVM ERROR: " << Reason << "\\n";\n',
    ],
)
def test_fatal_error_of_llvm_in_tests_and_prose_gives_nothing(text: str) -> None:
    assert events(text, process_death) == []


@settings(max_examples=80, deadline=None)
@given(around(*process_death.ANCHORS, b" (core dumped)", b"line 9:  27 ", b"Current thread 0x1 ("))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, process_death).size == len(data)


def test_long_prefix_before_other_words_is_read_at_once() -> None:
    text = "12:30:59.123456 " * 12 + "TRACE 0000-1111:2222 " * 3 + "Aborted by its user\n"
    assert events(text, process_death) == []
