"""Packages and generated code: kernels by hash, inputs, calls; hostile archives; joint answers."""

from __future__ import annotations

import io
import json
import zipfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aoti_logscan.artifacts import package
from aoti_logscan.artifacts.library import Library, stems_in
from aoti_logscan.artifacts.package import Package, read_artifact
from aoti_logscan.artifacts.wrapper_body import may_check
from aoti_logscan.artifacts.wrapper_code import (
    CallLine,
    Wrapper,
    call_on,
    read_wrapper,
    source_stem,
)
from tests.conftest import FIXTURES, Run

TWINS = next(FIXTURES.glob("lineage-twin-kernels-told-by-file-name/input/*.cpp"))
TWIN = read_wrapper(TWINS.name, TWINS.read_text(encoding="utf-8"))
#: file names in the fixture's assertion, and the kernel that the mm is innocent of
ASSERTED = "/tmp/torchinductor_dev/wy/cwyfytzay2gimofjuxnpvyfbtzqyzx3ipp4jzgbe3tag74g4yg4f.py"
PT2 = FIXTURES / "input-dim-static" / "input" / "model.pt2"
CACHE = FIXTURES / "triton-oob-symbol-bound-source-beside" / "input" / "inductor"

WRAPPER = '    inputs_info_[0].name = "arg0_1";\n    inputs_info_[1].name = "arg1_1";\n'
KERNEL = "import triton\n@triton.jit\ndef triton_poi_fused_0(in_ptr0):\n    pass\n"


def _zip(entries: dict[str, str | bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


# kernels by the hash of their source


def test_twin_kernels_have_the_stems_of_their_own_sources() -> None:
    assert TWIN.kernels["cwyfytzay2gimofjuxnpvyfbtzqyzx3ipp4jzgbe3tag74g4yg4f"] == (
        "triton_poi_fused_index_relu_1"
    )
    assert sorted(TWIN.kernels.values()) == [
        "triton_poi_fused_index_0",
        "triton_poi_fused_index_relu_1",
    ]


def test_stem_is_c_and_51_digits_whatever_blanks_surround_the_source() -> None:
    stem = source_stem(KERNEL)
    assert (len(stem), stem[0], stem) == (52, "c", stem.lower())
    assert source_stem("\n\n  " + KERNEL + "\n") == stem


def test_stem_of_another_source_differs() -> None:
    assert source_stem(KERNEL) != source_stem(KERNEL.replace("in_ptr0", "in_ptr1"))


def test_kernel_file_of_the_cache_has_its_own_stem() -> None:
    file = next(CACHE.glob("c5/*.py"))
    wrapper = read_wrapper(file.name, file.read_text(encoding="utf-8"))
    assert list(wrapper.kernels) == [file.stem]
    assert wrapper.kernels[file.stem].startswith("triton_")


def test_python_wrapper_names_the_kernel_that_its_cache_file_hashes_to() -> None:
    file = next(CACHE.glob("jo/*.py"))
    kernel = next(CACHE.glob("c5/*.py"))
    wrapper = read_wrapper(file.name, file.read_text(encoding="utf-8"))
    assert kernel.stem in wrapper.kernels


def test_text_without_code_is_an_empty_wrapper() -> None:
    assert read_wrapper("x.cpp", "") == Wrapper("x.cpp", ("",), {}, ())


# inputs


def test_inputs_of_cpp_code_are_in_the_order_of_their_positions() -> None:
    assert TWIN.inputs == ("arg0_1", "arg1_1", "arg2_1", "arg3_1", "arg4_1")


def test_position_without_a_name_is_left_empty() -> None:
    text = '    inputs_info_[2].name = "x";\n    inputs_info_[0].name = "y";\n'
    assert read_wrapper("a.cpp", text).inputs == ("y", "", "x")


def test_position_of_many_digits_makes_no_huge_list() -> None:
    text = f'    inputs_info_[{"9" * 30}].name = "x";\n'
    assert len(read_wrapper("a.cpp", text).inputs) == 100_000


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("    arg0_1, arg1_1 = args", ("arg0_1", "arg1_1")),
        ("        primals_1, = args", ("primals_1",)),
        ("    x = args", ("x",)),
        ("args = parse(args)", ()),
    ],
)
def test_inputs_of_python_code(line: str, names: tuple[str, ...]) -> None:
    assert read_wrapper("a.py", f"def call(args):\n{line}\n").inputs == names


# calls


