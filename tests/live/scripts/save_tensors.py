"""Compiles a model whose second kernel makes a NaN, saves its tensors (level 1), and runs it."""

from __future__ import annotations

import torch


class Logarithm(torch.nn.Module):
    """The sum of logarithms of a product, of which one is of a negative number."""

    def forward(self, rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """`rows` (4, 8), `weight` (8, 8)."""
        return torch.log(torch.relu(rows @ weight) - 1).sum(0)


inputs = (torch.zeros(4, 8), torch.ones(8, 8))
exported = torch.export.export(Logarithm(), inputs)
path = torch._inductor.aoti_compile_and_package(exported, package_path="saving.pt2")
print("sums", torch._inductor.aoti_load_package(path)(*inputs).shape)
