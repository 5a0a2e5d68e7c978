"""Dossiers for the tests of renderers: of fixtures, and made ones with hostile text everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from aoti_logscan.pipeline import investigate
from aoti_logscan.report import (
    Argument,
    Bound,
    Call,
    CompileRecord,
    Dossier,
    Evidence,
    Excerpt,
    Finding,
    Flag,
    IndexSource,
    InputDim,
    InputRef,
    Kernel,
    LaunchReport,
    Lineage,
    NextStep,
    Problem,
    Producer,
    Report,
    SourceReport,
    SuspectCode,
    Tool,
    Verdict,
)
from tests.conftest import FIXTURES

#: those that the golden files show
SHOWN = (
    "ima-on-rank3-of-eight-others-nccl-timeout",
    "printer-level2-crash-pty",
    "trace-failed-compile",
    "triton-oob-proven-by-package",
    "xpu-device-lost-cause-unknown",
)


def of_fixture(name: str, folder: Path = FIXTURES) -> Dossier:
    """The dossier on a fixture's input."""
    return investigate([folder / name / "input"]).dossier


def hostile(text: str) -> Dossier:
    """A dossier with this text in every field that may come from a log."""
    evidence = Evidence(text, 12, 345, text)
    known = InputRef(position=1, name=text)
    call = Call(text, 7, text)
    producers = (Producer(argument=text, kernel=text), Producer(argument=text, kernel=None))
    origin: dict[str, Any] = {
        "source_nodes": (text,),
        "aten_ops": (text,),
        "user_stack": (text, f'File "{text}", line 7, in {text}'),
    }
    argument = Argument(
        name=text, phase="before", dtype=text, device=text, size=(2, 3), min=-1.0, max=2.0, nan=True
    )
    finding = Finding(
        pattern=text,
        failure_class="triton-index-out-of-bounds",
        role="cause",
        certainty="sure",
        title=text,
        summary=text,
        facts={"kernel": text, "file": text, "line": 3, text: text},
        count=2,
        rank=3,
        process=text,
        evidence=(evidence, evidence),
        explain=text,
        fixes=(text, text),
    )
    rest = msgspec.structs.replace(finding, role="consequence")
    kernel = Kernel(
        name=text,
        certainty="likely",
        open=True,
        found_by="printer",
        why=text,
        launch_index=0,
        rank=3,
        evidence=evidence,
        arguments=(argument,),
        call=call,
        producers=producers,
        **origin,
    )
    lineage = Lineage(
        kernel=text,
        index=text,
        lower="0",
        upper=text,
        slice=(text, text),
        bound=Bound(parameter=text, argument=text, input=InputDim(position=1, name=text, dim=0)),
        index_source=IndexSource(kind="loaded", parameter=text, argument=text, input=known),
        failing_values=({text: 0, "index": -1},),
        candidates=(text,),
        cause=text,
        fixes=(text,),
        **origin,
    )
    report = Report(
        schema_version="1",
        tool=Tool("aoti-logscan", "0.1.0"),
        signature="1234-abcd",
        verdict=Verdict(
            failure_class="triton-index-out-of-bounds", certainty="sure", summary=text, finding=0
        ),
        findings=(finding, rest),
        last_kernel=kernel,
        lineage=lineage,
        flags=(
            Flag(
                name="TORCH_LOGS",
                state="on",
                takes_effect="run",
                does="logs",
                costs="output",
                evidence=evidence,
            ),
        ),
        next_steps=(
            NextStep(title=text, command=text, takes_effect="compile", why=text, costs=text),
        ),
        compiles=(CompileRecord(id=text, rank=0, ok=False, fail_type=text, fail_reason=text),),
        sources=(
            SourceReport(
                name=text,
                bytes=9,
                rank=3,
                torch_version=text,
                records={text: 1},
                problems=(Problem(5, text), Problem(None, text)),
            ),
        ),
    )
    launch = LaunchReport(
        index=0,
        kernel=text,
        open=True,
        rank=3,
        source=text,
        line=12,
        arguments=(argument,),
        call=call,
        producers=producers,
        **origin,
    )
    return Dossier(
        report=report,
        launches=(launch,),
        excerpts=(Excerpt(source=text, line=12, first_line=10, text=f"before\n{text}\n{text}"),),
        code=(
            SuspectCode(
                name=text,
                role="kernel",
                language="triton",
                file=text,
                first_line=1,
                text=f"{text}\n{text}",
                lit=(2,),
            ),
        ),
    )


def strings(value: Any) -> Iterator[str]:
    """All strings in a value, keys too."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from strings(key)
            yield from strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from strings(one)
