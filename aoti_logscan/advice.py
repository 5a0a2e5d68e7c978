"""Which debugging flags were on, what each does and what it costs.

A flag's state rests on evidence in the events; without any it is unknown. Flags of compile time are
baked into a package: setting them for an existing one does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from aoti_logscan.artifacts.generated_with import GeneratedWith
from aoti_logscan.events import (
    BadValue,
    CppStack,
    Event,
    FlagSeen,
    GeneratedCode,
    GpuError,
    InputCheck,
    LaunchMark,
    ModelInput,
    ProcessDeath,
    SanitizerError,
    SavedTensor,
    TraceArtifact,
)
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.report import Flag
from aoti_logscan.rungs import (
    CORE_DUMP,
    DEBUGGER,
    FAULTHANDLER,
    FILTER,
    PRINTER,
    SANITIZER,
)
from aoti_logscan.timeline import evidence_of

State = Literal["on", "off"]
Effect = Literal["compile", "run"]


class _Row(NamedTuple):
    """A flag: when it takes effect, what it is for, and what an event tells of it.

    A row that is a `tool` is offered like a flag, and is none of the report's flags.
    """

    name: str
    takes_effect: Effect
    does: str
    costs: str
    told_by: tuple[type[Event], ...] = ()
    tells: Callable[[Event], State | None] = lambda _event: "on"
    is_tool: bool = False


def _checked_inputs(event: Event) -> State | None:
    """The texts of these checks are printed by nothing else."""
    if isinstance(event, InputCheck) and (event.check == "handles" or event.op == "input"):
        return "on"
    return None


def _blocking(runtime: str) -> Callable[[Event], State | None]:
    def tells(event: Event) -> State | None:
        if not isinstance(event, GpuError) or event.runtime != runtime:
            return None
        return None if event.asynchronous is None else "off" if event.asynchronous else "on"

    return tells


def _cpp_stacktraces(event: Event) -> State | None:
    return "on" if isinstance(event, CppStack) and event.form == "captured" else None


def _asserted_nan(event: Event) -> State | None:
    return "on" if isinstance(event, BadValue) and event.told_by == "check" else None


def _traced_provenance(event: Event) -> State | None:
    told = isinstance(event, TraceArtifact) and event.name.startswith("inductor_provenance")
    return "on" if told else None


def _dumped_frames(*tellers: str) -> Callable[[Event], State | None]:
    return lambda event: (
        "on" if isinstance(event, ProcessDeath) and event.told_by in tellers else None
    )


# V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [0/0] [__output_code] Output code:
# [2023-11-05 10:11:12,345] torch._inductor.graph.__output_code: [DEBUG] Output code:
_LOGGED = lazy_re(r"\[__\w+\]|\.__\w+: \[DEBUG\]|: \[DEBUG\] ")


def _logged_code(event: Event) -> State | None:
    told = isinstance(event, GeneratedCode) and _LOGGED.search(event.place.text)
    return "on" if told else None


_CHECKS = "AOTI_RUNTIME_CHECK_INPUTS"
_NAN_ASSERTS = "TORCHINDUCTOR_NAN_ASSERTS"
_PROVENANCE = "INDUCTOR_PROVENANCE"
_PROFILE = "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"
_PRINTED = (LaunchMark, ModelInput, SavedTensor)

_BLOCKS = "each launch waits for its kernel, so that an error is reported by the call at fault"
_OVERLAP_LOST = "host and GPU no longer overlap, which may also hide a race"
_RECOMPILED = "a new compilation"

_TABLE = (
    _Row(
        _CHECKS,
        "run",
        "each call checks the number, types, devices, sizes and strides of its inputs",
        "microseconds a call",
        (InputCheck,),
        _checked_inputs,
    ),
    _Row(
        _NAN_ASSERTS,
        "compile",
        "each call asserts that its inputs hold neither NaN nor inf",
        "a new compilation, and a pass over every input",
        (BadValue,),
        _asserted_nan,
    ),
    _Row(
        "PYTORCH_NO_CUDA_MEMORY_CACHING",
        "run",
        "each tensor has memory of its own, so that an access outside it faults more often",
        "each allocation is a call of the driver, which takes far longer",
    ),
    _Row("CUDA_LAUNCH_BLOCKING", "run", _BLOCKS, _OVERLAP_LOST, (GpuError,), _blocking("cuda")),
    _Row("AMD_SERIALIZE_KERNEL", "run", _BLOCKS, _OVERLAP_LOST, (GpuError,), _blocking("hip")),
    _Row("HIP_LAUNCH_BLOCKING", "run", _BLOCKS, _OVERLAP_LOST),
    _Row(
        PRINTER,
        "compile",
        "marks each launch (3), prints (2) or saves (1) what it reads and writes",
        "a new compilation; at 1 and 2 every tensor is copied to the host",
        _PRINTED,
    ),
    _Row(FILTER, "compile", "the printer covers only the kernels that it names", _RECOMPILED),
    _Row(
        "TORCH_LOGS",
        "run",
        "logs what the compiler does; with output_code the generated code",
        "megabytes of output for a large model",
        (GeneratedCode,),
        _logged_code,
    ),
    _Row(
        "TORCH_TRACE",
        "run",
        "writes a trace of every compilation to a folder",
        "disk space while it compiles, nothing afterwards",
    ),
    _Row(
        "TORCH_SHOW_CPP_STACKTRACES",
        "run",
        "adds its C++ stack to every error",
        "up to seconds an error, in which its frames get their names",
        (CppStack,),
        _cpp_stacktraces,
    ),
    _Row(
        "TORCH_SYMBOLIZE_MODE",
        "run",
        "says how frames of C++ get their names: fast, dladdr or addr2line",
        "addr2line may take minutes an error",
    ),
    _Row(
        _PROVENANCE,
        "compile",
        "keeps which nodes and lines of the model each kernel comes from",
        _RECOMPILED,
        (TraceArtifact,),
        _traced_provenance,
    ),
    _Row(
        _PROFILE,
        "compile",
        "each kernel is a named range for profilers",
        "a new compilation, and a little for every call",
    ),
    _Row(
        "PYTORCH_USE_CUDA_DSA",
        "run",
        "says which launch a failed device-side assertion came from",
        "a little for every launch; needs a torch that was built with TORCH_USE_CUDA_DSA",
    ),
    _Row(
        SANITIZER,
        "run",
        "checks every access of every kernel to memory",
        "the program runs ten to a hundred times slower",
        (SanitizerError,),
        is_tool=True,
    ),
    _Row(
        CORE_DUMP,
        "run",
        "writes the GPU's state at its first exception to a file that cuda-gdb opens",
        "nothing until it fails, then some disk space",
        is_tool=True,
    ),
    _Row(
        FAULTHANDLER,
        "run",
        "prints where the threads were in Python as the process dies",
        "nothing until it dies",
        (ProcessDeath,),
        _dumped_frames("faulthandler"),
        is_tool=True,
    ),
    _Row(
        DEBUGGER,
        "run",
        "stops where the process dies, and shows the frames of C and C++",
        "seconds while it starts",
        (ProcessDeath,),
        _dumped_frames("debugger", "glog"),
        is_tool=True,
    ),
)
_FLAGS = tuple(row for row in _TABLE if not row.is_tool)
_TOOLS = frozenset(row.name for row in _TABLE if row.is_tool)
FLAG_NAMES = tuple(row.name for row in _FLAGS)
_OFF_VALUES = ("", "0", "false", "False")
# torch 2.13: the caching allocator looks whether it is set at all; the input checks of the
# generated code are off only where the first character is 0
_ON_WHEN_SET = ("PYTORCH_NO_CUDA_MEMORY_CACHING",)
_ON_WHEN_EMPTY = ("AOTI_RUNTIME_CHECK_INPUTS",)
_ROWS: dict[type[Event], tuple[_Row, ...]] = {
    kind: tuple(row for row in _TABLE if kind in row.told_by)
    for kind in {kind for row in _TABLE for kind in row.told_by}
}
_NO_CODE = GeneratedWith()
_NO_RECORDS: Mapping[str, int] = MappingProxyType({})
_BLOCKING_FLAGS = ("CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "HIP_LAUNCH_BLOCKING")


def flags(
    events: Iterable[Event],
    code: GeneratedWith = _NO_CODE,
    records: Mapping[str, int] = _NO_RECORDS,
) -> tuple[Flag, ...]:
    """Every flag of the table with its state; what was set in plain sight counts most.

    Then comes what events tell, then the generated code at hand, which flags of compile time are
    baked into, then the kinds of `records` that were read.
    """
    effects: dict[str, Effect] = {row.name: row.takes_effect for row in _FLAGS}
    if code.checks == "compile":
        effects[_CHECKS] = "compile"
    shown = {**_recorded(records), **_compiled_in(code)}
    told = _told(events)
    return tuple(
        Flag(
            name=row.name,
            state=told[row.name].state if row.name in told else shown.get(row.name, "unknown"),
            takes_effect=effects[row.name],
            does=row.does,
            costs=row.costs,
            evidence=evidence_of(told[row.name].by) if row.name in told else None,
        )
        for row in _FLAGS
    )


class _Told(NamedTuple):
    """The state of a row, and the event that tells it."""

    state: State
    by: Event


def _told(events: Iterable[Event]) -> dict[str, _Told]:
    """What events tell of each row: settings in plain sight before what is inferred."""
    set_by_hand: dict[str, _Told] = {}
    inferred: dict[str, _Told] = {}
    for event in events:
        if isinstance(event, FlagSeen):
            set_by_hand.setdefault(event.name, _Told(_set_to(event), event))
        for row in _ROWS.get(type(event), ()):
            if row.name not in inferred and (state := row.tells(event)):
                inferred[row.name] = _Told(state, event)
    return inferred | set_by_hand


def tools_used(events: Iterable[Event]) -> frozenset[str]:
    """The debugging tools, none of them flags of torch, that were at work in the run."""
    return frozenset(name for name, told in _told(events).items() if told.state == "on") & _TOOLS


def costs(name: str) -> str | None:
    """What a flag or a tool costs, in a few words; None for one that is not in the table."""
    return next((row.costs for row in _TABLE if row.name == name), None)


def _compiled_in(code: GeneratedWith) -> dict[str, State]:
    """Flags of compile time that the generated code shows."""
    found = {
        _CHECKS: code.checked,
        PRINTER: code.printer,
        _NAN_ASSERTS: code.nan_asserts,
        _PROVENANCE: code.provenance,
        _PROFILE: code.profile,
    }
    return {name: "on" if on else "off" for name, on in found.items() if on is not None}


def _recorded(records: Mapping[str, int]) -> dict[str, State]:
    """Flags whose own output was read: a trace."""
    return {"TORCH_TRACE": "on"} if records.get("torch_trace") else {}


def _set_to(event: FlagSeen) -> State:
    """What a value means: `0` is off, but for flags that are on whenever they are set."""
    if event.name in _ON_WHEN_SET:
        return "on"
    if event.name in _ON_WHEN_EMPTY and not event.value:
        return "on"
    return "off" if event.value in _OFF_VALUES else "on"


def blocking_is_inferred(states: Sequence[Flag], events: Iterable[Event]) -> bool:
    """Whether only missing help lines tell that launches were blocking, nobody set the flag."""
    on = {flag.name for flag in states if flag.name in _BLOCKING_FLAGS and flag.state == "on"}
    set_by_hand = {event.name for event in events if isinstance(event, FlagSeen)}
    return bool(on) and not on & set_by_hand


def launches_block(states: Sequence[Flag]) -> bool | None:
    """Whether each launch waited for its kernel; None where nothing tells."""
    told = [flag.state for flag in states if flag.name in _BLOCKING_FLAGS]
    if "on" in told:
        return True
    return False if "off" in told else None
