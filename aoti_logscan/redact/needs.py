"""Which finders a line needs to meet: one search for the literals of all of them."""

from __future__ import annotations

import functools

import hyperscan

from aoti_logscan.redact.table import FINDERS

_LITERALS = sorted({need for finder in FINDERS for need in finder.needs})
#: by literal, the finders that need it, as bits
_OWNERS = [
    sum(1 << number for number, finder in enumerate(FINDERS) if literal in finder.needs)
    for literal in _LITERALS
]
#: finders that are tried on every line, as bits
_ALWAYS = sum(1 << number for number, finder in enumerate(FINDERS) if not finder.needs)


class Needs:
    """Tells which finders may find something; each has room of its own, for a thread of its own."""

    def __init__(self) -> None:
        self._scratch = hyperscan.Scratch(_database())

    def wanted(self, line: str) -> int:
        """The finders that may find something in a line: bit `n` is the one at `FINDERS[n]`."""
        bits = _ALWAYS

        def on_match(literal: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            nonlocal bits
            bits |= _OWNERS[literal]

        text = line.lower().encode("utf-8", "surrogatepass")
        _database().scan(text, on_match, scratch=self._scratch)
        return bits


@functools.cache
def _database() -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[literal.encode() for literal in _LITERALS],
        ids=list(range(len(_LITERALS))),
        elements=len(_LITERALS),
        flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(_LITERALS),
        literal=True,
    )
    return database
