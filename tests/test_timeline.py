"""Events in the order of the run, each with its rank, traceback, stack and shim call."""

from __future__ import annotations

import msgspec
import pytest

from aoti_logscan.events import (
    Clock,
    CppStack,
    Event,
    Frame,
    GpuError,
    InputCheck,
    Place,
    PythonException,
    ShimFailure,
)
from aoti_logscan.timeline import Situation, rank_in_name, shim_device, situations
from tests.parsers.conftest import events

PACKAGE = "/opt/venv/lib/python3.11/site-packages/torch/export/pt2_archive/_package.py"


def _place(line: int, source: str = "run.log") -> Place:
    return Place(source, line, line * 100, "text")


def _gpu(
    line: int,
    *,
    rank: int | None = None,
    process: str | None = None,
    time: Clock | None = None,
    repeats: tuple[int, ...] = (),
) -> GpuError:
    return GpuError(
        place=_place(line),
        end=line * 100 + 50,
        rank=rank,
        process=process,
        time=time,
        repeats=repeats,
        runtime="cuda",
        message="misaligned address",
        reported_by="torch",
    )


def _traceback(first: int, last: int, exception: str | None = "RuntimeError") -> PythonException:
    frames = (Frame("<module>", "/a.py", 1, "main()"), Frame("f", "/a.py", 2, "g()"))
    return PythonException(
        place=_place(last),
        end=last * 100 + 50,
        begins=first * 100,
        exception=exception,
        message="boom",
        frames=frames,
    )


def _shim(
    line: int, function: str = "aoti_torch_cuda_mm_out", rank: int | None = None
) -> ShimFailure:
    return ShimFailure(
        place=_place(line),
        end=line * 100 + 50,
        rank=rank,
        function=function,
        call=f"{function}(buf0)",
        file="/c.wrapper.cpp",
        line=9,
    )


def _stack(line: int, *functions: str) -> CppStack:
    frames = tuple(Frame(function, "/lib.so") for function in functions)
    return CppStack(
        place=_place(line), end=line * 100, raised_from=None, file=None, line=None, frames=frames
    )


def _of(*found: Event, source: str = "run.log") -> list[Situation]:
    return situations([(source, found)])


# ranks


def test_rank_of_the_line_counts_first() -> None:
    assert _of(_gpu(1, rank=2), source="rank7.log")[0].rank == 2


def test_rank_comes_from_another_line_of_the_process() -> None:
    told = _gpu(9, rank=4, process="4242")
    assert [one.rank for one in _of(_gpu(1, process="4242"), told, source="rank7.log")] == [4, 4]


def test_rank_of_a_process_is_known_in_other_sources() -> None:
    found = situations(
        [("a.log", [_gpu(1, process="42")]), ("b.log", [_gpu(1, rank=3, process="42")])]
    )
    assert [situation.rank for situation in found] == [3, 3]


def test_rank_comes_last_from_the_name_of_the_source() -> None:
    assert _of(_gpu(1, process="42"), source="logs/rank7.log")[0].rank == 7


def test_rank_that_nothing_tells_is_unknown() -> None:
    assert _of(_gpu(1), source="run.log")[0].rank is None


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank3.log", 3),
        ("rank_3/stderr.txt", 3),
        ("rank-12.log", 12),
        ("trace/dedicated_log_torch_trace_rank_5_ab12cd34.log", 5),
        ("torchelastic/attempt_0/3/stderr.log", 3),
        ("C:\\logs\\attempt_1\\2\\stdout.log", 2),
        ("logs.zip!rank6.log", 6),
        ("rank0/rank11.log", 11),
        ("run.log", None),
        ("ranker/serve.log", None),
        ("attempt_0/notes.txt", None),
        ("rank1234567.log", None),
    ],
)
def test_rank_in_the_name_of_a_source(name: str, rank: int | None) -> None:
    assert rank_in_name(name) == rank


@pytest.mark.parametrize("name", ["/home/frank7/run.log", "crank2/x.log"])
def test_rank_inside_a_word_is_no_rank(name: str) -> None:
    assert rank_in_name(name) is None


# order


def test_wall_times_of_one_kind_order_events_of_several_sources() -> None:
    late = _gpu(1, time=Clock("c10", "0817 21:16:31.000000000"))
    early = _gpu(5, time=Clock("c10", "0817 21:06:30.000000000"))
    found = situations([("a.log", [late]), ("b.log", [early])])
    assert [situation.event for situation in found] == [early, late]
    assert [situation.timed for situation in found] == [True, True]


