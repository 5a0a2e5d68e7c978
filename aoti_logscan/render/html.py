"""The report as one HTML file that needs nothing beside it and asks nothing of the network.

What matters stands in the markup; the script adds charts, search and filters.
"""

from __future__ import annotations

from collections.abc import Mapping

from aoti_logscan.render.html_assets import UPLOT_VERSION, asset, policy, scripts, styles
from aoti_logscan.render.html_findings import findings
from aoti_logscan.render.html_kernel import last_kernel, suspects
from aoti_logscan.render.html_launches import launch_data, launches
from aoti_logscan.render.html_lineage import lineage
from aoti_logscan.render.html_markup import Html, Part, el, join, limited, shown, void
from aoti_logscan.render.html_tables import compiles, flags, next_steps, sources
from aoti_logscan.render.html_verdict import verdict
from aoti_logscan.render.told import title_told
from aoti_logscan.report import Dossier, Tool

#: ranks in the list to choose from
_MAX_RANKS = 4_096
_NO_LINKS: Mapping[str, str] = {}


def render_html(
    dossier: Dossier,
    *,
    links: Mapping[str, str] = _NO_LINKS,
    redacted: Mapping[str, int] | None = None,
) -> str:
    """The page; all texts of the dossier are shown as they are given, none is markup.

    `links` are relative URLs of pages on compilations, by `link_key`. `redacted` says how many
    values of each kind were replaced, None that nothing was redacted.
    """
    page = el("html", _head(dossier), _body(dossier, links, redacted), lang="en")
    return f"<!DOCTYPE html>\n{page.markup}\n"


def _head(dossier: Dossier) -> Html:
    report = dossier.report
    sure = f" ({report.verdict.certainty})" if report.verdict.certainty else ""
    return el(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=policy()),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="referrer", content="no-referrer"),
        void("meta", name="color-scheme", content="light dark"),
        el("title", f"{shown(title_told(report), 200)}{sure} - {report.tool.name}"),
        void("link", rel="icon", href="data:,"),
        *(el("style", Html(text)) for text in styles()),
    )


def _body(dossier: Dossier, links: Mapping[str, str], redacted: Mapping[str, int] | None) -> Html:
    report = dossier.report
    ran = launches(dossier)
    sections = [
        lineage(report.lineage),
        last_kernel(report.last_kernel, dossier.excerpts),
        suspects(dossier.code),
        ran if dossier.launches else None,
        findings(dossier),
        next_steps(report.next_steps),
        flags(report.flags),
        None if dossier.launches else ran,
        compiles(report.compiles, links),
        sources(report.sources),
    ]
    return el(
        "body",
        el("a", "Skip to the verdict", href="#verdict", class_="skip"),
        _banner(report.tool),
        el("main", verdict(dossier, redacted is not None), _bar(dossier), *sections),
        _footer(report.tool, redacted),
        el("script", Html(launch_data(dossier)), type="application/json", id="launch-data"),
        *(el("script", Html(text)) for text in scripts()),
    )


def _banner(tool: Tool) -> Html:
    name = el("span", el("b", tool.name), " report", class_="brand")
    theme = el("button", "Dark", type="button", id="theme", class_="js")
    return el("header", name, theme, class_="banner")


def _bar(dossier: Dossier) -> Html:
    """Where to go, and what to look for; it stays in sight."""
    there = [
        ("lineage", "Lineage", dossier.report.lineage),
        ("kernel", "Kernel", dossier.report.last_kernel),
        ("code", "Code", dossier.code),
        ("launches", "Launches", dossier.launches),
        ("findings", "Findings", True),
        ("next", "Next", True),
        ("flags", "Flags", dossier.report.flags),
        ("compiles", "Compilations", dossier.report.compiles),
        ("sources", "Sources", True),
    ]
    leads = (el("a", label, href=f"#{name}") for name, label, known in there if known)
    nav = el("nav", *leads, aria_label="Sections")
    return el("div", nav, _search(dossier), class_="bar")


def _search(dossier: Dossier) -> Html:
    box = void(
        "input",
        type="search",
        id="search",
        placeholder="Search  ( / )",
        aria_label="Search findings, launches, flags, compilations and sources",
        autocomplete="off",
        spellcheck="false",
    )
    return el(
        "div",
        box,
        _ranks(dossier),
        _choice("state", "Launches by state", [("", "open or back"), ("o", "open"), ("b", "back")]),
        el("output", id="count", for_="search rank state", aria_live="polite"),
        class_="search js",
        role="search",
    )


def _ranks(dossier: Dossier) -> Html:
    ranks = {one.rank for one in dossier.launches} | {one.rank for one in dossier.report.sources}
    ranks |= {one.rank for one in dossier.report.findings}
    known, left = limited(sorted(rank for rank in ranks if rank is not None), _MAX_RANKS)
    if not known:
        return join([])
    options = [(shown(rank), f"rank {shown(rank)}") for rank in known]
    every = "all ranks" if not left else f"all ranks ({left:,} more)"
    return _choice("rank", "Rank", [("", every), *options])


def _choice(name: str, label: str, options: list[tuple[str, str]]) -> Html:
    items = (el("option", told, value=value) for value, told in options)
    return el("select", *items, id=name, aria_label=label)


def _footer(tool: Tool, redacted: Mapping[str, int] | None) -> Html:
    licence = el("pre", asset("uPlot.LICENSE"))
    return el(
        "footer",
        el("p", *_redaction(redacted), class_="redaction"),
        el("p", f"Written by {tool.name} {tool.version}. This page loads nothing from anywhere."),
        el("details", el("summary", f"Charts: uPlot {UPLOT_VERSION}, MIT licence"), licence),
    )


def _redaction(redacted: Mapping[str, int] | None) -> list[Part]:
    if redacted is None:
        return [
            el("strong", "Not redacted: "),
            "user names, hosts and paths are here as they were logged.",
        ]
    if not redacted:
        return [el("strong", "Redacted: "), "nothing had to be replaced."]
    told = ", ".join(f"{shown(kind)} {count:,}" for kind, count in sorted(redacted.items()))
    return [el("strong", "Redacted, by kind and number: "), told]
