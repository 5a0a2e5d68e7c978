"""Patterns of users that are broken, endless or match everything: told, and nothing else is lost.

A regex that backtracks is tested in `tests/test_user_patterns.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.hostile.tool import CLASS, ERROR, scan, spawn, told

PATTERN = """
title = "t"
class = "out-of-memory"
event = "line"
anchor = "ANCHOR"
summary = "s"
explain = "e"
[where]
text = { regex = 'REGEX' }
[[example]]
text = "ANCHOR"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for patterns."""
    made = tmp_path / "ours"
    made.mkdir()
    return made


def _pattern(anchor: str = "some words", regex: str = ".") -> str:
    return PATTERN.replace("ANCHOR", anchor).replace("REGEX", regex)


BROKEN = {
    "lists without end": "x = " + "[" * 100_000,
    "tables without end": "x = " + "{a = " * 100_000,
    "a number without end": "x = " + "9" * 100_000,
    "a regex of groups without end": _pattern(regex="(" * 5_000 + "a" + ")" * 5_000),
    "a regex that repeats without end": _pattern(regex="(?:a{1000000}){1000000}{1000000}"),
    "a regex that is none": _pattern(regex="("),
    "a count without end": _pattern(regex=f"a{{{'9' * 5_000}}}"),
    "a number beyond 64 bits": _pattern().replace("class", f"weak = {'9' * 30}\nclass", 1),
    "a date": _pattern().replace('"t"', "1979-05-27"),
    "no number": _pattern().replace('"t"', "nan"),
    "conditions without end": _pattern().replace("text = {", f"text{'.not' * 2_000} = {{"),
    "keys without end": "a." * 3_000 + "a = 1",
    "nothing": "",
    "a control character": 'title = "\x1b[31m"',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_broken_pattern_is_told_and_stops_nothing(run: Run, folder: Path, text: str) -> None:
    (folder / "ours.toml").write_text(text)
    report = scan(run, "--patterns", folder, "-", stdin=ERROR)
    assert report.verdict.failure_class == CLASS
    assert report.sources[-1].name == str(folder / "ours.toml")
    assert len(told(report)) >= 1


def test_check_tells_all_broken_patterns(run: Run, folder: Path) -> None:
    for number, text in enumerate(BROKEN.values()):
        (folder / f"{number}.toml").write_text(text)
    result = run("patterns", "check", str(folder))
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 1
    told = {line.partition(": ")[0] for line in result.stdout.splitlines()}
    assert told >= {str(file) for file in folder.iterdir()}


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "nothing", "bytes", "gigabytes"])
def test_pattern_that_is_no_file_is_told_and_not_waited_for(folder: Path, kind: str) -> None:
    path = folder / "ours.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "bytes":
        path.write_bytes(bytes(range(256)))
    elif kind == "gigabytes":
        path.touch()
        os.truncate(path, 8 << 30)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "nowhere")
    done = spawn("-f", "json", "--patterns", folder, "-", feed=[ERROR])
    assert done.report.verdict.failure_class == CLASS
    assert len(told(done.report)) == 1
    assert done.peak < 200 << 20


RULES = {
    "lists without end": "x = " + "[" * 100_000,
    "a number without end": "x = " + "9" * 100_000,
    "groups without end": "[[rule]]\nkind = 'a'\nregex = '" + "(" * 5_000 + ")" * 5_000 + "'",
    "a count without end": f"[[rule]]\nkind = 'a'\nregex = 'a{{{'9' * 5_000}}}'",
}


@pytest.mark.parametrize("text", RULES.values(), ids=RULES)
def test_broken_rule_of_redaction_is_one_line(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "rules.toml").write_text(text)
    result = run("-f", "html", "--redact", str(tmp_path / "rules.toml"), "-", stdin=ERROR)
    assert isinstance(result.exception, SystemExit)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {tmp_path}/rules.toml: ")
    assert result.stderr.count("\n") == 1


def test_pattern_whose_file_has_any_name_is_told(run: Run, folder: Path) -> None:
    (folder / os.fsdecode(b"\xff.toml")).write_text(_pattern())
    report = scan(run, "--patterns", folder, "-", stdin=ERROR)
    assert report.sources[-1].name == f"{folder}/\ufffd.toml"
    assert len(told(report)) == 1


@pytest.mark.parametrize("regex", [".", "", "(?:)", r"(?s).*", r"\b|\B", r"(?=.)|$"])
def test_pattern_that_matches_everything_claims_its_lines_only(
    run: Run, folder: Path, regex: str
) -> None:
    (folder / "all.toml").write_text(_pattern(anchor="step", regex=regex))
    log = b"".join(b"step %d\n" % number for number in range(4_000)) + ERROR
    report = scan(run, "--patterns", folder, "-", stdin=log)
    assert {finding.pattern for finding in report.findings} >= {"all"}
    assert any(finding.failure_class == CLASS for finding in report.findings)
    assert sum(finding.count for finding in report.findings if finding.pattern == "all") == 4_000


def test_pattern_on_a_letter_of_a_line_without_end_is_bounded(folder: Path) -> None:
    (folder / "all.toml").write_text(_pattern(anchor="aaa"))
    done = spawn(*("-f", "json", "--patterns", folder, "-"), feed=[b"a" * (1 << 20), b"\n", ERROR])
    assert any(finding.failure_class == CLASS for finding in done.report.findings)


def test_hundreds_of_patterns_are_used(run: Run, folder: Path) -> None:
    for number in range(300):
        (folder / f"p{number}.toml").write_text(_pattern(anchor=f"words {number} end"))
    report = scan(run, "--patterns", folder, "-", stdin=b"words 299 end\n")
    assert report.findings[0].pattern == "p299"
