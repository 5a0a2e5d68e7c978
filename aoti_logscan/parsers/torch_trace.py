"""TORCH_TRACE: one record of a line of JSON, and its payload on lines that begin with a TAB.

    V1130 06:57:13.145000 30988 torch/_inductor/codecache.py:2616] {"graph_dump": {...}, ...}
    <TAB>first line of the payload

A record is closed: whatever stands in it (generated code, tracebacks of a compilation) is no
failure of the run, so all of it is owned here. `compilation_metrics` gives a `Compile`, the
artifact `torch_version` a `TorchVersion`; other records give nothing yet. A trace holds compile
time only. Source: torch 2.13, _logging/_internal.py, `trace_structured` and `LazyTraceHandler`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from aoti_logscan.events import Clock, Compile, Event, TorchVersion
from aoti_logscan.lines import Hit, Window
from aoti_logscan.prefix import Prefix
from aoti_logscan.scan import Draft, Malformed, Parsed

NAME = "torch_trace"
ANCHORS = (
    b'] {"compilation_metrics": ',
    b'] {"bwd_compilation_metrics": ',
    b'] {"artifact": {"name": "torch_version"',
)

# V1130 06:57:13.145000 30988 torch/_inductor/codecache.py:2616] {
_HEAD = re.compile(
    rb"V(?P<date>\d{4}) (?P<time>\d\d:\d\d:\d\d)\.(?P<fraction>\d{6}) (?P<pid>\d+)"
    rb" [^\n]{1,300}?:\d+\] \{\""
)
_TAB = 0x09
#: bytes of TAB-led lines that are walked back over
_WALK = 64 << 10
_PAYLOAD_END = re.compile(rb"\n(?!\t)")
_VERSION = re.compile(rb'"pytorch_version": "(?P<version>[^"\n]+)"')


class _Metrics(msgspec.Struct):
    """The fields of `compilation_metrics` that are used, loosely typed."""

    compile_id: Any = None
    fail_type: Any = None
    fail_reason: Any = None


class _Envelope(msgspec.Struct):
    compilation_metrics: _Metrics | None = None
    bwd_compilation_metrics: _Metrics | None = None
    rank: Any = None


_decode = msgspec.json.Decoder(_Envelope).decode


def parse(hit: Hit) -> Parsed:
    """One draft for the record at this hit; `Malformed` where its envelope is no JSON."""
    start, end = hit.window.physical_line(hit.start)
    text = bytes(hit.window.buffer[start:end])
    head = _HEAD.match(text)
    if head is None or head.end() < hit.start - start:
        return ()
    if b'{"artifact"' in text[head.end() - 2 : head.end() + 16]:
        return _version(hit, start, end, head)
    try:
        envelope = _decode(text[head.end() - 2 :])
    except (msgspec.DecodeError, RecursionError) as error:
        return (Malformed(start, end, f"a trace record is no JSON: {error}"),)
    metrics = envelope.compilation_metrics or envelope.bwd_compilation_metrics
    if metrics is None:
        return ()
    fields = {
        "compile_id": _text(metrics.compile_id),
        "fail_type": _text(metrics.fail_type),
        "fail_reason": _text(metrics.fail_reason),
    }
    rank = envelope.rank if isinstance(envelope.rank, int) else None
    return (_draft(Compile, fields, start, end, head, rank),)


def _text(value: object) -> str | None:
    return value[:4000] if isinstance(value, str) else None


def _version(hit: Hit, start: int, end: int, head: re.Match[bytes]) -> Parsed:
    for line in hit.following(6):
        if match := _VERSION.search(line.text):
            version = match["version"].decode("utf-8", "replace")
            return (_draft(TorchVersion, {"version": version}, start, end, head, None),)
        if not line.text.startswith(b"\t"):
            break
    return (Malformed(start, end, "a torch_version record without a version"),)


def _draft(
    kind: type[Event],
    fields: dict[str, Any],
    start: int,
    end: int,
    head: re.Match[bytes],
    rank: int | None,
) -> Draft:
    stamp = f"{head['date'].decode()} {head['time'].decode()}.{head['fraction'].decode()}000"
    return Draft(
        kind=kind,
        fields=fields,
        start=start,
        end=end,
        text=head[0] + b"...",
        prefix=Prefix(rank, head["pid"].decode(), Clock("python", stamp)),
    )


def owns(hit: Hit) -> int | None:
    """The end of the record where this hit is in a trace's envelope or payload.

    The payload's head may be out of the window: a run of TAB-led lines that reaches back to the
    window's start, or further than `_WALK` bytes, is taken for a payload.
    """
    window = hit.window
    start = window.buffer.rfind(b"\n", 0, hit.start) + 1
    if window.buffer[start] != _TAB:
        return _end(window, start) if _HEAD.match(window.buffer, start) else None
    known = window.notes.get(NAME)
    if known is None or not known[0] <= start < known[1]:
        known = window.notes[NAME] = _tab_run(window, start)
    return known[1] if known[2] else None


def _tab_run(window: Window, start: int) -> tuple[int, int, bool]:
    """The run of TAB-led lines around `start`: where it begins and ends, and if it is a payload."""
    buffer = window.buffer
    head = start
    while head > 0 and buffer[head] == _TAB and start - head < _WALK:
        head = buffer.rfind(b"\n", 0, head - 1) + 1
    beyond = start - head >= _WALK or (head == 0 and window.base > 0)
    return head, _end(window, start), beyond or _HEAD.match(buffer, head) is not None


def _end(window: Window, start: int) -> int:
    """Where the last TAB-led line after `start` ends, within the window."""
    end = _PAYLOAD_END.search(window.buffer, start, window.size)
    return end.start() if end else window.size
