"""What is offered next: remedies first, then the rung of the ladder, never a flag that was on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aoti_logscan.advice import FLAG_NAMES
from aoti_logscan.next_steps import _OF_THE_MACHINE, MAX_STEPS
from aoti_logscan.pattern import folder_of_patterns, read_patterns
from aoti_logscan.rungs import CPP_WRAPPER, FILTER, PRINTER, environment
from tests.conftest import FIXTURES, Diagnose, Run

HELP = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace"
    " below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)
ILLEGAL = "RuntimeError: CUDA error: an illegal memory access was encountered\n"
MISALIGNED = "RuntimeError: CUDA error: misaligned address\n"
OPERATOR = (
    "Error: aoti_torch_cpu_mm_out(buf1, buf0, w) API call failed at /t/c5.wrapper.cpp, line 9\n"
    'Traceback (most recent call last):\n  File "/srv/x.py", line 3, in <module>\n    out = f(x)\n'
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x16 and 17x8)\n"
)
CRASH = "run.sh: line 7:   977 Segmentation fault      (core dumped) python serve.py\n"
ASSERTION = (
    "/tmp/x/cabc.py:37: unknown: block: [0,0,0], thread: [0,0,0] Assertion "
    "`index out of bounds: 0 <= tmp4 < ks0` failed.\n"
)
NAN = "RuntimeError: At least one NaN in arg2_1\n"
MARK = "[ before_launch: triton_poi_fused_add_0 ]\n"
LOGS = (ILLEGAL, ILLEGAL + HELP, MISALIGNED, OPERATOR, CRASH, ASSERTION, NAN, MARK + ILLEGAL)


def _commands(report: dict[str, Any]) -> list[str]:
    return [step["command"] or "" for step in report["next_steps"]]


@pytest.mark.parametrize("flag", FLAG_NAMES)
@pytest.mark.parametrize("log", LOGS)
def test_flag_that_was_on_is_not_advised_again(log: str, flag: str, diagnose: Diagnose) -> None:
    commands = _commands(diagnose(f"$ {flag}=1 python serve.py\n{log}"))
    if flag == PRINTER:  # marks of names may be followed by values, which is another value of it
        assert not any(f"{PRINTER}=3" in command for command in commands)
    elif flag != FILTER:
        assert not any(f"{flag}=" in command for command in commands)


def test_steps_are_few_and_each_is_another(diagnose: Diagnose) -> None:
    for log in LOGS:
        steps = diagnose(log)["next_steps"]
        assert 1 <= len(steps) <= MAX_STEPS, log
        told = [(step["title"], step["command"]) for step in steps]
        assert len(set(told)) == len(told)
        assert all(step["why"] for step in steps)


def test_launches_are_made_blocking_by_the_flag_of_the_runtime(diagnose: Diagnose) -> None:
    hip = ILLEGAL.replace("CUDA error", "HIP error")
    assert "AMD_SERIALIZE_KERNEL=3" in " ".join(_commands(diagnose(hip)))
    assert "CUDA_LAUNCH_BLOCKING" not in " ".join(_commands(diagnose(hip)))


def test_kernel_that_is_not_known_gets_a_mark_for_every_launch(diagnose: Diagnose) -> None:
    [marked] = [one for one in _commands(diagnose(ILLEGAL)) if f"{PRINTER}=3" in one]
    assert "aoti-logscan run" in marked


def test_kernel_that_was_marked_is_printed_next(diagnose: Diagnose) -> None:
    blocking = f"$ CUDA_LAUNCH_BLOCKING=1 python serve.py\n{MARK}{ILLEGAL}"
    commands = _commands(diagnose(blocking))
    assert any(f"{PRINTER}=2 {FILTER}=triton_poi_fused_add_0 " in one for one in commands)


def test_kernel_that_came_back_is_not_printed(diagnose: Diagnose) -> None:
    log = f"{MARK}{MARK.replace('before', 'after')}{CRASH}"
    assert not any(f"{PRINTER}=2" in command for command in _commands(diagnose(log)))


def test_printed_kernel_leads_to_those_that_made_its_inputs(run: Run, tmp_path: Path) -> None:
    tower = FIXTURES / "op-second-of-two-mm-with-provenance" / "input" / "tower.pt2"
    kernel = "cpp_fused__log_softmax_1"
    block = (
        f"[  before_launch - {kernel} - buf2  ]:\nNumber of elements: 2\nDtype: float32\n"
        "Mean value: 1.5\nMin value: 1\nMax value: 2\nDevice: cpu\nSize: [1, 2]\nStride: [2, 1]\n"
        "Layout: Strided\nIs contiguous: 1\nRequires grad: 0\n\n"
    )
    log = tmp_path / "run.log"
    log.write_text(block + CRASH)
    report = json.loads(run("-f", "json", str(log), str(tower)).stdout)
    [made] = [command for command in _commands(report) if FILTER in command]
    assert f"{FILTER}=aoti_torch_cpu_mm_out " in made


def test_marks_that_a_pipe_may_have_lost_are_kept_by_run(diagnose: Diagnose) -> None:
    printed = f"{MARK}{MARK.replace('before', 'after')}{CRASH}"
    assert "aoti-logscan run -- python SCRIPT.py" in _commands(diagnose(printed))
    is_open = f"{MARK}{CRASH}"
    assert "aoti-logscan run -- python SCRIPT.py" not in _commands(diagnose(is_open))


def test_remedy_of_a_decided_failure_comes_before_more_debugging(diagnose: Diagnose) -> None:
    text = "Error: input_handles[0]: unmatched dim value at 1, expected: 16, but got: 17\n"
    report = diagnose(text)
    first = report["next_steps"][0]
    assert (first["command"], first["title"]) == (None, report["findings"][0]["fixes"][0])


def test_code_that_torch_compile_ran_is_not_told_to_check_inputs(diagnose: Diagnose) -> None:
    log = (
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", line 5, in wrap\n'
        "    return fn(*args)\n"
        "RuntimeError: kernel, /tmp/torchinductor_u/aa/cabc.main.cpp:26, index out of bounds: "
        "0 <= tmp7 < 10L\n"
    )
    assert not any("AOTI_RUNTIME_CHECK_INPUTS" in command for command in _commands(diagnose(log)))


FROM_COMPILED = (
    "Traceback (most recent call last):\n"
    '  File "/v/lib/python3.11/site-packages/torch/_inductor/output_code.py", line 5, in call\n'
    "    return self.current_callable(inputs)\n"
    '  File "/tmp/torchinductor_u/ab/cabc.py", line 40, in call\n'
    "    {call}\n"
    "{error}"
)
CPU_INDEX = "RuntimeError: kernel, /t/c.main.cpp:26, index out of bounds: 0 <= tmp7 < 10L\n"


@pytest.mark.parametrize(
    ("call", "error", "printed", "from_cpp"),
    [
        ("cpp_fused_add_0(arg0_1, buf0)", CPU_INDEX, f"{FILTER}=cpp_fused_add_0 ", True),
        ("out = f(x)", ILLEGAL, f"{PRINTER}=3 ", True),
        ("triton_poi_fused_0.run(arg0_1, 8)", ILLEGAL, f"{FILTER}=triton_poi_fused_0 ", False),
    ],
)
def test_printer_is_offered_with_the_wrapper_that_prints(
    call: str, error: str, printed: str, from_cpp: bool, diagnose: Diagnose
) -> None:
    blocking = "$ CUDA_LAUNCH_BLOCKING=1 python x.py\n"
    log = blocking + FROM_COMPILED.format(call=call, error=error)
    [command] = [one for one in _commands(diagnose(log)) if printed in one]
    assert ("TORCHINDUCTOR_CPP_WRAPPER=1 " in command) is from_cpp


def test_file_of_a_check_tells_that_torch_compile_made_it(diagnose: Diagnose) -> None:
    log = CPU_INDEX.replace("kernel,", "cpp_fused_0,")
    commands = _commands(diagnose(log))
    assert not any("COMPILE_SCRIPT" in one or "CHECK_INPUTS" in one for one in commands)
    of_package = _commands(diagnose(log.replace(".main.", ".wrapper.")))
    assert any("CHECK_INPUTS" in command for command in of_package)


def test_package_prints_without_another_wrapper(diagnose: Diagnose) -> None:
    assert not any("CPP_WRAPPER" in command for command in _commands(diagnose(MARK + ILLEGAL)))


@pytest.mark.parametrize(
    ("kernels", "from_cpp"),
    [((), True), (("cpp_fused_0", "triton_poi_0"), True), (("triton_poi_0",), False)],
)
def test_rung_sets_the_wrapper_that_prints(kernels: tuple[str, ...], from_cpp: bool) -> None:
    assert (CPP_WRAPPER in environment("inspect", kernels)) is from_cpp
    assert environment("kernels", kernels)[CPP_WRAPPER] == "1"
    assert CPP_WRAPPER not in environment("pinpoint", kernels)


@pytest.mark.parametrize("checked", [True, False])
def test_checks_of_an_older_package_take_effect_when_it_is_compiled(
    checked: bool, run: Run, tmp_path: Path
) -> None:
    check = 'ss << "input_handles[0]: unmatched dtype, "\n' if checked else ""
    wrapper = f"void AOTInductorModel::run_impl(\n{check}    cpp_fused_0(buf0);\n"
    (tmp_path / "c5.wrapper.cpp").write_text(wrapper)
    (tmp_path / "run.log").write_text(OPERATOR)
    report = json.loads(run("-f", "json", str(tmp_path)).stdout)
    [flag] = [one for one in report["flags"] if one["name"] == "AOTI_RUNTIME_CHECK_INPUTS"]
    assert (flag["takes_effect"], flag["state"]) == ("compile", "on" if checked else "off")
    steps = [step for step in report["next_steps"] if "CHECK_INPUTS" in (step["command"] or "")]
    assert [step["takes_effect"] for step in steps] == ([] if checked else ["compile"])
    assert all("COMPILE_SCRIPT.py" in step["command"] for step in steps)


def test_deprecated_interface_is_followed_by_the_current_one(diagnose: Diagnose) -> None:
    warning = (
        "W1130 06:54:11.818000 29384 torch/_export/__init__.py:74] torch._export.aot_compile()/"
        "torch._export.aot_load() is being deprecated, please switch to directly calling "
        "torch._inductor.aoti_compile_and_package(torch.export.export())/"
        "torch._inductor.aoti_load_package() instead.\n"
    )
    assert any("aoti_compile_and_package" in one for one in _commands(diagnose(warning + CRASH)))


@pytest.mark.parametrize(
    ("log", "setting"),
    [
        ("RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)\n",
         "UR_L0_SERIALIZE=2"),
        ('Traceback (most recent call last):\n  File "/x.py", line 3, in <module>\n    f(x)\n'
         "torch._C._LinAlgError: linalg.inv: The diagonal element 1 is zero\n",
         "AOTI_RUNTIME_CHECK_INPUTS=1"),
    ],
)  # fmt: skip
def test_undecided_says_what_is_open_and_what_would_decide_it(
    log: str, setting: str, diagnose: Diagnose
) -> None:
    report = diagnose(log)
    assert report["verdict"]["class"] == "undecided"
    first = report["next_steps"][0]
    assert setting in first["command"]
    assert report["verdict"]["summary"].endswith(f"Open is: {first['why']}")


ILLEGAL_INSTRUCTION = "RuntimeError: CUDA error: an illegal instruction was encountered\n"
REFUSED = "RuntimeError: Triton Error [CUDA]: invalid argument\n"
BLOCK = (
    "========= Invalid __global__ read of size 4 bytes\n"
    "=========     at triton_poi_fused_add_0+0x3d0\n"
)
DUMP = "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1"


@pytest.mark.parametrize("log", [ILLEGAL, MISALIGNED, ILLEGAL_INSTRUCTION])
def test_gpu_that_stops_at_a_fault_can_write_its_state(log: str, diagnose: Diagnose) -> None:
    [dump] = [command for command in _commands(diagnose(log)) if DUMP in command]
    assert "cuda-gdb" in dump
    assert not any(DUMP in one for one in _commands(diagnose(f"$ {DUMP} python serve.py\n{log}")))
    on_hip = diagnose(log.replace("CUDA error", "HIP error"))
    assert not any(DUMP in command for command in _commands(on_hip))
    assert any("librocm-debug-agent" in command for command in _commands(on_hip))


@pytest.mark.parametrize("log", [REFUSED, CRASH, NAN, ASSERTION, BLOCK + ILLEGAL])
def test_nothing_is_written_where_no_kernel_faulted_or_it_is_known(
    log: str, diagnose: Diagnose
) -> None:
    assert not any("COREDUMP" in command for command in _commands(diagnose(log)))


def test_sanitizer_that_was_at_work_is_not_advised_again(diagnose: Diagnose) -> None:
    assert any("compute-sanitizer" in one for one in _commands(diagnose(ILLEGAL)))
    assert not any("compute-sanitizer" in one for one in _commands(diagnose(BLOCK + ILLEGAL)))


def test_step_says_what_its_flags_and_tools_cost(diagnose: Diagnose) -> None:
    costs = {step["command"]: step["costs"] for step in diagnose(ILLEGAL)["next_steps"]}
    [blocking] = [told for command, told in costs.items() if "LAUNCH_BLOCKING=1 PYT" in command]
    assert "host and GPU no longer overlap" in blocking
    assert "each allocation is a call of the driver" in blocking
    [sanitizer] = [told for command, told in costs.items() if "compute-sanitizer" in command]
    assert sanitizer.startswith("the program runs ten to a hundred times slower")
    remedy = diagnose(
        "Error: input_handles[0]: unmatched dim value at 1, expected: 1, but got: 7\n"
    )
    assert remedy["next_steps"][0]["costs"] is None


FROM_PYTHON = (
    "Fatal Python error: Segmentation fault\n\n"
    "Current thread 0x00007f15d7fff640 (most recent call first):\n"
    '  File "{file}", line 57 in infer\n'
)


def test_dump_that_was_read_is_not_advised_again_but_a_debugger_is(diagnose: Diagnose) -> None:
    assert any("-X faulthandler" in command for command in _commands(diagnose(CRASH)))
    commands = _commands(diagnose(FROM_PYTHON.format(file="/srv/serve.py")))
    assert not any("faulthandler" in command.lower() for command in commands)
    assert any(command.startswith("gdb ") for command in commands)


def test_debugger_that_was_at_work_is_not_advised_again(diagnose: Diagnose) -> None:
    stack = (
        'Thread 1 "python" received signal SIGSEGV, Segmentation fault.\n'
        "#0  0x00007ffff6e6665c in boom_cpu () at boom.cpp:13\n"
    )
    assert not any(command.startswith("gdb ") for command in _commands(diagnose(stack)))


def test_user_of_windows_is_told_once_how_a_variable_is_set(diagnose: Diagnose) -> None:
    steps = diagnose(FROM_PYTHON.format(file="D:\\proj\\serve.py"))["next_steps"]
    [told] = [step for step in steps if "set NAME=VALUE" in step["title"]]
    assert (told, told["command"]) == (steps[-1], None)
    assert any("AOTI_RUNTIME_CHECK_INPUTS=1 " in (step["command"] or "") for step in steps)
    assert not any((step["command"] or "").startswith("gdb ") for step in steps)


@pytest.mark.parametrize("file", ["/srv/serve.py", "serve.py", "C:relative.py"])
def test_nobody_else_is_told_of_windows(file: str, diagnose: Diagnose) -> None:
    steps = diagnose(FROM_PYTHON.format(file=file))["next_steps"]
    assert not any("Windows" in step["title"] for step in steps)


@pytest.mark.parametrize(
    ("log", "command"),
    [
        ("RuntimeError: CUDA error: invalid device ordinal\n", "CUDA_VISIBLE_DEVICES"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered\n", "nvidia-smi -q -d ECC"),
        ("RuntimeError: CUDA error: system not yet initialized\n", "nvidia-smi -q"),
        ("./serve.sh: line 9:  2741 Bus error   (core dumped) python serve.py\n", "/dev/shm"),
    ],
)
def test_failure_of_the_machine_asks_for_no_kernel(
    log: str, command: str, diagnose: Diagnose
) -> None:
    commands = _commands(diagnose(log))
    assert command in commands[0]
    assert not any(PRINTER in one or "LAUNCH_BLOCKING" in one for one in commands)


def test_patterns_of_the_machine_exist() -> None:
    assert {pattern.id for pattern in read_patterns(folder_of_patterns())} >= _OF_THE_MACHINE


FAILED = "E0520 19:20:20 3001 torch/distributed/elastic/multiprocessing/api.py:882] failed "
LAUNCHER = f"{FAILED}(exitcode: 1) local_rank: 0 (pid: 3010) of binary: /usr/bin/python3\n"


def test_launcher_alone_asks_for_what_its_processes_printed(diagnose: Diagnose) -> None:
    report = diagnose(LAUNCHER)
    assert report["verdict"]["class"] == "undecided"
    [command] = _commands(report)
    assert "--redirects 3 --log-dir LOGS" in command


def test_symptom_is_looked_at_before_what_a_launcher_says(diagnose: Diagnose) -> None:
    lost = "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)\n"
    assert not any("torchrun" in command for command in _commands(diagnose(lost + LAUNCHER)))


def test_program_that_runs_out_of_memory_is_observed_itself(diagnose: Diagnose) -> None:
    log = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    command = _commands(diagnose(log))[0]
    assert command.endswith('" SCRIPT.py')
    program = command.removeprefix('python -c "').removesuffix('" SCRIPT.py')
    compile(program, "<step>", "exec")
    assert program.index("_record_memory_history") < program.index("run_path")


def test_device_that_was_asked_for_is_made_current(diagnose: Diagnose) -> None:
    conflict = "RuntimeError: Specified device cuda:3 does not match device of data cuda:0\n"
    constants = (
        "frame #4: torch::aot_inductor::AOTInductorModelBase<torch::aot_inductor::"
        "AOTInductorModel>::load_constants() + 0x3b8 (0x7c0be8dcff9b in /t/cija.wrapper.so)\n"
    )
    stack = "Exception raised from make_tensor at Functions.cpp:30 (most recent call first):\n"
    commands = _commands(diagnose(conflict + stack + constants))
    assert 'torch.cuda.set_device("cuda:3")' in commands
    assert not any("set_device" in command for command in _commands(diagnose(conflict)))
