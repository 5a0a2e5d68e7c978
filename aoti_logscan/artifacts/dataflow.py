"""Which kernel made what a call reads, through buffers that are renamed, reused or viewed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from aoti_logscan.artifacts.expression import is_pointer
from aoti_logscan.artifacts.kernel_code import KernelCode, is_written
from aoti_logscan.artifacts.wrapper_body import (
    PROXY_CALL,
    Alias,
    Body,
    KernelCall,
    proxied,
    tensor_of,
)
from aoti_logscan.lazy_re import lazy_re

ParametersOf = Callable[[str], Sequence[str] | None]


class Operand(NamedTuple):
    """One tensor that a call is given.

    `parameter` is the kernel's own name of it, None for operators; `argument` the wrapper's.
    `base` is the name under which its storage began (a graph input's, a constant's or a buffer's);
    `made_by` is the call that last wrote what is read: one before this call, or this call itself
    where it reads back what it wrote; None where that is not known, or what the model was given.
    """

    parameter: str | None
    argument: str
    base: str
    reads: bool
    writes: bool
    made_by: KernelCall | None


class Use(NamedTuple):
    """A call with the tensors it is given."""

    call: KernelCall
    operands: tuple[Operand, ...]

    def operand(self, parameter: str) -> Operand | None:
        """What a parameter of the kernel is given."""
        return next((one for one in self.operands if one.parameter == parameter), None)


def uses(body: Body, parameters_of: ParametersOf) -> tuple[Use, ...]:
    """Every call with its operands; `parameters_of` gives a kernel's parameters, where known."""
    storages = _Storages(body)
    found: list[Use] = []
    for step in body.steps:
        if isinstance(step, Alias):
            storages.rename(step)
        else:
            operands = tuple(_operands(step, parameters_of(step.kernel) or (), storages))
            found.append(Use(step, operands))
            storages.written(step, operands)
    return tuple(found)


class _Storages:
    """What each name stands for, and which call last wrote it."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._base: dict[str, str] = {}
        self._writer: dict[str, KernelCall | None] = {}
        self._told: dict[str, str] = {}

    def rename(self, alias: Alias) -> None:
        if alias.of == alias.name:
            self._writer.pop(alias.name, None)
        of = self.base_of(alias.of) if alias.of != alias.name else alias.name
        self._base[alias.name] = alias.name if alias.is_item else of
        if alias.name.startswith(("tmp_", "var_")):
            self._told[alias.name] = self.told(alias.of)
        if alias.is_item:
            self._writer[alias.name] = self._writer.get(of)

    def told(self, name: str) -> str:
        """The name of a tensor; of a handle made for one call, that of the tensor behind it."""
        return self._told.get(name, name)

    def base_of(self, name: str) -> str:
        return self._base.get(name, name)

    def writer_of(self, base: str) -> KernelCall | None:
        return self._writer.get(base)

    def is_tensor(self, name: str) -> bool:
        known = self._body.input(name)
        if known is not None:
            return not known.is_size
        return (
            name in self._base
            or name in self._body.constants
            or name.startswith(("buf", "arg", "primals_"))
        )

    def is_new(self, base: str) -> bool:
        """Whether nothing is in a storage yet: a buffer that no call wrote."""
        known = self._body.input(base) is not None or base in self._body.constants
        return not known and base not in self._writer

    def written(self, call: KernelCall, operands: Sequence[Operand]) -> None:
        for operand in operands:
            if operand.writes:
                self._writer[operand.base] = call
            elif _may_change(call, operand):
                self._writer[operand.base] = None
        for name in call.target:
            self._base[name] = name
            self._writer[name] = call


def arguments_by_parameter(call: KernelCall, code: KernelCode | None) -> dict[str, str]:
    """What each parameter of a kernel is given, as written."""
    return dict(zip(code.parameters, call.arguments, strict=False)) if code else {}


def _operands(call: KernelCall, parameters: Sequence[str], storages: _Storages) -> list[Operand]:
    found: list[Operand] = []
    given = proxied(call.arguments) if call.kernel == PROXY_CALL else call.arguments
    for at, argument in enumerate(given):
        name = (tensor_of(argument) or "").removesuffix("_handle")
        if not name or not storages.is_tensor(name):
            continue
        parameter = parameters[at] if at < len(parameters) else None
        changes = not found and _in_place(call)
        writes = changes or _is_written(call, at, argument, parameter, name)
        reads = not writes or changes or "in_out" in (parameter or "")
        base = storages.base_of(name)
        before = storages.writer_of(base) if reads else call
        told = storages.told(name)
        found.append(Operand(parameter, told, base, reads, writes, before))
    filled = {one.base for one in found if not one.reads and storages.is_new(one.base)}
    return [one._replace(made_by=call) if one.base in filled else one for one in found]


def _is_written(call: KernelCall, at: int, argument: str, parameter: str | None, name: str) -> bool:
    if parameter is not None:
        return is_written(parameter)
    if call.kernel.startswith(("cpp_", "triton_")):
        return "*)" in argument and "const " not in argument
    if call.kernel.startswith(_DISPATCHED):
        return name in call.target
    if call.kernel.startswith("aoti_torch_"):
        return argument.startswith("&") or (at == 0 and "_out" in call.kernel)
    return argument.startswith("out=")


#: calls of operators by their names, with nothing about what they write
_DISPATCHED = ("aoti_torch_proxy_executor", "aoti_torch_call_dispatcher", "torch.ops.")
# aten.index_put_      torch.ops.mylib.fill_.default
_IN_PLACE = lazy_re(r"^(?:torch\.ops\.\w+|aten)\.\w+_(?:\.\w+)?$")


def _in_place(call: KernelCall) -> bool:
    """Whether an operator changes its first tensor, which torch's names tell by a `_`."""
    return _IN_PLACE.match(call.kernel) is not None


def _may_change(call: KernelCall, operand: Operand) -> bool:
    """Whether a call may change what it reads: what kernels of users do is not known.

    Nor what operators of libraries do that have no result.
    """
    if call.kernel.startswith(_DISPATCHED):
        own = call.kernel.startswith("torch.ops.aten.")
        return not (call.target or own or _in_place(call))
    if operand.parameter is not None:
        return not is_pointer(operand.parameter)
    return not call.kernel.startswith(("aoti_torch_", "extern_kernels.", "aten.", "cpp_"))
