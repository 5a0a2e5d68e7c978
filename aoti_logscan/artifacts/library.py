"""All artifacts at hand, asked together: which kernel, which input, which call, where from.

Answers that several artifacts give differently are no answers. What takes time (the bodies of
wrappers, the code of kernels) is read when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from aoti_logscan.artifacts.generated_with import GeneratedWith, generated_with
from aoti_logscan.artifacts.package import Package
from aoti_logscan.artifacts.provenance import Origin, Provenance, origin_of
from aoti_logscan.artifacts.wrapper_body import PROXY_CALL, Body, Input, read_body
from aoti_logscan.artifacts.wrapper_code import CallLine, Wrapper, call_on, stem
from aoti_logscan.lazy_re import lazy_re

if TYPE_CHECKING:  # readers of kernels, loaded where there is one
    from aoti_logscan.artifacts.dataflow import Use
    from aoti_logscan.artifacts.definition import Definition
    from aoti_logscan.artifacts.kernel_code import KernelCode

_Answer = TypeVar("_Answer")

#: namespaces of operators that come with torch
_TORCH_OPS = frozenset(
    {"aten", "prims", "inductor", "prim", "quantized", "quantized_decomposed", "onednn", "mkldnn"}
    | {"_c10d_functional", "c10d_functional", "symm_mem", "higher_order", "rngprims", "fsdp", ""}
)
_WORD = lazy_re(r"[\w.]+")
#: characters of a text in which a constant is named
_LONGEST_NAMED = 2000
_POSITION = lazy_re(r"\d{1,9}$")
# cabc....py: `c` and 51 base-32 digits
_HASHED = lazy_re(r"^c[a-z2-7]{51}$")


class Launch(NamedTuple):
    """A call of a kernel in a wrapper, with what it is given."""

    unit: Unit
    use: Use


class Unit:
    """One file of generated code: read as a wrapper, and the kernels that are defined in it."""

    def __init__(self, wrapper: Wrapper, folder: str) -> None:
        self.wrapper = wrapper
        #: where it lies: files of one folder are of one model
        self.folder = folder

    @property
    def name(self) -> str:
        """The file's name, in a package with the package's in front."""
        return self.wrapper.name

    @cached_property
    def body(self) -> Body:
        """Calls, buffers, inputs and symbols; a file of kernels has none."""
        return read_body(() if self.name.endswith(".kernel.cpp") else self.wrapper.lines)

    @cached_property
    def kernels(self) -> dict[str, Definition]:
        """The kernels that are defined in the file, by the names that wrappers call them by."""
        from aoti_logscan.artifacts.definition import definitions

        found: dict[str, Definition] = {}
        for definition in definitions(self.wrapper):
            found.setdefault(definition.name, definition)
        return found


class Library:
    """The packages and loose sources that were found beside the logs.

    `named_in_logs` are stems of generated files that the logs name: where several packages have a
    kernel of one name, the one that the logs name is meant.
    """

    def __init__(
        self,
        packages: Sequence[Package],
        provenance: Provenance | None = None,
        named_in_logs: frozenset[str] = frozenset(),
    ) -> None:
        self._named_in_logs = named_in_logs
        self._packages = tuple(packages)
        self._wrappers = tuple(wrapper for package in packages for wrapper in package.wrappers)
        self._provenance = Provenance.merged(
            [*(package.provenance for package in packages), provenance or Provenance()]
        )
        self._kernels: dict[str, set[str]] = {}
        for wrapper in self._wrappers:
            for file, name in wrapper.kernels.items():
                self._kernels.setdefault(file, set()).add(name)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Every file of generated code."""
        return tuple(
            Unit(wrapper, wrapper.name.rpartition("/")[0])
            for package in self._packages
            for wrapper in package.wrappers
        )

    def kernel_of(self, file: str | None) -> str | None:
        """The kernel whose source hashes to this generated file's name."""
        return _only(self._kernels.get(stem(file), ())) if file else None

    def is_of_another_model(self, file: str) -> bool:
        """Whether a generated file's name is the hash of a source that is not here."""
        name = stem(file)
        known = name in self._kernels or any(stem(unit.name) == name for unit in self.units)
        return bool(_HASHED.match(name)) and bool(self._kernels) and not known

    def input_name(
        self,
        position: int,
        files: Iterable[str] = (),
        fits: Callable[[Input], bool] = lambda known: True,
    ) -> str | None:
        """What input `position` is called; `files` are wrapper files that the failure names.

        Of several models, those are meant whose checks of the input fit.
        """
        found = self._inputs(position, files)
        if len({one.name for one in found}) > 1:
            found = [one for one in found if fits(one)]
        return _only({one.name for one in found}) or None

    def input(
        self,
        position: int,
        files: Iterable[str] = (),
        fits: Callable[[Input], bool] = lambda known: True,
    ) -> Input | None:
        """What is known of input `position`, where all models that fit agree."""
        found = self._inputs(position, files)
        if any(one != found[0] for one in found):
            found = [one for one in found if fits(one)]
        return found[0] if found and all(one == found[0] for one in found) else None

    def _inputs(self, position: int, files: Iterable[str]) -> list[Input]:
        """The inputs at a position, of the models that have so many."""
        named = {stem(file) for file in files}
        units = [unit for unit in self.units if unit.wrapper.inputs]
        units = [unit for unit in units if stem(unit.name) in named] or units
        found = []
        for unit in units:
            if position < len(unit.wrapper.inputs):
                name = unit.wrapper.inputs[position]
                found.append(unit.body.input(name) or Input(position, name))
        return found

    def constant_fqn(self, said: str) -> str | None:
        """The user's own name of the constant that a text names by its name in the code."""
        words = set(_WORD.findall(said, 0, _LONGEST_NAMED))
        found = {
            fqn
            for unit in self.units
            for name, fqn in unit.body.constants.items()
            if name in words and fqn and fqn != name
        }
        return _only(found)

    @cached_property
    def custom_ops(self) -> tuple[str, ...]:
        """Operators in the wrappers that are no part of torch, as their comments name them."""
        named = [op for unit in self.units for call in unit.body.calls for op in call.ops]
        named += [
            op
            for package in self._packages
            for operators in package.extern_ops.values()
            for op in operators
        ]
        return tuple(dict.fromkeys(op for op in named if op.partition(".")[0] not in _TORCH_OPS))

    def call_on(self, file: str, line: int) -> tuple[Wrapper, CallLine] | None:
        """The call on a line of the wrapper file of this name."""
        found = {
            call: wrapper
            for wrapper in self._wrappers
            if stem(wrapper.name) == stem(file) and (call := call_on(wrapper, line))
        }
        call = _only(found)
        return (found[call], call) if call else None

    def launch_on(self, file: str, line: int) -> Launch | None:
        """The call on a line of the wrapper file of this name, with what it is given."""
        found = [
            launch
            for unit in self.units
            if stem(unit.name) == stem(file)
            for launch in self.launches_in(unit)
            if launch.use.call.line == line
        ]
        return found[0] if found else None

    def launches_of(self, kernel: str, unit: Unit | None = None) -> list[Launch]:
        """All calls of a kernel: in the wrapper that defines it, else in one of its folder."""
        units = list(self.units)
        if unit is not None:
            units = [one for one in units if one.folder == unit.folder]
            units = [one for one in units if one is unit and one.body.calls] or units
        found = [
            launch
            for one in units
            for launch in self.launches_in(one)
            if launch.use.call.kernel == kernel
        ]
        in_logs = [launch for launch in found if stem(launch.unit.name) in self._named_in_logs]
        found = in_logs or found
        files = list(dict.fromkeys(launch.unit for launch in found))
        if len({_identity(file) for file in files}) > 1:
            return []
        return [launch for launch in found if launch.unit is files[0]]

    def kernels_in(self, file: str) -> list[tuple[Unit, Definition]]:
        """The kernels that are compiled from the file of this name."""
        return [
            named
            for unit in self.units
            for definition in unit.kernels.values()
            if definition.file == stem(file)
            for named in self._named(unit, definition)
        ]

    def _named(self, unit: Unit, definition: Definition) -> list[tuple[Unit, Definition]]:
        """A C++ kernel by the name that a wrapper gives it, which embeds the same text."""
        if not definition.is_nameless:
            return [(unit, definition)]
        named = [
            (one, definition._replace(name=other.name))
            for one in self.units
            for other in one.kernels.values()
            if not other.is_nameless and other.text == definition.text
        ]
        return named or [(unit, definition)]

    def kernels_saying(self, text: str) -> list[tuple[Unit, Definition]]:
        """The kernels whose code holds a text, such as that of an assertion.

        A C++ kernel without a name of its own is told only where no wrapper names it.
        """
        found = [
            (unit, definition)
            for unit in self.units
            for definition in unit.kernels.values()
            if text in definition.text
        ]
        return [one for one in found if not one[1].is_nameless] or found

    def origin(self, launch: Launch) -> Origin:
        """The graph nodes, ATen operators and user's lines that a call comes from."""
        found = origin_of(launch.use.call, self._provenance)
        operator = self._proxied(launch)
        return found._replace(aten_ops=(operator,)) if operator else found

    def _proxied(self, launch: Launch) -> str | None:
        """The operator that a call of the proxy executor runs, by its number in the package."""
        call = launch.use.call
        if call.kernel != PROXY_CALL or len(call.arguments) < 2:
            return None
        number = call.arguments[1]
        for package in self._packages:
            for file, operators in package.extern_ops.items():
                if stem(file) == stem(launch.unit.name) and _POSITION.match(number):
                    return (*operators, "")[min(int(number), len(operators))] or None
        return None

    def code_of(self, kernel: str, unit: Unit) -> KernelCode | None:
        """A kernel's code by the name a wrapper calls it, from files of the wrapper's folder."""
        definition = self._definition(kernel, unit)
        return self.code(definition) if definition else None

    def _definition(self, kernel: str, unit: Unit) -> Definition | None:
        found = (one.kernels.get(kernel) for one in self._beside(unit))
        return next((definition for definition in found if definition), None)

    def _parameters_of(self, kernel: str, unit: Unit) -> tuple[str, ...] | None:
        definition = self._definition(kernel, unit)
        return definition.parameters if definition else None

    def _beside(self, unit: Unit) -> Iterator[Unit]:
        """The unit and the others of its folder that define kernels."""
        yield unit
        yield from (one for one in self._defining.get(unit.folder, ()) if one is not unit)

    @cached_property
    def _defining(self) -> dict[str, list[Unit]]:
        found: dict[str, list[Unit]] = {}
        for unit in self.units:
            if unit.kernels:
                found.setdefault(unit.folder, []).append(unit)
        return found

    def defined(self, kernel: str) -> Definition | None:
        """A kernel's definition by the name a wrapper calls it; the first of several."""
        found = (self._definition(kernel, unit) for unit in self.units)
        return next((definition for definition in found if definition), None)

    def code_named(self, kernel: str) -> KernelCode | None:
        """A kernel's code by the name a wrapper calls it; the first, where several have it."""
        found = (self.code_of(kernel, unit) for unit in self.units)
        return next((code for code in found if code is not None), None)

    def code(self, definition: Definition) -> KernelCode | None:
        """A kernel's code; None where its text is broken."""
        if definition not in self._codes:
            self._codes[definition] = definition.code()
        return self._codes[definition]

    @cached_property
    def _codes(self) -> dict[Definition, KernelCode | None]:
        return {}

    @cached_property
    def _uses(self) -> dict[Unit, tuple[Use, ...]]:
        return {}

    def launches_in(self, unit: Unit) -> list[Launch]:
        """All calls in a wrapper, in order."""
        from aoti_logscan.artifacts.dataflow import uses

        if unit not in self._uses:
            self._uses[unit] = uses(unit.body, cache(lambda name: self._parameters_of(name, unit)))
        return [Launch(unit, use) for use in self._uses[unit]]

    @cached_property
    def generated_with(self) -> GeneratedWith:
        """Which debugging flags of compile time stand in the wrappers."""
        return generated_with(self._wrappers)

    @property
    def device(self) -> str | None:
        """The device that the packages were compiled for, where they agree."""
        return _only({package.device for package in self._packages if package.device})


def _only(answers: Iterable[_Answer]) -> _Answer | None:
    """The answer, if there is exactly one."""
    found = list(answers)
    return found[0] if len(found) == 1 else None


# cabc....: `c` and 51 base-32 digits, in a path
_STEM_IN_TEXT = lazy_re(r"(?<![a-z0-9])c[a-z2-7]{51}(?![a-z0-9])")


def stems_in(texts: Iterable[str]) -> frozenset[str]:
    """The stems of generated files that some texts name."""
    return frozenset(name for text in texts for name in _STEM_IN_TEXT.findall(text))


def _identity(unit: Unit) -> object:
    """What copies of one generated file share: the hash in its name; else it is its own."""
    name = stem(unit.name)
    return name if _HASHED.match(name) else unit
