"""compute-sanitizer's and cuda-memcheck's block for one bad access.

    ========= Invalid __global__ read of size 4 bytes
    =========     at triton_poi_fused_index_select_2+0x3d0 in /tmp/.../cv4g.py:29
    =========     by thread (41,0,0) in block (7,0,0)
    =========     Access to 0x7f31c8400a44 is out of bounds

gives one `SanitizerError`; equal ones (other threads) are folded. Older forms: `at 0xda0 in
file:line:kernel`, `Address 0x... is out of bounds`, sizes without `bytes`. `Program hit ...` lines
report an API call, not the access, and give nothing.
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
ANCHORS = (b"========= Invalid __", b"========= Misaligned ")

# ========= Invalid __global__ read of size 4 bytes
_HEAD = lazy_re(
    rb"=========\s+(?P<problem>(?:Invalid|Misaligned) __\w+__ (?P<access>read|write|atomic\w*|\?)) "
    rb"of size (?P<size>[\d,]+)?"
)
# =========     at kernel(int*, float)+0x3d0 in /tmp/.../cv4g.py:29
_AT = lazy_re(
    rb"=========\s+at (?P<kernel>[^\n]+?)\+0x[0-9a-fA-F]+(?: in (?P<file>\S+):(?P<line>\d+))?\s*$"
)
# =========     at 0xda0 in /tmp/.../cv4g.py:29:kernel        ... at 0x00000da0 in kernel(int*)
_OLD_AT = lazy_re(
    rb"=========\s+at 0x[0-9a-fA-F]+ in (?:(?P<file>\S+):(?P<line>\d+):)?(?P<kernel>.+?)\s*$"
)
# =========     Access to 0x7f31c8400a44 is out of bounds     Address 0x... is misaligned
_ADDRESS = lazy_re(
    rb"=========\s+(?:Access to|Address) (?P<address>0x[0-9a-fA-F]+) is (?P<how>[a-z ]+)"
)
_NEXT = lazy_re(rb"=========\s{0,2}\S")
#: lines of a block that are read
_LINES = 12


def parse(hit: Hit) -> Parsed:
    """One draft for the block at this hit."""
    head = _HEAD.search(hit.line.text)
    if head is None:
        return ()
    block, end = _block(hit)
    at = _first(_AT, block) or _first(_OLD_AT, block)
    address = _first(_ADDRESS, block)
    size = head["size"]
    fields: dict[str, Any] = {
        "problem": head["problem"].decode("utf-8", "replace"),
        "access": head["access"].decode() if head["access"] in (b"read", b"write") else None,
        "size": integer(size.replace(b",", b"")) if size else None,
        "address": address["address"].decode() if address else None,
        "kernel": _kernel(at["kernel"]) if at else None,
        "file": at["file"].decode("utf-8", "replace") if at and at["file"] else None,
        "line": integer(at["line"]) if at else None,
        "misaligned": head["problem"].startswith(b"Misaligned")
        or (address is not None and address["how"].startswith(b"misaligned")),
    }
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
