"""Memory that could not be had, as allocators and the system tell it.

    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.75 GiB. GPU 1 has a total ...
    RuntimeError: [enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate
    memory: you tried to allocate 132426121216 bytes. Error code 12 (Cannot allocate memory)
    Memory cgroup out of memory: Killed process 4242 (python) total-vm:91234567kB, ...

give an `OutOfMemory` each (the second is one line). Errors of the GPU's runtime that say `out of
memory` and no more are `gpu_error`'s. Sources: torch 2.13, c10/cuda/CUDACachingAllocator.cpp, its
like for HIP, XPU and MPS, and c10/core/impl/alloc_cpu.cpp; Linux, mm/oom_kill.c; slurmd's
cgroup plugin; the kubelet's `OOMKilled`; ray's memory monitor.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from aoti_logscan.events import OutOfMemory
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "out_of_memory"
ANCHORS = (
    b" out of memory. Tried to allocate ",
    b"MPS backend out of memory ",
    b"DefaultCPUAllocator: ",
    b"std::bad_alloc",
    b" Cannot allocate memory",
    b"ut of memory: Kill",
    b" event in StepId=",
    b" events in StepId=",
    b" event(s) in ",
    b": Out Of Memory",
    b"OOMKilled",
    b"has been killed by the OOM killer",
    b"due to the node running low on memory",
)

_SIZE = rb"(?P<requested>(?:more than )?[\d.]+ ?(?:bytes|[KMGTPE]i?B))"
# CUDA out of memory. Tried to allocate 3.75 GiB. GPU 1 has a total capacity of ...
# CUDA out of memory. Tried to allocate 1.12 GiB (GPU 3; 15.77 GiB total capacity; ...
_ALLOCATOR = lazy_re(
    rb"(?P<device>CUDA|HIP|XPU) out of memory\. Tried to allocate "
    + _SIZE
    + rb"(?P<rest>[^\n]{0,80})"
)
_GPU = lazy_re(rb"^[. (]{1,3}GPU (?P<index>\d{1,6})\b")
# MPS backend out of memory (MPS allocated: 16.00 GB, ...). Tried to allocate 256 bytes on ...
_MPS = lazy_re(
    rb"MPS backend out of memory \([^()\n]{0,200}\)\.(?: Tried to allocate " + _SIZE + rb")?"
)
# DefaultCPUAllocator: not enough memory: you tried to allocate 1981808640 bytes.
_CPU = lazy_re(
    rb"DefaultCPUAllocator: (?:can't allocate|not enough) memory: you tried to allocate " + _SIZE
)
#   what():  std::bad_alloc      RuntimeError: std::bad_alloc
_BAD_ALLOC = lazy_re(rb"(?:what\(\): {1,2}|Error: )std::bad_alloc\s*$")
# unable to mmap 1024 bytes from file </x.safetensors>: Cannot allocate memory (12)
# OSError: [Errno 12] Cannot allocate memory
_MAP = lazy_re(
    rb"unable to (?:mmap|allocate shared memory|write to file)(?: " + _SIZE + rb")?[^\n]{0,600}?: "
    rb"Cannot allocate memory|Error: \[Errno 12\] Cannot allocate memory"
)
# Out of memory: Killed process 4242 (python)     Memory cgroup out of memory: Kill process 4242 ...
_KERNEL = lazy_re(rb"[Oo]ut of memory: Kill(?:ed)? process (?P<process>\d+)\b")
# slurmstepd: error: Detected 1 oom_kill event in StepId=11300781.0.
# slurmstepd: error: Detected 8 oom-kill event(s) in step 59137890.batch cgroup.
_SLURM = lazy_re(
    rb"(?:slurmstepd: error: )?Detected \d+ oom[-_]kill event(?:s|\(s\))? in "
    rb"|(?:srun: error: [\w.-]{1,64})?: task [\d,-]+: Out Of Memory"
)
#   Reason:       OOMKilled    "reason":"OOMKilled"    0/1     OOMKilled    "OOMKilled": true
_CONTAINER = lazy_re(
    rb"(?i:reason)[\"']?[:=]\s*[\"']?OOMKilled\b|\d/\d\s+OOMKilled\b|[\"']?OOMKilled[\"']?: ?true\b"
)
_UNIT = lazy_re(rb"process of this unit has been killed by the OOM killer")
_RAY = lazy_re(rb"killed due to the node running low on memory")
_SYSTEM = (_KERNEL, _SLURM, _CONTAINER, _UNIT, _RAY)
# a level below an error, in front of the message:  | WARNING | trainer |    W0306 14:40:15.990000
_QUIET = lazy_re(rb"\b(?:WARN(?:ING)?|INFO|DEBUG)\b|(?:^|:)\[?W\d{3,4} \d\d:\d\d:")
_LOUD = lazy_re(rb"\b(?:ERROR|CRITICAL|FATAL)\b|Traceback")
#: bytes of a report around its anchor, and lines below it on which its GPU may stand
_REACH = 900
_WRAPPED = 2

Teller = Literal["allocator", "system"]


class _Report(NamedTuple):
    device: str | None
    requested: str | None
    told_by: Teller
    start: int
    process: str | None = None


def parse(hit: Hit) -> Parsed:
    """One draft for the report at this hit; nothing where the words are code or quoted."""
    text = hit.line.text
    report = _report(hit, text, hit.column)
    if report is None or is_quotation(text, report.start):
        return ()
    head = hit.head(report.start)
    prefix = read_prefix(head)
    fields = {
        "device": report.device,
        "requested": report.requested,
        "told_by": report.told_by,
        "handled": _QUIET.search(head) is not None and _LOUD.search(head) is None,
    }
    return (
        Draft(
            kind=OutOfMemory,
            fields=fields,
            start=hit.line.start,
            end=hit.line.end,
            text=text,
            prefix=prefix._replace(process=report.process or prefix.process),
            fold=tuple(fields.values()),
            taken=hit.line.end,
        ),
    )


def _report(hit: Hit, text: bytes, column: int) -> _Report | None:
    begin, end = max(0, column - _REACH), column + _REACH
    if match := _ALLOCATOR.search(text, max(0, column - 8), end):
        return _Report(_gpu(hit, match), _text(match["requested"]), "allocator", match.start())
    if match := _MPS.match(text, column, end):
        return _Report("mps", _text(match["requested"]), "allocator", match.start())
    if match := _CPU.match(text, column, end):
        return _Report("cpu", _text(match["requested"]), "allocator", match.start())
    if match := _MAP.search(text, begin, end):
        return _Report("cpu", _text(match["requested"]), "allocator", match.start())
    if match := _BAD_ALLOC.search(text, max(0, column - 16), end):
        return _Report("cpu", None, "allocator", match.start())
    for pattern in _SYSTEM:
        if match := pattern.search(text, max(0, column - 120), column + 200):
            process = match.groupdict().get("process")
            return _Report("cpu", None, "system", match.start(), _text(process))
    return None


def _gpu(hit: Hit, match: re.Match[bytes]) -> str:
    """`cuda:1`, or `cuda` where the number is not told; torch calls HIP's devices `cuda` too."""
    kind = "xpu" if match["device"] == b"XPU" else "cuda"
    rest = match["rest"]
    if match.end() == len(hit.line.text) and not _GPU.match(rest):
        rest = b" ".join([rest.rstrip(), *_below(hit)])
    index = _GPU.match(rest)
    return f"{kind}:{int(index['index'])}" if index else kind


def _below(hit: Hit) -> list[bytes]:
    """The lines below, as a terminal wraps them, without the prefix of this one."""
    head = read_prefix(hit.head(hit.column))
    return [
        line.text.strip()
        for line in hit.following(_WRAPPED)
        if read_prefix(line.text[:200]).rank in (None, head.rank)
    ]


def _text(raw: bytes | None) -> str | None:
    return raw.decode("utf-8", "replace") if raw else None
