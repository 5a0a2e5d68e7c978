"""The attachment: what is in it, that it is whole or not there, and that it stays small."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aoti_logscan.bundle import MAX_BYTES, Attached, attach
from aoti_logscan.events import Event
from aoti_logscan.pipeline import Investigation, investigate
from aoti_logscan.report import Dossier, Excerpt
from tests.conftest import FIXTURES
from tests.dossiers import hostile

PROVEN = "triton-oob-proven-by-package"
LOG = FIXTURES / PROVEN / "input"
COMMAND = Path(sys.executable).with_name("aoti-logscan")


@pytest.fixture(scope="module")
def found() -> Investigation:
    """A report with lineage, code and excerpts."""
    return investigate([FIXTURES / PROVEN / "input"])


def _members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {info.filename: archive.read(info) for info in archive.infolist()}


def _noisy_events(count: int) -> list[Event]:
    """Events that hardly compress."""
    [event, *_] = investigate([FIXTURES / PROVEN / "input"]).events
    return [
        msgspec.structs.replace(
            event, place=msgspec.structs.replace(event.place, text=os.urandom(400).hex())
        )
        for _ in range(count)
    ]


def test_it_holds_the_report_its_evidence_code_and_events(
    found: Investigation, tmp_path: Path
) -> None:
    path = tmp_path / "bug.zip"
    attached = attach(path, found.dossier, found.events)
    assert attached == Attached(path.stat().st_size, ())
    members = _members(path)
    assert set(members) == {
        "report.md",
        "report.json",
        "report.html",
        "excerpts/001-stderr.log-1.txt",
        "excerpts/002-stderr.log-9.txt",
        "code/001-call-of-triton_poi_fused_index_tanh_0.cpp",
        "code/002-triton_poi_fused_index_tanh_0.py",
        "events.jsonl",
        "manifest.json",
    }
    assert members["report.md"].startswith(b"## Triton index out of bounds (sure)")
    assert json.loads(members["report.json"])["verdict"]["certainty"] == "sure"
    assert b"tl.device_assert(" in members["code/002-triton_poi_fused_index_tanh_0.py"]
    assert b"\n> 1  /tmp/torchinductor_dev/" in members["excerpts/001-stderr.log-1.txt"]
    assert len(members["events.jsonl"].splitlines()) == len(found.events)


def test_manifest_has_hashes_and_the_tool(found: Investigation, tmp_path: Path) -> None:
    attach(tmp_path / "bug.zip", found.dossier, found.events, redacted={"user": 2})
    members = _members(tmp_path / "bug.zip")
    manifest = json.loads(members.pop("manifest.json"))
    report = found.dossier.report
    assert manifest["tool"] == {"name": "aoti-logscan", "version": report.tool.version}
    assert (manifest["signature"], manifest["redacted"]) == (report.signature, {"user": 2})
    assert {one["name"]: (one["bytes"], one["sha256"]) for one in manifest["files"]} == {
        name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in members.items()
    }


def test_equal_reports_give_equal_files(found: Investigation, tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        attach(tmp_path / name, found.dossier, found.events)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_events_that_do_not_fit_are_counted(found: Investigation, tmp_path: Path) -> None:
    events = _noisy_events(4000)
    attached = attach(tmp_path / "bug.zip", found.dossier, events, limit=700_000)
    assert attached.size == (tmp_path / "bug.zip").stat().st_size <= 700_000
    members = _members(tmp_path / "bug.zip")
    kept = len(members["events.jsonl"].splitlines())
    assert 100 < kept < 4000
    told = f"events.jsonl: {4000 - kept:,} of 4,000 events"
    assert attached.left_out == (told,)
    assert json.loads(members["manifest.json"])["left_out"] == [told]
    first, *_, last = members["events.jsonl"].splitlines()
    texts = [json.loads(line)["place"]["text"] for line in (first, last)]
    assert texts == [events[0].place.text, events[-1].place.text]


def test_page_that_does_not_fit_is_left_out_and_said(found: Investigation, tmp_path: Path) -> None:
    attached = attach(tmp_path / "bug.zip", found.dossier, found.events, limit=125_000)
    assert attached.size <= 125_000
    members = _members(tmp_path / "bug.zip")
    assert {"report.md", "report.json", "events.jsonl", "manifest.json"} <= set(members)
    assert any(told.startswith("report.html: ") for told in attached.left_out)


def test_limit_is_what_github_takes() -> None:
    assert MAX_BYTES == 25_000_000


def test_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "bug.zip"
    path.write_bytes(b"before")
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 4; exec "$@"', "bash", COMMAND, "--attach", path, LOG],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.decode().endswith(f"cannot write {path}: File too large\n")
    assert done.stdout.startswith(b"Triton index out of bounds")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["bug.zip"]


def test_device_and_link_are_written_into(found: Investigation, tmp_path: Path) -> None:
    real, link, pipe = (tmp_path / name for name in ("real.zip", "link.zip", "pipe"))
    real.write_bytes(b"before")
    link.symlink_to(real)
    attach(link, found.dossier, [])
    assert link.is_symlink()
    assert zipfile.is_zipfile(real)
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        attach(pipe, found.dossier, [])
        assert reader.communicate()[0] == real.read_bytes()
    assert pipe.is_fifo()


def test_folder_that_is_not_there_is_an_error(found: Investigation, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        attach(tmp_path / "none" / "bug.zip", found.dossier, found.events)


def test_files_have_the_rights_that_new_files_have(found: Investigation, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    attach(tmp_path / "bug.zip", found.dossier, found.events)
    assert (tmp_path / "bug.zip").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize(
    "text",
    [
        "../../etc/passwd",
        "C:\\x\\..\\y",
        "a\x1b]0;t\x07\x9b\u202eb",
        "",
        "..",
        "x" * 5000,
        "logs.zip!rank3/<dir-1>/run.log",
        "<script>alert(1)</script>",
    ],
)
def test_names_and_texts_are_harmless(text: str, tmp_path: Path) -> None:
    attach(tmp_path / "bug.zip", hostile(text), [])
    members = _members(tmp_path / "bug.zip")
    for name, data in members.items():
        parts = name.split("/")
        assert all(0 < len(part) < 150 and part.strip(".") for part in parts)
        assert len(parts) <= 2
        told = data.decode("utf-8")
        plain = told.replace("\n", "") if name != "report.html" else ""
        assert plain.isprintable() or plain == ""


def test_places_of_one_name_are_told_apart(tmp_path: Path, found: Investigation) -> None:
    one = Excerpt(source="a/run.log", line=3, first_line=1, text="x\ny\nz")
    dossier: Dossier = msgspec.structs.replace(found.dossier, excerpts=(one, one, one))
    attach(tmp_path / "bug.zip", dossier, [])
    names: list[Any] = [name for name in _members(tmp_path / "bug.zip") if "excerpts" in name]
    assert len(names) == 3
