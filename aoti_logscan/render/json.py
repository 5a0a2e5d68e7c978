"""The report as JSON, by its published schema."""

from __future__ import annotations

import msgspec

from aoti_logscan.report import Report


def render_json(report: Report) -> str:
    """The report as indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"
