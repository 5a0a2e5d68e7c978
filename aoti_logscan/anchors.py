"""Where the literals of all parsers stand in a stretch of bytes.

A small stretch is searched for one literal after another, which needs nothing to be loaded; a
larger one by Hyperscan, for all of them at once. A found literal is a `Found`, packed into one
integer so that hundreds of thousands can be sorted and sent at little cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import hyperscan

#: bytes up to which one literal after another is faster than loading Hyperscan
SMALL = 16 << 10

#: a position, the literal's length and the parser's number in one integer; they sort by position
Found = int
#: what is kept for the parser's number and for the length
_NUMBER_BITS, _LENGTH_BITS = 8, 16
SHIFT = _NUMBER_BITS + _LENGTH_BITS
_NUMBERS, _LENGTHS = (1 << _NUMBER_BITS) - 1, (1 << _LENGTH_BITS) - 1


def parser_of(found: Found) -> int:
    """The number of the parser whose literal it is."""
    return found & _NUMBERS


def start_of(found: Found) -> int:
    """Where the literal starts."""
    return found >> SHIFT


def end_of(found: Found) -> int:
    """Where the literal ends."""
    return (found >> SHIFT) + (found >> _NUMBER_BITS & _LENGTHS)


class Anchors:
    """Literals with the numbers of the parsers that are called for them."""

    def __init__(self, wanted: Sequence[tuple[bytes, int]]) -> None:
        table: dict[bytes, list[int]] = {}
        for literal, number in wanted:
            table.setdefault(literal, []).append(number)
        assert len(table) <= _LENGTHS
        self._literals = tuple(table)
        self._codes = tuple(
            tuple(
                (-len(literal) << SHIFT) + (len(literal) << _NUMBER_BITS) + one for one in numbers
            )
            for literal, numbers in table.items()
        )
        #: bytes of the longest literal
        self.longest = max(map(len, table), default=1)

    def find(self, view: memoryview, past: int = 0) -> list[Found]:
        """All literals that end after `past`, by their positions in the view."""
        hits = self._few(bytes(view)) if len(view) <= SMALL else self._many(view)
        found = [
            (hit >> _LENGTH_BITS << SHIFT) + code
            for hit in hits
            if hit >> _LENGTH_BITS > past
            for code in self._codes[hit & _LENGTHS]
        ]
        found.sort()
        return found

    def prepare(self) -> None:
        """Load and compile what a larger stretch is searched with."""
        _ = self._database

    def _few(self, data: bytes) -> Iterator[int]:
        """Ends of literals with the literals' numbers, by plain search."""
        for number, literal in enumerate(self._literals):
            at = data.find(literal)
            while at >= 0:
                yield (at + len(literal) << _LENGTH_BITS) + number
                at = data.find(literal, at + 1)

    def _many(self, view: memoryview) -> list[int]:
        """The same by Hyperscan."""
        hits: list[int] = []
        append = hits.append

        def on_match(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((end << _LENGTH_BITS) + number)

        # any buffer will do, whatever the stub says
        self._database.scan(cast(bytes, view), match_event_handler=on_match)
        return hits

    @cached_property
    def _database(self) -> hyperscan.Database:
        import hyperscan

        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=list(self._literals),
            ids=list(range(len(self._literals))),
            elements=len(self._literals),
            flags=[0] * len(self._literals),
            literal=True,
        )
        return database
