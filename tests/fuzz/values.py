"""JSON of any shape where a format holds JSON: traces, run.json and the metadata of packages.

The text is what `json.dumps` makes of it, so lone surrogates stand in it as escapes.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.generated import trace_record
from tests.fuzz.words import SLOTS, Words

_KEYS = st.sampled_from(
    (
        *("name", "filename", "file_path", "type", "encoding", "compile_id", "fail_type"),
        *("fail_reason", "exception_stack_trace", "line", "loc", "stack_traces", "post_grad_nodes"),
        *("pre_grad_nodes", "nodes", "node", "target", "postToPre", "cppCodeToPost", "environment"),
        *("signal", "kept", "problem", "compiled", "AOTI_DEVICE_KEY", "cpp_fused_0:1", ""),
    )
)
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=True),
    st.text(st.characters(), max_size=8),
    st.sampled_from(("CUDA_LAUNCH_BLOCKING=1", "TORCH_LOGS=\ud800", "SIGSEGV", "m::x", "a.py")),
    SLOTS["message"],
)
ANY: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_KEYS, inner, max_size=5)),
    max_leaves=12,
)
_EVENTS = st.sampled_from(
    (
        *("compilation_metrics", "bwd_compilation_metrics", "inductor_output_code", "str"),
        *("graph_dump", "artifact"),
    )
)
_ENVELOPE = st.dictionaries(
    st.sampled_from(("rank", "frame_id", "frame_compile_id", "attempt", "stack", "has_payload")),
    ANY,
    max_size=4,
)
#: a record of a trace whose envelope and payload are JSON of any shape
TRACES: Words = st.one_of(
    st.builds(
        lambda event, value, ids, payload: trace_record({event: value}, ids, payload),
        _EVENTS,
        ANY,
        _ENVELOPE,
        st.one_of(st.none(), ANY.map(json.dumps)),
    ),
    st.builds(
        lambda name, ids, payload: trace_record({"artifact": {"name": name}}, ids, payload),
        st.sampled_from(
            (
                "inductor_provenance_tracking_kernel_stack_traces",
                "inductor_provenance_tracking_node_mappings",
                "torch_version",
                "dynamo_error",
                "before_pre_grad_graph",
            )
        ),
        _ENVELOPE,
        ANY.map(json.dumps),
    ),
    st.builds(
        lambda name, told, ids, payload: trace_record(
            {"graph_dump": {"name": name, **told}}, ids, payload
        ),
        st.sampled_from(("inductor_aot_wrapper_code", "inductor_aot_kernel_code")),
        st.dictionaries(_KEYS, ANY, max_size=3),
        _ENVELOPE,
        st.one_of(st.none(), ANY.map(json.dumps)),
    ),
)
RUN_RECORDS: Words = st.dictionaries(_KEYS, ANY, max_size=6).map(
    lambda fields: json.dumps({"aoti_logscan_run": "1", **fields}, indent=1) + "\n"
)
DOCUMENTS: Words = ANY.map(json.dumps)
#: files of a package that are JSON
FILES = (
    "c.wrapper_metadata.json",
    "c.wrapper.json",
    "kernel_information.json",
    "inductor_provenance_tracking_node_mappings.json",
)
