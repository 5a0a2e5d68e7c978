"""Printer marks to launches: which kernels ran, in order, and which never came back.

Marks carry no rank, process or time of their own, so launches are told apart by what their lines'
prefixes say, else by their source. Only the order within one stream of marks is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aoti_logscan.events import LaunchMark
from aoti_logscan.timeline import Situation

#: launches that may be open at once in a stream where writers interleave
_OPEN = 64


class Launch:
    """One launch of a kernel; `index` counts launches of its stream from 0.

    `open` is True where no mark tells that the launch came back. `marks` are in printed order.
    """

    def __init__(self, first: Situation, mark: LaunchMark, index: int) -> None:
        self.first = first
        self.kernel = mark.kernel
        self.index = index
        self.open = mark.phase == "before"
        self.marks = [mark]

    def takes(self, mark: LaunchMark) -> bool:
        """Whether a mark belongs to this launch: the same kernel, and nothing printed twice."""
        if mark.kernel != self.kernel:
            return False
        if mark.phase == "after":
            return True
        return self.open and not any(known.argument == mark.argument for known in self.marks)

    def add(self, mark: LaunchMark) -> None:
        """Take a mark in."""
        self.marks.append(mark)
        self.open = self.open and mark.phase == "before"

    @property
    def last_mark(self) -> LaunchMark:
        """The mark printed last."""
        return self.marks[-1]

    def arguments(self) -> tuple[dict[str, Any], ...]:
        """What was printed of each argument, in printed order."""
        return tuple(_argument(mark) for mark in self.marks if mark.argument is not None)


def _argument(mark: LaunchMark) -> dict[str, Any]:
    values = mark.values
    told = {name: getattr(values, name) for name in values.__struct_fields__} if values else {}
    return {"name": mark.argument, "phase": mark.phase, **told}


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
                launch.add(mark)
                return None
        launch = Launch(situation, mark, self._count)
        self._count += 1
        self._recent.append(launch)
        # a launch that came back may get further marks only until the next one begins
        self._recent = [one for one in self._recent[-_OPEN:] if one.open or one is launch]
        return launch


def last_launch(found: Sequence[Launch]) -> Launch | None:
    """The launch that was marked last; None where nothing is."""
    return max(found, key=lambda launch: launch.last_mark.place.offset, default=None)
