"""The report on a real terminal: colour where it is wanted, and no escape sequence of a log."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aoti_logscan import analyze
from aoti_logscan.render.layout import columns
from aoti_logscan.render.terminal import THEME, has_colour, render_terminal
from aoti_logscan.render.text import render_text
from aoti_logscan.report import Report
from tests.conftest import FIXTURES

COMMAND = Path(sys.executable).with_name("aoti-logscan")
FAILED = FIXTURES / "lineage-index-from-size-of-empty-table/input"
CASES = sorted(file.parent / "input" for file in FIXTURES.glob("*/case.toml"))

#: what the theme's styles become: bold, dim, and the terminal's own colours
SGR = re.compile(r"\x1b\[(?:0|1|2|1;3[12]|3[2356])m")


def _on_terminal(
    *args: object,
    columns: int = 80,
    stream: str = "stdout",
    environ: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, str]:
    """Exit status and what a terminal of so many columns gets from one stream of the command."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in _CHANGES_COLOUR}
    process = subprocess.Popen(
        [str(COMMAND), *(str(arg) for arg in args)],
        stdin=subprocess.DEVNULL,
        stdout=theirs if stream == "stdout" else subprocess.DEVNULL,
        stderr=theirs if stream == "stderr" else subprocess.DEVNULL,
        env={**kept, "TERM": "xterm-256color", **environ},
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # how a terminal whose other end is closed ends on Linux
        while piece := os.read(ours, 1 << 16):
            shown += piece
    os.close(ours)
    return process.wait(), shown.decode().replace("\r\n", "\n")


_CHANGES_COLOUR = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM", "COLUMNS")


def _piped(*args: object, **environ: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in _CHANGES_COLOUR}
    command = [str(COMMAND), *(str(arg) for arg in args)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**kept, **environ}
    ).stdout


# --- where there is colour


def test_terminal_gets_the_plain_report_in_colour() -> None:
    status, shown = _on_terminal(FAILED)
    assert status == 1
    assert shown.startswith("\x1b[1;31mTriton index out of bounds\x1b[0m")
    assert SGR.sub("", shown) == _piped(FAILED)


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"FORCE_COLOR": ""}])
def test_terminal_without_colour_gets_the_plain_report(environ: dict[str, str]) -> None:
    assert _on_terminal(FAILED, environ=environ) == (1, _piped(FAILED))


def test_pipe_gets_colour_only_where_it_is_forced() -> None:
    assert "\x1b" not in _piped(FAILED)
    assert SGR.search(_piped(FAILED, FORCE_COLOR="1"))
    assert "\x1b" not in _piped(FAILED, FORCE_COLOR="1", NO_COLOR="1")


def test_file_is_plain_whatever_the_terminal_is(tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    assert _on_terminal("-o", file, FAILED, environ={"FORCE_COLOR": "1"}) == (1, "")
    assert file.read_text(encoding="utf-8") == _piped(FAILED)


def test_json_has_no_colour_on_a_terminal() -> None:
    _, shown = _on_terminal("-f", "json", FAILED)
    assert msgspec.json.decode(shown, type=Report).verdict.certainty == "sure"


@pytest.mark.parametrize("width", [24, 40, 200])
def test_report_has_the_width_of_the_terminal(width: int) -> None:
    _, shown = _on_terminal(FAILED, columns=width)
    assert SGR.sub("", shown) == render_text(analyze([FAILED]), width=width)


def test_diagnosis_of_a_run_is_in_colour_where_stderr_is_a_terminal(tmp_path: Path) -> None:
    command = ["run", "--record", tmp_path / "crash", "--", "cat", FAILED / "run.log"]
    status, shown = _on_terminal(*command, stream="stderr", columns=60)
    assert status == 0
    assert "\x1b[1;31mTriton index out of bounds\x1b[0m" in shown
    assert max(columns(line) for line in SGR.sub("", shown).splitlines()[2:4]) <= 60


class _Stream:
    def __init__(self, answer: bool | None) -> None:
        self._answer = answer

    def isatty(self) -> bool:
        if self._answer is None:
            raise ValueError("I/O operation on closed file")
        return self._answer


@pytest.mark.parametrize(
    ("answer", "environ", "has"),
    [
        (True, {}, True),
        (False, {}, False),
        (None, {}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "TERM": "dumb"}, False),
        (True, {"TERM": "Unknown"}, False),
    ],
)
def test_colour_follows_the_usual_variables(
    answer: bool | None, environ: dict[str, str], has: bool
) -> None:
    stream: Any = _Stream(answer)
    assert has_colour(stream, environ) is has


