"""A Python traceback, whatever prefix its lines carry.

    [rank1]: Traceback (most recent call last):
    [rank1]:   File "/opt/train.py", line 402, in <module>
    [rank1]:     main()
    [rank1]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered

gives one `PythonException`. The prefix may stand on the first line alone. Lines of other writers
between them are passed over. The message goes
on until a line that cannot belong to it. Where the log begins inside a traceback, the exception's
line alone gives one if its type is a compiler's. A notebook puts the type in front of the head and
the message at the end. Sources: CPython, Lib/traceback.py; IPython 8, core/ultratb.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from aoti_logscan.events import Frame, PythonException
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, IncompleteError, Line, Window, strip_head
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "python_traceback"
_HEAD = b"Traceback (most recent call last)"
ANCHORS = (
    _HEAD,
    b"torch._inductor.exc.",
    b"torch._dynamo.exc.",
    b"torch.fx.experimental.symbolic_shapes.",
    b"triton.compiler.errors.",
)

#   File "/opt/train.py", line 402, in main
_FRAME = lazy_re(rb'^\s*File "(?P<file>[^"\n]*)", line (?P<line>\d+)(?:, in (?P<function>.*)|\s*)$')
# torch.AcceleratorError: CUDA error: ...      AssertionError      zlib.error: ...; no `INFO: ...`
_EXCEPTION = lazy_re(
    rb"^(?P<type>(?:[A-Za-z_][\w.]*\.)?(?:<locals>\.)?_?[A-Z]\w*[a-z]\w*(?=:|$|\s*$)"
    rb"|[a-z_]\w*(?:\.\w+)+(?=: ))(?::(?: (?P<message>.*)| *)|\s*)$",
    re.DOTALL,
)
# what other writers begin their lines with
_OTHER_WRITER = lazy_re(
    rb"^(?:\[rank\d+\]|\[?[VDIWECF]\d{3,4} \d\d:\d\d|\(\w+ (?:pid|rank)=|\d{4}-\d\d-\d\d[T ]"
    rb"|(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b)"
)
# BackendCompilerFailed                     Traceback (most recent call last)
_NOTEBOOK_HEAD = lazy_re(rb"(?<!\w)(?P<type>[A-Z]\w{2,80}) {2,80}$")
_NOTEBOOK_HEAD_BYTES = 120
# File /opt/conda/lib/python3.10/site-packages/torch/_dynamo/output_graph.py:1107, in Graph.call(x)
_NOTEBOOK_FRAME = lazy_re(
    rb"^File (?P<file>[^\n]{1,500}?):(?P<line>\d+)(?:, in (?P<function>[\w.<>]+))?"
)
# a traceback that says why this one is there; what both sentences share
_CHAIN = b"he above exception"
_CHAINED = lazy_re(
    rb"^(?:The above exception was the direct cause|During handling of the above exception)"
)
# triton.compiler.errors.CompilationError: at 12:34:   <source>   <blanks>^   the reason
_AT_SOURCE = lazy_re(rb"^at \d+:\d+:")
_CARET = lazy_re(rb"^ *\^ *$")
_REPEATED = lazy_re(rb"^\s*\[Previous line repeated \d+ more times?\]|^\s*[~^]+\s*$|^\s*\.\.\.<")
# what can follow a traceback but never stands in an exception's message
_AFTER_MESSAGE = lazy_re(
    rb"^(?:The above exception was the direct cause|During handling of the above exception"
    rb"|Traceback \(most recent call last\)|terminate called|Exception raised from "
    rb"|Fatal Python error|triton\.compiler\.errors\.\w{1,40}: at \d|=========|\[rank\d+\]:"
    rb"|\[[EWIF]\d{3,4} |[VDIWEC]\d{4} \d\d:\d\d)"
)
# [rank0]:   2026-... stderr F   |   what a launcher's prefix ends in, rather than a sentence
_PREFIX_ENDS = lazy_re(rb"(?:^|[\]:>)|#\x82]|\bF)\s*$")
#: bytes before an exception's line in which its traceback would begin
_HEAD_WITHIN = 64 << 10
#: lines of other writers in a row that are passed over
_FOREIGN = 200
#: lines in a traceback that cannot be its own and do not say whose they are
_STRANGERS = 3
#: lines of one traceback, and of one exception's message
_MAX_LINES = 2000
_MESSAGE_LINES = 24
_MESSAGE_BYTES = 4000
#: lines of Triton's listing, below which the reason stands
_LISTING_LINES = 400
#: bytes after a message in which a chained traceback is looked for, and how many marks of others
_CHAIN_WITHIN = 64 << 10
_FOREIGN_MARKS = 64
_FRAMES = 64


class _Tail(NamedTuple):
    """The exception's line (the traceback's head where there is none), and the record's end."""

    exception: str | None
    message: str
    start: int
    text: bytes
    end: int
    followed: bool = False


