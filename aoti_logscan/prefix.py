"""Who wrote a line, and when: what launchers and loggers put in front of it.

The rank of `[rank3]:` (torch), `[Rank 3]` (NCCL), `[default3]:` (torchrun's tee), `[1,3]<stderr>:`
(mpirun), `(Worker_TP3 pid=4242)` (vLLM), `[2026-02-13 08:11:53 TP3]` (SGLang) and `"rank": 3`
(JSON), the process of `pid=4242` and of torch's Python log lines, and the wall time of c10,
torch, ISO, syslog and serving-engine stamps. The process that syslog names may be a container's
daemon.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aoti_logscan.events import Clock
from aoti_logscan.lazy_re import lazy_re


class Prefix(NamedTuple):
    """What a line's head tells; None where it does not."""

    rank: int | None
    process: str | None
    time: Clock | None


NOTHING = Prefix(None, None, None)

# [rank3]:  [Rank 3]  ... PG GUID 0(default_pg) Rank 3]  [default3]:  [1,3]<stderr>:  (Worker_TP3
_RANK = lazy_re(
    rb"\[rank(\d{1,6})\]|\bRank (\d{1,6})\]|\[default(\d{1,6})\]|\[\d+,(\d{1,6})\]<std"
    rb"|Worker_TP(\d{1,6})[ )_]|\d\d:\d\d(?: [A-Z]{2,8}\d+){0,4}? TP(\d{1,6})[ \]]"
    rb"|\brank\"?[=:] ?(\d{1,6})\b"
)
# (EngineCore_0 pid=51100)   (pid=4242)   (pid=4242, ip=10.0.0.3)
_PID = lazy_re(rb"\bpid[=:] ?(\d{1,9})\b")
# E0718 09:12:40.511000 60233 torch/_inductor/select_algorithm.py:2100]
_PYTHON = lazy_re(rb"[VDIWECF](\d{4}) (\d\d:\d\d:\d\d)\.(\d{6}) +(\d+) [^\s:]+:\d+\]")
# [E817 21:06:30.480021775 ProcessGroupNCCL.cpp:1895]; the nine digits are no wall time
_C10 = lazy_re(rb"\[[FEWIV](\d{3,4}) (\d\d:\d\d:\d\d)\.\d{9} ")
# 2026-02-11T08:09:10.111222333Z   2026-04-11 08:12:44,123
_ISO = lazy_re(rb"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
# ERROR 05-21 10:11:12 [multiproc_executor.py:596]
_APP = lazy_re(rb"\b(\d\d-\d\d) (\d\d:\d\d:\d\d)\b")
# May 21 08:55:10 host python[501]:   (syslog, journald)   [Thu May 21 08:55:10 2026]   (dmesg -T)
_SYSLOG = lazy_re(
    rb"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<day>\d{1,2})"
    rb" (?P<time>\d\d:\d\d:\d\d)\b"
)
_MONTHS = b"JanFebMarAprMayJunJulAugSepOctNovDec"


def read_prefix(head: bytes) -> Prefix:
    """What the text before a record tells of its writer; cheap for an empty head."""
    if len(head) < 4:
        return NOTHING
    if len(head) > 400:
        head = head[:200] + b"\0" + head[-200:]
    python = _PYTHON.search(head)
    pid = python[4] if python else _first(_PID, head)
    rank = _first(_RANK, head)
    return Prefix(
        int(rank) if rank else None,
        pid.decode() if pid else None,
        _time(head, python),
    )


def may_be_same_writer(one: Prefix, text: bytes) -> bool:
    """Whether a line may come from the same rank and process; True where it does not say."""
    other = read_prefix(text[:200])
    pairs = ((one.rank, other.rank), (one.process, other.process))
    return all(left is None or right is None or left == right for left, right in pairs)


def _first(pattern: re.Pattern[bytes], head: bytes) -> bytes | None:
    match = pattern.search(head)
    return next(group for group in match.groups() if group) if match else None


def _time(head: bytes, python: re.Match[bytes] | None) -> Clock | None:
    if python:
        return Clock("python", _stamp(python[1], python[2], python[3]))
    if match := _C10.search(head):
        return Clock("c10", _stamp(match[1].zfill(4), match[2], b""))
    if match := _ISO.search(head):
        return Clock("iso", _stamp(match[1], match[2], match[3] or b""))
    if match := _APP.search(head):
        return Clock("app", _stamp(match[1], match[2], b""))
    if match := _SYSLOG.search(head):
        month = b"%02d" % (_MONTHS.index(match["month"]) // 3 + 1)
        return Clock("syslog", _stamp(month + match["day"].zfill(2), match["time"], b""))
    return None


def _stamp(date: bytes, clock: bytes, fraction: bytes) -> str:
    return f"{date.decode()} {clock.decode()}.{fraction.decode().ljust(9, '0')}"
