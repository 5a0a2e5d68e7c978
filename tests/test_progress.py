"""Progress on a terminal: after a second, of what is known, and gone without a trace."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import io
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aoti_logscan import pipeline, progress
from aoti_logscan.progress import Progress, State, figures, plain_sizes
from aoti_logscan.render.layout import columns
from tests.conftest import FIXTURES

COMMAND = Path(sys.executable).with_name("aoti-logscan")
CHECK = b"Error: input_handles[0]: unmatched dtype, expected: 6(at::kFloat), but got: 7\n"

#: more than tells what kind of input it is
STEPS = b"step\n" * 2_000

#: what ends a line of progress: it is erased, with the cursor at its start and shown
GONE = b"\r\x1b[1A\x1b[2K"


class _Terminal:
    """The command with its standard error on a terminal and its input and output on pipes."""

    def __init__(self, *args: str, width: int = 80, term: str = "xterm") -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        self.process = subprocess.Popen(
            [str(COMMAND), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": term},
        )
        os.close(theirs)
        self.shown = b""

    def feed(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until(self, wanted: bytes) -> None:
        """Read what is shown until something wanted is there; too much without it is an error."""
        while wanted not in self.shown:
            ready, _, _ = select.select([self._ours], [], [], 60)
            assert ready, self.shown
            assert len(self.shown) < 100_000, self.shown[-1_000:]
            self.shown += os.read(self._ours, 1 << 16)

    def end(self) -> tuple[int, bytes]:
        """Exit status and standard output; the rest of what is shown is read."""
        output, _ = self.process.communicate()
        with contextlib.suppress(OSError):  # how a terminal whose other end is closed ends on Linux
            while piece := os.read(self._ours, 1 << 16):
                self.shown += piece
        os.close(self._ours)
        return self.process.returncode, output


# --- on a terminal


@pytest.mark.parametrize("form", ["text", "json"])
def test_pipe_shows_the_bytes_so_far_and_leaves_nothing(form: str) -> None:
    terminal = _Terminal("-f", form)
    terminal.feed(STEPS)
    terminal.until(b"10.0 kB")
    terminal.feed(CHECK)
    status, output = terminal.end()
    assert (status, b"input-mismatch" in output or output.startswith(b"Input mismatch")) == (
        1,
        True,
    )
    assert b"<stdin>" in terminal.shown
    assert b"%" not in terminal.shown
    assert terminal.shown.endswith(GONE)
    assert terminal.shown.count(b"\x1b[?25l") <= terminal.shown.count(b"\x1b[?25h")


def test_name_of_a_source_cannot_steer_the_terminal(tmp_path: Path) -> None:
    fifo = tmp_path / "\x1b]0;owned\x07\u202e.log"
    os.mkfifo(fifo)
    terminal = _Terminal(str(fifo), width=200)
    with open(fifo, "wb") as writer:
        writer.write(STEPS)
        writer.flush()
        terminal.until(b"10.0 kB")
    assert terminal.end()[0] == 0
    assert b"\\x1b]0;owned\\x07\\u202e.log" in terminal.shown
    assert b"\x1b]" not in terminal.shown
    assert b"\x07" not in terminal.shown


def test_interrupt_leaves_the_terminal_clean() -> None:
    terminal = _Terminal()
    terminal.feed(STEPS)
    terminal.until(b"<stdin>")
    terminal.process.send_signal(signal.SIGINT)
    status, output = terminal.end()
    assert (status, output.splitlines()[0]) == (130, b"No failure found")
    assert b"reading stopped: interrupted" in output
    assert terminal.shown.rstrip(b"\r\n").endswith(GONE.strip())
    assert b"Traceback" not in terminal.shown
    assert terminal.shown.rfind(b"\x1b[?25h") > terminal.shown.rfind(b"\x1b[?25l")


def test_process_that_is_killed_leaves_the_cursor_shown() -> None:
    terminal = _Terminal()
    terminal.feed(STEPS)
    terminal.until(b"\x1b[?25h")
    terminal.process.kill()
    terminal.end()
    assert terminal.shown.rfind(b"\x1b[?25h") > terminal.shown.rfind(b"\x1b[?25l")


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_dumb_terminal_shows_nothing(term: str) -> None:
    terminal = _Terminal(term=term)
    terminal.feed(CHECK)
    assert terminal.end()[0] == 1
    assert terminal.shown == b""


def test_short_work_shows_nothing_and_loads_no_rich() -> None:
    code = (
        "import atexit, sys; from aoti_logscan.cli import main;"
        "atexit.register(lambda: print('rich' in sys.modules)); main()"
    )
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code, "-o", os.devnull],
        input=CHECK,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stdout) == (1, b"False\n")
    with contextlib.suppress(OSError):
        assert os.read(ours, 100) == b""
    os.close(ours)


# --- without one


class _Screen(io.StringIO):
    """A terminal of a test."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)


@contextlib.contextmanager
def _shown(watch: Progress, screen: io.StringIO, wanted: str) -> Iterator[Callable[[], str]]:
    """A running line that shows what is wanted."""
    tick = threading.Event()
    with watch:
        for _ in range(600):
            if wanted in screen.getvalue():
                break
            tick.wait(0.1)
        yield screen.getvalue
    assert wanted in screen.getvalue()


