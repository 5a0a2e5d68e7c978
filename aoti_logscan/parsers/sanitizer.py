"""compute-sanitizer's and cuda-memcheck's block for one error, and how many there were.

    ========= Invalid __global__ read of size 4 bytes
    =========     at triton_poi_fused_index_select_2+0x3d0 in /tmp/.../cv4g.py:29
    =========     by thread (41,0,0) in block (7,0,0)
    =========     Access to 0x7f31c8400a44 is out of bounds

gives one `SanitizerError`; equal ones (other threads) are folded. Older forms: `at 0xda0 in
file:line:kernel`, `Address 0x... is out of bounds`, sizes without `bytes`. So do the blocks of the
other tools: initcheck's `Uninitialized __global__ memory read`, synccheck's `Barrier error
detected`, racecheck's

    ========= Error: Race reported between Write access at reduce(float*)+0x90 in /src/r.cu:13
    =========     and Read access at reduce(float*)+0xa0 in /src/r.cu:14 [2048 hazards]

(of which the first access gives kernel and line; warnings give nothing), and at the end

    ========= ERROR SUMMARY: 2 errors

one without a place, where errors were counted. `Program hit ...` lines report an API call, not the
access, and give nothing. Source: NVIDIA's manual of compute-sanitizer, 11.4 to 13; cuda-memcheck's,
10.1.
"""

from __future__ import annotations

import re
from typing import Any

from aoti_logscan.events import SanitizerError
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.numbers import integer
from aoti_logscan.prefix import may_be_same_writer, read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "sanitizer"
ANCHORS = (
    b"========= Invalid __",
    b"========= Misaligned ",
    b"========= Uninitialized __",
    b"========= Barrier error detected",
    b"Race reported between ",
    b" hazard detected at __",
    b"========= ERROR SUMMARY: ",
    b"========= RACECHECK SUMMARY: ",
)

# ========= Invalid __global__ read of size 4 bytes
# ========= Uninitialized __global__ memory read of size 4 bytes
_ACCESS = lazy_re(
    rb"=========\s+(?P<problem>(?:Invalid|Misaligned|Uninitialized) __\w+__(?: memory)?"
    rb" (?P<access>read|write|atomic\w*|\?)) of size (?P<size>[\d,]+)?"
)
# ========= Barrier error detected. Divergent thread(s) in block
_BARRIER = lazy_re(rb"=========\s+(?P<problem>Barrier error detected(?:\. [A-Z][\w() ]{1,60})?)")
# ========= Error: Race reported between Write access at reduce(float*)+0x90 in /src/r.cu:13
_RACE = lazy_re(
    rb"=========\s+(?:E(?:rror|RROR): ?)?(?P<problem>Race reported between (?:Read|Write|Atomic)"
    rb" access)(?P<at> at \S.*)?"
)
# ========= ERROR: Potential WAW hazard detected at __shared__ 0x0 in block (0,0,0) :
_HAZARD = lazy_re(
    rb"=========\s+E(?:rror|RROR): ?(?:\([\w -]{1,60}\) )?"
    rb"(?P<problem>Potential (?:RAW|WAR|WAW) hazard detected at __\w+__)"
)
_HEADS = (_ACCESS, _BARRIER, _RACE, _HAZARD)
# ========= ERROR SUMMARY: 2 errors
# ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
_SUMMARY = lazy_re(
    rb"=========\s+(?P<problem>ERROR SUMMARY: (?=[1-9])\d{1,12} errors?"
    rb"|RACECHECK SUMMARY: \d{1,12} hazards? displayed \((?=[1-9])\d{1,12} errors?)"
)
# =========     at kernel(int*, float)+0x3d0 in /tmp/.../cv4g.py:29
# =========     Write Thread (0,0,0) at kernel(int*)+0x2f0 in raceWAW.cu:20
_AT = lazy_re(
    rb"=========\s+(?:(?:Read|Write) Thread \([\d, ]{1,40}\) )?at (?P<kernel>[^\n]+?)"
    rb"\+0x[0-9a-fA-F]+(?: in (?P<file>\S+):(?P<line>\d+))?\s*$"
)
# =========     at 0xda0 in /tmp/.../cv4g.py:29:kernel        ... at 0x00000da0 in kernel(int*)
_OLD_AT = lazy_re(
    rb"=========\s+(?:(?:Read|Write) Thread \([\d, ]{1,40}\) )?at 0x[0-9a-fA-F]+ in"
    rb" (?:(?P<file>\S+):(?P<line>\d+):)?(?P<kernel>.+?)\s*$"
)
# =========     Access to 0x7f31c8400a44 is out of bounds     Address 0x... is misaligned
_ADDRESS = lazy_re(
    rb"=========\s+(?:Access to|Address) (?P<address>0x[0-9a-fA-F]+)"
    rb"(?: is (?P<how>[a-z ]+)|\s*$)"
)
_NEXT = lazy_re(rb"=========\s{0,2}\S")
#: lines of a block that are read
_LINES = 12
#: bytes before and after an anchor in which a headline stands
_BEFORE, _AFTER = 80, 4000


