"""The C++ kernels of a generated file, read line by line.

    auto tmp2 = c10::convert<int64_t>(tmp1);
    AOTI_TORCH_CHECK((0 <= tmp2) & (tmp2 < 10L), "index out of bounds: 0 <= tmp2 < 10L");

Source: torch 2.13, _inductor/codegen/cpp.py (`CppOverrides`, `CppKernel.indirect_assert`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aoti_logscan.artifacts.expression import Load, from_cpp, operands
from aoti_logscan.artifacts.kernel_code import Assignment, IndexAssertion, KernelCode, Loops

# extern "C"  void  cpp_fused_add_0(const int64_t* in_ptr0,
_HEAD = re.compile(
    r'^(?:extern "C"\s+)?(?:\w+\s+){0,3}?void\s+(?P<name>\w+)\((?P<parameters>[^()]*)\)\s*\{?\s*$',
    re.MULTILINE,
)
# const int64_t* in_ptr0     float* __restrict__ out_ptr0     const int64_t ks0
_PARAMETER = re.compile(r"(\w+)\s*$")
# auto tmp5 = tmp4 ? tmp3 : tmp0;     int64_t tmp2 = ...;
_ASSIGNMENT = re.compile(
    r"^\s*(?:const )?(?:auto|[\w:]+(?:<[^=;]*>)?)\s+(?P<target>\w+) = (?P<value>.+);\s*$"
)
# auto tmp5 = [&]
_LAMBDA = re.compile(r"^\s*auto (?P<target>\w+) = \[&\]")
_RETURN = re.compile(r"^\s*return (?P<value>.+);\s*$")
# AOTI_TORCH_CHECK((0 <= tmp2) & (tmp2 < 10L), "index out of bounds: 0 <= tmp2 < 10L");
_CHECK = re.compile(r'TORCH_CHECK\((?P<condition>.+), "index out of bounds: (?P<text>[^"\n]*)"')
_ACCESS = re.compile(r"\b(?:in|out|in_out|ws)_ptr\d*\b")
#: characters of one line that are read
_MAX_LINE = 4_000


def read_cpp(text: str, file: str | None) -> Iterator[KernelCode]:
    """The kernels defined in a file of C++ code; lines count from its first."""
    heads = list(_HEAD.finditer(text))
    for at, head in enumerate(heads):
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        if "{" not in text[head.end() - 1 : head.end() + 80]:
            continue  # a declaration
        yield _kernel(text, head, end, file)


def _kernel(text: str, head: re.Match[str], end: int, file: str | None) -> KernelCode:
    first = text.count("\n", 0, head.end()) + 1
    lines = text[head.end() : end].split("\n")
    assignments: list[Assignment] = []
    assertions: list[IndexAssertion] = []
    accesses: list[tuple[int, Load]] = []
    lambdas: list[str] = []
    for number, (line, loops) in enumerate(_with_loops(lines, first), first):
        if len(line) > _MAX_LINE:
            continue
        if check := _CHECK.search(line):
            condition = from_cpp(check["condition"])
            assertions.append(IndexAssertion(number, check["text"], condition, loops))
        elif opened := _LAMBDA.match(line):
            lambdas.append(opened["target"])
        elif found := _ASSIGNMENT.match(line):
            assignments.append(_assigned(number, found["target"], found["value"], line, loops))
        elif lambdas and (returned := _RETURN.match(line)):
            assignments.append(_assigned(number, lambdas.pop(), returned["value"], line, loops))
        if _ACCESS.search(line):
            accesses += ((number, load) for load in _loads(line))
    return KernelCode(
        name=head["name"],
        language="cpp",
        file=file,
        parameters=_parameters(head["parameters"]),
        assignments=tuple(assignments),
        assertions=tuple(assertions),
        accesses=tuple(accesses),
        text=text[head.start() : end],
    )


def _assigned(number: int, target: str, value: str, line: str, loops: Loops) -> Assignment:
    return Assignment(number, target, from_cpp(value), line.strip(), loops)


def _parameters(text: str) -> tuple[str, ...]:
    found = (_PARAMETER.search(part) for part in text.split(","))
    return tuple(match[1] for match in found if match)


def _with_loops(lines: list[str], first: int) -> Iterator[tuple[str, Loops]]:
    """Each line with the lines of the loops that it stands in, by the braces after `for`."""
    spans = _loop_spans(lines, first)
    active: list[tuple[int, int]] = []
    upcoming = iter(spans)
    following = next(upcoming, None)
    for number, line in enumerate(lines, first):
        active = [span for span in active if span[1] >= number]
        while following is not None and following[0] <= number:
            active.append(following)
            following = next(upcoming, None)
        yield line, tuple(active)


def _loop_spans(lines: list[str], first: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    open_braces: list[int | None] = []
    pending: int | None = None
    for number, line in enumerate(lines, first):
        if line.lstrip().startswith("for("):
            pending = number
        for char in line if len(line) <= _MAX_LINE else "":
            if char == "{":
                open_braces.append(pending)
                pending = None
            elif char == "}" and open_braces:
                begun = open_braces.pop()
                if begun is not None:
                    spans.append((begun, number))
    return sorted(spans)


def _loads(line: str) -> Iterator[Load]:
    """All accesses through pointers in a line: of a statement both sides."""
    statement = line.strip().rstrip(";")
    target, equals, value = statement.partition(" = ")
    sides = (target.removeprefix("auto "), value) if equals else (statement,)
    todo = [from_cpp(side) for side in sides]
    while todo:
        one = todo.pop()
        if isinstance(one, Load):
            yield one
        todo += operands(one)
