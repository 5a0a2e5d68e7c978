"""Standard streams that are closed, or whose other end is; and requests to end.

Reports as text and JSON are tested in `tests/test_cli.py`.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.hostile.test_full_disk import FORMS, OTHERS
from tests.hostile.tool import COMMAND, ERROR, GUARD, spawn

ALL = FORMS + OTHERS
MISSING = "no/such.log"


def _shell(line: str, *words: object, stdin: bytes = ERROR) -> subprocess.CompletedProcess[bytes]:
    """A shell line in which "$0" is the command, and the words are its arguments."""
    command = ["sh", "-c", line, COMMAND, *(str(word) for word in words)]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=GUARD, check=False)


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_reader_that_goes_away_is_no_error(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = spawn(*words, feed=[ERROR], stdout=write)
    os.close(write)
    assert done.err == b""
    assert done.status in (0, 1)


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_closed_output_is_one_line_or_nothing(words: list[str]) -> None:
    done = _shell('"$0" "$@" >&-', *words)
    assert b"Traceback" not in done.stderr
    assert done.returncode == (2 if done.stderr else 0)
    assert done.stderr in (b"", b"Error: cannot write stdout: it is closed\n")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["-f", "json", "-"], 1),
        (["-f", "events", "--patterns", "/", "-"], 0),
        ([MISSING], 2),
        (["--nope"], 2),
        (["-o", "/dev/null/x", "-"], 2),
        (["--attach", "/dev/null/x", "-"], 2),
        (["patterns", "show", "nope"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_closed_standard_error_changes_no_status(words: list[str], status: int) -> None:
    done = _shell('"$0" "$@" 2>&-', *words)
    assert done.returncode == status
    assert b"Traceback" not in done.stdout


def test_everything_closed_gives_its_status(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(ERROR)
    line = '"$0" -o "$1/report" "$1/run.log" <&- >&- 2>&-'
    assert _shell(line, tmp_path).returncode == 1
    assert (tmp_path / "report").read_text().startswith("Misaligned address")


def test_first_file_takes_the_place_of_closed_standard_error(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(ERROR)
    (tmp_path / "a_metadata.json").write_text("[")
    done = _shell('"$0" -f events "$1" <&- 2>&-', tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "a.log").read_bytes() == ERROR


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, None),
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGHUP, -signal.SIGHUP),
        (signal.SIGPIPE, None),
    ],
)
def test_request_to_end_leaves_no_traceback(number: signal.Signals, status: int | None) -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen([COMMAND, "-"], stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin
    process.stdin.write(ERROR)
    process.stdin.flush()
    _until_it_reads(process)
    process.send_signal(number)
    _, told = process.communicate(timeout=GUARD)
    assert b"Traceback" not in told
    assert status is None or process.returncode == status


def _until_it_reads(process: subprocess.Popen[bytes]) -> None:
    """Wait until the process sleeps with nothing left in its pipe."""
    assert process.stdin
    deadline = time.monotonic() + GUARD
    while time.monotonic() < deadline:
        left = fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4))
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if not int.from_bytes(left, sys.byteorder) and state == "S":
            return
        time.sleep(0.02)
    raise AssertionError("it does not read")


def test_writer_that_goes_away_is_the_end_of_the_log() -> None:
    done = _shell(f"printf '%s\\n' '{ERROR.decode().strip()}' | \"$0\" -f json -", stdin=b"")
    assert (done.returncode, done.stderr) == (1, b"")