def test_event_without_a_time_takes_the_last_one_before_it() -> None:
    early, late = Clock("iso", "2026-01-01 00:00:01"), Clock("iso", "2026-01-01 00:00:09")
    middle = _gpu(3, time=Clock("iso", "2026-01-01 00:00:05"))
    found = situations(
        [("a.log", [_gpu(1, time=early), _gpu(2)]), ("b.log", [middle, _gpu(4, time=late)])]
    )
    assert [situation.event.place.line for situation in found] == [1, 2, 3, 4]


def test_event_before_the_first_time_takes_the_next_one() -> None:
    late = _gpu(2, time=Clock("iso", "2026-01-01 00:00:09"))
    early = _gpu(3, time=Clock("iso", "2026-01-01 00:00:01"))
    found = situations([("a.log", [_gpu(1), late]), ("b.log", [early])])
    assert [situation.event.place.line for situation in found] == [3, 1, 2]


def test_times_of_different_kinds_leave_the_order_of_the_sources() -> None:
    first = _gpu(1, time=Clock("c10", "0817 21:16:31.000000000"))
    second = _gpu(2, time=Clock("iso", "2026-01-01 00:00:01"))
    found = situations([("a.log", [first]), ("b.log", [second])])
    assert [situation.event.place.line for situation in found] == [1, 2]
    assert [situation.timed for situation in found] == [False, False]


def test_source_without_times_leaves_the_order_of_the_sources() -> None:
    timed = _gpu(2, time=Clock("iso", "2026-01-01 00:00:01"))
    found = situations([("a.log", [_gpu(1)]), ("b.log", [timed])])
    assert [(one.event.place.line, one.timed) for one in found] == [(1, False), (2, False)]


def test_times_of_most_sources_order_those() -> None:
    early, late = Clock("app", "05-21 08:55:10."), Clock("app", "05-21 08:57:33.")
    other = Clock("c10", "0521 09:05:11.")
    found = situations(
        [
            ("a.log", [_gpu(1, time=late)]),
            ("b.log", [_gpu(2, time=early)]),
            ("c.log", [_gpu(3, time=other)]),
        ]
    )
    assert [(one.event.place.line, one.timed) for one in found] == [
        (2, True),
        (1, True),
        (3, False),
    ]


def test_event_in_a_traceback_has_the_rank_and_the_time_of_its_head() -> None:
    early, late = Clock("iso", "2026-01-01 00:00:01"), Clock("iso", "2026-01-01 00:00:09")
    head = msgspec.structs.replace(_traceback(2, 5), rank=3, process="77", time=early)
    found = situations([("a.log", [_gpu(1, rank=0, time=late), _gpu(4), head])])
    assert [(one.event.place.line, one.rank) for one in found] == [(4, 3), (5, 3), (1, 0)]


def test_times_of_other_writers_count_only_where_they_are_in_order() -> None:
    early, late = Clock("c10", "0521 09:12:10."), Clock("c10", "0521 09:22:11.")
    torn = situations([("a.log", [_gpu(1, rank=0, time=late), _gpu(2, rank=1)])])
    assert [one.timed for one in torn] == [True, True]
    found = situations(
        [("a.log", [_gpu(1, rank=0, time=late), _gpu(2, rank=1), _gpu(3, rank=2, time=early)])]
    )
    assert [(one.event.place.line, one.timed) for one in found] == [
        (3, True),
        (1, True),
        (2, False),
    ]


@pytest.mark.parametrize(
    ("one", "other", "before"),
    [
        ("2026-01-01 00:00:01.5", "2026-01-01 00:00:02.0", True),
        ("2026-01-01 00:00:02.0", "2026-01-01 00:00:01.5", False),
        ("2026-01-01 00:00:01.5", "2026-01-01 00:00:01.9", False),
    ],
)
def test_clocks_of_two_sources_are_not_trusted_within_a_second(
    one: str, other: str, before: bool
) -> None:
    a, b = (_gpu(1, time=Clock("iso", stamp)) for stamp in (one, other))
    by_event = {id(found.event): found for found in situations([("a.log", [a]), ("b.log", [b])])}
    assert by_event[id(a)].is_before(by_event[id(b)]) is before


