"""Bytes to records in one pass, knowing no format.

The literals of all parsers are one Hyperscan database. A source is read once, in overlapping
windows; what an anchor found is handed to the parser that owns the anchor, in the order of the
bytes. A record that runs past the window is carried over whole, up to `MAX_RECORD`. Equal records
are folded as they are found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import cycle, islice, takewhile
from typing import Any, NamedTuple, Protocol

import msgspec

from aoti_logscan.ahead import Ahead, search
from aoti_logscan.anchors import MEANING, SHIFT, Anchors, Found
from aoti_logscan.events import Event, Place, tag_of
from aoti_logscan.lines import ANSI, MAX_RECORD, Hit, IncompleteError, Window
from aoti_logscan.prefix import Prefix, read_prefix

#: bytes read at a time
WINDOW = 1 << 20
#: bytes read at first, which are all of most logs
_FIRST = 64 << 10
#: blocks that are read before the first of them is parsed
_SLOTS = 4
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
MAX_REPEATS = 8
#: records of one type whose surroundings are kept, from the first ones and from the last ones
_MAX_CONTEXTS = 100
#: physical lines that are kept before and after a record, and bytes of either
_LINES_BEFORE, _LINES_AFTER = 4, 8
_MAX_CONTEXT = 4_000
_NEWLINE = 0x0A
#: problems listed for one source; the rest is counted
_MAX_PROBLEMS = 50


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
        self._anchors = Anchors(
            [(anchor, number) for number, one in enumerate(parsers) for anchor in one.ANCHORS]
        )

    def scan(
        self,
        name: str,
        stream: Readable,
        *,
        contexts: Contexts | None = None,
        progress: Callable[[int], None] | None = None,
        ahead: bool = False,
        share: int | None = None,
    ) -> Scanned:
        """Read the stream to its end; `name` is what its places are called.

        With `contexts` the lines around records are kept in it. `progress` is told the bytes read
        so far, whenever more came. With `ahead`, a stream of more than a window is searched by a
        process beside this one; what is found does not depend on it. `share` are the events of one
        type that are kept.
        """
        scan = self.begin(name, contexts, share)
        source = Counted(stream, progress)
        scan.read(source, min(_FIRST, WINDOW))
        if not scan.is_over:
            scan.read(source, WINDOW)
        if ahead and not scan.is_over and (helped := self._helped(source, scan.tail)):
            with closing(helped):
                for block in helped.blocks():
                    scan.take(block)
        while not scan.is_over:
            scan.read(source, WINDOW)
        return scan.result(stream.problem)

    def _helped(self, source: Counted, tail: _Tail) -> _Helped | None:
        """What searches ahead; None where there is no memory for it."""
        try:
            return _Helped(source, self._anchors, WINDOW, tail)
        except OSError:
            return None

    def begin(self, name: str, contexts: Contexts | None = None, share: int | None = None) -> Scan:
        """The scan of a source, to be given its bytes as they come."""
        keeps = MAX_EVENTS if share is None else share
        return Scan(name, self._anchors, self._parsers, self._owners, contexts, keeps)


class Counted:
    """A stream that tells how much of it was read."""

    def __init__(self, stream: Readable, progress: Callable[[int], None] | None = None) -> None:
        self._stream = stream
        self._progress = progress
        self._read = 0

    def fill(self, view: memoryview) -> int:
        """Fill the view, which falls short only at the stream's end; gives the bytes read."""
        size = 0
        while size < len(view):
            count = self._stream.readinto(view[size:])
            if not count:
                break
            size += count
            self._read += count
            if self._progress is not None:
                self._progress(self._read)
        return size


class _Block(NamedTuple):
    """The next bytes of a source, the literals that end in them, by offset, and their lines.

    `line` is that of the block's end.
    """

    data: memoryview
    found: list[Found]
    lines: list[int]
    line: int
    is_last: bool