@pytest.mark.usefixtures("at_once")
def test_stream_that_is_no_terminal_gets_nothing() -> None:
    stream = io.StringIO()
    with Progress(["-"], stream) as watch:
        watch.source("run.log")(10)
    assert stream.getvalue() == ""
    with Progress(["-"], None):
        pass


@pytest.mark.usefixtures("at_once")
def test_stage_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    screen = _Screen()
    watch = Progress(["-"], screen, {"TERM": "xterm"})
    watch.source("run.log")(10_000)
    watch.stage("looking for the cause")
    with _shown(watch, screen, "looking for the ") as shown:
        assert "kB" not in shown()


@pytest.mark.usefixtures("at_once")
def test_error_in_the_work_ends_the_line() -> None:
    screen = _Screen()
    watch = Progress(["-"], screen, {"TERM": "xterm"})
    with pytest.raises(KeyError), _shown(watch, screen, "waiting for input"):
        raise KeyError
    assert screen.getvalue().endswith(GONE.decode())


# --- how far it is


def test_share_of_all_plain_files_is_known(tmp_path: Path) -> None:
    for name, size in (("a.log", 100), ("b.so", 50), ("c.log", 200)):
        (tmp_path / name).write_bytes(b"x" * size)
    screen = _Screen()
    watch = Progress([str(tmp_path)], screen)
    watch._sizes = plain_sizes([str(tmp_path)])
    watch.source(f"{tmp_path}/a.log")(40)
    assert watch.state() == State(f"{tmp_path}/a.log", 40, 40, 350)
    watch.source(f"{tmp_path}/b.so")
    grown = watch.source(f"{tmp_path}/c.log")
    grown(50)
    assert watch.state() == State(f"{tmp_path}/c.log", 90, 200, 350)
    grown(900)
    assert watch.state() == State(f"{tmp_path}/c.log", 940, 350, 350)


def test_pipe_has_no_share() -> None:
    watch = Progress(["-"], None)
    assert watch.state() == State("waiting for input", 0, 0, None)
    watch.source("<stdin>")(40)
    assert watch.state() == State("<stdin>", 40, 40, None)


def test_plain_files_and_packages_have_sizes(tmp_path: Path) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    (inner / "b.log").write_bytes(b"12345")
    (tmp_path / "model.pt2").write_bytes(b"PK\x03\x04 and more")
    os.mkfifo(tmp_path / "pipe")
    sizes = plain_sizes([str(tmp_path)])
    assert sizes == {f"{inner}/b.log": 5, f"{tmp_path}/model.pt2": 13}


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"x"), b"PK\x03\x04", b"\0" * 257 + b"ustar", b"\x28\xb5\x2f\xfd"],
    ids=["gzip", "zip", "tar", "zstd"],
)
def test_packed_file_has_no_size_of_what_will_be_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    assert plain_sizes([str(tmp_path)]) is None


def test_what_is_no_file_has_no_size(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert plain_sizes(["-"]) is None
    assert plain_sizes([str(tmp_path / "pipe")]) is None
    assert plain_sizes(["no/such"]) is None


def test_too_many_files_have_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MAX_FILES", 2)
    for name in "abc":
        (tmp_path / name).write_bytes(b"x")
    assert plain_sizes([str(tmp_path)]) is None


@pytest.mark.parametrize(
    ("state", "speed", "room", "shown"),
    [
        (State("", 0, 0, None), None, 80, ""),
        (State("", 2_000, 2_000, None), None, 80, "2.0 kB"),
        (State("", 2_000, 2_000, None), 1e6, 80, "2.0 kB  1.0 MB/s"),
        (State("", 2_000, 2_000, 8_000), 1e6, 80, "25 %  2.0 kB of 8.0 kB  1.0 MB/s"),
        (State("", 2_000, 2_000, 8_000), 1e6, 25, "25 %  2.0 kB of 8.0 kB"),
        (State("", 2_000, 2_000, 8_000), 1e6, 10, "25 %"),
        (State("", 2_000, 2_000, 8_000), 1e6, 1, "25 %"),
    ],
)
def test_figures_are_those_that_fit(
    state: State, speed: float | None, room: int, shown: str
) -> None:
    assert figures(state, speed, room) == shown
    assert columns(shown) <= max(room, 4)


# --- what the pipeline tells


class _Told:
    """Everything that the pipeline told, in order."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def source(self, name: str) -> Callable[[int], None]:
        self.said.append(Path(name).name)
        return self.said.append

    def stage(self, doing: str) -> None:
        self.said.append(doing)


def test_pipeline_tells_sources_bytes_and_stages() -> None:
    folder = FIXTURES / "input-dim-static/input"
    told = _Told()
    report = pipeline.analyze([folder], watch=told)
    assert told.said[:2] == ["model.pt2", "run.log"]
    assert told.said[-2:] == [report.sources[1].bytes, "looking for the cause"]
    assert report == pipeline.analyze([folder])


def test_bytes_are_told_as_they_come(tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    file.write_bytes(b"step\n" * 600_000)
    told = _Told()
    pipeline.events([file], watch=told)
    read = [one for one in told.said if isinstance(one, int)]
    assert read == sorted(read)
    assert len(read) > 1
    assert read[-1] == 3_000_000
