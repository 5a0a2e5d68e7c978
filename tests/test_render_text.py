"""The report for a terminal: what stands where, what is folded, and what is cut at the width."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan import analyze
from aoti_logscan.render.layout import columns, visible
from aoti_logscan.render.text import render_text
from aoti_logscan.report import (
    Argument,
    Bound,
    Call,
    Evidence,
    Finding,
    Flag,
    IndexSource,
    InputDim,
    InputRef,
    Kernel,
    Lineage,
    NextStep,
    Problem,
    Producer,
    Report,
    SourceReport,
    Tool,
    Verdict,
)
from tests.conftest import FIXTURES

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
    kernel: Kernel | None = None,
    lineage: Lineage | None = None,
    flags: tuple[Flag, ...] = (),
    signature: str | None = None,
) -> Report:
    return Report(
        schema_version="1",
        tool=Tool("aoti-logscan", "0"),
        signature=signature,
        verdict=verdict,
        findings=findings,
        last_kernel=kernel,
        lineage=lineage,
        flags=flags,
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


def _kernel(**changed: Any) -> Kernel:
    fields: dict[str, Any] = {
        "name": "triton_poi_fused_add_0",
        "certainty": "sure",
        "open": None,
        "found_by": "device-assert",
        "why": "the assertion names it",
    }
    return Kernel(**{**fields, **changed})


def _lineage(**changed: Any) -> Lineage:
    fields: dict[str, Any] = {
        "kernel": "triton_poi_fused_add_0",
        "index": "tmp4",
        "lower": "0",
        "upper": "ks0",
        "bound": Bound(
            parameter="ks0", argument="s7", input=InputDim(position=1, name="arg1_1", dim=0)
        ),
        "index_source": IndexSource(
            kind="loaded", parameter="in_ptr0", input=InputRef(position=2, name="arg2_1")
        ),
    }
    return Lineage(**{**fields, **changed})


def _flag(name: str, state: str, **changed: Any) -> Flag:
    fields: dict[str, Any] = {
        "takes_effect": "run",
        "does": "each launch waits",
        "costs": "speed",
    }
    return Flag(**{"name": name, "state": state, **fields, **changed})


#: the last line of a report on a failure that has no signature
REPORT_IT = "\nReport  --attach bug.zip writes the files for a bug report\n"


def _body(text: str) -> list[str]:
    """The lines above the last one of a report on a failure."""
    assert text.endswith(REPORT_IT)
    return text.removesuffix(REPORT_IT).splitlines()


# --- layouts


def test_decided_report_has_the_verdict_its_line_and_its_facts() -> None:
    assert render_text(_decided(_finding())) == (
        "Illegal memory access                                                       sure\n"
        "  A kernel touched memory that is not mapped\n"
        "  run.log:7: CUDA error: an illegal memory access\n"
        "  runtime cuda · size 4\n" + REPORT_IT
    )


def test_blocks_stand_in_the_order_of_the_questions() -> None:
    finding = _finding(explain="Some kernel did.", fixes=("Check it.", "Mend it."))
    steps = (
        _step(why="it names the call", costs="speed"),
        _step(title="Print values", command=None, takes_effect="compile"),
    )
    kernel = _kernel(
        call=Call("a.cpp", 12, "launch(buf0);"),
        producers=(Producer(argument="buf0", kernel="triton_1"),),
        user_stack=('File "/m/model.py", line 7, in forward\n    g = x[idx]',),
    )
    other = _finding(role="consequence", title="Peer lost")
    problems = _source("run.log", 9, Problem(4, "a record was cut"))
    report = _decided(
        finding,
        other,
        steps=steps,
        kernel=kernel,
        lineage=_lineage(),
        sources=(problems,),
        signature="5f2c-91ab",
    )
    assert render_text(report) == (
        "Illegal memory access                                                       sure\n"
        "  A kernel touched memory that is not mapped\n"
        "Kernel that failed  triton_poi_fused_add_0                                  sure\n"
        "  from    /m/model.py:7 in forward · g = x[idx]\n"
        "  index   from input 2 (arg2_1)\n"
        "  bound   ks0 = s7 = size 0 of input 1 (arg1_1)\n"
        "  run.log:7: CUDA error: an illegal memory access\n"
        "\n"
        "Next 1  Make launches blocking\n"
        "        CUDA_LAUNCH_BLOCKING=1 python x.py\n"
        "        it names the call · costs speed\n"
        "     2  Print values (recompile)\n"
        "\n"
        "Kernel  the assertion names it\n"
        "  a.cpp:12\n"
        "    launch(buf0);\n"
        "  reads   buf0 (made by triton_1)\n"
        "\n"
        "Why  Some kernel did.\n"
        "Fix  - Check it.\n"
        "     - Mend it.\n"
        "\n"
        "Also  1 consequence (--all shows them)\n"
        "\n"
        "Note run.log:4: a record was cut\n"
        "\n"
        "Report  --attach bug.zip writes the files for a bug report   signature 5f2c-91ab\n"
    )


OWN = '  File "/m/torch_models/model.py", line 12, in forward\n    h = self.table(tokens)\n'
OF_TORCH = (
    '  File "/v/site-packages/torch/nn/modules/sparse.py", line 189, in forward\n'
    "    return F.embedding("
)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            OWN.lstrip() + OF_TORCH,
            "/m/torch_models/model.py:12 in forward · h = self.table(tokens)",
        ),
        (OWN.replace("12", "3") + OWN, "/m/torch_models/model.py:12 in forward · h = self.table"),
        (OF_TORCH, "/v/site-packages/torch/nn/modules/sparse.py:189 in forward · return F"),
        ("no frame", "no frame"),
        ("", ""),
    ],
)
def test_entry_of_several_frames_is_told_by_the_innermost_of_the_user(
    entry: str, told: str
) -> None:
    lines = render_text(_decided(_finding(), kernel=_kernel(user_stack=(entry,))), width=200)
    [line] = [line for line in lines.splitlines() if line.startswith("  from")]
    assert line.removeprefix("  from").strip().startswith(told)
    assert line.count(" in ") <= 1


def test_kernel_that_is_not_sure_says_so_at_once() -> None:
    lines = render_text(_decided(_finding(), kernel=_kernel(certainty="likely"))).splitlines()
    assert lines[2].split()[-1] == "likely"
    assert lines[3] == "  the assertion names it"


def test_kernel_with_a_long_name_has_its_own_line() -> None:
    name = "triton_poi_fused_" + "index_" * 9
    lines = render_text(_decided(_finding(), kernel=_kernel(name=name))).splitlines()
    assert lines[2].split() == ["Kernel", "that", "failed", "sure"]
    assert lines[3] == f"  {name}"


def test_values_that_were_printed_stand_with_the_kernel() -> None:
    printed = Argument(name="buf0", phase="before", dtype="float32", size=(4, 8), min=0.5, nan=True)
    text = render_text(_decided(_finding(), kernel=_kernel(arguments=(printed,) * 8)))
    assert text.count("  before  buf0: NAN, float32, [4, 8], min 0.5\n") == 6
    assert "  and 2 more (--all)\n" in text


def test_proven_size_is_told_and_a_further_source_of_the_index_stands_below() -> None:
    lineage = _lineage(
        cause="size 0 may be 0",
        failing_values=({"s7": 0, "index": -1},),
        index_source=IndexSource(kind="mixed", argument="buf0", produced_by="triton_1"),
    )
    text = render_text(_decided(_finding(rank=3), kernel=_kernel(), lineage=lineage))
    answer, _, details = text.partition("\n\n")
    assert "  rank    3\n  so      size 0 may be 0\n  bound   ks0" in answer
    assert "  index   from buf0 (made by triton_1), or from sizes\n" in details


def test_kernels_that_fit_equally_well_are_named() -> None:
    lineage = _lineage(kernel=None, candidates=("a_0", "b_1"), cause="2 kernels have this check")
    text = render_text(_decided(_finding(), lineage=lineage))
    assert "  one of  a_0, b_1\n  so      2 kernels have this check\n" in text


def test_reason_that_the_verdict_tells_already_is_not_told_again() -> None:
    step = _step(why="touched memory that is not mapped")
    assert "not mapped\n" not in "\n".join(
        render_text(_decided(_finding(), steps=(step,))).splitlines()[2:]
    )


def test_reasons_take_three_lines_unless_all_is_asked_for() -> None:
    step = _step(why="word " * 100)
    report = _decided(_finding(), steps=(step,))
    shown = [line for line in render_text(report).splitlines() if "word" in line]
    assert len(shown) == 3
    assert shown[-1].endswith("…")
    assert render_text(report, show_all=True).count("word") == 100


def test_fix_that_is_a_step_is_not_told_again() -> None:
    finding = _finding(fixes=("Make launches blocking", "Mend it."))
    text = render_text(_decided(finding, steps=(_step(),)))
    assert text.count("Make launches blocking") == 1
    assert "Fix  - Mend it.\n" in text


def test_long_fact_that_the_summary_tells_is_left_out() -> None:
    message = "shapes cannot be multiplied"
    text = render_text(_decided(_finding(summary=f"mm: {message}", facts={"message": message})))
    assert text.count(message) == 1


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
        "  run.log:7: CUDA error: an illegal memory access\n" + REPORT_IT
    )


def test_undecided_report_shows_the_lines_of_three_findings() -> None:
    seen = [_finding(role="context", evidence=(Evidence(f"{n}.log", 1, 0, "x"),)) for n in range(5)]
    shown = render_text(_report(UNDECIDED, *seen)).splitlines()[2:5]
    assert shown == ["  0.log:1: x", "  1.log:1: x", "  2.log:1: x"]


def test_rank_of_the_cause_stands_before_its_facts() -> None:
    assert "  rank 3 · runtime cuda · size 4\n" in render_text(_decided(_finding(rank=3)))


def test_finding_without_known_facts_has_no_line_of_them() -> None:
    assert len(_body(render_text(_decided(_finding(facts={"address": None}))))) == 3


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
        (["consequence"], "Also  1 consequence (--all shows them)"),
        (["consequence"] * 2, "Also  2 consequences (--all shows them)"),
        (["harmless"] * 2, "Also  2 harmless (--all shows them)"),
        (["context"] * 2, "Also  2 beside it (--all shows them)"),
        (
            ["harmless", "context", "consequence"],
            "Also  1 consequence, 1 context, 1 harmless (--all shows them)",
        ),
    ],
)
def test_other_findings_are_counted_by_role(roles: list[str], line: str) -> None:
    others = [_finding(role=role) for role in roles]
    assert _body(render_text(_decided(_finding(), *others)))[-1] == line


def test_report_with_one_finding_has_nothing_folded() -> None:
    assert "Also" not in render_text(_decided(_finding()))


def test_all_shows_other_findings_with_their_role() -> None:
    other = _finding(role="consequence", title="Peer lost", summary="A peer closed")
    assert _body(render_text(_decided(_finding(), other), show_all=True))[-3:] == [
        "Peer lost                                                            consequence",
        "  A peer closed",
        "  run.log:7: CUDA error: an illegal memory access",
    ]


def test_flags_are_shown_only_where_all_is_asked_for() -> None:
    flags = (
        _flag("ON", "on", evidence=Evidence("run.log", 3, 9, "ON=1")),
        _flag("OFF", "off", takes_effect="compile"),
        _flag("WHO", "unknown"),
        _flag("KNOWS", "unknown"),
    )
    report = _report(NONE, flags=flags)
    assert "ON" not in render_text(report).splitlines()[-1]
    assert render_text(report, show_all=True).splitlines()[3:] == [
        "Flags",
        "  on      ON, read at run time",
        "          run.log:3",
        "          each launch waits; costs speed",
        "  off     OFF, read at compile time",
        "          each launch waits; costs speed",
        "  unknown WHO, KNOWS",
    ]


def test_report_without_a_failure_has_nothing_to_report() -> None:
    assert "Report" not in render_text(_report(NONE, signature=None))


def test_signature_stands_at_the_end_of_the_last_line() -> None:
    (*_, last) = render_text(_decided(_finding(), signature="5f2c-91ab")).splitlines()
    assert last.startswith("Report  --attach bug.zip ")
    assert last.endswith("   signature 5f2c-91ab")


def test_signature_has_a_line_where_the_terminal_is_narrow() -> None:
    (*_, last) = render_text(_decided(_finding(), signature="5f2c-91ab"), width=60).splitlines()
    assert last == "        signature 5f2c-91ab"


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


def test_long_evidence_is_cut_in_its_middle() -> None:
    finding = _finding(evidence=(Evidence("run.log", 7, 0, "a" * 100 + "z" * 100),))
    line = render_text(_decided(finding)).splitlines()[2]
    assert line == "  run.log:7: " + "a" * 34 + "…" + "z" * 32
    assert len(line) == 80


def test_evidence_that_fits_exactly_is_not_cut() -> None:
    finding = _finding(evidence=(Evidence("run.log", 7, 0, "x" * 67),))
    assert render_text(_decided(finding)).splitlines()[2] == "  run.log:7: " + "x" * 67


def test_long_source_name_has_its_own_line_and_keeps_its_end() -> None:
    finding = _finding(evidence=(Evidence("/a" * 60 + "/run.log", 7, 0, "x" * 200),))
    lines = render_text(_decided(finding)).splitlines()[2:4]
    assert lines == ["  …" + ("/a" * 60 + "/run.log:7")[-77:], f"    {'x' * 38}…{'x' * 37}"]
    assert [len(line) for line in lines] == [80, 80]


def test_many_facts_go_on_several_lines() -> None:
    facts = {f"fact{n}": "v" * 20 for n in range(4)}
    assert _body(render_text(_decided(_finding(facts=facts))))[3:] == [
        "  " + " · ".join(f"fact{n} {'v' * 20}" for n in range(2)),
        "  " + " · ".join(f"fact{n} {'v' * 20}" for n in range(2, 4)),
    ]


def test_long_fact_is_cut_at_the_width() -> None:
    (line,) = _body(render_text(_decided(_finding(facts={"condition": "a < b " * 40}))))[3:]
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


def test_certainty_stands_beside_the_first_line_of_a_long_title() -> None:
    lines = render_text(_decided(_finding(title="word " * 20))).splitlines()
    assert lines[0] == f"{' '.join(['word'] * 15):<76}sure"
    assert lines[1] == "  " + " ".join(["word"] * 5)


def test_certainty_has_a_line_where_nothing_fits_beside_it() -> None:
    kernel = _kernel(certainty="possible")
    lines = render_text(_decided(_finding(), kernel=kernel), width=20).splitlines()
    at = lines.index("Kernel that failed")
    assert "  possible" in lines[at : at + 4]


def test_prose_is_no_wider_than_is_good_to_read() -> None:
    text = render_text(_decided(_finding(explain="word " * 100)), width=300)
    assert max(len(line) for line in text.splitlines() if "word" in line) <= 120


@pytest.mark.parametrize("width", [20, 33, 40, 80, 120, 300])
@pytest.mark.parametrize(
    "folder", sorted(FIXTURES.glob("lineage-*/input")), ids=lambda f: f.parent.name
)
def test_only_commands_pass_the_width(folder: Path, width: int) -> None:
    report = analyze([folder])
    commands = {visible(step.command) for step in report.next_steps if step.command}
    for show_all in (False, True):
        lines = render_text(report, show_all=show_all, width=width).splitlines()
        assert [x for x in lines if columns(x) > width and x.strip() not in commands] == []
        assert {x.strip() for x in lines} >= commands


# --- characters


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
        steps=(_step(title=text, command=text, why=text, costs=text),),
        sources=(source,),
        kernel=_kernel(name=text, why=text, user_stack=(text, text), call=Call(text, 1, text)),
        flags=(_flag("X", "on", evidence=Evidence(text, 1, 0, text)),),
    )
    shown = render_text(report, show_all=True)
    assert [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"] == []


@given(
    text=st.text(st.sampled_from("ab \n\té漢\x1b\u0301\U0001f600"), max_size=300),
    width=st.integers(20, 300),
)
def test_nothing_of_a_log_passes_the_width(text: str, width: int) -> None:
    finding = _finding(
        title=text,
        summary=text,
        explain=text,
        evidence=(Evidence(text, 7, 0, text),),
        facts={"condition": text},
    )
    kernel = _kernel(
        name=text,
        why=text,
        certainty="possible",
        user_stack=(text, text),
        call=Call(text, 1, text),
        producers=(Producer(argument=text, kernel=text),),
    )
    sources = (_source(text, 1, Problem(1, text)),)
    report = _decided(finding, kernel=kernel, steps=(_step(title=text),), sources=sources)
    lines = render_text(report, width=width).splitlines()
    commands = ("CUDA_LAUNCH_BLOCKING=1 python x.py",)
    assert max(columns(line) for line in lines if line.strip() not in commands) <= width


def _own(line: int = 3, source: str = "run.log", **changed: Any) -> Finding:
    fields: dict[str, Any] = {
        "pattern": "user-exception",
        "failure_class": "none",
        "role": "context",
        "summary": "KeyError: 'a'",
        "rank": 1,
        "evidence": (Evidence(source, line, 9, "KeyError: 'a'"),),
    }
    return _finding(**{**fields, **changed})


def _waited() -> Finding:
    return _finding(pattern="collective-timeout", failure_class="collective-failure", facts={})


def test_rank_that_raised_before_others_waited_is_pointed_to() -> None:
    shown = render_text(_decided(_waited(), _own(), _own(4))).splitlines()
    at = shown.index(
        "  Rank 1 raised an exception of its own, which may be the reason: KeyError: 'a'"
    )
    assert shown[at + 1 : at + 3] == ["  (and 1 more)", "  run.log:3: KeyError: 'a'"]


@pytest.mark.parametrize(
    ("cause", "own"),
    [(_waited(), _own(8)), (_finding(), _own()), (_waited(), _own(pattern="harmless"))],
    ids=["told after it", "beside a cause of its own", "no exception"],
)
def test_other_exceptions_are_not(cause: Finding, own: Finding) -> None:
    assert "of its own" not in render_text(_decided(cause, own))


def test_exception_in_another_source_may_have_been_first() -> None:
    assert "of its own" in render_text(_decided(_waited(), _own(8, "rank1.log")))


def test_exception_of_the_program_is_told_where_nothing_else_failed() -> None:
    shown = render_text(_report(NONE, _own(rank=None))).splitlines()
    assert shown[2] == "  The program raised an exception of its own: KeyError: 'a'"


def test_exception_beside_what_the_launcher_says_may_be_the_reason() -> None:
    launcher = _finding(failure_class="collective-failure", role="consequence")
    assert "may be the reason" in render_text(_report(UNDECIDED, _own(), launcher))
    symptom = _finding(failure_class="undecided", role="context")
    assert "of its own" not in render_text(_report(UNDECIDED, _own(), symptom))


def test_kernel_launched_last_is_told_from_the_one_at_fault() -> None:
    nan = _finding(failure_class="nan-or-inf", facts={"kernel": "triton_poi_fused_log_0"})
    last = _kernel(found_by="printer", certainty="likely")
    shown = " ".join(render_text(_decided(nan, kernel=last)).split())
    assert f"{last.name}: launched last; the failure comes from triton_poi_fused_log_0" in shown
    same = _finding(failure_class="nan-or-inf", facts={"kernel": last.name})
    assert "launched last;" not in render_text(_decided(same, kernel=last))
