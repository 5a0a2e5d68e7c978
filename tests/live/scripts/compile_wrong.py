"""Compiles a tiny function, or exports a tiny model, in one of the ways that go wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._inductor.lowering import register_lowering

library: Any = torch.library
LIBRARY = library.Library("late", "DEF")


def transposed() -> None:
    """An operator whose fake says contiguous and whose kernel gives a transposed view."""
    LIBRARY.define("turned(Tensor rows) -> Tensor")
    LIBRARY.impl("turned", lambda rows: rows.t().contiguous().t(), "CPU")
    torch.library.register_fake("late::turned", lambda rows: torch.empty(rows.shape))
    torch.compile(lambda rows: torch.ops.late.turned(rows))(torch.ones(4, 8))


def not_a_number() -> None:
    """A value that is no number in the input."""
    torch.compile(lambda rows: rows @ rows)(torch.full((4, 4), float("nan")))


def index() -> None:
    """An index that the table has not."""
    table = torch.ones(10, 4)
    torch.compile(lambda rows, ids: rows[ids].sin())(table, torch.tensor([0, 12]))


def memory() -> None:
    """A result of 4 PiB."""
    torch.compile(lambda column, row: column @ row)(
        torch.ones(1, 1).expand(2**25, 1), torch.ones(1, 1).expand(1, 2**25)
    )


def graph_break() -> None:
    """A branch on data, where no break is allowed."""

    def pick(rows: Tensor) -> Tensor:
        return rows.sin() if rows.sum() > 0 else rows.cos()

    torch.compile(pick, fullgraph=True)(torch.ones(4))


def shapes() -> None:
    """Two matrices that do not fit."""
    torch.compile(lambda rows, weight: rows @ weight)(torch.ones(4, 3), torch.ones(4, 3))


def lowering() -> None:
    """An operator whose lowering gives up."""
    LIBRARY.define("rounded(Tensor rows) -> Tensor")
    LIBRARY.impl("rounded", lambda rows: rows.round(), "CPU")
    torch.library.register_fake("late::rounded", torch.empty_like)

    @register_lowering(torch.ops.late.rounded.default)
    def lower(rows: object) -> object:
        raise NotImplementedError("rounding of strided rows")

    torch.compile(lambda rows: torch.ops.late.rounded(rows.exp()))(torch.ones(4))


def compiled() -> None:
    """Nothing wrong; two sizes, so it is compiled again."""
    sine = torch.compile(lambda rows: rows.sin() + 1)
    print(sine(torch.ones(4)), sine(torch.ones(5)))


class Branching(torch.nn.Module):
    """Goes one of two ways by a value."""

    def forward(self, rows: Tensor) -> Tensor:
        """Rows, one way or the other."""
        count = rows.sum().to(torch.int64).item()
        return rows.sin() if count > 3 else rows.cos()


class Fixed(torch.nn.Module):
    """Works with four rows only."""

    def forward(self, rows: Tensor) -> Tensor:
        """Rows plus four numbers."""
        return rows + torch.ones(4, 1)


def data_dependent() -> None:
    """Exports a branch on a value."""
    torch.export.export(Branching(), (torch.ones(4),))


def constraint() -> None:
    """Exports with a dynamic dim that the model fixes."""
    batch = torch.export.Dim("batch", min=2, max=64)
    torch.export.export(Fixed(), (torch.ones(4, 2),), dynamic_shapes=({0: batch},))


KINDS: dict[str, Callable[[], Any]] = {
    "transposed": transposed,
    "nan": not_a_number,
    "index": index,
    "memory": memory,
    "graph-break": graph_break,
    "shapes": shapes,
    "lowering": lowering,
    "compiled": compiled,
    "data-dependent": data_dependent,
    "constraint": constraint,
}
KINDS[sys.argv[1]]()
