"""Sizes that make an index check fail, proven by evaluating the kernel's own code for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from aoti_logscan.artifacts.evaluation import Budget, Resolve, TooLongError, ways
from aoti_logscan.artifacts.expression import Expr, Ref, refs
from aoti_logscan.artifacts.kernel_code import IndexSlice
from aoti_logscan.lazy_re import lazy_re

#: sizes that are varied together, and answers that are given
MAX_SYMBOLS = 3
MAX_ANSWERS = 4
#: steps of evaluation in all, and symbols that are looked through
_MAX_STEPS = 200_000
_MAX_NAMES = 1_000
#: the first size that 32 bits, which kernels compute indices with, do not hold
_TOO_LARGE = 1 << 31
_SMALL = (0, 1, 2, 3)
# xnumel  r0_numel  rnumel
_NUMEL = lazy_re(r"^(?:[xyz]|r\d*_?)numel$")


class Sizes(NamedTuple):
    """What a kernel is given: expressions over the wrapper's symbols by parameter.

    `value_of` gives what the wrapper sets a symbol to, None where it is a size itself. `limits` are
    further values worth a try for a symbol, such as the bounds that are checked.
    """

    arguments: Mapping[str, Expr]
    value_of: Callable[[str], Expr | None]
    limits: Callable[[str], Iterable[int]]

    def roots(self, names: Iterable[str]) -> tuple[str, ...]:
        """The sizes that parameters or symbols are made of; a name itself where nothing is set."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        todo = list(names)
        while todo and len(seen) < _MAX_NAMES:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            value = self._meaning(name)
            if value is None or value == Ref(name):
                found[name] = None
            else:
                todo += refs(value)
        return tuple(found)

    def _meaning(self, name: str) -> Expr | None:
        value = self.arguments.get(name)
        return self.value_of(name) if value is None else value

    def resolver(self, code: IndexSlice, given: Mapping[str, int]) -> Resolve:
        """What names in a kernel mean where some sizes and numbers of elements are given."""

        def resolve(ref: Ref) -> Expr | int | None:
            if ref.name in given:
                return given[ref.name]
            value = code.value_of(ref.name)
            return self._meaning(ref.name) if value is None else value

        return resolve


def failing(code: IndexSlice, wanted: Iterable[str], sizes: Sizes) -> tuple[dict[str, int], ...]:
    """Values of the symbols behind the parameters `wanted`, smallest first, with the index.

    As few symbols as prove a failure are given values. Nothing where more symbols are in play than
    are varied, or where no tried value fails.
    """
    symbols = sorted(sizes.roots(wanted))
    if len(symbols) > MAX_SYMBOLS:
        return ()
    budget = Budget(_MAX_STEPS)
    for count in range(1, len(symbols) + 1):
        found: list[dict[str, int]] = []
        try:
            for chosen in itertools.combinations(symbols, count):
                found += _failing_for(chosen, code, sizes, budget)
        except TooLongError:
            return tuple(found)
        if found:
            return tuple(found[:MAX_ANSWERS])
    return ()


def _failing_for(
    symbols: Sequence[str], code: IndexSlice, sizes: Sizes, budget: Budget
) -> list[dict[str, int]]:
    """The smallest values of some symbols that make the index fail, whatever the others are."""
    tried = [
        sorted({*_SMALL, *(one for one in sizes.limits(symbol) if 0 <= one < _TOO_LARGE)})
        for symbol in symbols
    ]
    found: list[dict[str, int]] = []
    for values in sorted(itertools.product(*tried), key=lambda values: (max(values), values)):
        given = dict(zip(symbols, values, strict=True))
        index = _failing_index(code, sizes, given, budget)
        if index is not None:
            found.append({**given, "index": index})
            if len(found) == MAX_ANSWERS:
                break
    return found


def _failing_index(
    code: IndexSlice, sizes: Sizes, given: Mapping[str, int], budget: Budget
) -> int | None:
    """The index that fails the check on some way through the kernel; None where none does."""
    numels = dict(_numels(code, sizes.resolver(code, given), budget))
    if any(value <= 0 for value in numels.values()):
        return None  # nothing to do, so not launched
    resolve = sizes.resolver(code, {**numels, **given})
    for condition, index, *guards in ways(
        resolve, (code.condition, code.index, *code.guards), budget
    ):
        is_reached = all(guard is None or guard for guard in guards)
        if is_reached and condition is False and isinstance(index, int):
            return int(index)
    return None


def _numels(code: IndexSlice, resolve: Resolve, budget: Budget) -> Iterator[tuple[str, int]]:
    """How many elements each axis has: 1, the least of a launched kernel, where that is open."""
    names = [name for name in code.kernel.parameters if _NUMEL.match(name)]
    values = next(ways(resolve, tuple(Ref(name) for name in names), budget), ())
    for name, value in zip(names, values, strict=False):
        yield name, 1 if value is None else int(value)
