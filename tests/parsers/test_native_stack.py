"""Stacks of gdb and glog: the signal, every form of frame, threads, and what is no crash."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import CppStack, Event, Frame, ProcessDeath
from aoti_logscan.parsers import native_stack
from tests.conftest import Diagnose
from tests.parsers.conftest import (
    DRESSED,
    TOO_MANY_DIGITS,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
)

WRAPPER = "/tmp/torchinductor_dev/cdsf/cqbclgkxijcn5gbxbclzltq7jvmocabq3lcaadsk.wrapper.cpp"
LIBTORCH = "/opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"
SIGNAL = 'Thread 1 "python" received signal SIGSEGV, Segmentation fault.\n'
GDB = (
    "#0  0x00007ffff6e6665c in boom_cpu () at boom.cpp:13\n"
    "#1  0x00007ffff6e696ed in c10::impl::wrap_kernel_functor_unboxed_<at::Tensor (*)(at::Tensor"
    " const&), at::Tensor>::call () at /opt/venv/include/ATen/core/boxing.h:18\n"
    "#2  c10::impl::make_boxed<at::Tensor (*)(at::Tensor const&), false>::call () at boxing.h:26\n"
    "#3  0x00007fffe66bbdf2 in c10::Dispatcher::callBoxed(c10::OperatorHandle const&,"
    f" std::vector<c10::IValue>*) const [clone .isra.0] () from {LIBTORCH}\n"
    f"#4  0x00007fffe66bd377 in aoti_torch_proxy_executor_call_function () from {LIBTORCH}\n"
    "#5  <signal handler called>\n"
    "#10 0x00007fffddc792f2 in torch::aot_inductor::AOTInductorModel::run_impl ()"
    f" at {WRAPPER}:851\n"
    "#24 0x00007ffff7c50a40 in _PyEval_EvalFrame (throwflag=0, frame=0x7ffff7fba098,"
    " tstate=0x7ffff7f76ef8 <_PyRuntime+166328>) at ./Include/internal/pycore_ceval.h:73\n"
    "#25 0x00007fffe66a4c24 in operator() (__closure=0x7f) at m.cpp:3\n"
    "#26 0x0000000000000000 in ?? ()\n"
    "#27 main (argc=1, argv=0x7ffe) at Modules/python.c:15\n"
)
FRAMES = (
    Frame("boom_cpu", "boom.cpp", 13),
    Frame(
        "c10::impl::wrap_kernel_functor_unboxed_<at::Tensor (*)(at::Tensor const&), at::Tensor>"
        "::call",
        "/opt/venv/include/ATen/core/boxing.h",
        18,
    ),
    Frame("c10::impl::make_boxed<at::Tensor (*)(at::Tensor const&), false>::call", "boxing.h", 26),
    Frame(
        "c10::Dispatcher::callBoxed(c10::OperatorHandle const&, std::vector<c10::IValue>*) const"
        " [clone .isra.0]",
        LIBTORCH,
    ),
    Frame("aoti_torch_proxy_executor_call_function", LIBTORCH),
    Frame("torch::aot_inductor::AOTInductorModel::run_impl", WRAPPER, 851),
    Frame("_PyEval_EvalFrame", "./Include/internal/pycore_ceval.h", 73),
    Frame("operator()", "m.cpp", 3),
    Frame("??"),
    Frame("main", "Modules/python.c", 15),
)
THREADS = (
    "\n"
    'Thread 2 (Thread 0x7fffd99ff6c0 (LWP 27106) "python"):\n'
    "#0  0x00007ffff7a98d61 in __futex_abstimed_wait_common () from /lib/libc.so.6\n"
    "#1  0x00007ffff6e00000 in pool_worker (arg=0x0) at pool.cpp:77\n"
    "\n"
    'Thread 1 (Thread 0x7ffff7d6f740 (LWP 27100) "python"):\n'
    "#0  0x00007ffff6e6665c in boom_cpu () at boom.cpp:13\n"
    "#1  0x00007ffff7c50a40 in main (argc=1) at main.cpp:15\n"
)
GLOG = (
    "*** Aborted at 1700000000 (unix time)"
    ' try "date -d @1700000000" if you are using GNU date ***\n'
    "PC: @     0x7f55c0000000 (unknown)\n"
    "*** SIGSEGV (@0x0) received by PID 123 (TID 0x7f55c5479b80) from PID 0; stack trace: ***\n"
    "    @     0x7f55c0000000 (unknown)\n"
    "    @     0x7f55c0001000 mylib::boom(at::Tensor const&)\n"
    "    @           0x401234 main\n"
)
GLOG_FRAMES = (Frame("(unknown)"), Frame("mylib::boom(at::Tensor const&)"), Frame("main"))


def _death(event: Event) -> tuple[str, str | None]:
    assert isinstance(event, ProcessDeath)
    return event.told_by, event.signal


def _stack(event: Event) -> tuple[str, tuple[Frame, ...]]:
    assert isinstance(event, CppStack)
    return event.form, event.frames


def _functions(text: str) -> list[list[str | None]]:
    found = events(text, native_stack)
    return [
        [frame.function for frame in event.frames] for event in found if isinstance(event, CppStack)
    ]


# gdb


def test_debugger_tells_the_signal() -> None:
    event = one(SIGNAL, native_stack)
    assert _death(event) == ("debugger", "SIGSEGV")
    assert (event.place.line, event.place.text) == (1, SIGNAL.rstrip())


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("Program received signal SIGABRT, Aborted.\n", "SIGABRT"),
        ("Program terminated with signal SIGBUS, Bus error.\n", "SIGBUS"),
        ('Thread 12 "pt_autograd_0" received signal SIGFPE, Arithmetic exception.\n', "SIGFPE"),
    ],
)
def test_signal_of_a_program_of_a_core_and_of_a_thread(text: str, signal: str) -> None:
    assert _death(one(text, native_stack)) == ("debugger", signal)


def test_every_form_of_frame_is_read() -> None:
    event = one(GDB, native_stack)
    assert _stack(event) == ("gdb", FRAMES)
    assert (event.place.line, event.end) == (1, len(GDB) - 1)


def test_signal_and_stack_of_a_debugger_with_lines_between() -> None:
    text = (
        SIGNAL + "0x00007ffff6e6665c in boom_cpu () at boom.cpp:13\n"
        '13\t  if (!strcmp(how, "segv")) { volatile int* p = nullptr; *p = 42; }\n(gdb) bt\n' + GDB
    )
    death, stack = events(text, native_stack)
    assert _death(death) == ("debugger", "SIGSEGV")
    assert _stack(stack) == ("gdb", FRAMES)
    assert stack.place.line == 5


def test_each_thread_has_its_own_stack() -> None:
    assert _functions(THREADS) == [
        ["__futex_abstimed_wait_common", "pool_worker"],
        ["boom_cpu", "main"],
    ]


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        pytest.param(
            SIGNAL + THREADS,
            "boom_cpu",
        ),
        (SIGNAL + GDB, "boom_cpu"),
        (SIGNAL + GDB.partition("\n")[2], None),
        pytest.param(
            GLOG,
            "mylib::boom(at::Tensor const&)",
        ),
    ],
    ids=["all-threads", "one-thread", "head-lost", "glog"],
)
def test_frame_of_the_crash_is_of_the_thread_that_died(
    diagnose: Diagnose, text: str, frame: str | None
) -> None:
    report = diagnose(text)
    assert report["verdict"]["class"] == "host-crash"
    assert report["findings"][0]["facts"] == {"signal": "SIGSEGV", "frame": frame}


def test_frames_beyond_64_are_not_kept() -> None:
    text = "".join(f"#{n:<2} 0x0000 in f{n} () at a.c:{n}\n" for n in range(70))
    (functions,) = _functions(text)
    assert functions == [f"f{n}" for n in range(64)]


def test_stack_ends_after_lines_that_are_no_frames() -> None:
    text = "#0  f () at a.c:1\n#1  g () at a.c:2\n" + "x\n" * 4 + "#2  h () at a.c:3\n"
    assert _functions(text) == [["f", "g"]]


def test_frame_that_a_terminal_wrapped_has_its_file_and_line() -> None:
    text = (
        "#0  0x00007ffff7a42428 in raise ()\n"
        "   from /lib/x86_64-linux-gnu/libc.so.6\n"
        "#1  0x00007fffddc792f2 in torch::aot_inductor::AOTInductorModel::run_impl ()\n"
        f"    at {WRAPPER}:851\n"
    )
    assert _stack(one(text, native_stack))[1] == (
        Frame("raise", "/lib/x86_64-linux-gnu/libc.so.6"),
        Frame("torch::aot_inductor::AOTInductorModel::run_impl", WRAPPER, 851),
    )


def test_frame_whose_arguments_hold_parentheses_is_read() -> None:
    text = '#0  0x00007ffff7c50a40 in fail (message=0x55 "bad (x)", n=3) at m.cpp:4\n'
    assert _stack(one(text, native_stack))[1] == (Frame("fail", "m.cpp", 4),)


@DRESSED
def test_dress_of_a_stack_changes_no_frame(dress: Callable[[str], str]) -> None:
    assert _stack(one(dress(GDB), native_stack)) == ("gdb", FRAMES)


def test_stacks_of_two_ranks_whose_lines_alternate_are_told_apart() -> None:
    lines = ["#0  f () at a.c:1", "#1  g () at a.c:2"]
    text = "".join(f"[rank0]: {line}\n[rank1]: {line.replace('a.c', 'b.c')}\n" for line in lines)
    found = events(text, native_stack)
    assert [event.rank for event in found] == [0, 1]
    assert [_stack(event)[1][-1].file for event in found] == ["a.c", "b.c"]


# glog


def test_glog_tells_signal_process_and_frames() -> None:
    death, stack = events(GLOG, native_stack)
    assert _death(death) == ("glog", "SIGSEGV")
    assert _stack(stack) == ("glog", GLOG_FRAMES)
    assert [event.process for event in (death, stack)] == ["123", "123"]
    assert [event.place.line for event in (death, stack)] == [3, 3]
    assert stack.end == len(GLOG) - 1


def test_glog_line_alone_is_a_death_without_a_stack() -> None:
    text = GLOG.splitlines(keepends=True)[2]
    assert _death(one(text, native_stack)) == ("glog", "SIGSEGV")


@DRESSED
def test_dress_of_glog_changes_nothing(dress: Callable[[str], str]) -> None:
    death, stack = events(dress(GLOG), native_stack)
    assert _death(death) == ("glog", "SIGSEGV")
    assert _stack(stack) == ("glog", GLOG_FRAMES)
    assert (death.process, stack.process) == ("123", "123")


# signals that are no crash


@pytest.mark.parametrize(
    "said",
    [
        "SIGINT, Interrupt",
        "SIGTERM, Terminated",
        "SIGHUP, Hangup",
        "SIGPIPE, Broken pipe",
        "SIG34, Real-time event 34",
        *(
            pytest.param(said)
            for said in (
                "SIGUSR1, User defined signal 1",
                "SIGTRAP, Trace/breakpoint trap",
                "SIGCONT, Continued",
                "SIGSTOP, Stopped (signal)",
                "SIGTSTP, Stopped (user)",
                "SIGCHLD, Child status changed",
                "SIGWINCH, Window size changed",
                "SIGALRM, Alarm clock",
            )
        ),
    ],
)
def test_signal_that_ends_no_process_is_no_failure(diagnose: Diagnose, said: str) -> None:
    report = diagnose(f'Thread 1 "python" received signal {said}.\n')
    assert (report["verdict"]["class"], report["last_kernel"]) == ("none", None)


def test_stack_without_a_signal_is_no_failure(diagnose: Diagnose) -> None:
    assert diagnose(THREADS)["verdict"]["class"] == "none"


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", native_stack) == ((), 0, {}, ())


def test_stack_cut_at_any_byte_invents_no_file_and_no_line_of_code() -> None:
    found = every_cut(GDB, native_stack)
    files = {frame.file for event in found for frame in _stack(event)[1]}
    whole = {frame.file for frame in FRAMES}
    assert all(any(str(full).startswith(str(file)) for full in whole) for file in files)
    assert max(len(_stack(event)[1]) for event in found) == len(FRAMES)


@pytest.mark.parametrize(
    "text",
    [
        "traceback : Signal 11 (SIGSEGV) received by PID 123\n",
        "frame #0: c10::Error::Error(c10::SourceLocation) + 0x9d (0x7f in /opt/libc10.so)\n",
        "frame #0  is the innermost\n",
        "#0  first point of the list\n",
        "use `#0  frame` to go up\n",
        "signal_handler: received signal SIG\n",
        WRAPPER_CPP,
    ],
    ids=["elastic", "c10", "frame", "list", "quoted", "no-name", "wrapper"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, native_stack) == []


def test_line_number_of_thousands_of_digits_does_not_raise() -> None:
    text = f"#0  f () at a.c:{TOO_MANY_DIGITS}\n"
    assert scan(text, native_stack).size == len(text)


@settings(max_examples=80, deadline=None)
@given(around(*native_stack.ANCHORS, b"*** SIGSEGV (@0x0)", b"PID 1 ", b" () at a.c:1", b"#1  f ("))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, native_stack).size == len(data)


def test_frame_head_a_hundred_thousand_times_on_one_line_gives_nothing() -> None:
    assert events("#0  " * 100_000 + "\n", native_stack) == []
