"""Who made what a call reads: through reuse, views, tuples, operators and unknown kernels."""

from __future__ import annotations

import pytest

from aoti_logscan.artifacts.dataflow import Operand, Use, uses
from aoti_logscan.artifacts.wrapper_body import read_body

INPUTS = "    arg0_1, arg1_1 = args\n"
#: kernels and their parameters
KERNELS = {
    "cpp_fused_a_0": ("in_ptr0", "out_ptr0"),
    "cpp_fused_b_1": ("in_out_ptr0", "in_ptr0"),
    "cpp_fused_c_2": ("in_ptr0", "in_ptr1", "out_ptr0", "out_ptr1"),
    "triton_user_3": ("x_ptr", "y_ptr"),
}


def _uses(text: str) -> tuple[Use, ...]:
    return uses(read_body((INPUTS + text).split("\n")), KERNELS.get)


def _read(use: Use) -> dict[str, str | None]:
    """What a call reads, and the kernel that made it."""
    return {
        one.argument: one.made_by.kernel if one.made_by else None
        for one in use.operands
        if one.reads
    }


def test_operands_have_parameters_and_roles() -> None:
    [use] = _uses("cpp_fused_b_1(buf0, arg0_1)\n")
    assert use.operands == (
        Operand("in_out_ptr0", "buf0", "buf0", True, True, None),
        Operand("in_ptr0", "arg0_1", "arg0_1", True, False, None),
    )
    assert use.operand("in_ptr0") == use.operands[1]
    assert use.operand("in_ptr7") is None


def test_producer_is_the_last_writer() -> None:
    text = (
        "cpp_fused_a_0(arg0_1, buf0)\ncpp_fused_b_1(buf0, arg1_1)\n"
        "extern_kernels.mm(buf0, arg1_1, out=buf1)\n"
    )
    _, second, third = _uses(text)
    assert _read(second) == {"buf0": "cpp_fused_a_0", "arg1_1": None}
    assert _read(third) == {"buf0": "cpp_fused_b_1", "arg1_1": None}


def test_reused_and_viewed_buffers_keep_their_producers() -> None:
    text = (
        "cpp_fused_a_0(arg0_1, buf0)\nbuf1 = buf0; del buf0  # reuse\n"
        "buf2 = reinterpret_tensor(buf1, (4, ), (1, ), 0)\ncpp_fused_a_0(buf2, buf3)\n"
    )
    last = _uses(text)[-1]
    assert _read(last) == {"buf2": "cpp_fused_a_0"}
    assert last.operands[0].base == "buf0"


def test_a_new_buffer_of_an_old_name_has_nothing_of_it() -> None:
    text = (
        "cpp_fused_a_0(arg0_1, buf0)\nbuf1 = buf0; del buf0  # reuse\n"
        "buf1 = empty_strided_cpu((4, ), (1, ), torch.float32)\n"
        "extern_kernels.mm(buf1, arg0_1, out=buf2)\n"
    )
    assert _read(_uses(text)[-1]) == {"buf1": None, "arg0_1": None}


def test_items_of_a_tuple_are_written_each_for_itself() -> None:
    text = (
        "buf0 = torch.ops.mylib.two.default(arg0_1)\nbuf1 = buf0[0]\nbuf2 = buf0[1]\n"
        "cpp_fused_b_1(buf1, arg0_1)\nextern_kernels.mm(buf1, buf2, out=buf3)\n"
    )
    assert _read(_uses(text)[-1]) == {
        "buf1": "cpp_fused_b_1",
        "buf2": "torch.ops.mylib.two.default",
    }


def test_what_a_kernel_reads_back_is_its_own() -> None:
    """As for a concatenation: buf0 and buf1 are views of buf2, which the same kernel reads."""
    text = (
        "buf2 = empty_strided_cpu((8, ), (1, ), torch.int64)\n"
        "buf0 = reinterpret_tensor(buf2, (4, ), (1, ), 0)\n"
        "cpp_fused_c_2(arg0_1, buf2, buf0, buf3)\n"
    )
    [use] = _uses(text)
    assert _read(use) == {"arg0_1": None, "buf2": "cpp_fused_c_2"}
    written = use.operand("out_ptr1")
    assert written is not None
    assert written.made_by == use.call


def test_what_is_updated_without_a_known_writer_has_none() -> None:
    [use] = _uses("cpp_fused_b_1(buf9, arg0_1)\n")
    assert _read(use) == {"buf9": None, "arg0_1": None}


def test_input_that_was_written_is_the_writers() -> None:
    first, second = _uses("cpp_fused_b_1(arg0_1, arg1_1)\ncpp_fused_a_0(arg0_1, buf0)\n")
    assert _read(second) == {"arg0_1": "cpp_fused_b_1"}
    assert _read(first)["arg0_1"] is None


@pytest.mark.parametrize(
    ("call", "maker"),
    [
        ("aten.index_put_(buf0, [arg0_1], arg1_1)", "aten.index_put_"),
        ("torch.ops.mylib.fill_.default(buf0, arg0_1)", "torch.ops.mylib.fill_.default"),
        # whatever has no result may have changed any of its tensors
        ("torch.ops.mylib.write_cache.default(arg0_1, buf0)", None),
        ("triton_user_3.run(arg0_1, buf0, 4, stream=0)", None),
        ("triton_not_at_hand_4.run(arg0_1, buf0, 4, stream=0)", None),
        # what has a result is taken to change nothing
        ("buf9 = torch.ops.mylib.read.default(buf0)", "cpp_fused_a_0"),
        ("buf9 = torch.ops.aten.sort.stable(buf0)", "cpp_fused_a_0"),
        ("extern_kernels.mm(buf0, arg0_1, out=buf9)", "cpp_fused_a_0"),
    ],
)
def test_who_made_a_buffer_after_another_call_had_it(call: str, maker: str | None) -> None:
    text = f"cpp_fused_a_0(arg0_1, buf0)\n{call}\ncpp_fused_a_0(buf0, buf1)\n"
    assert _read(_uses(text)[-1]) == {"buf0": maker}


def test_handles_made_for_one_call_are_told_as_their_tensors() -> None:
    text = (
        "cpp_fused_a_0(arg0_1, buf0)\n"
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(buf0, &tmp_buf0_0));\n"
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_mm_out("
        "buf1, RAIIAtenTensorHandle(tmp_buf0_0), arg0_1));\n"
    )
    assert _read(_uses(text)[-1]) == {"buf0": "cpp_fused_a_0", "arg0_1": None}


def test_results_behind_an_ampersand_are_written() -> None:
    text = (
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_topk("
        "arg0_1, 3L, &buf1_handle, &buf2_handle));\n"
        "cpp_fused_a_0(buf2, buf3)\n"
    )
    first, second = _uses(text)
    assert [one.argument for one in first.operands if one.writes] == ["buf1", "buf2"]
    assert _read(second) == {"buf2": "aoti_torch_cpu_topk"}


def test_sizes_are_no_operands() -> None:
    text = "    s3 = arg1_1\ncpp_fused_a_0(arg0_1, buf0, s3, arg1_1, 16)\n"
    [use] = _uses(text)
    assert [one.argument for one in use.operands] == ["arg0_1", "buf0"]


def test_aliases_in_a_circle_end() -> None:
    text = "buf1 = buf2; del buf2  # reuse\nbuf2 = buf1; del buf1  # reuse\n" * 3
    assert _read(_uses(text + "cpp_fused_a_0(buf1, buf3)\n")[-1]) == {"buf1": None}
