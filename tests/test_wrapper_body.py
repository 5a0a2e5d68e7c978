"""Wrappers line by line: calls with what stands above them, inputs with their checks, symbols."""

from __future__ import annotations

import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.artifacts.wrapper_body import (
    Alias,
    Body,
    Input,
    KernelCall,
    expected,
    number,
    proxied,
    read_body,
    split_arguments,
    tensor_of,
)
from tests.conftest import FIXTURES


def _body(text: str) -> Body:
    return read_body(text.split("\n"))


def _call(text: str) -> KernelCall:
    [call] = _body(text).calls
    return call


def _recorded(fixture: str) -> str:
    [package] = (FIXTURES / fixture / "input").glob("*.pt2")
    with zipfile.ZipFile(package) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".wrapper.cpp")]
        return archive.read(name).decode()


EMPTY_TABLE = _recorded("cpu-index-from-size-of-empty-table")


def test_recorded_wrapper() -> None:
    body = _body(EMPTY_TABLE)
    assert [(call.line, call.kernel, call.handle) for call in body.calls] == [
        (935, "cpp_fused_full_like_index_mul_where_0", "cpp_fused_full_like_index_mul_where_0:1")
    ]
    assert body.calls[0].arguments[-2:] == ("s3", "s10")
    assert body.sizes == {"s10": ("arg0_1", 0), "s3": ("arg1_1", 0)}
    assert body.symbols == {"s65": "s3"}
    assert body.inputs[0] == Input(
        position=0,
        name="arg0_1",
        dtype="float32",
        device="cpu",
        sizes=("s10", "8"),
        strides=("8", "1"),
        lower={0: 2, 1: 8},
        upper={0: 4096, 1: 8},
    )


@pytest.mark.parametrize(
    ("line", "kernel", "arguments"),
    [
        ("call_triton_poi_fused_0(arg0_1, buf0, 64L*s3);", "triton_poi_fused_0", 3),
        ("triton_poi_fused_0.run(arg0_1, buf0, s3, stream=stream0)", "triton_poi_fused_0", 4),
        ("cpp_fused_0((const float*)(arg0_1.data_ptr()), s3);", "cpp_fused_0", 2),
        (
            "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_mm_out(buf0, arg0_1, arg1_1));",
            "aoti_torch_cuda_mm_out",
            3,
        ),
        ("extern_kernels.mm(arg0_1, arg1_1, out=buf0)", "extern_kernels.mm", 3),
        ("buf0 = torch.ops.mylib.boom.default(arg0_1)", "torch.ops.mylib.boom.default", 1),
        ("aten.index_put_(buf0, [arg0_1], arg1_1)", "aten.index_put_", 3),
    ],
)
def test_forms_of_a_call(line: str, kernel: str, arguments: int) -> None:
    call = _call("    " + line)
    assert (call.line, call.kernel, call.text, len(call.arguments)) == (1, kernel, line, arguments)


@pytest.mark.parametrize(
    "line",
    [
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_storage_size(buf0, &size));",
        "static inline void launch(int a);",
        "auto x = triton_helpers.minimum(a, b);",
        "# triton_poi_fused_0.run(arg0_1)",
        "// call_triton_poi_fused_0(arg0_1);",
        "x = triton_poi_fused_0_xnumel",
    ],
)
def test_what_is_no_call(line: str) -> None:
    assert _body(line).calls == ()


def test_comments_above_a_call_are_its_own() -> None:
    text = (
        "# Topologically Sorted Source Nodes: [a, b], Original ATen: [aten.sin, aten.mm]\n"
        "# [Provenance debug handles] extern_kernels.mm:2\n"
        "extern_kernels.mm(arg0_1, arg1_1, out=buf0)\n"
        "cpp_fused_0(buf0)\n"
    )
    mm, fused = _body(text).calls
    assert (mm.nodes, mm.ops, mm.handle) == (
        ("a", "b"),
        ("aten.sin", "aten.mm"),
        "extern_kernels.mm:2",
    )
    assert (fused.nodes, fused.ops, fused.handle) == ((), (), None)


