"""Stacks of a dead process as a debugger or glog prints them.

    Thread 1 "python" received signal SIGSEGV, Segmentation fault.
    #0  0x00007ffff6e6665c in boom_cpu () at boom.cpp:13
    #10 0x... in torch::aot_inductor::AOTInductorModel::run_impl () at /tmp/x.wrapper.cpp:851

    *** SIGSEGV (@0x0) received by PID 123 (TID 0x7f55) from PID 0; stack trace: ***
        @     0x7f55c0000000 boom_cpu

give a `ProcessDeath` for the signal's line and a `CppStack` for the frames. Sources: gdb 13, `bt`
(wrapper code has line tables, so the frame of `run_impl` names its line); glog and abseil, failure
signal handler.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from aoti_logscan.events import CppStack, Event, Frame, ProcessDeath
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, strip_head
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "native_stack"
ANCHORS = (
    b" received signal SIG",
    b"Program terminated with signal SIG",
    b" received by PID ",
    b" received at time=",
    b"#0  ",
)

# Thread 1 "python" received signal SIGSEGV, Segmentation fault.
_DEBUGGER = lazy_re(
    rb"(?:Thread (?P<thread>\d+)\b.*?)?(?:received signal|terminated with signal)"
    rb" (?P<signal>SIG[A-Z]+\d*)"
)
# Thread 1 (Thread 0x7ffff7fbeb80 (LWP 27073) "python"):     (thread apply all bt)
_THREAD = lazy_re(rb"^Thread (?P<thread>\d+) \(")
# wrapped:     at /tmp/x.wrapper.cpp:851
_CONTINUED = lazy_re(rb"^\s+(?:at|from) \S")
# *** SIGSEGV (@0x0) received by PID 123 (TID 0x7f55) from PID 0; stack trace: ***
# *** SIGSEGV received at time=1700000000 on cpu 3 ***    (abseil)
_GLOG = lazy_re(
    rb"\*\*\* (?P<signal>SIG[A-Z]+\d*) (?:\(@[^)\n]*\) received by PID (?P<pid>\d+)"
    rb"|received at time=)"
)
#     @     0x7f55c0000000 boom_cpu
_GLOG_FRAME = lazy_re(rb"^\s+@\s+0x[0-9a-f]+ (?P<function>.+)$")
# #10 0x00007fff in f (args) at /tmp/x.cpp:851      #6  f () from /opt/lib.so
_GDB_FRAME = lazy_re(rb"\s*#(?P<number>\d+) +(?:0x[0-9a-f]+ in )?(?=\S)")
# behind the parenthesis that closes the arguments
_GDB_PLACE = lazy_re(rb" at (?P<file>[^\n]+):(?P<line>\d+)$| from (?P<library>\S+)$")
_PARENTHESIS = lazy_re(rb"[()]")
#: bytes around an anchor in which its message stands, and of a frame
_NEAR = 1000
_FRAME_BYTES = 8000
_LINES = 300
_FRAMES = 64
_GAPS = 3


class _Numbered(NamedTuple):
    """A frame, and whether it is the first of its stack."""

    is_first: bool
    frame: Frame


def parse(hit: Hit) -> Parsed:
    """One draft for the signal's line or for the stack at this hit."""
    text = hit.line.text
    fields: dict[str, Any]
    near = max(0, hit.column - _NEAR), hit.column + _NEAR
    if match := _GLOG.search(text, *near):
        frames, end = _glog_frames(hit, text[: match.start()])
        process = match["pid"].decode() if match["pid"] else None
        death = _draft(hit, ProcessDeath, _death("glog", match), hit.line.end, process)
        fields = {"form": "glog", "frames": frames}
        return (death, _draft(hit, CppStack, fields, end, process)) if frames else (death,)
    if match := _DEBUGGER.search(text, *near):
        fields = {**_death("debugger", match), "thread": _number(match)}
        return (_draft(hit, ProcessDeath, fields, hit.line.end),)
    frames, end = _gdb_frames(hit)
    fields = {"form": "gdb", "frames": frames, "thread": _thread_above(hit)}
    return (_draft(hit, CppStack, fields, end),) if frames else ()


