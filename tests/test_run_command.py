"""`aoti-logscan run`: bytes, order, signals, terminals, broken ends, and what it records."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pty
import resource
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from aoti_logscan.relay import Ended, relay
from tests.conftest import FIXTURES

COMMAND = str(Path(sys.executable).with_name("aoti-logscan"))
FAILED = FIXTURES / "input-dim-static/input"
UNDECIDED = FIXTURES / "xpu-device-lost-cause-unknown/input"
CRASH = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"

Done = subprocess.CompletedProcess[bytes]


def python(code: str) -> list[str]:
    """The words that run this code."""
    return [sys.executable, "-c", code]


def record(*words: object, **options: Any) -> Done:
    """`aoti-logscan run` in a process of its own; nothing is on its standard input."""
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    command = [COMMAND, "run", *(str(word) for word in words)]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=60, check=False, **options)


def start(*words: object, **options: Any) -> subprocess.Popen[bytes]:
    """The same, without waiting for it."""
    pipe = subprocess.PIPE
    command = [COMMAND, "run", *(str(word) for word in words)]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, **options)


def noted(folder: Path) -> dict[str, Any]:
    """The run.json of a recording."""
    fields: dict[str, Any] = json.loads((folder / "run.json").read_bytes())
    return fields


def report(folder: Path) -> dict[str, Any]:
    """The report on a recording, by the command."""
    words = [COMMAND, "-f", "json", str(folder)]
    decoded: dict[str, Any] = json.loads(
        subprocess.run(words, capture_output=True, timeout=60, check=False).stdout
    )
    return decoded


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder for a recording, not there yet."""
    return tmp_path / "kept"


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without flags, whose temporary folders lie in the folder that comes back."""
    for name in [
        name for name in os.environ if name.startswith(("TORCH", "AOT", "CUDA", "PYTHONU"))
    ]:
        monkeypatch.delenv(name)
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


@pytest.fixture(autouse=True)
def _signals_as_usual() -> Iterator[None]:
    """What started the tests may ignore signals, and commands would inherit it."""
    usual = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_DFL) for number in usual]
    yield
    for number, handler in zip(usual, before, strict=True):
        signal.signal(number, handler)


# --- bytes


def test_every_byte_passes_unchanged_and_is_recorded(kept: Path) -> None:
    code = (
        "import os; [os.write(1, bytes(range(256)) + b'a\\r\\nb\\n\\r\\x1b[1m') for _ in range(99)]"
    )
    done = record("--record", kept, "--", *python(code))
    assert done.stdout == (bytes(range(256)) + b"a\r\nb\n\r\x1b[1m") * 99
    assert (kept / "output.log").read_bytes() == done.stdout


def test_both_outputs_keep_their_order() -> None:
    code = "import os; [os.write(1 + n % 2, b'%d\\n' % n) for n in range(3000)]"
    assert record("--", *python(code)).stdout.split() == [b"%d" % n for n in range(3000)]


def test_output_of_buffered_c_and_python_keeps_its_order() -> None:
    code = (
        "import ctypes, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "for n in range(50):\n"
        "    libc.printf(b'c%d\\n', n); print(f'p{n}'); print(f'e{n}', file=sys.stderr)"
    )
    wanted = [f"{who}{n}".encode() for n in range(50) for who in "cpe"]
    assert record("--", *python(code)).stdout.split() == wanted


def test_fifty_megabytes_are_the_same_everywhere(kept: Path) -> None:
    code = (
        "import hashlib, os, random\n"
        "piece, whole = random.Random(1).randbytes(1 << 20), hashlib.sha256()\n"
        "for n in range(50):\n"
        "    view = memoryview(piece)[n:]; whole.update(view)\n"
        "    while view: view = view[os.write(1 + n % 2, view):]\n"
        "print(whole.hexdigest(), end='')"
    )
    done = record("--record", kept, "--", *python(code))
    assert hashlib.sha256(done.stdout[:-64]).hexdigest().encode() == done.stdout[-64:]
    assert (kept / "output.log").read_bytes() == done.stdout
    assert noted(kept)["recorded"] == len(done.stdout)


def test_last_bytes_of_a_short_life_are_not_lost() -> None:
    pieces: list[bytes] = []
    for _ in range(300):
        ended = relay(
            ["head", "-c", "6000", "/dev/zero"],
            os.environ,
            lambda piece: pieces.append(bytes(piece)),
        )
        assert ended == Ended(0, None)
    assert sum(map(len, pieces)) == 300 * 6000


def test_output_passes_while_the_command_runs() -> None:
    running = start("--", "sh", "-c", "echo first; read line; echo $line", stdin=subprocess.PIPE)
    assert running.stdout
    assert running.stdin
    assert running.stdout.readline() == b"first\n"
    running.stdin.write(b"second\n")
    running.stdin.close()
    assert running.stdout.read() == b"second\n"
    running.wait(timeout=30)


def test_command_that_prints_nothing_is_recorded(kept: Path) -> None:
    done = record("--record", kept, "--", "true")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"No failure found" in done.stderr
    assert noted(kept)["status"] == 0


# --- exit status


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 3"], 3),
        (["sh", "-c", "kill -SEGV $$"], 139),
        (["sh", "-c", "kill -KILL $$"], 137),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["no-such-command-anywhere"], 127),
        (["./no/such/file"], 127),
        (["/"], 126),
    ],
)
def test_exit_status_is_that_of_the_command(command: list[str], status: int) -> None:
    assert record("--", *command).returncode == status


def test_command_that_is_not_found_is_said_and_leaves_no_recording(kept: Path) -> None:
    done = record("--record", kept, "--", "no-such-command-anywhere")
    assert done.stderr == b"aoti-logscan: no-such-command-anywhere: command not found\n"
    assert not kept.exists()


def test_file_without_permission_to_execute_is_said(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n", encoding="utf-8")
    done = record("--", tmp_path / "script")
    assert (done.returncode, b"Permission denied" in done.stderr) == (126, True)


@pytest.mark.parametrize("words", [[], ["--"], ["--step", "leap", "--", "true"], ["--all", "true"]])
def test_wrong_usage_is_status_2(words: list[str]) -> None:
    done = record(*words)
    assert (done.returncode, done.stdout) == (2, b"")


def test_options_after_the_command_are_its_own() -> None:
    assert record("echo", "--step", "-o", "x").stdout == b"--step -o x\n"


def test_silent_crash_is_diagnosed_from_the_signal() -> None:
    done = record("--", *python(CRASH), env=os.environ | {"PYTHONFAULTHANDLER": ""})
    assert done.returncode == 139
    assert b"ended by SIGSEGV, recorded in " in done.stderr
    assert b"The process died of SIGSEGV" in done.stderr


def test_request_to_end_is_no_crash() -> None:
    done = record("--", "sh", "-c", "kill -TERM $$")
    assert b"No failure found" in done.stderr


# --- standard input


def test_piped_input_reaches_the_command_to_its_end() -> None:
    data = bytes(range(256)) * 4000
    assert record("--", "cat", input=data).stdout == data


def test_command_sees_that_input_is_no_terminal_and_output_is_one() -> None:
    code = "import os; print(os.isatty(0), os.isatty(1), os.isatty(2))"
    assert record("--", *python(code)).stdout == b"False True True\n"


def test_closed_descriptors_are_no_harm(kept: Path) -> None:
    line = '"$0" run --record "$1" -- sh -c "echo out; cat" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", line, COMMAND, str(kept)], timeout=60, check=False)
    assert done.returncode == 0
    assert (kept / "output.log").read_bytes() == b"out\n"


class Screen(NamedTuple):
    """A terminal with a program on it: what it prints is read, keys are typed."""

    process: subprocess.Popen[bytes]
    keys: int
    slave: int

    def type(self, keys: bytes) -> None:
        """Press these keys."""
        os.write(self.keys, keys)

    def until(self, words: bytes, seconds: float = 20) -> bytes:
        """All that is printed up to these words."""
        shown, deadline = b"", time.monotonic() + seconds
        while words not in shown:
            left = deadline - time.monotonic()
            assert left > 0, shown
            if select.select([self.keys], [], [], left)[0]:
                shown += os.read(self.keys, 4096)
        return shown

    def wait(self) -> int:
        """The exit status; what is still printed is read."""
        deadline = time.monotonic() + 20
        while self.process.poll() is None:
            assert time.monotonic() < deadline
            if select.select([self.keys], [], [], 0.05)[0]:
                os.read(self.keys, 4096)
        return self.process.returncode


OnScreen = Callable[..., Screen]


@pytest.fixture
def on_screen() -> Iterator[OnScreen]:
    """Starts a program as the leader of a session on a terminal of its own."""
    screens: list[Screen] = []

    def begin(*words: object, size: tuple[int, int] = (24, 80)) -> Screen:
        keys, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        process = subprocess.Popen(
            [str(word) for word in words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        screens.append(Screen(process, keys, slave))
        return screens[-1]

    yield begin
    for screen in screens:
        if screen.process.poll() is None:
            screen.process.kill()
            screen.process.wait()
        os.close(screen.keys)
        os.close(screen.slave)


def test_command_reads_lines_from_the_terminal(on_screen: OnScreen, kept: Path) -> None:
    code = "import os; print(os.isatty(0), input('name? ').upper())"
    screen = on_screen(COMMAND, "run", "--record", kept, "--", *python(code))
    screen.until(b"name? ")
    screen.type(b"ada\r")
    screen.until(b"True ADA\r\n")
    assert screen.wait() == 0
    assert b"True ADA\n" in (kept / "output.log").read_bytes()


def test_end_of_typed_input_is_seen(on_screen: OnScreen) -> None:
    screen = on_screen(COMMAND, "run", "--", "sh", "-c", "cat; echo end")
    screen.type(b"line\r\x04")
    screen.until(b"end\r\n")
    assert screen.wait() == 0


ON_INTERRUPT = """
import signal, time
try:
    print('ready', flush=True)
    signal.pause()
