"""C++ stacks and what ends a C++ program.

    Exception raised from make_tensor at aten/src/ATen/Functions.cpp:30 (most recent call first):
    frame #0: c10::Error::Error(...) + 0x80 (0x719d507b14bc in /opt/.../libc10.so)

gives one `CppStack` (also `C++ CapturedTraceback:` with `#4 f from file:line`);

    terminate called after throwing an instance of 'std::runtime_error'
      what():  input_handles[0]: unmatched dtype, ...

a `ProcessDeath` and, for the second line, an `ErrorText`; so does libc++abi's one line

    libc++abi: terminating due to uncaught exception of type std::runtime_error: unmatched dtype

Sources: c10/util/Exception.cpp and Backtrace.cpp; torch/csrc/profiler/unwind; libstdc++'s verbose
terminate handler; libc++abi, cxa_default_handlers.cpp (`demangling_terminate_handler`; once
`terminating with`).
"""

from __future__ import annotations

import re

from aoti_logscan.events import CppStack, ErrorText, Frame, ProcessDeath
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, strip_head
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "cpp_stack"
_RAISED_HEAD = b"Exception raised from "
ANCHORS = (
    _RAISED_HEAD,
    b"C++ CapturedTraceback:",
    b"terminate called ",
    b"libc++abi",
    b"what():  ",
)

# Exception raised from make_tensor at aten/src/ATen/Functions.cpp:30 (most recent call first):
_RAISED = lazy_re(
    rb"Exception raised from (?P<function>.+?) at (?P<file>[^\n]+?):(?P<line>\d+) \(most recent"
)
# frame #3: aoti_torch_create_tensor_from_blob_v2 + 0x1f4 (0x70936fa6312c in /opt/.../libtorch.so)
_FRAME = lazy_re(
    rb"frame #\d+: (?P<function>.+?)(?: \+ 0x[0-9a-f]+)? \(0x[0-9a-f]+ in (?P<file>.+)\)"
)
# #13 torch::aot_inductor::AOTInductorModel::run_impl(...) from /tmp/x.wrapper.cpp:851
_CAPTURED = lazy_re(rb"^\s*#\d+ (?P<function>.+) from (?P<file>.+):(?P<line>\d+)$")
_SOURCE_FILE = lazy_re(rb"\.(?:c|cc|cpp|cxx|cu|h|hpp|py)$")
# terminate called after throwing an instance of 'c10::DistBackendError'
_TERMINATE = lazy_re(
    rb"terminate called (?:after throwing an instance of '(?P<type>[^'\n]+)'"
    rb"|without an active exception|recursively)"
)
# libc++abi: terminating due to uncaught exception of type std::runtime_error: unmatched dtype
# libc++abi.dylib: terminating with uncaught exception of type c10::Error: m
# libc++abi: terminating
_ABI = lazy_re(
    rb"libc\+\+abi(?:\.dylib)?: terminating(?: (?:due to|with) (?:uncaught|unexpected)(?: foreign)?"
    rb" exception(?: of type (?P<type>(?:[^:\n]|:(?! )){1,500})(?:: (?P<message>.*))?)?|\s*$)",
    re.DOTALL,
)
_WHAT = lazy_re(rb"what\(\):  (?P<message>.*)", re.DOTALL)
_ABI_HEAD = b"libc++abi"
_CAPTURED_HEAD = b"C++ CapturedTraceback:"
_LINES = 160
_FRAMES = 64
_GAPS = 4


def parse(hit: Hit) -> Parsed:
    """One draft for the stack, the terminate line or the `what()` at this hit."""
    text, column = hit.line.text, hit.column
    if match := _TERMINATE.match(text, column):
        return _terminated(hit, match)
    if text.startswith(_ABI_HEAD, column):
        match = _ABI.match(text, column)
        return () if match is None or is_quotation(text, column) else _terminated(hit, match)
    if (match := _WHAT.match(text, column)) is not None:
        if text[column - 1 : column] in (b'"', b"'"):
            return ()
        message = match["message"][:2000].decode("utf-8", "replace").strip()
        return (_draft(ErrorText, {"channel": "what", "message": message}, hit, hit.line.end),)
    return _stack(hit)


def _draft(
    kind: type[CppStack | ErrorText | ProcessDeath], fields: dict[str, object], hit: Hit, end: int
) -> Draft:
    return Draft(
        kind=kind,
        fields=fields,
        start=hit.line.start,
        end=end,
        text=hit.line.text,
        prefix=read_prefix(hit.head(hit.column)),
    )


def _terminated(hit: Hit, match: re.Match[bytes]) -> Parsed:
    """The death by an exception that nothing caught, and what it said where that is beside it."""
    kind = match["type"].decode("utf-8", "replace").strip() if match["type"] else None
    fields: dict[str, object] = {"told_by": "terminate", "signal": "SIGABRT", "exception": kind}
    death = _draft(ProcessDeath, fields, hit, hit.line.end)
    said_with_it = match.groupdict().get("message")
    if not said_with_it:
        return (death,)
    message = said_with_it[:2000].decode("utf-8", "replace").strip()
    said: dict[str, object] = {"channel": "what", "message": message}
    return (death, _draft(ErrorText, said, hit, hit.line.end))


def _stack(hit: Hit) -> Parsed:
    raised = _RAISED.match(hit.line.text, hit.column, hit.column + 8192)
    if raised is None and not hit.line.text.startswith(_CAPTURED_HEAD, hit.column):
        return ()
    frames, captured, end, taken = _frames(hit)
    fields = {
        "form": "captured" if captured else "c10",
        "raised_from": raised["function"].decode("utf-8", "replace") if raised else None,
        "file": raised["file"].decode("utf-8", "replace") if raised else None,
        "line": int(raised["line"][:18]) if raised else None,
        "frames": tuple(frames),
    }
    return (_draft(CppStack, fields, hit, end)._replace(taken=taken),)


def _frames(hit: Hit) -> tuple[list[Frame], bool, int, int]:
    """The frames, whether they are of a captured traceback, where they and their head end."""
    head = hit.line.text[: hit.column]
    frames: list[Frame] = []
    gaps, end, taken = 0, hit.line.end, hit.line.end
    captured = hit.line.text.startswith(_CAPTURED_HEAD, hit.column)
    for line in hit.following(_LINES):
        text = strip_head(head, line.text)
        match = (_FRAME.search(text) or _CAPTURED.match(text)) if text is not None else None
        if match is None:
            if text is not None and text.strip() in (b"<omitting python frames>", _CAPTURED_HEAD):
                if text.strip() == _CAPTURED_HEAD:
                    if captured:
                        break
                    captured, taken = True, line.end
                continue
            gaps += 1
            if gaps > _GAPS or text == b"" or (text or b"").startswith(_RAISED_HEAD):
                break
            continue
        gaps, end = 0, line.end
        if len(frames) < _FRAMES:
            frames.append(_frame(match))
    return frames, captured, end, taken


def _frame(match: re.Match[bytes]) -> Frame:
    """A frame; the number behind a library is an offset, not a line, and is left out."""
    file = match["file"]
    number = match.groupdict().get("line")
    return Frame(
        function=match["function"][:500].decode("utf-8", "replace"),
        file=file.decode("utf-8", "replace"),
        line=int(number[:18]) if number and _SOURCE_FILE.search(file) else None,
    )
