"""All artifacts at hand, asked together: which kernel, which input, which call, where from.

Answers that several artifacts give differently are no answers. What takes time (the bodies of
wrappers, the code of kernels) is read when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from aoti_logscan.artifacts.cpp_kernel import read_cpp
from aoti_logscan.artifacts.dataflow import Use, uses
from aoti_logscan.artifacts.kernel_code import KernelCode
from aoti_logscan.artifacts.package import Package
from aoti_logscan.artifacts.provenance import Origin, Provenance, origin_of
from aoti_logscan.artifacts.triton_kernel import read_triton, triton_parameters
from aoti_logscan.artifacts.wrapper_body import Body, Input, read_body
from aoti_logscan.artifacts.wrapper_code import (
    CallLine,
    Source,
    Wrapper,
    call_on,
    cpp_sources,
    source_stem,
    triton_sources,
)

_Answer = TypeVar("_Answer")

#: what the function of each kernel is called in the C++ files of a Python wrapper
NAMELESS = "kernel"

_BASENAME = re.compile(r"[^/\\]+$")
#: namespaces of operators that come with torch
_TORCH_OPS = frozenset(
    {"aten", "prims", "inductor", "prim", "quantized", "quantized_decomposed", "onednn", "mkldnn"}
    | {"_c10d_functional", "c10d_functional", "symm_mem", "higher_order", "rngprims", "fsdp", ""}
)
# cabc....py: `c` and 51 base-32 digits
_HASHED = re.compile(r"^c[a-z2-7]{51}$")


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
        """Calls, buffers, inputs and symbols."""
        return read_body(self.wrapper.lines)

    @cached_property
    def _text(self) -> str:
        return "\n".join(self.wrapper.lines)

    @cached_property
    def triton(self) -> tuple[Source, ...]:
        """The Triton sources in the file."""
        return tuple(triton_sources(self.name, self._text)) if self.wrapper.kernels else ()

    @cached_property
    def cpp(self) -> tuple[KernelCode, ...]:
        """The C++ kernels in the file, with the names that the wrapper calls them by."""
        embedded = cpp_sources(self._text)
        if not embedded:
            return tuple(read_cpp(self._text, stem(self.name)))
        return tuple(
            code._replace(name=source.kernel if code.name == NAMELESS else code.name)
            for source in embedded
            for code in read_cpp(source.text, None)
        )

    @cached_property
    def triton_by_name(self) -> dict[str, Source]:
        """The Triton sources by the names that the wrapper calls them by."""
        return {source.kernel: source for source in reversed(self.triton)}

    @cached_property
    def cpp_by_name(self) -> dict[str, KernelCode]:
        """The C++ kernels by the names that the wrapper calls them by."""
        return {code.name: code for code in reversed(self.cpp)}


class Library:
    """The packages and loose sources that were found beside the logs."""

    def __init__(self, packages: Sequence[Package], provenance: Provenance | None = None) -> None:
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

    def input_name(self, position: int, files: Iterable[str] = ()) -> str | None:
        """What input `position` is called; `files` are wrapper files that the failure names."""
        wrappers = [wrapper for wrapper in self._wrappers if wrapper.inputs]
        named = {stem(file) for file in files}
        if matching := [wrapper for wrapper in wrappers if stem(wrapper.name) in named]:
            wrappers = matching
        names = {
            wrapper.inputs[position] if position < len(wrapper.inputs) else None
            for wrapper in wrappers
        }
        return _only(names) or None

    def input(self, position: int, files: Iterable[str] = ()) -> Input | None:
        """What is known of input `position`, where all wrappers at hand agree."""
        named = {stem(file) for file in files}
        units = [unit for unit in self.units if unit.body.inputs]
        units = [unit for unit in units if stem(unit.name) in named] or units
        found = [one for unit in units for one in unit.body.inputs if one.position == position]
        return found[0] if found and all(one == found[0] for one in found) else None

    @cached_property
    def custom_ops(self) -> tuple[str, ...]:
        """Operators in the wrappers that are no part of torch, as their comments name them."""
        named = (op for unit in self.units for call in unit.body.calls for op in call.ops)
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
        files = list(dict.fromkeys(launch.unit for launch in found))
        if len({_identity(file) for file in files}) > 1:
            return []
        return [launch for launch in found if launch.unit is files[0]]

    def kernels_in(self, file: str) -> Iterator[tuple[Unit, KernelCode]]:
        """The kernels that are compiled from the file of this name."""
        for unit in self.units:
            for source in unit.triton:
                if source_stem(source.text) == stem(file):
                    yield from self._triton(unit, source)
            if stem(unit.name) == stem(file):
                for code in unit.cpp:
                    yield from self._named(unit, code)

    def _named(self, unit: Unit, code: KernelCode) -> list[tuple[Unit, KernelCode]]:
        """A C++ kernel by the name that a wrapper gives it, which embeds the same code."""
        if code.name != NAMELESS:
            return [(unit, code)]
        named = [
            (one, other._replace(file=code.file, assertions=code.assertions))
            for one in self.units
            for other in one.cpp
            if other.name != NAMELESS and other.text == code.text
        ]
        return named or [(unit, code)]

    def kernels_saying(self, text: str) -> Iterator[tuple[Unit, KernelCode]]:
        """The kernels whose code holds a text, such as that of an assertion."""
        for unit in self.units:
            for source in unit.triton:
                if text in source.text:
                    yield from self._triton(unit, source)
            yield from ((unit, code) for code in unit.cpp if text in code.text)

    def origin(self, launch: Launch) -> Origin:
        """The graph nodes, ATen operators and user's lines that a call comes from."""
        return origin_of(launch.use.call, self._provenance)

    def code_of(self, kernel: str, unit: Unit) -> KernelCode | None:
        """A kernel's code by the name a wrapper calls it, from files of the wrapper's folder."""
        for one in self._beside(unit):
            if source := one.triton_by_name.get(kernel):
                return next((code for _, code in self._triton(one, source)), None)
            if code := one.cpp_by_name.get(kernel):
                return code
        return None

    def _parameters_of(self, kernel: str, unit: Unit) -> tuple[str, ...] | None:
        for one in self._beside(unit):
            if source := one.triton_by_name.get(kernel):
                return triton_parameters(source.text)
            if code := one.cpp_by_name.get(kernel):
                return code.parameters
        return None

    def _beside(self, unit: Unit) -> Iterator[Unit]:
        """The unit and the others of its folder that define kernels."""
        yield unit
        yield from (one for one in self._defining.get(unit.folder, ()) if one is not unit)

    @cached_property
    def _defining(self) -> dict[str, list[Unit]]:
        found: dict[str, list[Unit]] = {}
        for unit in self.units:
            if unit.triton or unit.cpp:
                found.setdefault(unit.folder, []).append(unit)
        return found

    def code_named(self, kernel: str) -> KernelCode | None:
        """A kernel's code by the name a wrapper calls it; the first, where several have it."""
        found = (self.code_of(kernel, unit) for unit in self.units)
        return next((code for code in found if code is not None), None)

    def _triton(self, unit: Unit, source: Source) -> Iterator[tuple[Unit, KernelCode]]:
        code = self._codes.get(source)
        if code is None:
            code = read_triton(source.text, source_stem(source.text))
            if code is None:
                return
            code = self._codes[source] = code._replace(name=source.kernel)
        yield unit, code

    @cached_property
    def _codes(self) -> dict[Source, KernelCode]:
        return {}

    @cached_property
    def _uses(self) -> dict[Unit, tuple[Use, ...]]:
        return {}

    def launches_in(self, unit: Unit) -> list[Launch]:
        """All calls in a wrapper, in order."""
        if unit not in self._uses:
            self._uses[unit] = uses(unit.body, lambda name: self._parameters_of(name, unit))
        return [Launch(unit, use) for use in self._uses[unit]]

    @property
    def prints_marks(self) -> bool:
        """Whether the intermediate value printer was compiled into the generated code."""
        return any("before_launch" in line for wrapper in self._wrappers for line in wrapper.lines)

    @property
    def device(self) -> str | None:
        """The device that the packages were compiled for, where they agree."""
        return _only({package.device for package in self._packages if package.device})


def _only(answers: Iterable[_Answer]) -> _Answer | None:
    """The answer, if there is exactly one."""
    found = list(answers)
    return found[0] if len(found) == 1 else None


def _identity(unit: Unit) -> object:
    """What copies of one generated file share: the hash in its name; else it is its own."""
    name = stem(unit.name)
    return name if _HASHED.match(name) else unit


def stem(file: str) -> str:
    """`cabc` for `/tmp/x/cabc.wrapper.cpp` and `pkg.pt2!m/data/cabc.wrapper.cpp`."""
    found = _BASENAME.search(file)
    return found[0].split(".", 1)[0] if found else file
