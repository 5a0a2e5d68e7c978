"""Kernels as they are defined in a file of generated code, read whole only when asked for.

Sources: torch 2.13, _inductor/codegen/wrapper.py (`async_compile.triton`, `cpp_pybinding`) and
cpp_wrapper_cpu.py, cpp_wrapper_gpu.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from aoti_logscan.artifacts.cpp_kernel import cpp_heads, read_cpp
from aoti_logscan.artifacts.kernel_code import KernelCode
from aoti_logscan.artifacts.triton_kernel import read_triton, triton_parameters
from aoti_logscan.artifacts.wrapper_code import (
    Wrapper,
    cpp_sources,
    source_stem,
    stem,
    triton_sources,
)

#: what the function of each kernel is called in the C++ files of a Python wrapper
NAMELESS = "kernel"


class Definition(NamedTuple):
    """A kernel's definition: the name that wrappers call it by, and its text.

    `file` is the stem of the file that it is compiled from, None where that is not known, and
    `first` the line of that file on which the text begins.
    """

    name: str
    language: Literal["triton", "cpp"]
    file: str | None
    first: int
    text: str

    @property
    def is_nameless(self) -> bool:
        """Whether it is a C++ kernel whose own file calls it what every such kernel is called."""
        return self.name == NAMELESS

    @property
    def parameters(self) -> tuple[str, ...]:
        """What a call of the kernel gives values to."""
        if self.language == "triton":
            return triton_parameters(self.text)
        return next((head.parameters for head in cpp_heads(self.text)), ())

    def code(self) -> KernelCode | None:
        """The kernel read whole; None where its text is broken."""
        if self.language == "triton":
            code = read_triton(self.text, self.file)
        else:
            code = read_cpp(self.text, self.file, self.first)
        return code._replace(name=self.name) if code else None


def definitions(wrapper: Wrapper) -> Iterator[Definition]:
    """The kernels that are defined in a file of generated code."""
    text = "\n".join(wrapper.lines)
    for source in triton_sources(wrapper.name, text) if wrapper.kernels else ():
        yield Definition(source.kernel, "triton", source_stem(source.text), 1, source.text)
    embedded = cpp_sources(text)
    for source in embedded:
        for head in cpp_heads(source.text):
            name = source.kernel if head.name == NAMELESS else head.name
            yield Definition(name, "cpp", None, head.first, head.text)
    for head in () if embedded else cpp_heads(text):
        yield Definition(head.name, "cpp", stem(wrapper.name), head.first, head.text)
