"""What the loaders of packages and shared libraries say when they cannot load one.

    ImportError: /opt/venv/.../_C.abi3.so: undefined symbol: aoti_torch_create_device_guard
    RuntimeError: Failed to initialize zip archive: failed finding central directory

give a `LoadError` each. Sources: glibc, dl-load.c and dl-lookup.c; torch 2.13,
csrc/inductor/aoti_package/model_package_loader.cpp (the zip texts and the model's name);
caffe2/serialize/inline_container.cc (`PytorchStreamReader`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aoti_logscan.events import LoadError
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.scan import Draft, Parsed

NAME = "load_error"


class _Form(NamedTuple):
    """A text by its anchor, and the reason that it stands for."""

    anchor: bytes
    reason: str


_FORMS = (
    _Form(b": undefined symbol: ", "undefined-symbol"),
    _Form(b"Failed to initialize zip archive", "corrupt"),
    _Form(b"No files found in zip archive", "corrupt"),
    _Form(b"Failed to extract zip file", "corrupt"),
    _Form(b"Failed to read zip filename", "corrupt"),
    _Form(b"PytorchStreamReader failed", "corrupt"),
    _Form(b": file too short", "corrupt"),
    _Form(b": invalid ELF header", "machine"),
    _Form(b": wrong ELF class", "machine"),
    _Form(b"cannot open shared object file", "not-found"),
    _Form(b"version `GLIBCXX_", "abi"),
    _Form(b"version `CXXABI_", "abi"),
    _Form(b"version `GLIBC_", "abi"),
    _Form(b"Failed to find a generated cpp file or so file for model", "no-model"),
    _Form(b"No device information found.", "other"),
)
ANCHORS = tuple(form.anchor for form in _FORMS)

# /opt/venv/.../_C.abi3.so: undefined symbol: x     the last path before the anchor
_FILE = re.compile(rb"(?P<file>[^\s:'\"()\[\]]+(?:\.so[.\w]*|\.pt2))")
_SYMBOL = re.compile(rb"undefined symbol: (?P<symbol>[^\s,;\"']+)")


def parse(hit: Hit) -> Parsed:
    """One draft for the text at this hit."""
    text, column = hit.line.text, hit.column
    form = next((form for form in _FORMS if text.startswith(form.anchor, column)), None)
    if form is None or is_quotation(text, column):
        return ()
    files = _FILE.findall(text[max(0, column - 2000) : column + 200])
    symbol = _SYMBOL.search(text, column, column + 2000)
    fields = {
        "reason": form.reason,
        "file": files[0].decode("utf-8", "replace") if files else None,
        "symbol": symbol["symbol"].decode("utf-8", "replace") if symbol else None,
        "said": text[column : column + 300].decode("utf-8", "replace").strip(" :"),
    }
    return (
        Draft.of_line(
            hit, LoadError, fields, column, (fields["reason"], fields["file"], fields["symbol"])
        ),
    )
