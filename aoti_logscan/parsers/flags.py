"""Debugging flags that a person or a script set where the log shows it.

    $ CUDA_LAUNCH_BLOCKING=1 python infer.py --batch 9
    export TORCH_SHOW_CPP_STACKTRACES=1

give one `FlagSeen` each; torch's own advice ("For debugging consider passing ...") gives nothing.
"""

from __future__ import annotations

import re

from aoti_logscan.events import FlagSeen
from aoti_logscan.lines import Hit
from aoti_logscan.prefix import read_prefix
from aoti_logscan.scan import Draft, Parsed

NAME = "flags"
NAMES = (
    "AOTI_RUNTIME_CHECK_INPUTS",
    "TORCHINDUCTOR_NAN_ASSERTS",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "CUDA_LAUNCH_BLOCKING",
    "AMD_SERIALIZE_KERNEL",
    "HIP_LAUNCH_BLOCKING",
    "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER",
    "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT",
    "TORCH_LOGS",
    "TORCH_TRACE",
    "TORCH_SHOW_CPP_STACKTRACES",
    "TORCH_SYMBOLIZE_MODE",
    "INDUCTOR_PROVENANCE",
    "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE",
    "PYTORCH_USE_CUDA_DSA",
)
ANCHORS = tuple(f"{name}=".encode() for name in NAMES)

_VALUE = re.compile(rb"(?P<name>[A-Z_]+)=(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'`,;)]*)")
# "For debugging consider passing ", "Set ", "rerun with ": advice, not a setting
_ADVICE = re.compile(
    rb"(?:passing|setting|with|[Tt]ry|[Uu]se|using|adding|[Aa]dd|via|by|or|and|consider|[Ss]et"
    rb"|[Ee]nable|[Pp]ass|e\.g\.|rerun:?|see|run)\s+[`'\"(]?$|[`(]$"
)
# C:\> set NAME=1     set NAME=1 at the start of a line is a command
_SET_COMMAND = re.compile(rb"(?:^|[>$#] ?)\s*set\s+$")
_WORD_BEFORE = re.compile(rb"[\w.]$")


def parse(hit: Hit) -> Parsed:
    """One draft for the setting at this hit; nothing for advice and longer names."""
    text, column = hit.line.text, hit.column
    before = text[max(0, column - 200) : column]
    if _WORD_BEFORE.search(before) or before.endswith((b"`", b"os.environ")):
        return ()
    if _ADVICE.search(before) and not _SET_COMMAND.search(before):
        return ()
    match = _VALUE.match(text, column)
    if match is None:
        return ()
    value = match["value"].strip(b"\"'").removesuffix(b".").decode("utf-8", "replace")
    fields = {"name": match["name"].decode(), "value": value}
    return (
        Draft(
            kind=FlagSeen,
            fields=fields,
            start=hit.line.start,
            end=hit.start + match.end() - match.start(),
            text=text,
            prefix=read_prefix(hit.head(column)),
            fold=(fields["name"], value),
        ),
    )
