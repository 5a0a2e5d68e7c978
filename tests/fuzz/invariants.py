"""What holds for every input, whatever its bytes.

Nothing raises; reports and events are what their published schemas say, and come back from JSON as
they went; a place is where a slow reader finds it, who decodes the input line by line; no output
acts on a terminal. `check_log` is for a log at hand as bytes, `check_paths` for files and folders,
`check_artifact` for a package or a file of generated code. They raise `AssertionError` where
something does not hold, and whatever the tool itself raises.
"""

from __future__ import annotations

import io
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

import msgspec
import pytest

from aoti_logscan import pipeline, scan
from aoti_logscan.artifacts.library import Library
from aoti_logscan.artifacts.package import Package, read_artifact
from aoti_logscan.catalogue import catalogue
from aoti_logscan.dossier import dossier
from aoti_logscan.errors import UnreadablePathError
from aoti_logscan.events import AnyEvent, Event, Place
from aoti_logscan.kernel_origin import buffer_uses, kernel_report, launch_reports
from aoti_logscan.launches import launches
from aoti_logscan.lines import clean
from aoti_logscan.parsers import OWNERS, PARSERS
from aoti_logscan.pipeline import Evidence as Read
from aoti_logscan.redact import Redactor
from aoti_logscan.render.html import render_html
from aoti_logscan.render.json import render_json, render_lines, render_value
from aoti_logscan.render.markdown import render_markdown
from aoti_logscan.render.sarif import render_sarif
from aoti_logscan.render.terminal import render_terminal
from aoti_logscan.render.text import render_text
from aoti_logscan.report import Dossier, Evidence, Report
from aoti_logscan.scan import Scanned, Scanner
from aoti_logscan.sources import Source, find
from aoti_logscan.streams import Raw, Stream, text_stream

#: what a source held: all its bytes by the name it is shown by, of equal names each
Inputs = Mapping[str, Sequence[bytes]]

#: characters of a place's text that are looked for
_LOOKED_FOR = 40
#: kernels and buffers of one input that are asked for
_ASKED = 4
#: names that redaction is told to know
_NAMES = ("fuzzer", "runner-01")

# what moves a terminal's cursor or turns its text around: C0 without the newline, DEL, C1, marks,
# embeddings and isolates of direction, separators of lines
_ACTING = re.compile(
    "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]"
)

_decode_report = msgspec.json.Decoder(Report).decode
_decode_event = msgspec.json.Decoder(cast(type[Event], AnyEvent)).decode


def check_log(raw: bytes, *, published: bool = True) -> tuple[Report, Read]:
    """Read a log as bytes and check the answer; with `published` what is passed on, too."""
    report, read = pipeline.analyze_text(raw, catalogue())
    inputs = {"<text>": (_whole(text_stream(cast(Raw, io.BytesIO(raw)))),)}
    check_report(report, inputs)
    check_events(read.events, inputs)
    if published:
        listed = launch_reports(launches(read.situations), read.library)
        check_published(dossier(report, listed, read.library, {}), read.events)
    return report, read


def check_paths(paths: Sequence[Path], *, published: bool = True) -> None:
    """Read files and folders and check the answer; that nothing could be opened is one."""
    try:
        found = pipeline.investigate(paths)
    except UnreadablePathError:
        return
    inputs = _inputs(paths)
    check_report(found.dossier.report, inputs)
    check_events(found.events, inputs)
    if published:
        check_published(found.dossier, found.events)
        check_code(pipeline.read(paths).library)


def check_artifact(name: str, data: bytes) -> Package:
    """Read a package or a file of generated code, and ask for all that can be asked of it."""
    package = read_artifact(name, data)
    assert all(problem.strip() for problem in package.problems)
    check_code(Library((package,)))
    return package


def check_windows(raw: bytes, window: int) -> None:
    """A scan in windows of any size finds what a scan in one window finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "WINDOW", window)
        small = scanned(raw)
    assert small == scanned(raw)


def scanned(raw: bytes) -> Scanned:
    """What all parsers find in a log."""
    return _scanner().scan("log", Stream(cast(Raw, io.BytesIO(raw))))


@cache
def _scanner() -> Scanner:
    return Scanner(PARSERS, OWNERS)


# --- reports and events


def check_report(report: Report, inputs: Inputs) -> None:
    """A report is what its schema says, agrees with itself and rests on lines of the input."""
    data = msgspec.json.encode(report)
    assert msgspec.json.encode(_decode_report(data)) == data
    shown = render_json(report)
    assert json.loads(shown) == json.loads(data)
    _check_inert(shown)
    _check_verdict(report)
    for finding in report.findings:
        assert finding.evidence
        assert finding.count >= 1
        for evidence in finding.evidence:
            check_place(evidence, inputs)
    if report.last_kernel and report.last_kernel.evidence:
        check_place(report.last_kernel.evidence, inputs)


def _check_verdict(report: Report) -> None:
    verdict = report.verdict
    decided = verdict.failure_class not in ("none", "undecided")
    assert decided == (verdict.certainty is not None)
    assert decided == (verdict.finding is not None)
    assert decided == (report.signature is not None)
    if verdict.finding is not None:
        cause = report.findings[verdict.finding]
        assert (cause.role, cause.failure_class) == ("cause", verdict.failure_class)


def check_events(events: Sequence[Event], inputs: Inputs) -> None:
    """Events are what their schema says, and their places are in the input."""
    lines = render_lines(events)
    _check_inert(lines)
    assert lines.count("\n") == len(events)
    for event, line in zip(events, lines.splitlines(), strict=True):
        assert _decode_event(line.encode()) == event
        _check_counts(event)
        check_place(event.place, inputs)
        if event.last:
            check_place(event.last, inputs)


def _check_counts(event: Event) -> None:
    assert event.count >= 1
    assert (event.count == 1) == (event.last is None)
    assert len(event.repeats) == min(event.count - 1, 8)
    assert list(event.repeats) == sorted(event.repeats)
    assert event.end >= event.place.offset
    assert event.distinct is None or 1 <= event.distinct <= event.count
    assert event.rank is None or event.rank >= 0


# --- places


def check_place(place: Place | Evidence, inputs: Inputs) -> None:
    """The place's line, offset and text agree with what a slow reader finds."""
    held = inputs[place.source]
    assert any(_reader(raw).finds(place) for raw in held), place


