"""GPU errors: who reported which error of which runtime, and whether the report came late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from aoti_logscan.events import GpuError
from aoti_logscan.parsers import gpu_error
from tests.parsers.conftest import (
    DRESSED,
    KERNEL_PY,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
    told,
)

IMA = "an illegal memory access was encountered"
SEARCH = (
    "Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com/cuda/cuda-runtime-api/"
    "group__CUDART__TYPES.html for more information.\n"
)
LATE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace"
    " below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)
DSA = "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
UNTRACKED = "Device-side assertion tracking was not enabled by user.\n"
TORCH = f"torch.AcceleratorError: CUDA error: {IMA}\n{SEARCH}{LATE}{DSA}"


def _told(message: str, **more: Any) -> dict[str, Any]:
    fields = {"runtime": "cuda", "reported_by": "torch", "warning": False, **more}
    return {"is": "GpuError", "message": message, **fields}


def test_torch_with_the_asynchronous_help_may_come_late() -> None:
    assert told(one(TORCH, gpu_error)) == _told(IMA, asynchronous=True)


@pytest.mark.parametrize("end", [DSA, UNTRACKED], ids=["dsa", "untracked"])
def test_torch_without_the_asynchronous_line_was_blocking(end: str) -> None:
    text = f"RuntimeError: CUDA error: {IMA}\n{SEARCH}{end}"
    assert told(one(text, gpu_error)) == _told(IMA, asynchronous=False)


def test_torch_without_any_help_tells_nothing_of_launches() -> None:
    assert told(one(f"RuntimeError: CUDA error: {IMA}\n", gpu_error)) == _told(IMA)


def test_help_of_an_error_that_is_never_late_tells_nothing_of_launches() -> None:
    text = "RuntimeError: CUDA error: invalid argument\nFor more detailed error information, run"
    event = one(text + " with CUDA_LOG_FILE=stderr\n" + UNTRACKED, gpu_error)
    assert told(event) == _told("invalid argument")


def test_old_help_glues_its_words() -> None:
    late = LATE.replace("call, so", "call,so").replace("BLOCKING=1", "BLOCKING=1.")
    assert told(one(f"RuntimeError: CUDA error: {IMA}\n{late}", gpu_error)) == _told(
        IMA, asynchronous=True
    )


def test_help_of_hip_makes_the_runtime_hip() -> None:
    late = LATE.replace("CUDA_LAUNCH_BLOCKING=1", "AMD_SERIALIZE_KERNEL=3")
    assert told(one(f"RuntimeError: CUDA error: {IMA}\n{late}", gpu_error)) == _told(
        IMA, runtime="hip", asynchronous=True
    )


def test_record_ends_with_its_help() -> None:
    assert one(TORCH + "\nnext\n", gpu_error).end == len(TORCH) - 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Error: CUDA driver error: {IMA}", _told(IMA, reported_by="driver")),
        ("RuntimeError: CUDA driver error: 700", _told("700", reported_by="driver")),
        (f"RuntimeError: Triton Error [CUDA]: {IMA}", _told(IMA, reported_by="triton")),
        (
            f"RuntimeError: Triton Error [HIP]:  Code: 700, Messsage: {IMA}",
            _told(IMA, runtime="hip", reported_by="triton"),
        ),
        (f"torch.AcceleratorError: HIP error: {IMA}", _told(IMA, runtime="hip")),
        (
            f"x.py:207: UserWarning: HIP warning: {IMA} (Triggered internally at /p/Guard.h:83.)",
            _told(IMA, runtime="hip", warning=True),
        ),
        (
            "[W726 04:33:44.008204649 CUDAEvent.h:57] Warning: CUDA warning: "
            f"{IMA} (function ~CUDAEvent)",
            _told(IMA, warning=True),
        ),
        (
            "[rank3]:[E817 21:06:30.480021775 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID"
            " 0(default_pg) Rank 3] Process group watchdog thread terminated with exception:"
            f" CUDA error: {IMA}",
            _told(IMA, reported_by="nccl-watchdog"),
        ),
        (
            "RuntimeError: XPU error: device lost",
            _told("device lost", runtime="xpu"),
        ),
        ("RuntimeError: L0 runtime error: 70000001", _told("70000001", runtime="xpu")),
        ("CUDA error (csrc/flash_fwd_launch_template.h:180): " + IMA, _told(IMA)),
        (f"CUDA runtime error: {IMA} /src/memory_utils.cu:94", _told(IMA)),
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling"
            " `cublasGemmEx( handle, opa)`",
            _told("CUBLAS_STATUS_EXECUTION_FAILED when calling"),
        ),
    ],
)
def test_report_names_its_reporter(text: str, expected: dict[str, Any]) -> None:
    assert told(one(text + "\n", gpu_error)) == expected


@pytest.mark.parametrize(
    "message",
    [
        IMA,
        "device-side assert triggered",
        "misaligned address",
        "unspecified launch failure",
        "an illegal instruction was encountered",
        "invalid configuration argument",
        "invalid device ordinal",
        "out of memory",
        "too many resources requested for launch",
        "no kernel image is available for execution on the device",
        "device kernel image is invalid",
        "operation not permitted when stream is capturing",
    ],
)
def test_known_message_is_cut_where_it_ends(message: str) -> None:
    assert told(one(f"CUDA error: {message} (700) at x.cu:3\n", gpu_error))["message"] == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"HOST:68:69 [0] misc/strongstream.cc:343 NCCL WARN Cuda failure 700 '{IMA}'",
            _told(IMA),
        ),
        (f"RuntimeError: cuda runtime error (700) : {IMA} at /s/THCStorage.c:147", _told(IMA)),
        (
            f"cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorIllegalAddress: {IMA}",
            _told(IMA),
        ),
        (f"CUDA error in mha.cu(183): {IMA}", _told(IMA)),
        (
            "cuStreamSynchronize returned CUDA_ERROR_ILLEGAL_ADDRESS",
            _told(IMA, reported_by="driver"),
        ),
    ],
)
def test_other_libraries_report_the_same_error(text: str, expected: dict[str, Any]) -> None:
    assert told(one(text + "\n", gpu_error)) == expected


@pytest.mark.parametrize(
    "message", ["misaligned address", "unspecified launch failure", "out of memory"]
)
def test_package_that_waited_for_its_run_tells_the_runtimes_text(message: str) -> None:
    text = f"Error: The model did not finish successfully. Error: {message}\n"
    found = one(text, gpu_error)
    assert isinstance(found, GpuError)
    assert (found.message, found.runtime, found.reported_by) == (message, "cuda", "torch")
    assert found.asynchronous is None


def test_other_reasons_of_a_run_that_did_not_finish_are_no_gpu_error() -> None:
    assert events("The model did not finish successfully. Error: bad alloc\n", gpu_error) == []


def test_bytes_in_the_message_of_cuda_python() -> None:
    text = f"RuntimeError: CUDA error: b'cudaErrorIllegalAddress': b'{IMA}'\n"
    assert told(one(text, gpu_error))["message"] == IMA


def test_two_writers_of_flashinfer_on_one_line() -> None:
    text = f"(CUDA Error: 700{IMA} (700) /src/prefill.cuh: line 2349 at function cudaLaunchKernel\n"
    assert told(one(text, gpu_error))["message"] == IMA


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Memory access fault by GPU node-1 (Agent handle: 0x55f8b54eec30) on address"
            " 0x7f2a53193000. Reason: Page not present or supervisor privilege.",
            _told(
                "Memory access fault by GPU node-1 (Agent handle: 0x55f8b54eec30)",
                runtime="hip",
                reported_by="driver",
                address="0x7f2a53193000",
            ),
        ),
        (
            "Memory access fault by GPU node-2 on address (nil). Reason: Unknown.",
            _told(
                "Memory access fault by GPU node-2 on address (nil)",
                runtime="hip",
                reported_by="driver",
            ),
        ),
        (
            "Segmentation fault from GPU at 0xff00ffffffe00000, ctx_id: 1 (CCS) type: 0"
            " (NotPresent), level: 1 (PDE), access: 1 (Write), banned: 1, aborting.",
            _told(
                "Segmentation fault from GPU",
                runtime="xpu",
                reported_by="driver",
                address="0xff00ffffffe00000",
                access="write",
            ),
        ),
        (
            "NVRM: Xid (PCI:0000:db:00): 31, pid=13641, Ch 00000008, intr 00000000. MMU Fault:"
            " ENGINE GRAPHICS GPCCLIENT_T1_10 faulted @ 0x7fd7_90743000. Fault is of type FAULT_PDE"
            " ACCESS_TYPE_VIRT_READ",
            _told(
                "MMU Fault",
                reported_by="kernel-driver",
                address="0x7fd790743000",
                access="read",
            ),
        ),
        (
            "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
            _told("UR_RESULT_ERROR_DEVICE_LOST", runtime="xpu", reported_by="driver"),
        ),
        (
            ":0:rocdevice.cpp            :2673: 1263352162 us: 21870: [tid:0x7f64e3eff640]"
            " Device::callbackQueue aborting with error :"
            " HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory",
            _told(
                "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", runtime="hip", reported_by="driver"
            ),
        ),
    ],
    ids=["rocr", "rocr-nil", "neo", "xid", "unified-runtime", "rocm-queue"],
)
def test_fault_report_of_a_driver(text: str, expected: dict[str, Any]) -> None:
    assert told(one(text + "\n", gpu_error)) == expected


def test_fault_glued_inside_a_progress_bar() -> None:
    text = (
        " 33%|███████Memory access fault by GPU node-3 (Agent handle: 0x5a) on address"
        " 0x709843600000. Reason: Write access to a read-only page.:54:01, 26.24s/it]\n"
    )
    assert told(one(text, gpu_error))["address"] == "0x709843600000"


def test_page_fault_text_of_older_intel_drivers() -> None:
    text = (
        "FATAL: Unexpected page fault from GPU at 0xff00ffffffe00000, ctx_id: 1 (CCS) type: 0"
        " (NotPresent), level: 0 (PTE), access: 0 (Read), banned: 1, aborting.\n"
    )
    event = told(one(text, gpu_error))
    assert (event["runtime"], event["address"]) == ("xpu", "0xff00ffffffe00000")


def test_api_error_in_a_sanitizer_report_is_not_torch() -> None:
    text = (
        "========= Program hit cudaErrorIllegalAddress (error 700) due to"
        f' "{IMA}" on CUDA API call to cudaDeviceSynchronize.\n'
    )
    assert [told(event)["reported_by"] for event in events(text, gpu_error)] in (
        [],
        ["compute-sanitizer"],
    )


@DRESSED
def test_dress_of_the_lines_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(TORCH), gpu_error)) == _told(IMA, asynchronous=True)


def test_lines_of_other_writers_between_the_help_are_passed_over() -> None:
    first, rest = TORCH.split("\n", 1)
    text = f"{first}\nstep 3 loss 1.2\n{rest}"
    assert told(one(text, gpu_error)) == _told(IMA, asynchronous=True)


def test_help_of_another_rank_is_not_taken() -> None:
    text = (
        f"[rank0]: RuntimeError: CUDA error: {IMA}\n"
        f"[rank1]: RuntimeError: CUDA error: {IMA}\n"
        f"[rank1]: {LATE.splitlines()[0]}\n"
        f"[rank1]: {LATE.splitlines()[1]}\n"
        f"[rank0]: {DSA}"
        f"[rank1]: {DSA}"
    )
    found = {event.rank: told(event).get("asynchronous") for event in events(text, gpu_error)}
    assert found == {0: False, 1: True}


def test_error_in_the_traceback_and_from_the_watchdog_are_two_reports() -> None:
    watchdog = f"[rank3]: watchdog thread terminated with exception: CUDA error: {IMA}\n"
    found = events(f"[rank3]: CUDA error: {IMA}\n{watchdog}", gpu_error)
    assert [told(event)["reported_by"] for event in found] == ["torch", "nccl-watchdog"]


def test_equal_reports_are_counted() -> None:
    event = one(TORCH + TORCH, gpu_error)
    assert (event.count, event.repeats) == (2, (len(TORCH),))


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", gpu_error) == ((), 0, {}, ())


@pytest.mark.parametrize("text", ["CUDA error: \n", "CUDA error:", "Triton Error [CUDA]: \n"])
def test_report_without_its_message_gives_nothing(text: str) -> None:
    assert events(text, gpu_error) == []


def test_cut_report_never_says_that_launches_were_blocking() -> None:
    states = {told(event).get("asynchronous") for event in every_cut(TORCH, gpu_error)}
    assert states <= {None, True}


def test_cut_rocr_fault_invents_no_address() -> None:
    text = (
        "Memory access fault by GPU node-1 on address 0x7f2a53193000. Reason: Page not present.\n"
    )
    assert {told(event).get("address") for event in every_cut(text, gpu_error)} == {
        "0x7f2a53193000"
    }


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Segmentation fault from GPU at 0xff00ffffffe00000, ctx_id: 1\n", "0xff00ffffffe00000"),
        (
            "31, pid=1. MMU Fault: ENGINE GRAPHICS faulted @ 0x7fd7_90743000. Fault is of type\n",
            "0x7fd790743000",
        ),
    ],
    ids=["neo", "xid"],
)
def test_address_cut_inside_its_digits_is_unknown(text: str, address: str) -> None:
    assert {told(event).get("address") for event in every_cut(text, gpu_error)} <= {None, address}


@pytest.mark.parametrize(
    "text",
    [
        f'    if "{IMA}" in str(error):\n',
        f'    if "CUDA error: {IMA}" in str(error):\n',
        '  throw std::runtime_error("CUDA error: " + std::string(msg));\n',
        '    raise RuntimeError(f"CUDA error: {message}")\n',
        'TORCH_CHECK(false, "CUDA driver error: ", msg);\n',
        "0 CUDA errors found\n",
        "NCCL WARN Cuda failure 'dependency created on uncaptured work in another stream'\n",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n",
        KERNEL_PY,
    ],
    ids=[
        "if",
        "if-whole",
        "cpp",
        "f-string",
        "check",
        "none-found",
        "nccl-other",
        "help-alone",
        "kernel",
    ],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, gpu_error) == []


@pytest.mark.parametrize(
    "text",
    [
        '    with pytest.raises(RuntimeError, match="CUDA error: device-side assert triggered"):\n',
        "MESSAGE = 'CUDA error: out of memory'\n",
    ],
    ids=["raises", "assignment"],
)
def test_code_that_quotes_a_whole_message_gives_nothing(text: str) -> None:
    assert events(text, gpu_error) == []


def test_generated_wrapper_gives_nothing() -> None:
    assert events(WRAPPER_CPP, gpu_error) == []


@settings(max_examples=80, deadline=None)
@given(around(*gpu_error.ANCHORS, b"CUDA]: ", IMA.encode(), b"faulted @ 0x1", DSA.encode()))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, gpu_error).size == len(data)


def test_fault_with_bytes_that_are_no_text_is_told() -> None:
    error = one(b"Memory access fault by GPU\x80 node-1 on address 0x7f00.\n", gpu_error)
    assert isinstance(error, GpuError)
    assert error.message == "Memory access fault by GPU\ufffd node-1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "RuntimeError: cuda runtime error (7) : too many resources requested for launch at"
            " /pytorch/aten/src/THCUNN/im2col.h:120",
            "too many resources requested for launch",
        ),
        (
            "THCudaCheck FAIL file=/pytorch/aten/src/THC/x.cpp line=21 error=6 : the launch timed"
            " out and was terminated",
            "the launch timed out and was terminated",
        ),
        ("RuntimeError: HIP error: hipErrorIllegalAddress", IMA),
        ("RuntimeError: CUDA error at /w/launch.cu:88: invalid argument", "invalid argument"),
        ("n7:1:2 [1] x.cc:8 NCCL WARN Cuda failure 700 '" + IMA + "'", IMA),
        (
            "NVRM: Xid (PCI:0000:65:00): 13, pid=42, name=python, Graphics SM Warp Exception on"
            " (GPC 2, TPC 1, SM 0): Misaligned Address",
            "Misaligned Address",
        ),
        (
            '"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"',
            "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!",
        ),
        (
            "FATAL: kernel `fmha_sm80` is for sm80-sm100, but was built for sm75",
            "kernel `fmha_sm80` is for sm80-sm100, but was built for sm75",
        ),
    ],
)
def test_older_and_other_wordings(text: str, message: str) -> None:
    assert told(one(text + "\n", gpu_error))["message"] == message


def test_nccl_warning_that_ends_nothing_is_no_error() -> None:
    text = "NCCL WARN Cuda failure 'peer access is not supported between these two devices'\n"
    assert events(text, gpu_error) == []
