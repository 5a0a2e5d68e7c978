"""The attachment of a bug report: one zip with the report in three forms and what it rests on.

report.md, report.html, report.json    the report
excerpts/                              the lines around its evidence
code/                                  the generated code of the suspects
events.jsonl                           what was read, one event a line
manifest.json                          the tool, hashes and sizes, what was replaced and left out

It is written whole or not at all. Equal reports give equal files.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from aoti_logscan.events import Event
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.render.html import render_html
from aoti_logscan.render.json import render_json, render_lines, render_value
from aoti_logscan.render.layout import visible
from aoti_logscan.render.markdown import render_markdown
from aoti_logscan.render.markup import numbered
from aoti_logscan.report import Dossier, Excerpt, SuspectCode

#: bytes of the whole file; what GitHub takes as an attachment
MAX_BYTES = 25_000_000
#: bytes that are kept free for the manifest, and for what the zip says of each member, twice
_RESERVE = 100_000
_PER_MEMBER = 300
#: how often fewer events are tried until they fit
_TRIES = 6
_SUFFIXES = {"triton": "py", "python": "py", "cpp": "cpp"}
_UNSAFE = lazy_re(r"[^A-Za-z0-9._-]+")
#: what every member is dated
_DATE = (1980, 1, 1, 0, 0, 0)


class Attached(NamedTuple):
    """What was written: the size in bytes, and what was left out for its sake, a line each."""

    size: int
    left_out: tuple[str, ...]


def attach(
    path: Path,
    dossier: Dossier,
    events: Sequence[Event],
    *,
    redacted: Mapping[str, int] | None = None,
    limit: int = MAX_BYTES,
) -> Attached:
    """Write the attachment of at most `limit` bytes; `dossier` and `events` go in as given.

    `redacted` says how many values of each kind were replaced in them. Raises OSError where the
    file cannot be written; then nothing is left behind, and what was there stays as it was.
    """
    whole = io.BytesIO()
    left_out = _Zip(whole, limit).write(dossier, events, redacted)
    _put_in_place(Path(os.path.realpath(path)), whole.getbuffer())
    return Attached(len(whole.getbuffer()), left_out)


def _put_in_place(path: Path, data: memoryview) -> None:
    """Write a file whole or not at all; what is no file (a device, a pipe) is written into."""
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            file.write(data)
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "xb") as file:
            file.write(data)
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


class _Zip:
    """The zip in the making: members go in as long as there is room for them."""

    def __init__(self, file: io.BytesIO, limit: int) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._file = file
        self._limit = limit - _RESERVE
        self._listed: list[dict[str, Any]] = []
        self._left_out: list[str] = []

    def write(
        self, dossier: Dossier, events: Sequence[Event], redacted: Mapping[str, int] | None
    ) -> tuple[str, ...]:
        """All members, the most telling first, and the manifest; gives what was left out."""
        report = dossier.report
        self._add("report.md", render_markdown(dossier, redacted=redacted))
        self._add("report.json", render_json(report))
        for at, excerpt in enumerate(dossier.excerpts, 1):
            self._add(_excerpt_name(at, excerpt), _excerpt(excerpt))
        for at, code in enumerate(dossier.code, 1):
            self._add(_code_name(at, code), _lines(code.text))
        self._add("report.html", render_html(dossier, redacted=redacted))
        self._add_events(events)
        manifest = {
            "tool": report.tool,
            "signature": report.signature,
            "redacted": redacted,
            "files": self._listed,
            "left_out": self._left_out,
        }
        self._put("manifest.json", render_value(manifest).encode())
        self._zip.close()
        return tuple(self._left_out)

    def _add(self, name: str, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        if self._fits(data):
            self._put(name, data)
        else:
            self._left_out.append(f"{name}: {len(data):,} bytes")

    def _add_events(self, events: Sequence[Event]) -> None:
        """All events; where they do not fit, the first and the last of them."""
        kept = events
        for _ in range(_TRIES):
            data = render_lines(kept).encode("utf-8", "backslashreplace")
            if self._fits(data):
                break
            half = len(kept) // 4
            kept = [*kept[:half], *kept[len(kept) - half :]] if half else []
        else:
            kept, data = [], b""
        if len(kept) < len(events):
            left_out = len(events) - len(kept)
            self._left_out.append(f"events.jsonl: {left_out:,} of {len(events):,} events")
        self._put("events.jsonl", data)

    def _fits(self, data: bytes) -> bool:
        room = self._limit - self._file.tell() - _PER_MEMBER * (len(self._listed) + 1)
        return len(data) <= room or len(zlib.compress(data)) <= room

    def _put(self, name: str, data: bytes) -> None:
        info = zipfile.ZipInfo(name, _DATE)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        self._zip.writestr(info, data)
        digest = hashlib.sha256(data).hexdigest()
        self._listed.append({"name": name, "bytes": len(data), "sha256": digest})


def _excerpt_name(at: int, excerpt: Excerpt) -> str:
    return f"excerpts/{at:03}-{_safe(excerpt.source)}-{excerpt.line}.txt"


def _excerpt(excerpt: Excerpt) -> str:
    text = numbered(_lines(excerpt.text), excerpt.first_line, (excerpt.line,))
    return f"{visible(excerpt.source)}:{excerpt.line}\n\n{text}\n"


def _code_name(at: int, code: SuspectCode) -> str:
    call = "call-of-" if code.role == "call" else ""
    return f"code/{at:03}-{call}{_safe(code.name)}.{_SUFFIXES[code.language]}"


def _lines(text: str) -> str:
    """The text with its lines, and no other control characters."""
    return "\n".join(visible(line.expandtabs(8)) for line in text.split("\n"))


def _safe(name: str) -> str:
    """The end of a name, of characters that every system takes in a file's name."""
    last = re.split(r"[/\\!]", name)[-1]
    return _UNSAFE.sub("-", last).strip("-.")[-80:] or "source"
