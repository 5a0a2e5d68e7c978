from __future__ import annotations

import pytest

from aoti_logscan.bounds import asked
from tests.conftest import Diagnose


@pytest.mark.parametrize(
    ("upper", "word"),
    [
        ("50257", "GPT-2"),
        ("50257L", "token id"),
        ("100000", "item table"),
        ("2048", "positions"),
        ("77", "positions"),
        ("8", "experts"),
        ("48", "as large as that"),
    ],
)
def test_number_is_asked_about(upper: str, word: str) -> None:
    told = asked(upper)
    assert told is not None
    assert word in told
    assert told.endswith("?")


@pytest.mark.parametrize("upper", [None, "", "ks0", "s77", "ks0 + 10", "10 + ks0", "-1", "9" * 400])
def test_expression_is_not(upper: str | None) -> None:
    assert asked(upper) is None


def test_explanation_of_a_failed_index_check_asks_about_its_bound(diagnose: Diagnose) -> None:
    line = (
        "/tmp/x/cabc.py:37: unknown: block: [0,0,0], thread: [0,0,0] "
        "Assertion `index out of bounds: 0 <= tmp4 < {}` failed.\n"
    )
    assert "size 32000" in diagnose(line.format(32000))["findings"][0]["explain"]
    assert "of size" not in diagnose(line.format("ks0"))["findings"][0]["explain"]
