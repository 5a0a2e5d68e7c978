"""The last kernel launched, by the strongest evidence there is, and how far that goes.

A sanitizer, an assertion whose file proves the kernel, and a stack frame name a kernel outright; a
failed shim call, a line of generated code in a traceback and a printer mark tell where the host
was. An asynchronous error of the GPU may come from any earlier launch, so then the last one is only
possible. Where nothing ran there is none.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from aoti_logscan.artifacts.library import Library
from aoti_logscan.events import (
    CppStack,
    DeviceAssert,
    ErrorText,
    Frame,
    GpuError,
    IndexCheck,
    LaunchMark,
    PrinterCut,
    ProcessDeath,
    PythonException,
    SanitizerError,
    ShimFailure,
)
from aoti_logscan.kernel_origin import completed
from aoti_logscan.launches import Launch, last_launch, launches
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.report import CERTAINTIES, Call, Certainty, Kernel
from aoti_logscan.router import Routed
from aoti_logscan.timeline import Situation, evidence_of

#: failures after which no kernel can be named: nothing ran, or nothing of a kernel is told
_NOTHING_RAN = frozenset(
    {
        "none",
        "input-mismatch",
        "compile-failure",
        "package-load-failure",
        "constants-mismatch",
        "missing-custom-op",
        "collective-failure",
        "out-of-memory",
    }
)
#: evidence of where the host was, which means the kernel only if launches were blocking
_HOST_SIDE = ("api-call", "blocking-traceback", "printer")
_ASYNCHRONOUS = frozenset(
    {
        "illegal-memory-access",
        "misaligned-address",
        "gpu-launch-failure",
        "device-assert",
        "triton-index-out-of-bounds",
        "aten-index-out-of-bounds",
    }
)

# /tmp/torchinductor_u/ij/cijdmgtw....py     inductor_cache/ab/cabc....py
_GENERATED = lazy_re(r"[/\\](?:torchinductor_|inductor_cache|[a-z0-9]{2}[/\\]c[a-z2-7]{51}\.py$)")
# triton_poi_fused_add_gather_3.run(buf2, ...)   extern_kernels.mm(a, b)   cpp_fused_x_0(primals_2)
_CALL = lazy_re(
    r"(?:^|= ?)(?:(?P<triton>\w+)\.run\(|(?P<extern>extern_kernels\.\w+)\("
    r"|(?P<cpp>cpp_\w+)\(|(?P<op>torch\.ops\.[\w.]+)\()"
)
# functions that run while a kernel is made ready: an error there belongs to an earlier launch
_MAKING_READY = lazy_re(
    r"^(?:precompile|_precompile\w*|load_binary|_init_handles|_make_launchers|make_launcher"
    r"|autotune\w*|bench|benchmark\w*|compile\w*|_compile\w*|__getattribute__)$"
)
# cpp_fused_index_sin_0     call_triton_poi_fused_0
_KERNEL_FUNCTION = lazy_re(r"^(?:call_)?(?P<name>(?:cpp|triton)_\w+)")
_WRAPPER_FILE = lazy_re(r"\.wrapper\.cpp$|\.main\.cpp$")
# a C call of the runner, not of a kernel
_RUNNER_CALL = lazy_re(r"_func_$")


class _Scene(NamedTuple):
    """What is known where the failure was: events of its process, nearest to the cause first.

    `marked` has the launches that the printer marked, in their order, instead of their marks;
    `home` is the source that the cause is told in.
    """

    situations: Sequence[Situation]
    marked: Sequence[Launch]
    home: str | None
    library: Library
    asynchronous: bool
    failure_class: str


def last_kernel(
    situations: Sequence[Situation],
    routed: Routed,
    library: Library,
    *,
    blocking: bool | None,
    inferred: bool,
) -> Kernel | None:
    """The last kernel launched before the failure of the verdict; None where none is known.

    `blocking` says whether launches waited for their kernels, `inferred` that only missing lines
    tell so: then the kernel is at most likely.
    """
    verdict, cause = routed.verdict, routed.cause
    if verdict.failure_class in _NOTHING_RAN or _is_before_the_run(routed):
        return None
    asynchronous = blocking is not True and _is_asynchronous(situations, verdict.failure_class)
    near = _same_process(situations, cause)
    home = (cause or near[0]).event.place.source if near else None
    marked = launches(near)
    others = [one for one in near if not isinstance(one.event, LaunchMark)]
    ordered = _nearest_first(others, cause) if cause else others
    scene = _Scene(ordered, marked, home, library, asynchronous, verdict.failure_class)
    found = next((kernel for find in _FINDERS for kernel in find(scene)), None)
    if found is None:
        return None
    if inferred and found.found_by in _HOST_SIDE:
        certainty = max(found.certainty, "likely", key=CERTAINTIES.index)
        found = msgspec.structs.replace(found, certainty=certainty)
    return completed(found, library, marked)


def _is_before_the_run(routed: Routed) -> bool:
    if routed.verdict.finding is None:
        return False
    stage = routed.findings[routed.verdict.finding].facts.get("stage")
    return stage in ("load", "constants")


def _is_asynchronous(situations: Sequence[Situation], failure_class: str) -> bool:
    """Whether the error may have been reported late: it is the GPU's, and not a checked call's."""
    if failure_class in _ASYNCHRONOUS:
        return True
    return failure_class == "undecided" and any(
        isinstance(situation.event, GpuError) for situation in situations
    )


def _same_process(situations: Sequence[Situation], cause: Situation | None) -> Sequence[Situation]:
    """Events that may be of the failing process, in the order of the run."""
    if cause is None or cause.rank is None:
        return situations
    return [one for one in situations if one.rank is None or cause.rank == one.rank]


def _nearest_first(situations: Iterable[Situation], cause: Situation) -> list[Situation]:
    """Those of the cause's own source first, and of these the nearest to it."""
    home = cause.event.place.source
    at = cause.event.place.offset

    def distance(situation: Situation) -> tuple[bool, int]:
        place = situation.event.place
        return place.source != home, abs(place.offset - at)

    return sorted(situations, key=distance)


