"""Patterns prove themselves: schema, examples, counterexamples, and no pattern takes another's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from re import _constants as regex_codes  # type: ignore[attr-defined]
from re import _parser as regex_parser  # type: ignore[attr-defined]
from typing import Any, get_args

import msgspec
import pytest

from aoti_logscan.catalogue import catalogue
from aoti_logscan.events import AnyEvent
from aoti_logscan.pattern import (
    CLASS_FACTS,
    Example,
    Pattern,
    folder_of_patterns,
    read_pattern,
    read_patterns,
)
from aoti_logscan.pattern_check import check_file
from aoti_logscan.rehearsal import rehearse
from tests.conftest import FIXTURES, Diagnose
from tests.rewriting import rewrite

FOLDER = folder_of_patterns()
PATTERNS = read_patterns(FOLDER)
FILES = sorted(FOLDER.glob("*.toml"))
SEEDS = range(12)

_ids = [pattern.id for pattern in PATTERNS]
EXAMPLES = [(p, example) for p in PATTERNS for example in p.example]
COUNTEREXAMPLES = [(p, example) for p in PATTERNS for example in p.counterexample]


def _name(value: object) -> str:
    return value.id if isinstance(value, Pattern) else ""


def _claims(report: dict[str, Any]) -> list[str]:
    return [finding["pattern"] for finding in report["findings"]]


def _first(report: dict[str, Any]) -> dict[str, Any]:
    at = report["verdict"]["finding"]
    finding: dict[str, Any] = report["findings"][0 if at is None else at]
    return finding


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_pattern_file_has_no_flaw(file: Path) -> None:
    assert check_file(file).flaws == ()


def test_each_example_is_claimed_by_its_own_pattern_and_by_no_other() -> None:
    rehearsed = rehearse(catalogue())
    assert rehearsed.flaws == ()
    assert {owner for owner, _ in rehearsed.confusion} == set(_ids)
    assert all(owner == claimer for owner, claimer in rehearsed.confusion)
    assert rehearsed.examples == len(EXAMPLES)
    assert rehearsed.counterexamples == len(COUNTEREXAMPLES)


@pytest.mark.parametrize("pattern", PATTERNS, ids=_ids)
def test_pattern_fills_facts_of_its_class_from_fields_of_its_event(pattern: Pattern) -> None:
    assert pattern.event in {kind.__struct_config__.tag for kind in get_args(AnyEvent)}
    assert set(pattern.consequence_of) <= {*CLASS_FACTS, "*"}
    assert pattern.example
    assert pattern.counterexample


@pytest.mark.parametrize(("pattern", "example"), EXAMPLES, ids=_name)
def test_pattern_claims_its_example(pattern: Pattern, example: Example, diagnose: Diagnose) -> None:
    report = diagnose(example.text)
    assert _first(report)["pattern"] == pattern.id
    assert {name: _first(report)["facts"].get(name) for name in example.facts} == example.facts


@pytest.mark.parametrize(("pattern", "example"), COUNTEREXAMPLES, ids=_name)
def test_pattern_leaves_its_counterexample_to_others(
    pattern: Pattern, example: Example, diagnose: Diagnose
) -> None:
    claims = _claims(diagnose(example.text))
    assert pattern.id not in claims
    if example.pattern is not None:
        assert example.pattern in claims


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("pattern", "example"), EXAMPLES, ids=_name)
def test_verdict_on_an_example_does_not_move_when_it_is_rewritten(
    pattern: Pattern, example: Example, seed: int, diagnose: Diagnose
) -> None:
    # a trace file holds nothing but its records, and what rests on a log's end has nothing below
    layout = pattern.event not in ("compile", "trace-artifact", "printer-cut")
    report = diagnose(rewrite(example.text.lstrip("\n"), seed, layout=layout))
    assert _first(report)["pattern"] == pattern.id
    assert report["verdict"]["certainty"] == diagnose(example.text)["verdict"]["certainty"]


LOGS = [
    folder / "input" / name
    for folder in sorted(FIXTURES.iterdir())
    if (folder / "case.toml").exists()
    for name in sorted(path.name for path in (folder / "input").iterdir())
    if name.endswith((".log", ".txt", ".err")) and (folder / "input" / name).stat().st_size < 50_000
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.parent.name}-{log.name}")
def test_verdict_on_a_fixture_does_not_move_when_it_is_rewritten(
    log: Path, seed: int, diagnose: Diagnose
) -> None:
    text = log.read_text(encoding="utf-8", errors="replace")
    before, after = diagnose(text)["verdict"], diagnose(rewrite(text, seed))["verdict"]
    assert (after["class"], after["certainty"]) == (before["class"], before["certainty"])


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.id)
def test_examples_come_last_so_that_a_pattern_is_whole_without_them(pattern: Pattern) -> None:
    bare = read_pattern(FOLDER / f"{pattern.id}.toml", with_examples=False)
    assert (bare.example, bare.counterexample) == ((), ())
    assert bare == msgspec.structs.replace(pattern, example=(), counterexample=())


def _repeats(tokens: Any, inside: bool = False) -> Iterator[bool]:
    """Of every unbounded repeat in a parsed regex, whether it stands in another one."""
    for operator, argument in tokens:
        if operator in (regex_codes.MAX_REPEAT, regex_codes.MIN_REPEAT):
            _, most, body = argument
            unbounded = most is regex_codes.MAXREPEAT
            if unbounded:
                yield inside
            yield from _repeats(body, inside or unbounded)
        elif operator is regex_codes.SUBPATTERN:
            yield from _repeats(argument[-1], inside)
        elif operator is regex_codes.BRANCH:
            for branch in argument[1]:
                yield from _repeats(branch, inside)
        elif operator in (regex_codes.ASSERT, regex_codes.ASSERT_NOT):
            yield from _repeats(argument[1], inside)


def _regexes(tables: Any) -> Iterator[str]:
    if isinstance(tables, dict):
        for key, value in tables.items():
            if key == "regex":
                yield value
            else:
                yield from _regexes(value)
    elif isinstance(tables, list | tuple):
        for value in tables:
            yield from _regexes(value)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.id)
def test_no_regex_of_ours_repeats_what_repeats(pattern: Pattern) -> None:
    for source in _regexes([pattern.where, pattern.facts]):
        assert not any(_repeats(regex_parser.parse(source))), source


def test_nested_repeats_would_be_seen() -> None:
    assert any(_repeats(regex_parser.parse(r"^(?:a+|b)*$")))
