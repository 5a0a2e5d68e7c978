"""Failed collectives, lost peers and torchrun's summary."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import CollectiveError, Event
from aoti_logscan.parsers import collective
from tests.conftest import Diagnose
from tests.parsers.conftest import (
    DRESSED,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
)

TIMEOUT = (
    "[rank1]:[E817 21:16:31.204171003 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective"
    " operation timeout: WorkNCCL(SeqNum=9912, OpType=ALLREDUCE, NumelIn=5242880, NumelOut=5242880,"
    " Timeout(ms)=600000) ran for 600072 milliseconds before timing out.\n"
)


def _collective(event: Event) -> tuple[str, str | None, str | None]:
    assert isinstance(event, CollectiveError)
    return event.form, event.backend, event.op


def test_timeout_names_its_operation_rank_and_time() -> None:
    event = one(TIMEOUT, collective)
    assert _collective(event) == ("timeout", "nccl", "ALLREDUCE")
    assert event.rank == 1
    assert event.time is not None
    assert (event.time.kind, event.time.stamp) == ("c10", "0817 21:16:31.000000000")


def test_message_begins_with_the_words_it_was_found_by() -> None:
    event = one(TIMEOUT, collective)
    assert isinstance(event, CollectiveError)
    assert event.message == TIMEOUT.partition("[Rank 1] ")[2].strip()


@pytest.mark.parametrize(
    ("text", "form", "backend"),
    [
        (
            "[PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with"
            " exception: CUDA error: misaligned address",
            "watchdog",
            "nccl",
        ),
        (
            "[Rank 1] Some NCCL operations have failed or timed out. Due to the asynchronous",
            "teardown",
            "nccl",
        ),
        (
            "[Rank 1] To avoid data inconsistency, we are taking the entire process down.",
            "teardown",
            "nccl",
        ),
        ("NCCL communicator was aborted on rank 2.", "teardown", "nccl"),
        (
            "[Rank 0] ProcessGroupNCCL's watchdog got stuck for 480 seconds",
            "teardown",
            "nccl",
        ),
        (
            "torch.distributed.DistBackendError: NCCL error in: /p/NCCLUtils.hpp:275, unhandled",
            "peer",
            "nccl",
        ),
        (
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed"
            " by peer [10.0.0.1]:1234",
            "peer",
            "gloo",
        ),
        (
            "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms",
            "peer",
            None,
        ),
        (
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
            "elastic",
            None,
        ),
        (
            "E0817 21:16:31.100000 1 torch/distributed/elastic/multiprocessing/api.py:1003] failed"
            " (exitcode: -6) local_rank: 0 (pid: 77) of binary: /usr/bin/python",
            "elastic",
            None,
        ),
        ("Root Cause (first observed failure):", "elastic", None),
        (
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out"
            " waiting 1800000ms for recv operation to complete",
            "timeout",
            "gloo",
        ),
        ("RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error", "peer", "gloo"),
        ("RuntimeError: oneCCL: coll_param.cpp:455 validate: EXCEPTION: no", "peer", "oneccl"),
        (
            "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1269,"
            " unhandled cuda error, NCCL version 2.14.3",
            "peer",
            "nccl",
        ),
        (
            "[rank1]:[E817 21:16:31.204171003 ProcessGroupXCCL.cpp:68] [Rank 1] Watchdog caught"
            " collective operation timeout: WorkXCCL(SeqNum=9) ran for 6 milliseconds",
            "timeout",
            "xccl",
        ),
        ("torch.distributed.DistStoreError: Timed out after 601 seconds", "timeout", None),
        (
            "[Rank 1] Received a dump signal due to a collective timeout from  rank 3 and we will",
            "notified",
            "nccl",
        ),
        (
            "[Rank 3] Received a dump signal due to a collective timeout from this local rank and",
            "teardown",
            "nccl",
        ),
        (
            "[Rank 1] Received a global timeout from another rank and will start to dump the debug",
            "notified",
            "nccl",
        ),
    ],
)
def test_form_and_backend(text: str, form: str, backend: str | None) -> None:
    assert _collective(one(text + "\n", collective)) == (form, backend, None)


@DRESSED
def test_dress_of_the_line_changes_nothing(dress: Callable[[str], str]) -> None:
    assert _collective(one(dress(TIMEOUT), collective)) == ("timeout", "nccl", "ALLREDUCE")


def test_equal_messages_of_one_rank_are_counted_and_ranks_told_apart() -> None:
    text = TIMEOUT * 2 + TIMEOUT.replace("rank1", "rank2").replace("Rank 1", "Rank 2")
    assert [(event.rank, event.count) for event in events(text, collective)] == [(1, 2), (2, 1)]


NOTIFIED = (
    "[rank1]:[E817 21:16:33.061727749 ProcessGroupNCCL.cpp:1807] [PG ID 0 PG GUID 0(default_pg)"
    " Rank 1] Received a dump signal due to a collective timeout from  rank 3 and we will try our"
    " best to dump the debug info. Last enqueued NCCL work: 78, last completed NCCL work: 77.\n"
)


def test_timeout_of_another_rank_is_a_failed_collective_where_nothing_else_is(
    diagnose: Diagnose,
) -> None:
    report = diagnose(NOTIFIED)
    assert report["verdict"]["class"] == "collective-failure"
    assert report["verdict"]["summary"].startswith(
        "Another rank timed out in a collective: rank 3 (nccl)"
    )
    assert report["findings"][0]["facts"]["backend"] == "nccl"


def test_own_timeout_tells_more_than_that_of_another_rank(diagnose: Diagnose) -> None:
    report = diagnose(NOTIFIED + TIMEOUT.replace("21:16:31", "21:16:35"))
    cause = report["findings"][0]
    assert (cause["pattern"], cause["facts"]["op"]) == ("collective-timeout", "ALLREDUCE")
    assert [finding["role"] for finding in report["findings"]] == ["cause", "consequence"]


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", collective) == ((), 0, {}, ())


def test_operation_cut_inside_its_name_is_unknown() -> None:
    operations = {_collective(event)[2] for event in every_cut(TIMEOUT, collective)}
    assert operations == {None, "ALLREDUCE"}


def test_cut_at_any_byte_invents_no_form_or_rank() -> None:
    cuts = every_cut(TIMEOUT, collective)
    assert {(_collective(event)[:2], event.rank) for event in cuts} == {(("timeout", "nccl"), 1)}


@pytest.mark.parametrize(
    "text",
    [
        "ConnectionResetError: [Errno 104] Connection reset by peer\n",
        "redis: Socket Timeout after 5 s\n",
        "INFO ProcessGroupNCCL initialised with 8 ranks\n",
        "[W socket.cpp:697] [c10d] failed to connect to [n1]:9 (errno: 111 - Connection refused)\n",
        "Timed out waiting for the page to load\n",
        '      "Received a dump signal due to a collective timeout from ",\n',
        WRAPPER_CPP,
    ],
    ids=["http", "redis", "healthy", "tried-again", "page", "code", "wrapper"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, collective) == []


def test_folder_called_distributed_makes_no_peer() -> None:
    text = "/srv/distributed/app.py:31: ConnectionResetError: Connection reset by peer\n"
    assert events(text, collective) == []


def test_code_that_quotes_a_message_gives_nothing() -> None:
    text = '    if "Watchdog caught collective operation timeout" in line:\n'
    assert events(text, collective) == []


@settings(max_examples=80, deadline=None)
@given(around(*collective.ANCHORS, b"OpType=", b"gloo", b"[Rank 1]"))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, collective).size == len(data)
