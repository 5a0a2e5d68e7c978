"""What a report lacks of the answer that a fixture's `case.toml` states.

Values in facts and tables may be `"<null>"` (must be null), `"~text"` (must contain it),
`{one_of = [...]}` and `{not = ...}`; a list asks that each of its members is in the reported list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def differences(want: Any, got: Any, at: str) -> Iterator[str]:
    """One line for each leaf of `want` that `got` does not have."""
    if isinstance(want, dict) and want.keys() == {"one_of"}:
        if all(any(differences(value, got, at)) for value in want["one_of"]):
            yield f"{at}: want one of {want['one_of']!r}, got {got!r}"
    elif isinstance(want, dict) and want.keys() == {"not"}:
        if not any(differences(want["not"], got, at)):
            yield f"{at}: must not be {want['not']!r}"
    elif isinstance(want, dict):
        for key, value in want.items():
            inner = got.get(key) if isinstance(got, dict) else None
            yield from differences(value, inner, f"{at}.{key}")
    elif isinstance(want, list):
        for value in want:
            if not any(not any(differences(value, item, at)) for item in got or ()):
                yield f"{at}: {value!r} is not in {got!r}"
    elif not _fits(want, got):
        yield f"{at}: want {want!r}, got {got!r}"


def _fits(want: Any, got: Any) -> bool:
    if want == "<null>":
        return got is None
    if isinstance(want, str) and want.startswith("~"):
        return want[1:] in str(got)
    return bool(want == got)


def judge(expect: dict[str, Any], exit_code: int, report: dict[str, Any]) -> list[str]:
    """Every difference between the expected answer and a report."""
    return [*_verdict(expect, exit_code, report), *_roles(expect, report), *_rest(expect, report)]


def _chosen(report: dict[str, Any]) -> dict[str, Any]:
    at = report["verdict"]["finding"]
    finding: dict[str, Any] = report["findings"][at] if at is not None else {}
    return finding


def _verdict(expect: dict[str, Any], exit_code: int, report: dict[str, Any]) -> Iterator[str]:
    verdict, finding = report["verdict"], _chosen(report)
    classes = expect["class"] if isinstance(expect["class"], list) else [expect["class"]]
    if verdict["class"] not in classes:
        yield f"class: want {classes}, got {verdict['class']}"
    if exit_code != expect.get("exit_code", exit_code):
        yield f"exit code: want {expect['exit_code']}, got {exit_code}"
    if "certainty" in expect and verdict["certainty"] not in expect["certainty"]:
        yield f"certainty: want {expect['certainty']}, got {verdict['certainty']}"
    if "rank" in expect and finding.get("rank") != expect["rank"]:
        yield f"rank: want {expect['rank']}, got {finding.get('rank')}"
    lines = [evidence["line"] for evidence in finding.get("evidence", ())]
    if "evidence_line" in expect and expect["evidence_line"] not in lines:
        yield f"evidence line: want {expect['evidence_line']}, got {lines}"
    yield from differences(expect.get("facts", {}), finding.get("facts", {}), "facts")


def _roles(expect: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    roles = [(finding["class"], finding["role"]) for finding in report["findings"]]
    for name in expect.get("consequences", ()):
        if (name, "consequence") not in roles:
            yield f"consequence {name}: missing"
    for name in expect.get("not_causes", ()):
        if (name, "cause") in roles:
            yield f"{name}: called a cause"
    if expect.get("harmless") and all(role != "harmless" for _, role in roles):
        yield "no finding is harmless"
    causes = sum(role == "cause" for _, role in roles)
    if causes != expect.get("causes", causes):
        yield f"causes: want {expect['causes']}, got {causes}"


def _rest(expect: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    commands = " || ".join(step["command"] or "" for step in report["next_steps"])
    for text in expect.get("next_steps", ()):
        if text not in commands:
            yield f"next step {text!r}: missing"
    for text in expect.get("not_next_steps", ()):
        if text in commands:
            yield f"next step {text!r}: should not be offered"
    states = {flag["name"]: flag["state"] for flag in report["flags"]}
    for name, state in expect.get("flags", {}).items():
        if states.get(name) != state:
            yield f"flag {name}: want {state}, got {states.get(name)}"
    if expect.get("problems") and not any(source["problems"] for source in report["sources"]):
        yield "no source reports a problem"
    for part in ("last_kernel", "lineage"):
        if expect.get(f"no_{part}") and report[part] is not None:
            yield f"{part}: want null"
        if part in expect:
            yield from differences(expect[part], report[part], part)
