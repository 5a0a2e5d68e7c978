"""Device-side assertions: every form, every dress, and nothing that the text does not say."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.parsers import device_assert
from aoti_logscan.parsers.device_assert import Bounds, read_bounds
from tests.parsers.conftest import (
    DRESSED,
    KERNEL_PY,
    TOO_MANY_DIGITS,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
    told,
)

FILE = "/tmp/torchinductor_dev/k4/ck46uf2tjbfns332dtzd3q3m2mgw2hoguozdpq5bvqyjhntqiu23.py"
LINE = (
    f"{FILE}:30: unknown: block: [24127,0,0], thread: [23,0,0] Assertion"
    " `index out of bounds: 0 <= tmp4 < 50304` failed.\n"
)
TOLD = {
    "is": "DeviceAssert",
    "file": FILE,
    "line": 30,
    "condition": "index out of bounds: 0 <= tmp4 < 50304",
    "index": "tmp4",
    "lower": "0",
    "upper": "50304",
}


def _asserted(condition: str) -> str:
    return f"/t/a.py:7: unknown: block: [0,0,0], thread: [1,0,0] Assertion `{condition}` failed.\n"


def test_inductor_index_check_gives_file_line_index_and_bounds() -> None:
    assert told(one(LINE, device_assert)) == TOLD


@DRESSED
def test_dress_of_the_line_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(LINE), device_assert)) == TOLD


@DRESSED
def test_dress_changes_nothing_when_all_formats_are_read(dress: Callable[[str], str]) -> None:
    assert told(one(dress(LINE))) == TOLD


def test_rank_prefix_without_a_blank_is_no_part_of_the_file() -> None:
    event = one("[rank3]:" + LINE, device_assert)
    assert (told(event), event.rank) == (TOLD, 3)


def test_glued_behind_a_progress_bar_without_carriage_return() -> None:
    bar = " 97%|████████ | 2048/2100 [00:21<00:00, 94.87it/s]"
    assert told(one(bar + "unknown:0: unknown" + LINE.split(":30: unknown")[1], device_assert)) == {
        "is": "DeviceAssert",
        "condition": TOLD["condition"],
        "index": "tmp4",
        "lower": "0",
        "upper": "50304",
    }


def test_unknown_line_zero_names_no_file() -> None:
    text = "unknown:0: unknown: block: [0,0,0], thread: [8,0,0] Assertion `index out of bounds: 0"
    event = one(text + " <= tmp4 < 32000` failed.\n", device_assert)
    assert told(event) == {
        "is": "DeviceAssert",
        "condition": "index out of bounds: 0 <= tmp4 < 32000",
        "index": "tmp4",
        "lower": "0",
        "upper": "32000",
    }


def test_windows_form_has_no_function() -> None:
    text = (
        "C:\\actions\\aten\\src\\IndexKernel.cu:91: block: [26,0,0], thread: [0,0,0] Assertion"
        ' `-sizes[i] <= index && index < sizes[i] && "index out of bounds"` failed.\n'
    )
    assert told(one(text, device_assert)) == {
        "is": "DeviceAssert",
        "file": "C:\\actions\\aten\\src\\IndexKernel.cu",
        "line": 91,
        "condition": '-sizes[i] <= index && index < sizes[i] && "index out of bounds"',
    }


def test_function_may_hold_colons_and_parentheses() -> None:
    text = (
        "../aten/src/ATen/native/cuda/IndexKernel.cu:92: lambda [](int)->auto::operator()(int)"
        "->auto: block: [26,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
    )
    assert told(one(text, device_assert)) == {
        "is": "DeviceAssert",
        "file": "../aten/src/ATen/native/cuda/IndexKernel.cu",
        "line": 92,
        "function": "lambda [](int)->auto::operator()(int)->auto",
        "condition": "srcIndex < srcSelectDimSize",
    }


def test_location_of_the_compiling_process_is_kept_as_printed() -> None:
    text = (
        "<frozen runpy>:198: _run_code: block: [5,0,0], thread: [62,0,0] Assertion"
        " `index out of bounds: 0 <= tmp84 < 120` failed.\n"
    )
    event = told(one(text, device_assert))
    assert (event["file"], event["line"], event["function"]) == ("<frozen runpy>", 198, "_run_code")


def test_printf_form_of_c10_asserts() -> None:
    text = (
        "[CUDA_KERNEL_ASSERT] /p/aten/src/IndexKernel.cu:111: operator(): block: [1,0,0], thread:"
        " [2,0,0]: Assertion failed: `-sizes[i] <= index`: index out of bounds\n"
    )
    assert told(one(text, device_assert)) == {
        "is": "DeviceAssert",
        "file": "/p/aten/src/IndexKernel.cu",
        "line": 111,
        "function": "operator()",
        "condition": "-sizes[i] <= index",
    }


def test_xpu_counts_global_and_local_ids() -> None:
    text = "/t/PATH.py:18: unknown: global id: [51,0,0], local id: [3,0,0] Assertion `test` failed."
    event = one(text + "\n", device_assert)
    assert told(event) == {
        "is": "DeviceAssert",
        "file": "/t/PATH.py",
        "line": 18,
        "condition": "test",
    }


def test_backquotes_inside_the_condition_are_part_of_it() -> None:
    condition = "probability tensor contains either `inf`, `nan` or element < 0"
    assert told(one(_asserted(condition), device_assert))["condition"] == condition


def test_head_lost_to_another_writer_leaves_the_file_unknown() -> None:
    text = (
        "h unknown: block: [487,0,0], thread: [31,0,0] Assertion `index out of bounds: 0 <="
        " tl.broadcast_to(tmp34, [XBLOCK]) < 131072` failed.\n"
    )
    assert told(one(text, device_assert)) == {
        "is": "DeviceAssert",
        "condition": "index out of bounds: 0 <= tl.broadcast_to(tmp34, [XBLOCK]) < 131072",
        "index": "tl.broadcast_to(tmp34, [XBLOCK])",
        "lower": "0",
        "upper": "131072",
    }


def test_rank_comes_from_the_cache_path_where_the_line_has_none() -> None:
    path = "/home/svc/.cache/vllm/torch_compile_cache/be188126ee/rank_3_0/inductor_cache/sb/csb4.py"
    assert one(LINE.replace(FILE, path), device_assert).rank == 3


def test_rank_of_the_prefix_counts_more_than_the_path() -> None:
    path = "/home/svc/.cache/vllm/torch_compile_cache/be188126ee/rank_3_0/inductor_cache/sb/csb4.py"
    assert one("[rank1]: " + LINE.replace(FILE, path), device_assert).rank == 1


# wrapped and interleaved


def test_wrapped_after_block_is_one_record_that_begins_at_its_head() -> None:
    event = one("step 1\n" + LINE.replace("block: [", "block:\n ["), device_assert)
    assert (told(event), event.place.line) == (TOLD, 2)


def test_wrapped_before_assertion_is_one_record() -> None:
    assert told(one(LINE.replace(" Assertion", "\nAssertion"), device_assert)) == TOLD


def test_wrapped_inside_the_condition_is_joined_with_a_blank() -> None:
    assert told(one(LINE.replace(" < 50304", "\n< 50304"), device_assert)) == TOLD


def test_wrapped_record_keeps_the_prefix_of_its_lines_out() -> None:
    wrapped = LINE.replace(" Assertion", "\nAssertion").splitlines(keepends=True)
    event = one("[rank1]: " + "[rank1]: ".join(wrapped), device_assert)
    assert (told(event), event.rank) == (TOLD, 1)


def test_wrapped_records_of_two_ranks_keep_their_own_heads() -> None:
    text = (
        "[rank0]:/tmp/a.py:1: unknown: block:\n"
        "[rank1]:/tmp/b.py:2: unknown: block:\n"
        "[rank0]: [1,0,0], thread: [0,0,0] Assertion `index out of bounds: 0 <= tmp0 < 5` failed.\n"
        "[rank1]: [2,0,0], thread: [0,0,0] Assertion `index out of bounds: 0 <= tmp0 < 6` failed.\n"
    )
    found = [(told(event)["file"], told(event)["upper"]) for event in events(text, device_assert)]
    assert found == [("/tmp/a.py", "5"), ("/tmp/b.py", "6")]


def test_record_overwritten_by_another_writer_invents_no_index() -> None:
    text = (
        "/t/a.py:1: unknown: block: [0,0,0], thread: [1,0,0] Assertion `index out of bounds: 0 <="
        " tmp4 < 5/t/b.py:1: unknown: block: [0,0,0], thread: [2,0,0] Assertion"
        " `index out of bounds: 0 <= tmp9 < 70` failed.\n"
    )
    indices = {told(event).get("index") for event in events(text, device_assert)}
    assert indices <= {None, "tmp4", "tmp9"}


def test_lines_of_two_ranks_are_told_apart() -> None:
    text = f"[rank0]:{LINE}[rank1]:{LINE}[rank0]:{LINE}"
    assert [(event.rank, event.count) for event in events(text, device_assert)] == [(0, 2), (1, 1)]


# counting


def test_equal_lines_are_counted_and_their_blocks_told_apart() -> None:
    other_block = LINE.replace("[24127,0,0]", "[9,0,0]")
    event = one(LINE + LINE.replace("[23,0,0]", "[24,0,0]") + other_block, device_assert)
    assert (event.count, event.distinct) == (3, 2)
    assert event.repeats == (len(LINE), 2 * len(LINE))
    assert event.last is not None
    assert event.last.line == 3


def test_another_bound_is_another_event() -> None:
    text = LINE + LINE.replace("50304", "512")
    assert [told(event)["upper"] for event in events(text, device_assert)] == ["50304", "512"]


# bounds


@pytest.mark.parametrize(
    ("checked", "bounds"),
    [
        ("0 <= tmp4 < 32000", Bounds("tmp4", "0", "32000")),
        ("0 <= tmp4 < ks0", Bounds("tmp4", "0", "ks0")),
        ("0 <= tmp4 < 1 + ks0", Bounds("tmp4", "0", "1 + ks0")),
        ("tmp4 < 32", Bounds("tmp4", None, "32")),
        ("0 <= tmp4", Bounds("tmp4", "0", None)),
        ("-5 <= tmp4 < 5", Bounds("tmp4", "-5", "5")),
        ("0 <= tmp7 < 10L", Bounds("tmp7", "0", "10L")),
        (
            "0 <= tl.broadcast_to(tmp10, [XBLOCK]) < 2048",
            Bounds("tl.broadcast_to(tmp10, [XBLOCK])", "0", "2048"),
        ),
        (
            "0 <= tl.where(tmp4 < 0, tmp4 + ks0, tmp4) < ks0",
            Bounds("tl.where(tmp4 < 0, tmp4 + ks0, tmp4)", "0", "ks0"),
        ),
        (
            "0 <= tl.where(ks0 + x1 < 0, x1 + 2*ks0, ks0 + x1)",
            Bounds("tl.where(ks0 + x1 < 0, x1 + 2*ks0, ks0 + x1)", "0", None),
        ),
        (
            "0 <= tmp4 < libdevice.trunc(0.12*(ks0.to(tl.float64))).to(tl.int32)",
            Bounds("tmp4", "0", "libdevice.trunc(0.12*(ks0.to(tl.float64))).to(tl.int32)"),
        ),
    ],
)
def test_bounds_are_read_as_inductor_prints_them(checked: str, bounds: Bounds) -> None:
    assert read_bounds(f"index out of bounds: {checked}") == bounds


@pytest.mark.parametrize(
    "condition", ["", "NaN or Inf found", 'idx < size && "index out of bounds"', "index out of"]
)
def test_other_conditions_have_no_bounds(condition: str) -> None:
    assert read_bounds(condition) == Bounds(None, None, None)


# empty, truncated, foreign


@pytest.mark.parametrize("text", ["", "\n", ", thread: [", "block: [0,0,0], thread: [0,0,0]\n"])
def test_no_record_gives_nothing(text: str) -> None:
    assert scan(text, device_assert)[:2] == ((), len(text))


def test_record_without_its_condition_is_a_problem() -> None:
    scanned = scan("a\n/t/a.py:1: f: block: [0,0,0], thread: [1,0,0]\nnext line\n", device_assert)
    assert scanned.events == ()
    assert [tuple(problem) for problem in scanned.problems] == [
        (2, "an assertion without its condition")
    ]


def test_cut_at_any_byte_invents_no_file_line_or_bound() -> None:
    found = [told(event) for event in every_cut(LINE, device_assert)]
    assert {event["file"] for event in found} == {FILE}
    assert {event["line"] for event in found} == {30}
    assert {event.get("index") for event in found} <= {None, "tmp4"}
    assert {event.get("upper") for event in found} <= {None, "50304"}


def test_condition_cut_inside_its_digits_gives_no_bounds() -> None:
    event = told(one(LINE.partition("04` failed")[0], device_assert))
    assert event["condition"] == "index out of bounds: 0 <= tmp4 < 503"
    assert not event.keys() & {"index", "lower", "upper"}


@pytest.mark.parametrize(
    "text",
    [
        'tl.device_assert(((0 <= tmp4) & (tmp4 < ks0)) | ~(xmask), "index out of bounds: 0 <= tmp4'
        ' < ks0")\n',
        "# Assertion `index out of bounds: 0 <= tmp0 < 64` failed.\n",
        "python: /b/llvm/ADT/ArrayRef.h:168: T& operator[](size_t): Assertion `Index < Length &&"
        ' "Invalid index!"\' failed.\n',
        "launching block: [1,0,0], thread: [64,0,0] of grid 3\n",
        WRAPPER_CPP,
        KERNEL_PY,
    ],
    ids=["kernel-line", "skip-list", "llvm-assert", "prose", "wrapper", "kernel"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, device_assert) == []


def test_line_number_of_thousands_of_digits_does_not_raise() -> None:
    assert scan(LINE.replace(":30:", f":{TOO_MANY_DIGITS}:"), device_assert).size > 5000


@settings(max_examples=80, deadline=None)
@given(around(*device_assert.ANCHORS, b"block:", b"Assertion `", b"` failed.", b"[1,0,0]"))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, device_assert).size == len(data)


HIP = (
    "/pytorch/aten/src/ATen/native/hip/IndexKernel.hip:93: operator(): Device-side assertion"
    ' `index < sizes[i] && "index out of bounds"\' failed.\n'
)


def test_hip_assertion_has_no_block() -> None:
    assert told(one(HIP, device_assert)) == {
        "is": "DeviceAssert",
        "file": "/pytorch/aten/src/ATen/native/hip/IndexKernel.hip",
        "line": 93,
        "function": "operator()",
        "condition": 'index < sizes[i] && "index out of bounds"',
    }


def test_report_of_a_tracked_assertion_is_put_together() -> None:
    text = (
        "Assertion failure 0\n"
        "  GPU assertion failure message = i != i\n"
        "  File containing assertion = /pytorch/c10/cuda/test/x.cu:26\n"
        "  Device function containing assertion = always_fail\n"
        "  Thread ID that failed assertion = [1,0,0]\n"
        "  Block ID that failed assertion = [7,0,0]\n"
    )
    assert told(one(text, device_assert)) == {
        "is": "DeviceAssert",
        "file": "/pytorch/c10/cuda/test/x.cu",
        "line": 26,
        "function": "always_fail",
        "condition": "i != i",
    }


def test_report_without_its_place_is_malformed() -> None:
    found = scan("  GPU assertion failure message = i != i\n", device_assert)
    assert list(found.events) == []
    assert found.problems


@pytest.mark.parametrize(
    ("written", "file"),
    [
        ("C:/w/pytorch/aten/src/ATen/x.cu", "C:/w/pytorch/aten/src/ATen/x.cu"),
        ("stderr:/pytorch/x.cu", "/pytorch/x.cu"),
        ("\u7b54\u6848/pytorch/x.cu", "/pytorch/x.cu"),
        ("\u7b54\u6848../aten/x.cu", "../aten/x.cu"),
    ],
)
def test_file_begins_where_its_path_does(written: str, file: str) -> None:
    text = f"{written}:7: f: block: [0,0,0], thread: [1,0,0] Assertion `a < b` failed.\n"
    assert told(one(text, device_assert))["file"] == file
