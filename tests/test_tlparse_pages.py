"""Traces rendered by tlparse: each in a folder of its own, whatever they hold and come from."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import IO

import pytest

from aoti_logscan.streams import text_stream
from aoti_logscan.tlparse_pages import Refused, Rendered, render
from aoti_logscan.trace_copies import TraceCopies, TraceCopy
from tests.conftest import FIXTURES, Run

FAILED = next((FIXTURES / "trace-failed-compile/input/trace").glob("*.log"))


def _copy(folder: Path, data: bytes) -> TraceCopy:
    file = folder / "copy.log"
    file.write_bytes(data)
    return TraceCopy("rank0.log", file)


def _stderr(run: Run, *args: str) -> str:
    return run(*args).stderr


def test_pages_are_found_by_compile_id(tmp_path: Path) -> None:
    copy = _copy(tmp_path, FAILED.read_bytes())
    [one] = render([copy], {"rank0.log": 0}, tmp_path / "pages")
    assert isinstance(one, Rendered)
    assert one.folder == tmp_path / "pages/rank_0"
    assert one.first.is_file()
    assert "compilation_metrics" in one.pages["0/0"].name


def test_several_traces_of_a_rank_have_folders_of_their_own(tmp_path: Path) -> None:
    copy = _copy(tmp_path, FAILED.read_bytes())
    copies = [copy._replace(source=name) for name in "abcd"]
    found = render(copies, {"a": 3, "b": 3, "c": None}, tmp_path / "pages")
    names = [one.folder.name for one in found if isinstance(one, Rendered)]
    assert names == ["rank_3", "rank_3_2", "trace", "trace_2"]


def test_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pages/trace").mkdir(parents=True)
    (tmp_path / "pages/trace/mine.txt").write_text("mine")
    [one] = render([_copy(tmp_path, FAILED.read_bytes())], {}, tmp_path / "pages")
    assert isinstance(one, Refused)
    assert "is there already" in one.why
    assert (tmp_path / "pages/trace/mine.txt").read_text() == "mine"


def test_folder_of_tlparse_is_written_anew(tmp_path: Path) -> None:
    copy = _copy(tmp_path, FAILED.read_bytes())
    for _ in range(2):
        [one] = render([copy], {}, tmp_path / "pages")
        assert isinstance(one, Rendered)


def test_refusal_says_why(tmp_path: Path) -> None:
    [one] = render([TraceCopy("gone.log", tmp_path / "gone.log")], {}, tmp_path / "pages")
    assert isinstance(one, Refused)
    assert re.match(r"tlparse refused it: \S", one.why)


def test_program_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_args, **_named: None)
    [one] = render([_copy(tmp_path, b"")], {}, tmp_path)
    assert one == Refused("rank0.log", "tlparse is not installed")


# copies


def test_copy_is_valid_text_of_what_was_read() -> None:
    data = b"V1130 a\xff\xfe\n\t{}\xc3" + b"x" * 70_000 + b"\xc3\xa9\n"
    with TraceCopies() as copies:
        stream = copies.copying(text_stream(io.BytesIO(data)))
        read = bytearray()
        view = memoryview(bytearray(1000))
        while count := stream.readinto(view):
            read += view[:count]
        copies.done("pipe", is_trace=True)
        [copy] = copies.found
        assert bytes(read) == data
        assert copy.file.read_text(encoding="utf-8") == data.decode("utf-8", "replace")
    assert not copy.file.exists()


def test_copy_of_what_is_no_trace_is_dropped() -> None:
    with TraceCopies() as copies:
        stream = copies.copying(text_stream(io.BytesIO(b"hello\n")))
        stream.readinto(memoryview(bytearray(100)))
        copies.done("run.log", is_trace=False)
        assert copies.found == []


def _full(*_: object) -> IO[bytes]:
    return open("/dev/full", "wb")


def test_full_disk_is_a_problem_and_reading_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with TraceCopies() as copies:
        monkeypatch.setattr("aoti_logscan.trace_copies.open", _full, raising=False)
        stream = copies.copying(text_stream(io.BytesIO(b"x" * 300_000)))
        view = memoryview(bytearray(100_000))
        assert sum(iter(lambda: stream.readinto(view), 0)) == 300_000
        copies.done("run.log", is_trace=True)
        assert copies.found == []
        assert copies.problem == "no copy of run.log could be made: No space left on device"


# through the command


@pytest.mark.parametrize("form", ["file", "folder", "gz", "damaged"])
def test_command_renders_what_tlparse_would_refuse(form: str, run: Run, tmp_path: Path) -> None:
    given = tmp_path / "given"
    data = FAILED.read_bytes()
    if form == "folder":
        given.mkdir()
        (given / FAILED.name).write_bytes(data)
    else:
        made = {"file": data, "gz": gzip.compress(data), "damaged": data + b"\xff\xfe\x00\n"}
        given.write_bytes(made[form])
    told = _stderr(run, str(given), "--tlparse", str(tmp_path / "pages"))
    assert "rendered by tlparse in" in told
    assert (tmp_path / "pages/trace/index.html").is_file()


def test_command_renders_a_pipe(run: Run, tmp_path: Path) -> None:
    result = run("-", "--tlparse", str(tmp_path / "pages"), stdin=FAILED.read_bytes())
    assert "rendered by tlparse in" in result.stderr
    assert result.exit_code == 1
    assert "A compilation failed" in result.stdout


def test_page_links_to_the_compilation(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "out" / "report.html"
    page.parent.mkdir()
    run(str(FAILED), "-f", "html", "-o", str(page), "--tlparse", str(tmp_path / "pages"))
    [link] = re.findall(r'href="\./(\.\./pages/[^"]+)"', page.read_text(encoding="utf-8"))
    assert (page.parent / link).is_file()


def test_command_says_that_there_is_no_trace(run: Run, tmp_path: Path) -> None:
    log = str(FIXTURES / "input-dim-static/input")
    told = _stderr(run, log, "--tlparse", str(tmp_path / "pages"))
    assert told == "--tlparse: no TORCH_TRACE was among what was read\n"
