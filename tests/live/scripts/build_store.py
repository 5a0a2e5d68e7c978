"""Compiles a model that looks rows up, screens them by a custom operator and checks for NaN."""

from __future__ import annotations

import sys
from typing import Any

import torch


class Store(torch.nn.Module):
    """Prices of the items of an order."""

    def __init__(self) -> None:
        super().__init__()
        self.items = torch.nn.Parameter(torch.ones(10, 4))

    def forward(self, rows: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """`rows` (4, 4), after screening, times the items of `ids` (4 numbers from 0 to 9)."""
        return torch.relu(torch.ops.live.screen(rows) * self.items[ids])


def build(library: str, path: str) -> None:
    """Write the package to `path`."""
    operators: Any = torch.ops
    operators.load_library(library)
    torch.library.register_fake("live::screen", torch.empty_like)
    exported = torch.export.export(Store(), (torch.ones(4, 4), torch.arange(4)))
    torch._inductor.aoti_compile_and_package(
        exported, package_path=path, inductor_configs={"nan_asserts": True}
    )


build(*sys.argv[1:])
