"""Live tests: a model is exported, compiled and run with real torch, and dies on purpose."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

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
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Job(folder, package)


def environment(folder: Path, **flags: str) -> dict[str, str]:
    """What a run sees: a cache in the folder, and the flags."""
    # what a caller has set would keep a pipe from losing what was printed
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ours = {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # the start of a pool costs more than it saves here
    }
    return {**buffered, **ours, **flags}


Crash = Callable[..., str]


@pytest.fixture
def crash(job: Job) -> Crash:
    """Run the model with one kind of bad call and give back all that it printed, as `2>&1` does."""

    def run(kind: str, **flags: str) -> str:
        done = subprocess.run(
            [sys.executable, SCRIPTS / "serve.py", job.package, kind],
            cwd=job.folder,
            env=environment(job.folder, **flags),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
        )
        assert done.returncode != 0, done.stdout
        return done.stdout.decode()

    return run


Scan = Callable[..., dict[str, Any]]


@pytest.fixture
def scan() -> Scan:
    """The JSON report of the installed command, with the text piped in; exit status beside it."""

    def report(*args: str | Path, text: str = "") -> dict[str, Any]:
        done = subprocess.run(
            [COMMAND, "-f", "json", *args],
            input=text.encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        decoded: dict[str, Any] = msgspec.json.decode(done.stdout)
        assert done.returncode == int(decoded["verdict"]["class"] != "none"), done.stderr
        return decoded

    return report


Piped = Callable[..., dict[str, Any]]


@pytest.fixture
def piped(scan: Scan) -> Piped:
    """The report on piped text; something must have failed in it."""

    def report(text: str, *args: str) -> dict[str, Any]:
        found = scan(*args, text=text)
        assert found["verdict"]["class"] != "none", text
        return found

    return report


def only_cause(report: dict[str, Any], failure_class: str) -> dict[str, Any]:
    """The facts of the verdict, which is sure, of that class, and the only cause."""
    assert (report["verdict"]["class"], report["verdict"]["certainty"]) == (failure_class, "sure")
    [cause] = [finding for finding in report["findings"] if finding["role"] == "cause"]
    assert report["findings"][report["verdict"]["finding"]] == cause
    facts: dict[str, Any] = cause["facts"]
    return facts


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
            env=environment(self.folder),
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
            env=environment(self.folder),
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
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The custom operators that fail, built with g++ against the installed torch."""
    torch = pytest.importorskip("torch", reason="live tests need the extra `live`")
    built = tmp_path_factory.mktemp("library") / "libcrash.so"
    installed = Path(torch.__file__).parent
    compile_operators = ["g++", "-std=c++20", "-shared", "-fPIC", f"-I{installed / 'include'}"]
    link_torch = [f"-L{installed / 'lib'}", "-ltorch_cpu", "-lc10"]
    done = subprocess.run(
        [*compile_operators, str(SCRIPTS / "crash.cpp"), "-o", str(built), *link_torch],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return built


@pytest.fixture(scope="session")
def printing(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Printing:
    """The packages that call the operator that crashes."""
    folder = tmp_path_factory.mktemp("printing")
    output = run_python([SCRIPTS / "build_printing.py", library, folder], folder)
    assert output.status == 0, output.text
    return Printing(folder, library)


class Output(NamedTuple):
    """How a run ended, and all that it printed, as `2>&1` leaves it."""

    status: int
    text: str


def run_python(arguments: Sequence[str | Path], folder: Path, **flags: str) -> Output:
    """Run a script in the folder until it ends."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(folder, **flags),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return Output(done.returncode, done.stdout.decode(errors="replace"))


class Store(NamedTuple):
    """A package that screens rows by a custom operator and looks others up.

    log: what the compilation printed with every kind of log on; trace: its TORCH_TRACE folder.
    """

    folder: Path
    library: Path
    package: Path
    log: str
    trace: Path

    def call(self, kind: str, *options: str) -> str:
        """What a wrong call of the model prints until the process ends."""
        script = SCRIPTS / "call_store.py"
        output = run_python([*options, script, self.library, self.package, kind], self.folder)
        assert output.status != 0, output.text
        return output.text

    def load(self, package: Path, *model: str) -> str:
        """What a load prints that fails."""
        output = run_python([SCRIPTS / "load_wrong.py", package, *model], self.folder)
        assert output.status == 1, output.text
        return output.text

    def copy(self, name: str, keep: Callable[[str], bool]) -> Path:
        """A copy of the package with the members whose names are to be kept."""
        with ZipFile(self.package) as whole, ZipFile(self.folder / name, "w") as part:
            for member in filter(keep, whole.namelist()):
                part.writestr(member, whole.read(member))
        return self.folder / name


EVERY_LOG = "+dynamo,+aot,+inductor,output_code,kernel_code,guards,recompiles"


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Store:
    """The package, compiled once with checks for NaN, all logs and a trace."""
    folder = tmp_path_factory.mktemp("store")
    package, trace = folder / "store.pt2", folder / "trace"
    arguments = [SCRIPTS / "build_store.py", library, package]
    flags = {"TORCH_LOGS": EVERY_LOG, "TORCH_TRACE": str(trace), "INDUCTOR_PROVENANCE": "1"}
    output = run_python(arguments, folder, **flags)
    assert output.status == 0, output.text
    return Store(folder, library, package, output.text, trace)


Compile = Callable[..., Output]


@pytest.fixture(scope="session")
def compile_wrong(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles or exports in one of the ways that go wrong, in a process of its own."""
    pytest.importorskip("torch", reason="live tests need the extra `live`")
    folder = tmp_path_factory.mktemp("compile")

    def run(kind: str, **flags: str) -> Output:
        return run_python([SCRIPTS / "compile_wrong.py", kind], folder, **flags)

    return run
