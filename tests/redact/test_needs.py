"""A line meets the finders that can find something in it, and no finder is missed."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import hypothesis
import pytest
from hypothesis import strategies as st

from aoti_logscan.redact.finder import Finder
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.needs import Needs
from aoti_logscan.redact.table import FINDERS
from tests.redact.planted import CASES, KEPT

_NEEDED = sorted({need for finder in FINDERS for need in finder.needs})
_TEXT = st.lists(
    st.sampled_from([*_NEEDED, *map(str.upper, _NEEDED), "a", "İ", "K", "\x00", "\ud800"])
).map("".join)
#: each kind of address, name and secret that a hint is about, in pieces
_PIECES = st.lists(
    st.sampled_from(
        [text for text, _ in CASES]
        + [*KEPT, "1.2.3.4", "fe80", "::", ":", "-", "1f", "9", ".", "=", "A_", "B", "key", "toKEN"]
        + ["passwd", "PWD", "credentialS", "secret", "'", '"', " ", "\\", "=>", "x"]
    )
).map("".join)


@hypothesis.given(_TEXT)
def test_wanted_are_those_with_a_literal_in_the_line_in_small_letters(line: str) -> None:
    lowered = line.lower()
    expected = [not one.needs or any(need in lowered for need in one.needs) for one in FINDERS]
    bits = Needs().wanted(line)
    assert [bool(bits >> number & 1) for number in range(len(FINDERS))] == expected


@pytest.mark.parametrize("finder", FINDERS, ids=lambda one: one.form.pattern[:30])
def test_needs_are_in_small_letters(finder: Finder) -> None:
    assert all(need and need == need.lower() for need in finder.needs)


@pytest.mark.parametrize("finder", FINDERS, ids=lambda one: one.form.pattern[:30])
def test_some_planted_text_has_the_form(finder: Finder) -> None:
    assert any(finder.form.search(text) for text, _ in CASES)


@pytest.mark.parametrize(
    "finder", [one for one in FINDERS if one.hint], ids=lambda one: one.form.pattern[:30]
)
@hypothesis.given(text=_PIECES)
def test_hint_matches_wherever_the_form_becomes_something_else(finder: Finder, text: str) -> None:
    assert finder.hint is not None
    replaced = finder.form.sub(functools.partial(finder.replace, Known()), text)
    assert finder.hint.search(text) or replaced == text


def test_each_thread_can_search_with_its_own() -> None:
    lines = [f"{text} {number}" for text, _ in CASES for number in range(20)]

    def search(needs: Needs) -> list[int]:
        return [needs.wanted(line) for line in lines]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(search, [Needs() for _ in range(4)]))
    assert found == [search(Needs())] * 4
