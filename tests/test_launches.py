"""Marks to launches: pairs, blocks, repeats, interleaved writers, and marks that were lost."""

from __future__ import annotations

import msgspec
import pytest

from aoti_logscan.events import Event, LaunchMark, Place, Values
from aoti_logscan.launches import Launch, last_launch, launches
from aoti_logscan.parsers import intermediate_printer
from aoti_logscan.report import Argument
from aoti_logscan.timeline import situations
from tests.parsers.conftest import events

#: a launch as these tests state it: the kernel, whether it is open, its index in its stream
Told = tuple[str, bool, int]


def _found(*logs: tuple[str, str]) -> list[Launch]:
    """The launches of logs, given as name and text."""
    return launches(situations([(name, _events(name, text)) for name, text in logs]))


def _events(name: str, text: str) -> list[Event]:
    return [
        msgspec.structs.replace(event, place=msgspec.structs.replace(event.place, source=name))
        for event in events(text, intermediate_printer)
    ]


def _told(text: str) -> list[Told]:
    return [(one.kernel, one.open, one.index) for one in _found(("run.log", text))]


def _before(kernel: str) -> str:
    return f"[ before_launch: {kernel} ]\n"


def _after(kernel: str) -> str:
    return f"[ after_launch: {kernel} ]\n"


def _pair(kernel: str) -> str:
    return _before(kernel) + _after(kernel)


def _block(phase: str, kernel: str, argument: str) -> str:
    return (
        f"[  {phase}_launch - {kernel} - {argument}  ]:\n"
        "Number of elements: 2\nDtype: float32\nMean value: 1.5\nMin value: 1\nMax value: 2\n"
        "Device: cpu\nSize: [2]\nStride: [1]\nLayout: Strided\nIs contiguous: 1\n"
        "Requires grad: 0\n\n"
    )


def _blocks(kernel: str, *arguments: str) -> str:
    """A whole launch on level 2: every argument before, every argument after."""
    return "".join(
        _block(phase, kernel, argument) for phase in ("before", "after") for argument in arguments
    )


def _number(phase: str, kernel: str, name: str) -> str:
    return f"[  {phase}_launch - {kernel} - {name}: 100  ]\\n"


# pairs


def test_pair_is_a_launch_that_came_back() -> None:
    assert _told(_pair("k0") + _pair("k1")) == [("k0", False, 0), ("k1", False, 1)]


def test_mark_without_its_pair_is_open() -> None:
    assert _told(_pair("k0") + _before("k1")) == [("k0", False, 0), ("k1", True, 1)]


def test_same_kernel_twice_in_a_row_is_two_launches() -> None:
    assert _told(_pair("k") * 2) == [("k", False, 0), ("k", False, 1)]


def test_second_launch_of_a_kernel_may_be_the_open_one() -> None:
    assert _told(_pair("k") + _before("k")) == [("k", False, 0), ("k", True, 1)]


def test_launch_within_a_launch_closes_its_own() -> None:
    text = _before("outer") + _pair("inner") + _after("outer")
    assert _told(text) == [("outer", False, 0), ("inner", False, 1)]


def test_first_mark_is_the_place_and_the_last_one_is_kept() -> None:
    (launch,) = _found(("run.log", "hello\n" + _before("k") + "noise\n" + _after("k")))
    assert launch.first.event.place.line == 2
    assert launch.last_mark.place.line == 4
    assert [mark.phase for mark in launch.marks] == ["before", "after"]


def test_name_alone_has_no_arguments() -> None:
    (launch,) = _found(("run.log", _pair("k")))
    assert launch.arguments() == ()


# level 2


def test_blocks_of_one_launch_are_joined() -> None:
    assert _told(_blocks("k", "buf0", "arg1_1")) == [("k", False, 0)]


def test_arguments_are_in_printed_order_with_what_was_printed() -> None:
    (launch,) = _found(("run.log", _blocks("k", "buf0", "arg1_1")))
    arguments = launch.arguments()
    assert [(one.phase, one.name) for one in arguments] == [
        ("before", "buf0"),
        ("before", "arg1_1"),
        ("after", "buf0"),
        ("after", "arg1_1"),
    ]
    assert arguments[0] == Argument(
        name="buf0",
        phase="before",
        dtype="float32",
        device="cpu",
        size=(2,),
        stride=(1,),
        numel=2,
        min=1.0,
        max=2.0,
        mean=1.5,
        nan=False,
        inf=False,
    )


def test_argument_whose_block_was_cut_has_its_name_and_phase() -> None:
    (launch,) = _found(("run.log", "[  before_launch - k - buf0  ]:\n"))
    assert launch.arguments() == (Argument(name="buf0", phase="before"),)


def test_blocks_before_alone_are_one_open_launch() -> None:
    text = _block("before", "k", "buf0") + _block("before", "k", "buf1")
    assert _told(text) == [("k", True, 0)]


