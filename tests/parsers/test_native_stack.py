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
UCX = (
    "[n07:7116 :0:7120] Caught signal 11 (Segmentation fault: address not mapped to object at"
    " address 0xfffffffffffffff9)\n"
    "==== backtrace (tid:   7120) ====\n"
    " 0  /usr/lib/libucs.so.0(ucs_handle_error+0x144) [0x7f3f8df5d2f4]\n"
    " 1  /usr/lib/libucs.so.0(+0x24fec) [0x7f3f8df58fec]\n"
    " 2  /tmp/aoti/cw3.wrapper.so"
    "(_ZN5torch12aot_inductor16AOTInductorModel8run_implEPP16AtenTensorOpaque+0x8a10)"
    " [0x7f3fec77294d]\n"
    "=================================\n"
)
UCX_FRAMES = (
    Frame(None, "/usr/lib/libucs.so.0"),
    Frame("torch::aot_inductor::AOTInductorModel::run_impl", "/tmp/aoti/cw3.wrapper.so"),
)
TVM = (
    "!!!!!!! Segfault encountered !!!!!!!\n"
    '  File "<unknown>", line 0, in cuGraphLaunch\n'
    '  File "/src/graph.cc", line 71, in at::cuda::CUDAGraph::replay()\n'
)
TVM_FRAMES = (Frame("cuGraphLaunch"), Frame("at::cuda::CUDAGraph::replay()", "/src/graph.cc", 71))
ASAN = (
    "==4242==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x4f8a1b"
    " bp 0x7ffd0 sp 0x7ffd8\n"
    "READ of size 4 at 0x602000000014 thread T0\n"
    "    #0 0x49bacb in __asan_memcpy /llvm/compiler-rt/lib/asan/interceptors.cpp:421\n"
    "    #1 0x4f8a1a in cpp_fused_index_0 /tmp/torchinductor_dev/ab/ckx.kernel.cpp:21:13\n"
    "    #2 0x4f9a1a in torch::run_impl(AtenTensorOpaque**, void*) /tmp/ab/cw3.wrapper.cpp:851:5\n"
    "    #3 0x7f8520 in main (/usr/bin/python3.11+0x2a1c9) (BuildId: 4f7b0c)\n"
    "    #4 0x7f8521 (/lib/libc.so.6+0x2a1c9)\n"
    "\n"
    "0x602000000014 is located 0 bytes after 4-byte region\n"
    "    #0 0x4b in malloc /llvm/compiler-rt/lib/asan/malloc_linux.cpp:69\n"
)
ASAN_FRAMES = (
    Frame("cpp_fused_index_0", "/tmp/torchinductor_dev/ab/ckx.kernel.cpp", 21),
    Frame("torch::run_impl(AtenTensorOpaque**, void*)", "/tmp/ab/cw3.wrapper.cpp", 851),
    Frame("main", "/usr/bin/python3.11"),
    Frame(None, "/lib/libc.so.6"),
)
CORE = (
    "  Stack trace of thread 4242:\n"
    "  #0  0x00007f31abd9f8b0 n/a (cw3.wrapper.so + 0x8a10)\n"
    "  #1  0x00007f31abd9a8b0 _ZN5torch12aot_inductor5Model3runEv (cw3.wrapper.so + 0x4a10)\n"
    "  #2  0x00007f31abd9a8b1 raise (libc.so.6 + 0x3e3a0)\n"
    "  #3  0x0000000000000000 n/a (n/a + 0x0)\n"
)
CORE_FRAMES = (
    Frame(None, "cw3.wrapper.so"),
    Frame("torch::aot_inductor::Model::run", "cw3.wrapper.so"),
    Frame("raise", "libc.so.6"),
    Frame(None),
)
HANDLERS = pytest.mark.parametrize(
    ("text", "death", "process", "frames"),
    [
        (UCX, ("glog", "SIGSEGV"), "7116", UCX_FRAMES),
        (TVM, ("glog", "SIGSEGV"), None, TVM_FRAMES),
        (ASAN, ("sanitizer", None), "4242", ASAN_FRAMES),
    ],
    ids=["ucx", "tvm-ffi", "address-sanitizer"],
)


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


# UCX, TVM FFI, AddressSanitizer, systemd-coredump


@HANDLERS
def test_handler_tells_signal_process_and_frames(
    text: str, death: tuple[str, str | None], process: str | None, frames: tuple[Frame, ...]
) -> None:
    told, stack = events(text, native_stack)
    assert _death(told) == death
    assert _stack(stack) == ("glog", frames)
    assert [event.process for event in (told, stack)] == [process, process]


@HANDLERS
def test_headline_of_a_handler_alone_is_a_death_without_a_stack(
    text: str, death: tuple[str, str | None], process: str | None, frames: tuple[Frame, ...]
) -> None:
    told = one(text.split("\n")[0] + "\nstep 3\n", native_stack)
    assert (_death(told), told.process, bool(frames)) == (death, process, True)


