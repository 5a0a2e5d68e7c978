"""TORCH_TRACE: one record of a line of JSON, and its payload on lines that begin with a TAB.

    V1130 06:57:13.145000 30988 torch/_inductor/codecache.py:2616] {"graph_dump": {...}, ...}
    <TAB>first line of the payload

A record is closed: whatever stands in it (generated code, tracebacks of a compilation) is no
failure of the run, so all of it is owned here. `compilation_metrics` gives a `Compile`, the
artifact `torch_version` a `TorchVersion`, `graph_dump` and `inductor_output_code` a
`GeneratedCode`, artifacts of failures and provenance a `TraceArtifact`; the rest gives nothing. A
payload that is used is checked against its MD5. A trace holds compile time only. Source: torch
2.13, _logging/_internal.py, `trace_structured` and `LazyTraceHandler`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from aoti_logscan.events import (
    Clock,
    Compile,
    Event,
    Frame,
    GeneratedCode,
    TorchVersion,
    TraceArtifact,
)
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, IncompleteError, Window
from aoti_logscan.prefix import Prefix
from aoti_logscan.records import Draft, Malformed, Parsed

NAME = "torch_trace"
ANCHORS = (
    b'] {"compilation_metrics": ',
    b'] {"bwd_compilation_metrics": ',
    b'] {"graph_dump": {"name": "inductor_aot_',
    b'] {"inductor_output_code": ',
    b'] {"artifact": {"name": "torch_version"',
    b'] {"artifact": {"name": "dynamo_error"',
    b'] {"artifact": {"name": "dynamo_graph_break_reason"',
    b'] {"artifact": {"name": "make_fx_fail_partial"',
    b'] {"artifact": {"name": "inductor_provenance_tracking_',
    b'] {"artifact": {"name": "before_pre_grad_graph"',
    b'] {"artifact": {"name": "inductor_post_grad_graph"',
    b'] {"artifact": {"name": "after_post_grad_graph"',
)
#: a record with its payload may be as long as this: a wrapper has megabytes
MAX_RECORD = 64 << 20

# V1130 06:57:13.145000 30988 torch/_inductor/codecache.py:2616] {
_HEAD = lazy_re(
    rb"V(?P<date>\d{4}) (?P<time>\d\d:\d\d:\d\d)\.(?P<fraction>\d{6}) (?P<pid>\d+)"
    rb" [^\n]{1,300}?:\d+\] \{\""
)
_TAB = 0x09
#: bytes of TAB-led lines that are walked back over
_WALK = 64 << 10
_PAYLOAD_END = lazy_re(rb"\n(?!\t)")
_VERSION = lazy_re(rb'"pytorch_version": "(?P<version>[^"\n]+)"')
# inductor_aot_wrapper_code
_PART = lazy_re(r"^inductor_aot_(?P<part>wrapper|kernel|header)_code$")

#   File "/opt/venv/.../compile_fx.py", line 55, in compile_fx
_PRINTED_FRAME = lazy_re(
    r'File "(?P<file>[^"\n]{1,500})", line (?P<line>\d{1,9}), in (?P<function>[^\n]{1,200})$',
    re.MULTILINE,
)
#: characters of a failure's reason and of its traceback that are read
_REASON = 4000
_TRACEBACK = 40_000


_NULL = msgspec.Raw(b"null")


class _Envelope(msgspec.Struct):
    """The keys that are used, loosely typed: one odd field must not lose the record."""

    compilation_metrics: msgspec.Raw = _NULL
    bwd_compilation_metrics: msgspec.Raw = _NULL
    graph_dump: Any = None
    inductor_output_code: Any = None
    artifact: Any = None
    rank: Any = None
    frame_id: Any = None
    frame_compile_id: Any = None
    has_payload: Any = None


class _Metrics(msgspec.Struct):
    """What is used of a hundred metrics."""

    compile_id: Any = None
    fail_type: Any = None
    fail_reason: Any = None
    exception_stack_trace: Any = None


class _Record(NamedTuple):
    """A record's envelope and place; `head` is its first line up to the JSON."""

    window: Window
    start: int
    end: int
    head: re.Match[bytes]
    envelope: _Envelope


_decode = msgspec.json.Decoder(_Envelope).decode
_decode_metrics = msgspec.json.Decoder(_Metrics).decode


def parse(hit: Hit) -> Parsed:
    """The drafts of the record at this hit; `Malformed` where its envelope is no JSON."""
    start, end = hit.window.physical_line(hit.start)
    head = _HEAD.match(hit.window.buffer, start, end)
    if head is None or head.end() < hit.start:
        return ()
    try:
        envelope = _decode(hit.window.buffer[head.end() - 2 : end])
    except (msgspec.DecodeError, RecursionError) as error:
        return (Malformed(start, end, f"a trace record is no JSON: {error}"),)
    record = _Record(hit.window, start, end, head, envelope)
    for key, read in _READERS.items():
        value = getattr(envelope, key)
        if value is not None and value != _NULL:
            return read(record, value)
    return ()


def _metrics(record: _Record, value: msgspec.Raw) -> Parsed:
    try:
        metrics = _decode_metrics(value)
    except (msgspec.DecodeError, RecursionError):
        return (Malformed(record.start, record.end, "compilation metrics that are no table"),)
    return (_draft(record, Compile, partial(_compile_fields, metrics), record.end),)


def _compile_fields(metrics: _Metrics) -> dict[str, Any]:
    return {
        "compile_id": _text(metrics.compile_id),
        "fail_type": _text(metrics.fail_type),
        "fail_reason": _reason(metrics.fail_reason),
        "frames": _printed_frames(metrics.exception_stack_trace),
    }


