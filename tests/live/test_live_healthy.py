"""Healthy runs with every log on: nothing has failed in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import EVERY_LOG, Compile, Scan, Store

pytestmark = pytest.mark.live


def _nothing_failed(scan: Scan, *paths: Path) -> None:
    report = scan(*paths)
    assert (report["verdict"]["class"], report["verdict"]["certainty"]) == ("none", None)
    assert "cause" not in [finding["role"] for finding in report["findings"]]
    assert report["last_kernel"] is None


def test_compiled_function_that_is_compiled_again(
    compile_wrong: Compile, scan: Scan, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    output = compile_wrong("compiled", TORCH_LOGS=EVERY_LOG, TORCH_TRACE=str(trace))
    assert output.status == 0, output.text
    assert "[__recompiles]" in output.text
    assert "[__output_code]" in output.text
    log = tmp_path / "run.log"
    log.write_text(output.text)
    _nothing_failed(scan, log)
    _nothing_failed(scan, trace)


def test_model_that_is_compiled_ahead_of_time(store: Store, scan: Scan, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(store.log)
    _nothing_failed(scan, log)
    _nothing_failed(scan, store.trace)
    _nothing_failed(scan, store.package)
