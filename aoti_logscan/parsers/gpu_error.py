"""Errors of the GPU as torch, Triton, the driver or the kernel's log report them.

    torch.AcceleratorError: CUDA error: an illegal memory access was encountered
    Search for `cudaErrorIllegalAddress' in https://docs.nvidia.com/... for more information.
    CUDA kernel errors might be asynchronously reported at some other API call, ...
    For debugging consider passing CUDA_LAUNCH_BLOCKING=1
    Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.

gives one `GpuError` with `asynchronous` True. Where the help goes on without the second line,
launches were blocking. Sources: torch 2.13, c10/cuda/CUDAException.cpp and
`get_cuda_async_error_suffix`; aoti_runtime/device_utils.h, `AOTI_RUNTIME_CUDA_CHECK` and
_inductor/codegen/cuda/device_op_overrides.py, `CUDA_DRIVER_CHECK` (both without any help); Triton's
driver.c; ROCr's and NEO's fault reports.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from aoti_logscan.events import GpuError, Reporter, Runtime
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import may_be_same_writer, read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "gpu_error"
# Error: The model did not finish successfully. Error: misaligned address
_UNFINISHED = b"The model did not finish successfully. Error: "
ANCHORS = (
    b"CUDA error",
    b"CUDA Error",
    b"CUDA runtime error",
    b"CUDA warning: ",
    b"CUDA driver error: ",
    b"HIP error: ",
    b"HIP runtime error: ",
    b"HIP warning: ",
    b"XPU error: ",
    b"L0 runtime error: ",
    b"Triton Error [",
    b"illegal memory access was encountered",
    b"CUDA_ERROR_ILLEGAL_ADDRESS",
    b"Memory access fault by GPU",
    b"Segmentation fault from GPU at",
    b"Unexpected page fault from GPU at",
    b"CUDA Exception: ",
    b"CUBLAS_STATUS_",
    b"CUDNN_STATUS_",
    b"UR_RESULT_ERROR_",
    b"HSA_STATUS_ERROR_",
    b"MMU Fault: ENGINE",
    b"SM Warp Exception on ",
    b"hipErrorNoBinaryForGpu: ",
    b"cuda runtime error (",
    b"Cuda failure ",
    b"HIP failure ",
    b"FATAL: kernel ",
    b"THCudaCheck FAIL file=",
    _UNFINISHED,
)

# texts of cudaGetErrorString, cuGetErrorString and hipGetErrorString that are looked for by name
_KNOWN = lazy_re(
    rb"an illegal memory access was encountered|device-side assert triggered|misaligned address"
    rb"|unspecified launch failure|an illegal instruction was encountered"
    rb"|invalid (?:configuration argument|argument|device ordinal|device function|resource handle)"
    rb"|out of memory|too many resources requested for launch"
    rb"|no kernel image is available for execution on the device|device kernel image is invalid"
    rb"|named symbol not found|invalid error code!|unknown error|unspecified launch error"
    rb"|initialization error|system not yet initialized|invalid program counter"
    rb"|operation not permitted when stream is capturing|uncorrectable ECC error encountered"
    rb"|too many blocks in cooperative launch|invalid kernel file|a PTX JIT compilation failed"
    rb"|the provided PTX was compiled with an unsupported toolchain"
    rb"|the launch timed out and was terminated|hardware stack error|an internal operation failed"
)
# CUDA error: m    HIP runtime error: m    CUDA error (csrc/x.cu:180): m    CUDA driver error: 700
# CUDA error at csrc/x.cu:180: m
_TORCH = lazy_re(
    rb"\b(?P<runtime>CUDA|HIP|XPU|L0) ?(?P<kind>(?:runtime |driver )?[eE]rror|warning)"
    rb"(?: \((?P<file>[^()]{0,500}:\d+)\)| (?:at|in) [^\s:]{1,500}:\d+)?: (?P<message>.+)"
)
# cuda runtime error (6) : m at /pytorch/aten/src/THC/generic/THCTensorCopy.cpp:21     (before 1.6)
# THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCTensorCopy.cpp line=21 error=6 : m
_OLD = lazy_re(
    rb"(?:cuda runtime error \(\d+\)|THCudaCheck FAIL file=[^\n]{1,600}? line=\d+ error=\d+) ?:"
    rb" (?P<message>.+)"
)
# NCCL WARN Cuda failure 'out of memory'     Cuda failure 700 'an illegal memory access was ...'
_NCCL = lazy_re(rb"(?P<runtime>Cuda|HIP) failure (?:\d+ )?'(?P<message>[^'\n]{1,200})'")
# Triton Error [CUDA]: m      Triton Error [HIP]:  Code: 700, Messsage: m
_TRITON = lazy_re(
    rb"Triton Error \[(?P<runtime>CUDA|HIP|ZE)\]: +(?:Code: -?\d+, Mess+age: )?(?P<message>.+)"
)
# Memory access fault by GPU node-1 (Agent handle: 0x55) on address 0x7f0000. Reason: Page not ...
_ROCR = lazy_re(
    rb"(?P<message>Memory access fault by GPU[^.]{0,200}?)"
    rb"(?: on address (?P<address>0x[0-9a-fA-F]+))?\."
)
# Segmentation fault from GPU at 0x.., ctx_id: 1 (CCS) type: 0 (NotPresent), ..., access: 0 (Read)
# FATAL: Unexpected page fault from GPU at 0x...   (2024)
_NEO = lazy_re(
    rb"(?P<message>(?:Segmentation|Unexpected page) fault from GPU) at"
    rb" (?P<address>0x[0-9a-fA-F]+)(?=,)"
    rb"(?:.*?access: \d+ \((?P<access>Read|Write))?"
)
# NVRM: Xid (PCI:0000:0b:00): 31, pid=4242, name=python, Ch 00000008, intr 10000000. MMU Fault:
#   ENGINE GRAPHICS GPC0 GPCCLIENT_T1_0 faulted @ 0x7f6a_00000000. Fault is of type FAULT_PDE
#   ACCESS_TYPE_VIRT_READ
_XID = lazy_re(
    rb"(?P<message>MMU Fault): ENGINE.*? faulted @ (?P<address>0x[0-9a-fA-F_]+)(?=\.)"
    rb"(?:.*?ACCESS_TYPE_(?:VIRT_|PHYS_)?(?P<access>READ|WRITE))?"
)
# NVRM: Xid (PCI:0000:65:00): 13, pid=4242, name=python, Graphics SM Warp Exception on (GPC 2, TPC
#   1, SM 0): Misaligned Address
_WARP = lazy_re(rb"SM Warp Exception on \([^()]{0,80}\): (?P<message>[A-Z][A-Za-z ]{2,60})")
# "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"
_NO_BINARY = lazy_re(rb"\"?(?P<message>hipErrorNoBinaryForGpu: [^\"\n]{1,200})")
# FATAL: kernel `fmha_cutlassF_f16_aligned_64x64_rf_sm80` is for sm80-sm100, but was built for sm75
_BUILT_FOR = lazy_re(
    rb"FATAL: (?P<message>kernel `[^`]{1,400}` is for [\w-]+, but was built for sm\w+)"
)
# level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)
_UR = lazy_re(rb"(?P<message>UR_RESULT_ERROR_[A-Z_]+)")
# :0:rocdevice.cpp:2658: ... error : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent ...
_HSA = lazy_re(rb"(?P<message>HSA_STATUS_ERROR_[A-Z_]+)")
# cuBLAS and cuDNN report what an earlier kernel did to the context
_LIBRARY = lazy_re(rb"(?P<message>CU(?:BLAS|DNN)_STATUS_[A-Z_]+)")
# CUDA Exception: Warp Illegal Address      (cuda-gdb; the kernel stands a few lines below)
_CUDA_GDB = lazy_re(rb"CUDA Exception: (?P<message>[A-Z][\w -]+)")
# 0x00007ff9ac5f8fa0 in triton_poi_fused_index_3<<<(1,12288,16),(256,1,1)>>> ()
_FOCUS = lazy_re(rb" in (?:void )?(?P<kernel>[A-Za-z_][^\n]*?)(?:<<<|\()")
_FOCUS_LINES = 8
_DRIVER_NAME = lazy_re(rb"CUDA_ERROR_ILLEGAL_ADDRESS")
# an error's name where its text should be:  HIP error: hipErrorIllegalAddress
_NAMED = lazy_re(rb"^(?:cuda|hip)Error(?P<name>IllegalAddress|MisalignedAddress|Assert)\b")
_NAMES = {
    b"IllegalAddress": "an illegal memory access was encountered",
    b"MisalignedAddress": "misaligned address",
    b"Assert": "device-side assert triggered",
}
_BARE = lazy_re(rb"(?P<message>an illegal memory access was encountered)")

_ASYNC = b"might be asynchronously reported"
_HELP = lazy_re(
    rb"^Search for `|might be asynchronously reported|For debugging consider passing"
    rb"|Compile with `TORCH_USE_|Device-side assertion|run with CUDA_LOG_FILE"
    rb"|GPU device may be out of range"
)
_HELP_ENDS = lazy_re(rb"Compile with `TORCH_USE_|Device-side assertion|run with CUDA_LOG_FILE")
# torch leaves the asynchronous line out for other errors even when launches are not blocking
_STICKY = (
    "an illegal memory access was encountered",
    "device-side assert triggered",
    "unspecified launch failure",
    "misaligned address",
    "an illegal instruction was encountered",
)
_NO_MEMORY = "out of memory"
_RUNTIMES: dict[bytes, Runtime] = {
    b"CUDA": "cuda",
    b"Cuda": "cuda",
    b"HIP": "hip",
    b"XPU": "xpu",
    b"L0": "xpu",
    b"ZE": "xpu",
}
#: bytes of a report from its anchor on
_AFTER_ANCHOR = 2000
#: lines looked at for the help, and how many of them may be another writer's
_HELP_LINES = 10
_FOREIGN_LINES = 4


class _Report(NamedTuple):
    runtime: Runtime
    message: str
    reported_by: Reporter
    warning: bool
    start: int
    end: int
    address: str | None = None
    access: str | None = None


def parse(hit: Hit) -> Parsed:
    """One draft for the report at this hit; nothing where the words are code or help."""
    report = _report(hit.line.text, hit.column)
    text = hit.line.text
    if report is None or is_quotation(text, report.start):
        return ()
    help_text, end = _help(hit, text[report.end : report.end + _AFTER_ANCHOR])
    runtime = "hip" if b"AMD_SERIALIZE_KERNEL" in help_text else report.runtime
    fields: dict[str, Any] = {
        "runtime": runtime,
        "message": report.message,
        "reported_by": report.reported_by,
        "asynchronous": _asynchronous(report, help_text),
        "warning": report.warning,
        "address": report.address,
        "access": report.access,
        "kernel": _kernel(hit) if _CUDA_GDB.search(text) else None,
    }
    return (
        Draft(
            kind=GpuError,
            fields=fields,
            start=hit.line.start,
            end=end,
            text=text,
            prefix=read_prefix(hit.head(report.start)),
            fold=tuple(fields.values()),
            taken=hit.line.end,
        ),
    )


def _kernel(hit: Hit) -> str | None:
    """The kernel that cuda-gdb switched its focus to, below the exception's line."""
    for line in hit.following(_FOCUS_LINES):
        if b"<<<" in line.text and (match := _FOCUS.search(line.text)):
            return match["kernel"].decode("utf-8", "replace").split("<", 1)[0]
    return None


