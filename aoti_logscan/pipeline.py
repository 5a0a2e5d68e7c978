"""Paths to report: the only module that knows the order of the stages."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from aoti_logscan import __version__, advice, bounds
from aoti_logscan.artifacts.library import Library, stems_in
from aoti_logscan.artifacts.package import Package
from aoti_logscan.artifacts.provenance import (
    Provenance,
    read_graph,
    read_node_mappings,
    read_stack_traces,
)
from aoti_logscan.artifacts.saved_tensor import Tensors, read_tensors
from aoti_logscan.artifacts.wrapper_code import read_wrapper
from aoti_logscan.catalogue import Catalogue, catalogue
from aoti_logscan.contexts import Contexts
from aoti_logscan.errors import UnreadablePathError
from aoti_logscan.events import (
    Compile,
    CppStack,
    Event,
    GeneratedCode,
    LaunchMark,
    ModelInput,
    PrinterCut,
    PythonException,
    TorchVersion,
    TraceArtifact,
    tag_of,
)
from aoti_logscan.kernel_origin import buffer_uses, kernel_report, launch_reports
from aoti_logscan.last_kernel import last_kernel
from aoti_logscan.launches import bad_values, launches
from aoti_logscan.next_steps import Scene, next_steps, open_question
from aoti_logscan.parsers import OWNERS, PARSERS
from aoti_logscan.parsers.raw_line import RawLines
from aoti_logscan.pattern import folder_of_patterns
from aoti_logscan.readings import (
    NOTHING_KEPT,
    Keeping,
    Reading,
    Watch,
    read_all,
    read_source,
    saved_tensors,
)
from aoti_logscan.report import (
    SCHEMA_VERSION,
    BufferUse,
    CompileRecord,
    Dossier,
    Finding,
    Kernel,
    KernelReport,
    LaunchReport,
    Lineage,
    Problem,
    Report,
    SourceReport,
    Tool,
)
from aoti_logscan.report_size import limited
from aoti_logscan.router import Routed, Router
from aoti_logscan.saved_marks import as_marks
from aoti_logscan.scan import Scanned, Scanner
from aoti_logscan.signature import signature
from aoti_logscan.sources import Artifact, Named, SavedFile, Source, Unread, find
from aoti_logscan.streams import Raw, text_stream
from aoti_logscan.timeline import Situation, rank_in_name, situations
from aoti_logscan.trace_copies import TraceCopies

#: findings in a report
MAX_FINDINGS = 500

_NO_TENSORS = Tensors({}, ())


class Evidence(NamedTuple):
    """All that was read: by source, in the order of the run, and the artifacts at hand.

    `told` are the events as they were read; in `situations` saved tensors are marks of launches.
    """

    readings: tuple[Reading, ...]
    told: tuple[Situation, ...]
    situations: tuple[Situation, ...]
    library: Library

    @property
    def events(self) -> list[Event]:
        """The events in the order of the run."""
        return [situation.event for situation in self.situations]


def read(
    paths: Sequence[str | Path],
    *,
    packages: Sequence[str | Path] = (),
    rank: int | None = None,
    anchors: tuple[str, ...] = (),
    keeping: Keeping = NOTHING_KEPT,
    watch: Watch | None = None,
) -> Evidence:
    """Read everything that the paths name; `-` is standard input.

    `anchors` are the literals of raw lines that patterns ask for. With `rank`, events that are
    known to be of another rank are left out. `keeping` is what is wanted beside events; `watch` is
    told how far the work is. Raises `UnreadablePathError` for a path that does not exist, or where
    nothing of what was named could be opened. Malformed input is never an error: it is among the
    readings' problems.
    """
    saved: list[SavedFile] = []
    named = _without_tensors(find([str(path) for path in [*paths, *packages]]), saved)
    found = read_all(_scanner(anchors), named, keeping, watch)
    if watch and saved:
        watch.stage("reading saved tensors")
    tensors = read_tensors([one.path for one in saved])
    readings = (*found, *saved_tensors(saved, tensors))
    if not any(reading.opened for reading in readings):
        raise UnreadablePathError(_nothing_opened(readings))
    if watch:
        watch.stage("looking for the cause")
    return _evidence(readings, rank, tensors)


def _without_tensors(
    named: Iterable[Named], saved: list[SavedFile]
) -> Iterator[Source | Artifact | Unread]:
    """What was named but for saved tensors, which are put aside."""
    for one in named:
        if isinstance(one, SavedFile):
            saved.append(one)
        else:
            yield one


def _evidence(
    readings: tuple[Reading, ...], rank: int | None, tensors: Tensors = _NO_TENSORS
) -> Evidence:
    around = situations([(reading.name, reading.scanned.events) for reading in readings])
    if rank is not None:
        around = [one for one in around if one.rank is None or one.rank == rank]
    events = [one.event for one in around]
    packages = [*_packages(readings), *_logged_code(events)]
    library = Library(packages, _logged_provenance(events), stems_in(_said(events)))
    return Evidence(
        readings, tuple(around), tuple(as_marks(around, tensors.values, library)), library
    )


def analyze(
    paths: Sequence[str | Path],
    *,
    patterns: Sequence[str | Path] = (),
    packages: Sequence[str | Path] = (),
    rank: int | None = None,
    watch: Watch | None = None,
) -> Report:
    """The report on everything that the paths name, as `read` reads it.

    `patterns` are folders of pattern files that add to the built-in ones or, with the same name,
    replace them; a broken file is a problem in the report.
    """
    in_use = catalogue(patterns)
    anchors = in_use.anchors
    found = read(paths, packages=packages, rank=rank, anchors=anchors, watch=watch)
    return _report(found, in_use)


class Investigation(NamedTuple):
    """A report with what is shown beside it; `events` are in the order of the run."""

    dossier: Dossier
    events: list[Event]


def investigate(
    paths: Sequence[str | Path],
    *,
    patterns: Sequence[str | Path] = (),
    packages: Sequence[str | Path] = (),
    rank: int | None = None,
    traces: TraceCopies | None = None,
    watch: Watch | None = None,
) -> Investigation:
    """The report as of `analyze`, with all that pages and attachments show; `traces` are kept."""
    from aoti_logscan.dossier import dossier

    in_use = catalogue(patterns)
    kept: dict[str, Contexts] = {}
    keeping, anchors = Keeping(kept, traces), in_use.anchors
    found = read(paths, packages=packages, rank=rank, anchors=anchors, keeping=keeping, watch=watch)
    listed = launch_reports(launches(found.situations), found.library)
    contexts = {name: around.found for name, around in kept.items()}
    shown = dossier(_report(found, in_use), listed, found.library, contexts)
    return Investigation(shown, _ranked(found.told))


def tells_a_failure(scanned: Scanned, in_use: Catalogue, rank: int | None = None) -> bool:
    """Whether the report on one scanned source would have found a failure."""
    evidence = _evidence((Reading("", scanned),), rank)
    return _report(evidence, in_use).verdict.failure_class != "none"


def scanner(in_use: Catalogue) -> Scanner:
    """What scans sources for these patterns."""
    return _scanner(in_use.anchors)


def analyze_text(text: bytes, in_use: Catalogue) -> tuple[Report, Evidence]:
    """The report on a log that is at hand as bytes, and what it rests on."""
    source = Source("<text>", lambda: text_stream(cast(Raw, io.BytesIO(text))))
    evidence = _evidence((read_source(_scanner(in_use.anchors), source),), None)
    return _report(evidence, in_use), evidence


def events(
    paths: Sequence[str | Path],
    *,
    patterns: Sequence[str | Path] = (),
    packages: Sequence[str | Path] = (),
    rank: int | None = None,
    watch: Watch | None = None,
) -> list[Event]:
    """Every event in the order of the run, with the rank that its surroundings tell."""
    anchors = catalogue(patterns).anchors
    found = read(paths, packages=packages, rank=rank, anchors=anchors, watch=watch)
    return _ranked(found.told)


def _ranked(told: Iterable[Situation]) -> list[Event]:
    return [msgspec.structs.replace(one.event, rank=one.rank) for one in told]


def kernels(
    paths: Sequence[str | Path],
    *,
    packages: Sequence[str | Path] = (),
    rank: int | None = None,
    watch: Watch | None = None,
) -> tuple[LaunchReport, ...]:
    """The launches that the printer marked, in order; without any, the calls in the code."""
    evidence = read(paths, packages=packages, rank=rank, watch=watch)
    return tuple(launch_reports(launches(evidence.situations), evidence.library))


def kernel(
    name: str,
    paths: Sequence[str | Path],
    *,
    packages: Sequence[str | Path] = (),
    rank: int | None = None,
    watch: Watch | None = None,
) -> KernelReport | None:
    """One kernel whole: code, calls, what it reads, printed values; None where it is not known."""
    evidence = read(paths, packages=packages, rank=rank, watch=watch)
    return kernel_report(name, launches(evidence.situations), evidence.library)


def buffer(
    name: str,
    paths: Sequence[str | Path],
    *,
    packages: Sequence[str | Path] = (),
    watch: Watch | None = None,
) -> tuple[BufferUse, ...]:
    """The calls that read or write a buffer, in order, through renames."""
    return tuple(buffer_uses(name, read(paths, packages=packages, watch=watch).library))


@cache
def _scanner(anchors: tuple[str, ...]) -> Scanner:
    lines = (RawLines(anchors),) if anchors else ()
    return Scanner((*PARSERS, *lines), OWNERS)


#: readers of the artifacts of a trace that tell where kernels come from
_TRACED_PROVENANCE = {
    "inductor_provenance_tracking_kernel_stack_traces": read_stack_traces,
    "inductor_provenance_tracking_node_mappings": read_node_mappings,
    "before_pre_grad_graph": read_graph,
    "inductor_post_grad_graph": read_graph,
    "after_post_grad_graph": read_graph,
}


def _logged_provenance(events: Iterable[Event]) -> Provenance:
    """What the traces tell of where kernels come from; an artifact cut short tells nothing."""
    found = []
    artifacts = ((one.name, one.text) for one in events if isinstance(one, TraceArtifact))
    for name, text in dict.fromkeys(artifacts):
        if name in _TRACED_PROVENANCE:
            with contextlib.suppress(ValueError):
                found.append(_TRACED_PROVENANCE[name](text))
    return Provenance.merged(found)


#: code, which only names itself, and marks, which name kernels
_NAMES_NO_FILE = (GeneratedCode, TraceArtifact, LaunchMark, ModelInput, PrinterCut)


def _said(events: Iterable[Event]) -> Iterator[str]:
    """Texts in which a log may name a generated file of its run; code only names itself."""
    for event in events:
        if not isinstance(event, _NAMES_NO_FILE):
            yield event.place.text
            if isinstance(event, CppStack | PythonException):
                yield from (frame.file for frame in event.frames if frame.file)


def _nothing_opened(readings: Sequence[Reading]) -> str:
    if not readings:
        return "nothing to read: what was named holds no files"
    first = readings[0]
    return f"nothing could be opened: {first.name}: {first.scanned.problems[0].what}"


def _report(evidence: Evidence, in_use: Catalogue) -> Report:
    library, events = evidence.library, evidence.events
    states = advice.flags(events, library.generated_with, _records(evidence.readings))
    blocking = advice.launches_block(states)
    around = [*evidence.situations, *bad_values(evidence.situations)]
    tags = {tag_of(kind) for kind in {type(one.event) for one in around}}
    router = Router(in_use.of_events(tags), library, blocking, in_use.ours)
    routed = router.route(around)
    kernel = last_kernel(
        evidence.situations,
        routed,
        library,
        blocking=blocking,
        inferred=advice.blocking_is_inferred(states, events),
    )
    followed = _lineage(routed, library)
    code = library.generated_with
    scene = Scene(routed.verdict, routed.advisers, states, kernel, followed, events, code)
    steps = next_steps(scene)
    report = Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("aoti-logscan", __version__),
        signature=_signature(routed, kernel),
        verdict=open_question(routed.verdict, steps),
        findings=_asked(routed, followed)[:MAX_FINDINGS],
        last_kernel=kernel,
        lineage=followed,
        flags=states,
        next_steps=steps,
        compiles=tuple(_compiles(evidence.situations)),
        sources=(
            *_sources(evidence.readings, len(routed.findings) - MAX_FINDINGS),
            *_pattern_problems(in_use, router.overruns()),
        ),
    )
    return limited(report)


def _records(readings: Iterable[Reading]) -> dict[str, int]:
    """How many records of each kind were read."""
    found: dict[str, int] = {}
    for reading in readings:
        for kind, count in reading.scanned.records.items():
            found[kind] = found.get(kind, 0) + count
    return found


def _asked(routed: Routed, followed: Lineage | None) -> tuple[Finding, ...]:
    """The findings, the cause with a question about a bound that the code does not resolve."""
    at = routed.verdict.finding
    if at is None or (followed and followed.bound and followed.bound.input):
        return routed.findings
    cause = routed.findings[at]
    question = bounds.asked(cause.facts.get("upper"))
    told = " ".join(filter(None, (cause.explain, question)))
    asked = msgspec.structs.replace(cause, explain=told)
    return (*routed.findings[:at], asked, *routed.findings[at + 1 :])


#: classes whose failed check can be followed back to the inputs
_INDEX_CHECKS = ("triton-index-out-of-bounds", "cpu-index-out-of-bounds")


def _lineage(routed: Routed, library: Library) -> Lineage | None:
    if routed.verdict.failure_class not in _INDEX_CHECKS:
        return None
    from aoti_logscan.lineage import Check, lineage

    check = Check.of(routed.findings[0].facts)
    return lineage(check, library) if check else None


def _packages(readings: Sequence[Reading]) -> Iterator[Package]:
    return (reading.package for reading in readings if reading.package)


def _logged_code(events: Iterable[Event]) -> Iterator[Package]:
    """The generated code that stands in traces and logs, as packages of one source."""
    for event in events:
        if isinstance(event, GeneratedCode) and event.part != "header" and event.text:
            name = event.file or f"{event.part}.{'cpp' if event.language == 'cpp' else 'py'}"
            yield Package(name, None, None, (read_wrapper(name, event.text),), ())


def _signature(routed: Routed, kernel: Kernel | None) -> str | None:
    if routed.verdict.finding is None:
        return None
    return signature(routed.findings[routed.verdict.finding], routed.cause, kernel)


def _compiles(around: Iterable[Situation]) -> Iterator[CompileRecord]:
    for situation in around:
        event = situation.event
        if isinstance(event, Compile):
            yield CompileRecord(
                id=event.compile_id,
                rank=situation.rank,
                ok=event.fail_type is None,
                fail_type=event.fail_type,
                fail_reason=event.fail_reason,
            )


def _sources(readings: Sequence[Reading], not_listed: int) -> tuple[SourceReport, ...]:
    sources = [_source(reading) for reading in readings]
    if not_listed > 0:
        told = Problem(None, f"{not_listed} further findings are not listed")
        sources[0] = msgspec.structs.replace(sources[0], problems=(*sources[0].problems, told))
    return tuple(sources)


def _pattern_problems(
    in_use: Catalogue, overruns: Iterable[tuple[str, str]]
) -> Iterator[SourceReport]:
    """Pattern files that are broken or took too long, listed as what could not be read whole."""
    told: dict[str, list[str]] = {}
    for flaw in in_use.flaws:
        told.setdefault(flaw.file, []).append(flaw.told)
    for name, what in overruns:
        told.setdefault(str(in_use.files[name]), []).append(what)
    for file, problems in told.items():
        yield SourceReport(
            name=file,
            bytes=0,
            rank=None,
            torch_version=None,
            records={},
            problems=tuple(Problem(None, what) for what in problems),
        )


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
