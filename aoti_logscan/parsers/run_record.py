"""How a recorded run was started and how it ended: the run.json of a recording.

    {
     "aoti_logscan_run": "1",
     "command": ["python", "serve.py"],
     "environment": ["CUDA_LAUNCH_BLOCKING=1"],
     "signal": "SIGSEGV",

gives a `FlagSeen` for each flag that was set, and a `ProcessDeath` where the command died of a
signal that is no request to end; `recorder` tells it only where the output was kept to its end. The
whole file is owned: a command may quote any error. Flags of compile time count only where the run
compiled something. Written by `aoti-logscan run`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from aoti_logscan.events import Event, FlagSeen, ProcessDeath
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, IncompleteError
from aoti_logscan.parsers import flags
from aoti_logscan.prefix import NOTHING
from aoti_logscan.recording import read_run_record
from aoti_logscan.records import Draft, Malformed, Parsed
from aoti_logscan.rungs import COMPILE_FLAGS

NAME = "run_record"
ANCHORS = (b'"aoti_logscan_run"',)

# {\n "aoti_logscan_run":   as it is written, and as other programs write it anew
_HEAD = lazy_re(rb'\{\s{0,80}"aoti_logscan_run"\s{0,80}:')
#: signals by which someone asks a process to end
_REQUESTS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGPIPE", "SIGUSR1", "SIGUSR2")


def owns(hit: Hit) -> int | None:
    """The end of the file where it is a run.json."""
    window = hit.window
    return window.size if window.base == 0 and _HEAD.match(window.buffer) else None


def parse(hit: Hit) -> Parsed:
    """Drafts for the flags and the death; nothing where the words are not at a file's start."""
    window = hit.window
    head = _HEAD.match(window.buffer)
    if owns(hit) is None or head is None or hit.start > head.end():
        return ()
    if not window.final:
        raise IncompleteError
    whole = bytes(window.buffer[: window.size])
    fields = read_run_record(whole)
    if fields is None:
        return (Malformed(0, len(whole), "a run.json that cannot be read"),)
    return [draft._replace(taken=len(whole)) for draft in _drafts(fields, whole)]


def _drafts(fields: dict[str, Any], whole: bytes) -> Iterator[Draft]:
    import json

    for setting in (*_texts(fields, "environment"), *_texts(fields, "kept")):
        name, _, value = setting.partition("=")
        if name in flags.NAMES and not _is_idle(name, fields):
            written = re.escape(json.dumps(setting).encode())
            yield _draft(FlagSeen, {"name": name, "value": _encodable(value)}, whole, written)
    signal = fields.get("signal")
    if isinstance(signal, str) and signal not in _REQUESTS:
        written = rb'"signal"\s{0,80}:\s{0,80}' + re.escape(json.dumps(signal).encode())
        told_by = "shell" if fields.get("problem") else "recorder"
        died = {"told_by": told_by, "signal": _encodable(signal)}
        yield _draft(ProcessDeath, died, whole, written)


def _texts(fields: dict[str, Any], name: str) -> list[str]:
    listed = fields.get(name)
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []


def _encodable(text: str) -> str:
    """The text without halves of surrogates, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _is_idle(name: str, fields: dict[str, Any]) -> bool:
    return name in COMPILE_FLAGS and fields.get("compiled") is False


def _draft(kind: type[Event], fields: dict[str, Any], whole: bytes, written: bytes) -> Draft:
    """The draft for what was written in the file, on a line of its own if there is one."""
    found = re.search(rb"^\s{0,80}(?P<it>" + written + rb")", whole, re.MULTILINE)
    found = found or re.search(rb"(?P<it>" + written + rb")", whole)
    start = found.start("it") if found else 0
    end = whole.find(b"\n", start)
    end = len(whole) if end < 0 else end
    return Draft(kind, fields, start, end, whole[start:end], NOTHING)
