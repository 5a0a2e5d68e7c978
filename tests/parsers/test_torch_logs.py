"""torch's own log lines: dumped code hides what stands in it, known red herrings are named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import DeviceInformation, GeneratedCode, GpuError, Harmless
from aoti_logscan.parsers import torch_logs
from tests.conftest import FIXTURES
from tests.parsers.conftest import DRESSED, WRAPPER_CPP, around, events, one, scan, told

ERROR = "RuntimeError: CUDA error: misaligned address\n"
DEVICE = (
    "W1130 06:29:53.164000 16210 torch/export/pt2_archive/_package.py:1054] Device information"
    " mismatch for AOTI_COMPUTE_CAPABILITY: 100 vs 90. This could cause some issues when loading"
    " the AOTInductor compiled artifacts.\n"
)
DEVICE_TOLD = {
    "is": "DeviceInformation",
    "key": "AOTI_COMPUTE_CAPABILITY",
    "here": "100",
    "package": "90",
}


# what is hidden


@pytest.mark.parametrize(
    "head",
    [
        "V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [0/0] [__output_code] ",
        "[rank1]:V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [0/0] [__output_code] ",
        "V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [!1/0/0_1] [__aot_graphs] ",
        "I1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] ",
        "D1130 06:29:53.164000 16210 m.py:12] ",
        "W1130 06:29:53.164000 16210 torch/_dynamo/x.py:7] [0/1] [__recompiles] ",
        "E0718 09:12:40.511000 60233 torch/_inductor/select_algorithm.py:2100] [8/6] ",
        "[2023-11-05 10:11:12,345] [0/0] torch._inductor.graph.__output_code: [DEBUG] ",
        "[2023-11-05 10:11:12,345] torch._inductor.graph: [INFO] ",
    ],
    ids=["output-code", "rank", "graphs", "info", "debug", "tagged", "autotune", "old", "old-info"],
)
def test_line_of_code_or_talk_hides_an_error_in_it(head: str) -> None:
    quoted = ERROR.replace("misaligned address", "out of memory")
    assert events(head + quoted) == []


@pytest.mark.parametrize(
    "head",
    [
        "E1130 06:29:53.164000 16210 torch/_inductor/x.py:2722] [0/0] ",
        "W1130 06:29:53.164000 16210 torch/_inductor/x.py:2722] ",
        "[2023-11-05 10:11:12,345] torch._inductor.x: [ERROR] ",
        "V1130 this is no log line] ",
    ],
    ids=["error", "warning", "old-error", "no-log"],
)
def test_line_of_an_error_hides_nothing(head: str) -> None:
    event = one(head + ERROR)
    assert isinstance(event, GpuError)
    assert event.message == "misaligned address"


def test_line_after_a_dumped_one_is_not_hidden() -> None:
    dumped = "V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [__output_code] x = 1\n"
    assert one(dumped + ERROR).place.line == 2


@pytest.mark.parametrize(
    "poison", ["an illegal memory access was encountered", "misaligned address"]
)
def test_rejected_choice_that_poisons_the_context_is_not_hidden(poison: str) -> None:
    head = "E0718 09:12:40.511000 60233 torch/_inductor/select_algorithm.py:2100] [8/6] "
    event = one(f"{head}CUDA error: {poison}\n")
    assert isinstance(event, GpuError)
    assert event.message == poison


def test_dumped_output_code_with_asserts_gives_nothing() -> None:
    log = FIXTURES / "none-assert-text-only-in-output-code" / "input" / "compile.log"
    (code,) = events(log.read_bytes())
    assert isinstance(code, GeneratedCode)
    assert (code.language, code.part) == ("python", "wrapper")
    assert code.text.startswith("# AOT ID: ['0_inference']\nimport torch\n")
    assert code.text.endswith("    return (buf0, )")


# what is told


def test_other_machine_has_this_one_first_and_the_package_second() -> None:
    event = one(DEVICE, torch_logs)
    assert told(event) == DEVICE_TOLD
    assert event.process == "16210"


def test_values_of_another_machine_may_hold_blanks() -> None:
    text = "Device information mismatch for AOTI_CPU_ISA: AVX512 AMX_TILE vs AVX2. This could\n"
    event = one(text, torch_logs)
    assert isinstance(event, DeviceInformation)
    assert (event.here, event.package) == ("AVX512 AMX_TILE", "AVX2")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (
            "W1130 06:29:53.164000 1 torch/x.py:3] Loading outdated pt2 file. Please",
            "outdated-package",
        ),
        ("[WARNING] Could not dlsym AOTInductorModelFoo. This is okay if", "dlsym"),
        ("/opt/amdgpu/share/libdrm/amdgpu.ids: No such file or directory", "libdrm"),
        (
            "E0718 09:12:40.511000 6 torch/_inductor/other.py:1] Ignoring this choice.",
            "autotune-reject",
        ),
    ],
)
def test_red_herring_is_harmless(text: str, form: str) -> None:
    event = one(text + "\n", torch_logs)
    assert isinstance(event, Harmless)
    assert event.form == form


def test_choice_that_is_ignored_is_told_though_its_line_is_owned() -> None:
    log = FIXTURES / "harmless-autotune-choice-ignored" / "input" / "bench.log"
    (event,) = events(log.read_bytes())
    assert told(event) == {"is": "Harmless", "form": "autotune-reject"}
    assert (event.rank, event.place.line) == (0, 9)


@DRESSED
def test_dress_of_the_line_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(DEVICE), torch_logs)) == DEVICE_TOLD


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", torch_logs) == ((), 0, {}, ())


def test_device_information_cut_before_its_sentence_gives_nothing() -> None:
    assert events(DEVICE.partition(" This")[0], torch_logs) == []


@pytest.mark.parametrize(
    "text",
    [
        '    logger.warning("Device information mismatch for %s: %s vs %s. This could cause", k)\n',
        "Ignoring this option\n",
        WRAPPER_CPP,
    ],
    ids=["source", "prose", "wrapper"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, torch_logs) == []


@settings(max_examples=80, deadline=None)
@given(
    around(
        *torch_logs.ANCHORS,
        b"V1130 06:29:53.164000 16210 torch/x.py:1] [0/0] [__output_code] ",
        b"AOTI_X: 1 vs 2. This",
        b"CUDA error: misaligned address",
    )
)
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data).size == len(data)


WARNED = "W0922 07:01:44.120000 991 torch/_inductor/codecache.py:1716] [0/0] "


def _warned(error: str, head: str = WARNED) -> str:
    lines = (
        "could not load an entry",
        "Traceback (most recent call last):",
        '  File "/venv/lib/python3.11/site-packages/torch/_inductor/codecache.py", line 9, in f',
        "    g()",
        error,
    )
    return "".join(f"{head}{line}\n" for line in lines)


@pytest.mark.parametrize(
    "error",
    [
        "ModuleNotFoundError: No module named 'mylib'",
        "torch._inductor.exc.InductorError: CppCompileError: C++ compile error",
        "RuntimeError: Triton Error [CUDA]: out of memory",
    ],
)
@pytest.mark.parametrize("rank", ["", "[rank1]:"])
def test_exception_that_torch_warned_of_is_harmless(error: str, rank: str) -> None:
    found = events(_warned(error, rank + WARNED))
    assert [told(event) for event in found] == [{"is": "Harmless", "form": "exception-logged"}]


@pytest.mark.parametrize(
    ("error", "head"),
    [
        ("RuntimeError: CUDA error: an illegal memory access was encountered", WARNED),
        ("RuntimeError: boom", WARNED.replace("W0922", "E0922")),
        ("RuntimeError: boom", "W0922 07:01:44.120000 991 torch/export/__init__.py:348] "),
    ],
)
def test_exception_that_is_not_got_over_is_told(error: str, head: str) -> None:
    found = [type(event).__name__ for event in events(_warned(error, head))]
    assert "PythonException" in found
    assert "Harmless" not in found


def test_line_after_the_warning_is_its_own() -> None:
    error = "torch.AcceleratorError: CUDA error: misaligned address\n"
    found = [type(event).__name__ for event in events(_warned("KeyError: 1") + error)]
    assert found == ["Harmless", "GpuError"]


def test_choice_without_resources_is_rejected() -> None:
    text = "out of resource: shared memory, Required: 131072, Hardware limit: 101376."
    head = "W0306 14:40:15.990000 171 torch/_inductor/select_algorithm.py:1517] [2/0] "
    assert told(one(head + text + "\n")) == {"is": "Harmless", "form": "autotune-reject"}
    assert all(not isinstance(event, Harmless) for event in events(text + "\n"))
