"""The findings as SARIF: by its specification, with the lines that viewers jump to."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from sarif_pydantic import Sarif

from aoti_logscan.render.sarif import render_sarif
from aoti_logscan.report import Report
from tests.dossiers import SHOWN, hostile, of_fixture


def _run(report: Report) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(render_sarif(report))
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run: dict[str, Any] = log["runs"][0]
    return run


def _without_empty(value: Any) -> Any:
    """The value without nulls, empty lists and bags of properties."""
    if isinstance(value, dict):
        kept = {name: _without_empty(one) for name, one in value.items() if name != "properties"}
        return {name: one for name, one in kept.items() if one not in (None, [], {})}
    return [_without_empty(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_what_the_specification_asks_for(name: str) -> None:
    text = render_sarif(of_fixture(name).report)
    told = Sarif.model_validate_json(text).model_dump(mode="json", by_alias=True)
    assert _without_empty(told) == _without_empty(
        json.loads(text)
    )  # no field that it does not know


@pytest.mark.parametrize("name", SHOWN)
def test_every_finding_is_a_result_of_its_rule(name: str) -> None:
    report = of_fixture(name).report
    run = _run(report)
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert [result["ruleId"] for result in run["results"]] == [
        one.pattern for one in report.findings
    ]
    assert {result["ruleId"] for result in run["results"]} == set(rules)


def test_cause_is_an_error_with_the_signature_and_the_rest_is_information() -> None:
    report = of_fixture("triton-oob-proven-by-package").report
    cause, rest = _run(report)["results"]
    assert (cause["level"], cause["kind"]) == ("error", "fail")
    assert cause["partialFingerprints"] == {"aotiLogscanSignature/v1": report.signature}
    assert (rest["level"], rest["kind"]) == ("none", "informational")
    assert "partialFingerprints" not in rest


def test_cause_that_is_not_sure_is_a_warning() -> None:
    report = of_fixture("triton-oob-proven-by-package").report
    cause = msgspec.structs.replace(report.findings[0], certainty="possible")
    changed = msgspec.structs.replace(report, findings=(cause, *report.findings[1:]))
    assert _run(changed)["results"][0]["level"] == "warning"


def test_line_of_the_log_is_where_the_result_stands() -> None:
    [result] = _run(of_fixture("xpu-device-lost-cause-unknown").report)["results"]
    [location] = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("xpu-device-lost-cause-unknown/input/vllm.log")
    assert place["artifactLocation"]["uri"].startswith("file:///")
    assert place["region"]["startLine"] == 7
    assert "UR_RESULT_ERROR_DEVICE_LOST" in place["region"]["snippet"]["text"]


def test_line_of_the_model_comes_before_that_of_the_log() -> None:
    report = of_fixture("triton-oob-proven-by-package").report
    assert report.lineage is not None
    stack = ('File "/home/dev/rank/model.py", line 7, in forward', "elsewhere")
    lineage = msgspec.structs.replace(report.lineage, user_stack=stack)
    result = _run(msgspec.structs.replace(report, lineage=lineage))["results"][0]
    [location] = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "file:///home/dev/rank/model.py"},
        "region": {"startLine": 7},
    }
    related = [one["physicalLocation"]["region"]["startLine"] for one in result["relatedLocations"]]
    assert related == [report.findings[0].evidence[0].line]


def test_what_could_not_be_read_is_a_notification() -> None:
    told = _run(hostile("x").report)["invocations"][0]["toolExecutionNotifications"]
    assert [one["message"]["text"] for one in told] == ["x", "x"]
    assert "region" not in told[1]["locations"][0]["physicalLocation"]


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("logs.zip!rank 3/a.log", "logs.zip!rank%203/a.log"),
        ("C:\\jobs\\x.log", "./C:/jobs/x.log"),
        ("<dir-1>/x.log", "%3Cdir-1%3E/x.log"),
        ("/a/b\x1b\u202e.log", "file:///a/b%1B%E2%80%AE.log"),
        ("x\udcff.log", "x%3F.log"),
    ],
)
def test_name_of_a_source_is_a_uri(name: str, uri: str) -> None:
    report = of_fixture("input-dim-static").report
    evidence = msgspec.structs.replace(report.findings[0].evidence[0], source=name)
    finding = msgspec.structs.replace(report.findings[0], evidence=(evidence,))
    run = _run(msgspec.structs.replace(report, findings=(finding, *report.findings[1:])))
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri


def test_no_control_character_is_in_it() -> None:
    shown = render_sarif(hostile("\x1b[2J\x9b31m\u202e\x7f\u200b<script>").report)
    assert all(line.isprintable() for line in shown.split("\n"))
