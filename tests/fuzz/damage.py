"""What befalls a log: what launchers and terminals put around its text, and what spoils its bytes.

`DRESSES` change a text without changing what it says. `damaged` spoils bytes: cut, with bits
flipped, lines lost, doubled and shuffled, writers interleaved, bytes of other kinds in between.
`LOGS` are whole logs: records of all formats, dressed, among lines of an innocent program, damaged.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import strategies as st

from tests.fuzz.grammar import RECORDS
from tests.fuzz.words import Words, said

Log = st.SearchStrategy[bytes]


class Dress(NamedTuple):
    """One way to put a text into a log, and strategies for the two words that it needs."""

    name: str
    put: Callable[[str, str, str], str]
    words: tuple[Words, Words]


_ANSI = (
    b"\x1b[31m",
    b"\x1b[0m",
    b"\x1b[1;38;5;196m",
    b"\x1b[K",
    b"\x1b]0;t\x07",
    b"\x1b[",
    b"\x1b",
)
_FOREIGN = (
    *(b"\0", b"\0\0\0\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xe2\x80\xae"),
    *(
        b"\r",
        b"\n",
        b"\r\n",
        b"\t",
        b"\\n",
        b"\\",
        b'"',
        b"'",
        b"`",
        b"&lt;",
        b"&#x1b;",
        b"\\u0000",
    ),
    *(b"\x9b", b"\x08", b"\x7f", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"|", b"> ", b"{", b"[", b"("),
)


def _each_line(text: str, prefix: str, _: str) -> str:
    return "".join(prefix + line + "\n" for line in text.removesuffix("\n").split("\n"))


def _coloured(text: str, code: str, _: str) -> str:
    lines = text.removesuffix("\n").split("\n")
    return "".join(f"\x1b[{code}m{line}\x1b[0m\n" for line in lines)


def _docker(text: str, stream: str, time: str) -> str:
    """A JSON object for each line, as docker's json-file driver writes it."""
    lines = text.removesuffix("\n").split("\n")
    return "".join(
        json.dumps({"log": f"{line}\n", "stream": stream, "time": time}) + "\n" for line in lines
    )


def _in_json(text: str, key: str, before: str) -> str:
    return json.dumps({"exit_code": 1, key: f"{before}\n{text}"}) + "\n"


def _in_json_twice(text: str, key: str, before: str) -> str:
    return json.dumps({"message": _in_json(text, key, before)}) + "\n"


def _in_repr(text: str, key: str, before: str) -> str:
    stored = f"{before}\n{text}".encode()
    return f"worker failed: {{{key!r}: {stored!r}}}\n"


def _progress(text: str, percent: str, _: str) -> str:
    return f" {percent}%|███   | {percent}/100 [00:21<00:01, 94.87it/s]\r" * 3 + text


def _lines_of(name: str, prefix: str) -> Dress:
    return Dress(name, _each_line, (said(prefix), st.just("")))


_KEYS = st.sampled_from(("stderr", "log", "output", "text"))
DRESSES: tuple[Dress, ...] = (
    _lines_of("nothing", ""),
    _lines_of("rank", "[rank{rank}]: "),
    _lines_of("rank of a log line", "[rank{rank}]:"),
    _lines_of("torchrun's tee", "[default{small}]:"),
    _lines_of("serving engine", "(Worker_TP{rank} pid={pid}) ERROR 05-21 {time} [x.py:{line}] "),
    _lines_of("ray", "(pid={pid}, ip=10.0.0.{index}) "),
    _lines_of("mpirun", "[1,{rank}]<stderr>:"),
    _lines_of("srun", "{small}: "),
    _lines_of("kubectl", "{date}T{time}.{nano}Z stderr F "),
    _lines_of("journal", "Jun 21 {time} {host} docker[{pid}]: "),
    _lines_of("quoted", "> "),
    _lines_of("boxed", "│ "),
    _lines_of("pytest", "E       "),
    _lines_of("python logging", "{date} {time},123 - {name} - ERROR - "),
    Dress("coloured", _coloured, (st.sampled_from(("31", "1;31", "38;5;196")), st.just(""))),
    Dress("docker", _docker, (st.sampled_from(("stdout", "stderr")), said("{date}T{time}Z"))),
    Dress("json", _in_json, (_KEYS, said("starting {word}"))),
    Dress("json twice", _in_json_twice, (_KEYS, said("starting {word}"))),
    Dress("repr", _in_repr, (_KEYS, said("starting {word}"))),
    Dress("html", lambda text, _one, _two: html.escape(text), (st.just(""), st.just(""))),
    Dress(
        "crlf",
        lambda text, _one, _two: text.replace("\n", "\r\n"),
        (st.just(""), st.just("")),
    ),
    Dress("progress bar", _progress, (said("{index}"), st.just(""))),
)


def dressed(dress: Dress, text: Words) -> Words:
    """The text as this launcher, terminal or store would hold it."""
    return st.builds(dress.put, text, *dress.words)


# --- damage

_Damage = Callable[[bytes, int, int], bytes]


def _cut_head(raw: bytes, at: int, _: int) -> bytes:
    return raw[_within(raw, at) :]


def _cut_tail(raw: bytes, at: int, _: int) -> bytes:
    return raw[: _within(raw, at)]


