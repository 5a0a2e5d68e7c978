"""Loads the custom operator and a package that calls it, and runs it on ones."""

from __future__ import annotations

import sys
from typing import Any

import torch

library, package = sys.argv[1:3]
operators: Any = torch.ops
operators.load_library(library)
model = torch._inductor.aoti_load_package(package)
model(torch.ones(4, 16), torch.ones(16, 2))
