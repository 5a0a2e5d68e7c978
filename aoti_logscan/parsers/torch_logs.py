"""torch's own log lines: what of them is dumped code or talk, and the known red herrings.

    V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [0/0] [__output_code] # AOT ID: ...

Lines of level V, D and I and lines tagged with an artifact hold generated code, graphs, guards and
reasons: no text in them is a failure, so they are owned here. A dump of generated code is put
together again as a `GeneratedCode`: every line of it carries the whole prefix. Also owned are an
autotuning choice that was rejected and an exception that torch warned of and went on after (a
traceback in a record of level W), unless the error poisons the context. `Loading outdated pt2
file` and the like give a `Harmless`; the loader's warning of another machine a
`DeviceInformation`. Sources: torch 2.13,
_logging/_internal.py, `TorchLogsFormatter.format`; _inductor/select_algorithm.py;
_inductor/package/package.py; export/pt2_archive/_package.py; aoti_runner's `Could not dlsym`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Any

from aoti_logscan.events import DeviceInformation, Event, GeneratedCode, Harmless
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, IncompleteError, is_clean
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "torch_logs"
_TRACEBACK = b"Traceback (most recent call last)"
_NO_RESOURCE = b"out of resource: "
_IGNORED = b"Ignoring this choice"
ANCHORS = (
    _IGNORED,
    b"Loading outdated pt2 file",
    b"Could not dlsym ",
    b"Device information mismatch for ",
    b"libdrm/amdgpu.ids: No such file",
    b"aot_compile() is being deprecated",
    b"aot_load() is being deprecated",
    b"Output code: ",
    b"Output wrapper code: ",
    b"Output kernel code:",
    _TRACEBACK,
    _NO_RESOURCE,
)

# [rank1]:V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [0/0] [__output_code] text
_LINE = lazy_re(
    rb"(?P<level>[VDIWECF])\d{4} \d\d:\d\d:\d\d\.\d{6,} \d+ (?P<file>[^\s:\]]+):\d+\]"
    rb"(?: \[!?\d+(?:/\d+){0,2}(?:_\d+)?\])?(?: \[__(?P<artifact>\w+)\])?"
)
# [2023-11-05 10:11:12,345] [0/0] torch._inductor.graph.__output_code: [DEBUG] text
_OLD_LINE = lazy_re(
    rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\](?: \[!?\d+(?:/\d+){0,2}(?:_\d+)?\])?"
    rb" (?P<logger>torch\.[\w.]+): \[(?P<level>[A-Z]+)\]"
)
# Device information mismatch for AOTI_COMPUTE_CAPABILITY: 100 vs 90. This could cause
_DEVICE = lazy_re(
    rb"Device information mismatch for (?P<key>AOTI_\w+): (?P<here>.*?) vs (?P<package>.*?)\. This"
)
# Output wrapper code: <end of line>, the code on the lines below
_CODE = lazy_re(rb"Output (?P<part>wrapper |kernel |)code: ?(?P<first>.*)$")
# the first lines of a C++ wrapper
_CPP = lazy_re(r"^\s*(?:#include|//|extern \"C\"|/\*)", re.MULTILINE)
_CODE_LINES = 500_000
#: a dump may be as long as this: a wrapper has megabytes, and each line its prefix
MAX_RECORD = 64 << 20
_HARMLESS = {
    _IGNORED: "autotune-reject",
    b"Loading outdated pt2 file": "outdated-package",
    b"Could not dlsym ": "dlsym",
    b"libdrm/amdgpu.ids": "libdrm",
    b"aot_": "deprecated",
}
# errors of a rejected choice that leave the context unusable
_POISON = lazy_re(
    rb"illegal memory access|misaligned address|illegal instruction|unspecified launch failure"
)
_NEWLINE = 0x0A
#: where choices are timed; before it said `Ignoring this choice` it only gave the reason
_AUTOTUNING = b"select_algorithm.py"
#: it raises after it has warned, and says no more than `Please check the warnings above`
_RAISES_LATER = b"torch/export/__init__.py"
#: lines of a warning with a traceback, below its head and above what it tells
_WARNING_BELOW, _WARNING_ABOVE = 2000, 200
#: lines above `Ignoring this choice` that tell its error
_CHOICE_LINES = 40
#: bytes of a line in which its prefix is looked for
_HEAD = 400


def parse(hit: Hit) -> Parsed:
    """One draft for the red herring or the warning at this hit."""
    text, column = hit.line.text, hit.column
    if match := _DEVICE.match(text, column):
        fields = {key: value.decode("utf-8", "replace") for key, value in match.groupdict().items()}
        return (_draft(hit, DeviceInformation, dict(fields)),)
    if match := _CODE.match(text, column):
        return _code(hit, match)
    if text.startswith(_TRACEBACK, column):
        return (_draft(hit, Harmless, {"form": "exception-logged"}),) if _is_handled(hit) else ()
    if text.startswith(_NO_RESOURCE, column):
        record = _LINE.search(text[:_HEAD])
        if record is None or record["level"] != b"W" or not record["file"].endswith(_AUTOTUNING):
            return ()
        return (_draft(hit, Harmless, {"form": "autotune-reject"}),)
    for literal, form in _HARMLESS.items():
        if text.startswith(literal, column):
            poisons = form == "autotune-reject" and _is_poisoned(hit)
            return (_draft(hit, Harmless, {"form": "autotune-poison" if poisons else form}),)
    return ()


def _is_poisoned(hit: Hit) -> bool:
    """Whether the rejected choice failed of an error that the GPU's context does not survive."""
    head, line = hit.line.text[: hit.column].rstrip(), hit.line
    for _ in range(_CHOICE_LINES):
        if _POISON.search(line.text):
            return True
        above = hit.window.previous(line)
        if above is None or not head or not above.text.startswith(head):
            return False
        if _IGNORED in above.text:
            return False
        line = above
    return False


