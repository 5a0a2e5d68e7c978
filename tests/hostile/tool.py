"""The command under hostile input: its report checked, its process bounded and measured."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from click.testing import Result

from aoti_logscan.report import Report
from tests.conftest import FIXTURES, Run

COMMAND = str(Path(sys.executable).with_name("aoti-logscan"))
MEASURE = str(Path(__file__).with_name("measure.py"))
#: seconds after which a command is taken to hang
GUARD = 60
MIB = 1 << 20
#: bytes of addresses that a process gets, lest a test takes all memory where it fails
MOST = 4 << 30

#: a failure whose text carries nothing but itself, and its class
ERROR = b"RuntimeError: CUDA error: misaligned address\n"
CLASS = "misaligned-address"


def fixture(name: str) -> bytes:
    """The bytes of an input of a fixture: `crash-gdb/input/run.log`."""
    return (FIXTURES / name).read_bytes()


def sound(result: Result) -> Report:
    """The report of a scan with `-f json`, which keeps to its schema and to its exit status."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return _report(result.exit_code, result.stdout_bytes, result.stderr_bytes)


def _report(status: int, out: bytes, err: bytes) -> Report:
    assert b"Traceback" not in err, err.decode()
    assert status in (0, 1), (status, err)
    report = msgspec.json.decode(out, type=Report)
    assert (status == 0) == (report.verdict.failure_class == "none")
    return report


def scan(run: Run, *words: object, stdin: bytes | None = None) -> Report:
    """The sound report on what the words name."""
    return sound(run("-f", "json", *(str(word) for word in words), stdin=stdin))


def told(report: Report) -> list[str]:
    """What the report says was not read or not understood."""
    return [problem.what for source in report.sources for problem in source.problems]


def told_of(report: Report) -> dict[str, list[str]]:
    """The same by the name of the member, or of the file."""
    found: dict[str, list[str]] = {}
    for source in report.sources:
        name = source.name.partition("!")[2] or os.path.basename(source.name)
        found.setdefault(name, []).extend(problem.what for problem in source.problems)
    return found


def assert_evidence_is_in(report: Report, data: bytes) -> None:
    """Every piece of evidence stands in the bytes that were read, where it says."""
    for finding in report.findings:
        for one in finding.evidence:
            line = data[one.offset :].partition(b"\n")[0].decode("utf-8", "replace")
            assert data[: one.offset].count(b"\n") + 1 == one.line
            assert one.text[:20].strip() in line


class Done(NamedTuple):
    """How a process of the command ended: its exit status, what it printed, its peak in bytes."""

    status: int
    out: bytes
    err: bytes
    peak: int

    @property
    def report(self) -> Report:
        """The sound report that it printed."""
        return _report(self.status, self.out, self.err)


def spawn(
    *words: object,
    feed: Iterable[bytes] = (),
    limits: dict[int, int] | None = None,
    ready: Callable[[], None] | None = None,
    **options: Any,
) -> Done:
    """The installed command in a process of its own, which is ended where it hangs.

    `feed` is what comes through a pipe on its standard input; `limits` are resource limits, by
    their numbers in `resource`; `ready` is called in the process before the command starts.
    """

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for number, limit in {resource.RLIMIT_AS: MOST, **(limits or {})}.items():
            resource.setrlimit(number, (limit, limit))
        if ready is not None:
            ready()

    told, tells = os.pipe()
    ours, theirs = os.pipe()
    command = [sys.executable, "-I", MEASURE, str(theirs), COMMAND, *(str(word) for word in words)]
    pipe = subprocess.PIPE
    options = {"stdin": told, "stdout": pipe, "stderr": pipe, **options}
    process = subprocess.Popen(
        command, preexec_fn=prepare, start_new_session=True, pass_fds=[theirs], **options
    )
    os.close(theirs)
    os.close(told)
    threading.Thread(target=_feed, args=(tells, feed), daemon=True).start()
    out, err = _outputs(process)
    with open(ours, "rb") as ended:
        status, peak = (int(number) for number in ended.read().split())
    return Done(status, out, err, peak * 1024)


def _feed(descriptor: int, feed: Iterable[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
        for part in feed:
            pipe.write(part)


def _outputs(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    try:
        out, err = process.communicate(timeout=GUARD)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return out or b"", err or b""
