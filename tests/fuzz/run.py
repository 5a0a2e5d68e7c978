"""Runs the fuzzer for a bounded time: `python -m tests.fuzz.run [--minutes N] [--jobs N]`.

Each job is a process of its own; together they grow one corpus, in `build/fuzz/corpus`, that the
next run goes on with. What broke something is in `build/fuzz/finds`, one input for each kind with
its traceback beside it. Exit status: 0 nothing was found, 1 something was, 2 atheris is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT
from tests.fuzz.dictionary import FILE as DICTIONARY
from tests.fuzz.finds import Finds
from tests.fuzz.seeds import CORPUS

#: where a run keeps what outlives it
FOLDER = ROOT / "build" / "fuzz"
#: bytes of the longest input
_MAX_LENGTH = 64 << 10
#: seconds by the clock after which an input that Python cannot interrupt ends its process (a busy
#: machine is no hang), and MiB of memory
_TIMEOUT, _MEMORY = 120, 2_048
#: seconds that a process needs to be worth starting
_WORTH = 10

# #5019  NEW    cov: 4247 ft: 11655 corp: 632/706Kb lim: 16384 exec/s: 83 rss: 91Mb
_STATUS = re.compile(r"^#(?P<runs>\d+)\s+(?P<what>\w+)\s+cov: (?P<cov>\d+) ft: (?P<ft>\d+)", re.M)


class Progress(NamedTuple):
    """What one process did: inputs tried, and branches reached by its seeds and at its end."""

    runs: int
    covered_first: int
    covered: int


def main(arguments: Sequence[str]) -> int:
    """Fuzz, tell what came of it, and give the exit status."""
    asked = _asked(arguments)
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: pip install -e '.[fuzz]'", file=sys.stderr)
        return 2
    started = time.monotonic()
    known = len(list(_grown().iterdir()))
    progress = _fuzz(asked.jobs, started + 60 * asked.minutes)
    seconds = time.monotonic() - started
    print(told(progress, seconds, len(list(_grown().iterdir())) - known))
    found = Finds(FOLDER / "finds").listed()
    for file in found:
        print(f"found: {file} ({file.stat().st_size} bytes)")
    return 1 if found else 0


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz scan, parsers, packages and analysis.")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    return parser.parse_args(arguments)


def told(progress: Sequence[Progress], seconds: float, added: int) -> str:
    """The run in one line."""
    runs = sum(one.runs for one in progress)
    first = max((one.covered_first for one in progress), default=0)
    last = max((one.covered for one in progress), default=0)
    return (
        f"{runs} executions in {seconds:.0f} s, {runs / max(1.0, seconds):.0f} a second; "
        f"coverage {first} -> {last}; {added} inputs added to the corpus"
    )


def read_progress(log: str) -> Progress:
    """What the lines of libFuzzer tell of a process."""
    lines = list(_STATUS.finditer(log))
    first = next((int(line["cov"]) for line in lines if line["what"] == "INITED"), 0)
    covered = max((int(line["cov"]) for line in lines), default=0)
    return Progress(max((int(line["runs"]) for line in lines), default=0), first, covered)


def _grown() -> Path:
    corpus = FOLDER / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    return corpus


def _fuzz(jobs: int, until: float) -> list[Progress]:
    """Keep so many processes at work until the time is up; a broken one is followed by another."""
    done: list[Progress] = []
    running = [_start(job, until) for job in range(jobs)]
    while running:
        time.sleep(0.2)
        for process, log in list(running):
            if process.poll() is None:
                continue
            running.remove((process, log))
            done.append(read_progress(log.read_text(encoding="utf-8", errors="replace")))
            if until - time.monotonic() > _WORTH and done[-1].runs:
                running.append(_start(len(done) + jobs, until))
    return done


def _start(number: int, until: float) -> tuple[subprocess.Popen[bytes], Path]:
    log = FOLDER / f"job-{number}.log"
    seconds = max(1, int(until - time.monotonic()))
    command = [
        *(sys.executable, "-m", "tests.fuzz.target", str(FOLDER / "finds")),
        *(f"-max_total_time={seconds}", f"-max_len={_MAX_LENGTH}", f"-timeout={_TIMEOUT}"),
        *(f"-rss_limit_mb={_MEMORY}", f"-dict={DICTIONARY}", "-reload=30"),
        f"-artifact_prefix={FOLDER / 'finds'}/ended-the-process-",
        *(str(_grown()), str(CORPUS), str(CORPUS.with_name("found"))),
    ]
    with log.open("wb") as file:
        process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT)
    return process, log


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
