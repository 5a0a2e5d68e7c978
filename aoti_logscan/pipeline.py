"""Paths to report: the only module that knows the order of the stages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from aoti_logscan import __version__, advice
from aoti_logscan.artifacts.library import Library
from aoti_logscan.artifacts.package import Package, read_artifact
from aoti_logscan.errors import UnreadablePathError
from aoti_logscan.events import Compile, Event, TorchVersion
from aoti_logscan.last_kernel import last_kernel
from aoti_logscan.parsers import OWNERS, PARSERS
from aoti_logscan.pattern import Next, Pattern, folder_of_patterns, read_patterns
from aoti_logscan.report import (
    SCHEMA_VERSION,
    CompileRecord,
    Finding,
    Flag,
    NextStep,
    Problem,
    Report,
    SourceReport,
    Tool,
)
from aoti_logscan.router import Routed, Router, fill
from aoti_logscan.scan import Scanned, Scanner, Trouble
from aoti_logscan.sources import Artifact, Named, Source, Unread, find
from aoti_logscan.streams import BROKEN, reason
from aoti_logscan.timeline import rank_in_name, situations

#: findings in a report
MAX_FINDINGS = 500

_NOTHING = Scanned((), 0, {}, ())


class Reading(NamedTuple):
    """What one named thing gave: events and problems of a source, or a package."""

    name: str
    scanned: Scanned
    package: Package | None = None
    opened: bool = True


def analyze(
    paths: Sequence[str | Path],
    *,
    patterns: Sequence[Pattern] | None = None,
    packages: Sequence[str | Path] = (),
) -> Report:
    """The report on everything that the paths name; `-` is standard input.

    Raises `UnreadablePathError` for a path that does not exist, or where nothing of what was named
    could be opened. Malformed input is never an error: it is listed in `sources[].problems`.
    """
    named = find([str(path) for path in [*paths, *packages]])
    scanner = _scanner()
    readings = [_read(scanner, one) for one in named]
    if not any(reading.opened for reading in readings):
        raise UnreadablePathError(_nothing_opened(readings))
    return _report(readings, built_in_patterns() if patterns is None else patterns)


@cache
def _scanner() -> Scanner:
    return Scanner(PARSERS, OWNERS)


@cache
def built_in_patterns() -> tuple[Pattern, ...]:
    """The patterns that come with the package."""
    return read_patterns(folder_of_patterns())


def _nothing_opened(readings: Sequence[Reading]) -> str:
    if not readings:
        return "nothing to read: what was named holds no files"
    first = readings[0]
    return f"nothing could be opened: {first.name}: {first.scanned.problems[0].what}"


def _read(scanner: Scanner, named: Named) -> Reading:
    if isinstance(named, Unread):
        return Reading(named.name, _troubled(named.why), opened=named.opened)
    if isinstance(named, Artifact):
        return _open(named)
    return _scan(scanner, named)


def _open(artifact: Artifact) -> Reading:
    try:
        package = read_artifact(artifact.name, artifact.read())
    except BROKEN as error:
        return Reading(artifact.name, _troubled(reason(error)))
    troubles = tuple(Trouble(None, what) for what in package.problems)
    return Reading(artifact.name, _NOTHING._replace(problems=troubles), package)


def _scan(scanner: Scanner, source: Source) -> Reading:
    try:
        stream = source.open()
    except OSError as error:
        return Reading(source.name, _troubled(reason(error)), opened=False)
    try:
        scanned = scanner.scan(source.name, stream)
    finally:
        stream.close()
    if source.note:
        noted = (Trouble(None, source.note), *scanned.problems)
        scanned = scanned._replace(problems=noted)
    return Reading(source.name, scanned)


def _troubled(what: str) -> Scanned:
    return _NOTHING._replace(problems=(Trouble(None, what),))


def _report(readings: Sequence[Reading], patterns: Sequence[Pattern]) -> Report:
    library = Library([reading.package for reading in readings if reading.package])
    events = [event for reading in readings for event in reading.scanned.events]
    states = advice.flags(events)
    blocking = advice.launches_block(states)
    router = Router(patterns, library, blocking)
    around = situations([(reading.name, reading.scanned.events) for reading in readings])
    routed = router.route(around)
    return Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("aoti-logscan", __version__),
        signature=_signature(routed),
        verdict=routed.verdict,
        findings=routed.findings[:MAX_FINDINGS],
        last_kernel=last_kernel(around, routed, library, blocking),
        lineage=None,
        flags=states,
        next_steps=_next_steps(routed, states),
        compiles=tuple(_compiles(events)),
        sources=_sources(readings, len(routed.findings) - MAX_FINDINGS),
    )


def _signature(routed: Routed) -> str | None:
    """A short hash of what failed, without what differs from run to run."""
    if routed.verdict.finding is None:
        return None
    cause = routed.findings[routed.verdict.finding]
    kept = [cause.failure_class, *(str(cause.facts.get(name)) for name in _STABLE_FACTS)]
    digest = hashlib.sha256("\0".join(kept).encode()).hexdigest()
    return f"{digest[:4]}-{digest[4:8]}"


_STABLE_FACTS = ("kernel", "index", "property", "dim", "runtime", "stage", "condition", "function")


def _next_steps(routed: Routed, states: Sequence[Flag]) -> tuple[NextStep, ...]:
    """The steps that fit the facts and set no flag that is on, each once."""
    on = {flag.name for flag in states if flag.state == "on"}
    steps = {
        step.title: _step(step, finding)
        for pattern, finding in routed.advisers
        for step in pattern.next
        if step.flag not in on and _fits(step, finding)
    }
    return tuple(steps.values())


def _fits(step: Next, finding: Finding) -> bool:
    wanted = all(finding.facts.get(name) == value for name, value in step.when.items())
    return wanted and (step.unless is None or finding.facts.get(step.unless) is None)


def _step(step: Next, finding: Finding) -> NextStep:
    return NextStep(
        title=fill(step.title, finding.facts),
        command=fill(step.command, finding.facts) if step.command else None,
        takes_effect="compile" if step.takes_effect == "compile" else "run",
        why=fill(step.why, finding.facts),
    )


def _compiles(events: Sequence[Event]) -> list[CompileRecord]:
    return [
        CompileRecord(
            id=event.compile_id,
            rank=event.rank,
            ok=event.fail_type is None,
            fail_type=event.fail_type,
            fail_reason=event.fail_reason,
        )
        for event in events
        if isinstance(event, Compile)
    ]


def _sources(readings: Sequence[Reading], not_listed: int) -> tuple[SourceReport, ...]:
    sources = [_source(reading) for reading in readings]
    if not_listed > 0:
        told = Problem(None, f"{not_listed} further findings are not listed")
        sources[0] = msgspec.structs.replace(sources[0], problems=(*sources[0].problems, told))
    return tuple(sources)


def _source(reading: Reading) -> SourceReport:
    scanned = reading.scanned
    versions = [event.version for event in scanned.events if isinstance(event, TorchVersion)]
    ranks = {event.rank for event in scanned.events if event.rank is not None}
    return SourceReport(
        name=reading.name,
        bytes=scanned.size,
        rank=ranks.pop() if len(ranks) == 1 else rank_in_name(reading.name),
        torch_version=versions[0] if versions else None,
        records=scanned.records,
        problems=tuple(Problem(trouble.line, trouble.what) for trouble in scanned.problems),
    )


def schema(of: str) -> bytes:
    """The JSON Schema of a `report`, an `event` or a `pattern`, as JSON."""
    if of == "pattern":
        return (folder_of_patterns() / "pattern.schema.json").read_bytes()
    from aoti_logscan.events import AnyEvent

    kind = Report if of == "report" else AnyEvent
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(kind)), indent=2)