def test_call_on_a_line_of_the_twin_wrapper() -> None:
    call = call_on(TWIN, 1313)
    assert call == CallLine(
        "aoti_torch_cuda_mm_out",
        1313,
        "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cuda_mm_out(buf3, buf2, arg4_1));",
    )
    launch = call_on(TWIN, 1306)
    assert launch is not None
    assert launch.kernel == "triton_poi_fused_index_relu_1"


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("        triton_poi_fused_0.run(arg0_1, buf0, 8, stream=stream0)", "triton_poi_fused_0"),
        ("    cpp_fused_0((const float*)(arg0_1.data_ptr()));", "cpp_fused_0"),
        ("    if (grid_0 == 0) return;", None),
        ("    int64_t s77 = arg3_1_size[0];", None),
        ("", None),
    ],
)
def test_call_line_in_other_code(text: str, kernel: str | None) -> None:
    found = call_on(read_wrapper("a.py", f"{text}\n"), 1)
    assert (found.kernel if found else None) == kernel


@pytest.mark.parametrize(
    "text", ["    while(true) {", "    if(x)", "        assert_size_stride(arg0_1, (8, 8), (8, 1))"]
)
def test_line_that_launches_nothing_is_no_call(text: str) -> None:
    assert call_on(read_wrapper("a.py", text), 1) is None


def test_extern_kernel_of_python_code_is_a_call() -> None:
    call = call_on(read_wrapper("a.py", "        extern_kernels.mm(arg0_1, arg1_1, out=buf0)"), 1)
    assert call is not None
    assert call.kernel == "extern_kernels.mm"


@pytest.mark.parametrize("line", [0, -1, 10**9])
def test_line_outside_of_the_file_has_no_call(line: int) -> None:
    assert call_on(TWIN, line) is None


# packages


def test_real_package_gives_device_wrappers_and_inputs() -> None:
    found = read_artifact("model.pt2", PT2.read_bytes())
    assert (found.device, found.compute_capability, found.problems) == ("cpu", None, ())
    assert [Path(wrapper.name).suffixes for wrapper in found.wrappers] == [
        [".wrapper", ".cpp"],
        [".kernel", ".cpp"],
    ]
    assert found.wrappers[0].inputs == ("arg3_1", "arg4_1")


def test_loose_file_is_a_package_of_one_source() -> None:
    found = read_artifact("a.wrapper.cpp", WRAPPER.encode())
    assert (found.device, found.problems) == (None, ())
    assert [wrapper.inputs for wrapper in found.wrappers] == [("arg0_1", "arg1_1")]


def test_entries_of_an_old_package_are_found_without_a_prefix() -> None:
    data = _zip({"x.cpp": WRAPPER, "x_metadata.json": '{"AOTI_DEVICE_KEY": "cuda"}'})
    found = read_artifact("old.pt2", data)
    assert (found.device, found.wrappers[0].name) == ("cuda", "old.pt2!x.cpp")


@pytest.mark.parametrize("wrapper_first", [True, False])
def test_metadata_of_the_wrapper_counts_more_than_the_kernels(wrapper_first: bool) -> None:
    wrapper = {
        "m/a.wrapper_metadata.json": '{"AOTI_DEVICE_KEY": "cuda", "AOTI_COMPUTE_CAPABILITY": "90"}'
    }
    kernel = {"m/b.kernel_metadata.json": '{"AOTI_DEVICE_KEY": "cpu"}'}
    entries = wrapper | kernel if wrapper_first else kernel | wrapper
    found = read_artifact("a.pt2", _zip({**entries}))
    assert (found.device, found.compute_capability) == ("cuda", "90")


def test_package_without_metadata_has_no_device() -> None:
    assert read_artifact("a.pt2", _zip({"m/a.wrapper.cpp": WRAPPER})).device is None


def test_compiled_code_and_weights_are_not_read() -> None:
    data = _zip({"m/a.so": b"\x7fELF", "m/weight_0": b"\0" * 100, "m/a.wrapper.cpp": WRAPPER})
    assert [wrapper.name for wrapper in read_artifact("a.pt2", data).wrappers] == [
        "a.pt2!m/a.wrapper.cpp"
    ]


# hostile packages


def test_file_that_is_no_zip_is_a_problem() -> None:
    assert read_artifact("a.pt2", b"\0\1\2") == Package(
        "a.pt2", None, None, (), ("not a zip archive, so no package",)
    )


