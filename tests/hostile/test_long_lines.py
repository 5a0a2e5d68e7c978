"""Lines without an end: their length costs no memory, and what stands around them is found."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from tests.hostile.tool import CLASS, ERROR, MIB, spawn

#: memory of the whole process, in bytes
BOUND = 250 * MIB

ONE_LINE = {
    "words": (b"a" * MIB, 1024),
    "nothing": (b"\0" * MIB, 64),
    "anchors": (b"RuntimeError: CUDA error: " * (MIB // 26), 6),
    "openers": (b"Traceback (most recent call last): " * (MIB // 35 // 4), 1),
    "escapes": (b"\x1b[31m" * (MIB // 5), 64),
    "stored newlines": (b"\\n" * (MIB // 2), 64),
    "backslashes": (b"\\" * MIB, 64),
    "carriage returns": (b"\r" * MIB, 64),
    "json": (b'{"a": [1, "b"], ' * (MIB // 16), 64),
    "marks": (b"[ before_launch: k ] " * 10_000, 1),
}


def _line(of: str) -> Iterable[bytes]:
    piece, count = ONE_LINE[of]
    return itertools.repeat(piece, count)


@pytest.mark.parametrize("of", ONE_LINE)
def test_line_of_hundreds_of_megabytes_is_read_in_bounded_memory(of: str) -> None:
    done = spawn("-f", "json", "-", feed=itertools.chain(_line(of), [b"\n", ERROR]))
    piece, count = ONE_LINE[of]
    assert done.report.sources[0].bytes == len(piece) * count + 1 + len(ERROR)
    assert done.report.verdict.failure_class == CLASS
    assert done.report.findings[0].evidence[0].line == 2
    assert done.peak < BOUND
