"""Whether a message is said by a failing program, or quoted by someone who speaks of it."""

from __future__ import annotations

import pytest

from aoti_logscan.parsers.quotation import is_quotation

MESSAGE = "CUDA error: an illegal memory access was encountered"


def _quoted(template: str) -> bool:
    """Whether the message, put where the template has `@`, is taken for quoted."""
    head, _, tail = template.partition("@")
    text = (head + MESSAGE + tail).encode()
    return is_quotation(text, len(head.encode()))


@pytest.mark.parametrize(
    "template",
    [
        "@",
        "RuntimeError: @",
        "torch.AcceleratorError: @",
        "[rank3]: RuntimeError: @",
        "    RuntimeError: @",
        "what():  @",
        "E       RuntimeError: @",
        "> RuntimeError: @",
        "│ RuntimeError: @",
        "# RuntimeError: @",
        "# @",
        "(Worker_TP1 pid=955) ERROR 05-21 10:11:12 [executor.py:596] RuntimeError: @",
        "2026-02-11T08:09:10.111222333Z stderr F RuntimeError: @",
        "tests/test_x.py::test_run - RuntimeError: @",
        "FAILED tests/test_x.py::test_run - RuntimeError: @",
    ],
)
def test_line_of_a_failing_program_is_said(template: str) -> None:
    assert not _quoted(template)


@pytest.mark.parametrize(
    "template",
    [
        '{"error": "@"}',
        '{"level": "error", "message": "RuntimeError: @"}',
        "{'stderr': '@'}",
        pytest.param(
            "{'stderr': b'@'}",
        ),
        'error="@"',
        "msg='@'",
        'level=error exc="RuntimeError: @"',
        "RuntimeError('@')",
        "AcceleratorError('@')",
        "Exception: '@'",
        "stdout_lines: ['@']",
        "Process died due to '@'",
        '"@"',
        "NCCL WARN Cuda failure '@'",
        "Worker failed with error '@'",
        'Worker failed with error: "@"',
    ],
)
def test_value_of_a_key_or_of_an_exception_is_said(template: str) -> None:
    assert not _quoted(template)


@pytest.mark.parametrize(
    "template",
    [
        "`@`",
        "we saw `RuntimeError: @` last week",
        "the text is `torch.AcceleratorError: @`",
        '["@"]',
        "['timeout', '@']",
        'pytest.raises(RuntimeError, match="@")',
        "assert_in('@', output)",
        'POISON = ("timeout", "@")',
        'if "@" in line:',
        'grep "@" run.log',
        'Fix "@" on startup',
        'print(f"@")',
        'raise RuntimeError("@")',
        "raise RuntimeError('@')",
        "    raise torch.AcceleratorError(f'@')",
        "- @",
        "* @",
        "- RuntimeError: @",
        '  - "@"',
        "-    @",
        "+    @",
        "+# @",
        "-  # RuntimeError: @",
        "# workaround for: RuntimeError: @",
        "// happens with @",
        "-- fails with RuntimeError: @",
        "tests/test_x.py::test_err[@] PASSED",
        "FAILED tests/test_x.py::test_err[RuntimeError: @]",
    ],
)
def test_text_about_a_failure_is_quoted(template: str) -> None:
    assert _quoted(template)


def test_mark_far_before_the_message_is_not_looked_at() -> None:
    assert not _quoted("`" + "x" * 200 + " @")
    assert not _quoted("- " + "x" * 200 + " RuntimeError: @")


def test_only_what_stands_before_the_message_counts() -> None:
    assert not _quoted("RuntimeError: @` and then - more")


def test_message_at_the_start_of_an_empty_line_is_said() -> None:
    assert not is_quotation(b"", 0)


@pytest.mark.parametrize("start", [5, 500])
def test_position_beyond_the_text_does_not_raise(start: int) -> None:
    assert not is_quotation(b"abc", start)


@pytest.mark.parametrize("head", [b"\xff\xfe ", b"\x00" * 50, b"\x1b[31m"])
def test_bytes_that_are_no_text_are_no_quotation(head: bytes) -> None:
    assert not is_quotation(head + MESSAGE.encode(), len(head))


@pytest.mark.parametrize(
    ("piece", "quoted"), [(b"'", True), (b" ", False), (b"a:", False), (b"- # ", False)]
)
def test_long_head_is_judged_by_its_end(piece: bytes, quoted: bool) -> None:
    head = piece * 100_000
    assert is_quotation(head + MESSAGE.encode(), len(head)) == quoted


@pytest.mark.parametrize(
    "template",
    [
        "a1b2c3d Fix @",
        "a1b2c3d4e5 (tag: v1) [Bugfix] Avoid @",
        "fix(cuda): @",
        "    Fixes the RuntimeError: @",
        "+ grep -c '@",
        '$ rg --stats "RuntimeError: @',
        "| grep -E 'foo @",
    ],
)
def test_commit_and_search_quote(template: str) -> None:
    assert _quoted(template)


@pytest.mark.parametrize(
    "template",
    [
        "a1b2c3d RuntimeError: @",
        "a1b2c3d4e5f6 worker failed with @",
        "Address already gone: @",
        "Fixed-shape graph: RuntimeError: @",
        "[fix me later] engine: @",
        "grep.py: RuntimeError: @",
    ],
)
def test_line_that_resembles_commit_or_search_is_said(template: str) -> None:
    assert not _quoted(template)
