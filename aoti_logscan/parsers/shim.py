"""What the C boundary of the AOTI runtime says when a call fails.

    [E614 07:41:55.220417833 shim_common.cpp:311] Exception in aoti_torch: The specified pointer ...
    Error: aoti_torch_cpu_mm_out(buf1, buf0, arg2_1) API call failed at /tmp/x.wrapper.cpp, line 954
      what():  create_func_( ... ) API call failed at .../model_container_runner.cpp, line 49

give an `ErrorText` and two `ShimFailure`s. Where a call of the model's container failed, the line
`Error: ...` above it holds the reason, whatever it says. Before 2.13 the reason of a failed shim
call stands only in the shim's log line; from 2.13 it is in the exception. Sources: torch 2.13,
torch/headeronly/util/shim_utils.h, `AOTI_TORCH_ERROR_CODE_CHECK`; aoti_runtime/interface.cpp,
`CONVERT_EXCEPTION_TO_ERROR_CODE` (`Error: `); torch 2.10, aoti_torch/utils.h (the log line, from
`shim_common.cpp`, `c_shim_cpu.cpp` and the like); csrc/stable/macros.h.
"""

from __future__ import annotations

import re

from aoti_logscan.events import ErrorText, ShimFailure
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import may_be_same_writer, read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "shim"
ANCHORS = (
    b" API call failed at ",
    b"Exception in aoti_torch: ",
    b"Exception across libtorch C API boundary: ",
    b"The model did not finish successfully. Error: ",
    b"Cannot find constants ",
    b"Constant not found: ",
    b" but received ",
    b" by zero",
)

#  API call failed at /tmp/x.wrapper.cpp, line 954
_FAILED = lazy_re(rb" API call failed at (?P<file>[^\n]{1,4096}?), line (?P<line>\d+)")
# aoti_torch_cpu_mm_out   right before the parenthesis that opens the call
_FUNCTION = lazy_re(rb"(?P<function>[A-Za-z_]\w*)$")
#: bytes of a call's text
_CALL = 8192
_LOGGED = lazy_re(
    rb"(?P<channel>Exception in aoti_torch: |Exception across libtorch C API boundary: "
    rb"|The model did not finish successfully\. Error: )(?P<message>.+)"
)
# Error: Cannot find constants fc1_weight in constants_map!      RuntimeError: Constant not found: x
_CONSTANTS = lazy_re(
    rb"(?P<channel>)(?P<message>(?:Cannot find constants|Constant not found:) [^\s\"'{].*)"
)
# Error: Expected u0 < s17 but received 3       Error: Integer floor division by zero
_ASSERTED = lazy_re(
    rb"\bError: (?P<channel>)(?P<message>Expected [^\n]{1,1000} but received -?\d+"
    rb"|Integer (?:floor division|modulo|modular indexing (?:division|modulo)) by zero)\s*$"
)
# Error: the reason of any exception in the runtime, but for a call that passes another's on
_REASON = lazy_re(
    rb"(?:^|[\s:>\])])Error: (?P<channel>)(?P<message>(?![^\n]* API call failed at )[^\s].*)$"
)
# run_func_( container_handle_, ...) API call failed
_CONTAINER = lazy_re(rb"^\w+_func_$")
#: lines above a container's failed call in which the runtime's reason stands
_REASON_ABOVE = 4


def parse(hit: Hit) -> Parsed:
    """One draft for the failed call or the logged exception at this hit."""
    text = hit.line.text
    if match := _LOGGED.match(text, hit.column):
        boundary = match["channel"].startswith(b"Exception across")
        return (_logged(hit, match, "shim-boundary" if boundary else "shim-log"),)
    if match := _CONSTANTS.match(text, hit.column):
        return () if is_quotation(text, match.start()) else (_logged(hit, match, "error-line"),)
    if match := _ASSERTED.search(text, max(0, hit.column - _CALL)):
        return () if is_quotation(text, match.start()) else (_logged(hit, match, "runtime"),)
    if match := _FAILED.match(text, hit.column):
        begin = max(0, match.start() - _CALL)
        called = _called(text[begin : match.start()])
        if called is not None and not is_quotation(text, begin + called[0]):
            failed = _failed(hit, match, begin + called[0], called[1])
            reason = _reason(hit) if _CONTAINER.match(called[1]) else None
            return (failed, reason) if reason else (failed,)
    return ()


def _reason(hit: Hit) -> Draft | None:
    """What the runtime said above of the exception that a container's call returns."""
    line, own = hit.line, read_prefix(hit.line.text[: hit.column])
    for _ in range(_REASON_ABOVE):
        above = hit.window.previous(line)
        if above is None:
            return None
        match = _REASON.search(above.text)
        if match and may_be_same_writer(own, above.text):
            message = match["message"][:2000].decode("utf-8", "replace").strip()
            prefix = read_prefix(above.text[: match.start()])
            fields = {"channel": "runtime", "message": message}
            fold = ("runtime", message)
            return Draft(ErrorText, fields, above.start, above.end, above.text, prefix, fold)
        line = above
    return None


def _called(text: bytes) -> tuple[int, bytes] | None:
    """Where the call that a text ends in begins, and its function; None where that is cut off."""
    if not text.endswith(b")"):
        return None
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {0x29: 1, 0x28: -1}.get(text[at], 0)
        if depth == 0:
            name = _FUNCTION.search(text[max(0, at - 200) : at])
            return (at - len(name["function"]), name["function"]) if name else None
    return None


def _logged(hit: Hit, match: re.Match[bytes], channel: str) -> Draft:
    message = match["message"][:2000].decode("utf-8", "replace").strip()
    return Draft.of_line(
        hit,
        ErrorText,
        {"channel": channel, "message": message},
        match.start(),
        (match["channel"], message),
    )


def _failed(hit: Hit, match: re.Match[bytes], begin: int, function: bytes) -> Draft:
    whole = hit.line.text[begin : match.start()]
    fields = {
        "function": function.decode(),
        "call": whole[:2000].decode("utf-8", "replace"),
        "file": match["file"].decode("utf-8", "replace"),
        "line": integer(match["line"]),
    }
    return Draft.of_line(hit, ShimFailure, fields, begin, tuple(fields.values()))
