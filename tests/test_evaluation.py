"""Values of indices for given sizes: only what every machine computes alike, on possible ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.artifacts.evaluation import (
    MAX_WAYS,
    Budget,
    Resolve,
    TooLongError,
    Value,
    ways,
)
from aoti_logscan.artifacts.expression import Apply, Const, Expr, Load, Ref, Thread, from_python


def _meaning(**names: int | str) -> Resolve:
    """What names mean: numbers, or Python expressions."""
    known: dict[str, Expr | int] = {
        name: from_python(value) if isinstance(value, str) else value
        for name, value in names.items()
    }
    return lambda ref: known.get(ref.name)


def _values(text: str, **names: int | str) -> list[Value]:
    wanted = (from_python(text),)
    return [value for (value,) in ways(_meaning(**names), wanted, Budget(10_000))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ks0 - 1", -1),
        ("2*ks0 + 3", 3),
        ("tl.where(ks0 < 1, -5, 5)", -5),
        ("triton_helpers.minimum(ks0, 7)", 0),
        ("abs(ks0 - 4)", 4),
        ("(ks0 == 0) & (ks1 < 3)", None),
        ("(ks0 != 0) & (ks1 < 3)", False),
        ("(ks0 == 0) | (ks1 < 3)", True),
        ("~(ks0 == 0)", False),
        ("not ks0", True),
        ("6 & 3", 2),
        ("6 | 3", 7),
        ("0 * ks1", 0),
        ("0 // ks1", 0),
        ("ks1 + 1", None),
        ("tl.load(in_ptr0 + ks0)", None),
        ("unknown_function(ks0)", None),
    ],
)
def test_one_way(text: str, value: Value) -> None:
    assert _values(text, ks0=0) == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 // 2", 3),
        ("(-7) // 2", None),  # -4 in Python, -3 in C
        ("7 % 4", 3),
        ("(-7) % 4", None),
        ("triton_helpers.div_floor_integer(-7, 2)", -4),
        ("triton_helpers.remainder_integer(-7, 4)", 1),
        ("8 / 2", 4),
        ("7 / 2", None),
        ("7 // 0", None),
        ("7 % 0", None),
        ("7 / 0", None),
        ("triton_helpers.div_floor_integer(7, 0)", None),
    ],
)
def test_division_only_where_languages_agree(text: str, value: Value) -> None:
    assert _values(text) == [value]


def test_numbers_beyond_64_bits_are_no_values() -> None:
    assert _values("2147483648 * 2147483648 * 2") == [None]
    squares = {f"t{i + 1}": f"t{i} * t{i}" for i in range(200)}
    assert _values("t200", t0=9, **squares) == [None]


def test_first_thread_is_where_its_loop_begins() -> None:
    wanted: tuple[Expr, ...] = (Thread(), Thread(Apply("+", (Ref("ks0"), Const(3)))))
    assert next(ways(_meaning(ks0=2), wanted, Budget(100))) == (0, 5)


def test_a_condition_of_loaded_data_is_taken_both_ways() -> None:
    text = "tl.where(keep, 5, ks0 - 1)"
    assert set(_values(text, ks0=0, keep="tl.load(in_ptr0 + 0)")) == {5, -1}


def test_one_condition_is_the_same_wherever_it_is_asked() -> None:
    text = "tl.where(keep, 1, 2) - tl.where(keep, 1, 2)"
    assert set(_values(text, keep="tl.load(in_ptr0 + 0)")) == {0}


def test_loaded_truth_values_are_independent_of_each_other() -> None:
    text = "tl.where(a, 1, 2) + tl.where(b, 10, 20)"
    found = _values(text, a="tl.load(in_ptr0 + 0)", b="tl.load(in_ptr1 + 0)")
    assert set(found) == {11, 12, 21, 22}


def test_conditions_that_may_exclude_each_other_prove_nothing() -> None:
    """`a < 0` and `a > 5` never hold together, so that 11 is no value."""
    text = "tl.where(a < 0, 1, 2) + tl.where(a > 5, 10, 20)"
    assert 11 not in _values(text, a="tl.load(in_ptr0 + 0)")


def test_ways_are_limited() -> None:
    text = " + ".join(f"tl.where(a{i}, 1, 2)" for i in range(9))
    loads = {f"a{i}": f"tl.load(in_ptr{i} + 0)" for i in range(9)}
    assert len(_values(text, **loads)) == MAX_WAYS


def test_names_that_mean_each_other_mean_nothing() -> None:
    assert _values("a + 1", a="b", b="a") == [None]
    assert _values("tl.where(a, 1, 2)", a="a") != []


def test_budget_is_kept() -> None:
    chain = {f"t{i + 1}": f"t{i} + t{i}" for i in range(50)}
    assert _values("t50", t0=1, **chain) == [1 << 50]
    with pytest.raises(TooLongError):
        list(ways(_meaning(t0=1, **chain), (Ref("t50"),), Budget(100)))


def test_deep_chains_are_too_long() -> None:
    chain = {f"t{i + 1}": f"t{i} + 1" for i in range(5_000)}
    with pytest.raises(TooLongError):
        list(ways(_meaning(t0=1, **chain), (Ref("t5000"),), Budget(1_000_000)))


_LEAVES: st.SearchStrategy[Expr] = st.one_of(
    st.integers(-(10**30), 10**30).map(Const),
    st.booleans().map(Const),
    st.sampled_from(["ks0", "a", "b"]).map(Ref),
    st.just(Load("in_ptr0", Const(0))),
    st.just(Thread()),
)
_ONE = ["neg", "not", "~", "abs"]
_TWO = ["+", "-", "*", "//", "/", "%", "floor", "mod", "<", "<=", ">", ">=", "==", "!=", "&", "|"]
_OPERATORS = st.sampled_from([*_ONE, *_TWO, "min", "max", "where", "other"])
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.builds(Apply, _OPERATORS, st.lists(inner, min_size=0, max_size=3).map(tuple)),
    max_leaves=20,
)


@given(_TREES)
def test_any_expression_has_a_value_or_none(expression: Expr) -> None:
    resolve = _meaning(ks0=2, a="b + ks0", b="a")
    for (value,) in ways(resolve, (expression,), Budget(5_000)):
        assert value is None or isinstance(value, int)
