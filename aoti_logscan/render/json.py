"""The report, events and launches as JSON, by their published schemas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from aoti_logscan.report import LaunchReport, Report


def render_json(report: Report) -> str:
    """The report as indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


def render_lines(values: Iterable[msgspec.Struct]) -> str:
    """One JSON object a line: events as `-f events` prints them."""
    return msgspec.json.Encoder().encode_lines(list(values)).decode()


def render_launches(launches: Sequence[LaunchReport]) -> str:
    """Launches as an indented JSON list with a final newline."""
    return msgspec.json.format(msgspec.json.encode(launches), indent=1).decode() + "\n"
