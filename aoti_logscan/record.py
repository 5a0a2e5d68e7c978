"""`aoti-logscan run`: records a command, passes on what it prints, and says why it failed.

The command starts before anything of the analysis is loaded. Whatever fails here, be it a full disk
or a closed output, the command runs to its end, and its exit status is the answer.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import shutil
import signal
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aoti_logscan import rungs
from aoti_logscan.recorder import Recorder
from aoti_logscan.recording import OUTPUT, RUN, RUN_HEAD, TRACE, read_run_record
from aoti_logscan.relay import Ended, NotStartedError, open_standard_descriptors, relay

if TYPE_CHECKING:
    from aoti_logscan.report import Report

AUTO = "auto"
STEPS = (*rungs.STEPS, AUTO)
#: exit status of a shell for a command that is not there, and for one that cannot be run
NOT_FOUND, NOT_RUNNABLE = 127, 126
#: reasons of the system for which a shell says that it did not find the command
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class FolderInUseError(Exception):
    """The folder for a recording is none, or holds other files."""


class Request(NamedTuple):
    """What was asked for: `step` is a rung, `auto`, or None to only record.

    `folder` is where the recording goes, None for a temporary one. `show` gets the diagnosis, `say`
    each remark on the way.
    """

    command: Sequence[str]
    step: str | None
    folder: Path | None
    packages: Sequence[str]
    show: Callable[[Report], None]
    say: Callable[[str], None]


class _Run(NamedTuple):
    """One run of the command: its exit status, and the report where there could be one."""

    status: int
    report: Report | None


def run(request: Request) -> int:
    """Run the command as asked and show the diagnosis; gives the exit status of the last run.

    Raises `FolderInUseError` before anything is run.
    """
    open_standard_descriptors()
    suspects: Sequence[str] = ()
    if request.folder:
        _check(request.folder)
        if request.step == "inspect":
            suspects = _suspects_in(request.folder)
    step = rungs.STEPS[0] if request.step == AUTO else request.step
    done = _run_once(request, step, suspects)
    while request.step == AUTO and step and (following := _goes_on(request, step, done)):
        step, suspects = following, _suspected(done.report) if done.report else ()
        done = _run_once(request, step, suspects)
    if done.report:
        request.show(done.report)
    return done.status


def _goes_on(request: Request, step: str, done: _Run) -> str | None:
    """The next rung where a question is open and there is one; says so."""
    question = open_question(done.report) if done.report and done.status else None
    if question is None:
        return None
    following = rungs.after(step)
    if following is None:
        request.say(f"{question} after the last step")
        return None
    request.say(f"{question} after step {step}: the command is run again with step {following}")
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        request.say("standard input is a pipe: this run gets what the last one left of it")
    return following


def open_question(report: Report) -> str | None:
    """What a report leaves open, in a few words; None where it is decided or nothing failed."""
    if report.verdict.failure_class == "undecided":
        return "the verdict is undecided"
    if report.verdict.certainty == "possible":
        return f"{report.verdict.failure_class} is only possible"
    return None


def _suspected(report: Report) -> tuple[str, ...]:
    from aoti_logscan.dossier import suspected

    return suspected(report)


def _suspects_in(folder: Path) -> tuple[str, ...]:
    """The suspects of the recording that is there; none where there is none."""
    if not _is_recording(folder):
        return ()
    from aoti_logscan.errors import LogscanError
    from aoti_logscan.pipeline import analyze

    try:
        return _suspected(analyze([folder]))
    except LogscanError:
        return ()


# --- one run


def _run_once(request: Request, step: str | None, suspects: Sequence[str]) -> _Run:
    """Run the command on one rung, diagnose it, and keep or drop the recording."""
    recorder = _recorder(request)
    if recorder.folder.is_dir() and rungs.TRACE not in os.environ:
        with contextlib.suppress(OSError):
            (recorder.folder / TRACE).mkdir()
    sets, kept = _environment(step, suspects, recorder.folder)
    _announce(request.say, step, sets, kept)
    recorder.begin(
        command=request.command,
        directory=_directory(),
        step=step,
        environment=[f"{name}={value}" for name, value in sets.items()],
        kept=kept,
    )
    try:
        ended = relay(request.command, {**os.environ, **sets}, _Outlet(recorder, request.say).take)
    except (NotStartedError, OSError) as error:
        if _is_recording(recorder.folder):
            shutil.rmtree(recorder.folder, ignore_errors=True)
        return _Run(_not_started(request, error), None)
    _finish(request, recorder, ended)
    report = _report(request, recorder)
    failed = ended.exit_status or report is None or report.verdict.failure_class != "none"
    _say_ended(request, recorder, ended, kept=bool(request.folder or failed))
    return _Run(ended.exit_status, report)


def _recorder(request: Request) -> Recorder:
    """A recorder for the folder that was asked for, else for a temporary one."""
    if request.folder and _set_aside(request.folder, request.say):
        recorder = Recorder(request.folder)
        if recorder.problem is None:
            return recorder
        request.say(f"{recorder.problem}; a temporary folder takes its place")
    recorder = Recorder(_temporary())
    if recorder.problem:
        request.say(f"{recorder.problem}; the command runs without it")
    return recorder


def _temporary() -> Path:
    """A new temporary folder; where there can be none, a path that cannot be written either."""
    from tempfile import mkdtemp

    try:
        return Path(mkdtemp(prefix="aoti-logscan-"))
    except OSError:
        return Path(os.devnull, "aoti-logscan")


def _environment(
    step: str | None, suspects: Sequence[str], folder: Path
) -> tuple[dict[str, str], list[str]]:
    """What is set for the command, and the flags that stay as the user has set them."""
    wanted = rungs.environment(step, suspects)
    if (folder / TRACE).is_dir():
        wanted[rungs.TRACE] = str((folder / TRACE).absolute())
    sets = {name: value for name, value in wanted.items() if name not in os.environ}
    kept = [f"{name}={os.environ[name]}" for name in rungs.FLAGS if name in os.environ]
    return sets, kept


def _announce(
    say: Callable[[str], None], step: str | None, sets: dict[str, str], kept: Sequence[str]
) -> None:
    """Say what this rung does, which of it needs a compilation, and what stays as it was."""
    if step is None:
        return
    of_step = [name for name in rungs.environment(step) if name in rungs.FLAGS]
    settings = " ".join(f"{name}={sets[name]}" for name in (*of_step, rungs.FILTER) if name in sets)
    say(f"step {step}: {rungs.does(step)}" + (f" ({settings})" if settings else ""))
    baked = [name for name in rungs.COMPILE_FLAGS if name in sets]
    if baked:
        acts = "act" if len(baked) > 1 else "acts"
        say(f"{' and '.join(baked)} {acts} only on what the command compiles, not on a package")
    if step == "inspect" and rungs.FILTER not in sets:
        say("no kernel is suspected yet: all of them are printed")
    for setting in kept:
        if setting.partition("=")[0] in of_step:
            say(f"{setting} stays as you have set it")


def _directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


class _Outlet:
    """Takes what the command prints: into the recording, then to our standard output."""

    def __init__(self, recorder: Recorder, say: Callable[[str], None]) -> None:
        self._recorder = recorder
        self._say = say
        self._is_recorded = recorder.problem is None
        self._passes_on = True

    def take(self, piece: memoryview) -> None:
        """Hand on a piece; a broken end is told once and the other one goes on."""
        self._recorder.write(piece)
        if self._is_recorded and self._recorder.problem:
            self._is_recorded = False
            self._say(f"{self._recorder.problem}; the command runs on")
        if self._passes_on:
            try:
                _write_out(piece)
            except OSError as error:
                self._passes_on = False
                self._say(f"standard output: {error.strerror}; the command runs on")


def _write_out(piece: memoryview) -> None:
    while piece:
        try:
            piece = piece[os.write(1, piece) :]
        except BlockingIOError:  # somebody else made it so
            waiting = select.poll()
            waiting.register(1, select.POLLOUT)
            waiting.poll()


def _not_started(request: Request, error: Exception) -> int:
    """Say why the command does not run; gives what a shell's exit status would be."""
    if not isinstance(error, NotStartedError):
        request.say(f"no pseudo-terminal can be had: {error}")
        return NOT_RUNNABLE
    name, reason = request.command[0], error.error
    if reason.errno in _ABSENT:
        request.say(f"{name}: command not found")
        return NOT_FOUND
    request.say(f"{name}: {reason.strerror}")
    return NOT_RUNNABLE


