"""Where a call comes from: handles first, then the guard and the comment above it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.artifacts.provenance import (
    Origin,
    Provenance,
    origin_of,
    read_extern_nodes,
    read_graph,
    read_kernel_information,
    read_node_mappings,
    read_stack_traces,
)
from aoti_logscan.artifacts.wrapper_body import KernelCall

STACK = 'File "/app/m.py", line 5, in forward\n    y = x.sin()'
TOLD = {"stack_traces": [STACK], "post_grad_nodes": ["sin"], "pre_grad_nodes": ["y"]}
INFORMATION = json.dumps({"cpp_fused_0:1": TOLD})


def _call(kernel: str = "cpp_fused_0", handle: str | None = "cpp_fused_0:1") -> KernelCall:
    return KernelCall(
        line=1,
        kernel=kernel,
        text="",
        arguments=(),
        nodes=("a", "b"),
        ops=("aten.sin", "aten.mm"),
        handle=handle,
        stack=("in the guard",),
    )


def test_handle_tells_more_than_what_stands_above_the_call() -> None:
    told = read_kernel_information(INFORMATION)
    assert origin_of(_call(), told) == Origin(("y",), ("aten.sin", "aten.mm"), (STACK,))


def test_without_a_handle_the_comment_and_the_guard_tell() -> None:
    told = read_kernel_information(INFORMATION)
    expected = Origin(("a", "b"), ("aten.sin", "aten.mm"), ("in the guard",))
    assert origin_of(_call(handle=None), told) == expected
    assert origin_of(_call(handle="cpp_fused_0:2"), told) == expected


@pytest.mark.parametrize(
    ("kernel", "ops"),
    [
        ("aoti_torch_cuda_mm_out", ("aten.mm",)),
        ("extern_kernels.mm", ("aten.mm",)),
        ("torch.ops.aten.sin.default", ("aten.sin",)),
        ("torch.ops.mylib.two.default", ("aten.mm",)),
        ("aoti_torch_proxy_executor_call_function", ("aten.mm",)),
    ],
)
def test_an_operators_own_node_is_the_last_one(kernel: str, ops: tuple[str, ...]) -> None:
    found = origin_of(_call(kernel, None), Provenance())
    assert (found.source_nodes, found.aten_ops) == (("b",), ops)


def test_stacks_are_the_same_text_whoever_tells_them() -> None:
    shown = f"  {STACK.replace('sin()', 'sin()')}\n        ^^^^^^^\n"
    traced = read_stack_traces(json.dumps({"cpp_fused_0:1": [shown, shown]}))
    packaged = read_kernel_information(INFORMATION)
    assert traced.stacks == packaged.stacks
    assert Provenance.merged([traced, packaged]).stacks == {"cpp_fused_0:1": (STACK,)}


def test_handles_that_are_told_differently_are_told_by_none() -> None:
    one = Provenance(stacks={"a:1": ("x",), "b:2": ("y",)})
    other = Provenance(stacks={"a:1": ("z",), "c:3": ("w",)})
    assert Provenance.merged([one, other]).stacks == {"b:2": ("y",), "c:3": ("w",)}


def test_node_mappings_lead_to_the_users_graph() -> None:
    told = {"postToPre": {"sin": ["y", "x"], "mm": ["y"]}, "cppCodeToPost": {"k:1": ["sin", "mm"]}}
    assert read_node_mappings(json.dumps(told)).nodes == {"k:1": ("y", "x")}


def test_graph_gives_the_lines_of_nodes() -> None:
    text = (
        "class GraphModule(torch.nn.Module):\n"
        "    def forward(self):\n"
        "        # File: /app/m.py:5 in forward, code: y = x.sin()\n"
        '        sin: "f32[4][1]cpu" = torch.sin(x);  x = None\n'
        "        cos = torch.cos(sin)\n\n"
        "        other = torch.exp(cos)\n"
    )
    assert read_graph(text).lines == {"sin": (STACK,), "cos": (STACK,)}


@pytest.mark.parametrize("read", [read_kernel_information, read_stack_traces, read_node_mappings])
@pytest.mark.parametrize("data", ["", "[]", "3", "{", "[" * 100_000, b"\xff"])
def test_what_is_no_json_object_is_refused(read: object, data: str | bytes) -> None:
    assert callable(read)
    with pytest.raises(ValueError, match=r"JSON|valid|recursion|truncated|UTF-8"):
        read(data)


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "stack_traces",
                    "pre_grad_nodes",
                    "postToPre",
                    "cppCodeToPost",
                    "nodes",
                    "node",
                    "a:1",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a:1", "nodes", "postToPre", "cppCodeToPost"]), _JSON))
def test_any_json_object_is_read(told: dict[str, object]) -> None:
    data = json.dumps(told)
    for found in (
        read_kernel_information(data),
        read_stack_traces(data),
        read_node_mappings(data),
    ):
        assert isinstance(origin_of(_call(handle="a:1"), found), Origin)
    assert all(isinstance(name, str) for name in read_extern_nodes(data))


@given(st.text(max_size=300))
def test_any_text_is_a_graph_without_lines_or_with(text: str) -> None:
    assert isinstance(read_graph(text), Provenance)