class _Tail(NamedTuple):
    """How far a source was read: bytes, the line there, and the last bytes, half a literal's."""

    offset: int
    line: int
    data: bytes


class _Given(NamedTuple):
    """A block that is being searched: its slot, the bytes carried into it, its own, its offset."""

    slot: int
    carried: int
    size: int
    offset: int
    is_last: bool


class _Helped:
    """A source's blocks, read and searched ahead; `tail` is what was read before."""

    def __init__(self, source: Counted, anchors: Anchors, size: int, tail: _Tail) -> None:
        self._source = source
        self._anchors = anchors
        self._size = size
        self._offset, self._line, self._tail = tail
        self._overlap = anchors.longest - 1
        self._ahead = Ahead(anchors, _SLOTS, self._overlap + size)
        self._pending: deque[_Given] = deque()

    def blocks(self) -> Iterator[_Block]:
        """All blocks in order; the data of one is valid until the next one is asked for."""
        for slot in cycle(range(_SLOTS)):
            if not self._pending or not self._pending[-1].is_last:
                self._read(slot)
            if len(self._pending) == _SLOTS or self._pending[-1].is_last:
                block = self._first()
                yield block
                if block.is_last:
                    return

    def close(self) -> None:
        """End the process."""
        self._ahead.close()

    def _read(self, slot: int) -> None:
        view = self._ahead.slot(slot)
        carried = len(self._tail)
        view[:carried] = self._tail
        size = self._source.fill(view[carried : carried + self._size])
        given = _Given(slot, carried, size, self._offset, size < self._size)
        self._ahead.give(slot, carried + size, carried)
        self._pending.append(given)
        self._tail = bytes(view[max(0, carried + size - self._overlap) : carried + size])
        self._offset += size

    def _first(self) -> _Block:
        given = self._pending.popleft()
        view = self._ahead.slot(given.slot)[: given.carried + given.size]
        searched = self._ahead.take() or search(self._anchors, view, given.carried)
        moved, line = given.offset - given.carried << SHIFT, self._line
        self._line += searched.newlines
        return _Block(
            view[given.carried :],
            [one + moved for one in searched.found],
            [line + one for one in searched.lines],
            self._line,
            given.is_last,
        )


