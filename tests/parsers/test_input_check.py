"""Refusals of inputs: each form's property, numbers and names, and no number that was cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aoti_logscan.parsers import input_check
from tests.parsers.conftest import (
    DRESSED,
    TOO_MANY_DIGITS,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
    told,
)

DIM = "Error: input_handles[10]: unmatched dim value at 11, expected: 1650, but got: 1788\n"
DIM_TOLD = {
    "is": "InputCheck",
    "check": "handles",
    "property": "dim",
    "input": 10,
    "dim": 11,
    "expected": 1650,
    "actual": 1788,
}
SIZE_STRIDE = (
    "Error: expected size 1024==768, stride 192==192 at dim=0\n"
    "Error in op: input\n"
    "This error most often comes from a incorrect fake (aka meta) kernel for a custom op.\n"
)
SIZE_STRIDE_TOLD = {
    "is": "InputCheck",
    "check": "size-stride",
    "property": "dim",
    "dim": 0,
    "expected": 768,
    "actual": 1024,
    "op": "input",
}


def _handle(
    text: str, prop: str, expected: int | str | None, actual: int | str | None, **more: int
) -> Any:
    fields = {"check": "handles", "property": prop, "expected": expected, "actual": actual, **more}
    known = {name: value for name, value in fields.items() if value is not None}
    return pytest.param(text, {"is": "InputCheck", "input": 0, **known}, id=prop)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        _handle(
            "unmatched dtype, expected: 6(at::kFloat), but got: 7", "dtype", "float32", "float64"
        ),
        _handle("unmatched dim value at 1, expected: 8, but got: 9", "dim", 8, 9, dim=1),
        _handle(
            "dim value is too small at 0, expected it to be >= 2, but got: 1",
            "dim-lower-bound",
            2,
            1,
            dim=0,
        ),
        _handle(
            "dim value is too large at 0, expected to be <= 64, but got: 100",
            "dim-upper-bound",
            64,
            100,
            dim=0,
        ),
        _handle("unmatched stride value at 0, expected: 8, but got: 1", "stride", 8, 1, dim=0),
        _handle("unmatched device type, expected: 00(cpu), but got: 14", "device", "cpu", "meta"),
    ],
)
def test_check_of_input_handles(text: str, expected: dict[str, Any]) -> None:
    assert told(one(f"Error: input_handles[0]: {text}\n", input_check)) == expected


@pytest.mark.parametrize(
    ("text", "expected", "actual"),
    [
        ("expected: 11(cuda), but got: 0", "cuda", "cpu"),
        ("expected: 0(cpu), but got: 1(cuda)", "cpu", "cuda"),
        ("expected: 11(cuda), but got: 99", "cuda", None),
    ],
)
def test_device_number_is_printed_twice_or_once(
    text: str, expected: str, actual: str | None
) -> None:
    event = told(one(f"input_handles[1]: unmatched device type, {text}\n", input_check))
    assert (event["expected"], event.get("actual")) == (expected, actual)


def test_dtype_that_no_version_has_is_unknown() -> None:
    text = "input_handles[1]: unmatched dtype, expected: 15(at::kBFloat16), but got: 99\n"
    event = told(one(text, input_check))
    assert (event["expected"], event.get("actual")) == ("bfloat16", None)


@pytest.mark.parametrize("what", ["inputs", "input handles"])
def test_number_of_inputs(what: str) -> None:
    text = f"RuntimeError: expected {what} vector size to be 2, but got 13\n"
    assert told(one(text, input_check)) == {
        "is": "InputCheck",
        "check": "count",
        "property": "count",
        "expected": 2,
        "actual": 13,
    }


def test_number_of_outputs_is_no_input_check() -> None:
    assert events("RuntimeError: expected outputs vector size to be 2, but got 1\n") == []


def test_rank_of_an_input_with_the_op_on_the_next_line() -> None:
    text = "Error: expected ndim 2 but got 3\nError in op: input\n"
    assert told(one(text, input_check)) == {
        "is": "InputCheck",
        "check": "size-stride",
        "property": "rank",
        "expected": 2,
        "actual": 3,
        "op": "input",
    }


@pytest.mark.parametrize(
    ("glued", "actual"), [("dimensions2", 2), ("dimensions12", 12), ("dimensions", None)]
)
def test_rank_glued_to_the_python_text(glued: str, actual: int | None) -> None:
    event = told(one(f"AssertionError: wrong number of {glued}\n", input_check))
    assert (event["property"], event.get("actual"), event.get("expected")) == ("rank", actual, None)


def test_size_stride_has_what_was_got_left_and_what_was_expected_right() -> None:
    assert told(one(SIZE_STRIDE, input_check)) == SIZE_STRIDE_TOLD


def test_size_stride_reports_the_first_dim_that_differs() -> None:
    text = "expected size 8==8, stride 1==1 at dim=0; expected size 8==8, stride 1==5 at dim=12\n"
    assert told(one("AssertionError: " + text, input_check)) == {
        "is": "InputCheck",
        "check": "size-stride",
        "property": "stride",
        "dim": 12,
        "expected": 5,
        "actual": 1,
    }


def test_size_stride_of_a_custom_op_names_the_op() -> None:
    text = SIZE_STRIDE.replace("op: input", "op: torch.ops.mylib.foo.default")
    assert told(one(text, input_check))["op"] == "torch.ops.mylib.foo.default"


def test_op_of_the_next_failure_is_not_taken() -> None:
    text = "AssertionError: expected size 1==2, stride 1==1 at dim=0\n" + SIZE_STRIDE
    assert [told(event).get("op") for event in events(text, input_check)] == [None, "input"]


def test_op_of_another_rank_is_not_taken() -> None:
    text = (
        "[rank0]: Error: expected size 4==5, stride 1==1 at dim=0\n"
        "[rank1]: Error in op: torch.ops.mylib.foo.default\n"
        "[rank0]: Error in op: input\n"
    )
    assert told(one(text, input_check))["op"] == "input"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Expected input at *args[0].shape[1] to be equal to 16, but got 17",
            {"property": "dim", "input": 0, "dim": 1, "expected": 16, "actual": 17},
        ),
        (
            "Expected input at *args[0].shape[0] to be equal to 2, but got 4. If you meant for this"
            " dimension to be dynamic, please re-export and specify dynamic_shapes",
            {"property": "dim", "input": 0, "dim": 0, "expected": 2, "actual": 4},
        ),
        (
            "Expected input at *args[3].shape[0] to be >= 4, but got 3",
            {"property": "dim-lower-bound", "input": 3, "dim": 0, "expected": 4, "actual": 3},
        ),
        (
            "Expected input at *args[1].shape[2] to be <= 8, but got 9",
            {"property": "dim-upper-bound", "input": 1, "dim": 2, "expected": 8, "actual": 9},
        ),
        (
            "Expected input at *args[0]['k'].shape[0] to be equal to 3, but got 4",
            {"property": "dim", "name": "*args[0]['k']", "dim": 0, "expected": 3, "actual": 4},
        ),
        (
            "Expected input at *args.[0].mask.weight.shape[0] to be >= 2, but got 1",
            {
                "property": "dim-lower-bound",
                "name": "*args.[0].mask.weight",
                "dim": 0,
                "expected": 2,
                "actual": 1,
            },
        ),
        (
            "Expected input at *args[1] to be equal to 2.0, but got 3.0",
            {"property": "dim", "input": 1, "expected": "2.0", "actual": "3.0"},
        ),
    ],
)
def test_check_of_an_exported_program(text: str, expected: dict[str, Any]) -> None:
    event = told(one(f"RuntimeError: {text}\n", input_check))
    assert event == {"is": "InputCheck", "check": "export", **expected}


def test_check_of_a_deserialised_program_has_no_location() -> None:
    text = "RuntimeError: Expected input at *args.<unknown location>.shape[0] to be equal to 2, but"
    event = told(one(text + " got 4\n", input_check))
    assert (event["dim"], event["expected"], event["actual"]) == (0, 2, 4)


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("x.size()[0] == 3", {"property": "dim", "name": "x", "dim": 0, "expected": 3}),
        ("x.size()[1] >= 4", {"property": "dim-lower-bound", "name": "x", "dim": 1, "expected": 4}),
        (
            "z['k'].size()[0] <= 8",
            {"property": "dim-upper-bound", "name": "z['k']", "dim": 0, "expected": 8},
        ),
    ],
)
def test_guard_of_an_exported_module(guard: str, expected: dict[str, Any]) -> None:
    event = told(one(f"AssertionError: Guard failed: {guard}\n", input_check))
    assert event == {"is": "InputCheck", "check": "export", **expected}


def test_guard_between_two_inputs_names_the_first() -> None:
    event = told(one("AssertionError: Guard failed: y.size()[0] == x.size()[0]\n", input_check))
    assert (event["name"], event["dim"], event["expected"]) == ("y", 0, "x.size()[0]")


@DRESSED
def test_dress_of_a_handle_check_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(DIM), input_check)) == DIM_TOLD


@DRESSED
def test_dress_of_a_record_of_several_lines_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(SIZE_STRIDE), input_check)) == SIZE_STRIDE_TOLD


def test_message_told_twice_is_one_event() -> None:
    event = one(DIM + "\nstep 3\n" + DIM.replace("Error", "RuntimeError"), input_check)
    assert (event.count, event.place.line, event.last and event.last.line) == (2, 1, 4)


def test_ranks_are_told_apart() -> None:
    text = f"[rank0]: {DIM}[rank1]: {DIM}[rank0]: {DIM}"
    assert [(event.rank, event.count) for event in events(text, input_check)] == [(0, 2), (1, 1)]


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", input_check) == ((), 0, {}, ())


def test_expected_number_cut_before_its_comma_is_unknown() -> None:
    numbers = {told(event).get("expected") for event in every_cut(DIM, input_check)}
    assert numbers <= {None, 1650}


def test_expected_dtype_cut_inside_its_number_is_unknown() -> None:
    text = "Error: input_handles[0]: unmatched dtype, expected: 15(at::kBFloat16), but got: 7\n"
    assert {told(event).get("expected") for event in every_cut(text, input_check)} <= {
        None,
        "bfloat16",
    }


def test_cut_at_any_byte_invents_no_input_dim_or_property() -> None:
    found = [told(event) for event in every_cut(DIM, input_check)]
    assert {(event["input"], event["dim"], event["property"]) for event in found} == {
        (10, 11, "dim")
    }


def test_last_line_of_a_paste_keeps_its_number_without_a_final_newline() -> None:
    assert told(one(DIM.rstrip("\n"), input_check)) == DIM_TOLD


@pytest.mark.parametrize(
    "cut", ["input_handles[", "input_handles[0]: unmatched", "expected size 4==", "Guard failed: x"]
)
def test_beginning_of_a_message_gives_nothing(cut: str) -> None:
    assert events(f"Error: {cut}", input_check) == []


@pytest.mark.parametrize(
    "text",
    [
        '        ss << "input_handles[0]: unmatched dtype, "\n'
        '           << "expected: " << arg0_1_expected_dtype << "(at::kFloat), "\n',
        "assert_size_stride(primals_1, (768, 192), (192, 1))\n",
        "    raise ValueError(f'Expected input at {path} to be equal to {want}, but got {got}')\n",
        "tensor 'x' size mismatch at index 0. expected 3, actual 5\n",
        "Expected input batch_size (4) to match target batch_size (5).\n",
        WRAPPER_CPP,
    ],
    ids=["check-code", "python-code", "format-string", "recompile-reason", "loss", "wrapper"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, input_check) == []


@pytest.mark.parametrize(
    "text",
    [
        '    raise ValueError("wrong number of dimensions")\n',
        "ValueError: wrong number of dimensions, expected 3\n",
    ],
)
def test_other_programs_count_dimensions_too(text: str) -> None:
    assert events(text, input_check) == []


@pytest.mark.parametrize(
    "text",
    [
        "Error: input_handles[0]: unmatched dim value at 1, expected: {}, but got: 7",
        "RuntimeError: expected inputs vector size to be 2, but got {}",
        "Error: expected ndim 2 but got {}",
        "Error: expected size {}==4, stride 1==1 at dim=0",
        "AssertionError: wrong number of dimensions{}",
        "RuntimeError: Expected input at *args[{}].shape[0] to be >= 2, but got 1",
        "AssertionError: Guard failed: x.size()[0] == {}",
    ],
)
def test_number_of_thousands_of_digits_does_not_raise(text: str) -> None:
    assert scan(text.format(TOO_MANY_DIGITS) + "\n", input_check).size > 5000


@settings(max_examples=80, deadline=None)
@given(around(*input_check.ANCHORS, b"==", b" at dim=", b", expected: ", b"but got "))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, input_check).size == len(data)


@given(st.integers(0, 10**6), st.integers(0, 99), st.integers(0, 10**18), st.integers(-1, 10**18))
@settings(max_examples=60, deadline=None)
def test_every_number_is_read_whole(position: int, dim: int, expected: int, actual: int) -> None:
    text = (
        f"Error: input_handles[{position}]: unmatched dim value at {dim}, expected: {expected},"
        f" but got: {actual}\n"
    )
    event = told(one(text, input_check))
    assert (event["input"], event["dim"]) == (position, dim)
    assert (event["expected"], event["actual"]) == (expected, actual)
