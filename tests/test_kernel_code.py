"""What an index is made of: through copies, wrap-arounds, choices and loops, to loads and sizes."""

from __future__ import annotations

import pytest

from aoti_logscan.artifacts.expression import Load, from_python
from aoti_logscan.artifacts.kernel_code import MAX_SLICE, IndexSlice, Parts, is_written
from aoti_logscan.artifacts.triton_kernel import read_triton

HEAD = (
    "def triton_poi_fused_0(in_ptr0, in_ptr1, out_ptr0, ks0, ks1, xnumel, XBLOCK : tl.constexpr):\n"
)
LOADED = "    tmp0 = tl.load(in_ptr0 + (x0), xmask)\n"
WRAP = (
    "    tmp1 = (ks0).to(tl.int32)\n"
    "    tmp2 = tmp0 + tmp1\n"
    "    tmp3 = tmp0 < 0\n"
    "    tmp4 = tl.where(tmp3, tmp2, tmp0)\n"
)


def _slice(body: str, index: str, says: str | None = None) -> IndexSlice:
    check = f'    tl.device_assert({index} < ks0, "index out of bounds: {says or index} < ks0")\n'
    code = read_triton(
        HEAD + body + check + f"    tl.load(in_ptr1 + (x1 + 8*({index})), m)\n", None
    )
    assert code is not None
    return IndexSlice(code, code.assertions[-1], from_python(index))


def _lines(of: IndexSlice) -> list[int]:
    return [assignment.line for assignment in of.assignments]


def test_wrap_around_of_negative_values_is_no_size() -> None:
    found = _slice(LOADED + WRAP, "tmp4")
    assert found.parts == Parts(("in_ptr0",), ())
    assert (found.wraps, found.is_loaded_as_it_is) == (True, True)
    assert _lines(found) == [2, 3, 4, 5, 6]


def test_wrap_around_of_a_constant_zero_under_a_name() -> None:
    named = WRAP.replace("tmp0 < 0", "tmp0 < tmp9").replace("    tmp1", "    tmp9 = 0\n    tmp1", 1)
    assert _slice(LOADED + named, "tmp4").wraps


@pytest.mark.parametrize(
    "other",
    [
        WRAP.replace("tmp0 < 0", "tmp0 < 5"),
        WRAP.replace("tmp0 + tmp1", "tmp7 + tmp1"),
        WRAP.replace("tmp3, tmp2, tmp0", "tmp3, tmp2, tmp7"),
    ],
)
def test_other_choices_are_no_wrap_around(other: str) -> None:
    found = _slice(LOADED + other, "tmp4")
    assert not found.wraps
    assert not found.is_loaded_as_it_is


def test_arithmetic_with_constants_stays_loaded() -> None:
    found = _slice(LOADED + "    tmp1 = tmp0 * 2\n    tmp2 = tmp1 + 1\n", "tmp2")
    assert found.parts == Parts(("in_ptr0",), ())
    assert not found.is_loaded_as_it_is


def test_a_size_beside_a_load_is_a_part() -> None:
    assert _slice(LOADED + "    tmp1 = tmp0 + ks1\n", "tmp1").parts == Parts(("in_ptr0",), ("ks1",))


def test_what_only_chooses_is_no_part_but_in_the_slice() -> None:
    body = LOADED + "    tmp1 = tl.where(tmp0, ks0 - 1, 3)\n"
    found = _slice(body, "tmp1")
    assert found.parts == Parts((), ("ks0",))
    assert _lines(found) == [2, 3]


def test_block_sizes_and_positions_are_no_sizes() -> None:
    body = "    x0 = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]\n    tmp0 = x0 + 1\n"
    assert _slice(body, "tmp0").parts == Parts((), ())


def test_address_of_a_load_is_no_part_of_its_value() -> None:
    body = "    tmp0 = tl.load(in_ptr0 + (x0 + ks1), xmask)\n"
    assert _slice(body, "tmp0").parts == Parts(("in_ptr0",), ())


def test_the_last_assignment_before_the_check_counts() -> None:
    body = LOADED + "    tmp0 = ks1\n"
    assert _slice(body, "tmp0").parts == Parts((), ("ks1",))


def test_what_a_loop_carries_back_counts_too() -> None:
    body = (
        "    acc = ks1\n    for r in tl.range(0, ks0, 8):\n"
        '        tl.device_assert(acc < ks0, "index out of bounds: acc < ks0")\n'
        "        acc = tl.load(in_ptr0 + (r), m)\n"
    )
    code = read_triton(HEAD + body, None)
    assert code is not None
    found = IndexSlice(code, code.assertions[0], from_python("acc"))
    assert found.parts == Parts(("in_ptr0",), ("ks1",))


def test_an_expression_as_index() -> None:
    found = _slice(LOADED, "ks0 + tmp0", says="ks0 + tmp0")
    assert found.parts == Parts(("in_ptr0",), ("ks0",))
    assert found.copies == ()


def test_checked_access_is_the_first_one_behind_with_a_copy_of_the_index() -> None:
    body = LOADED + "    tl.load(in_ptr0 + (tmp5), m)\n    tmp5 = tmp0\n    tmp6 = tmp5\n"
    found = _slice(body, "tmp6")
    assert found.copies == ("tmp6", "tmp5", "tmp0")
    assert found.checked_access == Load("in_ptr1", from_python("x1 + 8*tmp6"))


def test_access_without_the_index_is_not_the_checked_one() -> None:
    code = read_triton(
        HEAD + LOADED + '    tl.device_assert(tmp0 < ks0, "index out of bounds: tmp0 < ks0")\n'
        "    tl.load(in_ptr1 + (x0), m)\n",
        None,
    )
    assert code is not None
    assert IndexSlice(code, code.assertions[0], from_python("tmp0")).checked_access is None


def test_names_that_mean_themselves_end() -> None:
    found = _slice("    tmp0 = tmp0 + tmp0\n", "tmp0")
    assert found.parts == Parts((), ())


def test_slices_are_limited() -> None:
    chain = "".join(f"    t{i + 1} = t{i} + 1\n" for i in range(MAX_SLICE + 50))
    assert len(_slice(chain, f"t{MAX_SLICE + 50}").assignments) == MAX_SLICE


def test_which_parameters_a_kernel_writes() -> None:
    assert [name for name in ("in_ptr0", "out_ptr1", "in_out_ptr0", "ks0") if is_written(name)] == [
        "out_ptr1",
        "in_out_ptr0",
    ]
