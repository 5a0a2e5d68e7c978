"""The report, events and launches as JSON, by their published schemas.

Characters that would move a terminal's cursor or turn its text around are written as escapes, as
JSON itself does it for the first 32.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.report import Report

# DEL and C1, soft hyphen, zero width, marks and isolates of direction, separators, tags, BOM
_UNSEEN = lazy_re(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\ufffb]"
)


def render_json(report: Report) -> str:
    """The report as indented JSON with a final newline."""
    return render_value(report)


def render_value(value: Any) -> str:
    """Any value of the report's types as indented JSON with a final newline."""
    return _plain(msgspec.json.format(msgspec.json.encode(value), indent=1).decode()) + "\n"


def render_lines(values: Iterable[msgspec.Struct]) -> str:
    """One JSON object a line: events as `-f events` prints them."""
    return _plain(msgspec.json.Encoder().encode_lines(list(values)).decode())


def _plain(text: str) -> str:
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
