"""Where literals stand: the same by plain search and by Hyperscan, and by a process beside this."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan import anchors as searched
from aoti_logscan.ahead import Ahead, search
from aoti_logscan.anchors import MEANING, SHIFT, Anchors

#: literals within, over and beside one another; two parsers want one of them
WANTED = [(b"abc", 0), (b"bca", 1), (b"abcabc", 2), (b"aa", 0), (b"\nab", 3), (b"abc", 3)]
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"\n", b"abc"]), max_size=60).map(b"".join)


def _slowly(text: bytes, past: int) -> list[tuple[int, int, int]]:
    """Start, length and parser of each literal, as a search at every position finds them."""
    return sorted(
        (start, len(literal), parser)
        for literal, parser in WANTED
        for start in range(len(text))
        if text.startswith(literal, start) and start + len(literal) > past
    )


def _found(anchors: Anchors, text: bytes, past: int = 0) -> list[tuple[int, int, int]]:
    found = anchors.find(memoryview(text), past)
    return [(one >> SHIFT, *anchors.meanings[one & MEANING]) for one in found]


@given(TEXTS, st.integers(0, 60))
def test_literals_are_found_where_they_stand(text: bytes, past: int) -> None:
    assert _found(Anchors(WANTED), text, past) == _slowly(text, past)


@given(TEXTS, st.integers(0, 60))
def test_hyperscan_finds_what_plain_search_finds(text: bytes, past: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searched, "SMALL", -1)
        assert _found(Anchors(WANTED), text, past) == _slowly(text, past)


def test_no_literals_are_found_nowhere() -> None:
    assert Anchors([]).find(memoryview(b"abc")) == []


# --- newlines


@given(TEXTS, st.integers(0, 60))
def test_newlines_are_counted_from_where_the_block_begins(text: bytes, past: int) -> None:
    past = min(past, len(text))
    found, lines, newlines = search(Anchors(WANTED), memoryview(text), past)
    assert newlines == text.count(b"\n", past)
    for one, line in zip(found, lines, strict=True):
        before = text.count(b"\n", 0, one >> SHIFT) - text.count(b"\n", 0, past)
        assert line == before


# --- ahead


@pytest.fixture
def ahead() -> Iterator[Ahead]:
    process = Ahead(Anchors(WANTED), slots=2, size=64)
    yield process
    process.close()


def test_process_beside_finds_the_same_in_the_same_order(ahead: Ahead) -> None:
    texts = [b"abcabc\nab", b"", b"nothing"]
    for number, text in enumerate(texts[:2]):
        ahead.slot(number)[: len(text)] = text
        ahead.give(number, len(text), 0)
    assert [ahead.take(), ahead.take()] == [
        search(Anchors(WANTED), memoryview(text), 0) for text in texts[:2]
    ]
    ahead.slot(0)[: len(texts[2])] = texts[2]
    ahead.give(0, len(texts[2]), 0)
    assert ahead.take() == ([], [], 0)


def test_process_that_is_killed_answers_nothing(ahead: Ahead) -> None:
    (process,) = ahead._process
    process.kill()
    ahead.give(0, 3, 0)
    assert ahead.take() is None


def test_where_no_process_starts_nothing_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr("os.fork", refuse)
    ahead = Ahead(Anchors(WANTED), slots=1, size=8)
    ahead.give(0, 3, 0)
    assert ahead.take() is None
    ahead.close()
