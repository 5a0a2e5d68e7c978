"""What the generated code tells of kernels: their calls, what they read, where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from aoti_logscan.artifacts.library import Launch, Library
from aoti_logscan.artifacts.provenance import Origin
from aoti_logscan.artifacts.wrapper_body import PROXY_CALL
from aoti_logscan.launches import Launch as MarkedLaunch
from aoti_logscan.report import (
    BufferUse,
    Call,
    InputRef,
    Kernel,
    KernelReport,
    LaunchReport,
    Producer,
)

if TYPE_CHECKING:
    from aoti_logscan.artifacts.dataflow import Operand


def completed(kernel: Kernel, library: Library, marked: Sequence[MarkedLaunch] = ()) -> Kernel:
    """The kernel with its call, the producers of what it read, and the user's lines.

    `marked` are the launches of its run. Nothing is added where the code at hand has no such call;
    of several that may be meant, only the nodes and lines that they come from, all of them.
    """
    launch = _launch(kernel, library, marked)
    if launch is None:
        return _of_several(kernel, library)
    told = _told(launch, library)
    return msgspec.structs.replace(kernel, **{**told, "call": kernel.call or told["call"]})


def _of_several(kernel: Kernel, library: Library) -> Kernel:
    of_all = Origin.merged(library.origin(launch) for launch in library.launches_of(kernel.name))
    return msgspec.structs.replace(kernel, **of_all._asdict())


def _launch(kernel: Kernel, library: Library, marked: Sequence[MarkedLaunch]) -> Launch | None:
    call = kernel.call
    if call is not None and call.file is not None and call.line is not None:
        found = library.launch_on(call.file, call.line)
        if found is not None:
            return found
    of_marks = (one for one in marked if one.index == kernel.launch_index)
    mark = next(of_marks, None) if kernel.found_by == "printer" else None
    return _meant(kernel.name, library, mark, marked)


def _meant(
    name: str,
    library: Library,
    mark: MarkedLaunch | None,
    marked: Sequence[MarkedLaunch],
) -> Launch | None:
    """The call that is meant: the only one, or the one that a marked launch singles out."""
    found = library.launches_of(name)
    if len(found) == 1 or not found:
        return found[0] if found else None
    if mark is None:
        return None
    printed = {one.argument for one in mark.marks if one.argument is not None}
    if printed:
        given = [one for one in found if printed <= {arg.argument for arg in one.use.operands}]
    else:
        given = _by_order(mark, marked, library.launches_in(found[0].unit))
    return given[0] if len(given) == 1 else None


def _by_order(
    mark: MarkedLaunch, marked: Sequence[MarkedLaunch], calls: Sequence[Launch]
) -> list[Launch]:
    """The call at a mark's place, where the marks before it are the wrapper's calls in order.

    Calls of the proxy executor print no mark.
    """
    printing = [call for call in calls if call.use.call.kernel != PROXY_CALL]
    run = [one.kernel for one in marked if one.source == mark.source and one.index <= mark.index]
    names = [call.use.call.kernel for call in printing]
    at = (len(run) - 1) % len(names)
    whole = len(run) - 1 - at
    if run[whole:] != names[: at + 1] or run[:whole] != names * (whole // len(names)):
        return []
    return [printing[at]]


def _told(launch: Launch, library: Library) -> dict[str, Any]:
    """What the code tells of a call, by the names of the fields of reports."""
    call = launch.use.call
    return {
        "call": Call(launch.unit.name, call.line, call.text),
        "producers": tuple(_producers(launch)),
        **library.origin(launch)._asdict(),
    }


def _producers(launch: Launch) -> Iterator[Producer]:
    """Each tensor that a call reads: the kernel that made it, or the graph input that it is."""
    for operand in launch.use.operands:
        if operand.reads:
            known = launch.unit.body.input(operand.base)
            yield Producer(
                argument=operand.argument,
                kernel=operand.made_by.kernel if operand.made_by else None,
                input=InputRef(position=known.position, name=known.name) if known else None,
            )


def launch_reports(marked: Sequence[MarkedLaunch], library: Library) -> list[LaunchReport]:
    """The launches that were marked, with what the code tells; without any, the code's own calls.

    A marked launch gets what the code tells of the call that it singles out.
    """
    if not marked:
        return list(_calls(library))
    return [
        LaunchReport(
            index=launch.index,
            kernel=launch.kernel,
            open=launch.open,
            rank=launch.first.rank,
            source=launch.first.event.place.source,
            line=launch.first.event.place.line,
            arguments=launch.arguments(),
            **_told_of_mark(launch, marked, library),
        )
        for launch in marked
    ]


def _told_of_mark(
    mark: MarkedLaunch, marked: Sequence[MarkedLaunch], library: Library
) -> dict[str, Any]:
    found = _meant(mark.kernel, library, mark, marked)
    return _told(found, library) if found else {}


def _calls(library: Library) -> Iterator[LaunchReport]:
    """All calls of all wrappers, in order."""
    for unit in library.units:
        for index, launch in enumerate(library.launches_in(unit)):
            call = launch.use.call
            yield LaunchReport(
                index=index,
                kernel=call.kernel,
                open=None,
                rank=None,
                source=unit.name,
                line=call.line,
                **_told(launch, library),
            )


def kernel_report(
    name: str, marked: Sequence[MarkedLaunch], library: Library
) -> KernelReport | None:
    """One kernel whole; None where neither a mark nor the code knows it."""
    found = tuple(one for one in launch_reports(marked, library) if one.kernel == name)
    if not found:
        found = tuple(one for one in _calls(library) if one.kernel == name)
    code = library.code_named(name)
    if not found and code is None:
        return None
    return KernelReport(
        name=name,
        code=code.text if code else None,
        file=code.file if code else None,
        launches=found,
    )


def buffer_uses(name: str, library: Library) -> list[BufferUse]:
    """Every call that reads or writes a buffer, in order, whatever the buffer is called there."""
    found = []
    for unit in library.units:
        launches = library.launches_in(unit)
        bases = {
            operand.base
            for launch in launches
            for operand in launch.use.operands
            if name in (operand.argument, operand.base)
        }
        for launch in launches:
            for operand in launch.use.operands:
                if operand.base in bases:
                    found.append(_buffer_use(operand, launch, library))
    return found


def _buffer_use(operand: Operand, launch: Launch, library: Library) -> BufferUse:
    origin = library.origin(launch)
    return BufferUse(
        buffer=operand.argument,
        role=_role(operand),
        parameter=operand.parameter,
        kernel=launch.use.call.kernel,
        file=launch.unit.name,
        line=launch.use.call.line,
        source_nodes=origin.source_nodes,
        user_stack=origin.user_stack,
    )


def _role(operand: Operand) -> Literal["read", "written", "updated"]:
    if operand.reads:
        return "updated" if operand.writes else "read"
    return "written"