def _number(match: re.Match[bytes] | None) -> int | None:
    return integer(match["thread"]) if match else None


def _thread_above(hit: Hit) -> int | None:
    """The thread that a stack is of, from the line above it."""
    above = hit.window.previous(hit.line)
    return _number(_THREAD.match(above.text)) if above is not None else None


def _death(told_by: str, match: re.Match[bytes]) -> dict[str, Any]:
    return {"told_by": told_by, "signal": match["signal"].decode()}


def _draft(
    hit: Hit, kind: type[Event], fields: dict[str, Any], end: int, process: str | None = None
) -> Draft:
    prefix = read_prefix(hit.head(hit.column))
    return Draft(
        kind=kind,
        fields=fields,
        start=hit.line.start,
        end=end,
        text=hit.line.text,
        prefix=prefix._replace(process=process) if process else prefix,
        taken=hit.line.end,
    )


def _glog_frames(hit: Hit, head: bytes) -> tuple[tuple[Frame, ...], int]:
    frames: list[Frame] = []
    end = hit.line.end
    for line in hit.following(_LINES):
        text = strip_head(head, line.text)
        match = _GLOG_FRAME.match(text) if text is not None else None
        if match is None:
            break
        end = line.end
        if len(frames) < _FRAMES:
            frames.append(Frame(match["function"][:500].decode("utf-8", "replace")))
    return tuple(frames), end


def _gdb_frames(hit: Hit) -> tuple[tuple[Frame, ...], int]:
    head = hit.line.text[: hit.column]
    last = hit.line.text[hit.column :]
    first = _gdb_frame(last)
    if first is None:
        return (), hit.line.end
    frames, gaps, end = [first.frame], 0, hit.line.end
    for line in hit.following(_LINES):
        text = strip_head(head, line.text)
        if (
            text is not None
            and _CONTINUED.match(text)
            and (joined := _gdb_frame(last.rstrip() + b" " + text.strip()))
        ):
            frames[-1] = joined.frame
            continue
        found = _gdb_frame(text) if text is not None else None
        last = text if found is not None and text is not None else last
        if found is None or found.is_first:
            gaps += 1
            if gaps > _GAPS or found is not None:
                break
            continue
        gaps, end = 0, line.end
        if len(frames) < _FRAMES:
            frames.append(found.frame)
    return tuple(frames), end


def _gdb_frame(text: bytes) -> _Numbered | None:
    """The frame that a line is; its arguments are what the last parenthesis closes."""
    head = _GDB_FRAME.match(text) if len(text) <= _FRAME_BYTES else None
    closes = (
        max(text.rfind(b") at "), text.rfind(b") from ")) if text[-1:] != b")" else len(text) - 1
    )
    opens = _opening(text, closes) if head and closes >= 0 else -1
    place = _GDB_PLACE.match(text, closes + 1)
    if head is None or opens <= head.end() or not (place or closes + 1 == len(text)):
        return None
    function = text[head.end() : opens].removesuffix(b" ")[:500].decode("utf-8", "replace")
    if place is None:
        return _Numbered(head["number"] == b"0", Frame(function))
    file = (place["file"] or place["library"]).decode("utf-8", "replace")
    line = int(place["line"][:18]) if place["line"] else None
    return _Numbered(head["number"] == b"0", Frame(function, file, line))


def _opening(text: bytes, closes: int) -> int:
    """The parenthesis that is closed at a position; -1 where none is."""
    depth = 0
    for found in reversed(list(_PARENTHESIS.finditer(text, 0, closes + 1))):
        depth += 1 if found[0] == b")" else -1
        if depth == 0:
            return found.start()
    return -1