@pytest.mark.parametrize(
    "data",
    [b"PK", b"PK\3\4 cut", _zip({"a.cpp": WRAPPER})[:40]],
    ids=["magic", "cut-head", "cut-entry"],
)
def test_broken_zip_is_a_problem(data: bytes) -> None:
    found = read_artifact("a.pt2", data)
    assert found.wrappers == ()
    assert [problem.startswith("a broken package: ") for problem in found.problems] == [True]


def test_entry_with_a_bad_checksum_is_a_problem_and_the_rest_is_read() -> None:
    data = _zip({"a.cpp": "damaged!", "b.cpp": WRAPPER}).replace(b"damaged!", b"damaged?", 1)
    found = read_artifact("a.pt2", data)
    assert [wrapper.name for wrapper in found.wrappers] == ["a.pt2!b.cpp"]
    assert [problem.startswith("a.cpp: Bad CRC-32") for problem in found.problems] == [True]


@pytest.mark.parametrize(
    "metadata", ["{", "[]", '{"AOTI_DEVICE_KEY": 1}', '{"a": ' * 5000, b"\xff\xfe"]
)
def test_metadata_that_is_no_table_of_texts_is_a_problem(metadata: str | bytes) -> None:
    found = read_artifact("a.pt2", _zip({"m/a.wrapper_metadata.json": metadata}))
    assert found.device is None
    assert [problem.startswith("m/a.wrapper_metadata.json: ") for problem in found.problems] == [
        True
    ]


def test_names_that_leave_the_archive_are_only_names(tmp_path: Path) -> None:
    data = _zip({"../../evil.py": KERNEL, "/etc/evil.cpp": WRAPPER, "a\0b.py": "x"})
    found = read_artifact(str(tmp_path / "a.pt2"), data)
    assert len(found.wrappers) >= 2
    assert list(tmp_path.rglob("*evil*")) == []


def test_entries_past_the_limit_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_ENTRIES", 2)
    found = read_artifact("a.pt2", _zip({f"{n}.cpp": WRAPPER for n in range(5)}))
    assert len(found.wrappers) == 2
    assert found.problems == ("3 of 5 entries were not read",)


def test_entry_larger_than_the_limit_is_cut_and_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_ENTRY", 40)
    data = _zip({"a.cpp": WRAPPER, "b.cpp": "x"}, zipfile.ZIP_DEFLATED)
    found = read_artifact("a.pt2", data)
    assert found.problems == ("a.cpp: more than 40 bytes; the rest was not read",)
    assert [wrapper.lines for wrapper in found.wrappers] == [
        tuple(WRAPPER[:40].split("\n")),
        ("x",),
    ]


def test_all_entries_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_READ", 50)
    found = read_artifact("a.pt2", _zip({"a.cpp": "x" * 40, "b.cpp": "y" * 40}))
    assert [len(wrapper.lines[0]) for wrapper in found.wrappers] == [40, 10]
    assert found.problems == ("b.cpp: more than 10 bytes; the rest was not read",)


def test_entry_past_the_limit_is_told_by_no_negative_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(package, "MAX_READ", 50)
    found = read_artifact("a.pt2", _zip({f"{n}.cpp": "x" * 60 for n in range(2)}))
    assert found.problems == (
        "0.cpp: more than 50 bytes; the rest was not read",
        "1.cpp: more than 0 bytes; the rest was not read",
    )


def test_damaged_lzma_entry_is_a_problem() -> None:
    data = bytearray(_zip({"a.py": KERNEL * 20}, zipfile.ZIP_LZMA))
    data[60:70] = b"\xff" * 10
    assert len(read_artifact("a.pt2", bytes(data)).problems) == 1


def test_entry_name_that_is_no_utf8_is_a_problem() -> None:
    data = _zip({"m/\u00fc.py": KERNEL}).replace("\u00fc".encode(), b"\xff\xff")
    assert len(read_artifact("a.pt2", data).problems) == 1


def test_directory_that_points_before_the_file_is_a_problem() -> None:
    data = bytearray(_zip({"a.py": KERNEL}))
    directory = data.rindex(b"PK\5\6")
    data[directory + 16 : directory + 20] = (2**31).to_bytes(4, "little")
    assert len(read_artifact("a.pt2", bytes(data)).problems) == 1


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_after_the_magic_never_raise(data: bytes) -> None:
    assert read_artifact("a.pt2", b"PK\3\4" + data).wrappers == ()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_a_wrapper(text: str) -> None:
    assert read_wrapper("a.py", text).lines == tuple(text.split("\n"))


