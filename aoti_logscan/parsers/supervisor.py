"""How a process ended, as the one that watched over it tells: a service manager, a container
runtime, a batch system, MPI, the kernel, or a parent in Python.

    infer.service: Main process exited, code=dumped, status=11/SEGV
    worker-1 exited with code 139
    python3[48112]: segfault at 0 ip 00007f3ac1a0c5d2 sp 00007ffd2e0a1c70 error 4 in x.so[7f3ac...
    mpirun noticed that process rank 2 with PID 55121 on node n07 exited on signal 11 (...)
    RuntimeError: DataLoader worker (pid 40217) is killed by signal: Segmentation fault.

give one `ProcessDeath` each. An exit status above 128 is 128 and the signal's number; that of a
stop (SIGTERM, SIGINT, SIGHUP) is no death. Sources: systemd, service.c; docker compose and
`kubectl describe`; Linux, arch/x86/mm/fault.c (`show_signal_msg`), traps.c;
Open MPI, orterun and its signal handler; torch, utils/data/_utils/signal_handling.py and
multiprocessing/spawn.py.
"""

from __future__ import annotations

import re
import signal
from typing import NamedTuple

from aoti_logscan.events import ProcessDeath
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "supervisor"


class _Form(NamedTuple):
    """A text: the literal it is found by and what of it tells the signal."""

    anchor: bytes
    text: re.Pattern[bytes]


# what is told by number, by name (11/SEGV, SIGSEGV) or in words
_NUMBER = rb"(?P<number>\d{1,3})"
_WORDS = (
    rb"(?P<words>Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception"
    rb"|Killed)"
)
_FORMS = (
    # code=dumped, status=11/SEGV
    _Form(
        b"Main process exited, code=",
        lazy_re(rb"Main process exited, code=(?:dumped|killed), status=" + _NUMBER + rb"/"),
    ),
    # infer-1 exited with code 139        Command exited with code 139.
    _Form(
        b" exited with code ",
        lazy_re(rb" exited with code (?P<status>\d{1,3})\.?(?: \([a-z]+\))?\s*$"),
    ),
    # kubectl describe:       Exit Code:    139
    _Form(b"Exit Code: ", lazy_re(rb"(?:^|\s)Exit Code: +(?P<status>\d{1,3})\s*$")),
    # docker inspect: "ExitCode": 139,      kubectl get -o yaml: exitCode: 139
    _Form(
        b"xitCode",
        lazy_re(rb"(?:^|[\s\"{,])[eE]xitCode\"?: ?(?P<status>\d{1,3})(?=[,}\s]|$)"),
    ),
    # srun: error: gpu-b12: task 3: Exited with exit code 139
    _Form(b"Exited with exit code ", lazy_re(rb"Exited with exit code (?P<status>\d{1,3})\s*$")),
    # python3[48112]: segfault at 0 ip 00007f3ac1a0c5d2 sp
    _Form(b": segfault at ", lazy_re(rb": (?P<segfault>segfault) at [0-9a-f]+ ip [0-9a-f]+ sp ")),
    _Form(b" general protection ", lazy_re(rb"\] (?P<segfault>general protection) (?:fault )?ip:")),
    _Form(b" trap invalid opcode ", lazy_re(rb"\] trap (?P<invalid>invalid opcode) ip:")),
    # mpirun noticed that process rank 2 with PID 55121 on node n07 exited on signal 11
    _Form(
        b" exited on signal ",
        lazy_re(
            rb"(?:\w+ noticed that )?process rank (?P<rank>\d{1,6}) with PID (?P<pid>\d+)"
            rb" [^\n]{0,300}? exited on signal " + _NUMBER + rb"\b"
        ),
    ),
    # [n07:55121] Signal: Segmentation fault (11)
    _Form(
        b"Signal: ",
        lazy_re(rb"\[[^\]\n]{1,100}:\d+\] +Signal: [A-Z][^\n()]{1,60} \(" + _NUMBER + rb"\)"),
    ),
    # DataLoader worker (pid 40217) is killed by signal: Segmentation fault.
    _Form(
        b"is killed by signal: ",
        lazy_re(rb"DataLoader worker \(pid[^\n)]{1,40}\) is killed by signal: " + _WORDS),
    ),
    # ProcessExitedException: process 1 terminated with signal SIGSEGV
    _Form(
        b" terminated with signal SIG",
        lazy_re(rb"rocess (?P<rank>\d{1,6}) terminated with signal (?P<name>SIG[A-Z]{2,6})"),
    ),
    # fish: Job 1, 'python x.py' terminated by signal SIGSEGV (Address boundary error)
    _Form(b" terminated by signal SIG", lazy_re(rb" terminated by signal (?P<name>SIG[A-Z]{2,6})")),
    # (raylet) A worker died or was killed while executing a task by an unexpected system error.
    _Form(
        b"A worker died or was killed while executing a task",
        lazy_re(rb"(?P<lost>A worker died or was killed) while executing a task"),
    ),
    _Form(
        b"its worker process has died",
        lazy_re(rb"actor is dead because (?P<lost>its worker process has died)"),
    ),
)
ANCHORS = tuple(dict.fromkeys(form.anchor for form in _FORMS))

#: a watcher ends its charge by these
_STOPS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGQUIT")
_BY_WORDS = {
    b"Segmentation fault": "SIGSEGV",
    b"Aborted": "SIGABRT",
    b"Bus error": "SIGBUS",
    b"Illegal instruction": "SIGILL",
    b"Floating point exception": "SIGFPE",
    b"Killed": "SIGKILL",
}
#: bytes around an anchor in which its text stands
_NEAR = 400


def parse(hit: Hit) -> Parsed:
    """One draft for the death at this hit; nothing for an orderly end or where it is quoted."""
    text, column = hit.line.text, hit.column
    near = max(0, column - _NEAR), column + _NEAR
    found = (
        form.text.search(text, *near) for form in _FORMS if text.startswith(form.anchor, column)
    )
    match = next((match for match in found if match), None)
    if match is None or is_quotation(text, match.start()):
        return ()
    groups = match.groupdict()
    named = _signal(groups)
    if not groups.get("lost") and (named is None or named in _STOPS):
        return ()
    prefix = read_prefix(hit.head(column))
    rank = groups.get("rank")
    if rank is not None and prefix.rank is None:
        prefix = prefix._replace(rank=int(rank))
    told_by = "launcher" if groups.get("lost") else "shell"
    fields = {"told_by": told_by, "signal": named, "exception": None, "frames": ()}
    line = hit.line
    return (
        Draft(
            ProcessDeath, fields, line.start, line.end, line.text, prefix, (told_by, named, rank)
        ),
    )


def _signal(told: dict[str, bytes | None]) -> str | None:
    """The signal's name by whichever part of the text tells it."""
    if number := told.get("number"):
        return _by_number(int(number))
    if status := told.get("status"):
        return _by_number(int(status) - 128)
    if name := told.get("name"):
        return name.decode()
    if words := told.get("words"):
        return _BY_WORDS[words]
    if told.get("lost"):
        return None
    return "SIGILL" if told.get("invalid") else "SIGSEGV"


def _by_number(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None
