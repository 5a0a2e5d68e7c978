"""Folders of TORCH_TRACE files: many ranks, one that failed to compile, cut and damaged ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aoti_logscan.events import Compile, GeneratedCode
from tests.conftest import FIXTURES, Run
from tests.parsers.conftest import scan

(TRACE,) = (FIXTURES / "healthy-aoti-trace-213/input/trace").glob("*.log")
WHOLE = TRACE.read_bytes()
RANKS = 40
BROKEN_RANK = 23
FAILED = (
    'V1130 06:55:46.868000 30506 torch/_dynamo/utils.py:2009] {"compilation_metrics": {'
    '"compile_id": "0/0", "frame_key": "1", "co_name": "f",'
    ' "co_filename": "/home/dev/train/script.py", "co_firstlineno": 9,'
    ' "entire_frame_compile_time_s": 0.881718, "code_gen_time_s": null,'
    ' "fail_type": "InductorError", "fail_reason": "LoweringException: NotImplementedError: no'
    " lowering for this stride pattern\\n  target: mylib2.foo.default\\n  args[0]: TensorBox("
    'StorageBox(\\n    Pointwise(\\n      \'cpu\'"}, "frame_id": 0, "frame_compile_id": 0,'
    ' "attempt": 0}\n'
)
#: the line that the failed compilation has at the end of a trace
FAILED_LINE = WHOLE.count(b"\n") + 1
DAMAGED = "a trace payload is damaged or cut off: its MD5 differs"
#: the record that holds the wrapper's code
WRAPPER = WHOLE.index(b'{"graph_dump": {"name": "inductor_aot_wrapper_code"')
WRAPPER_LINE = WHOLE[:WRAPPER].count(b"\n") + 1
#: where its payload begins
PAYLOAD = WHOLE.index(b"\n", WRAPPER) + 1
METRICS = WHOLE.index(b'{"compilation_metrics"')


def _name(rank: int) -> str:
    return f"dedicated_log_torch_trace_rank_{rank}_ab12cd34.log"


def _folder(folder: Path, *broken: int) -> Path:
    """Traces of all ranks; those of the broken ones end in a compilation that failed."""
    trace = folder / "trace"
    trace.mkdir()
    for rank in range(RANKS):
        data = WHOLE + FAILED.encode() if rank in broken else WHOLE
        (trace / _name(rank)).write_bytes(data)
    return trace


def _report(run: Run, path: Path, exit_code: int) -> dict[str, Any]:
    result = run("-f", "json", str(path))
    assert result.exit_code == exit_code, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


# ranks


def test_traces_of_forty_healthy_ranks_have_no_failure(run: Run, tmp_path: Path) -> None:
    report = _report(run, _folder(tmp_path), 0)
    assert report["verdict"]["class"] == "none"
    assert (report["findings"], report["last_kernel"], report["signature"]) == ([], None, None)
    sources = report["sources"]
    assert [source["rank"] for source in sources] == list(range(RANKS))
    assert {source["bytes"] for source in sources} == {len(WHOLE)}
    assert {source["torch_version"] for source in sources} == {"2.13.0+cpu"}
    assert [source["problems"] for source in sources] == [[]] * RANKS
    assert [(one["rank"], one["ok"]) for one in report["compiles"]] == [
        (rank, True) for rank in range(RANKS)
    ]


def test_one_rank_that_failed_to_compile_is_named(run: Run, tmp_path: Path) -> None:
    trace = _folder(tmp_path, BROKEN_RANK)
    report = _report(run, trace, 1)
    (finding,) = report["findings"]
    assert (finding["rank"], finding["count"], finding["process"]) == (BROKEN_RANK, 1, "30506")
    (evidence,) = finding["evidence"]
    assert evidence["source"] == str(trace / _name(BROKEN_RANK))
    assert (evidence["line"], evidence["offset"]) == (FAILED_LINE, len(WHOLE))
    assert [one for one in report["compiles"] if not one["ok"]] == [
        {
            "id": "0/0",
            "rank": BROKEN_RANK,
            "ok": False,
            "fail_type": "InductorError",
            "fail_reason": "LoweringException: NotImplementedError: no lowering for this stride"
            " pattern\n  target: mylib2.foo.default\n  args[0]: TensorBox(StorageBox(\n"
            "    Pointwise(\n      'cpu'",
        }
    ]
    assert len(report["compiles"]) == RANKS + 1
    assert report["last_kernel"] is None


def test_failed_compilation_is_its_class_with_stage_and_message(run: Run, tmp_path: Path) -> None:
    report = _report(run, _folder(tmp_path, BROKEN_RANK), 1)
    assert report["verdict"]["class"] == "compile-failure"
    facts = report["findings"][0]["facts"]
    assert facts["stage"] == "lowering"
    assert "no lowering for this stride pattern" in facts["message"]


def test_text_names_the_rank_that_failed(run: Run, tmp_path: Path) -> None:
    result = run(str(_folder(tmp_path, BROKEN_RANK)))
    assert result.exit_code == 1
    assert f"rank {BROKEN_RANK}" in result.stdout
    assert f"{_name(BROKEN_RANK)}:{FAILED_LINE}" in result.stdout


def test_ranks_that_failed_the_same_way_are_one_finding(run: Run, tmp_path: Path) -> None:
    trace = _folder(tmp_path, 3, 11, 30)
    report = _report(run, trace, 1)
    (finding,) = report["findings"]
    assert (finding["rank"], finding["count"]) == (3, 3)
    assert [evidence["source"] for evidence in finding["evidence"]] == [
        str(trace / _name(rank)) for rank in (3, 11, 30)
    ]


def test_option_rank_looks_past_the_rank_that_failed(run: Run, tmp_path: Path) -> None:
    trace = _folder(tmp_path, BROKEN_RANK)
    codes = [run("--rank", str(rank), str(trace)).exit_code for rank in (BROKEN_RANK, 0)]
    assert codes == [1, 0]


def test_rank_in_the_record_counts_before_the_name_of_the_file(run: Run, tmp_path: Path) -> None:
    text = FAILED.replace('"frame_id": 0', '"rank": 5, "frame_id": 0')
    (tmp_path / _name(1)).write_text(text, encoding="utf-8")
    report = _report(run, tmp_path, 1)
    assert [one["rank"] for one in report["compiles"]] == [5]
    assert report["findings"][0]["rank"] == 5


def test_failure_of_the_run_beside_healthy_traces_is_the_verdict(run: Run, tmp_path: Path) -> None:
    trace = _folder(tmp_path)
    log = trace.parent / "run.log"
    log.write_text("RuntimeError: CUDA error: misaligned address\n", encoding="utf-8")
    report = _report(run, tmp_path, 1)
    (finding,) = report["findings"]
    assert (report["verdict"]["class"], finding["rank"]) == ("misaligned-address", None)
    assert finding["evidence"][0]["source"] == str(log)


# cut


def _cuts() -> list[int]:
    """Offsets all over the trace, and around the head, end and payload of records in use."""
    steps = list(range(0, len(WHOLE), len(WHOLE) // 150))
    near = [at + by for at in (WRAPPER, PAYLOAD, METRICS) for by in (-60, -1, 0, 1, 20, 400)]
    return sorted({*steps, *near, len(WHOLE) - 1, len(WHOLE)})


def _known(data: bytes) -> set[tuple[str, int]]:
    return {(type(event).__name__, event.place.offset) for event in scan(data).events}


def test_trace_cut_at_any_offset_never_raises_and_invents_nothing() -> None:
    whole = _known(WHOLE)
    assert len(whole) > 5
    for cut in _cuts():
        scanned = scan(WHOLE[:cut])
        assert scanned.size == cut
        found = {(type(event).__name__, event.place.offset) for event in scanned.events}
        assert found <= whole
        assert {one for one in whole if one[1] < cut - 100_000} <= found
        lines = WHOLE[:cut].count(b"\n") + 1
        assert all(1 <= (trouble.line or 1) <= lines for trouble in scanned.problems)


@pytest.mark.parametrize("part", [0.1, 0.35, 0.6, 0.85])
def test_cut_trace_is_no_failure(run: Run, tmp_path: Path, part: float) -> None:
    (tmp_path / _name(0)).write_bytes(WHOLE[: int(len(WHOLE) * part)])
    report = _report(run, tmp_path, 0)
    assert report["verdict"]["class"] == "none"


def test_trace_cut_in_an_envelope_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / _name(0)).write_bytes(WHOLE[: METRICS + 100])
    (source,) = _report(run, tmp_path, 0)["sources"]
    (problem,) = source["problems"]
    assert problem["line"] == WHOLE[:METRICS].count(b"\n") + 1
    assert problem["what"].startswith("a trace record is no JSON: ")


def test_trace_cut_in_a_payload_says_so_and_keeps_what_came(run: Run, tmp_path: Path) -> None:
    cut = WHOLE[: PAYLOAD + 2000]
    (tmp_path / _name(0)).write_bytes(cut)
    (source,) = _report(run, tmp_path, 0)["sources"]
    assert source["problems"] == [{"line": WRAPPER_LINE, "what": DAMAGED}]
    (code,) = (event for event in scan(cut).events if isinstance(event, GeneratedCode))
    assert code.text == WHOLE[PAYLOAD + 1 : PAYLOAD + 2000].replace(b"\n\t", b"\n").decode()


# damaged


def test_payload_with_a_changed_byte_is_a_problem(run: Run, tmp_path: Path) -> None:
    data = bytearray(WHOLE)
    data[PAYLOAD + 1500] ^= 0x01
    (tmp_path / _name(0)).write_bytes(bytes(data))
    report = _report(run, tmp_path, 0)
    (source,) = report["sources"]
    assert source["problems"] == [{"line": WRAPPER_LINE, "what": DAMAGED}]
    assert source["bytes"] == len(WHOLE)
    assert (report["verdict"]["class"], len(report["compiles"])) == ("none", 1)


def test_payload_that_lost_a_line_is_a_problem() -> None:
    lines = WHOLE[PAYLOAD:].split(b"\n")
    scanned = scan(WHOLE[:PAYLOAD] + b"\n".join([*lines[:9], *lines[10:]]))
    assert [trouble.what for trouble in scanned.problems] == [DAMAGED]


def test_whole_payloads_are_no_problem() -> None:
    assert scan(WHOLE).problems == ()


def test_damaged_trace_of_one_rank_leaves_the_others_whole(run: Run, tmp_path: Path) -> None:
    trace = _folder(tmp_path)
    data = WHOLE.replace(b"run_impl", b"run_imql", 1)
    assert data != WHOLE
    (trace / _name(7)).write_bytes(data)
    report = _report(run, trace, 0)
    assert [source["rank"] for source in report["sources"] if source["problems"]] == [7]


@pytest.mark.parametrize("junk", [b"\x00" * 500, b"\xff\xfe\xfd" * 99, b"\t", b"V1130 ", b"]\n{"])
def test_junk_between_two_traces_hides_neither(junk: bytes) -> None:
    scanned = scan(WHOLE + junk + b"\n" + WHOLE)
    assert sum(isinstance(event, Compile) for event in scanned.events) == 2
