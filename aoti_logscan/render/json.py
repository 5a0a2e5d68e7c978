"""The report, events and launches as JSON, by their published schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from aoti_logscan.report import Report


def render_json(report: Report) -> str:
    """The report as indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


def render_lines(values: Iterable[msgspec.Struct]) -> str:
    """One JSON object a line: events as `-f events` prints them."""
    return msgspec.json.Encoder().encode_lines(list(values)).decode()


def render_value(value: Any) -> str:
    """Launches, a kernel or uses of a buffer as indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n"
