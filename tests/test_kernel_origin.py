"""What the code at hand tells of a kernel: call, producers, lines; nothing where it is open."""

from __future__ import annotations

from aoti_logscan.artifacts.library import Library
from aoti_logscan.artifacts.package import read_artifact
from aoti_logscan.kernel_origin import buffer_uses, completed, kernel_report, launch_reports
from aoti_logscan.report import Call, InputRef, Kernel, Producer

WRAPPER = (
    "    arg0_1, arg1_1 = args\n"
    "    # Source Nodes: [a], Original ATen: [aten.sin]\n"
    "    triton_poi_fused_0.run(arg0_1, buf0, 4, stream=0)\n"
    "    buf1 = buf0; del buf0  # reuse\n"
    "    # Source Nodes: [a, b], Original ATen: [aten.sin, aten.mm]\n"
    "    extern_kernels.mm(buf1, arg1_1, out=buf2)\n"
    "    extern_kernels.mm(buf2, arg1_1, out=buf3)\n"
    "    triton_poi_fused_1.run(buf3, buf1, 4, stream=0)\n"
)
KERNELS = "".join(
    f"{name} = async_compile.triton('{name}', '''\n"
    f"def {name}({parameters}, xnumel, XBLOCK : tl.constexpr):\n    pass\n''', device_str='cuda')\n"
    for name, parameters in (
        ("triton_poi_fused_0", "in_ptr0, out_ptr0"),
        ("triton_poi_fused_1", "in_ptr0, in_out_ptr0"),
    )
)
FIRST = KERNELS.count("\n") + 1


def _library(text: str = KERNELS + WRAPPER, name: str = "cabc.py") -> Library:
    return Library([read_artifact(name, text.encode())])


def _kernel(name: str, call: Call | None = None) -> Kernel:
    return Kernel(
        name=name,
        certainty="sure",
        open=None,
        found_by="api-call",
        why="",
        rank=None,
        evidence=None,
        call=call,
    )


def _given(name: str, position: int) -> Producer:
    return Producer(argument=name, kernel=None, input=InputRef(position=position, name=name))


def test_a_kernel_called_once_gets_its_call_and_where_it_comes_from() -> None:
    found = completed(_kernel("triton_poi_fused_1"), _library())
    assert found.call == Call(
        "cabc.py", FIRST + 7, "triton_poi_fused_1.run(buf3, buf1, 4, stream=0)"
    )
    assert found.producers == (
        Producer(argument="buf3", kernel="extern_kernels.mm", input=None),
        Producer(argument="buf1", kernel="triton_poi_fused_0", input=None),
    )


def test_inputs_are_producers_of_their_own() -> None:
    found = completed(_kernel("triton_poi_fused_0"), _library())
    assert found.producers == (_given("arg0_1", 0),)
    assert (found.source_nodes, found.aten_ops) == (("a",), ("aten.sin",))


def test_of_several_calls_the_line_decides() -> None:
    assert completed(_kernel("extern_kernels.mm"), _library()).producers == ()
    call = Call("/tmp/torchinductor_u/ab/cabc.py", FIRST + 5, "extern_kernels.mm(...)")
    found = completed(_kernel("extern_kernels.mm", call), _library())
    assert found.call == call
    assert found.producers == (
        Producer(argument="buf1", kernel="triton_poi_fused_0", input=None),
        _given("arg1_1", 1),
    )
    assert found.source_nodes == ("b",)


def test_a_kernel_that_is_not_at_hand_stays_as_it_is() -> None:
    kernel = _kernel("triton_poi_fused_9")
    assert completed(kernel, _library()) == kernel


def test_wrappers_of_two_models_do_not_say_which() -> None:
    packages = [read_artifact(f"{name}.py", (KERNELS + WRAPPER).encode()) for name in ("a", "b")]
    kernel = _kernel("triton_poi_fused_1")
    assert completed(kernel, Library(packages)) == kernel


def test_calls_are_listed_in_order_where_nothing_was_marked() -> None:
    found = launch_reports((), _library())
    assert [(one.index, one.kernel, one.line) for one in found] == [
        (0, "triton_poi_fused_0", FIRST + 2),
        (1, "extern_kernels.mm", FIRST + 5),
        (2, "extern_kernels.mm", FIRST + 6),
        (3, "triton_poi_fused_1", FIRST + 7),
    ]


def test_one_kernel_whole() -> None:
    found = kernel_report("triton_poi_fused_0", (), _library())
    assert found is not None
    assert found.code is not None
    assert "def triton_poi_fused_0(" in found.code
    assert [one.index for one in found.launches] == [0]
    assert kernel_report("triton_poi_fused_9", (), _library()) is None


def test_a_buffer_is_followed_whatever_it_is_called() -> None:
    told = [(one.kernel, one.buffer, one.role) for one in buffer_uses("buf0", _library())]
    assert told == [
        ("triton_poi_fused_0", "buf0", "written"),
        ("extern_kernels.mm", "buf1", "read"),
        ("triton_poi_fused_1", "buf1", "updated"),
    ]
    assert [one.buffer for one in buffer_uses("buf1", _library())] == ["buf0", "buf1", "buf1"]
    assert buffer_uses("buf77", _library()) == []
