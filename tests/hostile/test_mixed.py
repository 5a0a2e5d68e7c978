"""Lines out of order, and logs of two writers in one stream, cut into each other anywhere."""

from __future__ import annotations

import random
from itertools import zip_longest

import pytest

from tests.conftest import Run
from tests.hostile.tool import assert_evidence_is_in, fixture, scan

SINGLE = fixture("input-dtype/input/run.log")
ASSERTIONS = fixture("forms/a-dsa-report/input/dsa.log")
CHAIN = fixture("forms/b-cpp-chain-23/input/log.txt")
CRASH = fixture("crash-faulthandler/input/run.log")
LOGS = {"single": SINGLE, "assertions": ASSERTIONS, "chain": CHAIN, "crash": CRASH}


@pytest.mark.parametrize("name", LOGS)
def test_shuffled_lines_are_read_and_evidence_is_where_it_says(run: Run, name: str) -> None:
    for seed in range(40):
        lines = LOGS[name].splitlines(keepends=True)
        random.Random(seed).shuffle(lines)
        data = b"".join(lines)
        assert_evidence_is_in(scan(run, "-", stdin=data), data)


def test_failure_of_one_line_is_found_wherever_it_is_shuffled_to(run: Run) -> None:
    for seed in range(40):
        lines = [*SINGLE.splitlines(keepends=True), *[b"step %d: loss 0.1\n" % n for n in range(9)]]
        random.Random(seed).shuffle(lines)
        report = scan(run, "-", stdin=b"".join(lines))
        assert report.verdict.failure_class == "input-mismatch"


def _pieces(data: bytes, chance: random.Random) -> list[bytes]:
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(12))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@pytest.mark.parametrize(
    ("one", "other"), [("single", "chain"), ("assertions", "crash"), ("chain", "assertions")]
)
def test_two_logs_cut_into_each_other_are_read(run: Run, one: str, other: str) -> None:
    for seed in range(60):
        chance = random.Random(seed)
        pairs = zip_longest(_pieces(LOGS[one], chance), _pieces(LOGS[other], chance), fillvalue=b"")
        data = b"".join(first + second for first, second in pairs)
        report = scan(run, "-", stdin=data)
        assert report.sources[0].bytes == len(data)
        assert_evidence_is_in(report, data)


def test_two_logs_line_by_line_give_a_cause_of_one_of_them(run: Run) -> None:
    classes = {scan(run, "-", stdin=log).verdict.failure_class for log in (ASSERTIONS, CRASH)}
    for seed in range(40):
        chance = random.Random(seed)
        left = [ASSERTIONS.splitlines(keepends=True), CRASH.splitlines(keepends=True)]
        lines: list[bytes] = []
        while any(left):
            lines.append(chance.choice([one for one in left if one]).pop(0))
        assert scan(run, "-", stdin=b"".join(lines)).verdict.failure_class in classes
