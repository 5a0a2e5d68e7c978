"""Reports of the GPU's kernel driver: page faults of programs, and Xids that end their work."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.parsers import kernel_log
from tests.conftest import Diagnose
from tests.parsers.conftest import DRESSED, around, events, every_cut, one, scan, told

FAULT = (
    "amdgpu 0000:0b:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32792)\n"
    "amdgpu 0000:0b:00.0: amdgpu:  Process python pid 91762 thread python pid 91762\n"
    "amdgpu 0000:0b:00.0: amdgpu:   in page starting at address 0x00007f2a5318b000 from client 10\n"
    "amdgpu 0000:0b:00.0: amdgpu: GCVM_L2_PROTECTION_FAULT_STATUS:0x00800932\n"
)
XID = (
    "NVRM: Xid (PCI:0000:3d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
)
TOLD_FAULT = {
    "is": "GpuError",
    "runtime": "hip",
    "message": "[gfxhub] page fault",
    "reported_by": "kernel-driver",
    "warning": False,
    "address": "0x00007f2a5318b000",
}


def test_page_fault_has_its_address_and_process() -> None:
    event = one(FAULT, kernel_log)
    assert told(event) == TOLD_FAULT
    assert (event.process, event.place.line) == ("91762", 1)


def test_page_fault_of_older_drivers_names_the_process_in_its_headline() -> None:
    text = (
        "[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32777, for process"
        " pt_main_thread pid 2424 thread pt_main_thread pid 2425)\n"
        "  in page starting at address 0x0000800102800000 from IH client 0x1b (UTCL2)\n"
    )
    event = one(text, kernel_log)
    assert told(event)["message"] == "[gfxhub0] no-retry page fault"
    assert (told(event)["address"], event.process) == ("0x0000800102800000", "2424")


def test_line_of_another_writer_between_is_passed_over() -> None:
    lines = FAULT.splitlines(keepends=True)
    text = lines[0] + "systemd-coredump[13]: Process 91762 (python) of user 6 is dumped\n"
    assert told(one(text + "".join(lines[1:]), kernel_log)) == TOLD_FAULT


def test_headline_alone_is_a_fault_without_an_address() -> None:
    headline = told(one(FAULT.split("\n")[0] + "\n", kernel_log))
    assert headline == {key: value for key, value in TOLD_FAULT.items() if key != "address"}


def test_address_alone_is_a_fault() -> None:
    text = FAULT.splitlines(keepends=True)[2]
    assert told(one(text, kernel_log)) == {**TOLD_FAULT, "message": "page fault"}


def test_each_fault_has_its_own_address() -> None:
    text = FAULT + FAULT.replace("0x00007f2a5318b000", "0x00007f2a00000000")
    found = [told(event)["address"] for event in events(text, kernel_log)]
    assert found == ["0x00007f2a5318b000", "0x00007f2a00000000"]


def test_fault_of_the_driver_itself_is_no_failure_of_a_program() -> None:
    assert events(FAULT.replace("vmid:8", "vmid:0"), kernel_log) == []


@pytest.mark.parametrize(
    ("line", "message", "process"),
    [
        (XID, "Xid 79: GPU has fallen off the bus", None),
        (
            "NVRM: Xid (PCI:0000:3b:00.0): 79, pid=2113, GPU has fallen off the bus.",
            "Xid 79: GPU has fallen off the bus",
            "2113",
        ),
        (
            "NVRM: Xid (0000:03:00): 48, An uncorrectable double bit error (DBE) has been detected",
            "Xid 48: An uncorrectable double bit error (DBE) has been detected",
            None,
        ),
        (
            "NVRM: Xid (PCI:0000:61:00): 119, pid=123417, name=nv-hostengine, Timeout after 6s of"
            " waiting for RPC response from GPU0 GSP!",
            "Xid 119: Timeout after 6s of waiting for RPC response from GPU0 GSP!",
            "123417",
        ),
        (
            "NVRM: Xid (PCI:0000:c5:00): 43, pid=260761, name=python, Ch 00000008",
            "Xid 43: Ch 00000008",
            "260761",
        ),
    ],
)
def test_xid_is_told_with_its_number(line: str, message: str, process: str | None) -> None:
    event = one(line.strip() + "\n", kernel_log)
    assert told(event) == {
        "is": "GpuError",
        "runtime": "cuda",
        "message": message,
        "reported_by": "kernel-driver",
        "warning": False,
    }
    assert event.process == process


@DRESSED
def test_dress_of_the_lines_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(FAULT), kernel_log)) == TOLD_FAULT
    assert told(one(dress(XID), kernel_log))["message"] == "Xid 79: GPU has fallen off the bus"


def test_fault_is_an_illegal_access_and_the_abort_after_it_a_consequence(
    diagnose: Diagnose,
) -> None:
    text = FAULT + (
        "systemd-coredump[134090]: Process 91762 (python) of user 60105 terminated abnormally with"
        " signal 6/ABRT, processing...\n"
    )
    report = diagnose(text)
    roles = [(finding["class"], finding["role"]) for finding in report["findings"]]
    assert roles == [("illegal-memory-access", "cause"), ("host-crash", "consequence")]


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert events("", kernel_log) == []


def test_cut_at_any_byte_invents_no_address() -> None:
    addresses = {told(event).get("address") for event in every_cut(FAULT, kernel_log)}
    assert addresses == {None, "0x00007f2a5318b000"}


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping\n",
        "NVRM: Xid (PCI:0000:10:1c): 45, pid=1896, name=python, Ch 00000008\n",
        "NVRM: Xid (PCI:0000:db:00): 31, pid=13641, Ch 8, intr 0. MMU Fault: ENGINE GRAPHICS\n",
        "NVRM: Xid (PCI:0000:3b:00): 999\n",
        "NVRM: GPU at PCI:0000:3d:00: GPU-4a28de72-2645-de9a-eb35-a394cef3f4da\n",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.82.09\n",
        '    parse(["NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."])\n',
        "- `NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.` is hardware\n",
        '    dev_err(dev, "  in page starting at address 0x%016llx from client %d\\n", addr);\n',
        '    "[%s] page fault (src_id:%u ring:%u vmid:%u pasid:%u)\\n",\n',
    ],
    ids=["remap", "cleanup", "mmu", "number", "name", "load", "test", "prose", "driver", "format"],
)
def test_harmless_and_quoted_lines_give_nothing(text: str) -> None:
    assert events(text, kernel_log) == []


def test_hostile_line_is_read_in_linear_time() -> None:
    began = time.monotonic()
    for anchor in kernel_log.ANCHORS:
        scan(anchor * (300_000 // len(anchor)) + b"\n", kernel_log)
        scan((anchor + b"\n") * 5_000, kernel_log)
    assert time.monotonic() - began < 20


@settings(max_examples=80, deadline=None)
@given(around(*kernel_log.ANCHORS, b"[gfxhub]", b"vmid:8 pasid:1)", b"PCI:0): 79, ", b" from "))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, kernel_log).size == len(data)
