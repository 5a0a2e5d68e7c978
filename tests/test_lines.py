"""Lines of a window: physical, carriage-return and escaped ones, cleaned of what terminals add."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aoti_logscan import lines
from aoti_logscan.lines import Hit, IncompleteError, Line, Window, clean, strip_head

#: bytes that lines are told apart by, and a few that mean nothing
_PIECES = st.sampled_from(
    [b"\n", b"\r", b"\r\n", b"\\n", b"\\\\", b"\\", b'"', b'{"log": "', b"='", b"C:\\", b"ab", b" "]
)
_BYTES = st.lists(_PIECES | st.binary(max_size=4), max_size=30).map(b"".join)
#: the same without a carriage return
_NO_RETURNS = _BYTES.map(lambda raw: raw.replace(b"\r", b""))


def _window(raw: bytes, *, final: bool = True) -> Window:
    window = Window(bytearray(raw))
    window.size = len(raw)
    window.final = final
    return window


def _lines(raw: bytes) -> list[Line]:
    """Every line of a final window, as `following` gives them."""
    window = _window(raw)
    first = window.line_at(0)
    return [first, *window.following(first, len(raw) + 1)]


def _texts(raw: bytes) -> list[bytes]:
    return [line.text for line in _lines(raw)]


def _hit(raw: bytes, anchor: bytes) -> Hit:
    start = raw.index(anchor)
    return Hit(_window(raw), start, start + len(anchor))


# --- physical lines


def test_physical_lines_end_at_newlines() -> None:
    assert _texts(b"one\ntwo\n\nfour\n") == [b"one", b"two", b"", b"four"]


def test_last_line_without_newline_is_whole() -> None:
    assert _texts(b"one\ntwo") == [b"one", b"two"]


def test_empty_window_is_one_empty_line() -> None:
    assert _texts(b"") == [b""]


def test_line_tells_where_it_stands_and_where_the_next_begins() -> None:
    line = _window(b"one\ntwo\nthree").line_at(5)
    assert (line.start, line.end, line.next, line.text) == (4, 7, 8, b"two")


def test_position_of_a_newline_belongs_to_the_line_it_ends() -> None:
    assert _window(b"one\ntwo\n").line_at(3).text == b"one"


@pytest.mark.parametrize("other", [b"\x00", b"\x0b", b"\x0c", b"\x85", b"\xe2\x80\xa8", b"\x1a"])
def test_no_other_byte_ends_a_line(other: bytes) -> None:
    assert _texts(b"a" + other + b"b\n") == [b"a" + other + b"b"]


def test_crlf_leaves_no_carriage_return_in_the_text() -> None:
    assert _texts(b"one\r\ntwo\r\n") == [b"one", b"two"]


def test_several_carriage_returns_before_a_newline_hide_no_text() -> None:
    assert _texts(b"one\r\r\ntwo\r\n") == [b"one", b"", b"two"]


# --- carriage returns


def test_carriage_return_starts_a_new_line() -> None:
    assert _texts(b" 1%|x|\r 2%|xx|\rError: late\n") == [b" 1%|x|", b" 2%|xx|", b"Error: late"]


def test_position_after_a_progress_bar_gives_the_text_behind_it() -> None:
    raw = b"10%|#   | 1/9\rTraceback (most recent call last):\n"
    line = _window(raw).line_at(raw.index(b"Traceback"))
    assert (line.start, line.text) == (14, b"Traceback (most recent call last):")


# --- escaped lines


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        (b'{"log": "one\\ntwo\\n"}\n', [b'{"log": "one', b"two", b'"}']),
        (b'{"log":"one\\ntwo"}\n', [b'{"log":"one', b'two"}']),
        (b"stderr=b'one\\ntwo'\n", [b"stderr=b'one", b"two'"]),
        (b"['one\\ntwo']\n", [b"['one", b"two']"]),
        (b"output: 'one\\ntwo'\n", [b"output: 'one", b"two'"]),
        (b'"one\\ntwo"\n', [b'"one', b'two"']),
        (b"b'one\\ntwo'\n", [b"b'one", b"two'"]),
    ],
)
def test_newline_escape_inside_a_string_starts_a_new_line(raw: bytes, texts: list[bytes]) -> None:
    assert _texts(raw) == texts


@pytest.mark.parametrize("string", [b'"one\\ntwo"', b"'one\\ntwo'", b"b'one\\ntwo'"])
def test_string_that_opens_a_later_line_is_escaped_too(string: bytes) -> None:
    assert len(_texts(b"first\n" + string + b"\n")) == 3


def test_json_lines_of_docker_are_each_split_from_their_metadata() -> None:
    raw = (
        b'{"log":"Traceback (most recent call last):\\n","stream":"stderr","time":"2026-01-01"}\n'
        b'{"log":"KeyError: 1\\n","stream":"stderr","time":"2026-01-01"}\n'
    )
    assert _texts(raw) == [
        b'{"log":"Traceback (most recent call last):',
        b'","stream":"stderr","time":"2026-01-01"}',
        b'{"log":"KeyError: 1',
        b'","stream":"stderr","time":"2026-01-01"}',
    ]


def test_escaped_line_is_unescaped() -> None:
    raw = b'{"log": "  File \\"a.py\\", line 3\\n\\tx \\u00e9 \\x41 \\\\ \\/ \\q\\n"}\n'
    assert _texts(raw)[:2] == [b'{"log": "  File "a.py", line 3', b"\tx \xc3\xa9 A \\ / \\q"]


def test_escaped_backslash_before_n_is_no_newline() -> None:
    assert _texts(b'{"path": "a\\\\new", "log": "b\\nc"}') == [
        b'{"path": "a\\new", "log": "b',
        b'c"}',
    ]


def test_three_backslashes_before_n_are_a_backslash_and_a_newline() -> None:
    assert _texts(b'{"log": "b\\nc\\\\\\nd"}') == [b'{"log": "b', b"c\\", b'd"}']


def test_position_inside_a_newline_escape_belongs_to_the_line_it_ends() -> None:
    raw = b'{"log": "one\\ntwo"}'
    at_n = raw.index(b"\\n") + 1
    line = _window(raw).line_at(at_n)
    assert (line.text, line.next) == (b'{"log": "one', at_n + 1)


def test_backslash_n_outside_a_string_is_text() -> None:
    assert _texts(b"see C:\\new\\x.py and \\n\n") == [b"see C:\\new\\x.py and \\n"]


def test_quote_opened_after_the_first_escape_opens_no_string() -> None:
    assert _texts(b'a\\nb "c"\n') == [b'a\\nb "c"']


@pytest.mark.parametrize(
    "raw",
    [
        b'  File "D:\\a\\new\\x.py", line 3, in <module>',
        b"path=C:\\new\\x",
    ],
)
def test_windows_path_is_not_split(raw: bytes) -> None:
    assert _texts(raw + b"\n") == [raw]


@pytest.mark.parametrize(
    "raw",
    [
        b'  File "C:\\new\\x.py", line 3, in <module>',
        b"open('C:\\new')",
    ],
)
def test_windows_path_whose_first_folder_begins_with_n_is_not_split(raw: bytes) -> None:
    assert _texts(raw + b"\n") == [raw]


def test_source_line_of_a_traceback_is_not_split() -> None:
    raw = b'    raise ValueError("cannot load\\ntry again")'
    assert _texts(raw + b"\n") == [raw]


def test_carriage_return_before_an_escaped_line_starts_a_new_line() -> None:
    assert _texts(b'10%|#|\r{"log": "one\\ntwo"}') == [b"10%|#|", b'{"log": "one', b'two"}']


def test_escaped_carriage_return_starts_a_new_line() -> None:
    raw = b'{"log": "go\\n10%|#|\\rError: late\\n"}'
    assert _texts(raw) == [b'{"log": "go', b"10%|#|", b"Error: late", b'"}']


# --- what terminals and web pages add


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1;31mError\x1b[0m: x", b"Error: x"),
        (b"\x1b[38;5;196mx\x1b[K", b"x"),
        (b"\x1b]0;title\x07x", b"x"),
        (b"\x1b]8;;http://a\x1b\\x\x1b]8;;\x1b\\", b"x"),
        (b"\x1b(Bx\x1b=", b"x"),
        (b"a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#x27; &apos;", b"a <b> & \"c\" 'd' '"),
        (b"&amp;lt;", b"&lt;"),
        (b"&unknown; &;&", b"&unknown; &;&"),
        (b"x\r", b"x"),
        (b"a\\nb", b"a\\nb"),
        (b"", b""),
    ],
)
def test_clean_gives_the_text_as_it_was_written(raw: bytes, text: bytes) -> None:
    assert clean(raw, escaped=False) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\\tb", b"a\tb"),
        (b"\\u001b[31mred\\u001b[0m", b"red"),
        (b"\\x1b[31mred", b"red"),
        (b"\\u003cx\\u003e", b"<x>"),
        (b"\\ud83d", b"?"),
        (b"\\u12", b"\\u12"),
        (b"\\", b"\\"),
    ],
)
def test_clean_of_an_escaped_line_resolves_its_escapes_first(raw: bytes, text: bytes) -> None:
    assert clean(raw, escaped=True) == text


# --- the column of a hit


@pytest.mark.parametrize(
    ("raw", "column"),
    [
        (b"one\nab KEY\n", 3),
        (b"ab KEY\r\n", 3),
        (b"\x1b[31mab KEY\x1b[0m\n", 3),
        (b"a&lt;KEY\n", 2),
        (b"10%|#|\rab KEY\n", 3),
        (b'{"log": "x\\nab\\tKEY\\n"}', 3),
    ],
)
def test_column_is_where_the_anchor_stands_in_the_text(raw: bytes, column: int) -> None:
    hit = _hit(raw, b"KEY")
    assert hit.column == column
    assert hit.line.text[column:].startswith(b"KEY")


def test_column_counts_an_escaped_carriage_return_before_the_anchor() -> None:
    hit = _hit(b'{"log": "x\\n10%\\rKEY\\n"}', b"KEY")
    assert hit.line.text[hit.column :].startswith(b"KEY")


def test_columns_of_many_anchors_in_one_line_take_no_time_squared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = b"&lt;KEY " * 1000
    sizes: list[int] = []
    cleaned = lines._cleaned

    def count(text: bytes, escaped: bool) -> bytes:
        sizes.append(len(text))
        return cleaned(text, escaped)

    window = _window(raw)
    monkeypatch.setattr(lines, "_cleaned", count)
    hits = [Hit(window, at, at + 3) for at in range(4, len(raw), 8)]
    assert [hit.column for hit in hits] == list(range(1, 5000, 5))
    assert sum(sizes) < 10 * len(raw)


# --- lines after and before


def test_following_gives_at_most_as_many_as_asked_for() -> None:
    hit = _hit(b"KEY\none\ntwo\nthree\n", b"KEY")
    assert [line.text for line in hit.following(2)] == [b"one", b"two"]


def test_previous_gives_the_line_above() -> None:
    window = _window(b"one\ntwo\n")
    above = window.previous(window.line_at(4))
    assert above is not None
    assert above.text == b"one"


def test_first_line_has_no_previous() -> None:
    window = _window(b"one\ntwo\n")
    assert window.previous(window.line_at(0)) is None


def test_previous_of_a_crlf_line_is_the_line_above() -> None:
    window = _window(b"one\r\ntwo\r\n")
    above = window.previous(window.line_at(5))
    assert above is not None
    assert above.text == b"one"


# --- where the window ends


def test_unfinished_line_is_incomplete() -> None:
    with pytest.raises(IncompleteError):
        _window(b"one\ntwo", final=False).line_at(5)


def test_finished_line_before_an_unfinished_one_is_whole() -> None:
    assert _window(b"one\ntwo", final=False).line_at(1).text == b"one"


def test_unfinished_line_of_the_last_window_is_whole() -> None:
    assert _window(b"one\ntwo").line_at(5).text == b"two"


def test_lines_that_may_still_come_are_incomplete() -> None:
    window = _window(b"one\ntwo\n", final=False)
    following = window.following(window.line_at(0), 5)
    assert next(following).text == b"two"
    with pytest.raises(IncompleteError):
        next(following)


def test_lines_within_the_window_are_given_though_more_may_come() -> None:
    window = _window(b"one\ntwo\n", final=False)
    assert [line.text for line in window.following(window.line_at(0), 1)] == [b"two"]


def test_carriage_return_at_the_end_of_the_window_may_be_half_of_a_crlf() -> None:
    with pytest.raises(IncompleteError):
        _window(b"one\r", final=False).line_at(0)


def test_line_longer_than_a_record_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_RECORD", 16)
    assert _window(b"x" * 16, final=False).line_at(3).text == b"x" * 16
    with pytest.raises(IncompleteError):
        _window(b"x" * 15, final=False).line_at(3)


def test_huge_line_is_seen_around_the_position_only() -> None:
    line = _window(b"a" * (1 << 20)).line_at(500_000)
    assert (line.start, line.end, line.next) == (434_464, 762_144, 762_144)
    assert line.text == b"a" * 327_680


def test_huge_line_before_a_carriage_return_is_capped_too() -> None:
    line = _window(b"a" * (1 << 20) + b"\rb\n").line_at(500_000)
    assert len(line.text) == 327_680


def test_stretches_of_a_huge_line_follow_each_other() -> None:
    window = _window(b"a" * (1 << 20))
    first = window.line_at(0)
    second = next(window.following(first, 1))
    assert second.start == first.next


# --- windows that move


def test_line_numbers_count_newlines_from_one_in_any_order() -> None:
    window = _window(b"a\nb\nc\n")
    assert [window.line_number(at) for at in (0, 1, 2, 5, 6, 4, 0)] == [1, 1, 2, 3, 4, 3, 1]


def test_line_numbers_go_on_when_bytes_are_dropped() -> None:
    window = _window(b"a\nb\nc\n")
    window.drop(4)
    assert (window.base, window.size, window.line_number(0), window.line_number(1)) == (4, 2, 3, 3)
    assert window.line_at(0).text == b"c"


def test_line_after_dropped_bytes_is_still_escaped() -> None:
    raw = b'{"log": "one\\ntwo\\nthree\\nfour"}'
    window = _window(raw)
    assert window.line_at(raw.index(b"two")).text == b"two"
    window.drop(raw.index(b"three"))
    assert window.line_at(0).text == b"three"


def test_line_stays_escaped_over_a_window_in_which_nothing_was_found() -> None:
    raw = b'{"log": "one\\ntwo\\nthree\\nfour"}'
    window = _window(raw)
    assert window.line_at(raw.index(b"two")).text == b"two"
    window.drop(raw.index(b"two"))
    window.grow(0, final=True)
    window.drop(4)
    assert window.line_at(window.buffer.index(b"four")).text == b'four"}'


# --- prefixes


@pytest.mark.parametrize(
    ("head", "text", "rest"),
    [
        (b"", b"  x", b"  x"),
        (b"[rank1]: ", b"[rank1]:   File", b"  File"),
        (b"[rank1]: ", b"[rank1]:", b""),
        (b"[rank1]: ", b"[rank1]: ", b""),
        (b"2026-01-01 08:00:59 ", b"2026-01-01 08:01:00   File", b"  File"),
        (b"[rank1]: ", b"  File", None),
        (b"[rank1]: ", b"", None),
        (b"abx: ", b"aby: x", None),
        (b"[rank12]: ", b"[rank3]: x", None),
    ],
)
def test_strip_head_takes_off_a_like_prefix_only(
    head: bytes, text: bytes, rest: bytes | None
) -> None:
    assert strip_head(head, text) == rest


def test_strip_head_tells_ranks_of_one_length_apart() -> None:
    assert strip_head(b"[rank1]: ", b"[rank2]: x") is None


# --- properties


@given(raw=_BYTES, data=st.data())
def test_line_at_holds_its_position(raw: bytes, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(raw)))
    line = _window(raw).line_at(position)
    assert 0 <= line.start <= line.end <= len(raw)
    assert line.start <= position < line.next


@given(raw=_BYTES)
def test_following_visits_every_byte_once_and_ends(raw: bytes) -> None:
    found = _lines(raw)
    assert found[0].start == 0
    assert [line.start for line in found[1:]] == [line.next for line in found[:-1]]
    assert found[-1].next >= len(raw)


@given(raw=_NO_RETURNS, data=st.data())
def test_line_of_an_unfinished_window_is_the_line_of_the_whole(
    raw: bytes, data: st.DataObject
) -> None:
    size = data.draw(st.integers(0, len(raw)))
    position = data.draw(st.integers(0, size))
    whole = _window(raw).line_at(position)
    try:
        line = _window(raw[:size], final=False).line_at(position)
    except IncompleteError:
        assert size <= whole.next
    else:
        assert (line.start, line.end, line.text) == (whole.start, whole.end, whole.text)


@given(raw=_BYTES)
def test_line_numbers_are_those_of_a_slow_count(raw: bytes) -> None:
    window = _window(raw)
    numbers = [window.line_number(position) for position in range(len(raw) + 1)]
    assert numbers == [raw.count(b"\n", 0, position) + 1 for position in range(len(raw) + 1)]


@given(raw=st.binary(max_size=200), escaped=st.booleans())
@example(raw=b"\\", escaped=True)
@example(raw=b"&#0;&#55296;&#999999;", escaped=False)
def test_clean_never_fails(raw: bytes, escaped: bool) -> None:
    assert isinstance(clean(raw, escaped), bytes)


@given(head=st.binary(max_size=12), text=st.binary(max_size=24))
def test_strip_head_undoes_putting_a_head_in_front(head: bytes, text: bytes) -> None:
    assert strip_head(head, head + text) == text
