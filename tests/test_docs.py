"""The documents say what the command does: shown output is real, and nothing is left out."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from aoti_logscan.cli import cli
from tests.conftest import ROOT, Run

README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "fixtures").rglob("README.md")])

#: `$ command` and what is shown below it; `...` stands for lines left out
SESSION = re.compile(r"^\$ (?P<command>.+)\n(?P<output>(?:(?!\$ |```).*\n)*)", re.MULTILINE)
SESSIONS = [(match["command"], match["output"].rstrip("\n")) for match in SESSION.finditer(README)]


@pytest.mark.parametrize(("command", "output"), SESSIONS, ids=[c for c, _ in SESSIONS])
def test_readme_shows_what_the_command_prints(
    command: str, output: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words = shlex.split(command)
    if words[0] == "cat":
        real = Path(words[1]).read_text(encoding="utf-8")
    else:
        assert words[0] == "aoti-logscan"
        real = run(*words[1:]).stdout
    shown = output.removesuffix("\n...")
    assert real.startswith(shown)


def test_readme_shows_a_failure_and_its_answer_on_the_first_screen() -> None:
    first = README.split("\n")[:40]
    assert any(line.startswith("$ aoti-logscan ") for line in first)
    assert len(SESSIONS) >= 2


def test_readme_names_every_option_and_command() -> None:
    options = {
        option
        for parameter in cli.commands["scan"].params
        for option in parameter.opts
        if option.startswith("--")
    } - {"--format", "--output"}
    assert {option for option in options if option not in README} == set()
    assert {name for name in cli.commands if name not in README} == set()


def test_architecture_names_every_module() -> None:
    modules = {
        path.name for path in (ROOT / "aoti_logscan").glob("*.py") if not path.name.startswith("__")
    }
    assert {name for name in modules if name not in ARCHITECTURE} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_gate_runs_the_test_command_of_the_readme() -> None:
    commands = re.findall(r"^python3 -m venv .*pytest$", README, re.MULTILINE)
    assert len(commands) == 1
    assert "grep -E '^python3 -m venv .*pytest$' README.md" in (ROOT / ".ci/run").read_text(
        encoding="utf-8"
    )


def test_command_starts_without_the_slow_libraries() -> None:
    code = (
        "import sys, aoti_logscan.cli, aoti_logscan.pipeline;"
        "slow = ('torch', 'rich', 'jsonschema', 'tlparse');"
        "print([name for name in slow if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


TABLES = [block.split("```")[0] for block in README.split("```toml\n")[1:]]


def test_pattern_in_the_readme_is_sound(tmp_path: Path, run: Run) -> None:
    [pattern] = [block for block in TABLES if "title = " in block]
    (tmp_path / "kv-cache.toml").write_text(pattern, encoding="utf-8")
    result = run("patterns", "check", str(tmp_path))
    assert result.exit_code == 0, result.stdout


def test_rule_in_the_readme_redacts(tmp_path: Path, run: Run) -> None:
    [rule] = [block for block in TABLES if "[[rule]]" in block]
    (tmp_path / "rules.toml").write_text(rule, encoding="utf-8")
    log = "RuntimeError: CUDA error: misaligned address\nsee FRAUD-1234 for it\n"
    result = run(
        "-f", "markdown", "--redact", str(tmp_path / "rules.toml"), "-", stdin=log.encode()
    )
    assert "see <ticket-1> for it" in result.stdout