def test_comment_above_a_definition_is_no_calls() -> None:
    text = (
        "# Source Nodes: [a], Original ATen: [aten.sin]\n"
        "triton_poi_fused_0 = async_compile.triton('triton_poi_fused_0', '''\nx\n''')\n"
        "triton_poi_fused_0.run(arg0_1)\n"
    )
    assert _call(text).nodes == ()


def test_stack_of_a_guard() -> None:
    text = (
        'KernelContextGuard _ctx("cpp_fused_0", R"(\n'
        '  File "/app/m.py", line 5, in forward\n    y = x.sin()\n        ^^^^^^^\n\n'
        'File "/app/m.py", line 4, in forward\n    x = a + 1\n)");\n'
        "cpp_fused_0(buf0);\n"
    )
    assert _call(text).stack == (
        'File "/app/m.py", line 5, in forward\n    y = x.sin()',
        'File "/app/m.py", line 4, in forward\n    x = a + 1',
    )


def test_guard_without_a_stack_hides_no_call() -> None:
    text = 'KernelContextGuard _ctx("aoti_torch_cpu_sort", R"()");\naoti_torch_cpu_sort(buf0);\n'
    assert (_call(text).kernel, _call(text).stack) == ("aoti_torch_cpu_sort", ())


def test_aliases_views_items_and_new_buffers() -> None:
    text = (
        "auto buf1 = std::move(buf0);  // reuse\n"
        "buf2 = buf1; del buf1  # reuse\n"
        "buf3 = reinterpret_tensor(buf2, (4, 2), (2, 1), 0); del buf2  # reuse\n"
        "buf4 = buf3[1]\n"
        "buf5 = empty_strided_cuda((4, ), (1, ), torch.float32)\n"
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(1, a, b, c, d, 0, &buf6_handle));\n"
        "aoti_torch_new_tensor_handle(buf0, &tmp_var_0);\n"
        "RAIIAtenTensorHandle buf6(buf6_handle);\n"
    )
    assert _body(text).steps == (
        Alias("buf1", "buf0"),
        Alias("buf2", "buf1"),
        Alias("buf3", "buf2"),
        Alias("buf4", "buf3", is_item=True),
        Alias("buf5", "buf5"),
        Alias("buf6", "buf6"),
        Alias("tmp_var_0", "buf0"),
    )


def test_results_of_the_proxy_executor_are_the_tensors_made_for_it() -> None:
    text = (
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf2_handle));\n"
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf3_handle));\n"
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_proxy_executor_call_function(proxy_executor, 0, 1, "
        "std::array<int64_t, 1>{3}.data(), 4, "
        "std::array<AtenTensorHandle, 4>{buf0, arg0_1, buf2, buf3}.data()));\n"
    )
    call = _call(text)
    assert call.target == ("buf2", "buf3")
    assert call.arguments[1] == "0"
    assert list(proxied(call.arguments)) == ["buf0", "arg0_1", "buf2", "buf3"]


def test_results_of_the_dispatcher_are_taken_out_behind_it() -> None:
    text = (
        "std::array<StableIValue, 2> dispatch_vars{torch::stable::detail::from(tmp_var_0), "
        "torch::stable::detail::from(3L)};\n"
        'aoti_torch_call_dispatcher("mylib::two", "", dispatch_vars.data())\n'
        "buf2 = torch::stable::detail::to<AtenTensorHandle>(dispatch_vars[0]);\n"
        "buf3 = torch::stable::detail::to<AtenTensorHandle>(dispatch_vars[1]);\n"
    )
    call = _call(text)
    assert call.target == ("buf2", "buf3")
    assert [tensor_of(argument) for argument in call.arguments] == ["tmp_var_0", None]


def test_inputs_of_a_python_wrapper() -> None:
    text = (
        "    arg0_1, arg1_1, arg2_1 = args\n    s3 = arg0_1\n    s4 = arg1_1\n"
        "    assert_size_stride(arg2_1, (s3, 64), (64, 1), 'input')\n"
    )
    body = _body(text)
    assert [(one.position, one.name, one.is_size, one.sizes) for one in body.inputs] == [
        (0, "arg0_1", True, None),
        (1, "arg1_1", True, None),
        (2, "arg2_1", False, ("s3", "64")),
    ]


