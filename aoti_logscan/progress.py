"""A line on a terminal that says how far the work is, where it takes over a second.

It costs nothing until then: rich is loaded, and sizes are looked up, by a timer. The cursor is not
hidden, so that a process that is killed leaves a terminal as it found it.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO

from aoti_logscan.render.layout import clipped_left, columns, visible
from aoti_logscan.render.terminal import is_dumb, is_terminal
from aoti_logscan.sources import shown
from aoti_logscan.streams import decompressor

if TYPE_CHECKING:
    import rich.progress

#: seconds of work before anything is shown
DELAY = 1.0
#: files whose sizes are looked up; of more the total is not known
MAX_FILES = 10_000

#: columns of the bar, and those of a terminal below which there is none
_BAR, _WIDE = 16, 80
#: bytes that tell a compressed file or an archive
_HEAD = 512


class State(NamedTuple):
    """How far the work is: what is done, bytes read of all sources, and of `total` where known."""

    doing: str
    read: int
    done: int
    total: int | None


class Progress:
    """A progress line on `stream` while its `with` block runs, none where it is no terminal.

    `paths` are what is read. It is told of sources and stages as `readings.Watch` says.
    """

    def __init__(
        self, paths: Sequence[str], stream: TextIO | None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._paths = paths
        self._stream = stream if is_terminal(stream) and not is_dumb(environ) else None
        self._sizes: dict[str, int] | None = None
        self._begun: list[str] = []
        self._past = 0
        self._so_far = 0
        self._stage = "waiting for input" if "-" in paths else "starting"
        self._lock = threading.Lock()
        self._is_over = False
        self._line: rich.progress.Progress | None = None
        self._timer = threading.Timer(DELAY, self._appear)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._stream is not None:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._line is not None:
                self._line.stop()

    def source(self, name: str) -> Callable[[int], None]:
        """Something is read from now on; gives what is told its bytes so far."""
        self._past += self._so_far
        self._so_far = 0
        self._begun.append(name)
        self._stage = ""
        return self._passed

    def stage(self, doing: str) -> None:
        """All is read, and this is done from now on."""
        self._stage = doing

    def _passed(self, so_far: int) -> None:
        self._so_far = so_far

    def state(self) -> State:
        """How far the work is now."""
        if self._stage:
            return State(self._stage, 0, 0, None)
        doing, read = self._begun[-1], self._past + self._so_far
        if not self._sizes:
            return State(doing, read, read, None)
        *past, current = (self._sizes.get(name, 0) for name in self._begun)
        done = sum(past) + min(self._so_far, current)
        return State(doing, read, done, sum(self._sizes.values()))

    def _appear(self) -> None:
        """Show the line, unless the work has ended while rich was loaded."""
        assert self._stream is not None
        self._sizes = plain_sizes(self._paths)
        line = _line(self.state, self._stream)
        with self._lock:
            if not self._is_over:
                line.start()
                line.console.show_cursor(True)
                self._line = line


def _line(state: Callable[[], State], stream: TextIO) -> rich.progress.Progress:
    """A line that shows the state whenever it is drawn: what is read, a bar, figures."""
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = Console(file=stream, highlight=False)
    bar = (BarColumn(_BAR),) if console.width >= _WIDE else ()

    class Line(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            for task in self.tasks:  # none when the line is made
                now = state()
                doing = clipped_left(visible(now.doing), max(8, console.width // 3 - 4))
                room = console.width - columns(doing) - (_BAR + 1 if bar else 0) - 3
                self.update(
                    task.id,
                    description=doing,
                    completed=now.done,
                    total=now.total,
                    figures=figures(now, task.speed, room),
                )
            yield from super().get_renderables()

    line = Line(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, style="none"),
        *bar,
        TextColumn("{task.fields[figures]}", markup=False, style="none"),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        refresh_per_second=8,
        auto_refresh=True,
    )
    line.add_task("", total=None, figures="")
    return line


def figures(state: State, speed: float | None, room: int) -> str:
    """Percent, bytes and rate (bytes a second), those that are known and fit in `room` columns."""
    from rich.filesize import decimal

    if not state.read:
        return ""
    told = [decimal(state.read)]
    if state.total:
        told = [f"{100 * state.done // state.total} %"]
        told.append(f"{decimal(state.done)} of {decimal(state.total)}")
    if speed:
        told.append(f"{decimal(int(speed))}/s")
    while len("  ".join(told)) > room and len(told) > 1:
        told.pop()
    return "  ".join(told)


# --- sizes


def plain_sizes(paths: Iterable[str]) -> dict[str, int] | None:
    """Bytes of each file that the paths name, by the name it is shown by.

    None where what will be read of one is not known (a pipe, a compressed file, an archive), or
    where there are more than `MAX_FILES`.
    """
    sizes: dict[str, int] = {}
    try:
        for file in (file for path in paths for file in _files(path)):
            size = _plain_size(file)
            if size is None or len(sizes) >= MAX_FILES:
                return None
            sizes[shown(file)] = size
    except RecursionError:  # folders in folders without end
        return None
    return sizes


def _files(path: str) -> Iterator[str]:
    """The path, or what lies in the folder; pipes in a folder are not read."""
    if not os.path.isdir(path):
        yield path
        return
    for folder, _, names in os.walk(path):
        files = (os.path.join(folder, name) for name in names)
        yield from (file for file in files if os.path.isfile(file))


def _plain_size(path: str) -> int | None:
    """Bytes of a plain file or package, None of anything else."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return None
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None
    packed = decompressor(head) or head[257:262] == b"ustar"
    is_archive = head.startswith(b"PK") and not path.endswith(".pt2")
    return None if packed or is_archive else found.st_size
