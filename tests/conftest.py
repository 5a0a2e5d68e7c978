"""What all tests share: the folder of fixtures and the command, run in this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from aoti_logscan.cli import cli

# a child whose files may not grow would leave half a module's bytecode behind for all later ones
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
# a shell that starts the tests in the background has them, and their children, ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"

Run = Callable[..., Result]
Diagnose = Callable[..., dict[str, Any]]


@pytest.fixture
def run() -> Run:
    """The command as it is typed, without a new process: `run("-f", "json", path)`."""

    def invoke(*args: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(cli, list(args), input=stdin, prog_name="aoti-logscan")

    return invoke


@pytest.fixture
def diagnose(run: Run) -> Diagnose:
    """The JSON report on a log's text, read from standard input."""

    def report(text: str | bytes) -> dict[str, Any]:
        data = text.encode() if isinstance(text, str) else text
        result = run("-f", "json", "-", stdin=data)
        assert result.exit_code in (0, 1), result.output
        decoded: dict[str, Any] = msgspec.json.decode(result.stdout)
        return decoded

    return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--golden=write` writes the golden files anew, to be reviewed as code is."""
    parser.addoption("--golden", choices=["check", "write"], default="check")
