"""Out of memory: every allocator, the system that ends a process for it, and no look-alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from aoti_logscan.parsers import out_of_memory
from tests.parsers.conftest import DRESSED, around, events, every_cut, one, told

LINE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.75 GiB. GPU 1 has a total"
    " capacity of 39.38 GiB of which 1.02 GiB is free.\n"
)


def _told(device: str, requested: str | None, **more: Any) -> dict[str, Any]:
    fields = {"device": device, "requested": requested, "told_by": "allocator", "handled": False}
    return {"is": "OutOfMemory"} | {k: v for k, v in (fields | more).items() if v is not None}


@DRESSED
def test_dress_of_the_line_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(LINE), out_of_memory)) == _told("cuda:1", "3.75 GiB")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "CUDA out of memory. Tried to allocate 1.12 GiB (GPU 3; 15.77 GiB total capacity;",
            _told("cuda:3", "1.12 GiB"),
        ),
        (
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU \n2 has a total",
            _told("cuda:2", "2.00 MiB"),
        ),
        (
            "CUDA out of memory. Tried to allocate more than 1EB memory.",
            _told("cuda", "more than 1EB"),
        ),
        (
            "HIP out of memory. Tried to allocate 512 bytes. GPU 7 has a total",
            _told("cuda:7", "512 bytes"),
        ),
        ("XPU out of memory. Tried to allocate 4.66 GiB. GPU 0 has", _told("xpu:0", "4.66 GiB")),
        (
            "MPS backend out of memory (MPS allocated: 16.00 GB, max allowed: 18.13 GB). Tried to"
            " allocate 256 bytes on shared pool.",
            _told("mps", "256 bytes"),
        ),
        (
            "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate"
            " memory: you tried to allocate 132426121216 bytes. Error code 12",
            _told("cpu", "132426121216 bytes"),
        ),
        (
            "DefaultCPUAllocator: not enough memory: you tried to allocate 1981808640 bytes.",
            _told("cpu", "1981808640 bytes"),
        ),
        ("  what():  std::bad_alloc", _told("cpu", None)),
        (
            "RuntimeError: unable to mmap 64 bytes from file </x>: Cannot allocate memory (12)",
            _told("cpu", "64 bytes"),
        ),
        ("OSError: [Errno 12] Cannot allocate memory", _told("cpu", None)),
        (
            "Out of memory: Kill process 4242 (python3) score 912 or sacrifice child",
            _told("cpu", None, told_by="system"),
        ),
        (
            "slurmstepd: error: Detected 8 oom-kill event(s) in step 59137890.batch cgroup.",
            _told("cpu", None, told_by="system"),
        ),
        ("srun: error: node107: task 0: Out Of Memory", _told("cpu", None, told_by="system")),
        ("      Reason:       OOMKilled", _told("cpu", None, told_by="system")),
        (
            "x.service: A process of this unit has been killed by the OOM killer.",
            _told("cpu", None, told_by="system"),
        ),
        ('            "OOMKilled": true,', _told("cpu", None, told_by="system")),
    ],
)
def test_who_refused_and_how_much(text: str, expected: dict[str, Any]) -> None:
    assert told(one(text + "\n", out_of_memory)) == expected


def test_killed_process_is_the_one_that_is_named() -> None:
    text = "[7012345.6] Memory cgroup out of memory: Killed process 4242 (python) total-vm:9kB\n"
    assert one(text, out_of_memory).process == "4242"


@pytest.mark.parametrize("level", ["WARNING", "WARN", "INFO"])
def test_line_below_the_level_of_an_error_is_handled(level: str) -> None:
    event = one(f"2026-02-11 08:09:10 | {level} | trainer | retry: {LINE}", out_of_memory)
    assert told(event)["handled"]


@pytest.mark.parametrize(
    "text",
    [
        '          "CUDA out of memory. Tried to allocate ",\n',
        '    if "CUDA out of memory. Tried to allocate 2.00 GiB" in str(e):\n',
        "* Avoid `CUDA out of memory. Tried to allocate 2.00 GiB` on small cards\n",
        '[{"State": {"OOMKilled": false}}]\n',
        "catch (const std::bad_alloc& e) {\n",
        "the queue is full: Out Of Memory is not an option\n",
        "bash: fork: Cannot allocate memory\n",
    ],
)
def test_talk_and_code_are_no_failure(text: str) -> None:
    assert events(text, out_of_memory) == []


def test_every_cut_is_read() -> None:
    assert all(event.place.line == 1 for event in every_cut(LINE, out_of_memory))


@settings(max_examples=200, deadline=None)
@given(around(*out_of_memory.ANCHORS))
def test_any_bytes_are_read(data: bytes) -> None:
    events(data, out_of_memory)
