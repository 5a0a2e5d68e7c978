"""Index checks of generated CPU code.

    Error: index out of bounds: 0 <= tmp2 < 10L
    RuntimeError: kernel, /tmp/.../cqjl.main.cpp:26, index out of bounds: 0 <= tmp7 < 10L

give an `IndexCheck` each. The second form (JIT) names function and place itself, and the function
is often the literal `kernel`; for the first they stand in the `Exception raised from` line below.
Bounds are kept as printed. Source: torch 2.13, _inductor/codegen/cpp.py, `indirect_assert`, and
torch/headeronly/util/Exception.h, `STD_TORCH_CHECK`.
"""

from __future__ import annotations

from aoti_logscan.events import IndexCheck
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.device_assert import read_bounds
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.records import Draft, Parsed

NAME = "index_check"
ANCHORS = (b"index out of bounds: ",)

# kernel, /tmp/.../cqjl.main.cpp:26,
_PLACE = lazy_re(rb"(?P<function>\w+), (?P<file>[^\s,][^,\n]*?):(?P<line>\d+), $")
# what stands right before the check's own text:  Error:    what():    or nothing
_SAID = lazy_re(rb"(?:^|: |\s{2}|\n)$")
_TEMPORARY = lazy_re(r"\btmp\d+\b")
# a source line, an assertion of a GPU, a quoted text
_OTHER = (b"`", b'"', b"'")
_AFTER = 600


def parse(hit: Hit) -> Parsed:
    """One draft for the check at this hit; nothing for code, GPU assertions and quotations."""
    text, column = hit.line.text, hit.column
    if text[column - 1 : column] in _OTHER:
        return ()
    place = _PLACE.search(text, max(0, column - 4200), column)
    start = place.start() if place else column
    if is_quotation(text, start):
        return ()
    condition = text[column : column + _AFTER].decode("utf-8", "replace").strip()
    bounds = read_bounds(condition)
    if bounds.index is None or not (place or _SAID.search(text[max(0, column - 16) : column])):
        return ()
    if not _TEMPORARY.search(bounds.index):
        return ()
    function = place["function"].decode() if place else None
    fields = {
        "function": None if function == "kernel" else function,
        "file": place["file"].decode("utf-8", "replace") if place else None,
        "line": integer(place["line"]) if place else None,
        "index": bounds.index,
        "lower": bounds.lower,
        "upper": bounds.upper,
    }
    return (Draft.of_line(hit, IndexCheck, fields, start, tuple(fields.values())),)
