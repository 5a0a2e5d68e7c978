"""Device-side assertions, one line for each failing thread.

    /tmp/torchinductor_u/c5/cc53.py:30: unknown: block: [3,0,0], thread: [64,0,0] Assertion `index
    out of bounds: 0 <= tmp4 < ks0` failed.

(on one line) gives one `DeviceAssert`; equal ones are folded, their blocks counted. `unknown:0`
names no file. On Windows the function is missing. Terminals and issue trackers wrap the line after
`block:`. Source: the CUDA driver's `__assertfail`, on stderr at the next synchronisation; its text
from torch 2.13, _inductor/codegen/common.py, `indirect_assert`, and from ATen's
`CUDA_KERNEL_ASSERT`; `[CUDA_KERNEL_ASSERT] ...: Assertion failed: `c`: m` from c10/macros/Macros.h,
`CUDA_KERNEL_ASSERT_PRINTF`;
Triton's AMD backend, which prints `device assertion failed: 'c', in f at file:line`; HIP's device
library, `__assert_fail`, whose line has no block and ends a backquote with an apostrophe:
`IndexKernel.hip:93: operator(): Device-side assertion `c' failed.`; c10/cuda,
CUDADeviceAssertionHost.cpp, whose report of a tracked assertion has a line for each of its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from aoti_logscan.events import DeviceAssert
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, strip_head
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.prefix import Prefix, may_be_same_writer, read_prefix
from aoti_logscan.records import MAX_REPEATS, Draft, Malformed, Parsed, Repeats

NAME = "device_assert"
_REPORT = b"GPU assertion failure message = "
ANCHORS = (
    b", thread: [",
    b", local id: [",
    b"device assertion failed: ",
    b": Device-side assertion ",
    _REPORT,
)

# [3,0,0], thread: [64,0,0] Assertion `c` failed.
# [3,0,0], thread: [64,0,0]: Assertion failed: `c`: m
_THREAD = lazy_re(
    rb"\[(-?\d+,-?\d+,-?\d+)\], (?:thread|local id): \[-?\d+,-?\d+,-?\d+\]"
    rb"(?::?\s+Assertion (?:failed: )?`|\s*$)"
)
# /pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:94:      C:\w\IndexKernel.cu:94:
_PLACE = (
    rb"(?P<file>[A-Za-z]:\\[^:\"<>|*?]*|(?<!\w)[A-Za-z]:/[^\s:\"<>|*?]*|<[^<>]*>"
    rb"|(?<![^\s:\[\]\"'`|])[^\s:\[\]\"'`|]++):(?P<line>\d+): +"
)
# ...IndexKernel.cu:94: operator(): block:
_FILE = lazy_re(_PLACE + rb"(?:(?P<function>(?:(?!:\d+: ).)*?): )?(?:block|global id):\s*$")
# what ends a place
_LINE_NUMBER = lazy_re(rb":\d+: ")
# ...IndexKernel.hip:93: operator()
_HIP_FILE = lazy_re(_PLACE + rb"(?P<function>(?:(?!:\d+: ).)*)$")
# : Device-side assertion `index < sizes[i] && "index out of bounds"' failed.
_HIP = lazy_re(rb": Device-side assertion `(?P<condition>.*?)' failed\b")
# what PYTORCH_USE_CUDA_DSA=1 reports:
#   GPU assertion failure message = i != i
#   File containing assertion = /pytorch/c10/cuda/test/impl/CUDAAssertionsTest_1_var_test.cu:26
_FILE_KEY, _FUNCTION_KEY = b"File containing assertion", b"Device function containing assertion"
_BLOCK_KEY = b"Block ID that failed assertion"
_REPORT_KEYS = (_FILE_KEY, _FUNCTION_KEY, b"Thread ID that failed assertion", _BLOCK_KEY)
_REPORT_FIELD = lazy_re(rb"^\s*(?P<key>" + b"|".join(_REPORT_KEYS) + rb") = (?P<value>.*)$")
_REPORT_PLACE = lazy_re(rb"(?P<file>.+):(?P<line>\d+)\s*$")
_REPORT_BLOCK = lazy_re(rb"\[(-?\d+,-?\d+,-?\d+)\]")
# text that ran into a path:  ...answer/pytorch/aten/src/...
_GLUED = lazy_re(rb"^[\x80-\xff][^/]*?(?=(?:\.\.)?/)")
# device assertion failed: 'index out of bounds: 0 <= tmp4 < 5', in unknown at /tmp/.../c.py:33
_AMD = lazy_re(
    rb"device assertion failed: '(?P<condition>.*?)', in (?P<function>[^\n]*?) at"
    rb" (?P<file>[^\n]+?):(?P<line>\d+)"
)
# the file may be lost where writers overlap:  h unknown: block:
_NO_FILE = lazy_re(rb"(?:block|global id):\s*$")
# ], thread: [64,0,0
_THREADS = lazy_re(rb"(\], (?:thread|local id): \[)-?\d+,-?\d+,-?\d+(?=\])")
# wrapped before the assertion:  Assertion `c` failed.
_WRAPPED = lazy_re(rb"^\s*Assertion (?:failed: )?`")
# .../5e01b7aa9d/rank_3_0/inductor_cache/pg/cpgn.py
_RANK_IN_PATH = lazy_re(rb"[/\\]rank_?(\d{1,5})(?:_\d+)?[/\\]")
#: bytes before the block and after it that belong to a record
_HEAD = 4096
_CONDITION = 4096
#: lines above a wrapped assertion in which its head is looked for
_LINES_ABOVE = 4
_INDEX = lazy_re(r"index out of bounds:\s*(?P<rest>.*)", re.DOTALL)
_LOWER = lazy_re(r"(?P<lower>-?\w+) <= (?P<rest>.*)", re.DOTALL)


class Bounds(msgspec.Struct, frozen=True):
    """The parts of inductor's index check; None where it has no such part."""

    index: str | None
    lower: str | None
    upper: str | None


