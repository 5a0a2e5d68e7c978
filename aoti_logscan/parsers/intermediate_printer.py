r"""AOTInductor's intermediate value printer: which kernel was launched, with which values.

    [ before_launch: cpp_fused_mul_sin_0 ]
    [  before_launch - cpp_fused_mul_sin_0 - buf0  ]:
    Number of elements: 64
    Dtype: float32
    ...
    [  before_launch - triton_per_fused_sum_0 - s77: 100  ]\n[  before_launch - ...

give a `LaunchMark` each: level 3 names, level 2 a block for a tensor, and a number (these end in a
literal backslash and n, so several share a line). `aoti_model_inputs` blocks give a `ModelInput`,
level 1's `Saved tensor to` lines a `SavedTensor`. The values between head and statistics are
skipped. Where the log ends inside a block or its head, a `PrinterCut` says so. The Python wrapper
prints `inductor: before_launch - extern_kernels.mm - buf0`. Sources:
torch 2.13, _inductor/codegen/debug_utils.py; aoti_torch/shim_common.cpp,
`aoti_torch_print_tensor_handle` and `aoti_torch_save_tensor_handle`. All of it is C stdio (or
Python's print) on stdout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Literal

from aoti_logscan.events import (
    Event,
    LaunchMark,
    ModelInput,
    PrinterCut,
    SavedTensor,
    Values,
)
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, IncompleteError, strip_head
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.prefix import NOTHING, read_prefix
from aoti_logscan.records import Draft, Malformed, Parsed

NAME = "intermediate_printer"
ANCHORS = (
    b" before_launch",
    b" after_launch",
    b" aoti_model_inputs - ",
    b"aoti_torch_save_tensor_handle: Saved tensor to ",
)

# [ before_launch: cpp_fused_mul_sin_0 ]
_NAMED = lazy_re(rb"\[ (?P<phase>before|after)_launch: (?P<kernel>[^\s\[\]]{1,1000}) \]")
# [  before_launch - triton_per_fused_sum_0 - s77: 100  ]
_NUMBER = lazy_re(
    rb"\[  (?P<phase>before|after)_launch - (?P<kernel>[^\s\[\]]{1,1000}) - "
    rb"(?P<argument>[^\[\]]{1,1000}?): (?P<number>-?\d{1,40})  \]"
)
# [  before_launch - cpp_fused_mul_sin_0 - buf0  ]:
_TENSOR = lazy_re(
    rb"\[  (?P<phase>before|after)_launch - (?P<kernel>[^\s\[\]]{1,1000}) - "
    rb"(?P<argument>[^\[\]]{1,1000}?)  \]:"
)
# [  aoti_model_inputs - arg2_1  ]:
_INPUT = lazy_re(rb"\[  aoti_model_inputs - (?P<argument>[^\[\]]{1,1000}?)  \]:")
# inductor: before_launch - extern_kernels.mm - buf0
_PYTHON = lazy_re(
    rb"inductor: (?P<phase>before|after)_launch - (?P<kernel>\S{1,1000}) - "
    rb"(?P<argument>[^\n]{1,1000})$"
)
# numbers that share the line with a tensor's head
_NUMBERS_BEFORE = lazy_re(
    rb"(?:\[  (?:before|after)_launch - [^\[\]]{1,2000}?: -?\d{1,40}  \](?:\\n)?)+$"
)
# aoti_torch_save_tensor_handle: Saved tensor to /x/tmp/aoti_torchbefore_launch_K_buf0_cpu.pt
_SAVED = lazy_re(
    rb"Saved tensor to (?P<path>[^\n]*?(?P<phase>before|after)_launch_(?P<names>[^/\n]+)\.pt)"
)
# one statistic; of complex numbers a remark and the values come in between
_STATISTICS = (
    rb"[A-Z][\w ]{2,20}: {1,2}[^\n]*\n"
    rb"|\[INFO\] Aten built-in function[^\n]*\n(?:(?!Device: )[^\n]*\n){0,300}?(?=Device: )"
)
# all of them as torch prints them, which is told faster than any of them in any order
_IN_ORDER = (
    b"".join(
        name + rb": {1,2}[^\n]*\n"
        for name in (
            *(b"Dtype", b"Mean value", b"Min value", b"Max value", b"Device", b"Size", b"Stride"),
            *(b"Layout", b"Is contiguous", b"Requires grad"),
        )
    )
    + rb"(?=\n)"
)
# the block below a head, from the first statistic on; the values before it are skipped
_BLOCK = lazy_re(
    rb"(?:(?!\[  |inductor: |Number of )[^\n]*\n){0,300}?"
    rb"(?P<told>Number of elements: {1,2}\d+\r?\n(?:" + _STATISTICS + rb"){0,12})"
)
# one mark of an unprefixed dump, whole: a name, or a head with its block, and blank lines
_MARK = lazy_re(
    rb"(?P<head>\[ (?P<phase>before|after)_launch: (?P<named>[^\s\[\]]{1,1000}) \])\r?\n"
    rb"|(?P<header>\[  (?:(?P<launch>before|after)_launch - (?P<kernel>[^\s\[\]]{1,1000}) - "
    rb"(?P<argument>[^\[\]\n]{1,1000}?)|aoti_model_inputs - (?P<input>[^\[\]\n]{1,1000}?))  \]:)"
    rb"\r?\n"
    rb"(?:(?!\[  |inductor: |Number of )[^\n]*\n){0,300}?"
    rb"(?P<told>Number of elements: {1,2}\d+\r?\n(?:"
    + _IN_ORDER
    + rb"|(?:"
    + _STATISTICS
    + rb"){0,12}))"
    rb"(?:\r?\n)?"
)
_STATISTIC = lazy_re(
    rb"^(?P<name>Number of elements|Dtype|Mean|Min|Max|Device|Size|Stride)(?: value)?: {1,2}"
    rb"(?P<value>.*)$",
    re.MULTILINE,
)
_NAMES = (
    *(b"Number of elements", b"Dtype", b"Mean", b"Min", b"Max"),
    *(b"Device", b"Size", b"Stride"),
)
# all of them as torch prints them
_ALL_STATISTICS = lazy_re(
    rb"Number of elements: {1,2}(\d+)\nDtype: {1,2}([^\r\n]*)\nMean value: {1,2}([^\r\n]*)\n"
    rb"Min value: {1,2}([^\r\n]*)\nMax value: {1,2}([^\r\n]*)\nDevice: {1,2}([^\r\n]*)\n"
    rb"Size: {1,2}([^\r\n]*)\nStride: {1,2}([^\r\n]*)\n"
)
_INTEGERS = lazy_re(rb"-?\d+")
_DTYPES = {
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "double": "float64",
    "float": "float32",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
}
# nothing behind a mark but another one, or the end of a stored line
_ENDS_LINE = lazy_re(rb"\s*(?:$|\[ |[\"'],?|\\n)")
_SENTENCE = lazy_re(rb"[a-z] $")
# [  before_launch - cpp_fused_mul_0 - bu      a head that the log ends in
_HEAD_CUT = lazy_re(
    rb"(?:\[ {1,2}(?:(?:before|after)_launch|aoti_model_inputs)"
    rb"|inductor: (?:before|after)_launch)[^\[\]\n]{0,2000}\]?$"
)
# before_launch - cpp_fused_mul_0 - buf0      what a block's head names
_BLOCK_HEAD = lazy_re(rb"(?:\[  (?P<aoti>[^\[\]\n]+)  \]:|inductor: (?P<python>[^\n]+))$")
# Requires grad: 0     Std:  0.59     Value:  12      the last line of a block
_LAST_OF_BLOCK = lazy_re(rb"Requires grad: \d|(?:Std|Value): {1,2}\S")
# what stands between them:  0.79 -nan   (1,.,.) =   1e-02 *   Columns 1 to 8   [ CPUFloatType{4} ]
# tensor([[0.5, 1.],   Parameter containing:   Dtype: float32
_LINE_OF_BLOCK = lazy_re(
    rb"[-+\d.,()=*einafj\s]*$|Columns \d[^\n]{0,80}$|\[ (?:[A-Z]\w*(?:\{[\d,]*\}?)?(?: \]?)?)?$"
    rb"|(?:Number of elements|Dtype|(?:Mean|Min|Max)(?: value)?|Std|Value|Device|Size|Stride|Layout"
    rb"|Is contiguous|Requires grad):[^\n]*$|\[INFO\] Aten built-in function"
    rb"|tensor\(|\s+(?:\[|\.\.\.|[a-z_]+(?:=|$))|Parameter containing:$"
)
#: words that a line of a block begins with, of which a cut may leave a part
_BEGINS_LINE = (
    *(b"Number of elements:", b"Dtype:", b"Mean value:", b"Min value:", b"Max value:", b"Device:"),
    *(b"Size:", b"Stride:", b"Layout:", b"Is contiguous:", b"Requires grad:", b"Std:", b"Value:"),
    *(b"Mean:", b"Min:", b"Max:", b"Columns ", b"[INFO] Aten built-in function"),
    *(b"tensor(", b"Parameter containing:"),
)
# ","stream":"stdout"}      what a stored line has behind its text
_REST_OF_STORED = lazy_re(rb"[\"'](?:,|\}|\s*$)")
#: bytes below a head in which its statistics stand (at most 64 values of a wide type are printed)
_BLOCK_BYTES = 16 << 10
_BLOCK_LINES = 320
#: bytes of a head from its anchor on
_HEAD_BYTES = 2200
#: bytes of a path, with the words before it
_PATH_BYTES = 4200
_NEEDS_CLEANING = (bytearray(b"\x1b"), bytearray(b"\r"))


def parse(hit: Hit) -> Parsed:
    """The drafts of the mark at this hit and of those that follow it line by line.

    Nothing where it is the code that prints a mark.
    """
    drafts = _run(hit) or _single(hit)
    return [*drafts, *_cut(hit, drafts)] if hit.window.final else drafts


def _run(hit: Hit) -> list[Draft]:
    """Marks of an unprefixed dump, one right below the other, read without a look at each line."""
    window = hit.window
    buffer, size = window.buffer, window.size
    position = buffer.rfind(b"\n", 0, hit.start) + 1
    if position == 0 and window.base > 0:
        return []
    drafts: list[Draft] = []
    if not window.final and size - position < _BLOCK_BYTES and buffer.startswith(b"[ ", position):
        raise IncompleteError
    while window.final or size - position >= _BLOCK_BYTES:
        match = _MARK.match(buffer, position, min(size, position + _BLOCK_BYTES))
        # a longer one is read by itself, whatever of it the window holds
        if match is None or match.end() - position > _BLOCK_BYTES // 2:
            break
        drafts.append(_in_run(match))
        position = match.end()
    return drafts


def _in_run(match: re.Match[bytes]) -> Draft:
    """A mark of a run; what it tells is read when its event is made, if it is."""
    start, taken = match.span()
    head = match.end("head")
    whole = bytes(match[0])
    if head >= 0:
        fields = partial(_named_fields, whole)
        text = whole[: head - start]
        return Draft(LaunchMark, fields, start, taken - 1, text, NOTHING, None, None, taken)
    end = match.end("told")
    is_input = match["input"] is not None
    kind: type[Event] = ModelInput if is_input else LaunchMark
    read = _input_of if is_input else _tensor_of
    text = whole[: match.end("header") - start]
    fields = partial(read, whole, end - start)
    return Draft(kind, fields, start, end, text, NOTHING, None, None, taken)


def _named_fields(whole: bytes) -> dict[str, Any]:
    match = _NAMED.match(whole)
    assert match is not None
    return _mark_fields(match["phase"], match["kernel"], 3, None, None)


def _tensor_of(whole: bytes, end: int) -> dict[str, Any]:
    match = _TENSOR.match(whole)
    assert match is not None
    phase, kernel, argument = match.groups()
    return _mark_fields(phase, kernel, 2, argument, _told_in(whole, end))


def _input_of(whole: bytes, end: int) -> dict[str, Any]:
    match = _INPUT.match(whole)
    assert match is not None
    return _input_fields(match["argument"], _told_in(whole, end))


def _told_in(whole: bytes, end: int) -> bytes:
    """The statistics of a mark, which end there."""
    return whole[whole.index(b"\nNumber of elements: ") + 1 : end]


def _single(hit: Hit) -> Parsed:
    """One draft for the mark at this hit, whatever stands around it."""
    text, column = hit.line.text, hit.column
    before = max(0, column - 9)
    if text[column - 1 : column] == b"[" and (match := _NAMED.match(text, column - 1)):
        whole = _ENDS_LINE.match(text, match.end()) is not None
        return _mark(hit, match, 3, None) if whole and _is_printed(hit, match) else ()
    for pattern in (_TENSOR, _NUMBER, _INPUT, _PYTHON):
        match = pattern.search(text, before, column + _HEAD_BYTES)
        if match and match.start() <= column:
            return _detailed(hit, pattern, match)
    return _saved(hit)


def _is_printed(hit: Hit, match: re.Match[bytes]) -> bool:
    """Whether no quote stands before it, but for the one that opens a stored line."""
    before = hit.line.text[match.start() - 1 : match.start()]
    return before not in (b'"', b"'", b"`") or hit.line.escaped


def _detailed(hit: Hit, pattern: re.Pattern[bytes], match: re.Match[bytes]) -> Parsed:
    if not _is_printed(hit, match):
        return ()
    if pattern is _PYTHON and _SENTENCE.search(hit.line.text[: match.start()]):
        return ()
    if pattern is _NUMBER:
        return _mark(hit, match, 2, match["number"])
    told, end = _told(hit, _NUMBERS_BEFORE.sub(b"", hit.line.text[: match.start()]))
    if pattern is _INPUT:
        fields = partial(_input_fields, match["argument"], told)
        return (_draft(hit, ModelInput, fields, match, end),)
    return _mark(hit, match, 2, told, end)


def _mark(
    hit: Hit,
    match: re.Match[bytes],
    level: Literal[2, 3],
    told: bytes | None,
    end: int | None = None,
) -> Parsed:
    argument = match["argument"] if level == 2 else None
    fields = partial(_mark_fields, match["phase"], match["kernel"], level, argument, told)
    return (_draft(hit, LaunchMark, fields, match, end),)


def _mark_fields(
    phase: bytes, kernel: bytes, level: int, argument: bytes | None, told: bytes | None
) -> dict[str, Any]:
    return {
        "phase": _word(phase),
        "kernel": _word(kernel),
        "level": level,
        "argument": _word(argument),
        "values": None if told is None else _statistics(told),
    }


def _input_fields(argument: bytes, told: bytes | None) -> dict[str, Any]:
    return {"name": _word(argument), "values": None if told is None else _statistics(told)}


def _saved(hit: Hit) -> Parsed:
    text, column = hit.line.text, hit.column
    end = text.find(ANCHORS[-1], column + 1, column + _PATH_BYTES)
    match = _SAVED.search(text, column, end if end > 0 else column + _PATH_BYTES)
    if match is None:
        return ()
    fields = {name: _word(match[name]) for name in ("path", "phase", "names")}
    return (_draft(hit, SavedTensor, fields, match, None),)


def _draft(
    hit: Hit,
    kind: type[Event],
    fields: dict[str, Any] | Callable[[], dict[str, Any]],
    match: re.Match[bytes],
    end: int | None,
) -> Draft:
    line = hit.line
    return Draft(
        kind=kind,
        fields=fields,
        start=line.start,
        end=line.end if end is None else end,
        taken=_taken(hit, match, end),
        text=match[0],
        prefix=read_prefix(hit.head(match.start())),
    )


def _taken(hit: Hit, match: re.Match[bytes], end: int | None) -> int:
    """Another writer's mark may stand among the lines of a prefixed block."""
    if end is None:
        return hit.end
    return hit.line.end if match.start() > 0 else end


