"""Debugging flags: on, off or unknown, and on which line that rests."""

from __future__ import annotations

import pytest

from aoti_logscan.advice import flags, launches_block, tools_used
from aoti_logscan.events import Event, FlagSeen, GpuError, InputCheck, Place
from aoti_logscan.report import Evidence
from tests.parsers.conftest import events

NAMES = (
    "AOTI_RUNTIME_CHECK_INPUTS",
    "TORCHINDUCTOR_NAN_ASSERTS",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "CUDA_LAUNCH_BLOCKING",
    "AMD_SERIALIZE_KERNEL",
    "HIP_LAUNCH_BLOCKING",
    "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER",
    "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT",
    "TORCH_LOGS",
    "TORCH_TRACE",
    "TORCH_SHOW_CPP_STACKTRACES",
    "TORCH_SYMBOLIZE_MODE",
    "INDUCTOR_PROVENANCE",
    "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE",
    "PYTORCH_USE_CUDA_DSA",
)
COMPILE_TIME = {
    "TORCHINDUCTOR_NAN_ASSERTS",
    "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER",
    "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT",
    "INDUCTOR_PROVENANCE",
    "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE",
}
PLACE = Place("run.log", 3, 70, "the line")
HELP = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace"
    " below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)
DSA = "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
IMA = "RuntimeError: CUDA error: an illegal memory access was encountered\n"


def _state(name: str, found: list[Event]) -> str:
    (flag,) = [flag for flag in flags(found) if flag.name == name]
    return flag.state


def _seen(name: str, value: str) -> FlagSeen:
    return FlagSeen(place=PLACE, end=90, name=name, value=value)


def test_every_flag_of_the_table_is_unknown_without_evidence() -> None:
    effects = {name: "compile" if name in COMPILE_TIME else "run" for name in NAMES}
    assert [(flag.name, flag.state, flag.takes_effect, flag.evidence) for flag in flags([])] == [
        (name, "unknown", effects[name], None) for name in NAMES
    ]


def test_every_flag_says_what_it_does_and_what_it_costs() -> None:
    found = flags([])
    assert len({(flag.does, flag.name.startswith(("AMD", "HIP"))) for flag in found}) > 10
    assert all(len(flag.does.split()) > 4 and len(flag.costs.split()) > 2 for flag in found)
    compiled = [flag for flag in found if flag.takes_effect == "compile"]
    assert all(flag.costs.startswith("a new compilation") for flag in compiled)


def test_tool_at_work_is_told_by_its_output_or_its_setting() -> None:
    block = (
        "========= Invalid __global__ read of size 4 bytes\n=========     at triton_poi_0+0x3d0\n"
    )
    assert tools_used(events(block)) == {"compute-sanitizer"}
    assert tools_used(events("$ CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 python serve.py\n")) == {
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION"
    }
    assert tools_used(events("$ CUDA_ENABLE_COREDUMP_ON_EXCEPTION=0 python serve.py\n")) == set()
    assert tools_used(events("$ CUDA_LAUNCH_BLOCKING=1 python serve.py\n")) == set()
    assert tools_used(events("Fatal Python error: Segmentation fault\n")) == {"faulthandler"}
    assert tools_used(events("Segmentation fault (core dumped)\n")) == set()


@pytest.mark.parametrize("name", NAMES)
def test_flag_that_was_set_is_on_with_its_line(name: str) -> None:
    (flag,) = [flag for flag in flags([_seen(name, "1")]) if flag.state != "unknown"]
    assert (flag.name, flag.state) == (name, "on")
    assert flag.evidence == Evidence("run.log", 3, 70, "the line")


@pytest.mark.parametrize(
    ("value", "state"),
    [("0", "off"), ("false", "off"), ("False", "off"), ("", "off"), ("3", "on"), ("+aot", "on")],
)
def test_value_that_a_flag_was_set_to_decides(value: str, state: str) -> None:
    assert _state("AMD_SERIALIZE_KERNEL", [_seen("AMD_SERIALIZE_KERNEL", value)]) == state


def test_empty_value_switches_the_input_checks_on() -> None:
    found: list[Event] = [_seen("AOTI_RUNTIME_CHECK_INPUTS", "")]
    assert _state("AOTI_RUNTIME_CHECK_INPUTS", found) == "on"


def test_name_that_is_not_in_the_table_is_left_out() -> None:
    assert [flag.state for flag in flags([_seen("OMP_NUM_THREADS", "1")])] == ["unknown"] * 15


