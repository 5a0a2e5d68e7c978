"""Bytes to records in one pass, knowing no format.

The literals of all parsers are one Hyperscan database. A source is read once, in overlapping
windows; what an anchor found is handed to the parser that owns the anchor, in the order of the
bytes. A record that runs past the window is carried over whole, up to `MAX_RECORD`. Equal records
are folded as they are found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

import hyperscan

from aoti_logscan.events import Event, Place
from aoti_logscan.lines import ANSI, MAX_RECORD, Hit, IncompleteError, Window
from aoti_logscan.prefix import Prefix, read_prefix

#: bytes read at a time
WINDOW = 1 << 20
#: bytes kept before the place where work goes on, for parsers that look back
LOOK_BEHIND = 64 << 10
#: events of one type kept of one source; what is beyond is counted
MAX_EVENTS = 100_000
#: characters of a record's own text that are kept
MAX_TEXT = 2_000
#: characters of payloads (generated code) that are kept of one source
MAX_KEPT_TEXT = 64 << 20
#: members (blocks of an assertion) told apart in one folded event
MAX_MEMBERS = 100_000
#: different records that equal ones are folded into at a time
_OPEN_FOLDS = 512
#: hits of one parser in one physical line that may lead nowhere
_MAX_MISSES = 1000
#: places of folded records that are kept
_MAX_REPEATS = 8
#: records of one type whose surroundings are kept, from the first ones and from the last ones
_MAX_CONTEXTS = 100
#: physical lines that are kept before and after a record, and bytes of either
_LINES_BEFORE, _LINES_AFTER = 4, 8
_MAX_CONTEXT = 4_000
_NEWLINE = 0x0A
#: problems listed for one source; the rest is counted
_MAX_PROBLEMS = 50


class Draft(NamedTuple):
    """A record as a parser read it: the event's type and fields, and where it stands.

    `start` and `end` are positions in the window. `fields` may be a function that reads them when
    the event is made, since many a record is only counted. Records with equal `fold` become one
    event; `member` is what they are told apart by, counted in `distinct`. Hits of the same parser
    before `taken` belong to this record (None: before `end`); where writers interleave, another
    record may begin inside this one.
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


class Readable(Protocol):
    """A stream of bytes."""

    @property
    def problem(self) -> str | None:
        """Why it broke off, None where it did not."""

    def readinto(self, view: memoryview) -> int:
        """Fill the view from its start; 0 at the end."""


class Trouble(NamedTuple):
    """Something not understood, at a line of the source or (None) in the whole of it."""

    line: int | None
    what: str


class Context(NamedTuple):
    """Whole physical lines around a record, without colours; `first_line` is the first's number."""

    first_line: int
    text: str


class Scanned(NamedTuple):
    """What one source held: events in the order of the bytes, records by parser, problems."""

    events: tuple[Event, ...]
    size: int
    records: dict[str, int]
    problems: tuple[Trouble, ...]


