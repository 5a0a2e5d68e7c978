"""Events of all sources in one order, each with what stands around it.

A `Situation` joins an event with the traceback it ends, the C++ stack below it, the shim call that
failed with it, its rank (from its line, else from other lines of its process, else from the
source's name) and its place in the order of the run. Only events are read, never log text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from aoti_logscan.compile_failure import (
    CompileFailure,
    compile_failure,
    completed,
    recorded_failure,
)
from aoti_logscan.events import (
    Clock,
    Compile,
    CppStack,
    DeviceInformation,
    Event,
    LaunchMark,
    ProcessDeath,
    PythonException,
    ShimFailure,
    TraceArtifact,
)
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.prefix import Prefix
from aoti_logscan.report import Evidence

#: lines between an error's text and the stack printed below it, or the shim call told with it
_STACK_WITHIN = 24
_SHIM_WITHIN = 200
#: failed shim calls near an event that are weighed, and tracebacks that may be open at once
_SHIMS_LOOKED_AT = 64
_OPEN_TRACEBACKS = 64
#: bytes between an exception that tells of a subprocess and the traceback of that subprocess
_NESTED_WITHIN = 4000

# rank3.log  rank_3/  dedicated_log_torch_trace_rank_3_x.log  attempt_0/3/stderr.log
_RANK_IN_NAME = lazy_re(
    r"(?<![A-Za-z])rank[_-]?(?P<rank>\d{1,6})(?![0-9])|attempt_\d+/(?P<local>\d{1,6})/(?:stdout|stderr|error)"
)
# functions that run while constants are put on their device, while a package is loaded, and
# while a model runs
_CONSTANTS = lazy_re(r"load_constants|update_(?:in)?active_constant|update_constant_buffer")
_LOADS = lazy_re(
    r"^(?:load_package|_?load_aoti|aoti_load(?:_package)?|load_pt2|get_device_information)$"
    r"|AOTIModelPackageLoader::AOTIModelPackageLoader|AOTIModelContainerRunner\w*::AOTIModel"
    r"|^create_func_$"
)
_RUNS = lazy_re(
    r"run_impl|boxed_run|^run_func_$|^aoti_torch_(?:cpu|cuda|xpu|mps|aten|proxy)\w*"
    r"|AOTInductorModelContainerRun"
)

# SubprocException: An exception occurred in a subprocess:
_IN_SUBPROCESS = lazy_re(r"An exception occurred in a subprocess:")

# aoti_torch_cpu_mm_out    aoti_torch_proxy_executor_call_function
_SHIM_CALL = lazy_re(r"^aoti_torch_(?:(?:cpu|cuda|xpu|mps)_\w+|proxy_executor_call_function)$")
_MODEL_RUN = lazy_re(r"AOTInductorModel::run_impl|AOTInductorModelContainer::run")

Stage = Literal["load", "constants", "run"]


class Situation:
    """An event in its surroundings; `rank` is the best that is known of it.

    What stands around the event is looked up when it is asked for.
    """

    __slots__ = ("_around", "_source", "_stamp", "event", "rank")

    def __init__(
        self,
        event: Event,
        stamp: str | None,
        source: int,
        rank: int | None,
        around: _Surroundings,
    ) -> None:
        self.event = event
        self._stamp = stamp
        self._source = source
        self.rank = rank
        self._around = around

    def with_event(self, event: Event) -> Situation:
        """Another event in the same surroundings, one that was worked out from this one."""
        return Situation(event, self._stamp, self._source, self.rank, self._around)

    @property
    def order(self) -> tuple[int, str, int, int]:
        """Sorts as the run went: by wall time where there is one, then by source and position."""
        stamp = self._stamp
        return (0 if stamp else 1, stamp or "", self._source, self.event.place.offset)

    @property
    def timed(self) -> bool:
        """Whether the order rests on a wall time."""
        return self._stamp is not None

    def is_before(self, other: Situation) -> bool:
        """Whether it is known to have been told earlier: by wall time, else in the same source.

        Clocks of two ranks are not trusted within a second.
        """
        if self._stamp and other._stamp:
            second, others = self._stamp.partition(".")[0], other._stamp.partition(".")[0]
            if second != others:
                return second < others
        same = self._source == other._source and self.timed == other.timed
        return same and self.order < other.order

    def is_in_order_with(self, other: Situation) -> bool:
        """Whether it is known which of the two was told first."""
        return self.is_before(other) or other.is_before(self)

    @property
    def traceback(self) -> PythonException | None:
        """The traceback that the event stands in."""
        return self._around.traceback_at(self.event.place.offset)

    @property
    def retold_by(self) -> list[PythonException]:
        """The tracebacks that one of the event's records stands in."""
        offsets = (self.event.place.offset, *self.event.repeats)
        found = (self._around.traceback_at(offset) for offset in offsets)
        return [traceback for traceback in found if traceback is not None]

    @property
    def led_to(self) -> PythonException | None:
        """The exception that a chain of tracebacks ends in which this one stands in."""
        event = self.event
        return self._around.last_of_chain(event) if isinstance(event, PythonException) else None

    @property
    def compile_failure(self) -> CompileFailure | None:
        """What the event tells of a failed compilation; None where it tells of none."""
        return self._around.compile_failure(self.event)

    @property
    def stack(self) -> CppStack | None:
        """The C++ stack below the event."""
        return self._around.stack(self.event)

    @property
    def shim(self) -> ShimFailure | None:
        """The shim call whose failure was told with the event."""
        return self._around.shim(self.event)

    @property
    def shim_function(self) -> str | None:
        """The shim call that failed: by its own line, else by the stack of the model's run."""
        if self.shim is not None:
            return self.shim.function
        frames = self.stack.frames if self.stack else ()
        names = [frame.function or "" for frame in frames]
        if not any(_MODEL_RUN.search(name) for name in names):
            return None
        return next((name for name in names if _SHIM_CALL.match(name)), None)

    def capability(self, side: Literal["here", "package"]) -> str | None:
        """The compute capability that the loader warned of, on one side."""
        warning = self._around.capability
        return getattr(warning, side) if warning else None

    @property
    def functions(self) -> list[str]:
        """Names of all functions around the event: traceback, C++ stack and shim call."""
        frames = [*(self.traceback.frames if self.traceback else ())]
        frames += self.stack.frames if self.stack else ()
        names = [frame.function for frame in frames if frame.function]
        return [*names, self.shim.function] if self.shim else names

    @property
    def stage(self) -> Stage | None:
        """What was being done: loading a package, placing its constants, running it."""
        names = self.functions
        if any(_CONSTANTS.search(name) for name in names):
            return "constants"
        if any(_RUNS.search(name) for name in names):
            return "run"
        if any(_LOADS.search(name) for name in names):
            return "load"
        return None

    def field(self, name: str) -> Any:
        """A field of the event, or of its surroundings by the names patterns use."""
        if name in _JOINED:
            return _JOINED[name](self)
        return getattr(self.event, name, None)


