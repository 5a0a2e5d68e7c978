"""Sizes that make an index check fail: proven, smallest first, as few as do, within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aoti_logscan.artifacts.expression import Expr, Ref, from_cpp, from_python
from aoti_logscan.artifacts.kernel_code import IndexSlice
from aoti_logscan.artifacts.triton_kernel import read_triton
from aoti_logscan.failing_sizes import MAX_ANSWERS, Sizes, failing

HEAD = "def triton_poi_fused_0(in_ptr0, in_ptr1, ks0, ks1, xnumel, XBLOCK : tl.constexpr):\n"
GIVEN = {"ks0": "s0", "ks1": "s1", "xnumel": "8*s1"}


def _slice(body: str, condition: str = "(0 <= tmp9) & (tmp9 < ks0)") -> IndexSlice:
    check = f'    tl.device_assert({condition}, "index out of bounds: 0 <= tmp9 < ks0")\n'
    code = read_triton(HEAD + body + check, None)
    assert code is not None
    return IndexSlice(code, code.assertions[0], Ref("tmp9"))


def _sizes(
    given: Mapping[str, str] = GIVEN,
    symbols: Mapping[str, str] | None = None,
    limits: Mapping[str, tuple[int, ...]] | None = None,
) -> Sizes:
    def value_of(symbol: str) -> Expr | None:
        value = (symbols or {}).get(symbol)
        return from_cpp(value) if value is not None else None

    def checked(symbol: str) -> Iterable[int]:
        return (limits or {}).get(symbol, ())

    arguments = {name: from_python(value) for name, value in given.items()}
    return Sizes(arguments, value_of, checked)


def test_the_last_of_none_is_minus_one() -> None:
    found = failing(_slice("    tmp9 = ks0 - 1\n"), ("ks0",), _sizes())
    assert found == ({"s0": 0, "index": -1},)


def test_what_data_chooses_is_proven_on_its_own_way() -> None:
    body = "    keep = tl.load(in_ptr0 + (x0), m)\n    i = tl.load(in_ptr1 + (x0), m)\n"
    found = failing(_slice(body + "    tmp9 = tl.where(keep, i, ks0 - 1)\n"), ("ks0",), _sizes())
    assert found == ({"s0": 0, "index": -1},)


def test_what_is_only_loaded_proves_nothing() -> None:
    body = "    tmp9 = tl.load(in_ptr0 + (x0), m) + ks0\n"
    assert failing(_slice(body), ("ks0",), _sizes()) == ()


def test_a_check_that_holds_proves_nothing() -> None:
    body = "    tmp9 = tl.where(ks0 < 1, 0, ks0 - 1)\n"
    found = failing(_slice(body, "(0 <= tmp9) & (tmp9 <= ks0)"), ("ks0",), _sizes())
    assert found == ()


def test_as_few_sizes_as_prove_it_are_named() -> None:
    body = "    tmp9 = ks1 - 1\n"
    alone = failing(_slice(body, "0 <= tmp9"), ("ks0", "ks1"), _sizes({"ks0": "s0", "ks1": "s1"}))
    assert alone == ({"s1": 0, "index": -1},)
    both = failing(_slice(body, "tmp9 < ks0"), ("ks0", "ks1"), _sizes())
    assert both[0] == {"s0": 0, "s1": 1, "index": 0}
    assert len(both) == MAX_ANSWERS


def test_a_kernel_of_no_elements_is_not_launched() -> None:
    body = "    tmp9 = ks1 - 1\n"
    assert failing(_slice(body, "0 <= tmp9"), ("ks1",), _sizes()) == ()
    given = {**GIVEN, "xnumel": "8*s7"}
    assert failing(_slice(body, "0 <= tmp9"), ("ks1",), _sizes(given)) != ()


def test_a_mask_of_no_element_hides_the_check() -> None:
    body = "    xindex = tl.program_id(0)\n    xmask = xindex < 0 * ks0\n    tmp9 = ks0 - 1\n"
    assert failing(_slice(body, "(0 <= tmp9) | ~xmask"), ("ks0",), _sizes()) == ()


def test_guards_must_be_passed() -> None:
    code = _slice("    tmp9 = ks0 - 1\n")
    code.guards = (from_python("ks0 > 0"),)
    assert failing(code, ("ks0",), _sizes()) == ()
    code.guards = (from_python("ks1 > 0"),)
    assert failing(code, ("ks0",), _sizes()) == ({"s0": 0, "index": -1},)


def test_checked_bounds_are_tried_too() -> None:
    body = "    tmp9 = ks0\n"
    found = failing(_slice(body, "tmp9 < 1024"), ("ks0",), _sizes(limits={"s0": (-5, 1000, 1024)}))
    assert found == ({"s0": 1024, "index": 1024},)


def test_sizes_that_32_bits_do_not_hold_are_not_tried() -> None:
    body = "    tmp9 = ks0\n"
    limits = {"s0": (1 << 31,)}
    assert failing(_slice(body, "tmp9 < 2147483647"), ("ks0",), _sizes(limits=limits)) == ()


def test_symbols_are_followed_to_what_they_are_set_to() -> None:
    sizes = _sizes({"ks0": "s5"}, {"s5": "ps0", "ps0": "2*s1 + 2*s1"})
    assert sizes.roots(["ks0"]) == ("s1",)
    found = failing(_slice("    tmp9 = ks0 - 1\n", "0 <= tmp9"), ("ks0",), sizes)
    assert found == ({"s1": 0, "index": -1},)


def test_symbols_in_a_circle_have_no_root() -> None:
    sizes = _sizes({"ks0": "s1"}, {"s1": "s2", "s2": "s1"})
    assert sizes.roots(["ks0"]) == ()
    assert failing(_slice("    tmp9 = ks0 - 1\n"), ("ks0",), sizes) == ()


def test_parameter_without_an_argument_stands_for_itself() -> None:
    found = failing(_slice("    tmp9 = ks0 - 1\n"), ("ks0",), _sizes({}))
    assert found == ({"ks0": 0, "index": -1},)


def test_symbols_that_double_each_other_end() -> None:
    symbols = {f"s{i}": f"s{i + 1} + s{i + 1}" for i in range(5_000)}
    sizes = _sizes({"ks0": "s0"}, symbols)
    assert isinstance(sizes.roots(["ks0"]), tuple)
    assert isinstance(failing(_slice("    tmp9 = ks0 - 1\n"), ("ks0",), sizes), tuple)


def test_more_sizes_than_are_varied_prove_nothing() -> None:
    sizes = _sizes({"ks0": "s0 + s1 + s2 + s3"})
    assert failing(_slice("    tmp9 = ks0 - 1\n"), ("ks0",), sizes) == ()


def test_long_chains_are_followed_and_longer_ones_prove_nothing() -> None:
    def proven(length: int) -> tuple[dict[str, int], ...]:
        chain = "".join(f"    t{i + 1} = t{i} + 0\n" for i in range(length))
        body = f"    t0 = ks0 - 1\n{chain}    tmp9 = t{length}\n"
        return failing(_slice(body), ("ks0",), _sizes())

    assert proven(100) == ({"s0": 0, "index": -1},)
    assert proven(20_000) == ()
