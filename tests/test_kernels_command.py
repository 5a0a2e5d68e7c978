"""`kernels` and `-f events`: what was marked, what was read, in order, valid and by rank."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from aoti_logscan.cli import cli
from tests.conftest import FIXTURES, Run

BLOCK = (
    "[  before_launch - k0 - buf0  ]:\n"
    "Number of elements: 2\nDtype: float32\nMean value: 1.5\nMin value: 1\nMax value: inf\n"
    "Device: cuda:0\nSize: [1, 2]\nStride: [2, 1]\nLayout: Strided\nIs contiguous: 1\n"
    "Requires grad: 0\n\n"
)
LOG = (
    "hello\n"
    + BLOCK
    + BLOCK.replace("before", "after")
    + "[ before_launch: k1 ]\n[rank3]: [ before_launch: k2 ]\n[rank3]: [ after_launch: k2 ]\n"
)
TOLD = "buf0  dtype float32  device cuda:0  size [1, 2]  min 1.0  mean 1.5  INF\n"
TEXT = (
    "     0  back  k0  <stdin>:2\n"
    f"              before  {TOLD}"
    f"              after   {TOLD}"
    "     1  open  k1  <stdin>:28\n"
    "     0  back  rank 3  k2  <stdin>:29\n"
)
ARGUMENT = {
    "name": "buf0",
    "phase": "before",
    "dtype": "float32",
    "device": "cuda:0",
    "size": [1, 2],
    "stride": [2, 1],
    "numel": 2,
    "min": 1.0,
    "max": None,
    "mean": 1.5,
    "nan": False,
    "inf": True,
}
ERROR = "RuntimeError: CUDA error: misaligned address\n"
NOTHING = "No launch was marked: the intermediate value printer left nothing here.\n"
#: the logs of the fixtures, but for long ones
LOGS = sorted(
    path
    for folder in FIXTURES.iterdir()
    for path in folder.glob("input/**/*.log")
    if path.stat().st_size < 300_000
)


def _launches(run: Run, *args: str, log: str = LOG) -> list[dict[str, Any]]:
    result = run("kernels", "-f", "json", *args, "-", stdin=log.encode())
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


def _events(run: Run, *args: str, log: str = "") -> list[dict[str, Any]]:
    paths = ("-",) if log else ()
    result = run("-f", "events", *args, *paths, stdin=log.encode())
    assert result.exit_code in (0, 1), result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


# kernels


def test_launches_are_listed_in_order_with_their_arguments(run: Run) -> None:
    result = run("kernels", "-", stdin=LOG.encode())
    assert (result.exit_code, result.stdout, result.stderr) == (0, TEXT, "")


def test_launches_as_json_have_all_that_was_printed(run: Run) -> None:
    first, second, third = _launches(run)
    without_code: dict[str, Any] = {
        "call": None,
        "producers": [],
        "source_nodes": [],
        "aten_ops": [],
        "user_stack": [],
    }
    assert first == {
        **without_code,
        "index": 0,
        "kernel": "k0",
        "open": False,
        "rank": None,
        "source": "<stdin>",
        "line": 2,
        "arguments": [ARGUMENT, {**ARGUMENT, "phase": "after"}],
    }
    assert second == {
        **without_code,
        "index": 1,
        "kernel": "k1",
        "open": True,
        "rank": None,
        "source": "<stdin>",
        "line": 28,
        "arguments": [],
    }
    assert (third["kernel"], third["rank"], third["index"]) == ("k2", 3, 0)


def test_one_kernel_keeps_the_index_of_its_launch(run: Run) -> None:
    result = run("kernels", "--kernel", "k1", "-", stdin=LOG.encode())
    assert (result.exit_code, result.stdout) == (0, "     1  open  k1  <stdin>:28\n")


def test_kernel_is_named_whole(run: Run) -> None:
    result = run("kernels", "-f", "json", "--kernel", "k", "-", stdin=LOG.encode())
    assert json.loads(result.stdout) is None


def test_kernel_that_was_not_launched_is_not_called_nothing_marked(run: Run) -> None:
    result = run("kernels", "--kernel", "other", "-", stdin=LOG.encode())
    assert result.exit_code == 0
    assert result.stdout == "No launch of other was marked, and no code here has it.\n"


TOWER = FIXTURES / "op-second-of-two-mm-with-provenance" / "input"


def test_without_marks_the_calls_of_the_package_are_listed(run: Run) -> None:
    result = run("kernels", "-f", "json", str(TOWER))
    found = json.loads(result.stdout)
    assert [(one["index"], one["open"], one["kernel"]) for one in found] == [
        (0, None, "aoti_torch_cpu_mm_out"),
        (1, None, "cpp_fused_mul_relu_sigmoid_0"),
        (2, None, "aoti_torch_cpu_mm_out"),
        (3, None, "cpp_fused__log_softmax_1"),
    ]
    assert found[2]["source_nodes"] == ["matmul_1"]


def test_one_kernel_is_shown_with_its_code_call_and_inputs(run: Run) -> None:
    shown = run("kernels", "--kernel", "cpp_fused_mul_relu_sigmoid_0", str(TOWER)).stdout
    assert "reads   buf1 (made by aoti_torch_cpu_mm_out)" in shown
    assert "build.py" in shown
    assert 'extern "C"  void  cpp_fused_mul_relu_sigmoid_0(' in shown


def test_one_buffer_is_followed_through_its_renames(run: Run) -> None:
    result = run("kernels", "-f", "json", "--buffer", "buf0", str(TOWER))
    told = [(one["buffer"], one["role"], one["kernel"]) for one in json.loads(result.stdout)]
    assert told == [
        ("buf0", "written", "aoti_torch_cpu_mm_out"),
        ("buf1", "updated", "cpp_fused_mul_relu_sigmoid_0"),
        ("buf1", "read", "aoti_torch_cpu_mm_out"),
    ]
    shown = run("kernels", "--buffer", "buf0", str(TOWER)).stdout
    assert "buf1  updated by cpp_fused_mul_relu_sigmoid_0 as in_out_ptr0  cafq6gv7" in shown
    assert "no" in run("kernels", "--buffer", "buf99", str(TOWER)).stdout.lower()


def test_rank_leaves_out_launches_of_others(run: Run) -> None:
    log = LOG + "[rank1]: [ before_launch: k9 ]\n"
    told = [(one["kernel"], one["rank"]) for one in _launches(run, "--rank", "3", log=log)]
    assert told == [("k0", None), ("k1", None), ("k2", 3)]


def test_files_of_ranks_are_streams_with_their_rank(run: Run, tmp_path: Path) -> None:
    for rank in (0, 1):
        log = f"[ before_launch: k{rank} ]\n[ before_launch: last ]\n"
        (tmp_path / f"rank{rank}.log").write_text(log, encoding="utf-8")
    result = run("kernels", "-f", "json", str(tmp_path))
    told = [(one["rank"], one["index"], one["kernel"]) for one in json.loads(result.stdout)]
    assert told == [(0, 0, "k0"), (0, 1, "last"), (1, 0, "k1"), (1, 1, "last")]


def test_marks_of_a_real_run_come_back_but_for_the_last(run: Run) -> None:
    log = FIXTURES / "ima-level3-marks-asynchronous/input/pty.log"
    found = json.loads(run("kernels", "-f", "json", str(log)).stdout)
    assert [one["kernel"] for one in found if one["open"]] == ["triton_red_fused_mean_4"]
    assert [one["line"] for one in found] == [1, 3, 5, 7, 9, 11, 13]
    assert found[2]["kernel"] == found[4]["kernel"] == "aoti_torch_cuda_addmm_out"


@pytest.mark.parametrize(("form", "text"), [("text", NOTHING), ("json", "[]\n")])
def test_log_without_marks_has_none(run: Run, form: str, text: str) -> None:
    result = run("kernels", "-f", form, "-", stdin=ERROR.encode())
    assert (result.exit_code, result.stdout) == (0, text)


def test_failure_is_no_matter_to_the_exit_status(run: Run) -> None:
    assert run("kernels", "-", stdin=(LOG + ERROR).encode()).exit_code == 0


def test_control_characters_of_a_kernel_are_shown_not_sent(run: Run) -> None:
    result = run("kernels", "-", stdin="[ before_launch: k\x07\u202ex ]\n".encode())
    assert result.stdout == "     0  open  k\\x07\\u202ex  <stdin>:1\n"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("no/such.log",), "Error: no such file or directory: no/such.log\n"),
        (("/dev/null",), "Error: nothing could be opened: /dev/null: not a regular file\n"),
    ],
)
def test_path_that_cannot_be_opened_is_a_usage_error(
    run: Run, args: tuple[str, ...], error: str
) -> None:
    result = run("kernels", *args)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", error)


# events


@cache
def _validator() -> Any:
    schema = json.loads(CliRunner().invoke(cli, ["schema", "event"]).stdout)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_every_event_keeps_to_its_schema(run: Run, log: Path) -> None:
    found = _events(run, str(log))
    assert [error.message for event in found for error in _validator().iter_errors(event)] == []


def test_fixtures_have_events_to_check(run: Run) -> None:
    assert sum(len(_events(run, str(log))) for log in LOGS) > 100


@pytest.mark.parametrize(
    "change", [{"event": "nothing"}, {"place": None}, {"count": "1"}], ids=["tag", "place", "count"]
)
def test_schema_refuses_what_is_no_event(run: Run, change: dict[str, Any]) -> None:
    (event,) = _events(run, log=ERROR)
    assert _validator().is_valid(event)
    assert not _validator().is_valid({**event, **change})


def test_events_have_all_their_fields(run: Run) -> None:
    (event,) = _events(run, log="a\n" + ERROR)
    assert event == {
        "event": "gpu-error",
        "place": {"source": "<stdin>", "line": 2, "offset": 2, "text": ERROR.rstrip()},
        "end": 2 + len(ERROR.rstrip()),
        "rank": None,
        "process": None,
        "time": None,
        "count": 1,
        "repeats": [],
        "last": None,
        "distinct": None,
        "runtime": "cuda",
        "message": "misaligned address",
        "reported_by": "torch",
        "asynchronous": None,
        "warning": False,
        "address": None,
        "access": None,
        "kernel": None,
    }


def test_events_of_one_source_are_in_the_order_of_the_bytes(run: Run) -> None:
    log = "[ before_launch: k0 ]\n" + ERROR + "[ after_launch: k0 ]\n"
    assert [event["event"] for event in _events(run, log=log)] == [
        "launch-mark",
        "gpu-error",
        "launch-mark",
    ]


def test_events_of_several_sources_are_in_the_order_of_their_times(
    run: Run, tmp_path: Path
) -> None:
    for name, second in (("a.log", 9), ("b.log", 1)):
        text = f"2026-01-01T00:00:0{second}.5Z {ERROR}"
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = _events(run, str(tmp_path))
    assert [Path(event["place"]["source"]).name for event in found] == ["b.log", "a.log"]
    assert [event["time"]["stamp"] for event in found] == [
        "2026-01-01 00:00:01.500000000",
        "2026-01-01 00:00:09.500000000",
    ]


def test_rank_of_an_event_comes_from_the_name_of_its_file(run: Run, tmp_path: Path) -> None:
    for rank in (2, 10):
        (tmp_path / f"rank{rank}.log").write_text(ERROR, encoding="utf-8")
    assert [event["rank"] for event in _events(run, str(tmp_path))] == [2, 10]


def test_rank_of_an_event_comes_from_another_line_of_its_process(run: Run) -> None:
    log = f"(Worker pid=42) {ERROR}[rank5]: (Worker pid=42) [ before_launch: k ]\n"
    assert [event["rank"] for event in _events(run, log=log)] == [5, 5]


def test_option_rank_leaves_out_events_of_others(run: Run) -> None:
    log = f"[rank0]: {ERROR}[rank1]: {ERROR}{ERROR}"
    told = [event["rank"] for event in _events(run, "--rank", "1", log=log)]
    assert told == [1, None]


def test_option_rank_decides_between_failures(run: Run) -> None:
    log = (
        f"[rank0]: {ERROR}"
        "[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered\n"
    )
    classes = {}
    for rank in ("0", "1", "7"):
        result = run("-f", "json", "--rank", rank, "-", stdin=log.encode())
        classes[rank] = (result.exit_code, json.loads(result.stdout)["verdict"]["class"])
    assert classes == {
        "0": (1, "misaligned-address"),
        "1": (1, "illegal-memory-access"),
        "7": (0, "none"),
    }


@pytest.mark.parametrize("rank", ["-1", "x", "1.5"])
def test_rank_that_is_no_number_is_a_usage_error(run: Run, rank: str) -> None:
    result = run("--rank", rank, "-", stdin=b"")
    assert result.exit_code == 2
    assert "--rank" in result.stderr


def test_log_without_events_gives_no_lines(run: Run) -> None:
    assert _events(run, log="hello\n") == []


def test_events_go_to_the_output_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    result = run("-f", "events", "-o", str(file), "-", stdin=LOG.encode())
    assert result.output == ""
    assert file.read_text(encoding="utf-8") == run("-f", "events", "-", stdin=LOG.encode()).stdout
    assert len(file.read_text(encoding="utf-8").splitlines()) == 5


def _mark(phase: str, kernel: str) -> str:
    return f"[ {phase}_launch: {kernel} ]\n"


MM, FUSED = "aoti_torch_cpu_mm_out", "cpp_fused_mul_relu_sigmoid_0"
SOFTMAX = "cpp_fused__log_softmax_1"
DIED = "run.sh: line 7:   977 Segmentation fault      (core dumped) python serve.py\n"


def _done(*kernels: str) -> str:
    return "".join(_mark("before", kernel) + _mark("after", kernel) for kernel in kernels)


def _last(run: Run, tmp_path: Path, log: str) -> dict[str, Any]:
    (tmp_path / "run.log").write_text(log)
    report = json.loads(
        run("-f", "json", str(tmp_path / "run.log"), str(TOWER / "tower.pt2")).stdout
    )
    last: dict[str, Any] = report["last_kernel"]
    return last


@pytest.mark.parametrize(
    ("done", "line"),
    [
        ((), 966),
        ((MM, FUSED), 980),
        ((MM, FUSED, MM, SOFTMAX), 966),
        ((MM, FUSED, MM, SOFTMAX, MM, FUSED), 980),
    ],
)
def test_order_of_marks_tells_calls_of_one_operator_apart(
    done: tuple[str, ...], line: int, run: Run, tmp_path: Path
) -> None:
    last = _last(run, tmp_path, _done(*done) + _mark("before", MM) + DIED)
    assert (last["name"], last["call"]["line"]) == (MM, line)
    assert last["source_nodes"] == (["matmul"] if line == 966 else ["matmul_1"])


def test_marks_in_another_order_than_the_calls_tell_no_call(run: Run, tmp_path: Path) -> None:
    last = _last(run, tmp_path, _done(FUSED, MM) + _mark("before", MM) + DIED)
    assert last["call"] is None
    assert last["source_nodes"] == ["matmul", "matmul_1"]


def test_printed_arguments_tell_calls_of_one_operator_apart(run: Run, tmp_path: Path) -> None:
    block = BLOCK.replace("k0 - buf0", f"{MM} - buf2")
    last = _last(run, tmp_path, block + DIED)
    assert last["call"]["line"] == 980
    assert {"argument": "buf1", "kernel": FUSED, "input": None} in last["producers"]
