"""Text to events, as the tests of the parsers need it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import strategies as st

from aoti_logscan.events import Event
from aoti_logscan.parsers import OWNERS, PARSERS
from aoti_logscan.records import Parser
from aoti_logscan.scan import Scanned, Scanner
from tests.conftest import FIXTURES

#: a wrapper of a package and a kernel's file as torch 2.13 writes them
WRAPPER_CPP = next(FIXTURES.glob("lineage-twin-kernels-told-by-file-name/input/*.cpp")).read_text()
KERNEL_PY = next(FIXTURES.glob("triton-oob-symbol-bound-source-beside/input/**/cc*.py")).read_text()

#: more digits than Python turns into an integer
TOO_MANY_DIGITS = "9" * 5000

_BASE = frozenset(Event.__struct_fields__)
_BAR = " 95%|███████  | 1998/2100 [00:21<00:01, 94.87it/s]\r"


@cache
def _scanner(parsers: tuple[Parser, ...]) -> Scanner:
    return Scanner(parsers, ()) if parsers else Scanner(PARSERS, OWNERS)


class _Bytes:
    """Bytes in memory as a stream."""

    problem: str | None = None

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def readinto(self, view: memoryview) -> int:
        """Fill the view from its start; 0 at the end."""
        part, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(part)] = part
        return len(part)


def scan(text: str | bytes, *parsers: Parser) -> Scanned:
    """What is read of a text by these parsers alone, or by all of them with the owners."""
    data = text.encode() if isinstance(text, str) else text
    return _scanner(parsers).scan("run.log", _Bytes(data))


def events(text: str | bytes, *parsers: Parser) -> list[Event]:
    """The events of a text, read by these parsers alone, or by all of them with the owners."""
    return list(scan(text, *parsers).events)


def one(text: str | bytes, *parsers: Parser) -> Event:
    """The only event of a text."""
    (event,) = events(text, *parsers)
    return event


def told(event: Event) -> dict[str, Any]:
    """The fields of the event's own type that are known, with the type's name as `is`."""
    own = {name: getattr(event, name) for name in event.__struct_fields__ if name not in _BASE}
    known = {name: value for name, value in own.items() if value is not None and value != ()}
    return {"is": type(event).__name__, **known}


def every_cut(text: str, *parsers: Parser) -> list[Event]:
    """The events of every beginning of the text that is not the whole of it."""
    return [event for end in range(len(text)) for event in events(text[:end], *parsers)]


def _each_line(prefix: str) -> Callable[[str], str]:
    return lambda text: "".join(prefix + line for line in text.splitlines(keepends=True))


def _coloured(text: str) -> str:
    return "".join(f"\x1b[1;31m{line}\x1b[0m\n" for line in text.splitlines())


def _as_json(text: str) -> str:
    return json.dumps({"exit_code": 1, "stderr": "starting\n" + text}) + "\n"


def _as_repr(text: str) -> str:
    return f"worker failed: {{'stderr': {('starting' + chr(10) + text).encode()!r}}}\n"


#: how launchers, loggers, terminals and people change a text without changing what it says
DRESSES: dict[str, Callable[[str], str]] = {
    "rank": _each_line("[rank1]: "),
    "tee": _each_line("[default2]:"),
    "serving-engine": _each_line("(Worker_TP1 pid=955) ERROR 05-21 10:11:12 [executor.py:596] "),
    "kubectl": _each_line("2026-02-11T08:09:10.111222333Z stderr F "),
    "journal": _each_line("Jun 21 12:23:33 node7 docker[3764470]: "),
    "quoted": _each_line("> "),
    "boxed": _each_line("│ "),
    "pytest": _each_line("E       "),
    "coloured": _coloured,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "progress-bar": lambda text: _BAR * 3 + text,
    "json": _as_json,
    "repr": _as_repr,
}
DRESSED = pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)


def around(*anchors: bytes) -> st.SearchStrategy[bytes]:
    """Random bytes with anchors and the characters of log formats strewn in."""
    marks = (
        b"\n",
        b"\r",
        b"\t",
        b"`",
        b": ",
        b"[",
        b"]",
        b"\\n",
        b'"',
        b"1",
        b"0x",
        b", ",
        b"\x1b[",
    )
    piece = st.one_of(st.sampled_from(anchors), st.sampled_from(marks), st.binary(max_size=12))
    return st.lists(piece, max_size=24).map(b"".join)
