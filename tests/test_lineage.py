"""From a failed check to the inputs: which kernel, bound and index; null where it is not known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aoti_logscan.artifacts.library import Library
from aoti_logscan.artifacts.package import read_artifact
from aoti_logscan.artifacts.wrapper_code import source_stem
from aoti_logscan.lineage import Check, lineage
from aoti_logscan.report import Bound, IndexSource, InputDim, InputRef, Lineage

SOURCE = (
    "\n@triton.jit\n"
    "def triton_poi_fused_0(in_ptr0, in_ptr1, out_ptr0, ks0, xnumel, XBLOCK : tl.constexpr):\n"
    "    tmp0 = tl.load(in_ptr0 + (x0), xmask)\n"
    '    tl.device_assert((0 <= tmp0) & (tmp0 < ks0), "index out of bounds: 0 <= tmp0 < ks0")\n'
    "    tmp1 = tl.load(in_ptr1 + (x1 + 8*tmp0), xmask)\n"
)
CALL = (
    "    arg0_1, arg1_1, arg2_1 = args\n"
    "    s3 = arg0_1\n"
    "    assert_size_stride(arg1_1, (s3, 8), (8, 1), 'input')\n"
    "    assert_size_stride(arg2_1, (40, ), (1, ), 'input')\n"
    "    triton_poi_fused_0.run(arg2_1, arg1_1, buf0, s3, 320, stream=0)\n"
)
TABLE = InputDim(position=1, name="arg1_1", dim=0)
CPP = (
    'extern "C"  void  {name}(const int64_t* in_ptr0,\n    float* out_ptr0,\n'
    "    const int64_t ks0)\n{{\n    auto tmp0 = in_ptr0[x0];\n"
    '    TORCH_CHECK((0 <= tmp0) & (tmp0 < ks0), "index out of bounds: 0 <= tmp0 < ks0");\n}}\n'
)


def _check(upper: str | None = "ks0", **known: str | int) -> Check:
    facts = {"index": "tmp0", "lower": "0", "upper": upper, **known}
    check = Check.of(facts)
    assert check is not None
    return check


def _triton(source: str = SOURCE, call: str = CALL, name: str = "triton_poi_fused_0") -> str:
    return f"{name} = async_compile.triton('{name}', '''{source}''', device_str='cuda')\n{call}"


def _library(*texts: str, names: tuple[str, ...] = ("a.py", "b.py")) -> Library:
    return Library(
        [read_artifact(name, text.encode()) for name, text in zip(names, texts, strict=False)]
    )


def _lineage(text: str, check: Check | None = None) -> Lineage:
    found = lineage(check or _check(), _library(text))
    assert found is not None
    return found


# which kernel


def test_the_file_name_proves_the_kernel() -> None:
    other = SOURCE.replace("x0", "x5")
    library = _library(_triton(), _triton(other, name="triton_poi_fused_9"))
    found = lineage(_check(file=f"/tmp/x/{source_stem(other)}.py", line=5), library)
    assert found is not None
    assert found.kernel == "triton_poi_fused_9"


def test_kernels_that_say_the_same_are_candidates() -> None:
    library = _library(_triton(), _triton(name="triton_poi_fused_9"))
    found = lineage(_check(), library)
    assert found is not None
    assert (found.kernel, found.candidates) == (None, ("triton_poi_fused_0", "triton_poi_fused_9"))
    assert found.bound == Bound(parameter="ks0")
    assert found.index_source == IndexSource(kind="loaded", parameter="in_ptr0")


def test_a_name_in_the_log_decides_between_candidates() -> None:
    library = _library(_triton(), _triton(name="triton_poi_fused_9"))
    found = lineage(_check(kernel="triton_poi_fused_9"), library)
    assert found is not None
    assert (found.kernel, found.candidates) == ("triton_poi_fused_9", ())


def test_hash_of_another_model_is_no_kernel_of_this_one() -> None:
    assert lineage(_check(file=f"/tmp/x/c{'a' * 51}.py", line=5), _library(_triton())) is None


def test_other_texts_and_no_code_give_nothing() -> None:
    assert lineage(_check("ks7"), _library(_triton())) is None
    assert lineage(_check(), _library("import torch\n")) is None
    assert lineage(_check(), Library([])) is None


@pytest.mark.parametrize(
    ("lower", "upper", "text"),
    [
        ("0", "ks0", "0 <= tmp0 < ks0"),
        (None, "ks0", "tmp0 < ks0"),
        ("0", None, "0 <= tmp0"),
    ],
)
def test_halves_of_a_check(lower: str | None, upper: str | None, text: str) -> None:
    source = SOURCE.replace("0 <= tmp0 < ks0", text)
    facts = {"index": "tmp0", "lower": lower, "upper": upper}
    check = Check.of(facts)
    assert check is not None
    assert check.text == text
    assert _lineage(_triton(source), check).kernel == "triton_poi_fused_0"


def test_facts_without_an_index_are_no_check() -> None:
    assert Check.of({"index": None}) is None
    assert Check.of({}) is None


def test_line_of_a_cpp_file_decides_between_its_kernels() -> None:
    text = CPP.format(name="cpp_fused_0") + CPP.format(name="cpp_fused_1")
    library = _library(text, names=("m/cabc.kernel.cpp",))
    lines = [at for at, line in enumerate(text.split("\n"), 1) if "TORCH_CHECK" in line]
    for line, name in zip(lines, ("cpp_fused_0", "cpp_fused_1"), strict=True):
        found = lineage(_check(file="/tmp/x/cabc.kernel.cpp", line=line), library)
        assert found is not None
        assert (found.kernel, found.candidates) == (name, ())


def _embedded(name: str, above: str = "") -> str:
    code = above + CPP.format(name="kernel")
    return f"{name} = async_compile.cpp_pybinding(['const int64_t*'], r'''\n{code}''')\n"


def test_embedded_cpp_kernels_have_the_lines_of_their_files() -> None:
    library = _library(_embedded("cpp_fused_0") + _embedded("cpp_fused_1", above="// x\n"))
    check = _check(file="/tmp/x/cdef.main.cpp", line=8)
    found = lineage(check, library)
    assert found is not None
    assert (found.kernel, found.candidates) == ("cpp_fused_1", ())


def test_a_file_of_a_kernel_without_a_name_is_named_by_the_wrapper_with_its_text() -> None:
    file = "#include <x>\n" + CPP.format(name="kernel")
    names = ("cdef.main.cpp", "wrapper.py")
    check = _check(file="/tmp/x/cdef.main.cpp", line=7)
    wrapper = _embedded("cpp_fused_0") + CALL.replace("triton_poi_fused_0.run", "cpp_fused_0")
    found = lineage(check, _library(file, wrapper, names=names))
    assert found is not None
    assert found.kernel == "cpp_fused_0"
    alone = lineage(check, _library(file, names=names))
    assert alone is not None
    assert alone.kernel is None
    assert alone.index_source == IndexSource(kind="loaded", parameter="in_ptr0")


# the bound


@pytest.mark.parametrize(
    ("symbols", "argument"),
    [
        ("    s3 = arg0_1\n", "s3"),
        ("    s3 = arg0_1\n    s9 = s3\n", "s9"),
        ("    s3 = arg0_1\n    ps0 = 2*s3\n", "ps0"),
        ("    s3 = arg0_1\n", "s3 + 1"),
    ],
)
def test_bound_is_followed_to_the_dim(symbols: str, argument: str) -> None:
    call = CALL.replace("    s3 = arg0_1\n", symbols).replace("s3, 320", f"{argument}, 320")
    assert _lineage(_triton(call=call)).bound == Bound(
        parameter="ks0", argument=argument, input=TABLE
    )


def test_bound_that_is_a_size_input_has_no_dim() -> None:
    call = CALL.replace("(s3, 8)", "(s4, 8)")
    size = InputDim(position=0, name="arg0_1", dim=None)
    assert _lineage(_triton(call=call)).bound == Bound(parameter="ks0", argument="s3", input=size)


@pytest.mark.parametrize("argument", ["s3 + s4", "16", "s77"])
def test_bound_of_no_or_several_sizes_has_no_input(argument: str) -> None:
    call = CALL.replace("s3, 320", f"{argument}, 320")
    assert _lineage(_triton(call=call)).bound == Bound(parameter="ks0", argument=argument)


def test_bound_of_two_parameters_is_not_told() -> None:
    source = SOURCE.replace("tmp0 < ks0", "tmp0 < ks0 + ks1").replace("ks0, xnumel", "ks0, ks1, x")
    assert _lineage(_triton(source), _check("ks0 + ks1")).bound == Bound()


def test_number_is_the_dim_that_is_as_long_and_has_the_indexs_stride() -> None:
    source = SOURCE.replace("tmp0 < ks0", "tmp0 < 30")
    call = CALL.replace("(s3, 8), (8, 1)", "(30, 8, 30), (240, 1, 8)")
    dim = InputDim(position=1, name="arg1_1", dim=2)
    assert _lineage(_triton(source, call), _check("30")).bound == Bound(input=dim)


@pytest.mark.parametrize("upper", ["30", "30L", "9" * 5_000])
def test_number_that_no_dim_has_tells_no_input(upper: str) -> None:
    source = SOURCE.replace("0 <= tmp0 < ks0", f"0 <= tmp0 < {upper}")
    assert _lineage(_triton(source), _check(upper)).bound == Bound()


# the index


def test_index_that_is_loaded_from_an_input() -> None:
    found = _lineage(_triton())
    assert found.index_source == IndexSource(
        kind="loaded",
        parameter="in_ptr0",
        argument="arg2_1",
        input=InputRef(position=2, name="arg2_1"),
    )
    assert found.failing_values == ()
    assert found.cause == (
        "a value in input 2 (arg2_1) is out of range for the bound ks0, "
        "which is size 0 of input 1 (arg1_1)"
    )
    assert "every value must be at least 0 and below n" in found.fixes[0]


def test_index_that_a_kernel_before_made() -> None:
    call = CALL.replace("arg2_1, arg1_1, buf0", "buf7, arg1_1, buf0").replace(
        "    triton_", "    buf7 = torch.ops.aten.argmax.default(arg1_1)\n    triton_"
    )
    found = _lineage(_triton(call=call))
    assert found.index_source == IndexSource(
        kind="loaded",
        parameter="in_ptr0",
        argument="buf7",
        produced_by="torch.ops.aten.argmax.default",
    )


def test_of_two_loads_none_is_the_source() -> None:
    source = SOURCE.replace(
        "tl.load(in_ptr0 + (x0), xmask)\n",
        "tl.load(in_ptr0 + (x0), m) + tl.load(in_ptr1 + (x0), m)\n",
    )
    assert _lineage(_triton(source)).index_source == IndexSource(kind="loaded")


def test_several_launches_leave_argument_and_input_open() -> None:
    again = CALL.split("\n")[-2] + "\n"
    found = _lineage(_triton(call=CALL + again))
    assert found.kernel == "triton_poi_fused_0"
    assert found.bound == Bound(parameter="ks0")
    assert found.index_source == IndexSource(kind="loaded", parameter="in_ptr0")


def test_index_computed_from_a_size() -> None:
    source = SOURCE.replace("tl.load(in_ptr0 + (x0), xmask)\n", "(ks0 - 1).to(tl.int32)\n", 1)
    found = _lineage(_triton(source))
    assert found.index_source == IndexSource(kind="computed")
    assert found.failing_values == ({"s3": 0, "index": -1},)
    assert found.cause == (
        "size 0 of input 1 (arg1_1) may be 0, and nothing refuses that; then the index is -1"
    )
    assert any("Dim(..., min=1)" in fix for fix in found.fixes)


def test_index_of_positions_alone_fails_where_the_bound_is_nothing() -> None:
    source = SOURCE.replace("tl.load(in_ptr0 + (x0), xmask)\n", "tl.arange(0, XBLOCK)[:]\n", 1)
    found = _lineage(_triton(source))
    assert found.index_source == IndexSource(kind="computed")
    assert found.failing_values == ({"s3": 0, "index": 0},)


# any text


@settings(max_examples=60)
@given(st.data())
def test_real_text_cut_and_changed_anywhere_gives_an_answer(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([_triton(), _embedded("cpp_fused_0") + CALL]))
    at = data.draw(st.integers(0, len(text)))
    put = data.draw(st.text("()[]{}<>=+-*/'\"\n ,;.0sk\0", max_size=8))
    ends = data.draw(st.sampled_from([at, len(text)]))
    found = lineage(_check(line=5), _library(text[:at] + put + text[at:ends]))
    assert found is None or found.index == "tmp0"


@given(st.text(max_size=30), st.text(max_size=30) | st.none(), st.text(max_size=30) | st.none())
def test_any_check_gives_an_answer(index: str, lower: str | None, upper: str | None) -> None:
    check = Check.of({"index": index or "x", "lower": lower, "upper": upper, "file": upper})
    assert check is not None
    found = lineage(check, _library(_triton()))
    assert found is None or found.kernel == "triton_poi_fused_0"
