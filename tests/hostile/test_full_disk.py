"""Outputs that cannot be written, or not to their end: one line, status 2, and nothing half done.

`-f text` to `/dev/full`, and the recording of `run`, are tested in `tests/test_cli.py` and
`tests/test_run_command.py`.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.tool import ERROR, Done, fixture, spawn

FORMS = [["-f", form, "-"] for form in ("events", "html")]
OTHERS = [
    ["schema", "report"],
    ["--help"],
    ["patterns", "list"],
    ["kernels", "-"],
]
FULL = "/dev/full"
needs_full = pytest.mark.skipif(not os.path.exists(FULL), reason=f"the system has no {FULL}")


def _assert_one_line(done: Done, what: str) -> None:
    assert done.status == 2
    assert done.err.decode() == f"Error: cannot write {what}\n"


@needs_full
@pytest.mark.parametrize("words", FORMS + OTHERS, ids=" ".join)
def test_full_disk_on_standard_output_is_one_line(words: list[str]) -> None:
    with open(FULL, "wb") as full:
        done = spawn(*words, feed=[ERROR], stdout=full)
    _assert_one_line(done, "stdout: No space left on device")


@needs_full
@pytest.mark.parametrize("form", ["json", "html"])
def test_full_disk_under_an_output_file_is_one_line(form: str) -> None:
    done = spawn("-f", form, "-o", FULL, "-", feed=[ERROR])
    _assert_one_line(done, f"{FULL}: No space left on device")


@needs_full
def test_full_disk_under_an_attachment_costs_no_report_and_no_device() -> None:
    done = spawn("--attach", FULL, "-", feed=[ERROR])
    _assert_one_line(done, f"{FULL}: No space left on device")
    assert done.out.startswith(b"Misaligned address")
    assert not os.path.isfile(FULL)


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_disk_that_fills_up_keeps_what_was_there(little_disk: Path) -> None:
    (little_disk / "filler").write_bytes(bytes(40_000))
    old = little_disk / "bug.zip"
    old.write_bytes(b"old")
    done = spawn("--attach", old, "-", feed=[ERROR])
    _assert_one_line(done, f"{old}: No space left on device")
    assert old.read_bytes() == b"old"
    assert sorted(file.name for file in little_disk.iterdir()) == ["bug.zip", "filler"]


@pytest.mark.parametrize("option", ["-o", "--attach"])
def test_file_that_may_not_grow_is_one_line(tmp_path: Path, option: str) -> None:
    limits = {resource.RLIMIT_FSIZE: 100}
    file = tmp_path / "report"
    done = spawn("-f", "json", option, file, "-", feed=[ERROR], limits=limits)
    _assert_one_line(done, f"{file}: File too large")
    assert b"Traceback" not in done.err


@pytest.mark.parametrize("form", ["json", "html"])
def test_report_needs_no_file(form: str) -> None:
    done = spawn("-f", form, "-", feed=[ERROR], limits={resource.RLIMIT_FSIZE: 0})
    assert (done.status, done.err) == (1, b"")
    assert b"misaligned address" in done.out


def test_tlparse_without_room_for_its_copies_says_so(tmp_path: Path) -> None:
    trace = "forms/z-trace-payload-errors/input/trace/dedicated_log_torch_trace_ab12cd34.log"
    (tmp_path / "trace.log").write_bytes(fixture(trace))
    words = ["--tlparse", tmp_path / "pages", tmp_path / "trace.log"]
    done = spawn(*words, limits={resource.RLIMIT_FSIZE: 0})
    assert (done.status, done.out[:16]) == (0, b"No failure found")
    assert b"Traceback" not in done.err
    assert b"no copy of " in done.err


@needs_full
@pytest.mark.parametrize("option", [["-o", FULL], []], ids=["file", "stderr"])
def test_diagnosis_of_a_run_on_a_full_disk_keeps_its_status(option: list[str]) -> None:
    with open(FULL, "wb") as full:
        done = spawn("run", *option, "--", "sh", "-c", "exit 7", stderr=full)
    assert done.status == 7


@needs_full
@pytest.mark.parametrize(
    ("words", "status"), [(["--attach", "bug.zip", "-"], 1), (["no/such.log"], 2)]
)
def test_full_disk_under_standard_error_changes_no_status(
    tmp_path: Path, words: list[str], status: int
) -> None:
    with open(FULL, "wb") as full:
        done = spawn(*words, feed=[ERROR], stderr=full, cwd=tmp_path)
    assert done.status == status


def test_recording_that_cannot_be_written_is_said_and_the_status_kept(tmp_path: Path) -> None:
    words = ["run", "--record", "/dev/null/here", "--", "sh", "-c", "echo out; exit 7"]
    done = spawn(*words, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert (done.status, done.out) == (7, b"out\n")
    assert b"a temporary folder takes its place" in done.err
