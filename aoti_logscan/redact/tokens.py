"""Tokens: which value has which, and what one looks like.

A value has the same token in all texts. A token that a text already holds is never issued.
"""

from __future__ import annotations

from collections import Counter

from aoti_logscan.lazy_re import lazy_re

#: a token of ours or of somebody else's, as a regex
ISSUED = r"<[a-z][a-z0-9-]{0,30}-\d{1,9}>"
TOKEN = lazy_re(ISSUED)


def is_token(text: str) -> bool:
    """Whether the whole text is a token, ours or somebody else's."""
    return TOKEN.fullmatch(text) is not None


class Tokens:
    """Which value has which token; `counts` says how many values of each kind have one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._tokens: dict[str, str] = {}
        self._issued: set[str] = set()
        self._reserved: set[str] = set()
        self._last: Counter[str] = Counter()
        self._same: dict[str, str] = {}

    def reserve(self, text: str) -> None:
        """Never issue a token that the text itself holds."""
        if "<" in text:
            self._reserved.update(
                token for token in TOKEN.findall(text) if token not in self._issued
            )

    def token(self, kind: str, value: str) -> str:
        """The token of a value; a value that has one keeps it, whatever kind it is now."""
        key = f"/{value}" if kind == "dir" else self._same.get(value.casefold(), value.casefold())
        if (known := self._tokens.get(key)) is None:
            known = self._tokens[key] = self._issue(kind)
        return known

    def is_issued(self, token: str) -> bool:
        """Whether a token is ours, and not one that a text held."""
        return token in self._issued

    def has_token(self, value: str) -> bool:
        """Whether a value that is no folder has a token."""
        return value.casefold() in self._tokens

    def join(self, value: str, other: str) -> None:
        """Give a value the token of another from now on."""
        self._same[value.casefold()] = other.casefold()

    def _issue(self, kind: str) -> str:
        while True:
            self._last[kind] += 1
            token = f"<{kind}-{self._last[kind]}>"
            if token not in self._reserved:
                self._issued.add(token)
                self.counts[kind] += 1
                return token
