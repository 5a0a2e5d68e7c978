"""Each format on five fixtures, as it was reviewed; `pytest --golden=write` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, Run
from tests.dossiers import SHOWN

GOLDEN = Path(__file__).parent / "golden"
#: formats, and what their files are called
FORMATS = {
    "text": "txt",
    "json": "json",
    "events": "jsonl",
    "markdown": "md",
    "html": "html",
    "sarif": "sarif",
}
# the parts of a page that are the same in all: its script, its style, their hashes
_EMBEDDED = re.compile(r"(<(script|style)\b(?![^>]*json)[^>]*>).*?(</\2>)", re.DOTALL)
_HASH = re.compile(r"'sha256-[^']+'")


def _shown(text: str) -> str:
    """What a file keeps: a page without what is embedded, all lines ended."""
    return _HASH.sub("'sha256-...'", _EMBEDDED.sub(r"\1...\3", text))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", SHOWN)
def test_format_is_as_it_was_reviewed(
    name: str, form: str, run: Run, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FIXTURES)
    result = run("-f", form, f"{name}/input")
    shown = _shown(result.stdout)
    file = GOLDEN / f"{name}.{FORMATS[form]}"
    if pytestconfig.getoption("golden") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


def test_there_is_no_other_golden_file() -> None:
    named = {f"{name}.{suffix}" for name in SHOWN for suffix in FORMATS.values()}
    assert {file.name for file in GOLDEN.iterdir()} == named
