"""Loads the package of the store and calls it in one of the wrong ways."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

library, package, kind = sys.argv[1:4]
operators: Any = torch.ops
if kind != "no-operator":
    operators.load_library(library)
ROWS, IDS = torch.ones(4, 4), torch.arange(4)


def load(**options: Any) -> Any:
    """The model of the package."""
    return torch._inductor.aoti_load_package(package, **options)


def call(rows: torch.Tensor = ROWS, ids: torch.Tensor = IDS) -> None:
    """One call of the model."""
    print("scored", load()(rows, ids).shape)


def give(constants: dict[str, torch.Tensor], *, full: bool) -> None:
    """New constants for the model, and a call."""
    model = load()
    model.load_constants(constants, check_full_update=full)
    print("scored", model(ROWS, IDS).shape)


def screened(code: float) -> torch.Tensor:
    """Rows that start with this code."""
    return torch.full((4, 4), code)


KINDS: dict[str, Callable[[], object]] = {
    "no-operator": call,
    "raise": lambda: call(screened(100)),
    "segfault": lambda: call(screened(200)),
    "abort": lambda: call(screened(300)),
    "index": lambda: call(ids=torch.tensor([0, 1, 2, 10])),
    "nan": lambda: call(ROWS / 0 - ROWS / 0),
    "inf": lambda: call(ROWS / 0),
    "constant-unknown": lambda: give({"prices": torch.ones(10, 4)}, full=False),
    "constant-missing": lambda: give({}, full=True),
    "constant-on-meta": lambda: give({"items": torch.ones(10, 4, device="meta")}, full=True),
    "device-index": lambda: load(device_index=0),
}
KINDS[kind]()
