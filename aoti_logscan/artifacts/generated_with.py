"""How generated code was made: which debugging flags of compile time stand in a wrapper.

Sources: torch 2.13, _inductor/codegen/cpp_wrapper_cpu.py (`_check_aoti_runtime_check_inputs_env`,
`codegen_input_nan_asserts`, `KernelContextGuard`), debug_utils.py (the printer), wrapper.py (debug
handles). Before 2.7 the checks of inputs were written into a wrapper only where
AOTI_RUNTIME_CHECK_INPUTS was set as it was compiled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from aoti_logscan.artifacts.wrapper_code import Wrapper


class GeneratedWith(NamedTuple):
    """What the wrappers at hand show; None where there is none, or they differ.

    `wrappers` is how many there are. `checks` says when AOTI_RUNTIME_CHECK_INPUTS takes effect, and
    `checked` whether checks were compiled in where that was decided at compile time.
    """

    wrappers: int = 0
    checks: Literal["run", "compile"] | None = None
    checked: bool | None = None
    printer: bool | None = None
    nan_asserts: bool | None = None
    profile: bool | None = None
    provenance: bool | None = None


def generated_with(wrappers: Iterable[Wrapper]) -> GeneratedWith:
    """What the wrappers (files that call kernels) were compiled with."""
    texts = ["\n".join(wrapper.lines) for wrapper in wrappers]
    texts = [text for text in texts if _is_wrapper(text)]
    aoti = [text for text in texts if "AOTInductorModel::run_impl(" in text]
    reads_flag = _agreed("_check_aoti_runtime_check_inputs_env" in text for text in aoti)
    decided = [text for text in aoti if "_check_aoti_runtime_check_inputs_env" not in text]
    return GeneratedWith(
        wrappers=len(texts),
        checks=None if reads_flag is None else "run" if reads_flag else "compile",
        checked=_agreed("input_handles[0]: unmatched" in text for text in decided),
        printer=_agreed("before_launch" in text for text in texts),
        nan_asserts=_agreed(any(one in text for one in _NAN_ASSERTS) for text in texts),
        profile=_agreed("KernelContextGuard _ctx(" in text for text in aoti),
        provenance=_agreed("[Provenance debug handles]" in text for text in texts),
    )


_NAN_ASSERTS = ("aoti_torch_check_inf_and_nan(", ".isnan().any().item()")


def _is_wrapper(text: str) -> bool:
    return "AOTInductorModel::run_impl(" in text or "def call(" in text or "inductor_entry" in text


def _agreed(answers: Iterable[bool]) -> bool | None:
    found = set(answers)
    return found.pop() if len(found) == 1 else None
