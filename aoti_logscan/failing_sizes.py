"""Sizes that make an index check fail, proven by evaluating the kernel's own code for them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from aoti_logscan.artifacts.evaluation import ways
from aoti_logscan.artifacts.expression import Apply, Expr, Ref, from_cpp, is_pointer, refs
from aoti_logscan.artifacts.kernel_code import IndexSlice, KernelCode

#: sizes that are varied together, and answers that are given
MAX_SYMBOLS = 3
MAX_ANSWERS = 4
_SMALL = (0, 1, 2, 3)
# xnumel  r0_numel  rnumel
_NUMEL = re.compile(r"^(?:[xyz]|r\d*_?)numel$")


class Sizes(NamedTuple):
    """What a kernel is given: expressions over the wrapper's symbols by parameter.

    `limits` are further values worth a try for a symbol, such as the bounds that are checked.
    """

    arguments: Mapping[str, Expr]
    limits: Callable[[str], Iterable[int]]


def sizes_of(
    arguments: Mapping[str, str],
    expand: Callable[[str], str],
    limits: Callable[[str], Iterable[int]],
) -> Sizes:
    """Sizes from a call's arguments as written; `expand` gives what a symbol is set to."""
    read = {}
    for parameter, argument in arguments.items():
        if not is_pointer(parameter):
            read[parameter] = _expanded(from_cpp(argument), expand)
    return Sizes(read, limits)


def failing(
    kernel: KernelCode, code: IndexSlice, wanted: Iterable[str], sizes: Sizes
) -> tuple[dict[str, int], ...]:
    """Values of the symbols behind the parameters `wanted`, smallest first, with the index.

    As few symbols as prove a failure are given values. Nothing where more symbols are in play than
    are varied, or where no tried value fails.
    """
    symbols = list(dict.fromkeys(_symbols(wanted, sizes)))
    if len(symbols) > MAX_SYMBOLS:
        return ()
    for count in range(1, len(symbols) + 1):
        found = [
            answer
            for chosen in itertools.combinations(symbols, count)
            for answer in _failing_for(chosen, kernel, code, sizes)
        ]
        if found:
            return tuple(found[:MAX_ANSWERS])
    return ()


def _failing_for(
    symbols: Sequence[str], kernel: KernelCode, code: IndexSlice, sizes: Sizes
) -> list[dict[str, int]]:
    """The smallest values of some symbols that make the index fail, whatever the others are."""
    tried = [
        sorted({*_SMALL, *sizes.limits(symbol)} - _negative(sizes, symbol)) for symbol in symbols
    ]
    found: list[dict[str, int]] = []
    for values in sorted(itertools.product(*tried), key=lambda values: (max(values), values)):
        given = dict(zip(symbols, values, strict=True))
        index = _failing_index(kernel, code, sizes, given)
        if index is not None:
            found.append({**given, "index": index})
            if len(found) == MAX_ANSWERS:
                break
    return found


def _negative(sizes: Sizes, symbol: str) -> set[int]:
    return {value for value in sizes.limits(symbol) if value < 0}


def _symbols(parameters: Iterable[str], sizes: Sizes) -> Iterator[str]:
    """The wrapper's symbols behind parameters; a parameter itself where nothing is known."""
    for parameter in parameters:
        argument = sizes.arguments.get(parameter)
        if argument is None:
            yield parameter
        else:
            yield from refs(argument)


def _failing_index(
    kernel: KernelCode, code: IndexSlice, sizes: Sizes, given: Mapping[str, int]
) -> int | None:
    """The index that fails the check on some way through the kernel; None where none does."""

    def resolve(name: Ref) -> Expr | int | None:
        if name.name in given:
            return given[name.name]
        if name.name in numels:
            return numels[name.name]
        value = code.value_of(name.name)
        return sizes.arguments.get(name.name) if value is None else value

    numels: dict[str, int] = {}
    numels = dict(_numels(kernel, resolve))
    if any(value <= 0 for value in numels.values()):
        return None  # nothing to do, so not launched
    for condition, index in ways(resolve, (code.condition, code.index)):
        if condition is False and isinstance(index, int):
            return int(index)
    return None


def _numels(
    kernel: KernelCode, resolve: Callable[[Ref], Expr | int | None]
) -> Iterator[tuple[str, int]]:
    """How many elements each axis has: 1, the least of a launched kernel, where that is open."""
    names = [name for name in kernel.parameters if _NUMEL.match(name)]
    values = next(ways(resolve, tuple(Ref(name) for name in names)), ())
    for name, value in zip(names, values, strict=False):
        yield name, 1 if value is None else int(value)


def _expanded(expression: Expr, expand: Callable[[str], str], depth: int = 0) -> Expr:
    """The expression with aliases and computed sizes of the wrapper replaced by what they are."""
    if isinstance(expression, Ref):
        value = expand(expression.name)
        if value == expression.name or depth > 20:
            return expression
        return _expanded(from_cpp(value), expand, depth + 1)
    if isinstance(expression, Apply):
        parts = tuple(_expanded(part, expand, depth + 1) for part in expression.operands)
        return Apply(expression.operator, parts)
    return expression
