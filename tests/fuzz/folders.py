"""Folders as a user hands them in: a log beside the generated code that failed in it.

A folder is the sections of `target`, so that an example is an input of the fuzzer as well. The
check that fails in the log is one of the code's, so that what follows it back has work.
"""

from __future__ import annotations

import base64
import hashlib

from hypothesis import strategies as st

from tests.fuzz.damage import LOGS, Log, damaged
from tests.fuzz.generated import GRAPH, METADATA, NODE_MAPPINGS, PROVENANCE, WRAPPER_CPP, WRAPPER_PY
from tests.fuzz.words import SLOTS, Words, one_of, said

_INDEX = one_of(
    "tmp0", "tmp0 + ks0", "tmp0 - 1", "tmp0 * (-1)", "((-1)) + ks0", "ks0 // 2", "tmp0 % 0", "x0"
)
_EXPRESSION = st.one_of(
    _INDEX,
    st.builds("tl.where(tmp0 < 0, {}, {})".format, _INDEX, _INDEX),
    st.builds("triton_helpers.minimum({}, {})".format, _INDEX, _INDEX),
    st.builds("({}).to(tl.int32)".format, _INDEX),
    said("tl.full([XBLOCK], {size}, tl.int32)"),
    SLOTS["text"],
)
_BOUND = st.one_of(one_of("ks0", "((-1)) + ks0", "2*ks0", "ks0*ks1"), SLOTS["size"])


_CHECK = "index out of bounds: 0 <= tmp4 < {}"
_TRITON = """
import triton
import triton.language as tl

@triton.jit
def %(name)s(in_ptr0, out_ptr0, ks0, ks1, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (x0), None)
    tmp4 = %(index)s
    tl.device_assert((0 <= tmp4) & (tmp4 < %(bound)s), "%(check)s")
    tl.store(out_ptr0 + (x0), tmp4, None)
"""
_TRITON_WRAPPER = """
        inputs_info_[0].name = "arg0_1";
    auto arg0_1_size = arg0_1.sizes();
    int64_t s77 = arg0_1_size[0];
static void call_%(name)s(
) {
    /*
    async_compile.triton('%(name)s', '''%(source)s''', device_str='cuda')
    */
}
%(calls)s
    call_%(name)s(arg0_1, buf0, s77, s77, 100L, this->device_idx_, stream);
"""
_CPP_WRAPPER = """
        inputs_info_[0].name = "arg0_1";
        inputs_info_[1].name = "arg1_1";
    auto arg0_1_size = arg0_1.sizes();
    int64_t s3 = arg0_1_size[0];
    %(name)s((const int64_t*)(arg1_1.data_ptr()), (float*)(buf0.data_ptr()), s3, s3);
extern "C"  void  %(name)s(const int64_t* in_ptr0,
                       float* out_ptr0,
                       const int64_t ks0,
                       const int64_t ks1)
{
    for(int64_t x0=static_cast<int64_t>(0LL); x0<static_cast<int64_t>(ks0); x0+=1LL)
    {
        auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
        auto tmp1 = %(first)s;
        auto tmp2 = tmp0 < 0;
        auto tmp4 = %(then)s;
        AOTI_TORCH_CHECK((0 <= tmp4) & (tmp4 < %(bound)s), "%(check)s");
        out_ptr0[x0] = tmp4;
    }
}
"""


def _stem(source: str) -> str:
    digest = hashlib.sha256(source.strip().encode("utf-8", "replace")).digest()
    return "c" + base64.b32encode(digest)[:51].decode().lower()


def _triton_failure(name: str, index: str, bound: str, calls: str, names_file: bool) -> bytes:
    """A Triton kernel in a wrapper of C++, and the assertion of it that failed."""
    check = _CHECK.format(bound)
    source = _TRITON % {"name": name, "index": index, "bound": bound, "check": check}
    indented = source.replace("\n", "\n    ")
    wrapper = _TRITON_WRAPPER % {"name": name, "source": indented, "calls": calls}
    place = f"/tmp/t/{_stem(source)}.py:12" if names_file else "unknown:0"
    log = f"{place}: unknown: block: [1,0,0], thread: [2,0,0] Assertion `{check}` failed.\n"
    return _sections(("m.pt2!data/cw.wrapper.cpp", wrapper), ("run.log", log))


def _cpp_failure(name: str, first: str, then: str, bound: str) -> bytes:
    """A kernel of the CPU in the wrapper's own file, and its check that failed."""
    check = _CHECK.format(bound)
    told = {"name": name, "first": first, "then": then, "bound": bound, "check": check}
    log = (
        f"Error: {check}\nException raised from {name} at /tmp/t/ck.kernel.cpp:9 (most recent call"
        " first):\n"
    )
    return _sections(("m.pt2!data/cw.wrapper.cpp", _CPP_WRAPPER % told), ("run.log", log))


def _sections(*files: tuple[str, str]) -> bytes:
    return "".join(f"=== {name}\n{text}\n" for name, text in files).encode("utf-8", "replace")


_CALLS = said("    call_{triton}({arguments}, this->device_idx_, stream);\n")
_CPP_EXPRESSION = st.one_of(
    one_of("ks0", "ks1", "tmp0", "tmp1", "tmp0 + ks0", "int64_t(tmp0 * tmp1)", "(-1L) + ks1"),
    one_of("tmp2 ? tmp1 : tmp0", "c10::convert<int64_t>(tmp1)", "std::min(tmp0, tmp1)", "tmp0 / 0"),
    said("static_cast<int64_t>({signed}L)"),
    SLOTS["text"],
)
_FAILED: Log = st.one_of(
    st.builds(_triton_failure, SLOTS["triton"], _EXPRESSION, _BOUND, _CALLS, st.booleans()),
    st.builds(
        _cpp_failure,
        SLOTS["cpp"],
        _CPP_EXPRESSION,
        _CPP_EXPRESSION,
        st.one_of(one_of("ks0", "ks1", "s3"), SLOTS["bound"]),
    ),
)


def _section(name: str, text: Words) -> Log:
    return text.map(lambda content: _sections((name, content)))


_BESIDE: Log = st.one_of(
    _section("m.pt2!data/c1.wrapper.cpp", WRAPPER_CPP),
    _section("m.pt2!data/c1.kernel.cpp", WRAPPER_CPP),
    _section("m.pt2!data/c1.wrapper_metadata.json", METADATA),
    _section("m.pt2!data/kernel_information.json", PROVENANCE),
    _section("inductor_provenance_tracking_node_mappings.json", NODE_MAPPINGS),
    _section("c2.py", WRAPPER_PY),
    _section("graph.txt", GRAPH),
    LOGS.map(lambda raw: b"=== rank1.log\n" + raw),
    LOGS.map(lambda raw: b"=== logs.zip!a/rank2.log\n" + raw),
    LOGS.map(lambda raw: b"=== rank3.log.gz\n" + raw),
)
#: whole folders, as they are and damaged
FOLDERS: Log = st.one_of(
    *(
        st.builds(
            lambda failed, beside: failed + b"".join(beside), one, st.lists(_BESIDE, max_size=3)
        )
        for one in (_FAILED, damaged(_FAILED), st.just(b""))
    )
)
