"""Whether an exception is a failed compilation, in which stage, and what its innermost reason is.

    torch._inductor.exc.InductorError: LoweringException: NotImplementedError: no such stride

is a failure of the stage `lowering`, of the type `LoweringException`, with the reason `no such
stride`. Types, words and frames of the stack decide; a `compilation_metrics` record of a trace
tells the same with `fail_type` and `fail_reason`. Sources: torch 2.13, _dynamo/exc.py,
_inductor/exc.py, _dynamo/convert_frame.py (`_compile`), fx/experimental/symbolic_shapes.py; Triton
3, compiler/errors.py and runtime/build.py.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from aoti_logscan.events import Frame
from aoti_logscan.lazy_re import lazy_re

Stage = Literal["export", "dynamo", "aot-autograd", "lowering", "cpp-compile", "triton-compile"]


class CompileFailure(NamedTuple):
    """A failed compilation.

    `exception` is the last type of torch or Triton that the text names, `message` the first line of
    the innermost reason, `headline` the first line of the reason that was raised last, by which
    two reports of one failure are known. `raised` is the type of the innermost reason where its
    message says nothing without: `KeyError`, whose message is a key.
    """

    stage: Stage | None
    exception: str | None
    message: str | None
    headline: str | None
    raised: str | None = None


# types that only a compilation raises
_COMPILER_TYPE = lazy_re(
    r"^(?:torch\._dynamo\.exc|torch\._inductor(?:\.\w+)*|torch\.fx\.experimental\.symbolic_shapes"
    r"|torch\._subclasses\.fake_tensor|torch\._export\.(?:error|verifier)|torch\._functorch[\w.]*"
    r"|triton\.compiler[\w.]*|triton\.runtime\.errors|triton\.backends[\w.]*)\.\w+$"
    r"|^(?:InductorError|BackendCompilerFailed|TorchRuntimeError|InternalTorchDynamoError"
    r"|CppCompileError|InvalidCxxCompiler|LoweringException|MissingOperatorWith(?:out)?Decomp"
    r"|GuardOnDataDependentSymNode|ConstraintViolationError|FailOnRecompileLimitHit|TritonMissing"
    r"|NoTritonConfigsError|FakeTensorDeviceMismatchError|DataDependentOutputException"
    r"|DynamicOutputShapeException|UnsupportedOperatorException|PTXASError)$"
)
# LoweringException: AssertionError: ...     the types in front of a reason
_TYPES = lazy_re(
    r"(?:(?:[A-Za-z_]\w*\.)*+(?:[A-Z]\w*?(?:Error|Exception|Compiler|Decomp|Missing|OutOfResources"
    r"|Failed|Node|Hit|Unsupported)): (?=\S))*+"
)
_TYPE = lazy_re(r"([\w.]+): ")
# backend='inductor' raised:
_BACKEND = lazy_re(r"^backend='(?P<backend>[^'\n]*)' raised:\s*\n?")
# got RuntimeError('a and b must have same reduction dim')      (the end of the repr may be cut off)
_GOT = lazy_re(r"\bgot [A-Z]\w*\((?P<quote>['\"])(?P<reason>(?:(?!(?P=quote)[)\n])[^\n])*)")
# Failed running call_function <built-in function matmul>(*(...), **{}):
_FAILED_RUNNING = lazy_re(r"^Failed running [^\n]*:\n(?P<reason>[^\n]+)")
# at 12:34:  <source>  <spaces>^  ValueError('...')
_AT_SOURCE = lazy_re(r"^at \d+:\d+:")
_CARET = lazy_re(r"\n *\^ *\n(?P<reason>[^\n]+)")
# the last exception's line of a traceback inside a message; `AssertionError` may stand alone
_NESTED_EXCEPTION = lazy_re(
    r"\n(?P<told>(?:[A-Za-z_]\w*\.)*+[A-Z]\w*(?:Error|Exception|Resources)(?:: [^\n]*|(?=\n|$)))"
)
# File "/opt/venv/.../compile_tasks.py", line 68, in _worker_compile_triton
_NESTED_FRAME = lazy_re(
    r'\n *File "(?P<file>[^"\n]{1,1000})", line \d{1,9}, in (?P<function>[^\s]{1,200})'
)
_IN_SUBPROCESS = lazy_re(r"^An exception occurred in a subprocess")
# what says only that something else failed: the exception that it came of has the reason
_POINTS_ON = lazy_re(
    r"^(?:An exception occurred in a subprocess|Hard failure due to fullgraph=True$"
    r"|Operator does not support running with fake tensors)"
)

_WORDS: tuple[tuple[re.Pattern[str], Stage], ...] = (
    (
        lazy_re(
            r"CppCompileError|InvalidCxxCompiler|C\+\+ compile error|working C\+\+ compiler"
            r"|CalledProcessError: Command '?\[[^\n]*(?:g\+\+|clang\+\+|icpx|\.cpp\b)"
        ),
        "cpp-compile",
    ),
    (
        lazy_re(
            r"\btriton\.(?:compiler|runtime|backends)|TritonMissing|working triton installation"
            r"|supported by the triton|CompilationError|triton configs|NoTritonConfigs"
            r"|[oO]ut ?[oO]f ?[rR]esource|PassManager::run failed|\bptxas\b|PTXASError|PTXAS error"
            r"|Failed to find C compiler|\bNoTriton|GPUTooOldForTriton|IntelGPUError"
            r"|CalledProcessError: Command '?\[[^\n]*(?:triton|main\.c\b|_utils\.c\b|-lcuda|ptxas)"
        ),
        "triton-compile",
    ),
    (lazy_re(r"LoweringException|MissingOperatorWith|CppWrapperCodegenError"), "lowering"),
)

_STANDARD = lazy_re(r"[/\\]lib[/\\]python3[^/\\]*[/\\](?!(?:site|dist)-packages)|^<frozen")
_LIBRARY = lazy_re(r"[/\\](?:site|dist)-packages[/\\]|^torch[/\\]|[/\\]torch[/\\]_?\w+[/\\]")
_CPP_TYPES = ("RuntimeError", "IndexError", "NotImplementedError", "TypeError", "ValueError")

# where a frame is while code is made, rather than run; the stage that it belongs to
_MAKES: tuple[tuple[re.Pattern[str], Stage], ...] = (
    (
        lazy_re(r"triton/runtime/build\.py |triton/compiler\.py _?(?:build|compile)"),
        "triton-compile",
    ),
    # a compiled kernel is an object of the compiler's own file, which also launches it
    (
        lazy_re(
            r"triton/compiler/\w+\.py (?!_init_handles$|launch_metadata$|run$|runner$|__get\w+__$)"
        ),
        "triton-compile",
    ),
    (
        lazy_re(r"torch/_inductor/runtime/compile_tasks\.py _worker_compile_triton$"),
        "triton-compile",
    ),
    (
        lazy_re(r"torch/_inductor/\S*triton_\w+\.py _?(?:precompile|make_launcher)"),
        "triton-compile",
    ),
    (lazy_re(r"torch/_inductor/(?:cpp_builder|cpu_vec_isa)\.py "), "cpp-compile"),
    (
        lazy_re(
            r"torch/_inductor/(?:graph|lowering|scheduler|ir|async_compile|codegen/\S+|fx_passes/\S+"
            r"|select_algorithm|decomposition|pattern_matcher|sizevars)\.py "
            r"|torch/_inductor/compile_fx\.py (?:\w*compile\w*)$"
        ),
        "lowering",
    ),
    (
        lazy_re(
            r"torch/_functorch/(?:_aot_autograd/(?:graph_c\w+|collect_\w+|frontend_\w+|traced_\w+"
            r"|dispatch_and_compile_graph|jit_compile_\w+)|partitioners)\.py "
            r"|torch/_functorch/aot_autograd\.py (?:_?create_aot|aot_(?:module_s|dis|wrap|export))"
        ),
        "aot-autograd",
    ),
    (
        lazy_re(
            r"torch/_dynamo/(?:convert_frame|output_graph|symbolic_convert|variables/\w+)\.py "
        ),
        "dynamo",
    ),
)
_EXPORTS = lazy_re(
    r"torch/export/(?:_trace|_draft_export)\.py |torch/export/__init__\.py export$"
    r"|torch/_export/(?:non_strict_utils|passes/\S+|verifier)\.py "
    r"|torch/_export/__init__\.py (?:aot_compile|_?export|capture_pre\w+)$"
)
_FRAMES_LOOKED_AT = 64
_LONGEST = 500


def compile_failure(exception: str, message: str, frames: Sequence[Frame]) -> CompileFailure | None:
    """What an exception tells of a failed compilation; None where it is no such failure."""
    places = [_place(frame) for frame in frames[-_FRAMES_LOOKED_AT:]]
    places += _nested_places(message)
    typed = _COMPILER_TYPE.match(exception) is not None
    if not typed and not (_makes_code(places) and _is_raised_by_library(exception, frames)):
        return None
    return _failure(exception, message, _stage(exception, message, places))


def completed(
    failure: CompileFailure, earlier: Iterable[tuple[str, CompileFailure | None]]
) -> CompileFailure:
    """The failure with what the exceptions that it came of tell and it does not.

    Of each of those, the latest first, the message and what it tells of a failed compilation.
    """
    for message, other in earlier:
        points_on = _POINTS_ON.match(failure.message or "") is not None
        if failure.stage is not None and not points_on:
            break
        if failure.stage is None and other is not None:
            failure = failure._replace(stage=other.stage)
        if points_on:
            failure = _with_reason(failure, other or _failure("", message, None))
    return failure


def _with_reason(failure: CompileFailure, other: CompileFailure) -> CompileFailure:
    if other.message is None:
        return failure
    return failure._replace(message=other.message, raised=other.raised)


@lru_cache(256)
def recorded_failure(
    fail_type: str, fail_reason: str | None, frames: tuple[Frame, ...]
) -> CompileFailure:
    """What a trace's record of a failed compilation tells."""
    places = [_place(frame) for frame in frames]
    reason = fail_reason or ""
    stage = _stage(fail_type, reason, places) or _stage_by_name(fail_type)
    return _failure(fail_type, reason, stage)


