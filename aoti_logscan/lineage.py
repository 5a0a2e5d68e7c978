"""From a failed index check back to the model's inputs: kernel, bound, index, sizes that fail.

The kernel is the one whose source hashes to the file in the check's text; where no file is told,
the one with that assertion text, if there is only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from aoti_logscan.artifacts.dataflow import Operand, arguments_by_parameter
from aoti_logscan.artifacts.definition import NAMELESS, Definition
from aoti_logscan.artifacts.expression import (
    Apply,
    Const,
    Expr,
    Load,
    Ref,
    from_cpp,
    is_pointer,
    operands,
    refs,
)
from aoti_logscan.artifacts.kernel_code import IndexAssertion, IndexSlice, KernelCode
from aoti_logscan.artifacts.library import Library, Unit
from aoti_logscan.artifacts.provenance import Origin
from aoti_logscan.artifacts.triton_kernel import SAYS
from aoti_logscan.artifacts.wrapper_body import Body, Input, number
from aoti_logscan.failing_sizes import Sizes, failing
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.report import Bound, IndexSource, InputDim, InputRef, Lineage

# 1000   1000L
_NUMBER = lazy_re(r"^\d{1,18}[lLuU]*$")


_Defined: TypeAlias = tuple[Unit, Definition]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A failed index check as its text tells it."""

    kernel: str | None
    file: str | None
    line: int | None
    index: str
    lower: str | None
    upper: str | None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Check | None:
        """The check of a finding's facts; None where they tell no index."""
        if not facts.get("index"):
            return None
        known: dict[str, Any] = {name: facts.get(name) for name in cls.__struct_fields__}
        return cls(**known)

    def those_named(self, defined: Iterable[_Defined]) -> list[_Defined]:
        """The kernels that the check's text names."""
        return [one for one in defined if one[1].name == self.kernel]

    @property
    def text(self) -> str:
        """What the assertion says, as far as the text came through."""
        lower = f"{self.lower} <= " if self.lower is not None else ""
        return f"{lower}{self.index}" + (f" < {self.upper}" if self.upper is not None else "")

    def is_said_by(self, assertion: IndexAssertion) -> bool:
        """Whether an assertion has the check's text."""
        if self.upper is None:
            return assertion.text.startswith(self.text)
        return assertion.text == self.text

    def is_on_line_of(self, assertion: IndexAssertion) -> bool:
        """Whether an assertion has the check's text, and its line."""
        return assertion.line == self.line and self.is_said_by(assertion)


class _Found(NamedTuple):
    """A kernel with the assertion that failed in it."""

    unit: Unit
    code: KernelCode
    assertion: IndexAssertion


def lineage(check: Check, library: Library) -> Lineage | None:
    """What the generated code at hand tells of a failed check; None where it tells nothing."""
    found = _in_file(check, library)
    names = tuple(dict.fromkeys(one.code.name for one in found))
    if not found and not (check.file and library.is_of_another_model(check.file)):
        said = _saying(check, library)
        names = tuple(dict.fromkeys(definition.name for _, definition in said))
        found = _asserting(said, library, check.is_on_line_of, check.is_said_by)
    if len(names) > 1:
        return _ambiguous(check, names, [_Tracer(check, one, library) for one in found])
    return _Tracer(check, _best(found, library), library).lineage() if found else None


def _ambiguous(check: Check, names: tuple[str, ...], tracers: Sequence[_Tracer]) -> Lineage:
    """What holds of all kernels that fit."""
    sources = [tracer.source for tracer in tracers]
    bounds = [tracer.bound for tracer in tracers]
    if len({tracer.wrapper for tracer in tracers}) > 1:
        # names of one wrapper mean nothing in another
        bounds = [Bound(parameter=one.parameter) for one in bounds]
        sources = [IndexSource(kind=one.kind, parameter=one.parameter) for one in sources]
    same_kind = len({source.kind for source in sources}) == 1
    return Lineage(
        kernel=None,
        index=check.index,
        lower=check.lower,
        upper=check.upper,
        bound=_agreed(bounds, Bound()),
        index_source=_agreed(sources, IndexSource(kind=sources[0].kind)) if same_kind else None,
        candidates=names,
        cause=f"{len(names)} kernels have this check; the log does not tell which one failed",
    )


