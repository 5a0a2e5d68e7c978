"""Tensors that the printer's level 1 saved: found by their names, read by a worker with torch.

Source: torch 2.13, torch/csrc/inductor/aoti_torch/shim_common.cpp,
`aoti_torch_save_tensor_handle`: `{prefix}_{kernel}_{tensor}_{device}.pt`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from aoti_logscan.events import Values
from aoti_logscan.lazy_re import lazy_re

#: tensors that are read, bytes of one file, and seconds for all of them
MAX_TENSORS = 10_000
MAX_FILE = 2 << 30
MAX_SECONDS = 120
_WORKER = Path(__file__).parent.parent / "tensor_worker.py"

# cpp_fused_0_buf0_cpu
_NAMES = lazy_re(
    r"^(?P<kernel>.+)_(?P<tensor>(?:buf|primals_|tangents_)\d+|arg\d+_\d+)"
    r"(?:_(?P<device>[a-z]+)(?::?\d+)?)?$"
)
_DEVICE = lazy_re(r"_(?:cpu|cuda|xpu|mps)(?::?\d+)?$")


def split_names(names: str, kernels: Sequence[str] = ()) -> tuple[str, str] | None:
    """Kernel and tensor in `cpp_fused_0_buf0_cpu`; `kernels` helps where a tensor's name is odd."""
    found = _NAMES.match(names)
    if found:
        return found["kernel"], found["tensor"]
    bare = _DEVICE.sub("", names)
    fitting = [kernel for kernel in kernels if bare.startswith(f"{kernel}_")]
    kernel = max(fitting, key=len, default=None)
    return (kernel, bare[len(kernel) + 1 :]) if kernel else None


class Tensors(NamedTuple):
    """What was read: values by the file's own name, and what could not be read."""

    values: dict[str, Values]
    problems: tuple[str, ...]


def read_tensors(paths: Sequence[str]) -> Tensors:
    """The statistics of saved tensors; where torch is missing, a problem that says so."""
    if not paths:
        return Tensors({}, ())
    if importlib.util.find_spec("torch") is None:
        what = f"{len(paths)} saved tensors were not read: pip install 'aoti-logscan[torch]'"
        return Tensors({}, (what,))
    problems = []
    if len(paths) > MAX_TENSORS:
        problems.append(f"{len(paths) - MAX_TENSORS} of {len(paths)} saved tensors were not read")
    small = _small(paths[:MAX_TENSORS], problems)
    told = _worker(small, problems) if small else []
    values = {}
    for one in told:
        path = small[one.index]
        if one.values is not None:
            values[os.path.basename(path)] = one.values
        else:
            problems.append(f"{path}: {one.error}")
    return Tensors(values, tuple(problems))


def _small(paths: Sequence[str], problems: list[str]) -> list[str]:
    """The files that are there and not too large; why the others are not goes into `problems`."""
    found = []
    for path in paths:
        size = size_of(path)
        if size is None:
            problems.append(f"{path}: it is gone")
        elif size > MAX_FILE:
            problems.append(f"{path}: too large")
        else:
            found.append(path)
    return found


def size_of(path: str) -> int | None:
    """Bytes of a file; None where it is gone."""
    try:
        return os.path.getsize(path)
    except OSError:
        return None


class _Told(msgspec.Struct):
    """A line of the worker."""

    index: int
    values: Values | None = None
    error: str | None = None


def _worker(paths: Sequence[str], problems: list[str]) -> list[_Told]:
    """The worker's lines; what stopped it goes into `problems`."""
    import subprocess  # slow to import, and few runs have saved tensors

    command = [sys.executable, "-I", str(_WORKER)]
    given = "".join(f"{path}\n" for path in paths if "\n" not in path)
    try:
        done = subprocess.run(
            command,
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=MAX_SECONDS,
            check=False,
        )
        output, ended = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        output, ended = error.stdout or b"", None
    except OSError as error:
        problems.append(f"saved tensors were not read: {error.strerror}")
        return []
    lines = [line for line in output.split(b"\n") if line.startswith(b"{")]
    if len(lines) < len(paths):
        why = f"after {MAX_SECONDS} s" if ended is None else f"with status {ended}"
        left = len(paths) - len(lines)
        problems.append(f"the reader of saved tensors ended {why}: {left} were not read")
    return [msgspec.json.decode(line, type=_Told) for line in lines]
