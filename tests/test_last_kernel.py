"""The last kernel in the report: found by what, how sure, why, and when there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aoti_logscan.recording import run_record
from tests.conftest import FIXTURES, Diagnose, Run
from tests.parsers.conftest import WRAPPER_CPP

BLOCKING = "$ CUDA_LAUNCH_BLOCKING=1 python run.py\n"
IMA = "RuntimeError: CUDA error: an illegal memory access was encountered\n"
LATE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace"
    " below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)
#: the help that is printed where launches were blocking: its first lines are missing
NOT_LATE = "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
DIED = "Segmentation fault (core dumped)\n"
WRAPPER = "/tmp/torchinductor_dev/cs25/cryqiroxsibd62sqkzrg4wsyr46srxtqin3ru67cdmb3.wrapper.cpp"
CALL = "aoti_torch_cuda_addmm_out(buf1, buf0, arg3_1, 1L, 1L)"
SHIM = f"Error: {CALL} API call failed at {WRAPPER}, line 923\n"
GENERATED = "/tmp/torchinductor_mira/ij/cijdmgtwbagokbq6a3k4dfv5ecseesgcjaunde5lotoualhlmqpg.py"
LAUNCH = "triton_poi_fused_add_gather_3.run(buf2, arg3_1, buf5, 262144, stream=stream0)"
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/home/mira/plover/infer.py", line 73, in <module>\n'
    "    y = model(x, gather_idx)\n"
    f'  File "{GENERATED}", line 418, in call\n'
    f"    {LAUNCH}\n"
    '  File "/opt/venv/lib/python3.12/site-packages/torch/_inductor/runtime/triton_heuristics.py",'
    " line 1335, in run\n"
    "    return launcher(\n"
)
SANITIZER = (
    "========= Invalid __global__ read of size 4 bytes\n"
    "=========     at triton_poi_fused_index_select_2+0x3d0 in /tmp/torchinductor_a/v4/cv4g.py:29\n"
    "=========     by thread (41,0,0) in block (7,0,0)\n"
    "=========     Address 0x7f31c8400a44 is out of bounds\n"
)
GDB = (
    'Thread 1 "python" received signal SIGSEGV, Segmentation fault.\n'
    "#0  0x00007ffff6e6665c in cpp_fused_index_sin_0 () at /tmp/x/cabc.kernel.cpp:13\n"
    "#1  0x00007fffddc792f2 in torch::aot_inductor::AOTInductorModel::run_impl () at a.cpp:1\n"
)
MISMATCH = (
    "Error: input_handles[1]: unmatched dtype, expected: 6(at::kFloat), but got: 11(at::kBool)\n"
)
FAILED_COMPILE = (
    "V1130 06:57:13.145000 30988 torch/_dynamo/utils.py:2010] "
    '{"compilation_metrics": {"compile_id": "0/0", "fail_type": "InductorError",'
    ' "fail_reason": "LoweringException: no"}, "frame_id": 0}\n'
)
LOST = "; marks on a piped stdout may be lost when a process dies"


def _before(kernel: str) -> str:
    return f"[ before_launch: {kernel} ]\n"


def _pair(kernel: str) -> str:
    return f"[ before_launch: {kernel} ]\n[ after_launch: {kernel} ]\n"


def _kernel(report: dict[str, Any]) -> dict[str, Any]:
    kernel: dict[str, Any] | None = report["last_kernel"]
    assert kernel is not None
    return kernel


def _told(report: dict[str, Any]) -> tuple[str, str, str]:
    kernel = _kernel(report)
    return kernel["name"], kernel["certainty"], kernel["found_by"]


def _read(run: Run, folder: Path) -> dict[str, Any]:
    result = run("-f", "json", str(folder))
    assert result.exit_code == 1, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


# printer marks


@pytest.mark.parametrize(
    ("text", "certainty", "is_open", "why"),
    [
        (
            _pair("k0") + _before("k1") + IMA + LATE,
            "likely",
            True,
            "its launch was marked and never came back; an earlier one may be at fault",
        ),
        (
            BLOCKING + _pair("k0") + _before("k1") + IMA,
            "sure",
            True,
            "its launch was marked and never came back, and launches were not asynchronous",
        ),
        (
            _pair("k0") + _pair("k1") + IMA + LATE,
            "likely",
            False,
            "it came back: the failure lies after it, in what prints no mark",
        ),
        (
            BLOCKING + _pair("k0") + _pair("k1") + IMA,
            "likely",
            False,
            "it came back: the failure lies after it, in what prints no mark",
        ),
        (
            _pair("k0") + _before("k1") + DIED,
            "likely",
            True,
            "its launch was marked and never came back" + LOST,
        ),
        (
            _pair("k0") + _pair("k1") + DIED,
            "likely",
            False,
            "it came back: the failure lies after it, in what prints no mark" + LOST,
        ),
    ],
    ids=[
        "asynchronous",
        "blocking",
        "closed-asynchronous",
        "closed-blocking",
        "died",
        "died-closed",
    ],
)
def test_last_mark_is_as_sure_as_what_is_around_it(
    diagnose: Diagnose, text: str, certainty: str, is_open: bool, why: str
) -> None:
    kernel = _kernel(diagnose(text))
    assert (kernel["name"], kernel["found_by"]) == ("k1", "printer")
    assert (kernel["certainty"], kernel["open"], kernel["why"]) == (certainty, is_open, why)
    assert (kernel["launch_index"], kernel["call"]) == (1, None)


def test_evidence_is_the_mark_that_was_printed_last(diagnose: Diagnose) -> None:
    kernel = _kernel(diagnose(_pair("k0") + _before("k1") + IMA))
    offset = len(_pair("k0"))
    assert kernel["evidence"] == {
        "source": "<stdin>",
        "line": 3,
        "offset": offset,
        "text": "[ before_launch: k1 ]",
    }


def test_arguments_are_those_of_the_last_launch(diagnose: Diagnose) -> None:
    block = (
        "[  before_launch - k1 - buf0  ]:\n"
        "Number of elements: 2\nDtype: float32\nMean value: nan\nMin value: nan\nMax value: 2\n"
        "Device: cuda:0\nSize: [2]\nStride: [1]\n\n"
    )
    assert _kernel(diagnose(block.replace("k1", "k0") + block + IMA))["arguments"] == [
        {
            "name": "buf0",
            "phase": "before",
            "dtype": "float32",
            "device": "cuda:0",
            "size": [2],
            "stride": [1],
            "numel": 2,
            "min": None,
            "max": 2.0,
            "mean": None,
            "nan": True,
            "inf": False,
        }
    ]


def test_marks_that_came_after_the_error_in_a_mixed_log_count(diagnose: Diagnose) -> None:
    assert _told(diagnose(IMA + LATE + _pair("k0") + _before("k1")))[0] == "k1"


# the call that failed


@pytest.mark.parametrize(
    ("text", "certainty", "why"),
    [
        (SHIM, "sure", "this call inside the model returned the error"),
        (BLOCKING + SHIM + IMA, "sure", "this call inside the model returned the error"),
        (
            SHIM + IMA + LATE,
            "possible",
            "this call reported an error that an earlier launch may have caused",
        ),
    ],
    ids=["no-gpu-error", "blocking", "asynchronous"],
)
def test_failed_call_inside_the_model(
    diagnose: Diagnose, text: str, certainty: str, why: str
) -> None:
    kernel = _kernel(diagnose(text))
    assert (kernel["name"], kernel["found_by"]) == ("aoti_torch_cuda_addmm_out", "api-call")
    assert (kernel["certainty"], kernel["why"], kernel["open"]) == (certainty, why, None)
    assert kernel["call"] == {"file": WRAPPER, "line": 923, "text": CALL}


@pytest.mark.parametrize(
    "text",
    [
        "Error: run_func_( container_handle_) API call failed at ../runner.cpp, line 49\n",
        f"Error: {CALL} API call failed at ../../torch/csrc/inductor/runner.cpp, line 49\n",
    ],
    ids=["runner", "other-file"],
)
def test_failed_call_outside_the_model_names_no_kernel(diagnose: Diagnose, text: str) -> None:
    assert diagnose(text + IMA + LATE)["last_kernel"] is None


# the traceback


@pytest.mark.parametrize(
    ("text", "certainty", "why"),
    [
        (
            TRACEBACK + IMA + LATE,
            "possible",
            "the error surfaced while it was launched; an earlier launch may be at fault",
        ),
        (
            BLOCKING + TRACEBACK + IMA,
            "sure",
            "the traceback ends in its launch, and launches were not asynchronous",
        ),
    ],
    ids=["asynchronous", "blocking"],
)
def test_launch_in_a_traceback(diagnose: Diagnose, text: str, certainty: str, why: str) -> None:
    kernel = _kernel(diagnose(text))
    assert kernel["name"] == "triton_poi_fused_add_gather_3"
    assert (kernel["found_by"], kernel["certainty"]) == ("blocking-traceback", certainty)
    assert (kernel["why"], kernel["open"]) == (why, None)
    assert kernel["call"] == {"file": GENERATED, "line": 418, "text": LAUNCH}


def test_blocking_that_missing_lines_imply_makes_it_likely_at_most(diagnose: Diagnose) -> None:
    assert _told(diagnose(TRACEBACK + IMA + NOT_LATE)) == (
        "triton_poi_fused_add_gather_3",
        "likely",
        "blocking-traceback",
    )


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("extern_kernels.mm(buf0, arg1_1, out=buf1)", "extern_kernels.mm"),
        ("cpp_fused_index_sin_0(primals_2, buf0)", "cpp_fused_index_sin_0"),
        ("buf3 = torch.ops.mylib.foo.default(buf2)", "torch.ops.mylib.foo.default"),
    ],
)
def test_other_calls_of_generated_code(diagnose: Diagnose, line: str, name: str) -> None:
    text = BLOCKING + TRACEBACK.replace(LAUNCH, line) + IMA
    assert _told(diagnose(text)) == (name, "sure", "blocking-traceback")


@pytest.mark.parametrize(
    "function", ["load_binary", "_init_handles", "precompile", "autotune_to_one_config"]
)
def test_error_while_a_kernel_was_made_ready_names_nothing(
    diagnose: Diagnose, function: str
) -> None:
    heuristics = "/opt/venv/lib/python3.12/site-packages/torch/_inductor/runtime/static.py"
    ready = f'  File "{heuristics}", line 90, in {function}\n    load()\n'
    report = diagnose(BLOCKING + TRACEBACK + ready + IMA)
    assert (report["verdict"]["class"], report["last_kernel"]) == ("illegal-memory-access", None)


def test_traceback_of_the_users_own_file_names_nothing(diagnose: Diagnose) -> None:
    text = TRACEBACK.replace(GENERATED, "/home/mira/plover/kernels.py")
    assert diagnose(BLOCKING + text + IMA)["last_kernel"] is None


# what names a kernel outright


def test_sanitizer_names_the_kernel(diagnose: Diagnose) -> None:
    report = diagnose(SANITIZER)
    assert _told(report) == ("triton_poi_fused_index_select_2", "sure", "sanitizer")
    assert _kernel(report)["why"] == "compute-sanitizer stopped at the access and names the kernel"


def test_assertion_whose_file_is_the_hash_of_a_source_names_the_kernel(run: Run) -> None:
    report = _read(run, FIXTURES / "triton-oob-symbol-bound-source-beside/input")
    assert _told(report) == ("triton_poi_fused_embedding_index_0", "sure", "device-assert")
    assert _kernel(report)["why"] == "the assertion's file name is the hash of this kernel's source"


def test_assertion_without_its_source_names_nothing(run: Run) -> None:
    report = _read(run, FIXTURES / "triton-oob-symbol-bound-source-beside/input/run.log")
    assert report["verdict"]["class"] == "triton-index-out-of-bounds"
    assert report["last_kernel"] is None


def test_frame_of_a_kernel_names_it(diagnose: Diagnose) -> None:
    report = diagnose(GDB)
    assert _told(report) == ("cpp_fused_index_sin_0", "sure", "stack-frame")
    assert _kernel(report)["why"] == "the stack of the failure goes through it"


def test_frame_in_the_wrapper_names_the_call_on_its_line(run: Run, tmp_path: Path) -> None:
    lines = [line.strip() for line in WRAPPER_CPP.split("\n")]
    number, text = next(
        (number, line)
        for number, line in enumerate(lines, 1)
        if line.startswith("AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_mm_out(")
    )
    (tmp_path / "cabc.wrapper.cpp").write_text(WRAPPER_CPP, encoding="utf-8")
    (tmp_path / "gdb.txt").write_text(
        'Thread 1 "python" received signal SIGSEGV, Segmentation fault.\n'
        "#0  0x00007ffff6e6665c in boom_cpu () at boom.cpp:13\n"
        "#1  0x00007fffddc792f2 in torch::aot_inductor::AOTInductorModel::run_impl ()"
        f" at /tmp/x/cabc.wrapper.cpp:{number}\n",
        encoding="utf-8",
    )
    report = _read(run, tmp_path)
    assert _told(report) == ("aoti_torch_cuda_mm_out", "sure", "stack-frame")
    file = "/tmp/x/cabc.wrapper.cpp"
    assert _kernel(report)["call"] == {"file": file, "line": number, "text": text}


# the strongest evidence


def test_sanitizer_comes_before_everything(diagnose: Diagnose) -> None:
    text = _before("k1") + SANITIZER + TRACEBACK + IMA + SHIM
    assert _told(diagnose(text))[2] == "sanitizer"


def test_frame_comes_before_the_call_and_the_marks(diagnose: Diagnose) -> None:
    assert _told(diagnose(_before("k1") + SHIM + GDB))[2] == "stack-frame"


def test_failed_call_comes_before_the_traceback_and_the_marks(diagnose: Diagnose) -> None:
    text = BLOCKING + _before("k1") + TRACEBACK + IMA + SHIM
    assert _told(diagnose(text))[2] == "api-call"


def test_traceback_comes_before_the_marks(diagnose: Diagnose) -> None:
    assert _told(diagnose(BLOCKING + _before("k1") + TRACEBACK + IMA))[2] == "blocking-traceback"


def test_asynchronous_failed_call_comes_before_the_marks(diagnose: Diagnose) -> None:
    assert _told(diagnose(_pair("k1") + SHIM + IMA + LATE))[2] == "api-call"


# none


@pytest.mark.parametrize(
    ("text", "failure_class"),
    [
        ("", "none"),
        (_pair("k0"), "none"),
        (_before("k0"), "none"),
        (_before("k0") + MISMATCH, "input-mismatch"),
        (_before("k0") + FAILED_COMPILE, "compile-failure"),
        (DIED, "host-crash"),
        (IMA + LATE, "illegal-memory-access"),
        (
            _before("k0") + 'Traceback (most recent call last):\n  File "/a.py", line 1, in f\n'
            "    g()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
            "out-of-memory",
        ),
    ],
    ids=[
        "empty",
        "healthy",
        "open-and-no-failure",
        "input-mismatch",
        "compilation",
        "nothing-printed",
        "gpu-error-alone",
        "out-of-memory",
    ],
)
def test_there_is_no_last_kernel(diagnose: Diagnose, text: str, failure_class: str) -> None:
    report = diagnose(text)
    assert (report["verdict"]["class"], report["last_kernel"]) == (failure_class, None)


@pytest.mark.parametrize(
    "name",
    [
        "input-dtype",
        "input-too-few",
        "load-constants-on-meta",
        "load-cuda-package-on-cpu",
        "healthy-aoti-logs-and-trace",
    ],
)
def test_fixture_in_which_nothing_ran_has_no_last_kernel(run: Run, name: str) -> None:
    report = json.loads(run("-f", "json", str(FIXTURES / name / "input")).stdout)
    assert report["last_kernel"] is None


def test_marks_of_an_earlier_run_name_nothing_when_loading_fails(diagnose: Diagnose) -> None:
    (log,) = (FIXTURES / "load-constants-on-meta/input").glob("*.log")
    report = diagnose(_pair("k0") + log.read_text(encoding="utf-8"))
    assert report["verdict"]["class"] == "device-mismatch"
    assert report["last_kernel"] is None


# ranks and sources


@pytest.mark.parametrize(("rank", "name"), [(0, "k0"), (1, "k1")])
def test_marks_of_the_failing_rank_alone_count(diagnose: Diagnose, rank: int, name: str) -> None:
    text = f"[rank0]: {_before('k0')}[rank1]: {_before('k1')}[rank{rank}]: {IMA}"
    kernel = _kernel(diagnose(text))
    assert (kernel["name"], kernel["rank"], kernel["certainty"]) == (name, rank, "likely")


@pytest.mark.parametrize(("rank", "name"), [(0, "k0"), (1, "k1")])
def test_rank_of_a_file_tells_whose_marks_they_are(
    run: Run, tmp_path: Path, rank: int, name: str
) -> None:
    for number in range(2):
        error = IMA + LATE if number == rank else "waiting\n" * 50
        text = _pair("k") + _before(f"k{number}") + error
        (tmp_path / f"rank{number}.log").write_text(text, encoding="utf-8")
    kernel = _kernel(_read(run, tmp_path))
    assert (kernel["name"], kernel["rank"], kernel["certainty"]) == (name, rank, "likely")
    assert kernel["evidence"]["source"] == str(tmp_path / f"rank{rank}.log")


def test_frame_of_another_rank_is_not_taken(diagnose: Diagnose) -> None:
    other = "".join(f"[rank1]: {line}\n" for line in GDB.splitlines())
    report = diagnose(f"[rank0]: {_before('k0')}[rank0]: {IMA}" + other)
    assert _told(report)[0] == "k0"


def _two_sources(run: Run, folder: Path) -> dict[str, Any]:
    """A log that failed, and a longer one with marks of its own."""
    (folder / "a.log").write_text(_before("k_failed") + IMA + LATE, encoding="utf-8")
    text = "hello\n" * 90 + _pair("k_other")
    (folder / "b.log").write_text(text, encoding="utf-8")
    return _read(run, folder)


def test_marks_in_two_other_sources_make_it_possible_only(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(IMA + LATE, encoding="utf-8")
    for name in "bc":
        (tmp_path / f"{name}.log").write_text(_before(f"k_{name}"), encoding="utf-8")
    kernel = _kernel(_read(run, tmp_path))
    assert (kernel["found_by"], kernel["certainty"]) == ("printer", "possible")


def test_marks_in_the_source_that_failed_count_first(run: Run, tmp_path: Path) -> None:
    assert _kernel(_two_sources(run, tmp_path))["name"] == "k_failed"


def test_marks_beside_the_error_are_found_in_their_own_source(run: Run, tmp_path: Path) -> None:
    (tmp_path / "stderr.log").write_text(IMA + LATE, encoding="utf-8")
    (tmp_path / "stdout.log").write_text(_pair("k0") + _before("k1"), encoding="utf-8")
    kernel = _kernel(_read(run, tmp_path))
    assert (kernel["name"], kernel["certainty"], kernel["open"]) == ("k1", "likely", True)
    assert kernel["evidence"]["source"] == str(tmp_path / "stdout.log")


def test_option_rank_leaves_out_marks_of_others(run: Run) -> None:
    text = f"[rank0]: {_before('k0')}{IMA}[rank1]: {_before('k1')}"
    result = run("-f", "json", "--rank", "0", "-", stdin=text.encode())
    assert _kernel(json.loads(result.stdout))["name"] == "k0"


def _recorded(folder: Path, printed: str, **fields: Any) -> Path:
    """A recording of a command that printed this and died of SIGSEGV."""
    folder.mkdir()
    (folder / "output.log").write_text(printed, encoding="utf-8")
    (folder / "run.json").write_bytes(run_record({"signal": "SIGSEGV", **fields}))
    return folder


def test_open_mark_of_a_recorded_process_is_sure(run: Run, tmp_path: Path) -> None:
    report = _read(run, _recorded(tmp_path / "kept", _pair("k0") + _before("k1")))
    assert _told(report) == ("k1", "sure", "printer")
    assert "pipe" not in _kernel(report)["why"]
    commands = [step["command"] or "" for step in report["next_steps"]]
    assert not any("aoti-logscan run" in command for command in commands)


def test_open_mark_of_a_recording_that_broke_off_is_likely(run: Run, tmp_path: Path) -> None:
    folder = _recorded(tmp_path / "kept", _before("k1"), problem="the recording stopped: disk full")
    assert _told(_read(run, folder)) == ("k1", "likely", "printer")


def test_open_mark_of_another_folder_than_the_recording_is_likely(run: Run, tmp_path: Path) -> None:
    _recorded(tmp_path / "kept", "hello\n")
    (tmp_path / "worker.log").write_text(_before("k1"), encoding="utf-8")
    kernel = _kernel(_read(run, tmp_path))
    assert kernel["certainty"] != "sure"
    assert kernel["why"].endswith(LOST)


def test_kernel_that_came_back_before_a_recorded_death_is_likely(run: Run, tmp_path: Path) -> None:
    report = _read(run, _recorded(tmp_path / "kept", _pair("k0")))
    assert _told(report) == ("k0", "likely", "printer")
    assert "pipe" not in _kernel(report)["why"]


def test_open_mark_of_a_log_that_ends_in_a_block_is_likely(run: Run) -> None:
    text = "[  before_launch - cpp_fused_0 - buf0  ]:\nNumber of elements: 2\nDtype: float32\n"
    result = run("-f", "json", "-", stdin=text.encode())
    kernel = _kernel(json.loads(result.stdout))
    assert (kernel["name"], kernel["certainty"], kernel["open"]) == ("cpp_fused_0", "likely", True)
    assert "the log ends in the middle of a mark" in kernel["why"]
