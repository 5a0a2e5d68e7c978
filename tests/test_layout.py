"""Lines of styled pieces: what a terminal would make of text, columns, wrapping, cutting."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.render.layout import (
    MAX_TEXT,
    Piece,
    clipped,
    clipped_left,
    clipped_within,
    columns,
    one_line,
    plain,
    spread,
    visible,
    width_of,
    wrapped,
)

#: what is printable, wide, without a width, or none of it
_TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("a b漢\u0301\U0001f600\x1b")))

# --- characters


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\x00", "\\x00"),
        ("\x07", "\\x07"),
        ("\x1b", "\\x1b"),
        ("\n", "\\x0a"),
        ("\x7f", "\\x7f"),
        ("\x9b", "\\x9b"),
        ("\u200b", "\\u200b"),
        ("\u202e", "\\u202e"),
        ("\u2066", "\\u2066"),
        ("\ufeff", "\\ufeff"),
        ("\udcff", "\\udcff"),
        ("\u061c", "\\u061c"),
        ("\u00ad", "\\xad"),
        ("\u180e", "\\u180e"),
        ("\u200d", "\\u200d"),
        ("\U000e0041", "\\U000e0041"),
    ],
    ids=ascii,
)
def test_unprintable_character_is_shown_as_an_escape(character: str, shown: str) -> None:
    assert visible(f"a{character}b") == f"a{shown}b"


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u2028", "\u2029", "\u3000"], ids=ascii)
def test_unusual_space_is_shown_as_a_blank(space: str) -> None:
    assert visible(f"a{space}b") == "a b"


@pytest.mark.parametrize("text", ["plain", "é漢字", "│ ·", "\U0001f600", " ", ""])
def test_printable_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(text=_TEXTS)
def test_nothing_that_is_shown_is_a_control_character(text: str) -> None:
    shown = [unicodedata.category(char) for char in one_line(text)]
    assert not {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} & set(shown)


def test_text_on_one_line_has_single_blanks_and_a_limit() -> None:
    assert one_line(" a\n\tb ") == "a b"
    assert one_line("x" * MAX_TEXT) == "x" * MAX_TEXT
    assert one_line("x" * 1_000_000) == "x" * (MAX_TEXT - 1) + "…"


# --- columns


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("漢字", 4),
        ("e\u0301", 1),
        ("\U0001f600", 2),
        ("\uff71", 1),
        ("\uff21", 2),
        ("…", 1),
        ("", 0),
    ],
)
def test_columns_are_those_of_a_terminal(text: str, width: int) -> None:
    assert columns(text) == width


def test_cut_texts_keep_the_end_that_matters() -> None:
    assert clipped("abcdef", 4) == "abc…"
    assert clipped_left("abcdef", 4) == "…def"
    assert clipped_within("abcdefgh", 6) == "abc…gh"
    assert [cut("abcd", 4) for cut in (clipped, clipped_left, clipped_within)] == ["abcd"] * 3


def test_wide_character_is_not_cut_in_half() -> None:
    assert clipped("漢漢漢", 4) == "漢…"
    assert clipped_left("漢漢漢", 4) == "…漢"


@given(text=_TEXTS, width=st.integers(1, 60))
def test_cut_text_fits_and_is_part_of_the_text(text: str, width: int) -> None:
    shown = visible(text)
    for cut in (clipped, clipped_left, clipped_within):
        assert columns(cut(shown, width)) <= max(width, 1)
    assert shown.startswith(clipped(shown, width).removesuffix("…"))
    assert shown.endswith(clipped_left(shown, width).removeprefix("…"))


def test_marks_without_a_width_do_not_pile_up() -> None:
    assert len(clipped("a" + "\u0301" * 10_000, 10)) <= 41


# --- lines


def _plain(*args: object, **options: object) -> list[str]:
    return [plain(line) for line in wrapped(*args, **options)]  # type: ignore[arg-type]


def test_text_is_wrapped_between_words_behind_its_label() -> None:
    first = (Piece("so  ", "label"),)
    assert _plain("one two three four five", 20, first=first) == [
        "so  one two three",
        "    four five",
    ]


def test_word_longer_than_a_line_is_broken() -> None:
    assert _plain("a " + "b" * 50, 20) == ["a", "b" * 20, "b" * 20, "b" * 10]


def test_long_word_goes_below_a_label_that_leaves_it_less_room() -> None:
    first = (Piece("Last kernel  ", "label"),)
    assert _plain("b" * 18, 20, first=first, later="  ") == ["Last kernel", "  " + "b" * 18]


def test_last_line_that_may_be_shown_is_cut() -> None:
    assert _plain("word " * 20, 20, most=2) == ["word word word word", "word word word word…"]


def test_text_without_words_is_its_label() -> None:
    assert _plain(" \n ", 40, first=(Piece("Why  ", "label"),)) == ["Why"]


@given(text=_TEXTS, width=st.integers(20, 90), indent=st.integers(0, 10))
def test_wrapped_text_is_whole_and_fits(text: str, width: int, indent: int) -> None:
    lines = wrapped(text, width, first=(Piece(" " * indent),))
    assert max(map(width_of, lines)) <= width
    shown = "".join(piece.text for line in lines for piece in line[1:])
    assert shown.replace(" ", "") == one_line(text).replace(" ", "")


def test_right_piece_stands_at_the_end_of_the_first_line() -> None:
    (line,) = spread((Piece("Kernel  "),), Piece("mm"), Piece("sure", "sure"), 30)
    assert plain(line) == "Kernel  mm                sure"


def test_right_piece_that_has_no_room_stands_below() -> None:
    lines = list(spread((Piece("Last kernel launched"),), Piece("mm"), Piece("possible"), 20))
    assert [plain(line) for line in lines] == ["Last kernel launched", "  mm", "  possible"]
