"""The signature: equal for two reports of one bug, another for another bug."""

from __future__ import annotations

from typing import Any

import pytest

from aoti_logscan.signature import stable
from tests.conftest import Diagnose

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
