"""Two real ranks over gloo, one of which does not do its part."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.conftest import SCRIPTS, Scan, environment

pytestmark = pytest.mark.live


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("leaves", r"Connection (?:reset|closed) by peer"),
        ("late", r"(?i)timed out"),
    ],
)
def test_rank_that_waits_in_vain(kind: str, told: str, scan: Scan, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="live tests need the extra `live`")
    logs = [tmp_path / f"rank{rank}.log" for rank in range(2)]
    ranks = [_start(tmp_path / "store", rank, kind, log) for rank, log in enumerate(logs)]
    assert [rank.wait(timeout=120) for rank in ranks] == [1, 0]
    assert re.search(told, logs[0].read_text())
    report = scan(*logs)
    assert report["verdict"]["class"] == "collective-failure"
    cause = report["findings"][report["verdict"]["finding"]]
    assert cause["role"] == "cause"
    assert cause["rank"] == 0
    assert cause["facts"]["backend"] == "gloo"
    assert cause["facts"]["op"] in (None, "all_reduce")
    assert report["last_kernel"] is None


def _start(store: Path, rank: int, kind: str, log: Path) -> subprocess.Popen[bytes]:
    script = SCRIPTS / "leave_peer.py"
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, script, store, str(rank), kind],
            env=environment(store.parent, GLOO_SOCKET_IFNAME="lo"),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
