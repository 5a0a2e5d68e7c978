"""Expressions of generated kernels, Triton or C++, in one small form.

Casts, broadcasts and shapes are dropped, since only integer values matter here. What is not
understood becomes `Opaque`, which still holds the names in it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import reduce
from typing import Literal, NamedTuple, TypeAlias

from aoti_logscan.lazy_re import lazy_re

#: characters of an expression that are read, and how deep one may be nested
MAX_TEXT = 4_000
MAX_DEPTH = 60


class Const(NamedTuple):
    """An integer or a truth value."""

    value: int | bool


class Ref(NamedTuple):
    """A name: a temporary or a parameter."""

    name: str


class Thread(NamedTuple):
    """The position of a thread or program, or of a loop; `first` is the first one."""

    first: Expr = Const(0)


class Load(NamedTuple):
    """An element of the tensor that a pointer parameter stands for."""

    pointer: str
    address: Expr


class Apply(NamedTuple):
    """An operator (`+`, `<`, `where`, `min` ...) and its operands."""

    operator: str
    operands: tuple[Expr, ...]


class Opaque(NamedTuple):
    """Something else, made of these parts."""

    parts: tuple[Expr, ...]


Expr: TypeAlias = Const | Ref | Thread | Load | Apply | Opaque

# in_ptr0  out_ptr1  in_out_ptr0  ws_ptr
_POINTER = lazy_re(r"^(?:in|out|in_out|ws)_ptr\d*$")
_NOTHING = Opaque(())


def is_pointer(name: str) -> bool:
    """Whether a parameter of this name is a tensor."""
    return _POINTER.match(name) is not None


def operands(expression: Expr) -> tuple[Expr, ...]:
    """The parts of an expression, of a load its address."""
    match expression:
        case Apply(_, inner) | Opaque(inner):
            return inner
        case Load(_, address):
            return (address,)
    return ()


def parts(expression: Expr) -> Iterator[Expr]:
    """An expression and everything in it, addresses of loads too; from left to right."""
    todo = [expression]
    while todo:
        one = todo.pop()
        yield one
        todo += reversed(operands(one))


def refs(expression: Expr) -> Iterator[str]:
    """All names in an expression."""
    return (part.name for part in parts(expression) if isinstance(part, Ref))


def parsed(text: str, mode: Literal["eval", "exec"]) -> ast.AST | None:
    """Python's tree of a text, without its warnings; None where it is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text, mode=mode)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def from_python(text: str) -> Expr:
    """The expression of a Python text; `Opaque` where it cannot be read."""
    if len(text) > MAX_TEXT:
        return _NOTHING
    tree = parsed(text.strip(), "eval")
    if isinstance(tree, ast.Expression):
        return simplified(tree.body)
    return Opaque(tuple(Ref(name) for name in re.findall(r"\b[A-Za-z_]\w*+", text)))


_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Div: "/",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
_COMPARED = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_UNARY = {ast.USub: "neg", ast.Invert: "~", ast.Not: "not", ast.UAdd: "+"}
#: functions and methods whose value is that of their first operand (of a method: its object)
_CASTS = frozenset(
    {"to", "broadcast_to", "convert", "int64_t", "int32_t", "int", "float", "cast", "long"}
    | {"reshape", "view", "expand_dims", "promote_to_tensor", "select_one"}
    | {"Vectorized", "VectorizedN", "VecMask", "all_masked", "data"}
)
_NAMED = {
    "where": "where",
    "minimum": "min",
    "min": "min",
    "maximum": "max",
    "max": "max",
    "abs": "abs",
    "div_floor_integer": "floor",
    "remainder_integer": "mod",
}
_POSITIONS = frozenset({"program_id", "arange", "num_programs"})


def simplified(node: ast.expr, depth: int = 0) -> Expr:
    """The small form of a Python expression."""
    if depth > MAX_DEPTH:
        return _NOTHING
    match node:
        case ast.Constant(value=bool() | int() as value):
            return Const(value)
        case ast.Name(id=name):
            return Ref(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return Apply(_BINARY[type(op)], _all((left, right), depth))
        case ast.UnaryOp(op=op, operand=operand):
            inner = simplified(operand, depth + 1)
            sign = _UNARY[type(op)]
            return inner if sign == "+" else Apply(sign, (inner,))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            return Apply(_COMPARED[type(op)], _all((left, right), depth))
        case ast.BoolOp(op=op, values=values):
            return _joined("&" if isinstance(op, ast.And) else "|", _all(tuple(values), depth))
        case ast.Subscript(value=ast.Name(id=name), slice=address) if is_pointer(name):
            return Load(name, simplified(address, depth + 1))
        case ast.Subscript(value=value):
            return simplified(value, depth + 1)
        case ast.Call():
            return _called(node, depth)
    children = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))
    return Opaque(_all(tuple(children), depth)) if not isinstance(node, ast.Attribute) else _NOTHING


