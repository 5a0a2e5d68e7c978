"""The value of an index for given sizes, as far as sizes alone decide it.

Loaded data is unknown. Where an unknown condition chooses, both ways are tried, each for itself, so
that a value that comes out is one that the kernel computes on that way. Ways that take several
conditions are tried only where each is a loaded truth value, since others may exclude each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from aoti_logscan.artifacts.expression import Apply, Const, Expr, Load, Ref, Thread

#: ways through unknown conditions that are tried
MAX_WAYS = 16
#: larger numbers are no sizes or indices
_MAX_VALUE = 1 << 63

Value = int | bool | None
#: gives what a name stands for, or None where nothing is known
Resolve = Callable[[Ref], "Expr | int | None"]


class TooLongError(Exception):
    """More steps than any index takes."""


class Budget:
    """Steps that an answer may take in all."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self) -> None:
        """One step; raises `TooLongError` where none is left."""
        self._left -= 1
        if self._left < 0:
            raise TooLongError


class _Way:
    """One way through the unknown conditions, chosen by the bits of a number."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._chosen: dict[Expr, bool] = {}

    def choose(self, condition: Expr) -> bool:
        if condition not in self._chosen:
            self._chosen[condition] = bool(self._number >> len(self._chosen) & 1)
        return self._chosen[condition]

    @property
    def choices(self) -> int:
        return len(self._chosen)

    @property
    def is_possible(self) -> bool:
        return self.choices < 2 or all(isinstance(one, Load) for one in self._chosen)


class _Evaluation:
    """Evaluates expressions on one way, with what names mean."""

    def __init__(self, resolve: Resolve, way: _Way, budget: Budget) -> None:
        self._resolve = resolve
        self._way = way
        self._budget = budget
        self._known: dict[Ref, Value] = {}

    def value(self, expression: Expr) -> Value:
        """The value, or None where it is not decided by sizes."""
        self._budget.spend()
        match expression:
            case Const(value):
                return value if abs(value) < _MAX_VALUE else None
            case Thread(first):
                return self.value(first)
            case Ref():
                return self._name(expression)
            case Apply("where", (condition, yes, no)):
                chosen = self.value(condition)
                if chosen is None:
                    chosen = self._way.choose(self._origin(condition))
                return self.value(yes if chosen else no)
            case Apply(operator, parts):
                return _applied(operator, [self.value(part) for part in parts])
        return None

    def _name(self, name: Ref) -> Value:
        if name not in self._known:
            self._known[name] = None
            found = self._resolve(name)
            if found is not None:
                self._known[name] = found if isinstance(found, int) else self.value(found)
        return self._known[name]

    def _origin(self, condition: Expr) -> Expr:
        """What a condition is, behind the names that it has."""
        seen: set[Expr] = set()
        while isinstance(condition, Ref) and condition not in seen:
            self._budget.spend()
            seen.add(condition)
            found = self._resolve(condition)
            if found is None or isinstance(found, int):
                break
            condition = found
        return condition


def ways(resolve: Resolve, wanted: tuple[Expr, ...], budget: Budget) -> Iterator[tuple[Value, ...]]:
    """The values of some expressions, on every way through the unknown conditions in them.

    Raises `TooLongError` where the budget is spent.
    """
    number, choices = 0, 0
    while number < min(1 << choices, MAX_WAYS):
        way = _Way(number)
        evaluation = _Evaluation(resolve, way, budget)
        try:
            values = tuple(evaluation.value(one) for one in wanted)
        except RecursionError as error:
            raise TooLongError from error
        if way.is_possible:
            yield values
        choices = max(choices, way.choices)
        number += 1


def _applied(operator: str, values: list[Value]) -> Value:
    if operator in ("&", "|") and len(values) == 2:
        return _both(operator, *values)
    if operator == "*" and 0 in values:
        return 0
    if operator in _DIVIDING and len(values) == 2 and values[0] == 0 and values[1] != 0:
        return 0
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    function = _FUNCTIONS.get(operator)
    try:
        found = function(*known) if function else None
    except (TypeError, ZeroDivisionError):
        return None
    return found if found is None or abs(found) < _MAX_VALUE else None


def _both(operator: str, left: Value, right: Value) -> Value:
    """`and` or `or`, which one side may decide; of numbers, bit by bit."""
    decides = operator == "|"
    for value in (left, right):
        if isinstance(value, bool) and value is decides:
            return decides
    if left is None or right is None:
        return None
    return left & right if operator == "&" else left | right


def _quotient(left: int, right: int) -> Value:
    """None where languages differ: for a negative operand and the sign of the rest."""
    return left // right if left >= 0 and right > 0 else None


def _rest(left: int, right: int) -> Value:
    return left % right if left >= 0 and right > 0 else None


def _exact(left: int, right: int) -> Value:
    """None where a fraction would be left, which may be cut off or not."""
    return left // right if left % right == 0 else None


_DIVIDING = ("//", "%", "/", "floor", "mod")
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "floor": lambda left, right: left // right,
    "mod": lambda left, right: left % right,
    "//": _quotient,
    "%": _rest,
    "/": _exact,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "neg": lambda value: -value,
    "not": lambda value: not value,
    "~": lambda value: not value if isinstance(value, bool) else ~value,
    "min": lambda left, right: min(left, right),
    "max": lambda left, right: max(left, right),
    "abs": lambda value: abs(value),
}