def _without(raw: bytes, at: int, size: int) -> bytes:
    begin = _within(raw, at)
    return raw[:begin] + raw[begin + size % 97 :]


def _flipped(raw: bytes, at: int, bit: int) -> bytes:
    if not raw:
        return raw
    begin = at % len(raw)
    return raw[:begin] + bytes((raw[begin] ^ (1 << bit % 8),)) + raw[begin + 1 :]


def _with_foreign(raw: bytes, at: int, which: int) -> bytes:
    begin = _within(raw, at)
    return raw[:begin] + _FOREIGN[which % len(_FOREIGN)] + raw[begin:]


def _with_colour(raw: bytes, at: int, which: int) -> bytes:
    begin = _within(raw, at)
    return raw[:begin] + _ANSI[which % len(_ANSI)] + raw[begin:]


def _line_lost(raw: bytes, at: int, _: int) -> bytes:
    lines = raw.split(b"\n")
    del lines[at % len(lines)]
    return b"\n".join(lines)


def _line_doubled(raw: bytes, at: int, times: int) -> bytes:
    lines = raw.split(b"\n")
    at %= len(lines)
    return b"\n".join(lines[:at] + lines[at : at + 1] * (2 + times % 9) + lines[at + 1 :])


def _lines_swapped(raw: bytes, one: int, other: int) -> bytes:
    lines = raw.split(b"\n")
    one, other = one % len(lines), other % len(lines)
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _lines_shuffled(raw: bytes, step: int, start: int) -> bytes:
    """The lines in the order of a stride through them."""
    lines = raw.split(b"\n")
    stride = 1 + step % len(lines)
    order = sorted(range(len(lines)), key=lambda at: ((at + start) % stride, at))
    return b"\n".join(lines[at] for at in order)


def _windows_ends(raw: bytes, _one: int, _two: int) -> bytes:
    return raw.replace(b"\n", b"\r\n")


def _joined_lines(raw: bytes, at: int, _: int) -> bytes:
    """One line's end lost, so that it runs into the next one."""
    lines = raw.split(b"\n")
    at %= len(lines)
    return b"\n".join((*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]))


def _wrapped(raw: bytes, columns: int, _: int) -> bytes:
    """Broken after so many columns, as a terminal that is copied from breaks lines."""
    width = (80, 79, 120, 40)[columns % 4]
    return b"\n".join(
        line[begin : begin + width]
        for line in raw.split(b"\n")
        for begin in range(0, max(1, len(line)), width)
    )


def _utf16(raw: bytes, little: int, _: int) -> bytes:
    return raw.decode("utf-8", "replace").encode("utf-16" if little % 2 else "utf-16-be")


def _within(raw: bytes, at: int) -> int:
    return at % (len(raw) + 1)


DAMAGES: tuple[_Damage, ...] = (
    _cut_head,
    _cut_tail,
    _without,
    _flipped,
    _with_foreign,
    _with_foreign,
    _with_colour,
    _line_lost,
    _line_doubled,
    _lines_swapped,
    _lines_shuffled,
    _windows_ends,
    _joined_lines,
    _wrapped,
    _utf16,
)
_ANYWHERE = st.integers(0, 1 << 16)
_DONE = st.lists(st.tuples(st.sampled_from(DAMAGES), _ANYWHERE, _ANYWHERE), max_size=4)


def damaged(raw: Log) -> Log:
    """The bytes after up to four accidents."""
    return st.builds(_after, raw, _DONE)


def _after(raw: bytes, done: list[tuple[_Damage, int, int]]) -> bytes:
    for damage, at, how in done:
        raw = damage(raw, at, how)
    return raw


def interleaved(one: Log, other: Log) -> Log:
    """Two writers on one stream, each in pieces of a few bytes or more."""
    return st.builds(
        _interleaved, one, other, st.lists(st.integers(1, 300), min_size=1, max_size=8)
    )


def _interleaved(one: bytes, other: bytes, sizes: list[int]) -> bytes:
    parts, rests = [], [one, other]
    for turn in range(64):
        size = sizes[turn % len(sizes)]
        rest = rests[turn % 2]
        parts.append(rest[:size])
        rests[turn % 2] = rest[size:]
    return b"".join((*parts, *rests))


# --- logs

INNOCENT: Words = st.one_of(
    said("step {index} loss {small}.{small} {word}\n"),
    said("{date} {time} INFO {name} {message}\n"),
    said("{text}\n"),
    said("WARNING: {message}\n"),
    st.just("\n"),
)
_DRESSED: Words = st.sampled_from(DRESSES).flatmap(lambda dress: dressed(dress, RECORDS))
_PIECES: Log = st.one_of(_DRESSED, RECORDS, INNOCENT).map(str.encode)
#: whole logs, undamaged
CLEAN_LOGS: Log = st.lists(_PIECES, min_size=1, max_size=5).map(b"".join)
#: one record after another, all damaged in the same way: what folds and what is read at once
REPEATED: Log = st.builds(
    lambda piece, times, rest: piece * times + rest,
    damaged(_DRESSED.map(str.encode)),
    st.integers(2, 40),
    _PIECES,
)
#: logs as they come
LOGS: Log = st.one_of(
    damaged(CLEAN_LOGS), REPEATED, damaged(interleaved(CLEAN_LOGS, CLEAN_LOGS)), damaged(REPEATED)
)