def _report(text: bytes, column: int) -> _Report | None:
    for read in (_unfinished, _torch, _triton, _old, _nccl, _faults, _bare):
        if report := read(text, column):
            return report
    return None


def _unfinished(text: bytes, column: int) -> _Report | None:
    """What a package says that waited for its run: the runtime's text and nothing else.

    Source: torch 2.13, aoti_runtime/model_base.h, `AOTInductorModelBase::is_finished`.
    """
    if not text.startswith(_UNFINISHED, column):
        return None
    match = _KNOWN.match(text, column + len(_UNFINISHED))
    if match is None:
        return None
    return _Report("cuda", match[0].decode(), "torch", False, column, match.end())


def _torch(text: bytes, column: int) -> _Report | None:
    match = _around(_TORCH, text, column)
    if match is None or (message := _message(match["message"])) is None:
        return None
    kind = match["kind"]
    reporter: Reporter = "torch"
    if kind.startswith(b"driver"):
        reporter = "driver"
    elif b"watchdog" in text[max(0, match.start() - 200) : match.start()]:
        reporter = "nccl-watchdog"
    return _Report(
        _RUNTIMES[match["runtime"]],
        message,
        reporter,
        kind == b"warning",
        match.start(),
        match.start("message"),
    )


def _old(text: bytes, column: int) -> _Report | None:
    match = _around(_OLD, text, column)
    if match is None:
        return None
    message = _message(match["message"].split(b" at ", 1)[0])
    return _said("cuda", match, message) if message else None