def _failure(exception: str, message: str, stage: Stage | None) -> CompileFailure:
    types, rest = _unwrapped(message)
    reason = _innermost(rest)
    inner, last = _unwrapped(reason)
    named = [exception, *types, *inner]
    raised = "KeyError" if [*types, *inner][-1:] == ["KeyError"] else None
    return CompileFailure(
        stage, _last_of_torch(named), _first_line(last) or None, _first_line(rest) or None, raised
    )


def _unwrapped(message: str) -> tuple[list[str], str]:
    """The types in front of a message, and what is left of it."""
    types: list[str] = []
    for _ in range(3):
        if backend := _BACKEND.match(message):
            message = message[backend.end() :]
        chain = _TYPES.match(message)
        if chain is None or not chain.end():
            break
        types += _TYPE.findall(chain[0])
        message = message[chain.end() :]
    return types, message


def _innermost(message: str) -> str:
    """The message from its innermost reason on."""
    if found := _GOT.search(message, 0, 20_000):
        return found["reason"]
    if found := _FAILED_RUNNING.match(message):
        return found["reason"]
    if _IN_SUBPROCESS.match(message):
        nested = [match["told"] for match in _NESTED_EXCEPTION.finditer(message)]
        return nested[-1] if nested else message
    if _AT_SOURCE.match(message) and (caret := _CARET.search(message)):
        return caret["reason"]
    return message


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0].strip()[:_LONGEST]