class _Told(NamedTuple):
    """An assertion but for its condition: who wrote it, where it stands, which block failed."""

    writer: bytes
    file: bytes
    line: int | None
    function: bytes | None
    block: bytes | None = None


def parse(hit: Hit) -> Parsed:
    """One draft for the assertion at this hit; a record without its condition is malformed."""
    column, text = hit.column, hit.line.text
    if amd := _AMD.match(text, column, column + _HEAD + _CONDITION):
        return (_draft(hit, _told(amd, text[:column]), _text(amd["condition"])),)
    if text.startswith(_REPORT, column):
        return _reported(hit, _text(text[column + len(_REPORT) :]))
    if hip := _HIP.match(text, column, column + _CONDITION):
        head = text[max(0, column - _HEAD) : column]
        where = _HIP_FILE.search(head, _from_last_place(head))
        return (_draft(hit, _told(where, head), _text(hip["condition"])),) if where else ()
    return _of_thread(hit, text, column)


def _of_thread(hit: Hit, text: bytes, column: int) -> Parsed:
    """The assertion that names its thread; its head and its condition may be on other lines."""
    thread = _THREAD.match(text, max(0, text.rfind(b"[", 0, column)))
    if thread is None:
        return ()
    head, start = text[max(0, thread.start() - _HEAD) : thread.start()], hit.line.start
    if _NO_FILE.search(head) is None:
        head, start = _wrapped_head(hit)
    where = _FILE.search(head, _from_last_place(head))
    if where is None and _NO_FILE.search(head) is None:
        return ()
    before_file = head[: where.start()] if where else b""
    rest = text[thread.start() : thread.start() + _CONDITION]
    asserted = _asserted(hit, before_file, rest, thread)
    if asserted is None or (not asserted[1] and _repeats(hit, where)):
        return (Malformed(hit.line.start, hit.end, "an assertion without its condition"),)
    draft = _draft(hit, _told(where, head)._replace(block=thread[1]), *asserted)
    # of one whose head stands on the line above, the line alone is no record
    if start == hit.line.start and (run := _run(hit, text, thread)):
        repeats, end = run
        hides = (hit.line.next, end)
        return (draft._replace(repeats=repeats, taken=end, hides=hides),)
    return (draft if start == hit.line.start else draft._replace(start=start, text=head + text),)


