"""Values nested a hundred thousand deep, wherever JSON or an expression is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aoti_logscan.artifacts.wrapper_code import source_stem
from tests.conftest import Run
from tests.hostile.packed import zipped
from tests.hostile.tool import CLASS, ERROR, fixture, scan, told

DEEP = 100_000
NESTED = {
    "lists": "[" * DEEP + "]" * DEEP,
    "maps": '{"a":' * DEEP + "1" + "}" * DEEP,
    "open": "[" * DEEP,
    "maps of lists": '{"a":[' * DEEP,
}
EACH = pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED)


@EACH
@pytest.mark.parametrize(
    "envelope",
    [
        '{"compilation_metrics": %s, "frame_id": 0}',
        '{"artifact": {"name": "torch_version", "encoding": %s}, "has_payload": "e"}',
        '{"str": %s}',
        "%s",
        '{"dynamo_error": {"a": %s}}',
    ],
)
def test_nested_trace_envelope_costs_nothing_else(run: Run, nested: str, envelope: str) -> None:
    head = "V1130 06:29:53.164000 16210 torch/_dynamo/utils.py:2009] "
    data = (head + envelope % nested + "\n").encode() + ERROR
    report = scan(run, "-", stdin=data)
    assert report.verdict.failure_class == CLASS


@EACH
@pytest.mark.parametrize("part", ["metrics", "payload"])
def test_nested_failure_reason_is_read_or_said(run: Run, nested: str, part: str) -> None:
    reason = json.dumps(nested)
    metrics = (
        "V1130 10:02:52.685000 2443 torch/_dynamo/utils.py:2009] "
        '{"compilation_metrics": {"compile_id": "0/0", "fail_type": "InductorError", '
        f'"fail_reason": {reason if part == "metrics" else nested}}}, "frame_id": 0}}\n'
    )
    report = scan(run, "-", stdin=metrics.encode())
    assert report.verdict.failure_class in ("compile-failure", "none")
    assert report.verdict.failure_class == "compile-failure" or told(report)


@EACH
@pytest.mark.parametrize(
    "name",
    [
        "m_metadata.json",
        "m.wrapper_metadata.json",
        "kernel_information.json",
        "inductor_provenance_tracking_node_mappings.json",
        "m.wrapper.json",
    ],
)
def test_nested_file_of_a_package_is_a_problem(
    run: Run, tmp_path: Path, nested: str, name: str
) -> None:
    (tmp_path / "run.log").write_bytes(ERROR)
    (tmp_path / name).write_text(nested)
    entry = f"m/data/aotinductor/model/{name}"
    (tmp_path / "model.pt2").write_bytes(zipped({entry: nested.encode()}))
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert len(told(report)) == 2


@EACH
@pytest.mark.parametrize(
    "name",
    [
        "inductor_provenance_tracking_kernel_stack_traces",
        "inductor_provenance_tracking_node_mappings",
        "before_pre_grad_graph",
    ],
)
def test_nested_provenance_in_a_trace_is_passed_over(run: Run, nested: str, name: str) -> None:
    head = "V1130 06:29:53.164000 16210 torch/_dynamo/utils.py:2009] "
    envelope = json.dumps({"artifact": {"name": name, "encoding": "json"}, "has_payload": "e" * 32})
    data = f"{head}{envelope}\n\t{nested}\n".encode() + ERROR
    assert scan(run, "-", stdin=data).verdict.failure_class == CLASS


@EACH
def test_nested_record_of_a_run_is_said(run: Run, tmp_path: Path, nested: str) -> None:
    (tmp_path / "run.json").write_text('{\n "aoti_logscan_run": "1",\n "x": ' + nested + "}")
    report = scan(run, tmp_path)
    assert (report.verdict.failure_class, told(report)) == (
        "none",
        ["a run.json that cannot be read"],
    )


@EACH
def test_nested_text_in_failures_is_text(run: Run, nested: str) -> None:
    text = (
        f"[  before_launch - k - {nested}  ]:\nDtype: {nested}\n"
        f"x.py:3: f: block: [0,0,0], thread: [1,0,0] Assertion `{nested} < 5` failed.\n"
        f"RuntimeError: CUDA error: misaligned address {nested}\n"
        f"torch._inductor.exc.InductorError: {nested}\n"
    )
    scan(run, "-", stdin=text.encode())


LONG = 20_000
EXPRESSIONS = {
    "parentheses": "(" * LONG + "x0" + ")" * LONG,
    "minus": "-" * LONG + "1",
    "calls": "tl.where(" * LONG + "x0" + ", 1, 2)" * LONG,
    "sum": " + ".join(["x0"] * LONG),
    "comparison": " < ".join(["x0"] * LONG),
    "attributes": "x0" + ".to(tl.int32)" * LONG,
    "powers": "9**9**9**9",
    "shift": "1 << 1000000000",
    "digits": "9" * LONG,
    "hex digits": "0x" + "f" * LONG,
    "exponent": "1e999999999",
    "division": "x0 // 0",
    "remainder": "x0 % 0",
    "lambdas": "lambda: " * LONG + "1",
}


def _checked(expression: str) -> tuple[str, str]:
    """Generated code with one kernel that checks an index, and the line that a GPU prints."""
    source = (
        "\n@triton.jit\n"
        "def triton_poi_0(in_ptr0, out_ptr0, ks0, xnumel, XBLOCK : tl.constexpr):\n"
        "    x0 = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]\n"
        f"    tmp0 = {expression}\n"
        "    tl.device_assert((0 <= tmp0) & (tmp0 < ks0), "
        '"index out of bounds: 0 <= tmp0 < ks0")\n'
    )
    code = (
        f"triton_poi_0 = async_compile.triton('triton_poi_0', '''{source}''')\n"
        "def call(args):\n    arg0_1, arg1_1 = args\n    s0 = arg0_1\n"
        "    triton_poi_0.run(arg1_1, buf0, s0, s0, stream=stream0)\n"
    )
    line = (
        f"/tmp/{source_stem(source)}.py:6: unknown: block: [0,0,0], thread: [0,0,0] "
        "Assertion `index out of bounds: 0 <= tmp0 < ks0` failed.\n"
    )
    return code, line


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expression_without_end_is_decided_all_the_same(
    run: Run, tmp_path: Path, expression: str
) -> None:
    code, line = _checked(expression)
    (tmp_path / "out.py").write_text(code)
    (tmp_path / "run.log").write_text(line)
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == "triton-index-out-of-bounds"
    assert report.lineage is None or report.lineage.failing_values == ()


def test_plain_expression_is_followed_to_the_size_that_fails(run: Run, tmp_path: Path) -> None:
    code, line = _checked("x0 + ks0")
    (tmp_path / "out.py").write_text(code)
    (tmp_path / "run.log").write_text(line)
    report = scan(run, tmp_path)
    assert report.lineage is not None
    assert report.lineage.failing_values != ()


def test_code_of_many_kernels_is_read(run: Run, tmp_path: Path) -> None:
    code, _ = _checked("x0")
    (tmp_path / "out.py").write_text(code * 2_000)
    (tmp_path / "run.log").write_bytes(fixture("input-dtype/input/run.log"))
    assert scan(run, tmp_path).verdict.failure_class == "input-mismatch"
