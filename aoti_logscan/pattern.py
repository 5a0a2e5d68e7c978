"""A pattern: which events are which failure, and what is told of it; one TOML file each.

A pattern names an event type and conditions on fields (of the event or of its surroundings), the
class, and where each fact of the class comes from. It never sees log text but through fields. Its
id is its file's name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from aoti_logscan.errors import PatternError
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.report import Certainty, Role

#: bytes of a pattern file
MAX_FILE = 256 << 10
#: the facts of every failure class; a fact that a pattern does not fill is null
CLASS_FACTS: dict[str, tuple[str, ...]] = {
    "device-mismatch": ("compiled_for", "loaded_on", "stage", "tensor"),
    "input-mismatch": ("input", "name", "property", "dim", "expected", "actual"),
    "triton-index-out-of-bounds": (
        "kernel",
        "file",
        "line",
        "index",
        "lower",
        "upper",
        "assertions",
        "blocks",
    ),
    "aten-index-out-of-bounds": ("file", "line", "function", "condition", "assertions"),
    "cpu-index-out-of-bounds": ("kernel", "file", "line", "index", "lower", "upper"),
    "device-assert": ("file", "line", "function", "condition", "assertions"),
    "illegal-memory-access": (
        "runtime",
        "reported_by",
        "asynchronous",
        "access",
        "size",
        "address",
        "kernel",
    ),
    "misaligned-address": (
        "runtime",
        "reported_by",
        "asynchronous",
        "access",
        "size",
        "address",
        "kernel",
    ),
    "gpu-launch-failure": ("runtime", "message"),
    "no-kernel-image": ("runtime", "compiled_for", "running_on"),
    "constants-mismatch": ("constant", "expected", "actual"),
    "package-load-failure": ("file", "reason", "symbol"),
    "missing-custom-op": ("op",),
    "nan-or-inf": ("tensor", "kernel", "kind"),
    "size-stride-assert": ("op", "dim", "expected", "actual"),
    "operator-error": ("op", "message"),
    "compile-failure": ("stage", "exception", "message"),
    "out-of-memory": ("device", "requested"),
    "collective-failure": ("backend", "op"),
    "host-crash": ("signal", "frame"),
    "undecided": (),
    "none": (),
}

# event = "gpu-error", before the first table
_EVENT = lazy_re(r"\A(?:(?!\[)[^\n]*\n)*?event = \"(?P<event>[a-z-]+)\"$", re.MULTILINE)


_EXAMPLES = lazy_re(r"^\[\[(?:counter)?example\]\]$", re.MULTILINE)


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """A step to take; `flag` is what it sets (not offered where that is on already).

    It is offered where the facts have the values of `when` and the fact `unless` is not known.
    """

    title: str
    command: str | None = None
    takes_effect: str = "run"
    why: str = ""
    flag: str | None = None
    when: dict[str, Any] = {}
    unless: str | None = None


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """What is told, and mends it, where facts have the values of `when`."""

    when: dict[str, Any]
    summary: str
    fixes: tuple[str, ...] | None = None


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """Log text that the pattern must claim (or, as a counterexample, must not)."""

    text: str
    facts: dict[str, Any] = {}
    pattern: str | None = None


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern as its file says it.

    `key` are the facts by which findings of one pattern are told apart. Of two failures the
    one that is more `weak` follows from the other: 0 for what is a cause of its own, 1 for a
    crash, 2 for what waits for others, 3 for an abort. `consequence_of` names classes, or `*`
    for any. `follows` is the summary where it does. Of `wording` the first whose `when` holds takes
    the place of the summary, and of the fixes where it has some. `anchor` is the literal of a
    pattern on raw lines.
    """

    id: str
    title: str
    failure_class: str = msgspec.field(name="class")
    role: Role = "cause"
    certainty: Certainty = "sure"
    weak: int = 0
    event: str
    anchor: str | None = None
    where: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    key: tuple[str, ...] = ()
    consequence_of: tuple[str, ...] = ()
    summary: str = ""
    follows: str | None = None
    explain: str = ""
    fixes: tuple[str, ...] = ()
    wording: tuple[Wording, ...] = ()
    next: tuple[Next, ...] = ()
    references: tuple[str, ...] = ()
    example: tuple[Example, ...] = ()
    counterexample: tuple[Example, ...] = ()

    def __post_init__(self) -> None:
        if self.failure_class not in CLASS_FACTS:
            raise ValueError(f"class: {self.failure_class!r} is none of {', '.join(CLASS_FACTS)}")

    def worded(self, facts: Mapping[str, Any]) -> Wording:
        """The summary and the fixes for these facts, not yet filled with them."""
        for one in self.wording:
            if all(facts.get(name) == value for name, value in one.when.items()):
                fixes = self.fixes if one.fixes is None else one.fixes
                return Wording(when=one.when, summary=one.summary, fixes=fixes)
        return Wording(when={}, summary=self.summary, fixes=self.fixes)


def read_patterns(folder: Path) -> tuple[Pattern, ...]:
    """The patterns of a folder, by name; raises `PatternError` for a broken one."""
    return tuple(read_pattern(file) for file in sorted(folder.glob("*.toml")))


def read_pattern(file: Path, *, with_examples: bool = True) -> Pattern:
    """One pattern; raises `PatternError` that names the file and what is wrong."""
    try:
        tables = load(file, with_examples=with_examples)
        return msgspec.convert({**tables, "id": file.stem}, Pattern, strict=True)
    except msgspec.ValidationError as error:
        raise PatternError(f"{file}: {error}") from error


def load(file: Path, *, with_examples: bool = True) -> dict[str, Any]:
    """The tables of a pattern file; raises `PatternError` where it is no TOML.

    Examples come last in a file of the package, and are half of the reading.
    """
    try:
        text = _text(file)
        if not with_examples and (examples := _EXAMPLES.search(text)):
            text = text[: examples.start()]
        return tomllib.loads(text)
    except (ValueError, OSError) as error:  # no TOML, no UTF-8, a number of too many digits
        raise PatternError(f"{file}: {error}") from error


def _text(file: Path) -> str:
    if not file.is_file():
        raise ValueError("it is no file that can be read")
    with file.open("rb") as opened:
        read = opened.read(MAX_FILE + 1)
    if len(read) > MAX_FILE:
        raise ValueError(f"it has more than {MAX_FILE} bytes")
    return read.decode("utf-8")


def event_of(file: Path) -> str:
    """The type of event that a pattern is on, without reading the rest of it."""
    found = _EVENT.search(file.read_text(encoding="utf-8"))
    return found["event"] if found else read_pattern(file).event


def folder_of_patterns() -> Path:
    """Where the built-in patterns are: in the package, or beside it in a source tree."""
    here = Path(__file__).parent
    inside = here / "patterns"
    return inside if inside.is_dir() else here.parent / "patterns"