def test_stream_that_is_not_there_has_no_colour() -> None:
    assert not has_colour(None, {})


def _loads_rich(**environ: str) -> bool:
    code = (
        "import atexit, sys; from aoti_logscan.cli import main;"
        "atexit.register(lambda: print('rich' in sys.modules, file=sys.stderr)); main()"
    )
    kept = {name: value for name, value in os.environ.items() if name not in _CHANGES_COLOUR}
    done = subprocess.run(
        [sys.executable, "-c", code, str(FAILED)],
        capture_output=True,
        text=True,
        check=False,
        env={**kept, **environ},
    )
    return done.stderr.strip() == "True"


def test_rich_is_loaded_only_for_colour() -> None:
    assert [_loads_rich(), _loads_rich(FORCE_COLOR="1")] == [False, True]


# --- what is in it


def test_theme_uses_the_terminals_own_colours() -> None:
    words = {word for look in THEME.values() for word in look.split()}
    assert words == {"none", "bold", "dim", "red", "green", "yellow", "magenta", "cyan"}


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: str(folder.parent.name))
def test_colours_are_all_that_differs_from_the_plain_report(folder: Path) -> None:
    report = analyze([folder])
    for show_all in (False, True):
        shown = render_terminal(report, show_all=show_all, width=100)
        assert SGR.sub("", shown) == render_text(report, show_all=show_all, width=100)


#: fields whose words are fixed
_FIXED = {"class", "certainty", "role", "state", "takes_effect", "kind", "phase", "schema_version"}


def _poisoned(value: Any, poison: str, key: str = "") -> Any:
    """A report as plain values with `poison` at both ends of all its texts."""
    if isinstance(value, dict):
        return {name: _poisoned(inner, poison, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_poisoned(inner, poison, key) for inner in value]
    return f"{poison}{value}{poison}" if isinstance(value, str) and key not in _FIXED else value


@cache
def _fields() -> Any:
    """A report with findings, a kernel with its values, a lineage, flags and problems."""
    found = msgspec.to_builtins(analyze([FAILED]))
    crash = msgspec.to_builtins(analyze([FIXTURES / "printer-level2-crash-pty/input"]))
    found["last_kernel"]["arguments"] = crash["last_kernel"]["arguments"]
    found["last_kernel"]["user_stack"] = ['File "/m.py", line 7, in forward\n  x[i]', "second"]
    found["last_kernel"]["certainty"] = "likely"
    found["flags"] = [*found["flags"], *crash["flags"]]
    found["sources"][0]["problems"] = [{"line": 3, "what": "a record was cut"}]
    found["findings"][0]["facts"]["function"] = "unknown"
    return found


def _shown(poison: str, width: int = 80) -> str:
    report = msgspec.convert(_poisoned(_fields(), poison), Report)
    plain = render_text(report, show_all=True, width=width)
    shown = render_terminal(report, show_all=True, width=width)
    assert SGR.sub("", shown) == plain
    return plain


@pytest.mark.parametrize(
    "poison",
    [
        "\x1b[2J",
        "\x1b]0;owned\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1b[31m",
        "\x9b31m",
        "\x07",
        "\x08",
        "\r",
        "\n",
        "\x0b",
        "\x00",
        "\x7f",
        "\u202e",
        "\u2066",
        "\u200b",
        "\u200d",
        "\ufeff",
        "\u2028",
        "\udcff",
        "\U000e0041",
    ],
    ids=ascii,
)
def test_control_characters_in_any_field_are_shown_not_sent(poison: str) -> None:
    plain = _shown(poison)
    assert [char for char in plain if not char.isprintable() and char != "\n"] == []


def test_markup_of_rich_in_any_field_is_text() -> None:
    plain = _shown("[red]:bomb:[/red][link=http://x]")
    assert plain.count("[red]:bomb:[/red][link=http://x]") > 20


@settings(deadline=None, max_examples=40)
@given(poison=st.text(max_size=20), width=st.integers(20, 300))
def test_no_text_in_any_field_brings_an_escape_sequence(poison: str, width: int) -> None:
    plain = _shown(poison, width)
    assert [char for char in plain if not char.isprintable() and char != "\n"] == []