except KeyboardInterrupt:
    print('interrupted', flush=True)
    time.sleep(0.3)
    print('tidied', flush=True)
"""


def test_ctrl_c_reaches_the_command_once(on_screen: OnScreen) -> None:
    screen = on_screen(COMMAND, "run", "--", *python(ON_INTERRUPT))
    screen.until(b"ready")
    screen.type(b"\x03")
    screen.until(b"interrupted")
    screen.until(b"tidied")
    assert screen.wait() == 0


def test_ctrl_c_reaches_a_command_that_reads_the_terminal(on_screen: OnScreen) -> None:
    code = "try: input('? ')\nexcept KeyboardInterrupt: print('interrupted'); raise SystemExit(7)"
    screen = on_screen(COMMAND, "run", "--", *python(code))
    screen.until(b"? ")
    time.sleep(0.3)
    screen.type(b"\x03")
    screen.until(b"interrupted")
    assert screen.wait() == 7


def test_terminal_is_left_as_it_was_found(on_screen: OnScreen) -> None:
    code = "import tty, sys; tty.setraw(0); print('raw', flush=True); sys.stdin.read(1)"
    screen = on_screen(
        "sh", "-c", f'"{COMMAND}" run -- "$@"; stty -a; sleep 9', "sh", *python(code)
    )
    before = termios.tcgetattr(screen.slave)
    screen.until(b"raw")
    assert termios.tcgetattr(screen.slave) != before
    screen.type(b"x")
    screen.until(b" icanon")
    assert termios.tcgetattr(screen.slave) == before


def test_job_stops_and_goes_on(on_screen: OnScreen) -> None:
    shell = on_screen("sh", "-i")
    code = "print('re' 'ady', input('on' 'e: '), input('tw' 'o: '))"
    shell.type(f'{COMMAND} run -- {sys.executable} -c "{code}"\r'.encode())
    shell.until(b"one: ")
    shell.type(b"one\r")
    shell.until(b"two: ")
    shell.type(b"\x1a")
    shell.until(b"Stopped")
    shell.type(b"fg\r")
    time.sleep(0.3)
    shell.type(b"two\r")
    shell.until(b"ready one two")
    shell.type(b"exit\r")
    assert shell.wait() == 0


def test_job_in_the_background_stops_when_it_reads(on_screen: OnScreen) -> None:
    shell = on_screen("sh", "-i")
    code = "print('re' 'ad', input())"
    shell.type(f'{COMMAND} run -- {sys.executable} -c "{code}" &\r'.encode())
    time.sleep(1)
    shell.type(b"\r")
    shell.until(b"Stopped")
    shell.type(b"fg\r")
    time.sleep(0.3)
    shell.type(b"it\r")
    shell.until(b"read it")
    shell.type(b"exit\r")
    shell.wait()


SIZES = """
import os, signal
show = lambda: print('size', *os.get_terminal_size(1), flush=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
show()
signal.sigwait([signal.SIGWINCH])
show()
"""


def test_window_size_is_the_terminals_and_follows_it(on_screen: OnScreen) -> None:
    screen = on_screen(COMMAND, "run", "--", *python(SIZES), size=(31, 117))
    screen.until(b"size 117 31")
    fcntl.ioctl(screen.keys, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 99, 0, 0))
    screen.until(b"size 99 40")
    assert screen.wait() == 0


def test_terminal_that_goes_away_ends_nothing_but_the_command(
    on_screen: OnScreen, kept: Path
) -> None:
    code = "import signal; print('ready', flush=True); signal.pause()"
    screen = on_screen(COMMAND, "run", "--record", kept, "--", *python(code))
    screen.until(b"ready")
    screen.process.send_signal(signal.SIGHUP)
    assert screen.wait() == 128 + signal.SIGHUP
    assert noted(kept)["signal"] == "SIGHUP"


# --- signals


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1"])
def test_signal_reaches_the_whole_group(name: str, kept: Path) -> None:
    # a shell has what it runs in the background ignore these two
    code = (
        "import os, signal\n"
        "for one in (signal.SIGINT, signal.SIGQUIT): signal.signal(one, signal.SIG_DFL)\n"
        "os.write(1, b'up\\n'); signal.pause()"
    )
    line = '"$@" & "$@"; wait'
    running = start("--record", kept, "--", "sh", "-c", line, "sh", *python(code))
    assert running.stdout
    assert [running.stdout.readline() for _ in range(2)] == [b"up\n"] * 2
    running.send_signal(signal.Signals[name])
    running.communicate(timeout=30)
    assert running.returncode == 128 + signal.Signals[name]
    assert not noted(kept)["left_open"]


def test_signal_that_the_caller_ignores_is_ignored_by_the_command() -> None:
    code = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    words = ["sh", "-c", 'trap "" HUP; exec "$0" run -- "$@"', COMMAND, *python(code)]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert done.stdout == b"True\n"


def test_command_dies_of_a_broken_pipe_as_ever() -> None:
    line = "(yes; echo $? >&2) | head -1 >/dev/null; exit 0"
    done = record("--", "bash", "-c", line)
    assert done.stdout == b"141\n"


# --- what outlives the command


def test_descendant_that_keeps_the_terminal_is_not_waited_for(kept: Path) -> None:
    began = time.monotonic()
    done = record("--record", kept, "--", "sh", "-c", "sleep 20 & echo done")
    assert time.monotonic() - began < 10
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert b"still has its output" in done.stderr
    assert noted(kept)["left_open"]


def test_descendant_that_never_stops_printing_is_not_waited_for() -> None:
    began = time.monotonic()
    # they end when their terminal is gone, or after a minute
    slow = "while [ $SECONDS -lt 60 ] && echo tick; do sleep 0.05; done"
    fast = "while [ $SECONDS -lt 60 ] && echo tock; do :; done"
    done = record("--", "bash", "-c", f"({slow}) & ({fast}) & exit 0")
    assert time.monotonic() - began < 15
    assert done.returncode == 0


def test_last_words_of_a_descendant_are_heard(kept: Path) -> None:
    done = record("--record", kept, "--", "sh", "-c", "(sleep 0.2; echo late) & echo soon")
    assert done.stdout == b"soon\nlate\n"
    assert not noted(kept)["left_open"]


# --- broken ends


def test_full_disk_is_said_and_the_command_runs_on(kept: Path, clean: Path) -> None:
    error = "Error: input_handles[0]: unmatched dtype, expected: 6(at::kFloat), but got: 7"
    code = f"import sys; [print('x' * 99) for _ in range(30000)]; print({error!r}); sys.exit(5)"
    limit = (2 << 20, 2 << 20)
    done = record(
        *("--record", kept, "--", *python(code)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert (done.returncode, done.stdout.count(b"\n")) == (5, 30001)
    assert b"stopped after 2,097,152 bytes: File too large; the command runs on" in done.stderr
    assert (kept / "output.log").read_bytes() == done.stdout[: 2 << 20]
    assert "File too large" in noted(kept)["problem"]
    assert b"Input mismatch" in done.stderr
    [end] = clean.glob("aoti-logscan-end-*")
    assert done.stdout.endswith(end.read_bytes())


def test_folder_that_cannot_be_written_is_said_and_replaced(tmp_path: Path, clean: Path) -> None:
    (tmp_path / "file").touch()
    done = record("--record", tmp_path / "file/sub", "--", "sh", "-c", "echo out; exit 4")
    assert (done.returncode, done.stdout) == (4, b"out\n")
    assert b"Not a directory; a temporary folder takes its place" in done.stderr
    assert [file.name for file in clean.glob("*/output.log")] == ["output.log"]


def test_command_runs_where_nothing_can_be_written() -> None:
    done = record(
        *("--", "sh", "-c", "echo out; exit 4"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert (done.returncode, done.stdout) == (4, b"out\n")
    assert b"exit status 4" in done.stderr


def test_reader_that_goes_away_ends_neither_command_nor_recording(kept: Path) -> None:
    code = "[print(n) for n in range(200000)]"
    line = '"$0" run --record "$1" -- "$2" -c "$3" | head -1; echo ${PIPESTATUS[0]}'
    words = ["bash", "-c", line, COMMAND, str(kept), sys.executable, code]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert done.stdout == b"0\n0\n"
    assert (kept / "output.log").read_bytes().endswith(b"\n199999\n")
    assert b"standard output: Broken pipe; the command runs on" in done.stderr


def test_output_on_a_full_disk_is_said_and_the_command_runs_on(kept: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = record("--record", kept, "--", "sh", "-c", "echo out; exit 6", stdout=full)
    assert done.returncode == 6
    assert b"standard output: No space left on device" in done.stderr
    assert (kept / "output.log").read_bytes() == b"out\n"


def test_output_that_does_not_block_loses_nothing() -> None:
    running = start("--", *python("print('x' * 3_000_000, end='')"), stdin=subprocess.DEVNULL)
    assert running.stdout
    os.set_blocking(running.stdout.fileno(), True)
    time.sleep(0.5)
    out, _ = running.communicate(timeout=30)
    assert len(out) == 3_000_000


# --- the recording


def test_recording_gives_the_same_diagnosis_again(kept: Path) -> None:
    done = record("--record", kept, "--", "sh", "-c", f"cat {FAILED}/run.log; exit 1")
    again = subprocess.run([COMMAND, str(kept)], capture_output=True, timeout=60, check=False)
    assert done.stderr.endswith(again.stdout)
    assert again.returncode == 1
    assert b"Input mismatch" in again.stdout


def test_package_named_in_the_output_is_kept_and_used(kept: Path) -> None:
    line = f"echo loading '{FAILED}/model.pt2'; cat {FAILED}/run.log; exit 1"
    done = record("--record", kept, "--", "sh", "-c", line)
    assert b"name arg3_1" in done.stderr
    [package] = noted(kept)["packages"]
    assert package["path"] == str(FAILED / "model.pt2")
    assert (kept / "packages/model.pt2").read_bytes() == (FAILED / "model.pt2").read_bytes()


def test_arrival_times_cover_the_output_and_are_no_log(kept: Path) -> None:
    record("--record", kept, "--", "sh", "-c", "echo one; sleep 0.3; echo three")
    _, *rows = (kept / "arrivals.tsv").read_text(encoding="utf-8").splitlines()
    times, sizes = zip(*([int(part) for part in row.split("\t")] for row in rows), strict=True)
    assert sum(sizes) == len("one\nthree\n")
    assert 250 < max(times) < 5000
    names = [Path(source["name"]).name for source in report(kept)["sources"]]
    assert names == ["output.log", "run.json"]


def test_flags_of_the_step_are_known_to_the_report(kept: Path, clean: Path) -> None:
    record("--step", "pinpoint", "--record", kept, "--", *python(CRASH))
    on = {flag["name"] for flag in report(kept)["flags"] if flag["state"] == "on"}
    assert {"CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "TORCH_SYMBOLIZE_MODE"} <= on


def test_flag_of_compile_time_is_not_on_where_nothing_was_compiled(kept: Path, clean: Path) -> None:
    done = record("--step", "kernels", "--record", kept, "--", *python(CRASH))
    printer = "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER"
    assert f"{printer}=3" in noted(kept)["environment"]
    assert noted(kept)["compiled"] is False
    [flag] = [flag for flag in report(kept)["flags"] if flag["name"] == printer]
    assert flag["state"] == "unknown"
    assert f"{printer} acts only on what the command compiles".encode() in done.stderr


def test_flag_that_is_set_stays(kept: Path, clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "0")
    words = ["sh", "-c", "echo $CUDA_LAUNCH_BLOCKING $HIP_LAUNCH_BLOCKING"]
    done = record("--step", "pinpoint", "--record", kept, "--", *words)
    assert done.stdout == b"0 1\n"
    assert b"CUDA_LAUNCH_BLOCKING=0 stays as you have set it" in done.stderr
    assert noted(kept)["kept"] == ["CUDA_LAUNCH_BLOCKING=0"]
    blocking = next(f for f in report(kept)["flags"] if f["name"] == "CUDA_LAUNCH_BLOCKING")
    assert blocking["state"] == "off"


def test_errors_in_the_command_line_are_no_failure(kept: Path) -> None:
    words = ["true", "CUDA error: an illegal memory access was encountered", "Segmentation fault"]
    assert b"No failure found" in record("--record", kept, "--", *words).stderr


def test_temporary_recording_is_kept_only_of_a_failure(clean: Path) -> None:
    assert record("--", "true").returncode == 0
    assert list(clean.iterdir()) == []
    done = record("--", "false")
    [folder] = clean.iterdir()
    assert f"recorded in {folder}\n".encode() in done.stderr


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    done = record("--record", tmp_path, "--", "touch", tmp_path / "ran")
    assert done.returncode == 2
    assert b"holds other files" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_earlier_recording_is_set_aside(kept: Path) -> None:
    record("--record", kept, "--", "echo", "one")
    record("--record", kept, "--", "echo", "two")
    record("--record", kept, "--", "echo", "three")
    texts = [
        (kept.with_name(name) / "output.log").read_text(encoding="utf-8")
        for name in ("kept-1-plain", "kept-2-plain", "kept")
    ]
    assert texts == ["one\n", "two\n", "three\n"]


def test_diagnosis_goes_to_a_file(tmp_path: Path, kept: Path) -> None:
    target = tmp_path / "report.json"
    line = f"cat {FAILED}/run.log; exit 1"
    done = record("-f", "json", "-o", target, "--record", kept, "--", "sh", "-c", line)
    assert json.loads(target.read_bytes())["verdict"]["class"] == "input-mismatch"
    assert done.stderr == f"aoti-logscan: exit status 1, recorded in {kept}\n".encode()


def test_json_on_stderr_stands_alone() -> None:
    done = record("-f", "json", "--", "true")
    assert json.loads(done.stderr)["verdict"]["class"] == "none"


def test_diagnosis_that_cannot_be_written_comes_to_stderr(tmp_path: Path) -> None:
    done = record("-o", tmp_path / "no/such/file", "--", "sh", "-c", "exit 9")
    assert done.returncode == 9
    assert b"cannot write" in done.stderr
    assert b"No failure found" in done.stderr


# --- the ladder

CLIMB = f"""
import os, pathlib, sys
log = pathlib.Path(os.environ['RUNS'])
log.write_text(log.read_text() + os.environ.get('AOTI_RUNTIME_CHECK_INPUTS', '-')
    + os.environ.get('CUDA_LAUNCH_BLOCKING', '-')
    + os.environ.get('AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER', '-') + ' ')
if sys.argv[1] in os.environ:
    print(pathlib.Path({str(FAILED)!r}, 'run.log').read_text())
elif sys.argv[1] == 'never' or sys.argv[1] != 'heals':
    for file in sorted(pathlib.Path({str(UNDECIDED)!r}).iterdir()): print(file.read_text())
sys.exit(0 if sys.argv[1] == 'heals' and 'CUDA_LAUNCH_BLOCKING' in os.environ else 3)
"""


@pytest.fixture
def runs(tmp_path: Path, clean: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in which each run of `CLIMB` notes its environment."""
    file = tmp_path / "runs"
    file.touch()
    monkeypatch.setenv("RUNS", str(file))
    return file


def test_auto_goes_on_until_the_verdict_is_decided(runs: Path, kept: Path) -> None:
    flag = "CUDA_LAUNCH_BLOCKING"
    done = record("--step", "auto", "--record", kept, "--", *python(CLIMB), flag)
    assert runs.read_text(encoding="utf-8").split() == ["1--", "-1-"]
    assert b"the verdict is undecided after step sanity" in done.stderr
    assert b"Input mismatch" in done.stderr
    assert done.returncode == 3
    assert noted(kept)["step"] == "pinpoint"
    assert noted(kept.with_name("kept-1-sanity"))["step"] == "sanity"
    assert report(kept)["verdict"]["class"] == "input-mismatch"


def test_auto_ends_at_the_last_rung(runs: Path) -> None:
    done = record("--step", "auto", "--", *python(CLIMB), "never")
    assert runs.read_text(encoding="utf-8").split() == ["1--", "-1-", "-13", "-12"]
    assert b"the verdict is undecided after the last step" in done.stderr


def test_auto_runs_once_where_the_verdict_is_decided(runs: Path) -> None:
    record("--step", "auto", "--", *python(CLIMB), "AOTI_RUNTIME_CHECK_INPUTS")
    assert runs.read_text(encoding="utf-8").split() == ["1--"]


def test_auto_runs_once_where_nothing_failed(runs: Path) -> None:
    assert record("--step", "auto", "--", "true").returncode == 0


def test_inspect_prints_the_kernels_that_the_last_recording_suspects(
    kept: Path, clean: Path
) -> None:
    marks = "[ before_launch: triton_poi_fused_add_0 ]"
    words = ["sh", "-c", f"echo '{marks}'; kill -SEGV $$"]
    record("--step", "kernels", "--record", kept, "--", *words)
    done = record("--step", "inspect", "--record", kept, "--", *words)
    filtered = "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT=triton_poi_fused_add_0"
    assert filtered in noted(kept)["environment"]
    assert filtered.encode() in done.stderr
    assert kept.with_name("kept-1-kernels").is_dir()


def test_inspect_without_a_suspect_prints_all_and_says_so(clean: Path) -> None:
    done = record(
        "--step", "inspect", "--", "sh", "-c", "echo [$AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT]"
    )
    assert done.stdout == b"[]\n"
    assert b"no kernel is suspected yet" in done.stderr
