"""From a kernel's call to the user's model: graph nodes, ATen operators, source lines.

`kernel_information.json` of a package and the artifacts of a trace know more than the comments in
the wrapper; they are there when INDUCTOR_PROVENANCE was on. Source: torch 2.13,
_inductor/debug.py (`create_kernel_information_json`, `dump_inductor_provenance_info`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from aoti_logscan.artifacts.wrapper_body import KernelCall
from aoti_logscan.lazy_re import lazy_re

# aoti_torch_cuda_mm_out      extern_kernels.mm      torch.ops.aten.sort.stable
_OPERATOR = lazy_re(
    r"^(?:aoti_torch_(?:cpu|cuda|xpu|mps)_(?P<shim>\w+?)(?:_out)?"
    r"|extern_kernels\.(?P<extern>\w+)|(?:torch\.ops\.)?aten\.(?P<aten>\w+).*)$"
)


class Origin(NamedTuple):
    """Where a call comes from; empty where nothing tells."""

    source_nodes: tuple[str, ...] = ()
    aten_ops: tuple[str, ...] = ()
    user_stack: tuple[str, ...] = ()

    @classmethod
    def merged(cls, origins: Iterable[Origin]) -> Origin:
        """Where several calls come from, each node, operator and line once."""
        every = list(origins)
        return cls(
            _each_once(origin.source_nodes for origin in every),
            _each_once(origin.aten_ops for origin in every),
            _each_once(origin.user_stack for origin in every),
        )


def _each_once(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for part in parts for one in part))


class Provenance(NamedTuple):
    """By debug handle (`cpp_fused_0:1`): the user's stacks, and the nodes of the user's graph.

    `lines` are the user's lines by node, as comments in a printed graph tell them.
    """

    stacks: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    nodes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    lines: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @classmethod
    def merged(cls, parts: Iterable[Provenance]) -> Provenance:
        """All of them; a handle that two tell differently is told by none."""
        every = list(parts)
        return cls(
            _merged([part.stacks for part in every]),
            _merged([part.nodes for part in every]),
            _merged([part.lines for part in every]),
        )


def _merged(maps: list[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    differing: set[str] = set()
    for one in maps:
        for handle, told in one.items():
            if found.setdefault(handle, told) != told:
                differing.add(handle)
    return {handle: told for handle, told in found.items() if handle not in differing}


def read_kernel_information(data: bytes | str) -> Provenance:
    """The `kernel_information.json` of a package; raises `ValueError` for anything else."""
    told = _decoded(data)
    return Provenance(
        {handle: _stacks(one.get("stack_traces")) for handle, one in told.items() if _is_map(one)},
        {handle: _texts(one.get("pre_grad_nodes")) for handle, one in told.items() if _is_map(one)},
    )


def read_stack_traces(data: bytes | str) -> Provenance:
    """The trace artifact `inductor_provenance_tracking_kernel_stack_traces`."""
    return Provenance({handle: _stacks(stacks) for handle, stacks in _decoded(data).items()})


def read_node_mappings(data: bytes | str) -> Provenance:
    """The trace artifact `inductor_provenance_tracking_node_mappings`."""
    told = _decoded(data)
    post_to_pre, code_to_post = told.get("postToPre"), told.get("cppCodeToPost")
    if not (isinstance(post_to_pre, dict) and isinstance(code_to_post, dict)):
        return Provenance()
    return Provenance(
        nodes={
            handle: tuple(
                dict.fromkeys(node for one in _texts(post) for node in _texts(post_to_pre.get(one)))
            )
            for handle, post in code_to_post.items()
        }
    )


def read_extern_nodes(data: bytes | str) -> tuple[str, ...]:
    """The `.wrapper.json` of a package: the operators that the proxy executor calls, by number.

    As `mylib.boom`; raises `ValueError` for anything else.
    """
    nodes = _decoded(data).get("nodes")
    targets = []
    for node in nodes if isinstance(nodes, list) else ():
        inner = node.get("node") if isinstance(node, dict) else None
        target = inner.get("target") if isinstance(inner, dict) else None
        targets.append(target.replace("::", ".") if isinstance(target, str) else "")
    return tuple(targets)


# # File: /home/dev/lookups.py:150 in scatter, code: filled = torch.ops.aten.index_put(...)
_FILE = lazy_re(
    r"\s*# File: (?P<file>[^\n]{1,1000}):(?P<line>\d{1,9}) in (?P<function>[^\n,]{1,300})"
    r"(?:, code: (?P<code>.*))?"
)
# exp: "f32[s72, 48][48, 1]cuda:0" = l_goods_.exp();  l_goods_ = None
_NODE = lazy_re(r'\s*(?P<node>\w+)(?:: "[^"\n]*")? = ')


def read_graph(text: str) -> Provenance:
    """A graph as torch prints it, in a trace's artifact: the user's line of each node."""
    lines: dict[str, tuple[str, ...]] = {}
    told: tuple[str, ...] = ()
    for line in text.split("\n"):
        if found := _FILE.match(line):
            code = f"\n    {found['code'].strip()}" if found["code"] else ""
            at = f'File "{found["file"]}", line {found["line"]}, in {found["function"]}'
            told = (at + code,)
        elif line.lstrip().startswith("#") or not line.strip():
            told = ()
        elif told and (node := _NODE.match(line)):
            lines.setdefault(node["node"], told)
    return Provenance(lines=lines)


def _decoded(data: bytes | str) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(told, dict):
        raise ValueError("no JSON object")
    return told


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(one for one in value if isinstance(one, str))


def _stacks(value: object) -> tuple[str, ...]:
    """Stacks from their first `File`, without the lines of `^` below the code."""
    told = (text.strip().split("\n") for text in _texts(value))
    bare = ("\n".join(line for line in lines if line.strip(" ^~")) for lines in told)
    return tuple(dict.fromkeys(bare))


def origin_of(call: KernelCall, provenance: Provenance) -> Origin:
    """What is known of a call: by its debug handle, else by the comment and the guard above it.

    A comment above an operator's call lists the nodes of the kernels before it too; then the last
    node is the operator's own.
    """
    handle = call.handle or ""
    nodes, ops = call.nodes, call.ops
    operator = _OPERATOR.match(call.kernel)
    if operator or call.kernel.startswith(("aoti_torch_proxy_executor", "torch.ops.")):
        nodes, ops = nodes[-1:], ops[-1:]
        name = next(filter(None, operator.groups()), None) if operator else None
        if name is not None and f"aten.{name}" in call.ops:
            ops = (f"aten.{name}",)
    nodes = provenance.nodes.get(handle) or nodes
    of_nodes = (line for node in nodes for line in provenance.lines.get(node, ()))
    stack = provenance.stacks.get(handle) or call.stack or tuple(dict.fromkeys(of_nodes))
    return Origin(nodes, ops, stack)
