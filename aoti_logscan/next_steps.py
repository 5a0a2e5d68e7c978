"""What to do next: the remedy of a decided failure, else the next rung of the ladder.

The ladder: check the inputs; make launches blocking; mark every launch; print one kernel's
arguments; print those of the kernel that made its input. A flag that was on is never advised again,
and a command is written for the runtime and the package at hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import msgspec

from aoti_logscan.advice import FLAG_NAMES, costs, tools_used
from aoti_logscan.artifacts.generated_with import GeneratedWith
from aoti_logscan.events import (
    DeviceAssert,
    Event,
    GpuError,
    Harmless,
    IndexCheck,
    LaunchMark,
    ProcessDeath,
    PythonException,
)
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.pattern import Next, Pattern
from aoti_logscan.report import Finding, Flag, Kernel, Lineage, NextStep, Verdict
from aoti_logscan.router import fill
from aoti_logscan.rungs import (
    CORE_DUMP,
    CPP_WRAPPER,
    DEBUGGER,
    FAULTHANDLER,
    FILTER,
    PRINTER,
    SANITIZER,
    is_printed_from_cpp_only,
)

#: steps that are offered at most
MAX_STEPS = 5

#: failures whose text says what is wrong, so that their remedy comes first
_REMEDIED = frozenset(
    {
        "device-mismatch",
        "input-mismatch",
        "constants-mismatch",
        "package-load-failure",
        "missing-custom-op",
        "no-kernel-image",
        "size-stride-assert",
        "nan-or-inf",
    }
)
#: failures of a kernel that the report does not name by itself
_OF_SOME_KERNEL = frozenset(
    {
        "illegal-memory-access",
        "misaligned-address",
        "gpu-launch-failure",
        "device-assert",
        "aten-index-out-of-bounds",
        "host-crash",
        "undecided",
    }
)
#: failures at which a GPU stops in the kernel at fault, so that its state can be written out
_FAULTS = frozenset({"illegal-memory-access", "misaligned-address", "device-assert"})
#: of failed launches, those that are such faults; the others were refused
_FAULT_MESSAGES = frozenset(
    {
        "unspecified launch failure",
        "an illegal instruction was encountered",
        "invalid program counter",
        "hardware stack error",
        "operation not supported on global/shared address space",
    }
)
#: patterns whose failures are the machine's: no kernel is at fault, and to know one helps nobody
_OF_THE_MACHINE = frozenset(
    {
        "gpu-device-absent",
        "gpu-driver-mismatch",
        "gpu-hardware",
        "gpu-not-ready",
        "gpu-uncorrectable",
        "host-bus-error",
    }
)
#: failures that a value or a size among the kernel's arguments explains
_OF_VALUES = _OF_SOME_KERNEL | {"triton-index-out-of-bounds", "cpu-index-out-of-bounds"}
# CUDA_LAUNCH_BLOCKING=1 in a command
_SETTING = lazy_re(r"\b(?P<name>[A-Z][A-Z0-9_]+)=(?P<value>\S*)(?:\s|$)")
# NAME=2 python COMPILE_SCRIPT.py && NAME=1 aoti-logscan run -- python SCRIPT.py
_COMPILED_APART = lazy_re(
    r"(?P<setting>(?:[A-Z_]+=\S+ )*)python COMPILE_SCRIPT\.py(?: && (?P<run>.*))?$"
)
# a run of the program that does nothing else
_PLAIN_RUN = lazy_re(r"^(?:python|\./PROGRAM)\b")
# triton_poi_fused_add_0   cpp_fused_mul_1   aoti_torch_cuda_mm_out   extern_kernels.mm
_PRINTED_KERNEL = lazy_re(r"^(?:\w*triton_|cpp_|aoti_torch_(?:cpu|cuda|xpu)_|extern_kernels\.)")

_FROM_CPP = "torch.compile prints that from its C++ wrapper only"

# D:\\proj\\train.py    C:/work/model.py
_WINDOWS_FILE = lazy_re(r"^[A-Za-z]:[\\/]")

#: files of torch that stand in the traceback of a compiled function, not of a package
_RUNS_COMPILED = ("torch/_dynamo/eval_frame.py", "torch/_inductor/output_code.py")

Runtime = Literal["cuda", "hip", "xpu"]
#: what torch.compile calls the file of a C++ kernel, or of a C++ wrapper; a package does not
_COMPILED_CPP = ".main.cpp"
#: how launches are made blocking, by the runtime
_MADE_BLOCKING: dict[Runtime, str] = {
    "cuda": "CUDA_LAUNCH_BLOCKING=1",
    "hip": "AMD_SERIALIZE_KERNEL=3",
    "xpu": "UR_L0_SERIALIZE=2",
}


@dataclass(frozen=True)
class Scene:
    """All that steps depend on; `advisers` are patterns whose own steps help, with findings."""

    verdict: Verdict
    advisers: Sequence[tuple[Pattern, Finding]]
    flags: Sequence[Flag]
    kernel: Kernel | None
    lineage: Lineage | None
    events: Sequence[Event]
    code: GeneratedWith

    @cached_property
    def on(self) -> frozenset[str]:
        """Names of the flags that were on, and of the tools that were at work."""
        flags = frozenset(flag.name for flag in self.flags if flag.state == "on")
        return flags | tools_used(self.events)

    @cached_property
    def is_jit(self) -> bool:
        """Whether torch.compile ran the code: then nothing of AOTI has an effect."""
        files = [
            frame.file.replace("\\", "/")
            for event in self.events
            if isinstance(event, PythonException)
            for frame in event.frames
            if frame.file
        ]
        only_jit = self.code.wrappers > 0 and self.code.checks is None
        checked = (event.file for event in self.events if isinstance(event, IndexCheck))
        return (
            only_jit
            or any(file.endswith(_RUNS_COMPILED) for file in files)
            or any((file or "").endswith(_COMPILED_CPP) for file in checked)
        )

    @cached_property
    def is_windows(self) -> bool:
        """Whether the files of the run are those of Windows, and of no other system."""
        files = list(filter(None, _files(self.events)))
        return any(map(_WINDOWS_FILE.match, files)) and not any(
            file.startswith("/") for file in files
        )

    @property
    def is_of_the_machine(self) -> bool:
        """Whether the failure is one of the machine or its set-up, which no kernel explains."""
        return any(pattern.id in _OF_THE_MACHINE for pattern, _ in self.advisers[:1])

    @property
    def is_made_of_sizes(self) -> bool:
        """Whether sizes alone make the failed index, which the checks of the package let pass."""
        source = self.lineage.index_source if self.lineage else None
        return source is not None and source.kind == "computed"

    @cached_property
    def runtime(self) -> Runtime | None:
        """The runtime that an error names."""
        told = (event.runtime for event in self.events if isinstance(event, GpuError))
        return next(told, None)


def _files(events: Sequence[Event]) -> Iterator[str | None]:
    """The files that tracebacks, dumps of a crash and assertions name."""
    for event in events:
        match event:
            case PythonException() | ProcessDeath():
                yield from (frame.file for frame in event.frames)
            case DeviceAssert():
                yield event.file


def next_steps(scene: Scene) -> tuple[NextStep, ...]:
    """The steps that are worth taking, most useful first, each once."""
    found: dict[str, NextStep] = {}
    for offer in _OFFERS:
        for step in offer(scene):
            adapted = _adapted(step, scene)
            if adapted is not None:
                found.setdefault(adapted.command or adapted.title, _with_costs(adapted))
    steps = tuple(found.values())[:MAX_STEPS]
    if scene.is_windows and any(_SETTING.search(step.command or "") for step in steps):
        return (*steps[: MAX_STEPS - 1], _ON_WINDOWS)
    return steps


def _remedy(scene: Scene) -> Iterator[NextStep]:
    """What mends a failure that is understood."""
    if scene.lineage is not None and scene.lineage.fixes:
        assertion = None if scene.lineage.failing_values else scene.lineage.assertion
        yield _step(scene.lineage.fixes[0], assertion, "run", scene.lineage.cause or "")
    elif scene.verdict.failure_class in _REMEDIED and scene.verdict.certainty == "sure":
        for _, finding in scene.advisers[:1]:
            if finding.fixes:
                yield _step(finding.fixes[0], None, "run", finding.summary)


def _own_steps(scene: Scene) -> Iterator[NextStep]:
    """The steps of the patterns that found the failure, as far as they fit its facts.

    What only follows from a failure has steps that help where nothing else was seen.
    """
    seen = [one for one in scene.advisers if one[0].role == "cause"]
    for pattern, finding in seen or scene.advisers:
        for step in pattern.next:
            if step.flag not in scene.on and _fits(step, finding.facts):
                command = fill(step.command, finding.facts) if step.command else None
                effect: Literal["compile", "run"] = (
                    "compile" if step.takes_effect == "compile" else "run"
                )
                why = fill(step.why, finding.facts)
                title = fill(step.title, finding.facts)
                if _asks_for_code(command) and scene.code.wrappers:
                    title = "Give the package of this very model: none here has the failing kernel"
                if not (_asks_for_code(command) and scene.lineage is not None):
                    yield _step(title, command, effect, why)


def _asks_for_code(command: str | None) -> bool:
    return command is not None and "--package" in command


def _fits(step: Next, facts: Mapping[str, Any]) -> bool:
    wanted = all(facts.get(name) == value for name, value in step.when.items())
    return wanted and (step.unless is None or facts.get(step.unless) is None)


def _keep_marks(scene: Scene) -> Iterator[NextStep]:
    """Where marks are compiled in and a process died, those on a piped stdout may be lost."""
    deaths = [event for event in scene.events if isinstance(event, ProcessDeath)]
    lost = bool(deaths) and not any(event.told_by == "recorder" for event in deaths)
    is_open = scene.kernel is not None and scene.kernel.open is True
    is_told = scene.kernel is not None and scene.kernel.found_by != "printer"
    if PRINTER in scene.on and lost and not is_open and not is_told:
        yield _step(
            "Run it again on a terminal of its own: no mark is lost when the process dies",
            "aoti-logscan run -- python SCRIPT.py",
            "run",
            "a pipe buffers stdout and loses its end; `stdbuf -oL python SCRIPT.py` helps too",
        )


def _dump_core(scene: Scene) -> Iterator[NextStep]:
    """Where a GPU stopped at a fault and no kernel is known for sure: the state it stopped in."""
    facts = scene.advisers[0][1].facts if scene.advisers else {}
    if scene.is_windows or (scene.kernel is not None and scene.kernel.certainty == "sure"):
        return
    if not (scene.verdict.failure_class in _FAULTS or facts.get("message") in _FAULT_MESSAGES):
        return
    if scene.runtime == "cuda" and not {CORE_DUMP, SANITIZER} & scene.on:
        yield _step(
            "Have the GPU's state written as it faults: it names the kernel and the instruction",
            f"{CORE_DUMP}=1 CUDA_ENABLE_LIGHTWEIGHT_COREDUMP=1 CUDA_COREDUMP_FILE=gpu.core "
            "python SCRIPT.py; cuda-gdb -batch -ex 'target cudacore gpu.core' | aoti-logscan",
            "run",
            "it runs at full speed, also where the failure comes only after hours",
        )
    elif scene.runtime == "hip":
        yield _step(
            "Have the debug agent of ROCm print the waves that fault: it names the kernel",
            "HSA_TOOLS_LIB=/opt/rocm/lib/librocm-debug-agent.so.2 HSA_ENABLE_DEBUG=1 "
            "python SCRIPT.py 2>&1 | tee run.log",
            "run",
            "the runtime's own line has an address and no name",
        )


def _mark_launches(scene: Scene) -> Iterator[NextStep]:
    """Where no kernel is known well, a mark for every launch tells the last one."""
    if scene.verdict.failure_class not in _OF_SOME_KERNEL or PRINTER in scene.on:
        return
    if scene.is_of_the_machine:
        return
    if scene.kernel is not None and scene.kernel.certainty != "possible":
        return
    if not _is_of_a_model(scene):
        return
    yield _step(
        "Mark every launch, and run it on a terminal of its own so that no mark is lost",
        f"{PRINTER}=3 python COMPILE_SCRIPT.py && "
        f"{_made_blocking(scene)}aoti-logscan run -- python SCRIPT.py",
        "compile",
        "the last mark without an answer is the kernel that was running",
    )


def _is_of_a_model(scene: Scene) -> bool:
    """Whether generated code had a part in it: an error of a GPU or a crash may have none."""
    named = {flag.name for flag in scene.flags if flag.state != "unknown"}
    return (
        scene.code.wrappers > 0
        or scene.kernel is not None
        or bool(named & {PRINTER, "AOTI_RUNTIME_CHECK_INPUTS"})
        or scene.verdict.failure_class in ("illegal-memory-access", "misaligned-address")
        or scene.verdict.failure_class in ("gpu-launch-failure", "host-crash")
    )


def _made_blocking(scene: Scene) -> str:
    """What goes before a command so that launches block; nothing where no GPU is in play."""
    if scene.runtime is None and scene.verdict.failure_class in ("host-crash", "undecided"):
        return ""
    return f"{_MADE_BLOCKING[scene.runtime or 'cuda']} "


def _print_arguments(scene: Scene) -> Iterator[NextStep]:
    """A named kernel: its arguments; where those were printed, what made its inputs."""
    kernel = scene.kernel
    if kernel is None or kernel.certainty == "possible" or not _PRINTED_KERNEL.match(kernel.name):
        return
    if kernel.open is False:
        return  # it came back: what failed is something else
    if scene.verdict.failure_class not in _OF_VALUES:
        return
    producers = tuple(dict.fromkeys(one.kernel for one in kernel.producers if one.kernel))
    marks = [event.level for event in scene.events if isinstance(event, LaunchMark)]
    if not marks and PRINTER in scene.on:
        return  # it was on: what it printed is lost or elsewhere
    if all(level == 3 for level in marks):
        yield _printing((kernel.name,), "Print this kernel's arguments", "they show a bad input")
    elif producers:
        title = "Look at the kernels that made its inputs"
        yield _printing(producers, title, "the first bad value among their outputs is the cause")


def _printing(kernels: Sequence[str], title: str, why: str) -> NextStep:
    command = (
        f"{PRINTER}=2 {FILTER}={','.join(kernels)} python COMPILE_SCRIPT.py && "
        "aoti-logscan run -- python SCRIPT.py"
    )
    return _step(title, command, "compile", why)


def _modern(scene: Scene) -> Iterator[NextStep]:
    """The current interface, where a deprecated one was used."""
    if any(isinstance(event, Harmless) and event.form == "deprecated" for event in scene.events):
        yield _step(
            "Compile with the current interface, and load with aoti_load_package",
            "torch._inductor.aoti_compile_and_package("
            'torch.export.export(MODEL, ARGS), package_path="MODEL.pt2")',
            "compile",
            "torch._export.aot_compile and aot_load are deprecated, and keep less in the package",
        )


def _decide(scene: Scene) -> Iterator[NextStep]:
    """Where nothing decides: the one run that would tell more, and which question it answers."""
    if scene.verdict.failure_class != "undecided" or _is_told_by_launchers_only(scene):
        return
    if scene.runtime is not None:
        yield _step(
            "Make launches blocking, so that the report comes from the call at fault",
            f"{_MADE_BLOCKING[scene.runtime]} python SCRIPT.py 2>&1 | tee run.log",
            "run",
            "which kernel or call failed, since the GPU's report may come late",
        )
        return
    yield _step(
        "Run it again with the checks and C++ stacks on, and keep all that it prints",
        "AOTI_RUNTIME_CHECK_INPUTS=1 TORCH_SHOW_CPP_STACKTRACES=1 python -X faulthandler SCRIPT.py "
        "2>&1 | tee run.log; aoti-logscan run.log",
        "run",
        "which input, operator or frame failed first, and with what",
    )


def _is_told_by_launchers_only(scene: Scene) -> bool:
    """Whether no more is known than that some process failed: its own output would tell."""
    told = {pattern.failure_class for pattern, _ in scene.advisers}
    return told == {"collective-failure"}


def open_question(verdict: Verdict, steps: Sequence[NextStep]) -> Verdict:
    """An undecided verdict with what is open in it, as the first step would answer."""
    first = next((step for step in steps if step.why), None)
    if verdict.failure_class != "undecided" or first is None:
        return verdict
    summary = f"{verdict.summary}. Open is: {first.why}"
    return msgspec.structs.replace(verdict, summary=summary)


#: in the order of their worth
_OFFERS = (
    _remedy,
    _own_steps,
    _decide,
    _keep_marks,
    _dump_core,
    _mark_launches,
    _print_arguments,
    _modern,
)


def _step(
    title: str, command: str | None, takes_effect: Literal["compile", "run"], why: str
) -> NextStep:
    return NextStep(title=title, command=command, takes_effect=takes_effect, why=why)


def _adapted(step: NextStep, scene: Scene) -> NextStep | None:
    """The step without flags that were on, for the runtime at hand; None where nothing is left."""
    if step.command is None:
        return step
    offered = _without_tools(step.command, scene)
    if offered is None:
        return None
    command = _for_runtime(offered, scene.runtime)
    if scene.is_jit:
        command = _COMPILED_APART.sub(_in_one_run, command)
        if _is_printed_from_cpp_only(command):
            command = f"{CPP_WRAPPER}=1 {command}"
            step = msgspec.structs.replace(step, why=f"{step.why}; {_FROM_CPP}")
    own = [name for name in _settings(command) if name in FLAG_NAMES]
    left = [name for name in own if name not in scene.on or name in (PRINTER, FILTER)]
    if scene.is_jit or scene.is_made_of_sizes:
        left = [name for name in left if name != "AOTI_RUNTIME_CHECK_INPUTS"]
    command = _SETTING.sub(
        lambda match: "" if match["name"] in own and match["name"] not in left else match[0],
        command,
    )
    if own and not left and _PLAIN_RUN.match(command):
        return None
    step = msgspec.structs.replace(step, command=command)
    if "AOTI_RUNTIME_CHECK_INPUTS" in left and scene.code.checks == "compile":
        return msgspec.structs.replace(
            step,
            takes_effect="compile",
            command=f"AOTI_RUNTIME_CHECK_INPUTS=1 python COMPILE_SCRIPT.py && {command}",
        )
    return step


def _without_tools(command: str, scene: Scene) -> str | None:
    """The command without tools that were at work or are not at hand; None where it is no more."""
    if SANITIZER in command and SANITIZER in scene.on:
        return None
    if command.startswith(f"{DEBUGGER} ") and (scene.is_windows or DEBUGGER in scene.on):
        return None
    if scene.is_windows:
        command = command.split("; dmesg ", 1)[0]
    if FAULTHANDLER not in scene.on:
        return command
    left = command.replace(" -X faulthandler", "").replace("PYTHONFAULTHANDLER=1 ", "")
    return None if left == "python SCRIPT.py" else left


def _in_one_run(apart: re.Match[str]) -> str:
    """The command of a program that compiles what it runs."""
    return apart["setting"] + (apart["run"] or "python SCRIPT.py")


def _is_printed_from_cpp_only(command: str) -> bool:
    """Whether the command asks the printer for what a Python wrapper does not print."""
    sets = {match["name"]: match["value"] for match in _SETTING.finditer(command)}
    kernels = tuple(filter(None, sets.get(FILTER, "").split(",")))
    return PRINTER in sets and is_printed_from_cpp_only(sets[PRINTER], kernels)


def _with_costs(step: NextStep) -> NextStep:
    """The step with what its flags and its tool cost, each cost once."""
    command = step.command or ""
    tools = [SANITIZER] if f"{SANITIZER} " in command else []
    told = filter(None, map(costs, [*tools, *_settings(command)]))
    each = dict.fromkeys(cost for costs_of_one in told for cost in costs_of_one.split("; "))
    return msgspec.structs.replace(step, costs="; ".join(each) or None)


def _settings(command: str) -> list[str]:
    return [match["name"] for match in _SETTING.finditer(command)]


def _for_runtime(command: str, runtime: Runtime | None) -> str:
    if runtime is None or runtime == "cuda":
        return command
    return command.replace(_MADE_BLOCKING["cuda"], _MADE_BLOCKING[runtime])


#: told once, since commands are written as a POSIX shell takes them
_ON_WINDOWS = _step(
    "On Windows, set each NAME=VALUE of a command before it: `set NAME=VALUE` in cmd, "
    "`$env:NAME = 'VALUE'` in PowerShell",
    None,
    "run",
    "neither takes NAME=VALUE in front of a command",
)
