"""Printer marks to launches: which kernels ran, which never came back, where a NaN was born.

Marks carry no rank, process or time of their own, so launches are told apart by what their lines'
prefixes say, else by their source. Only the order within one stream of marks is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from aoti_logscan.events import BadValue, LaunchMark, ModelInput, Values
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.report import Argument
from aoti_logscan.timeline import Situation

#: launches that may be open at once in a stream where writers interleave
_OPEN = 64


class Launch:
    """One launch of a kernel; `index` counts launches of its stream from 0.

    `open` is True where no mark tells that the launch came back. `marks` are in printed order, and
    `situations` are theirs.
    """

    __slots__ = ("_told", "first", "index", "kernel", "marks", "open", "situations")

    def __init__(self, first: Situation, mark: LaunchMark, index: int) -> None:
        self.first = first
        self.kernel = mark.kernel
        self.index = index
        self.open = mark.phase == "before"
        self.marks = [mark]
        self.situations = [first]
        self._told = {(mark.phase, mark.argument)}

    def takes(self, mark: LaunchMark) -> bool:
        """Whether a mark of its kernel belongs to this launch: nothing is printed twice."""
        return (self.open or mark.phase == "after") and (
            (mark.phase, mark.argument) not in self._told
        )

    def add(self, situation: Situation, mark: LaunchMark) -> None:
        """Take a mark in."""
        self.marks.append(mark)
        self._told.add((mark.phase, mark.argument))
        self.situations.append(situation)
        self.open = self.open and mark.phase == "before"

    @property
    def source(self) -> str:
        """The name of the source that the marks stand in."""
        return self.first.event.place.source

    @property
    def last_mark(self) -> LaunchMark:
        """The mark printed last."""
        return self.marks[-1]

    def arguments(self) -> tuple[Argument, ...]:
        """What was printed of each argument, in printed order."""
        return tuple(
            Argument(
                name=mark.argument,
                phase=mark.phase,
                **(msgspec.structs.asdict(mark.values) if mark.values else {}),
            )
            for mark in self.marks
            if mark.argument is not None
        )


def launches(situations: Iterable[Situation]) -> list[Launch]:
    """All launches, stream by stream, in the order of their first marks."""
    return [one for one in _told(situations) if isinstance(one, Launch)]


def _told(situations: Iterable[Situation]) -> list[Situation | Launch]:
    """Graph inputs and launches, each where it was printed first."""
    found: list[Situation | Launch] = []
    streams: dict[tuple[str, int | None, str | None], _Stream] = {}
    for situation in situations:
        event = situation.event
        if isinstance(event, LaunchMark):
            key = (event.place.source, event.rank, event.process)
            stream = streams.get(key)
            if stream is None:
                stream = streams[key] = _Stream()
            launch = stream.take(situation, event)
            if launch is not None:
                found.append(launch)
        elif isinstance(event, ModelInput):
            found.append(situation)
    return found


class _Stream:
    """The launches of one writer that may still take marks."""

    def __init__(self) -> None:
        self._recent: list[Launch] = []
        self._count = 0

    def take(self, situation: Situation, mark: LaunchMark) -> Launch | None:
        """The launch that the mark begins; None where it belongs to a known one."""
        for launch in reversed(self._recent):
            if launch.kernel == mark.kernel and launch.takes(mark):
                launch.add(situation, mark)
                return None
        launch = Launch(situation, mark, self._count)
        self._count += 1
        self._recent.append(launch)
        # a launch that came back may get further marks only until the next one begins
        self._recent = [one for one in self._recent[-_OPEN:] if one.open or one is launch]
        return launch


def last_launch(found: Sequence[Launch], home: str | None = None) -> Launch | None:
    """The launch that was marked last, of the source `home` if it has any; None without marks."""
    at_home = [launch for launch in found if launch.source == home]
    return max(at_home or found, key=lambda launch: launch.situations[-1].order, default=None)


def bad_values(situations: Sequence[Situation]) -> list[Situation]:
    """Where a bad value came in, for each stream of marks: a graph input or a kernel's output.

    A kernel is named when a tensor is bad after its launch and none of its arguments was known to
    be bad before. A `before` value alone proves nothing: of an output buffer it is uninitialised
    memory. Bad are NaN and, of outputs, +inf; -inf is legal (masks are made of it).
    """
    streams: dict[tuple[str, int | None, str | None], _Values] = {}
    for item in _told(situations):
        event = item.event if isinstance(item, Situation) else item.marks[0]
        key = (event.place.source, event.rank, event.process)
        values = streams.setdefault(key, _Values())
        if isinstance(item, Launch):
            values.launch(item)
        else:
            values.input(item)
    return [born for values in streams.values() for born in values.born]


# arg3_1   primals_2      names of graph inputs
_GRAPH_INPUT = lazy_re(r"^(?:arg\d+_\d+|primals_\d+|tangents_\d+)$")
# kernels whose first argument is their output: aoti_torch_cpu_mm_out
_OUTPUT_FIRST = lazy_re(r"^aoti_torch_\w+_out$")
# kernels that the Python wrapper prints, with their inputs only
_INPUTS_ONLY = lazy_re(r"^(?:extern_kernels|torch\.ops)\.")
_NUMBER = lazy_re(r"_(\d{1,9})$")


class _Values:
    """What one writer's marks told so far: which tensors are bad, and where that began."""

    def __init__(self) -> None:
        self._nan: set[str] = set()
        self._inf: set[str] = set()
        self._first: dict[str, Situation] = {}

    @property
    def born(self) -> list[Situation]:
        """The first NaN and the first +inf, where that came before it."""
        found = sorted(self._first.values(), key=lambda situation: situation.order)
        nan = self._first.get("nan")
        return found if nan is None else [*found[: found.index(nan)], nan]

    def input(self, situation: Situation) -> None:
        """Take in a graph input."""
        event = situation.event
        assert isinstance(event, ModelInput)
        self._nan.discard(event.name)
        self._inf.discard(event.name)
        if event.values is not None and event.values.inf:
            self._inf.add(event.name)
        if event.values is not None and event.values.nan:
            self._nan.add(event.name)
            self._tell("nan", _born(situation, event.name, None, "nan", "input"))

    def launch(self, launch: Launch) -> None:
        """Take in a launch."""
        if not (self._nan or self._inf) and not any(map(_has_bad, launch.marks)):
            return
        self._look(launch, "nan", self._nan, _is_nan)
        self._look(launch, "inf", self._inf, _is_infinite)

    def _look(
        self,
        launch: Launch,
        kind: Literal["nan", "inf"],
        known: set[str],
        is_bad: Callable[[LaunchMark], bool],
    ) -> None:
        names = {str(mark.argument) for mark in launch.marks}
        after = [mark for mark in launch.marks if mark.phase == "after"]
        outputs = [mark for mark in after if is_bad(mark)]
        carried = None if names & known else _came_in(launch, is_bad)
        if carried is not None:
            at = launch.situations[launch.marks.index(carried)]
            self._tell(kind, _born(at, str(carried.argument), None, kind, "printer"))
        elif outputs and not names & known:
            born = _made_here(launch, outputs, is_bad)
            at = launch.situations[launch.marks.index(born)]
            self._tell(kind, _born(at, str(born.argument), launch.kernel, kind, "printer"))
        known -= {str(mark.argument) for mark in after}
        known |= {str(mark.argument) for mark in outputs}

    def _tell(self, kind: str, born: Situation) -> None:
        self._first.setdefault(kind, born)


