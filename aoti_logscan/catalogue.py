"""All patterns in use: those that come with the package and those of users' folders."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from aoti_logscan.pattern import Pattern, folder_of_patterns, read_patterns
from aoti_logscan.pattern_check import Flaw, check_file


class Catalogue(NamedTuple):
    """Patterns by id, the file of each, and what is wrong with files that were left out."""

    patterns: dict[str, Pattern]
    files: dict[str, Path]
    flaws: tuple[Flaw, ...] = ()

    @property
    def anchors(self) -> tuple[str, ...]:
        """The literals of patterns on raw lines."""
        found = (pattern.anchor for pattern in self.patterns.values())
        return tuple(anchor for anchor in found if anchor is not None)


@cache
def built_in() -> Catalogue:
    """The patterns that come with the package."""
    folder = folder_of_patterns()
    patterns = {pattern.id: pattern for pattern in read_patterns(folder)}
    return Catalogue(patterns, {name: folder / f"{name}.toml" for name in patterns})


def catalogue(folders: Iterable[str | Path] = ()) -> Catalogue:
    """The built-in patterns and those of the folders; of one id the last counts.

    A broken file is left out and told in `flaws`, and so is a folder without any pattern.
    """
    patterns, files = dict(built_in().patterns), dict(built_in().files)
    flaws: list[Flaw] = []
    for folder in map(Path, folders):
        found = sorted(folder.glob("*.toml"))
        if not found:
            mend = "name the folder that holds them"
            flaws.append(Flaw(str(folder), "", "holds no pattern (*.toml)", mend))
        for file in found:
            checked = check_file(file)
            flaws += checked.flaws
            if checked.pattern is not None:
                patterns[file.stem], files[file.stem] = checked.pattern, file
    return Catalogue(patterns, files, tuple(flaws))
