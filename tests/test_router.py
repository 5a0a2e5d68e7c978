"""Findings and roles: the cause before its consequences, once each, as sure as the evidence is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from aoti_logscan.artifacts.library import Library
from aoti_logscan.artifacts.package import Package
from aoti_logscan.artifacts.wrapper_code import Wrapper
from aoti_logscan.events import (
    Clock,
    CollectiveError,
    DeviceAssert,
    Event,
    GpuError,
    InputCheck,
    Place,
    ProcessDeath,
    PythonException,
)
from aoti_logscan.pattern import Pattern, folder_of_patterns, read_patterns
from aoti_logscan.report import Finding
from aoti_logscan.router import Routed, Router, fill
from aoti_logscan.timeline import situations
from tests.parsers.conftest import events

BUILT_IN = read_patterns(folder_of_patterns())
NO_ARTIFACTS = Library([])

ASSERTED = Pattern(
    id="test-asserted",
    title="Index out of bounds",
    failure_class="triton-index-out-of-bounds",
    event="device-assert",
    facts={"index": "index", "file": "file", "assertions": "count", "blocks": "distinct"},
    key=("file", "index"),
    summary="{index} is out of bounds[[ in {file}]]",
)
GPU = Pattern(
    id="test-gpu",
    title="A launch failed",
    failure_class="gpu-launch-failure",
    event="gpu-error",
    facts={"message": "message", "runtime": "runtime"},
    key=("message",),
    summary="{message}",
)
REFUSED = Pattern(
    id="test-refused",
    title="Input mismatch",
    failure_class="input-mismatch",
    event="input-check",
    facts={"input": "input", "expected": "expected", "actual": "actual"},
    key=("input",),
    summary="input {input}",
)
PEER = Pattern(
    id="test-peer",
    title="A collective failed",
    failure_class="collective-failure",
    event="collective-error",
    weak=2,
    certainty="possible",
    consequence_of=("*",),
)
DIED = Pattern(
    id="test-died",
    title="The process died",
    failure_class="undecided",
    event="process-death",
    consequence_of=("*",),
    summary="the process died of {signal}",
    facts={"signal": "signal"},
)
RAISED = Pattern(
    id="test-raised",
    title="The caller raised",
    failure_class="none",
    role="context",
    event="python-exception",
    summary="{exception}",
    facts={"exception": "exception"},
)
PATTERNS = (ASSERTED, GPU, REFUSED, PEER, DIED, RAISED)


def _place(line: int, source: str) -> Place:
    return Place(source, line, line * 100, f"line {line}")


def _assert(line: int, index: str = "tmp4", source: str = "run.log", **more: Any) -> DeviceAssert:
    return DeviceAssert(
        place=_place(line, source),
        end=line * 100 + 50,
        file="/t/a.py",
        line=30,
        function=None,
        condition=f"index out of bounds: 0 <= {index} < 9",
        index=index,
        **more,
    )


def _gpu(
    line: int, message: str = "invalid argument", source: str = "run.log", **more: Any
) -> GpuError:
    return GpuError(
        place=_place(line, source),
        end=line * 100 + 50,
        runtime="cuda",
        message=message,
        reported_by="torch",
        **more,
    )


def _refusal(line: int, position: int = 0, source: str = "run.log", **more: Any) -> InputCheck:
    return InputCheck(
        place=_place(line, source),
        end=line * 100 + 50,
        check="handles",
        property="dim",
        input=position,
        **more,
    )


def _peer(line: int, source: str = "run.log") -> CollectiveError:
    return CollectiveError(
        place=_place(line, source), end=line * 100 + 50, form="timeout", backend="nccl"
    )


def _death(line: int, source: str = "run.log") -> ProcessDeath:
    return ProcessDeath(
        place=_place(line, source), end=line * 100 + 50, told_by="shell", signal="SIGSEGV"
    )


def _route(*found: Event, patterns: tuple[Pattern, ...] = PATTERNS) -> Routed:
    return Router(patterns, NO_ARTIFACTS, None).route(situations([("run.log", found)]))


def _route_sources(*sources: tuple[str, list[Event]]) -> Routed:
    return Router(PATTERNS, NO_ARTIFACTS, None).route(situations(sources))


def _roles(routed: Routed) -> list[tuple[str, str]]:
    return [(finding.pattern.removeprefix("test-"), finding.role) for finding in routed.findings]


def _cause(routed: Routed) -> Finding:
    assert routed.verdict.finding == 0
    return routed.findings[0]


# the cause and its consequences


def test_single_failure_is_the_cause() -> None:
    routed = _route(_gpu(4))
    assert _roles(routed) == [("gpu", "cause")]
    assert (routed.verdict.failure_class, routed.verdict.certainty) == (
        "gpu-launch-failure",
        "sure",
    )
    assert (routed.verdict.summary, routed.verdict.finding) == ("invalid argument", 0)


def test_first_of_unrelated_failures_is_the_cause_and_the_other_context() -> None:
    assert _roles(_route(_refusal(5), _gpu(9))) == [("refused", "cause"), ("gpu", "context")]
    assert _roles(_route(_refusal(9), _gpu(5))) == [("gpu", "cause"), ("refused", "context")]


def test_failure_after_a_poisoned_context_is_its_consequence() -> None:
    assert _roles(_route(_assert(1), _gpu(9))) == [("asserted", "cause"), ("gpu", "consequence")]


def test_failure_before_a_poisoned_context_is_no_consequence() -> None:
    assert _roles(_route(_gpu(1), _assert(9))) == [("gpu", "cause"), ("asserted", "context")]


def test_poisoned_context_of_another_rank_poisons_nothing_here() -> None:
    routed = _route(_assert(1, rank=0), _gpu(9, rank=1))
    assert _roles(routed) == [("asserted", "cause"), ("gpu", "context")]


def test_named_consequence_follows_though_it_is_printed_first() -> None:
    late = Pattern(
        id="test-late",
        title="t",
        failure_class="gpu-launch-failure",
        event="gpu-error",
        consequence_of=("input-mismatch",),
    )
    routed = _route(_gpu(1), _refusal(9), patterns=(late, REFUSED))
    assert _roles(routed) == [("refused", "cause"), ("late", "consequence")]


def test_two_failures_that_follow_each_other_are_ordered_by_time() -> None:
    one = Pattern(
        id="test-one",
        title="t",
        failure_class="gpu-launch-failure",
        event="gpu-error",
        consequence_of=("input-mismatch",),
    )
    other = Pattern(
        id="test-other",
        title="t",
        failure_class="input-mismatch",
        event="input-check",
        consequence_of=("gpu-launch-failure",),
    )
    assert _roles(_route(_gpu(1), _refusal(9), patterns=(one, other)))[0] == ("one", "cause")


def test_second_finding_of_the_same_pattern_is_context() -> None:
    routed = _route(_assert(1, "tmp4"), _assert(5, "tmp9"))
    assert _roles(routed) == [("asserted", "cause"), ("asserted", "context")]
    assert _cause(routed).facts["index"] == "tmp4"


def test_harmless_and_context_patterns_keep_their_role() -> None:
    harmless = Pattern(
        id="test-harmless", title="t", failure_class="none", role="harmless", event="input-check"
    )
    routed = _route(_refusal(1), _gpu(2), patterns=(harmless, GPU))
    assert _roles(routed) == [("gpu", "cause"), ("harmless", "harmless")]


def test_pattern_with_the_role_of_a_consequence_is_never_the_cause() -> None:
    passed_on = Pattern(
        id="test-passed-on",
        title="t",
        failure_class="operator-error",
        role="consequence",
        event="gpu-error",
        summary="passed on",
    )
    routed = _route(_gpu(1), patterns=(passed_on,))
    assert _roles(routed) == [("passed-on", "consequence")]
    assert (routed.verdict.failure_class, routed.verdict.finding) == ("undecided", None)


def test_built_in_patterns_find_the_assertion_before_what_follows_it() -> None:
    text = (
        "/t/cabc.py:30: unknown: block: [3,0,0], thread: [64,0,0] Assertion `index out of bounds:"
        " 0 <= tmp4 < ks0` failed.\n"
        "Error: CUDA driver error: device-side assert triggered\n"
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    )
    routed = Router(BUILT_IN, NO_ARTIFACTS, None).route(situations([("run.log", events(text))]))
    assert [(finding.failure_class, finding.role) for finding in routed.findings] == [
        ("triton-index-out-of-bounds", "cause"),
        ("device-assert", "consequence"),
        ("illegal-memory-access", "consequence"),
    ]


# weak causes and symptoms


def test_weak_cause_stands_where_nothing_else_does() -> None:
    routed = _route(_peer(3))
    assert _roles(routed) == [("peer", "cause")]
    assert routed.verdict.certainty == "possible"


def test_weak_cause_is_a_consequence_of_any_other_though_it_came_first() -> None:
    assert _roles(_route(_peer(1), _gpu(9))) == [("gpu", "cause"), ("peer", "consequence")]


def _built_in(*sources: tuple[str, list[Event]]) -> list[tuple[str, str, str]]:
    routed = Router(BUILT_IN, NO_ARTIFACTS, None).route(situations(sources))
    return [(one.failure_class, one.role, one.certainty) for one in routed.findings]


CRASHED = b"%sFatal Python error: Segmentation fault\n"
NO_MEMORY = b"%storch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
ACCESSED = b"%storch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
RANK0, RANK1 = b"2026-05-21T08:%s:00.1Z [rank0]: ", b"2026-05-21T08:%s:00.1Z [rank1]: "


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        (NO_MEMORY, ACCESSED, ("out-of-memory", "illegal-memory-access")),
        (CRASHED, NO_MEMORY, ("host-crash", "out-of-memory")),
        (ACCESSED, NO_MEMORY, ("illegal-memory-access", "out-of-memory")),
    ],
)
def test_what_failed_on_another_rank_before_is_no_consequence(
    first: bytes, second: bytes, classes: tuple[str, str]
) -> None:
    early, late = first % (RANK0 % b"00"), second % (RANK1 % b"25")
    expected = [(classes[0], "cause", "sure"), (classes[1], "context", "sure")]
    assert _built_in(("b.log", events(early)), ("a.log", events(late))) == expected
    assert _built_in(("a.log", events(late)), ("b.log", events(early))) == expected


def test_crash_after_a_failure_is_its_consequence() -> None:
    early, late = NO_MEMORY % (RANK0 % b"00"), CRASHED % (RANK1 % b"25")
    found = _built_in(("a.log", events(late)), ("b.log", events(early)))
    assert [one[:2] for one in found] == [
        ("out-of-memory", "cause"),
        ("host-crash", "consequence"),
    ]


def test_crash_at_an_unknown_time_is_the_consequence_of_a_failure_elsewhere() -> None:
    found = _built_in(("a.log", events(CRASHED % b"")), ("b.log", events(NO_MEMORY % b"")))
    assert [one[:2] for one in found] == [
        ("out-of-memory", "cause"),
        ("host-crash", "consequence"),
    ]


def test_fault_poisons_what_comes_after_it_in_the_process_and_not_before() -> None:
    found = _built_in(("a.log", events(NO_MEMORY % b"" + b"\n" * 9 + ACCESSED % b"")))
    assert [one[:2] for one in found] == [
        ("out-of-memory", "cause"),
        ("illegal-memory-access", "context"),
    ]
    found = _built_in(("a.log", events(ACCESSED % b"" + b"\n" * 9 + NO_MEMORY % b"")))
    assert [one[:2] for one in found] == [
        ("illegal-memory-access", "cause"),
        ("out-of-memory", "consequence"),
    ]


def test_order_of_two_ranks_in_one_stream_with_times_for_one_only_is_not_sure() -> None:
    late = b"[rank0]:[E521 09:22:11.061727749 ProcessGroupNCCL.cpp:683] [Rank 0] Watchdog caught"
    late += b" collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=8,"
    late += b" NumelOut=8, Timeout(ms)=600000) ran for 600096 milliseconds before timing out.\n"
    fault = b"[rank2]:[E521 09:12:10.061727749 ProcessGroupNCCL.cpp:2057] [PG ID 2 Rank 2] "
    fault += b"Process group watchdog thread terminated with exception: CUDA error: an illegal"
    fault += b" memory access was encountered\n"
    text = late + NO_MEMORY % b"[rank1]: " + fault
    cause = _built_in(("t.log", events(text)))[0]
    assert cause[1:] == ("cause", "likely")


OWN = (
    b"[rank0]: Traceback (most recent call last):\n"
    b'[rank0]:   File "/w/train.py", line 31, in step\n'
    b"[rank0]:     name = names[key]\n"
    b"[rank0]: KeyError: 'llama'\n"
)
BOX = (
    b"E0520 19:20:20.000000 3001 torch/distributed/elastic/multiprocessing/api.py:882] failed"
    b" (exitcode: %s) local_rank: 0 (pid: 3010) of binary: /usr/bin/python3\n"
)


@pytest.mark.parametrize(
    ("log", "failure_class"),
    [
        (OWN + BOX % b"1", "none"),
        (OWN + BOX % b"-11", "undecided"),
        (BOX % b"1", "undecided"),
        (OWN, "none"),
    ],
)
def test_launcher_of_a_program_that_raised_adds_no_symptom(log: bytes, failure_class: str) -> None:
    found = situations([("t.log", events(log))])
    routed = Router(BUILT_IN, NO_ARTIFACTS, None).route(found)
    assert routed.verdict.failure_class == failure_class
    assert bool(routed.advisers) is (failure_class == "undecided")


def test_timeout_beside_an_exception_of_a_rank_is_likely() -> None:
    late = b"[rank1]:[E521 09:22:11.061727749 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught"
    late += b" collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=8,"
    late += b" NumelOut=8, Timeout(ms)=600000) ran for 600096 milliseconds before timing out.\n"
    assert _built_in(("t.log", events(OWN + late)))[0] == ("collective-failure", "cause", "likely")
    assert _built_in(("t.log", events(late)))[0] == ("collective-failure", "cause", "sure")


def test_symptom_of_unknown_class_beside_a_weak_cause_leaves_it_undecided() -> None:
    routed = _route(_peer(1), _death(9))
    assert _roles(routed) == [("peer", "context"), ("died", "context")]
    assert (routed.verdict.failure_class, routed.verdict.finding) == ("undecided", None)
    assert routed.verdict.certainty is None
    assert routed.verdict.summary == (
        "Something failed, and what was read does not decide why: A collective failed;"
        " the process died of SIGSEGV"
    )


def test_symptom_of_unknown_class_beside_a_cause_is_its_consequence() -> None:
    assert _roles(_route(_death(1), _gpu(9))) == [("gpu", "cause"), ("died", "consequence")]


def test_symptom_alone_is_undecided_and_never_a_cause() -> None:
    routed = _route(_death(1))
    assert _roles(routed) == [("died", "context")]
    assert routed.verdict.failure_class == "undecided"


# nothing


def test_nothing_read_is_class_none() -> None:
    routed = _route()
    assert routed.findings == ()
    assert (routed.verdict.failure_class, routed.verdict.certainty) == ("none", None)
    assert routed.verdict.summary == "No failure was found."


def test_exception_of_the_caller_is_class_none_with_context() -> None:
    error = PythonException(
        place=_place(9, "run.log"), end=950, begins=700, exception="KeyError", message="'a'"
    )
    routed = _route(error)
    assert _roles(routed) == [("raised", "context")]
    assert (routed.verdict.failure_class, routed.verdict.finding) == ("none", None)


def test_event_that_no_pattern_claims_gives_no_finding() -> None:
    assert _route(_gpu(1), patterns=(REFUSED,)).findings == ()


# one failure told several times


def test_same_failure_told_several_times_is_one_finding() -> None:
    routed = _route(_refusal(1, actual=7), _refusal(5, actual=7), _refusal(9, actual=7))
    assert [(finding.count, finding.role) for finding in routed.findings] == [(3, "cause")]


def test_folded_events_count_with_all_their_records() -> None:
    routed = _route(_assert(1, count=60, distinct=2), _assert(900, count=4, distinct=1))
    finding = _cause(routed)
    assert finding.count == 64
    assert (finding.facts["assertions"], finding.facts["blocks"]) == (64, 3)


def test_what_was_known_first_stays_and_what_was_unknown_is_filled() -> None:
    first, second = _refusal(1, expected=8), _refusal(5, expected=9, actual=7)
    finding = _cause(_route(first, second))
    assert (finding.facts["expected"], finding.facts["actual"]) == (8, 7)


def test_exception_that_retells_an_event_inside_it_gives_no_finding() -> None:
    error = PythonException(
        place=_place(9, "run.log"), end=950, begins=700, exception="RuntimeError", message="x"
    )
    assert _roles(_route(_gpu(9), error)) == [("gpu", "cause")]


def test_exception_beside_an_event_gives_its_own_finding() -> None:
    error = PythonException(
        place=_place(20, "run.log"), end=2050, begins=1800, exception="KeyError", message="x"
    )
    assert _roles(_route(_gpu(9), error)) == [("gpu", "cause"), ("raised", "context")]


def test_error_line_and_exception_of_one_refusal_are_one_finding_of_the_built_in_patterns() -> None:
    refusal = "input_handles[0]: unmatched dim value at 1, expected: 8, but got: 9\n"
    text = (
        f"Error: {refusal}\nTraceback (most recent call last):\n"
        '  File "/a.py", line 3, in <module>\n    model(x)\n'
        f"RuntimeError: {refusal}"
    )
    routed = Router(BUILT_IN, NO_ARTIFACTS, None).route(situations([("run.log", events(text))]))
    (finding,) = routed.findings
    assert (finding.failure_class, finding.count) == ("input-mismatch", 2)
    assert [evidence.line for evidence in finding.evidence] == [1]


def test_evidence_has_the_first_line_of_each_source() -> None:
    routed = _route_sources(
        ("a.log", [_gpu(3, source="a.log"), _gpu(7, source="a.log")]),
        ("b.log", [_gpu(2, source="b.log")]),
    )
    assert [(one.source, one.line, one.offset, one.text) for one in _cause(routed).evidence] == [
        ("a.log", 3, 300, "line 3"),
        ("b.log", 2, 200, "line 2"),
    ]


def test_rank_and_process_are_those_first_known() -> None:
    finding = _cause(_route(_gpu(1), _gpu(2, rank=3, process="42"), _gpu(3, rank=4, process="43")))
    assert (finding.rank, finding.process) == (3, "42")


# certainty and order across sources


def test_rivals_in_other_sources_without_times_lower_the_certainty() -> None:
    routed = _route_sources(
        ("a.log", [_refusal(1, source="a.log")]), ("b.log", [_gpu(1, source="b.log")])
    )
    assert _roles(routed) == [("refused", "cause"), ("gpu", "context")]
    assert (_cause(routed).certainty, routed.verdict.certainty) == ("likely", "likely")


def test_rivals_with_times_keep_the_certainty_and_the_earlier_is_the_cause() -> None:
    late, early = Clock("c10", "0817 21:16:31.000000000"), Clock("c10", "0817 21:06:30.000000000")
    routed = _route_sources(
        ("a.log", [_refusal(1, source="a.log", time=late)]),
        ("b.log", [_gpu(1, source="b.log", time=early)]),
    )
    assert _roles(routed) == [("gpu", "cause"), ("refused", "context")]
    assert routed.verdict.certainty == "sure"


def test_same_class_in_several_sources_is_no_rival() -> None:
    routed = _route_sources(
        ("a.log", [_gpu(1, source="a.log")]), ("b.log", [_gpu(1, "out of memory", source="b.log")])
    )
    assert routed.verdict.certainty == "sure"


def test_rival_in_the_same_source_is_ordered_by_its_lines() -> None:
    assert _route(_refusal(1), _gpu(5)).verdict.certainty == "sure"


def test_weak_failure_of_another_source_is_no_rival() -> None:
    routed = _route_sources(
        ("a.log", [_peer(1, source="a.log")]), ("b.log", [_gpu(1, source="b.log")])
    )
    assert (_roles(routed)[0], routed.verdict.certainty) == (("gpu", "cause"), "sure")


def test_certainty_is_never_lowered_below_possible() -> None:
    weak = Pattern(
        id="test-unsure",
        title="t",
        failure_class="input-mismatch",
        certainty="possible",
        event="input-check",
    )
    routed = Router((weak, GPU), NO_ARTIFACTS, None).route(
        situations([("a.log", [_refusal(1)]), ("b.log", [_gpu(1, source="b.log")])])
    )
    assert routed.verdict.certainty == "possible"


def test_findings_stand_cause_first_then_by_position() -> None:
    routed = _route(_death(1), _refusal(2), _assert(3), _gpu(4))
    assert [finding.pattern for finding in routed.findings] == [
        "test-refused",
        "test-died",
        "test-asserted",
        "test-gpu",
    ]


# which pattern claims an event


def _claimed_by(*patterns: Pattern) -> list[str]:
    return [finding.pattern for finding in _route(_gpu(1), patterns=patterns).findings]


def test_pattern_with_more_conditions_claims_the_event() -> None:
    narrow = Pattern(
        id="test-narrow",
        title="t",
        failure_class="gpu-launch-failure",
        event="gpu-error",
        where={"message": "invalid argument"},
    )
    assert _claimed_by(GPU, narrow) == ["test-narrow"]
    assert _claimed_by(narrow, GPU) == ["test-narrow"]


def test_pattern_of_a_known_class_comes_before_a_net_with_more_conditions() -> None:
    net = Pattern(
        id="test-net",
        title="t",
        failure_class="undecided",
        event="gpu-error",
        where={"message": "invalid argument", "runtime": "cuda"},
    )
    assert _claimed_by(net, GPU) == ["test-gpu"]


@pytest.mark.parametrize(
    ("where", "claimed"),
    [
        ({"runtime": "cuda"}, True),
        ({"runtime": ["hip", "cuda"]}, True),
        ({"runtime": ["hip", "xpu"]}, False),
        ({"message": {"regex": "^invalid"}}, True),
        ({"message": {"regex": "^argument"}}, False),
        ({"address": {"present": False}}, True),
        ({"address": {"present": True}}, False),
        ({"address": {"regex": "."}}, False),
        ({"runtime": {"not": "hip"}}, True),
        ({"runtime": {"not": ["hip", "cuda"]}}, False),
        ({"functions": {"any": {"regex": "run_impl"}}}, False),
        ({"message": {"regex": "invalid", "not": "invalid argument"}}, False),
        ({"rank": 3}, False),
    ],
)
def test_condition_of_a_pattern(where: dict[str, Any], claimed: bool) -> None:
    pattern = Pattern(
        id=f"test-where-{where}",
        title="t",
        failure_class="gpu-launch-failure",
        event="gpu-error",
        where=where,
    )
    assert bool(_claimed_by(pattern)) is claimed


def test_two_patterns_of_one_name_keep_their_own_conditions() -> None:
    def named(runtime: str) -> Pattern:
        return Pattern(
            id="test-same-name",
            title="t",
            failure_class="gpu-launch-failure",
            event="gpu-error",
            where={"runtime": runtime},
        )

    assert (_claimed_by(named("cuda")), _claimed_by(named("hip"))) == (["test-same-name"], [])


# facts


def _facts(facts: dict[str, Any], *found: Event, router: Router | None = None) -> dict[str, Any]:
    pattern = Pattern(
        id="test-facts",
        title="t",
        failure_class="illegal-memory-access",
        event="gpu-error",
        facts=facts,
    )
    chosen = router or Router((pattern,), NO_ARTIFACTS, None)
    return _cause(chosen.route(situations([("run.log", found)]))).facts


def test_fact_that_is_not_filled_is_null() -> None:
    assert _facts({"runtime": "runtime"}, _gpu(1)) == {
        "runtime": "cuda",
        "reported_by": None,
        "asynchronous": None,
        "access": None,
        "size": None,
        "address": None,
        "kernel": None,
    }


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (["address", "message"], "invalid argument"),
        (["address", "access"], None),
        ({"value": 7}, 7),
        ({"field": "message", "regex": "^(?P<word>[a-z]+)", "group": "word"}, "invalid"),
        ({"field": "message", "regex": "^(?P<word>[0-9]+)", "group": "word"}, None),
        ({"field": "address", "regex": "(?P<word>.)", "group": "word"}, None),
    ],
)
def test_source_of_a_fact(source: Any, value: Any) -> None:
    assert _facts({"kernel": source}, _gpu(1))["kernel"] == value


@pytest.mark.parametrize(("blocking", "asynchronous"), [(None, None), (True, False), (False, True)])
def test_launches_are_asynchronous_unless_they_block(
    blocking: bool | None, asynchronous: bool | None
) -> None:
    pattern = Pattern(
        id="test-asynchronous",
        title="t",
        failure_class="illegal-memory-access",
        event="gpu-error",
        facts={"asynchronous": ["asynchronous", "launches_are_asynchronous"]},
    )
    router = Router((pattern,), NO_ARTIFACTS, blocking)
    assert _facts({}, _gpu(1), router=router)["asynchronous"] is asynchronous


def test_facts_of_the_package_come_from_the_library() -> None:
    wrapper = Wrapper("a.cpp", ("",), {"a": "triton_poi_fused_0"}, ("arg0_1", "arg1_1"))
    library = Library([Package("p.pt2", "cuda", None, (wrapper,), ())])
    kernel = Pattern(
        id="test-kernel",
        title="t",
        failure_class="triton-index-out-of-bounds",
        event="device-assert",
        facts={"kernel": "package.kernel", "upper": "package.device"},
    )
    name = Pattern(
        id="test-name",
        title="t",
        failure_class="input-mismatch",
        event="input-check",
        facts={"name": ["name", "package.input_name"]},
    )
    router = Router((kernel, name), library, None)
    asserted = router.route(situations([("a.log", [_assert(1)])])).findings[0].facts
    refused = router.route(situations([("a.log", [_refusal(1, 1)])])).findings[0].facts
    assert (asserted["kernel"], asserted["upper"]) == ("triton_poi_fused_0", "cuda")
    assert refused["name"] == "arg1_1"


def test_summary_of_the_cause_counts_the_ranks_that_aborted_afterwards() -> None:
    cause = msgspec.structs.replace(_gpu(1), rank=2)
    others = [msgspec.structs.replace(_peer(line), rank=line) for line in (3, 4, 5)]
    assert _cause(_route(cause, *others)).summary.endswith("; 3 ranks aborted afterwards")
    assert "aborted" not in _cause(_route(cause)).summary


# templates


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{index} of {count}", "tmp4 of 3"),
        ("{index}[[ at {line}]]", "tmp4 at 30"),
        ("{index}[[ in {file}]]", "tmp4"),
        ("{index}[[ in {file}]][[ at {line}]]!", "tmp4 at 30!"),
        ("[[{file} ]]{index}", "tmp4"),
        ("{file}", "?"),
        ("{nothing}", "?"),
        ("plain", "plain"),
        ("", ""),
        ("[[plain]]", "plain"),
        ("zero is {zero}[[, {zero}]]", "zero is 0, 0"),
    ],
)
def test_template_is_filled_and_parts_with_unknown_facts_are_left_out(
    template: str, filled: str
) -> None:
    facts = {"index": "tmp4", "count": 3, "line": 30, "file": None, "zero": 0}
    assert fill(template, facts) == filled


def test_finding_without_a_summary_is_told_by_its_title() -> None:
    assert _cause(_route(_peer(1))).summary == "A collective failed"


def test_braces_in_the_text_of_a_fact_stay_text() -> None:
    routed = _route(_gpu(1, "bad {thing} [[here]]"))
    assert _cause(routed).summary == "bad {thing} [[here]]"
