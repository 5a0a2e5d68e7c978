"""Wrong inputs to a real AOTI package, diagnosed by the installed command."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.conftest import Crash, Job, Piped

pytestmark = pytest.mark.live


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("shape", {"input": 0, "property": "dim", "dim": 1, "expected": 16, "actual": 17}),
        ("dtype", {"input": 1, "property": "dtype", "expected": "float32", "actual": "float64"}),
        ("meta", {"input": 0, "property": "device", "expected": "cpu", "actual": "meta"}),
        ("batch", {"input": 0, "property": "dim-upper-bound", "expected": 64, "actual": 65}),
        ("stride", {"input": 0, "property": "stride", "dim": 0, "expected": 16, "actual": 1}),
    ],
)
def test_checked_input_is_named_with_its_property(
    kind: str, facts: dict[str, Any], crash: Crash, piped: Piped, job: Job
) -> None:
    text = crash(kind, AOTI_RUNTIME_CHECK_INPUTS="1")
    report = piped(text, "--package", str(job.package), "-")
    assert report["verdict"]["class"] == "input-mismatch"
    assert report["verdict"]["certainty"] == "sure"
    found = report["findings"][0]["facts"]
    assert {name: found[name] for name in facts} == facts
    assert found["name"] in ("arg2_1", "arg3_1")


def test_missing_input_is_counted_without_any_flag(crash: Crash, piped: Piped) -> None:
    report = piped(crash("missing"))
    found = report["findings"][0]["facts"]
    assert report["verdict"]["class"] == "input-mismatch"
    assert (found["property"], found["expected"], found["actual"]) == ("count", 2, 1)


def test_unchecked_wrong_shape_is_no_sure_cause(crash: Crash, piped: Piped) -> None:
    report = piped(crash("shape"))
    assert report["verdict"]["class"] == "operator-error"
    assert report["verdict"]["certainty"] == "likely"
    facts = report["findings"][report["verdict"]["finding"]]["facts"]
    assert "addmm" in facts["op"]
    assert "(4x17 and 16x16)" in facts["message"]
    assert not any(f["class"] == "input-mismatch" for f in report["findings"])
