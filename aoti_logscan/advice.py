"""Which debugging flags were on.

A flag's state rests on evidence in the events; without any it is unknown. Flags of compile time are
baked into a package: setting them for an existing one does nothing.
"""

from __future__ import annotations

import re
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
    SavedTensor,
    TraceArtifact,
)
from aoti_logscan.report import Flag
from aoti_logscan.rungs import FILTER, PRINTER
from aoti_logscan.timeline import evidence_of

State = Literal["on", "off"]
Effect = Literal["compile", "run"]


class _Row(NamedTuple):
    """A flag: when it takes effect and what an event tells of it."""

    name: str
    takes_effect: Effect
    told_by: tuple[type[Event], ...] = ()
    tells: Callable[[Event], State | None] = lambda _event: "on"


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


# V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [0/0] [__output_code] Output code:
# [2023-11-05 10:11:12,345] torch._inductor.graph.__output_code: [DEBUG] Output code:
_LOGGED = re.compile(r"\[__\w+\]|\.__\w+: \[DEBUG\]|: \[DEBUG\] ")


def _logged_code(event: Event) -> State | None:
    told = isinstance(event, GeneratedCode) and _LOGGED.search(event.place.text)
    return "on" if told else None


_CHECKS = "AOTI_RUNTIME_CHECK_INPUTS"
_NAN_ASSERTS = "TORCHINDUCTOR_NAN_ASSERTS"
_PROVENANCE = "INDUCTOR_PROVENANCE"
_PRINTED = (LaunchMark, ModelInput, SavedTensor)

_TABLE = (
    _Row(_CHECKS, "run", (InputCheck,), _checked_inputs),
    _Row(_NAN_ASSERTS, "compile", (BadValue,), _asserted_nan),
    _Row("PYTORCH_NO_CUDA_MEMORY_CACHING", "run"),
    _Row("CUDA_LAUNCH_BLOCKING", "run", (GpuError,), _blocking("cuda")),
    _Row("AMD_SERIALIZE_KERNEL", "run", (GpuError,), _blocking("hip")),
    _Row("HIP_LAUNCH_BLOCKING", "run"),
    _Row(PRINTER, "compile", _PRINTED),
    _Row(FILTER, "compile"),
    _Row("TORCH_LOGS", "run", (GeneratedCode,), _logged_code),
    _Row("TORCH_TRACE", "run"),
    _Row("TORCH_SHOW_CPP_STACKTRACES", "run", (CppStack,), _cpp_stacktraces),
    _Row("TORCH_SYMBOLIZE_MODE", "run"),
    _Row(_PROVENANCE, "compile", (TraceArtifact,), _traced_provenance),
    _Row("TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE", "compile"),
    _Row("PYTORCH_USE_CUDA_DSA", "run"),
)
FLAG_NAMES = tuple(row.name for row in _TABLE)
_OFF_VALUES = ("", "0", "false", "False")
# torch 2.13: the caching allocator looks whether it is set at all; the input checks of the
# generated code are off only where the first character is 0
_ON_WHEN_SET = ("PYTORCH_NO_CUDA_MEMORY_CACHING",)
_ON_WHEN_EMPTY = ("AOTI_RUNTIME_CHECK_INPUTS",)
_ROWS: dict[type[Event], tuple[_Row, ...]] = {
    kind: tuple(row for row in _TABLE if kind in row.told_by)
    for kind in (BadValue, CppStack, GeneratedCode, GpuError, InputCheck, TraceArtifact, *_PRINTED)
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
    set_by_hand: dict[str, Flag] = {}
    effects: dict[str, Effect] = {row.name: row.takes_effect for row in _TABLE}
    if code.checks == "compile":
        effects[_CHECKS] = "compile"
    inferred: dict[str, Flag] = {}
    for event in events:
        if isinstance(event, FlagSeen) and event.name in effects:
            flag = _flag(event.name, effects[event.name], _set_to(event), event)
            set_by_hand.setdefault(event.name, flag)
        for row in _ROWS.get(type(event), ()):
            if row.name not in inferred and (told := row.tells(event)):
                inferred[row.name] = _flag(row.name, effects[row.name], told, event)
    shown = {**_recorded(records), **_compiled_in(code)}
    return tuple(
        set_by_hand.get(row.name)
        or inferred.get(row.name)
        or Flag(name=row.name, state=shown.get(row.name, "unknown"), takes_effect=effects[row.name])
        for row in _TABLE
    )


def _compiled_in(code: GeneratedWith) -> dict[str, State]:
    """Flags of compile time that the generated code shows."""
    found = {
        _CHECKS: code.checked,
        PRINTER: code.printer,
        _NAN_ASSERTS: code.nan_asserts,
        _PROVENANCE: code.provenance,
        "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE": code.profile,
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


def _flag(name: str, effect: Effect, state: State, event: Event) -> Flag:
    evidence = evidence_of(event)
    return Flag(name=name, state=state, takes_effect=effect, evidence=evidence)


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
