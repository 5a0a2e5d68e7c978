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
skipped. The Python wrapper prints `inductor: before_launch - extern_kernels.mm - buf0`. Sources:
torch 2.13, _inductor/codegen/debug_utils.py; aoti_torch/shim_common.cpp,
`aoti_torch_print_tensor_handle` and `aoti_torch_save_tensor_handle`. All of it is C stdio (or
Python's print) on stdout.
"""

from __future__ import annotations

import math
import re
from typing import Any, Literal

from aoti_logscan.events import Event, LaunchMark, ModelInput, SavedTensor, Values
from aoti_logscan.lines import Hit, IncompleteError, strip_head
from aoti_logscan.prefix import read_prefix
from aoti_logscan.scan import Draft, Parsed

NAME = "intermediate_printer"
ANCHORS = (
    b" before_launch",
    b" after_launch",
    b" aoti_model_inputs - ",
    b"aoti_torch_save_tensor_handle: Saved tensor to ",
)

# [ before_launch: cpp_fused_mul_sin_0 ]
_NAMED = re.compile(rb"\[ (?P<phase>before|after)_launch: (?P<kernel>[^\s\[\]]{1,1000}) \]")
# [  before_launch - triton_per_fused_sum_0 - s77: 100  ]
_NUMBER = re.compile(
    rb"\[  (?P<phase>before|after)_launch - (?P<kernel>[^\s\[\]]{1,1000}) - "
    rb"(?P<argument>[^\[\]]{1,1000}?): (?P<number>-?\d{1,40})  \]"
)
# [  before_launch - cpp_fused_mul_sin_0 - buf0  ]:
_TENSOR = re.compile(
    rb"\[  (?P<phase>before|after)_launch - (?P<kernel>[^\s\[\]]{1,1000}) - "
    rb"(?P<argument>[^\[\]]{1,1000}?)  \]:"
)
# [  aoti_model_inputs - arg2_1  ]:
_INPUT = re.compile(rb"\[  aoti_model_inputs - (?P<argument>[^\[\]]{1,1000}?)  \]:")
# inductor: before_launch - extern_kernels.mm - buf0
_PYTHON = re.compile(
    rb"inductor: (?P<phase>before|after)_launch - (?P<kernel>\S{1,1000}) - "
    rb"(?P<argument>[^\n]{1,1000})$"
)
# aoti_torch_save_tensor_handle: Saved tensor to /x/tmp/aoti_torchbefore_launch_K_buf0_cpu.pt
_SAVED = re.compile(
    rb"Saved tensor to (?P<path>[^\n]*?(?P<phase>before|after)_launch_(?P<names>[^/\n]+)\.pt)"
)
# the block below a head, from the first statistic on; the values before it are skipped
_BLOCK = re.compile(
    rb"(?:(?!\[  |inductor: |Number of )[^\n]*\n){0,300}?"
    rb"Number of elements: {1,2}(?P<numel>\d+)\n"
    rb"(?P<rest>(?:[A-Z][\w ]{2,20}: {1,2}[^\n]*\n){0,12})"
)
_STATISTIC = re.compile(rb"^(?P<name>[A-Z][\w ]{2,20}): {1,2}(?P<value>.*)$", re.MULTILINE)
_INTEGERS = re.compile(rb"-?\d+")
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
#: bytes below a head in which its statistics stand (at most 64 values of a wide type are printed)
_BLOCK_BYTES = 16 << 10
_BLOCK_LINES = 100
_NEEDS_CLEANING = (bytearray(b"\x1b"), bytearray(b"\r"))


def parse(hit: Hit) -> Parsed:
    """One draft for the mark at this hit; nothing where it is the code that prints it."""
    text, column = hit.line.text, hit.column
    before = max(0, column - 9)
    if (match := _NAMED.search(text, before)) and match.start() == column - 1:
        return _mark(hit, match, 3, None) if _is_printed(text, match) else ()
    for pattern in (_NUMBER, _TENSOR, _INPUT, _PYTHON):
        match = pattern.search(text, before)
        if match and match.start() <= column:
            return _detailed(hit, pattern, match)
    return _saved(hit)


def _is_printed(text: bytes, match: re.Match[bytes]) -> bool:
    return text[match.start() - 1 : match.start()] not in (b'"', b"'", b"`")


def _detailed(hit: Hit, pattern: re.Pattern[bytes], match: re.Match[bytes]) -> Parsed:
    if not _is_printed(hit.line.text, match):
        return ()
    if pattern is _NUMBER:
        number = float(match["number"])
        told = Values(numel=1, min=number, max=number, mean=number, nan=False, inf=False)
        return _mark(hit, match, 2, told)
    values, end = _values(hit, hit.line.text[: match.start()])
    if pattern is _INPUT:
        name = match["argument"].decode("utf-8", "replace")
        return (_draft(hit, ModelInput, {"name": name, "values": values}, match, end),)
    return _mark(hit, match, 2, values, end)


def _mark(
    hit: Hit,
    match: re.Match[bytes],
    level: Literal[2, 3],
    values: Values | None,
    end: int | None = None,
) -> Parsed:
    argument = match.groupdict().get("argument")
    fields = {
        "phase": match["phase"].decode(),
        "kernel": match["kernel"].decode("utf-8", "replace"),
        "level": level,
        "argument": argument.decode("utf-8", "replace").strip() if argument else None,
        "values": values,
    }
    return (_draft(hit, LaunchMark, fields, match, end),)


def _saved(hit: Hit) -> Parsed:
    match = _SAVED.search(hit.line.text, hit.column)
    if match is None:
        return ()
    fields = {
        "path": match["path"].decode("utf-8", "replace"),
        "phase": match["phase"].decode(),
        "names": match["names"].decode("utf-8", "replace"),
    }
    return (_draft(hit, SavedTensor, fields, match, None),)


def _draft(
    hit: Hit, kind: type[Event], fields: dict[str, Any], match: re.Match[bytes], end: int | None
) -> Draft:
    return Draft(
        kind=kind,
        fields=fields,
        start=hit.line.start,
        end=hit.line.end if end is None else end,
        taken=hit.end if end is None else end,
        text=match[0],
        prefix=read_prefix(hit.line.text[: match.start()]),
    )


def _values(hit: Hit, head: bytes) -> tuple[Values | None, int]:
    """The statistics below a head, and where they end; None where the block is cut off."""
    window, start = hit.window, hit.line.next
    if not window.final and window.size - start < _BLOCK_BYTES:
        raise IncompleteError
    if head or hit.line.escaped or window.buffer[start : start + 1] in _NEEDS_CLEANING:
        block, end = _stripped(hit, head)
        match = _BLOCK.match(block)
        return (_statistics(match), end) if match else (None, hit.line.end)
    match = _BLOCK.match(window.buffer, start, min(window.size, start + _BLOCK_BYTES))
    return (_statistics(match), match.end()) if match else (None, hit.line.end)


def _stripped(hit: Hit, head: bytes) -> tuple[bytes, int]:
    """The lines below without their prefix, and where the last of them ends."""
    lines, end = [], hit.line.end
    for line in hit.following(_BLOCK_LINES):
        own = strip_head(head, line.text)
        if own is None:
            continue
        if not own.strip() or own.startswith((b"[  ", b"inductor: ")):
            break
        lines.append(own + b"\n")
        end = line.end
    return b"".join(lines), end


def _statistics(match: re.Match[bytes]) -> Values:
    told = {found["name"]: found["value"] for found in _STATISTIC.finditer(match["rest"])}
    numbers = [
        _number(told.get(python) or told.get(cpp))
        for python, cpp in (
            (b"Min", b"Min value"),
            (b"Max", b"Max value"),
            (b"Mean", b"Mean value"),
        )
    ]
    printed = [number for number in numbers if number is not None]
    least, most, mean = (
        number if number is not None and math.isfinite(number) else None for number in numbers
    )
    return Values(
        dtype=_dtype(told.get(b"Dtype")),
        device=_word(told.get(b"Device")),
        size=_integers(told.get(b"Size")),
        stride=_integers(told.get(b"Stride")),
        numel=int(match["numel"][:18]),
        min=least,
        max=most,
        mean=mean,
        nan=any(map(math.isnan, printed)) if printed else None,
        inf=any(map(math.isinf, printed)) if printed else None,
    )


def _number(raw: bytes | None) -> float | None:
    try:
        return float(raw) if raw else None
    except ValueError:
        return None


def _word(raw: bytes | None) -> str | None:
    return raw.decode("utf-8", "replace").strip() if raw else None


def _dtype(raw: bytes | None) -> str | None:
    """`int64` for `long int`; other names are torch's own."""
    name = _word(raw)
    return None if name is None else _DTYPES.get(name, name.removeprefix("torch."))


def _integers(raw: bytes | None) -> tuple[int, ...] | None:
    if raw is None:
        return None
    return tuple(int(digits) for digits in _INTEGERS.findall(raw) if len(digits) < 19)
