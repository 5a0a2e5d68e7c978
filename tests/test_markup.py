"""Text of logs in Markdown: nothing in it becomes markup, closes a fence, pings or links."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.render.markup import cell, code, fence, numbered, summary, words

HOSTILE = st.text(
    st.sampled_from(list("`~*_[]()<>#|!\\@$&-+=.\n\t\r\x1b\x00\x9b\u202e\u200b aZ01:/w")),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a <b> & c &lt; d", "a \\<b> & c \\&lt; d"),
        ("0 <= tmp4 < 100", "0 <= tmp4 < 100"),
        ("> quoted", "\\> quoted"),
        ("see *this* and `that`", "see \\*this\\* and `that`"),
        ("a ` b, or torch._check()", "a \\` b, or `torch._check()`"),
        ("triton_poi_fused_0", "triton_poi_fused_0"),
        ("__init__ of _x", "\\_\\_init\\_\\_ of \\_x"),
        ("[x](http://e.vil) www.e.vil", "\\[x\\](`http://e.vil)` `www.e.vil`"),
        ("ask @anna about #12 or GH-3", "ask `@anna` about `#12` or `GH-3`"),
        ("a.b@c.de in org/repo#7", "`a.b@c.de` in `org/repo#7`"),
        ("a # b @ c", "a # b @ c"),
        ("1. first", "1\\. first"),
        ("# head", "\\# head"),
        ("a\nb\x1b[31m", "a b\\\\x1b\\[31m"),
    ],
)
def test_words_are_no_markup(text: str, escaped: str) -> None:
    assert words(text) == escaped


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a|b", "`a|b`"),
        ("`", "`` ` ``"),
        ("a ``` b", "````a ``` b````"),
        ("", ""),
        ("\x1b]0;title\x07", "`\\x1b]0;title\\x07`"),
    ],
)
def test_code_span_is_longer_than_what_is_in_it(text: str, span: str) -> None:
    assert code(text) == span


def test_cell_of_a_table_holds_no_bar() -> None:
    assert cell("a | b || c") == "`a \\| b \\|\\| c`"
    assert cell(None) == ""


def test_summary_is_html() -> None:
    assert summary("</summary><script>alert(1)</script>") == (
        "&lt;/summary&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    )


def test_fence_is_longer_than_any_in_it() -> None:
    text = "a\n```\n</details>\n`````\nb"
    assert fence(text) == f"``````text\n{text}\n``````"


def test_long_fence_keeps_both_ends_and_counts_the_middle() -> None:
    shown = fence("\n".join(f"line {number}" for number in range(5000)))
    match = re.search(r"\n\.\.\. (\d+) lines left out \.\.\.\n", shown)
    assert match is not None
    assert shown.startswith("```text\nline 0\n")
    assert shown.endswith("\nline 4999\n```")
    assert shown.count("\nline ") + int(match[1]) == 5000


def test_lines_are_numbered_and_marked() -> None:
    assert numbered("a\nb\n\nc", 9, (10,)) == "   9  a\n> 10  b\n  11\n  12  c"


@given(HOSTILE)
def test_fence_ends_where_it_should(text: str) -> None:
    lines = fence(text).split("\n")
    ticks = lines[0].removesuffix("text")
    assert set(ticks) == {"`"}
    assert [line for line in lines[1:] if line.strip().startswith(ticks)] == [lines[-1]]
    assert all(line.isprintable() for line in lines)


@given(HOSTILE)
def test_code_span_is_one_span(text: str) -> None:
    shown = code(text)
    assert shown.isprintable()
    if shown:
        runs = re.findall("`+", shown)
        assert runs[0] == runs[-1]
        assert runs.count(runs[0]) == 2


@given(HOSTILE)
def test_words_hold_no_tag_link_or_ping(text: str) -> None:
    shown = words(text)
    assert shown.isprintable()
    outside = re.sub(r"\\.|(`+)(?!`).+?(?<!`)\1(?!`)", ",", shown)
    assert not re.search(r"<[a-zA-Z/!?]|^>|@\w|://\w|[`*|~$]|#\d|(?i:\bwww)\.\w", outside)
