"""A finder: one form of private text, and what a text in that form becomes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import is_token

#: what is learned of a secret to be found again without its key must be as long, with a digit
_MIN_BARE_SECRET = 8

Replace = Callable[[Known, "re.Match[str]"], str]


class Finder(NamedTuple):
    """One form of private text, and what its match becomes.

    It is tried where one of `needs` is in the line, in small letters (everywhere if there are
    none), and where `hint` matches, which says sooner than `form` that a line has none of it.
    """

    needs: tuple[str, ...]
    form: re.Pattern[str]
    replace: Replace
    hint: re.Pattern[str] | None = None


def with_new(match: re.Match[str], new: str, group: str = "value") -> str:
    """The match with one group replaced."""
    text, (start, end) = match.string, match.span(group)
    return text[match.start() : start] + new + text[end : match.end()]


def any_of(kind: str) -> Replace:
    """Replaces the group `value`, whatever it is, by a token of a kind."""

    def replace(known: Known, match: re.Match[str]) -> str:
        value = match["value"]
        return match[0] if is_token(value) else with_new(match, secret_token(known, kind, value))

    return replace


def secret_token(known: Known, kind: str, value: str) -> str:
    """A secret's token; one that can be told from words is also found without its key."""
    if len(value) >= _MIN_BARE_SECRET and any(character.isdigit() for character in value):
        known.learn(kind, value)
    return known.token(kind, value)
