"""Live tests: a model is exported, compiled and run with real torch, and dies on purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
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
    return {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), **flags}


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
