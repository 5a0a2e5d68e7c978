"""What a summary says of each property, in words; facts stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from aoti_logscan.pattern import Pattern, read_pattern
from aoti_logscan.pattern_check import check_file
from tests.conftest import Diagnose

HANDLE = "Error: input_handles[0]: {}\n"
EXPORT = "RuntimeError: Expected input at *args[0].shape[1] to be {}. If you meant for this\n"
GUARD = "AssertionError: Guard failed: {}\n"
LAYOUT = "AssertionError: expected size {}==8, stride {}==1 at dim=0\nError in op: {}\n"

SENTENCES = {
    HANDLE.format("unmatched dtype, expected: 5(at::kHalf), but got: 15"): (
        "Input 0 has a wrong dtype: bfloat16, the model was compiled for float16"
    ),
    HANDLE.format("unmatched device type, expected: 1(cuda), but got: 0"): (
        "Input 0 is on the wrong device: cpu, the model was compiled for cuda"
    ),
    HANDLE.format("unmatched dim value at 1, expected: 16, but got: 17"): (
        "Input 0 has a wrong size in dim 1: 17, the model was compiled for 16"
    ),
    HANDLE.format("unmatched dim value at 1, expected: 16"): "Input 0 has a wrong size in dim 1",
    HANDLE.format("dim value is too small at 0, expected it to be >= 2, but got: 1"): (
        "Input 0 is too small in dim 0: 1, the model was compiled for 2 or more"
    ),
    HANDLE.format("dim value is too large at 0, expected to be <= 64, but got: 100"): (
        "Input 0 is too large in dim 0: 100, the model was compiled for at most 64"
    ),
    HANDLE.format("unmatched stride value at 0, expected: 8, but got: 1"): (
        "Input 0 has a wrong stride in dim 0: 1, the model was compiled for 8"
    ),
    EXPORT.format("equal to 16, but got 17"): (
        "Input 0 does not fit the exported program in dim 1: it is 17, expected is 16"
    ),
    EXPORT.format("<= 16, but got 17"): (
        "Input 0 does not fit the exported program in dim 1: it is 17, expected is at most 16"
    ),
    EXPORT.format(">= 4, but got 3"): (
        "Input 0 does not fit the exported program in dim 1: it is 3, expected is 4 or more"
    ),
    GUARD.format("x.size()[0] == 3"): (
        "Input x does not fit the exported program in dim 0, expected is 3"
    ),
    GUARD.format("x.size()[0] <= 8"): (
        "Input x does not fit the exported program in dim 0, expected is at most 8"
    ),
    GUARD.format("y.size()[0] == x.size()[0]"): (
        "Input y does not fit the exported program in dim 0, expected is x.size()[0]"
    ),
    LAYOUT.format(7, 1, "input"): (
        "An input has a wrong size in dim 0: 7 where 8 is expected; the check does not say which"
        " input"
    ),
    LAYOUT.format(8, 5, "input"): (
        "An input has a wrong stride in dim 0: 5 where 1 is expected; the check does not say which"
        " input"
    ),
    "RuntimeError: expected ndim 2 but got 3\nError in op: input\n": (
        "An input has a wrong number of dimensions: 3 where 2 is expected; the check does not say"
        " which input"
    ),
    LAYOUT.format(7, 1, "torch.ops.lib.foo.default"): (
        "A tensor made by torch.ops.lib.foo.default has another size in dim 0 than the compiled"
        " code expects: 7 instead of 8"
    ),
    LAYOUT.format(8, 5, "torch.ops.lib.foo.default"): (
        "A tensor made by torch.ops.lib.foo.default has another stride in dim 0 than the compiled"
        " code expects: 5 instead of 1"
    ),
    "RuntimeError: wrong number of dimensions2 for op: torch.ops.lib.foo.default\n": (
        "A tensor made by torch.ops.lib.foo.default has another number of dimensions than the"
        " compiled code expects: 2"
    ),
}


@pytest.mark.parametrize("log", SENTENCES)
def test_property_is_told_in_words(log: str, diagnose: Diagnose) -> None:
    assert diagnose(log)["verdict"]["summary"] == SENTENCES[log]


@pytest.mark.parametrize(
    ("log", "remedy"),
    [
        (EXPORT.format("equal to 16, but got 17"), "Export again with this dimension dynamic"),
        (EXPORT.format("<= 16, but got 17"), "a wider range"),
        (GUARD.format("x.size()[0] <= 8"), "a wider range"),
        (GUARD.format("y.size()[0] == x.size()[0]"), "whose sizes agree"),
        (GUARD.format("y.size()[0] <= x.size()[0]"), "whose sizes agree"),
    ],
)
def test_only_a_size_that_was_fixed_is_made_dynamic(
    log: str, remedy: str, diagnose: Diagnose
) -> None:
    [fix] = diagnose(log)["findings"][0]["fixes"]
    assert remedy in fix
    assert ("dimension dynamic" in fix) is ("equal to" in log)


def test_size_that_another_input_has_is_not_said_to_be_compiled_in(diagnose: Diagnose) -> None:
    report = diagnose(LAYOUT.format(7, 1, "input"))
    assert "compiled for" not in report["verdict"]["summary"]
    assert "another input of this call" in report["findings"][0]["explain"]


WORDED = """
title = "t"
class = "out-of-memory"
event = "line"
anchor = "some words"
summary = "plain"
explain = "e"
fixes = ["all of it"]
[facts]
requested = { field = "text", regex = 'words (?P<what>\\w+)', group = "what" }
[[wording]]
when = { requested = "one" }
summary = "one, {requested}"
[[wording]]
when = { requested = "two" }
summary = "two"
fixes = []
[[example]]
text = "some words"
"""


def _worded(folder: Path, text: str = WORDED) -> Pattern:
    file = folder / "worded.toml"
    file.write_text(text)
    return read_pattern(file)


@pytest.mark.parametrize(
    ("requested", "told"),
    [
        ("one", ("one, {requested}", ("all of it",))),
        ("two", ("two", ())),
        ("three", ("plain", ("all of it",))),
        (None, ("plain", ("all of it",))),
    ],
)
def test_first_wording_that_fits_the_facts_is_taken(
    requested: str | None, told: tuple[str, tuple[str, ...]], tmp_path: Path
) -> None:
    worded = _worded(tmp_path).worded({"requested": requested})
    assert (worded.summary, worded.fixes) == told


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ("{ requested = ", "{ reqested = ", "wording[0].when"),
        ("one, {requested}", "one, {reqested}", "wording[0]"),
        ('summary = "two"', "", "wording[1]"),
    ],
)
def test_flaw_of_a_wording_is_told(right: str, wrong: str, key: str, tmp_path: Path) -> None:
    file = tmp_path / "worded.toml"
    file.write_text(WORDED)
    assert check_file(file).flaws == ()
    file.write_text(WORDED.replace(right, wrong, 1))
    [flaw] = check_file(file).flaws
    assert flaw.key == key
