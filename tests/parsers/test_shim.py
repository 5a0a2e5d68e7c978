"""The C boundary of the AOTI runtime: which call failed where, and what was logged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import ErrorText, ShimFailure
from aoti_logscan.parsers import shim
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

FILE = "/tmp/torchinductor_dev/crcq/ct7j2ybnisbcnqdsaox6iqlitubtodkioraaa5luv2zm.wrapper.cpp"
CALL = (
    "aoti_torch_cpu_addmm_out(buf1, buf0, arg3_1, wrap_with_raii_handle_if_needed("
    "reinterpret_tensor_wrapper(lin_weight, 2, int_array_4, int_array_5, 0L)), 1L, 1L)"
)
LINE = f"Error: {CALL} API call failed at {FILE}, line 942\n"
TOLD = {
    "is": "ShimFailure",
    "function": "aoti_torch_cpu_addmm_out",
    "call": CALL,
    "file": FILE,
    "line": 942,
}
LOGGED = (
    "[E614 07:41:55.220417833 shim_common.cpp:311] Exception in aoti_torch: The specified pointer"
    " resides on host memory and is not registered with any CUDA device.\n"
)
LOGGED_TOLD = {
    "is": "ErrorText",
    "channel": "shim-log",
    "message": "The specified pointer resides on host memory and is not registered with any CUDA"
    " device.",
}


def test_failed_call_gives_its_function_whole_text_file_and_line() -> None:
    assert told(one(LINE, shim)) == TOLD


@pytest.mark.parametrize(
    ("call", "function"),
    [
        ('aoti_torch_check_inf_and_nan("arg3_1", arg3_1)', "aoti_torch_check_inf_and_nan"),
        (
            "run_func_( container_handle_, input_handles.data(), input_handles.size())",
            "run_func_",
        ),
        (
            "create_func_( &container_handle_, num_models, device_str.c_str(), cubin_dir.empty() ?"
            " nullptr : cubin_dir.c_str())",
            "create_func_",
        ),
    ],
)
def test_call_of_the_runner_and_of_a_check(call: str, function: str) -> None:
    event = told(one(f"RuntimeError: {call} API call failed at ../runner.cpp, line 49\n", shim))
    assert (event["function"], event["call"], event["line"]) == (function, call, 49)


def test_what_of_terminate_is_no_function() -> None:
    text = "  what():  run_func_( handle) API call failed at /x/runner.cpp, line 145\n"
    assert told(one(text, shim))["function"] == "run_func_"


def test_log_line_of_the_shim_gives_its_message_and_time() -> None:
    event = one(LOGGED, shim)
    assert told(event) == LOGGED_TOLD
    assert event.time is not None
    assert (event.time.kind, event.time.stamp) == ("c10", "0614 07:41:55.000000000")


def test_log_line_of_a_stable_op_is_its_own_channel() -> None:
    text = "[07:41:55 op.cpp:31] Exception across libtorch C API boundary: expected 2 dims\n"
    assert told(one(text, shim)) == {
        "is": "ErrorText",
        "channel": "shim-boundary",
        "message": "expected 2 dims",
    }


def test_model_that_did_not_finish_gives_its_error() -> None:
    text = "The model did not finish successfully. Error: unspecified launch failure\n"
    assert told(one(text, shim))["message"] == "unspecified launch failure"


CONTAINER = (
    "terminate called after throwing an instance of 'std::runtime_error'\n"
    "  what():  run_func_( container_handle_, stream_handle) API call failed at"
    " /pytorch/torch/csrc/inductor/aoti_runner/model_container_runner.cpp, line 145\n"
)


@pytest.mark.parametrize("head", ["", "[rank1]: ", "2026-02-11T08:09:10.1Z stderr F "])
def test_reason_above_a_failed_call_of_the_container(head: str) -> None:
    text = "loaded\nError: No available models in container!\n" + CONTAINER
    found = events("".join(head + line for line in text.splitlines(True)), shim)
    reason = next(event for event in found if isinstance(event, ErrorText))
    assert (reason.channel, reason.message) == ("runtime", "No available models in container!")
    assert reason.place.line == 2
    assert any(isinstance(event, ShimFailure) for event in found)


@pytest.mark.parametrize(
    "above",
    [
        "Error: aoti_torch_cpu_mm_out(buf1, buf0) API call failed at /tmp/x.cpp, line 954\n",
        "[rank7]: Error: of another rank\n",
        "Error: too far away\n1\n2\n3\n4\n",
        "nothing\n",
    ],
)
def test_no_reason_above_a_failed_call_of_the_container(above: str) -> None:
    found = events(above + CONTAINER.replace("  what()", "[rank1]:   what()"), shim)
    assert not [event for event in found if isinstance(event, ErrorText)]


@pytest.mark.parametrize(
    "message",
    [
        "Expected u0 < s17 but received 3",
        "Expected Eq(u0, 4) but received -1",
        "Integer floor division by zero",
        "Integer modular indexing modulo by zero",
    ],
)
def test_assertion_of_the_runtime(message: str) -> None:
    found = told(one(f"Error: {message}\n", shim))
    assert found == {"is": "ErrorText", "channel": "runtime", "message": message}


@pytest.mark.parametrize(
    "text",
    [
        "Error: Expected 3 things but received none\n",
        "ValueError: division by zero\n",
        "Expected u0 < s17 but received 3\n",
        'assert "Error: Expected u0 but received 3" in text\n',
    ],
)
def test_what_resembles_an_assertion_of_the_runtime_is_none(text: str) -> None:
    assert events(text, shim) == []


@DRESSED
def test_dress_of_a_failed_call_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(LINE), shim)) == TOLD


@DRESSED
def test_dress_of_a_log_line_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(LOGGED), shim)) == LOGGED_TOLD


def test_same_failure_on_stderr_and_in_the_exception_is_one_event() -> None:
    event = one(LINE + LINE.replace("Error", "RuntimeError"), shim)
    assert (event.count, event.repeats) == (2, (len(LINE),))


def test_ranks_are_told_apart() -> None:
    found = events(f"[rank0]: {LINE}[rank1]: {LINE}", shim)
    assert [event.rank for event in found] == [0, 1]


def test_call_inside_a_repr_is_still_the_function() -> None:
    text = 'failed: RuntimeError("run_func_( a, b) API call failed at /x/runner.cpp, line 49")\n'
    assert told(one(text, shim))["function"] == "run_func_"


def test_function_of_a_call_longer_than_what_is_read_is_not_guessed() -> None:
    arguments = ", ".join(f"reinterpret_tensor_wrapper(buf{n}, 2)" for n in range(400))
    text = f"Error: aoti_torch_proxy(p, {arguments}) API call failed at /x/a.wrapper.cpp, line 49\n"
    functions = {told(event)["function"] for event in events(text, shim)}
    assert functions <= {"aoti_torch_proxy"}


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", shim) == ((), 0, {}, ())


def test_cut_before_the_line_number_gives_nothing() -> None:
    assert events(LINE.partition("942")[0], shim) == []


def test_cut_at_any_byte_invents_no_function_or_file() -> None:
    found = [told(event) for event in every_cut(LINE, shim)]
    assert {(event["function"], event["call"], event["file"]) for event in found} == {
        ("aoti_torch_cpu_addmm_out", CALL, FILE)
    }


def test_last_line_of_a_paste_keeps_its_number_without_a_final_newline() -> None:
    assert told(one(LINE.rstrip("\n"), shim)) == TOLD


@pytest.mark.parametrize("text", ["Exception in aoti_torch: ", "Exception in aoti_torch: \n"])
def test_log_line_without_its_message_gives_nothing(text: str) -> None:
    assert events(text, shim) == []


@pytest.mark.parametrize(
    "text",
    [
        '  throw std::runtime_error(#call " API call failed at " __FILE__ ", line " + n);\n',
        "The REST API call failed at startup, retrying\n",
        "the API call failed at /v1/models, line 3 of the config\n",
        WRAPPER_CPP,
    ],
    ids=["macro", "rest", "no-call", "wrapper"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, shim) == []


def test_line_number_of_thousands_of_digits_does_not_raise() -> None:
    assert scan(LINE.replace("942", TOO_MANY_DIGITS), shim).size > 5000


@settings(max_examples=80, deadline=None)
@given(around(*shim.ANCHORS, b"run_func_(", b", line 4", b"aoti_torch_x("))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, shim).size == len(data)
