"""Bytes to records in one pass, knowing no format.

A source is read once, in windows, and all of it is searched once for the literals of all parsers;
what an anchor found is handed to the parser that owns the anchor, in the order of the bytes. A
record that runs past the window is carried over whole, up to `MAX_RECORD`. Equal records are folded
as they are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import takewhile
from typing import Any, NamedTuple

from aoti_logscan.anchors import MEANING, SHIFT, Anchors, Found
from aoti_logscan.blocks import Block, Counted, Helped, Readable, Tail
from aoti_logscan.contexts import Contexts
from aoti_logscan.events import Event, tag_of
from aoti_logscan.kept import Kept, Once, Seen
from aoti_logscan.lines import MAX_RECORD, Hit, IncompleteError, Window
from aoti_logscan.records import Draft, Malformed, Owner, Parser

#: bytes read at a time
WINDOW = 1 << 20
#: bytes read at first, which are all of most logs
_FIRST = 64 << 10
#: bytes kept before the place where work goes on, for parsers that look back
LOOK_BEHIND = 64 << 10
#: events of one type kept of one source; what is beyond is counted
MAX_EVENTS = 100_000
#: characters of payloads (generated code) that are kept of one source
MAX_KEPT_TEXT = 64 << 20
#: different records that equal ones are folded into at a time
_OPEN_FOLDS = 512
#: hits of one parser in one physical line that may lead nowhere
_MAX_MISSES = 1000
#: problems listed for one source; the rest is counted
_MAX_PROBLEMS = 50


class Trouble(NamedTuple):
    """Something not understood, at a line of the source or (None) in the whole of it."""

    line: int | None
    what: str


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

    def _helped(self, source: Counted, tail: Tail) -> Helped | None:
        """What searches ahead; None where there is no memory for it."""
        try:
            return Helped(source, self._anchors, WINDOW, tail)
        except OSError:
            return None

    def begin(self, name: str, contexts: Contexts | None = None, share: int | None = None) -> Scan:
        """The scan of a source, to be given its bytes as they come."""
        keeps = MAX_EVENTS if share is None else share
        return Scan(name, self._anchors, self._parsers, self._owners, contexts, keeps)


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
        self._folds: dict[tuple[Any, ...], Seen] = {}
        self._kept: dict[type[Event], Kept] = {}
        self._records: dict[str, int] = {}
        self._problems: list[Trouble] = []
        self._not_listed = 0

    @property
    def is_over(self) -> bool:
        """Whether the source's end was read."""
        return self._window.final

    @property
    def tail(self) -> Tail:
        """How far the source was read, and the end of it in which a literal may have begun."""
        window = self._window
        begin = max(0, window.size - self._anchors.longest + 1)
        line = window.line_number(window.size)
        return Tail(window.base + window.size, line, bytes(window.buffer[begin : window.size]))

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
        return Scanned(_of_no_end(events), size, dict(self._records), tuple(self._problems))

    def take(self, block: Block) -> None:
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
        events = self._events()
        return Scanned(
            _of_no_end(events) if broke_off else events,
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
            self._keep(Once(draft, line, offset, window.base + draft.end))
            return
        key = (draft.kind, draft.prefix.rank, draft.prefix.process, *draft.fold)
        seen = self._folds.get(key)
        if seen is not None and seen.kept:
            seen.again(line, offset, draft)
        else:
            if len(self._folds) >= _OPEN_FOLDS:
                del self._folds[next(iter(self._folds))]
            seen = self._folds[key] = Seen(draft, line, offset, window.base + draft.end)
            self._keep(seen)
        self._add_repeats(seen, draft)

    def _keep(self, seen: Once) -> None:
        draft = seen.draft
        if draft.payload:
            seen.draft = self._bounded(draft)
        if self._contexts is not None:
            self._contexts.add(draft, seen.line, self._window)
        kept = self._kept.get(draft.kind)
        if kept is None:
            kept = self._kept[draft.kind] = Kept(self._keeps)
        kept.add(seen, self._name)

    def _add_repeats(self, seen: Seen, draft: Draft) -> None:
        if draft.repeats is not None:
            line = self._window.line_number(draft.repeats.last)
            seen.add(draft.repeats, line, self._window.base)

    def _events(self) -> tuple[Event, ...]:
        """What is kept of every kind, in the order of the bytes."""
        found = [event for kept in self._kept.values() for event in kept.events(self._name)]
        found.sort(key=lambda event: event.place.offset)
        return tuple(found)


def _of_no_end(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events of a source that goes on: where it ends is not known yet."""
    return tuple(event for event in events if not event.rests_on_end)


def _asked_first(parser: Parser, owners: tuple[Owner, ...]) -> tuple[Owner, ...]:
    """The owners that may hide a record from a parser: of an owner those before it."""
    before = takewhile(lambda owner: owner is not parser, owners)
    return tuple(before)
