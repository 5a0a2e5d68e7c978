"""The report in colour, as a terminal shows it: the lines of the plain text, by a small theme.

Bold, dim and the terminal's own colours only, so that it reads on light and dark backgrounds. What
decides whether there is colour is asked without loading rich.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from aoti_logscan.render.layout import Style
from aoti_logscan.render.text import render_lines
from aoti_logscan.report import Report

#: how each style looks, in rich's words
THEME: Mapping[Style, str] = {
    "plain": "none",
    "title": "bold",
    "failure": "bold red",
    "clean": "bold green",
    "sure": "green",
    "likely": "yellow",
    "possible": "magenta",
    "label": "bold",
    "path": "magenta",
    "command": "cyan",
    "quiet": "dim",
    "warning": "yellow",
}

#: terminals that show no colour
_DUMB = ("dumb", "unknown")


def has_colour(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Whether a stream takes colour: a terminal, unless NO_COLOR, FORCE_COLOR or TERM say other."""
    if environ.get("NO_COLOR") or is_dumb(environ):
        return False
    forced = environ.get("FORCE_COLOR")
    return is_terminal(stream) if forced is None else forced != ""


def is_dumb(environ: Mapping[str, str]) -> bool:
    """Whether the terminal can neither show colour nor move its cursor."""
    return environ.get("TERM", "").lower() in _DUMB


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; one that is closed is none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def render_terminal(report: Report, *, show_all: bool = False, width: int = 80) -> str:
    """The report as `render_text` gives it, with the theme's colours as escape sequences.

    No other escape sequence or control character is in it.
    """
    import io

    from rich.console import Console
    from rich.text import Text
    from rich.theme import Theme

    styles = {f"report.{style}": look for style, look in THEME.items()}
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
        width=width,
        theme=Theme(styles, inherit=False),
    )
    with console.capture() as captured:
        for line in render_lines(report, show_all=show_all, width=width):
            pieces = ((piece.text, f"report.{piece.style}") for piece in line)
            text = Text.assemble(*pieces)
            text.rstrip()
            console.print(text, soft_wrap=True, markup=False, highlight=False, emoji=False)
    return captured.get()