def parse(hit: Hit) -> Parsed:
    """One draft for the traceback that begins at this hit."""
    head = hit.line.text[: hit.column]
    if not hit.line.text.startswith(_HEAD, hit.column):
        return _without_its_head(hit, head)
    if notebook := _NOTEBOOK_HEAD.search(head[-_NOTEBOOK_HEAD_BYTES:]):
        return _of_notebook(hit, head[: -len(notebook[0])], notebook["type"])
    if hit.line.escaped and head.endswith((b'"', b"'")) and not _each_line_is_stored(hit):
        head = b""
    elif not hit.line.escaped and head.strip().endswith((b'"', b"'", b"`")):
        return ()
    frames, tail = _read(hit, b"" if _is_logged_once(hit, head) else head)
    if not frames and tail.exception is None:
        return ()
    return (_draft(hit, head, frames, tail),)


def _draft(hit: Hit, head: bytes, frames: list[Frame], tail: _Tail) -> Draft:
    fields = {
        "begins": hit.window.base + hit.line.start,
        "exception": tail.exception,
        "message": tail.message,
        "frames": tuple(frames[-_FRAMES:]),
        "cut": tail.exception is None,
        "followed": tail.followed,
    }
    return Draft(
        kind=PythonException,
        fields=fields,
        start=tail.start,
        end=tail.end,
        text=tail.text,
        prefix=read_prefix(head),
        fold=(tail.exception, tail.message, frames[-1] if frames else None, tail.followed),
        taken=hit.line.end,
    )


def _of_notebook(hit: Hit, head: bytes, kind: bytes) -> Parsed:
    """A draft for a notebook's traceback, which ends in a line that begins with its type."""
    frames: list[Frame] = []
    for line in hit.following(_MAX_LINES):
        text = strip_head(head, line.text)
        if text is None:
            continue
        if match := _NOTEBOOK_FRAME.match(text):
            frames.append(_frame(match))
        elif _HEAD in text:
            break
        elif text.startswith(kind) and (match := _EXCEPTION.match(text)):
            return (_draft(hit, head, frames, _tail(hit, line, head, match)),)
    return ()


def _without_its_head(hit: Hit, head: bytes) -> Parsed:
    """A draft for an exception's line before which no traceback begins, near as far as is held."""
    match = _EXCEPTION.match(hit.line.text[hit.column :]) if _PREFIX_ENDS.search(head) else None
    near = max(0, hit.start - _HEAD_WITHIN)
    if match is None or hit.window.buffer.rfind(_HEAD, near, hit.start) >= 0:
        return ()
    return (_draft(hit, head, [], _tail(hit, hit.line, head, match)),)


def _is_logged_once(hit: Hit, head: bytes) -> bool:
    """Whether a logger put its head before the first line only, as of a message that is this text.

    [2026-02-13 08:11:53 TP3] Scheduler hit an exception: Traceback (most recent call last):
      File "/opt/sglang/srt/managers/scheduler.py", line 2680, in run_scheduler_process
    """
    below = next(iter(hit.following(1)), None)
    if not head.strip() or below is None or below.text.startswith(head):
        return False
    return _FRAME.match(below.text) is not None


def _each_line_is_stored(hit: Hit) -> bool:
    """Whether a string holds one line only, as in docker's logs: it is closed behind it."""
    return any(line.text.startswith((b'"', b"'")) for line in hit.following(1))