def _draft(
    hit: Hit, kind: type[Event], fields: dict[str, str] | Callable[[], dict[str, Any]]
) -> Draft:
    return Draft(
        kind=kind,
        fields=fields,
        start=hit.line.start,
        end=hit.line.end,
        text=hit.line.text,
        prefix=read_prefix(hit.line.text[: hit.column]),
        fold=tuple(fields.values()) if isinstance(fields, dict) else None,
    )


def _code(hit: Hit, match: re.Match[bytes]) -> Parsed:
    """The code below, as far as its lines carry the same prefix; nothing outside a log record."""
    head = hit.line.text[: hit.column]
    record = _LINE.search(head) or _OLD_LINE.search(head)
    if record is None:
        return ()
    lines = [match["first"]] if match["first"].strip() else []
    end = hit.line.end
    below = _as_printed(hit, head)
    if below is None:
        below = []
        for line in hit.following(_CODE_LINES):
            if not line.text.startswith(head.rstrip()):
                break
            below.append(line.text)
            end = line.end
    elif below:
        end += 1 + len(b"\n".join(below))
    lines += [text[len(head) :] for text in below]
    if not lines:
        return ()
    source = b"\n".join(lines)
    part = match["part"].decode().strip() or "wrapper"
    draft = _draft(hit, GeneratedCode, partial(_code_fields, part, source))
    fold, hides = (part, hash(source)), (hit.line.end, end)
    return (draft._replace(end=end, fold=fold, payload=len(source), hides=hides),)


def _code_fields(part: str, source: bytes) -> dict[str, str | None]:
    text = source.decode("utf-8", "replace")
    language = "cpp" if _CPP.match(text) else "python"
    return {"language": language, "part": part, "file": None, "text": text}


def _as_printed(hit: Hit, head: bytes) -> list[bytes] | None:
    """The lines below that begin with the head, taken as they stand.

    None where they have to be looked at one by one: in a stored or coloured log, at a file's end.
    """
    window, line = hit.window, hit.line
    buffer, size, bare = window.buffer, window.size, head.rstrip()
    if line.escaped or line.end + 1 != line.next or buffer[line.end] != _NEWLINE:
        return None
    position = line.next
    while buffer.startswith(bare, position):
        position = buffer.find(b"\n", position, size) + 1
        if not position:
            break
    if not window.final and (not position or size - position < len(bare)):
        raise IncompleteError
    whole = bytes(buffer[line.next : position]) if position else None
    if not whole or not is_clean(whole):
        return None
    return whole.split(b"\n")[:-1]


def owns(hit: Hit) -> int | None:
    """The end of the line where it is one whose text is no failure."""
    head = _head(hit)
    if b"] " not in head:
        return None
    if match := _LINE.search(head):
        quiet = match["level"] in b"VDI" or match["artifact"] is not None
        rejected = match["file"].endswith(_AUTOTUNING) and not _POISON.search(hit.line.text)
        return hit.line.end if quiet or rejected or _is_handled(hit) else None
    if match := _OLD_LINE.search(head):
        quiet = match["level"] in (b"DEBUG", b"INFO") or b".__" in match["logger"]
        return hit.line.end if quiet else None
    return None


def _is_handled(hit: Hit) -> bool:
    """Whether a record of level W tells of an exception here: torch caught it and went on.

    Not where the exception leaves the GPU's context unusable.
    """
    text = hit.line.text
    record = _LINE.search(text[:_HEAD])
    if record is None or record["level"] != b"W" or record["file"].endswith(_RAISES_LATER):
        return False
    head = text[: record.end()]
    if text.startswith(_TRACEBACK, hit.column):
        below = takewhile(
            lambda line: line.text.startswith(head) and _TRACEBACK not in line.text,
            hit.following(_WARNING_BELOW),
        )
        return not any(_POISON.search(line.text) for line in below)
    return _POISON.search(text) is None and _is_below_traceback(hit, head)


def _is_below_traceback(hit: Hit, head: bytes) -> bool:
    """Whether the head of a traceback stands above in the same record."""
    window, line = hit.window, hit.line
    known, found = window.notes.get(NAME), False
    for _ in range(_WARNING_ABOVE):
        above = window.previous(line)
        if above is None or not above.text.startswith(head):
            break
        if known is not None and above.start == known[0]:
            found = known[2] or _TRACEBACK in above.text
            break
        if _TRACEBACK in above.text:
            found = True
            break
        line = above
    window.notes[NAME] = (hit.line.start, hit.line.end, found)
    return found


def _head(hit: Hit) -> bytes:
    """The first bytes of the line, as they are where it is no stored one."""
    window = hit.window
    start = window.buffer.rfind(b"\n", max(0, hit.start - _HEAD), hit.start) + 1
    if start and window.buffer.find(b"\\", start, hit.start) < 0:
        return bytes(window.buffer[start : min(hit.end, start + _HEAD)])
    return hit.line.text[:_HEAD]