def _told(hit: Hit, head: bytes) -> tuple[bytes | None, int]:
    """The statistics below a head, and where they end; None where the block is cut off."""
    window, line = hit.window, hit.line
    start = line.next
    if not window.final and window.size - start < _BLOCK_BYTES:
        raise IncompleteError
    if head or line.escaped or window.buffer[start : start + 1] in _NEEDS_CLEANING:
        block, end = _stripped(hit, head)
        match = _BLOCK.match(block)
        return (match["told"], end) if match else (None, line.end)
    match = _BLOCK.match(window.buffer, start, min(window.size, start + _BLOCK_BYTES))
    return (bytes(match["told"]), match.end()) if match else (None, line.end)


def _stripped(hit: Hit, head: bytes) -> tuple[bytes, int]:
    """The lines below without their prefix, and where the last of them ends."""
    lines, end, counted = [], hit.line.end, False
    for line in hit.following(_BLOCK_LINES):
        own = strip_head(head, line.text)
        if own is None:
            continue
        if own.startswith((b"[  ", b"inductor: ")):
            break
        if own.startswith(b"Number of elements: "):
            counted = True
        elif counted and not own.strip():
            break
        lines.append(own + b"\n")
        end = line.end
    return b"".join(lines), end


def _cut(hit: Hit, drafts: Sequence[Draft | Malformed]) -> list[Draft]:
    """A draft that says so, where the log ends inside the last of these marks."""
    if not drafts:
        return _cut_head(hit)
    last = drafts[-1]
    if not isinstance(last, Draft) or hit.window.size - last.start > _BLOCK_BYTES:
        return []
    head = _BLOCK_HEAD.match(last.text)
    if head is None or not _ends_inside(_rest(hit, last)):
        return []
    fields = {"mark": _word(head["aoti"] or head["python"])}
    return [last._replace(kind=PrinterCut, fields=fields)]


