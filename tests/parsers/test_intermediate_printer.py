"""The intermediate value printer: launch marks of levels 1 to 3, values, and what is no mark."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from aoti_logscan.events import Event, LaunchMark, ModelInput, PrinterCut, Values
from aoti_logscan.parsers import intermediate_printer
from aoti_logscan.scan import WINDOW, Scanner
from tests.parsers.conftest import (
    DRESSED,
    DRESSES,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
    told,
)

NAMES = (
    "[ before_launch: cpp_fused_0 ]\n"
    "[ after_launch: cpp_fused_0 ]\n"
    "[ before_launch: aoti_torch_cpu_addmm_out ]\n"
)
STATISTICS = (
    "Number of elements: 32\n"
    "Dtype: float32\n"
    "Mean value: -0.228991\n"
    "Min value: -2.21307\n"
    "Max value: 3.05967\n"
    "Device: cpu\n"
    "Size: [4, 8]\n"
    "Stride: [8, 1]\n"
    "Layout: Strided\n"
    "Is contiguous: 1\n"
    "Requires grad: 0\n"
    "\n"
)
PRINTED = (
    " 0.7899  3.0597 -0.7564  0.5529 -1.6232 -0.6619 -2.1353 -1.4366\n"
    "-0.3020  0.3982  0.2428 -1.0265 -0.5978 -0.9629 -0.7748 -0.3718\n"
    "-1.5621 -0.0812 -1.1273 -0.0528  0.7521  1.6475  0.3770 -2.2131\n"
    "-0.1574 -0.4894 -0.7193  0.5909 -0.4218  0.7454  1.5834 -0.5941\n"
    "[ CPUFloatType{4,8} ]\n"
)
HEAD = "[  before_launch - aoti_torch_cpu_addmm_out - buf0  ]:\n"
BLOCK = HEAD + PRINTED + STATISTICS
VALUES = Values(
    dtype="float32",
    device="cpu",
    size=(4, 8),
    stride=(8, 1),
    numel=32,
    min=-2.21307,
    max=3.05967,
    mean=-0.228991,
    nan=False,
    inf=False,
)
MARK = {
    "is": "LaunchMark",
    "phase": "before",
    "kernel": "aoti_torch_cpu_addmm_out",
    "level": 2,
    "argument": "buf0",
}
CUT = {"is": "PrinterCut", "mark": "before_launch - aoti_torch_cpu_addmm_out - buf0"}
#: three values of a tensor that a scale and slices make hard to pass over
SLICES = (
    "(1,.,.) = \n"
    " 0.0000  0.1429\n"
    " 0.2857  0.4286\n"
    "\n"
    "(2,.,.) = \n"
    " 0.5714  0.7143\n"
    " 0.8571  1.0000\n"
    "[ CPUFloatType{2,2,2} ]\n"
)
COLUMNS = (
    "Columns 1 to 10100000 *\n"
    "-1.1258 -1.1524 -0.2506 -0.4339  0.8487  0.6920 -0.3160 -2.1152  0.3223 -1.2633\n"
    "\n"
    "Columns 11 to 12100000 *\n"
    " 0.3500  0.3081\n"
    "[ CPUFloatType{1,12} ]\n"
)
#: numbers of a Triton kernel end in a backslash and an n, and run into the next tensor's line
NUMBERS = (
    r"[  before_launch - triton_per_fused_index_sin_sum_0 - s77: 100  ]\n"
    r"[  before_launch - triton_per_fused_index_sin_sum_0 - 128L: -128  ]\n"
)
COMPLEX = (
    "[  before_launch - cpp_fused_mul_0 - buf1  ]:\n"
    " 1\n"
    " 3\n"
    "[ CPUComplexFloatType{2} ]\n"
    "Number of elements: 2\n"
    "Dtype: c10::complex<float>\n"
    "Mean value: (2,0.5)\n"
    "[INFO] Aten built-in function `min_all_cuda/max_all_cuda` not implemented for current dtype:"
    " c10::complex<float>. Printing out the whole value:\n"
    " 1\n"
    " 3\n"
    "[ CPUComplexFloatType{2} ]\n"
    "Device: cpu\n"
    "Size: [2]\n"
    "Stride: [1]\n"
    "Layout: Strided\n"
    "Is contiguous: 1\n"
    "Requires grad: 0\n"
    "\n"
)
PYTHON = (
    "inductor: before_launch - extern_kernels.addmm - arg1_1\n"
    "Parameter containing:\n"
    "tensor([-0.2996, -0.0862, -0.2572,  0.0375, -0.1364,  0.1884,  0.2074,  0.0357],\n"
    "       requires_grad=True)\n"
    "Number of elements:  8\n"
    "Size:  torch.Size([8])\n"
    "Dtype:  torch.float32\n"
    "Mean:  -0.03880126401782036\n"
    "Min:  -0.2995744049549103\n"
    "Max:  0.2073947787284851\n"
    "Std:  0.18938326835632324\n"
)
SAVED = (
    "aoti_torch_save_tensor_handle: Saved tensor to /home/dev/run/tmp/aoti_torchbefore_launch_"
    "cpp_fused_0_buf0_cpu.pt\n"
)


def _marks(text: str | bytes) -> list[tuple[str, str, str | None]]:
    found = events(text, intermediate_printer)
    return [_mark(event) for event in found if isinstance(event, LaunchMark)]


def _mark(event: Event) -> tuple[str, str, str | None]:
    assert isinstance(event, LaunchMark)
    return event.phase, event.kernel, event.argument


def _values(text: str | bytes) -> Values | None:
    event = one(text, intermediate_printer)
    assert isinstance(event, (LaunchMark, ModelInput))
    return event.values


# level 3: names


def test_names_give_a_mark_each_in_order() -> None:
    assert _marks(NAMES) == [
        ("before", "cpp_fused_0", None),
        ("after", "cpp_fused_0", None),
        ("before", "aoti_torch_cpu_addmm_out", None),
    ]


def test_mark_of_a_name_has_its_level_place_and_no_values() -> None:
    event = events(NAMES, intermediate_printer)[1]
    assert told(event) == {
        "is": "LaunchMark",
        "phase": "after",
        "kernel": "cpp_fused_0",
        "level": 3,
    }
    assert (event.place.line, event.place.offset) == (2, 31)
    assert event.place.text == "[ after_launch: cpp_fused_0 ]"
    assert NAMES[31 : event.end].rstrip("\n") == event.place.text


def test_names_on_one_line_are_told_apart() -> None:
    assert _marks(NAMES.replace("\n", "")) == _marks(NAMES)


@DRESSED
def test_dress_of_names_changes_nothing(dress: Callable[[str], str]) -> None:
    assert _marks(dress(NAMES)) == _marks(NAMES)


def test_equal_marks_are_not_folded() -> None:
    assert len(events("[ before_launch: k ]\n" * 3, intermediate_printer)) == 3


# level 2: blocks


def test_block_gives_its_mark_and_statistics() -> None:
    event = one(BLOCK, intermediate_printer)
    assert told(event) == {**MARK, "values": VALUES}
    assert (event.place.line, event.place.text) == (1, HEAD.rstrip())
    assert BLOCK[: event.end].rstrip() == BLOCK.rstrip()


def test_block_of_more_values_than_are_printed_has_its_statistics() -> None:
    assert _values(HEAD + STATISTICS) == VALUES


def test_input_of_the_model_is_no_mark() -> None:
    text = "[  aoti_model_inputs - arg3_1  ]:\n" + PRINTED + STATISTICS
    assert told(one(text, intermediate_printer)) == {
        "is": "ModelInput",
        "name": "arg3_1",
        "values": VALUES,
    }


def test_blocks_of_a_run_keep_their_order_and_their_own_values() -> None:
    other = BLOCK.replace("Max value: 3.05967", "Max value: 9").replace("before", "after")
    first, second = events(BLOCK + other, intermediate_printer)
    assert isinstance(first, LaunchMark)
    assert isinstance(second, LaunchMark)
    assert first.values == VALUES
    assert second.phase == "after"
    assert second.values is not None
    assert second.values.max == 9.0


def test_head_without_a_block_takes_no_statistics_of_the_next() -> None:
    first, second = events(HEAD + BLOCK, intermediate_printer)
    assert isinstance(first, LaunchMark)
    assert isinstance(second, LaunchMark)
    assert (first.values, second.values) == (None, VALUES)


@pytest.mark.parametrize("printed", [SLICES, COLUMNS], ids=["slices", "columns"])
def test_printed_values_are_passed_over(printed: str) -> None:
    assert _values(HEAD + printed + STATISTICS) == VALUES


@DRESSED
def test_dress_of_a_block_changes_no_mark(dress: Callable[[str], str]) -> None:
    assert _marks(dress(BLOCK)) == [("before", "aoti_torch_cpu_addmm_out", "buf0")]


@DRESSED
def test_dress_of_a_block_changes_no_value(dress: Callable[[str], str]) -> None:
    assert _values(dress(BLOCK)) == VALUES


@DRESSED
def test_dress_of_a_block_of_slices_changes_no_value(dress: Callable[[str], str]) -> None:
    assert _values(dress(HEAD + SLICES + STATISTICS)) == VALUES


def test_blocks_of_two_ranks_whose_lines_alternate_are_told_apart() -> None:
    other = BLOCK.replace("-2.21307", "-7")
    lines = zip(BLOCK.splitlines(), other.splitlines(), strict=True)
    text = "".join(f"[rank0]: {left}\n[rank1]: {right}\n" for left, right in lines)
    first, second = events(text, intermediate_printer)
    assert isinstance(first, LaunchMark)
    assert isinstance(second, LaunchMark)
    assert (first.rank, first.values) == (0, VALUES)
    assert (second.rank, second.values) == (1, msgspec.structs.replace(VALUES, min=-7.0))


@pytest.mark.parametrize("stage", ["head", "values", "statistics"])
def test_block_across_the_end_of_a_window_is_whole(stage: str) -> None:
    before = {"head": 20, "values": len(HEAD) + 100, "statistics": len(HEAD + PRINTED) + 90}[stage]
    filler = f"{'x' * 99}\n" * (WINDOW // 100 + 1)
    text = filler[-(WINDOW - before) :] + BLOCK + "done\n" + filler
    event = one(text, intermediate_printer)
    assert told(event) == {**MARK, "values": VALUES}
    assert event.place.offset == WINDOW - before


def test_mark_across_the_end_of_a_window_is_one() -> None:
    mark = "[ before_launch: cpp_fused_0 ]\n"
    for inside in range(len(mark) + 1):
        text = "x" * (WINDOW - inside - 1) + "\n" + mark + "y\n" * 10
        assert _marks(text) == [("before", "cpp_fused_0", None)]


# values


@pytest.mark.parametrize(
    ("least", "most", "mean", "nan", "inf"),
    [
        ("-nan", "-nan", "nan", True, False),
        ("nan", "nan", "-nan", True, False),
        ("inf", "inf", "inf", False, True),
        ("-inf", "3", "-inf", False, True),
        ("-inf", "inf", "nan", True, True),
        ("-1e+38", "3.0722e-41", "0", False, False),
    ],
)
def test_nan_and_inf_are_told_and_are_no_number(
    least: str, most: str, mean: str, nan: bool, inf: bool
) -> None:
    text = BLOCK.replace("-2.21307", least).replace("3.05967", most)
    values = _values(text.replace("-0.228991", mean))
    assert values is not None
    assert (values.nan, values.inf) == (nan, inf)
    finite = [None if "n" in raw else float(raw) for raw in (least, most, mean)]
    assert [values.min, values.max, values.mean] == finite


def test_tensor_of_no_elements_has_no_statistics() -> None:
    text = (
        HEAD + "[ CPUFloatType{0,3} ]\nNumber of elements: 0\nDtype: float32\nDevice: cpu\n"
        "Size: [0, 3]\nStride: [3, 1]\nLayout: Strided\nIs contiguous: 1\nRequires grad: 0\n\n"
    )
    expected = Values(dtype="float32", device="cpu", size=(0, 3), stride=(3, 1), numel=0)
    assert _values(text) == expected


def test_tensor_of_no_dimensions_has_an_empty_size() -> None:
    text = BLOCK.replace("[4, 8]", "[]").replace("[8, 1]", "[]").replace(" 32", " 1")
    values = _values(text)
    assert values is not None
    assert (values.size, values.stride, values.numel) == ((), (), 1)


@pytest.mark.parametrize(
    ("printed", "dtype"),
    [
        ("float32", "float32"),
        ("bfloat16", "bfloat16"),
        ("double", "float64"),
        ("long int", "int64"),
        ("int", "int32"),
        ("short int", "int16"),
        ("signed char", "int8"),
        ("unsigned char", "uint8"),
        ("bool", "bool"),
        pytest.param(
            "c10::Float8_e4m3fn",
            "float8_e4m3fn",
        ),
    ],
)
def test_dtype_has_the_name_of_torch(printed: str, dtype: str) -> None:
    values = _values(BLOCK.replace("Dtype: float32", f"Dtype: {printed}"))
    assert values is not None
    assert values.dtype == dtype


@pytest.mark.parametrize("device", ["cpu", "cuda:0", "xpu:12"])
def test_device_is_as_printed(device: str) -> None:
    values = _values(BLOCK.replace("Device: cpu", f"Device: {device}"))
    assert values is not None
    assert values.device == device


def test_complex_tensor_has_its_type_and_count() -> None:
    values = _values(COMPLEX)
    assert values is not None
    assert (values.dtype, values.numel, values.min, values.max) == ("complex64", 2, None, None)


def test_complex_tensor_has_its_device_size_and_stride() -> None:
    values = _values(COMPLEX)
    assert values is not None
    assert (values.device, values.size, values.stride) == ("cpu", (2,), (1,))


def test_block_that_the_buffer_cut_after_its_type_keeps_what_came() -> None:
    mark, cut = events(BLOCK[: BLOCK.index("Mean value")], intermediate_printer)
    assert told(mark) == {**MARK, "values": Values(dtype="float32", numel=32)}
    assert told(cut) == CUT


def test_error_in_the_middle_of_the_statistics_does_not_stand_in_for_one() -> None:
    text = BLOCK[: BLOCK.index("Min value")] + "Error: CUDA driver error: misaligned address\n"
    assert _values(text) == Values(dtype="float32", numel=32, mean=-0.228991, nan=False, inf=False)


# level 2: numbers


def test_numbers_that_share_a_line_give_a_mark_each() -> None:
    assert _marks(NUMBERS) == [
        ("before", "triton_per_fused_index_sin_sum_0", "s77"),
        ("before", "triton_per_fused_index_sin_sum_0", "128L"),
    ]


def test_number_is_its_own_statistics() -> None:
    _, event = events(NUMBERS, intermediate_printer)
    assert isinstance(event, LaunchMark)
    assert event.values == Values(
        numel=1, min=-128.0, max=-128.0, mean=-128.0, nan=False, inf=False
    )


def test_tensor_whose_head_shares_a_line_with_numbers_is_a_mark() -> None:
    assert _marks(NUMBERS + BLOCK)[2:] == [("before", "aoti_torch_cpu_addmm_out", "buf0")]


def test_tensor_whose_head_shares_a_line_with_numbers_has_its_values() -> None:
    *_, event = events(NUMBERS + BLOCK, intermediate_printer)
    assert isinstance(event, LaunchMark)
    assert event.values == VALUES


@DRESSED
def test_dress_of_numbers_changes_nothing(dress: Callable[[str], str]) -> None:
    assert _marks(dress(NUMBERS + "\n")) == _marks(NUMBERS)


# level 2: the Python wrapper


def test_block_of_the_python_wrapper_gives_its_mark_and_statistics() -> None:
    assert told(one(PYTHON, intermediate_printer)) == {
        "is": "LaunchMark",
        "phase": "before",
        "kernel": "extern_kernels.addmm",
        "level": 2,
        "argument": "arg1_1",
        "values": Values(
            dtype="float32",
            size=(8,),
            numel=8,
            min=-0.2995744049549103,
            max=0.2073947787284851,
            mean=-0.03880126401782036,
            nan=False,
            inf=False,
        ),
    }


def test_blocks_of_the_python_wrapper_around_a_launch() -> None:
    text = PYTHON + PYTHON.replace("before", "after") + "tensor([1.5570, 3.3067])\n" + PYTHON
    assert [phase for phase, _, _ in _marks(text)] == ["before", "after", "before"]


@DRESSED
def test_dress_of_a_python_block_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(PYTHON), intermediate_printer)) == told(one(PYTHON, intermediate_printer))


def test_number_of_the_python_wrapper_takes_no_statistics_of_another() -> None:
    text = "inductor: before_launch - extern_kernels.mm - s0\nValue:  12\n" + PYTHON
    first, second = events(text, intermediate_printer)
    assert told(first) == {
        "is": "LaunchMark",
        "phase": "before",
        "kernel": "extern_kernels.mm",
        "level": 2,
        "argument": "s0",
    }
    assert _mark(second) == ("before", "extern_kernels.addmm", "arg1_1")


# level 1


@pytest.mark.parametrize("phase", ["before", "after"])
def test_saved_tensor_has_its_path_phase_and_names(phase: str) -> None:
    path = f"/home/dev/run/tmp/aoti_torch{phase}_launch_cpp_fused_0_buf0_cpu.pt"
    assert told(one(SAVED.replace("before", phase), intermediate_printer)) == {
        "is": "SavedTensor",
        "path": path,
        "phase": phase,
        "names": "cpp_fused_0_buf0_cpu",
    }


def test_saved_tensor_in_a_folder_of_its_own() -> None:
    text = SAVED.replace("aoti_torchbefore", "aoti_torch/before")
    event: Any = one(text, intermediate_printer)
    assert event.path == "/home/dev/run/tmp/aoti_torch/before_launch_cpp_fused_0_buf0_cpu.pt"
    assert event.names == "cpp_fused_0_buf0_cpu"


@DRESSED
def test_dress_of_a_saved_tensor_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(SAVED), intermediate_printer)) == told(one(SAVED, intermediate_printer))


def test_folder_that_is_created_is_no_saved_tensor() -> None:
    text = (
        "aoti_torch_save_tensor_handle: Path does not exist, creating it..."
        '"/home/dev/run/tmp/aoti_torch"\n'
    )
    assert events(text, intermediate_printer) == []


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", intermediate_printer) == ((), 0, {}, ())


@pytest.mark.parametrize("text", [NAMES, BLOCK, NUMBERS, PYTHON], ids=["3", "2", "numbers", "jit"])
def test_cut_at_any_byte_invents_no_kernel(text: str) -> None:
    found = every_cut(text, intermediate_printer)
    kernels = {_mark(event)[:2] for event in found if isinstance(event, LaunchMark)}
    assert kernels == {mark[:2] for mark in _marks(text)}


def test_block_cut_at_any_byte_invents_no_number() -> None:
    cut = every_cut(BLOCK, intermediate_printer)
    found = [event.values for event in cut if isinstance(event, LaunchMark)]
    for name in ("dtype", "device", "size", "stride", "numel", "min", "max", "mean"):
        told_values = {getattr(values, name) for values in found if values is not None}
        assert told_values <= {None, getattr(VALUES, name)}


# a log that ends in the middle of a block


def _cuts(text: str | bytes) -> list[str | None]:
    found = events(text, intermediate_printer)
    return [event.mark for event in found if isinstance(event, PrinterCut)]


BLOCKS = pytest.mark.parametrize(
    "block",
    [
        BLOCK,
        HEAD + SLICES + STATISTICS,
        HEAD + COLUMNS + STATISTICS,
        COMPLEX,
        PYTHON,
        "[  aoti_model_inputs - arg0_1  ]:\n" + PRINTED + STATISTICS,
    ],
    ids=["values", "slices", "columns", "complex", "jit", "input"],
)


@BLOCKS
@pytest.mark.parametrize("before", ["", BLOCK], ids=["alone", "below another"])
def test_log_that_ends_anywhere_in_a_block_is_cut(before: str, block: str) -> None:
    head = block.split("\n", 1)[0]
    whole = block.rstrip("\n").rfind("\n") + 6
    kept = [block[:end] for end in range(30, whole)]
    assert [one for one in kept if len(_cuts(before + one)) != 1] == []
    named = [_cuts(before + one)[0] for one in kept if len(one) > len(head)]
    assert set(named) == {head.removeprefix("inductor: ").strip("[]: ")}


@BLOCKS
def test_block_with_its_last_line_is_whole(block: str) -> None:
    assert [_cuts(block.rstrip("\n") + end) for end in ("", "\n", "\n\n")] == [[], [], []]


@pytest.mark.parametrize(
    "below", ["done\n", "\nexit status 0\n", NAMES, "Killed", "[rank1]: step 12\n"]
)
@BLOCKS
def test_block_without_its_end_is_not_cut_where_other_lines_follow(block: str, below: str) -> None:
    kept = block[: block.index("\n", len(block) // 2) + 1]
    assert _cuts(kept) != []
    assert _cuts(kept + below) == []


def test_empty_block_of_python_is_whole() -> None:
    text = PYTHON[: PYTHON.index("Mean")].replace("elements:  8", "elements:  0")
    assert _cuts(text) == []


def test_head_that_the_log_ends_in_is_cut_and_names_nothing() -> None:
    assert _cuts(NAMES + "[ before_launch: cpp_fu") == [None]
    assert _cuts("[  before_launch - triton_0 - s77: 1") == [None]
    assert _cuts("[  before_launch - triton_0 - s77: 1\n") == []


@pytest.mark.parametrize("text", ['printf("[  before_launch - k', "see inductor: before_launch"])
def test_code_or_prose_that_the_log_ends_in_is_no_head(text: str) -> None:
    assert events(text, intermediate_printer) == []


@pytest.mark.parametrize(
    "dress",
    [dress for name, dress in DRESSES.items() if name not in ("json", "repr")],
    ids=[name for name in DRESSES if name not in ("json", "repr")],
)
def test_dress_of_a_cut_block_changes_nothing(dress: Callable[[str], str]) -> None:
    kept = BLOCK[: BLOCK.index("Size")]
    assert _cuts(dress(kept)) == _cuts(kept)


def test_cut_block_of_a_log_stored_line_by_line_is_told() -> None:
    kept = BLOCK[: BLOCK.index("Size")].splitlines(keepends=True)
    stored = "".join(json.dumps({"log": line, "stream": "stdout"}) + "\n" for line in kept)
    assert _cuts(stored) == [CUT["mark"]]


class _Breaking:
    """A stream that breaks off behind these bytes."""

    problem = "reading stopped: input/output error"

    def __init__(self, data: bytes) -> None:
        self._rest = io.BytesIO(data)

    def readinto(self, view: memoryview) -> int:
        return self._rest.readinto(view)


def test_block_that_reading_stopped_in_is_not_cut() -> None:
    stream = _Breaking(BLOCK[: BLOCK.index("Size")].encode())
    scanned = Scanner((intermediate_printer,), ()).scan("run.log", stream)
    assert [type(event) for event in scanned.events] == [LaunchMark]


def test_blank_lines_below_a_cut_block_are_nothing() -> None:
    kept = BLOCK[: BLOCK.index("Size")].splitlines()
    assert _cuts("".join(f"[rank0]: {line}\n" for line in kept) + "\n\n") == [CUT["mark"]]


def test_cut_block_of_another_writer_below_is_not_judged() -> None:
    kept = BLOCK[: BLOCK.index("Size")]
    mixed = "".join(f"[rank0]: {line}\n" for line in kept.splitlines()) + "[rank1]: step 3\n"
    assert _cuts(mixed) == []


@pytest.mark.parametrize(
    "text",
    [
        'printf("[ before_launch: cpp_fused_0 ]\\n");\n',
        'printf("[  before_launch - triton_0 - s77: %ld  ]", s77); printf("\\\\n");\n',
        'aoti_torch_print_tensor_handle(buf0, "before_launch - cpp_fused_0 - buf0");\n',
        "_print_debugging_tensor_value_info('inductor: before_launch - k - buf0', buf0)\n",
        'aoti_torch_save_tensor_handle(buf0, "buf0", "before_launch", "cpp_fused_0");\n',
        'std::cout << "aoti_torch_save_tensor_handle: Saved tensor to " << path;\n',
        "the marks are named `[ before_launch: cpp_fused_0 ]` and come in pairs\n",
        "call before_launch hooks, then the kernel, then after_launch hooks\n",
        WRAPPER_CPP,
    ],
    ids=[
        "names",
        "number",
        "block",
        "python",
        "save",
        "saved",
        "backquoted",
        "hooks",
        "wrapper",
    ],
)
def test_code_and_prose_that_print_the_words_give_nothing(text: str) -> None:
    assert events(text, intermediate_printer) == []


@pytest.mark.parametrize(
    "text",
    [
        "look for [ before_launch: kernel ] in stdout\n",
        "see inductor: before_launch - K - ARG for the inputs of K\n",
    ],
    ids=["level-3", "python"],
)
def test_sentence_about_marks_gives_nothing(text: str) -> None:
    assert events(text, intermediate_printer) == []


def _docker(text: str) -> str:
    """Lines as a container's log file holds them: one JSON object each."""
    rest = {"stream": "stdout", "time": "2026-02-11T08:09:10.111222333Z"}
    lines = text.splitlines(keepends=True)
    return "".join(json.dumps({"log": line, **rest}) + "\n" for line in lines)


def test_names_in_the_log_file_of_a_container() -> None:
    assert _marks(_docker(NAMES)) == _marks(NAMES)


def test_block_in_the_log_file_of_a_container() -> None:
    assert _marks(_docker(BLOCK)) == _marks(BLOCK)


@settings(max_examples=80, deadline=None)
@given(
    around(
        *intermediate_printer.ANCHORS,
        b"[  before_launch - k - buf0  ]:\n",
        b"Number of elements: 3\n",
        b"Size: [4]\n",
        b"inductor:",
    )
)
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, intermediate_printer).size == len(data)
