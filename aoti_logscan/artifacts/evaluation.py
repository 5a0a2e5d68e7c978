"""The value of an index for given sizes, as far as sizes alone decide it.

Loaded data is unknown. Where an unknown condition chooses, both ways are tried, each for itself, so
that a value that comes out is one that the kernel computes on that way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from aoti_logscan.artifacts.expression import Apply, Const, Expr, Load, Opaque, Ref, Thread

#: ways through unknown conditions that are tried
MAX_WAYS = 64
_MAX_STEPS = 3_000

Value = int | bool | None
#: gives what a name stands for, or None where nothing is known
Lookup = Callable[[str], Expr | int | None]


class _TooLongError(Exception):
    """More steps than any index takes."""


class _Way:
    """One way through the unknown conditions, chosen by the bits of a number."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._seen: dict[Expr, bool] = {}

    def choose(self, condition: Expr) -> bool:
        if condition not in self._seen:
            self._seen[condition] = bool(self._number >> len(self._seen) & 1)
        return self._seen[condition]

    @property
    def choices(self) -> int:
        return len(self._seen)


class Evaluation:
    """Evaluates expressions on one way, with what names mean."""

    def __init__(self, resolve: Callable[[Ref], Expr | int | None], way: _Way) -> None:
        self._resolve = resolve
        self._way = way
        self._known: dict[Ref, Value] = {}
        self._steps = 0

    def value(self, expression: Expr) -> Value:
        """The value, or None where it is not decided by sizes."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise _TooLongError
        match expression:
            case Const(value):
                return value
            case Thread():
                return 0
            case Ref():
                return self._name(expression)
            case Apply("where", (condition, yes, no)):
                chosen = self.value(condition)
                if chosen is None:
                    chosen = self._way.choose(condition)
                return self.value(yes if chosen else no)
            case Apply(operator, parts):
                return _applied(operator, [self.value(part) for part in parts])
            case Load() | Opaque():
                return None
        return None

    def _name(self, name: Ref) -> Value:
        if name not in self._known:
            self._known[name] = None
            found = self._resolve(name)
            self._known[name] = (
                found if found is None or isinstance(found, int) else self.value(found)
            )
        return self._known[name]


def ways(
    resolve: Callable[[Ref], Expr | int | None], wanted: tuple[Expr, ...]
) -> Iterator[tuple[Value, ...]]:
    """The values of some expressions, on every way through the unknown conditions in them."""
    number, choices = 0, 0
    while number < min(1 << choices, MAX_WAYS):
        way = _Way(number)
        evaluation = Evaluation(resolve, way)
        try:
            yield tuple(evaluation.value(one) for one in wanted)
        except (_TooLongError, RecursionError):
            return
        choices = max(choices, way.choices)
        number += 1


def _applied(operator: str, values: list[Value]) -> Value:
    if operator in ("&", "|") and len(values) == 2:
        return _both(operator, *values)
    if operator == "*" and 0 in values:
        return 0
    if operator in ("//", "%") and values[0] == 0 and values[1] != 0:
        return 0
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    function = _FUNCTIONS.get(operator)
    try:
        return function(*known) if function else None
    except (TypeError, ZeroDivisionError):
        return None


def _both(operator: str, left: Value, right: Value) -> Value:
    """`and` or `or`, which one side may decide."""
    decides = operator == "|"
    for value in (left, right):
        if value is not None and bool(value) is decides:
            return decides
    return None if left is None or right is None else not decides


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
    "/": lambda left, right: int(left / right),
    "%": lambda left, right: left % right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "neg": lambda value: -value,
    "~": lambda value: not value if isinstance(value, bool) else ~value,
    "min": min,
    "max": max,
    "abs": abs,
}
