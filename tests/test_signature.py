"""The signature: equal for two reports of one bug, another for another bug."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from aoti_logscan.signature import stable
from tests.conftest import FIXTURES, Diagnose
from tests.rewriting import Rewrite, colours, paths, progress_bars, surroundings, windows_ends

ASSERTION = (
    "/tmp/torchinductor_{user}/{two}/{stem}.py:{line}: unknown: block: [{block},0,0], "
    "thread: [3,0,0] Assertion `index out of bounds: 0 <= {index} < {upper}` failed.\n"
)
STEM = "c4dvmndvj7anhz4p3qmmcaq6quvkhceh77mpwalq54lucmlj5zr6"
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "{folder}/serve.py", line {line}, in {function}\n'
    "    out = model(*args)\n"
    "RuntimeError: CUDA error: an illegal memory access was encountered\n"
)


def _assertion(**changed: Any) -> str:
    fields = {"user": "anna", "two": "4d", "stem": STEM, "line": 30, "block": 2}
    return ASSERTION.format(**{**fields, "index": "tmp4", "upper": "ks0", **changed})


def _traceback(**changed: Any) -> str:
    fields = {"folder": "/home/anna/app", "line": 12, "function": "serve"}
    return TRACEBACK.format(**{**fields, **changed})


@pytest.mark.parametrize(
    "other",
    [
        _assertion(user="bob", two="zz", stem="c" + "a" * 51),
        _assertion(line=31, block=77),
        _assertion(index="tmp12", upper="ks3"),
        "noise before\n" * 9 + _assertion(),
    ],
)
def test_one_bug_has_one_signature(other: str, diagnose: Diagnose) -> None:
    assert diagnose(other)["signature"] == diagnose(_assertion())["signature"]


def test_frames_count_without_folders_and_lines(diagnose: Diagnose) -> None:
    known = diagnose(_traceback())["signature"]
    moved = _traceback(folder="/srv/other/place", line=99)
    assert diagnose(moved)["signature"] == known
    assert diagnose(_traceback(function="warm_up"))["signature"] != known


def test_other_bugs_have_other_signatures(diagnose: Diagnose) -> None:
    mismatch = "Error: input_handles[{}]: unmatched dim value at {}, expected: 8, but got: 9\n"
    logs = [_assertion(), _traceback(), mismatch.format(0, 1), mismatch.format(1, 1)]
    logs += [mismatch.format(0, 0), _assertion(index="(tmp4 + 1)")]
    assert len({diagnose(log)["signature"] for log in logs}) == len(logs)


def test_values_do_not_count(diagnose: Diagnose) -> None:
    text = "Error: input_handles[0]: unmatched dim value at 1, expected: {}, but got: {}\n"
    assert diagnose(text.format(8, 9))["signature"] == diagnose(text.format(16, 3))["signature"]


GUARD = "AssertionError: Guard failed: {}\n"
LAYOUT = "Error: expected size 7=={}, stride 1==1 at dim=0\nError in op: input\n"
DTYPE = "Error: input_handles[0]: unmatched dtype, expected: {}, but got: 15\n"
CONFLICT = "RuntimeError: Specified device {} does not match device of data {}\n"
CHECK = "RuntimeError: kernel, /t/{}.main.cpp:26, index out of bounds: 0 <= tmp7 < {}\n"
MEMORY = "torch.OutOfMemoryError: {} out of memory. Tried to allocate 2.00 GiB.\n"
ATEN = (
    "/pytorch/aten/src/ATen/native/cuda/{}:93: operator(): block: [{},0,0], thread: [0,0,0] "
    "Assertion `index out of bounds` failed.\n"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (GUARD.format("y.size()[0] == x.size()[0]"), LAYOUT.format(10)),
        (GUARD.format("y.size()[0] == x.size()[0]"), GUARD.format("z.size()[0] == x.size()[0]")),
        (GUARD.format("y.size()[0] == x.size()[0]"), GUARD.format("y.size()[0] == 3")),
        (DTYPE.format("5(at::kHalf)"), DTYPE.format("6(at::kFloat)")),
        (_assertion(upper="50257"), _assertion(upper="1024")),
        (_assertion(upper="50257"), _assertion(upper="ks0")),
        (CHECK.format(STEM, "10L"), CHECK.format(STEM, "12L")),
        (CONFLICT.format("cuda:1", "cuda:0"), CONFLICT.format("cuda:1", "cpu")),
        (ATEN.format("IndexKernel.cu", 0), ATEN.format("ScatterGatherKernel.cu", 0)),
        (MEMORY.format("CUDA"), MEMORY.format("XPU")),
    ],
)
def test_failure_of_another_cause_has_another_signature(
    one: str, other: str, diagnose: Diagnose
) -> None:
    known, changed = diagnose(one), diagnose(other)
    assert known["verdict"]["class"] == changed["verdict"]["class"] != "undecided"
    assert known["signature"] != changed["signature"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (CONFLICT.format("cuda:1", "cuda:0"), CONFLICT.format("cuda:3", "cuda:0")),
        (CHECK.format(STEM, "10L"), CHECK.format("c" + "a" * 51, "10")),
        (LAYOUT.format(10), LAYOUT.format(12)),
        (ATEN.format("IndexKernel.cu", 0), ATEN.format("IndexKernel.cu", 7).replace(":93", ":94")),
        (_assertion(upper="50257"), _assertion(upper="50257", line=77, stem="c" + "b" * 51)),
    ],
)
def test_ranks_machines_and_data_do_not_count(one: str, other: str, diagnose: Diagnose) -> None:
    assert diagnose(one)["signature"] == diagnose(other)["signature"]


LOGS = [
    log
    for log in sorted(FIXTURES.glob("*/input/*"))
    if log.suffix in (".log", ".txt", ".err") and log.stat().st_size < 50_000
]


def _labels(text: str, rng: random.Random) -> str:
    """One launcher's label in front of every line, without a time that could order lines anew."""
    label = rng.choice(("[default2]:", "[rank5]: ", "│ ", "E       ", "worker-3 | "))
    return "".join(label + line for line in text.splitlines(keepends=True))


LAYOUTS: tuple[Rewrite, ...] = (_labels, colours, windows_ends, progress_bars, surroundings)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__.strip("_"))
@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.parent.name}-{log.name}")
def test_same_log_from_another_place_has_the_same_signature(
    log: Path, layout: Rewrite, diagnose: Diagnose
) -> None:
    rng = random.Random(log.name)
    text = log.read_text(encoding="utf-8", errors="replace")
    moved = layout(paths(text, rng), rng)
    assert diagnose(moved)["signature"] == diagnose(text)["signature"]


def test_nothing_failed_has_no_signature(diagnose: Diagnose) -> None:
    assert diagnose("hello\n")["signature"] is None


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("at 0x7f00aa in /a/b/model.py:12", "at # in model.py:#"),
        (f"/tmp/x/4d/{STEM}.py", "generated.py"),
        (r"C:\jobs\run7\model.py", "model.py"),
        ("tmp4 < ks0", "tmp# < ks#"),
    ],
)
def test_what_differs_from_run_to_run_is_taken_out(text: str, kept: str) -> None:
    assert stable(text) == kept
