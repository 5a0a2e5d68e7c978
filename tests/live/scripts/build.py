"""Exports a small ranking model with a dynamic batch and compiles it to a package."""

from __future__ import annotations

import sys

import torch


class Ranker(torch.nn.Module):
    """Scores rows of a table that are picked by index."""

    def __init__(self) -> None:
        super().__init__()
        self.score = torch.nn.Linear(16, 16)

    def forward(self, rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Scores of `rows` (batch, 16), weighted by `weight` (16)."""
        return (torch.relu(self.score(rows)) * weight).sum(-1)


def build(path: str) -> None:
    """Write the package to `path`."""
    batch = torch.export.Dim("batch", min=2, max=64)
    exported = torch.export.export(
        Ranker(), (torch.randn(4, 16), torch.randn(16)), dynamic_shapes=({0: batch}, None)
    )
    torch._inductor.aoti_compile_and_package(exported, package_path=path)


build(sys.argv[1])