def _nccl(text: bytes, column: int) -> _Report | None:
    """What NCCL quotes of an error that ends the process; of others it only warns."""
    match = _around(_NCCL, text, column)
    message = _message(match["message"]) if match else None
    if match is None or message not in (*_STICKY, _NO_MEMORY):
        return None
    return _said(_RUNTIMES[match["runtime"]], match, message)


def _said(runtime: Runtime, match: re.Match[bytes], message: str) -> _Report:
    return _Report(runtime, message, "torch", False, match.start(), match.start("message"))


def _triton(text: bytes, column: int) -> _Report | None:
    match = _around(_TRITON, text, column)
    if match is None or (message := _message(match["message"])) is None:
        return None
    runtime = _RUNTIMES[match["runtime"]]
    return _Report(runtime, message, "triton", False, match.start(), match.start("message"))


_FAULTS: tuple[tuple[re.Pattern[bytes], Runtime, Reporter], ...] = (
    (_ROCR, "hip", "driver"),
    (_NEO, "xpu", "driver"),
    (_XID, "cuda", "kernel-driver"),
    (_WARP, "cuda", "kernel-driver"),
    (_NO_BINARY, "hip", "driver"),
    (_BUILT_FOR, "cuda", "torch"),
    (_UR, "xpu", "driver"),
    (_LIBRARY, "cuda", "torch"),
    (_CUDA_GDB, "cuda", "driver"),
    (_HSA, "hip", "driver"),
)


