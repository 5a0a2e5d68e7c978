"""A mutator that knows lines: it splices those of other inputs into one, and anchors with them.

libFuzzer's own changes of bytes rarely keep a line whole; half of the time they are left to it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from aoti_logscan.parsers import PARSERS
from tests.fuzz.dictionary import MARKS

_Change = Callable[[list[bytes], random.Random], None]

#: lines of the corpus that are kept to choose from
_MAX_LINES = 20_000
#: bytes of a line that is repeated
_MAX_REPEATED = 60_000


class Mutator:
    """Changes inputs by lines of a pool and by tokens; `by_bytes` is libFuzzer's own change."""

    def __init__(self, pool: Sequence[bytes], by_bytes: Callable[[bytes, int], bytes]) -> None:
        self._pool = pool or (b"",)
        self._by_bytes = by_bytes
        anchors = (anchor for parser in PARSERS for anchor in parser.ANCHORS)
        self._tokens = (*anchors, *MARKS)
        self._changes: tuple[_Change, ...] = (
            self._line_put_in,
            self._lines_put_in,
            self._token_put_in,
            self._token_put_over,
            _line_lost,
            _line_doubled,
            _lines_swapped,
            _lines_joined,
            _prefix_on_all,
            _repeated,
        )

    @classmethod
    def of_corpus(cls, folders: Iterable[Path], by_bytes: Callable[[bytes, int], bytes]) -> Mutator:
        """One whose lines are those of the files in the folders."""
        files = [file for folder in folders for file in sorted(folder.glob("*")) if file.is_file()]
        lines = [line for file in files for line in file.read_bytes()[1:].split(b"\n")]
        return cls(list(dict.fromkeys(lines))[:_MAX_LINES], by_bytes)

    def mutated(self, data: bytes, max_size: int, seed: int) -> bytes:
        """The input after one change of bytes, or a few of lines."""
        rng = random.Random(seed)
        if not data or rng.random() < 0.5:
            return bytes(self._by_bytes(data, max_size))
        lines = data[1:].split(b"\n")
        for _ in range(rng.choice((1, 1, 2, 4))):
            rng.choice(self._changes)(lines, rng)
        return (data[:1] + b"\n".join(lines))[:max_size]

    def _line_put_in(self, lines: list[bytes], rng: random.Random) -> None:
        lines.insert(rng.randint(0, len(lines)), rng.choice(self._pool))

    def _lines_put_in(self, lines: list[bytes], rng: random.Random) -> None:
        """Neighbours in the corpus, which may be a record of several lines."""
        start = rng.randrange(len(self._pool))
        at = rng.randint(0, len(lines))
        lines[at:at] = self._pool[start : start + rng.randint(2, 8)]

    def _token_put_in(self, lines: list[bytes], rng: random.Random) -> None:
        at = rng.randrange(len(lines))
        column = rng.randint(0, len(lines[at]))
        lines[at] = lines[at][:column] + rng.choice(self._tokens) + lines[at][column:]

    def _token_put_over(self, lines: list[bytes], rng: random.Random) -> None:
        at = rng.randrange(len(lines))
        column, token = rng.randint(0, len(lines[at])), rng.choice(self._tokens)
        lines[at] = lines[at][:column] + token + lines[at][column + len(token) :]


def _line_lost(lines: list[bytes], rng: random.Random) -> None:
    if len(lines) > 1:
        del lines[rng.randrange(len(lines))]


def _line_doubled(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    lines[at:at] = lines[at : at + 1] * rng.choice((1, 1, 2, 10))


def _lines_swapped(lines: list[bytes], rng: random.Random) -> None:
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _lines_joined(lines: list[bytes], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    lines[at : at + 2] = [b"".join(lines[at : at + 2])]


def _repeated(lines: list[bytes], rng: random.Random) -> None:
    """One line very often, or all of it on one line: what is not linear shows its time."""
    if rng.random() < 0.9:
        return
    at = rng.randrange(len(lines))
    times = _MAX_REPEATED // (len(lines[at]) + 1)
    if rng.random() < 0.5:
        lines[at : at + 1] = [lines[at]] * times
    else:
        lines[at] *= times


def _prefix_on_all(lines: list[bytes], rng: random.Random) -> None:
    prefix = rng.choice(MARKS[:6])
    lines[:] = [prefix + line for line in lines]
