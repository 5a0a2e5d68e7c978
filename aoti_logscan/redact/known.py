"""What is known to be private: values with their tokens, and names found wherever they stand."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator
from typing import NamedTuple

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.tokens import ISSUED, Tokens
from aoti_logscan.redact.words import COMMON, looks_like_host

_MAX_ALIASES = 100
#: how many beginnings of names are looked for one by one, which for a few is fastest
_FEW = 64

# a token, what escapes a character before a name, or what a name is made of
_PIECE = lazy_re(
    rf"{ISSUED}|\\\\|\\u[0-9a-fA-F]{{4}}|\\x[0-9a-fA-F]{{2}}|\\[nrt]|%[0-9a-fA-F]{{2}}"
    r"|\x1b\[[0-9;]{0,20}m|[^\W_]+"
)
_OPERATORS = ("aten.", "aten::", "prims.", "torch.", "tl.", "ops.", "libdevice.", "tl_math.")
_GENERATED_NAME = lazy_re(r"(?:triton|cpp|aoti|extern|torch|aten|at|c10)_|_Z")
_IDENTIFIER_BEFORE = lazy_re(r"(?<!\w)\w+\Z")


class _Name(NamedTuple):
    """A value that is replaced wherever it stands as a word."""

    kind: str
    value: str


class Known(Tokens):
    """Values with their tokens, and the names that are replaced wherever they stand as a word.

    `version` grows with each name that is learned: what was made of a text before is void.
    """

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        self._names: dict[str, _Name] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._aliases: dict[str, _Name] = {}

    def name(self, kind: str, value: str) -> str:
        """The token of a name, which from now on is replaced wherever it stands."""
        self.learn(kind, value)
        return self.token(kind, value)

    def learn(self, kind: str, value: str) -> None:
        """Replace a value wherever it stands, unless logs are full of it."""
        folded = value.casefold()
        if folded in self._names or not _is_telling(value, folded):
            return
        self.version += 1
        self._names[folded] = name = _Name(kind, value)
        first = _PIECE.match(folded)
        assert first is not None
        lengths = {len(value), *self._lengths.get(first[0], ())}
        self._lengths[first[0]] = tuple(sorted(lengths, reverse=True))
        if not value.isascii() and len(self._aliases) < _MAX_ALIASES:
            self._aliases[json.dumps(value)[1:-1]] = name
            self._aliases[urllib.parse.quote(value, errors="replace")] = name

    def learn_host(self, host: str) -> None:
        """Replace a host wherever it stands; its first label alone is the same host."""
        self.learn("host", host)
        label = host.partition(".")[0]
        if label != host and looks_like_host(label) and not self.has_token(label):
            self.learn("host", label)
            self.join(label, host)

    def bare(self, line: str) -> str:
        """The line with every name that stands in it as a word replaced."""
        for alias, name in self._aliases.items():
            if alias in line:
                line = line.replace(alias, self.token(*name))
        return "".join(self._replaced(line)) if self._may_hold_name(line.casefold()) else line

    def _may_hold_name(self, folded: str) -> bool:
        firsts = self._lengths.keys()
        if len(firsts) <= _FEW and not any(first in folded for first in firsts):
            return False
        return not firsts.isdisjoint(_PIECE.findall(folded))

    def _replaced(self, line: str) -> Iterator[str]:
        done = 0
        for piece in _PIECE.finditer(line):
            start = piece.start()
            if start >= done and (name := self._name_at(line, piece)):
                yield line[done:start]
                yield self.token(*name)
                done = start + len(name.value)
        yield line[done:]

    def _name_at(self, line: str, piece: re.Match[str]) -> _Name | None:
        start = piece.start()
        for length in self._lengths.get(piece[0].casefold(), ()):
            end = start + length
            name = self._names.get(line[start:end].casefold())
            if name and not line[end : end + 1].isalnum() and not _in_code(line, start, end):
                return name
        return None


def _is_telling(value: str, folded: str) -> bool:
    """Whether a value, also given with its case folded, tells who or where where it stands alone.

    A length that folding changes would lose the place of the name.
    """
    is_word = len(value) >= 3 and folded[0].isalnum() and not folded.isdigit()
    return is_word and folded not in COMMON and len(folded) == len(value)


def _in_code(line: str, start: int, end: int) -> bool:
    """Whether a word is part of an operator's or a generated kernel's name."""
    if line.endswith(_OPERATORS, max(start - 12, 0), start):
        return True
    if line[start - 1 : start] != "_" and line[end : end + 1] != "_":
        return False
    head = _IDENTIFIER_BEFORE.search(line, max(start - 200, 0), start)
    return head is not None and _GENERATED_NAME.match(head[0]) is not None
