"""What a line is made of: lines that were escaped, and colours."""

from __future__ import annotations

import itertools

from aoti_logscan.lazy_re import lazy_re

# a path of Windows, where `\n` begins a folder; else what ends a line of escaped text: `\n`, `\\n`
_ESCAPED_END = lazy_re(
    r"(?<![A-Za-z])[A-Za-z]:(?:\\\\(?:[^\s\"'\\]|\\\\)*+|\\(?!\\)(?:[^\s\"'\\]|\\(?!\\))*+)"
    r"|(?<!\\)(?:\\{2}[\w.$?-]{1,252}+\\(?=[\w$])|\\{4}[\w.$?-]{1,252}+\\{2}(?=[\w$]))[^\s\"']*+"
    r"|(?P<end>(?<!\\)\\{1,8}[nrt])"
)
_COLOUR = lazy_re(r"\x1b\[[0-9;]{0,20}m")
#: blanks that logs do not have, which stand for colours, so that a word begins after one
_BLANKS = "".join(map(chr, (*range(0x2000, 0x200B), 0x1680, 0x205F, 0x3000)))


def parts(line: str) -> list[str]:
    """The lines of an escaped text, and what ends them, in turn."""
    if "\\" not in line:
        return [line]
    ends = [match.span("end") for match in _ESCAPED_END.finditer(line) if match["end"]]
    cuts = [0, *itertools.chain.from_iterable(ends), len(line)]
    return [line[start:end] for start, end in itertools.pairwise(cuts)]


def without_colours(text: str) -> tuple[str, dict[int, str]]:
    """A text with blanks for its colours, and what each blank stands for."""
    if "\x1b" not in text:
        return text, {}
    colours = dict.fromkeys(_COLOUR.findall(text))
    if len(colours) > len(_BLANKS) or any(blank in text for blank in _BLANKS):
        return text, {}
    blanks = dict(zip(colours, _BLANKS, strict=False))
    return (
        _COLOUR.sub(lambda colour: blanks[colour[0]], text),
        {ord(blank): colour for colour, blank in blanks.items()},
    )
