"""Completion: what each shell is offered for a word, and what bash makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from aoti_logscan.cli import cli
from aoti_logscan.completion import SHELLS, VARIABLE
from tests.conftest import ROOT, Run

COMMAND = Path(sys.executable).with_name("aoti-logscan")
COMMANDS = {name for name, command in cli.commands.items() if not command.hidden}
PATTERNS = {file.stem for file in (ROOT / "patterns").glob("*.toml")}


def _asked(shell: str, typed: str) -> str:
    """What the command answers a shell's script; the last word is completed, be it empty."""
    words = typed.split(" ")
    position = {"fish": words[-1]}.get(shell, str(len(words) - 1))
    environ = {VARIABLE: f"{shell}_complete", "COMP_WORDS": typed, "COMP_CWORD": position}
    done = subprocess.run(
        [str(COMMAND)], capture_output=True, text=True, check=True, env={**os.environ, **environ}
    )
    assert done.stderr == ""
    return done.stdout


def _offered(typed: str) -> list[tuple[str, str]]:
    """Kind (plain, file, dir) and value of what bash is offered."""
    lines = filter(None, _asked("bash", typed).splitlines())
    return [(kind, value) for kind, _, value in (line.partition(",") for line in lines)]


def _plain(typed: str) -> set[str]:
    return {value for kind, value in _offered(typed) if kind == "plain"}


# --- without the word scan


def test_first_word_is_a_command_or_a_path() -> None:
    assert _plain("aoti-logscan ") == COMMANDS
    assert ("file", "") in _offered("aoti-logscan ")


def test_part_of_a_first_word_is_a_command_or_a_path() -> None:
    assert _offered("aoti-logscan ru") == [("plain", "run"), ("file", "ru")]
    assert _offered("aoti-logscan cra") == [("file", "cra")]


def test_options_are_those_of_scan_and_of_the_group() -> None:
    assert _plain("aoti-logscan --for") == {"--format"}
    assert _plain("aoti-logscan --ver") == {"--version"}
    options = {name for one in cli.commands["scan"].params for name in one.opts if "-" in name}
    assert _plain("aoti-logscan -") >= options | {"--help", "--version"}


@pytest.mark.parametrize("before", ["crash", "-f json", "crash/ --all", "scan"])
def test_later_word_is_no_command(before: str) -> None:
    assert _offered(f"aoti-logscan {before} ru") == [("file", "ru")]
    assert "--version" not in _plain(f"aoti-logscan {before} --")
    assert "--rank" in _plain(f"aoti-logscan {before} --")


@pytest.mark.parametrize("typed", ["-f ", "crash -f ", "--format ", "scan -f ", "--format="])
def test_values_of_an_option_are_offered(typed: str) -> None:
    assert {"text", "json", "events"} <= _plain(f"aoti-logscan {typed}")


def test_value_behind_an_equals_sign_is_completed_as_bash_splits_it() -> None:
    assert _plain("aoti-logscan --format = js") == {"json"}
    assert _plain("aoti-logscan --format =") >= {"json", "text"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_value_behind_an_equals_sign_is_completed_as_a_whole_word(shell: str) -> None:
    assert "--format=json" in _asked(shell, "aoti-logscan --format=js")


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("-o ", "file"),
        ("--package ", "file"),
        ("--patterns ", "dir"),
        ("-f json --package m", "file"),
    ],
)
def test_option_that_takes_a_path_offers_paths(typed: str, kind: str) -> None:
    assert {offered for offered, _ in _offered(f"aoti-logscan {typed}")} == {kind}


# --- commands


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("patterns ", {"list", "show", "check"}),
        ("patterns sh", {"show"}),
        ("patterns show ", PATTERNS),
        ("schema ", {"report", "event", "pattern"}),
        ("completion ", set(SHELLS)),
        ("run --step p", {"pinpoint"}),
        ("kernels --ker", {"--kernel"}),
    ],
)
def test_commands_complete_their_own_words(typed: str, values: set[str]) -> None:
    assert _plain(f"aoti-logscan {typed}") == values


def test_command_that_is_run_is_completed_by_files() -> None:
    assert _offered("aoti-logscan run -- python serv") == [("file", "serv")]


def test_nothing_matches_what_nothing_begins_with() -> None:
    assert _offered("aoti-logscan --nope") == []
    assert _offered("aoti-logscan patterns nope") == []


def test_help_stands_beside_a_word_where_the_shell_shows_it() -> None:
    assert "run\nRun a command" in _asked("zsh", "aoti-logscan ru")
    fish = _asked("fish", "aoti-logscan ru").splitlines()
    assert fish[0].startswith("plain,run\tRun a command; record")


# --- scripts


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_printed_and_asks_this_command(run: Run, shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"{VARIABLE}={shell}_complete" in result.stdout
    assert result.stderr == ""


def test_unknown_shell_is_a_usage_error(run: Run) -> None:
    assert run("completion", "csh").exit_code == 2


def test_click_answers_as_well() -> None:
    environ = {VARIABLE: "bash_complete", "COMP_WORDS": "aoti-logscan ru", "COMP_CWORD": "1"}
    result = CliRunner().invoke(cli, [], env=environ, prog_name="aoti-logscan")
    assert result.stdout == "plain,run\nfile,ru\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_shell_takes_its_script(run: Run, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = run("completion", shell).stdout
    done = subprocess.run(
        [program, "-n"], input=script, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def _in_bash(typed: str, folder: Path) -> list[str]:
    """What bash's own completion would show for the last of the words."""
    words = typed.split(" ")
    script = (
        'eval "$("$1" completion bash)"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1));'
        "compopt() { :; }; _aoti_logscan_completion aoti-logscan;"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", str(COMMAND), *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return sorted(filter(None, done.stdout.splitlines()))


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_shows_commands_beside_files(tmp_path: Path) -> None:
    (tmp_path / "runs, old").mkdir()
    (tmp_path / "model.pt2").touch()
    assert _in_bash("aoti-logscan ru", tmp_path) == ["run", "runs, old"]
    assert _in_bash("aoti-logscan --package ", tmp_path) == ["model.pt2", "runs, old"]
    assert _in_bash("aoti-logscan --patterns ", tmp_path) == ["runs, old"]
    assert _in_bash("aoti-logscan -f js", tmp_path) == ["json"]
