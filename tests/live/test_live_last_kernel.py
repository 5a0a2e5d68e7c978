"""The last kernel of a real run, by marks of the value printer and by the failed call."""

from __future__ import annotations

from zipfile import ZipFile

import pytest

from tests.live.conftest import Crash, Job, Piped, Printing

pytestmark = pytest.mark.live

#: 2 * sin(1), in each of the 16 columns that the product sums
SINE = 1.682942


def test_last_mark_on_a_terminal_came_back_before_the_crash(
    printing: Printing, piped: Piped
) -> None:
    report = piped(printing.on_terminal(3))
    assert report["verdict"]["class"] == "host-crash"
    last = report["last_kernel"]
    assert (last["name"], last["found_by"]) == ("aoti_torch_cpu_mm_out", "printer")
    assert last["open"] is False
    assert last["launch_index"] == 1


def test_marks_lost_in_a_pipe_name_no_kernel(printing: Printing, piped: Piped) -> None:
    text = printing.in_pipe(3)
    assert "_launch:" not in text
    report = piped(text, "--package", str(printing.folder / "level3.pt2"), "-")
    assert report["verdict"]["class"] == "host-crash"
    assert report["last_kernel"] is None


def test_printed_values_of_the_last_kernel_are_its_arguments(
    printing: Printing, piped: Piped
) -> None:
    last = piped(printing.on_terminal(2))["last_kernel"]
    assert (last["name"], last["open"]) == ("aoti_torch_cpu_mm_out", False)
    printed = {(one["name"], one["phase"]): one for one in last["arguments"]}
    product = printed["buf1", "after"]
    assert (product["dtype"], product["device"]) == ("float32", "cpu")
    assert (product["size"], product["stride"], product["numel"]) == ([4, 2], [2, 1], 8)
    assert product["mean"] == pytest.approx(16 * SINE, rel=1e-4)
    assert printed["buf0", "before"]["max"] == pytest.approx(SINE, rel=1e-4)


def test_last_values_are_cut_short_in_a_pipe(printing: Printing, piped: Piped) -> None:
    last = piped(printing.in_pipe(2))["last_kernel"]
    assert last["name"] == "aoti_torch_cpu_mm_out"
    assert last["certainty"] != "sure"


def test_unchecked_shim_call_is_named_with_its_line(crash: Crash, piped: Piped, job: Job) -> None:
    report = piped(crash("shape"), "--package", str(job.package), "-")
    last = report["last_kernel"]
    assert (last["found_by"], last["certainty"]) == ("api-call", "sure")
    with ZipFile(job.package) as package:
        [wrapper] = [name for name in package.namelist() if name.endswith(".wrapper.cpp")]
        line = package.read(wrapper).decode().split("\n")[last["call"]["line"] - 1]
    assert f"AOTI_TORCH_ERROR_CODE_CHECK({last['name']}(" in line
