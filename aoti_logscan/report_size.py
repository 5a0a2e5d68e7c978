"""A report that stays readable by programs: of too much evidence the first places are kept."""

from __future__ import annotations

import msgspec

from aoti_logscan.report import Finding, Problem, Report

#: bytes of a report as JSON
MAX_BYTES = 10 << 20
#: places of a finding that are kept, the fewer the less room there is
_PLACES = (64, 8, 1)


def limited(report: Report, limit: int = MAX_BYTES) -> Report:
    """The report, or what fits of it: fewer places of each finding, then fewer findings.

    What was left out is a problem of the first source.
    """
    if _size(report) <= limit:
        return report
    kept = report
    for places in _PLACES:
        findings = tuple(_with_places(one, places) for one in report.findings)
        kept = msgspec.structs.replace(report, findings=findings)
        if _size(kept) <= limit:
            break
    while _size(kept) > limit and len(kept.findings) > 1:
        findings = kept.findings[: len(kept.findings) // 2]
        kept = msgspec.structs.replace(kept, findings=findings)
    return _told(kept, report, limit)


def _size(report: Report) -> int:
    return len(msgspec.json.encode(report))


def _with_places(finding: Finding, places: int) -> Finding:
    return msgspec.structs.replace(finding, evidence=finding.evidence[:places])


def _told(kept: Report, whole: Report, limit: int) -> Report:
    """The report with what is not in it as a problem of its first source."""
    places = sum(len(one.evidence) for one in whole.findings)
    places -= sum(len(one.evidence) for one in kept.findings)
    findings = len(whole.findings) - len(kept.findings)
    what = f"{places} places and {findings} findings are not listed: a report has {limit} bytes"
    first, *rest = kept.sources
    first = msgspec.structs.replace(first, problems=(*first.problems, Problem(None, what)))
    return msgspec.structs.replace(kept, sources=(first, *rest))