def _faults(text: bytes, column: int) -> _Report | None:
    for pattern, runtime, reporter in _FAULTS:
        match = _around(pattern, text, column)
        if match is None:
            continue
        groups = match.groupdict()
        address, access = groups.get("address"), groups.get("access")
        return _Report(
            runtime,
            match["message"].decode("utf-8", "replace").strip(),
            reporter,
            False,
            match.start(),
            match.end("message"),
            address.replace(b"_", b"").decode() if address else None,
            access.decode().lower() if access else None,
        )
    return None


def _bare(text: bytes, column: int) -> _Report | None:
    """The error's own text or name where another library reports it (cupy, NCCL, a kernel).

    What compute-sanitizer says of an API call is not the access, and is left to its own block.
    """
    if text.lstrip().startswith(b"========= "):
        return None
    runtime: Runtime = "hip" if b"hip" in text[max(0, column - 40) : column] else "cuda"
    if match := _around(_BARE, text, column):
        return _Report(
            runtime, match["message"].decode(), "torch", False, match.start(), match.end()
        )
    if match := _around(_DRIVER_NAME, text, column):
        message = "an illegal memory access was encountered"
        return _Report("cuda", message, "driver", False, match.start(), match.end())
    return None


def _around(pattern: re.Pattern[bytes], text: bytes, column: int) -> re.Match[bytes] | None:
    """The match that the anchor at `column` stands in."""
    match = pattern.search(text, max(0, column - 32), column + _AFTER_ANCHOR)
    return match if match and match.start() <= column + 32 < match.end() + 32 else None


def _message(raw: bytes) -> str | None:
    """The runtime's text; None for code (`"CUDA error: " << ...`) and format strings."""
    if known := _KNOWN.search(raw[:200]):
        return known[0].decode()
    if named := _NAMED.match(raw):
        return _NAMES[named["name"]]
    if raw[:1] in b"\"'`%{+<\\(":
        return None
    first = re.split(rb" \(Triggered internally|[\"'`]", raw, maxsplit=1)[0]
    message = first[:300].decode("utf-8", "replace").strip().rstrip(".")
    return message or None


def _help(hit: Hit, rest: bytes) -> tuple[bytes, int]:
    """The help below the message (other writers' lines left out), and where it ends."""
    if _HELP_ENDS.search(rest):
        return rest, hit.line.end
    taken, end, foreign = [rest], hit.line.end, 0
    own = read_prefix(hit.head(hit.column))
    for line in hit.following(_HELP_LINES):
        if not may_be_same_writer(own, line.text):
            continue
        if _HELP.search(line.text):
            taken.append(line.text)
            end = line.end
            if _HELP_ENDS.search(line.text):
                break
        elif b"Traceback (most recent call last)" in line.text or foreign >= _FOREIGN_LINES:
            break
        else:
            foreign += 1
    return b"\n".join(taken), end


def _asynchronous(report: _Report, help_text: bytes) -> bool | None:
    if report.reported_by not in ("torch", "nccl-watchdog"):
        return None
    if _ASYNC in help_text:
        return True
    if report.message in _STICKY and _HELP_ENDS.search(help_text):
        return False
    return None
