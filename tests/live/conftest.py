"""Live tests: a model is exported, compiled and run with real torch, and dies on purpose."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

SCRIPTS = Path(__file__).parent / "scripts"
COMMAND = Path(sys.executable).with_name("aoti-logscan")


class Job(NamedTuple):
    """A folder with the compiled package."""

    folder: Path
    package: Path


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The small model, exported and compiled with AOTI once for all live tests."""
    pytest.importorskip("torch", reason="live tests need the extra `live`")
    folder = tmp_path_factory.mktemp("job")
    package = folder / "ranker.pt2"
    done = subprocess.run(
        [sys.executable, SCRIPTS / "build.py", package],
        cwd=folder,
        env=_environment(folder),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Job(folder, package)


def _environment(folder: Path, **flags: str) -> dict[str, str]:
    # what a caller has set would keep a pipe from losing what was printed
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**buffered, "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), **flags}


Crash = Callable[..., str]


@pytest.fixture
def crash(job: Job) -> Crash:
    """Run the model with one kind of bad call and give back all that it printed, as `2>&1` does."""

    def run(kind: str, **flags: str) -> str:
        done = subprocess.run(
            [sys.executable, SCRIPTS / "serve.py", job.package, kind],
            cwd=job.folder,
            env=_environment(job.folder, **flags),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
        )
        assert done.returncode != 0, done.stdout
        return done.stdout.decode()

    return run


Piped = Callable[..., dict[str, Any]]


@pytest.fixture
def piped() -> Piped:
    """The JSON report of the installed command on piped text."""

    def report(text: str, *args: str) -> dict[str, Any]:
        done = subprocess.run(
            [COMMAND, "-f", "json", *args],
            input=text.encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        decoded: dict[str, Any] = msgspec.json.decode(done.stdout)
        return decoded

    return report


class Printing(NamedTuple):
    """A folder with a custom operator that crashes, and packages that call it and print marks."""

    folder: Path
    library: Path

    def command(self, level: int) -> list[str | Path]:
        """Run the package of that level of the value printer, until it crashes."""
        package = self.folder / f"level{level}.pt2"
        script = SCRIPTS / "call_printing.py"
        return [sys.executable, "-X", "faulthandler", script, self.library, package]

    def on_terminal(self, level: int) -> str:
        """All that the run prints on a terminal."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            self.command(level),
            cwd=self.folder,
            env=_environment(self.folder),
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        printed = b"".join(_until_closed(ours))
        os.close(ours)
        assert process.wait(timeout=60) == -signal.SIGSEGV, printed
        return printed.decode()

    def in_pipe(self, level: int) -> str:
        """What the run leaves in a pipe, as with `2>&1 | cat`."""
        done = subprocess.run(
            self.command(level),
            cwd=self.folder,
            env=_environment(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
        )
        assert done.returncode == -signal.SIGSEGV, done.stdout
        return done.stdout.decode()


def _until_closed(terminal: int) -> Iterator[bytes]:
    while select.select([terminal], [], [], 300)[0]:
        try:
            printed = os.read(terminal, 65536)
        except OSError:  # Linux: the last writer has closed its end
            return
        if not printed:
            return
        yield printed


@pytest.fixture(scope="session")
def printing(tmp_path_factory: pytest.TempPathFactory) -> Printing:
    """The operator, built with g++ against the installed torch, and the packages that call it."""
    torch = pytest.importorskip("torch", reason="live tests need the extra `live`")
    folder = tmp_path_factory.mktemp("printing")
    library = folder / "libcrash.so"
    installed = Path(torch.__file__).parent
    compile_operator = ["g++", "-std=c++20", "-shared", "-fPIC", f"-I{installed / 'include'}"]
    link_torch = [f"-L{installed / 'lib'}", "-ltorch_cpu", "-lc10"]
    for command in (
        [*compile_operator, str(SCRIPTS / "crash.cpp"), "-o", str(library), *link_torch],
        [sys.executable, str(SCRIPTS / "build_printing.py"), str(library), str(folder)],
    ):
        done = subprocess.run(
            command,
            cwd=folder,
            env=_environment(folder),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return Printing(folder, library)
