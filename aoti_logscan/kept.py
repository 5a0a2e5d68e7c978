"""Records on their way to events: what is folded, and what of a flood is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

import msgspec

from aoti_logscan.events import Event, Place
from aoti_logscan.records import MAX_REPEATS, Draft, Repeats

#: characters of a record's own text that are kept
MAX_TEXT = 2_000
#: members (blocks of an assertion) told apart in one folded event
MAX_MEMBERS = 100_000


class Kept:
    """What is kept of one type of event: the first half, and of the rest the last.

    Each type has its own share, so that a flood of marks pushes no failure out.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._rest_holds = max(1, most - most // 2)
        self._first: list[Event | Once] = []
        self._rest: deque[Once] = deque()
        self.passed_over = 0

    def add(self, seen: Once, source: str) -> None:
        """Hold a record, or what it pushes out in the middle is passed over."""
        if len(self._first) < self._half:
            self._first.append(seen if isinstance(seen, Seen) else seen.event(source))
            return
        self._rest.append(seen)
        if len(self._rest) > self._rest_holds:
            gone = self._rest.popleft()
            if isinstance(gone, Seen):
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


class Once:
    """A record that stands for itself, as an event in the making."""

    __slots__ = ("draft", "end", "line", "offset")

    def __init__(self, draft: Draft, line: int, offset: int, end: int) -> None:
        self.draft = draft
        self.line = line
        self.offset = offset
        self.end = end

    def event(self, source: str) -> Event:
        """The event, of the source of this name."""
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


class Seen(Once):
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
        """Take in an equal record."""
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
        """The event of all of them."""
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
