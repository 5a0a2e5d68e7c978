"""The report for a terminal: what stands where, what is folded, and what is cut at the width."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.render.text import render_text, visible
from aoti_logscan.report import (
    Evidence,
    Finding,
    NextStep,
    Problem,
    Report,
    SourceReport,
    Tool,
    Verdict,
)

FACTS = {"runtime": "cuda", "address": None, "size": 4}


def _finding(**changed: Any) -> Finding:
    fields: dict[str, Any] = {
        "pattern": "gpu-illegal-access",
        "failure_class": "illegal-memory-access",
        "role": "cause",
        "certainty": "sure",
        "title": "Illegal memory access",
        "summary": "A kernel touched memory that is not mapped",
        "facts": FACTS,
        "count": 1,
        "rank": None,
        "process": None,
        "evidence": (Evidence("run.log", 7, 99, "CUDA error: an illegal memory access"),),
        "explain": "",
        "fixes": (),
    }
    return Finding(**{**fields, **changed})


def _source(name: str = "run.log", size: int = 1234, *problems: Problem) -> SourceReport:
    return SourceReport(
        name=name, bytes=size, rank=None, torch_version=None, records={}, problems=problems
    )


def _step(**changed: Any) -> NextStep:
    fields: dict[str, Any] = {
        "title": "Make launches blocking",
        "command": "CUDA_LAUNCH_BLOCKING=1 python x.py",
        "takes_effect": "run",
        "why": "",
    }
    return NextStep(**{**fields, **changed})


def _report(
    verdict: Verdict,
    *findings: Finding,
    steps: tuple[NextStep, ...] = (),
    sources: tuple[SourceReport, ...] = (_source(),),
) -> Report:
    return Report(
        schema_version="1",
        tool=Tool("aoti-logscan", "0"),
        signature=None,
        verdict=verdict,
        findings=findings,
        last_kernel=None,
        lineage=None,
        flags=(),
        next_steps=steps,
        compiles=(),
        sources=sources,
    )


NONE = Verdict(failure_class="none", certainty=None, summary="No failure was found.", finding=None)
UNDECIDED = Verdict(
    failure_class="undecided", certainty=None, summary="Something failed: it hung", finding=None
)


def _decided(finding: Finding, *others: Finding, **options: Any) -> Report:
    verdict = Verdict(
        failure_class=finding.failure_class,
        certainty=finding.certainty,
        summary=finding.summary,
        finding=0,
    )
    return _report(verdict, finding, *others, **options)


# --- layouts


def test_decided_report_has_the_verdict_its_line_and_its_facts() -> None:
    assert render_text(_decided(_finding())) == (
        "Illegal memory access                                                       sure\n"
        "  A kernel touched memory that is not mapped\n"
        "  run.log:7: CUDA error: an illegal memory access\n"
        "  runtime cuda · size 4\n"
    )


def test_next_steps_follow_the_verdict_and_come_before_the_reasons() -> None:
    finding = _finding(explain="Some kernel did.", fixes=("Check it.", "Mend it."))
    steps = (_step(), _step(title="Print values", command=None, takes_effect="compile"))
    assert render_text(_decided(finding, steps=steps)) == (
        "Illegal memory access                                                       sure\n"
        "  A kernel touched memory that is not mapped\n"
        "  run.log:7: CUDA error: an illegal memory access\n"
        "  runtime cuda · size 4\n"
        "\n"
        "Next 1  Make launches blocking\n"
        "        CUDA_LAUNCH_BLOCKING=1 python x.py\n"
        "     2  Print values (recompile)\n"
        "\n"
        "Why  Some kernel did.\n"
        "Fix  - Check it.\n"
        "     - Mend it.\n"
    )


def test_report_without_a_failure_says_what_was_read() -> None:
    assert render_text(_report(NONE)) == "No failure found\n  1 source, 1,234 bytes read\n"


def test_bytes_of_all_sources_are_added() -> None:
    report = _report(NONE, sources=(_source(), _source("b.log", 1)))
    assert render_text(report) == "No failure found\n  2 sources, 1,235 bytes read\n"


def test_undecided_report_says_what_was_seen_and_where() -> None:
    seen = _finding(failure_class="undecided", role="context", title="Hang")
    assert render_text(_report(UNDECIDED, seen), show_all=True) == (
        "Undecided\n"
        "  Something failed: it hung\n"
        "  run.log:7: CUDA error: an illegal memory access\n"
        "\n"
        "Hang                                                                     context\n"
        "  A kernel touched memory that is not mapped\n"
        "  run.log:7: CUDA error: an illegal memory access\n"
    )


def test_undecided_report_shows_the_lines_of_three_findings() -> None:
    seen = [_finding(role="context", evidence=(Evidence(f"{n}.log", 1, 0, "x"),)) for n in range(5)]
    shown = render_text(_report(UNDECIDED, *seen)).splitlines()[2:5]
    assert shown == ["  0.log:1: x", "  1.log:1: x", "  2.log:1: x"]


def test_rank_of_the_cause_stands_before_its_facts() -> None:
    assert "  rank 3 · runtime cuda · size 4\n" in render_text(_decided(_finding(rank=3)))


def test_finding_without_known_facts_has_no_line_of_them() -> None:
    text = render_text(_decided(_finding(facts={"address": None})))
    assert len(text.splitlines()) == 3


def test_lines_of_two_sources_are_shown_and_the_rest_counted() -> None:
    evidence = tuple(Evidence(f"{n}.log", 1, 0, "x") for n in range(5))
    assert render_text(_decided(_finding(evidence=evidence))).splitlines()[2:5] == [
        "  0.log:1: x",
        "  1.log:1: x",
        "  and in 3 other sources",
    ]


def test_verdict_is_the_finding_that_it_names() -> None:
    verdict = Verdict(failure_class="x", certainty="likely", summary="", finding=1)
    report = _report(verdict, _finding(title="First"), _finding(title="Second", certainty="likely"))
    assert render_text(report).splitlines()[0].split() == ["Second", "likely"]


# --- folding


@pytest.mark.parametrize(
    ("roles", "line"),
    [
        (["consequence"], "Also 1 consequence   (--all shows them)"),
        (["consequence"] * 2, "Also 2 consequences   (--all shows them)"),
        (["harmless"] * 2, "Also 2 harmless   (--all shows them)"),
        (["context"] * 2, "Also 2 beside it   (--all shows them)"),
        (
            ["harmless", "context", "consequence"],
            "Also 1 consequence, 1 context, 1 harmless   (--all shows them)",
        ),
    ],
)
def test_other_findings_are_counted_by_role(roles: list[str], line: str) -> None:
    others = [_finding(role=role) for role in roles]
    assert render_text(_decided(_finding(), *others)).splitlines()[-1] == line


def test_report_with_one_finding_has_nothing_folded() -> None:
    assert "Also" not in render_text(_decided(_finding()))


def test_all_shows_other_findings_with_their_role() -> None:
    other = _finding(role="consequence", title="Peer lost", summary="A peer closed")
    assert render_text(_decided(_finding(), other), show_all=True).splitlines()[-3:] == [
        "Peer lost                                                            consequence",
        "  A peer closed",
        "  run.log:7: CUDA error: an illegal memory access",
    ]


def test_three_problems_are_shown_and_the_rest_counted() -> None:
    problems = [Problem(line, "a record was cut") for line in (4, 5, None, 7, 8)]
    text = render_text(_report(NONE, sources=(_source("run.log", 0, *problems),)))
    assert text.splitlines()[-4:] == [
        "Note run.log:4: a record was cut",
        "     run.log:5: a record was cut",
        "     run.log: a record was cut",
        "     and 2 more (--all)",
    ]


def test_all_shows_all_problems() -> None:
    problems = [Problem(line, "cut") for line in range(1, 6)]
    report = _report(NONE, sources=(_source("run.log", 0, *problems),))
    text = render_text(report, show_all=True)
    assert text.splitlines()[-5:] == [
        "Note run.log:1: cut",
        *(f"     run.log:{line}: cut" for line in range(2, 6)),
    ]


# --- widths


def test_long_evidence_is_cut_at_the_width() -> None:
    finding = _finding(evidence=(Evidence("run.log", 7, 0, "x" * 200),))
    line = render_text(_decided(finding)).splitlines()[2]
    assert line == "  run.log:7: " + "x" * 66 + "…"
    assert len(line) == 80


def test_evidence_that_fits_exactly_is_not_cut() -> None:
    finding = _finding(evidence=(Evidence("run.log", 7, 0, "x" * 67),))
    assert render_text(_decided(finding)).splitlines()[2] == "  run.log:7: " + "x" * 67


def test_long_source_name_has_its_own_line_and_keeps_its_end() -> None:
    finding = _finding(evidence=(Evidence("/a" * 60 + "/run.log", 7, 0, "x" * 200),))
    lines = render_text(_decided(finding)).splitlines()[2:4]
    assert lines == ["  …" + ("/a" * 60 + "/run.log:7")[-77:], "    " + "x" * 75 + "…"]
    assert [len(line) for line in lines] == [80, 80]


def test_many_facts_go_on_several_lines() -> None:
    facts = {f"fact{n}": "v" * 20 for n in range(4)}
    assert render_text(_decided(_finding(facts=facts))).splitlines()[3:] == [
        "  " + " · ".join(f"fact{n} {'v' * 20}" for n in range(2)),
        "  " + " · ".join(f"fact{n} {'v' * 20}" for n in range(2, 4)),
    ]


def test_long_fact_is_cut_at_the_width() -> None:
    (line,) = render_text(_decided(_finding(facts={"condition": "a < b " * 40}))).splitlines()[3:]
    assert len(line) == 80
    assert line.endswith("…")


def test_summary_is_wrapped_between_words() -> None:
    finding = _finding(summary="word " * 40)
    lines = render_text(_decided(finding)).splitlines()[1:4]
    assert lines == ["  " + " ".join(["word"] * n) for n in (15, 15, 10)]


def test_command_is_not_wrapped_so_that_it_can_be_pasted() -> None:
    command = "A=1 " * 40 + "python x.py"
    assert f"        {command}\n" in render_text(
        _decided(_finding(), steps=(_step(command=command),))
    )


def test_wider_terminal_shows_more() -> None:
    finding = _finding(evidence=(Evidence("run.log", 7, 0, "x" * 200),))
    lines = render_text(_decided(finding), width=120).splitlines()
    assert [len(lines[0]), len(lines[2])] == [120, 120]


def test_certainty_stays_apart_from_a_title_as_wide_as_the_terminal() -> None:
    title = "x" * 79
    assert render_text(_decided(_finding(title=title))).splitlines()[0] == f"{title}  sure"


# --- characters


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\x00", "\\x00"),
        ("\x07", "\\x07"),
        ("\x1b", "\\x1b"),
        ("\n", "\\x0a"),
        ("\x7f", "\\x7f"),
        ("\x9b", "\\x9b"),
        ("\u200b", "\\u200b"),
        ("\u202e", "\\u202e"),
        ("\u2066", "\\u2066"),
        ("\ufeff", "\\ufeff"),
        ("\udcff", "\\udcff"),
        ("\u061c", "\\u061c"),
        ("\u00ad", "\\xad"),
        ("\u180e", "\\u180e"),
    ],
    ids=ascii,
)
def test_unprintable_character_is_shown_as_an_escape(character: str, shown: str) -> None:
    assert visible(f"a{character}b") == f"a{shown}b"


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u2028", "\u2029", "\u3000"], ids=ascii)
def test_unusual_space_is_shown_as_a_blank(space: str) -> None:
    assert visible(f"a{space}b") == "a b"


@pytest.mark.parametrize("text", ["plain", "é漢字", "│ ·", "\U0001f600", " ", ""])
def test_printable_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text


@given(text=st.text(max_size=60))
def test_no_text_of_a_log_brings_a_control_character(text: str) -> None:
    finding = _finding(
        title=text,
        summary=text,
        facts={"condition": text},
        evidence=(Evidence(text, 1, 0, text),),
        explain=text,
        fixes=(text,),
    )
    source = _source(text, 1, Problem(1, text))
    report = _decided(
        finding,
        _finding(role="context", title=text, summary=text),
        steps=(_step(title=text, command=text),),
        sources=(source,),
    )
    shown = render_text(report, show_all=True)
    assert [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"] == []


@given(text=st.text(st.sampled_from("ab \n\té漢\x1b"), max_size=300), width=st.integers(40, 200))
def test_evidence_never_passes_the_width(text: str, width: int) -> None:
    finding = _finding(evidence=(Evidence("run.log", 7, 0, text),), facts={"condition": text})
    lines = render_text(_decided(finding), width=width).splitlines()
    assert max(map(len, lines[2:])) <= width