def _from_last_place(head: bytes) -> int:
    """From where on the head may hold its last `file:line: ` but no other one."""
    ends = [number.end() for number in _LINE_NUMBER.finditer(head)]
    return ends[-2] if len(ends) > 1 else 0


def _run(hit: Hit, text: bytes, thread: re.Match[bytes]) -> tuple[Repeats, int] | None:
    """The lines right below that differ in nothing but block and thread, and where they end."""
    window, line = hit.window, hit.line
    buffer, begin = window.buffer, line.next
    if line.escaped or len(text) != line.end - line.start or not text.endswith(b"failed."):
        return None
    if sum(map(text.count, ANCHORS)) > 1:  # several writers' on one line
        return None
    before, after = text[: thread.start(1)], text[thread.end(1) :]
    if not buffer.startswith(before, begin) or (threads := _THREADS.match(after)) is None:
        return None
    same = _same_lines(before, threads[1], after[threads.end() :])
    run = same.run(buffer, begin, window.size)
    if run is None or run.end() == begin:
        return None
    whole = bytes(run[0])
    members = same.block.findall(whole)
    last = whole.rfind(b"\n", 0, -1) + 1
    starts = [begin]
    while len(starts) < MAX_REPEATS and (at := whole.find(b"\n", starts[-1] - begin) + 1) <= last:
        starts.append(begin + at)
    repeats = Repeats(len(members), tuple(starts), begin + last, whole[last:-1], set(members))
    return repeats, run.end()


class _Same(NamedTuple):
    """Regexes for lines that are one but for block and thread: many of them, and one's block."""

    run: Callable[[bytearray, int, int], re.Match[bytes] | None]
    block: re.Pattern[bytes]


@lru_cache(64)
def _same_lines(before: bytes, between: bytes, after: bytes) -> _Same:
    head, rest = re.escape(before), re.escape(between) + rb"-?\d+,-?\d+,-?\d+" + re.escape(after)
    block = head + rb"(-?\d+,-?\d+,-?\d+)" + rest + rb"\n"
    many = re.compile(rb"(?:" + block.replace(rb"(-?", rb"(?:-?") + rb")*+")
    return _Same(many.match, re.compile(block))


def _told(where: re.Match[bytes] | None, head: bytes) -> _Told:
    if where is None:
        return _Told(head, b"unknown", 0, None)
    found = where.groupdict()
    line = integer(found["line"])
    return _Told(head[: where.start()], found["file"], line, found.get("function"))


def _reported(hit: Hit, condition: str) -> Parsed:
    """The assertion that torch's own report tells, one `key = value` a line."""
    told: dict[bytes, bytes] = {}
    head = hit.line.text[: hit.column]
    for line in hit.following(len(_REPORT_KEYS)):
        own = strip_head(head, line.text)
        if own is None or (field := _REPORT_FIELD.match(own)) is None:
            break
        told.setdefault(field["key"], field["value"].strip())
    where = _REPORT_PLACE.match(told.get(_FILE_KEY, b""))
    if where is None:
        return (Malformed(hit.line.start, hit.end, "an assertion's report without its place"),)
    block = _REPORT_BLOCK.match(told.get(_BLOCK_KEY, b""))
    place = _Told(
        head,
        where["file"],
        integer(where["line"]),
        told.get(_FUNCTION_KEY),
        block[1] if block else None,
    )
    return (_draft(hit, place, condition),)


def _repeats(hit: Hit, where: re.Match[bytes] | None) -> bool:
    """Whether the line above is an assertion of the same file and line: a cut one adds none."""
    above = hit.window.previous(hit.line)
    return above is not None and where is not None and where[0] in above.text


