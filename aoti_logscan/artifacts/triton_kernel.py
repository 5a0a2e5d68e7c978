"""The Python text of a Triton kernel, read with `ast` and never run.

    tmp4 = tl.where(tmp3, tmp2, tmp0)
    tl.device_assert((0 <= tmp4) & (tmp4 < ks0), "index out of bounds: 0 <= tmp4 < ks0")

Source: torch 2.13, _inductor/codegen/triton.py (`indirect_indexing`, `device_assert`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from aoti_logscan.artifacts.expression import Expr, Load, Thread, parsed, simplified
from aoti_logscan.artifacts.kernel_code import Assignment, IndexAssertion, KernelCode, Loops
from aoti_logscan.lazy_re import lazy_re

#: what an index assertion says first
SAYS = "index out of bounds: "
#: characters of a kernel that are read
MAX_KERNEL = 2_000_000


def read_triton(source: str, file: str | None) -> KernelCode | None:
    """The kernel in a text whose first line is line 1 of its file; None where there is none."""
    if len(source) > MAX_KERNEL:
        return None
    module = parsed(source, "exec")
    if not isinstance(module, ast.Module):
        return None
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    if not functions:
        return None
    function = functions[-1]  # helpers of reductions stand before the kernel
    lines = source.split("\n")
    statements = list(_statements(function.body, ()))
    return KernelCode(
        name=function.name,
        language="triton",
        file=file,
        parameters=tuple(_parameters(function)),
        assignments=tuple(_assignments(statements, lines)),
        assertions=tuple(_assertions(statements)),
        accesses=tuple(_accesses(statements)),
        text=source,
    )


# def triton_poi_fused_index_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
_DEF = lazy_re(r"^def \w++\((?P<parameters>[^()]*+)\)", re.MULTILINE)


def triton_parameters(source: str) -> tuple[str, ...]:
    """What a call of the kernel gives values to, from its head alone; `read_triton` has more."""
    heads = _DEF.findall(source)
    told = [part.partition(":") for part in heads[-1].split(",")] if heads else []
    return tuple(name.strip() for name, _, kind in told if name.strip() and "constexpr" not in kind)


def _parameters(function: ast.FunctionDef) -> Iterator[str]:
    """What a call gives; block sizes (`XBLOCK : tl.constexpr`) are chosen by Triton."""
    for argument in function.args.args:
        if argument.annotation is None or "constexpr" not in ast.dump(argument.annotation):
            yield argument.arg


def _statements(body: list[ast.stmt], loops: Loops) -> Iterator[tuple[ast.stmt, Loops]]:
    for statement in body:
        yield statement, loops
        if isinstance(statement, ast.For | ast.While):
            around = (*loops, (statement.lineno, statement.end_lineno or statement.lineno))
            yield from _statements(statement.body, around)
        elif isinstance(statement, ast.If | ast.With):
            yield from _statements(statement.body, loops)


def _assignments(
    statements: list[tuple[ast.stmt, Loops]], lines: list[str]
) -> Iterator[Assignment]:
    for statement, loops in statements:
        targets: list[ast.expr]
        value: Expr
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, simplified(statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], simplified(statement.value)
        elif isinstance(statement, ast.For):
            targets, value = [statement.target], Thread()
        else:
            continue
        text = lines[statement.lineno - 1].strip()
        for target in targets:
            for name in _names(target):
                yield Assignment(statement.lineno, name, value, text, loops)


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple):
        for part in target.elts:
            yield from _names(part)


def _assertions(statements: list[tuple[ast.stmt, Loops]]) -> Iterator[IndexAssertion]:
    for statement, loops in statements:
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(attr="device_assert"),
                    args=[condition, ast.Constant(value=str(said)), *_],
                )
            ) if said.startswith(SAYS):
                text = said.removeprefix(SAYS)
                yield IndexAssertion(statement.lineno, text, simplified(condition), loops)


def _accesses(statements: list[tuple[ast.stmt, Loops]]) -> Iterator[tuple[int, Load]]:
    for statement, _ in statements:
        if isinstance(statement, ast.For | ast.While | ast.If | ast.With):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                access = _access(node, node.func.attr)
                if access is not None:
                    yield statement.lineno, access


def _access(node: ast.Call, name: str) -> Load | None:
    """What `tl.load`, `tl.store` or an atomic operation touches."""
    if name != "load" and name != "store" and not name.startswith("atomic_"):
        return None
    as_load = ast.Call(func=ast.Name(id="load"), args=node.args[:1], keywords=[])
    found = simplified(as_load)
    return found if isinstance(found, Load) else None
