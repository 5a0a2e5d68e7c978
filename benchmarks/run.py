"""All figures of RESULTS.md, from one run.

    python -m benchmarks.run [--megabytes 400] [--times 5] [--folder DIR] [--write]

Makes the inputs from the recordings in fixtures/, measures the command on them and, beside it in
the same run, what else reads them: `wc -l` (the speed of memory), tlparse, GNU grep and ripgrep
with the literals of `literals.txt`. Ratios are what counts: absolute times are the machine's.
`--write` replaces the tables in RESULTS.md.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from benchmarks import corpora, large_wrapper
from benchmarks.measure import Taken, taken

HERE = Path(__file__).parent
TOOL = str(Path(sys.executable).with_name("aoti-logscan"))
TLPARSE = str(Path(sys.executable).with_name("tlparse"))
LITERALS = HERE / "literals.txt"
MB = 1 << 20
RANKS, RANK_SIZE = 64, 8 * MB
SMALL = 2_000


class Row(NamedTuple):
    """One line of a table: what was measured, how it went, and what it is to be compared with."""

    what: str
    size: int
    taken: Taken
    events: int | None = None
    compared: str = ""
    target: str = ""


class Bench:
    """The inputs in a folder, and what was measured on them."""

    def __init__(self, folder: Path, megabytes: int, times: int) -> None:
        self._folder = folder
        self._size = megabytes * MB
        self._times = times

    def rows(self) -> Iterator[Row]:
        """All figures, in the order of their letters."""
        trace = self._file("trace.log")
        corpora.trace(trace, self._size)
        words = taken(["wc", "-l", str(trace)], times=self._times)
        alone = self._tool(trace)
        yield Row("`wc -l` of (a)", _bytes(trace), words)
        yield from self._trace(trace, alone, words)
        yield from self._mixed(words)
        yield from self._ranks()
        yield self._pipe(trace, alone)
        yield from self._start()
        yield from self._compressed(trace)
        yield self._wrapper()

    def growth(self) -> Iterator[Row]:
        """(h): an eighth, a quarter, a half and the whole of (a) and of (b)."""
        start = self._tool(self._small()).seconds
        for name in ("trace", "mixed"):
            rows = []
            for share in (8, 4, 2, 1):
                path = self._file(f"{name}-{share}.log")
                size = self._size // share
                if name == "trace":
                    corpora.trace(path, size)
                else:
                    corpora.mixed(path, size, 100 // share)
                rows.append((_bytes(path), self._tool(path)))
                path.unlink()
            before = None
            for size, one in rows:
                what = f"(h) {'(a)' if name == 'trace' else '(b)'} of {size / MB:.0f} MB"
                told = f"{_to_double(before, one.seconds, start):+.0%} to double" if before else ""
                yield Row(what, size, one, None, told, "+10 %" if before else "")
                before = one.seconds

    def _trace(self, trace: Path, alone: Taken, words: Taken) -> Iterator[Row]:
        to_words = alone.seconds / words.seconds
        yield Row(
            f"(a) a trace of {self._size // MB} MB",
            *(_bytes(trace), alone, _events(trace)),
            f"{to_words:.1f} times `wc -l`",
            "at most 6 times `wc -l`",
        )
        pages = self._file("pages")
        command = [TLPARSE, str(trace), "-o", str(pages), "--overwrite", "--no-browser"]
        rendered = taken(command, times=1)
        shutil.rmtree(pages, ignore_errors=True)
        ratio = rendered.seconds / alone.seconds
        faster = f"(a) is {ratio:.1f} times faster"
        yield Row("tlparse on (a)", _bytes(trace), rendered, None, faster, "25 times faster")
        for name in ("grep", "rg"):
            if shutil.which(name):
                command = [name, "-c", "-a", "-F", "-f", str(LITERALS), str(trace)]
                yield Row(f"{name} on (a)", _bytes(trace), taken(command, times=1))

    def _mixed(self, words: Taken) -> Iterator[Row]:
        path = self._file("mixed.log")
        corpora.mixed(path, self._size)
        one = self._tool(path)
        what = f"(b) stderr of {self._size // MB} MB, 200,000 marks, 100,000 assertions"
        compared = f"{one.seconds / words.seconds:.1f} times `wc -l` of (a)"
        yield Row(what, _bytes(path), one, _events(path), compared, "3 s, 150 MB")
        path.unlink()

    def _ranks(self) -> Iterator[Row]:
        folder = self._file("ranks")
        folder.mkdir()
        for rank in range(RANKS):
            corpora.trace(folder / f"dedicated_log_torch_trace_rank_{rank}.log", RANK_SIZE, rank)
        size = sum(map(_bytes, folder.iterdir()))
        one = self._tool(folder, cores=1)
        all_ = self._tool(folder)
        yield Row(f"(c) {RANKS} ranks of 8 MB, one core", size, one, _events(folder))
        compared = f"{one.seconds / all_.seconds:.2f} times faster"
        what = f"(c) the same, {os.cpu_count()} cores"
        yield Row(what, size, all_, None, compared, "1.7 times faster on two")
        shutil.rmtree(folder)

    def _pipe(self, trace: Path, alone: Taken) -> Row:
        size = max(1_000_000_000, self._size) if self._size >= 400 * MB else self._size
        times = -(-size // _bytes(trace))
        feed = ["sh", "-c", f"cat {' '.join(['$0'] * times)} | head -c {size}", str(trace)]
        one = taken([TOOL, "-f", "json"], times=self._times, feed=feed)
        speed = size / one.seconds / (_bytes(trace) / alone.seconds)
        return Row(
            f"(d) {size / 1e9:.1f} GB through a pipe",
            *(size, one, None),
            f"{speed:.2f} of the speed of (a)",
            "150 MB, half the speed",
        )

    def _start(self) -> Iterator[Row]:
        path = self._small()
        times = max(self._times, 11)
        click = taken([sys.executable, "-c", "import click"], times=times)
        one = taken([TOOL, str(path)], times=times)
        compared = f"{one.seconds / click.seconds:.2f} times `import click`"
        yield Row("`python -c 'import click'`", 0, click)
        yield Row("(e) a log of 2 kB", _bytes(path), one, None, compared, "0.2 s, 3 times")

    def _small(self) -> Path:
        path = self._file("small.log")
        failed = (corpora.FIXTURES / "input-dtype/input/run.log").read_bytes()
        path.write_bytes(b"step\n" * ((SMALL - len(failed)) // 5) + failed)
        return path

    def _compressed(self, trace: Path) -> Iterator[Row]:
        size = _bytes(trace)
        packed = trace.with_suffix(".log.gz")
        with gzip.open(packed, "wb", compresslevel=6) as file, trace.open("rb") as plain:
            shutil.copyfileobj(plain, file, MB)
        yield from self._unpacked("gz", packed, size, ["gzip", "-dc", str(packed)])
        packed.unlink()
        if not shutil.which("zstd"):
            return
        packed = trace.with_suffix(".log.zst")
        # a window in which tiles do not see one another, as there are none in a real trace
        window = "--zstd=wlog=17"
        subprocess.run(["zstd", "-q", "-f", window, str(trace), "-o", str(packed)], check=True)
        yield from self._unpacked("zst", packed, size, ["zstd", "-q", "-dc", str(packed)])
        packed.unlink()

    def _unpacked(self, name: str, packed: Path, size: int, unpack: list[str]) -> Iterator[Row]:
        alone = taken(unpack, times=self._times)
        one = self._tool(packed)
        yield Row(f"`{unpack[0]} -dc` of (f)", size, alone)
        compared = f"{one.seconds / alone.seconds:.2f} times `{unpack[0]}`"
        what = f"(f) (a) as .{name}, {_bytes(packed) / MB:.0f} MB"
        yield Row(what, size, one, None, compared, "1.5 times the decompressor")

    def _wrapper(self) -> Row:
        folder = self._file("wrapper")
        folder.mkdir()
        text = large_wrapper.tiled(large_wrapper.recorded(), 5_000)
        (folder / ("c" + "a" * 51 + ".wrapper.cpp")).write_text(text, encoding="utf-8")
        (folder / "run.log").write_text(large_wrapper.failing(text), encoding="utf-8")
        one = self._tool(folder)
        row = Row("(g) a wrapper of 5,000 kernels", len(text), one, None, "", "5 s")
        shutil.rmtree(folder)
        return row

    def _file(self, name: str) -> Path:
        return self._folder / name

    def _tool(self, path: Path, cores: int | None = None) -> Taken:
        return taken([TOOL, "-f", "json", str(path)], times=self._times, cores=cores)


def _bytes(path: Path) -> int:
    return path.stat().st_size


def _events(path: Path) -> int:
    """How many events are kept of what is at a path."""
    command = [TOOL, "-f", "events", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return done.stdout.count(b"\n")


def _to_double(half: float, whole: float, start: float) -> float:
    """How much more than twice the half the whole takes, as a share, but for the start-up."""
    return (whole - start) / (2 * (half - start)) - 1


def _machine() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = re.findall(r"model name\s*: (.*)", text)[0]
    except (OSError, IndexError):
        model = platform.processor()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{len(os.sched_getaffinity(0))} cores ({model}), {memory:.0f} GiB, {system}"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield "| what | wall | MB/s | events | largest process | all processes | compared | target |"
    yield "|---|---:|---:|---:|---:|---:|---|---|"
    for row in rows:
        seconds, largest, together = row.taken
        speed = f"{row.size / seconds / 1e6:,.0f}" if row.size > MB else ""
        events = "" if row.events is None else f"{row.events:,}"
        memory = f"{largest / 1e6:.0f} MB | {together / 1e6:.0f} MB"
        shown = f"{seconds:.3f} s" if seconds < 0.5 else f"{seconds:.2f} s"
        told = f"{row.compared} | {row.target}"
        yield f"| {row.what} | {shown} | {speed} | {events} | {memory} | {told} |"


def main() -> None:
    """Measure, print the table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        bench = Bench(Path(folder), asked.megabytes, asked.times)
        rows: list[Row] = []
        for row in chain(bench.rows(), bench.growth()):
            print(*list(_table([row]))[0 if not rows else 2 :], sep="\n", flush=True)
            rows.append(row)
    head = f"{date.today().isoformat()}, {_machine()}; medians of {asked.times} runs."
    table = "\n".join([head, "", *_table(rows)])
    if asked.write:
        path = HERE / "RESULTS.md"
        text = path.read_text(encoding="utf-8")
        begin, end = "<!-- figures -->\n", "<!-- end of figures -->"
        before, _, rest = text.partition(begin)
        path.write_text(f"{before}{begin}{table}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
