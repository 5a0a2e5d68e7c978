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
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from aoti_logscan.archives import TooMuchError, apart, open_zip
from aoti_logscan.artifacts.provenance import (
    Provenance,
    read_extern_nodes,
    read_kernel_information,
    read_node_mappings,
)
from aoti_logscan.artifacts.wrapper_code import Wrapper, read_wrapper
from aoti_logscan.sources import MAX_CODE, PackageFile, Share, read_up_to

#: bytes of one entry and of all entries that are read, and entries looked at
MAX_ENTRY = MAX_CODE
MAX_READ = 512 << 20
MAX_ENTRIES = 10_000

_SOURCES = (".wrapper.cpp", ".kernel.cpp", ".cpp", ".py")
_METADATA = "_metadata.json"
_PROVENANCE = "kernel_information.json"
_NODE_MAPPINGS = "inductor_provenance_tracking_node_mappings.json"
_EXTERN_NODES = ".wrapper.json"
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
    `extern_ops` are the operators that a proxy executor calls, by the name of the file of nodes.
    """

    name: str
    device: str | None
    compute_capability: str | None
    wrappers: tuple[Wrapper, ...]
    problems: tuple[str, ...]
    provenance: Provenance = Provenance()
    extern_ops: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def read_artifact(name: str, data: bytes | PackageFile) -> Package:
    """A package, or a loose file as a package of one source; a broken one tells its problem.

    The package's file is closed.
    """
    if isinstance(data, PackageFile):
        with data.file:
            return _read_package(name, data)
    if name.endswith(".pt2") or data.startswith(b"PK"):
        return _read_package(name, PackageFile(io.BytesIO(data), Share()))
    found = _Contents()
    if len(data) > MAX_ENTRY:
        found.problems.append(f"more than {MAX_ENTRY} bytes; the rest was not read")
    found.take(name, name, data[:MAX_ENTRY])
    return found.package(name)


def _read_package(name: str, package: PackageFile) -> Package:
    file = package.file
    file.seek(0)
    if file.read(2) != b"PK":
        return Package(name, None, None, (), ("not a zip archive, so no package",))
    found = _Contents()
    try:
        with open_zip(file) as archive:
            for entry, content in _entries(archive, package.share, found.problems):
                found.take(entry, f"{name}!{entry}", content)
    except _BROKEN as error:
        found.problems.append(_broken(error))
    if not found.problems and not found.wrappers:
        found.problems.append("no generated code in it: kernels and inputs cannot be named")
    return found.package(name)


def _broken(error: Exception) -> str:
    return str(error) if isinstance(error, TooMuchError) else f"a broken package: {error}"


class _Contents:
    """What the files of a package tell, one by one."""

    def __init__(self) -> None:
        self.wrappers: list[Wrapper] = []
        self.problems: list[str] = []
        self._metadata: dict[str, str] = {}
        self._told: list[Provenance] = []
        self._extern: dict[str, tuple[str, ...]] = {}

    def take(self, entry: str, shown: str, content: bytes) -> None:
        """Read one file; `shown` is the name it is known by."""
        try:
            if entry.endswith(_METADATA):
                found = msgspec.json.decode(content, type=dict[str, str])
                # the loader goes by the wrapper's metadata, not by the kernels'
                loaded_by = entry.endswith(_WRAPPER_METADATA)
                old = self._metadata
                self._metadata = {**old, **found} if loaded_by else {**found, **old}
            elif entry.endswith(_EXTERN_NODES):
                self._extern[shown] = read_extern_nodes(content)
            elif entry.endswith(_PROVENANCE):
                self._told.append(read_kernel_information(content))
            elif entry.endswith(_NODE_MAPPINGS):
                self._told.append(read_node_mappings(content))
            else:
                self.wrappers.append(read_wrapper(shown, _text(content)))
        except (ValueError, RecursionError) as error:
            self.problems.append(f"{entry}: {error}")

    def package(self, name: str) -> Package:
        """All of it."""
        return Package(
            name,
            self._metadata.get("AOTI_DEVICE_KEY") or None,
            self._metadata.get("AOTI_COMPUTE_CAPABILITY") or None,
            tuple(self.wrappers),
            tuple(self.problems),
            Provenance.merged(self._told),
            self._extern,
        )


def _entries(
    archive: zipfile.ZipFile, share: Share, problems: list[str]
) -> Iterator[tuple[str, bytes]]:
    left = MAX_READ
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        problems.append(f"{len(entries) - MAX_ENTRIES} of {len(entries)} entries were not read")
    own = apart(entries[:MAX_ENTRIES])
    if shared := min(len(entries), MAX_ENTRIES) - len(own):
        problems.append(f"{shared} entries were not read, whose bytes are those of others")
    for entry in own:
        if not entry.filename.endswith((*_SOURCES, _METADATA, _PROVENANCE, _EXTERN_NODES)):
            continue
        limit = min(MAX_ENTRY, left)
        try:
            with archive.open(entry) as file:
                content = read_up_to(file, limit + 1)
            share.take(content)
        except _BROKEN as error:
            problems.append(f"{entry.filename}: {error}")
            continue
        if len(content) > limit:
            problems.append(f"{entry.filename}: more than {limit} bytes; the rest was not read")
        left = max(0, left - len(content))
        yield entry.filename, content[:limit]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