class Scanner:
    """All anchors of some parsers, ready to run over any number of sources.

    A record of an owner is hidden from all parsers but the owners before it.
    """

    def __init__(self, parsers: Sequence[Parser], owners: Sequence[Owner]) -> None:
        self._parsers = tuple(parsers)
        self._owners = tuple(owners)
        table: dict[bytes, list[int]] = {}
        for index, parser in enumerate(parsers):
            for anchor in parser.ANCHORS:
                table.setdefault(anchor, []).append(index)
        self._anchors = tuple(table.items())
        self._longest = max(len(anchor) for anchor in table)
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[anchor for anchor, _ in self._anchors],
            ids=list(range(len(self._anchors))),
            elements=len(self._anchors),
            flags=[0] * len(self._anchors),
            literal=True,
        )

    def scan(
        self,
        name: str,
        stream: Readable,
        *,
        contexts: Contexts | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Scanned:
        """Read the stream to its end; `name` is what its places are called.

        With `contexts` the lines around records are kept in it. `progress` is told the bytes read
        so far, whenever more came.
        """
        window = Window(bytearray(LOOK_BEHIND + MAX_RECORD + 2 * WINDOW))
        run = _Run(name, window, self._parsers, self._owners, contexts)
        resume = 0
        while not window.final:
            self._fill(window, stream, progress)
            resume = run.work(self._hits(window, resume), resume, self._longest)
            if not window.final:
                keep_from = max(0, resume - LOOK_BEHIND)
                window.drop(keep_from)
                run.shift(keep_from)
                resume -= keep_from
        if stream.problem:
            run.trouble(window.line_number(window.size), stream.problem)
        return run.result()

    def _fill(
        self, window: Window, stream: Readable, progress: Callable[[int], None] | None
    ) -> None:
        target = window.size + WINDOW
        if target > len(window.buffer):
            window.buffer.extend(bytes(target - len(window.buffer)))
        view = memoryview(window.buffer)
        while window.size < target:
            count = stream.readinto(view[window.size : target])
            if not count:
                window.final = True
                break
            window.size += count
            if progress is not None:
                progress(window.base + window.size)
        view.release()
        window.grown()

    def _hits(self, window: Window, resume: int) -> list[tuple[int, int, int]]:
        found: list[tuple[int, int]] = []
        append = found.append

        def on_match(anchor: int, _start: int, end: int, _flags: int, _context: object) -> None:
            append((anchor, end))

        begin = max(0, resume - self._longest)
        view = memoryview(window.buffer)[begin : window.size]
        # any buffer will do, whatever the stub says
        self._database.scan(cast(bytes, view), match_event_handler=on_match)
        view.release()
        hits = [
            (begin + end - len(self._anchors[anchor][0]), begin + end, index)
            for anchor, end in found
            for index in self._anchors[anchor][1]
        ]
        hits.sort()
        return hits


class _Run:
    """The work on one source: hands hits to parsers, folds what they find."""

    def __init__(
        self,
        name: str,
        window: Window,
        parsers: tuple[Parser, ...],
        owners: tuple[Owner, ...],
        contexts: Contexts | None = None,
    ) -> None:
        self._name = name
        self._window = window
        self._contexts = contexts
        self._parsers = parsers
        self._owners = owners
        self._consumed = [0] * len(parsers)
        self._limits = [int(getattr(parser, "MAX_RECORD", MAX_RECORD)) for parser in parsers]
        self._misses = [0] * len(parsers)
        self._tried_to = 0
        self._kept_text = 0
        self._closed = 0
        self._closer: Owner | None = None
        self._folds: dict[tuple[Any, ...], _Seen] = {}
        self._kept: dict[type[Event], _Kept] = {}
        self._records: dict[str, int] = {}
        self._problems: list[Trouble] = []
        self._not_listed = 0

    def work(self, hits: Iterable[tuple[int, int, int]], resume: int, longest: int) -> int:
        """Parse the hits from `resume` on; returns where the next window has to go on."""
        window = self._window
        limit = window.size if window.final else window.size - longest + 1
        for start, end, index in hits:
            if start >= limit:
                break
            if start < resume or start < self._consumed[index]:
                continue
            if start < self._closed and self._parsers[index] is not self._closer:
                continue
            if self._is_hopeless(start, index):
                continue
            try:
                self._parse(Hit(window, start, end), index)
            except IncompleteError:
                if window.size - start < self._limits[index]:
                    return start
                self._cut(start, end, index)
        return max(resume, limit)

    def _is_hopeless(self, start: int, index: int) -> bool:
        """Whether so many hits of this line led nowhere that the rest of it is passed over."""
        if self._window.buffer.find(b"\n", max(0, self._tried_to), start) >= 0:
            self._misses = [0] * len(self._parsers)
        self._tried_to = start
        if self._misses[index] < _MAX_MISSES:
            return False
        if self._misses[index] == _MAX_MISSES:
            self._misses[index] += 1
            line = self._window.line_number(start)
            name = self._parsers[index].NAME
            self.trouble(line, f"a line of words of {name} that lead nowhere was passed over")
        return True

    def shift(self, by: int) -> None:
        """Positions moved down by `by` bytes."""
        self._closed -= by
        self._tried_to -= by
        self._consumed = [position - by for position in self._consumed]

    def trouble(self, line: int | None, what: str) -> None:
        """Note something that was not understood."""
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(Trouble(line, what))
        else:
            self._not_listed += 1

    def result(self) -> Scanned:
        """Everything that was found."""
        for kind, kept in self._kept.items():
            if kept.passed_over:
                tag = kind.__struct_config__.tag
                what = f"{kept.passed_over} {tag} records in the middle were counted but not kept"
                self.trouble(None, what)
        problems = list(self._problems)
        if self._not_listed:
            problems.append(Trouble(None, f"{self._not_listed} further problems are not listed"))
        return Scanned(
            self._events(),
            self._window.base + self._window.size,
            self._records,
            tuple(problems),
        )

    def _parse(self, hit: Hit, index: int) -> None:
        parser = self._parsers[index]
        self._misses[index] += 1
        for owner in self._owners:
            if owner is parser:
                break
            if (end := owner.owns(hit)) is not None:
                self._closed, self._closer = max(end, hit.end), owner
                return
        for found in parser.parse(hit):
            taken = found.end if found.taken is None else found.taken
            self._consumed[index] = max(self._consumed[index], taken)
            self._misses[index] = 0
            if isinstance(found, Malformed):
                self.trouble(self._window.line_number(found.start), found.what)
                continue
            self._records[parser.NAME] = self._records.get(parser.NAME, 0) + 1
            self._add(found)

    def _cut(self, start: int, end: int, index: int) -> None:
        """Parse a record that is longer than may be carried, with what there is of it."""
        self._window.end_here(True)
        try:
            self._parse(Hit(self._window, start, end), index)
        finally:
            self._window.end_here(False)
        self.trouble(
            self._window.line_number(start),
            f"a record longer than {self._limits[index]} bytes was cut",
        )

    def _bounded(self, draft: Draft) -> Draft:
        """The draft without its payload where the source has had its share of memory."""
        fields = draft.fields
        assert isinstance(fields, dict)
        size = len(fields["text"])
        if self._kept_text + size <= MAX_KEPT_TEXT:
            self._kept_text += size
            return draft
        if self._kept_text < MAX_KEPT_TEXT:
            self._kept_text = MAX_KEPT_TEXT
            what = f"payloads beyond the first {MAX_KEPT_TEXT >> 20} MiB were not kept"
            self.trouble(self._window.line_number(draft.start), what)
        return draft._replace(fields={**fields, "text": ""})

    def _add(self, draft: Draft) -> None:
        line = self._window.line_number(draft.start)
        offset = self._window.base + draft.start
        if draft.fold is not None:
            key = (draft.kind, draft.prefix.rank, draft.prefix.process, *draft.fold)
            seen = self._folds.get(key)
            if seen is not None and seen.kept:
                seen.again(line, offset, draft)
                return
            if len(self._folds) >= _OPEN_FOLDS:
                del self._folds[next(iter(self._folds))]
        if isinstance(draft.fields, dict) and "text" in draft.fields:
            draft = self._bounded(draft)
        seen = _Seen(draft, line, offset, self._window.base)
        if self._contexts is not None:
            self._contexts.add(draft, line, self._window)
        self._kept.setdefault(draft.kind, _Kept()).add(seen, self._name)
        if draft.fold is not None:
            self._folds[key] = seen

    def _events(self) -> tuple[Event, ...]:
        """What is kept of every kind, in the order of the bytes."""
        found = [event for kept in self._kept.values() for event in kept.events(self._name)]
        found.sort(key=lambda event: event.place.offset)
        return tuple(found)


class _Kept:
    """What is kept of one type of event: the first half, and of the rest the last.

    Each type has its own share, so that a flood of marks pushes no failure out.
    """

    def __init__(self) -> None:
        self._first: list[Event | _Seen] = []
        self._rest: deque[_Seen] = deque()
        self.passed_over = 0

    def add(self, seen: _Seen, source: str) -> None:
        """Hold a record, or what it pushes out in the middle is passed over."""
        if len(self._first) < MAX_EVENTS // 2:
            self._first.append(seen if seen.draft.fold else seen.event(source))
            return
        self._rest.append(seen)
        if len(self._rest) > max(1, MAX_EVENTS - MAX_EVENTS // 2):
            self._rest.popleft().kept = False
            self.passed_over += 1

    def events(self, source: str) -> Iterator[Event]:
        """The events, made one by one; what they are made from is let go."""
        for one in self._first:
            yield one if isinstance(one, Event) else one.event(source)
        while self._rest:
            yield self._rest.popleft().event(source)


class Contexts:
    """The lines around records, by their offsets: of each type the first ones and the last ones."""

    def __init__(self) -> None:
        self._first: dict[type[Event], int] = {}
        self._last: dict[type[Event], deque[int]] = {}
        self._found: dict[int, Context] = {}

    def add(self, draft: Draft, line: int, window: Window) -> None:
        """Keep what stands around a record, as far as the window holds it."""
        offset = window.base + draft.start
        count = self._first[draft.kind] = self._first.get(draft.kind, 0) + 1
        if count > _MAX_CONTEXTS:
            last = self._last.setdefault(draft.kind, deque())
            last.append(offset)
            if len(last) > _MAX_CONTEXTS:
                self._found.pop(last.popleft(), None)
        self._found[offset] = _context(draft, line, window)

    @property
    def found(self) -> Mapping[int, Context]:
        """What was kept, by the offsets of the records."""
        return self._found


def _context(draft: Draft, line: int, window: Window) -> Context:
    """The record with the whole lines around it that are within the bytes that may be kept."""
    start, end = draft.start, min(draft.end, draft.start + _MAX_CONTEXT)
    first = _lines_back(window.buffer, start, max(0, start - _MAX_CONTEXT))
    last = _lines_on(window.buffer, end, min(window.size, end + _MAX_CONTEXT))
    first = _whole_from(window, first, start)
    last = _whole_to(window, last, start)
    text = ANSI.sub(b"", window.buffer[first:last]).decode("utf-8", "replace").removesuffix("\n")
    return Context(line - window.buffer.count(b"\n", first, start), text)


def _lines_back(buffer: bytearray, position: int, floor: int) -> int:
    position = buffer.rfind(b"\n", floor, position) + 1 or floor
    for _ in range(_LINES_BEFORE):
        if position > floor:
            position = buffer.rfind(b"\n", floor, position - 1) + 1 or floor
    return position


def _whole_from(window: Window, first: int, start: int) -> int:
    """Where the first line begins that is whole; the record itself where there is none."""
    if window.base + first == 0 or (first > 0 and window.buffer[first - 1] == _NEWLINE):
        return first
    return window.buffer.find(b"\n", first, start) + 1 or start


def _whole_to(window: Window, last: int, start: int) -> int:
    """Where the last line or, of one that is too long, the last word ends that is whole."""
    if last == window.size or window.buffer[last - 1] == _NEWLINE:
        return last
    for mark in (b"\n", b" "):
        found = window.buffer.rfind(mark, start, last)
        if found > start:
            return found
    return last


def _lines_on(buffer: bytearray, position: int, ceiling: int) -> int:
    for _ in range(_LINES_AFTER + 1):
        found = buffer.find(b"\n", position, ceiling)
        if found < 0:
            return ceiling
        position = found + 1
    return position


class _Seen:
    """An event in the making: the first draft, and what equal ones added."""

    __slots__ = ("count", "draft", "end", "kept", "last", "line", "members", "offset", "repeats")

    def __init__(self, draft: Draft, line: int, offset: int, base: int) -> None:
        self.draft = draft
        self.line = line
        self.offset = offset
        self.end = base + draft.end
        self.count = 1
        self.kept = True
        self.repeats: list[int] = []
        self.last: tuple[int, int, bytes] | None = None
        self.members = {draft.member} if draft.member is not None else None

    def again(self, line: int, offset: int, draft: Draft) -> None:
        self.count += 1
        self.last = (line, offset, draft.text)
        if len(self.repeats) < _MAX_REPEATS:
            self.repeats.append(offset)
        if self.members is not None and len(self.members) < MAX_MEMBERS:
            self.members.add(draft.member)

    def event(self, source: str) -> Event:
        prefix = self.draft.prefix
        fields = self.draft.fields
        return self.draft.kind(
            **(fields if isinstance(fields, dict) else fields()),
            place=_place(source, self.line, self.offset, self.draft.text),
            end=self.end,
            rank=prefix.rank,
            process=prefix.process,
            time=prefix.time,
            count=self.count,
            repeats=tuple(self.repeats),
            last=_place(source, *self.last) if self.last else None,
            distinct=len(self.members) if self.members is not None else None,
        )


def _place(source: str, line: int, offset: int, text: bytes) -> Place:
    shown = text[: 4 * MAX_TEXT].decode("utf-8", "replace")
    if len(shown) > MAX_TEXT:
        # half a word may be half a secret, which nothing would recognise
        shown = shown[:MAX_TEXT].rpartition(" ")[0] or shown[:MAX_TEXT]
    return Place(source, line, offset, shown)
