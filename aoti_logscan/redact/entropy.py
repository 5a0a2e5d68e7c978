"""Secrets without a form or a key: words that look drawn at random."""

from __future__ import annotations

import math
import re
from collections import Counter

from aoti_logscan.redact.finder import Finder
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.words import PUBLIC_HOST

# a secret without a key: it changes between kinds of characters far more often than words do
_LONG = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}+")
_GENERATED = re.compile(
    r"[a-z]?[a-z2-7]{24,60}|[A-Z2-7]{24,60}|(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}"
    r"|[0-9a-f]{96}|[0-9a-f]{128})|(?:[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{64})|0x[0-9a-fA-F]+|[\d_-]+"
    r"|_*Z[A-Z0-9].*|N(?:St)?\d{1,3}[a-z_]\w*E\w*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_PIECES = re.compile(r"[^/_=-]+")
_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])|[A-Z](?=[A-Z][a-z])")
_IN_PUBLIC_URL = re.compile(
    rf"//{PUBLIC_HOST.pattern.removeprefix('(?i)')}/[^\s\"'?]*\Z", re.IGNORECASE
)
_MANGLED = re.compile(r"_*Z[A-Z0-9]")
_AWS_SECRET = 40
#: of the places between two characters, how many must be changes: words in a name have 0.2 at most
_CHANGES = 0.3
#: bits a character: a name of repeated letters and numbers (`0d1d2d3d4d5d6d`) has less
_BITS = 3.4


def _long(known: Known, match: re.Match[str]) -> str:
    """A word that looks drawn at random, and is none of torch's own names and hashes."""
    word = match[0]
    pieces = _PIECES.findall(word)
    is_aws = len(word) == _AWS_SECRET and _is_random(word)
    if not (is_aws or any(map(_is_random, pieces))) or _is_public(match):
        return word
    has_generated = any(len(piece) >= 24 and _GENERATED.fullmatch(piece) for piece in pieces)
    if not is_aws and (has_generated or len(pieces) > 1 + len(word) // 20):
        return _PIECES.sub(lambda piece: _random_piece(known, piece), word)
    return known.token("token", word)


def _is_public(match: re.Match[str]) -> bool:
    """Whether a word is a C++ symbol or part of a public URL."""
    start = match.start()
    end = start + match[0].find("/") + 1
    before = _IN_PUBLIC_URL.search(match.string, max(start - 200, 0), end)
    return before is not None or _MANGLED.match(match[0]) is not None


def _random_piece(known: Known, piece: re.Match[str]) -> str:
    return known.token("token", piece[0]) if _is_random(piece[0]) else piece[0]


def _is_random(word: str) -> bool:
    """Whether a word of 24 characters or more looks drawn at random, as keys are."""
    if len(word) < 24 or _GENERATED.fullmatch(word):
        return False
    head = word[:400]
    changes = sum(1 for _ in _CHANGE.finditer(head)) / (len(head) - 1)
    return changes >= _CHANGES and _bits(head) >= _BITS


def _bits(text: str) -> float:
    """Shannon's entropy of the characters of a text, in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


FINDERS = (Finder((), _LONG, _long),)
