"""The table of what is tried: each test in it exists, and each test of this folder is in it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests import hostile

NAMED = re.findall(r"([\w.]+)::(\w+) \|", hostile.__doc__ or "")
OURS = sorted(file.stem for file in Path(__file__).parent.glob("test_*.py"))


def test_table_is_read() -> None:
    assert len(NAMED) > 100


@pytest.mark.parametrize("module", sorted({module for module, _ in NAMED}))
def test_tests_in_the_table_exist(module: str) -> None:
    there = vars(importlib.import_module(f"tests.{module}"))
    assert [name for of, name in NAMED if of == module and not callable(there.get(name))] == []


@pytest.mark.parametrize("module", [name for name in OURS if name != "test_all_covered"])
def test_tests_of_this_folder_are_in_the_table(module: str) -> None:
    there = vars(importlib.import_module(f"tests.hostile.{module}"))
    known = {name for of, name in NAMED if of == f"hostile.{module}"}
    ours = {name for name, one in there.items() if name.startswith("test_") and callable(one)}
    assert ours - known == {"test_fixtures_are_enough"} & ours
