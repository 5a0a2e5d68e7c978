"""Stacks of a dead process as a debugger or a handler inside the process prints them.

    Thread 1 "python" received signal SIGSEGV, Segmentation fault.
    #0  0x00007ffff6e6665c in boom_cpu () at boom.cpp:13
    #10 0x... in torch::aot_inductor::AOTInductorModel::run_impl () at /tmp/x.wrapper.cpp:851

    *** SIGSEGV (@0x0) received by PID 123 (TID 0x7f55) from PID 0; stack trace: ***
        @     0x7f55c0000000 boom_cpu

    ==4242==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6020 at pc 0x4f8a bp ...
        #0 0x4f8a1a in cpp_fused_index_0 /tmp/x.kernel.cpp:21:13

give a `ProcessDeath` for the signal's line and a `CppStack` for the frames; symbols are demangled
as far as they are plain names. Sources: gdb 13, `bt` (wrapper code has line tables, so the frame of
`run_impl` names its line); systemd-coredump's stack in the journal, elf-util.c (`frame_callback`);
glog and abseil, failure signal handler; UCX, ucs/debug/debug.c (`ucs_debug_handle_error_signal`,
`ucs_debug_print_backtrace_line`); TVM FFI, backtrace.cc (`TVMFFISegFaultHandler`); compiler-rt,
asan_report.cpp and `DEFAULT` of stack_trace_format. AddressSanitizer ends the process itself: a
signal is known only where it caught one. Frames of a handler itself are left out.
"""

from __future__ import annotations

import re
import signal
from typing import Any, NamedTuple

from aoti_logscan.events import CppStack, Event, Frame, ProcessDeath
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, strip_head
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "native_stack"
ANCHORS = (
    b" received signal SIG",
    b"Program terminated with signal SIG",
    b" received by PID ",
    b" received at time=",
    b"Caught signal ",
    b"!!!!!!! Segfault encountered",
    b"ERROR: AddressSanitizer: ",
    b"#0  ",
)

