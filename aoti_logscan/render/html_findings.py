"""What was recognised, cause first; all else is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aoti_logscan.render.html_markup import EMPTY, Html, Part, el, join, limited, more, prose, shown
from aoti_logscan.render.html_parts import badge, chip, points, quotation, section
from aoti_logscan.report import Dossier, Excerpt, Finding

#: pieces of evidence of one finding in the page
MAX_EVIDENCE = 40
#: pieces of evidence that are shown before the rest is folded
FIRST_EVIDENCE = 2

_GROUPS = (
    ("cause", "The cause"),
    ("consequence", "What followed from it"),
    ("context", "What stands beside it"),
    ("harmless", "Harmless"),
)


def findings(dossier: Dossier) -> Html:
    """The section; without findings it says so."""
    found = dossier.report.findings
    if not found:
        told = "No known failure stands in what was read."
        return section("findings", "Findings", el("p", told, class_="empty"))
    groups = (_group(role, title, dossier) for role, title in _GROUPS)
    return section("findings", "Findings", *groups, note=f"{len(found):,}")


def _group(role: str, title: str, dossier: Dossier) -> Html:
    members = [one for one in dossier.report.findings if one.role == role]
    if not members:
        return EMPTY
    opened = _opened(role, dossier)
    items = [_finding(one, dossier.excerpts, open_=at < opened) for at, one in enumerate(members)]
    head = el("h3", title, " ", el("span", f"{len(members):,}", class_="note"))
    return el("div", head, *items, class_="group")


def _opened(role: str, dossier: Dossier) -> int:
    """How many findings of a role are shown unfolded: causes, and what there is without one."""
    if role == "cause":
        return 3
    return 1 if role == "context" and dossier.report.verdict.finding is None else 0


def _finding(one: Finding, excerpts: Sequence[Excerpt], *, open_: bool) -> Html:
    return el(
        "details",
        el("summary", el("h4", one.title), *_labels(one), _first_words(one)),
        el("div", *_body(one, excerpts), class_="body"),
        class_=f"finding {one.role}",
        open=open_,
        data_sought=True,
        data_rank=one.rank,
    )


def _labels(one: Finding) -> Iterator[Part]:
    yield badge(one.certainty)
    if one.rank is not None:
        yield chip(f"rank {shown(one.rank)}")
    if one.process:
        yield chip(f"process {shown(one.process, 40)}")
    if one.count > 1:
        yield chip(f"{one.count:,} records")


def _first_words(one: Finding) -> Html:
    return el("span", prose(one.summary), class_="first-words")


def _body(one: Finding, excerpts: Sequence[Excerpt]) -> Iterator[Part]:
    yield _evidence(one, excerpts)
    if one.explain:
        yield el("p", prose(one.explain), class_="explain")
    if one.fixes:
        yield join([el("h5", "What helps"), points(one.fixes)])
    yield _facts(one)


def _evidence(one: Finding, excerpts: Sequence[Excerpt]) -> Html:
    kept, left = limited(one.evidence, MAX_EVIDENCE)
    shown_first = [quotation(each, excerpts) for each in kept[:FIRST_EVIDENCE]]
    folded = [quotation(each, excerpts) for each in kept[FIRST_EVIDENCE:]]
    if not folded:
        return join(shown_first)
    told = el("summary", f"Evidence in {len(folded) + left:,} more sources")
    return join([*shown_first, el("details", told, *folded, more(left, "sources"), class_="rest")])


def _facts(one: Finding) -> Html:
    known = [(name, value) for name, value in one.facts.items() if value is not None]
    kept, left = limited(known, 60)
    rows = (el("div", el("dt", name), el("dd", shown(value, 4_000))) for name, value in kept)
    known_as = el("div", el("dt", "pattern"), el("dd", el("code", one.pattern)))
    return join([el("dl", *rows, known_as, class_="facts"), more(left, "facts")])