# the library


def _package(name: str, device: str | None, *wrappers: Wrapper) -> Package:
    return Package(name, device, None, wrappers, ())


def _wrapper(name: str, *inputs: str, kernels: dict[str, str] | None = None) -> Wrapper:
    return Wrapper(name, ("    cpp_fused_0(buf0);",), kernels or {}, inputs)


def test_kernel_of_an_asserted_file() -> None:
    library = Library([_package("a.pt2", None, TWIN)])
    assert library.kernel_of(ASSERTED) == "triton_poi_fused_index_relu_1"
    assert library.kernel_of("C:\\cache\\" + Path(ASSERTED).name) == "triton_poi_fused_index_relu_1"


@pytest.mark.parametrize("file", [None, "", "/tmp/other.py", "unknown"])
def test_kernel_of_an_unknown_file_is_none(file: str | None) -> None:
    assert Library([_package("a.pt2", None, TWIN)]).kernel_of(file) is None


def test_packages_that_name_one_source_differently_give_no_kernel() -> None:
    one = _wrapper("a.cpp", kernels={"cabc": "triton_poi_fused_0"})
    other = _wrapper("b.cpp", kernels={"cabc": "triton_poi_fused_7"})
    library = Library([_package("a", None, one), _package("b", None, other)])
    assert library.kernel_of("/tmp/cabc.py") is None


def test_input_name_of_one_package() -> None:
    library = Library([_package("a", None, _wrapper("a.cpp", "x", "y"), _wrapper("k.cpp"))])
    assert [library.input_name(position) for position in (0, 1, 2)] == ["x", "y", None]


def test_packages_that_disagree_on_an_input_give_no_name() -> None:
    library = Library(
        [
            _package("a", None, _wrapper("a.cpp", "x", "y")),
            _package("b", None, _wrapper("b.cpp", "x", "z")),
        ]
    )
    assert [library.input_name(0), library.input_name(1)] == ["x", None]


def test_only_model_with_so_many_inputs_names_one() -> None:
    library = Library(
        [
            _package("a", None, _wrapper("a.cpp", "x", "y")),
            _package("b", None, _wrapper("b.cpp", "z")),
        ]
    )
    assert library.input_name(1) == "y"


def test_check_of_an_input_tells_which_of_two_models_refused_it() -> None:
    text = 'inputs_info_[0].name = "{}";\nif ({}_size[0] > {}) {{\n'
    packages = [
        _package(name, None, read_wrapper(f"{name}.wrapper.cpp", text.format(name, name, limit)))
        for name, limit in (("few", 64), ("many", 4096))
    ]
    library = Library(packages)
    check = partial(may_check, of="dim-upper-bound", dim=0, expected=4096)
    assert library.input_name(0, fits=check) == "many"
    other = partial(may_check, of="dim-upper-bound", dim=0, expected=7)
    assert library.input_name(0, fits=other) is None


def test_wrapper_that_the_failure_names_decides_on_the_input() -> None:
    library = Library(
        [
            _package("a", None, _wrapper("a.pt2!m/cabc.wrapper.cpp", "x")),
            _package("b", None, _wrapper("b.pt2!m/cdef.wrapper.cpp", "y")),
        ]
    )
    assert library.input_name(0, ["/tmp/cache/cdef.wrapper.cpp"]) == "y"
    assert library.input_name(0, ["/tmp/cache/other.wrapper.cpp"]) is None


def test_input_without_a_name_is_unknown() -> None:
    assert Library([_package("a", None, _wrapper("a.cpp", "", "y"))]).input_name(0) is None


def test_device_of_packages_that_agree() -> None:
    library = Library([_package("a", "cuda"), _package("b", "cuda"), _package("c", None)])
    assert library.device == "cuda"


def test_device_of_packages_that_disagree_is_unknown() -> None:
    assert Library([_package("a", "cuda"), _package("b", "cpu")]).device is None


def test_empty_library_knows_nothing() -> None:
    library = Library([])
    assert (library.device, library.input_name(0), library.call_on("a.cpp", 1)) == (
        None,
        None,
        None,
    )


def test_call_on_finds_the_wrapper_by_its_stem() -> None:
    found = Library([_package("a", None, TWIN)]).call_on(f"/other/folder/{TWINS.name}", 1313)
    assert found is not None
    assert (found[0].name, found[1].kernel) == (TWINS.name, "aoti_torch_cuda_mm_out")