class SlowReader:
    """An input cut into its lines, each decoded when it is asked for."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._starts = [0]
        for line in raw.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def finds(self, place: Place | Evidence) -> bool:
        """Whether the place is on its line, and its text there from its offset on.

        A mark's text is the mark alone, behind a launcher's prefix; an assertion that was wrapped
        has its head on this line; of a trace's record only the head is told.
        """
        if not 0 <= place.offset <= len(self._raw):
            return False
        if bisect_right(self._starts, place.offset) != place.line:
            return False
        told = place.text.removesuffix("...")[:_LOOKED_FOR]
        return any(
            told in shown or (bool(shown) and place.text.startswith(shown))
            for shown in self._shown(place)
        )

    def _shown(self, place: Place | Evidence) -> Iterator[str]:
        """The line from the offset on: as it is, and unescaped, whole and up to its first end."""
        rest = self._raw[place.offset : self._starts[place.line] - 1]
        for size in (2_000, len(rest)):
            part = rest[:size]
            for text in (part, clean(part, escaped=False), clean(part, escaped=True)):
                shown = text.decode("utf-8", "replace")
                yield shown
                yield shown.lstrip("\n\r").split("\n", 1)[0].split("\r", 1)[0]


@lru_cache(8)
def _reader(raw: bytes) -> SlowReader:
    return SlowReader(raw)


def _inputs(paths: Iterable[Path]) -> Inputs:
    """All sources that the paths name, read whole."""
    found: dict[str, list[bytes]] = {}
    for one in find([str(path) for path in paths]):
        if isinstance(one, Source):
            found.setdefault(one.name, []).append(_whole(one.open()))
    return found


def _whole(stream: Stream) -> bytes:
    parts, buffer = [], bytearray(1 << 16)
    while count := stream.readinto(memoryview(buffer)):
        parts.append(bytes(buffer[:count]))
    stream.close()
    return b"".join(parts)


# --- what is shown and passed on


def check_published(shown: Dossier, events: Sequence[Event]) -> None:
    """Every form of the report can be made, as it is and redacted; no text acts."""
    _check_forms(shown, None)
    render_terminal(shown.report, show_all=True, width=60).encode()
    redactor = Redactor((), names=_NAMES)
    redactor.learn(shown)
    redactor.learn(events)
    clean_one, clean_events = redactor.value(shown), redactor.value(list(events))
    _check_forms(clean_one, redactor.found())
    _check_inert(render_lines(clean_events))


def _check_forms(shown: Dossier, redacted: Mapping[str, int] | None) -> None:
    report = shown.report
    for show_all in (False, True):
        _check_inert(render_text(report, show_all=show_all, width=80))
    _check_inert(render_markdown(shown, redacted=redacted))
    sarif = render_sarif(report, redacted=redacted)
    _check_inert(sarif)
    assert json.loads(sarif)["version"] == "2.1.0"
    render_html(shown, links={}, redacted=redacted).encode()


def _check_inert(text: str) -> None:
    acting = _ACTING.search(text)
    assert acting is None, (acting, text[max(0, acting.start() - 80) : acting.end() + 20])


# --- generated code


def check_code(library: Library) -> None:
    """What is known of kernels and buffers can be asked for, and is what its types say."""
    listed = launch_reports((), library)
    render_value(listed).encode()
    for name in list(dict.fromkeys(launch.kernel for launch in listed))[:_ASKED]:
        if (kernel := kernel_report(name, (), library)) is not None:
            render_value(kernel).encode()
    for name in _buffers(library)[:_ASKED]:
        render_value(buffer_uses(name, library)).encode()


def _buffers(library: Library) -> list[str]:
    named = [
        argument
        for unit in library.units
        for call in unit.body.calls
        for argument in call.arguments
    ]
    return list(dict.fromkeys(named))
