"""A short hash of a failure by which two reports of one bug can be matched.

It is made of the class, the facts that say what went wrong, the kernel and the innermost frames,
all without what differs from run to run: numbers, addresses, paths, names that a compiler counts
up. Nor does the name or the line of a generated file count: torch makes it of the code and of the
machine, whose vector units and number of the GPU (so the rank) are in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from aoti_logscan.events import Frame, ProcessDeath
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.report import Finding, Kernel
from aoti_logscan.timeline import Situation

#: facts that belong to the bug as they are: which input, which dim, in which stage
_IDENTITIES = ("input", "dim", "property", "runtime", "stage", "reason", "kind", "signal")
#: facts whose wording belongs to the bug, not its numbers
_WORDINGS = (
    "index",
    "condition",
    "function",
    "op",
    "exception",
    "message",
    "symbol",
    "constant",
    "loaded_on",
    "tensor",
    "device",
    "backend",
    "frame",
)
#: innermost frames that count
_FRAMES = 3

_ADDRESS = lazy_re(r"\b0x[0-9a-fA-F]+\b")
# /tmp/torchinductor_u/ij/cij....py     C:\jobs\model.py
_PATH = lazy_re(r"(?:[A-Za-z]:)?[\w.~+-]*(?:[/\\][\w.~+-]+)+")
# cabc....py: `c` and 51 base-32 digits
_GENERATED = lazy_re(r"\bc[a-z2-7]{51}\b")
_NUMBER = lazy_re(r"\d+")
_COUNTED = lazy_re(r"_\d+$")
# 50257   50257L
_SIZE = lazy_re(r"(?P<size>\d+)L?$")


def signature(cause: Finding, situation: Situation | None, kernel: Kernel | None) -> str:
    """Two groups of four hex digits; `kernel` counts where it is known well."""
    told = [cause.failure_class, *_facts(cause.facts), *_kernel(cause, kernel)]
    if situation is not None:
        told += _frames(situation)
    digest = hashlib.sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()
    return f"{digest[:4]}-{digest[4:8]}"


def _facts(facts: dict[str, Any]) -> Iterator[str]:
    for name in _IDENTITIES:
        if facts.get(name) is not None:
            yield f"{name}={facts[name]}"
    for name in _WORDINGS:
        if facts.get(name) is not None:
            yield f"{name}={stable(str(facts[name]))}"
    yield from _details(facts)


def _details(facts: dict[str, Any]) -> Iterator[str]:
    """What belongs to the bug in some classes only, or in one form."""
    if facts.get("upper") is not None:  # a size is the model's own, a symbol is counted up
        size = _SIZE.match(facts["upper"])
        yield f"upper={size['size'] if size else stable(facts['upper'])}"
    if facts.get("condition") is not None and facts.get("file") is not None:
        yield f"file={stable(facts['file'])}"
    if facts.get("property") is not None:
        if facts.get("input") is None and facts.get("name") is not None:  # else a package names it
            yield f"name={facts['name']}"
        if isinstance(facts.get("expected"), str):  # a type, or what an export wrote down
            yield f"expected={facts['expected']}"


def _kernel(cause: Finding, kernel: Kernel | None) -> Iterator[str]:
    """The kernel's name without its number, which other graphs of the model count up."""
    name = cause.facts.get("kernel")
    if name is None and kernel is not None and kernel.certainty == "sure":
        name = kernel.name
    if name:
        yield f"kernel={_COUNTED.sub('', str(name))}"


def _frames(situation: Situation) -> Iterator[str]:
    event = situation.event
    if isinstance(event, ProcessDeath):
        frames: Sequence[Frame] = event.frames[:_FRAMES]
    else:
        traceback = situation.traceback
        frames = traceback.frames[-_FRAMES:] if traceback else ()
    for frame in frames:
        yield f"frame={stable(frame.file or '')}:{stable(frame.function or '')}"


def stable(text: str) -> str:
    """The text without numbers, addresses, folders and the names of generated files."""
    named = _PATH.sub(lambda match: re.split(r"[/\\]", match[0])[-1], _ADDRESS.sub("#", text))
    return _NUMBER.sub("#", _GENERATED.sub("generated", named))