# Thread 1 "python" received signal SIGSEGV, Segmentation fault.
_DEBUGGER = lazy_re(
    rb"(?:Thread (?P<thread>\d+)\b.*?)?(?:received signal|terminated with signal)"
    rb" (?P<signal>SIG[A-Z]+\d*)"
)
# Thread 1 (Thread 0x7ffff7fbeb80 (LWP 27073) "python"):     (thread apply all bt)
_THREAD = lazy_re(rb"^Thread (?P<thread>\d+) \(")
# wrapped:     at /tmp/x.wrapper.cpp:851
_CONTINUED = lazy_re(rb"^\s+(?:at|from) \S")
# *** SIGSEGV (@0x0) received by PID 123 (TID 0x7f55) from PID 0; stack trace: ***
# *** SIGSEGV received at time=1700000000 on cpu 3 ***    (abseil)
_GLOG = lazy_re(
    rb"\*\*\* (?P<signal>SIG[A-Z]+\d*) (?:\(@[^)\n]*\) received by PID (?P<pid>\d+)"
    rb"|received at time=)"
)
#     @     0x7f55c0000000 boom_cpu
_GLOG_FRAME = lazy_re(rb"^\s+@\s+0x[0-9a-f]+ (?P<function>.+)$")
# [n07:7116 :0:7116] Caught signal 11 (Segmentation fault: address not mapped to object at ...
_UCX = lazy_re(
    rb"\[[^\]\s:]{1,100}:(?P<pid>\d{1,9}) *(?::\w{1,9}){1,2}\] +Caught signal"
    rb" (?P<number>\d{1,2}) \([A-Z][^\n():]{2,40}: "
)
#  4  /tmp/x.wrapper.so(_ZN5torch3runEv+0x8a10) [0x7f3fec77294d]
#  4 0x0000000000008a10 torch::run()  /src/run.cpp:18        2 0x000000000008fc91 ucp_get()  ???:0
_UCX_FRAME = lazy_re(
    rb"^ *\d{1,3} +(?:(?P<library>[^\s()]+)\((?P<function>[^\s()+]*)(?:\+0x[0-9a-f]+)?\)"
    rb" \[0x[0-9a-f]+\]|0x[0-9a-f]+ (?P<name>\S[^\n]*?)\(\) +(?P<file>[^\s:]*):(?P<line>\d+))$"
)
# !!!!!!! Segfault encountered !!!!!!!
_TVM = lazy_re(rb"!!!!!!! (?P<segfault>Segfault) encountered !!!!!!!\s*$")
#   File "<unknown>", line 0, in cuGraphLaunch
_TVM_FRAME = lazy_re(
    rb'^\s+File "(?P<file>[^"\n]*)", line (?P<line>\d+), in (?P<function>\S[^\n]*)$'
)
# ==4242==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x4f8a1b
_ASAN = lazy_re(
    rb"==(?P<pid>\d{1,9})== ?ERROR: AddressSanitizer: (?P<problem>(?:attempting )?[A-Za-z][\w-]*)"
)
#     #0 0x4f8a1a in cpp_fused_index_0 /tmp/x.kernel.cpp:21:13
#     #1 0x7f5ac0 in run(int) (/tmp/x.wrapper.so+0x8a10) (BuildId: 4f)
#     #2 0x7f5a1c (/lib/libc.so.6+0x2a1c9)
_ASAN_FRAME = lazy_re(
    rb"^\s+#\d+ 0x[0-9a-f]+ +(?:in (?P<function>\S(?:[^\n]*?\S)??)(?: ++|$))?"
    rb"(?:\((?P<library>[^\s()]+)\+0x[0-9a-f]+\)(?: \(BuildId: \w+\))?"
    rb"|(?P<file>[^\s()]+?):(?P<line>\d+)(?::\d+)?|[^\s()/?]*+[/?][^\s()]*+)?$"
)
# what AddressSanitizer and UCX's handler put on the stack themselves, by file and by function
_RUNTIME = lazy_re(r"libasan|libclang_rt|compiler-rt|libsanitizer")
_HANDLING = lazy_re(r"^(?:__asan_|__interceptor_|ucs_handle_error|ucs_(?:debug|error)_)")
_ASAN_SIGNALS = {
    b"SEGV": "SIGSEGV",
    b"BUS": "SIGBUS",
    b"FPE": "SIGFPE",
    b"ILL": "SIGILL",
    b"ABRT": "SIGABRT",
}
# #1  0x00007f31abd9a8b0 _ZN5torch3runEv (cw3.wrapper.so + 0x4a10)
# #0  0x00007f31abd9f8b0 n/a (n/a + 0x0)
_CORE_FRAME = lazy_re(
    rb"^\s*#(?P<number>\d+) +0x[0-9a-f]+ (?P<function>\S+) \((?P<file>[^\n()]+) \+ 0x[0-9a-f]+\)$"
)
# _ZN5torch12aot_inductor16AOTInductorModel8run_implEPP16AtenTensorOpaque
_MANGLED = lazy_re(rb"^_ZN?[KVR]*(?P<std>St)?(?P<names>\d{1,3}[A-Za-z_])")
_LENGTH = lazy_re(rb"\d{1,3}")
#: what stands for a file that is not known
_UNKNOWN = (None, b"", b"??", b"???", b"<unknown>")
# #10 0x00007fff in f (args) at /tmp/x.cpp:851      #6  f () from /opt/lib.so
_GDB_FRAME = lazy_re(rb"\s*#(?P<number>\d+) +(?:0x[0-9a-f]+ in )?(?=\S)")
# behind the parenthesis that closes the arguments
_GDB_PLACE = lazy_re(rb" at (?P<file>[^\n]+):(?P<line>\d+)$| from (?P<library>\S+)$")
_PARENTHESIS = lazy_re(rb"[()]")
#: bytes around an anchor in which its message stands, and of a frame
_NEAR = 1000
_FRAME_BYTES = 8000
_LINES = 300
_FRAMES = 64
_GAPS = 3


