"""What is shown beside a report: the lines around its evidence, its launches, suspects' code."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan.contexts import Context, Contexts
from aoti_logscan.dossier import suspected
from aoti_logscan.parsers import OWNERS, PARSERS
from aoti_logscan.pipeline import investigate
from aoti_logscan.report import Dossier
from aoti_logscan.scan import Scanner
from aoti_logscan.streams import text_stream
from tests.conftest import FIXTURES
from tests.dossiers import of_fixture

ERROR = "RuntimeError: CUDA error: an illegal memory access was encountered"
SCANNER = Scanner(PARSERS, OWNERS)


def _contexts(data: bytes) -> dict[int, Context]:
    """The surroundings of what is found in some bytes, by offset."""
    contexts = Contexts()
    SCANNER.scan("run.log", text_stream(io.BytesIO(data)), contexts=contexts)
    return dict(contexts.found)


def _lines(before: int, after: int) -> bytes:
    lines = (
        [f"before {at}" for at in range(before)] + [ERROR] + [f"after {a}" for a in range(after)]
    )
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("before", "after", "first", "last"),
    [(10, 10, "before 6", "after 7"), (2, 1, "before 0", "after 0"), (0, 0, ERROR, ERROR)],
)
def test_lines_around_a_record_are_kept(before: int, after: int, first: str, last: str) -> None:
    [context] = _contexts(_lines(before, after)).values()
    lines = context.text.split("\n")
    assert (lines[0], lines[-1]) == (first, last)
    assert lines[before + 1 - context.first_line] == ERROR


@given(st.lists(st.sampled_from(["", "x", "y" * 3000, ERROR, "é\ufffd"]), max_size=30))
def test_context_is_a_piece_of_the_source(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    for offset, context in _contexts(data).items():
        number = data.count(b"\n", 0, offset) + 1
        shown = context.text.split("\n")
        assert shown[number - context.first_line].endswith(ERROR)
        assert context.text.strip("\ufffd") in data.decode()


def test_surroundings_of_a_flood_are_those_of_its_ends() -> None:
    line = (
        "/tmp/x/c{:051}.py:3: unknown: block: [0,0,0], thread: [0,0,0] Assertion `{} < 9` failed.\n"
    )
    text = "".join(line.format(at, f"tmp{at}") for at in range(1000)).replace("c0", "ca")
    offsets = sorted(_contexts(text.encode()))
    assert len(offsets) == 200
    assert offsets[0] == 0
    assert offsets[-1] > len(text) - 2 * len(line) - 60


def test_longest_line_is_cut_around_the_record() -> None:
    data = b"x" * 3_000_000 + b" " + ERROR.encode() + b" " + b"y" * 3_000_000
    for context in _contexts(data).values():
        assert len(context.text) <= 8_200


# of a report


def _excerpts(dossier: Dossier) -> Iterator[tuple[str, int, int]]:
    for one in dossier.excerpts:
        yield one.source.rpartition("/")[2], one.line, one.first_line


def test_excerpts_are_those_of_the_findings() -> None:
    dossier = of_fixture("triton-oob-proven-by-package")
    assert list(_excerpts(dossier)) == [("stderr.log", 1, 1), ("stderr.log", 9, 5)]
    assert all(len(line) < 420 for one in dossier.excerpts for line in one.text.split("\n"))


def test_pipe_and_compressed_file_have_their_surroundings_too(tmp_path: Path) -> None:
    plain, packed = tmp_path / "run.log", tmp_path / "run.log.gz"
    plain.write_bytes(_lines(6, 6))
    packed.write_bytes(gzip.compress(_lines(6, 6)))
    texts = [one.text for path in (plain, packed) for one in investigate([path]).dossier.excerpts]
    assert len(texts) == 2
    assert texts[0] == texts[1]


def test_code_of_the_failed_check_is_lit() -> None:
    call, kernel = of_fixture("triton-oob-proven-by-package").code
    assert (call.role, call.language) == ("call", "cpp")
    [at] = call.lit
    line = call.text.split("\n")[at - call.first_line]
    assert "call_triton_poi_fused_index_tanh_0(" in line
    assert (kernel.name, kernel.role) == ("triton_poi_fused_index_tanh_0", "kernel")
    [at] = kernel.lit
    assert "index out of bounds: 0 <= tmp4 < 100" in kernel.text.split("\n")[at - kernel.first_line]


def test_check_without_a_file_is_lit_by_its_text() -> None:
    dossier = of_fixture("lineage-two-kernels-say-the-same")
    kernels = [one for one in dossier.code if one.role == "kernel"]
    assert len(kernels) == 2
    for kernel in kernels:
        [at] = kernel.lit
        assert "device_assert" in kernel.text.split("\n")[at - kernel.first_line]


def test_check_of_a_cpu_kernel_is_lit() -> None:
    lit = [
        one.text.split("\n")[at - one.first_line]
        for one in of_fixture("cpu-index-made-by-its-own-kernel").code
        if one.role == "kernel"
        for at in one.lit
    ]
    assert lit
    assert all("index out of bounds" in line for line in lit)


def test_suspects_begin_with_the_last_kernel() -> None:
    report = of_fixture("op-second-of-two-mm-with-provenance").report
    assert report.last_kernel is not None
    assert suspected(report)[0] == report.last_kernel.name


def test_launches_are_those_that_were_marked() -> None:
    launches = of_fixture("printer-level2-crash-pty").launches
    assert [one.index for one in launches] == [0, 1, 2, 3, 4]
    assert {one.open for one in launches} == {False}


def test_more_launches_than_are_shown_lose_their_middle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("aoti_logscan.dossier.MAX_LAUNCHES", 4)
    dossier = investigate([FIXTURES / "printer-level2-crash-pty" / "input"]).dossier
    assert [one.index for one in dossier.launches] == [0, 1, 3, 4]
    assert dossier.launches_left_out == 1
