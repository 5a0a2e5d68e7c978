"""Names as hostile as logs: of files, members, packages, patterns and commands.

Texts of logs, and names of files and folders, are tested in `tests/test_injection.py`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.conftest import Run
from tests.hostile.packed import tar, zipped
from tests.hostile.tool import ERROR, fixture, scan, spawn, told
from tests.test_injection import OURS
from tests.test_injection import _Page as Page

EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>`` ``` | [x](javascript:alert(1)) "
    "@everyone \x1b[2J\x1b]0;title\x07\x9b31m\x7f\u202e\u2066\u200b\u2028"
)
#: the same as a name of a file on disk
NAME = EVIL.replace("/", "\u2215")
FORMS = ["text", "json", "events", "markdown", "html", "sarif"]


def _acting(text: str) -> set[str]:
    """Characters that a terminal may act on."""
    kinds = ("Cc", "Cf", "Zl", "Zp", "Cs")
    return {char for char in text if unicodedata.category(char) in kinds} - {"\n", "\t"}


def _assert_harmless(run: Run, *words: object) -> None:
    """In no form does what the words name act, on a terminal or in a page."""
    for form in FORMS:
        result = run("-f", form, "--all", *(str(word) for word in words))
        assert isinstance(result.exception, SystemExit | None), result.exception
        assert _acting(result.stdout) == set(), form
        assert _acting(result.stderr) == set(), form
        if form == "html":
            page = Page()
            page.feed(result.stdout)
            assert page.acting == []
        if form == "markdown":
            rendered = MarkdownIt("commonmark", {"html": True}).enable("table")
            page = rendered.render(result.stdout)
            assert {tag.lower() for tag in re.findall(r"</?([A-Za-z!][\w-]*)", page)} <= OURS
            outside = re.sub(r"<(code|pre)>.*?</\1>", "", page, flags=re.DOTALL)
            assert not re.search(r"@everyone|<[^>]*(?:href|src)=", outside)


@pytest.mark.parametrize("pack", [zipped, tar], ids=["zip", "tar"])
def test_name_of_a_member_acts_nowhere(run: Run, tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    members = {f"{EVIL}.log": ERROR, f"{EVIL}.so": b"\x7fELF", f"{EVIL}.gz": b"\x1f\x8b\x08x"}
    (tmp_path / "logs").write_bytes(pack(members))
    _assert_harmless(run, tmp_path / "logs")


def test_name_of_a_package_and_of_its_entries_acts_nowhere(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(fixture("input-dtype/input/run.log"))
    (tmp_path / f"{NAME}.pt2").write_bytes(
        zipped({f"{EVIL}.cpp": b"\xff", f"{EVIL}_metadata.json": b"["})
    )
    (tmp_path / f"{NAME}.py").write_text("x")
    _assert_harmless(run, tmp_path)


def test_names_of_what_is_not_read_act_nowhere(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(ERROR)
    (tmp_path / f"{NAME}.log").symlink_to(f"{NAME}.nothing")
    (tmp_path / f"{NAME}.so").write_bytes(b"\x7fELF")
    _assert_harmless(run, tmp_path)


PATTERN = """
title = EVIL
class = "out-of-memory"
event = "line"
anchor = "some words"
summary = EVIL
explain = EVIL
fixes = [EVIL]
references = [EVIL]
[[next]]
title = EVIL
command = EVIL
takes_effect = "run"
why = EVIL
[[example]]
text = "some words"
"""


@pytest.fixture
def patterns(tmp_path: Path) -> Path:
    """A folder of a hostile name with patterns of hostile texts, one of them broken."""
    folder = tmp_path / NAME
    folder.mkdir()
    hostile = PATTERN.replace("EVIL", json.dumps(EVIL, ensure_ascii=False).replace("\x7f", ""))
    (folder / "hostile.toml").write_text(f"# \x9b31m \u202e\n{hostile}", encoding="utf-8")
    (folder / f"{NAME}.toml").write_text(hostile, encoding="utf-8")
    return folder


def test_texts_of_a_pattern_act_nowhere(run: Run, tmp_path: Path, patterns: Path) -> None:
    (tmp_path / "run.log").write_text("some words\n")
    words = ["--patterns", patterns, tmp_path / "run.log"]
    _assert_harmless(run, *words)
    report = scan(run, *words)
    assert [finding.title for finding in report.findings] == [EVIL.replace("\x7f", "")]
    assert len(told(report)) > 0


@pytest.mark.parametrize(
    "words", [["list", "--patterns"], ["check"], ["show", "hostile", "--patterns"]], ids=" ".join
)
def test_pattern_acts_nowhere_where_it_is_listed(
    run: Run, patterns: Path, words: list[str]
) -> None:
    result = run("patterns", *words, str(patterns))
    assert isinstance(result.exception, SystemExit | None)
    assert "<script>" in result.stdout
    assert _acting(result.stdout + result.stderr) == set()


@pytest.mark.parametrize(
    "words",
    [
        [f"no/{NAME}"],
        ["--patterns", f"no/{NAME}", "-"],
        ["-o", f"no/{NAME}/x", "-"],
        ["--attach", f"no/{NAME}/x", "-"],
        ["--redact", f"no/{NAME}", "-"],
        ["-f", NAME],
        [f"--{NAME}"],
        ["--rank", NAME],
        ["patterns", "show", NAME],
        ["patterns", "check", f"no/{NAME}"],
        ["schema", NAME],
    ],
    ids=lambda words: " ".join(words).replace(NAME, "X"),
)
def test_errors_about_a_name_act_nowhere(run: Run, words: list[str]) -> None:
    result = run(*words, stdin=ERROR)
    assert isinstance(result.exception, SystemExit)
    assert result.stderr != ""
    assert _acting(result.stdout + result.stderr) == set()


@pytest.mark.parametrize("words", [["--"], ["--package", NAME, "--"]], ids=["name", "package"])
def test_name_of_a_command_acts_nowhere(words: list[str]) -> None:
    done = spawn("run", *words, f"no/{NAME}")
    assert (done.status, done.out) == (127, b"")
    assert b"Traceback" not in done.err
    assert _acting(done.err.decode()) == set()