def _reason(value: object) -> str | None:
    """The reason; of a long one its beginning and its end, where a nested traceback has its own."""
    if not isinstance(value, str) or len(value) <= _REASON:
        return _text(value)
    return f"{value[: _REASON - 1000]}\n...\n{value[-1000:]}"


def _printed_frames(value: object) -> tuple[Frame, ...]:
    """The frames of the tracebacks that a record holds as text, the last of them."""
    if not isinstance(value, list):
        return ()
    text = "\n".join(item[-_TRACEBACK:] for item in value[-2:] if isinstance(item, str))
    found = [
        Frame(match["function"].strip(), match["file"], int(match["line"]))
        for match in _PRINTED_FRAME.finditer(text)
        if not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip(" ")
    ]
    return tuple(found[-64:])


def _graph_dump(record: _Record, value: Any) -> Parsed:
    name = value.get("name") if isinstance(value, dict) else None
    part = _PART.match(name) if isinstance(name, str) else None
    if part is None:
        return ()
    return _code(record, "cpp", part["part"], _text(value.get("filename")))


def _output_code(record: _Record, value: Any) -> Parsed:
    told = value if isinstance(value, dict) else {}
    file = _text(told.get("file_path")) or _text(told.get("filename"))
    cpp = file is not None and file.endswith(".cpp")
    return _code(record, "cpp" if cpp else "python", "wrapper", file)


def _code(record: _Record, language: str, part: str, file: str | None) -> Parsed:
    told = {
        "language": language,
        "part": part,
        "file": file,
        "compile_id": _compile_id(record.envelope),
    }
    return _with_payload(record, GeneratedCode, told, (language, part, file))


def _artifact(record: _Record, value: Any) -> Parsed:
    name = str(value.get("name")) if isinstance(value, dict) else ""
    if name == "torch_version":
        return _torch_version(record)
    told = {"name": name, "compile_id": _compile_id(record.envelope)}
    return _with_payload(record, TraceArtifact, told, tuple(told.values()))


def _torch_version(record: _Record) -> Parsed:
    end = _payload_end(record)
    version = _VERSION.search(record.window.buffer, record.end, end)
    if version is None:
        return (Malformed(record.start, record.end, "a torch_version record without a version"),)
    fields = {"version": version["version"].decode("utf-8", "replace")}
    return (_draft(record, TorchVersion, fields, end)._replace(fold=(fields["version"],)),)


_READERS: dict[str, Callable[[_Record, Any], Parsed]] = {
    "compilation_metrics": _metrics,
    "bwd_compilation_metrics": _metrics,
    "graph_dump": _graph_dump,
    "inductor_output_code": _output_code,
    "artifact": _artifact,
}


def _with_payload(
    record: _Record, kind: type[Event], told: dict[str, Any], fold: tuple[Any, ...]
) -> Parsed:
    """A draft of what is told and the payload as `text`; and what is wrong with the payload."""
    end = _payload_end(record)
    raw = bytes(record.window.buffer[record.end + 1 : end])
    draft = _draft(record, kind, partial(_with_text, told, raw), end)
    draft = draft._replace(fold=(*fold, hash(raw)), payload=len(raw), hides=(record.end, end))
    wanted = record.envelope.has_payload
    if isinstance(wanted, str) and not _is_whole(raw, wanted):
        what = "a trace payload is damaged or cut off: its MD5 differs"
        return (draft, Malformed(record.start, record.end, what))
    return (draft,)


def _payload_end(record: _Record) -> int:
    """Where the payload ends; raises `IncompleteError` where more of it may come."""
    window = record.window
    end = _end(window, record.end)
    if end >= window.size - 1 and not window.final:
        raise IncompleteError
    return end


def _with_text(told: dict[str, Any], raw: bytes) -> dict[str, Any]:
    return {**told, "text": _untabbed(raw).decode("utf-8", "replace")}


def _untabbed(raw: bytes) -> bytes:
    return raw[1:].replace(b"\n\t", b"\n")


#: payloads that were found whole, by their MD5 and a hash of theirs: traces repeat themselves
_whole: dict[str, int] = {}
_MAX_WHOLE = 4096


def _is_whole(raw: bytes, wanted: str) -> bool:
    known = hash(raw)
    if _whole.get(wanted) == known:
        return True
    if hashlib.md5(_untabbed(raw), usedforsecurity=False).hexdigest() != wanted:
        return False
    if len(_whole) >= _MAX_WHOLE:
        _whole.clear()
    _whole[wanted] = known
    return True


def _compile_id(envelope: _Envelope) -> str | None:
    if _counts(envelope.frame_id) and _counts(envelope.frame_compile_id):
        return f"{envelope.frame_id}/{envelope.frame_compile_id}"
    return None


def _counts(value: object) -> bool:
    """Whether it is a number from 0; JSON's true and false are integers to Python."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(value: object) -> str | None:
    return value[:4000] if isinstance(value, str) else None


def _draft(
    record: _Record,
    kind: type[Event],
    fields: dict[str, Any] | Callable[[], dict[str, Any]],
    end: int,
) -> Draft:
    head = record.head
    stamp = f"{head['date'].decode()} {head['time'].decode()}.{head['fraction'].decode()}000"
    rank = record.envelope.rank
    return Draft(
        kind=kind,
        fields=fields,
        start=record.start,
        end=end,
        text=bytes(head[0]) + b"...",
        prefix=Prefix(
            rank if _counts(rank) else None, head["pid"].decode(), Clock("python", stamp)
        ),
        taken=record.end,
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
