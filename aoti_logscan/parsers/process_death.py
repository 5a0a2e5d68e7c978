"""How a process ended, as the shell, faulthandler, the C library or LLVM tells it.

    bash: line 1:  8287 Segmentation fault      python script.py pw:meta
    Aborted (core dumped)
    Fatal Python error: Segmentation fault
    double free or corruption (!prev)
    LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.shfl.sync.bfly.i32

give one `ProcessDeath` each. Sources: bash and zsh job messages; CPython, faulthandler.c; glibc,
malloc.c (`malloc_printerr`), `__fortify_fail` and assert.c; libstdc++'s `__glibcxx_assert`; LLVM,
lib/Support/ErrorHandling.cpp (`report_fatal_error`, which aborts where it asks for a bug report or
dumps a stack, else exits). What a service manager or a launcher tells is `supervisor`'s.
"""

from __future__ import annotations

import re

from aoti_logscan.events import Frame, ProcessDeath
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, strip_head
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "process_death"
ANCHORS = (
    b"Segmentation fault",
    b"segmentation fault",
    b"Aborted",
    b"Bus error",
    b"Illegal instruction",
    b"Floating point exception",
    b"Fatal Python error: ",
    b"Windows fatal exception: ",
    b"double free or corruption",
    b"free(): ",
    b"malloc(): ",
    b"malloc_consolidate(): ",
    b"munmap_chunk(): ",
    b"corrupted size vs. prev_size",
    b"corrupted double-linked list",
    b"realloc(): ",
    b"stack smashing detected",
    b"buffer overflow detected",
    b"Killed",
    b"killed",
    b"LLVM ERROR: ",
)

_SIGNALS = {
    b"segmentation fault": "SIGSEGV",
    b"aborted": "SIGABRT",
    b"bus error": "SIGBUS",
    b"illegal instruction": "SIGILL",
    b"floating point exception": "SIGFPE",
    b"killed": "SIGKILL",
}
_NAMES = (
    rb"(?P<signal>[Ss]egmentation fault|Aborted|Bus error|Illegal instruction"
    rb"|Floating point exception|[Kk]illed)"
)
# bash: line 1:  8287 Segmentation fault      python x.py
# ./run.sh: line 9:  2741 Aborted                 (core dumped)
# [1]  + 48213 segmentation fault  python x.py        srun: error: gpu-b12: task 3: Killed
_JOB = lazy_re(
    rb"(?:line \d+: +\d+ |\[\d+\][-+ ] +(?:[-+] )?(?:\d+ )?|sh: |: tasks? [\d,-]{1,40}: )"
    + _NAMES
    + rb"\b(?! from GPU)"
)
# Segmentation fault (core dumped)      Aborted
_WORD = lazy_re(
    rb"(?:^|[\s:])" + _NAMES + rb"\s*\(core dumped\)"
    rb"|^(?:[\s>|#]|\xe2\x94\x82|\[[^\]]*\]:?|\([^)]*\)|[\dT:.,Z+-]++|std(?:err|out)"
    rb"|\bF\b|[A-Z]{4,8}\b)*+"
    + _NAMES.replace(b"signal", b"alone").replace(b"[Kk]", b"K")
    + rb"\s*$"
)
# Fatal Python error: Segmentation fault      Windows fatal exception: access violation
_FATAL = lazy_re(
    rb"(?:Fatal Python error|Windows fatal exception): (?P<signal>[A-Za-z][a-z]+(?: [a-z]+){0,2})"
)
# Current thread 0x00007f447302cb80 (most recent call first):    Thread 0x... [name] (most ...
_THREAD = lazy_re(rb"^(?:(?P<current>Current thread)|Thread) 0x[0-9a-f]+[^\n]*\(most recent call")
#   File "/home/dev/ops_demo/script.py", line 6 in <module>
_PYTHON_FRAME = lazy_re(
    rb'^\s+File "(?P<file>[^"\n]*)", line (?P<line>\d+|\?+) in (?P<function>.+)$'
)
#: bytes of a line that holds nothing but a prefix and the shell's word
_LONGEST_PREFIX = 300
#: lines of a faulthandler dump that are read
_DUMP_LINES = 400
_LIBC = lazy_re(
    rb"double free or corruption|corrupted size vs\. prev_size|stack smashing detected"
    rb"|corrupted double-linked list|buffer overflow detected"
    rb"|(?:free|malloc|realloc|malloc_consolidate|munmap_chunk)\(\):"
    rb" (?:invalid|corrupted|unaligned|memory"
    rb"|unsorted|mismatching|smallbin|largebin|double|too many)"
)
# LLVM ERROR: Cannot select: intrinsic %llvm.nvvm.shfl      but not    ; GFX90A: LLVM ERROR: m
_LLVM = lazy_re(rb"LLVM ERROR: (?=\S)")
_LLVM_TEST = lazy_re(rb"^\s*(?:;|//|/?\*)")
# PLEASE submit a bug report to https://...      Stack dump:
_LLVM_ABORTS = lazy_re(rb"PLEASE submit a bug report|Stack dump|Aborted\b")
_LLVM_LINES = 4


