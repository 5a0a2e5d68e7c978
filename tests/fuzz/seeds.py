"""Writes the fuzzer's corpus anew: `python -m tests.fuzz.seeds`.

Seeds are the examples of the patterns, records of the grammar, pieces of the fixtures' logs, and
their packages as folders. Each loses the lines without which the tool says the same; of all, those
are kept that cover lines of `aoti_logscan` which no shorter one covers. A seed is named by the
formats of the records in it.
"""

from __future__ import annotations

import gzip
import hashlib
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import coverage
from hypothesis import HealthCheck, Phase, given, settings

from aoti_logscan import pipeline
from aoti_logscan.catalogue import catalogue
from aoti_logscan.report import Report
from tests.conftest import FIXTURES, ROOT
from tests.fuzz import target
from tests.fuzz.generated import WRAPPER_CPP, WRAPPER_PY
from tests.fuzz.grammar import FORMATS
from tests.fuzz.invariants import scanned
from tests.fuzz.words import Words

CORPUS = Path(__file__).with_name("corpus")
#: bytes of a seed, and of the piece of a log that is looked at first
MAX_SEED = 4_096
_PIECE = 12_000
#: a package with all files that may be in one
_PROVEN = "op-second-of-two-mm-with-provenance/input/tower.pt2"
#: what a seed has to reach beyond the others to be kept: lines and jumps between them
_WORTH = 2

Said = tuple[Any, ...]


def write() -> None:
    """Fill the corpus's folder; files that are there already go."""
    CORPUS.mkdir(exist_ok=True)
    for file in CORPUS.iterdir():
        file.unlink()
    named = sorted(set(candidates()), key=lambda one: (len(one[1]), one))
    for name, data in (*_files(), *chosen(named)):
        digest = hashlib.sha256(data).hexdigest()[:6]
        (CORPUS / f"{name}-{digest}").write_bytes(data)


def candidates() -> Iterator[tuple[str, bytes]]:
    """All seeds that may be kept, with their names."""
    for text in (*_examples(), *_records(), *_pieces()):
        seed = shortened(b"T" + text, _said_of_log)
        if len(seed) <= MAX_SEED:
            yield "+".join(sorted(scanned(seed[1:]).records)[:3]) or "nothing", seed
    yield from _folders()


# --- where seeds come from


def _examples() -> Iterator[bytes]:
    for file in sorted((ROOT / "patterns").glob("*.toml")):
        pattern = tomllib.loads(file.read_text(encoding="utf-8"))
        for example in (*pattern.get("example", ()), *pattern.get("counterexample", ())):
            yield example["text"].encode()


def _records() -> Iterator[bytes]:
    """One record of each form of the grammar, the same each time."""
    for forms in FORMATS.values():
        for form in forms:
            yield _drawn(form.text).encode()


