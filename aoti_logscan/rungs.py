"""The ladder of debugging a failed run, and the environment that each rung sets.

From the guide of AOTInductor: sane inputs first, then a failure that is the same each time, then
the kernels that were launched, then what one of them reads. A later rung keeps what makes the
failure deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

PRINTER = "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER"
FILTER = "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT"
TRACE = "TORCH_TRACE"
#: torch.compile calls kernels from C++, as a package does
CPP_WRAPPER = "TORCHINDUCTOR_CPP_WRAPPER"
#: tools of CUDA that take the place of a rung, where a bad access is silent or reported late
SANITIZER = "compute-sanitizer"
CORE_DUMP = "CUDA_ENABLE_COREDUMP_ON_EXCEPTION"
#: what shows the frames of a process as it dies
FAULTHANDLER = "faulthandler"
DEBUGGER = "gdb"

#: flags that are baked into a package or a compiled function; at run time they do nothing
COMPILE_FLAGS = ("TORCHINDUCTOR_NAN_ASSERTS", PRINTER, FILTER)
# torch 2.13, debug_utils.py: all that the printer covers where the wrapper is Python, at 2
_PRINTED_FROM_PYTHON = ("triton_", "extern_kernels.")

#: what every recording sets: a crash tells its Python frames. Not PYTHONUNBUFFERED: on a terminal
#: lines are flushed anyway, and with it a `print` is several writes, which ranks interleave
_ALWAYS = {"PYTHONFAULTHANDLER": "1"}
# each runtime reads its own and no other, so that all can be set without knowing the build;
# torch 2.13, cpp_stacktraces.cpp: of {dladdr, addr2line, fast} only the last two name all frames,
# and addr2line may take minutes
_DETERMINISTIC = {
    "CUDA_LAUNCH_BLOCKING": "1",
    "AMD_SERIALIZE_KERNEL": "3",
    "HIP_LAUNCH_BLOCKING": "1",
    "TORCH_SHOW_CPP_STACKTRACES": "1",
    "TORCH_SYMBOLIZE_MODE": "fast",
}


class Rung(NamedTuple):
    """A rung: what it is called, what it does in a few words, and what it sets."""

    name: str
    does: str
    sets: Mapping[str, str]


RUNGS = (
    Rung(
        "sanity",
        "inputs are checked, NaN is asserted against, memory is not cached",
        {
            "AOTI_RUNTIME_CHECK_INPUTS": "1",
            "TORCHINDUCTOR_NAN_ASSERTS": "1",
            "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
        },
    ),
    Rung("pinpoint", "every launch waits for its kernel, errors have C++ stacks", _DETERMINISTIC),
    Rung("kernels", "every launch is marked", {**_DETERMINISTIC, CPP_WRAPPER: "1", PRINTER: "3"}),
    Rung(
        "inspect",
        "what kernels read and write is printed",
        {**_DETERMINISTIC, CPP_WRAPPER: "1", PRINTER: "2"},
    ),
)
STEPS = tuple(rung.name for rung in RUNGS)
_BY_NAME = {rung.name: rung for rung in RUNGS}
#: flags whose state a recording notes where the user had set them
FLAGS = tuple(dict.fromkeys([*(name for rung in RUNGS for name in rung.sets), FILTER, TRACE]))


def environment(step: str | None, suspects: Iterable[str] = ()) -> dict[str, str]:
    """What a run of this rung sets, or a plain recording (None).

    `suspects` are the kernels that `inspect` prints; without any it prints all.
    """
    sets = {**_ALWAYS, **(_BY_NAME[step].sets if step else {})}
    kernels = tuple(suspects)
    if step == "inspect" and kernels:
        sets[FILTER] = ",".join(kernels)
        if not is_printed_from_cpp_only(sets[PRINTER], kernels):
            del sets[CPP_WRAPPER]
    return sets


def is_printed_from_cpp_only(level: str, kernels: Iterable[str]) -> bool:
    """Whether torch.compile needs its C++ wrapper for what this level prints of these kernels.

    No kernels are all of them. Under a Python wrapper marks (3) are never printed, nor is anything
    of a C++ kernel; the others are, by names that they have under no other wrapper.
    """
    named = tuple(kernels)
    return level == "3" or not named or not all(map(_is_printed_from_python, named))


def _is_printed_from_python(kernel: str) -> bool:
    return kernel.startswith(_PRINTED_FROM_PYTHON)


def does(step: str) -> str:
    """What this rung does, in a few words."""
    return _BY_NAME[step].does


def after(step: str) -> str | None:
    """The next rung; None on the last."""
    place = STEPS.index(step) + 1
    return STEPS[place] if place < len(STEPS) else None
