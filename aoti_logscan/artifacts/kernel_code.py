"""The body of one generated kernel: assignments, index assertions, and what an index is made of.

Triton and C++ kernels are read into the same form. Sources: torch 2.13, _inductor/codegen/triton.py
and cpp.py (loads, stores, `indirect_indexing`), common.py (`indirect_assert`).
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from functools import cached_property
from typing import Literal, NamedTuple

from aoti_logscan.artifacts.expression import (
    Apply,
    Const,
    Expr,
    Load,
    Opaque,
    Ref,
    Thread,
    is_pointer,
    operands,
    parts,
)
from aoti_logscan.lazy_re import lazy_re

_WRITTEN = lazy_re(r"^(?:out|in_out)_ptr\d*$")
#: assignments that a slice has at most
MAX_SLICE = 200
_MAX_STEPS = 2_000

Loops = tuple[tuple[int, int], ...]


class Assignment(NamedTuple):
    """`target = value` on a line of the kernel's file.

    `loops` are the first and last lines of the loops around it that carry values back, outermost
    first; `until` is the last line on which the target means this value.
    """

    line: int
    target: str
    value: Expr
    text: str
    loops: Loops = ()
    until: int = sys.maxsize


class IndexAssertion(NamedTuple):
    """An index check: its line, what it says behind `index out of bounds: `, what it asserts.

    `guards` are conditions without which it is not reached.
    """

    line: int
    text: str
    condition: Expr
    loops: Loops = ()
    guards: tuple[Expr, ...] = ()


class KernelCode(NamedTuple):
    """One kernel; `file` is the stem of the file it is compiled from, None where not known.

    Lines count from 1 in that file, in which assignments stand in their order; `parameters` are
    those that a call gives values to. `accesses` are all loads and stores, with their lines.
    """

    name: str
    language: Literal["triton", "cpp"]
    file: str | None
    parameters: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    assertions: tuple[IndexAssertion, ...]
    accesses: tuple[tuple[int, Load], ...]
    text: str


def is_written(parameter: str) -> bool:
    """Whether a kernel writes the tensor that it has under this name."""
    return _WRITTEN.match(parameter) is not None


class Parts(NamedTuple):
    """What flows into a value: loads by their pointers, and parameters that are sizes."""

    loads: tuple[str, ...]
    sizes: tuple[str, ...]


class IndexSlice:
    """What the index of an assertion is made of, followed backwards to loads and sizes.

    In `index`, `core`, `condition` and `guards` a name stands for one assignment (`tmp4@36`), or
    for a parameter where it has no `@`; `value_of` resolves it.
    """

    def __init__(self, kernel: KernelCode, assertion: IndexAssertion, index: Expr) -> None:
        self.kernel = kernel
        self._assertion = assertion
        self._by_target: dict[str, list[Assignment]] = {}
        self._by_id: dict[str, Assignment] = {}
        self._values: dict[str, Expr] = {}
        for assignment in kernel.assignments:
            self._by_target.setdefault(assignment.target, []).append(assignment)
            self._by_id[_id(assignment)] = assignment
        line, loops = assertion.line, assertion.loops
        self.index = self._bound(index, line, loops)
        self.condition = self._bound(assertion.condition, line, loops)
        self.guards = tuple(self._bound(guard, line, loops) for guard in assertion.guards)

    def value_of(self, name: str) -> Expr | None:
        """What a name stands for; None for a parameter."""
        assignment = self._by_id.get(name)
        if assignment is None:
            return None
        if name not in self._values:
            value = self._bound(assignment.value, assignment.line, assignment.loops)
            self._values[name] = value
        return self._values[name]

    @cached_property
    def assignments(self) -> tuple[Assignment, ...]:
        """All assignments that the index depends on, in the order of the code."""
        found: dict[str, Assignment] = {}
        todo = [self.index]
        while todo and len(found) < MAX_SLICE:
            one = todo.pop()
            if isinstance(one, Ref) and one.name in self._by_id and one.name not in found:
                found[one.name] = self._by_id[one.name]
                todo.append(self._value(one))
            elif not isinstance(one, Load):
                todo += operands(one)
        lines = {assignment.line: assignment for assignment in found.values()}
        return tuple(lines[line] for line in sorted(lines))

    @cached_property
    def copies(self) -> tuple[str, ...]:
        """The index's names in the code: C++ checks a copy of what it accesses with."""
        found: dict[str, None] = {}
        expression: Expr = self.index
        while isinstance(expression, Ref) and len(found) < _MAX_STEPS:
            found[expression.name.split("@")[0]] = None
            value = self._value(expression)
            if value is expression:
                break
            expression = value
        return tuple(found)

    @cached_property
    def checked_access(self) -> Load | None:
        """The first load or store behind the assertion whose address holds the index."""
        wanted = set(self.copies)
        for line, access in self.kernel.accesses:
            if line > self._assertion.line:
                names = (one.name for one in parts(access.address) if isinstance(one, Ref))
                if any(name in wanted for name in names):
                    return access
        return None

    @cached_property
    def core(self) -> Expr:
        """The index as it was before the wrap-around of negative values."""
        inner = self._through_copies(self.index)
        value = self._through_copies(self._value(inner))
        match value:
            case Apply("where", (condition, wrapped, plain)):
                if self._wraps(condition, wrapped, plain):
                    return self._through_copies(plain)
        return inner

    @cached_property
    def wraps(self) -> bool:
        """Whether a negative value counts from the end."""
        return self.core != self._through_copies(self.index)

    @cached_property
    def is_loaded_as_it_is(self) -> bool:
        """Whether the index, apart from its wrap-around, is a loaded value without arithmetic."""
        return isinstance(self._value(self.core), Load)

    @cached_property
    def parts(self) -> Parts:
        """What flows into the core; what only chooses between values does not."""
        loads: dict[str, None] = {}
        sizes: dict[str, None] = {}
        seen: set[str] = set()
        todo = [self.core]
        while todo and len(seen) < _MAX_STEPS:
            match todo.pop():
                case Load(pointer, _):
                    loads[pointer] = None
                case Ref(name) as ref if name in self._by_id:
                    if name not in seen:
                        seen.add(name)
                        todo.append(self._value(ref))
                case Ref(name):
                    if name in self.kernel.parameters and not is_pointer(name):
                        sizes[name] = None
                case Apply("where", (_, yes, no)):
                    todo += (no, yes)
                case other:
                    todo += reversed(operands(other))
        return Parts(tuple(loads), tuple(sizes))

    def _wraps(self, condition: Expr, wrapped: Expr, plain: Expr) -> bool:
        """Whether `where(condition, wrapped, plain)` is `where(x < 0, x + size, x)`."""
        plain = self._through_copies(plain)
        match self._value(self._through_copies(condition)), self._value(wrapped):
            case Apply("<", (tested, zero)), Apply("+", (base, _)):
                tested, base = self._through_copies(tested), self._through_copies(base)
                is_zero = self._value(self._through_copies(zero)) == Const(0)
                return is_zero and tested == plain == base
        return False

    def _value(self, expression: Expr) -> Expr:
        """The value of a name, or the expression itself."""
        if isinstance(expression, Ref):
            value = self.value_of(expression.name)
            return expression if value is None else value
        return expression

    def _through_copies(self, expression: Expr) -> Expr:
        """The last name before something is computed: `tmp0` where `tmp2 = tmp1 = tmp0`."""
        for _ in range(_MAX_STEPS):
            value = self._value(expression)
            if value is expression or not isinstance(value, Ref):
                break
            expression = value
        return expression

    def _bound(self, expression: Expr, line: int, loops: Loops) -> Expr:
        """The expression with every name replaced by the assignment it means at a line."""
        match expression:
            case Ref(name):
                return self._meant(name, line, loops)
            case Load(pointer, address):
                return Load(pointer, self._bound(address, line, loops))
            case Apply(operator, inner):
                return Apply(operator, tuple(self._bound(one, line, loops) for one in inner))
            case Opaque(inner):
                return Opaque(tuple(self._bound(one, line, loops) for one in inner))
            case Thread(first):
                return Thread(self._bound(first, line, loops))
        return expression

    def _meant(self, name: str, line: int, loops: Loops) -> Expr:
        """The last assignment before the line; with one that a loop carries back, either."""
        known = self._by_target.get(name, [])
        at = bisect_left(known, line, key=lambda assignment: assignment.line)
        before = (known[i] for i in range(at - 1, -1, -1) if known[i].until >= line)
        carried = _carried(known[at:], loops) if loops else None
        means = [Ref(_id(one)) for one in (next(before, None), carried) if one]
        if not means:
            return Ref(name)
        return means[0] if len(means) == 1 else Opaque(tuple(means))


def _carried(later: list[Assignment], loops: Loops) -> Assignment | None:
    """The last of some assignments in one of the loops, whose value its next round begins with."""
    inside = (
        one for one in reversed(later) if any(first <= one.line <= last for first, last in loops)
    )
    return next(inside, None)


def _id(assignment: Assignment) -> str:
    return f"{assignment.target}@{assignment.line}"
