"""A model's refusal of an input, in every form that the AOTI runtime and export have.

    Error: input_handles[0]: unmatched dim value at 1, expected: 16, but got: 17

gives one `InputCheck`. Sources: torch 2.13, _inductor/codegen/cpp_wrapper_cpu.py,
`codegen_input_*_check` (AOTI_RUNTIME_CHECK_INPUTS); aoti_runtime/interface.cpp, the number of
inputs; aoti_runtime/utils.h and _dynamo/guards.cpp, `assert_size_stride` (what was got stands left,
what was expected right; the op on the next line); _export/utils.py,
`_check_input_constraints_for_graph`. The device check prints its number twice: `11(cuda)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aoti_logscan.events import InputCheck
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.parsers.scalar_types import device_name, dtype_name
from aoti_logscan.prefix import may_be_same_writer, read_prefix
from aoti_logscan.records import Draft, Malformed, Parsed

NAME = "input_check"
ANCHORS = (
    b"input_handles[",
    b"vector size to be ",
    b"expected ndim ",
    b"expected size ",
    b"wrong number of dimensions",
    b"Expected input ",
    b"Guard failed: ",
    b"with exported input tree spec",
    b" bytes aligned. Fail due to ",
)

# input_handles[2]: unmatched dtype, expected: 5(at::kHalf), but got: 15
# input_handles[0]: dim value is too large at 0, expected to be <= 64, but got: 100
_HANDLE = lazy_re(
    rb"input_handles\[(?P<input>\d+)\]: (?P<what>unmatched (?:dtype|device type|dim value|stride"
    rb" value)|dim value is too (?:small|large))(?: at (?P<dim>\d+))?, expected(?: it)?"
    rb"(?: to be (?:>=|<=)|:) (?:(?P<expected>-?\d+)(?=[(,])(?:\((?P<name>[\w:]+)\))?)?"
    rb"(?:, but got: (?P<actual>-?\d+))?"
)
# expected inputs vector size to be 2, but got 1
_COUNT = lazy_re(
    rb"expected input(?:s| handles) vector size to be (?P<expected>\d+), but got (?P<actual>\d+)"
)
# expected ndim 2 but got 3
_RANK = lazy_re(rb"expected ndim (?P<expected>\d+) but got (?P<actual>\d+)")
# expected size 4==5, stride 1==1 at dim=0; expected size 8==8, stride 1==5 at dim=1
_SIZE_STRIDE = lazy_re(
    rb"expected size (?P<size>-?\d+)==(?P<want>-?\d+), stride (?P<stride>-?\d+)==(?P<wanted>-?\d+)"
    rb" at dim=(?P<dim>\d+)"
)
# wrong number of dimensions2 for op: input     (the rank that was got is glued on; older: nothing)
_GLUED_RANK = lazy_re(
    rb"wrong number of dimensions(?P<actual>\d+)?(?: for op: (?P<op>[^\s\"'\\]+))?(?=[\s\"'\\]*$)"
)
# Expect the tensor to be 16 bytes aligned. Fail due to storage_offset=1 itemsize=4
_ALIGNMENT = lazy_re(rb"Expect the tensor to be (?P<expected>\d+) bytes aligned\. Fail due to ")
# Error in op: input
_OP = lazy_re(rb"Error in op: (?P<op>[^\s\"'\\]+)")
# Expected input at *args[0].shape[1] to be equal to 16, but got 17
# Expected input at *args[0].shape[0] to be >= 4, but got 3
_EXPORT = lazy_re(
    rb"Expected input at (?P<path>[^,\n]{1,200}?)(?:\.shape\[(?P<dim>\d+)\])? to be"
    rb" (?P<relation>equal to|>=|<=) (?P<expected>[^,\s]+), but got (?P<actual>-?[\w.]+)"
)
# *args[0]   *args.[2].mask
_ARGUMENT = lazy_re(rb"^\*args\.?\[(?P<input>\d+)\](?P<rest>.*)$")
# Guard failed: x.size()[0] == 3
_GUARD = lazy_re(
    rb"Guard failed: (?P<name>[A-Za-z_][\w.\[\]'\"]*)\.size\(\)\[(?P<dim>\d+)\]"
    rb" (?P<relation>==|>=|<=) (?P<expected>\d+(?!\d*[.\w])|[^,\n\"']{1,200})"
)
# Trying to flatten user inputs with exported input tree spec: <spec> but actually got inputs with
# tree spec of: <spec>; a leaf is a `*`
_TREE = lazy_re(rb"user inputs with exported input tree spec")
_TREE_LINES = 200
_TREE_WIDTH = 10_000
#: bytes of a form before its anchor ("expected inputs " before "vector size to be ")
_BEFORE_ANCHOR = 32
#: bytes of a form from its anchor on
_AFTER_ANCHOR = 2000
#: lines below the message in which `assert_size_stride` names its op
_OP_LINES = 3

_PROPERTIES = {
    b"unmatched dtype": "dtype",
    b"unmatched device type": "device",
    b"unmatched dim value": "dim",
    b"unmatched stride value": "stride",
    b"dim value is too small": "dim-lower-bound",
    b"dim value is too large": "dim-upper-bound",
    b"equal to": "dim",
    b"==": "dim",
    b">=": "dim-lower-bound",
    b"<=": "dim-upper-bound",
}


def parse(hit: Hit) -> Parsed:
    """One draft for the check at this hit; nothing where the words are generated code."""
    text, column = hit.line.text, hit.column
    for pattern, read in _FORMS:
        match = pattern.search(text, max(0, column - _BEFORE_ANCHOR), column + _AFTER_ANCHOR)
        if match is None or match.start() > column:
            continue
        if is_quotation(text, match.start()):
            return ()
        fields = read(hit, match)
        if fields is None:
            return (Malformed(hit.line.start, hit.line.end, "an input check without its numbers"),)
        return (_draft(hit, match, fields),)
    return ()


def _draft(hit: Hit, match: re.Match[bytes], fields: dict[str, Any]) -> Draft:
    return Draft.of_line(hit, InputCheck, fields, match.start(), tuple(fields.values()))


def _handle(hit: Hit, match: re.Match[bytes]) -> dict[str, Any] | None:
    prop = _PROPERTIES[match["what"]]
    name = match["name"].decode() if match["name"] else None
    read = {"dtype": _dtype, "device": _device}.get(prop, _number)
    return {
        "check": "handles",
        "property": prop,
        "input": integer(match["input"]),
        "dim": integer(match["dim"]),
        "expected": read(match["expected"], name),
        "actual": read(match["actual"], None),
    }


def _number(digits: bytes | None, _name: str | None) -> int | None:
    return integer(digits)


def _dtype(digits: bytes | None, _name: str | None) -> str | None:
    number = integer(digits)
    return dtype_name(number) if number is not None else None


def _device(digits: bytes | None, name: str | None) -> str | None:
    if name is not None:
        return name
    number = integer(digits)
    return device_name(number) if number is not None else None


def _count(_hit: Hit, match: re.Match[bytes]) -> dict[str, Any]:
    return {
        "check": "count",
        "property": "count",
        "expected": integer(match["expected"]),
        "actual": integer(match["actual"]),
    }


def _rank(hit: Hit, match: re.Match[bytes]) -> dict[str, Any]:
    return {
        "check": "size-stride",
        "property": "rank",
        "expected": integer(match["expected"]),
        "actual": integer(match["actual"]),
        "op": _op(hit),
    }


def _glued_rank(hit: Hit, match: re.Match[bytes]) -> dict[str, Any]:
    op = match["op"]
    return {
        "check": "size-stride",
        "property": "rank",
        "actual": integer(match["actual"]),
        "op": op.decode("utf-8", "replace") if op else _op(hit),
    }


def _alignment(hit: Hit, match: re.Match[bytes]) -> dict[str, Any]:
    """`assert_alignment` names its op on the line before."""
    before = hit.window.previous(hit.line)
    op = _OP.search(before.text) if before else None
    return {
        "check": "size-stride",
        "property": "alignment",
        "expected": integer(match["expected"]),
        "op": op["op"].decode("utf-8", "replace") if op else _op(hit),
    }


def _size_stride(hit: Hit, match: re.Match[bytes]) -> dict[str, Any] | None:
    for found in _SIZE_STRIDE.finditer(hit.line.text, match.start()):
        for prop, got, want in (("dim", "size", "want"), ("stride", "stride", "wanted")):
            if found[got] != found[want]:
                return {
                    "check": "size-stride",
                    "property": prop,
                    "dim": integer(found["dim"]),
                    "expected": integer(found[want]),
                    "actual": integer(found[got]),
                    "op": _op(hit),
                }
    return None


def _op(hit: Hit) -> str | None:
    if match := _OP.search(hit.line.text):
        return match["op"].decode("utf-8", "replace")
    own = read_prefix(hit.head(hit.column))
    for line in hit.following(_OP_LINES):
        if not may_be_same_writer(own, line.text):
            continue
        if match := _OP.search(line.text):
            return match["op"].decode("utf-8", "replace")
        if b"expected size " in line.text or b"Traceback (" in line.text:
            break
    return None


def _export(_hit: Hit, match: re.Match[bytes]) -> dict[str, Any]:
    argument = _ARGUMENT.match(match["path"])
    expected, actual = match["expected"], match["actual"]
    plain = argument is not None and not argument["rest"]
    return {
        "check": "export",
        "property": _PROPERTIES[match["relation"]],
        "input": integer(argument["input"]) if argument and plain else None,
        "name": None if plain else match["path"].decode("utf-8", "replace"),
        "dim": integer(match["dim"]),
        "expected": _integer_or_text(expected),
        "actual": _integer_or_text(actual.rstrip(b".")),
    }


def _guard(_hit: Hit, match: re.Match[bytes]) -> dict[str, Any]:
    return {
        "check": "export",
        "property": _PROPERTIES[match["relation"]],
        "name": match["name"].decode("utf-8", "replace"),
        "dim": integer(match["dim"]),
        "expected": _integer_or_text(match["expected"].strip()),
    }


def _tree(hit: Hit, match: re.Match[bytes]) -> dict[str, Any]:
    """The number of leaves on both sides; None where a spec is cut off or not printed."""
    both = b"\n".join((hit.line.text[match.end() :], *_specs(hit))).split(b"Please check")[0]
    want, found, got = both.partition(b"but actually got")
    counts = (want.count(b"*"), got.count(b"*")) if found else (0, 0)
    return {
        "check": "export",
        "property": "count",
        "expected": counts[0] or None,
        "actual": counts[1] if found else None,
    }


def _specs(hit: Hit) -> Iterator[bytes]:
    """The lines below that print the two specs, as far as they may."""
    for line in hit.following(_TREE_LINES):
        if not line.text or _TREE.search(line.text):
            return
        if len(line.text) < _TREE_WIDTH:
            yield line.text
        if b"Please check" in line.text:
            return


def _integer_or_text(raw: bytes) -> int | str:
    text = raw.decode("utf-8", "replace")
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else text


_FORMS = (
    (_HANDLE, _handle),
    (_COUNT, _count),
    (_RANK, _rank),
    (_SIZE_STRIDE, _size_stride),
    (_GLUED_RANK, _glued_rank),
    (_ALIGNMENT, _alignment),
    (_EXPORT, _export),
    (_GUARD, _guard),
    (_TREE, _tree),
)
