"""Triton kernels through `ast`: parameters, assignments, assertions, accesses; any text is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.artifacts.expression import Load, Ref, Thread
from aoti_logscan.artifacts.triton_kernel import MAX_KERNEL, read_triton, triton_parameters
from aoti_logscan.artifacts.wrapper_code import triton_sources
from tests.conftest import FIXTURES

TWINS = next(FIXTURES.glob("lineage-twin-kernels-told-by-file-name/input/*.cpp"))
SOURCES = [one.text for one in triton_sources(TWINS.name, TWINS.read_text(encoding="utf-8"))]

HEAD = (
    "@triton.jit\ndef triton_poi_fused_0(in_ptr0, out_ptr0, ks0, xnumel, XBLOCK : tl.constexpr):\n"
)


def test_parameters_are_what_a_call_gives() -> None:
    code = read_triton(HEAD + "    pass\n", "cabc")
    assert code is not None
    assert code.parameters == ("in_ptr0", "out_ptr0", "ks0", "xnumel")


@pytest.mark.parametrize("source", SOURCES)
def test_head_alone_tells_the_same_parameters(source: str) -> None:
    code = read_triton(source, None)
    assert code is not None
    assert triton_parameters(source) == code.parameters != ()


def test_helpers_stand_before_the_kernel() -> None:
    helper = "@triton.jit\ndef _combine(a, b):\n    return a + b\n"
    code = read_triton(helper + HEAD + "    pass\n", None)
    assert code is not None
    assert code.name == "triton_poi_fused_0"
    assert triton_parameters(helper + HEAD)[0] == "in_ptr0"


def test_assertions_have_their_lines_and_texts() -> None:
    code = read_triton(SOURCES[0], None)
    assert code is not None
    line = SOURCES[0].split("\n")[code.assertions[0].line - 1]
    assert "tl.device_assert(" in line
    assert f'"index out of bounds: {code.assertions[0].text}"' in line


def test_other_assertions_are_none_of_an_index() -> None:
    body = '    tl.device_assert(tmp0 < 3, "something else")\n    tl.device_assert(tmp0 < 3)\n'
    code = read_triton(HEAD + body, None)
    assert code is not None
    assert code.assertions == ()


def test_a_loop_gives_its_variable_and_its_lines() -> None:
    body = "    tmp0 = 1\n    for r in tl.range(0, ks0, 8):\n        tmp0 = tmp0 + r\n"
    code = read_triton(HEAD + body, None)
    assert code is not None
    told = [(one.target, one.loops) for one in code.assignments]
    assert told == [("tmp0", ()), ("r", ()), ("tmp0", ((4, 5),))]
    assert code.assignments[1].value == Thread()


def test_accesses_are_loads_stores_and_atomics() -> None:
    body = (
        "    tmp1 = tl.load(in_ptr0 + (tmp0), xmask)\n"
        "    tl.store(out_ptr0 + (x0), tmp1, xmask)\n"
        "    tl.atomic_add(out_ptr0 + (tmp0), tmp1, xmask)\n"
    )
    code = read_triton(HEAD + body, None)
    assert code is not None
    assert code.accesses == (
        (3, Load("in_ptr0", Ref("tmp0"))),
        (4, Load("out_ptr0", Ref("x0"))),
        (5, Load("out_ptr0", Ref("tmp0"))),
    )


@pytest.mark.parametrize(
    "source",
    [
        "",
        "x = 1\n",
        "def f(:\n",
        HEAD + "    tmp0 = (\n",
        HEAD + "    tmp0 = '\0'\n",
        HEAD + "    tmp0 = " + "(" * 10_000 + ")" * 10_000 + "\n",
        "#" * (MAX_KERNEL + 1),
    ],
)
def test_broken_source_is_no_kernel(source: str) -> None:
    assert read_triton(source, None) is None
    assert isinstance(triton_parameters(source), tuple)


@given(st.sampled_from(SOURCES), st.data())
def test_real_source_cut_and_changed_anywhere_is_read(source: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(source)))
    put = data.draw(st.text("()[]:=,'\"\n #ab0.\0-", max_size=10))
    ends = data.draw(st.sampled_from([at, len(source)]))
    text = source[:at] + put + source[at:ends]
    code = read_triton(text, None)
    assert code is None or code.text == text
    assert isinstance(triton_parameters(text), tuple)