_Told = TypeVar("_Told", Bound, IndexSource)


def _agreed(told: Sequence[_Told], unknown: _Told) -> _Told:
    """The fields that are the same in all; the rest as in `unknown`."""
    if not told:
        return unknown
    fields = {
        name: getattr(told[0], name)
        for name in unknown.__struct_fields__
        if all(getattr(one, name) == getattr(told[0], name) for one in told)
    }
    return msgspec.structs.replace(unknown, **fields)


def _in_file(check: Check, library: Library) -> list[_Found]:
    """The kernel in the file that the check names: by its name, its line there, its text."""
    there = library.kernels_in(check.file) if check.file is not None else []
    there = check.those_named(there) or there
    return _asserting(there, library, lambda one: one.line == check.line, check.is_said_by)


def _asserting(
    defined: Sequence[_Defined],
    library: Library,
    *fits: Callable[[IndexAssertion], bool],
) -> list[_Found]:
    """Those of some kernels whose assertion fits, by the first way in which any does."""
    codes = [(unit, code) for unit, one in defined if (code := library.code(one)) is not None]
    for fit in fits:
        asserted = [(unit, code, next(filter(fit, code.assertions), None)) for unit, code in codes]
        if found := [_Found(unit, code, one) for unit, code, one in asserted if one is not None]:
            return found
    return []


def _saying(check: Check, library: Library) -> list[_Defined]:
    """The kernels with the check's text: the one that the log names, or with it on that line."""
    said = library.kernels_saying(f'"{SAYS}{check.text}' + ('"' if check.upper else ""))
    if named := check.those_named(said):
        return named
    # an embedded C++ kernel has the lines of its file
    embedded = [one for one in said if one[1].file is None]
    there = {one.code.name for one in _asserting(embedded, library, check.is_on_line_of)}
    return [one for one in embedded if one[1].name in there] or said


def _best(found: Sequence[_Found], library: Library) -> _Found:
    """Of several copies of one kernel, the one in a wrapper that calls it."""
    called = (one for one in found if library.launches_of(one.code.name, one.unit))
    return next(called, found[0])


