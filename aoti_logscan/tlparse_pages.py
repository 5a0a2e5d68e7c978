"""TORCH_TRACE files rendered by tlparse, one folder for each, and where its pages lie.

Source: tlparse 0.4.3, which takes one plain file, writes a folder and lists the pages of each
compile id in its `compile_directory.json`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aoti_logscan.trace_copies import TraceCopy

#: seconds that one trace may take
_TIMEOUT = 600
_DIRECTORY = "compile_directory.json"
_INDEX = "index.html"


class Rendered(NamedTuple):
    """One trace that was rendered: its pages in `folder`, by compile id."""

    source: str
    folder: Path
    pages: Mapping[str, Path]

    @property
    def first(self) -> Path:
        """The page to begin with."""
        return self.folder / _INDEX


class Refused(NamedTuple):
    """One trace that was not rendered, and why."""

    source: str
    why: str


def render(
    copies: Sequence[TraceCopy], ranks: Mapping[str, int | None], folder: Path
) -> list[Rendered | Refused]:
    """Render each trace into a folder of its own in `folder`, named by its rank.

    A folder of that name that tlparse did not write is left alone, and the trace refused.
    """
    program = _program()
    if program is None:
        return [Refused(copy.source, "tlparse is not installed") for copy in copies]
    names = _names([ranks.get(copy.source) for copy in copies])
    return [
        _rendered(program, copy, folder / name) for copy, name in zip(copies, names, strict=True)
    ]


def _program() -> str | None:
    """The program of the package tlparse: beside this Python's own scripts, else on the path."""
    return shutil.which("tlparse", path=sysconfig.get_path("scripts")) or shutil.which("tlparse")


def _names(ranks: Sequence[int | None]) -> Iterator[str]:
    """A folder's name for each trace; a rank may have several."""
    seen: dict[str, int] = {}
    for rank in ranks:
        name = "trace" if rank is None else f"rank_{rank}"
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}_{seen[name]}"


def _rendered(program: str, copy: TraceCopy, folder: Path) -> Rendered | Refused:
    if folder.exists() and not (folder / _DIRECTORY).is_file():
        return Refused(copy.source, f"{folder} is there already, and tlparse did not write it")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [program, str(copy.file), "-o", str(folder), "--overwrite", "--no-browser"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Refused(copy.source, f"tlparse took over {_TIMEOUT} s")
    except OSError as error:
        return Refused(copy.source, f"tlparse could not be run: {error.strerror}")
    if done.returncode or not (folder / _INDEX).is_file():
        return Refused(copy.source, f"tlparse refused it: {_reason(done.stderr)}")
    return Rendered(copy.source, folder, _pages(folder))


def _reason(stderr: bytes) -> str:
    """The last line before the stack that says something, as tlparse and its panics say it."""
    lines = stderr.decode("utf-8", "replace").partition("Stack backtrace:")[0].splitlines()
    told = [line.strip() for line in lines if line.strip()]
    return told[-1] if told else "it wrote nothing"


def _pages(folder: Path) -> dict[str, Path]:
    """The first page of each compile id: its metrics where there are some."""
    try:
        listed = json.loads((folder / _DIRECTORY).read_bytes())
    except (OSError, ValueError):
        return {}
    found: dict[str, Path] = {}
    for name, entry in listed.items() if isinstance(listed, dict) else ():
        page = _first_page(entry)
        if page is not None and (folder / page).is_file():
            found[name.strip("[]")] = folder / page
    return found


def _first_page(entry: Any) -> str | None:
    artifacts = entry.get("artifacts") if isinstance(entry, dict) else None
    urls = [one.get("url") for one in artifacts or () if isinstance(one, dict)]
    texts = [url for url in urls if isinstance(url, str)]
    metrics = [url for url in texts if "compilation_metrics" in url]
    return next(iter([*metrics, *texts]), None)
