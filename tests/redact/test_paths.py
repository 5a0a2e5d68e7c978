"""Folders become tokens; files, generated code and torch's own paths stay."""

from __future__ import annotations

import pytest

from aoti_logscan.redact import Redactor
from tests.redact.planted import GENERATED


@pytest.mark.parametrize(
    ("path", "redacted"),
    [
        ("/home/anna/proj/models/model.py:12", "<dir-1>/model.py:12"),
        ("/home/anna", "<dir-1>"),
        ("/data/acme", "<dir-1>"),
        ("/home/anna/.venv/bin/python", "<dir-1>/python"),
        (
            "/home/anna/venv/lib/python3.11/site-packages/torch/_inductor/codecache.py",
            "<dir-1>/lib/python3.11/site-packages/torch/_inductor/codecache.py",
        ),
        (
            "/workspace/pytorch/aten/src/ATen/native/cuda/Indexing.cu:93",
            "<dir-1>/aten/src/ATen/native/cuda/Indexing.cu:93",
        ),
        (
            f"/tmp/torchinductor_anna/ij/{GENERATED}.py",
            f"/tmp/torchinductor_<user-1>/ij/{GENERATED}.py",
        ),
        (f"/mnt/scratch/anna/cache/ij/{GENERATED}.py:3", f"<dir-1>/ij/{GENERATED}.py:3"),
        (
            "/srv/m/model.pt2!data/aotinductor/model/x.cpp",
            "<dir-1>/model.pt2!data/aotinductor/model/x.cpp",
        ),
        ("/mnt/x/data/aotinductor/model/x.cpp", "<dir-1>/data/aotinductor/model/x.cpp"),
        (
            "crash/run.log model.py /root/x.py /tmp/x.py",
            "crash/run.log model.py /root/x.py /tmp/x.py",
        ),
    ],
)
def test_path_keeps_what_is_torchs_and_the_file(path: str, redacted: str) -> None:
    assert Redactor().text(path) == redacted


def test_private_path_after_a_token_of_the_text_is_replaced() -> None:
    assert Redactor().text("<x-1>/home/anna/a/b.py") == "<x-1><dir-1>/b.py"
