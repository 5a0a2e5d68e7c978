"""The list of patterns, and what a check of them found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aoti_logscan.pattern import Pattern
from aoti_logscan.render.layout import visible


def render_list(patterns: Iterable[Pattern]) -> str:
    """One line for each pattern, by name: name, class, role, title."""
    rows = sorted((one.id, one.failure_class, one.role, one.title) for one in patterns)
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
        for row in rows
    )
    return "".join(f"{visible(line)}\n" for line in lines)


def render_check(flaws: Sequence[str], patterns: int, examples: int, against: int) -> str:
    """What is wrong, a line each, and a closing line that counts."""
    tried = f"{patterns} patterns, {examples} examples, {against} counterexamples"
    wrong = f"{len(flaws)} wrong" if flaws else "all as they should be"
    return "".join(f"{line}\n" for line in [*map(visible, flaws), f"{tried}: {wrong}"])