@pytest.mark.parametrize("text", [UCX, TVM, ASAN], ids=["ucx", "tvm-ffi", "address-sanitizer"])
@DRESSED
def test_dress_of_a_handler_changes_nothing(dress: Callable[[str], str], text: str) -> None:
    plain, dressed = (events(one, native_stack) for one in (text, dress(text)))
    assert [_death(found[0]) for found in (plain, dressed)] == [_death(plain[0])] * 2
    assert _stack(dressed[1]) == _stack(plain[1])


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        (" 3 0x0000000000069d80 ucp_get()  ???:0", Frame("ucp_get")),
        ("0 0x000000000003e730 __GI___sigaction()  :0", Frame("__GI___sigaction")),
        ("12 0x001 nixl::run()  /src/nixl.cc:63", Frame("nixl::run", "/src/nixl.cc", 63)),
        (" 4  ./main(main+0x0) [0x58]", Frame("main", "./main")),
    ],
)
def test_every_form_of_frame_of_ucx_is_read(line: str, frame: Frame) -> None:
    text = "".join(UCX.splitlines(keepends=True)[:2]) + line + "\n"
    assert _stack(events(text, native_stack)[1])[1] == (frame,)


@pytest.mark.parametrize(
    ("problem", "signal"),
    [
        ("SEGV on unknown address 0x0 (pc 0x6e bp 0x7f sp 0x7f T0)", "SIGSEGV"),
        ("FPE on unknown address 0x6e (pc 0x6e)", "SIGFPE"),
        ("BUS on unknown address (pc 0x6e)", "SIGBUS"),
        ("stack-buffer-overflow on address 0x7f at pc 0x4f", None),
        ("attempting double-free on 0x602000000014 in thread T0:", None),
    ],
)
def test_address_sanitizer_has_a_signal_only_where_it_caught_one(
    problem: str, signal: str | None
) -> None:
    event = one(f"==7==ERROR: AddressSanitizer: {problem}\n", native_stack)
    assert _death(event) == ("sanitizer", signal)


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("#0 0x4f in operator delete(void*) /src/x.cc:5", Frame("operator delete(void*)",
         "/src/x.cc", 5)),
        ("#0 0x4f in operator delete", Frame("operator delete")),
        ("#0 0x4f in _start ??:?", Frame("_start")),
        ("#0 0x4f in main ??:0", Frame("main")),
        ("#0 0x4f in f() const (/lib/a.so+0x1f)", Frame("f() const", "/lib/a.so")),
    ],
)  # fmt: skip
def test_every_form_of_frame_of_address_sanitizer_is_read(line: str, frame: Frame) -> None:
    text = ASAN.split("\n")[0] + f"\n    {line}\n"
    assert _stack(events(text, native_stack)[1])[1] == (frame,)


def test_address_sanitizer_names_what_it_found() -> None:
    texts = (ASAN, "==7==ERROR: AddressSanitizer: attempting double-free on 0x602000000014\n")
    deaths = [events(text, native_stack)[0] for text in texts]
    found = [death.exception for death in deaths if isinstance(death, ProcessDeath)]
    assert found == ["heap-buffer-overflow", "attempting double-free"]


def test_stack_of_a_core_dump_has_names_and_modules() -> None:
    assert _stack(one(CORE, native_stack)) == ("gdb", CORE_FRAMES)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZNK3c1010TensorImpl3dimEv", "c10::TensorImpl::dim"),
        ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector"),
        ("_ZSt9terminatev", "std::terminate"),
        ("_Z3runiPKc", "run"),
        ("_ZN9999a", "_ZN9999a"),
        ("cuda_kernel", "cuda_kernel"),
        ("_Znwm", "_Znwm"),
    ],
)
def test_symbol_is_demangled_as_far_as_it_is_plain(symbol: str, name: str) -> None:
    text = f"#0  0x00007f31 {symbol} (x.so + 0x10)\n"
    assert _stack(one(text, native_stack))[1] == (Frame(name, "x.so"),)


@pytest.mark.parametrize("text", [UCX, TVM, ASAN, CORE])
def test_handler_cut_at_any_byte_invents_no_file(text: str) -> None:
    frames = (*UCX_FRAMES, *TVM_FRAMES, *ASAN_FRAMES, *CORE_FRAMES)
    whole = {"/llvm/compiler-rt", *(frame.file for frame in frames)}
    found = every_cut(text, native_stack)
    files = {frame.file for event in found if isinstance(event, CppStack) for frame in event.frames}
    assert all(any(str(full).startswith(str(file)) for full in whole) for file in files)


@pytest.mark.parametrize(
    "text",
    [
        "Caught signal 2 (Interrupt). Reloading configuration.\n",
        "[n07:7116] Caught signal 11 (Segmentation fault)\n",
        "- `[n07:7116:0:7116] Caught signal 11 (Segmentation fault: address not mapped)` is it\n",
        '            std::cerr << "!!!!!!! Segfault encountered !!!!!!!\\n"\n',
        "log.count('!!!!!!! Segfault encountered !!!!!!!')\n",
        "  // CHECK: ERROR: AddressSanitizer: SEGV on unknown address\n",
        "==7==ERROR: LeakSanitizer: detected memory leaks\n",
    ],
)
def test_words_of_a_handler_elsewhere_give_nothing(text: str) -> None:
    assert events(text, native_stack) == []


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
