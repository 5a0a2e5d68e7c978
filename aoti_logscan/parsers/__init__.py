"""All log formats, in the order in which equal hits are offered.

A new format is one module here with `NAME`, `ANCHORS` and `parse`, and one line in `PARSERS`; one
with closed records (`owns`) stands in `OWNERS` too.
"""

from __future__ import annotations

from aoti_logscan.parsers import (
    collective,
    compute_capability,
    cpp_stack,
    device_assert,
    device_conflict,
    flags,
    gpu_error,
    index_check,
    input_check,
    intermediate_printer,
    kernel_log,
    load_error,
    missing_operator,
    nan_check,
    native_stack,
    out_of_memory,
    process_death,
    prompts,
    python_traceback,
    run_record,
    sanitizer,
    shim,
    supervisor,
    torch_logs,
    torch_trace,
)
from aoti_logscan.records import Owner, Parser

PARSERS: tuple[Parser, ...] = (
    run_record,
    torch_trace,
    torch_logs,
    python_traceback,
    device_assert,
    input_check,
    index_check,
    load_error,
    missing_operator,
    nan_check,
    device_conflict,
    gpu_error,
    kernel_log,
    out_of_memory,
    compute_capability,
    sanitizer,
    shim,
    cpp_stack,
    native_stack,
    process_death,
    supervisor,
    collective,
    flags,
    intermediate_printer,
)

OWNERS: tuple[Owner, ...] = (run_record, torch_trace, torch_logs, prompts)
