"""The report as a GitHub issue: what it says, and that text of logs is text in it."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from aoti_logscan.render.markdown import MAX_CHARACTERS, render_markdown
from aoti_logscan.report import Dossier, Evidence, Problem
from tests.dossiers import SHOWN, hostile, of_fixture

#: what GitHub's parser does of its own beside CommonMark
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
#: the only tags that a report is made of, by GitHub's parser or by ours
OURS = {
    *("h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "ul", "li"),
    *("strong", "br", "details", "summary", "sub"),
}
TAG = re.compile(r"</?([A-Za-z!][\w-]*)")
HOSTILE = (
    "<script>alert(1)</script>",
    "</details></summary><img src=x onerror=alert(1)>",
    "```\n</code></pre><b>x</b>\n~~~",
    "`` ` `` | a | b |\n|---|---|\n| c |",
    "[click](javascript:alert(1)) ![x](http://e.vil/x.png) <http://e.vil>",
    "\x1b[2J\x1b]0;title\x07\x9b31m\r\x08 \u202eevil\u202c \u200b",
    "@everyone fixes #1, GH-2 www.e.vil https://e.vil",
    "*a* **b** _c_ __d__ ~~e~~ $x$ $$y$$ \\",
    "# h\n- l\n1. n\n> q\n===\n***",
    "a\x00b\ud800c",
)


def _html(text: str) -> str:
    return str(PARSER.render(text))


def _big(findings: int = 400) -> Dossier:
    """A dossier with far more than fits."""
    known = of_fixture("triton-oob-proven-by-package")
    report = known.report
    wide = msgspec.structs.replace(
        report.findings[1], evidence=(Evidence("run.log", 7, 70, "x" * 2000),), summary="s" * 900
    )
    problems = tuple(Problem(at, "y" * 500) for at in range(200))
    source = msgspec.structs.replace(report.sources[0], problems=problems)
    report = msgspec.structs.replace(
        report, findings=(report.findings[0], *[wide] * findings), sources=(source,) * 70
    )
    return msgspec.structs.replace(known, report=report)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_log_is_text(text: str) -> None:
    shown = render_markdown(hostile(text))
    assert all(line.isprintable() for line in shown.split("\n"))
    page = _html(shown)
    assert {name.lower() for name in TAG.findall(page)} <= OURS
    assert "href" not in re.sub(r"<code.*?</code>", "", page, flags=re.DOTALL)


@given(st.text(st.sampled_from(list("`~*_[]()<>#|!\\@$&-+=.\n a1")), min_size=1, max_size=30))
def test_no_text_becomes_a_tag(text: str) -> None:
    page = _html(render_markdown(hostile(text)))
    assert {name.lower() for name in TAG.findall(page)} <= OURS
    assert page.count("<details>") == page.count("</details>") == page.count("<summary>")


@pytest.mark.parametrize("name", SHOWN)
def test_tables_are_whole(name: str) -> None:
    for table in re.findall(r"<table>.*?</table>", _html(render_markdown(of_fixture(name)))):
        rows = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        assert len({row.count("<td") + row.count("<th") for row in rows}) == 1


def test_answer_stands_first() -> None:
    shown = render_markdown(of_fixture("triton-oob-proven-by-package"))
    first = shown[: shown.index("### Evidence")]
    for told in ("Triton index out of bounds (sure)", "`0 <= tmp4 < 100`", "size 0 of input 0"):
        assert told in first
    assert first.index("## ") == 0
    assert "| Signature | `" in first
    assert "> 1  /tmp/torchinductor_dev/" in shown  # the line that is meant, in its surroundings
    assert "> 30      tl.device_assert(" in shown  # and in the kernel's code


def test_next_steps_are_done_and_open() -> None:
    shown = render_markdown(of_fixture("printer-level2-crash-pty"))
    steps = shown[shown.index("### Next steps") : shown.index("<details>")]
    assert "- [x] `AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER` was on (" in steps
    assert "- [ ] **Have the package check its inputs first" in steps
    assert "  ```sh\n  AOTI_RUNTIME_CHECK_INPUTS=1 python" in steps


def test_printed_values_and_launches_are_folded() -> None:
    shown = render_markdown(of_fixture("printer-level2-crash-pty"))
    assert "| `buf1` | after | dtype `float32`, device `cpu`, size `[4, 8]`" in shown
    assert "The last 5 of 5 launches" in shown


def test_it_is_never_longer_than_github_takes() -> None:
    shown = render_markdown(_big())
    assert len(shown) <= MAX_CHARACTERS
    assert re.search(r"\d+ more are left out for length\.", shown)
    assert shown.rstrip().endswith("</sub>")
    assert shown.count("<details>") == shown.count("</details>")


def test_parts_that_do_not_fit_are_named() -> None:
    shown = render_markdown(_big(findings=1200))
    assert "Left out for length: " in shown
    assert shown.startswith("## Triton index out of bounds (sure)")


@pytest.mark.parametrize(
    ("redacted", "told"),
    [
        (None, "Nothing was redacted."),
        ({}, "nothing had to be replaced"),
        ({"user": 2, "dir": 1}, "Redacted: 1 directory, 2 user names."),
    ],
)
def test_it_says_what_was_replaced(redacted: dict[str, int] | None, told: str) -> None:
    assert told in render_markdown(of_fixture("input-dim-static"), redacted=redacted)
