"""torch's warning of a GPU that it has no kernels for."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings

from aoti_logscan.parsers import compute_capability
from tests.parsers.conftest import DRESSED, around, events, every_cut, one, told

CUBINS = (
    "NVIDIA TITAN Xp with CUDA capability sm_61 is not compatible with the current PyTorch"
    " installation.\n"
    "The current PyTorch install supports CUDA capabilities sm_70 sm_75 sm_80.\n"
)
LISTED = (
    "UserWarning: Found GPU0 GTX 1080 which is of compute capability (CC) 6.1.\n"
    "The following list shows the CCs this version of PyTorch was built for and the hardware CCs"
    " it supports:\n"
    "- 7.5 which supports hardware CC >=7.5,<8.0\n"
    "- 8.0 which supports hardware CC >=8.0,<9.0\n"
    "  warnings.warn(\n"
)


def _told(here: str, package: str) -> dict[str, str]:
    key = "COMPUTE_CAPABILITY"
    return {"is": "DeviceInformation", "key": key, "here": here, "package": package}


@DRESSED
def test_both_sides_of_the_warning_are_told(dress: Callable[[str], str]) -> None:
    assert told(one(dress(CUBINS), compute_capability)) == _told("sm_61", "sm_70 sm_75 sm_80")


def test_list_of_213_is_gathered() -> None:
    assert told(one(LISTED, compute_capability)) == _told("6.1", "7.5 8.0")


def test_warning_without_its_list_tells_nothing() -> None:
    assert events(CUBINS.splitlines()[0] + "\n", compute_capability) == []


def test_every_cut_is_read() -> None:
    assert all(event.place.line == 1 for event in every_cut(CUBINS, compute_capability))


@settings(max_examples=200, deadline=None)
@given(around(*compute_capability.ANCHORS))
def test_any_bytes_are_read(data: bytes) -> None:
    events(data, compute_capability)
