"""A value is copied with its strings replaced, and is otherwise the same."""

from __future__ import annotations

import msgspec
import pytest

from aoti_logscan.redact import Redactor, Rule
from aoti_logscan.report import (
    Argument,
    Call,
    CompileRecord,
    Dossier,
    Evidence,
    Excerpt,
    Finding,
    LaunchReport,
    Report,
    SourceReport,
    Tool,
    Verdict,
)
from tests.redact.planted import left


@pytest.fixture
def dossier() -> Dossier:
    """A small report with private strings in every kind of place."""
    evidence = Evidence("/home/zyta/run.log", 3, 12, "RuntimeError: at /home/zyta/quokka/x.py")
    finding = Finding(
        pattern="illegal-memory-access",
        failure_class="illegal-memory-access",
        role="cause",
        certainty="sure",
        title="t",
        summary="zyta's kernel",
        facts={"file": "/home/zyta/quokka/x.py", "line": 3, "zyta": ["moria17", None]},
        count=1,
        rank=None,
        process="12",
        evidence=(evidence,),
        explain="",
        fixes=(),
    )
    report = Report(
        schema_version="1",
        tool=Tool("aoti-logscan", "0"),
        signature="5f2c-91ab",
        verdict=Verdict(
            failure_class="illegal-memory-access", certainty="sure", summary="zyta", finding=0
        ),
        findings=(finding,),
        last_kernel=None,
        lineage=None,
        flags=(),
        next_steps=(),
        compiles=(CompileRecord(id="0/0", rank=0, ok=True, fail_type=None, fail_reason=None),),
        sources=(
            SourceReport(
                name="moria17.log",
                bytes=1,
                rank=None,
                torch_version="2.13.0",
                records={"torch_trace": 1},
                problems=(),
            ),
        ),
    )
    launch = LaunchReport(
        index=0,
        kernel="triton_poi_fused_add_0",
        open=True,
        rank=0,
        source="/home/zyta/run.log",
        line=1,
        arguments=(Argument(name="buf0", phase="before", dtype="float32", size=(2, 3)),),
        call=Call("/srv/quokka/w.cpp", 3, "call_triton_poi_fused_add_0(buf0)"),
        user_stack=('File "/home/zyta/quokka/x.py", line 3, in f',),
    )
    excerpt = Excerpt(source="r.log", line=2, first_line=1, text="USER=zyta\nMASTER_ADDR=moria17")
    return Dossier(report=report, launches=(launch,), excerpts=(excerpt,))


def test_value_is_the_same_dossier_without_what_is_private(dossier: Dossier) -> None:
    redacted = Redactor().value(dossier)
    text = msgspec.json.encode(redacted).decode()
    assert not left(text, "zyta quokka moria17")
    assert msgspec.json.decode(text, type=Dossier) == redacted
    assert redacted.launches[0].kernel == "triton_poi_fused_add_0"
    assert redacted.launches[0].arguments == dossier.launches[0].arguments
    assert redacted.report.findings[0].evidence[0].line == 3
    assert redacted.report.findings[0].role == "cause"
    assert redacted.report.verdict.failure_class == "illegal-memory-access"
    assert redacted.report.sources[0].records == {"torch_trace": 1}


def test_value_keeps_equal_strings_equal(dossier: Dossier) -> None:
    redacted = Redactor().value(dossier)
    assert redacted.launches[0].source == redacted.report.findings[0].evidence[0].source


def test_value_leaves_what_holds_nothing_private_as_it_is() -> None:
    argument = Argument(name="buf0", phase="before", dtype="float32", size=(2, 3))
    assert Redactor().value(argument) is argument


def test_value_looks_into_every_kind_of_collection() -> None:
    rule = Rule("a", "/srv/q/x.py")
    value = {"/srv/q/x.py": [rule, {"/srv/q/x.py"}, frozenset(("/srv/q/x.py",)), b"/srv/q", 1]}
    new = "<dir-1>/x.py"
    expected = {new: [Rule("a", new), {new}, frozenset((new,)), b"/srv/q", 1]}
    assert Redactor().value(value) == expected
