"""Text of logs in GitHub Markdown: code spans and fences that it cannot close, escaped words.

What comes out pings nobody, links to nothing, and is no markup, whatever went in.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.render.layout import visible

#: characters of a code span, of a paragraph, of a line in a fence and of a whole fence
_MAX_SPAN = 300
_MAX_WORDS = 2_000
_MAX_LINE = 500
_MAX_FENCE = 12_000

_BACKTICKS = lazy_re(r"`+")
# `x`   torch._check()   https://x   www.x   @someone   a@b.c   #12   org/repo#12   GH-12: code,
# and what links or pings even when its characters are written as entities
_ACTIVE = lazy_re(
    r"(?<![`\\\w])`(?P<quoted>[^`]{1,200})`(?!`)|(?<![\w.])[A-Za-z]\w{0,60}(?:\.\w{1,60}){0,5}\._\w+(?:\(\))?"
    r"|(?:(?:(?:https?|ftp)://|\bwww\.)[^\s`|<>]+|[\w.+/-]{0,100}@\w[\w./-]*"
    r"|[\w./-]{0,100}#\d+|\bGH-\d+)+",
    re.IGNORECASE,
)
# <b>   </b>   &lt;   and what marks words up; an underscore inside of a word does not
_MARKUP = lazy_re(r"[\\`*\[\]|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
# 1. x   - x   # x   > x   === : what would begin a list, a heading, a quotation, a rule
_BLOCK = lazy_re(r"^(?:(?P<number>\d+)(?=[.)])|(?=[-+=#>]))")


def words(text: str) -> str:
    """A paragraph's worth of text, escaped where it could be markup; code and links are spans."""
    shown = _clipped(visible(" ".join(text.split())), _MAX_WORDS)
    parts, at = [], 0
    for match in _ACTIVE.finditer(shown):
        parts += [_escaped(shown[at : match.start()]), cell(match["quoted"] or match[0])]
        at = match.end()
    return _BLOCK.sub(r"\g<number>\\", "".join([*parts, _escaped(shown[at:])]))


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text)


def code(text: str) -> str:
    """A code span; nothing for nothing."""
    shown = _clipped(visible(" ".join(text.split())), _MAX_SPAN)
    if not shown:
        return ""
    ticks = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    padding = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{ticks}{padding}{shown}{padding}{ticks}"


def cell(text: str | None) -> str:
    """A code span in a table's cell; nothing for nothing."""
    return code(text).replace("|", "\\|") if text else ""


def summary(text: str) -> str:
    """The head of a folded part, which is HTML."""
    return html.escape(_clipped(visible(" ".join(text.split())), _MAX_SPAN), quote=False)


def fence(text: str, language: str = "text") -> str:
    """A block of code; of a longer one the middle is left out, with the number of its lines."""
    lines = [_clipped(visible(line.expandtabs(4)), _MAX_LINE) for line in text.split("\n")]
    shown = "\n".join(_without_middle(lines, _MAX_FENCE))
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{shown}\n{ticks}"


def numbered(text: str, first: int, lit: Collection[int]) -> str:
    """The lines with their numbers, those that are meant with a mark."""
    lines = text.rstrip("\n ").split("\n")
    width = len(str(first + len(lines) - 1))
    return "\n".join(
        f"{'>' if number in lit else ' '} {number:{width}}  {line}".rstrip()
        for number, line in enumerate(lines, first)
    )


def _without_middle(lines: list[str], room: int) -> list[str]:
    if sum(len(line) + 1 for line in lines) <= room:
        return lines
    head = _within(lines, room // 2)
    tail = _within(lines[::-1], room // 2)[::-1]
    left_out = len(lines) - len(head) - len(tail)
    return [*head, f"... {left_out} lines left out ...", *tail]


def _within(lines: list[str], room: int) -> list[str]:
    kept = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}..."
