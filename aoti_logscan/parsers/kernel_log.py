"""What the GPU's kernel driver writes into the kernel's log: page faults of amdgpu, NVIDIA's Xids.

    amdgpu 0000:0b:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32792)
    amdgpu 0000:0b:00.0: amdgpu:  Process python pid 91762 thread python pid 91762
    amdgpu 0000:0b:00.0: amdgpu:   in page starting at address 0x00007f2a5318b000 from client 10

gives one `GpuError` with the address, of the process that is named;

    NVRM: Xid (PCI:0000:3d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.

one whose message is `Xid 79: GPU has fallen off the bus`. A page fault of vmid 0 is the driver's or
the firmware's, no program's; of Xids those count that end the work on the GPU. Xid 31 (`MMU Fault`)
and 13 (`SM Warp Exception`), which tell what the access was, are `gpu_error`'s. Sources: Linux,
drivers/gpu/drm/amd/amdgpu/gmc_v9_0.c to gmc_v12_0.c, `gmc_v*_process_interrupt`, and
Documentation/gpu/amdgpu/debugging.rst; NVIDIA's open kernel modules, `nvErrorLog_va`, and its Xid
catalogue.
"""

from __future__ import annotations

from typing import Any

from aoti_logscan.events import GpuError
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

NAME = "kernel_log"
ANCHORS = (b" page fault (src_id:", b"in page starting at address 0x", b"NVRM: Xid (")

# [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32792)
# [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32777, for process python pid 24 ...
_FAULT = lazy_re(
    rb"(?P<message>\[(?:gfx|mm)hub\d?\](?: retry| no-retry)? page fault) \(src_id:\d+ ring:\d+"
    rb" vmid:(?P<vmid>\d+)[^\n]*"
)
#  Process python pid 91762 thread python pid 91762      , for process python pid 24 thread ...
_PROCESS = lazy_re(rb"\b[Pp]rocess [^\n]{0,64}?pid (?P<pid>\d{1,9}) thread ")
#   in page starting at address 0x00007f2a5318b000 from client 10
_ADDRESS = lazy_re(rb"in page starting at address (?P<address>0x[0-9a-fA-F]{1,16}) from ")
# NVRM: Xid (PCI:0000:3d:00): 79, pid=2113, name=python, GPU has fallen off the bus.
_XID = lazy_re(
    rb"NVRM: Xid \([^()\n]{1,40}\): (?P<code>\d{1,3}), (?:pid=(?:(?P<pid>\d{1,9})|[^,\n]{1,20}), )?"
    rb"(?:name=[^,\n]{0,40}, )?(?P<told>[^\n]{1,200})"
)
#: the Xids after which the work on the GPU does not go on: stopped, ECC, NVLink, off the bus, GSP
_FATAL = frozenset((43, 48, 62, 74, 79, 94, 95, 109, 119, 120, 140))
#: lines that a page fault may take, with those of other writers between
_LINES = 8
#: bytes before and after an anchor in which its text stands
_BEFORE, _AFTER = 32, 500


def parse(hit: Hit) -> Parsed:
    """One draft for the report at this hit; nothing where it is no program's or is quoted."""
    text, column = hit.line.text, hit.column
    if xid := _XID.match(text, column, column + _AFTER):
        return () if is_quotation(text, column) else _xid(hit, xid.groupdict())
    fault = _FAULT.search(text, max(0, column - _BEFORE), column + _AFTER)
    if fault is None:
        return _address_alone(hit)
    if fault["vmid"] == b"0" or is_quotation(text, fault.start()):
        return ()
    return _page_fault(hit, fault["message"], fault[0])


def _page_fault(hit: Hit, message: bytes, said: bytes) -> Parsed:
    """The fault whose headline stands here; process and address may stand in the next lines."""
    process, address, end = _PROCESS.search(said), None, hit.line.end
    for line in hit.following(_LINES):
        if _FAULT.search(line.text):
            break
        process = process or _PROCESS.search(line.text)
        if address := _ADDRESS.search(line.text):
            end = line.end
            break
    told = {"pid": process["pid"] if process else None}
    return _draft(hit, "hip", message, told, address["address"] if address else None, end)


def _address_alone(hit: Hit) -> Parsed:
    """The second half of a report whose headline is not in the log."""
    text, column = hit.line.text, hit.column
    address = _ADDRESS.match(text, column, column + _AFTER) if column < _AFTER else None
    if address is None or is_quotation(text, column) or _has_headline(hit):
        return ()
    return _draft(hit, "hip", b"page fault", {}, address["address"], hit.line.end)


def _has_headline(hit: Hit) -> bool:
    line = hit.line
    for _ in range(_LINES):
        above = hit.window.previous(line)
        if above is None:
            return False
        if _FAULT.search(above.text):
            return True
        line = above
    return False


def _xid(hit: Hit, told: dict[str, bytes]) -> Parsed:
    code = int(told["code"])
    if code not in _FATAL:
        return ()
    message = b"Xid %d: %s" % (code, told["told"].strip().rstrip(b"."))
    return _draft(hit, "cuda", message, told, None, hit.line.end)


def _draft(
    hit: Hit,
    runtime: str,
    message: bytes,
    told: dict[str, bytes | None] | dict[str, bytes],
    address: bytes | None,
    end: int,
) -> Parsed:
    fields: dict[str, Any] = {
        "runtime": runtime,
        "message": message.decode("utf-8", "replace"),
        "reported_by": "kernel-driver",
        "address": address.decode() if address else None,
    }
    prefix, process = read_prefix(hit.head(hit.column)), told.get("pid")
    return (
        Draft(
            kind=GpuError,
            fields=fields,
            start=hit.line.start,
            end=end,
            text=hit.line.text,
            prefix=prefix._replace(process=process.decode()) if process else prefix,
            fold=(*fields.values(), process),
        ),
    )