def _drawn(words: Words) -> str:
    drawn: list[str] = []

    @settings(
        max_examples=4,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(words)
    def draw(text: str) -> None:
        drawn.append(text)

    draw()
    return drawn[-1]


def _pieces() -> Iterator[bytes]:
    """Small logs whole, of larger ones what stands around the first event of each type."""
    for file in sorted(FIXTURES.glob("**/input/**/*")):
        if not file.is_file() or file.suffix not in (".log", ".txt", ".err", ".json", ".xml"):
            continue
        raw = file.read_bytes()
        starts = {0} if len(raw) <= _PIECE else _first_of_each(raw)
        yield from (raw[start : start + _PIECE] for start in sorted(starts))


def _first_of_each(raw: bytes) -> set[int]:
    first: dict[type[object], int] = {}
    for event in scanned(raw).events:
        first.setdefault(type(event), event.place.offset)
    return {raw.rfind(b"\n", 0, max(0, offset - 1_000)) + 1 for offset in first.values()}


def _folders() -> Iterator[tuple[str, bytes]]:
    """Fixtures with generated code beside their logs, as sections."""
    for folder in sorted(FIXTURES.glob("**/input")):
        parts = [part for file in sorted(folder.rglob("*")) for part in _sections(file)]
        if any(b"=== m" in part[:8] or part[:40].count(b".py\n") for part in parts):
            seed = shortened(b"F" + b"".join(parts), _said_of_folder)
            if len(seed) <= MAX_SEED:
                yield f"folder-{folder.parent.name}", seed


def _sections(file: Path) -> Iterator[bytes]:
    if file.suffix in (".log", ".txt", ".err", ".py", ".cpp"):
        yield b"=== " + file.name[-40:].encode() + b"\n" + file.read_bytes()[:100_000] + b"\n"
    elif file.suffix == ".pt2" and zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as package:
            for entry in package.namelist():
                if entry.endswith((".cpp", ".json")):
                    head = f"=== m.pt2!data/{entry.rpartition('/')[2]}\n"
                    yield head.encode() + package.read(entry) + b"\n"


def _files() -> Iterator[tuple[str, bytes]]:
    """Packed and archived logs, and packages as they are."""
    log = next(iter(_examples()))
    folder = {"rank0.log": log, "a/rank1.log": b"Segmentation fault (core dumped)\n"}
    sections = b"".join(b"=== l.zip!%s\n%s" % (name.encode(), one) for name, one in folder.items())
    yield "folder-archive", b"F" + sections
    yield "folder-packed", b"F=== run.log.gz\n" + log
    yield "file-gzip", b"S\x01" + gzip.compress(log, mtime=0)
    for name, data in target.packed(sections).items():
        yield f"file-{name}", b"S\x02" + data
    for name, data in target.packed(sections.replace(b"l.zip", b"l.tar")).items():
        yield f"file-{name}", b"S\x03" + gzip.compress(data, mtime=0)
    yield "file-utf16", b"S\x00" + log.decode().encode("utf-16")
    for kind in ("bz2", "xz"):
        (data,) = target.packed(f"=== x.{kind}\n".encode() + log).values()
        yield f"file-{kind}", b"S\x00" + data
    for which, suffix in enumerate(("wrapper_metadata.json", "kernel_information.json"), 4):
        yield from _entries(FIXTURES / _PROVEN, suffix, which)
    code = _drawn(WRAPPER_CPP), _drawn(WRAPPER_CPP), _drawn(WRAPPER_PY)
    for which, text in enumerate(code, 1):
        yield "artifact-code", b"P" + bytes((which,)) + text.encode()


def _entries(package: Path, suffix: str, which: int) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(package) as archive:
        for entry in archive.namelist():
            if entry.endswith(suffix):
                yield f"artifact-{suffix}", b"P" + bytes((which,)) + archive.read(entry)


# --- shorter


def shortened(data: bytes, said: Callable[[bytes], Said]) -> bytes:
    """The input without the lines that what is said of it does not need."""
    wanted = said(data)
    lines = data[1:].split(b"\n")
    size = max(1, len(lines) // 2)
    while True:
        at = 0
        while at < len(lines):
            fewer = lines[:at] + lines[at + size :]
            if said(data[:1] + b"\n".join(fewer)) == wanted:
                lines = fewer
            else:
                at += size
        if size == 1:
            return data[:1] + b"\n".join(lines)
        size = max(1, size // 4)


def _said_of_log(data: bytes) -> Said:
    report, read = pipeline.analyze_text(data[1:], catalogue())
    told = {(type(event).__name__, *map(str, _shapes(event))) for event in read.events}
    return (tuple(sorted(told)), *_said(report))


def _shapes(event: object) -> Iterator[object]:
    """The words of closed sets in an event, and which of its fields are known."""
    for name in ("form", "reason", "channel", "told_by", "property", "level", "phase", "cut"):
        yield getattr(event, name, None)


def _said(report: Report) -> Said:
    kernel, lineage = report.last_kernel, report.lineage
    return (
        report.verdict.failure_class,
        tuple(sorted({(one.pattern, one.role) for one in report.findings})),
        kernel
        and (kernel.found_by, len(kernel.producers), len(kernel.aten_ops), bool(kernel.call)),
        lineage and (lineage.slice, bool(lineage.bound), len(lineage.failing_values)),
    )


def _said_of_folder(data: bytes) -> Said:
    with target.folder_of(data[1:]) as folder:
        return _said(pipeline.analyze([folder])) if any(folder.iterdir()) else ()


# --- fewer


def chosen(seeds: Sequence[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The seeds, shortest first, that reach something that none before them reaches."""
    reached: set[tuple[str, int, int]] = set()
    for name, data in seeds:
        new = _reached(data) - reached
        if len(new) >= _WORTH:
            reached |= new
            yield name, data


def _reached(data: bytes) -> set[tuple[str, int, int]]:
    measured = coverage.Coverage(data_file=None, branch=True, source=["aoti_logscan"])
    measured.start()
    try:
        target.one(data, published=False)
    finally:
        measured.stop()
    found = measured.get_data()
    return {(file, *arc) for file in found.measured_files() for arc in found.arcs(file) or ()}


if __name__ == "__main__":
    write()