def test_sizes_that_are_inputs_of_a_cpp_wrapper() -> None:
    text = (
        "    int64_t arg0_1;\n"
        "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_int64(inputs[0], &arg0_1));\n"
        "    auto arg1_1 = std::move(inputs[1]);\n    int64_t s21 = arg0_1;\n"
    )
    body = _body(text)
    assert [(one.position, one.name, one.is_size) for one in body.inputs] == [
        (0, "arg0_1", True),
        (1, "arg1_1", False),
    ]
    assert body.symbols == {"s21": "arg0_1"}


def test_constants_have_the_users_names() -> None:
    text = (
        '    constants_info_[0].original_fqn = "layer.weight";\n'
        "    [[maybe_unused]] auto& layer_weight = constants_->at(0);\n"
        "    [[maybe_unused]] auto& other = constants_->at(1);\n"
    )
    assert _body(text).constants == {"layer_weight": "layer.weight", "other": None}


def test_constant_that_no_call_uses_has_its_users_name() -> None:
    text = (
        '    constants_info_[3].name = "head_bias";\n'
        '    constants_info_[3].original_fqn = "head.bias";\n'
    )
    assert _body(text).constants == {"head_bias": "head.bias"}


def test_launch_through_an_array_of_arguments() -> None:
    text = (
        "CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(arg0_1.data_ptr());\n"
        "auto var_1 = s3;\n"
        "void* kernel_args_var_0[] = {&var_0, &var_1};\n"
        "launchKernel(kernels.triton_poi_fused_0, grid_0, kernel_args_var_0, stream);\n"
    )
    call = _call(text)
    assert call.kernel == "triton_poi_fused_0"
    assert [tensor_of(argument) for argument in call.arguments] == ["arg0_1", "s3"]


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("(const float*)(arg0_1.data_ptr())", "arg0_1"),
        ("reinterpret_tensor(buf0, (4, 2), (2, 1), 0)", "buf0"),
        ("RAIIAtenTensorHandle(tmp_buf0_0)", "tmp_buf0_0"),
        ("&buf1_handle", "buf1_handle"),
        ("out=buf3", "buf3"),
        ("16L", None),
        ("", None),
    ],
)
def test_tensor_of_an_argument(argument: str, name: str | None) -> None:
    assert tensor_of(argument) == name


def test_arguments_are_split_outside_of_brackets() -> None:
    text = "a, f(b, c), {d, e}, [g], (h)); i"
    assert list(split_arguments(text)) == ["a", "f(b, c)", "{d, e}", "[g]", "(h)"]
    assert list(split_arguments(")")) == []
    assert list(split_arguments("a, (b")) == ["a", "(b"]


def test_suffixes_of_integers() -> None:
    assert [number(text) for text in ("16L", "3ULL", "-1l", "s3", "1.5")] == [
        "16",
        "3",
        "-1",
        "s3",
        "1.5",
    ]


def test_what_is_expected_of_an_input() -> None:
    found = expected(_body(EMPTY_TABLE).inputs[0])
    assert found == "float32 [s10 (2 to 4096), 8], strides [8, 1], on cpu"
    assert expected(Input(0, "arg0_1")) is None


def test_numbers_of_any_length_are_read() -> None:
    nines = "9" * 5_000
    text = (
        f"if ({nines} != arg0_1_size[0]) {{\nif (arg0_1_size[0] < {nines}) {{\n"
        f"assert_size_stride(arg0_1, ({nines}, ), ({nines}, ), 'input')\n    arg0_1 = args\n"
    )
    assert _body(text).inputs[0].sizes == (nines,)


LINES = EMPTY_TABLE.split("\n")[690:940]


@given(st.data())
def test_real_lines_cut_and_changed_anywhere_are_read(data: st.DataObject) -> None:
    lines = list(LINES)
    at = data.draw(st.integers(0, len(lines) - 1))
    put = data.draw(st.text("(){}[]<>,;:=&*\"'/ \n_aL0", max_size=20))
    cut = data.draw(st.integers(0, len(lines[at])))
    lines[at] = lines[at][:cut] + put
    assert isinstance(read_body(lines[: data.draw(st.sampled_from([at + 1, len(lines)]))]), Body)


@given(st.lists(st.text(max_size=80), max_size=10))
def test_any_lines_are_read(lines: list[str]) -> None:
    assert isinstance(read_body(lines), Body)
