"""Every fixture through the command: verdict, facts, roles and exit status as its truth says."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aoti_logscan.pattern import CLASS_FACTS
from tests.conftest import FIXTURES, Run
from tests.judge import judge

CASES = sorted(file.parent for file in FIXTURES.rglob("case.toml"))


def _case(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: str(folder.name))
def test_fixture_gets_the_answer_written_for_it(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = _case(folder)
    monkeypatch.chdir(folder)
    if "stdin" in case:
        result = run("-f", "json", "-", stdin=Path(case["stdin"]).read_bytes())
    else:
        result = run("-f", "json", *case.get("args", ["input"]))
    report = msgspec.json.decode(result.stdout)
    assert judge(case["expect"], result.exit_code, report) == []


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: str(folder.name))
def test_fixture_says_where_it_comes_from(folder: Path) -> None:
    origin = tomllib.loads((folder / "origin.toml").read_text(encoding="utf-8"))
    assert origin["kind"] in ("recorded", "case", "atlas")
    assert {"torch", "device", "shortened"} <= origin.keys()


def _expected() -> list[dict[str, Any]]:
    return [_case(folder)["expect"] for folder in CASES]


@pytest.mark.parametrize("name", CLASS_FACTS)
def test_every_class_has_a_fixture(name: str) -> None:
    assert name in [expect["class"] for expect in _expected()]


def test_every_class_of_the_first_four_has_several_fixtures() -> None:
    expected = [expect["class"] for expect in _expected()]
    for name in (
        "device-mismatch",
        "input-mismatch",
        "triton-index-out-of-bounds",
        "illegal-memory-access",
    ):
        assert expected.count(name) >= 4


def test_every_role_has_fixtures() -> None:
    expected = _expected()
    assert sum(bool(expect.get("consequences")) for expect in expected) >= 4
    assert sum(bool(expect.get("harmless")) for expect in expected) >= 4
    assert sum(expect.get("causes", 0) == 1 for expect in expected) >= 4
    assert any(expect["class"] == "none" and expect.get("causes") == 0 for expect in expected)
