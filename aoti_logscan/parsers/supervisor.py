"""How a process ended, as the one that watched over it tells: a service manager, a container
runtime, a batch system, MPI, the kernel, a development environment, or a parent in Python.

    infer.service: Main process exited, code=dumped, status=11/SEGV
    worker-1 exited with code 139
    python3[48112]: segfault at 0 ip 00007f3ac1a0c5d2 sp 00007ffd2e0a1c70 error 4 in x.so[7f3ac...
    mpirun noticed that process rank 2 with PID 55121 on node n07 exited on signal 11 (...)
    RuntimeError: DataLoader worker (pid 40217) is killed by signal: Segmentation fault.
    subprocess.CalledProcessError: Command '['python', 'x.py']' died with <Signals.SIGSEGV: 11>.
    Worker proc VllmWorker-1 died unexpectedly, shutting down executor.

give one `ProcessDeath` each. An exit status above 128 is 128 and the signal's number; that of a
stop (SIGTERM, SIGINT, SIGHUP) is no death. Some know that a process crashed (a core was dumped, a
status of Windows), some only that it is gone; then there is no signal. Sources: systemd, service.c
and coredump.c; docker compose and `kubectl describe`; Linux,
arch/x86/mm/fault.c (`show_signal_msg`), traps.c; Open MPI, orterun and its signal handler; torch,
utils/data/_utils/signal_handling.py and multiprocessing/spawn.py; CPython, subprocess.py
(`CalledProcessError.__str__`); DeepSpeed, launcher/launch.py (`sigkill_handler`); the runner of
GitHub Actions, ScriptHandler.cs; GitLab's and Jenkins's logs, `kubectl exec`; coreutils, timeout.c;
GNU time, time.c; vLLM, v1/executor/multiproc_executor.py
(`monitor_workers`) and v1/engine/core_client.py (`monitor_engine_cores`); PyCharm's run window;
Windows, ntstatus.h.
"""

from __future__ import annotations

import re
import signal
from typing import NamedTuple

from aoti_logscan.events import ProcessDeath
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import Prefix, read_prefix
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
    # Worker proc VllmWorker-1 died unexpectedly, shutting down executor.
    # Worker proc VllmWorker-1 died unexpectedly (exit code: -11), shutting down executor.
    # Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.
    _Form(
        b" died unexpectedly",
        lazy_re(
            rb"(?:Worker|Engine core) proc [^\s'\"`]{1,100} (?P<lost>died unexpectedly)"
            rb"(?:, shutting down|[^\n]{0,20}\(exit code: (?:-(?P<number>\d{1,3})|[\w-]{1,12})\))"
        ),
    ),
    # Command '['python', 'train.py']' died with <Signals.SIGSEGV: 11>.
    _Form(
        b" died with ",
        lazy_re(
            rb"(?<=['\"] )died with (?:<Signals\.(?P<name>SIG[A-Z]{2,6}): \d{1,3}>"
            rb"|unknown signal " + _NUMBER + rb"\b)"
        ),
    ),
    # [launch.py:324:sigkill_handler] ['python', '-u', 'train.py'] exits with return code = -11
    _Form(
        b"] exits with return code = ",
        lazy_re(
            rb"(?<=\] )exits with return code = (?:-" + _NUMBER + rb"|(?P<status>\d{1,3}))\s*$"
        ),
    ),
    # 2026-05-21T09:12:45.6581234Z ##[error]Process completed with exit code 139.
    _Form(
        b"Process completed with exit code ",
        lazy_re(
            rb"(?:##\[error\]|Error: )Process completed with exit code (?P<status>\d{1,3})\.\s*$"
        ),
    ),
    # Process finished with exit code 139 (interrupted by signal 11:SIGSEGV)
    _Form(
        b"Process finished with exit code ",
        lazy_re(
            rb"Process finished with exit code (?P<status>\d{1,3})"
            rb"(?: \(interrupted by signal \d{1,3}: ?SIG[A-Z]{2,6}\))?\s*$"
        ),
    ),
    # Process finished with exit code -1073741819 (0xC0000005)     exited with code -1073740791
    _Form(
        b" code -107374",
        lazy_re(
            rb"(?:[Ee]xit(?:ed with)?|[Rr]eturn(?:ed)?) code -107374(?P<crashed>1819|1795|1676|1571"
            rb"|0940|0791)\b"
        ),
    ),
    # Command '['python', 'train.py']' returned non-zero exit status 3221225477.
    _Form(
        b" exit status 322122",
        lazy_re(
            rb"returned non-zero exit status 322122(?P<crashed>5477|5501|5620|5725|6356|6505)\b"
        ),
    ),
    # ERROR: Job failed: exit code 139      command terminated with exit code 139
    # script returned exit code 139
    _Form(
        b" exit code 1",
        lazy_re(
            rb"(?:ERROR: Job failed:|[Cc]ommand terminated with|script returned) exit code"
            rb" (?P<status>\d{3})\s*$"
        ),
    ),
    # Command terminated by signal 11
    _Form(
        b"Command terminated by signal ",
        lazy_re(rb"Command terminated by signal " + _NUMBER + rb"\s*$"),
    ),
    # Process 4242 (python) of user 1000 terminated abnormally with signal 11/SEGV, processing...
    _Form(
        b" terminated abnormally with signal ",
        lazy_re(
            rb"Process (?P<process>\d{1,9}) \([^\n]{1,64}?\) of user \d{1,10} terminated abnormally"
            rb" with signal " + _NUMBER + rb"/[A-Z]"
        ),
    ),
    # timeout: the monitored command dumped core
    _Form(
        b": the monitored command dumped core",
        lazy_re(rb"timeout: the monitored (?P<crashed>command) dumped core\s*$"),
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
    if named in _STOPS:
        named = None
    if named is None and not groups.get("lost") and not groups.get("crashed"):
        return ()
    told_by = "launcher" if groups.get("lost") and named is None else "shell"
    fields = {"told_by": told_by, "signal": named, "exception": None, "frames": ()}
    line = hit.line
    prefix, fold = _prefix(hit, groups), (told_by, named, groups.get("rank"), groups.get("process"))
    return (Draft(ProcessDeath, fields, line.start, line.end, line.text, prefix, fold),)


def _prefix(hit: Hit, told: dict[str, bytes | None]) -> Prefix:
    """Who died: by the text, else whose the line is."""
    prefix = read_prefix(hit.head(hit.column))
    rank, process = told.get("rank"), told.get("process")
    if rank is not None and prefix.rank is None:
        prefix = prefix._replace(rank=int(rank))
    return prefix._replace(process=process.decode()) if process else prefix


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
    if told.get("lost") or told.get("crashed"):
        return None
    return "SIGILL" if told.get("invalid") else "SIGSEGV"


def _by_number(number: int) -> str | None:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None
