"""Compiles a model with a custom operator, once for each level of the value printer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch


class Crashing(torch.nn.Module):
    """A fused kernel, a matrix product, and an operator that the proxy executor calls."""

    def forward(self, rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Relu of the operator on `rows` (4, 16) times `weight` (16, 2)."""
        return torch.relu(torch.ops.live.crash((torch.sin(rows) * 2) @ weight))


def build(library: str, folder: Path) -> None:
    """Write `level2.pt2` and `level3.pt2` to the folder."""
    operators: Any = torch.ops
    operators.load_library(library)
    torch.library.register_fake("live::crash", torch.empty_like)
    exported = torch.export.export(Crashing(), (torch.ones(4, 16), torch.ones(16, 2)))
    for level in ("2", "3"):
        torch._inductor.aoti_compile_and_package(
            exported,
            package_path=str(folder / f"level{level}.pt2"),
            inductor_configs={"aot_inductor.debug_intermediate_value_printer": level},
        )


build(sys.argv[1], Path(sys.argv[2]))
