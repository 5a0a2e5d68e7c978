"""Patterns of a user's own: added, overriding, checked, on raw lines, under a limit of time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import Run

KV_CACHE = """
title = "KV cache exhausted"
class = "out-of-memory"
event = "line"
anchor = "KV cache exhausted"
summary = "No block of the KV cache is left[[, {requested} were asked for]]"
explain = "The engine's own cache is full, not the GPU's memory."
[where]
text = { regex = 'exhausted: need \\d' }
[facts]
requested = { field = "text", regex = 'need (?P<blocks>\\d+ blocks)', group = "blocks" }
[[example]]
text = "ERROR KV cache exhausted: need 12 blocks"
facts = { requested = "12 blocks" }
"""

MINIMAL = """
title = "t"
class = "out-of-memory"
event = "line"
anchor = "some words"
summary = "s"
explain = "e"
[[example]]
text = "some words"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for patterns."""
    made = tmp_path / "ours"
    made.mkdir()
    return made


def _report(run: Run, folder: Path, text: str) -> dict[str, Any]:
    result = run("--patterns", str(folder), "-f", "json", "-", stdin=text.encode())
    report: dict[str, Any] = msgspec.json.decode(result.stdout)
    return report


def test_pattern_on_raw_lines_decides_with_its_own_fact(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    text = "start\n\x1b[31m[rank2]: ERROR KV cache exhausted: need 7 blocks\x1b[0m\n"
    report = _report(run, folder, text)
    found = report["findings"][0]
    assert report["verdict"]["class"] == "out-of-memory"
    assert (found["pattern"], found["rank"]) == ("kv-cache", 2)
    assert found["facts"]["requested"] == "7 blocks"
    assert found["evidence"][0]["line"] == 2


def test_line_without_what_the_pattern_asks_is_no_finding(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    text = "is the KV cache exhausted? no\n"
    assert _report(run, folder, text)["verdict"]["class"] == "none"


def test_anchor_of_one_pattern_opens_no_line_for_another(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    broad = MINIMAL.replace("some words", "other words") + "\n[where]\ntext = { regex = '.' }\n"
    (folder / "broad.toml").write_text(broad)
    report = _report(run, folder, "KV cache exhausted: need 9 blocks\n")
    assert [finding["pattern"] for finding in report["findings"]] == ["kv-cache"]


def test_equal_lines_are_one_finding_with_a_count(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    report = _report(run, folder, "KV cache exhausted: need 9 blocks\n" * 1000)
    assert [finding["count"] for finding in report["findings"]] == [1000]


def test_line_in_dumped_code_is_no_line_of_the_run(run: Run, folder: Path) -> None:
    (folder / "words.toml").write_text(MINIMAL)
    dumped = (
        "V0610 10:00:00.000000 12 torch/_inductor/graph.py:1] [0/0] [__output_code] # some words\n"
    )
    assert _report(run, folder, dumped)["verdict"]["class"] == "none"


def test_exception_that_a_cause_of_ones_own_stands_in_is_told_once(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    text = (
        "Traceback (most recent call last):\n"
        '  File "/srv/engine.py", line 3, in step\n    self.step()\n'
        "engine.CacheError: KV cache exhausted: need 9 blocks\n"
    )
    report = _report(run, folder, text)
    assert [finding["pattern"] for finding in report["findings"]] == ["kv-cache"]


def test_harmless_line_of_ones_own_hides_no_exception(run: Run, folder: Path) -> None:
    harmless = MINIMAL.replace('class = "out-of-memory"', 'class = "none"\nrole = "harmless"')
    (folder / "words.toml").write_text(harmless)
    text = (
        "Traceback (most recent call last):\n"
        '  File "/x/site-packages/torch/_ops.py", line 3, in f\n    g()\n'
        "RuntimeError: some words\n"
    )
    report = _report(run, folder, text)
    assert report["verdict"]["class"] == "undecided"
    assert "harmless" in {finding["role"] for finding in report["findings"]}


def test_pattern_with_a_built_in_name_replaces_it(run: Run, folder: Path) -> None:
    shown = run("patterns", "show", "out-of-memory").stdout
    title = 'title = "Out of memory, as our runbook says"'
    lines = [title if line.startswith("title = ") else line for line in shown.splitlines()]
    (folder / "out-of-memory.toml").write_text("\n".join(lines))
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    report = _report(run, folder, f"Traceback (most recent call last):\n{text}")
    assert report["findings"][0]["title"] == "Out of memory, as our runbook says"


def test_broken_file_is_told_and_stops_nothing_else(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    (folder / "broken.toml").write_text(MINIMAL.replace("class", "klass"))
    report = _report(run, folder, "KV cache exhausted: need 9 blocks\n")
    assert report["findings"][0]["pattern"] == "kv-cache"
    told = {source["name"]: source["problems"] for source in report["sources"]}
    problems = [problem["what"] for problem in told[str(folder / "broken.toml")]]
    assert any("klass" in problem and "did you mean 'class'?" in problem for problem in problems)


def test_events_tell_a_broken_file_on_stderr(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    (folder / "broken.toml").write_text("title = ")
    result = run("--patterns", str(folder), "-f", "events", "-", stdin=b"KV cache exhausted\n")
    assert msgspec.json.decode(result.stdout)["text"] == "KV cache exhausted"
    assert "broken.toml" in result.stderr


def test_folder_that_does_not_exist_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    result = run("--patterns", str(tmp_path / "nowhere"), "-", stdin=b"")
    assert result.exit_code == 2


def test_folder_without_patterns_is_told(run: Run, folder: Path) -> None:
    report = _report(run, folder, "nothing\n")
    assert any("no pattern" in p["what"] for s in report["sources"] for p in s["problems"])


@pytest.mark.parametrize(
    ("change", "key", "mend"),
    [
        (("title", "titel"), "titel", "did you mean 'title'?"),
        (('title = "t"\n', ""), "'title' is missing", "A few words"),
        (('"out-of-memory"', '"out-of-memori"'), "class", "did you mean 'out-of-memory'?"),
        (('"line"', '"gpu-eror"'), "event", "did you mean 'gpu-error'?"),
        (('anchor = "some words"\n', ""), "anchor", "a literal that stands in every"),
        (('anchor = "some words"', 'anchor = "so"'), "anchor", "is shorter than 3 bytes"),
        (('event = "line"', 'event = "gpu-error"'), "anchor", "take it out"),
        (
            ("[[example]]", "[where]\ntext = { regex = '(' }\n[[example]]"),
            "where.text.regex",
            "no regex",
        ),
        (("[[example]]", "[where]\ntexd = 'x'\n[[example]]"), "where.texd", "did you mean 'text'?"),
        (
            ("[[example]]", "[where]\ntext = { regx = 'a' }\n[[example]]"),
            "where.text.regx",
            "'regex'",
        ),
        (("[[example]]", "[facts]\ndevise = 'text'\n[[example]]"), "facts.devise", "'device'"),
        (
            ("[[example]]", "[facts]\ndevice = {field='text', regex='x', group='d'}\n[[example]]"),
            "facts.device",
            "(?P<d>...)",
        ),
        (('"s"', '"s {devize}"'), "summary", "did you mean 'device'?"),
        (('"s"', "7"), "summary", "write a TOML string"),
        (("[[example]]", "[[exampel]]"), "exampel", "did you mean 'example'?"),
        (('text = "some words"', 'text = "no such"'), "example[0]", "(nobody)"),
        (
            ('text = "some words"', 'text = "some words"\nfacts = { device = "cuda" }'),
            "example[0].facts.device",
            "should be 'cuda' and is None",
        ),
        (
            ("[[example]]", '[[counterexample]]\ntext = "some words"\n[[example]]'),
            "counterexample[0]",
            "narrow its conditions",
        ),
    ],
)
def test_check_names_file_key_and_remedy(
    change: tuple[str, str], key: str, mend: str, run: Run, folder: Path
) -> None:
    file = folder / "ours.toml"
    file.write_text(MINIMAL.replace(*change, 1))
    result = run("patterns", "check", str(folder))
    told = [line for line in result.stdout.splitlines() if line.startswith(f"{file}: ")]
    assert result.exit_code == 1
    assert any(key in line and mend in line for line in told), result.stdout


def test_check_of_a_sound_folder_counts_and_is_clean(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    built_in = int(run("patterns", "check").stdout.split()[0])
    result = run("patterns", "check", str(folder))
    assert result.exit_code == 0, result.stdout
    assert result.stdout.startswith(f"{built_in + 1} patterns, ")


def test_check_finds_a_pattern_that_takes_the_example_of_a_built_in_one(
    run: Run, folder: Path
) -> None:
    greedy = MINIMAL.replace("some words", "an illegal memory access")
    (folder / "greedy.toml").write_text(greedy)
    result = run("patterns", "check", str(folder))
    assert result.exit_code == 1
    assert "greedy.toml: where: also claims a line of" in result.stdout


def test_check_finds_two_patterns_that_fit_one_line_equally(run: Run, folder: Path) -> None:
    (folder / "one.toml").write_text(MINIMAL)
    (folder / "two.toml").write_text(MINIMAL)
    assert "fits a line as well as one does" in run("patterns", "check", str(folder)).stdout


def test_list_and_show_know_the_folder(run: Run, folder: Path) -> None:
    (folder / "kv-cache.toml").write_text(KV_CACHE)
    listed = run("patterns", "list", "--patterns", str(folder)).stdout
    assert any(
        line.split()[:3] == ["kv-cache", "out-of-memory", "cause"] for line in listed.splitlines()
    )
    shown = run("patterns", "show", "kv-cache", "--patterns", str(folder)).stdout
    assert shown.endswith(KV_CACHE)
    missing = run("patterns", "show", "kv-cash", "--patterns", str(folder))
    assert missing.exit_code == 2
    assert "did you mean 'kv-cache'?" in missing.stderr


def test_regex_that_backtracks_is_cut_off_and_told(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aoti_logscan.rule.REGEX_TIMEOUT", 0.02)
    monkeypatch.setattr("aoti_logscan.rule.REGEX_BUDGET", 0.1)
    slow = MINIMAL + "\n[where]\ntext = { regex = '(?:x|xx)+[yz]{2}' }\n"
    (folder / "slow.toml").write_text(slow)
    lines = "".join(f"some words {'x' * 40}{n}\n" for n in range(200))
    report = _report(run, folder, lines)
    told = {source["name"]: source["problems"] for source in report["sources"]}
    problems = [problem["what"] for problem in told[str(folder / "slow.toml")]]
    assert report["verdict"]["class"] == "none"
    assert any("took over" in problem for problem in problems)
    assert any("given up" in problem for problem in problems)
