"""Printer marks to launches: which kernels ran, which never came back, where a NaN was born.

Marks carry no rank, process or time of their own, so launches are told apart by what their lines'
prefixes say, else by their source. Only the order within one stream of marks is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from aoti_logscan.events import BadValue, LaunchMark, ModelInput
from aoti_logscan.report import Argument
from aoti_logscan.timeline import Situation

#: launches that may be open at once in a stream where writers interleave
_OPEN = 64


class Launch:
    """One launch of a kernel; `index` counts launches of its stream from 0.

    `open` is True where no mark tells that the launch came back. `marks` are in printed order, and
    `situations` are theirs.
    """

    def __init__(self, first: Situation, mark: LaunchMark, index: int) -> None:
        self.first = first
        self.kernel = mark.kernel
        self.index = index
        self.open = mark.phase == "before"
        self.marks = [mark]
        self.situations = [first]

    def takes(self, mark: LaunchMark) -> bool:
        """Whether a mark belongs to this launch: the same kernel, and nothing printed twice."""
        if mark.kernel != self.kernel:
            return False
        if mark.phase == "after":
            return not any(
                known.phase == "after" and known.argument == mark.argument for known in self.marks
            )
        return self.open and not any(known.argument == mark.argument for known in self.marks)

    def add(self, situation: Situation, mark: LaunchMark) -> None:
        """Take a mark in."""
        self.marks.append(mark)
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
    found: list[Launch] = []
    streams: dict[tuple[str, int | None, str | None], _Stream] = {}
    for situation in situations:
        mark = situation.event
        if isinstance(mark, LaunchMark):
            key = (mark.place.source, mark.rank, mark.process)
            launch = streams.setdefault(key, _Stream()).take(situation, mark)
            if launch is not None:
                found.append(launch)
    return found


class _Stream:
    """The launches of one writer that may still take marks."""

    def __init__(self) -> None:
        self._recent: list[Launch] = []
        self._count = 0

    def take(self, situation: Situation, mark: LaunchMark) -> Launch | None:
        """The launch that the mark begins; None where it belongs to a known one."""
        for launch in reversed(self._recent):
            if launch.takes(mark):
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
    """Where a NaN first came in, for each stream of marks: a graph input, or a kernel's output.

    A kernel is named when a tensor is bad after its launch and none of its arguments was known to
    be bad before. A `before` value alone proves nothing: of an output buffer it is uninitialised
    memory. Infinities are legal (masks are made of them) and are left out.
    """
    streams: dict[tuple[str, int | None, str | None], set[str]] = {}
    found: dict[tuple[str, int | None, str | None], Situation] = {}
    for situation in situations:
        event = situation.event
        if isinstance(event, ModelInput):
            key = (event.place.source, event.rank, event.process)
            if event.values is not None and event.values.nan:
                streams.setdefault(key, set()).add(event.name)
                found.setdefault(key, _born(situation, event.name, None, "input"))
    for launch in launches(situations):
        mark = launch.marks[0]
        key = (mark.place.source, mark.rank, mark.process)
        bad = streams.setdefault(key, set())
        names = {one.argument for one in launch.marks if one.argument is not None}
        outputs = [one for one in launch.marks if one.phase == "after" and _is_nan(one)]
        if outputs and not names & bad:
            born = outputs[0]
            at = launch.situations[launch.marks.index(born)]
            found.setdefault(key, _born(at, str(born.argument), launch.kernel, "printer"))
        after = {one.argument for one in launch.marks if one.phase == "after"}
        bad -= {str(name) for name in after}
        bad |= {str(one.argument) for one in outputs}
    return list(found.values())


def _is_nan(mark: LaunchMark) -> bool:
    return mark.values is not None and bool(mark.values.nan)


def _born(
    situation: Situation, tensor: str, kernel: str | None, told_by: Literal["printer", "input"]
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
        kind="nan",
        told_by=told_by,
    )
    return situation.with_event(bad)
