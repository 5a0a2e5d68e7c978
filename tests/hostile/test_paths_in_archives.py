"""Names and links that lead out of an archive: they are names, and no file is touched for them."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.hostile.packed import END, directory_end, header, member, tar, zipped
from tests.hostile.tool import CLASS, ERROR, scan, told_of

SECRET = b"RuntimeError: CUDA error: an illegal memory access was encountered\n"
NAMES = [
    "../../outside.log",
    "/outside.log",
    "a/../../../outside.py",
    "..\\..\\outside.log",
    "C:\\outside.log",
    "//host/share/outside.log",
    "./outside_metadata.json",
    "~/outside.log",
    "-",
    ".",
    "..",
    "con",
    "a" * 255,
]


def _files(place: Path) -> dict[str, bytes]:
    return {
        os.path.join(folder, name): Path(folder, name).read_bytes()
        for folder, _, names in os.walk(place)
        for name in names
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder inside others, in which the command runs, beside a file that no archive holds."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "outside.log").write_bytes(SECRET)
    monkeypatch.chdir(tmp_path / "a/b/c")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("pack", [zipped, tar], ids=["zip", "tar"])
@pytest.mark.parametrize("form", ["json", "html"])
def test_names_that_lead_out_are_only_names(run: Run, place: Path, pack: object, form: str) -> None:
    assert callable(pack)
    Path("logs").write_bytes(pack(dict.fromkeys(NAMES, ERROR)))
    before = _files(place)
    assert run("-f", form, "--attach", "bug.zip", "logs").exit_code == 1
    Path("bug.zip").unlink()
    assert _files(place) == before
    report = scan(run, "logs")
    assert report.verdict.failure_class == CLASS
    assert {finding.failure_class for finding in report.findings} == {CLASS}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize("target", ["/etc/passwd", "../../../outside.log", "run.log", "link"])
def test_links_lead_nowhere(run: Run, place: Path, kind: bytes, target: str) -> None:
    link = header("link", kind, target=target)
    below = header("link/run.log", kind, target=target)
    data = link + below + member("link", ERROR) + member("link/more.log", ERROR) + END
    report = scan(run, "-", stdin=data)
    assert report.verdict.failure_class == CLASS
    assert {finding.failure_class for finding in report.findings} == {CLASS}
    assert told_of(report)["link"] == ["not a regular file"]
    assert told_of(report)["link/run.log"] == ["not a regular file"]


def test_devices_and_pipes_in_an_archive_are_not_opened(run: Run) -> None:
    kinds = {"null": tarfile.CHRTYPE, "disk": tarfile.BLKTYPE, "pipe": tarfile.FIFOTYPE}
    odd = b"".join(header(name, kind, size=1 << 30) for name, kind in kinds.items())
    report = scan(run, "-", stdin=odd + member("run.log", ERROR) + END)
    assert report.verdict.failure_class == CLASS
    refused = ["not a regular file"]
    assert told_of(report) == {**dict.fromkeys(kinds, refused), "run.log": []}


def test_link_in_a_zip_is_the_text_of_its_target(run: Run, place: Path) -> None:
    with zipfile.ZipFile("logs.zip", "w") as archive:
        info = zipfile.ZipInfo("link.log")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "../../../outside.log")
        archive.writestr("run.log", ERROR)
    report = scan(run, "logs.zip")
    assert {finding.failure_class for finding in report.findings} == {CLASS}


@pytest.mark.parametrize("name", ["a.zip", "a.pt2"])
def test_member_without_a_name_is_read(run: Run, tmp_path: Path, name: str) -> None:
    data = zipped({"x": ERROR}, zipfile.ZIP_STORED)
    at = data.index(b"PK\1\2")
    local = data[:26] + b"\0\0" + data[28:30] + ERROR
    directory = data[at : at + 28] + b"\0\0" + data[at + 30 : at + 46]
    end = directory_end(1, len(directory), len(local))
    (tmp_path / name).write_bytes(local + directory + end)
    (tmp_path / "run.log").write_bytes(ERROR)
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert len(report.sources) == 2


def test_link_on_disk_to_a_file_is_followed_and_to_a_folder_is_not(run: Run, place: Path) -> None:
    Path("run.log").symlink_to("../../../outside.log")
    Path("up").symlink_to("../..")
    report = scan(run, ".")
    assert report.verdict.failure_class == "illegal-memory-access"
    assert told_of(report) == {"run.log": [], "up": ["not a regular file"]}
