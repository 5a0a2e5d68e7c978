"""Saved tensors as marks of launches: what level 1 of the printer saved, like what level 2 prints.

A later call of a kernel overwrites the file of an earlier one, so the values belong to the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aoti_logscan.artifacts.library import Library
from aoti_logscan.artifacts.saved_tensor import split_names
from aoti_logscan.events import Event, LaunchMark, SavedTensor, Values
from aoti_logscan.timeline import Situation


def as_marks(
    situations: Sequence[Situation], values: Mapping[str, Values], library: Library
) -> list[Situation]:
    """The situations, with a `LaunchMark` for each saved tensor whose name can be read."""
    saved = [one.event for one in situations if isinstance(one.event, SavedTensor)]
    if not saved:
        return list(situations)
    last = {_file(event): event for event in saved}
    kernels = tuple(
        dict.fromkeys(call.kernel for unit in library.units for call in unit.body.calls)
    )
    found = []
    for situation in situations:
        event = situation.event
        if isinstance(event, SavedTensor):
            is_last = last[_file(event)] is event
            mark = _mark(event, values.get(_file(event)) if is_last else None, kernels)
            situation = situation.with_event(mark) if mark else situation
        found.append(situation)
    return found


def _mark(event: SavedTensor, values: Values | None, kernels: Sequence[str]) -> LaunchMark | None:
    names = split_names(event.names, kernels)
    if names is None:
        return None
    shared = {name: getattr(event, name) for name in Event.__struct_fields__}
    kernel, tensor = names
    return LaunchMark(
        **shared, phase=event.phase, kernel=kernel, level=1, argument=tensor, values=values
    )


def _file(event: SavedTensor) -> str:
    return event.path.replace("\\", "/").rpartition("/")[2]
