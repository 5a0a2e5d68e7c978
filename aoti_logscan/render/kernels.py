"""The launches of a run as a table, with what was printed of their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aoti_logscan.render.text import visible
from aoti_logscan.report import Argument, LaunchReport


def render_kernels(launches: Sequence[LaunchReport], kernel: str | None = None) -> str:
    """One line for each launch, in order, and one for each printed argument below it.

    `kernel` is the name that launches were chosen by, if any.
    """
    if not launches and kernel is not None:
        return f"No launch of {visible(kernel)} was marked.\n"
    if not launches:
        return "No launch was marked: the intermediate value printer left nothing here.\n"
    return "".join(f"{line}\n" for launch in launches for line in _lines(launch))


def _lines(launch: LaunchReport) -> Iterator[str]:
    rank = "" if launch.rank is None else f"rank {launch.rank}  "
    state = "open" if launch.open else "back"
    place = f"{launch.source}:{launch.line}"
    yield visible(f"{launch.index:6}  {state}  {rank}{launch.kernel}  {place}")
    for argument in launch.arguments:
        yield visible(f"{'':14}{argument.phase:6}  {argument.name}  {_values(argument)}")


def _values(argument: Argument) -> str:
    told = [
        f"{name} {_shown(value)}"
        for name in ("dtype", "device", "size", "min", "max", "mean")
        if (value := getattr(argument, name)) is not None
    ]
    told += [name.upper() for name in ("nan", "inf") if getattr(argument, name)]
    return "  ".join(told)


def _shown(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
