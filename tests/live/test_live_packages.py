"""A real AOTI package that is called, loaded or given constants in a wrong way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.live.conftest import Piped, Store, only_cause

pytestmark = pytest.mark.live


def _found(expression: str, text: str) -> re.Match[str]:
    found = re.search(expression, text)
    assert found, text
    return found


def test_index_that_a_cpu_kernel_rejects(store: Store, piped: Piped) -> None:
    text = store.call("index")
    bounds = _found(r"index out of bounds: (\S+) <= (\w+) < (\w+)", text)
    place = _found(r"Exception raised from (\w+) at (\S+):(\d+)", text)
    report = piped(text)
    assert only_cause(report, "cpu-index-out-of-bounds") == {
        "kernel": place[1],
        "file": place[2],
        "line": int(place[3]),
        "index": bounds[2],
        "lower": bounds[1],
        "upper": bounds[3],
    }
    assert report["last_kernel"]["name"] == place[1]


def test_index_is_followed_to_the_input_that_it_came_from(store: Store, piped: Piped) -> None:
    text = store.call("index")
    kernel = _found(r"Exception raised from (\w+) at", text)[1]
    found = piped(text, "--package", str(store.package), "-")["lineage"]
    assert (found["kernel"], found["lower"], found["upper"]) == (kernel, "0", "10L")
    source = found["index_source"]
    assert source["kind"] == "loaded"
    assert source["input"]["position"] == 1
    assert source["argument"] == source["input"]["name"]
    assert "build_store.py" in " ".join(found["user_stack"])


def test_operator_that_raises_is_followed_to_its_call_and_the_users_line(
    store: Store, piped: Piped
) -> None:
    found = piped(store.call("raise"), "--package", str(store.package), "-")["last_kernel"]
    assert found["certainty"] == "sure"
    assert "aoti_torch_proxy_executor_call_function(" in found["call"]["text"]
    assert found["aten_ops"] == ["live.screen"]
    assert "torch.ops.live.screen(rows)" in " ".join(found["user_stack"])
    assert found["producers"][0]["input"]["position"] == 0


def test_operator_that_raises_tells_its_reason(store: Store, piped: Piped) -> None:
    report = piped(store.call("raise"), "--package", str(store.package), "-")
    assert report["verdict"]["class"] == "operator-error"
    facts = report["findings"][report["verdict"]["finding"]]["facts"]
    assert facts["message"] == "rows must not start with code 100"
    assert re.search("screen|aoti_torch_proxy_executor_call_function", facts["op"])
    assert report["last_kernel"]["found_by"] in ("api-call", "stack-frame")


@pytest.mark.parametrize(("kind", "signal"), [("segfault", "SIGSEGV"), ("abort", "SIGABRT")])
def test_operator_that_ends_the_process(kind: str, signal: str, store: Store, piped: Piped) -> None:
    text = store.call(kind, "-X", "faulthandler")
    users = _found(r'File "([^"]*call_store\.py)", line (\d+) in call\n', text)
    facts = only_cause(piped(text), "host-crash")
    assert facts["signal"] == signal
    assert facts["frame"].endswith(f"{Path(users[1]).name}:{users[2]}")


def test_operator_that_nobody_has_loaded(store: Store, piped: Piped) -> None:
    report = piped(store.call("no-operator"))
    assert only_cause(report, "missing-custom-op") == {"op": "live::screen"}
    assert "harmless" in [finding["role"] for finding in report["findings"]]
    assert report["last_kernel"] is None


@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_value_that_is_no_number_in_an_input(kind: str, store: Store, piped: Piped) -> None:
    text = store.call(kind)
    name = _found(r"At least one (?:NaN|INF) in (\w+)", text)[1]
    facts = {"tensor": name, "kernel": None, "kind": kind}
    assert only_cause(piped(text), "nan-or-inf") == facts


@pytest.mark.parametrize(
    ("kind", "constant"), [("constant-unknown", "prices"), ("constant-missing", "items")]
)
def test_constants_that_are_not_those_of_the_model(
    kind: str, constant: str, store: Store, piped: Piped
) -> None:
    report = piped(store.call(kind))
    assert only_cause(report, "constants-mismatch")["constant"] == constant
    assert report["last_kernel"] is None


def test_constant_on_another_type_of_device(store: Store, piped: Piped) -> None:
    facts = only_cause(piped(store.call("constant-on-meta")), "device-mismatch")
    assert (facts["stage"], facts["compiled_for"]) == ("constants", "cpu")


def test_package_for_cpu_on_a_device_with_an_index(store: Store, piped: Piped) -> None:
    report = piped(store.call("device-index"))
    facts = only_cause(report, "device-mismatch")
    assert (facts["stage"], facts["compiled_for"]) == ("load", "cpu")
    assert "harmless" in [finding["role"] for finding in report["findings"]]


def test_package_that_ends_in_the_middle(store: Store, piped: Piped) -> None:
    cut = store.folder / "cut.pt2"
    cut.write_bytes(store.package.read_bytes()[:50_000])
    facts = only_cause(piped(store.load(cut)), "package-load-failure")
    assert facts.items() >= {"file": None, "reason": "corrupt", "symbol": None}.items()


def test_package_that_is_not_there(store: Store, piped: Piped) -> None:
    facts = only_cause(piped(store.load(store.folder / "gone.pt2")), "package-load-failure")
    assert facts.items() >= {"file": None, "reason": "not-found", "symbol": None}.items()


def test_package_without_the_model_that_is_asked_for(store: Store, piped: Piped) -> None:
    facts = only_cause(piped(store.load(store.package, "shop")), "package-load-failure")
    assert (facts["reason"], facts["symbol"]) == ("no-model", None)


def test_package_without_its_library(store: Store, piped: Piped) -> None:
    package = store.copy("bare.pt2", lambda member: not member.endswith(".so"))
    text = store.load(package)
    missing = _found(r"File not found: (\S+)", text)[1]
    facts = only_cause(piped(text), "package-load-failure")
    assert facts.items() >= {"file": missing, "reason": "not-found", "symbol": None}.items()