_JOINED: dict[str, Callable[[Situation], Any]] = {
    "rank": lambda situation: situation.rank,
    "stage": lambda situation: situation.stage,
    "functions": lambda situation: situation.functions,
    "shim_device": lambda situation: shim_device(situation.shim),
    "from_torch": lambda situation: _is_from_torch(situation.event),
    "within_exception": lambda situation: (
        situation.traceback.exception if situation.traceback else None
    ),
    "last_source_line": lambda situation: _last_source_line(situation.traceback),
    "model_line": lambda situation: _model_line(situation.traceback),
    "shim_function": lambda situation: situation.shim_function,
    "raised_from": lambda situation: situation.stack.raised_from if situation.stack else None,
    "raised_file": lambda situation: situation.stack.file if situation.stack else None,
    "raised_line": lambda situation: situation.stack.line if situation.stack else None,
    "capability_here": lambda situation: situation.capability("here"),
    "capability_package": lambda situation: situation.capability("package"),
    "is_abort": lambda situation: _is_abort(situation.event),
    "only_wraps": lambda situation: _only_wraps(situation.event),
    "cut_in_torch": lambda situation: _is_cut_in_torch(situation.event),
    "compile_failed": lambda situation: situation.compile_failure is not None,
    "compile_stage": lambda situation: _of_compile(situation, "stage"),
    "compile_exception": lambda situation: _of_compile(situation, "exception"),
    "compile_message": lambda situation: _of_compile(situation, "message"),
    "compile_raised": lambda situation: _of_compile(situation, "raised"),
    "compile_headline": lambda situation: _of_compile(situation, "headline"),
    "crash_frame": lambda situation: _crash_frame(situation),
}