class _Handler(NamedTuple):
    """A handler inside the process: its headline and its frames."""

    told_by: str
    head: re.Pattern[bytes]
    frame: re.Pattern[bytes]


_HANDLERS = (
    _Handler("glog", _GLOG, _GLOG_FRAME),
    _Handler("glog", _UCX, _UCX_FRAME),
    _Handler("glog", _TVM, _TVM_FRAME),
    _Handler("sanitizer", _ASAN, _ASAN_FRAME),
)


class _Numbered(NamedTuple):
    """A frame, and whether it is the first of its stack."""

    is_first: bool
    frame: Frame


def parse(hit: Hit) -> Parsed:
    """One draft for the signal's line or for the stack at this hit."""
    text = hit.line.text
    fields: dict[str, Any]
    near = max(0, hit.column - _NEAR), hit.column + _NEAR
    for handler in _HANDLERS:
        if match := handler.head.search(text, *near):
            return () if is_quotation(text, match.start()) else _handled(hit, handler, match)
    if match := _DEBUGGER.search(text, *near):
        fields = {
            "told_by": "debugger",
            "signal": match["signal"].decode(),
            "thread": _number(match),
        }
        return (_draft(hit, ProcessDeath, fields, hit.line.end),)
    frames, end = _gdb_frames(hit)
    fields = {"form": "gdb", "frames": frames, "thread": _thread_above(hit)}
    return (_draft(hit, CppStack, fields, end),) if frames else ()


def _number(match: re.Match[bytes] | None) -> int | None:
    return integer(match["thread"]) if match else None


def _thread_above(hit: Hit) -> int | None:
    """The thread that a stack is of, from the line above it."""
    above = hit.window.previous(hit.line)
    return _number(_THREAD.match(above.text)) if above is not None else None


def _handled(hit: Hit, handler: _Handler, match: re.Match[bytes]) -> Parsed:
    """The death that a handler tells, and the stack below its headline."""
    told = match.groupdict()
    process = told["pid"].decode() if told.get("pid") else None
    problem = told.get("problem")
    fields: dict[str, Any] = {
        "told_by": handler.told_by,
        "signal": _signal(told),
        "exception": problem.decode() if problem else None,
    }
    death = _draft(hit, ProcessDeath, fields, hit.line.end, process)
    frames, end = _handler_frames(hit, hit.line.text[: match.start()], handler.frame)
    stack = {"form": "glog", "frames": frames}
    return (death, _draft(hit, CppStack, stack, end, process)) if frames else (death,)


def _signal(told: dict[str, bytes | None]) -> str | None:
    """The signal that a handler's headline names; None where it was no signal."""
    if name := told.get("signal"):
        return name.decode()
    if number := told.get("number"):
        return _by_number(int(number))
    if problem := told.get("problem"):
        return _ASAN_SIGNALS.get(problem)
    return "SIGSEGV"


