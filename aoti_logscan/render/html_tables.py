"""What to do next, and the tables: flags, compilations, sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aoti_logscan.render.html_markup import (
    EMPTY,
    Html,
    Part,
    anchor,
    el,
    join,
    limited,
    more,
    plural,
    prose,
    sentence,
    shown,
    void,
)
from aoti_logscan.render.html_parts import chip, command, place, points, row, section, table
from aoti_logscan.render.html_verdict import recompiles
from aoti_logscan.report import CompileRecord, Flag, NextStep, Problem, SourceReport

#: rows of a table in the page
MAX_ROWS = 1_000
#: problems of one source in the page
MAX_PROBLEMS = 50

_FLAG_HEADS = ("Flag", "State", "Takes effect", "What it does", "What it costs", "Told by")
_COMPILE_HEADS = ("Compilation", "Rank", "Result", "Reason")
_SOURCE_HEADS = ("Source", "Rank", "torch", "Bytes", "Records", "Not understood")


def next_steps(steps: Sequence[NextStep]) -> Html:
    """The section; without steps it says so."""
    if not steps:
        told = "No step is advised."
        return section("next", "What to do next", el("p", told, class_="empty"))
    kept, left = limited(steps, 50)
    items = el("ol", *map(_step, kept), class_="steps")
    return section("next", "What to do next", items, more(left, "steps"))


def _step(step: NextStep) -> Html:
    return el(
        "li",
        el("p", el("strong", prose(step.title)), " ", recompiles(step)),
        command(step.command, step.title) if step.command else None,
        _told("Why", step.why),
        _told("Costs", step.costs),
    )


def _told(label: str, text: str | None) -> Html:
    return el("p", el("b", label), " ", sentence(text), class_="quiet") if text else EMPTY


def flags(told: Sequence[Flag]) -> Html:
    """The section: flags that are known to be on or off first."""
    if not told:
        return EMPTY
    known = sorted(told, key=lambda flag: ("on", "off", "unknown").index(flag.state))
    on = sum(flag.state == "on" for flag in told)
    rows = map(_flag, known)
    return section("flags", "Debugging flags", table("Flags", _FLAG_HEADS, rows), note=f"{on} on")


def _flag(flag: Flag) -> Html:
    evidence = place(flag.evidence.source, flag.evidence.line) if flag.evidence else ""
    when = "when compiled" if flag.takes_effect == "compile" else "at run time"
    state = chip(flag.state, kind=f"state {flag.state}")
    cells = (el("code", *_breakable(flag.name)), state, when, flag.does, flag.costs, evidence)
    return row(_FLAG_HEADS, cells)


def _breakable(name: str) -> Iterator[Part]:
    """A long name that may be broken after each underscore."""
    first, *others = shown(name, 200).split("_")
    yield first
    for part in others:
        yield join(["_", void("wbr"), part])


def link_key(compile_id: str | None, rank: int | None) -> str:
    """By what a compilation is looked up in the links to its page: `0/0`, or `rank3 0/0`."""
    return f"{'' if rank is None else f'rank{rank} '}{compile_id or '?'}"


def compiles(records: Sequence[CompileRecord], links: Mapping[str, str]) -> Html:
    """The section: failed ones first; nothing without a trace."""
    if not records:
        return EMPTY
    kept, left = limited(sorted(records, key=lambda one: one.ok), MAX_ROWS)
    failed = sum(not one.ok for one in records)
    told = table("Compilations", _COMPILE_HEADS, (_compile(one, links) for one in kept))
    note = f"{failed:,} of {len(records):,} failed"
    return section("compiles", "Compilations", told, more(left, "compilations"), note=note)


def _compile(one: CompileRecord, links: Mapping[str, str]) -> Html:
    url = links.get(link_key(one.id, one.rank))
    name = el("code", one.id or "not told")
    state = chip("ok", kind="state off") if one.ok else chip("failed", kind="state failed")
    cells = (anchor(url, name) if url else name, _whole(one.rank), state, _reason(one))
    return row(_COMPILE_HEADS, cells, rank=one.rank)


def _reason(one: CompileRecord) -> Html:
    text = (one.fail_reason or "").strip()
    kind = el("code", one.fail_type) if one.fail_type else None
    first, _, rest = text.partition("\n")
    whole = el("details", el("summary", "whole"), el("pre", text), class_="rest") if rest else None
    return join([kind, " ", shown(first, 400), whole])


def sources(read: Sequence[SourceReport]) -> Html:
    """The section: what was read, those with problems first."""
    kept, left = limited(sorted(read, key=lambda one: not one.problems), MAX_ROWS)
    told = table("Sources", _SOURCE_HEADS, map(_source, kept))
    note = plural(sum(len(one.problems) for one in read), "problem")
    return section("sources", "What was read", told, more(left, "sources"), note=note)


def _source(one: SourceReport) -> Html:
    records = ", ".join(f"{shown(name)} {count:,}" for name, count in one.records.items())
    cells: tuple[Part, ...] = (
        place(one.name, None),
        _whole(one.rank),
        shown(one.torch_version or "", 80),
        f"{one.bytes:,}",
        records,
        _problems(one.problems),
    )
    return row(_SOURCE_HEADS, cells, rank=one.rank)


def _problems(problems: Sequence[Problem]) -> Html:
    if not problems:
        return EMPTY
    kept, left = limited(problems, MAX_PROBLEMS)
    told = [_problem(one) for one in kept]
    if len(told) < 4:
        return points(told, "problems")
    summary = el("summary", f"{len(problems):,} problems")
    return el("details", summary, points(told, "problems"), more(left, "problems"), class_="rest")


def _problem(one: Problem) -> str:
    return one.what if one.line is None else f"line {shown(one.line)}: {one.what}"


def _whole(number: int | None) -> str:
    return "" if number is None else shown(number)