def _kernel(
    situation: Situation,
    name: str,
    certainty: Certainty,
    found_by: str,
    why: str,
    call: Call | None = None,
) -> Kernel:
    return Kernel(
        name=name,
        certainty=certainty,
        open=None,
        found_by=found_by,
        why=why,
        rank=situation.rank,
        evidence=evidence_of(situation.event),
        call=call,
    )


def _by_sanitizer(scene: _Scene) -> Iterator[Kernel]:
    for situation in scene.situations:
        event = situation.event
        if isinstance(event, SanitizerError) and event.kernel:
            why = "compute-sanitizer stopped at the access and names the kernel"
            yield _kernel(situation, event.kernel, "sure", "sanitizer", why)
            return


def _by_assertion(scene: _Scene) -> Iterator[Kernel]:
    asserts = [one for one in scene.situations if isinstance(one.event, DeviceAssert)]
    for situation in sorted(asserts, key=lambda one: one.order):
        event = situation.event
        assert isinstance(event, DeviceAssert)
        if name := scene.library.kernel_of(event.file):
            why = "the assertion's file name is the hash of this kernel's source"
            yield _kernel(situation, name, "sure", "device-assert", why)
        return


def _by_stack_frame(scene: _Scene) -> Iterator[Kernel]:
    for situation in scene.situations:
        event = situation.event
        if isinstance(event, CppStack) and (found := _in_stack(event, scene.library)):
            name, call = found
            why = "the stack of the failure goes through it"
            yield _kernel(situation, name, "sure", "stack-frame", why, call)
            return


def _in_stack(stack: CppStack, library: Library) -> tuple[str, Call | None] | None:
    """The kernel on the stack, and the call on the wrapper's line that the stack names."""
    frames = stack.frames
    if stack.raised_from:
        frames = (Frame(stack.raised_from, stack.file, stack.line), *frames)
    matches = (_KERNEL_FUNCTION.match(frame.function or "") for frame in frames)
    function = next((match["name"] for match in matches if match), None)
    for frame in frames:
        if frame.file and frame.line and _WRAPPER_FILE.search(frame.file):
            found = library.call_on(frame.file, frame.line)
            if found:
                call = Call(frame.file, frame.line, found[1].text)
                return function or found[1].kernel, call
    return (function, None) if function else None


def _by_index_check(scene: _Scene) -> Iterator[Kernel]:
    for situation in scene.situations:
        event = situation.event
        if isinstance(event, IndexCheck) and event.function:
            why = "the failed check names its function"
            yield _kernel(situation, event.function, "sure", "stack-frame", why)
            return


def _by_api_call(scene: _Scene) -> Iterator[Kernel]:
    for situation in scene.situations:
        event = situation.event
        if isinstance(event, ShimFailure) and not _RUNNER_CALL.search(event.function):
            if not _WRAPPER_FILE.search(event.file):
                continue
            call = Call(event.file, event.line, event.call)
            if scene.asynchronous:
                why = "this call reported an error that an earlier launch may have caused"
                yield _kernel(situation, event.function, "possible", "api-call", why, call)
            else:
                why = "this call inside the model returned the error"
                yield _kernel(situation, event.function, "sure", "api-call", why, call)
            return


