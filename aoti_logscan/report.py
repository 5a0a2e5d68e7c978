"""The answer, as one frozen value: what every renderer shows and `-f json` prints.

Fields and words are fixed by schema version 1; see the README for what each means to a reader.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION = "1"

Certainty = Literal["sure", "likely", "possible"]
Role = Literal["cause", "consequence", "context", "harmless"]

#: from strongest to weakest
CERTAINTIES: tuple[Certainty, ...] = ("sure", "likely", "possible")


class Evidence(msgspec.Struct, frozen=True):
    """A line the answer rests on; `line` counts from 1, `offset` is in bytes."""

    source: str
    line: int
    offset: int
    text: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was recognised, with its role in the failure.

    `count` is how many records say it; `evidence` holds the first of each source.
    """

    pattern: str
    failure_class: str = msgspec.field(name="class")
    role: Role
    certainty: Certainty
    title: str
    summary: str
    facts: dict[str, Any]
    count: int
    rank: int | None
    process: str | None
    evidence: tuple[Evidence, ...]
    explain: str
    fixes: tuple[str, ...]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer in one sentence; `finding` is an index into the findings."""

    failure_class: str = msgspec.field(name="class")
    certainty: Certainty | None
    summary: str
    finding: int | None


class Call(msgspec.Struct, frozen=True):
    """The line of generated code that launched a kernel."""

    file: str | None
    line: int | None
    text: str


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """What was printed of one argument of a launch, before or after it; None is not printed."""

    name: str
    phase: Literal["before", "after"]
    dtype: str | None = None
    device: str | None = None
    size: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None
    numel: int | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    nan: bool | None = None
    inf: bool | None = None


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """The last kernel launched, as far as the evidence goes."""

    name: str
    certainty: Certainty
    open: bool | None
    found_by: str
    why: str
    launch_index: int | None = None
    rank: int | None = None
    evidence: Evidence | None = None
    arguments: tuple[Argument, ...] = ()
    call: Call | None = None
    producers: tuple[Producer, ...] = ()
    source_nodes: tuple[str, ...] = ()
    aten_ops: tuple[str, ...] = ()
    user_stack: tuple[str, ...] = ()


class InputRef(msgspec.Struct, frozen=True, kw_only=True):
    """A graph input: its position among the inputs, and the name in the generated code."""

    position: int
    name: str


class InputDim(msgspec.Struct, frozen=True, kw_only=True):
    """A dim of a graph input; `dim` is None for a size that is an input itself."""

    position: int
    name: str
    dim: int | None


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """What the upper bound of an index check is.

    `parameter` is the kernel's, `argument` what the wrapper gives for it, both None where the
    bound is a number; then `input` is the indexed tensor and dim. `checked_lower` and
    `checked_upper` are what the wrapper's own checks demand of that dim, None without one.
    """

    parameter: str | None = None
    argument: str | None = None
    input: InputDim | None = None
    checked_lower: int | None = None
    checked_upper: int | None = None


class IndexSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where an index comes from: data (`loaded`), sizes (`computed`) or both (`mixed`).

    `parameter` is the pointer it is loaded from, `argument` the wrapper's tensor, which is a graph
    `input` or was `produced_by` an earlier kernel.
    """

    kind: Literal["loaded", "computed", "mixed"]
    parameter: str | None = None
    argument: str | None = None
    input: InputRef | None = None
    produced_by: str | None = None


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """From a failed index check back to the model's inputs.

    `kernel` is None where several fit: then they are the `candidates`. `slice` are the kernel's own
    lines that the index is made of; `failing_values` are sizes by symbol, each with the index that
    the kernel computes from them, proven by evaluation. `assertion` is a statement in Python that
    fails before the call where the check would fail in it; `inputs` are the model's.
    """

    kernel: str | None
    index: str
    lower: str | None
    upper: str | None
    slice: tuple[str, ...] = ()
    bound: Bound | None = None
    index_source: IndexSource | None = None
    failing_values: tuple[dict[str, int], ...] = ()
    candidates: tuple[str, ...] = ()
    source_nodes: tuple[str, ...] = ()
    aten_ops: tuple[str, ...] = ()
    user_stack: tuple[str, ...] = ()
    cause: str | None = None
    fixes: tuple[str, ...] = ()
    assertion: str | None = None


