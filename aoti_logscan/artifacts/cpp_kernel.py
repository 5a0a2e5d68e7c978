"""The C++ kernels of a generated file, read line by line.

    auto tmp2 = c10::convert<int64_t>(tmp1);
    AOTI_TORCH_CHECK((0 <= tmp2) & (tmp2 < 10L), "index out of bounds: 0 <= tmp2 < 10L");

Source: torch 2.13, _inductor/codegen/cpp.py (`CppOverrides`, `CppKernel.indirect_assert`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aoti_logscan.artifacts.expression import Expr, Load, Thread, from_cpp, is_pointer, parts
from aoti_logscan.artifacts.kernel_code import Assignment, IndexAssertion, KernelCode
from aoti_logscan.lazy_re import lazy_re

# extern "C"  void  cpp_fused_add_0(const int64_t* in_ptr0,
_HEAD = lazy_re(
    r'^extern "C"\s++(?:\w++[ \t]++){0,3}?void\s++(?P<name>\w++)'
    r"\((?P<parameters>[^()]*+)\)\s*+\{?+[ \t]*+$",
    re.MULTILINE,
)
# const int64_t* in_ptr0     float* __restrict__ out_ptr0     const int64_t ks0
_PARAMETER = lazy_re(r"(\w+)\s*$")
# auto tmp5 = tmp4 ? tmp3 : tmp0;     int64_t tmp2 = ...;
_ASSIGNMENT = lazy_re(
    r"(?:const )?(?:auto|[\w:]++(?:<[^=;]*>)?)\s+(?P<target>\w+) = (?P<value>.+);\s*$"
)
# tmpbuf[x0_inner] = static_cast<int64_t>(tmp10[x0_inner]);
_ELEMENT = lazy_re(r"(?P<target>\w+)\[[^\]]*\] = (?P<value>.+);$")
# tmp9.store(tmpbuf.data(), static_cast<int64_t>(16));
_STORED = lazy_re(r"(?P<value>\w+)\.store\((?P<target>\w+)\.data\(\)")
# auto tmp5 = [&]      auto tmp10 =
_LAMBDA = lazy_re(r"auto (?P<target>\w+) =(?: \[&\])?$")
_RETURN = lazy_re(r"(?:if \([^;]*\) \{)?return (?P<value>.+?);\}?$")
# for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(ks0); x0+=static_cast<...>(1L))
# for (int64_t x0_tail = static_cast<int64_t>(16L);x0_tail < static_cast<int64_t>(ks0); x0_tail++)
_LOOP = lazy_re(
    r"for ?\((?:int64_t|long) (?P<variable>\w+) ?= ?(?P<first>[^;]+); ?(?P<condition>[^;]+);"
)
# if(C10_LIKELY(x1 >= static_cast<int64_t>(0) && x1 < static_cast<int64_t>(64L)))
_IF = lazy_re(r"if ?\((?:C10_(?:UN)?LIKELY)?(?P<condition>\(?.+\)?)\)$")
# AOTI_TORCH_CHECK((0 <= tmp2) & (tmp2 < 10L), "index out of bounds: 0 <= tmp2 < 10L");
_CHECK = lazy_re(
    r'(?:AOTI_)?TORCH_CHECK\((?P<condition>.+), "index out of bounds: (?P<text>[^"\n]*)"'
)
_ACCESS = lazy_re(r"\b(?:in|out|in_out|ws)_ptr\d*+\b")
#: characters of one line that are read, and blocks around it
_MAX_LINE = 4_000
_MAX_BLOCKS = 60


class _Block:
    """A block of braces: its last line, the block around it, and what its opening line says."""

    def __init__(self, around: _Block | None, guard: Expr | None) -> None:
        self.last = sys.maxsize
        self.around = around
        self.guard = guard
        #: what the lambda is given to, whose body the block is
        self.target: str | None = None

    def outwards(self) -> Iterator[_Block]:
        """The block itself and those around it."""
        block: _Block | None = self
        for _ in range(_MAX_BLOCKS):
            if block is None:
                return
            yield block
            block = block.around


class Head(NamedTuple):
    """The definition of a kernel, with the line that it begins on."""

    name: str
    parameters: tuple[str, ...]
    first: int
    text: str


def cpp_heads(text: str) -> Iterator[Head]:
    """The kernels defined in a file of C++ code; lines count from its first."""
    heads = list(_HEAD.finditer(text))
    line, counted = 1, 0
    for at, head in enumerate(heads):
        line, counted = line + text.count("\n", counted, head.start()), head.start()
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        closing = text.find("\n}", head.end(), end)
        if "{" in text[head.end() - 1 : head.end() + 80]:  # no mere declaration
            of_kernel = text[head.start() : end if closing < 0 else closing + 2]
            yield Head(head["name"], _parameters(head["parameters"]), line, of_kernel)


def read_cpp(text: str, file: str | None, first: int = 1) -> KernelCode | None:
    """The kernel whose head a text begins with, on a line of its file; None where it has none."""
    head = _HEAD.match(text)
    if head is None:
        return None
    line = first + text.count("\n", 0, head.end())
    reader = _Reader(text[head.end() :].split("\n"), line)
    return KernelCode(
        name=head["name"],
        language="cpp",
        file=file,
        parameters=_parameters(head["parameters"]),
        assignments=reader.assignments,
        assertions=tuple(reader.assertions),
        accesses=tuple(reader.accesses),
        text=text,
    )


class _Reader:
    """The lines of one kernel, taken in one after the other."""

    def __init__(self, lines: Sequence[str], first: int) -> None:
        self.assertions: list[IndexAssertion] = []
        self.accesses: list[tuple[int, Load]] = []
        self._assignments: list[tuple[Assignment, _Block]] = []
        self._block = _Block(None, None)
        self._guard: Expr | None = None
        self._target: str | None = None
        for number, line in enumerate(lines, first):
            if len(line) <= _MAX_LINE:
                self._read(number, line.strip())
                self._braces(number, line)

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """The assignments, each with the last line on which it holds."""
        return tuple(
            assignment._replace(until=block.last) for assignment, block in self._assignments
        )

    def _read(self, number: int, line: str) -> None:
        if check := _CHECK.match(line):
            guards = (block.guard for block in self._block.outwards())
            reached = tuple(guard for guard in guards if guard is not None)
            condition = from_cpp(check["condition"])
            self.assertions.append(IndexAssertion(number, check["text"], condition, guards=reached))
        elif loop := _LOOP.match(line):
            self._guard = from_cpp(loop["condition"])
            first = Thread(from_cpp(loop["first"]))
            self._assign(number, loop["variable"], first, line, self._block)
        elif tested := _IF.match(line):
            self._guard = from_cpp(tested["condition"])
        elif opened := _LAMBDA.match(line):
            self._target = opened["target"]
        elif found := _ASSIGNMENT.match(line):
            self._assign(number, found["target"], from_cpp(found["value"]), line, self._block)
        elif found := _ELEMENT.match(line) or _STORED.match(line):
            body = self._body or self._block
            self._assign(number, found["target"], from_cpp(found["value"]), line, body)
        elif returned := _RETURN.match(line):
            self._return(number, from_cpp(returned["value"]), line)
        if _ACCESS.search(line):
            self.accesses += ((number, load) for load in _loads(line))

    def _assign(self, number: int, target: str, value: Expr, text: str, block: _Block) -> None:
        if not is_pointer(target):
            self._assignments.append((Assignment(number, target, value, text), block))

    @property
    def _body(self) -> _Block | None:
        """The body of the innermost lambda."""
        return next((block for block in self._block.outwards() if block.target), None)

    def _return(self, number: int, value: Expr, line: str) -> None:
        """What the innermost lambda gives; of several ways out of it the last one counts."""
        body = self._body
        if body is not None and body.target is not None and body.around is not None:
            self._assign(number, body.target, value, line, body.around)

    def _braces(self, number: int, line: str) -> None:
        for char in line:
            if char == "{":
                self._block = _Block(self._block, self._guard)
                self._block.target, self._guard, self._target = self._target, None, None
            elif char == "}" and self._block.around is not None:
                self._block.last = number
                self._block = self._block.around


def _parameters(text: str) -> tuple[str, ...]:
    found = (_PARAMETER.search(part) for part in text.split(","))
    return tuple(match[1] for match in found if match)


def _loads(line: str) -> Iterator[Load]:
    """All accesses through pointers in a line: of a statement both sides."""
    statement = line.strip().rstrip(";")
    target, equals, value = statement.partition(" = ")
    sides = (target.removeprefix("auto "), value) if equals else (statement,)
    for side in sides:
        yield from (part for part in parts(from_cpp(side)) if isinstance(part, Load))