# --- after it


def _finish(request: Request, recorder: Recorder, ended: Ended) -> None:
    """Complete the recording: how the command ended, and its packages."""
    from aoti_logscan.run_packages import keep, packages

    recorder.end(
        status=ended.status,
        signal=_signal_name(ended.signal) if ended.signal else None,
        left_open=ended.left_open,
    )
    with contextlib.suppress(OSError):
        (recorder.folder / TRACE).rmdir()  # nothing was traced
    if recorder.problem is None:
        named = (*request.packages, *request.command)
        found = packages(named, recorder.folder / OUTPUT)
        recorder.add(packages=list(keep(found, recorder.folder)))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


def _report(request: Request, recorder: Recorder) -> Report | None:
    """The report on the recording; None where there can be none, and why is said."""
    paths = [recorder.folder] if recorder.folder.is_dir() else []
    if lost := recorder.lost():
        request.say(f"the end of the output is in {lost}")
        paths.append(lost)
    packages = [path for path in request.packages if os.path.exists(path)]
    if not paths:
        return None
    try:
        from aoti_logscan.pipeline import analyze

        return analyze(paths, packages=packages)
    except Exception as error:  # whatever it is, the command's own exit status must come back
        request.say(f"no diagnosis: {error}")
        return None


def _say_ended(request: Request, recorder: Recorder, ended: Ended, *, kept: bool) -> None:
    if ended.left_open:
        request.say("a process that the command left behind still has its output; it goes unseen")
    how = f"exit status {ended.status}"
    if ended.signal:
        how = f"ended by {_signal_name(ended.signal)}"
    if not kept:
        shutil.rmtree(recorder.folder, ignore_errors=True)
        request.say(how)
    elif recorder.folder.is_dir():
        request.say(f"{how}, recorded in {recorder.folder}")
    else:
        request.say(f"{how}, not recorded")