def test_wrappers_of_one_name_that_disagree_give_no_call() -> None:
    one = Wrapper("a/x.wrapper.cpp", ("cpp_fused_0(buf0);",), {}, ())
    other = Wrapper("b/x.wrapper.cpp", ("cpp_fused_9(buf0);",), {}, ())
    assert Library([_package("a", None, one, other)]).call_on("x.wrapper.cpp", 1) is None


# unpacked packages, several packages, operators of the proxy executor

TOWER = FIXTURES / "op-second-of-two-mm-with-provenance" / "input"
CRASH = FIXTURES / "crash-gdb-backtrace-custom-op" / "input"


def _unpacked(package: Path, into: Path) -> Path:
    with zipfile.ZipFile(package) as archive:
        archive.extractall(into)
    return into


def test_unpacked_package_tells_as_much_as_the_archive(tmp_path: Path, run: Run) -> None:
    log = str(TOWER / "run.log")
    packed = json.loads(run("-f", "json", log, str(TOWER / "tower.pt2")).stdout)["last_kernel"]
    folder = _unpacked(TOWER / "tower.pt2", tmp_path)
    unpacked = json.loads(run("-f", "json", log, str(folder)).stdout)["last_kernel"]
    assert unpacked["user_stack"] == packed["user_stack"] != []
    assert unpacked["producers"] == packed["producers"] != []


def test_metadata_of_an_unpacked_package_gives_its_device() -> None:
    found = read_artifact("m/a.wrapper_metadata.json", b'{"AOTI_DEVICE_KEY": "cuda"}')
    assert found.device == "cuda"


def test_package_without_generated_code_says_so() -> None:
    assert "no generated code" in read_artifact("a.pt2", _zip({"m/a.so": b"\x7fELF"})).problems[0]


def test_operator_of_the_proxy_executor_is_named_by_the_packages_nodes() -> None:
    package = read_artifact("crash3.pt2", (CRASH / "crash3.pt2").read_bytes())
    assert list(package.extern_ops.values()) == [("mylib.boom",)]
    library = Library([package])
    assert library.custom_ops == ("mylib.boom",)
    [launch] = library.launches_of("aoti_torch_proxy_executor_call_function")
    assert library.origin(launch).aten_ops == ("mylib.boom",)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"nodes": 3}', b'{"nodes": [3, {}]}'])
def test_broken_extern_nodes_name_nothing(data: bytes) -> None:
    library = Library([read_artifact("a.wrapper.json", data)])
    assert library.custom_ops == ()


def test_of_several_packages_with_one_kernel_the_one_that_the_log_names_is_meant() -> None:
    text = "    call_triton_poi_fused_0(arg0_1, buf0, 1L);\n"
    stems = ("c" + "a" * 51, "c" + "b" * 51)
    packages = [_package(name, None, read_wrapper(f"{name}.wrapper.cpp", text)) for name in stems]
    assert Library(packages).launches_of("triton_poi_fused_0") == []
    named = stems_in([f"frame #3: run_impl (0x7f in /tmp/x/{stems[1]}.wrapper.so)"])
    [launch] = Library(packages, named_in_logs=named).launches_of("triton_poi_fused_0")
    assert launch.unit.name.startswith(stems[1])


def _constants(name: str, *pairs: tuple[str, str]) -> Wrapper:
    lines = [
        f'    constants_info_[{at}].{key} = "{value}";'
        for at, (own, fqn) in enumerate(pairs)
        for key, value in (("name", own), ("original_fqn", fqn))
    ]
    return Wrapper(name, tuple(lines), {}, ())


def test_constant_that_a_text_names_has_the_users_name() -> None:
    wrapper = _constants("a.cpp", ("fc_weight", "fc.weight"), ("fc_weight_2", "fc.weight_2"))
    library = Library([_package("a.pt2", None, wrapper)])
    assert library.constant_fqn("Cannot find constants fc_weight in constants_map!") == "fc.weight"
    assert library.constant_fqn("fc_weight_2") == "fc.weight_2"
    assert library.constant_fqn("Constant not found: fc.weight") is None
    assert library.constant_fqn("fc_weight or fc_weight_2") is None


def test_constant_that_packages_name_differently_has_no_users_name() -> None:
    one, other = (_constants(f"{fqn}.cpp", ("w", fqn)) for fqn in ("a.w", "b.w"))
    library = Library([_package("a", None, one), _package("b", None, other)])
    assert library.constant_fqn("w") is None
