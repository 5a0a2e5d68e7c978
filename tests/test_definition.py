"""Kernels in files of generated code: as wrappers call them, with the lines of their files."""

from __future__ import annotations

from aoti_logscan.artifacts.definition import Definition, definitions
from aoti_logscan.artifacts.wrapper_code import read_wrapper, source_stem
from tests.conftest import FIXTURES

TWINS = next(FIXTURES.glob("lineage-twin-kernels-told-by-file-name/input/*.cpp"))
CPP = 'extern "C"  void  kernel(const int64_t* in_ptr0,\n    float* out_ptr0)\n{\n}\n'


def _defined(name: str, text: str) -> list[Definition]:
    return list(definitions(read_wrapper(name, text)))


def test_triton_kernels_of_a_cpp_wrapper() -> None:
    found = _defined(TWINS.name, TWINS.read_text(encoding="utf-8"))
    assert [one.name for one in found if one.language == "triton"] == [
        "triton_poi_fused_index_0",
        "triton_poi_fused_index_relu_1",
    ]
    assert all(one.file == source_stem(one.text) for one in found)
    code = found[0].code()
    assert code is not None
    assert (code.name, code.file, code.parameters) == (
        found[0].name,
        found[0].file,
        found[0].parameters,
    )


def test_embedded_cpp_kernel_has_the_wrappers_name() -> None:
    text = f"cpp_fused_sin_0 = async_compile.cpp_pybinding(['const int64_t*'], r'''\n{CPP}''')\n"
    [found] = _defined("cabc.py", text)
    assert (found.name, found.language) == ("cpp_fused_sin_0", "cpp")
    assert (found.file, found.first) == (None, 2)
    assert found.parameters == ("in_ptr0", "out_ptr0")


def test_cpp_file_has_its_own_name_and_lines() -> None:
    [found] = _defined("model/cabc.kernel.cpp", "#include <x>\n" + CPP)
    assert (found.name, found.file, found.first) == ("kernel", "cabc", 2)
    assert found.text == CPP.rstrip()


def test_broken_triton_source_has_no_code() -> None:
    text = "triton_a = async_compile.triton('triton_a', '''\ndef triton_a(\n''')\n"
    [found] = _defined("cabc.py", text)
    assert (found.code(), found.parameters) == (None, ())


def test_other_text_defines_nothing() -> None:
    assert _defined("a.py", "import torch\n") == _defined("a.cpp", "int main() {\n}\n") == []
