"""Runs a command on one raw pseudo-terminal and hands on every byte that it prints, in order.

Both outputs of the command are the same terminal, so that libraries flush each line and marks and
errors keep their order; it is raw, so that no byte is changed. Standard input is the caller's own:
a pipe ends where it ends, and a terminal is read by the command itself, in whatever mode it likes.
The command is a process group of its own. What is sent to the caller is sent on to the group; the
terminal becomes the group's when it first reads from it, and a stop (Ctrl-Z) stops the caller too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

#: takes each piece of the output as it comes; the view is void afterwards
Sink = Callable[[memoryview], None]

#: bytes read before they are handed on
_PIECE = 128 << 10
#: a terminal's size where there is none: lines, columns
_SIZE = (24, 80)
#: of a descendant that outlives the command: seconds of silence after which its output is no longer
#: waited for, seconds waited in all, bytes taken in all (more than a terminal holds back)
QUIET, PATIENCE, LEFT_OVER = 0.3, 2.0, 4 << 20
_FORWARDED = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP),
    *(signal.SIGUSR1, signal.SIGUSR2),
)
_STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


class Ended(NamedTuple):
    """How a command ended: its exit status, or the number of the signal that it died of.

    `left_open` says that a descendant still had the terminal and its further output is not seen.
    """

    status: int | None
    signal: int | None
    left_open: bool = False

    @property
    def exit_status(self) -> int:
        """The status as a shell gives it: 128 and the signal's number for a death."""
        return 128 + self.signal if self.signal else self.status or 0


class NotStartedError(Exception):
    """The command could not be started; `error` is the system's reason."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def relay(command: Sequence[str], environment: Mapping[str, str], sink: Sink) -> Ended:
    """Run the command to its end and give `sink` all that it prints.

    Raises `NotStartedError`, and `OSError` where there is no pseudo-terminal to be had. To be
    called in the main thread, with descriptors 0 to 2 open.
    """
    with _RawPty() as pty, _Terminal() as terminal, _Wakeup() as wakeup:
        job = _Job(pty, terminal)
        with job.handlers():
            job.start(command, environment)
            return _pump(job, pty, wakeup, sink)


def open_standard_descriptors() -> None:
    """Fill closed descriptors 0 to 2, so that nothing else comes to be standard output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _pump(job: _Job, pty: _RawPty, wakeup: _Wakeup, sink: Sink) -> Ended:
    """Read until the command has ended, then what is left."""
    buffer = memoryview(bytearray(_PIECE))
    poll = select.poll()
    poll.register(pty.master, select.POLLIN)
    poll.register(wakeup.reader, select.POLLIN)
    while (ended := job.ended()) is None:
        ready = dict(poll.poll())
        if wakeup.reader in ready:
            wakeup.clear()
        if pty.master in ready and (count := _read(pty.master, buffer)):
            sink(buffer[:count])
    pty.close_slave()
    return ended._replace(left_open=_drain(pty.master, buffer, sink))


def _drain(master: int, buffer: memoryview, sink: Sink) -> bool:
    """Hand on what is left; True where someone still holds the terminal open."""
    waited, taken = 0.0, 0
    poll = select.poll()
    poll.register(master, select.POLLIN)
    while waited < PATIENCE and taken < LEFT_OVER:
        began = time.monotonic()
        if not poll.poll(QUIET * 1000):
            return True
        waited += time.monotonic() - began
        count = _read(master, buffer)
        if count is None:
            return False
        if count:
            sink(buffer[:count])
            taken += count
    return True


def _read(master: int, buffer: memoryview) -> int | None:
    """Fill the buffer with what is there, a terminal gives it by the page; None at the end."""
    filled = 0
    while filled < len(buffer):
        try:
            count = os.readv(master, [buffer[filled:]])
        except BlockingIOError:
            break
        except OSError:  # Linux: EIO, the last writer has closed its end
            return filled or None
        if not count:
            return filled or None
        filled += count
    return filled


class _RawPty:
    """The command's terminal; the slave is kept open, so that only its end ends the reading."""

    def __enter__(self) -> _RawPty:
        self.master, self.slave = os.openpty()
        self._slave_is_open = True
        tty.setraw(self.slave, termios.TCSANOW)
        os.set_blocking(self.master, False)
        self.copy_size()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close_slave()
        os.close(self.master)

    def close_slave(self) -> None:
        """Leave it to the command and its descendants."""
        if self._slave_is_open:
            self._slave_is_open = False
            os.close(self.slave)

    def copy_size(self) -> None:
        """Give it the size of the caller's terminal."""
        size = struct.pack("HHHH", *_SIZE, 0, 0)
        for number in (1, 0, 2):
            with contextlib.suppress(OSError):
                told = fcntl.ioctl(number, termios.TIOCGWINSZ, b"\0" * 8)
                if any(told):
                    size = told
                    break
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)


