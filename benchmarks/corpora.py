"""Inputs of the benchmarks, tiled from what the fixtures recorded.

Everything is made from the recordings by rule, without chance, so that two machines measure the
same bytes. Sizes are in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import IO

FIXTURES = Path(__file__).parent.parent / "fixtures"

#: bytes of a trace of a whole model
_WHOLE_MODEL = 100_000

#: bursts in which marks, assertions and failures come
_BURSTS = 100
#: what stands in the mixed stderr
MARKS = 200_000
ASSERTIONS = 100_000
#: ten failures of ten classes, as they were recorded or are in the shared cases
FAILURES = (
    "input-dtype/input/run.log",
    "input-stride/input/run.log",
    "python-keyerror/input/run.log",
    "crash-faulthandler/input/run.log",
    "load-cuda-package-on-cpu/input/run.log",
    "custom-op-raises/input/run.log",
    "cpu-index-out-of-bounds-aoti/input/run.log",
    "device-mismatch-cuda1-vs-data-cuda0/input/multi.log",
    "shim-call-fails-unchecked/input/run.log",
    "input-dim-static/input/run.log",
)


def recorded_traces() -> list[bytes]:
    """The recorded TORCH_TRACE files of whole models, healthy ones and failed ones, by name.

    Those below 100 kB are left out: they are of toy functions that failed at once, of which no
    trace of this size has thousands.
    """
    found = sorted(FIXTURES.glob("**/dedicated_log_torch_trace_*.log"))
    texts = (_whole_lines(file.read_bytes()) for file in found)
    return [text for text in texts if len(text) >= _WHOLE_MODEL]


def trace(path: Path, size: int, skip: int = 0) -> None:
    """A trace of at least `size` bytes: the recorded ones, one after another, again and again.

    The first `skip` recordings are left out, so that ranks differ.
    """
    recordings = recorded_traces()
    _write(path, size, cycle(recordings[skip % len(recordings) :] + recordings))


def mixed(path: Path, size: int, bursts: int = _BURSTS) -> None:
    """A stderr of `size` bytes: torch's own log lines, marks, assertions and ten failures.

    A smaller one for comparison has as much less of each: so many of the hundred `bursts`.
    """
    parts = list(islice(_bursts(), bursts))
    room = size - sum(map(len, parts))
    talk = cycle([_talk()])
    with path.open("wb") as file:
        for number, part in enumerate(parts):
            _fill(file, talk, room * (number + 1) // len(parts) - room * number // len(parts))
            file.write(part)


def _fill(file: IO[bytes], parts: Iterator[bytes], size: int) -> None:
    left = size
    while left > 0:
        part = next(parts)
        if len(part) > left:
            part = _whole_lines(part[:left])
        file.write(part)
        left = left - len(part) if len(part) > 4096 else 0


def _bursts() -> Iterator[bytes]:
    """The hundred bursts: marks in each, assertions in every fourth, a failure in every tenth."""
    dump = _marks_of_level_2()
    for number in range(_BURSTS):
        marks = _marks_of_level_3(number) + dump
        asserted = _assertions(number) if number % 4 == 0 else b""
        failure = (FIXTURES / FAILURES[number // 10]).read_bytes() if number % 10 == 9 else b""
        yield marks + asserted + b"\n" + _whole_lines(failure)


def _marks_of_level_3(number: int) -> bytes:
    """A thousand marks: five hundred launches of recorded kernels."""
    lines = [
        f"[ {phase}_launch: cpp_fused_exp_mul_{index} ]\n"
        for index in range(number, number + MARKS // _BURSTS // 4)
        for phase in ("before", "after")
    ]
    return "".join(lines).encode()


def _marks_of_level_2() -> bytes:
    """A thousand marks with the values of their tensors, as recorded."""
    text = (FIXTURES / "printer-level2-healthy/input/run.log").read_bytes()
    marks = re.compile(rb"^\[  (?:before|after)_launch - .*?(?=^\[  |\Z)", re.MULTILINE | re.DOTALL)
    wanted = islice(cycle(marks.findall(text)), MARKS // _BURSTS // 2)
    return b"".join(wanted)


def _assertions(number: int) -> bytes:
    """Four thousand threads of one kernel that fail the same assertion."""
    stem = "c" + "abcdefghijklmnopqrstuvwxyz234567"[number % 32] * 51
    lines = [
        f"/tmp/torchinductor_user/{stem[1:3]}/{stem}.py:{29 + number}: unknown: "
        f"block: [{thread // 128},0,0], thread: [{thread % 128},0,0] "
        f"Assertion `index out of bounds: 0 <= tmp4 < {50304 + number}` failed.\n"
        for thread in range(ASSERTIONS * 4 // _BURSTS)
    ]
    return "".join(lines).encode()


def _talk() -> bytes:
    """What torch logs when nothing is wrong."""
    folder = FIXTURES / "healthy-full-text-logs-with-control-bytes/input"
    return _whole_lines((folder / "stderr.log").read_bytes())


def _whole_lines(text: bytes) -> bytes:
    return text[: text.rfind(b"\n") + 1]


def _write(path: Path, size: int, parts: Iterable[bytes]) -> None:
    written = 0
    with path.open("wb") as file:
        for part in parts:
            if written >= size:
                return
            written += file.write(part)
