"""A gather whose index nothing checks: compiles it with marks, or runs it far out of bounds.

unguarded_gather.py build FOLDER     writes FOLDER/gather.pt2
unguarded_gather.py run FOLDER       dies of SIGSEGV in the marked kernel
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch._inductor import config


class Gather(torch.nn.Module):
    """Rows of a table."""

    def forward(self, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        """`table` (16, 8) at `index` (4), doubled."""
        return table[index] * 2


def build(package: Path) -> None:
    """Compile without index checks, with a mark for every launch."""
    inputs = (torch.ones(16, 8), torch.zeros(4, dtype=torch.int64))
    with config.patch(assert_indirect_indexing=False):
        torch._inductor.aoti_compile_and_package(
            torch.export.export(Gather(), inputs),
            package_path=str(package),
            inductor_configs={"aot_inductor.debug_intermediate_value_printer": "3"},
        )


if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "build":
        build(folder / "gather.pt2")
    else:
        model = torch._inductor.aoti_load_package(str(folder / "gather.pt2"))
        print("loaded", flush=True)
        model(torch.ones(16, 8), torch.full((4,), 1 << 40))
