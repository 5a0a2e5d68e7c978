"""Which flags of compile time a wrapper shows, and what the report makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aoti_logscan.advice import flags
from aoti_logscan.artifacts.generated_with import GeneratedWith, generated_with
from aoti_logscan.artifacts.wrapper_code import read_wrapper
from tests.conftest import FIXTURES, Run

AOTI = "void AOTInductorModel::run_impl(\n{}\n"
READS_FLAG = "static bool _check_aoti_runtime_check_inputs_env() {"


def _made(*lines: str) -> GeneratedWith:
    return generated_with([read_wrapper("a.wrapper.cpp", AOTI.format(line)) for line in lines])


def _state(name: str, code: GeneratedWith) -> str:
    return next(flag.state for flag in flags([], code) if flag.name == name)


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        (
            'printf("[ before_launch: cpp_fused_0 ]\\n");',
            "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER",
        ),
        (
            'aoti_torch_save_tensor_handle(buf0, "buf0", "before_launch", "cpp_fused_0");',
            "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER",
        ),
        ('aoti_torch_check_inf_and_nan("arg0_1", arg0_1);', "TORCHINDUCTOR_NAN_ASSERTS"),
        ("// [Provenance debug handles] cpp_fused_0:1", "INDUCTOR_PROVENANCE"),
        (
            'KernelContextGuard _ctx("cpp_fused_0", R"(',
            "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE",
        ),
    ],
)
def test_flag_stands_in_the_code_that_it_changed(line: str, flag: str) -> None:
    assert _state(flag, _made(line)) == "on"
    assert _state(flag, _made("cpp_fused_0(buf0);")) == "off"
    assert _state(flag, _made(line, "cpp_fused_0(buf0);")) == "unknown"
    assert _state(flag, generated_with([])) == "unknown"


def test_nan_assertion_of_a_python_wrapper_shows_too() -> None:
    text = "def call(args):\n    assert not arg0_1.isnan().any().item()\n"
    assert generated_with([read_wrapper("a.py", text)]).nan_asserts is True


def test_checks_are_of_run_time_where_the_wrapper_asks_for_the_flag() -> None:
    assert _made(READS_FLAG).checks == "run"
    assert _made("cpp_fused_0(buf0);").checks == "compile"
    assert _made(READS_FLAG, "cpp_fused_0(buf0);").checks is None


def test_kernels_alone_say_nothing() -> None:
    kernel = read_wrapper("a.kernel.cpp", 'extern "C" void cpp_fused_0(float* out_ptr0) {}\n')
    assert generated_with([kernel]) == GeneratedWith()


def test_real_package_shows_its_flags(run: Run) -> None:
    folder = FIXTURES / "op-second-of-two-mm-with-provenance" / "input"
    report = json.loads(run("-f", "json", str(folder)).stdout)
    states = {flag["name"]: (flag["state"], flag["takes_effect"]) for flag in report["flags"]}
    assert states["INDUCTOR_PROVENANCE"] == ("on", "compile")
    assert states["AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER"] == ("off", "compile")
    assert states["AOTI_RUNTIME_CHECK_INPUTS"] == ("unknown", "run")


def test_trace_and_logged_code_show_that_they_were_asked_for(run: Run, tmp_path: Path) -> None:
    trace = FIXTURES / "lineage-scatter" / "input" / "trace"
    logged = FIXTURES / "lineage-bound-is-an-expression" / "input"
    for folder, flag in ((trace, "TORCH_TRACE"), (logged, "TORCH_LOGS")):
        report = json.loads(run("-f", "json", str(folder)).stdout)
        assert [one["state"] for one in report["flags"] if one["name"] == flag] == ["on"]
    warning = "W1130 06:54:11.818000 29384 torch/x.py:74] Loading outdated pt2 file.\n"
    (tmp_path / "run.log").write_text(warning)
    report = json.loads(run("-f", "json", str(tmp_path)).stdout)
    assert [one["state"] for one in report["flags"] if one["name"] == "TORCH_LOGS"] == ["unknown"]
