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
from aoti_logscan.artifacts.generated_with import GeneratedWith, generated_with
from aoti_logscan.artifacts.kernel_code import KernelCode
from aoti_logscan.artifacts.package import Package
from aoti_logscan.artifacts.provenance import Origin, Provenance, origin_of
from aoti_logscan.artifacts.triton_kernel import read_triton
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

_BASENAME = re.compile(r"[^/\\]+$")
_PROXY = "aoti_torch_proxy_executor_call_function"
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
            code._replace(name=source.kernel if code.name == "kernel" else code.name)
            for source in embedded
            for code in read_cpp(source.text, None)
        )


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

    def kernels_in(self, file: str) -> Iterator[tuple[Unit, KernelCode]]:
        """The kernels that are compiled from the file of this name."""
        for unit in self.units:
            for source in unit.triton:
                if source_stem(source.text) == stem(file):
                    yield from self._triton(unit, source)
            if stem(unit.name) == stem(file):
                yield from ((unit, code) for code in unit.cpp)

    def kernels_saying(self, text: str) -> Iterator[tuple[Unit, KernelCode]]:
        """The kernels whose code holds a text, such as that of an assertion."""
        for unit in self.units:
            for source in unit.triton:
                if text in source.text:
                    yield from self._triton(unit, source)
            yield from ((unit, code) for code in unit.cpp if text in code.text)

    def origin(self, launch: Launch) -> Origin:
        """The graph nodes, ATen operators and user's lines that a call comes from."""
        found = origin_of(launch.use.call, self._provenance)
        operator = self._proxied(launch)
        return found._replace(aten_ops=(operator,)) if operator else found

    def _proxied(self, launch: Launch) -> str | None:
        """The operator that a call of the proxy executor runs, by its number in the package."""
        call = launch.use.call
        if call.kernel != _PROXY or len(call.arguments) < 2:
            return None
        number = call.arguments[1]
        for package in self._packages:
            for file, operators in package.extern_ops.items():
                if stem(file) == stem(launch.unit.name) and number.isdecimal():
                    return (*operators, "")[min(int(number), len(operators))] or None
        return None

    def code_of(self, kernel: str, unit: Unit) -> KernelCode | None:
        """A kernel's code by the name a wrapper calls it, from files of the wrapper's folder."""
        units = [unit, *(one for one in self.units if one.folder == unit.folder)]
        for one in units:
            for source in one.triton:
                if source.kernel == kernel:
                    return next((code for _, code in self._triton(one, source)), None)
            for code in one.cpp:
                if code.name == kernel:
                    return code
        return None

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
            self._uses[unit] = uses(unit.body, lambda name: self.code_of(name, unit))
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
_STEM_IN_TEXT = re.compile(r"(?<![a-z0-9])c[a-z2-7]{51}(?![a-z0-9])")


def stems_in(texts: Iterable[str]) -> frozenset[str]:
    """The stems of generated files that some texts name."""
    return frozenset(name for text in texts for name in _STEM_IN_TEXT.findall(text))


def _identity(unit: Unit) -> object:
    """What copies of one generated file share: the hash in its name; else it is its own."""
    name = stem(unit.name)
    return name if _HASHED.match(name) else unit


def stem(file: str) -> str:
    """`cabc` for `/tmp/x/cabc.wrapper.cpp` and `pkg.pt2!m/data/cabc.wrapper.cpp`."""
    found = _BASENAME.search(file)
    return found[0].split(".", 1)[0] if found else file
