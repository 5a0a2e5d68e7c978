"""Loads the package and calls it in one of the wrong ways."""

from __future__ import annotations

import sys

import torch

package, kind = sys.argv[1:3]
model = torch._inductor.aoti_load_package(package)
rows, weight = torch.randn(4, 16), torch.randn(16)
print("first call", model(rows, weight).shape)
CALLS = {
    "shape": lambda: model(torch.randn(4, 17), weight),
    "dtype": lambda: model(rows, weight.double()),
    "meta": lambda: model(rows.to("meta"), weight),
    "missing": lambda: model(rows),
    "batch": lambda: model(torch.randn(65, 16), weight),
    "stride": lambda: model(torch.randn(16, 4).t(), weight),
}
CALLS[kind]()
