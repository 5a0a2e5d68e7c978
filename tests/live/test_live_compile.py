"""Real compilations that fail, and compiled functions that fail when they run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.live.conftest import SCRIPTS, Compile, Output, Piped, Scan, only_cause

pytestmark = pytest.mark.live


def _failed(output: Output) -> str:
    assert output.status == 1, output.text
    return output.text


def test_operator_whose_strides_are_not_those_of_its_fake(
    compile_wrong: Compile, piped: Piped
) -> None:
    facts = only_cause(piped(_failed(compile_wrong("transposed"))), "size-stride-assert")
    assert facts == {
        "op": "torch.ops.late.turned.default",
        "property": "stride",
        "dim": 0,
        "expected": 8,
        "actual": 1,
    }


def test_nan_in_an_input_of_a_compiled_function(compile_wrong: Compile, piped: Piped) -> None:
    text = _failed(compile_wrong("nan", TORCHINDUCTOR_NAN_ASSERTS="1"))
    report = piped(text)
    assert report["verdict"]["class"] == "nan-or-inf"
    facts = report["findings"][report["verdict"]["finding"]]["facts"]
    assert facts == {"tensor": "arg0_1", "kernel": None, "kind": "nan"}


def test_index_that_a_compiled_function_rejects(compile_wrong: Compile, piped: Piped) -> None:
    text = _failed(compile_wrong("index"))
    found = re.search(r"(\S+\.main\.cpp):(\d+), index out of bounds: (\w+) <= (\w+) < (\w+)", text)
    assert found, text
    report = piped(text)
    facts = only_cause(report, "cpu-index-out-of-bounds")
    assert (facts["file"], facts["line"]) == (found[1], int(found[2]))
    assert (facts["lower"], facts["index"], facts["upper"]) == found.group(3, 4, 5)
    assert facts["kernel"] in (None, "cpp_fused_index_sin_0")
    assert report["last_kernel"]["name"] == "cpp_fused_index_sin_0"


def test_result_that_no_memory_can_hold(compile_wrong: Compile, piped: Piped) -> None:
    facts = only_cause(piped(_failed(compile_wrong("memory"))), "out-of-memory")
    assert facts["device"] == "cpu"
    assert str(facts["requested"]).startswith(str(2**52))


@pytest.mark.parametrize(
    ("kind", "stage", "exception", "message"),
    [
        ("graph-break", "dynamo", "Unsupported", "Data-dependent branching"),
        ("shapes", "dynamo", "TorchRuntimeError", "a and b must have same reduction dim"),
        ("data-dependent", "export", "GuardOnDataDependentSymNode", "u0 > 3"),
        ("constraint", "export", "UserError", "batch"),
    ],
)
def test_what_cannot_be_captured(
    kind: str,
    stage: str,
    exception: str,
    message: str,
    compile_wrong: Compile,
    piped: Piped,
) -> None:
    report = piped(_failed(compile_wrong(kind)))
    facts = only_cause(report, "compile-failure")
    assert facts["stage"] == stage
    assert exception in facts["exception"]
    assert message in facts["message"]
    assert "\n" not in facts["message"]
    assert report["last_kernel"] is None


@pytest.mark.parametrize(
    ("kind", "compiler", "stage", "exception", "message"),
    [
        (
            "lowering",
            "g++",
            "lowering",
            "LoweringException|NotImplementedError",
            "rounding of strided rows",
        ),
        ("compiled", "false", "cpp-compile", "InvalidCxxCompiler", "No working C.. compiler"),
        ("compiled", "/gone/g++", "cpp-compile", "InvalidCxxCompiler", "No working C.. compiler"),
        (
            "compiled",
            "compiler.sh",
            "cpp-compile",
            "CppCompileError",
            "C.. compile error|omp.h: No",
        ),
    ],
    ids=["lowering", "compiler-false", "compiler-gone", "compiler-fails"],
)
def test_failed_compilation_is_read_from_its_log_and_from_its_trace(
    kind: str,
    compiler: str,
    stage: str,
    exception: str,
    message: str,
    compile_wrong: Compile,
    scan: Scan,
    tmp_path: Path,
) -> None:
    cxx = SCRIPTS / compiler if compiler.endswith(".sh") else compiler
    flags = {"CXX": str(cxx), "TORCH_TRACE": str(tmp_path / "trace")}
    log = tmp_path / "run.log"
    log.write_text(_failed(compile_wrong(kind, **flags)))
    # the trace has a type of its own: InductorError, whatever it wraps
    for left, raised in ((log, exception), (tmp_path / "trace", f"{exception}|InductorError")):
        report = scan(left)
        facts = only_cause(report, "compile-failure")
        assert facts["stage"] == stage, left
        assert re.search(raised, facts["exception"]), left
        assert re.search(message, facts["message"]), left
        assert report["last_kernel"] is None
    only_cause(scan(tmp_path), "compile-failure")
