"""Rules of one's own are read, come first, and are told of when they are malformed."""

from __future__ import annotations

from pathlib import Path

import pytest

from aoti_logscan.errors import LogscanError
from aoti_logscan.redact import Redactor, Rule, RuleError, read_rules


def test_rule_of_ones_own_comes_first_and_names_its_tokens() -> None:
    redactor = Redactor([Rule("ticket", r"QK-\d+"), Rule("team", r"team (?P<value>\w+)")])
    text = redactor.text("QK-12 by team red, then QK-12, QK-13 by team blue")
    assert text == "<ticket-1> by team <team-1>, then <ticket-1>, <ticket-2> by team <team-2>"
    assert redactor.found() == {"ticket": 2, "team": 2}


def test_line_on_which_a_rule_takes_too_long_is_replaced_whole() -> None:
    redactor = Redactor([Rule("slow", r"(a|aa)+(a|aa)+(a|aa)+$")])
    text = redactor.text("aab\n" + "a" * 60 + "!")
    assert text == "aab\n<slow-1>"
    assert "rule 0 (slow)" in redactor.overruns()[0]


def test_rule_that_matches_nothing_at_all_changes_nothing() -> None:
    assert Redactor([Rule("empty", "x*")]).text("abc") == "abc"


def test_rules_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("[[rule]]\nkind = 'ticket'\nregex = 'QK-\\d+'\n")
    assert read_rules(file) == (Rule("ticket", r"QK-\d+"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[rule]]\nkind = 'Ticket'\nregex = 'a'", r"rules.toml: rule\[0\].kind: 'Ticket' is no"),
        ("[[rule]]\nkind = 'a'\nregex = '('", r"rules.toml: rule\[0\].regex: missing \)"),
        ("[[rule]]\nkind = 'a'", r"rules.toml: .*missing required field `regex`.*rule"),
        ("[[rule]]\nkind = 'a'\nregex = 3", r"rules.toml: Expected `str`, got `int`.*regex"),
        ("[[rules]]\nkind = 'a'", "rules.toml: .*unknown field `rules`"),
        ("[[rule", "rules.toml: "),
        ("rule = '\udcff'", "rules.toml: .*utf-8"),
    ],
)
def test_malformed_rules_are_told_with_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(RuleError, match=told) as raised:
        read_rules(file)
    assert isinstance(raised.value, LogscanError)


def test_missing_file_of_rules_is_told(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"rules\.toml"):
        read_rules(tmp_path / "rules.toml")


def test_bad_rule_given_directly_is_told() -> None:
    with pytest.raises(RuleError, match=r"rules\[0\].regex"):
        Redactor([Rule("a", "(")])
