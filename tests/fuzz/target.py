"""One input of the fuzzer: what its first byte selects is read, and has to hold.

    P  a package or a file of generated code; the next byte selects the name it is read by
    S  a file, by its bytes perhaps compressed or an archive; the next byte selects its name
    F  a folder: sections that begin with a line `=== name`, put together as files and packages
    T  and all others: a log

`python -m tests.fuzz.target FINDS [libFuzzer's options] [CORPUS]...` runs it with atheris, guided
by the branches of `aoti_logscan`; `tests.fuzz.run` does so for a bounded time. An input that breaks
something is put into FINDS and the run goes on.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import re
import signal
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.fuzz.finds import Finds
from tests.fuzz.mutator import Mutator

#: seconds of the processor's time that one input may take
LIMIT = 5.0

_ARTIFACTS = (
    *("m.pt2", "c.wrapper.cpp", "c.kernel.cpp", "c.py", "c.wrapper_metadata.json"),
    *("c.kernel_metadata.json", "kernel_information.json", "c.wrapper.json"),
    "inductor_provenance_tracking_node_mappings.json",
)
_FILES = (
    *("run.log", "rank3.log.gz", "logs.zip", "logs.tar", "m.pt2", "run.json", "cabc.py"),
    "dedicated_log_torch_trace_rank_1_abcdefgh.log",
)
_SECTION = re.compile(rb"^=== ([\w.-]{1,40}(?:![\w./-]{1,80})?)\n", re.MULTILINE)
_MAX_SECTIONS = 12


class Hang(BaseException):
    """An input took longer than `LIMIT`; no error that the tool may handle."""


def one(data: bytes, *, published: bool = True) -> None:
    """Read one input and check what has to hold; raises where it does not."""
    _TARGETS.get(data[:1], _log)(data[1:], published)


def _log(raw: bytes, published: bool) -> None:
    from tests.fuzz import invariants

    invariants.check_log(raw, published=published)
    if published:
        invariants.check_windows(raw, 64 + len(raw) % 4_001)


def _artifact(data: bytes, _: bool) -> None:
    from tests.fuzz import invariants

    name = _ARTIFACTS[ord(data[:1] or b"\0") % len(_ARTIFACTS)]
    invariants.check_artifact(name, data[1:])


def _file(data: bytes, published: bool) -> None:
    from tests.fuzz import invariants

    with _folder() as folder:
        path = folder / _FILES[ord(data[:1] or b"\0") % len(_FILES)]
        path.write_bytes(data[1:])
        invariants.check_paths([path], published=published)


def _files(data: bytes, published: bool) -> None:
    from tests.fuzz import invariants

    with folder_of(data) as folder:
        invariants.check_paths([folder], published=published)


_TARGETS: dict[bytes, Callable[[bytes, bool], None]] = {b"P": _artifact, b"S": _file, b"F": _files}


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder in memory, where there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


# --- folders


@contextmanager
def folder_of(data: bytes) -> Iterator[Path]:
    """A folder with the files of the sections."""
    with _folder() as folder:
        for name, content in packed(data).items():
            (folder / name).write_bytes(content)
        yield folder


def packed(data: bytes) -> dict[str, bytes]:
    """The files of a folder's sections; `m.pt2!entry` is one of an archive, `x.log.gz` packed."""
    files: dict[str, bytes] = {}
    members: dict[str, dict[str, bytes]] = {}
    for name, content in sections(data):
        archive, found, entry = name.partition("!")
        if archive in (".", "..") or archive.endswith(".pt"):  # torch itself reads saved tensors
            continue
        if found:
            members.setdefault(archive, {})[entry] = content
        else:
            files[archive] = _compressed(archive, content)
    return files | {name: _archive(name, entries) for name, entries in members.items()}


def sections(data: bytes) -> list[tuple[str, bytes]]:
    """The sections by their names; what stands before the first one is `run.log`."""
    first, *rest = _SECTION.split(data, _MAX_SECTIONS)
    named = [(name.decode(), text) for name, text in zip(rest[::2], rest[1::2], strict=True)]
    return [("run.log", first), *named] if first else named


def _compressed(name: str, content: bytes) -> bytes:
    for suffix, pack in _PACKERS.items():
        if name.endswith(suffix):
            return pack(content)
    return content


_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def _archive(name: str, entries: dict[str, bytes]) -> bytes:
    return _tar(entries) if name.endswith(".tar") else _zip(entries)


def _zip(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _tar(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in entries.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


# --- with atheris


@contextmanager
def limited() -> Iterator[None]:
    """Raises `Hang` in what takes longer than `LIMIT`, time of other processes not counted."""

    def hang(_number: int, _frame: FrameType | None) -> None:
        raise Hang(f"longer than {LIMIT:g} s")

    before = signal.signal(signal.SIGVTALRM, hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _is_published(data: bytes) -> bool:
    """Whether what is passed on is checked too: of one input in eight, for the time it takes."""
    return zlib.crc32(data) % 8 == 0


def tried(data: bytes, finds: Finds) -> None:
    """Read one input within the limit and keep it where it breaks something."""
    try:
        with limited():
            one(data, published=_is_published(data))
    except (Exception, Hang) as error:
        finds.keep(data, error)


def main() -> None:
    """Run until libFuzzer's options end it."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["aoti_logscan"]):
        importlib.import_module("tests.fuzz.invariants")
    name, finds, *options = sys.argv
    kept = Finds(Path(finds))
    folders = [Path(option) for option in options if not option.startswith("-")]
    # atheris puts its function in place when it starts
    mutator = Mutator.of_corpus(folders, lambda data, size: atheris.Mutate(data, size))
    atheris.Setup([name, *options], lambda data: tried(data, kept), custom_mutator=mutator.mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
