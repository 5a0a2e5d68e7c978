"""What a parser is, and what it gives: records as they were read, before they are events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from aoti_logscan.events import Event
from aoti_logscan.lines import Hit
from aoti_logscan.prefix import Prefix, read_prefix

#: places of folded records that are kept
MAX_REPEATS = 8


class Repeats(NamedTuple):
    """Records that stand right below one and fold with it, read all at once.

    How many, where the first `MAX_REPEATS` of them start and where the last one does, the last
    one's text, and what they are told apart by.
    """

    number: int
    starts: tuple[int, ...]
    last: int
    text: bytes
    members: set[Any]


class Draft(NamedTuple):
    """A record as a parser read it: the event's type and fields, and where it stands.

    `start` and `end` are positions in the window. `fields` may be a function that reads them when
    the event is made, since many a record is only counted. Records with equal `fold` become one
    event; `member` is what they are told apart by, counted in `distinct`. Hits of the same parser
    before `taken` belong to this record (None: before `end`); where writers interleave, another
    record may begin inside this one. `repeats` are equal ones right below. `payload` are the bytes
    of a `text` among the fields, which is left empty where a source has too many. Hits of other
    parsers from one of `hides` to the other tell nothing more.
    """

    kind: type[Event]
    fields: dict[str, Any] | Callable[[], dict[str, Any]]
    start: int
    end: int
    text: bytes
    prefix: Prefix
    fold: tuple[Any, ...] | None = None
    member: Any = None
    taken: int | None = None
    repeats: Repeats | None = None
    payload: int = 0
    hides: tuple[int, int] | None = None

    def read(self) -> dict[str, Any]:
        """The event's own fields."""
        return self.fields if isinstance(self.fields, dict) else self.fields()

    @classmethod
    def of_line(
        cls,
        hit: Hit,
        kind: type[Event],
        fields: dict[str, Any],
        column: int,
        fold: tuple[Any, ...],
    ) -> Draft:
        """A record that is the hit's whole line and begins, behind a prefix, at `column`."""
        line = hit.line
        prefix = read_prefix(hit.head(column))
        return cls(kind, fields, line.start, line.end, line.text, prefix, fold)


class Malformed(NamedTuple):
    """A record that is the parser's own but cannot be read."""

    start: int
    end: int
    what: str
    taken: int | None = None


Parsed = Sequence[Draft | Malformed]


class Parser(Protocol):
    """One log format.

    `parse` answers for one hit of its anchors: drafts, or nothing where the record is not of this
    format. It may raise `IncompleteError` through the lines it asks for, and nothing else. A format
    with longer records than most has `MAX_RECORD`, in bytes.
    """

    @property
    def NAME(self) -> str:
        """What its records are counted under."""

    @property
    def ANCHORS(self) -> tuple[bytes, ...]:
        """The literals it is called for, at least 3 bytes each."""

    def parse(self, hit: Hit) -> Parsed:
        """The records that begin at this hit."""


class Owner(Parser, Protocol):
    """A format with closed records: trace records, dumped code."""

    def owns(self, hit: Hit) -> int | None:
        """The end of the closed record that holds this hit of another parser, or None."""