class Scan:
    """The work on one source: hands hits to parsers, folds what they find."""

    def __init__(
        self,
        name: str,
        anchors: Anchors,
        parsers: tuple[Parser, ...],
        owners: tuple[Owner, ...],
        contexts: Contexts | None,
        keeps: int,
    ) -> None:
        self._name = name
        self._keeps = keeps
        self._anchors = anchors
        self._window = Window(bytearray())
        self._contexts = contexts
        self._parsers = parsers
        self._owners = [_asked_first(parser, owners) for parser in parsers]
        self._limits = [int(getattr(parser, "MAX_RECORD", MAX_RECORD)) for parser in parsers]
        #: literals that were found but not parsed yet, by offset, with their lines (0: not known),
        #: and the offset at which an unfinished record is tried again
        self._pending: list[Found] = []
        self._lines: list[int] = []
        self._again_at = 0
        #: of each parser, up to where its records reach
        self._consumed = [0] * len(parsers)
        #: hits from here to there are hidden from all parsers but one
        self._closed = (0, 0)
        self._closer: Parser | None = None
        self._misses: dict[int, int] = {}
        self._tried_to = 0
        self._kept_text = 0
        self._folds: dict[tuple[Any, ...], _Seen] = {}
        self._kept: dict[type[Event], _Kept] = {}
        self._records: dict[str, int] = {}
        self._problems: list[Trouble] = []
        self._not_listed = 0

    @property
    def is_over(self) -> bool:
        """Whether the source's end was read."""
        return self._window.final

    @property
    def tail(self) -> _Tail:
        """How far the source was read, and the end of it in which a literal may have begun."""
        window = self._window
        begin = max(0, window.size - self._anchors.longest + 1)
        line = window.line_number(window.size)
        return _Tail(window.base + window.size, line, bytes(window.buffer[begin : window.size]))

    def read(self, source: Counted, size: int, *, grows: bool = False) -> int:
        """Read so many bytes more and parse them; gives how many there were.

        They fall short only at the source's end, which is no end where the source `grows`.
        """
        window = self._window
        before = window.size
        count = source.fill(window.room(size))
        self._searched(before, count, count < size and not grows)
        return count

    def so_far(self) -> Scanned:
        """What there would be if the source ended here; it may be read on all the same."""
        rest = Scan(self._name, self._anchors, self._parsers, (), None, self._keeps)
        rest._window, rest._owners = self._window, self._owners
        rest._consumed = list(self._consumed)
        rest._closed, rest._closer = self._closed, self._closer
        self._window.end_here(True)
        rest._parse_all(self._pending, self._lines, self._window.size)
        self._window.end_here(False)
        events = [
            event
            for scan in (self, rest)
            for kept in scan._kept.values()
            for event in kept.made(self._name)
        ]
        events.sort(key=lambda event: event.place.offset)
        size = self._window.base + self._window.size
        return Scanned(tuple(events), size, dict(self._records), tuple(self._problems))

    def take(self, block: _Block) -> None:
        """Parse the next bytes of the source, with what was found in them."""
        window = self._window
        size = len(block.data)
        window.room(size)[:] = block.data
        window.grow(size, block.is_last)
        window.know_line(window.size, block.line)
        self._work(block.found, block.lines)
        window.know_line(window.size, block.line)
        self._drop()

    def _searched(self, before: int, count: int, is_last: bool) -> None:
        window = self._window
        begin = max(0, before - self._anchors.longest + 1)
        window.grow(count, is_last)
        with memoryview(window.buffer)[begin : window.size] as view:
            found = self._anchors.find(view, before - begin)
        moved = window.base + begin << SHIFT
        self._work([one + moved for one in found], [0] * len(found))
        self._drop()

    def _work(self, found: list[Found], lines: list[int]) -> None:
        """Parse what was found, as far as the window holds whole records."""
        if self._pending:
            pairs = sorted(zip(self._pending + found, self._lines + lines, strict=True))
            found, lines = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        window = self._window
        done = 0
        if window.final or window.base + window.size >= self._again_at:
            done = self._parse_all(found, lines, self._open_from())
        self._pending, self._lines = found[done:], lines[done:]

    def _open_from(self) -> int:
        """The position from which on a literal may still begin that is not found yet."""
        window = self._window
        return window.size if window.final else window.size - self._anchors.longest + 1

    def _parse_all(self, found: list[Found], lines: list[int], left: int) -> int:
        """Parse the hits before `left` in the window; gives how many are done with."""
        window, base = self._window, self._window.base
        consumed, meanings = self._consumed, self._anchors.meanings
        for number, hit in enumerate(found):
            start = (hit >> SHIFT) - base
            if start >= left:
                return number
            length, parser = meanings[hit & MEANING]
            if start < consumed[parser]:
                continue
            if start < self._closed[1] and self._is_hidden(start, parser):
                continue
            if self._misses and self._is_hopeless(start, parser):
                continue
            end = start + length
            if lines[number]:
                window.know_line(start, lines[number])
            try:
                self._parse(Hit(window, start, end), parser)
            except IncompleteError:
                carried = window.size - start
                if carried < self._limits[parser]:
                    further = min(2 * carried, self._limits[parser])
                    self._again_at = base + start + further
                    return number
                self._cut(start, end, parser)
        return len(found)

    def _is_hidden(self, start: int, parser: int) -> bool:
        return start >= self._closed[0] and self._parsers[parser] is not self._closer

    def _is_hopeless(self, start: int, parser: int) -> bool:
        """Whether so many hits of this line led nowhere that the rest of it is passed over."""
        if self._window.buffer.find(b"\n", max(0, self._tried_to), start) >= 0:
            self._misses.clear()
        self._tried_to = start
        misses = self._misses.get(parser, 0)
        if misses < _MAX_MISSES:
            return False
        if misses == _MAX_MISSES:
            self._misses[parser] = misses + 1
            line = self._window.line_number(start)
            name = self._parsers[parser].NAME
            self.trouble(line, f"a line of words of {name} that lead nowhere was passed over")
        return True

    def _drop(self) -> None:
        """Forget what was parsed, but for some to look back at, unless that is little."""
        window = self._window
        done = self._open_from()
        if self._pending:
            done = min(done, (self._pending[0] >> SHIFT) - window.base)
        by = done - LOOK_BEHIND
        if window.final or by <= 0 or 2 * by < window.size:
            return
        window.drop(by)
        self._closed = (self._closed[0] - by, self._closed[1] - by)
        self._tried_to -= by
        self._consumed = [position - by for position in self._consumed]

    def trouble(self, line: int | None, what: str) -> None:
        """Note something that was not understood."""
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(Trouble(line, what))
        else:
            self._not_listed += 1

    def result(self, broke_off: str | None = None) -> Scanned:
        """Everything that was found; a source that broke off says why."""
        if broke_off:
            self.trouble(self._window.line_number(self._window.size), broke_off)
        for kind, kept in self._kept.items():
            if kept.passed_over:
                tag = tag_of(kind)
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
        for owner in self._owners[index]:
            if (end := owner.owns(hit)) is not None:
                self._closed, self._closer = (hit.start, max(end, hit.end)), owner
                self._miss(hit.start, index)
                return
        parsed = parser.parse(hit)
        if not parsed:
            self._miss(hit.start, index)
            return
        self._misses.pop(index, None)
        for found in parsed:
            taken = found.end if found.taken is None else found.taken
            self._consumed[index] = max(self._consumed[index], taken)
            if isinstance(found, Malformed):
                self.trouble(self._window.line_number(found.start), found.what)
                continue
            if found.hides is not None and found.hides[1] > self._closed[1]:
                self._closed, self._closer = found.hides, parser
            count = 1 + (found.repeats.number if found.repeats else 0)
            self._records[parser.NAME] = self._records.get(parser.NAME, 0) + count
            self._add(found)

    def _miss(self, start: int, parser: int) -> None:
        if not self._misses:
            self._tried_to = start
        self._misses[parser] = self._misses.get(parser, 0) + 1

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
        if self._kept_text + draft.payload <= MAX_KEPT_TEXT:
            self._kept_text += draft.payload
            return draft
        if self._kept_text < MAX_KEPT_TEXT:
            self._kept_text = MAX_KEPT_TEXT
            what = f"payloads beyond the first {MAX_KEPT_TEXT >> 20} MiB were not kept"
            self.trouble(self._window.line_number(draft.start), what)
        return draft._replace(fields={**draft.read(), "text": ""})

    def _add(self, draft: Draft) -> None:
        window = self._window
        line, offset = window.line_number(draft.start), window.base + draft.start
        if draft.fold is None:
            self._keep(_Once(draft, line, offset, window.base + draft.end))
            return
        key = (draft.kind, draft.prefix.rank, draft.prefix.process, *draft.fold)
        seen = self._folds.get(key)
        if seen is not None and seen.kept:
            seen.again(line, offset, draft)
        else:
            if len(self._folds) >= _OPEN_FOLDS:
                del self._folds[next(iter(self._folds))]
            seen = self._folds[key] = _Seen(draft, line, offset, window.base + draft.end)
            self._keep(seen)
        self._add_repeats(seen, draft)

    def _keep(self, seen: _Once) -> None:
        draft = seen.draft
        if draft.payload:
            seen.draft = self._bounded(draft)
        if self._contexts is not None:
            self._contexts.add(draft, seen.line, self._window)
        kept = self._kept.get(draft.kind)
        if kept is None:
            kept = self._kept[draft.kind] = _Kept(self._keeps)
        kept.add(seen, self._name)

    def _add_repeats(self, seen: _Seen, draft: Draft) -> None:
        if draft.repeats is not None:
            line = self._window.line_number(draft.repeats.last)
            seen.add(draft.repeats, line, self._window.base)

    def _events(self) -> tuple[Event, ...]:
        """What is kept of every kind, in the order of the bytes."""
        found = [event for kept in self._kept.values() for event in kept.events(self._name)]
        found.sort(key=lambda event: event.place.offset)
        return tuple(found)


