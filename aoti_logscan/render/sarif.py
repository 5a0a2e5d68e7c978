"""The findings as SARIF 2.1.0, for views of code scanning.

The cause stands at the model's own line where the lineage or the last kernel leads to one, else at
the line of the log that tells it. Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.render.json import render_value
from aoti_logscan.render.layout import visible
from aoti_logscan.render.told import cause_of, replaced_told
from aoti_logscan.report import Evidence, Finding, Report

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
# File "/home/anna/model.py", line 7, in forward      File model.py:7, in forward
_USER_LINE = lazy_re(r"^\s*File \"?(?P<file>[^\"\n]{1,1000}?)\"?(?:, line |:)(?P<line>\d{1,9})\b")


def render_sarif(report: Report, *, redacted: Mapping[str, int] | None = None) -> str:
    """One SARIF run with a result for each finding, as indented JSON with a final newline."""
    log = {"version": "2.1.0", "$schema": _SCHEMA, "runs": [_run(report, redacted)]}
    return render_value(log)


def _run(report: Report, redacted: Mapping[str, int] | None) -> dict[str, Any]:
    rules = {finding.pattern: finding for finding in report.findings}
    return {
        "tool": {
            "driver": {
                "name": report.tool.name,
                "semanticVersion": report.tool.version,
                "rules": [_rule(finding) for finding in rules.values()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": [_result(report, finding) for finding in report.findings],
        "properties": {
            "verdict": msgspec.to_builtins(report.verdict),
            "signature": report.signature,
            "redaction": replaced_told(redacted),
        },
    }


def _rule(finding: Finding) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": finding.pattern,
        "shortDescription": {"text": visible(finding.title)},
        "properties": {"class": finding.failure_class},
    }
    if finding.explain:
        rule["fullDescription"] = {"text": visible(finding.explain)}
    if finding.fixes:
        rule["help"] = {"text": "\n".join(map(visible, finding.fixes))}
    return rule


def _invocation(report: Report) -> dict[str, Any]:
    """What could not be read, as notifications."""
    return {
        "executionSuccessful": True,
        "toolExecutionNotifications": [
            {
                "level": "warning",
                "message": {"text": visible(problem.what)},
                "locations": [_location(source.name, problem.line)],
            }
            for source in report.sources
            for problem in source.problems
        ],
    }


def _result(report: Report, finding: Finding) -> dict[str, Any]:
    is_cause = cause_of(report) is finding
    told = [_told_at(evidence) for evidence in finding.evidence]
    model = list(_model_lines(report)) if is_cause else []
    result: dict[str, Any] = {
        "ruleId": finding.pattern,
        "level": _level(finding),
        "kind": "fail" if finding.role == "cause" else "informational",
        "message": {"text": visible(finding.summary)},
        "locations": (model or told)[:1],
        "relatedLocations": [*model[1:], *(told if model else told[1:])],
        "occurrenceCount": finding.count,
        "properties": {
            "role": finding.role,
            "certainty": finding.certainty,
            "class": finding.failure_class,
            "rank": finding.rank,
            "facts": finding.facts,
        },
    }
    if is_cause and report.signature:
        result["partialFingerprints"] = {"aotiLogscanSignature/v1": report.signature}
    return result


def _level(finding: Finding) -> str:
    """An error where the cause is sure; what is no failure of its own has none."""
    if finding.role != "cause":
        return "none"
    return "error" if finding.certainty == "sure" else "warning"


def _model_lines(report: Report) -> Iterator[dict[str, Any]]:
    """Where the failing kernel comes from in the model's own code."""
    stack = report.lineage.user_stack if report.lineage else ()
    if not stack and report.last_kernel is not None and report.last_kernel.certainty == "sure":
        stack = report.last_kernel.user_stack
    for entry in stack:
        if match := _USER_LINE.match(entry):
            yield _location(match["file"], int(match["line"]))


def _told_at(evidence: Evidence) -> dict[str, Any]:
    location = _location(evidence.source, evidence.line)
    region = location["physicalLocation"]["region"]
    region["snippet"] = {"text": visible(evidence.text)}
    return location


def _location(source: str, line: int | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(source)}}
    if line is not None and line > 0:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _uri(name: str) -> str:
    """A file's name as a URI reference, relative where the name is."""
    text = name.encode("utf-8", "replace").decode().replace("\\", "/")
    path = quote(text, safe="/!~@$&'()*+,;=-._:")
    if path.startswith("/"):
        return f"file://{path}"
    return f"./{path}" if ":" in path.partition("/")[0] else path
