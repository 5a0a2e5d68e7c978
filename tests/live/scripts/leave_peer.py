"""One of two ranks that add up a tensor: the last one goes away, or does not come."""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

store, rank, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
limit = timedelta(seconds=3 if kind == "late" else 60)
dist.init_process_group(
    "gloo", f"file://{store}", timeout=timedelta(seconds=60), world_size=2, rank=rank
)
group = dist.new_group(timeout=limit)
dist.all_reduce(torch.ones(4), group=group)
if rank:
    time.sleep(limit.seconds + 2 if kind == "late" else 0)
    os._exit(0)
dist.all_reduce(torch.ones(4), group=group)