class _Tracer:
    """One kernel's failed check, followed through the wrapper."""

    def __init__(self, check: Check, found: _Found, library: Library) -> None:
        self._check = check
        self._code = found.code
        self._assertion = found.assertion
        self._library = library
        self._slice = IndexSlice(found.code, found.assertion, from_cpp(check.index))
        self._name = found.code.name if found.code.name != NAMELESS else None
        self._launches = library.launches_of(found.code.name, found.unit)
        self._launch = self._launches[0] if len(self._launches) == 1 else None
        self._body: Body | None = self._launches[0].unit.body if self._launches else None
        self._sizes = Sizes(self._given(), self._value_of, self._limits)

    def lineage(self) -> Lineage:
        """Everything that the code tells."""
        bound, source = self.bound, self.source
        values = self._failing_values()
        # of a kernel with several calls, where all of them come from
        origin = Origin.merged(self._library.origin(launch) for launch in self._launches)
        check = self._check
        return Lineage(
            kernel=self._name,
            index=check.index,
            lower=check.lower,
            upper=check.upper,
            slice=tuple(assignment.text for assignment in self._slice.assignments),
            bound=bound,
            index_source=source,
            failing_values=values,
            source_nodes=origin.source_nodes,
            aten_ops=origin.aten_ops,
            user_stack=origin.user_stack,
            cause=self._cause(bound, source, values),
            fixes=(*self._size_fixes(values), *self._data_fixes(bound, source)),
            assertion=self._statement(bound, source),
        )

    def _cause(self, bound: Bound, source: IndexSource, values: Sequence[Mapping[str, int]]) -> str:
        """Why the check fails, in one sentence."""
        if values:
            return f"{self._told_sizes(_sizes(values[0]))}; then the index is {values[0]['index']}"
        limit = _limit(self._check, bound)
        if source.kind == "computed":
            return f"the index is computed from sizes and is out of range for {limit}"
        if self._slice.is_loaded_as_it_is:
            return f"a value in {_told_source(source)} is out of range for {limit}"
        return f"the index, made from {_told_source(source)}, is out of range for {limit}"

    def _told_sizes(self, sizes: Mapping[str, int]) -> str:
        """Sizes that fail, as sizes of inputs, and what keeps them out."""
        told = " and ".join(f"{self._told_size(name)} may be {sizes[name]}" for name in sizes)
        refused = any(self._is_refused(name, value) for name, value in sizes.items())
        guard = "only the input checks refuse that" if refused else "nothing refuses that"
        return f"{told}, and {guard}"

    def _told_size(self, symbol: str) -> str:
        """A size as a dim of an input, where it is one."""
        dim = _input_dim(symbol, self._body) if self._body else None
        return _told_dim(dim) if dim else symbol

    def _is_refused(self, symbol: str, value: int) -> bool:
        """Whether a check that is compiled into the wrapper refuses a size."""
        dim = _input_dim(symbol, self._body) if self._body else None
        known = self._body.input(dim.name) if self._body and dim else None
        if known is None or dim is None or dim.dim is None:
            return False
        return not known.lower.get(dim.dim, 0) <= value <= known.upper.get(dim.dim, value)

    def _size_fixes(self, values: Sequence[Mapping[str, int]]) -> Iterator[str]:
        """What to do about sizes that make the index fail."""
        if not values:
            return
        sizes = _sizes(values[0])
        if any(self._is_refused(name, value) for name, value in sizes.items()):
            yield "Run with AOTI_RUNTIME_CHECK_INPUTS=1: the package's own checks refuse that."
        where = " and ".join(f"{self._told_size(name)} is {sizes[name]}" for name in sizes)
        yield f"Skip the call where {where}, or refuse that in forward with torch._check()."
        if list(sizes.values()) == [0]:
            [empty] = map(self._told_size, sizes)
            yield f"Or forbid it at export, with Dim(..., min=1) for {empty}."

    def _data_fixes(self, bound: Bound, source: IndexSource) -> Iterator[str]:
        """What to do about loaded values, in terms of the tensor that they are loaded from."""
        if source.kind == "computed":
            return
        if source.input is not None and self._slice.is_loaded_as_it_is:
            yield f"Check {_told_source(source)} before the call: {self._range(bound)}."
        elif source.input is not None:
            yield f"Check {_told_source(source)} before the call: the index is made from it."
        elif source.produced_by is not None:
            yield f"Look at what {source.produced_by} writes into {source.argument}."
        yield "If such values are legal, clamp or map them in forward; else refuse them before it."

    def _statement(self, bound: Bound, source: IndexSource) -> str | None:
        """The check of the input itself, for before the call; None where the index is not it."""
        limit = self._limit_in_python(bound)
        if source.input is None or limit is None or not self._slice.is_loaded_as_it_is:
            return None
        lower = "-n" if self._slice.wraps else "0"
        told = "(x.dtype, x.shape, x.min(), x.max())"
        given = f"x, n = {self._given_as(source.input)}, {limit}"
        return f"{given}; assert {lower} <= x.min() and x.max() < n, {told}"

    def _given_as(self, of: InputRef | InputDim) -> str:
        """An input as the caller has it: a package's by position, a graph's by its own name."""
        is_package = self.wrapper is not None and self.wrapper.endswith(".cpp")
        return f"inputs[{of.position}]" if is_package else of.name

    def _limit_in_python(self, bound: Bound) -> str | None:
        """The upper bound in terms of the model's inputs."""
        upper = number(self._check.upper or "")
        if upper.isdigit():
            return upper
        if bound.input is None or bound.parameter != self._check.upper:
            return None
        of = self._given_as(bound.input)
        return of if bound.input.dim is None else f"{of}.shape[{bound.input.dim}]"

    def _range(self, bound: Bound) -> str:
        """Which values a tensor of indices may have."""
        upper, where = self._check.upper, ""
        if upper is None:
            return "every value must be in range"
        if bound.parameter is not None and bound.input is not None:
            upper, where = "n", f", where n is {_told_dim(bound.input)}"
        upper = number(upper)
        negative = f"-{upper}" if upper.isalnum() else f"-({upper})"
        lower = negative if self._slice.wraps else "0"
        return f"every value must be at least {lower} and below {upper}{where}"

    def _arguments(self) -> dict[str, str]:
        if self._launch is None:
            return {}
        return arguments_by_parameter(self._launch.use.call, self._code)

    @property
    def wrapper(self) -> str | None:
        """The file that calls the kernel."""
        return self._launches[0].unit.name if self._launches else None

    @property
    def bound(self) -> Bound:
        """What the upper bound is."""
        upper = self._check.upper
        if upper is None:
            return Bound()
        if _NUMBER.match(upper):
            return self._checked(self._indexed_dim(int(number(upper))), Bound())
        sizes = [name for name in dict.fromkeys(refs(from_cpp(upper))) if self._is_size(name)]
        if len(sizes) != 1:
            return Bound()
        argument = self._arguments().get(sizes[0])
        bound = Bound(parameter=sizes[0], argument=argument)
        return self._checked(self._dim_of(argument) if argument else None, bound)

    def _is_size(self, name: str) -> bool:
        return name in self._code.parameters

    def _checked(self, dim: InputDim | None, bound: Bound) -> Bound:
        """The bound with the dim that it is, and what the wrapper checks of that dim."""
        known = self._body.input(dim.name) if dim and self._body else None
        at = dim.dim if dim else None
        if known is None or at is None:
            return Bound(parameter=bound.parameter, argument=bound.argument, input=dim)
        return Bound(
            parameter=bound.parameter,
            argument=bound.argument,
            input=dim,
            checked_lower=known.lower.get(at),
            checked_upper=known.upper.get(at),
        )

    def _dim_of(self, argument: str) -> InputDim | None:
        """The input's dim that an argument is, where one symbol makes it up."""
        symbols = self._sizes.roots(refs(from_cpp(argument)))
        return _input_dim(symbols[0], self._body) if self._body and len(symbols) == 1 else None

    def _indexed_dim(self, size: int) -> InputDim | None:
        """The dim of the tensor that the checked index runs over, where it is a graph input's."""
        access = self._slice.checked_access
        if access is None or self._launch is None or self._body is None:
            return None
        operand = self._launch.use.operand(access.pointer)
        known = self._body.input(operand.base) if operand else None
        if known is None or known.sizes is None:
            return None
        strides = {_factor(access.address, name) for name in self._slice.copies}
        fitting = [
            dim
            for dim, extent in enumerate(known.sizes)
            if extent == str(size) and _stride(known, dim) in {*strides, None}
        ]
        dim = fitting[0] if len(fitting) == 1 else None
        return InputDim(position=known.position, name=known.name, dim=dim) if fitting else None

    @property
    def source(self) -> IndexSource:
        """Where the index comes from."""
        loads, sizes = self._slice.parts
        if not loads:
            return IndexSource(kind="computed")
        kind: Literal["mixed", "loaded"] = "mixed" if sizes else "loaded"
        parameter = loads[0] if len(loads) == 1 else None
        operand = self._launch.use.operand(parameter) if self._launch and parameter else None
        if operand is None or self._body is None:
            return IndexSource(kind=kind, parameter=parameter)
        return _loaded(kind, parameter, operand, self._body)

    def _failing_values(self) -> tuple[dict[str, int], ...]:
        """Sizes that fail; none for an index that data alone decides, or of an unknown call."""
        loads, sizes = self._slice.parts
        if (loads and not sizes) or len(self._launches) > 1:
            return ()
        bound = (name for name in refs(from_cpp(self._check.upper or "")) if self._is_size(name))
        return failing(self._slice, (*sizes, *bound), self._sizes)

    def _given(self) -> dict[str, Expr]:
        given = self._arguments().items()
        return {name: from_cpp(value) for name, value in given if not is_pointer(name)}

    def _value_of(self, symbol: str) -> Expr | None:
        """What the wrapper sets a symbol to; None for a size."""
        value = self._body.symbols.get(symbol) if self._body else None
        if value is None or (self._body and self._body.input(value)):
            return None
        return from_cpp(value)

    def _limits(self, symbol: str) -> Iterator[int]:
        """The bounds that are checked of a size, and what is beyond."""
        dim = _input_dim(symbol, self._body) if self._body else None
        known = self._body.input(dim.name) if self._body and dim else None
        if known is not None and dim is not None and dim.dim is not None:
            lower, upper = known.lower.get(dim.dim), known.upper.get(dim.dim)
            yield from () if lower is None else (lower,)
            yield from () if upper is None else (upper, upper + 1)


