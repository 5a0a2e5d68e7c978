"""Lines that patterns on raw lines ask for, each by a literal of its own.

Unlike other parsers it is made for a run: its anchors are those of the patterns in use.
"""

from __future__ import annotations

from collections.abc import Iterable

from aoti_logscan.events import RawLine
from aoti_logscan.lines import Hit
from aoti_logscan.records import Draft, Parsed

#: characters of a line that a pattern sees
MAX_SEEN = 4_000


class RawLines:
    """A parser that gives one `RawLine` for every line with one of the anchors."""

    NAME = "line"

    def __init__(self, anchors: Iterable[str]) -> None:
        self.ANCHORS = tuple(sorted({anchor.encode() for anchor in anchors}))

    def parse(self, hit: Hit) -> Parsed:
        """The line of this hit."""
        text = hit.line.text
        begin = max(0, hit.column - MAX_SEEN // 2) if len(text) > MAX_SEEN else 0
        seen = text[begin : begin + MAX_SEEN].decode("utf-8", "replace")
        draft = Draft.of_line(hit, RawLine, {"text": seen}, hit.column, (seen,))
        return (draft._replace(payload=len(seen)),)