def test_source_without_events_does_not_spoil_the_clock() -> None:
    timed = _gpu(2, time=Clock("iso", "2026-01-01 00:00:01"))
    assert situations([("a.log", [timed]), ("b.log", [])])[0].timed is True


def test_events_of_one_source_keep_the_order_of_the_bytes() -> None:
    assert [one.event.place.line for one in _of(_gpu(9), _gpu(2), _gpu(5))] == [2, 5, 9]


def test_ranks_of_a_real_run_are_ordered_by_the_clock_of_c10() -> None:
    line = "[rank{}]:[E817 21:{}:30.480021775 ProcessGroupNCCL.cpp:683] Watchdog caught collective"
    text = line + " operation timeout: WorkNCCL(SeqNum=9912, OpType=ALLREDUCE)\n"
    logs = [("rank0.log", events(text.format(0, 16))), ("rank3.log", events(text.format(3, "06")))]
    assert [situation.rank for situation in situations(logs)] == [3, 0]


# what stands around an event


def test_event_inside_a_traceback_is_joined_with_it() -> None:
    traceback = _traceback(1, 6)
    inside, _, outside = _of(_gpu(6), traceback, _gpu(7))
    assert inside.traceback == traceback
    assert outside.traceback is None


def test_traceback_around_a_message_of_several_lines_is_found_in_a_log() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/a.py", line 3, in <module>\n'
        "    main()\n"
        "torch.AcceleratorError: CUDA error: misaligned address\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    )
    situation = next(one for one in _of(*events(text)) if isinstance(one.event, GpuError))
    assert situation.field("within_exception") == "torch.AcceleratorError"
    assert situation.field("last_source_line") == "main()"


def test_innermost_traceback_is_taken() -> None:
    outer, inner = _traceback(1, 9, "OuterError"), _traceback(3, 6, "InnerError")
    (situation,) = [one for one in _of(outer, inner, _gpu(5)) if one.event == _gpu(5)]
    assert situation.traceback == inner


def test_traceback_that_tells_a_repeat_retells_the_event() -> None:
    traceback = _traceback(6, 9)
    error = _gpu(1, repeats=(900,))
    (situation,) = [one for one in _of(error, traceback) if one.event == error]
    assert (situation.traceback, situation.retold_by) == (None, [traceback])


@pytest.mark.parametrize(("below", "joined"), [(0, True), (1, True), (24, True), (25, False)])
def test_stack_below_an_event_is_joined_within_24_lines(below: int, joined: bool) -> None:
    stack = _stack(10 + below, "f")
    (situation,) = [one for one in _of(_gpu(10), stack) if one.event == _gpu(10)]
    assert situation.stack == (stack if joined else None)


def test_stack_above_an_event_is_not_its_own() -> None:
    (situation,) = [one for one in _of(_gpu(10), _stack(9, "f")) if one.event == _gpu(10)]
    assert situation.stack is None


@pytest.mark.parametrize("rank", [None, 0])
def test_nearest_shim_call_of_the_same_rank_is_joined(rank: int | None) -> None:
    own, others = _shim(20, "run_func_", rank=rank), _shim(11, rank=1)
    (situation,) = [
        one for one in _of(_gpu(10, rank=0), own, others) if isinstance(one.event, GpuError)
    ]
    assert situation.shim == own


@pytest.mark.parametrize(("line", "joined"), [(1, True), (401, True), (402, False)])
def test_shim_call_is_joined_within_200_lines(line: int, joined: bool) -> None:
    shim = _shim(line)
    (situation,) = [one for one in _of(_gpu(201), shim) if isinstance(one.event, GpuError)]
    assert situation.shim == (shim if joined else None)


def test_functions_are_those_of_traceback_stack_and_shim() -> None:
    found = _of(_traceback(1, 3), _gpu(3), _stack(4, "h"), _shim(5))
    (situation,) = [one for one in found if isinstance(one.event, GpuError)]
    assert situation.functions == ["<module>", "f", "h", "aoti_torch_cuda_mm_out"]


