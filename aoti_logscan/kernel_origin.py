"""What the generated code tells of a kernel that was named: its call, its inputs, its origin."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from aoti_logscan.artifacts.library import Launch, Library
from aoti_logscan.report import Call, InputRef, Kernel, Producer


def completed(kernel: Kernel, library: Library) -> Kernel:
    """The kernel with its call, the producers of what it read, and the user's lines.

    Nothing is added where the code at hand has no such call, or several that may be meant.
    """
    launch = _launch(kernel, library)
    if launch is None:
        return kernel
    origin = library.origin(launch)
    call = launch.use.call
    return msgspec.structs.replace(
        kernel,
        call=kernel.call or Call(launch.unit.name, call.line, call.text),
        producers=tuple(producers(launch)),
        source_nodes=origin.source_nodes,
        aten_ops=origin.aten_ops,
        user_stack=origin.user_stack,
    )


def _launch(kernel: Kernel, library: Library) -> Launch | None:
    call = kernel.call
    if call is not None and call.file is not None and call.line is not None:
        found = library.launch_on(call.file, call.line)
        if found is not None:
            return found
    named = library.launches_of(kernel.name)
    return named[0] if len(named) == 1 else None


def producers(launch: Launch) -> Iterator[Producer]:
    """Each tensor that a call reads: the kernel that made it, or the graph input that it is."""
    for operand in launch.use.operands:
        if operand.reads:
            known = launch.unit.body.input(operand.base)
            yield Producer(
                argument=operand.argument,
                kernel=operand.made_by.kernel if operand.made_by else None,
                input=InputRef(position=known.position, name=known.name) if known else None,
            )
