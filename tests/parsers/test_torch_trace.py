"""TORCH_TRACE: compilations and the version of torch; payloads hide what stands in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aoti_logscan.events import (
    Clock,
    Compile,
    Event,
    GeneratedCode,
    TorchVersion,
    TraceArtifact,
)
from aoti_logscan.parsers import torch_trace
from tests.conftest import FIXTURES
from tests.parsers.conftest import around, events, every_cut, one, scan

HEAD = "V1130 06:57:13.145000 30988 torch/_dynamo/utils.py:2010] "
FAILED = (
    HEAD + '{"compilation_metrics": {"compile_id": "0/0", "fail_type": "InductorError",'
    ' "fail_reason": "LoweringException: no\\n  target: aten.mm"}, "rank": 3, "frame_id": 0}\n'
)
VERSION = (
    "V1130 06:22:02.356000 7665 torch/_logging/_internal.py:1328] {"
    '"artifact": {"name": "torch_version", "encoding": "json"}, "has_payload": "98696a96"}\n'
    "\t{\n"
    '\t"pytorch_version": "2.13.0+cpu",\n'
    '\t"commit": "cf30153c4c131c8164ee7798e5022d810682e2cb",\n'
    '\t"oss": true\n'
    "\t}\n"
)
PAYLOAD = (
    "V1130 06:57:13.145000 30988 torch/_logging/_internal.py:1440] {"
    '"artifact": {"name": "dynamo_error", "encoding": "string"}, "has_payload": "1f"}\n'
    "\tTraceback (most recent call last):\n"
    '\t  File "/a.py", line 1, in f\n'
    "\tRuntimeError: CUDA error: misaligned address\n"
)


def _failures(text: str | bytes) -> list[Event]:
    return [event for event in events(text) if not isinstance(event, TraceArtifact)]


def _compile(event: Event) -> tuple[str | None, str | None, str | None]:
    assert isinstance(event, Compile)
    return event.compile_id, event.fail_type, event.fail_reason


def test_failed_compilation_has_its_type_and_reason() -> None:
    event = one(FAILED, torch_trace)
    assert _compile(event) == ("0/0", "InductorError", "LoweringException: no\n  target: aten.mm")


def test_envelope_tells_rank_process_and_time() -> None:
    event = one(FAILED, torch_trace)
    assert (event.rank, event.process) == (3, "30988")
    assert event.time == Clock("python", "1130 06:57:13.145000000")


def test_evidence_is_the_envelope_without_its_metrics() -> None:
    assert one(FAILED, torch_trace).place.text == HEAD + '{"...'


def test_compilation_that_succeeded_has_no_reason() -> None:
    text = HEAD + '{"compilation_metrics": {"compile_id": null, "fail_type": null}}\n'
    assert _compile(one(text, torch_trace)) == (None, None, None)


def test_backward_compilation_counts_too() -> None:
    text = FAILED.replace('"compilation_metrics"', '"bwd_compilation_metrics"')
    assert _compile(one(text, torch_trace))[:2] == ("0/0", "InductorError")


def test_values_of_unexpected_types_are_unknown() -> None:
    text = HEAD + '{"compilation_metrics": {"compile_id": 7, "fail_type": [1]}, "rank": "x"}\n'
    event = one(text, torch_trace)
    assert (_compile(event), event.rank) == ((None, None, None), None)


def test_version_stands_in_the_payload() -> None:
    event = one(VERSION, torch_trace)
    assert isinstance(event, TorchVersion)
    assert (event.version, event.process) == ("2.13.0+cpu", "7665")


def test_version_after_windows_line_ends() -> None:
    event = one(VERSION.replace("\n", "\r\n"), torch_trace)
    assert isinstance(event, TorchVersion)
    assert event.version == "2.13.0+cpu"


def test_real_trace_has_one_version_and_one_compilation() -> None:
    (log,) = FIXTURES.glob("healthy-aoti-trace-213/input/trace/*.log")
    scanned = scan(log.read_bytes())
    assert scanned.problems == ()
    (version,) = (event for event in scanned.events if isinstance(event, TorchVersion))
    (compilation,) = (event for event in scanned.events if isinstance(event, Compile))
    assert (version.version, version.place.line) == ("2.13.0+cpu", 2)
    assert (_compile(compilation), compilation.place.line) == ((None, None, None), 2818)


# what a record hides


def test_real_trace_has_its_wrapper_and_kernel_code() -> None:
    (log,) = FIXTURES.glob("healthy-aoti-trace-213/input/trace/*.log")
    codes = [event for event in scan(log.read_bytes()).events if isinstance(event, GeneratedCode)]
    assert {(code.language, code.part) for code in codes} == {("cpp", "wrapper"), ("cpp", "kernel")}
    (wrapper,) = (code.text for code in codes if code.part == "wrapper")
    assert "AOTInductorModel::run_impl(" in wrapper
    assert not wrapper.startswith("\t")


def test_generated_code_has_its_file_and_compilation() -> None:
    text = (
        HEAD + '{"inductor_output_code": {"filename": "/tmp/cabc.py"}, "frame_id": 1,'
        ' "frame_compile_id": 2, "has_payload": "d41d8cd98f00b204e9800998ecf8427e"}\n\t\n'
    )
    code = one(text, torch_trace)
    assert isinstance(code, GeneratedCode)
    assert (code.file, code.language, code.text, code.compile_id) == (
        "/tmp/cabc.py",
        "python",
        "",
        "1/2",
    )


def test_payload_with_another_md5_is_kept_and_told() -> None:
    scanned = scan(PAYLOAD)
    assert [event.name for event in scanned.events] == ["dynamo_error"]  # type: ignore[attr-defined]
    assert [trouble.line for trouble in scanned.problems] == [1]
    assert "MD5" in scanned.problems[0].what


def test_payload_hides_the_traceback_in_it() -> None:
    assert _failures(PAYLOAD) == []


def test_envelope_hides_the_reason_in_it() -> None:
    text = FAILED.replace("LoweringException: no", "CUDA error: misaligned address")
    (event,) = events(text)
    assert isinstance(event, Compile)


def test_line_after_a_payload_is_not_hidden() -> None:
    text = PAYLOAD + "RuntimeError: CUDA error: misaligned address\n"
    assert [event.place.line for event in _failures(text)] == [5]


def test_payload_longer_than_a_window_is_hidden_whole() -> None:
    filler = f"\t{'x' * 4000}  # CUDA error: misaligned address\n" * 400
    assert [event.place.line for event in _failures(PAYLOAD + filler + VERSION)] == [405]


def test_tab_led_line_without_a_record_above_is_not_hidden() -> None:
    assert one("\tRuntimeError: CUDA error: misaligned address\n").place.line == 1


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", torch_trace) == ((), 0, {}, ())


def test_envelope_that_is_no_json_is_a_problem() -> None:
    scanned = scan("a\n" + FAILED.replace('"0/0",', '"0/0"'), torch_trace)
    assert scanned.events == ()
    (problem,) = scanned.problems
    assert problem.line == 2
    assert problem.what.startswith("a trace record is no JSON: ")


def test_version_record_without_its_payload_is_a_problem() -> None:
    scanned = scan(VERSION.split("\n")[0] + "\nnext\n", torch_trace)
    assert [tuple(problem) for problem in scanned.problems] == [
        (1, "a torch_version record without a version")
    ]


def test_cut_at_any_byte_invents_no_version_or_reason() -> None:
    assert {
        event.version
        for event in every_cut(VERSION, torch_trace)
        if isinstance(event, TorchVersion)
    } == {"2.13.0+cpu"}
    assert {_compile(event) for event in every_cut(FAILED, torch_trace)} == {
        ("0/0", "InductorError", "LoweringException: no\n  target: aten.mm")
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"compilation_metrics": {"compile_id": "0/0"}}\n',
        'x] {"compilation_metrics": {"compile_id": "0/0"}}\n',
        HEAD + '{"text": ["] {\\"compilation_metrics\\": ", 1]}\n',
        "\t" + FAILED,
    ],
    ids=["no-head", "other-head", "quoted", "in-a-payload"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert scan(text, torch_trace)[0] == ()


def test_deeply_nested_envelope_is_a_problem() -> None:
    text = HEAD + '{"compilation_metrics": {"compile_id": ' + "[" * 100_000 + "}}\n"
    assert len(scan(text, torch_trace).problems) == 1


@settings(max_examples=80, deadline=None)
@given(
    around(*torch_trace.ANCHORS, HEAD.encode(), b"\n\t", b'{"compile_id": 1}}', VERSION.encode())
)
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, torch_trace).size == len(data)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200))
def test_payload_of_any_bytes_is_hidden(payload: bytes) -> None:
    record = PAYLOAD.encode() + b"\t" + payload.replace(b"\n", b"\n\t") + b"\n"
    assert _failures(record) == []
