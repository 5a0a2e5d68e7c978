"""Numbers of more digits than any type holds, wherever a number is read."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, Run
from tests.hostile.tool import sound

LOGS = sorted(
    file
    for file in FIXTURES.rglob("*")
    if file.suffix in (".log", ".txt", ".json")
    and "input" in file.parts
    and file.stat().st_size < 6_000
)
_NUMBER = re.compile(rb"(?<![\w.])\d+")
LARGE = {
    "beyond 64 bits": b"98765432109876543210987",
    "of 64 bits": b"18446744073709551615",
    "negative": b"-98765432109876543210987",
    "of 5000 digits": b"9" * 5000,
    "in other digits": "\u0663\u0664\u0665".encode(),
}


def test_fixtures_are_enough() -> None:
    assert len(LOGS) > 100


@pytest.mark.parametrize("large", ["beyond 64 bits", "of 64 bits", "negative"])
def test_every_number_of_a_log_may_be_large(run: Run, large: str) -> None:
    for log in LOGS:
        data = _NUMBER.sub(LARGE[large], log.read_bytes())
        sound(run("-f", "json", "-", stdin=data))


@pytest.mark.parametrize("large", ["of 5000 digits", "in other digits"])
def test_some_numbers_of_a_log_may_be_anything(run: Run, large: str) -> None:
    chance = random.Random(3)
    for log in LOGS:
        data = _NUMBER.sub(
            lambda found: LARGE[large] if chance.random() < 0.03 else found[0], log.read_bytes()
        )
        sound(run("-f", "json", "-", stdin=data))


PLACES = {
    "line of a frame": 'Traceback (most recent call last):\n  File "a.py", line %s, in f\n'
    "    x\nRuntimeError: CUDA error: misaligned address\n",
    "line of an assertion": "x.py:%s: f: block: [0,0,0], thread: [0,0,0] Assertion `a < 5` failed.",
    "block": "x.py:3: f: block: [%s,%s,0], thread: [%s,0,0] Assertion `a < 5` failed.",
    "rank": "[rank%s]: RuntimeError: CUDA error: misaligned address",
    "process": "(Worker_TP%s pid=%s) RuntimeError: CUDA error: misaligned address",
    "position": "Error: input_handles[%s]: unmatched dtype, expected: 6(at::kFloat), but got: 7",
    "type": "Error: input_handles[0]: unmatched dtype, expected: %s(at::kFloat), but got: %s",
    "dim": "Error: input_handles[0]: unmatched dim value at %s, expected: %s, but got: %s\n",
    "bound": "x.py:3: unknown: block: [0,0,0], thread: [0,0,0] "
    "Assertion `index out of bounds: 0 <= tmp4 < %s` failed.",
    "shim": "Error: aoti_torch_cpu_mm_out(a) API call failed at /t/a.wrapper.cpp, line %s",
    "marks": "[ before_launch: k ]\n[  before_launch - k - arg0_1  ]:\nDtype: float\n"
    "Device: cuda:%s\nSize: [%s, %s]\nStride: [%s]\nNumel: %s\nMin value: %s\n\nSegmentation fault",
    "memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s GiB. GPU %s has a",
    "capability": "CUDA error: no kernel image is available: sm_%s and compute_%s",
    "sanitizer": "========= Invalid __global__ read of size %s bytes\n"
    "=========     at k+0x%s in a.py:%s\n=========     by thread (%s,0,0) in block (%s,0,0)\n"
    "=========     Address 0x%s is out of bounds\n",
    "exit": "exitcode  : -%s (pid: %s)\n  traceback : Signal %s (SIGSEGV) received by PID %s\n",
    "time": "[rank0]:[E%s %s:%s:%s.%s ProcessGroupNCCL.cpp:%s] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=%s, OpType=ALLREDUCE, NumelIn=%s) ran for %s ms",
    "frame id": "V1130 06:29:53.%s %s torch/a.py:%s] "
    '{"compilation_metrics": {"compile_id": "%s/%s", "fail_type": "E", "fail_reason": "r"}, '
    '"frame_id": %s, "rank": %s, "attempt": %s}',
    "run": '{\n "aoti_logscan_run": "1",\n "signal": %s,\n "status": %s, "compiled": %s\n}',
    "stack": "#%s 0x%s in f (x=%s) at a.cpp:%s\nframe #%s: f + 0x%s (0x%s in /lib/libtorch.so)\n",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", ["json", "html"])
def test_number_at_its_place_may_be_anything(run: Run, place: str, form: str) -> None:
    for number in (*LARGE.values(), b"0", b"1e999", b"0x10", b"", b"NaN", b"1" * 19):
        data = PLACES[place].replace("%s", number.decode()).encode() + b"\n"
        result = run("-f", form, "-", stdin=data)
        assert isinstance(result.exception, SystemExit | None), (number[:30], result.exception)


def test_numbers_in_a_package_may_be_anything(run: Run, tmp_path: Path) -> None:
    for number in LARGE.values():
        text = (
            b'    inputs_info_[%s].name = "a";\n    int64_t s0 = arg0_1_size[%s];\n'
            b"    // [Provenance debug handles] k:%s\n    auto buf0 = f(%s, %s);\n"
        ).replace(b"%s", number)
        (tmp_path / "a.wrapper.cpp").write_bytes(text)
        (tmp_path / "m_metadata.json").write_bytes(b'{"AOTI_DEVICE_KEY": "cuda", "n": ' + number)
        (tmp_path / "run.log").write_bytes(
            b"Error: input_handles[%s]: unmatched dtype, expected: 6, but got: 7\n".replace(
                b"%s", number
            )
        )
        for words in (["-f", "json"], ["kernels", "-f", "json"]):
            result = run(*words, str(tmp_path))
            assert isinstance(result.exception, SystemExit | None)


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "-1", "1e5", "\u0663"])
def test_rank_of_an_option_may_be_anything(run: Run, number: str) -> None:
    result = run("--rank", number, "-", stdin=b"")
    assert isinstance(result.exception, SystemExit | None)
    assert result.exit_code in (0, 2)


@pytest.mark.parametrize("digits", [20, 200])
def test_numbers_in_names_of_files_may_be_anything(run: Run, tmp_path: Path, digits: int) -> None:
    for name in ("rank%s.log", "%s.log", "dedicated_log_torch_trace_rank_%s_ab.log"):
        (tmp_path / name.replace("%s", "9" * digits)).write_bytes(b"fine\n")
    sound(run("-f", "json", str(tmp_path)))