def _by_shim_frame(scene: _Scene) -> Iterator[Kernel]:
    """A shim call of the model on the stack of the failure, whose own line is not in the log."""
    for situation in scene.situations:
        event = situation.event
        if isinstance(event, PythonException | ErrorText) and situation.shim is None:
            name = situation.shim_function
            if name is not None:
                why = "the stack of the failure goes through this call of the model"
                certainty: Certainty = "possible" if scene.asynchronous else "sure"
                yield _kernel(situation, name, certainty, "stack-frame", why)
                return


def _by_traceback(scene: _Scene) -> Iterator[Kernel]:
    for situation in scene.situations:
        event = situation.event
        if isinstance(event, PythonException) and (found := _in_traceback(event.frames)):
            name, frame = found
            call = Call(frame.file, frame.line, frame.text or "")
            if scene.asynchronous:
                why = "the error surfaced while it was launched; an earlier launch may be at fault"
                yield _kernel(situation, name, "possible", "blocking-traceback", why, call)
            else:
                why = "the traceback ends in its launch, and launches were not asynchronous"
                yield _kernel(situation, name, "sure", "blocking-traceback", why, call)
            return


def _in_traceback(frames: Sequence[Frame]) -> tuple[str, Frame] | None:
    """The call in the innermost frame of generated code; None while a kernel was made ready."""
    for at in range(len(frames) - 1, -1, -1):
        frame = frames[at]
        if not _GENERATED.search(frame.file or ""):
            continue
        inner = frames[at + 1 :]
        if any(_MAKING_READY.match(one.function or "") for one in inner):
            return None
        match = _CALL.search(frame.text or "")
        return (next(filter(None, match.groups())), frame) if match else None
    return None


def _by_printer(scene: _Scene) -> Iterator[Kernel]:
    last = last_launch(scene.marked, scene.home)
    if last is None:
        return
    several = len({launch.first.event.place.source for launch in scene.marked}) > 1
    certainty, why = _printed(last.open, scene.asynchronous, _end(scene.situations, last.source))
    if scene.failure_class == "nan-or-inf" and not last.open:
        why = "its launch was marked last; nothing says that it failed"
    yield Kernel(
        name=last.kernel,
        certainty="possible" if several and last.source != scene.home else certainty,
        open=last.open,
        found_by="printer",
        why=why,
        launch_index=last.index,
        rank=last.first.rank,
        evidence=evidence_of(last.last_mark),
        arguments=last.arguments(),
    )


_End = Literal["lived", "died", "cut", "recorded"]


def _end(situations: Sequence[Situation], source: str) -> _End:
    """How the process ended whose marks stand in this source.

    `cut` is a source that ends in the middle of a mark. `recorded` is a death that lost no mark:
    `aoti-logscan run` gave the process a terminal.
    """
    deaths = [one.event for one in situations if isinstance(one.event, ProcessDeath)]
    folder = posixpath.dirname(source)
    if any(
        event.told_by == "recorder" and posixpath.dirname(event.place.source) == folder
        for event in deaths
    ):
        return "recorded"
    if any(isinstance(one.event, PrinterCut) for one in situations):
        return "cut"
    return "died" if deaths else "lived"


_LOST: dict[_End, str] = {
    "died": "; marks on a piped stdout may be lost when a process dies",
    "cut": "; the log ends in the middle of a mark, and later ones may be lost",
}


def _printed(is_open: bool, asynchronous: bool, end: _End) -> tuple[Certainty, str]:
    """How far a last mark goes, and why."""
    lost = _LOST.get(end, "")
    if not is_open:
        return "likely", f"it came back: the failure lies after it, in what prints no mark{lost}"
    if asynchronous:
        return (
            "likely",
            f"its launch was marked and never came back; an earlier one may be at fault{lost}",
        )
    if end == "lived":
        reason = "launches were not asynchronous"
        return "sure", f"its launch was marked and never came back, and {reason}"
    if end == "recorded":
        reason = "the recording kept every mark until the process died"
        return "sure", f"its launch was marked and never came back; {reason}"
    return "likely", f"its launch was marked and never came back{lost}"


_FINDERS: tuple[Callable[[_Scene], Iterator[Kernel]], ...] = (
    _by_sanitizer,
    _by_assertion,
    _by_stack_frame,
    _by_index_check,
    _by_api_call,
    _by_shim_frame,
    _by_traceback,
    _by_printer,
)