def _loaded(
    kind: Literal["mixed", "loaded"], parameter: str | None, operand: Operand, body: Body
) -> IndexSource:
    known = body.input(operand.base)
    return IndexSource(
        kind=kind,
        parameter=parameter,
        argument=operand.argument,
        input=InputRef(position=known.position, name=known.name) if known else None,
        produced_by=operand.made_by.kernel if operand.made_by else None,
    )


def _sizes(failing: Mapping[str, int]) -> dict[str, int]:
    """The sizes among symbols and the index that they make fail."""
    return {name: value for name, value in failing.items() if name != "index"}


def _input_dim(symbol: str, body: Body) -> InputDim | None:
    """The input's dim that a symbol is the size of; a size passed as an input has no dim."""
    if symbol in body.sizes:
        tensor, dim = body.sizes[symbol]
        known = body.input(tensor)
        return InputDim(position=known.position, name=known.name, dim=dim) if known else None
    for known in body.inputs:
        for dim, extent in enumerate(known.sizes or ()):
            if extent == symbol:
                return InputDim(position=known.position, name=known.name, dim=dim)
    known_size = body.input(body.symbols.get(symbol, symbol))
    if known_size is None:
        return None
    return InputDim(position=known_size.position, name=known_size.name, dim=None)


def _stride(known: Input, dim: int) -> int | None:
    text = (known.strides or ())[dim : dim + 1]
    return int(text[0]) if text and _NUMBER.match(text[0]) else None