def _cut_head(hit: Hit) -> list[Draft]:
    """A draft that says so, where the log ends inside the head at this hit."""
    line, window = hit.line, hit.window
    if line.escaped or line.end < window.size or window.buffer[window.size - 1] == 0x0A:
        return []
    match = _HEAD_CUT.search(line.text, max(0, hit.column - 9))
    if match is None or match.start() > hit.column or not _is_printed(hit, match):
        return []
    if match[0].startswith(b"i") and _SENTENCE.search(line.text[: match.start()]):
        return []
    return [_draft(hit, PrinterCut, {"mark": None}, match, None)]


def _rest(hit: Hit, last: Draft) -> Iterator[bytes | None]:
    """The lines below a head to the end of the log; None for one of another writer."""
    window = hit.window
    line = window.line_at(last.start) if last.start > hit.start else hit.line
    head = _NUMBERS_BEFORE.sub(b"", line.text[: max(0, line.text.find(last.text))])
    for below in window.following(line, _BLOCK_BYTES):
        own = strip_head(head, below.text)
        of_stored = below.escaped and _REST_OF_STORED.match(below.text) is not None
        if own is not None or (below.text.strip() and not of_stored):
            yield own


def _ends_inside(below: Iterator[bytes | None]) -> bool:
    """Whether the lines below a head, to the end of the log, are a block without its end."""
    is_empty = False
    for line in below:
        if line is None or _LAST_OF_BLOCK.match(line) or not _is_of_block(line):
            return False
        is_empty = is_empty or line == b"Number of elements:  0"
        if is_empty and line.startswith(b"Dtype:  torch."):
            return False  # Python prints no more of a tensor without elements
    return True


