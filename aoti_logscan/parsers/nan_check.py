"""The checks of TORCHINDUCTOR_NAN_ASSERTS in C++ wrappers.

    RuntimeError: At least one NaN in arg3_1

gives a `BadValue`. In AOTI they check graph inputs only. Source: torch 2.13,
csrc/inductor/aoti_torch/utils.h, `aoti_torch_check_inf_and_nan`.
"""

from __future__ import annotations

from aoti_logscan.events import BadValue
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.records import Draft, Parsed

NAME = "nan_check"
ANCHORS = (b"At least one NaN in ", b"At least one INF in ")

_CHECK = lazy_re(rb"At least one (?P<kind>NaN|INF) in (?P<tensor>[A-Za-z_]\w*)")


def parse(hit: Hit) -> Parsed:
    """One draft for the check at this hit."""
    match = _CHECK.match(hit.line.text, hit.column)
    if match is None or is_quotation(hit.line.text, hit.column):
        return ()
    fields = {
        "tensor": match["tensor"].decode(),
        "kernel": None,
        "kind": match["kind"].decode().lower(),
        "told_by": "check",
    }
    return (Draft.of_line(hit, BadValue, fields, hit.column, tuple(fields.values())),)
