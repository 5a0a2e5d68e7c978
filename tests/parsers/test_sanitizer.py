"""compute-sanitizer's blocks: the access, where it stands, and nothing of another block."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.parsers import sanitizer
from tests.conftest import Diagnose
from tests.parsers.conftest import (
    DRESSED,
    TOO_MANY_DIGITS,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
    told,
)

FILE = "/tmp/torchinductor_dev/v4/cv4gmwzdenqija7i752ns467gzvdkfacn7ofqa4zwvfs7xmzv74f.py"
BLOCK = (
    "========= Invalid __global__ read of size 16 bytes\n"
    f"=========     at triton_poi_fused_index_select_2+0x3d0 in {FILE}:294\n"
    "=========     by thread (41,0,0) in block (7,0,0)\n"
    "=========     Access to 0x7f31c8400a44 is out of bounds\n"
    "=========     and is 69 bytes after the nearest allocation at 0x7f31c8400000 of size 2,560\n"
    "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
    "=========         Host Frame: cuLaunchKernelEx [0x36a01f] in libcuda.so.1\n"
)
TOLD = {
    "is": "SanitizerError",
    "problem": "Invalid __global__ read",
    "access": "read",
    "size": 16,
    "address": "0x7f31c8400a44",
    "kernel": "triton_poi_fused_index_select_2",
    "file": FILE,
    "line": 294,
    "misaligned": False,
}


def test_block_names_access_kernel_file_and_address() -> None:
    assert told(one(BLOCK, sanitizer)) == TOLD


def test_old_block_has_the_kernel_after_the_line() -> None:
    text = (
        "========= Invalid __global__ write of size 8\n"
        "=========     at 0xda0 in /src/fused_moe.py:175:fused_moe_kernel\n"
        "=========     by thread (0,0,0) in block (0,0,0)\n"
        "=========     Address 0x763995f9f000 is out of bounds\n"
    )
    assert told(one(text, sanitizer)) == {
        "is": "SanitizerError",
        "problem": "Invalid __global__ write",
        "access": "write",
        "size": 8,
        "address": "0x763995f9f000",
        "kernel": "fused_moe_kernel",
        "file": "/src/fused_moe.py",
        "line": 175,
        "misaligned": False,
    }


def test_oldest_block_has_the_kernel_without_a_file() -> None:
    text = BLOCK.split("\n")[0] + "\n=========     at 0x00000da0 in scatter(int*, float)\n"
    event = told(one(text, sanitizer))
    assert (event["kernel"], "file" in event, "line" in event) == ("scatter", False, False)


@pytest.mark.parametrize(
    ("signature", "kernel"),
    [
        ("bulk_copy_range(unsigned char *, int)", "bulk_copy_range"),
        ("void ns::kernel<(int)4, float>(T1 *, int)", "ns::kernel<(int)4, float>"),
        ("void kernel", "kernel"),
        ("triton_red_fused_mean_4", "triton_red_fused_mean_4"),
    ],
)
def test_signature_is_no_part_of_the_kernel(signature: str, kernel: str) -> None:
    text = f"========= Invalid __global__ read of size 4\n=========     at {signature}+0x120\n"
    assert told(one(text, sanitizer))["kernel"] == kernel


def test_access_of_unknown_kind_is_neither_read_nor_write() -> None:
    text = "========= Invalid __shared__ ? of size 2,048 bytes\n"
    assert told(one(text, sanitizer)) == {
        "is": "SanitizerError",
        "problem": "Invalid __shared__ ?",
        "size": 2048,
        "misaligned": False,
    }


def test_misaligned_stands_in_the_headline_or_with_the_address() -> None:
    headline = one("========= Misaligned __shared__ atomic of size 4\n", sanitizer)
    assert (told(headline)["misaligned"], told(headline).get("access")) == (True, None)
    below = one(BLOCK.replace("is out of bounds", "is misaligned"), sanitizer)
    assert told(below) == {**TOLD, "misaligned": True}


def test_block_of_the_next_error_is_not_read() -> None:
    text = (
        "========= Invalid __global__ read of size 4\n========= Invalid __local__ write of size 8\n"
    )
    block = text + BLOCK.split("\n", 1)[1]
    kernels = [told(event).get("kernel") for event in events(block, sanitizer)]
    assert kernels == [None, "triton_poi_fused_index_select_2"]


def test_program_hit_ends_the_block() -> None:
    text = BLOCK.split("\n")[0] + "\n========= Program hit cudaErrorLaunchFailure (error 719)\n"
    assert told(one(text + BLOCK.split("\n", 1)[1], sanitizer)).get("kernel") is None


@DRESSED
def test_dress_of_the_block_changes_nothing(dress: Callable[[str], str]) -> None:
    assert told(one(dress(BLOCK), sanitizer)) == TOLD


def test_lines_of_other_writers_in_the_block_are_passed_over() -> None:
    head, rest = BLOCK.split("\n", 1)
    assert told(one(f"{head}\nstep 3 loss 1.2\n{rest}", sanitizer)) == TOLD


def test_blocks_of_two_ranks_are_told_apart() -> None:
    text = (
        "[rank0]: ========= Invalid __global__ read of size 4 bytes\n"
        "[rank1]: =========     at other_kernel+0x10 in /t/other.py:9\n"
        "[rank0]: =========     at my_kernel+0x3d0 in /t/my.py:29\n"
    )
    event = one(text, sanitizer)
    assert (event.rank, told(event)["kernel"]) == (0, "my_kernel")


def test_equal_blocks_of_other_threads_are_counted() -> None:
    event = one(BLOCK + BLOCK.replace("(41,0,0)", "(42,0,0)"), sanitizer)
    assert (event.count, event.last and event.last.line) == (2, 8)


# other tools, and the count


@pytest.mark.parametrize(
    ("text", "problem", "where"),
    [
        (
            "========= Uninitialized __global__ memory read of size 4 bytes\n"
            "=========     at vectorAdd(int *)+0x70 in /src/memset_error.cu:41\n"
            "=========     by thread (31,0,0) in block (1,0,0)\n",
            "Uninitialized __global__ memory read",
            ("vectorAdd", "/src/memset_error.cu", 41),
        ),
        (
            "========= Error: Race reported between Write access at ns::sum(int *, int)+0x90 in"
            " /src/r.cu:13\n=========     and Read access at ns::sum(int *, int)+0xa0 in"
            " /src/r.cu:14 [2048 hazards]\n",
            "Race reported between Write access",
            ("ns::sum", "/src/r.cu", 13),
        ),
        (
            "========= ERROR: Race reported between Write access at 0x00000050 in"
            " /src/r.cu:53:sumKernel(int *, int *)\n",
            "Race reported between Write access",
            ("sumKernel", "/src/r.cu", 53),
        ),
        (
            "========= Race reported between Read access at my_kernel+0x140\n",
            "Race reported between Read access",
            ("my_kernel", None, None),
        ),
        (
            "========= ERROR: Potential WAW hazard detected at __shared__ 0x0 in block (0,0,0) :\n"
            "=========     Write Thread (0,0,0) at WAW()+0x2f0 in raceWAW.cu:20\n",
            "Potential WAW hazard detected at __shared__",
            ("WAW", "raceWAW.cu", 20),
        ),
        (
            "========= Barrier error detected. Divergent thread(s) in warp\n"
            "=========     at 0x00000058 in test(int*, int*)\n",
            "Barrier error detected. Divergent thread(s) in warp",
            ("test", None, None),
        ),
        ("========= ERROR SUMMARY: 1 error\n", "ERROR SUMMARY: 1 error", (None, None, None)),
        (
            "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n",
            "RACECHECK SUMMARY: 2 hazards displayed (2 errors",
            (None, None, None),
        ),
    ],
    ids=["initcheck", "race", "old-race", "bare-race", "hazard", "barrier", "count", "races"],
)
def test_other_tools_name_the_problem_and_the_place(
    text: str, problem: str, where: tuple[str | None, str | None, int | None]
) -> None:
    event = told(one(text, sanitizer))
    assert event["problem"] == problem
    assert (event.get("kernel"), event.get("file"), event.get("line")) == where
    assert event["misaligned"] is False


def test_address_of_an_uninitialised_read_stands_alone() -> None:
    text = (
        "========= Uninitialized __global__ memory read of size 4 bytes\n"
        "=========     at k+0x70 in /s/m.cu:4\n=========     Address 0x7f3c7ec000fc\n"
    )
    event = told(one(text, sanitizer))
    assert (event["address"], event["access"], event["size"]) == ("0x7f3c7ec000fc", "read", 4)


@pytest.mark.parametrize(
    "text",
    [
        "========= Uninitialized __global__ memory read of size 4\n"
        "=========     at triton_poi_fused_add_0+0x20 in /tmp/c.py:4\n",
        "========= Error: Race reported between Write access at triton_poi_fused_add_0+0x90\n",
    ],
    ids=["initcheck", "race"],
)
def test_report_of_another_tool_is_undecided_with_its_kernel(diagnose: Diagnose, text: str) -> None:
    report = diagnose(text + "========= ERROR SUMMARY: 1 error\n")
    assert report["verdict"]["class"] == "undecided"
    assert report["findings"][0]["facts"]["kernel"] == "triton_poi_fused_add_0"
    assert report["last_kernel"]["name"] == "triton_poi_fused_add_0"


def test_count_of_errors_alone_is_undecided(diagnose: Diagnose) -> None:
    report = diagnose("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 3 errors\n")
    assert (report["verdict"]["class"], report["last_kernel"]) == ("undecided", None)


def test_count_after_a_bad_access_is_its_consequence(diagnose: Diagnose) -> None:
    report = diagnose(BLOCK + "========= ERROR SUMMARY: 1 error\n")
    roles = [(finding["class"], finding["role"]) for finding in report["findings"]]
    assert roles == [("illegal-memory-access", "cause"), ("undecided", "consequence")]


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", sanitizer) == ((), 0, {}, ())


def test_headline_alone_is_an_event_without_a_place() -> None:
    assert told(one(BLOCK.split("\n")[0], sanitizer)) == {
        "is": "SanitizerError",
        "problem": "Invalid __global__ read",
        "access": "read",
        "size": 16,
        "misaligned": False,
    }


def test_cut_at_any_byte_invents_no_kernel_or_file() -> None:
    found = [told(event) for event in every_cut(BLOCK, sanitizer)]
    assert {event.get("kernel") for event in found} <= {None, TOLD["kernel"]}
    assert {event.get("file") for event in found} <= {None, FILE}


def test_headline_cut_inside_its_kind_of_access_gives_nothing() -> None:
    problems = {told(event)["problem"] for event in every_cut(BLOCK, sanitizer)}
    assert problems == {"Invalid __global__ read"}


@pytest.mark.parametrize(
    "text",
    [
        "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n",
        '========= Program hit cudaErrorLaunchFailure (error 719) due to "launch" on CUDA API\n',
        "=========     Address 0x763995f9f000 is out of bounds\n",
        "========= Invalid __global__\n",
        "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n",
        "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n",
        "========= Warning: Race reported between Read access at k(int *, int)+0x60\n",
        "========= Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__\n",
        "Race reported between Write access and a lock, as the paper has it\n",
        "========= LEAK SUMMARY: 0 bytes leaked in 0 allocations\n",
        WRAPPER_CPP,
    ],
    ids=[
        "healthy",
        "program-hit",
        "address-alone",
        "no-access",
        "no-race",
        "warnings",
        "race-warning",
        "hazard-warning",
        "prose",
        "no-leak",
        "wrapper",
    ],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, sanitizer) == []


def test_line_number_of_thousands_of_digits_does_not_raise() -> None:
    assert scan(BLOCK.replace(":294", f":{TOO_MANY_DIGITS}"), sanitizer).size > 5000


@settings(max_examples=80, deadline=None)
@given(around(*sanitizer.ANCHORS, b"global__ read of size ", b"=========     at ", b"+0x1 in "))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, sanitizer).size == len(data)
