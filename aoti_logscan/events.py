"""Every kind of thing the tool can have read: one frozen type each, with where it stood.

An event says what the log says and nothing more. `None` means that the log does not tell.
Parsers make events, `timeline` orders them, patterns judge them; nothing else is passed between
these layers.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

Runtime = Literal["cuda", "hip", "xpu"]
Reporter = Literal[
    "torch", "triton", "driver", "nccl-watchdog", "compute-sanitizer", "kernel-driver"
]


class Place(msgspec.Struct, frozen=True):
    """Where a record begins.

    `source` is the name shown for the input (`logs.zip!rank3.log` for a member), `line` counts
    `\\n` from 1, `offset` is in bytes from the start of the decompressed source, and `text` is the
    record's own text, decoded, with control characters kept, at most 2,000 characters.
    """

    source: str
    line: int
    offset: int
    text: str


class Clock(msgspec.Struct, frozen=True, order=True):
    """A wall time as printed: comparable only with another of the same `kind`.

    `kind` is `c10` (C++ log lines: month, day, no year), `python` (torch's Python log lines),
    `iso` (a full date), `app` (`05-21 10:11:12` of serving engines) or `syslog` (month and day, no
    year). `stamp` sorts as text.
    """

    kind: str
    stamp: str


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """What all events share.

    `end` is the offset just past the record. `count` is how many equal records were folded into
    this one, `repeats` the offsets of the next few of them and `last` the place of the last (None
    where there was one). `distinct` is the number of different members among them, for the types
    that count members (blocks of an assertion), else None. Where `rests_on_end`, it is told by
    the end of the log alone.
    """

    rests_on_end: ClassVar[bool] = False

    place: Place
    end: int
    rank: int | None = None
    process: str | None = None
    time: Clock | None = None
    count: int = 1
    repeats: tuple[int, ...] = ()
    last: Place | None = None
    distinct: int | None = None


class DeviceAssert(Event, frozen=True, kw_only=True, tag="device-assert"):
    """A device-side assertion failed; one event for all threads that said the same.

    `file` and `line` are None for `unknown:0`; `function` is None where the field is missing or
    says `unknown`. `condition` is the asserted text; `index`, `lower` and `upper` are its parts
    where it has the form of inductor's index check. `distinct` counts blocks (x, y, z).
    Source: the CUDA driver's `__assertfail`; torch 2.13, _inductor/codegen/common.py,
    `indirect_assert`; c10/macros/Macros.h, `CUDA_KERNEL_ASSERT_PRINTF`.
    """

    file: str | None
    line: int | None
    function: str | None
    condition: str
    index: str | None = None
    lower: str | None = None
    upper: str | None = None


class InputCheck(Event, frozen=True, kw_only=True, tag="input-check"):
    """A model refused an input.

    `check` names the family of the text: `handles` (the checks of AOTI_RUNTIME_CHECK_INPUTS),
    `count` (the number of inputs), `size-stride` (`assert_size_stride`), `export` (the checks of an
    exported program's own module). `op` is the name that `assert_size_stride` was given. Sizes are
    integers, dtypes and devices torch's own words.
    """

    check: Literal["handles", "count", "size-stride", "export"]
    property: Literal[
        "dtype",
        "device",
        "dim",
        "dim-lower-bound",
        "dim-upper-bound",
        "stride",
        "count",
        "rank",
        "alignment",
    ]
    input: int | None = None
    name: str | None = None
    dim: int | None = None
    expected: int | str | None = None
    actual: int | str | None = None
    op: str | None = None


class IndexCheck(Event, frozen=True, kw_only=True, tag="index-check"):
    """An index check of generated CPU code failed; bounds as printed (`10L`).

    `function`, `file` and `line` are None where only the stack below tells them; the literal
    `kernel` of JIT code is no name.
    """

    function: str | None
    file: str | None
    line: int | None
    index: str
    lower: str | None
    upper: str | None


class GpuError(Event, frozen=True, kw_only=True, tag="gpu-error"):
    """The runtime, the driver or Triton reported an error of the GPU.

    `message` is the runtime's text, without what torch adds. `asynchronous` is True where the help
    text says that the report may come late, False where that text is missing though the help went
    on (then launches were blocking), None where the reporter never says. `warning` marks a report
    that raised nothing. `kernel` is named by a debugger only.
    """

    runtime: Runtime
    message: str
    reported_by: Reporter
    asynchronous: bool | None = None
    warning: bool = False
    address: str | None = None
    access: Literal["read", "write"] | None = None
    kernel: str | None = None


class OutOfMemory(Event, frozen=True, kw_only=True, tag="out-of-memory"):
    """Memory could not be had: an allocator refused, or the system ended the process for it.

    `device` is torch's name (`cuda:1`, `cpu`), with its number where that is told; `requested` is
    the size as printed. `handled` marks a log line below the level of an error: the program goes
    on. Source: torch 2.13, c10/cuda/CUDACachingAllocator.cpp and its like for XPU and MPS,
    c10/core/impl/alloc_cpu.cpp; Linux, mm/oom_kill.c.
    """

    device: str | None
    requested: str | None
    told_by: Literal["allocator", "system"]
    handled: bool = False


class SanitizerError(Event, frozen=True, kw_only=True, tag="sanitizer-error"):
    """compute-sanitizer (or cuda-memcheck) caught one kind of error.

    `problem` is its headline (`Invalid __global__ read`, `Race reported between Write access`), or
    how many errors it counted in all (`ERROR SUMMARY: 2 errors`); `size` in bytes.
    """

    problem: str
    access: Literal["read", "write"] | None
    size: int | None
    address: str | None
    kernel: str | None
    file: str | None
    line: int | None
    misaligned: bool


class DeviceConflict(Event, frozen=True, kw_only=True, tag="device-conflict"):
    """Something is on another device than something else needs.

    `form` names the text that said so. `wanted` is the device asked for or compiled for, `found`
    the device of the data, both as printed.
    """

    form: str
    wanted: str | None = None
    found: str | None = None
    subject: str | None = None
    shim: str | None = None


class ShimFailure(Event, frozen=True, kw_only=True, tag="shim-failure"):
    """`CALL API call failed at FILE, line N`: a C call of the AOTI runtime returned an error.

    `function` is the called name, `call` its whole text. Source: torch 2.13,
    torch/headeronly/util/shim_utils.h, `AOTI_TORCH_ERROR_CODE_CHECK`.
    """

    function: str
    call: str
    file: str
    line: int


class ErrorText(Event, frozen=True, kw_only=True, tag="error-text"):
    """What a failure said, in a channel that carries nothing but failures.

    `channel`: `error-line` (`Error: ...`, AOTI's C boundary, of a known kind), `runtime` (the same
    of any kind, where a call of the model's container failed below), `shim-log` (`Exception in
    aoti_torch: ...`), `shim-boundary` (stable-ABI ops), `what` (C++ `what():`).
    `message` is the first line.
    """

    channel: Literal["error-line", "runtime", "shim-log", "shim-boundary", "what"]
    message: str


class LoadError(Event, frozen=True, kw_only=True, tag="load-error"):
    """A package or a shared library could not be loaded.

    `file` is the library or package that the text names; `said` the text from its own words on.
    `symbol` is a missing symbol, or a missing version of one; `required_by` the library that asks
    for it. `model` is the model that was looked for in a package, `available` the package's own
    list of them, `listed` whether it is among them. `warned` is True where the line is a warning or
    a log record below an error.
    """

    reason: Literal[
        "not-found", "corrupt", "undefined-symbol", "abi", "machine", "no-model", "other"
    ]
    file: str | None
    symbol: str | None
    said: str
    warned: bool = False
    required_by: str | None = None
    model: str | None = None
    available: str | None = None
    listed: bool | None = None


class MissingOperator(Event, frozen=True, kw_only=True, tag="missing-operator"):
    """An operator is not registered, or has no kernel for the backend of its arguments.

    `op` is its name as printed (`ns::op`), None where the text names none; `form` names the text.
    """

    form: str
    op: str | None
    backend: str | None = None


class BadValue(Event, frozen=True, kw_only=True, tag="bad-value"):
    """A NaN or an infinity where there should be none.

    `told_by`: `check` (an assertion of a graph input), `printer` (printed values: `tensor` is bad
    after the launch of `kernel`, whose inputs were good) or `input` (a graph input as printed).
    """

    tensor: str
    kernel: str | None
    kind: Literal["nan", "inf"]
    told_by: Literal["check", "printer", "input"]


class Frame(msgspec.Struct, frozen=True):
    """One line of a stack: file and line where printed, the function, its source text."""

    function: str | None
    file: str | None = None
    line: int | None = None
    text: str | None = None


class PythonException(Event, frozen=True, kw_only=True, tag="python-exception"):
    """A Python traceback, with the exception it ends in.

    The place is the exception's own line, `begins` the offset of the traceback's head.
    `exception` is the dotted type as printed, `message` the text after it (several lines joined by
    newlines, at most 4,000 characters); `frames` are outermost first, at most 64, the last kept.
    `cut` is True where the log ends before the exception's line; then `exception` is None.
    `followed` is True where Python says that another exception came of this one; its traceback is
    the next.
    """

    begins: int
    exception: str | None
    message: str
    frames: tuple[Frame, ...] = ()
    cut: bool = False
    followed: bool = False


class CppStack(Event, frozen=True, kw_only=True, tag="cpp-stack"):
    """A C++ stack below an error; `frames` innermost first, at most 64.

    `form`: `c10` (`frame #0: ...`), `captured` (`C++ CapturedTraceback:`, only where
    TORCH_SHOW_CPP_STACKTRACES was on), `gdb` (systemd-coredump's too), `glog` (any handler inside
    the process). `raised_from` is the function of the `Exception raised from` line.
    """

    form: Literal["c10", "captured", "gdb", "glog"] = "c10"

    raised_from: str | None = None
    file: str | None = None
    line: int | None = None
    frames: tuple[Frame, ...] = ()
    thread: int | None = None


class ProcessDeath(Event, frozen=True, kw_only=True, tag="process-death"):
    """A process died of a signal or of an uncaught C++ exception.

    `told_by` is `shell` for whoever watched over the process, `recorder` for `aoti-logscan run`,
    which had its output on a terminal, `launcher` where one knows that it is gone, not how,
    `sanitizer` for AddressSanitizer. `exception` is the C++ type that terminate names, or the error
    that AddressSanitizer found. `frames` are faulthandler's, of the thread that died, innermost
    first.
    """

    told_by: Literal[
        "shell",
        "recorder",
        "faulthandler",
        "terminate",
        "libc",
        "debugger",
        "glog",
        "launcher",
        "sanitizer",
    ]
    signal: str | None = None
    exception: str | None = None
    frames: tuple[Frame, ...] = ()
    thread: int | None = None


class CollectiveError(Event, frozen=True, kw_only=True, tag="collective-error"):
    """A collective failed or a rank gave up.

    `form`: `timeout` (a watchdog's, a store's or gloo's), `notified` (another rank told this one of
    its timeout), `watchdog` (its thread died of another error), `teardown`, `peer` (a connection to
    another rank broke), `mismatch` (ranks are in different collectives), `elastic` (torchrun's
    summary).
    """

    form: Literal["timeout", "notified", "watchdog", "teardown", "peer", "mismatch", "elastic"]
    backend: str | None
    op: str | None = None
    message: str = ""


class FlagSeen(Event, frozen=True, kw_only=True, tag="flag-seen"):
    """A debugging flag stands in the log with a value, as a person or a script set it."""

    name: str
    value: str


class DeviceInformation(Event, frozen=True, kw_only=True, tag="device-information"):
    """The loader warns that a package was made on another kind of machine.

    `key` is the metadata key, `here` this machine's value and `package` the package's.
    Source: torch 2.13, torch/export/pt2_archive/_package.py.
    """

    key: str
    here: str
    package: str


class Harmless(Event, frozen=True, kw_only=True, tag="harmless"):
    """A line that looks like a failure and is known to be none; `form` names which.

    `autotune-poison` is a rejected choice whose error the GPU's context does not survive,
    `exception-logged` an exception that torch warned of and went on after.
    """

    form: Literal[
        "autotune-reject",
        "autotune-poison",
        "outdated-package",
        "dlsym",
        "libdrm",
        "deprecated",
        "exception-logged",
    ]


class Compile(Event, frozen=True, kw_only=True, tag="compile"):
    """One compilation, as a TORCH_TRACE record `compilation_metrics` tells it.

    `frames` are of the record's `exception_stack_trace`, outermost first, where it has one.
    """

    compile_id: str | None
    fail_type: str | None
    fail_reason: str | None
    frames: tuple[Frame, ...] = ()


class GeneratedCode(Event, frozen=True, kw_only=True, tag="generated-code"):
    """Code that inductor wrote, as a trace or a log holds it.

    `language` is `cpp` or `python`; `part` is `wrapper`, `kernel` or `header`. `file` is where it
    was written, None where that is not told. `text` is empty where a source has more code than is
    kept.
    """

    language: Literal["cpp", "python"]
    part: Literal["wrapper", "kernel", "header"]
    file: str | None
    text: str
    compile_id: str | None = None


class TraceArtifact(Event, frozen=True, kw_only=True, tag="trace-artifact"):
    """A named artifact of a trace that is of use: a failure's traceback or a provenance map."""

    name: str
    text: str
    compile_id: str | None = None


class TorchVersion(Event, frozen=True, kw_only=True, tag="torch-version"):
    """The version of torch that wrote a trace."""

    version: str


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """What the printer tells of one tensor (or one number).

    `min`, `max` and `mean` are None where they are not printed or not finite; `nan` and `inf` say
    whether such a value stands in them, None where no statistics are printed. Statistics are of the
    tensor cast to float32.
    """

    dtype: str | None = None
    device: str | None = None
    size: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None
    numel: int | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    nan: bool | None = None
    inf: bool | None = None


class LaunchMark(Event, frozen=True, kw_only=True, tag="launch-mark"):
    """The intermediate value printer before or after the launch of a kernel.

    `level` is the printer's: 1 saves values, 2 prints them, 3 prints names. `argument` is the
    tensor or number that the mark is about, None on level 3.
    Source: torch 2.13, _inductor/codegen/debug_utils.py and
    torch/csrc/inductor/aoti_torch/shim_common.cpp, `aoti_torch_print_tensor_handle`.
    """

    phase: Literal["before", "after"]
    kernel: str
    level: Literal[1, 2, 3]
    argument: str | None = None
    values: Values | None = None


class ModelInput(Event, frozen=True, kw_only=True, tag="model-input"):
    """A graph input as the printer shows it once for each run of the model (level 2)."""

    name: str
    values: Values | None = None


class SavedTensor(Event, frozen=True, kw_only=True, tag="saved-tensor"):
    """A tensor that the printer saved (level 1); kernel and tensor share the file's name."""

    path: str
    phase: Literal["before", "after"]
    names: str


class PrinterCut(Event, frozen=True, kw_only=True, tag="printer-cut"):
    """A log ends in the middle of what the intermediate value printer prints.

    `mark` is what the head of the block names (`before_launch - KERNEL - TENSOR`), None where the
    log ends in the head itself.
    """

    rests_on_end: ClassVar[bool] = True

    mark: str | None


class RawLine(Event, frozen=True, kw_only=True, tag="line"):
    """A line that holds the anchor of a pattern on raw lines.

    `text` is the line as its program wrote it, without colours and escapes of a stored log, at
    most 4,000 characters, the part around the anchor of a longer one.
    """

    text: str


AnyEvent = (
    DeviceAssert
    | InputCheck
    | IndexCheck
    | LoadError
    | MissingOperator
    | BadValue
    | GpuError
    | OutOfMemory
    | SanitizerError
    | DeviceConflict
    | ShimFailure
    | ErrorText
    | PythonException
    | CppStack
    | ProcessDeath
    | CollectiveError
    | FlagSeen
    | DeviceInformation
    | Harmless
    | Compile
    | TorchVersion
    | GeneratedCode
    | TraceArtifact
    | LaunchMark
    | ModelInput
    | SavedTensor
    | PrinterCut
    | RawLine
)


def tag_of(kind: type[Event]) -> str:
    """What a type of event is called in patterns and in JSON."""
    return str(kind.__struct_config__.tag)