def _read(hit: Hit, head: bytes) -> tuple[list[Frame], _Tail]:
    frames: list[Frame] = []
    foreign, strangers, end = 0, 0, hit.line.end
    margin: bytes | None = None
    lines = hit.window.following(hit.line, _MAX_LINES)
    for line in lines:
        own = strip_head(head, line.text)
        if own is None or (not head and _OTHER_WRITER.match(own)):
            foreign += 1
            if foreign > _FOREIGN:
                break
            continue
        if margin is None:
            margin = own[: len(own) - len(own.lstrip(b" "))][:-2]
        text = own.removeprefix(margin)
        if match := _FRAME.match(text):
            frames.append(_frame(match))
        elif text.startswith((b" ", b"\t")) or _REPEATED.match(text) or not text.strip():
            _add_source(frames, text)
        elif match := _EXCEPTION.match(text):
            return frames, _tail(hit, line, head + margin, match)
        else:
            strangers += 1
            if strangers > _STRANGERS:
                break
            continue
        foreign = 0
        end = line.end
    return frames, _Tail(None, "", hit.line.start, hit.line.text, end)


def _frame(match: re.Match[bytes]) -> Frame:
    function = match["function"]
    return Frame(
        function=function.decode("utf-8", "replace").strip() if function else None,
        file=match["file"].decode("utf-8", "replace"),
        line=integer(match["line"]),
    )


def _add_source(frames: list[Frame], text: bytes) -> None:
    """The first line below a frame is its source text; `^^^^` marks and repeats are none."""
    source = text.strip()
    if frames and frames[-1].text is None and source and not _REPEATED.match(text):
        last = frames[-1]
        frames[-1] = Frame(
            last.function, last.file, last.line, source[:500].decode("utf-8", "replace")
        )


def _tail(hit: Hit, line: Line, head: bytes, match: re.Match[bytes]) -> _Tail:
    """The exception's type and message, with the lines that still belong to the message."""
    message = _Message(match["message"] or b"")
    last, foreign = line, 0
    for more in hit.window.following(line, _LISTING_LINES):
        own = strip_head(head, more.text)
        if own is None:
            foreign += 1
            if foreign > _MESSAGE_LINES:
                break
            continue
        if message.is_full or _AFTER_MESSAGE.match(own):
            break
        if message.add(own):
            last = more
    kind = match["type"].decode("utf-8", "replace")
    followed = _is_followed(hit.window, last, head)
    return _Tail(kind, message.text(), line.start, line.text, last.end, followed)


def _is_followed(window: Window, last: Line, head: bytes) -> bool:
    """Whether the same writer's next traceback is announced as one that came of this one.

    A message may be long: that of a C++ compiler has hundreds of lines.
    """
    stop = last.end + _CHAIN_WITHIN
    marks = _marks(window.buffer, last.end, min(stop, window.size))
    for mark in islice(marks, _FOREIGN_MARKS):
        own = strip_head(head, window.line_at(mark).text)
        if own is not None and _CHAINED.match(own):
            return True
        if own is not None and own.startswith(_HEAD):
            return False
    if next(marks, None) is not None:
        return False
    if stop > window.size and not window.final:
        raise IncompleteError
    return False


def _marks(buffer: bytearray, position: int, stop: int) -> Iterator[int]:
    """Where heads of tracebacks, and sentences that chain them, stand between the positions."""
    while True:
        head = buffer.find(_HEAD, position, stop)
        chain = buffer.find(_CHAIN, position, head if head >= 0 else stop)
        position = (chain if chain >= 0 else head) + 1
        if not position:
            return
        yield position - 1


class _Message:
    """The lines of an exception's message; of Triton's source listing only what it ends in."""

    def __init__(self, first: bytes) -> None:
        self._parts = [first]
        self._size = len(first)
        self._lists_source = _AT_SOURCE.match(first) is not None
        self._reason_next = False

    @property
    def is_full(self) -> bool:
        """Whether no further line can belong to it."""
        if self._lists_source and len(self._parts) >= _MESSAGE_LINES:
            return False
        return len(self._parts) > _MESSAGE_LINES or self._size > _MESSAGE_BYTES

    def add(self, line: bytes) -> bool:
        """Take the next line, if it still belongs to the message."""
        if self._lists_source and len(self._parts) >= _MESSAGE_LINES:
            if self._reason_next:
                self._parts += [b"^", line]
                self._lists_source = False
                return True
            self._reason_next = _CARET.match(line) is not None
            return self._reason_next
        if self.is_full:
            return False
        self._parts.append(line)
        self._size += len(line)
        return True

    def text(self) -> str:
        return b"\n".join(self._parts)[:_MESSAGE_BYTES].decode("utf-8", "replace").rstrip()