def _all(nodes: tuple[ast.expr, ...], depth: int) -> tuple[Expr, ...]:
    return tuple(simplified(node, depth + 1) for node in nodes)


def _joined(operator: str, sides: tuple[Expr, ...]) -> Expr:
    if len(sides) > MAX_DEPTH:
        return Opaque(sides)
    return reduce(lambda left, right: Apply(operator, (left, right)), sides)


def _called(node: ast.Call, depth: int) -> Expr:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    arguments = tuple(node.args)
    if name in _POSITIONS:
        return Thread()
    if name in ("loadu", "mask_from") and arguments:  # of memory, or of a vector's own lanes
        inner = simplified(arguments[0], depth + 1)
        return _loaded(inner) if any(map(is_pointer, refs(inner))) else inner
    if name == "set" and len(arguments) == 3:
        return simplified(arguments[1], depth + 1)  # the other lanes hold nothing
    if name == "blendv" and len(arguments) == 3:
        no, yes, condition = arguments
        return Apply("where", _all((condition, yes, no), depth))
    if name == "load" and arguments:
        return _loaded(simplified(arguments[0], depth + 1))
    if name == "full" and len(arguments) > 1:
        return simplified(arguments[1], depth + 1)
    if name in _CASTS:
        return simplified(_cast_of(function, arguments), depth + 1)
    if name in _NAMED:
        return Apply(_NAMED[name], _all(arguments, depth))
    if isinstance(function, ast.Name) and not arguments:
        return Ref(name)  # tmp5() is what the lambda tmp5 returns
    values = arguments
    if isinstance(function, ast.Attribute) and not isinstance(function.value, ast.Name):
        values = (function.value, *arguments)
    return Opaque(_all(values, depth))


def _cast_of(function: ast.expr, arguments: tuple[ast.expr, ...]) -> ast.expr:
    """What a cast is of: `x` in `x.to(tl.int64)`, in `tl.broadcast_to(x, [XBLOCK])`."""
    if isinstance(function, ast.Attribute):
        of_object = not arguments or function.attr in ("to", "reshape", "view")
        return function.value if of_object else arguments[0]
    return arguments[0] if arguments else ast.Constant(value=None)


def _loaded(address: Expr) -> Expr:
    """`in_ptr0 + (x0)` as a load; the pointer is the leftmost name of the sum."""
    pointer = next((name for name in refs(address) if is_pointer(name)), None)
    return Load(pointer, _without(address, pointer)) if pointer else Opaque((address,))


def _without(address: Expr, pointer: str) -> Expr:
    match address:
        case Ref(name) if name == pointer:
            return Const(0)
        case Apply("+", (Ref(name), rest)) if name == pointer:
            return rest
        case Apply("+", (left, right)):
            return Apply("+", (_without(left, pointer), right))
    return address


# 10L  5LL  3UL
_SUFFIX = lazy_re(r"\b(\d+)(?:[uU]?[lL]{1,2}|[lL]?[uU])\b")
# static_cast<int64_t>(   c10::convert<float>(   at::vec::VectorizedN<int64_t,2>::loadu(
_TEMPLATE = lazy_re(r"(?<=[\w])<[\w:, ]{1,80}>(?=\(|::)")
_STATIC_CAST = lazy_re(r"\bstatic_cast(?=\()")
# tmp4 ? tmp3 : tmp0
_TERNARY = lazy_re(r"(?P<test>[^?]{1,400}) \? (?P<yes>[^?:]{1,800}) : (?P<no>[^?]{1,800})")


def from_cpp(text: str) -> Expr:
    """The expression of a C++ text; `Opaque` where it cannot be read."""
    if len(text) > MAX_TEXT:
        return _NOTHING
    text = _TEMPLATE.sub("", _TEMPLATE.sub("", text)).replace(".template ", ".")
    text = text.replace("::from(", "::mask_from(")  # `from` is no name in Python
    text = _STATIC_CAST.sub("int64_t", _SUFFIX.sub(r"\1", text))
    text = text.replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    ternary = _TERNARY.fullmatch(text.replace("::", "."))
    if ternary:
        chosen = (ternary["test"], ternary["yes"], ternary["no"])
        return Apply("where", tuple(from_python(one) for one in chosen))
    return from_python(text.replace("::", "."))