class _Wakeup:
    """Ends a wait when a signal comes."""

    def __enter__(self) -> _Wakeup:
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)
        self._before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_error: object) -> None:
        signal.set_wakeup_fd(self._before)
        os.close(self.reader)
        os.close(self._writer)

    def clear(self) -> None:
        """Forget the signals that were told."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.reader, 4096):
                pass


class _Terminal:
    """The caller's terminal, if there is one: who reads from it, and the modes to leave it in."""

    def __enter__(self) -> _Terminal:
        self._number: int | None = None
        self._modes: dict[int, list[Any]] = {}
        with contextlib.suppress(OSError):
            self._number = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        for number in (0, self._number):
            with contextlib.suppress(termios.error):
                if number is not None:
                    self._modes[number] = termios.tcgetattr(number)
        return self

    def __exit__(self, *_error: object) -> None:
        self._restore()
        if self._number is not None:
            os.close(self._number)

    def is_ours(self) -> bool:
        """Whether the caller's group is the one that may read."""
        return _reader(self._number) == os.getpgrp()

    def give(self, group: int) -> bool:
        """Let the group read where the caller may; whether it could be done."""
        return self.is_ours() and self._set_reader(group)

    def take(self, group: int) -> None:
        """Let the caller's group read again, where the other did."""
        if _reader(self._number) == group:
            self._set_reader(os.getpgrp())
            self._restore()

    def _restore(self) -> None:
        for number, modes in self._modes.items():
            if _reader(number) in (None, os.getpgrp()):
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(number, termios.TCSADRAIN, modes)

    def _set_reader(self, group: int) -> bool:
        """A group in the background may do this where it ignores the signal against it."""
        assert self._number is not None
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            os.tcsetpgrp(self._number, group)
        except OSError:
            return False
        finally:
            signal.signal(signal.SIGTTOU, before)
        return True


def _reader(terminal: int | None) -> int | None:
    """The group that may read; None for what is not the caller's controlling terminal."""
    if terminal is not None:
        with contextlib.suppress(OSError):
            return os.tcgetpgrp(terminal)
    return None


class _Job:
    """The command as a process group: signals are sent on to it, its stops are the caller's."""

    def __init__(self, pty: _RawPty, terminal: _Terminal) -> None:
        self._pty = pty
        self._terminal = terminal
        self._group: int | None = None
        self._early: list[int] = []
        self._continued = False

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the command with both outputs on the raw terminal."""
        outputs = [(os.POSIX_SPAWN_DUP2, self._pty.slave, number) for number in (1, 2)]
        # Python ignores these two for itself alone
        given_back = [signal.SIGPIPE, signal.SIGXFSZ]
        try:
            self._group = os.posix_spawnp(
                command[0],
                list(command),
                dict(environment),
                file_actions=outputs,
                setpgroup=0,
                setsigdef=given_back,
            )
        except OSError as error:
            raise NotStartedError(error) from error
        for number in self._early:
            self._forward(number)

    def ended(self) -> Ended | None:
        """How the command ended, None while it lives; a stop is dealt with on the way."""
        assert self._group is not None
        process, status = os.waitpid(self._group, os.WNOHANG | os.WUNTRACED)
        if not process:
            return None
        if os.WIFSTOPPED(status):
            self._stopped(os.WSTOPSIG(status))
            return None
        self._terminal.take(self._group)
        self._group = None
        if os.WIFSIGNALED(status):
            return Ended(None, os.WTERMSIG(status))
        return Ended(os.WEXITSTATUS(status), None)

    @contextlib.contextmanager
    def handlers(self) -> Iterator[None]:
        """Send signals on instead of dying of them; those that the caller ignores stay ignored."""
        wanted: dict[int, Callable[[int, Any], None]] = {
            number: self._forward
            for number in _FORWARDED
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        wanted[signal.SIGCHLD] = lambda _number, _frame: None
        wanted[signal.SIGCONT] = self._resume
        wanted[signal.SIGWINCH] = self._resize
        before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _forward(self, number: int, _frame: Any = None) -> None:
        if self._group is None:
            self._early.append(number)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)

    def _resize(self, number: int, _frame: Any) -> None:
        self._pty.copy_size()
        self._forward(number)

    def _resume(self, number: int, _frame: Any) -> None:
        self._continued = True
        self._forward(number)

    def _stopped(self, by: int) -> None:
        """Give the terminal to a group that stopped for want of it; else stop with it."""
        assert self._group is not None
        if by not in _STOPS:
            return
        if by != signal.SIGTSTP and self._terminal.give(self._group):
            self._forward(signal.SIGCONT)
            return
        self._terminal.take(self._group)
        self._stop_too(by)
        if not self._continued and by != signal.SIGTSTP:
            self._forward(signal.SIGHUP)  # nobody is left who could give it the terminal
        self._forward(signal.SIGCONT)

    def _stop_too(self, by: int) -> None:
        """Stop the caller's group as the terminal would have; returns when it is continued."""
        self._continued = False
        handler = signal.signal(by, signal.SIG_DFL)
        os.killpg(os.getpgrp(), by)
        signal.signal(by, handler)