def test_same_kernel_twice_in_a_row_on_level_2_is_two_launches() -> None:
    text = _blocks("mm", "buf0", "buf1") * 2
    assert _told(text) == [("mm", False, 0), ("mm", False, 1)]


def test_same_kernel_again_with_other_arguments_is_another_launch() -> None:
    text = _blocks("mm", "buf0") + _block("before", "mm", "buf7")
    assert _told(text) == [("mm", False, 0), ("mm", True, 1)]


def test_numbers_and_tensors_of_a_launch_are_joined() -> None:
    text = (
        _number("before", "k", "s77") + _block("before", "k", "buf0") + _block("after", "k", "buf0")
    )
    (launch,) = _found(("run.log", text))
    assert (launch.kernel, launch.open, len(launch.marks)) == ("k", False, 3)
    assert [one.name for one in launch.arguments()] == ["s77", "buf0", "buf0"]


def test_inputs_of_the_model_begin_no_launch() -> None:
    text = _block("before", "k", "b").replace("before_launch - k - b", "aoti_model_inputs - arg0_1")
    assert _told(text + _pair("k")) == [("k", False, 0)]


def test_two_runs_of_a_model_are_two_launches_of_each_kernel() -> None:
    run = _blocks("k0", "buf0") + _blocks("k1", "buf0", "buf1")
    assert _told(run * 2) == [
        ("k0", False, 0),
        ("k1", False, 1),
        ("k0", False, 2),
        ("k1", False, 3),
    ]


# lost marks


def test_lone_mark_after_is_a_launch_that_came_back() -> None:
    assert _told(_after("k0") + _pair("k1")) == [("k0", False, 0), ("k1", False, 1)]


def test_lost_mark_after_leaves_its_launch_open_and_others_closed() -> None:
    text = _before("k0") + _pair("k1") + _pair("k2")
    assert _told(text) == [("k0", True, 0), ("k1", False, 1), ("k2", False, 2)]


def test_blocks_after_alone_are_one_launch() -> None:
    text = _block("after", "k", "buf0") + _block("after", "k", "buf1")
    assert _told(text) == [("k", False, 0)]


def test_many_open_launches_do_not_grow_without_bound() -> None:
    text = "".join(_before(f"k{n}") for n in range(300)) + _after("k0") + _after("k299")
    told = _told(text)
    assert told[0] == ("k0", True, 0)
    assert told[299] == ("k299", False, 299)
    assert told[300:] == [("k0", False, 300)]


def test_no_marks_are_no_launches() -> None:
    assert _told("nothing here\n") == []
    assert last_launch([]) is None


# writers


def test_ranks_whose_lines_alternate_are_told_apart() -> None:
    text = (
        "[rank0]: [ before_launch: k ]\n"
        "[rank1]: [ before_launch: k ]\n"
        "[rank0]: [ after_launch: k ]\n"
    )
    found = _found(("run.log", text))
    assert [(one.first.rank, one.open, one.index) for one in found] == [(0, False, 0), (1, True, 0)]


def test_processes_of_one_log_are_told_apart() -> None:
    text = (
        "(Worker pid=1) [ before_launch: k ]\n"
        "(Worker pid=2) [ before_launch: k ]\n"
        "(Worker pid=2) [ after_launch: k ]\n"
    )
    assert [one.open for one in _found(("run.log", text))] == [True, False]


def test_sources_are_streams_of_their_own() -> None:
    found = _found(("rank0.log", _before("k")), ("rank1.log", _after("k")))
    assert [(one.first.rank, one.open, one.index) for one in found] == [(0, True, 0), (1, False, 0)]


def test_mark_after_closes_the_newest_of_two_open_launches_of_a_kernel() -> None:
    assert _told(_before("k") * 2 + _after("k")) == [("k", True, 0), ("k", False, 1)]


def test_two_writers_without_a_prefix_close_a_launch_each() -> None:
    assert _told(_before("k") * 2 + _after("k") * 2) == [("k", False, 0), ("k", False, 1)]


# the last


def test_last_launch_is_the_one_marked_last() -> None:
    found = _found(("run.log", _before("outer") + _pair("inner") + _after("outer")))
    last = last_launch(found)
    assert last is not None
    assert last.kernel == "outer"


def test_last_launch_of_a_simple_run_is_the_newest() -> None:
    last = last_launch(_found(("run.log", _pair("k0") + _before("k1"))))
    assert last is not None
    assert (last.kernel, last.open, last.index) == ("k1", True, 1)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_other_events_between_marks_do_not_matter(level: int) -> None:
    place = Place("run.log", 1, 0, "text")
    values = Values(numel=1)
    marks: list[Event] = [
        LaunchMark(
            place=place,
            end=1,
            phase="before",
            kernel="k",
            level=level,  # type: ignore[arg-type]
            argument="buf0",
            values=values,
        )
    ]
    error = events("RuntimeError: CUDA error: misaligned address\n")
    (launch,) = launches(situations([("run.log", [*marks, *error])]))
    assert (launch.kernel, launch.open) == ("k", True)
    assert launch.arguments()[0].numel == 1