# --- the folder


def _is_recording(folder: Path) -> bool:
    with contextlib.suppress(OSError), open(folder / RUN, "rb") as file:
        return file.read(len(RUN_HEAD)) == RUN_HEAD
    return False


def _check(folder: Path) -> None:
    """Refuse a folder that holds anything but a recording."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise FolderInUseError(f"{folder} is not a folder: name a new one for the recording")
    with contextlib.suppress(OSError):  # a folder that cannot be written is said by the recorder
        if next(folder.iterdir(), None) and not _is_recording(folder):
            raise FolderInUseError(
                f"{folder} holds other files: name a new folder, or an empty one"
            )


def _set_aside(folder: Path, say: Callable[[str], None]) -> bool:
    """Rename the recording that is there; False where that fails."""
    if not _is_recording(folder):
        return True
    try:
        fields = read_run_record((folder / RUN).read_bytes()) or {}
        number = 1
        while (aside := _beside(folder, f"{number}-{fields.get('step') or 'plain'}")).exists():
            number += 1
        folder.rename(aside)
    except OSError as error:
        say(f"the recording in {folder} cannot be renamed: {error.strerror}")
        return False
    say(f"the recording that was in {folder} is now {aside}")
    return True


def _beside(folder: Path, ending: str) -> Path:
    return Path(f"{folder if folder.name not in ('', '..') else folder.resolve()}-{ending}")
