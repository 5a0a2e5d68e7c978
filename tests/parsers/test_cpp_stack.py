"""C++ stacks below an error, and what ends a C++ program."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import CppStack, ErrorText, Event, Frame, ProcessDeath
from aoti_logscan.parsers import cpp_stack
from tests.parsers.conftest import (
    DRESSED,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
)

HEAD = (
    "Exception raised from make_tensor at aten/src/ATen/Functions.cpp:305 (most recent call"
    " first):\n"
)
STACK = (
    HEAD + "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x80"
    " (0x719d507b14bc in /opt/venv/lib/libc10.so)\n"
    "frame #1: <unknown function> + 0x131f2 (0x7f41c31a01f2 in /opt/venv/lib/libc10_cuda.so)\n"
    "<omitting python frames>\n"
    "frame #7: aoti_torch_create_tensor_from_blob_v2 + 0x1f4 (0x70936fa6312c in ./libtorch.so)\n"
)
FRAMES = (
    Frame("c10::Error::Error(c10::SourceLocation, std::string)", "/opt/venv/lib/libc10.so"),
    Frame("<unknown function>", "/opt/venv/lib/libc10_cuda.so"),
    Frame("aoti_torch_create_tensor_from_blob_v2", "./libtorch.so"),
)
CAPTURED = (
    "Exception raised from cpp_fused_index_1 at /cache/czjo6it2.kernel.cpp:104 (most recent call"
    " first):\n"
    "C++ CapturedTraceback:\n"
    "#4 c10::detail::torchCheckFail(char const*, unsigned) from /opt/venv/lib/libc10.so:222378\n"
    "#5 cpp_fused_index_1 from /cache/czjo6it2.kernel.cpp:104\n"
    "#6 torch::aot_inductor::AOTInductorModel::run_impl(void*) from /cache/c5zx.wrapper.cpp:963\n"
    "#7 ?? from ??:0\n"
)
TERMINATE = (
    "terminate called after throwing an instance of 'std::runtime_error'\n"
    "  what():  input_handles[0]: unmatched dtype, expected: 6(at::kFloat), but got: 7\n"
)


def _stack(event: Event) -> CppStack:
    assert isinstance(event, CppStack)
    return event


def test_backtrace_gives_where_it_was_raised_and_its_frames() -> None:
    stack = _stack(one(STACK, cpp_stack))
    assert (stack.raised_from, stack.file, stack.line) == (
        "make_tensor",
        "aten/src/ATen/Functions.cpp",
        305,
    )
    assert stack.frames == FRAMES


def test_record_ends_with_its_last_frame() -> None:
    assert one(STACK + "\nstep 1\n", cpp_stack).end == len(STACK) - 1


def test_captured_traceback_has_lines_for_source_files_only() -> None:
    stack = _stack(one(CAPTURED, cpp_stack))
    assert stack.raised_from == "cpp_fused_index_1"
    assert stack.frames == (
        Frame("c10::detail::torchCheckFail(char const*, unsigned)", "/opt/venv/lib/libc10.so"),
        Frame("cpp_fused_index_1", "/cache/czjo6it2.kernel.cpp", 104),
        Frame(
            "torch::aot_inductor::AOTInductorModel::run_impl(void*)",
            "/cache/c5zx.wrapper.cpp",
            963,
        ),
        Frame("??", "??"),
    )


def test_captured_traceback_is_told_from_a_plain_backtrace() -> None:
    assert _stack(one(CAPTURED, cpp_stack)).form == "captured"
    assert _stack(one(STACK, cpp_stack)).form == "c10"


def test_captured_traceback_stands_without_an_exception_too() -> None:
    stack = _stack(one("C++ CapturedTraceback:\n#4 f(int) from a.cpp:3\n", cpp_stack))
    assert (stack.raised_from, stack.frames) == (None, (Frame("f(int)", "a.cpp", 3),))


def test_function_of_the_raise_may_hold_blanks() -> None:
    text = HEAD.replace("make_tensor", "operator () <at::Tensor, int>")
    assert _stack(one(text, cpp_stack)).raised_from == "operator () <at::Tensor, int>"


@DRESSED
def test_dress_of_the_lines_changes_nothing(dress: Callable[[str], str]) -> None:
    stack = _stack(one(dress(STACK), cpp_stack))
    assert (stack.raised_from, stack.line, stack.frames) == ("make_tensor", 305, FRAMES)


def test_lines_of_other_writers_between_frames_are_passed_over() -> None:
    lines = STACK.splitlines(keepends=True)
    lines.insert(2, "[rank2]: step 9\n")
    assert _stack(one("".join(lines), cpp_stack)).frames == FRAMES


def test_frames_of_another_rank_are_not_taken() -> None:
    text = (
        f"[rank0]: {HEAD}"
        f"[rank1]: {HEAD}"
        "[rank0]: frame #0: f() + 0x1 (0x1 in /a.so)\n"
        "[rank1]: frame #0: g() + 0x1 (0x1 in /b.so)\n"
    )
    found = {event.rank: _stack(event).frames for event in events(text, cpp_stack)}
    assert found == {0: (Frame("f()", "/a.so"),), 1: (Frame("g()", "/b.so"),)}


def test_stack_ends_at_an_empty_line() -> None:
    text = STACK + "\nframe #0: other() + 0x1 (0x1 in /a.so)\n"
    assert _stack(one(text, cpp_stack)).frames == FRAMES


def test_at_most_64_frames_are_kept_and_the_first_are() -> None:
    frames = "".join(f"frame #{n}: f{n}() + 0x1 (0x1 in /a.so)\n" for n in range(100))
    kept = _stack(one(HEAD + frames, cpp_stack)).frames
    assert [frame.function for frame in kept] == [f"f{n}()" for n in range(64)]


# terminate


def test_terminate_and_its_what_are_a_death_and_a_text() -> None:
    death, text = events(TERMINATE, cpp_stack)
    assert isinstance(death, ProcessDeath)
    assert (death.told_by, death.signal, death.exception) == (
        "terminate",
        "SIGABRT",
        "std::runtime_error",
    )
    assert isinstance(text, ErrorText)
    assert (text.channel, text.message) == (
        "what",
        "input_handles[0]: unmatched dtype, expected: 6(at::kFloat), but got: 7",
    )


@pytest.mark.parametrize(
    "text",
    ["terminate called without an active exception\n", "terminate called recursively\n"],
)
def test_terminate_without_an_exception_names_none(text: str) -> None:
    death = one(text, cpp_stack)
    assert isinstance(death, ProcessDeath)
    assert (death.signal, death.exception) == ("SIGABRT", None)


@DRESSED
def test_dress_of_terminate_changes_nothing(dress: Callable[[str], str]) -> None:
    death, text = events(dress(TERMINATE), cpp_stack)
    assert isinstance(death, ProcessDeath)
    assert isinstance(text, ErrorText)
    assert death.exception == "std::runtime_error"
    assert text.message.startswith("input_handles[0]: unmatched dtype, expected: 6(at::kFloat)")


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", cpp_stack) == ((), 0, {}, ())


def test_head_without_frames_is_a_stack_without_frames() -> None:
    assert _stack(one(HEAD, cpp_stack)).frames == ()


def test_cut_at_any_byte_invents_no_place_function_or_library() -> None:
    stacks = [_stack(event) for event in every_cut(STACK, cpp_stack)]
    assert {(stack.raised_from, stack.file, stack.line) for stack in stacks} == {
        ("make_tensor", "aten/src/ATen/Functions.cpp", 305)
    }
    assert {frame for stack in stacks for frame in stack.frames} <= set(FRAMES)


@pytest.mark.parametrize(
    "text",
    [
        "Exception raised from \n",
        "Exception raised from handler thread, see log\n",
        "terminate called by the user\n",
        "frame #0: f() + 0x1 (0x1 in /a.so)\n",
        WRAPPER_CPP,
    ],
    ids=["cut", "prose", "user", "frame-alone", "wrapper"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, cpp_stack) == []


def test_code_that_prints_what_gives_nothing() -> None:
    assert events('  std::cerr << "what():  " << e.what();\n', cpp_stack) == []


# libc++abi


ABI = "libc++abi: terminating due to uncaught exception of type "


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (ABI + "std::runtime_error: input_handles[0]: x", "std::runtime_error",
         "input_handles[0]: x"),
        (ABI + "std::__1::system_error: mutex lock failed: Invalid argument",
         "std::__1::system_error", "mutex lock failed: Invalid argument"),
        ("libc++abi.dylib: terminating with uncaught exception of type c10::Error: m",
         "c10::Error", "m"),
        (ABI + "int", "int", None),
        (ABI + "NSException", "NSException", None),
        ("libc++abi: terminating due to uncaught foreign exception", None, None),
        ("libc++abi: terminating", None, None),
    ],
)  # fmt: skip
def test_end_by_libcxxabi_has_the_type_and_what_it_said(
    text: str, kind: str | None, message: str | None
) -> None:
    death, *said = events(text + "\n", cpp_stack)
    assert isinstance(death, ProcessDeath)
    assert (death.told_by, death.signal, death.exception) == ("terminate", "SIGABRT", kind)
    assert [event.message for event in said if isinstance(event, ErrorText)] == (
        [message] if message else []
    )


@DRESSED
def test_dress_of_libcxxabi_changes_nothing(dress: Callable[[str], str]) -> None:
    death, said = events(dress(ABI + "std::runtime_error: it is over\n"), cpp_stack)
    assert isinstance(death, ProcessDeath)
    assert isinstance(said, ErrorText)
    assert (death.exception, said.message) == ("std::runtime_error", "it is over")


@pytest.mark.parametrize(
    "text",
    [
        "-- Found libc++abi: /usr/lib/libc++abi.so\n",
        "- `libc++abi: terminating due to uncaught exception of type int` is an abort\n",
        "  4   libc++abi.dylib    0x00007ff81a4cbfaa std::__terminate(void (*)()) + 8\n",
    ],
)
def test_name_of_libcxxabi_alone_is_no_end(text: str) -> None:
    assert events(text, cpp_stack) == []


@settings(max_examples=80, deadline=None)
@given(
    around(
        *cpp_stack.ANCHORS,
        b"f at a.cpp:1 (most recent",
        b"\nframe #0: f + 0x1 (0x1 in /a)\n",
        b"\n#4 f from a.cpp:1\n",
        b"after throwing an instance of 'x'",
    )
)
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, cpp_stack).size == len(data)


def test_stack_ends_where_the_next_one_begins() -> None:
    again = STACK.replace("aten/src/ATen/Functions.cpp:305", "c10/core/Other.cpp:9")
    found = events(STACK + "Error: again\n" + again, cpp_stack)
    stacks = [event for event in found if isinstance(event, CppStack)]
    assert [stack.file for stack in stacks] == ["aten/src/ATen/Functions.cpp", "c10/core/Other.cpp"]
    assert [stack.frames for stack in stacks] == [FRAMES, FRAMES]
