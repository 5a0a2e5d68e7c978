"""The manual page: everything that can be typed is in it, and it is sound roff."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan import __version__
from aoti_logscan.cli import cli
from aoti_logscan.manual import ENVIRONMENT, EXAMPLES, page
from tests.conftest import Run

PAGE = page(cli, __version__, default="scan")
#: the page as it is read: what roff reads as its own is written back
READ = (
    PAGE.replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"').replace("\\(ga", "`")
).replace("\\&", "")

#: what a line of the page may begin with
_REQUEST = re.compile(r"\.(?:TH|SH|SS|TP|PP|B|br|nf|fi|RS|RE)(?: |$)")


def _tree(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _tree(inner, f"{path} {name}".strip())


TREE = [(path, command) for path, command in _tree(cli) if path]
LEAVES = [(path, command) for path, command in TREE if not isinstance(command, click.Group)]


def _section(title: str, mark: str = ".SH") -> str:
    return READ.partition(f"\n{mark} {title}\n")[2].partition("\n.S")[0]


def _unfilled(text: str) -> str:
    return " ".join(text.split())


# --- everything is in it


@pytest.mark.parametrize("title", ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS"])
def test_page_has_the_usual_sections(title: str) -> None:
    assert f"\n.SH {title}\n" in PAGE


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[path for path, _ in LEAVES])
def test_every_command_is_in_the_page(path: str, command: click.Command) -> None:
    assert path == "scan" or f"\n.B aoti-logscan {path}\n" in _section("SYNOPSIS")
    where = _section("OPTIONS") if path == "scan" else _section(path, ".SS")
    options = [one for one in command.params if isinstance(one, click.Option)]
    for option in options:
        for written in option.opts:
            assert re.search(rf"^\.B .*{re.escape(written)}\b", where, re.MULTILINE), written
        assert _unfilled(option.help or "") in _unfilled(where)
    assert _unfilled((command.help or "").split("\n\n")[0]) in _unfilled(READ)


def test_options_of_the_group_are_in_the_page() -> None:
    assert "--version" in _section("OPTIONS")
    assert _section("OPTIONS").count("--help") == 1


def test_exit_status_is_told_and_not_twice() -> None:
    told = _unfilled(_section("EXIT STATUS"))
    assert told.startswith("0 no failure found, 1 a failure found")
    assert "run: that of the command" in told
    assert "patterns check: 0 nothing is wrong" in told
    assert "Exit status:" not in READ


def test_environment_and_examples_are_in_the_page() -> None:
    assert all(f".B {name}\n" in _section("ENVIRONMENT") for name, _ in ENVIRONMENT)
    assert all(f"\n{typed}\n" in _section("EXAMPLES") for typed, _ in EXAMPLES)


@pytest.mark.parametrize("typed", [typed for typed, _ in EXAMPLES])
def test_examples_are_typed_as_the_command_takes_them(typed: str) -> None:
    words = re.search(r"aoti-logscan(?P<rest>[^|>)]*)", typed)
    assert words is not None
    given = words["rest"].split()
    command: click.Command = cli.commands["scan"]
    if given and given[0] in cli.commands:
        command = cli.commands[given.pop(0)]
    command.make_context("x", given or ["-"], resilient_parsing=False)


# --- it is sound


def test_command_prints_the_page(run: Run) -> None:
    result = run("man")
    assert (result.exit_code, result.stdout) == (0, PAGE)


def test_lines_are_text_or_requests_that_man_knows() -> None:
    lines = PAGE.splitlines()
    assert [x for x in lines if x.startswith((".", "'")) and not _REQUEST.match(x)] == []
    assert [x for x in lines if not x.isprintable()] == []


@pytest.mark.parametrize("program", [["groff", "-man", "-Tutf8", "-ww"], ["mandoc", "-T", "lint"]])
def test_formatters_have_no_complaint(program: list[str]) -> None:
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    done = subprocess.run(program, input=PAGE, capture_output=True, text=True, check=False)
    said = done.stderr if program[0] == "groff" else done.stdout
    assert [x for x in said.splitlines() if "STYLE" not in x and "missing date" not in x] == []


def _made(help_text: str, option_text: str) -> str:
    """The page of a command with these words in it."""

    @click.group(help="A tool.")
    def tool() -> None: ...

    @tool.command(help=f"Say it.\n\n{help_text}")
    @click.option("--loud", help=option_text)
    def say(loud: str) -> None: ...

    return page(tool, "1", default="say")


def test_what_roff_reads_as_its_own_is_escaped() -> None:
    text = _made(".so /etc/passwd", '\'ig "a\\fBb" - `c` ^ ~')
    assert "\n\\&.so /etc/passwd\n" in text
    assert "\n\\(aqig \\(dqa\\efBb\\(dq \\- \\(gac\\(ga \\(ha \\(ti\n" in text


def test_lines_that_click_keeps_are_kept() -> None:
    text = _made("\b\n.first  line\nsecond", "Aloud.")
    assert ".nf\n\\&.first  line\nsecond\n.fi\n" in text


@given(text=st.text(st.sampled_from(".' \\\"-ab\n\b"), max_size=60))
def test_no_help_brings_a_request_or_an_escape(text: str) -> None:
    for line in _made(text, text).splitlines():
        assert not line.startswith("'")
        assert not line.startswith(".") or _REQUEST.match(line)
        assert re.search(r"\\(?!-|e|&|\((?:dq|aq|ga|ha|ti))", line) is None
