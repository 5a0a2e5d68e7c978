"""The fuzzer's corpus and all that it ever found, without the fuzzer; and its own machinery."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.parsers import PARSERS
from tests.fuzz import dictionary, target
from tests.fuzz.finds import Finds, kind_of
from tests.fuzz.invariants import SlowReader
from tests.fuzz.mutator import Mutator
from tests.fuzz.profile import examples
from tests.fuzz.run import Progress, read_progress, told
from tests.fuzz.seeds import CORPUS, MAX_SEED

FOUND = sorted(CORPUS.with_name("found").iterdir())
SEEDS = sorted(CORPUS.iterdir())


@pytest.mark.parametrize("file", [*FOUND, *SEEDS], ids=lambda file: str(file.name))
def test_input_of_the_fuzzer_holds_what_every_input_has_to(file: Path) -> None:
    target.one(file.read_bytes())


def test_seeds_are_small() -> None:
    assert all(file.stat().st_size <= MAX_SEED for file in SEEDS)
    assert sum(file.stat().st_size for file in SEEDS) < 1 << 20


def test_every_format_has_a_seed() -> None:
    names = " ".join(file.name for file in SEEDS)
    assert [parser.NAME for parser in PARSERS if parser.NAME not in names] == []


def test_dictionary_holds_the_anchors_of_all_parsers() -> None:
    assert dictionary.FILE.read_text(encoding="ascii") == dictionary.text()


# --- the target


def test_first_byte_selects_what_an_input_is() -> None:
    sections = b"=== a.log\nabort\n=== m.pt2!data/c.wrapper.cpp\nint main;\n=== b.log.gz\nx\n"
    files = target.packed(sections)
    assert list(files) == ["a.log", "b.log.gz", "m.pt2"]
    assert files["a.log"] == b"abort\n"
    assert files["m.pt2"].startswith(b"PK")
    assert files["b.log.gz"].startswith(b"\x1f\x8b")


@examples(40)
@given(st.binary(max_size=200), st.sampled_from(b"TPSF"))
def test_any_bytes_are_an_input(body: bytes, kind: int) -> None:
    target.one(bytes((kind,)) + body, published=False)


def test_input_that_takes_too_long_is_told_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def spin(_raw: bytes, _published: bool) -> None:
        while True:
            pass

    monkeypatch.setattr(target, "LIMIT", 0.01)
    monkeypatch.setattr(target, "_TARGETS", {b"T": spin})
    with pytest.raises(target.Hang, match=r"longer than 0\.01 s"), target.limited():
        target.one(b"T")


# --- what is found


def _broken(where: str) -> BaseException:
    try:
        target.packed(where)  # type: ignore[arg-type]
    except TypeError as error:
        return error
    raise AssertionError


def test_shortest_input_of_each_kind_is_kept_with_its_traceback(tmp_path: Path) -> None:
    finds, error = Finds(tmp_path), _broken("text")
    for data in (b"longer", b"short", b"longest of all"):
        finds.keep(data, error)
    (kept,) = finds.listed()
    assert kept.name == kind_of(error)
    assert kept.name.startswith("TypeError-sections-")
    assert kept.read_bytes() == b"short"
    assert "in sections" in kept.with_name(f"{kept.name}.txt").read_text()


def test_slow_reader_finds_no_place_on_another_line_or_with_other_text() -> None:
    from aoti_logscan.events import Place

    reader = SlowReader(b"first\nsecond \x1b[31mline\x1b[0m\n")
    assert reader.finds(Place("log", 2, 6, "second line"))
    assert not reader.finds(Place("log", 1, 6, "second line"))
    assert not reader.finds(Place("log", 2, 5, "second line"))
    assert not reader.finds(Place("log", 2, 6, "third line"))
    assert not reader.finds(Place("log", 2, 60, "second line"))


# --- the run


@examples(60)
@given(st.binary(max_size=300), st.integers(1, 400), st.integers(0, 1 << 32))
def test_mutator_gives_bytes_within_the_size_the_same_for_a_seed(
    data: bytes, size: int, seed: int
) -> None:
    mutator = Mutator([b"one line", b"another"], lambda raw, most: raw[:most])
    first, second = (mutator.mutated(data, size, seed) for _ in range(2))
    assert first == second
    assert len(first) <= max(size, 1)


def test_mutator_splices_lines_of_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "seed").write_bytes(b"Ta line of the corpus\n")
    mutator = Mutator.of_corpus([tmp_path], lambda raw, most: raw)
    seeds = random.Random(1).sample(range(10_000), 200)
    assert any(b"a line of the corpus" in mutator.mutated(b"Tx", 400, seed) for seed in seeds)


_LOG = """\
#237	INITED cov: 3919 ft: 7190 corp: 164/41Kb exec/s: 118 rss: 79Mb
#4995	NEW    cov: 4247 ft: 11632 corp: 631/702Kb lim: 16384 exec/s: 83 rss: 91Mb
#5029	DONE   cov: 4247 ft: 11655 corp: 632/706Kb lim: 16384 exec/s: 82 rss: 91Mb
"""


def test_run_tells_executions_coverage_and_growth() -> None:
    progress = read_progress(_LOG)
    assert progress == Progress(5029, 3919, 4247)
    assert told([progress], 60.0, 468) == (
        "5029 executions in 60 s, 84 a second; coverage 3919 -> 4247; "
        "468 inputs added to the corpus"
    )
    assert read_progress("") == Progress(0, 0, 0)