def parse(hit: Hit) -> Parsed:
    """One draft for the death at this hit; nothing where the words are part of other text."""
    text, column = hit.line.text, hit.column
    if match := _LIBC.match(text, column):
        return (_draft(hit, match, "libc", "SIGABRT"),)
    if match := _LLVM.match(text, column):
        quoted = _LLVM_TEST.match(text) or is_quotation(text, column)
        return () if quoted else (_draft(hit, match, "libc", _signal_of_llvm(hit)),)
    if match := _FATAL.match(text, column):
        signal = _SIGNALS.get(match["signal"].lower())
        frames, end = _python_frames(hit)
        return (_draft(hit, match, "faulthandler", signal, frames, end),)
    if text[column - 1 : column] in (b'"', b"'", b"`"):
        if not hit.line.escaped or is_quotation(text, column):
            return ()
        # {"log":"Aborted (core dumped)\n","stream":...: the string that stores the line opens here
        text, column = text[column:], 0
    for pattern, group in ((_JOB, "signal"), (_WORD, "signal"), (_WORD, "alone")):
        if group == "alone" and len(text) > _LONGEST_PREFIX:
            continue
        match = pattern.search(text, 0 if group == "alone" else max(0, column - 24), column + 80)
        if match and match.groupdict().get(group) and match.start(group) == column:
            return (_draft(hit, match, "shell", _SIGNALS[match[group].lower()]),)
    return ()


def _signal_of_llvm(hit: Hit) -> str | None:
    """SIGABRT where the lines below tell of an abort; LLVM may have ended the process itself."""
    below = (line.text for line in hit.following(_LLVM_LINES))
    return "SIGABRT" if any(_LLVM_ABORTS.search(text) for text in below) else None


def _python_frames(hit: Hit) -> tuple[tuple[Frame, ...], int]:
    """faulthandler's frames of the thread that died, innermost first, and where they end."""
    head = hit.line.text[: hit.column]
    frames: list[Frame] = []
    current, end = False, hit.line.end
    for line in hit.following(_DUMP_LINES):
        text = strip_head(head, line.text)
        if text is None:
            continue
        if thread := _THREAD.match(text):
            if frames:
                break
            current = thread["current"] is not None
        elif frame := _PYTHON_FRAME.match(text):
            if current:
                frames.append(_frame(frame))
        elif text.strip():
            break
        end = line.end
    return tuple(frames), end


def _frame(match: re.Match[bytes]) -> Frame:
    number = match["line"]
    return Frame(
        function=match["function"].decode("utf-8", "replace").strip(),
        file=match["file"].decode("utf-8", "replace"),
        line=int(number[:18]) if number.isdigit() else None,
    )


def _draft(
    hit: Hit,
    match: re.Match[bytes],
    told_by: str,
    signal: str | None,
    frames: tuple[Frame, ...] = (),
    end: int | None = None,
) -> Draft:
    return Draft(
        kind=ProcessDeath,
        fields={"told_by": told_by, "signal": signal, "frames": frames},
        start=hit.line.start,
        end=hit.line.end if end is None else end,
        text=hit.line.text,
        prefix=read_prefix(hit.head(hit.column)),
        fold=(told_by, signal),
    )
