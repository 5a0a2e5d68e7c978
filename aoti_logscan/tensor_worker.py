"""Reads saved tensors with torch, in a process of its own; nothing else here imports torch.

Paths come in on stdin, one a line; for each one JSON line goes out: its index and either `values`
(as `events.Values`, statistics of the tensor cast to float32) or `error`. Run as a script, so that
it needs nothing but torch. `weights_only` keeps a file from running code of its own.
"""

from __future__ import annotations

import json
import math
import resource
import sys
from typing import Any

#: bytes of data that the worker may hold
MAX_DATA = 8 << 30


def main() -> None:
    """Read the paths on stdin, and say what is in each."""
    import torch

    resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA, MAX_DATA))
    for index, line in enumerate(sys.stdin):
        told: dict[str, Any] = {"index": index}
        try:
            tensor = torch.load(line.rstrip("\n"), map_location="cpu", weights_only=True)
            told["values"] = _values(torch, tensor)
        except Exception as error:
            told["error"] = f"{type(error).__name__}: {error}".split("\n")[0][:300]
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def _values(torch: Any, tensor: Any) -> dict[str, Any]:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError("no tensor")
    told = {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "size": list(tensor.shape),
        "stride": list(tensor.stride()),
        "numel": tensor.numel(),
    }
    if tensor.is_complex() or not tensor.numel():
        return told
    cast = tensor.detach().to(torch.float32)
    told["nan"] = bool(cast.isnan().any())
    told["inf"] = bool(cast.isinf().any())
    for name in ("min", "max", "mean"):
        value = float(getattr(cast, name)())
        told[name] = value if math.isfinite(value) else None
    return told


if __name__ == "__main__":
    main()