def parse(hit: Hit) -> Parsed:
    """One draft for the block or the count at this hit."""
    near = max(0, hit.column - _BEFORE), hit.column + _AFTER
    if summary := _SUMMARY.search(hit.line.text, *near):
        return _draft(hit, summary, {"problem": summary["problem"].decode()}, hit.line.end)
    found = (pattern.search(hit.line.text, *near) for pattern in _HEADS)
    head = next((match for match in found if match), None)
    if head is None:
        return ()
    lines, end = _block(hit)
    return _draft(hit, head, _told(head.groupdict(), lines), end)


def _told(head: dict[str, bytes | None], lines: list[bytes]) -> dict[str, Any]:
    """What a headline and the lines below it tell."""
    where = [b"=========    " + inline] if (inline := head.get("at")) else []
    at = _first(_AT, where + lines) or _first(_OLD_AT, where + lines)
    address = _first(_ADDRESS, lines)
    problem, access, size = head["problem"] or b"", head.get("access"), head.get("size")
    how = (address["how"] if address else None) or b""
    return {
        "problem": problem.decode("utf-8", "replace"),
        "access": access.decode() if access in (b"read", b"write") else None,
        "size": integer(size.replace(b",", b"")) if size else None,
        "address": address["address"].decode() if address else None,
        "kernel": _kernel(at["kernel"]) if at else None,
        "file": at["file"].decode("utf-8", "replace") if at and at["file"] else None,
        "line": integer(at["line"]) if at else None,
        "misaligned": problem.startswith(b"Misaligned") or how.startswith(b"misaligned"),
    }


_NOTHING = dict.fromkeys(("access", "size", "address", "kernel", "file", "line"))


def _draft(hit: Hit, head: re.Match[bytes], told: dict[str, Any], end: int) -> Parsed:
    fields = {**_NOTHING, "misaligned": False, **told}
    return (
        Draft(
            kind=SanitizerError,
            fields=fields,
            start=hit.line.start,
            end=end,
            text=hit.line.text,
            prefix=read_prefix(hit.line.text[: head.start()]),
            taken=hit.line.end,
            fold=(fields["problem"], fields["kernel"], fields["file"], fields["line"]),
        ),
    )


def _block(hit: Hit) -> tuple[list[bytes], int]:
    lines, end = [], hit.line.end
    own = read_prefix(hit.line.text[: hit.column])
    for line in hit.following(_LINES):
        marker = line.text.find(b"=========")
        if marker < 0 or not may_be_same_writer(own, line.text):
            continue
        if _NEXT.match(line.text, marker):
            break
        lines.append(line.text)
        end = line.end
    return lines, end


def _first(pattern: re.Pattern[bytes], lines: list[bytes]) -> re.Match[bytes] | None:
    return next((match for line in lines if (match := pattern.search(line))), None)


def _kernel(raw: bytes) -> str:
    """The name without its C++ signature: `kernel(int*, float)` is `kernel`."""
    name = raw.decode("utf-8", "replace").strip()
    return name.removeprefix("void ") if "(" not in name else _unsigned(name)


def _unsigned(name: str) -> str:
    """`void ns::kernel<(int)4>(T1*)` without the final parenthesised argument list."""
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[position], 0)
        if name[position] == "(" and depth == 0:
            return name[:position].removeprefix("void ").strip()
    return name