@pytest.mark.parametrize(
    ("functions", "stage"),
    [
        (
            ["torch::aot_inductor::AOTInductorModelBase<M>::load_constants()", "create_func_"],
            "constants",
        ),
        (
            ["torch::aot_inductor::AOTInductorModelContainer::update_constant_buffer(x)"],
            "constants",
        ),
        (["torch::aot_inductor::AOTInductorModel::run_impl(x)"], "run"),
        (["AOTInductorModelContainerRun"], "run"),
        (["torch::inductor::AOTIModelPackageLoader::AOTIModelPackageLoader(x)"], "load"),
        (["create_func_"], "load"),
        (["load_package"], "load"),
        (["main"], None),
        ([], None),
    ],
)
def test_stage_comes_from_the_functions_of_the_stack(
    functions: list[str], stage: str | None
) -> None:
    (situation,) = [one for one in _of(_gpu(1), _stack(1, *functions)) if one.event == _gpu(1)]
    assert situation.stage == stage


def test_stage_of_a_real_refusal_is_run() -> None:
    text = (
        "Traceback (most recent call last):\n"
        f'  File "{PACKAGE}", line 743, in __call__\n'
        "    flat_outputs = self.loader.boxed_run(flat_inputs)\n"
        "RuntimeError: run_func_( container_handle_) API call failed at /x/runner.cpp, line 145\n"
    )
    (situation,) = [one for one in _of(*events(text)) if isinstance(one.event, ShimFailure)]
    assert situation.field("stage") == "run"


# fields


def test_field_of_the_event_or_unknown() -> None:
    situation = _of(_gpu(1))[0]
    assert (situation.field("message"), situation.field("nothing")) == ("misaligned address", None)


@pytest.mark.parametrize(
    ("function", "device"),
    [
        ("aoti_torch_cuda_addmm_out", "cuda"),
        ("aoti_torch_cpu_mm_out", "cpu"),
        ("aoti_torch_xpu_mm_out", "xpu"),
        ("aoti_torch_proxy_executor_call_function", None),
        ("run_func_", None),
    ],
)
def test_device_that_a_shim_call_was_compiled_for(function: str, device: str | None) -> None:
    assert shim_device(_shim(1, function)) == device


def test_no_shim_call_has_no_device() -> None:
    assert shim_device(None) is None


@pytest.mark.parametrize(
    ("exception", "frame", "from_torch"),
    [
        ("torch._inductor.exc.InductorError", Frame("f", "/a.py", 1, "raise x"), True),
        ("triton.compiler.errors.CompilationError", Frame("f", "/a.py", 1, "g()"), True),
        ("AcceleratorError", Frame("f", "/a.py", 1, "raise x"), True),
        ("ValueError", Frame("f", PACKAGE, 1, "raise ValueError(x)"), True),
        ("RuntimeError", Frame("f", "/a.py", 1, "y = a @ b"), True),
        ("RuntimeError", Frame("f", "/a.py", 1, "raise RuntimeError('no')"), False),
        ("KeyError", Frame("f", "/a.py", 1, "d['a']"), False),
        (None, Frame("f", PACKAGE, 1, "g()"), False),
    ],
)
def test_exception_comes_from_torch_or_from_the_caller(
    exception: str | None, frame: Frame, from_torch: bool
) -> None:
    event = PythonException(
        place=_place(2), end=250, begins=100, exception=exception, message="", frames=(frame,)
    )
    assert _of(event)[0].field("from_torch") is from_torch


def test_other_events_do_not_come_from_torch() -> None:
    check = InputCheck(place=_place(1), end=150, check="count", property="count")
    assert _of(check)[0].field("from_torch") is False


def test_nothing_gives_nothing() -> None:
    assert situations([]) == []
    assert situations([("a.log", [])]) == []


IN_A_WORKER = """
Traceback (most recent call last):
  File "/opt/python/concurrent/futures/_base.py", line 391, in __get_result
    raise self._exception
torch._inductor.compile_worker.subproc_pool.SubprocException: An exception occurred in a subprocess:

Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/triton/compiler/compiler.py", line 81, in make_ir
    assert signature
AssertionError


The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/main.py", line 4, in <module>
    model(batch)
torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
SubprocException: An exception occurred in a subprocess:
"""


def test_exception_of_a_worker_leads_through_the_one_that_tells_of_it_to_the_last() -> None:
    found = _of(*events(IN_A_WORKER))
    last = found[-1].event
    assert [one.led_to for one in found] == [last, last, last]
    failure = found[-1].compile_failure
    assert failure is not None
    assert (failure.stage, failure.message) == ("triton-compile", "AssertionError")
