"""Which kernel made what a call reads, through buffers that are renamed, reused or viewed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from aoti_logscan.artifacts.kernel_code import KernelCode
from aoti_logscan.artifacts.wrapper_body import Alias, Body, KernelCall, tensor_of

CodeOf = Callable[[str], KernelCode | None]


class Operand(NamedTuple):
    """One tensor that a call is given.

    `parameter` is the kernel's own name of it, None for operators; `argument` the wrapper's.
    `base` is the name under which its storage began (a graph input's, a constant's or a buffer's);
    `made_by` is the call that last wrote it before this one.
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


def uses(body: Body, code_of: CodeOf) -> tuple[Use, ...]:
    """Every call with its operands; `code_of` gives a kernel's code by its name, where known."""
    base: dict[str, str] = {}
    writer: dict[str, KernelCall] = {}
    found: list[Use] = []
    for step in body.steps:
        if isinstance(step, Alias):
            base[step.name] = base.get(step.of, step.of)
            continue
        operands = tuple(_operands(step, body, code_of(step.kernel), base, writer))
        found.append(Use(step, operands))
        for operand in operands:
            if operand.writes:
                writer[operand.base] = step
        for name in step.target:
            base[name] = name
            writer[name] = step
    return tuple(found)


def arguments_by_parameter(call: KernelCall, code: KernelCode | None) -> dict[str, str]:
    """What each parameter of a kernel is given, as written."""
    return dict(zip(code.parameters, call.arguments, strict=False)) if code else {}


def _operands(
    call: KernelCall,
    body: Body,
    code: KernelCode | None,
    base: dict[str, str],
    writer: dict[str, KernelCall],
) -> list[Operand]:
    parameters = code.parameters if code else ()
    found = []
    for at, argument in enumerate(_flattened(call)):
        name = tensor_of(argument)
        if name is None or not _is_tensor(name, body, base):
            continue
        name = name.removesuffix("_handle")
        parameter = parameters[at] if at < len(parameters) else None
        root = base.get(name, name)
        writes = _is_written(call, at, argument, code, parameter)
        reads = not writes or (parameter or "").startswith("in_out")
        found.append(Operand(parameter, name, root, reads, writes, writer.get(root)))
    return found


def _flattened(call: KernelCall) -> Sequence[str]:
    """The arguments; those of a custom operator are the members of its array of handles."""
    if call.kernel != "aoti_torch_proxy_executor_call_function" or not call.arguments:
        return call.arguments
    _, _, members = call.arguments[-1].partition("{")
    return [member.strip() for member in members.split("}")[0].split(",")]


def _is_tensor(name: str, body: Body, base: dict[str, str]) -> bool:
    known = body.input(name)
    if known is not None:
        return not known.is_size
    return name in base or name in body.constants or name.startswith(("buf", "arg", "primals_"))


def _is_written(
    call: KernelCall, at: int, argument: str, code: KernelCode | None, parameter: str | None
) -> bool:
    if code is not None and parameter is not None:
        return code.writes(parameter)
    if call.kernel.startswith(("cpp_", "triton_")):
        return "*)" in argument and "const " not in argument
    if call.kernel.startswith("aoti_torch_proxy_executor"):
        return at == len(_flattened(call)) - 1 and at > 0
    if call.kernel.startswith("aoti_torch_"):
        return argument.startswith("&") or (at == 0 and "_out" in call.kernel)
    return argument.startswith("out=")
