"""The styles and scripts that the page embeds, and the policy that lets these and no others run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

UPLOT_VERSION = "1.6.32"

#: parts of the page's one script, in order; the last one starts it
_SCRIPTS = ("columns.js", "chart.js", "values.js", "details.js", "filter.js", "page.js")


@cache
def asset(name: str) -> str:
    """The text of a file in the folder of assets."""
    return (files("aoti_logscan.render") / "assets" / name).read_text(encoding="utf-8")


def styles() -> tuple[str, ...]:
    """The page's styles, each for an element of its own."""
    return asset("uPlot.min.css"), asset("report.css")


def scripts() -> tuple[str, ...]:
    """The page's scripts, each for an element of its own."""
    own = "\n".join(asset(name) for name in _SCRIPTS)
    return asset("uPlot.iife.min.js"), f'(() => {{\n"use strict";\n{own}}})();\n'


@cache
def policy() -> str:
    """The Content-Security-Policy: nothing is loaded, and only the embedded text runs."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts()))}",
            f"style-src {' '.join(map(_hash, styles()))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