def _last_of_torch(named: Sequence[str]) -> str:
    """The last type that is none of Python's own, else the last."""
    own = [name for name in named if not hasattr(builtins, name) and name != "CalledProcessError"]
    return own[-1] if own else named[-1]


def _stage(exception: str, message: str, places: Sequence[str]) -> Stage | None:
    """The stage by the words of the failure, by its frames, by its type."""
    shown = _shown(exception, message)
    for words, stage in _WORDS:
        if words.search(shown):
            return stage
    made = next((found for place in reversed(places) if (found := _made(place))), None)
    if made in ("cpp-compile", "triton-compile", "lowering"):
        return made
    if any(_EXPORTS.search(place) for place in places):
        return "export"
    return _stage_by_type(exception, made)


def _shown(exception: str, message: str) -> str:
    """The types, the first line of what was raised last, and that of the innermost reason."""
    _, rest = _unwrapped(message)
    types = message[: len(message) - len(rest)]
    return f"{exception}: {types}{_first_line(rest)}\n{_first_line(_innermost(rest))}"


def _made(place: str) -> Stage | None:
    """The stage in which the code at a frame makes code."""
    return next((stage for where, stage in _MAKES if where.search(place)), None)


def _stage_by_type(exception: str, made: Stage | None) -> Stage | None:
    name = exception.rsplit(".", 1)[-1]
    if name == "BackendCompilerFailed":
        return made
    if name == "InductorError" or exception.startswith("torch._inductor."):
        return "lowering"
    if "symbolic_shapes" in exception or "fake_tensor" in exception:
        return made or "export"
    if exception.startswith("torch._export."):
        return "export"
    if exception.startswith("torch._dynamo."):
        return "dynamo"
    return made


# fail_type has no module
_NAMED: dict[str, Stage] = {
    "GuardOnDataDependentSymNode": "dynamo",
    "ConstraintViolationError": "export",
    "BackendCompilerFailed": "dynamo",
}


def _stage_by_name(fail_type: str) -> Stage | None:
    """Of dynamo's own record, everything that no backend raised is dynamo's."""
    if fail_type in ("InductorError", "LoweringException"):
        return "lowering"
    if fail_type == "BackendCompilerFailed":
        return None
    return _NAMED.get(fail_type, "dynamo")


def _place(frame: Frame) -> str:
    file = (frame.file or "").replace("\\", "/")
    return f"{file} {frame.function or ''}"


def _nested_places(message: str) -> list[str]:
    """The frames of a traceback that stands in a message, as a subprocess is told of."""
    found = [f"{match['file']} {match['function']}" for match in _NESTED_FRAME.finditer(message)]
    return [place.replace("\\", "/") for place in found[-_FRAMES_LOOKED_AT:]]


def _makes_code(places: Sequence[str]) -> bool:
    return any(_EXPORTS.search(place) or _made(place) for place in places)


def _is_raised_by_library(exception: str, frames: Sequence[Frame]) -> bool:
    """Whether the innermost code that is not Python's own is a library's.

    torch's C++ code raises into the line that called it, which then raises nothing itself.
    """
    for frame in reversed(frames):
        if _LIBRARY.search(frame.file or ""):
            return True
        if not _STANDARD.search(frame.file or ""):
            raises = frame.text is None or frame.text.startswith(("raise ", "raise(", "assert "))
            return exception in _CPP_TYPES and not raises
    return False
