"""Generated wrapper code, C++ or Python: kernels by the hash of their source, inputs, calls.

Only text is read. Sources: torch 2.13, _inductor/codegen/cpp_wrapper_cpu.py (`inputs_info_`),
cpp_wrapper_gpu.py (the Triton source in a comment of `call_<kernel>`), wrapper.py
(`async_compile.triton`), _inductor/codecache.py (`code_hash`: the name of a generated file).
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import NamedTuple

from aoti_logscan.lazy_re import lazy_re

# triton_poi_fused_index_0 = async_compile.triton('triton_poi_fused_index_0', '''
_TRITON = lazy_re(
    r"(?:^(?P<variable>\w+) = )?async_compile\.triton\('(?P<quoted>\w+)', '''(?P<source>.*?)'''",
    re.DOTALL | re.MULTILINE,
)
# cpp_fused_index_0 = async_compile.cpp_pybinding(['const int64_t*', 'float*'], r'''
_CPP = lazy_re(
    r"^(?P<variable>\w+) = async_compile\.cpp_pybinding\(\[[^\]\n]*\], r?'''(?P<source>.*?)'''",
    re.DOTALL | re.MULTILINE,
)
_DEF = lazy_re(r"^def (?P<name>triton_\w+)\(", re.MULTILINE)
#     inputs_info_[0].name = "arg0_1";
_INPUT = lazy_re(
    r'^[ \t]*inputs_info_\[(?P<position>\d+)\]\.name = "(?P<name>[^"\n]*)";', re.MULTILINE
)
#     arg0_1, arg1_1 = args
_PYTHON_INPUTS = lazy_re(r"^[ \t]+(?P<names>\w+(?:, \w+)*),? = args$", re.MULTILINE)
_CALL = lazy_re(
    r"^(?:AOTI_TORCH_ERROR_CODE_CHECK\((?P<shim>\w+)\("
    r"|(?P<kernel>(?:call_)?(?:triton|cpp)_\w+?|extern_kernels\.\w+|aoti_torch_\w+)(?:\.run)?\()"
)
_BASENAME = lazy_re(r"[^/\\]+$")
#: symbols of the hash in a generated file's name
_HASH_LENGTH = 51


class Wrapper(NamedTuple):
    """One file of wrapper code.

    `kernels` maps the stem of the file that a kernel's source is compiled from to the kernel's
    name; `inputs` are the names in the order of their positions.
    """

    name: str
    lines: tuple[str, ...]
    kernels: dict[str, str]
    inputs: tuple[str, ...]


def source_stem(source: str) -> str:
    """The stem of the file that inductor writes this source to: `c` and 51 base-32 digits."""
    digest = hashlib.sha256(source.strip().encode("utf-8", "replace")).digest()
    return "c" + base64.b32encode(digest)[:_HASH_LENGTH].decode("ascii").lower()


def read_wrapper(name: str, text: str) -> Wrapper:
    """What a file of generated code tells; any other text gives a wrapper with nothing in it."""
    return Wrapper(name, tuple(text.split("\n")), _kernels(name, text), _inputs(text))


def _kernels(name: str, text: str) -> dict[str, str]:
    return {source_stem(source.text): source.kernel for source in triton_sources(name, text)}


class Source(NamedTuple):
    """The source of a kernel, with the name that the wrapper calls it by."""

    kernel: str
    text: str


def triton_sources(name: str, text: str) -> list[Source]:
    """The Triton sources in a file, as they are compiled: its line 1 is theirs."""
    indented = not name.endswith(".py")
    found = [
        Source(
            match["variable"] or match["quoted"],
            match["source"].replace("\n    ", "\n") if indented else match["source"],
        )
        for match in _TRITON.finditer(text)
    ]
    if not found and (definition := _DEF.search(text)):
        return [Source(definition["name"], text)]
    return found


def cpp_sources(text: str) -> list[Source]:
    """The C++ sources that a Python wrapper compiles; the function in them is called `kernel`."""
    return [Source(match["variable"], match["source"]) for match in _CPP.finditer(text)]


def _inputs(text: str) -> tuple[str, ...]:
    named = {int(match["position"][:9]): match["name"] for match in _INPUT.finditer(text)}
    if named:
        return tuple(named.get(position, "") for position in range(min(max(named) + 1, 100_000)))
    unpacked = _PYTHON_INPUTS.search(text)
    return tuple(unpacked["names"].split(", ")) if unpacked else ()


class CallLine(NamedTuple):
    """A line of wrapper code that calls a kernel: the called name and the whole line."""

    kernel: str
    line: int
    text: str


def call_on(wrapper: Wrapper, line: int) -> CallLine | None:
    """The kernel or shim call on a line (from 1); None where the line holds none."""
    if not 1 <= line <= len(wrapper.lines):
        return None
    text = wrapper.lines[line - 1].strip()
    match = _CALL.match(text)
    if match is None:
        return None
    return CallLine(match["shim"] or match["kernel"].removeprefix("call_"), line, text)


def stem(file: str) -> str:
    """`cabc` for `/tmp/x/cabc.wrapper.cpp` and `pkg.pt2!m/data/cabc.wrapper.cpp`."""
    found = _BASENAME.search(file)
    return found[0].split(".", 1)[0] if found else file
