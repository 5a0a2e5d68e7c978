"""The grammar of what a compilation leaves: generated code, TORCH_TRACE, TORCH_LOGS, run.json.

Forms of records as in `grammar`, and the files of a package.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.forms import Form, forms, lines
from tests.fuzz.words import SLOTS, Words, joined, listed, one_of, said

# --- run.json


def _run_record(draw_fields: Words) -> Words:
    return draw_fields.map('{{\n "aoti_logscan_run": "1",\n{}\n}}\n'.format)


RUN_RECORDS = (
    Form(
        "flags",
        _run_record(
            said(
                ' "command": [\n  "{path}"\n ],\n "environment": [\n '
                ' "CUDA_LAUNCH_BLOCKING={small}",'
                '\n  "TORCH_TRACE={path}"\n ],\n "status": {small},\n "signal": null,\n'
                ' "compiled": true'
            )
        ),
    ),
    Form(
        "signal",
        _run_record(said(' "command": ["{path}"], "environment": [], "signal": "{signal}"')),
    ),
)

# --- TORCH_TRACE

_TRACE_HEAD = said("V{month_day} {time}.{micro} {pid} torch/{name}/{name}.py:{line}] ")
_FRAME = st.fixed_dictionaries(
    {
        "line": st.integers(0, 9_999),
        "name": SLOTS["name"],
        "filename": st.integers(-1, 90),
        "loc": SLOTS["text"],
    }
)
_IDS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {
            "frame_id": st.integers(0, 99),
            "frame_compile_id": st.integers(0, 9),
            "attempt": st.integers(0, 3),
        }
    ),
    st.fixed_dictionaries({"stack": st.lists(_FRAME, max_size=3)}),
    st.fixed_dictionaries({"rank": st.integers(0, 1_023)}),
    st.just({}),
)
_NO_PAYLOAD: st.SearchStrategy[str | None] = st.none()


def trace_record(
    event: dict[str, Any],
    ids: dict[str, Any],
    payload: str | None,
    head: str = "V1130 06:57:13.145000 30988 torch/_logging/_internal.py:26] ",
) -> str:
    """One record of a trace, with the digest of its payload unless `ids` have another."""
    if payload is None:
        return f"{head}{json.dumps({**event, **ids})}\n"
    digest = hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()
    tabbed = "".join(f"\n\t{line}" for line in payload.split("\n"))
    return f"{head}{json.dumps({**event, 'has_payload': digest, **ids})}{tabbed}\n"


def _trace(
    event: st.SearchStrategy[dict[str, Any]],
    payload: st.SearchStrategy[str | None] = _NO_PAYLOAD,
) -> Words:
    return st.builds(trace_record, event, _IDS, payload, _TRACE_HEAD)


def _artifact(name: str, payload: Words) -> Form:
    event = st.just({"artifact": {"name": name, "encoding": "string"}})
    return Form(name, _trace(event, payload))


def _metrics(name: str) -> Form:
    told = st.fixed_dictionaries(
        {
            "compile_id": said("{small}/{small}"),
            "fail_type": st.one_of(st.none(), SLOTS["exception"]),
            "fail_reason": st.one_of(st.none(), SLOTS["message"], SLOTS["text"]),
            "exception_stack_trace": st.one_of(
                st.none(), st.lists(said('  File "{py}", line {line}, in {name}\n'), max_size=2)
            ),
            "inductor_config": SLOTS["text"],
        }
    )
    return Form(name, _trace(told.map(lambda metrics: {name: metrics})))


def _graph_dump(part: str) -> Form:
    event = SLOTS["wrapper"].map(
        lambda file: {
            "graph_dump": {
                "name": f"inductor_aot_{part}_code",
                "type": "cpp",
                "filename": file,
            }
        }
    )
    return Form(f"inductor_aot_{part}_code", _trace(event, WRAPPER_CPP))


# --- generated code

_TRITON_SOURCE = said(
    "import triton\nimport triton.language as tl\n\n@triton.jit\n"
    "def {triton}(in_ptr0, in_ptr1, out_ptr0, {symbol}, xnumel, XBLOCK : tl.constexpr):\n"
    "    xoffset = tl.program_id(0) * XBLOCK\n"
    "    xindex = xoffset + tl.arange(0, XBLOCK)[:]\n    x0 = xindex\n"
    "    tmp0 = tl.load(in_ptr0 + (x0), None)\n    tmp1 = {symbol}\n    tmp2 = tmp0 + tmp1\n"
    "    tmp3 = tmp0 < 0\n    {temporary} = tl.where(tmp3, tmp2, tmp0)\n"
    '    tl.device_assert((0 <= {temporary}) & ({temporary} < {bound}), "index out of bounds: '
    '0 <= {temporary} < {bound}")\n'
    "    tl.store(out_ptr0 + (x0), {temporary}, None)\n"
)
_CPP_CALL = one_of(
    "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_mm_out({arguments}));\n",
    "    {cpp}((const float*)({buffer}.data_ptr()), (float*)({buffer}.data_ptr()), {symbol});\n",
    "    call_{triton}({arguments}, this->device_idx_, stream, kernels, this->cubin_dir_);\n",
    "    auto {buffer} = std::move({buffer});  // reuse\n",
    "    int64_t {symbol} = {buffer}_size[{small}];\n",
    "    // Topologically Sorted Source Nodes: [{name}, {name}], Original ATen: [aten.{name}]\n",
    "    // [Provenance debug handles] {kernel}:{small}\n",
    '    printf("[ before_launch: {kernel} ]\\n");\n',
    '        inputs_info_[{small}].name = "{buffer}_1";\n',
).flatmap(said)
WRAPPER_CPP: Words = joined(
    "",
    st.just("#include <torch/csrc/inductor/aoti_runtime/interface.h>\n"),
    listed(_CPP_CALL, "", 0, 6),
    said(
        'extern "C"  void  {cpp}(const int64_t* in_ptr0,\n                       float* out_ptr0)\n'
    ),
    said("{\n    auto tmp0 = in_ptr0[static_cast<int64_t>(0L)];\n    auto {temporary} = tmp0;\n"),
    said(
        '    AOTI_TORCH_CHECK(({temporary} < {bound}), "index out of bounds: {temporary} <'
        ' {bound}")\n}'
    ),
)
_PYTHON_CALL = one_of(
    "    {triton}.run({arguments}, stream=stream0)\n",
    "    extern_kernels.mm({arguments}, out={buffer})\n",
    "    {cpp}({arguments})\n",
    "    {symbol} = {buffer}\n",
    "    assert_size_stride({buffer}, ({size}, {size}), ({size}, 1), 'input')\n",
    "    {buffer} = empty_strided_cuda(({size}, {small}), ({small}, 1), torch.float32)\n",
    "    del {buffer}\n",
).flatmap(said)
WRAPPER_PY: Words = st.builds(
    lambda kernel, source, calls: (
        f"# AOT ID: ['0_inference']\n{kernel} = async_compile.triton('{kernel}', '''\n{source}''',"
        f" device_str='cuda')\n\ndef call(args):\n    arg0_1, arg1_1 = args\n{calls}"
    ),
    SLOTS["triton"],
    _TRITON_SOURCE,
    listed(_PYTHON_CALL, "", 0, 6),
)
GRAPH: Words = lines(
    said("class GraphModule(torch.nn.Module):"),
    said('    def forward(self, {buffer}_1: "f32[{size}, {size}]"):'),
    said("         # File: {py}:{line} in {name}, code: {text}"),
    said(
        '        {name}: "i64[{size}]" = torch.ops.aten.{name}.default({buffer}_1);  {buffer}_1'
        " = None"
    ),
)
PROVENANCE: Words = st.dictionaries(
    said("{kernel}:{small}"), st.lists(said('File "{py}", line {line}, in {name}'), max_size=2)
).map(json.dumps)
NODE_MAPPINGS: Words = st.fixed_dictionaries(
    {
        "preToPost": st.dictionaries(SLOTS["name"], st.lists(SLOTS["name"], max_size=2)),
        "cppCodeToPost": st.dictionaries(said("{kernel}:{small}"), st.lists(SLOTS["name"])),
        "version": st.just(2.0),
    }
).map(json.dumps)
METADATA: Words = st.fixed_dictionaries(
    {
        "AOTI_DEVICE_KEY": one_of("cpu", "cuda", "xpu", ""),
        "AOTI_COMPUTE_CAPABILITY": SLOTS["small"],
        "AOTI_MACHINE": SLOTS["word"],
    }
).map(json.dumps)

TRACES = (
    _metrics("compilation_metrics"),
    _metrics("bwd_compilation_metrics"),
    _graph_dump("wrapper"),
    _graph_dump("kernel"),
    _graph_dump("header"),
    Form(
        "inductor_output_code",
        _trace(
            SLOTS["py"].map(lambda file: {"inductor_output_code": {"filename": file}}), WRAPPER_PY
        ),
    ),
    _artifact(
        "torch_version", said('{\n"pytorch_version": "{version}+cpu",\n"commit": "{word}"\n}')
    ),
    _artifact("dynamo_error", said("Traceback (most recent call last):\n{exception}: {message}")),
    _artifact("dynamo_graph_break_reason", said("Graph break in {py}:{line}\n{message}")),
    _artifact("make_fx_fail_partial", GRAPH),
    _artifact("inductor_provenance_tracking_kernel_stack_traces", PROVENANCE),
    _artifact("inductor_provenance_tracking_node_mappings", NODE_MAPPINGS),
    _artifact("before_pre_grad_graph", GRAPH),
    _artifact("inductor_post_grad_graph", GRAPH),
    _artifact("after_post_grad_graph", GRAPH),
)

# --- TORCH_LOGS

_LOG = "{month_day} {time}.{micro} {pid} torch/_inductor/"


def _dumped(head: str, code: Words) -> Words:
    """A dump of code: each of its lines carries the whole prefix of the log."""
    return st.tuples(said(head), code).map(
        lambda drawn: "".join(f"{drawn[0]}{line}\n" for line in drawn[1].split("\n"))
    )


TORCH_LOGS = (
    *forms(
        "E" + _LOG + "select_algorithm.py:{line}] Runtime error during autotuning: {message}. "
        "Ignoring this choice.",
        "W" + _LOG + "select_algorithm.py:{line}] [{small}/{small}] out of resource: shared memory,"
        " Required: {line}, Hardware limit: {line}. Reducing block sizes may help.",
        "W" + _LOG + "package/package.py:{line}] Loading outdated pt2 file. Please regenerate your"
        " package.",
        "[WARNING] Could not dlsym {name}. This is okay if you don't need functionality from it.",
        "W" + _LOG + "package.py:{line}] Device information mismatch for AOTI_CPU_ISA: AVX2 vs"
        " {word}. This could cause some issues when loading the AOTInductor compiled artifacts.",
        "/opt/amdgpu/share/libdrm/amdgpu.ids: No such file or directory",
        "{py}:{line}: FutureWarning: aot_compile() is being deprecated, please use {name}.",
        "{py}:{line}: FutureWarning: aot_load() is being deprecated, please use {name}.",
    ),
    Form(
        "an exception that torch warned of",
        _dumped(
            "W" + _LOG + "codecache.py:{line}] [{small}/{small}] ",
            said(
                "unable to load a compiled graph\nTraceback (most recent call last):\n"
                '  File "{py}", line {line}, in {function}\n    {function}()\n'
                "ValueError: {message}"
            ),
        ),
    ),
    Form(
        "output code",
        _dumped(
            "V" + _LOG + "graph.py:{line}] [{small}/{small}] [__output_code] ",
            WRAPPER_PY.map("Output code: \n{}".format),
        ),
    ),
    Form(
        "output wrapper code",
        _dumped(
            "[rank{rank}]:V" + _LOG + "compile_fx.py:{line}] [__output_code] ",
            WRAPPER_CPP.map("Output wrapper code: \n{}".format),
        ),
    ),
    Form(
        "output kernel code, old prefix",
        _dumped(
            "[{date} {time},123] [{small}/{small}] torch._inductor.graph.__output_code: [DEBUG] ",
            WRAPPER_CPP.map("Output kernel code:\n{}".format),
        ),
    ),
)
