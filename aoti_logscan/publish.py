"""A report for others: pages and attachments, redacted, with the pages that tlparse makes.

What the user reads on a terminal or as JSON keeps its paths; what is made to be passed on does not,
unless that is asked for.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from aoti_logscan import bundle, pipeline, tlparse_pages
from aoti_logscan.dossier import shortened
from aoti_logscan.events import Event
from aoti_logscan.pipeline import Investigation
from aoti_logscan.readings import Watch
from aoti_logscan.redact import Redactor, read_rules
from aoti_logscan.render.html import render_html
from aoti_logscan.render.html_tables import link_key
from aoti_logscan.render.markdown import render_markdown
from aoti_logscan.render.sarif import render_sarif
from aoti_logscan.render.told import replaced_told
from aoti_logscan.report import CompileRecord, Dossier, Report
from aoti_logscan.tlparse_pages import Refused, Rendered
from aoti_logscan.trace_copies import TraceCopies

#: the formats that are made to be passed on
FORMATS = ("markdown", "html", "sarif")


class Wanted(NamedTuple):
    """How a report is published: in which form, how redacted, with which pages beside it.

    `output` is where the form goes, from which links are relative; None is standard output.
    `rules` is a file of the user's own rules of redaction.
    """

    form: str | None = None
    output: Path | None = None
    tlparse: Path | None = None
    redacts: bool = True
    rules: Path | None = None


class Shareable(NamedTuple):
    """What may be passed on, and how many values of each kind were replaced in it."""

    dossier: Dossier
    events: Sequence[Event]
    redacted: Mapping[str, int] | None


class Published(NamedTuple):
    """The report as it was found, and what may be passed on.

    `text` is the form, None where none was asked for; `remarks` are for whoever runs the command.
    """

    report: Report
    share: Shareable
    text: str | None
    remarks: tuple[str, ...]


def publish(
    paths: Sequence[str | Path],
    wanted: Wanted,
    *,
    patterns: Sequence[str | Path] = (),
    packages: Sequence[str | Path] = (),
    rank: int | None = None,
    watch: Watch | None = None,
) -> Published:
    """Read what the paths name as `pipeline.investigate` does, and publish it.

    Raises `LogscanError` where nothing can be read or the user's rules are broken.
    """
    redactor = _redactor(wanted)
    with TraceCopies() as copies:
        found = pipeline.investigate(
            paths,
            patterns=patterns,
            packages=packages,
            rank=rank,
            traces=copies if wanted.tlparse else None,
            watch=watch,
        )
        if watch:
            watch.stage("writing the report")
        rendered = _tlparse(found.dossier.report, copies, wanted) if wanted.tlparse else []
        remarks = [copies.problem] if copies.problem else []
    share = _shareable(found, redactor)
    remarks += redactor.overruns() if redactor else ()
    text = None
    if wanted.form is not None:
        pages = [one for one in rendered if isinstance(one, Rendered)]
        text = _RENDERERS[wanted.form](share, _links(found.dossier.report, pages, wanted.output))
    remarks += map(_told, rendered)
    return Published(found.dossier.report, share, text, tuple(remarks))


def attach(path: Path, share: Shareable) -> tuple[str, ...]:
    """Write the attachment; gives what is to be said of it. Raises OSError as `bundle.attach`."""
    attached = bundle.attach(path, share.dossier, share.events, redacted=share.redacted)
    told = f"{path}: {attached.size:,} bytes. {replaced_told(share.redacted)}"
    return (told, *(f"left out of {path}: {one}" for one in attached.left_out))


# --- redaction


def _redactor(wanted: Wanted) -> Redactor | None:
    if not wanted.redacts:
        return None
    return Redactor(read_rules(wanted.rules) if wanted.rules else (), names=_own_names())


def _own_names() -> list[str]:
    """What this machine and its user are called: paths of what is read may hold it."""
    home = Path(os.path.expanduser("~")).name
    user = next((os.environ[name] for name in ("USER", "LOGNAME") if os.environ.get(name)), "")
    return [name for name in dict.fromkeys((home, user, platform.node())) if name]


def _shareable(found: Investigation, redactor: Redactor | None) -> Shareable:
    """The dossier and the events, with everything replaced that names a person or a place."""
    if redactor is None:
        return Shareable(shortened(found.dossier), found.events, None)
    redactor.learn(found.dossier)
    redactor.learn(found.events)
    dossier, events = redactor.value(found.dossier), redactor.value(found.events)
    return Shareable(shortened(dossier), events, redactor.found())


# --- forms


_Links = Mapping[str, str]


def _markdown(share: Shareable, _: _Links) -> str:
    return render_markdown(share.dossier, redacted=share.redacted)


def _html(share: Shareable, links: _Links) -> str:
    return render_html(share.dossier, links=links, redacted=share.redacted)


def _sarif(share: Shareable, _: _Links) -> str:
    return render_sarif(share.dossier.report, redacted=share.redacted)


_RENDERERS: Mapping[str, Callable[[Shareable, _Links], str]] = {
    "markdown": _markdown,
    "html": _html,
    "sarif": _sarif,
}


# --- tlparse


def _tlparse(report: Report, copies: TraceCopies, wanted: Wanted) -> list[Rendered | Refused]:
    assert wanted.tlparse is not None
    if not copies.found:
        return [Refused("--tlparse", "no TORCH_TRACE was among what was read")]
    ranks = {source.name: source.rank for source in report.sources}
    return tlparse_pages.render(copies.found, ranks, wanted.tlparse)


def _told(one: Rendered | Refused) -> str:
    if isinstance(one, Refused):
        return f"{one.source}: {one.why}"
    return f"{one.source}: rendered by tlparse in {one.first}, whose pages are not redacted"


def _links(report: Report, pages: Sequence[Rendered], output: Path | None) -> dict[str, str]:
    """The pages of the compilations as URLs from where the form is written to."""
    ranks = {source.name: source.rank for source in report.sources}
    start = output.parent if output else Path()
    found = {}
    for record in report.compiles:
        page = _page(record, pages, ranks)
        if page is not None:
            relative = os.path.relpath(page, start).replace(os.sep, "/")
            found[link_key(record.id, record.rank)] = quote(relative)
    return found


def _page(
    record: CompileRecord, pages: Sequence[Rendered], ranks: Mapping[str, int | None]
) -> Path | None:
    """The page of a compilation; None where no trace, or more than one, may hold it."""
    if record.id is None:
        return None
    having = [one for one in pages if record.id in one.pages]
    of_rank = [one for one in having if ranks.get(one.source) == record.rank]
    meant = of_rank or having
    return meant[0].pages[record.id] if len(meant) == 1 else None