def _came_in(launch: Launch, is_bad: Callable[[LaunchMark], bool]) -> LaunchMark | None:
    """The mark of an argument that was bad before the launch and is none of its outputs."""
    before = [mark for mark in launch.marks if mark.phase == "before"]
    for position, mark in enumerate(before):
        if is_bad(mark) and _is_read(launch, before, position):
            return mark
    return None


def _is_read(launch: Launch, before: Sequence[LaunchMark], position: int) -> bool:
    if _GRAPH_INPUT.match(str(before[position].argument)):
        return True
    if _INPUTS_ONLY.match(launch.kernel):
        return True
    if _OUTPUT_FIRST.match(launch.kernel):
        return position > 0 and _some_are_not_printed(launch)
    later = {mark.argument for mark in before[position + 1 :]}
    return _some_are_not_printed(launch) and any(
        mark.argument in later and mark.values != _before(launch, mark)
        for mark in launch.marks
        if mark.phase == "after"
    )


def _some_are_not_printed(launch: Launch) -> bool:
    """Whether kernels ran before it without a mark: they are numbered in the order of launches."""
    number = _NUMBER.search(launch.kernel)
    return number is not None and int(number[1]) > launch.index


def _before(launch: Launch, mark: LaunchMark) -> Values | None:
    same = (
        one.values
        for one in launch.marks
        if one.phase == "before" and one.argument == mark.argument
    )
    return next(same, None)


def _made_here(
    launch: Launch, outputs: Sequence[LaunchMark], is_bad: Callable[[LaunchMark], bool]
) -> LaunchMark:
    """Of several bad outputs the first that was not bad before, else the first."""
    was_bad = {mark.argument for mark in launch.marks if mark.phase == "before" and is_bad(mark)}
    return next((mark for mark in outputs if mark.argument not in was_bad), outputs[0])


def _has_bad(mark: LaunchMark) -> bool:
    values = mark.values
    return values is not None and bool(values.nan or values.inf)


def _is_nan(mark: LaunchMark) -> bool:
    return mark.values is not None and bool(mark.values.nan)


def _is_infinite(mark: LaunchMark) -> bool:
    """Whether the greatest value is +inf."""
    values = mark.values
    if values is None or values.nan or not values.inf:
        return False
    return values.max is None and values.min is not None


def _born(
    situation: Situation,
    tensor: str,
    kernel: str | None,
    kind: Literal["nan", "inf"],
    told_by: Literal["printer", "input"],
) -> Situation:
    event = situation.event
    bad = BadValue(
        place=event.place,
        end=event.end,
        rank=event.rank,
        process=event.process,
        time=event.time,
        tensor=tensor,
        kernel=kernel,
        kind=kind,
        told_by=told_by,
    )
    return situation.with_event(bad)
