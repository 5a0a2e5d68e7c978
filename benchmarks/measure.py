"""A command's wall time and memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

#: seconds between two looks at the memory of a command
_LOOK = 0.01


class Taken(NamedTuple):
    """What a command took: seconds (the median), and bytes resident at most.

    `largest` is the largest process's own peak, which counts what it shares with others; `together`
    is what all processes had at once, where a shared page counts once.
    """

    seconds: float
    largest: int
    together: int


def taken(
    command: Sequence[str],
    *,
    times: int = 5,
    feed: Sequence[str] | None = None,
    cores: int | None = None,
) -> Taken:
    """Run it so often; its input comes through a pipe from `feed`, if given.

    Memory is looked at in one further run, so that the looking takes no time of the others.
    """
    seconds = statistics.median(_run(command, feed, cores) for _ in range(times))
    watcher = _Watcher()
    _run(command, feed, cores, watcher)
    return Taken(seconds, watcher.largest, watcher.together)


def _run(
    command: Sequence[str],
    feed: Sequence[str] | None,
    cores: int | None,
    watcher: _Watcher | None = None,
) -> float:
    source = subprocess.Popen(feed, stdout=subprocess.PIPE) if feed else None
    # no /dev/null: grep knows it, and stops at the first line that it would print there
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=source.stdout if source else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, range(cores)),
        )
        if watcher is not None:
            watcher.watch(process)
        process.wait()
        seconds = time.perf_counter() - begun
    if source is not None and source.stdout is not None:
        source.stdout.close()
        source.wait()
    return seconds


class _Watcher:
    """Looks at the memory of a process and of those it started, until it ends."""

    def __init__(self) -> None:
        self.largest = 0
        self.together = 0

    def watch(self, process: subprocess.Popen[bytes]) -> None:
        """Look until the process is gone."""
        while process.poll() is None:
            family = list(_family(process.pid))
            self.largest = max(
                self.largest, *(_kilobytes(one, "status", "VmHWM:") for one in family)
            )
            shares = (_kilobytes(one, "smaps_rollup", "Pss:") for one in family)
            self.together = max(self.together, sum(shares))
            time.sleep(_LOOK)


def _family(process: int) -> Iterator[int]:
    yield process
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    except OSError:
        return
    for child in children.split():
        yield from _family(int(child))


def _kilobytes(process: int, file: str, key: str) -> int:
    """A line of what the kernel tells of a process, in bytes; 0 where it is gone."""
    try:
        lines = Path(f"/proc/{process}/{file}").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(key))
