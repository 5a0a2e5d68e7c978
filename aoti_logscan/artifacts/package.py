"""A `.pt2` package: its metadata and its generated sources, read from the zip and never run.

Entries are found by what their names end in, since versions lay packages out differently. Weights
and compiled code are not read. Source: torch 2.13, export/pt2_archive/_package.py and
_inductor/codecache.py (`AOTI_DEVICE_KEY` and the other keys of `*_metadata.json`).
"""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from aoti_logscan.artifacts.provenance import Provenance, read_kernel_information
from aoti_logscan.artifacts.wrapper_code import Wrapper, read_wrapper

#: bytes of one entry and of all entries that are read, and entries looked at
MAX_ENTRY = 64 << 20
MAX_READ = 512 << 20
MAX_ENTRIES = 10_000

_SOURCES = (".wrapper.cpp", ".kernel.cpp", ".cpp", ".py")
_METADATA = "_metadata.json"
_PROVENANCE = "kernel_information.json"
_WRAPPER_METADATA = ".wrapper_metadata.json"
_BROKEN = (
    OSError,
    EOFError,
    RuntimeError,  # encrypted; NotImplementedError: an unknown method
    ValueError,  # names that are no text, offsets before the file
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
)


class Package(NamedTuple):
    """What a package or a loose file of generated code holds.

    `device` is the metadata's device key (`cpu`, `cuda`), None where there is no metadata.
    """

    name: str
    device: str | None
    compute_capability: str | None
    wrappers: tuple[Wrapper, ...]
    problems: tuple[str, ...]
    provenance: Provenance = Provenance()


def read_artifact(name: str, data: bytes) -> Package:
    """A package, or a loose file as a package of one source; a broken one tells its problem."""
    if data.startswith(b"PK"):
        return _read_zip(name, data)
    if name.endswith(".pt2"):
        return Package(name, None, None, (), ("not a zip archive, so no package",))
    return Package(name, None, None, (read_wrapper(name, _text(data)),), ())


def _read_zip(name: str, data: bytes) -> Package:
    wrappers: list[Wrapper] = []
    metadata: dict[str, str] = {}
    problems: list[str] = []
    told: list[Provenance] = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry, content in _entries(archive, problems):
                if entry.endswith(_PROVENANCE):
                    told.append(_provenance(entry, content, problems))
                elif entry.endswith(_METADATA):
                    found = _metadata(entry, content, problems)
                    # the loader goes by the wrapper's metadata, not by the kernels'
                    loaded_by = entry.endswith(_WRAPPER_METADATA)
                    metadata = {**metadata, **found} if loaded_by else {**found, **metadata}
                else:
                    wrappers.append(read_wrapper(f"{name}!{entry}", _text(content)))
    except _BROKEN as error:
        problems.append(f"a broken package: {error}")
    return Package(
        name,
        metadata.get("AOTI_DEVICE_KEY") or None,
        metadata.get("AOTI_COMPUTE_CAPABILITY") or None,
        tuple(wrappers),
        tuple(problems),
        Provenance.merged(told),
    )


def _entries(archive: zipfile.ZipFile, problems: list[str]) -> Iterator[tuple[str, bytes]]:
    left = MAX_READ
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        problems.append(f"{len(entries) - MAX_ENTRIES} of {len(entries)} entries were not read")
    for entry in entries[:MAX_ENTRIES]:
        if not entry.filename.endswith((*_SOURCES, _METADATA, _PROVENANCE)):
            continue
        limit = min(MAX_ENTRY, left)
        try:
            with archive.open(entry) as file:
                content = file.read(limit + 1)
        except _BROKEN as error:
            problems.append(f"{entry.filename}: {error}")
            continue
        if len(content) > limit:
            problems.append(f"{entry.filename}: more than {limit} bytes; the rest was not read")
        left = max(0, left - len(content))
        yield entry.filename, content[:limit]


def _metadata(entry: str, content: bytes, problems: list[str]) -> dict[str, str]:
    try:
        return msgspec.json.decode(content, type=dict[str, str])
    except (msgspec.DecodeError, RecursionError) as error:
        problems.append(f"{entry}: {error}")
        return {}


def _provenance(entry: str, content: bytes, problems: list[str]) -> Provenance:
    try:
        return read_kernel_information(content)
    except ValueError as error:
        problems.append(f"{entry}: {error}")
        return Provenance()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
