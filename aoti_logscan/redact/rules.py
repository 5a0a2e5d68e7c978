"""Rules of the user's own: read from a TOML file, and applied to a line at a time."""

from __future__ import annotations

import functools
import os
import tomllib
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from aoti_logscan.errors import LogscanError
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import TOKEN

if TYPE_CHECKING:
    import regex

#: seconds that a rule's regex may take on one line
REGEX_TIMEOUT = 0.5
_KIND = lazy_re(r"[a-z][a-z0-9-]{0,30}")


class RuleError(LogscanError):
    """A rule of redaction is malformed; the text names the file, the key and what is wrong."""


class Rule(NamedTuple):
    """A rule of the user's own.

    `kind` is what its tokens are called: `<kind-1>`. The group `value` of `regex` is replaced, or
    the whole match where it has no such group. It sees one line at a time.
    """

    kind: str
    regex: str


class _RuleTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    regex: str


class _RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[_RuleTable, ...] = ()


def read_rules(path: str | os.PathLike[str]) -> tuple[Rule, ...]:
    """The rules of a TOML file, each a table `[[rule]]` with `kind` and `regex`.

    Raises `RuleError`, which names the file, the key and what is wrong.
    """
    try:
        with open(path, "rb") as file:
            read = msgspec.convert(tomllib.load(file), _RuleFile, strict=True)
    except (OSError, ValueError, RecursionError) as error:
        raise RuleError(f"{os.fspath(path)}: {error}") from error
    rules = tuple(Rule(table.kind, table.regex) for table in read.rule)
    for number, rule in enumerate(rules):
        OwnRule(rule, f"{os.fspath(path)}: rule[{number}]")
    return rules


class OwnRule:
    """A rule made ready; `overruns` counts the lines on which it took too long.

    Raises `RuleError` for one that is malformed, which says `where` it stands.
    """

    def __init__(self, rule: Rule, where: str) -> None:
        self.kind = rule.kind
        self.overruns = 0
        self._compiled = _compiled(rule, where)
        self._group = "value" if "value" in self._compiled.groupindex else 0

    def apply(self, known: Known, line: str) -> str:
        """The line with what the rule finds replaced; whole, where that takes too long."""
        tokens = [token.span() for token in TOKEN.finditer(line)] if "<" in line else []
        try:
            return self._compiled.sub(
                functools.partial(self._replace, known, tokens), line, timeout=REGEX_TIMEOUT
            )
        except TimeoutError:
            self.overruns += 1
            return known.token(self.kind, line)

    def _replace(self, known: Known, tokens: list[tuple[int, int]], match: regex.Match[str]) -> str:
        value = match[self._group]
        start, end = match.span(self._group)
        if not value or any(first < end and start < last for first, last in tokens):
            return match[0]
        whole, token = match.string, known.token(self.kind, value)
        return f"{whole[match.start() : start]}{token}{whole[end : match.end()]}"


def _compiled(rule: Rule, where: str) -> regex.Pattern[str]:
    import regex

    if not _KIND.fullmatch(rule.kind):
        raise RuleError(
            f"{where}.kind: {rule.kind!r} is no name of small letters, digits and hyphens"
        )
    try:
        return regex.compile(rule.regex)
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        raise RuleError(f"{where}.regex: {error}") from error