def _factor(address: Expr, name: str) -> int | None:
    """What the index is multiplied with in an address: `96` in `x0 + 96*tmp8`."""
    todo = [address]
    while todo:
        one = todo.pop()
        match one:
            case Apply("*", (Const(value), Ref(found))) | Apply("*", (Ref(found), Const(value))):
                if found == name:
                    return value
            case Ref(found) if found == name:
                return 1
        todo += () if isinstance(one, Load) else operands(one)
    return None


def _told_dim(dim: InputDim) -> str:
    of = f"size {dim.dim} of " if dim.dim is not None else ""
    return f"{of}input {dim.position} ({dim.name})"


def _told_source(source: IndexSource) -> str:
    if source.input is not None:
        return f"input {source.input.position} ({source.input.name})"
    if source.produced_by is not None:
        return f"{source.argument} (made by {source.produced_by})"
    return source.argument or source.parameter or "the data"


def _limit(check: Check, bound: Bound) -> str:
    if bound.input is None:
        return f"the bound {number(check.upper)}" if check.upper else "its bound"
    if bound.parameter is None:
        return f"the bound {number(check.upper or '')}, {_told_dim(bound.input)}"
    link = "which is" if bound.parameter == check.upper else "made from"
    return f"the bound {check.upper}, {link} {_told_dim(bound.input)}"
