"""All artifacts at hand, asked together: which kernel, which input, which call.

Answers that several artifacts give differently are no answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from aoti_logscan.artifacts.package import Package
from aoti_logscan.artifacts.wrapper_code import CallLine, Wrapper, call_on

_Answer = TypeVar("_Answer")

_BASENAME = re.compile(r"[^/\\]+$")


class Library:
    """The packages and loose sources that were found beside the logs."""

    def __init__(self, packages: Sequence[Package]) -> None:
        self._packages = tuple(packages)
        self._wrappers = tuple(wrapper for package in packages for wrapper in package.wrappers)
        self._kernels: dict[str, set[str]] = {}
        for wrapper in self._wrappers:
            for stem, name in wrapper.kernels.items():
                self._kernels.setdefault(stem, set()).add(name)

    def kernel_of(self, file: str | None) -> str | None:
        """The kernel whose source hashes to this generated file's name."""
        return _only(self._kernels.get(_stem(file), ())) if file else None

    def input_name(self, position: int, files: Iterable[str] = ()) -> str | None:
        """What input `position` is called; `files` are wrapper files that the failure names."""
        wrappers = [wrapper for wrapper in self._wrappers if wrapper.inputs]
        named = {_stem(file) for file in files}
        if matching := [wrapper for wrapper in wrappers if _stem(wrapper.name) in named]:
            wrappers = matching
        names = {
            wrapper.inputs[position] if position < len(wrapper.inputs) else None
            for wrapper in wrappers
        }
        return _only(names) or None

    def call_on(self, file: str, line: int) -> tuple[Wrapper, CallLine] | None:
        """The call on a line of the wrapper file of this name."""
        found = {
            call: wrapper
            for wrapper in self._wrappers
            if _stem(wrapper.name) == _stem(file) and (call := call_on(wrapper, line))
        }
        call = _only(found)
        return (found[call], call) if call else None

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


def _stem(file: str) -> str:
    """`cabc` for `/tmp/x/cabc.wrapper.cpp` and `pkg.pt2!m/data/cabc.wrapper.cpp`."""
    found = _BASENAME.search(file)
    return found[0].split(".", 1)[0] if found else file