class Producer(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor that a kernel read: the kernel that made it, or the graph input it is."""

    argument: str
    kernel: str | None
    input: InputRef | None = None


class LaunchReport(msgspec.Struct, frozen=True, kw_only=True):
    """One launch that the printer marked, or one call in the generated code.

    `index` counts launches of a stream (calls of a wrapper) from 0. `open` is True where no mark
    tells that a launch came back, None for a call of which nothing tells that it ran. `arguments`
    and the rest are as in `Kernel`.
    """

    index: int
    kernel: str
    open: bool | None
    rank: int | None
    source: str
    line: int
    arguments: tuple[Argument, ...] = ()
    call: Call | None = None
    producers: tuple[Producer, ...] = ()
    source_nodes: tuple[str, ...] = ()
    aten_ops: tuple[str, ...] = ()
    user_stack: tuple[str, ...] = ()


class KernelReport(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel whole: its code where it is at hand, and its launches."""

    name: str
    code: str | None
    file: str | None
    launches: tuple[LaunchReport, ...]


class BufferUse(msgspec.Struct, frozen=True, kw_only=True):
    """A call that reads or writes a buffer, under the name that the buffer has there."""

    buffer: str
    role: Literal["read", "written", "updated"]
    parameter: str | None
    kernel: str
    file: str
    line: int
    source_nodes: tuple[str, ...] = ()
    user_stack: tuple[str, ...] = ()


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """A debugging flag, what it does and costs, and what the input says of it."""

    name: str
    state: Literal["on", "off", "unknown"]
    takes_effect: Literal["compile", "run"]
    does: str
    costs: str
    evidence: Evidence | None = None


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """What to do next; `command` can be pasted, `costs` says what it takes beyond a plain run."""

    title: str
    command: str | None
    takes_effect: Literal["compile", "run"]
    why: str
    costs: str | None = None


class CompileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One compilation told by a trace."""

    id: str | None
    rank: int | None
    ok: bool
    fail_type: str | None
    fail_reason: str | None


class Problem(msgspec.Struct, frozen=True):
    """Something of a source that was not understood; `line` is None for the whole source."""

    line: int | None
    what: str


class SourceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one input: size in bytes after decompression, records by parser."""

    name: str
    bytes: int
    rank: int | None
    torch_version: str | None
    records: dict[str, int]
    problems: tuple[Problem, ...]


class Tool(msgspec.Struct, frozen=True):
    """Who wrote the report."""

    name: str
    version: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the tool has to say of one failed (or healthy) run."""

    schema_version: str
    tool: Tool
    signature: str | None
    verdict: Verdict
    findings: tuple[Finding, ...]
    last_kernel: Kernel | None
    lineage: Lineage | None
    flags: tuple[Flag, ...]
    next_steps: tuple[NextStep, ...]
    compiles: tuple[CompileRecord, ...]
    sources: tuple[SourceReport, ...]


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a source around one that the answer rests on; `first_line` is that of `text`.

    A line that was too long is cut, with `...` where it was.
    """

    source: str
    line: int
    first_line: int
    text: str


class SuspectCode(msgspec.Struct, frozen=True, kw_only=True):
    """The generated code of a kernel that may be at fault, or the wrapper's lines around its call.

    `first_line` is the number, in `file`, of the first line of `text`; `lit` are the lines of the
    file that the failure names: the failed assertion, the call.
    """

    name: str
    role: Literal["kernel", "call"]
    language: Literal["triton", "cpp", "python"]
    file: str | None
    first_line: int
    text: str
    lit: tuple[int, ...] = ()


class Dossier(msgspec.Struct, frozen=True, kw_only=True):
    """A report with all that is shown beside it in pages and attachments.

    `launches` are those that were marked, else the calls of the generated code, in order;
    `launches_left_out` counts those beyond the limit. `excerpts` are in the order of the findings.
    """

    report: Report
    launches: tuple[LaunchReport, ...] = ()
    launches_left_out: int = 0
    excerpts: tuple[Excerpt, ...] = ()
    code: tuple[SuspectCode, ...] = ()
