"""The launches of a run as a table, with what was printed of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from aoti_logscan.render.layout import visible
from aoti_logscan.render.told import origin, producer
from aoti_logscan.report import Argument, BufferUse, KernelReport, LaunchReport


def render_kernels(launches: Sequence[LaunchReport]) -> str:
    """One line for each launch, in order; below it what was printed and what the code tells."""
    if not launches:
        return "No launch was marked: the intermediate value printer left nothing here.\n"
    return _joined(line for launch in launches for line in _lines(launch))


def render_kernel(kernel: KernelReport | None, name: str) -> str:
    """One kernel whole, its code last; `name` is what was asked for."""
    if kernel is None:
        return f"No launch of {visible(name)} was marked, and no code here has it.\n"
    lines = [line for launch in kernel.launches for line in _lines(launch, whole=True)]
    if kernel.code is not None:
        of = f", compiled from {kernel.file}" if kernel.file else ""
        lines += ["", f"Code of {kernel.name}{of}"]
        lines += [f"{number:6}  {line}" for number, line in enumerate(kernel.code.split("\n"), 1)]
    return _joined(visible(line) for line in lines)


def render_buffer(uses: Sequence[BufferUse], name: str) -> str:
    """One line for each call that reads or writes a buffer, in order."""
    if not uses:
        return f"No generated code here has a buffer {visible(name)}.\n"
    lines = []
    for use in uses:
        given = f" as {use.parameter}" if use.parameter else ""
        lines.append(
            f"{use.buffer}  {use.role} by {use.kernel}{given}  {_file(use.file)}:{use.line}"
        )
        told = origin(use.user_stack, use.source_nodes)
        lines += [f"{'':8}from  {told}"] if told else []
    return _joined(visible(line) for line in lines)


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


_STATES = {True: "open", False: "back", None: "call"}


def _lines(launch: LaunchReport, *, whole: bool = False) -> Iterator[str]:
    rank = "" if launch.rank is None else f"rank {launch.rank}  "
    source = launch.source if launch.open is not None else _file(launch.source)
    place = f"{source}:{launch.line}"
    state = _STATES[launch.open]
    yield visible(f"{launch.index:6}  {state}  {rank}{launch.kernel}  {place}")
    for argument in launch.arguments:
        yield visible(f"{'':14}{argument.phase:6}  {argument.name}  {_values(argument)}")
    if whole and launch.call is not None:
        yield visible(f"{'':14}call    {launch.call.text}")
    if whole and launch.producers:
        yield visible(f"{'':14}reads   {'; '.join(producer(one) for one in launch.producers)}")
    told = origin(launch.user_stack, launch.source_nodes)
    if told:
        yield visible(f"{'':14}from    {told}")


def _file(name: str) -> str:
    """The file's own name: generated code lies deep in packages and caches."""
    return name.replace("\\", "/").rpartition("/")[2]


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
