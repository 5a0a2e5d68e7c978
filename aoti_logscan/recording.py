"""What a recording is: the files of a folder that `aoti-logscan run` leaves and a scan reads.

output.log     every byte that the command printed
arrivals.tsv   when they came: milliseconds and bytes since the line before
run.json       the command, what was set for it, how it ended
trace/         TORCH_TRACE
packages/      the packages of the run: copies of small ones, links to larger ones
"""

from __future__ import annotations

from typing import Any

OUTPUT, ARRIVALS, RUN = "output.log", "arrivals.tsv", "run.json"
TRACE, PACKAGES = "trace", "packages"

#: what arrivals begin with, by which a scan passes them over
ARRIVALS_HEAD = b"# aoti-logscan arrivals 1: milliseconds, bytes\n"
_MARK = "aoti_logscan_run"
#: what run.json begins with
RUN_HEAD = b'{\n "' + _MARK.encode() + b'": '


def run_record(fields: dict[str, Any]) -> bytes:
    """run.json: a field a line, an item of a list a line."""
    import json

    return json.dumps({_MARK: "1", **fields}, indent=1).encode() + b"\n"


def read_run_record(text: bytes) -> dict[str, Any] | None:
    """The fields of a run.json; None where it is none or was cut short."""
    import json

    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) and _MARK in fields else None
