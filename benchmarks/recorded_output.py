"""How fast output passes through `aoti-logscan run`, whether a byte is lost, how late it starts.

    python benchmarks/recorded_output.py [MEGABYTES]

A child prints random bytes on both outputs in turn and tells their SHA-256; what came out and what
was recorded must have the same. Then the time from starting the command to the child's first
instruction, against the child alone.
"""

from __future__ import annotations

import hashlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "aoti_logscan", "run"]
PRINTER = """
import hashlib, os, random, sys
left, whole, piece, turn = int(sys.argv[1]) << 20, hashlib.sha256(), random.randbytes(1 << 20), 0
while left:
    turn += 1
    view = memoryview(piece)[turn % 999:][:left]
    left -= len(view)
    whole.update(view)
    while view:
        view = view[os.write(1 + turn % 2, view):]
open(sys.argv[2], 'w').write(whole.hexdigest())
"""
CLOCK = ["date", "+%s.%N"]
RUNS = 15


def pass_through(megabytes: int) -> tuple[str, float]:
    """Whether every byte came through, and the seconds it took until the child had ended."""
    with tempfile.TemporaryDirectory() as place:
        folder, told = Path(place, "kept"), Path(place, "told")
        printer = [sys.executable, "-c", PRINTER, str(megabytes), str(told)]
        seen, began, last = hashlib.sha256(), time.monotonic(), 0.0
        with subprocess.Popen(
            [*COMMAND, "--record", str(folder), "--", *printer],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout
            while piece := process.stdout.read(1 << 20):
                seen.update(piece)
                last = time.monotonic()
        with open(folder / "output.log", "rb") as file:
            recorded = hashlib.file_digest(file, "sha256").hexdigest()
        same = {seen.hexdigest(), recorded, told.read_text()} == {seen.hexdigest()}
        return "same" if same else "DIFFERENT", last - began


def until_started(command: list[str]) -> float:
    """Milliseconds from the start of the command to the child's clock; the median of some runs."""
    spent = []
    for _ in range(RUNS):
        began = time.time()
        done = subprocess.run([*command, *CLOCK], capture_output=True, check=True)
        spent.append((float(done.stdout) - began) * 1000)
    return statistics.median(spent)


def main() -> None:
    """Print both measurements."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    hashes, seconds = pass_through(megabytes)
    print(f"{megabytes} MB: {hashes} bytes, {seconds:.1f} s, {megabytes / seconds:.0f} MB/s")
    alone, ours = until_started([]), until_started([*COMMAND, "--step", "kernels", "--"])
    print(f"start: {alone:.0f} ms alone, {ours:.0f} ms recorded")


main()
