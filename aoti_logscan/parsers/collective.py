"""Failed collectives, lost peers and torchrun's summary.

    [rank1]:[E817 21:16:31.204171003 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective
    operation timeout: WorkNCCL(SeqNum=9912, OpType=ALLREDUCE, ...) ran for 600072 milliseconds ...

(on one line) gives one `CollectiveError`. Sources: torch 2.13,
distributed/c10d/ProcessGroupNCCL.cpp (`getNCCLWatchdogTimeoutErrorMsg`: whose timeout this rank was
notified of; once `Received a global timeout from another rank`) and ProcessGroupGloo.cpp;
gloo's transport; torch/distributed/elastic/multiprocessing (`ChildFailedError`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aoti_logscan.events import CollectiveError
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.records import Draft, Parsed

NAME = "collective"


class _Form(NamedTuple):
    """A kind of message, the literal it is found by, and the backend that alone prints it."""

    form: str
    anchor: bytes
    backend: str | None


_FORMS = (
    _Form("timeout", b"Watchdog caught collective operation timeout", "nccl"),
    _Form("timeout", b"watchdog hang", "nccl"),
    _Form("timeout", b"Timed out waiting ", None),
    _Form("timeout", b"DistStoreError: ", None),
    _Form("timeout", b"failed to pass monitoredBarrier", None),
    _Form("watchdog", b"watchdog thread terminated with exception", "nccl"),
    _Form("teardown", b"Some NCCL operations have failed or timed out", "nccl"),
    _Form("teardown", b"we are taking the entire process down", "nccl"),
    _Form("teardown", b"NCCL communicator was aborted", "nccl"),
    _Form("teardown", b"s watchdog got stuck", "nccl"),
    _Form("teardown", b"Watchdog will timeout and abort", "nccl"),
    _Form("teardown", b"a collective timeout from this local rank", "nccl"),
    _Form("teardown", b"Received a timeout signal from this local rank", "nccl"),
    _Form("notified", b"a collective timeout from  rank ", "nccl"),
    _Form("notified", b"a collective timeout from rank ", "nccl"),
    _Form("notified", b"Received a global timeout from another rank", "nccl"),
    _Form("teardown", b"TCPStore server has shut down too early", None),
    _Form("teardown", b"recvValue failed on SocketImpl", None),
    _Form("teardown", b"sendBytes failed on SocketImpl", None),
    _Form("teardown", b"Connection closed by remote peer", None),
    _Form("teardown", b"MPI_ABORT was invoked on rank ", "mpi"),
    _Form("peer", b"NCCL error in: ", "nccl"),
    _Form("peer", b"NCCL Error ", "nccl"),
    _Form("peer", b"oneCCL: ", "oneccl"),
    _Form("peer", b"Gloo connectFullMesh failed", "gloo"),
    _Form("peer", b"Application timeout caused pair closure", "gloo"),
    _Form("peer", b"monitoredBarrier, but received errors", "gloo"),
    _Form("peer", b"Connection closed by peer", None),
    _Form("peer", b"Connection reset by peer", None),
    _Form("peer", b"Connection refused", None),
    _Form("peer", b"Broken pipe", None),
    _Form("peer", b"DistNetworkError", None),
    _Form("peer", b"rendezvous.api.Rendezvous", None),
    _Form("peer", b"Socket Timeout", None),
    _Form("mismatch", b"Detected mismatch between collectives on ranks", None),
    _Form("elastic", b"elastic.multiprocessing.errors.ChildFailedError", None),
    _Form("elastic", b"elastic.multiprocessing.api.SignalException: ", None),
    _Form("elastic", b" failed (exitcode: ", None),
    _Form("elastic", b"Root Cause (first observed failure):", None),
)
ANCHORS = tuple(form.anchor for form in _FORMS)

# OpType=ALLREDUCE,
_OP = lazy_re(rb"OpType=(?P<op>\w+)[,)]")
# WorkNCCL(SeqNum=78,    ProcessGroupXCCL.cpp:683]    ../third_party/gloo/gloo/transport/tcp/pair.cc
_BACKEND = lazy_re(
    rb"(?:\b|Work|ProcessGroup)(gloo|nccl|mpi|ucc|xccl|rccl|hccl)(?:\b|(?<=CL)\()", re.IGNORECASE
)
_TORCH_NETWORK = lazy_re(
    rb"gloo|nccl|c10d|TCPStore|Dist(?:Network|Backend|Store)|torch\.distributed|rendezvous"
    rb"|monitoredBarrier|oneCCL",
    re.IGNORECASE,
)
# [W socket.cpp:697] [c10d] The client socket has failed to connect: it is tried again
_TRIED_AGAIN = lazy_re(rb"\[W\d* ?[^\]\n]{0,80}socket\.cpp|\bretry|\bRetry|trying again")
_FROM_NETWORK = ("peer", "timeout")


def parse(hit: Hit) -> Parsed:
    """One draft for the message at this hit."""
    text, column = hit.line.text, hit.column
    form = next((form for form in _FORMS if text.startswith(form.anchor, column)), None)
    if form is None:
        return ()
    if is_quotation(text, column) and form.form != "elastic":
        return ()
    near = max(0, column - 300), column + 500
    by_words = form.form in _FROM_NETWORK and form.backend is None
    if by_words and not _is_torch_network(text[slice(*near)]):
        return ()
    op = _OP.search(text, column, column + 500)
    backend = _BACKEND.search(text, *near)
    fields = {
        "form": form.form,
        "backend": backend[1].decode().lower() if backend else form.backend,
        "op": op["op"].decode() if op else None,
        "message": text[column : column + 500].decode("utf-8", "replace").strip(),
    }
    return (
        Draft.of_line(
            hit, CollectiveError, fields, column, (form.form, fields["backend"], fields["op"])
        ),
    )


def _is_torch_network(text: bytes) -> bool:
    """Whether words that any network program prints are torch's here, and final."""
    return _TORCH_NETWORK.search(text) is not None and _TRIED_AGAIN.search(text) is None
