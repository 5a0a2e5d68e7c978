"""C++ kernels line by line: blocks, lambdas, lanes, loops and branches around an index check."""

from __future__ import annotations

import zipfile
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.artifacts.cpp_kernel import cpp_heads, read_cpp
from aoti_logscan.artifacts.expression import Apply, Load, Ref, Thread, from_cpp
from aoti_logscan.artifacts.kernel_code import IndexSlice, KernelCode
from tests.conftest import FIXTURES

HEAD = (
    'extern "C"  void  cpp_fused_index_0(const int64_t* in_ptr0,\n'
    "                       const float* __restrict__ in_ptr1,\n"
    "                       float* out_ptr0,\n"
    "                       const int64_t ks0)\n{\n"
)


def _kernel(body: str) -> KernelCode:
    [head] = cpp_heads(HEAD + indent(body, "    ") + "}\n")
    code = read_cpp(head.text, "cabc", head.first)
    assert code is not None
    return code


def _check(index: str, upper: str = "ks0") -> str:
    text = f"0 <= {index} < {upper}"
    return (
        f'AOTI_TORCH_CHECK((0 <= {index}) & ({index} < {upper}), "index out of bounds: {text}");\n'
    )


def _slice(body: str, index: str, at: int = 0) -> IndexSlice:
    code = _kernel(body)
    return IndexSlice(code, code.assertions[at], Ref(index))


def test_heads_of_a_real_file_have_their_lines_and_end_at_their_braces() -> None:
    text = _recorded("cpu-index-from-size-of-empty-table", ".kernel.cpp")
    [head] = cpp_heads(text)
    assert head.name == "cpp_fused_full_like_index_mul_where_0"
    assert head.parameters == ("in_ptr0", "in_ptr1", "in_ptr2", "out_ptr0", "ks0", "ks1")
    assert text.split("\n")[head.first - 1].startswith('extern "C"  void  cpp_fused_full_like')
    assert head.text.endswith("\n}")
    assert "Compile cmd" not in head.text


def _recorded(fixture: str, ending: str) -> str:
    [package] = (FIXTURES / fixture / "input").glob("*.pt2")
    with zipfile.ZipFile(package) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(ending)]
        return archive.read(name).decode()


def test_lines_are_those_of_the_file() -> None:
    text = _recorded("cpu-index-from-size-of-empty-table", ".kernel.cpp")
    [head] = cpp_heads(text)
    code = read_cpp(head.text, "cabc", head.first)
    assert code is not None
    assert [(one.line, one.text) for one in code.assertions] == [(36, "0 <= tmp11 < ks1")]
    assert all(one.text == text.split("\n")[one.line - 1].strip() for one in code.assignments)


def test_declarations_are_no_kernels() -> None:
    assert list(cpp_heads(HEAD.replace("\n{\n", ";\n") + "void f(int a);\n")) == []


@pytest.mark.parametrize("brace", [")\n{\n", ") {\n", "){\n"])
def test_brace_may_stand_anywhere_behind_the_head(brace: str) -> None:
    text = HEAD.replace(")\n{\n", brace) + _check("ks0") + "}\n"
    [head] = cpp_heads(text)
    code = read_cpp(head.text, None, head.first)
    assert code is not None
    assert len(code.assertions) == 1


def test_two_kernels_in_one_file() -> None:
    text = HEAD + _check("tmp1") + "}\n\n" + HEAD.replace("_0(", "_1(") + _check("tmp2") + "}\n"
    heads = list(cpp_heads(text))
    codes = [read_cpp(head.text, None, head.first) for head in heads]
    assert [head.name for head in heads] == ["cpp_fused_index_0", "cpp_fused_index_1"]
    said = [[(one.line, one.text) for one in code.assertions] for code in codes if code]
    assert said == [[(6, "0 <= tmp1 < ks0")], [(14, "0 <= tmp2 < ks0")]]


def test_a_name_means_what_its_own_block_says() -> None:
    body = (
        "{\nauto tmp0 = in_ptr0[x0];\n" + _check("tmp0") + "}\n"
        "{\nauto tmp0 = ks0;\n" + _check("tmp0") + "}\n"
    )
    assert _slice(body, "tmp0", 0).parts == (("in_ptr0",), ())
    assert _slice(body, "tmp0", 1).parts == ((), ("ks0",))


def test_a_closed_block_hides_no_outer_name() -> None:
    body = "auto tmp0 = in_ptr0[x0];\n{\nauto tmp0 = ks0;\n}\n" + _check("tmp0")
    assert _slice(body, "tmp0").parts == (("in_ptr0",), ())


def test_nothing_is_carried_back_by_a_loop_over_own_names() -> None:
    """The second block of the loop has names of its own, which the first never sees."""
    body = (
        "for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(ks0); x0+=1L)\n{\n"
        "{\nauto tmp0 = in_ptr0[x0];\n" + _check("tmp0") + "}\n"
        "{\nauto tmp0 = ks0;\n}\n}\n"
    )
    assert _slice(body, "tmp0").parts == (("in_ptr0",), ())


