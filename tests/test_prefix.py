"""What the head of a line tells of its writer: every form, foreign text, and long heads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.events import Clock
from aoti_logscan.prefix import NOTHING, Prefix, read_prefix


@pytest.mark.parametrize(
    ("head", "rank"),
    [
        (b"[rank3]: ", 3),
        (b"[rank0]:", 0),
        (b"[Rank 3] Watchdog caught ", 3),
        (b"[PG ID 0 PG GUID 0(default_pg) Rank 12] ", 12),
        (b"[default3]:", 3),
        (b"[1,3]<stderr>:", 3),
        (b"[1,27]<stdout>: ", 27),
        (b"(Worker_TP3 pid=4242) ", 3),
        (b"(Worker_TP0_EP1) ", 0),
        (b"(rank=5) ", 5),
        (b"rank:6 ", 6),
        (b"[2026-02-13 08:11:53 TP3] ", 3),
        (b"[2026-02-13 08:11:53 DP1 TP12 EP4] Scheduler hit ", 12),
        (b'{"ts": "2026-05-21T08:00:01Z", "rank": 5, "message": "', 5),
        (b"\xe2\x94\x82 [rank3]: ", 3),
    ],
)
def test_rank_of_each_launcher_is_read(head: bytes, rank: int) -> None:
    assert read_prefix(head).rank == rank


def test_first_rank_of_a_head_counts() -> None:
    assert read_prefix(b"[rank1]:[E817 ProcessGroupNCCL.cpp:683] [Rank 2] ").rank == 1


@pytest.mark.parametrize(
    ("head", "process"),
    [
        (b"(EngineCore_0 pid=51100) ", "51100"),
        (b"(pid=4242, ip=10.0.0.3) ", "4242"),
        (b"(Worker_TP3 pid=4242) ", "4242"),
        (b"pid: 77 ", "77"),
        (b"E0718 09:12:40.511000 60233 torch/_inductor/select_algorithm.py:2100] ", "60233"),
    ],
)
def test_process_of_each_logger_is_read(head: bytes, process: str) -> None:
    assert read_prefix(head).process == process


def test_process_of_a_torch_log_line_goes_before_that_of_a_launcher() -> None:
    head = b"(pid=1) W0718 09:12:40.511000 60233 torch/x.py:2100] "
    assert read_prefix(head).process == "60233"


@pytest.mark.parametrize(
    ("head", "time"),
    [
        (
            b"E0718 09:12:40.511000 60233 torch/_inductor/select_algorithm.py:2100] ",
            Clock("python", "0718 09:12:40.511000000"),
        ),
        (
            b"[E817 21:06:30.480021775 ProcessGroupNCCL.cpp:1895] ",
            Clock("c10", "0817 21:06:30.000000000"),
        ),
        (
            b"[rank1]:[W1203 21:06:30.480021775 shim_common.cpp:311] ",
            Clock("c10", "1203 21:06:30.000000000"),
        ),
        (
            b"2026-02-11T08:09:10.111222333Z stderr F ",
            Clock("iso", "2026-02-11 08:09:10.111222333"),
        ),
        (b"2026-04-11 08:12:44,123 ", Clock("iso", "2026-04-11 08:12:44.123000000")),
        (b"2026-04-11 08:12:44 ", Clock("iso", "2026-04-11 08:12:44.000000000")),
        (
            b"ERROR 05-21 10:11:12 [multiproc_executor.py:596] ",
            Clock("app", "05-21 10:11:12.000000000"),
        ),
        (b"May 21 08:55:10 n1 python3[501]: ", Clock("syslog", "0521 08:55:10.000000000")),
        (b"[Thu Dec  3 08:55:10 2026] ", Clock("syslog", "1203 08:55:10.000000000")),
    ],
)
def test_time_of_each_logger_is_read(head: bytes, time: Clock) -> None:
    assert read_prefix(head).time == time


def test_times_of_one_kind_sort_as_they_passed() -> None:
    earlier = read_prefix(b"[E817 21:06:30.480021775 a.cpp:1] ").time
    later = read_prefix(b"[E1203 01:00:00.000000001 a.cpp:1] ").time
    assert earlier is not None
    assert later is not None
    assert earlier < later


def test_serving_engine_head_tells_all_three() -> None:
    head = b"(Worker_TP1 pid=955) ERROR 05-21 10:11:12 [multiproc_executor.py:596] "
    assert read_prefix(head) == Prefix(1, "955", Clock("app", "05-21 10:11:12.000000000"))


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"> ",
        b"# ",
        b"\xe2\x94\x82 ",
        b"E       ",
        b"step 12 loss 0.25: ",
        b" 17%|##   | 17/100 [00:21<00:01, 94.87it/s]",
        b"[ranker]: [rank]: [rank-1]: ",
        b"[1,3] [default]: ",
        b"frank=3 ranks=4 ",
        b"rapid=4 spid=5 ",
        b"[E817 21:06:30.48 x.cpp:1] ",
        b"E0718 09:12:40.511000 torch/x.py:2100] ",
        b"\x00\xff\xfe\x80[rank\xff]",
    ],
)
def test_foreign_text_tells_nothing(head: bytes) -> None:
    assert read_prefix(head) == NOTHING


def test_rank_with_more_digits_than_any_cluster_has_is_none() -> None:
    assert read_prefix(b"[rank1234567]: ").rank is None


@pytest.mark.parametrize("head", [b"[rank3]: " + b"x" * 5000, b"x" * 5000 + b" [rank3]: "])
def test_both_ends_of_a_long_head_are_read(head: bytes) -> None:
    assert read_prefix(head).rank == 3


def test_middle_of_a_long_head_is_not_read() -> None:
    assert read_prefix(b"x" * 300 + b" [rank3]: " + b"x" * 300) == NOTHING


def test_ends_of_a_long_head_are_not_read_as_one_text() -> None:
    head = b"x" * 195 + b"[rank" + b"y" * 100 + b"3]: " + b"x" * 196
    assert head[:200] + head[-200:] == b"x" * 195 + b"[rank3]: " + b"x" * 196
    assert read_prefix(head) == NOTHING


@given(head=st.binary(max_size=600))
def test_any_bytes_give_a_prefix(head: bytes) -> None:
    assert isinstance(read_prefix(head), Prefix)


@given(before=st.binary(max_size=60), rank=st.integers(0, 999_999))
def test_rank_is_read_whatever_stands_before_it(before: bytes, rank: int) -> None:
    found = read_prefix(before.replace(b"[", b"").replace(b"r", b"") + b" [rank%d]: " % rank).rank
    assert found == rank


def test_process_of_syslog_is_not_the_writers() -> None:
    assert read_prefix(b"Jun 21 12:23:01 node7 docker[3764470]: ").process is None
