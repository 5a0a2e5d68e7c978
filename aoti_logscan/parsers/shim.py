"""What the C boundary of the AOTI runtime says when a call fails.

    [E614 07:41:55.220417833 shim_common.cpp:311] Exception in aoti_torch: The specified pointer ...
    Error: aoti_torch_cpu_mm_out(buf1, buf0, arg2_1) API call failed at /tmp/x.wrapper.cpp, line 954
      what():  create_func_( ... ) API call failed at .../model_container_runner.cpp, line 49

give an `ErrorText` and two `ShimFailure`s. Before 2.13 the reason stands only in the shim's log
line; from 2.13 it is in the exception. Sources: torch 2.13,
torch/headeronly/util/shim_utils.h, `AOTI_TORCH_ERROR_CODE_CHECK`; aoti_runtime/interface.cpp,
`CONVERT_EXCEPTION_TO_ERROR_CODE` (`Error: `); torch 2.10, aoti_torch/utils.h (the log line, from
`shim_common.cpp`, `c_shim_cpu.cpp` and the like); csrc/stable/macros.h.
"""

from __future__ import annotations

import re

from aoti_logscan.events import ErrorText, ShimFailure
from aoti_logscan.lines import Hit
from aoti_logscan.prefix import read_prefix
from aoti_logscan.scan import Draft, Parsed

NAME = "shim"
ANCHORS = (
    b" API call failed at ",
    b"Exception in aoti_torch: ",
    b"Exception across libtorch C API boundary: ",
    b"The model did not finish successfully. Error: ",
)

#  API call failed at /tmp/x.wrapper.cpp, line 954
_FAILED = re.compile(rb" API call failed at (?P<file>[^\n]{1,4096}?), line (?P<line>\d+)")
# aoti_torch_cpu_mm_out(  but not the  what():  before it
_FUNCTION = re.compile(rb"\b(?!what\()(?P<function>[A-Za-z_]\w*)\(")
#: bytes of a call's text
_CALL = 8192
_LOGGED = re.compile(
    rb"(?P<channel>Exception in aoti_torch: |Exception across libtorch C API boundary: "
    rb"|The model did not finish successfully\. Error: )(?P<message>.+)"
)


def parse(hit: Hit) -> Parsed:
    """One draft for the failed call or the logged exception at this hit."""
    text = hit.line.text
    if match := _LOGGED.search(text, max(0, hit.column - 8)):
        return (_logged(hit, match),)
    if match := _FAILED.search(text, max(0, hit.column - 1)):
        call = _FUNCTION.search(text, max(0, match.start() - _CALL), match.start())
        return (_failed(hit, match, call),) if call else ()
    return ()


def _logged(hit: Hit, match: re.Match[bytes]) -> Draft:
    boundary = match["channel"].startswith(b"Exception across")
    message = match["message"][:2000].decode("utf-8", "replace").strip()
    return Draft(
        kind=ErrorText,
        fields={"channel": "shim-boundary" if boundary else "shim-log", "message": message},
        start=hit.line.start,
        end=hit.line.end,
        text=hit.line.text,
        prefix=read_prefix(hit.line.text[: match.start()]),
        fold=(match["channel"], message),
    )


def _failed(hit: Hit, match: re.Match[bytes], call: re.Match[bytes]) -> Draft:
    whole = hit.line.text[call.start() : match.start()]
    fields = {
        "function": call["function"].decode(),
        "call": whole[:2000].decode("utf-8", "replace"),
        "file": match["file"].decode("utf-8", "replace"),
        "line": int(match["line"]),
    }
    return Draft(
        kind=ShimFailure,
        fields=fields,
        start=hit.line.start,
        end=hit.line.end,
        text=hit.line.text,
        prefix=read_prefix(hit.line.text[: call.start()]),
        fold=tuple(fields.values()),
    )