def test_a_lambda_is_what_it_returns() -> None:
    body = "auto tmp5 = [&]\n{\nauto tmp6 = in_ptr0[x0];\nreturn tmp6;\n}\n;\n"
    body += "auto tmp7 = tmp4 ? tmp5() : ks0;\n" + _check("tmp7")
    assert _slice(body, "tmp7").parts == (("in_ptr0",), ("ks0",))


def test_of_several_returns_the_last_one_counts() -> None:
    body = (
        "auto tmp5 = [&]\n{\nif (tmp4.all_zero())\n{\nreturn tmp6;\n}\nelse\n{\n"
        "return decltype(tmp5())::blendv(tmp6, in_ptr0[x0], tmp4.template cast<int64_t,2>());\n"
        "}\n}\n()\n;\n" + _check("tmp5")
    )
    assert _slice(body, "tmp5").parts.loads == ("in_ptr0",)


def test_lanes_go_through_arrays() -> None:
    body = (
        "auto tmp9 = at::vec::VectorizedN<int64_t,2>::loadu(in_ptr0 + x0, 16);\n"
        "auto tmp10 =\n[&]\n{\n__at_align__ std::array<int64_t, 16> tmpbuf;\n"
        "tmp9.store(tmpbuf.data(), static_cast<int64_t>(16));\nreturn tmpbuf;\n}\n()\n;\n"
        "auto tmp11 =\n[&]\n{\n__at_align__ std::array<int64_t, 16> tmpbuf;\n"
        "#pragma GCC unroll 16\n"
        "for (long x0_inner = 0; x0_inner < static_cast<int64_t>(16); x0_inner++)\n{\n"
        "tmpbuf[x0_inner] = static_cast<int64_t>(tmp10[x0_inner]);\n}\n"
        "return at::vec::VectorizedN<int64_t,2>::loadu(tmpbuf.data(), 16);\n}\n()\n;\n"
        + _check("tmp11")
        + "auto tmp13 = in_ptr1[static_cast<int64_t>(tmp10[x0_inner])];\n"
    )
    found = _slice(body, "tmp11")
    assert found.parts == (("in_ptr0",), ())
    assert found.is_loaded_as_it_is
    assert found.checked_access == Load("in_ptr1", Ref("tmp10"))


def test_loops_and_branches_are_guards() -> None:
    body = (
        "for(int64_t x0=static_cast<int64_t>(3L); x0<static_cast<int64_t>(ks0); x0+=1L)\n{\n"
        "if(C10_LIKELY(x0 >= static_cast<int64_t>(0) && x0 < static_cast<int64_t>(16L)))\n{\n"
        + _check("x0")
        + "}\n}\n"
    )
    found = _slice(body, "x0")
    assert len(found.guards) == 2
    assert found.value_of("x0@6") == Thread(from_cpp("3L"))
    assert found.guards[1] == Apply("<", (Ref("x0@6"), Ref("ks0")))
    assert found.parts == ((), ())


def test_a_guard_ends_with_its_block() -> None:
    body = "if (ks0 > 3)\n{\nauto tmp0 = ks0;\n}\n" + _check("ks0")
    assert _kernel(body).assertions[0].guards == ()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (_check("tmp2", "10L"), "0 <= tmp2 < 10L"),
        ('TORCH_CHECK(tmp1 < ks0, "index out of bounds: tmp1 < ks0");\n', "tmp1 < ks0"),
        (
            "AOTI_TORCH_CHECK((at::vec::VecMask<int64_t,2>((tmp1 < ks0))).all_masked(), "
            '"index out of bounds: 0 <= tmp1 < ks0");\n',
            "0 <= tmp1 < ks0",
        ),
    ],
)
def test_forms_of_a_check(line: str, text: str) -> None:
    assert [one.text for one in _kernel(line).assertions] == [text]


def test_every_access_of_a_line_is_found() -> None:
    code = _kernel("out_ptr0[x0] = in_ptr1[tmp0] + in_ptr0[x0];\n")
    assert [load.pointer for _, load in code.accesses] == ["out_ptr0", "in_ptr1", "in_ptr0"]


REAL = {
    language: _recorded(fixture, ".kernel.cpp")
    for language, fixture in (
        ("loop", "cpu-index-from-size-of-empty-table"),
        ("reduction", "cpu-index-made-by-its-own-kernel"),
    )
}


@given(st.sampled_from(sorted(REAL)), st.data())
def test_real_code_cut_and_changed_anywhere_is_read(name: str, data: st.DataObject) -> None:
    text = REAL[name]
    at = data.draw(st.integers(0, len(text)))
    put = data.draw(st.text("{}()[]<>;=?:\"'&\n\\0a ", max_size=20))
    ends = data.draw(st.sampled_from([at, len(text)]))
    for head in cpp_heads(text[:at] + put + text[at:ends]):
        code = read_cpp(head.text, None, head.first)
        for assertion in code.assertions if code else ():
            assert code is not None
            found = IndexSlice(code, assertion, from_cpp("tmp11"))
            assert (found.parts, found.core, found.checked_access) is not None


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    for whole in (text, HEAD + text):
        assert all(read_cpp(head.text, None) for head in cpp_heads(whole))
