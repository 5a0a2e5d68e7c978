"""Expressions of kernels: casts, lanes, choices and accesses in one form; any text is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.artifacts.expression import (
    MAX_DEPTH,
    MAX_TEXT,
    Apply,
    Const,
    Expr,
    Load,
    Opaque,
    Ref,
    Thread,
    from_cpp,
    from_python,
    is_pointer,
    operands,
    parts,
    refs,
)

TMP0, TMP1, KS0 = Ref("tmp0"), Ref("tmp1"), Ref("ks0")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("(ks0).to(tl.int32)", KS0),
        ("tl.broadcast_to(tmp0, [XBLOCK])", TMP0),
        ("tl.full([XBLOCK], 1000, tl.int32)", Const(1000)),
        ("tl.full([1], True, tl.int1)", Const(True)),
        ("((-1) + ks0).to(tl.int32)", Apply("+", (Apply("neg", (Const(1),)), KS0))),
        ("tl.where(tmp0, tmp1, ks0)", Apply("where", (TMP0, TMP1, KS0))),
        ("triton_helpers.minimum(tmp0, tmp1)", Apply("min", (TMP0, TMP1))),
        ("triton_helpers.div_floor_integer(tmp0, ks0)", Apply("floor", (TMP0, KS0))),
        ("tmp0 // ks0", Apply("//", (TMP0, KS0))),
        ("tl.arange(0, XBLOCK)[:]", Thread()),
        ("tl.load(in_ptr0 + (x0 + 96*tmp0), xmask)", "in_ptr0"),
        ("tl.load(in_ptr0 + (tmp0), tmp1, eviction_policy='evict_last').to(tl.int1)", "in_ptr0"),
        ("tl.load(tl.make_block_ptr(in_ptr0, [4]))", "in_ptr0"),
        ("tmp0 and tmp1 and ks0", Apply("&", (Apply("&", (TMP0, TMP1)), KS0))),
        ("not tmp0", Apply("not", (TMP0,))),
        ("0.5", Opaque(())),
        ("tmp5()", Ref("tmp5")),
    ],
)
def test_python_of_a_triton_kernel(text: str, expression: Expr | str) -> None:
    found = from_python(text)
    assert (found.pointer if isinstance(found, Load) else found) == expression


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("c10::convert<int64_t>(tmp1)", TMP1),
        ("static_cast<int64_t>(16L)", Const(16)),
        ("(-1L) + ks0", Apply("+", (Apply("neg", (Const(1),)), KS0))),
        ("int64_t(tmp0 + tmp1)", Apply("+", (TMP0, TMP1))),
        ("tmp0 ? tmp1 : ks0", Apply("where", (TMP0, TMP1, KS0))),
        ("at::vec::VectorizedN<int64_t,2>(tmp1)", TMP1),
        ("at::vec::VecMask<int64_t,2>(tmp0 < tmp1)", Apply("<", (TMP0, TMP1))),
        ("at::vec::VecMask<int64_t,2>((tmp0 < ks0)).all_masked()", Apply("<", (TMP0, KS0))),
        (
            "decltype(tmp1)::blendv(tmp0, tmp1, ks0.template cast<int64_t,2>())",
            Apply("where", (KS0, TMP1, TMP0)),
        ),
        (
            "at::vec::VecMask<float,1>::set(at::vec::VecMask<float,1>::from(1), (tmp0), 4L)",
            TMP0,
        ),
        ("at::vec::VectorizedN<int64_t,2>::loadu(tmpbuf.data(), 16)", Ref("tmpbuf")),
        ("at::vec::VecMask<float,1>::from(tmp0)", TMP0),
        ("tmp10[x0_inner]", Ref("tmp10")),
        (
            "c10::div_floor_integer(static_cast<int64_t>(ks0), 16L)",
            Apply("floor", (KS0, Const(16))),
        ),
        ("!tmp0", Apply("not", (TMP0,))),
        ("tmp0 && tmp1", Apply("&", (TMP0, TMP1))),
        ("tmp0 || tmp1", Apply("|", (TMP0, TMP1))),
        ("tmp0 != tmp1", Apply("!=", (TMP0, TMP1))),
    ],
)
def test_cpp(text: str, expression: Expr) -> None:
    assert from_cpp(text) == expression


@pytest.mark.parametrize(
    "text",
    [
        "in_ptr0[static_cast<int64_t>(x0)]",
        "at::vec::VectorizedN<int64_t,2>::loadu(in_ptr0 + static_cast<int64_t>(x0), 16)",
        "at::vec::VecMask<float,1>::from(in_ptr0 + static_cast<int64_t>(x0), 16)",
    ],
)
def test_cpp_accesses_have_the_pointer_and_the_address(text: str) -> None:
    assert from_cpp(text) == Load("in_ptr0", Ref("x0"))


def test_address_of_a_load_keeps_all_but_the_pointer() -> None:
    found = from_python("tl.load(in_ptr1 + (x0 + 96*tmp0), xmask)")
    assert found == Load("in_ptr1", from_python("x0 + 96*tmp0"))


def test_broken_text_still_holds_its_names() -> None:
    assert set(refs(from_python("tmp0 +* ks0 ("))) == {"tmp0", "ks0"}


def test_text_that_is_too_long_holds_nothing() -> None:
    assert from_cpp("ks0 + " * MAX_TEXT) == from_python("ks0 + " * MAX_TEXT) == Opaque(())


def test_what_is_nested_too_deeply_is_not_read() -> None:
    assert "ks0" in set(refs(from_python("-" * (MAX_DEPTH - 2) + "ks0")))
    assert "ks0" not in set(refs(from_python("-" * (MAX_DEPTH + 2) + "ks0")))


def test_long_chains_are_no_deep_tree() -> None:
    found = from_python(" and ".join(f"a{i}" for i in range(MAX_DEPTH + 1)))
    assert isinstance(found, Opaque)
    assert len(found.parts) == MAX_DEPTH + 1


def test_parts_go_from_left_to_right_and_into_addresses() -> None:
    expression = Apply("+", (Load("in_ptr0", TMP0), TMP1))
    assert list(parts(expression)) == [expression, Load("in_ptr0", TMP0), TMP0, TMP1]


def test_pointers_are_told_by_their_names() -> None:
    named = ["in_ptr0", "out_ptr12", "in_out_ptr0", "ws_ptr"]
    assert all(map(is_pointer, named))
    assert not any(map(is_pointer, ["ks0", "in_ptr0x", "ptr", "xnumel"]))


@given(st.text(max_size=200) | st.text("()[]<>?:!&|-+*/%~.,'\"\\ 0aL_\0\n", max_size=300))
def test_any_text_is_an_expression(text: str) -> None:
    for found in (from_cpp(text), from_python(text)):
        assert all(isinstance(one, tuple) for one in parts(found))
        assert isinstance(operands(found), tuple)