def _by_number(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None


def _draft(
    hit: Hit, kind: type[Event], fields: dict[str, Any], end: int, process: str | None = None
) -> Draft:
    prefix = read_prefix(hit.head(hit.column))
    return Draft(
        kind=kind,
        fields=fields,
        start=hit.line.start,
        end=end,
        text=hit.line.text,
        prefix=prefix._replace(process=process) if process else prefix,
        taken=hit.line.end,
    )


def _handler_frames(
    hit: Hit, head: bytes, pattern: re.Pattern[bytes]
) -> tuple[tuple[Frame, ...], int]:
    """The frames that begin a few lines below a headline, and where they end."""
    frames: list[Frame] = []
    begun, end = False, hit.line.end
    for passed, line in enumerate(hit.following(_LINES)):
        text = strip_head(head, line.text)
        match = pattern.match(text) if text is not None and len(text) <= _FRAME_BYTES else None
        if match is None:
            if begun or passed >= _GAPS:
                break
            continue
        begun, end = True, line.end
        frame = _read_frame(match)
        if len(frames) < _FRAMES and not _is_of_runtime(frame):
            frames.append(frame)
    return tuple(frames), end


def _is_of_runtime(frame: Frame) -> bool:
    """Whether a frame is of the one that tells the stack."""
    by_file = _RUNTIME.search(frame.file or "")
    return by_file is not None or _HANDLING.match(frame.function or "") is not None


def _read_frame(match: re.Match[bytes]) -> Frame:
    """The frame of a match; what stands for an unknown name or place is None."""
    told = match.groupdict()
    function, file = told.get("function") or told.get("name"), told.get("file")
    file = told.get("library") if file in _UNKNOWN else file
    line = integer(told.get("line")) if told.get("file") else None
    return Frame(
        function=_demangled(function)[:500].decode("utf-8", "replace")
        if function and function != b"n/a"
        else None,
        file=file.decode("utf-8", "replace") if file and file != b"n/a" else None,
        line=line or None,
    )


def _demangled(symbol: bytes) -> bytes:
    """The qualified name in a symbol of C++, without what follows its last plain part."""
    match = _MANGLED.match(symbol)
    if match is None:
        return symbol
    names, at = [b"std"] if match["std"] else [], match.start("names")
    while length := _LENGTH.match(symbol, at):
        at = length.end() + int(length[0])
        names.append(symbol[length.end() : at])
        if at >= len(symbol) or not symbol.startswith(b"_ZN"):
            break
    return b"::".join(names) if at <= len(symbol) else symbol


def _gdb_frames(hit: Hit) -> tuple[tuple[Frame, ...], int]:
    head = hit.line.text[: hit.column]
    last = hit.line.text[hit.column :]
    first = _gdb_frame(last)
    if first is None:
        return (), hit.line.end
    frames, gaps, end = [first.frame], 0, hit.line.end
    for line in hit.following(_LINES):
        text = strip_head(head, line.text)
        if (
            text is not None
            and _CONTINUED.match(text)
            and (joined := _gdb_frame(last.rstrip() + b" " + text.strip()))
        ):
            frames[-1] = joined.frame
            continue
        found = _gdb_frame(text) if text is not None else None
        last = text if found is not None and text is not None else last
        if found is None or found.is_first:
            gaps += 1
            if gaps > _GAPS or found is not None:
                break
            continue
        gaps, end = 0, line.end
        if len(frames) < _FRAMES:
            frames.append(found.frame)
    return tuple(frames), end


def _gdb_frame(text: bytes) -> _Numbered | None:
    """The frame that a line is; its arguments are what the last parenthesis closes."""
    if len(text) <= _FRAME_BYTES and (core := _CORE_FRAME.match(text)):
        return _Numbered(core["number"] == b"0", _read_frame(core))
    head = _GDB_FRAME.match(text) if len(text) <= _FRAME_BYTES else None
    closes = (
        max(text.rfind(b") at "), text.rfind(b") from ")) if text[-1:] != b")" else len(text) - 1
    )
    opens = _opening(text, closes) if head and closes >= 0 else -1
    place = _GDB_PLACE.match(text, closes + 1)
    if head is None or opens <= head.end() or not (place or closes + 1 == len(text)):
        return None
    function = text[head.end() : opens].removesuffix(b" ")[:500].decode("utf-8", "replace")
    if place is None:
        return _Numbered(head["number"] == b"0", Frame(function))
    file = (place["file"] or place["library"]).decode("utf-8", "replace")
    line = int(place["line"][:18]) if place["line"] else None
    return _Numbered(head["number"] == b"0", Frame(function, file, line))


def _opening(text: bytes, closes: int) -> int:
    """The parenthesis that is closed at a position; -1 where none is."""
    depth = 0
    for found in reversed(list(_PARENTHESIS.finditer(text, 0, closes + 1))):
        depth += 1 if found[0] == b")" else -1
        if depth == 0:
            return found.start()
    return -1
