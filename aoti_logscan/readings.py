"""What was named, read: a scan of each source, each package, each saved tensor by its name.

Files of their own are read in several processes where they are many and large. What they give does
not depend on how many processes there are or which is done first: it is put in the order of names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, cast

import msgspec

from aoti_logscan.artifacts.package import Package, read_artifact
from aoti_logscan.artifacts.saved_tensor import Tensors, size_of
from aoti_logscan.contexts import Context, Contexts
from aoti_logscan.events import AnyEvent
from aoti_logscan.forked import answers, cores
from aoti_logscan.scan import MAX_EVENTS, Scanned, Scanner, Trouble
from aoti_logscan.sources import Artifact, SavedFile, Source, Unread
from aoti_logscan.streams import BROKEN, reason
from aoti_logscan.trace_copies import TraceCopies

#: bytes of files from which on they are read in several processes
_SHARED_FROM = 8 << 20
#: events of one type kept of all sources together; each has its share, but at least so many
MAX_ALL_EVENTS = 4 * MAX_EVENTS
_LEAST_SHARE = 1_000

_NOTHING = Scanned((), 0, {}, ())


class Reading(NamedTuple):
    """What one named thing gave: events and problems of a source, or a package."""

    name: str
    scanned: Scanned
    package: Package | None = None
    opened: bool = True


class Keeping(NamedTuple):
    """What is kept while sources are read, beside their events.

    `contexts` are the lines around records by source, `traces` copies of TORCH_TRACE files.
    """

    contexts: dict[str, Contexts] | None = None
    traces: TraceCopies | None = None

    def contexts_of(self, source: str) -> Contexts | None:
        """Where the lines around the records of a source go."""
        return None if self.contexts is None else self.contexts.setdefault(source, Contexts())


NOTHING_KEPT = Keeping()


class Watch(Protocol):
    """Whoever is told how far the work is, such as a progress bar."""

    def source(self, name: str) -> Callable[[int], None]:
        """Something is read from now on; gives what is told its bytes so far."""

    def stage(self, doing: str) -> None:
        """All is read, and this is done from now on."""


def read_all(
    scanner: Scanner,
    named: Iterable[Source | Artifact | Unread],
    keeping: Keeping,
    watch: Watch | None,
) -> list[Reading]:
    """A reading of each thing that was named, in the order of the names.

    What has to be read at once is read first, files of their own after all of it.
    """
    found: list[Reading | Source] = []
    left = MAX_ALL_EVENTS
    for one in named:
        if isinstance(one, Source) and one.size is not None:
            found.append(one)
            continue
        reading = _read(scanner, one, keeping, watch, max(_LEAST_SHARE, min(left, MAX_EVENTS)))
        left -= len(reading.scanned.events)
        found.append(reading)
    files = [one for one in found if isinstance(one, Source)]
    read = iter(_files(scanner, files, keeping, watch))
    return [next(read) if isinstance(one, Source) else one for one in found]


def _files(
    scanner: Scanner, files: Sequence[Source], keeping: Keeping, watch: Watch | None
) -> Iterator[Reading]:
    share = max(_LEAST_SHARE, min(MAX_EVENTS, MAX_ALL_EVENTS // max(1, len(files))))
    read: dict[int, Reading] = {}
    if keeping.traces is None and _are_to_share([one.size or 0 for one in files]):
        read = _shared(scanner, files, keeping, watch, share)
    for number, one in enumerate(files):
        yield read[number] if number in read else _read(scanner, one, keeping, watch, share)


def _are_to_share(sizes: Sequence[int]) -> bool:
    """Whether a process for each file is faster than one and another that searches ahead."""
    return cores() > 1 and sum(sizes) >= _SHARED_FROM and 2 * max(sizes) <= sum(sizes)


class _Answer(msgspec.Struct, array_like=True):
    """A reading as it is sent from one process to another."""

    events: tuple[AnyEvent, ...]
    size: int
    records: dict[str, int]
    problems: tuple[Trouble, ...]
    opened: bool
    contexts: dict[int, Context] | None


def _shared(
    scanner: Scanner, files: Sequence[Source], keeping: Keeping, watch: Watch | None, share: int
) -> dict[int, Reading]:
    """Readings of the files, by their numbers, from processes that take the largest first.

    One that ended its process is not among them.
    """
    largest_first = sorted(range(len(files)), key=lambda number: -(files[number].size or 0))

    def work(at: int) -> bytes:
        return _encoded(scanner, files[largest_first[at]], share, keeping.contexts is not None)

    decode = msgspec.msgpack.Decoder(_Answer).decode
    read: dict[int, Reading] = {}
    for at, data in answers(work, len(files), cores()):
        number = largest_first[at]
        name = files[number].name
        answer = decode(data)
        if watch:
            watch.source(name)(answer.size)
        if keeping.contexts is not None and answer.contexts is not None:
            keeping.contexts.setdefault(name, Contexts()).update(answer.contexts)
        scanned = Scanned(answer.events, answer.size, answer.records, answer.problems)
        read[number] = Reading(name, scanned, opened=answer.opened)
    return read


def _encoded(scanner: Scanner, source: Source, share: int, with_contexts: bool) -> bytes:
    keeping = Keeping({} if with_contexts else None)
    reading = _scan(scanner, source, keeping, None, share, ahead=False)
    scanned = reading.scanned
    around = keeping.contexts_of(source.name)
    contexts = dict(around.found) if around is not None else None
    events = cast(tuple[AnyEvent, ...], scanned.events)
    told = (scanned.size, scanned.records, scanned.problems, reading.opened, contexts)
    return msgspec.msgpack.encode(_Answer(events, *told))


def _read(
    scanner: Scanner,
    named: Source | Artifact | Unread,
    keeping: Keeping,
    watch: Watch | None,
    share: int,
) -> Reading:
    progress = watch.source(named.name) if watch else None
    if isinstance(named, Unread):
        return Reading(named.name, troubled(named.why), opened=named.opened)
    if isinstance(named, Artifact):
        return _open(named)
    return _scan(scanner, named, keeping, progress, share, ahead=cores() > 1)


def saved_tensors(saved: Sequence[SavedFile], tensors: Tensors) -> Iterator[Reading]:
    """All saved tensors as one reading, named after the folder of the first."""
    if not saved:
        return
    size = sum(size_of(one.path) or 0 for one in saved)
    troubles = tuple(Trouble(None, what) for what in tensors.problems)
    records = {"saved_tensor": len(tensors.values)}
    name = f"{os.path.dirname(saved[0].name) or '.'}/*.pt"
    yield Reading(name, Scanned((), size, records, troubles))


def read_source(scanner: Scanner, source: Source) -> Reading:
    """The reading of one source, by this process alone."""
    return _scan(scanner, source, NOTHING_KEPT, None, MAX_EVENTS, ahead=False)


def _open(artifact: Artifact) -> Reading:
    try:
        data = artifact.read()
        package = read_artifact(artifact.name, data)
    except BROKEN as error:
        return Reading(artifact.name, troubled(reason(error)))
    troubles = tuple(Trouble(None, what) for what in package.problems)
    return Reading(artifact.name, _NOTHING._replace(size=len(data), problems=troubles), package)


def _scan(
    scanner: Scanner,
    source: Source,
    keeping: Keeping,
    progress: Callable[[int], None] | None,
    share: int,
    *,
    ahead: bool,
) -> Reading:
    try:
        stream = source.open()
    except OSError as error:
        return Reading(source.name, troubled(reason(error)), opened=False)
    copy = keeping.traces.copying(stream) if keeping.traces else stream
    contexts = keeping.contexts_of(source.name)
    try:
        scanned = scanner.scan(
            source.name, copy, contexts=contexts, progress=progress, ahead=ahead, share=share
        )
    finally:
        stream.close()
    if keeping.traces:
        keeping.traces.done(source.name, is_trace="torch_trace" in scanned.records)
    if source.note:
        noted = (Trouble(None, source.note), *scanned.problems)
        scanned = scanned._replace(problems=noted)
    return Reading(source.name, scanned)


def troubled(what: str) -> Scanned:
    """What a source gives that could not be read at all."""
    return _NOTHING._replace(problems=(Trouble(None, what),))
