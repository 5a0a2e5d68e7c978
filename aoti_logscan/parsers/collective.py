"""Failed collectives, lost peers and torchrun's summary.

    [rank1]:[E817 21:16:31.204171003 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective
    operation timeout: WorkNCCL(SeqNum=9912, OpType=ALLREDUCE, ...) ran for 600072 milliseconds ...

(on one line) gives one `CollectiveError`. Sources: torch 2.13,
distributed/c10d/ProcessGroupNCCL.cpp and ProcessGroupGloo.cpp; gloo's transport;
torch/distributed/elastic/multiprocessing (`ChildFailedError`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aoti_logscan.events import CollectiveError
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.scan import Draft, Parsed

NAME = "collective"


class _Form(NamedTuple):
    """A kind of message, the literal it is found by, and the backend that alone prints it."""

    form: str
    anchor: bytes
    backend: str | None


_FORMS = (
    _Form("timeout", b"Watchdog caught collective operation timeout", "nccl"),
    _Form("watchdog", b"watchdog thread terminated with exception", "nccl"),
    _Form("teardown", b"Some NCCL operations have failed or timed out", "nccl"),
    _Form("teardown", b"we are taking the entire process down", "nccl"),
    _Form("teardown", b"NCCL communicator was aborted", "nccl"),
    _Form("teardown", b"ProcessGroupNCCL's watchdog got stuck", "nccl"),
    _Form("teardown", b"Watchdog will timeout and abort", "nccl"),
    _Form("peer", b"torch.distributed.DistBackendError: NCCL error", "nccl"),
    _Form("peer", b"Connection closed by peer", None),
    _Form("peer", b"Connection reset by peer", None),
    _Form("peer", b"DistNetworkError", None),
    _Form("peer", b"Socket Timeout", None),
    _Form("elastic", b"elastic.multiprocessing.errors.ChildFailedError", None),
    _Form("elastic", b" failed (exitcode: ", None),
    _Form("elastic", b"Root Cause (first observed failure):", None),
)
ANCHORS = tuple(form.anchor for form in _FORMS)

# OpType=ALLREDUCE,
_OP = re.compile(rb"OpType=(?P<op>\w+)[,)]")
# [../third_party/gloo/gloo/transport/tcp/pair.cc:534]
_BACKEND = re.compile(rb"\b(gloo|nccl|mpi|ucc|xccl|rccl)\b", re.IGNORECASE)
_TORCH_NETWORK = re.compile(
    rb"gloo|nccl|c10d|TCPStore|DistNetwork|DistBackend|torch\.distributed|rendezvous", re.IGNORECASE
)


def parse(hit: Hit) -> Parsed:
    """One draft for the message at this hit."""
    text, column = hit.line.text, hit.column
    form = next((form for form in _FORMS if text.startswith(form.anchor, column)), None)
    if form is None:
        return ()
    if is_quotation(text, column) and form.form != "elastic":
        return ()
    if form.form == "peer" and not _TORCH_NETWORK.search(text, max(0, column - 300), column + 500):
        return ()
    op = _OP.search(text, column, column + 500)
    backend = _BACKEND.search(text, max(0, column - 300), column + 500)
    fields = {
        "form": form.form,
        "backend": form.backend or (backend[1].decode().lower() if backend else None),
        "op": op["op"].decode() if op else None,
        "message": text[column : column + 500].decode("utf-8", "replace").strip(),
    }
    return (
        Draft.of_line(
            hit, CollectiveError, fields, column, (form.form, fields["backend"], fields["op"])
        ),
    )
