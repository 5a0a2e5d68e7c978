"""Debugging flags that a person or a script set where the log shows it.

    $ CUDA_LAUNCH_BLOCKING=1 python infer.py --batch 9
    export TORCH_SHOW_CPP_STACKTRACES=1
    setenv TORCH_SHOW_CPP_STACKTRACES 1
      CUDA_LAUNCH_BLOCKING:  1
    {'CUDA_LAUNCH_BLOCKING': '1'}

give one `FlagSeen` each; torch's own advice ("For debugging consider passing ...") gives nothing.
"""

from __future__ import annotations

from aoti_logscan.events import FlagSeen
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.prefix import read_prefix
from aoti_logscan.records import Draft, Parsed

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
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
    "PYTORCH_USE_CUDA_DSA",
)
ANCHORS = tuple(name.encode() for name in NAMES)

_VALUE = lazy_re(rb"(?P<name>[A-Z_]+)=(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'`,;)]*)")
# CUDA_LAUNCH_BLOCKING:  1      'TORCH_LOGS': '+inductor'     (a value, and no words after it)
_PAIR = lazy_re(
    rb"(?P<name>[A-Z_]+)[\"']?\s*:\s*[\"']?(?P<value>\d{1,3}|[Tt]rue|[Ff]alse|fast|dladdr|addr2line"
    rb"|\+[\w,+.]{1,200}|/[\w./-]{1,200}|output_code|all)(?=[\"',}\]]|\s*$)"
)
# setenv NAME 1      ENV NAME 1
_SEPARATED = lazy_re(rb"(?P<name>[A-Z_]+)\s+(?P<value>[^\s\"']\S*)\s*$")
_SEPARATED_BEFORE = lazy_re(rb"\b(?:setenv|ENV)\s+$")
# - name: CUDA_LAUNCH_BLOCKING        and below it        value: "1"
_NAMED_BEFORE = lazy_re(rb"\bname:\s*[\"']?$")
_VALUE_BELOW = lazy_re(rb"(?:^|\s)value:\s*[\"']?(?P<value>[^\s\"']{1,200})[\"']?\s*$")
# "For debugging consider passing ", "Set ", "rerun with ": advice, not a setting
_ADVICE = lazy_re(
    rb"(?:passing|setting|with|[Tt]ry|[Uu]se|using|adding|[Aa]dd|via|by|or|and|consider|[Ss]et"
    rb"|[Ee]nable|[Pp]ass|e\.g\.|rerun:?|see|run)\s+[`'\"(]?$|[`(]$"
)
# C:\> set NAME=1     set NAME=1 at the start of a line is a command
_SET_COMMAND = lazy_re(rb"(?:^|[>$#] ?)\s*set\s+$")
_WORD_BEFORE = lazy_re(rb"[\w.]$")


def parse(hit: Hit) -> Parsed:
    """One draft for the setting at this hit; nothing for advice and longer names."""
    text, column = hit.line.text, hit.column
    before = text[max(0, column - 200) : column]
    if _WORD_BEFORE.search(before) or before.endswith((b"`", b"os.environ")):
        return ()
    if _ADVICE.search(before) and not _SET_COMMAND.search(before):
        return ()
    set_to = _set_to(hit, before)
    if set_to is None:
        return ()
    name = text[column : column + hit.end - hit.start].decode()
    value = set_to.strip(b"\"'").removesuffix(b".").decode("utf-8", "replace")
    return (
        Draft(
            kind=FlagSeen,
            fields={"name": name, "value": value},
            start=hit.line.start,
            end=hit.end,
            text=text,
            prefix=read_prefix(hit.head(column)),
            fold=(name, value),
        ),
    )


def _set_to(hit: Hit, before: bytes) -> bytes | None:
    """The value that a flag is set to, in any of the forms; None for a longer name, or no value."""
    text, column = hit.line.text, hit.column
    forms = [_VALUE, _PAIR]
    if _SEPARATED_BEFORE.search(before):
        forms.append(_SEPARATED)
    for form in forms:
        match = form.match(text, column, column + 1_000)
        if match and match.end("name") - column == hit.end - hit.start:
            return match["value"]
    if _NAMED_BEFORE.search(before):
        for line in hit.following(1):
            below = _VALUE_BELOW.search(line.text)
            return below["value"] if below else None
    return None
