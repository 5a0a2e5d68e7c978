"""Colours stay, and escaped lines are lines; a folder of Windows ends none."""

from __future__ import annotations

from aoti_logscan.redact import Redactor


def test_colours_are_kept_around_what_is_replaced() -> None:
    text = "\x1b[31mUSER=anna\x1b[0m \x1b[1m10.0.0.3\x1b[0m"
    redacted = "\x1b[31mUSER=<user-1>\x1b[0m \x1b[1m<ip-1>\x1b[0m"
    assert Redactor().text(text) == redacted


def test_more_colours_than_a_log_has_are_kept() -> None:
    text = "".join(f"\x1b[{number}mx" for number in range(100))
    assert Redactor().text(text) == text


def test_folder_of_windows_is_no_end_of_a_line() -> None:
    assert Redactor().text(r"at C:\Users\nina\new\x.py") == r"at <dir-1>\x.py"
    text = r'{"m": "C:\\Users\\nina\\new\\x.py\nUSER=nina"}'
    assert Redactor().text(text) == r'{"m": "<dir-1>\\x.py\nUSER=<user-1>"}'
