"""torch's warning that it has no kernels for a GPU of this machine.

    NVIDIA TITAN Xp with CUDA capability sm_61 is not compatible with the current PyTorch ...
    The current PyTorch install supports CUDA capabilities sm_70 sm_75 sm_80 sm_86 sm_90.

    Found GPU0 NVIDIA TITAN Xp which is of compute capability (CC) 6.1.
    The following list shows the CCs this version of PyTorch was built for and the hardware CCs ...
    - 7.5 which supports hardware CC >=7.5,<8.0

give one `DeviceInformation` each. It explains a missing kernel image and is harmless otherwise.
Source: torch 2.13, torch/cuda/__init__.py, `_check_cubins` and `_warn_unsupported_code`.
"""

from __future__ import annotations

from aoti_logscan.events import DeviceInformation
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.records import Draft, Parsed

NAME = "compute_capability"
ANCHORS = (
    b"is not compatible with the current PyTorch installation",
    b" which is of compute capability (CC) ",
)
#: the key of the event, as the loader of packages names the same thing
KEY = "COMPUTE_CAPABILITY"

_HERE = lazy_re(
    rb"with CUDA capability (?P<old>sm_\w+) is not compatible"
    rb"|which is of compute capability \(CC\) (?P<new>\d+\.\d+)"
)
_SUPPORTED = lazy_re(rb"supports CUDA capabilities (?P<list>(?:sm_\w+ ?)+)")
_BUILT_FOR = lazy_re(rb"- (?P<one>\d+\.\d+) which supports hardware CC")
#: lines of the warning, and bytes before its anchor
_LINES = 40
_BEFORE = 64


def parse(hit: Hit) -> Parsed:
    """One draft for the warning at this hit; nothing where it does not say both sides."""
    here = _HERE.search(hit.line.text, max(0, hit.column - _BEFORE))
    package = _supported(hit) if here else None
    if here is None or package is None:
        return ()
    fields = {
        "key": KEY,
        "here": (here["old"] or here["new"]).decode(),
        "package": package.decode("utf-8", "replace"),
    }
    return (Draft.of_line(hit, DeviceInformation, fields, here.start(), tuple(fields.values())),)


def _supported(hit: Hit) -> bytes | None:
    """The architectures in the lines below, apart from one another by blanks."""
    listed: list[bytes] = []
    for line in hit.following(_LINES):
        if match := _SUPPORTED.search(line.text):
            return match["list"].strip()
        if match := _BUILT_FOR.search(line.text):
            listed.append(match["one"])
        elif listed:
            break
    return b" ".join(listed) or None