def _asked_first(parser: Parser, owners: tuple[Owner, ...]) -> tuple[Owner, ...]:
    """The owners that may hide a record from a parser: of an owner those before it."""
    before = takewhile(lambda owner: owner is not parser, owners)
    return tuple(before)


class _Kept:
    """What is kept of one type of event: the first half, and of the rest the last.

    Each type has its own share, so that a flood of marks pushes no failure out.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._rest_holds = max(1, most - most // 2)
        self._first: list[Event | _Once] = []
        self._rest: deque[_Once] = deque()
        self.passed_over = 0

    def add(self, seen: _Once, source: str) -> None:
        """Hold a record, or what it pushes out in the middle is passed over."""
        if len(self._first) < self._half:
            self._first.append(seen if isinstance(seen, _Seen) else seen.event(source))
            return
        self._rest.append(seen)
        if len(self._rest) > self._rest_holds:
            gone = self._rest.popleft()
            if isinstance(gone, _Seen):
                gone.kept = False
            self.passed_over += 1

    def made(self, source: str) -> Iterator[Event]:
        """The events as of now."""
        for one in (*self._first, *self._rest):
            yield one if isinstance(one, Event) else one.event(source)

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

    def update(self, found: Mapping[int, Context]) -> None:
        """Take in what another process kept."""
        self._found.update(found)

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


class _Once:
    """A record that stands for itself, as an event in the making."""

    __slots__ = ("draft", "end", "line", "offset")

    def __init__(self, draft: Draft, line: int, offset: int, end: int) -> None:
        self.draft = draft
        self.line = line
        self.offset = offset
        self.end = end

    def event(self, source: str) -> Event:
        draft = self.draft
        rank, process, time = draft.prefix
        return draft.kind(
            **draft.read(),
            place=_place(source, self.line, self.offset, draft.text),
            end=self.end,
            rank=rank,
            process=process,
            time=time,
        )


class _Seen(_Once):
    """A record with what equal ones added."""

    __slots__ = ("count", "kept", "last", "members", "repeats")

    def __init__(self, draft: Draft, line: int, offset: int, end: int) -> None:
        super().__init__(draft, line, offset, end)
        self.count = 1
        self.kept = True
        self.repeats: list[int] = []
        self.last: tuple[int, int, bytes] | None = None
        self.members = {draft.member} if draft.member is not None else None

    def again(self, line: int, offset: int, draft: Draft) -> None:
        self.count += 1
        self.last = (line, offset, draft.text)
        if len(self.repeats) < MAX_REPEATS:
            self.repeats.append(offset)
        if self.members is not None and len(self.members) < MAX_MEMBERS:
            self.members.add(draft.member)

    def add(self, more: Repeats, line: int, base: int) -> None:
        """Take in what follows a draft; `line` is that of the last, `base` the window's offset."""
        self.count += more.number
        self.last = (line, base + more.last, more.text)
        starts = more.starts[: MAX_REPEATS - len(self.repeats)]
        self.repeats += [base + start for start in starts]
        if self.members is not None:
            self.members.update(islice(more.members, MAX_MEMBERS - len(self.members)))

    def event(self, source: str) -> Event:
        return msgspec.structs.replace(
            super().event(source),
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
