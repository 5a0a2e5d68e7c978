"""Packages of a run are found by their paths in words and in the output, and kept by their size."""

from __future__ import annotations

from pathlib import Path

import pytest

from aoti_logscan import run_packages
from aoti_logscan.run_packages import keep, packages


def found(output: bytes, folder: Path, *words: str) -> list[str]:
    """The names of the packages that are found."""
    (folder / "output.log").write_bytes(output)
    return [Path(one.path).name for one in packages(words, folder / "output.log")]


@pytest.mark.parametrize(
    "text",
    [
        "loading {}",
        "loading '{}' now",
        'File "{}", line 1',
        "--model={}",
        "Error: {}: not a zip archive",
        "\x1b[1mpath\x1b[0m ({}), done",
        "{}.",
    ],
)
def test_path_is_found_as_people_print_it(tmp_path: Path, text: str) -> None:
    package = tmp_path / "model.pt2"
    package.touch()
    assert found(text.format(package).encode(), tmp_path) == ["model.pt2"]


def test_quoted_path_with_spaces_is_found(tmp_path: Path) -> None:
    (tmp_path / "my model.pt2").touch()
    assert found(f"load '{tmp_path}/my model.pt2'".encode(), tmp_path) == ["my model.pt2"]


def test_words_of_the_command_are_looked_at_first(tmp_path: Path) -> None:
    for name in ("a.pt2", "b.pt2", "c.pt2"):
        (tmp_path / name).touch()
    words = (f"{tmp_path}/b.pt2", f"--package={tmp_path}/c.pt2")
    assert found(f"{tmp_path}/a.pt2".encode(), tmp_path, *words) == ["b.pt2", "c.pt2", "a.pt2"]


def test_path_on_the_border_of_two_pieces_is_found_once(tmp_path: Path) -> None:
    package = tmp_path / "model.pt2"
    package.touch()
    for before in range((1 << 20) - 40, (1 << 20) + 1, 7):
        assert found(b" " * before + str(package).encode() + b"\n", tmp_path) == ["model.pt2"]


def test_what_does_not_exist_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "folder.pt2").mkdir()
    assert found(f"{tmp_path}/folder.pt2 {tmp_path}/none.pt2 \0.pt2 .pt2".encode(), tmp_path) == []


def test_flood_of_paths_is_bounded(tmp_path: Path) -> None:
    flood = b"".join(b"/x/%d.pt2 " % number for number in range(300_000))
    assert found(flood, tmp_path) == []


def test_size_decides_how_a_package_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_packages, "MAX_COPIED", 1)
    monkeypatch.setattr(run_packages, "MAX_LINKED", 2)
    for size in range(1, 4):
        (tmp_path / f"{size}.pt2").write_bytes(b"x" * size)
    words = [f"{tmp_path}/{size}.pt2" for size in range(1, 4)]
    kept = list(keep(packages(words, tmp_path / "none"), tmp_path))
    assert [one["kept"] for one in kept] == ["copy", "link", "no"]
    assert (tmp_path / "packages/1-2.pt2").readlink() == tmp_path / "2.pt2"


def test_packages_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.pt2").write_text(name, encoding="utf-8")
    words = [f"{tmp_path}/{name}/model.pt2" for name in ("a", "b")]
    list(keep(packages(words, tmp_path / "none"), tmp_path))
    texts = {
        file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "packages").iterdir()
    }
    assert texts == {"model.pt2": "a", "1-model.pt2": "b"}
