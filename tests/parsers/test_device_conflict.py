"""Texts that say: this is on one device and that on another. Each form's devices and subject."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.parsers import device_conflict
from tests.parsers.conftest import (
    DRESSED,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
    told,
)

OUT_TENSOR = "RuntimeError: Expected out tensor to have device cuda:0, but got cpu instead\n"
OUT_TENSOR_TOLD = {
    "is": "DeviceConflict",
    "form": "out-tensor",
    "wanted": "cuda:0",
    "found": "cpu",
}
_CONSTRUCTOR = "[E1119 16:44:43.826121120 shim_common.cpp:403] Exception in aoti_torch: "

#: the text, its form, the device wanted, the device found, what is on it
FORMS: tuple[tuple[str, str, str | None, str | None, str | None], ...] = (
    (
        _CONSTRUCTOR + "Specified device cuda:1 does not match device of data cuda:0",
        "data",
        "cuda:1",
        "cuda:0",
        None,
    ),
    (
        _CONSTRUCTOR + "The specified pointer resides on host memory and is not registered with"
        " any CUDA device.",
        "host-pointer",
        "cuda",
        "cpu",
        None,
    ),
    (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two"
        " devices, cuda:0 and cpu! (when checking argument for argument mat1 in method"
        " wrapper_CUDA_addmm)",
        "same-device",
        "cuda:0",
        "cpu",
        "mat1",
    ),
    (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two"
        " devices, cpu and cuda:0!",
        "same-device",
        "cuda:0",
        "cpu",
        None,
    ),
    (
        "Expected all tensors to be on the same device, but got mat1 is on cpu, different from"
        " other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)",
        "same-device",
        "cuda:0",
        "cpu",
        "mat1",
    ),
    (
        "got index is on cuda:1, different from other tensors on cuda:0",
        "same-device",
        "cuda:0",
        "cuda:1",
        "index",
    ),
    (
        "Tensor on device meta is not on the expected device cpu!",
        "same-device",
        "meta",
        "cpu",
        None,
    ),
    (
        "Error: Mixed-device constants are only supported when the secondary device is CPU."
        " Constant 'linear_weight' was compiled for a non-CPU device. Hint: This can happen",
        "mixed-constants",
        None,
        "cpu",
        "linear_weight",
    ),
    (
        "RuntimeError: update_constant_buffer: constant 'w' is on device type 14 but expected"
        " device type 0",
        "constant",
        "cpu",
        "meta",
        "w",
    ),
    ("RuntimeError: Incorrect device passed to aoti_runner_cpu", "runner", "cpu", None, None),
    ("RuntimeError: Unsupported device key found: cuda", "no-runner", "cuda", None, None),
    ("RuntimeError: Unsupported device found: xpu", "no-runner", "xpu", None, None),
    (
        "RuntimeError: Cannot load AOTInductor package for device 'cuda' because CUDA is not"
        " available in this process.",
        "no-runner",
        "cuda",
        None,
        None,
    ),
    (
        "AttributeError: module 'torch._C._aoti' has no attribute 'AOTIModelContainerRunnerCuda'."
        " Did you mean: 'AOTIModelContainerRunnerCpu'?",
        "no-runner-class",
        None,
        "cuda",
        None,
    ),
    ("AssertionError: Torch not compiled with CUDA enabled", "no-backend", "cuda", None, None),
    (
        "RuntimeError: Found no NVIDIA driver on your system. Please check",
        "no-backend",
        "cuda",
        None,
        None,
    ),
    (
        "ValueError: Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)",
        "triton-pointer",
        None,
        "cpu",
        "Pointer argument (at 0)",
    ),
    (
        "RuntimeError: Tensor for argument #2 'mat2' is on CPU, but expected it to be on GPU"
        " (while checking arguments for mm)",
        "argument",
        "cuda",
        "cpu",
        "mat2",
    ),
    (
        "Tensor for 'out' is on CPU, Tensor for argument #1 'self' is on CPU, but expected them to"
        " be on GPU (while checking arguments for addmm)",
        "argument",
        "cuda",
        "cpu",
        "self",
    ),
    (
        "RuntimeError: Tensor for argument input is on cpu but expected on mps",
        "argument",
        "mps",
        "cpu",
        "input",
    ),
    (
        "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor)"
        " should be the same",
        "tensor-type",
        "cuda",
        "cpu",
        "weight",
    ),
    (
        "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor"
        " (cpu)",
        "indices",
        "cpu",
        None,
        "indices",
    ),
    (
        "RuntimeError: Tensor device mismatch! Expected: cpu, Got: cuda:0",
        "metadata",
        "cpu",
        "cuda:0",
        None,
    ),
)


@pytest.mark.parametrize(("text", "form", "wanted", "found", "subject"), FORMS)
def test_form_gives_its_devices_and_subject(
    text: str, form: str, wanted: str | None, found: str | None, subject: str | None
) -> None:
    fields = {"form": form, "wanted": wanted, "found": found, "subject": subject}
    known = {name: value for name, value in fields.items() if value is not None}
    assert told(one(text + "\n", device_conflict)) == {"is": "DeviceConflict", **known}


@DRESSED
def test_dress_of_the_line_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(OUT_TENSOR), device_conflict)) == OUT_TENSOR_TOLD


def test_wrapped_types_of_a_convolution_are_not_guessed() -> None:
    text = "RuntimeError: Input type (torch.FloatTensor) and weight type\n(torch.cuda.FloatTensor)"
    assert events(text + " should be the same\n", device_conflict) == []


def test_message_told_by_a_log_line_and_an_exception_is_one_event() -> None:
    event = one(f"{OUT_TENSOR}step\n{OUT_TENSOR}", device_conflict)
    assert (event.count, event.place.line, event.last and event.last.line) == (2, 1, 3)


def test_ranks_are_told_apart() -> None:
    text = f"[rank0]: {OUT_TENSOR}[rank1]: {OUT_TENSOR}"
    assert [event.rank for event in events(text, device_conflict)] == [0, 1]


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", device_conflict) == ((), 0, {}, ())


@pytest.mark.parametrize(
    "text",
    [
        OUT_TENSOR,
        "Expected all tensors to be on the same device, but got mat1 is on cpu, different from"
        " other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)\n",
        "Tensor for argument #2 'mat2' is on CPU, but expected it to be on GPU (while checking\n",
    ],
    ids=["out-tensor", "same-device", "argument"],
)
def test_device_cut_inside_its_name_is_not_told(text: str) -> None:
    found = [told(event) for event in every_cut(text, device_conflict)]
    named = {event.get("wanted") for event in found} | {event.get("found") for event in found}
    assert named <= {None, "cpu", "cuda", "cuda:0"}


def test_cut_constant_invents_no_device() -> None:
    text = "constant 'w' is on device type 14 but expected device type 0\n"
    found = {told(event).get("found") for event in every_cut(text, device_conflict)}
    assert found <= {"meta"}


@pytest.mark.parametrize(
    "text",
    [
        "Expected out tensor to have dtype float, but got double instead\n",
        "RuntimeError: Input type (float) and bias type (c10::Half) should be the same\n",
        "Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the"
        " same\n",
        '  TORCH_CHECK(false, "Specified device ", d, " does not match device of data ", e);\n',
        '    raise AssertionError("Torch not compiled with CUDA enabled")\n',
        "Unsupported device found: my-fpga\n",
        "CUDA error: no kernel image is available for execution on the device\n",
        "skipping cudagraphs due to multiple devices: device(type='cuda', index=1)\n",
        WRAPPER_CPP,
    ],
    ids=[
        "out-dtype",
        "bias-dtype",
        "weight-dtype",
        "cpp-source",
        "python-source",
        "other-program",
        "no-kernel-image",
        "cudagraphs",
        "wrapper",
    ],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, device_conflict) == []


@pytest.mark.parametrize(
    "text",
    [
        '    if "Expected out tensor to have device cuda:0, but got cpu instead" in str(error):\n',
        "    raise AssertionError('Torch not compiled with CUDA enabled')\n",
        '    with pytest.raises(RuntimeError, match="Unsupported device key found: cuda"):\n',
    ],
    ids=["if", "single-quoted", "raises"],
)
def test_code_that_quotes_a_message_gives_nothing(text: str) -> None:
    assert events(text, device_conflict) == []


@settings(max_examples=80, deadline=None)
@given(around(*device_conflict.ANCHORS, b"cuda:0", b"cpu", b"device type 1", b" is on "))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, device_conflict).size == len(data)
