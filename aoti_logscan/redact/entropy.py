"""Secrets without a form or a key: words that look drawn at random."""

from __future__ import annotations

import math
import re
from collections import Counter

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.words import PUBLIC_HOST

# a secret without a key: it changes between kinds of characters far more often than words do
_LONG = lazy_re(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{20,}+")
#: what drawn words are made of where `-` and `_` are drawn too
_DRAWN = lazy_re(r"(?<![A-Za-z0-9])[A-Za-z0-9](?:[\w-]{18,98}+)(?![\w-])")
_SEPARATOR = lazy_re(r"[_-]")
#: what names of functions and types hold that change as often as drawn words do
_NAME = lazy_re(
    r"[Ff]loat\d|[Aa]vx|Sleef|CUDA|[Gg]emm|[Tt]ensor|[Tt]emplate|[Kk]ernel|Conv|Int\d|ReLU|MKL|mklg"
    r"|perCh|\A0x[0-9A-F]+|2at\d|3c10|4c10d|5torch|8pybind|St\d{1,2}[a-z_]{3}|ListI|NS\d?_|S\d_E"
    r"|RKS\d?_"
)
_GENERATED = lazy_re(
    r"[a-z]?[a-z2-7]{24,60}|[A-Z2-7]{24,60}|(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}"
    r"|[0-9a-f]{96}|[0-9a-f]{128})|(?:[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{64})|0x[0-9a-fA-F]+|[\d_-]+"
    r"|_*Z[A-Z0-9].*|N(?:St)?\d{1,3}[a-z_]\w*E\w*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
# a word of four letters or more that can be spoken
_CAPITAL_WORD = lazy_re(r"[A-Z](?=[a-z]{0,2}[aeiou])[a-z]{3,}")
_WORD = lazy_re(r"[A-Z]?[a-z]{2,}")
#: characters that a name of a class has at most
_NAMES = 80
_PIECES = lazy_re(r"[^/_=-]+")
_CHANGE = lazy_re(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])|[A-Z](?=[A-Z][a-z])")
_IN_PUBLIC_URL = lazy_re(
    rf"//{PUBLIC_HOST.pattern.removeprefix('(?i)')}/[^\s\"'?]*\Z", re.IGNORECASE
)
# the beginning of a C++ symbol, or a namespace in the name of a type
_MANGLED = lazy_re(
    r"_*Z[A-Z0-9]|.*?(?:2at\d|3c10\d|4c10d\d|5torch\d|8pybind11\d|St\d{1,2}[a-z_]{3})"
)
_AWS_SECRET = 40
#: letters and digits that a drawn word has at least
_SHORT = 20
#: of the places between two characters, how many must be changes: words in a name have 0.2 at most
_CHANGES = 0.3
_CHANGES_OF_AWS = 0.2
_SMALL_WORD = lazy_re(r"[a-z]{5}|^/|//")
#: bits a character: a name of repeated letters and numbers (`0d1d2d3d4d5d6d`) has less
_BITS = 3.4


def _long(known: Known, match: re.Match[str]) -> str:
    """A word that looks drawn at random, and is none of torch's own names and hashes."""
    word = match[0]
    pieces = _PIECES.findall(word)
    is_aws = len(word) == _AWS_SECRET and (_is_random(word) or _is_key_of_aws(word))
    if not (is_aws or any(map(_is_random, pieces))) or _is_drawn(word.strip("-_")):
        return _without_drawn(known, match)
    if _is_public(match):
        return word
    has_generated = any(len(piece) >= 24 and _GENERATED.fullmatch(piece) for piece in pieces)
    if not is_aws and (has_generated or len(pieces) > 1 + len(word) // 20):
        return _PIECES.sub(lambda piece: _random_piece(known, piece), word)
    return known.token("token", word)


def _is_key_of_aws(word: str) -> bool:
    """Whether a word of 40 characters is base-64 without a word of a language in it."""
    letters = word.replace("/", "").replace("+", "")
    is_mixed = not (letters.isalpha() or letters.isupper() or letters.islower())
    is_wordless = is_mixed and letters.isalnum() and not _SMALL_WORD.search(word)
    return is_wordless and not _GENERATED.fullmatch(word) and _changes(letters) >= _CHANGES_OF_AWS


def _without_drawn(known: Known, match: re.Match[str]) -> str:
    """A word without those in it that were drawn with `-` and `_`, as `token_urlsafe` does."""
    word = match[0]
    if word.islower() or not any(map(_is_drawn, _DRAWN.findall(word))) or _is_public(match):
        return word
    return _DRAWN.sub(
        lambda found: known.token("token", found[0]) if _is_drawn(found[0]) else found[0], word
    )


def _is_drawn(word: str) -> bool:
    """Whether a word of 20 characters or more has small, capital letters and digits at random."""
    letters = _SEPARATOR.sub("", word)
    if len(letters) < _SHORT or len(word) - len(letters) > max(2, len(word) // 10):
        return False
    if not letters.isalnum() or letters.isupper() or letters.islower():
        return False
    if letters.isdigit() or letters.isalpha():
        return False
    if _GENERATED.fullmatch(word) or _NAME.search(word) or _is_of_words(word):
        return False
    return _changes(letters) >= _CHANGES and _bits(letters) >= _BITS


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
    if len(word) < 24 or _GENERATED.fullmatch(word) or _is_of_words(word):
        return False
    head = word[:400]
    return _changes(head) >= _CHANGES and _bits(head) >= _BITS


def _is_of_words(text: str) -> bool:
    """Whether a word is put together of words, as names of classes are: `CppMicroGemmInt4`."""
    if len(text) > _NAMES or len(_CAPITAL_WORD.findall(text)) < 2:
        return False
    return sum(len(word) for word in _WORD.findall(text)) >= len(text) / 2


def _changes(text: str) -> float:
    """Of the places between two characters, how many are changes of their kind."""
    return sum(1 for _ in _CHANGE.finditer(text)) / (len(text) - 1)


def _bits(text: str) -> float:
    """Shannon's entropy of the characters of a text, in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


FINDERS = (Finder((), _LONG, _long),)
