"""The body of one generated kernel: assignments, index assertions, and what an index is made of.

Triton and C++ kernels are read into the same form. Sources: torch 2.13, _inductor/codegen/triton.py
and cpp.py (loads, stores, `indirect_indexing`), common.py (`indirect_assert`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Literal, NamedTuple

from aoti_logscan.artifacts.expression import (
    Apply,
    Const,
    Expr,
    Load,
    Opaque,
    Ref,
    is_pointer,
    operands,
)

_WRITTEN = re.compile(r"^(?:out|in_out)_ptr\d*$")
#: assignments that a slice has at most
MAX_SLICE = 200
_MAX_STEPS = 2_000

Loops = tuple[tuple[int, int], ...]


class Assignment(NamedTuple):
    """`target = value` on a line of the kernel's file.

    `loops` are the first and last lines of the loops around it, outermost first.
    """

    line: int
    target: str
    value: Expr
    text: str
    loops: Loops = ()


class IndexAssertion(NamedTuple):
    """An index check: its line, what it says behind `index out of bounds: `, what it asserts."""

    line: int
    text: str
    condition: Expr
    loops: Loops = ()


class KernelCode(NamedTuple):
    """One kernel; `file` is the stem of the file it is compiled from, None where not known.

    Lines count from 1 in that file. `accesses` are all loads and stores, with their lines.
    """

    name: str
    language: Literal["triton", "cpp"]
    file: str | None
    parameters: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    assertions: tuple[IndexAssertion, ...]
    accesses: tuple[tuple[int, Load], ...]
    text: str

    def reads_or_writes(self, parameter: str) -> bool:
        """Whether a parameter is a tensor."""
        return is_pointer(parameter)

    def writes(self, parameter: str) -> bool:
        """Whether a parameter is a tensor that the kernel writes."""
        return _WRITTEN.match(parameter) is not None


class Parts(NamedTuple):
    """What flows into a value: loads by their pointers, and parameters that are sizes."""

    loads: tuple[str, ...]
    sizes: tuple[str, ...]


class IndexSlice:
    """What the index of an assertion is made of, followed backwards to loads and sizes.

    In `index`, `core` and `condition` a name stands for one assignment (`tmp4@36`), or for a
    parameter where it has no `@`; `value_of` resolves it.
    """

    def __init__(self, kernel: KernelCode, assertion: IndexAssertion, index: Expr) -> None:
        self._by_target: dict[str, list[Assignment]] = {}
        self._by_id: dict[str, Assignment] = {}
        self._parameters = frozenset(kernel.parameters)
        for assignment in kernel.assignments:
            self._by_target.setdefault(assignment.target, []).append(assignment)
            self._by_id[_id(assignment)] = assignment
        self.index = self._bound(index, assertion.line, assertion.loops)
        self.condition = self._bound(assertion.condition, assertion.line, assertion.loops)

    def value_of(self, name: str) -> Expr | None:
        """What a name stands for; None for a parameter."""
        assignment = self._by_id.get(name)
        if assignment is None:
            return None
        return self._bound(assignment.value, assignment.line, assignment.loops)

    @cached_property
    def assignments(self) -> tuple[Assignment, ...]:
        """All assignments that the index depends on, in the order of the code."""
        found: dict[str, Assignment] = {}
        todo = [self.index]
        while todo and len(found) < MAX_SLICE:
            one = todo.pop()
            if isinstance(one, Ref) and one.name in self._by_id and one.name not in found:
                found[one.name] = self._by_id[one.name]
                value = self.value_of(one.name)
                todo += [value] if value is not None else []
            elif not isinstance(one, Load):
                todo += operands(one)
        return tuple(sorted(found.values(), key=lambda assignment: assignment.line))

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
        seen: set[Expr] = set()
        todo = [self.core]
        while todo and len(seen) < _MAX_STEPS:
            one = todo.pop(0)
            if one in seen:
                continue
            seen.add(one)
            match one:
                case Load(pointer, _):
                    loads[pointer] = None
                case Ref(name):
                    value = self.value_of(name)
                    if value is not None:
                        todo.insert(0, value)
                    elif name in self._parameters and not is_pointer(name):
                        sizes[name] = None
                case Apply("where", (_, yes, no)):
                    todo[:0] = [yes, no]
                case _:
                    todo[:0] = operands(one)
        return Parts(tuple(loads), tuple(sizes))

    def _wraps(self, condition: Expr, wrapped: Expr, plain: Expr) -> bool:
        """Whether `where(condition, wrapped, plain)` is `where(x < 0, x + size, x)`."""
        plain = self._through_copies(plain)
        match self._value(condition), self._value(wrapped):
            case Apply("<", (tested, Const(0))), Apply("+", (base, _)):
                return self._through_copies(tested) == plain == self._through_copies(base)
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
            case Apply(operator, parts):
                return Apply(operator, tuple(self._bound(part, line, loops) for part in parts))
            case Opaque(parts):
                return Opaque(tuple(self._bound(part, line, loops) for part in parts))
        return expression

    def _meant(self, name: str, line: int, loops: Loops) -> Expr:
        """The last assignment before the line; with one that a loop carries back, either."""
        known = self._by_target.get(name, ())
        before = [one for one in known if one.line < line]
        carried = [
            one
            for one in known
            if one.line >= line and any(first <= one.line <= last for first, last in loops)
        ]
        means = [Ref(_id(one)) for one in (*before[-1:], *carried[-1:])]
        if not means:
            return Ref(name)
        return means[0] if len(means) == 1 else Opaque(tuple(means))


def _id(assignment: Assignment) -> str:
    return f"{assignment.target}@{assignment.line}"


def checked_access(kernel: KernelCode, assertion: IndexAssertion, index: Expr) -> Load | None:
    """The first load or store behind an assertion whose address holds the index."""
    return next(_accesses_of(kernel, assertion, index), None)


def _accesses_of(kernel: KernelCode, assertion: IndexAssertion, index: Expr) -> Iterator[Load]:
    code = IndexSlice(kernel, assertion, index)
    wanted = {index, *_copied_from(code)}
    for line, access in kernel.accesses:
        if line > assertion.line and _holds(access.address, wanted):
            yield access


def _copied_from(code: IndexSlice) -> Iterator[Expr]:
    """Names that hold the index before copies: C++ checks a copy of what it accesses with."""
    expression = code.index
    for _ in range(_MAX_STEPS):
        if not isinstance(expression, Ref):
            return
        yield Ref(expression.name.split("@")[0])
        value = code.value_of(expression.name)
        if value is None or not isinstance(value, Ref):
            return
        expression = value


def _holds(address: Expr, wanted: set[Expr]) -> bool:
    todo = [address]
    while todo:
        one = todo.pop()
        if one in wanted:
            return True
        todo += operands(one)
    return False
