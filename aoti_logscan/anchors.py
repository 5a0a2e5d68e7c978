"""Where the literals of all parsers stand in a stretch of bytes.

A small stretch is searched for one literal after another, which needs nothing to be loaded; a
larger one by Hyperscan, for all of them at once. A found literal is packed into one integer, so
that hundreds of thousands can be sorted and sent at little cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    import hyperscan

#: bytes up to which one literal after another is faster than loading Hyperscan
SMALL = 16 << 10

#: where a literal starts, and (in the last bits) the number of its meaning; they sort by position
Found = int
SHIFT = 16
MEANING = (1 << SHIFT) - 1


class Meaning(NamedTuple):
    """A literal's length, and the number of the parser that is called for it."""

    length: int
    parser: int


class Anchors:
    """Literals with the numbers of the parsers that are called for them."""

    def __init__(self, wanted: Sequence[tuple[bytes, int]]) -> None:
        #: by their numbers; of one position the shorter literal comes first, then the first parser
        self.meanings = sorted({Meaning(len(literal), parser) for literal, parser in wanted})
        number = {meaning: at for at, meaning in enumerate(self.meanings)}
        table: dict[bytes, list[int]] = {}
        for literal, parser in wanted:
            # added to the literal's end this gives a `Found`
            code = number[Meaning(len(literal), parser)] - (len(literal) << SHIFT)
            table.setdefault(literal, []).append(code)
        self._literals = tuple(table)
        self._codes = tuple(table.values())
        #: bytes of the longest literal
        self.longest = max(map(len, table), default=1)

    def find(self, view: memoryview, past: int = 0) -> list[Found]:
        """All literals that end after `past`, by their positions in the view."""
        hits = self._few(bytes(view)) if len(view) <= SMALL else self._many(view)
        found = [
            (hit & ~MEANING) + code
            for hit in hits
            if hit >> SHIFT > past
            for code in self._codes[hit & MEANING]
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
                yield (at + len(literal) << SHIFT) + number
                at = data.find(literal, at + 1)

    def _many(self, view: memoryview) -> list[int]:
        """The same by Hyperscan."""
        hits: list[int] = []
        append = hits.append

        def on_match(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((end << SHIFT) + number)

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
