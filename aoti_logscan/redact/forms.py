"""Texts without what shows itself by its form, line by line."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from aoti_logscan.redact.blocks import without_blocks
from aoti_logscan.redact.finder import Finder
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.lines import parts, without_colours
from aoti_logscan.redact.memory import Memory
from aoti_logscan.redact.needs import Needs
from aoti_logscan.redact.rules import OwnRule
from aoti_logscan.redact.table import FINDERS

#: how often a text may be gone through, until nothing more is found
PASSES = 4
#: how many choices of finders are remembered: lines of one kind make the same
_CHOICES = 1_000


class _Ready(NamedTuple):
    """A finder that has its tokens: `replaced` gives a line without its form."""

    hint: Callable[[str], object] | None
    replaced: Callable[[str], str]


class Forms:
    """Replaces what shows itself by its form, and learns the names in it on the way.

    The user's own rules come first, then the finders of the table.
    """

    def __init__(self, known: Known, rules: Sequence[OwnRule]) -> None:
        self._known = known
        self._rules = rules
        self._finders = [_ready(finder, known) for finder in FINDERS]
        self._needs = Needs()
        self._chosen = functools.lru_cache(_CHOICES)(self._choose)
        self._found = Memory()

    def text(self, text: str) -> str:
        """The text without private forms; it has as many lines as before."""
        if (found := self._found.get(text)) is not None:
            return found
        self._known.reserve(text)
        found = self._in_lines(without_blocks(self._known, text))
        for _ in range(PASSES):
            again = without_blocks(self._known, found)
            if again == found:
                break
            found = self._in_lines(again)
        self._found.remember(text, found)
        return found

    def line(self, line: str) -> str:
        """A line without private forms; it may itself be lines that were escaped."""
        if (known := self._found.get(line)) is not None:
            return known
        found = line
        for rule in self._rules:
            found = rule.apply(self._known, found)
        found = "".join(map(self._part, parts(found)))
        self._found.remember(line, found)
        return found

    def _in_lines(self, text: str) -> str:
        return "\n".join(map(self.line, text.split("\n")))

    def _part(self, part: str) -> str:
        """A text without ends of lines, through the finders until none finds anything more."""
        found, colours = without_colours(part)
        for _ in range(PASSES):
            before = found
            found = self._through(found)
            if found == before:
                break
        return found.translate(colours) if colours else found

    def _through(self, line: str) -> str:
        for hint, replaced in self._chosen(self._needs.wanted(line)):
            if hint is None or hint(line):
                line = replaced(line)
        return line

    def _choose(self, bits: int) -> list[_Ready]:
        return [finder for number, finder in enumerate(self._finders) if bits >> number & 1]


def _ready(finder: Finder, known: Known) -> _Ready:
    return _Ready(
        finder.hint.search if finder.hint else None,
        functools.partial(finder.form.sub, functools.partial(finder.replace, known)),
    )