#: names of what a situation knows beside the fields of its event
JOINED_FIELDS = tuple(_JOINED)


def _of_compile(situation: Situation, name: str) -> Any:
    failure = situation.compile_failure
    return getattr(failure, name) if failure else None


def _is_abort(event: Event) -> bool | None:
    """Whether a process ended itself, as told by others; None for signals that are no crash."""
    if not isinstance(event, ProcessDeath) or event.signal not in _CRASHES:
        return None
    return event.signal == "SIGABRT" and event.told_by != "libc"


_CRASHES = (None, "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS")


def _last_source_line(traceback: PythonException | None) -> str | None:
    return traceback.frames[-1].text if traceback and traceback.frames else None


# /tmp/torchinductor_dev/dd/cddf6z...uayk.py       code that inductor wrote, named by its hash
_GENERATED = lazy_re(r"[/\\]c[a-z2-7]{51}\.py$")


def _model_line(traceback: PythonException | None) -> str | None:
    """The line of the compiled model that was running: the innermost in generated code."""
    for frame in reversed(traceback.frames if traceback else ()):
        if _GENERATED.search(frame.file or ""):
            return frame.text
    return None


# frames of a dead process that are neither the user's nor the model's: by function, by file
_FOREIGN_FUNCTION = lazy_re(
    r"^(?:\?\?|<unknown|\(unknown\)|__|_?Py|_start$|main$|std::|pybind11::|c10::|at::|caffe2::"
    r"|torch::(?!aot_inductor::AOTInductorModel::)|raise$|abort$|gsignal|pthread_|start_thread"
    r"|clone\d*$|vectorcall|cfunction_|method_vectorcall|slot_tp|type_call|object_vacall|run_mod$"
    r"|run_eval_code|pymain|pyrun|cuda[A-Z]|cu[A-Z]|AOTInductorModel)"
)
_FOREIGN_FILE = lazy_re(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python3|^<frozen|^(?:Objects|Python|Modules"
    r"|Parser|\./Include)/|/(?:lib(?:c|m|pthread|dl|rt)[.-]|ld-linux|libstdc\+\+|libpython"
    r"|libtorch|libc10|libcuda)[^/]*$|\./(?:nptl|sysdeps|csu|malloc)/"
)


def _crash_frame(situation: Situation) -> str | None:
    """The innermost frame that is the user's or the model's.

    A function's name; of a Python frame `file:line`.
    """
    event = situation.event
    if isinstance(event, ProcessDeath):
        for frame in event.frames:
            if not _FOREIGN_FILE.search(frame.file or ""):
                return f"{frame.file}:{frame.line}" if frame.line else frame.file
    for frame in situation.stack.frames if situation.stack else ():
        foreign = _FOREIGN_FUNCTION.match(frame.function or "??")
        if not foreign and not _FOREIGN_FILE.search(frame.file or ""):
            return frame.function
    return None


# aoti_torch_cuda_addmm_out
_SHIM_DEVICE = lazy_re(r"^aoti_torch_(cpu|cuda|xpu|mps)_")
_LIBRARY = lazy_re(r"[/\\](?:site|dist)-packages[/\\](?:torch|triton|functorch)[/\\]")
# an exception type of torch, and the types that torch's C++ code raises into the caller's line
_TORCH_TYPE = lazy_re(r"^(?:torch|triton)\.|^(?:AcceleratorError|OutOfMemoryError)$")
_CPP_TYPES = ("RuntimeError", "IndexError", "NotImplementedError")
# what Python's own containers and numpy say of an index
_OTHER_INDEX = lazy_re(
    r"^(?:[\w ]+ (?:assignment )?index|[\w ]+ object index) out of range\b|\baxis \d"
    r"|^pop (?:from|index)|^(?:only integers|arrays used as indices)|^string index"
)


def evidence_of(event: Event) -> Evidence:
    """The line that an event was told on, as reports show it."""
    place = event.place
    return Evidence(place.source, place.line, place.offset, place.text)


def shim_device(shim: ShimFailure | None) -> str | None:
    """`cuda` for `aoti_torch_cuda_addmm_out`: the device that the call was compiled for."""
    match = _SHIM_DEVICE.match(shim.function) if shim else None
    return match[1] if match else None


def _is_from_torch(event: Event) -> bool | None:
    """Whether an exception comes from torch, Triton or generated code, not from the caller's own.

    None where it does not tell: it only wraps another, or its line is cut off.

    torch's C++ code raises into the line that called it, so the last frame is the caller's; then
    its source line raises nothing itself.
    """
    if _only_wraps(event) or _is_cut_in_torch(event):
        return None
    if not isinstance(event, PythonException) or event.exception is None:
        return False
    if _TORCH_TYPE.search(event.exception):
        return True
    if not event.frames:
        return False
    last = event.frames[-1]
    if _LIBRARY.search(last.file or "") or _GENERATED.search(last.file or ""):
        return True
    raises = last.text is None or last.text.startswith(("raise ", "raise("))
    other = event.exception == "IndexError" and _OTHER_INDEX.search(event.message)
    return event.exception in _CPP_TYPES and not raises and not other


# types and words that only pass on that another process failed
_WRAPPER_TYPE = lazy_re(
    r"(?:^|\.)(?:BrokenProcessPool|BrokenExecutor|EngineDeadError|AsyncEngineDeadError|RayActorError"
    r"|ActorDiedError|ActorUnavailableError|WorkerCrashedError|LocalRayletDiedError|NodeDiedError)$"
)
_WRAPPER_WORDS = lazy_re(
    r"[sS]ee (?:the )?(?:root cause|stack trace) (?:\(above\)|above)|check the stack trace above"
)


def _only_wraps(event: Event) -> bool:
    """Whether an exception says no more than that something else failed in another process."""
    if not isinstance(event, PythonException) or event.exception is None:
        return False
    wraps = _WRAPPER_TYPE.search(event.exception) or _WRAPPER_WORDS.search(event.message)
    return wraps is not None


def _is_cut_in_torch(event: Event) -> bool:
    """Whether the log ends inside a traceback that goes through torch."""
    if not isinstance(event, PythonException) or not event.cut:
        return False
    return any(_LIBRARY.search(frame.file or "") for frame in event.frames)


def situations(sources: Sequence[tuple[str, Sequence[Event]]]) -> list[Situation]:
    """All events with their surroundings, in the order of the run.

    Wall times of one kind order events of different sources; where a source has none, the order
    of the sources stands.
    """
    ranks = _ranks_of_processes(sources)
    clock = _common_clock(sources)
    found = [
        situation
        for index, (name, events) in enumerate(sources)
        for situation in _of_source(index, name, events, ranks, clock)
    ]
    return sorted(found, key=lambda situation: situation.order)


def _ranks_of_processes(sources: Sequence[tuple[str, Sequence[Event]]]) -> dict[str, int]:
    known: dict[str, int] = {}
    for _, events in sources:
        for event in events:
            if event.process is not None and event.rank is not None:
                known.setdefault(event.process, event.rank)
    return known


def _common_clock(sources: Sequence[tuple[str, Sequence[Event]]]) -> str | None:
    """The kind of wall time that most sources with events have; None where no two have one."""
    told = [events for _, events in sources if events]
    kinds = Counter(
        kind for events in told for kind in {event.time.kind for event in events if event.time}
    )
    needed = min(len(told), 2)
    # of equally many the first by name, whatever the order of the sources
    found = min(kinds, key=lambda kind: (-kinds[kind], kind), default=None)
    return found if found is not None and kinds[found] >= needed else None


def _of_source(
    index: int,
    name: str,
    events: Sequence[Event],
    ranks: dict[str, int],
    clock: str | None,
) -> list[Situation]:
    named = rank_in_name(name)
    around = _Surroundings(events)
    writers = [around.writer(event) for event in events]
    found = []
    for event, writer, stamp in zip(events, writers, _stamps(writers, clock), strict=True):
        rank = writer.rank
        if rank is None and writer.process is not None:
            rank = ranks.get(writer.process)
        found.append(Situation(event, stamp, index, named if rank is None else rank, around))
    return found


def rank_in_name(name: str) -> int | None:
    """The rank that a file's or folder's name tells; the last one counts."""
    found = None
    for match in _RANK_IN_NAME.finditer(name.replace("\\", "/")):
        found = int(match["rank"] or match["local"])
    return found


def _stamps(writers: Sequence[Prefix], clock: str | None) -> list[str | None]:
    """The wall time of each event: its own, else the last one before it, else the next one.

    Where several write and their times are not in order, only the same writer's count.
    """
    if clock is None:
        return [None] * len(writers)
    own = [_stamp(writer.time, clock) for writer in writers]
    told = [stamp for stamp in own if stamp]
    if not told:
        return own
    names = {(writer.rank, writer.process) for writer in writers}
    if len(names) == 1 or told == sorted(told):
        return _filled(own, told[0])
    by_writer: dict[tuple[int | None, str | None], list[int]] = {}
    for at, writer in enumerate(writers):
        by_writer.setdefault((writer.rank, writer.process), []).append(at)
    found: list[str | None] = list(own)
    for name, places in by_writer.items():
        first = next((stamp for at in places if (stamp := own[at])), None)
        if first is not None and name != (None, None):
            for at, stamp in zip(places, _filled([own[at] for at in places], first), strict=True):
                found[at] = stamp
    return found


def _filled(own: Sequence[str | None], last: str) -> list[str | None]:
    found: list[str | None] = []
    for stamp in own:
        last = stamp or last
        found.append(last)
    return found


def _stamp(time: Clock | None, clock: str) -> str | None:
    return time.stamp if time and time.kind == clock else None


class _Surroundings:
    """The events of one source that others are looked at beside, by where they stand."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._tracebacks = [event for event in events if isinstance(event, PythonException)]
        self._tracebacks.sort(key=lambda traceback: traceback.begins)
        self._offsets = [traceback.begins for traceback in self._tracebacks]
        self._came_of = self._chains()
        self._came_from = {
            id(later): one for one in self._tracebacks if (later := self._came_of.get(id(one)))
        }
        self._compiles: dict[int, CompileFailure | None] = {}
        self._records_compiles = any(isinstance(event, Compile) for event in events)
        self._skipped = {
            event.compile_id
            for event in events
            if isinstance(event, TraceArtifact) and event.name == "dynamo_graph_break_reason"
        }
        self._stacks = [event for event in events if isinstance(event, CppStack)]
        self._stack_lines = [event.place.line for event in self._stacks]
        self._shims = [event for event in events if isinstance(event, ShimFailure)]
        self._shim_lines = [event.place.line for event in self._shims]
        self.capability = next(
            (
                event
                for event in events
                if isinstance(event, DeviceInformation) and event.key.endswith("COMPUTE_CAPABILITY")
            ),
            None,
        )

    def writer(self, event: Event) -> Prefix:
        """Who told an event: what its line does not say, the traceback's head says."""
        told = Prefix(event.rank, event.process, event.time)
        if not self._tracebacks or None not in told or isinstance(event, LaunchMark):
            return told
        around = self.traceback_at(event.place.offset)
        if around is None or around is event:
            return told
        return Prefix(
            around.rank if told.rank is None else told.rank,
            told.process or around.process,
            told.time or around.time,
        )

    def traceback_at(self, offset: int) -> PythonException | None:
        """The innermost traceback whose record holds the offset."""
        at = bisect_right(self._offsets, offset)
        for traceback in reversed(self._tracebacks[max(0, at - _OPEN_TRACEBACKS) : at]):
            if offset < traceback.end:
                return traceback
        return None

    def _chains(self) -> dict[int, PythonException]:
        """By the identity of a traceback, the one that came of it.

        Either Python says so between them, or the later one tells what a subprocess raised.
        """
        found: dict[int, PythonException] = {}
        for at, traceback in enumerate(self._tracebacks):
            inside = _IN_SUBPROCESS.search(traceback.message) is not None
            if not traceback.followed and not inside:
                continue
            for later in self._tracebacks[at + 1 : at + 1 + _OPEN_TRACEBACKS]:
                if later.begins >= traceback.end and _may_be_one_process(traceback, later):
                    if not inside:
                        found[id(_outermost(traceback, found))] = later
                    elif later.begins - traceback.end < _NESTED_WITHIN:
                        found[id(later)] = traceback
                    break
        return found

    def last_of_chain(self, event: PythonException) -> PythonException:
        """The exception that was raised last in the chain of this one."""
        for _ in range(_OPEN_TRACEBACKS):
            later = self._came_of.get(id(event))
            if later is None:
                break
            event = later
        return event

    def _earlier(self, event: PythonException) -> Iterator[PythonException]:
        """The exceptions that this one came of, the latest first."""
        for _ in range(_OPEN_TRACEBACKS):
            one = self._came_from.get(id(event))
            if one is None:
                return
            yield one
            event = one

    def compile_failure(self, event: Event) -> CompileFailure | None:
        """What the event, with the exceptions it came of, tells of a failed compilation."""
        if not isinstance(event, PythonException | Compile | TraceArtifact):
            return None
        if id(event) not in self._compiles:
            self._compiles[id(event)] = self._read_compile(event)
        return self._compiles[id(event)]

    def _read_compile(
        self, event: PythonException | Compile | TraceArtifact
    ) -> CompileFailure | None:
        match event:
            case PythonException():
                return self._raised(event)
            case Compile():
                return self._recorded(event)
            case TraceArtifact(name="make_fx_fail_partial") if not self._records_compiles:
                return CompileFailure("export", None, None, None)
        return None

    def _recorded(self, event: Compile) -> CompileFailure | None:
        soft = event.fail_type in ("Unsupported", "UserError")
        if event.fail_type is None or (soft and event.compile_id in self._skipped):
            return None
        return recorded_failure(event.fail_type, event.fail_reason, event.frames)

    def _raised(self, event: PythonException) -> CompileFailure | None:
        if event.exception is None:
            return None
        chain = list(self._earlier(event))
        nested = [one for one in chain if one.begins > event.begins]
        told = [event.message, *map(_exception_line, nested)]
        frames = (*event.frames, *(frame for one in nested for frame in one.frames))
        failure = compile_failure(event.exception, "\n".join(told), frames)
        if failure is None:
            return None
        return completed(failure, ((one.message, self.compile_failure(one)) for one in chain))

    def stack(self, event: Event) -> CppStack | None:
        """The first stack at or below the event's line."""
        line = event.place.line
        thread = event.thread if isinstance(event, ProcessDeath) else None
        if thread is not None:
            own = (stack for stack in self._stacks if stack.thread == thread)
            if found := next(own, None):
                return found
        at = bisect_left(self._stack_lines, line)
        if at < len(self._stacks) and self._stack_lines[at] - line <= _STACK_WITHIN:
            return self._stacks[at]
        return None

    def shim(self, event: Event) -> ShimFailure | None:
        """The nearest failed shim call, above or below, that may be of the same process."""
        line = event.place.line
        first = bisect_left(self._shim_lines, line - _SHIM_WITHIN)
        past = bisect_right(self._shim_lines, line + _SHIM_WITHIN)
        near = [
            shim
            for shim in self._shims[first:past][:_SHIMS_LOOKED_AT]
            if _may_be_one_process(event, shim)
        ]
        return min(near, key=lambda shim: abs(shim.place.line - line)) if near else None


def _outermost(traceback: PythonException, found: dict[int, PythonException]) -> PythonException:
    """The exception in whose message this one stands, else itself: what comes next came of that."""
    while (outer := found.get(id(traceback))) is not None:
        traceback = outer
    return traceback


def _exception_line(event: PythonException) -> str:
    return f"{event.exception}: {event.message}" if event.message else event.exception or ""


def _may_be_one_process(one: Event, other: Event) -> bool:
    pairs = ((one.rank, other.rank), (one.process, other.process))
    return all(left is None or right is None or left == right for left, right in pairs)