# inferred


def test_help_about_asynchronous_errors_says_that_launches_did_not_block() -> None:
    assert _state("CUDA_LAUNCH_BLOCKING", events(IMA + HELP + DSA)) == "off"


def test_missing_help_about_asynchronous_errors_says_that_launches_blocked() -> None:
    assert _state("CUDA_LAUNCH_BLOCKING", events(IMA + DSA)) == "on"


def test_report_without_any_help_says_nothing() -> None:
    assert _state("CUDA_LAUNCH_BLOCKING", events(IMA)) == "unknown"


def test_help_of_hip_is_about_its_own_flag() -> None:
    found = events((IMA + HELP + DSA).replace("CUDA_LAUNCH_BLOCKING=1", "AMD_SERIALIZE_KERNEL=3"))
    assert _state("AMD_SERIALIZE_KERNEL", found) == "off"
    assert _state("CUDA_LAUNCH_BLOCKING", found) == "unknown"


def test_text_of_an_input_check_says_that_checks_were_on() -> None:
    found = events("Error: input_handles[0]: unmatched dim value at 1, expected: 8, but got: 9\n")
    assert _state("AOTI_RUNTIME_CHECK_INPUTS", found) == "on"


def test_size_check_of_an_input_says_that_checks_were_on() -> None:
    text = "Error: expected size 4==5, stride 1==1 at dim=0\nError in op: {}\n"
    assert _state("AOTI_RUNTIME_CHECK_INPUTS", events(text.format("input"))) == "on"
    other = events(text.format("torch.ops.mylib.foo.default"))
    assert _state("AOTI_RUNTIME_CHECK_INPUTS", other) == "unknown"


def test_number_of_inputs_is_checked_always_and_says_nothing() -> None:
    found: list[Event] = [InputCheck(place=PLACE, end=90, check="count", property="count")]
    assert _state("AOTI_RUNTIME_CHECK_INPUTS", found) == "unknown"


def test_captured_traceback_says_that_cpp_stacktraces_were_on() -> None:
    captured = events("C++ CapturedTraceback:\n#4 f(int) from a.cpp:3\n")
    assert _state("TORCH_SHOW_CPP_STACKTRACES", captured) == "on"


def test_captured_traceback_below_the_exception_says_it_too() -> None:
    raised = "Exception raised from f at a.cpp:3 (most recent call first):\n"
    captured = events(raised + "C++ CapturedTraceback:\n#4 f(int) from a.cpp:3\n")
    assert _state("TORCH_SHOW_CPP_STACKTRACES", captured) == "on"
    plain = events(raised + "frame #0: f() + 0x1 (0x1 in /a.so)\n")
    assert _state("TORCH_SHOW_CPP_STACKTRACES", plain) == "unknown"


# what counts most


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_flag_set_by_hand_counts_more_than_what_is_inferred(order: list[int]) -> None:
    found: list[Event] = [*events(IMA + HELP + DSA), _seen("CUDA_LAUNCH_BLOCKING", "1")]
    assert _state("CUDA_LAUNCH_BLOCKING", [found[index] for index in order]) == "on"


def test_first_setting_of_a_flag_counts() -> None:
    found: list[Event] = [_seen("TORCH_LOGS", "0"), _seen("TORCH_LOGS", "+aot")]
    assert _state("TORCH_LOGS", found) == "off"


def test_advice_in_the_help_is_no_setting() -> None:
    assert _state("CUDA_LAUNCH_BLOCKING", events(HELP)) == "unknown"


# blocking launches


def _error(asynchronous: bool | None, runtime: str = "cuda") -> GpuError:
    return GpuError(
        place=PLACE,
        end=90,
        runtime="hip" if runtime == "hip" else "cuda",
        message="misaligned address",
        reported_by="torch",
        asynchronous=asynchronous,
    )


@pytest.mark.parametrize(
    ("found", "blocking"),
    [
        ([], None),
        ([_error(None)], None),
        ([_error(True)], False),
        ([_error(False)], True),
        ([_error(False, "hip")], True),
        ([_error(True, "hip")], False),
        ([_error(True), _seen("HIP_LAUNCH_BLOCKING", "1")], True),
        ([_seen("TORCH_LOGS", "1")], None),
    ],
)
def test_launches_block_where_a_flag_says_so(found: list[Event], blocking: bool | None) -> None:
    assert launches_block(flags(found)) is blocking
