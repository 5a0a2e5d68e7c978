"""All patterns in use: those that come with the package and those of users' folders."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from aoti_logscan.events import RawLine, tag_of
from aoti_logscan.pattern import Pattern, event_of, folder_of_patterns, read_pattern

if TYPE_CHECKING:
    from aoti_logscan.pattern_check import Flaw

#: the event of patterns on raw lines
_RAW_LINE = tag_of(RawLine)


class Catalogue:
    """Patterns by id, the file of each, and what is wrong with files that were left out.

    A pattern's file is read when the pattern is needed; those in `read` are known already.
    """

    def __init__(
        self,
        files: Mapping[str, Path],
        read: Mapping[str, Pattern] | None = None,
        flaws: tuple[Flaw, ...] = (),
    ) -> None:
        self.files = dict(files)
        self.flaws = flaws
        self._given = dict(read or {})
        self._read = dict(self._given)
        self._events = {name: pattern.event for name, pattern in self._given.items()}

    @cached_property
    def patterns(self) -> dict[str, Pattern]:
        """All patterns by id, with their examples."""
        return {
            name: self._given[name] if name in self._given else read_pattern(file)
            for name, file in self.files.items()
        }

    @cached_property
    def ours(self) -> frozenset[str]:
        """The patterns that come with the package."""
        return frozenset(self.files) - frozenset(self._given)

    @cached_property
    def anchors(self) -> tuple[str, ...]:
        """The literals of patterns on raw lines."""
        found = (pattern.anchor for pattern in self.of_events({_RAW_LINE}))
        return tuple(anchor for anchor in found if anchor is not None)

    def of_events(self, tags: Collection[str]) -> list[Pattern]:
        """The patterns on events of these types; those of the package without their examples."""
        return [self._pattern(name) for name in self.files if self._event(name) in tags]

    def _event(self, name: str) -> str:
        if name not in self._events:
            self._events[name] = event_of(self.files[name])
        return self._events[name]

    def _pattern(self, name: str) -> Pattern:
        if name not in self._read:
            self._read[name] = read_pattern(self.files[name], with_examples=False)
        return self._read[name]


@cache
def built_in() -> Catalogue:
    """The patterns that come with the package."""
    return Catalogue({file.stem: file for file in sorted(folder_of_patterns().glob("*.toml"))})


def catalogue(folders: Iterable[str | Path] = ()) -> Catalogue:
    """The built-in patterns and those of the folders; of one id the last counts.

    A broken file is left out and told in `flaws`, and so is a folder without any pattern.
    """
    given = list(folders)
    return _with_folders(given) if given else built_in()


def _with_folders(folders: Iterable[str | Path]) -> Catalogue:
    from aoti_logscan.pattern_check import Flaw, check_file
    from aoti_logscan.sources import shown

    files, read, flaws = dict(built_in().files), {}, []
    for folder in map(Path, folders):
        found = sorted(folder.glob("*.toml"))
        if not found:
            mend = "name the folder that holds them"
            flaws.append(Flaw(shown(str(folder)), "", "holds no pattern (*.toml)", mend))
        for file in found:
            checked = check_file(file)
            flaws += checked.flaws
            if checked.pattern is not None:
                read[file.stem], files[file.stem] = checked.pattern, file
    return Catalogue(files, read, tuple(flaws))