def _is_of_block(line: bytes) -> bool:
    return _LINE_OF_BLOCK.match(line) is not None or (
        any(words.startswith(line) for words in _BEGINS_LINE)
    )


def _statistics(told: bytes) -> Values:
    """The values of a block; of a plain number (`12`) those of a tensor of one element."""
    if told.lstrip(b"-").isdigit():
        number = float(told)
        return Values(numel=1, min=number, max=number, mean=number, nan=False, inf=False)
    found = _ALL_STATISTICS.match(told)
    elements, dtype, *raw, device, size, stride = found.groups() if found else _one_by_one(told)
    numbers = [_number(one) for one in raw]
    printed = [number for number in numbers if number is not None]
    mean, least, most = (
        number if number is not None and math.isfinite(number) else None for number in numbers
    )
    return Values(
        dtype=_dtype(dtype),
        device=_word(device),
        size=_integers(size),
        stride=_integers(stride),
        numel=integer(elements),
        min=least,
        max=most,
        mean=mean,
        nan=any(map(math.isnan, printed)) if printed else None,
        inf=any(map(math.isinf, printed)) if printed else None,
    )


def _one_by_one(told: bytes) -> tuple[bytes | None, ...]:
    """The statistics by their names, in whatever order they were printed."""
    found = {match["name"]: match["value"] for match in _STATISTIC.finditer(told)}
    return tuple(map(found.get, _NAMES))


def _number(raw: bytes | None) -> float | None:
    try:
        return float(raw) if raw else None
    except ValueError:
        return None


@lru_cache(4096)
def _word(raw: bytes | None) -> str | None:
    """The text of a name; names repeat, so each is made once."""
    return raw.decode("utf-8", "replace").strip() if raw else None


@lru_cache(64)
def _dtype(raw: bytes | None) -> str | None:
    """`int64` for `long int`; other names are torch's own."""
    name = _word(raw)
    if name is None:
        return None
    return _DTYPES.get(name) or name.removeprefix("torch.").removeprefix("c10::").lower()


@lru_cache(4096)
def _integers(raw: bytes | None) -> tuple[int, ...] | None:
    if raw is None:
        return None
    return tuple(int(digits) for digits in _INTEGERS.findall(raw) if len(digits) < 19)