def _wrapped_head(hit: Hit) -> tuple[bytes, int]:
    """The line above that ends in `block:`, other writers' lines passed over; nothing without."""
    line = hit.line
    own = read_prefix(hit.line.text[: hit.column])
    for _ in range(_LINES_ABOVE):
        before = hit.window.previous(line)
        if before is None:
            break
        if _NO_FILE.search(before.text) and may_be_same_writer(own, before.text):
            return before.text, before.start
        line = before
    return b"", hit.line.start


def _asserted(
    hit: Hit, prefix: bytes, text: bytes, thread: re.Match[bytes]
) -> tuple[str, bool] | None:
    """The text between the backquotes, and whether it is whole; None where there is none."""
    opened = text.find(b"`", 0, thread.end() - thread.start())
    rest = text[opened + 1 :] if opened >= 0 else None
    if rest is not None and b"thread: [" in rest[: _closing(rest)]:
        # another writer's record begins inside the condition
        return _text(rest[: rest.find(b":")]), False
    if rest is not None and (end := _closing(rest)) >= 0:
        return _text(rest[:end]), True
    for line in hit.following(1):
        more = strip_head(prefix, line.text)
        if more is None or (end := _closing(more)) < 0 or b"thread: [" in more[:end]:
            break
        if rest is not None:
            return _text(rest.rstrip() + b" " + more[:end].lstrip()), True
        if wrapped := _WRAPPED.match(more):
            return _text(more[wrapped.end() : end]), True
    return (_text(rest), False) if rest is not None else None


def _closing(rest: bytes) -> int:
    end = rest.find(b"` failed")
    return end if end >= 0 else rest.find(b"`: ")


def _text(raw: bytes) -> str:
    return raw[:2000].decode("utf-8", "replace").strip()


def _draft(hit: Hit, told: _Told, condition: str, complete: bool = True) -> Draft:
    file = told.file
    named = not (told.line == 0 and file.endswith(b"unknown"))
    if glued := _GLUED.match(file):
        file = file[glued.end() :]
    function = told.function
    bounds = read_bounds(condition) if complete else Bounds(None, None, None)
    fields = {
        "file": _text(file) if named else None,
        "line": told.line if named else None,
        "function": _text(function) if function and function != b"unknown" else None,
        "condition": condition,
        "index": bounds.index,
        "lower": bounds.lower,
        "upper": bounds.upper,
    }
    return Draft(
        kind=DeviceAssert,
        fields=fields,
        start=hit.line.start,
        end=hit.end,
        text=hit.line.text,
        prefix=_writer(told.writer, file),
        fold=(fields["file"], fields["line"], fields["function"], condition),
        member=told.block,
    )


def _writer(head: bytes, file: bytes) -> Prefix:
    prefix = read_prefix(head)
    if prefix.rank is None and (match := _RANK_IN_PATH.search(file)):
        return prefix._replace(rank=int(match[1]))
    return prefix


def _split_at_last_less(text: str) -> tuple[str, str]:
    """What stands before and after the last ` < ` that is in no parentheses; before: "" if none."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        if text[at] in ")]":
            depth += 1
        elif text[at] in "([":
            depth -= 1
        elif depth <= 0 and text.startswith(" < ", at):
            return text[:at], text[at + 3 :]
    return "", text


def read_bounds(condition: str) -> Bounds:
    """Index, lower and upper bound of `index out of bounds: 0 <= tmp4 < ks0`.

    Proven halves are dropped by inductor, and a clamp puts a whole expression with `<` in the
    text, so the bound is what follows the last ` < ` outside of parentheses (torch 2.13,
    _inductor/codegen/common.py).
    """
    match = _INDEX.match(condition)
    if match is None:
        return Bounds(None, None, None)
    rest = match["rest"].strip()
    lower = None
    if found := _LOWER.match(rest):
        lower, rest = found["lower"], found["rest"].strip()
    index, upper = _split_at_last_less(rest)
    if not index:
        index, upper = rest.removesuffix("<").strip(), ""
    if index.lstrip("-").isdecimal():
        return Bounds(None, lower or index, None)
    return Bounds(index or None, lower, upper.strip() or None)
