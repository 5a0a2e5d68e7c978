"""What the loaders of packages and shared libraries say when they cannot load one.

    ImportError: /opt/venv/.../_C.abi3.so: undefined symbol: aoti_torch_create_device_guard
    RuntimeError: Failed to initialize zip archive: failed finding central directory

give a `LoadError` each. Sources: glibc, dl-load.c, dl-lookup.c and dl-version.c; musl,
ldso/dynlink.c; macOS, dyld; Windows system messages as Python prints them; torch 2.13,
csrc/inductor/aoti_package/model_package_loader.cpp (the zip texts of miniz, the model's name),
aoti_runtime/model_base.h (weights behind a library), aten/src/ATen/DynamicLibrary.cpp;
caffe2/serialize (`PytorchStreamReader`, `file_adapter.cc`); torch/export/pt2_archive/_package.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice, takewhile
from typing import Any, NamedTuple

from aoti_logscan.events import LoadError
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit, strip_head
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.records import Draft, Parsed

NAME = "load_error"

#: bytes of a text before and after its anchor
_BEFORE = 2000
_AFTER = 2000


class _Said(NamedTuple):
    """The reason that a text stands for, and what it names; no reason: the text is not ours.

    `words` are the text's own, where they begin before its anchor.
    """

    reason: str | None
    file: bytes | None = None
    symbol: bytes | None = None
    required_by: bytes | None = None
    model: bytes | None = None
    words: bytes | None = None


_Reader = Callable[[bytes, int], _Said]


class _Form(NamedTuple):
    """A text by its anchor, and what reads the line at it."""

    anchor: bytes
    read: _Reader


_END = rb"\s:'\"()\[\],"
# /opt/venv/.../_C.abi3.so        right before ": undefined symbol"
_FILE_BEFORE = lazy_re(rb"(?s:.*[" + _END + rb"])?(?P<file>[^" + _END + rb"]+)$")
_WORDS = lazy_re(rb"[^" + _END + rb"]+")
# encoder.pt2     /opt/lib/libx.so.12
_LIBRARY = lazy_re(rb"\.(?:pt2|so(?:\.[\w.]*)?)$")


def _before(text: bytes, column: int) -> bytes | None:
    match = _FILE_BEFORE.match(text[max(0, column - _BEFORE) : column])
    return match["file"] if match else None


def _about_file(reason: str) -> _Reader:
    """`FILE: what is wrong with it`."""
    return lambda text, column: _Said(reason, _before(text, column))


def _near(reason: str) -> _Reader:
    """A text that names no file itself: a package or library that stands in front of it."""

    def read(text: bytes, column: int) -> _Said:
        words = _WORDS.findall(text[max(0, column - _BEFORE) : column])
        return _Said(reason, next(filter(_LIBRARY.search, reversed(words)), None))

    return read


def _matching(source: bytes, reason: str) -> _Reader:
    """A text with groups `file` and `symbol`, where it has them."""
    return _reasoned(source, ((b"", reason),))


def _reasoned(source: bytes, reasons: tuple[tuple[bytes, str | None], ...]) -> _Reader:
    """A text whose group `why` tells the reason, by the first of the words that stands in it.

    Empty words stand in every text, one without `why` too.
    """
    pattern = re.compile(source)

    def read(text: bytes, column: int) -> _Said:
        match = pattern.match(text, column, column + _AFTER)
        if match is None:
            return _Said(None)
        named = match.groupdict()
        why = named.get("why") or b""
        reason = next((reason for words, reason in reasons if words in why), None)
        return _Said(reason, named.get("file"), named.get("symbol"))

    return read


# undefined symbol: _ZN3c10...Ev, version X     undefined symbol: c10::f(char const*, int) const
_MANGLED = lazy_re(rb": undefined symbol: (?P<symbol>[\w.$@?]++)(?![:<(])")
_DEMANGLED = lazy_re(
    rb": undefined symbol: (?P<symbol>[^\n\"'(]{1,1000}"
    rb"(?:\((?:[^()\n\"']|\([^()\n\"']{0,200}\))*+\)(?:\[abi:\w+\])?(?: const)?)?)"
)
_SPECIAL_NAME = (b"vtable", b"typeinfo", b"VTT", b"guard", b"thunk", b"non")


def _undefined_symbol(text: bytes, column: int) -> _Said:
    file = _before(text, column)
    if file == b"error":  # a linker's own message: nothing was loaded yet
        return _Said(None)
    match = _MANGLED.match(text, column, column + _AFTER)
    if match is None or match["symbol"] in _SPECIAL_NAME:
        match = _DEMANGLED.match(text, column, column + _AFTER)
    return _Said("undefined-symbol", file, match["symbol"].rstrip() if match else None)


# python: relocation error: /tmp/m.so: symbol _ZNK3c105Error4whatEv, version LIBC10_2 not defined in
# file libc10.so with link time reference
_NOT_DEFINED = lazy_re(
    rb"(?s:.*\s)?(?P<file>[^\s:]+): symbol (?P<symbol>[^\s,]{1,1000}),? version \S{1,200}$"
)


def _not_defined(text: bytes, column: int) -> _Said:
    match = _NOT_DEFINED.match(text[max(0, column - _BEFORE) : column])
    return _Said("undefined-symbol", match["file"], match["symbol"]) if match else _Said(None)


# where the AOTI loader puts what it takes out of a package
_EXTRACTED = lazy_re(rb"[/\\]data[/\\]aotinductor[/\\]")
_CANNOT_OPEN = (
    (b"Permission denied", "other"),
    (b"Exec format error", "machine"),
    (b"Too many open files", "other"),
)


def _cannot_open(text: bytes, column: int) -> _Said:
    """glibc passes over a library of another machine and says that there is none."""
    file = _before(text, column)
    why = text[column : column + 120]
    reason = next((reason for words, reason in _CANNOT_OPEN if words in why), "not-found")
    if reason == "not-found" and file and _EXTRACTED.search(file):
        reason = "machine"
    return _Said(reason, file)


# libm.so.6: version `GLIBC_2.38' not found (required by model.so)     newer: version 'GLIBC_2.38'
_VERSION = lazy_re(
    rb"(?s:.*[" + _END + rb"])?(?P<file>[^" + _END + rb"]+): (?P<words>version [`']"
    rb"(?P<version>[^'\n]+)')$"
)
_REQUIRED_BY = lazy_re(rb" not found \(required by (?P<file>[^\s()]{1,1000})\)")


def _version(text: bytes, column: int) -> _Said:
    match = _VERSION.match(text[max(0, column - _BEFORE) : column])
    if match is None:
        return _Said(None)
    asks = _REQUIRED_BY.match(text, column, column + _AFTER)
    file = asks["file"] if asks else None
    return _Said("abi", match["file"], match["version"], file, words=match["words"])


# Model encoder not found in package
_MODEL_BEFORE = lazy_re(rb"(?P<words>\bModel '?(?P<model>[^\s{}']{1,200})'?)$")
# Failed to find a generated cpp file or so file for model 'encoder' in the zip archive.
_MODEL_AFTER = lazy_re(rb"[\w ]{1,80} for model '(?P<model>[^'\n]{1,200})'")


def _no_such_model(text: bytes, column: int) -> _Said:
    named = _MODEL_BEFORE.search(text[max(0, column - 300) : column])
    if named is None:
        return _Said(None)
    return _Said("no-model", model=named["model"], words=named["words"])


def _model_without_code(text: bytes, column: int) -> _Said:
    named = _MODEL_AFTER.match(text, column, column + _AFTER)
    file = _near("no-model")(text, column).file
    return _Said("no-model", file, model=named["model"] if named else None)


# dlopen(/Users/dev/model.so, 0x0006): Library not loaded: @rpath/libomp.dylib
_DYLD = lazy_re(
    rb"dlopen\((?P<file>[^,\n]{1,1000}), (?:0x)?\d+\): (?:(?:Library not loaded: (?P<library>\S+))"
    rb"|(?:(?i:symbol not found)(?:: | in flat namespace )\(?'?(?P<symbol>[^\s()']+))"
    rb"|(?P<why>[^\n]+))"
)
_DYLD_REASONS = (
    (b"architecture", "machine"),
    (b"mach-o", "machine"),
    (b"no such file", "not-found"),
    (b"image not found", "not-found"),
    (b"", "other"),
)


def _dyld(text: bytes, column: int) -> _Said:
    match = _DYLD.match(text, column, column + _AFTER)
    if match is None:
        return _Said(None)
    if match["library"]:
        return _Said("not-found", match["library"])
    if match["symbol"]:
        return _Said("undefined-symbol", match["file"], match["symbol"])
    reason = next(reason for words, reason in _DYLD_REASONS if words in match["why"])
    return _Said(reason, match["file"])


# [WinError 126] The specified module could not be found. Error loading "C:\...\fbgemm.dll" or one
_WINDOWS = lazy_re(
    rb"\[WinError (?P<code>\d{1,5})\][^\n\"]*?(?:Error loading \"(?P<file>[^\"\n]+)\"|$)"
)
# error in LoadLibrary for C:\...\x.pyd. WinError 126: The specified module could not be found.
_LOAD_LIBRARY = lazy_re(
    rb"error in LoadLibrary for (?P<file>[^\n]{1,1000}?)\. WinError (?P<code>\d{1,5})"
)
_WINDOWS_REASONS = {
    b"126": "not-found",
    b"127": "undefined-symbol",
    b"182": "abi",
    b"193": "machine",
    b"1114": "other",
}


def _windows(pattern: re.Pattern[bytes]) -> _Reader:
    def read(text: bytes, column: int) -> _Said:
        match = pattern.match(text, column, column + _AFTER)
        if match is None or match["code"] not in _WINDOWS_REASONS:
            return _Said(None)
        return _Said(_WINDOWS_REASONS[match["code"]], match["file"])

    return read


_DLL_REASONS: tuple[tuple[bytes, str | None], ...] = (
    (b"module could not be found", "not-found"),
    (b"procedure could not be found", "undefined-symbol"),
    (b"not a valid Win32", "machine"),
    (b"", "other"),
)
_MUSL_REASONS: tuple[tuple[bytes, str | None], ...] = (
    (b"No such file", "not-found"),
    (b"Exec format", "machine"),
    (b"", "other"),
)
# words of miniz; those about the disk say nothing about the package
_ZIP_REASONS: tuple[tuple[bytes, str | None], ...] = (
    (b"file open failed", "not-found"),
    (b"file not found", "not-found"),
    (b"write failed", "other"),
    (b"create failed", "other"),
    (b"allocation failed", "other"),
    (b"", "corrupt"),
)
_FOPEN_REASONS: tuple[tuple[bytes, str | None], ...] = (
    (b"errno: 13", "other"),
    (b"errno 13", "other"),
    (b"", "not-found"),
)
_PACKAGED = rb"[^'\"\n]{1,1000}\.(?:pt2|so|dylib|pyd|cubin|hsaco)"

_FORMS = (
    _Form(b": undefined symbol: ", _undefined_symbol),
    _Form(b" not defined in file ", _not_defined),
    _Form(b": cannot open shared object file", _cannot_open),
    _Form(b" not found (required by ", _version),
    _Form(b": file too short", _about_file("corrupt")),
    _Form(b": cannot read file data", _about_file("corrupt")),
    _Form(b": invalid ELF header", _about_file("corrupt")),
    _Form(b": ELF load command past end of file", _about_file("corrupt")),
    _Form(b": object file has no ", _about_file("corrupt")),
    _Form(b": wrong ELF class", _about_file("machine")),
    _Form(b": ELF file data encoding not ", _about_file("machine")),
    _Form(b": ELF load command a", _about_file("machine")),
    _Form(b": ELF file OS ABI invalid", _about_file("machine")),
    _Form(b": failed to map segment from shared object", _about_file("other")),
    _Form(b": cannot enable executable stack", _about_file("other")),
    _Form(b": cannot allocate memory in static TLS block", _about_file("other")),
    _Form(b": cannot execute binary file", _about_file("machine")),
    _Form(
        b"Error relocating ",
        _matching(
            rb"Error relocating (?P<file>[^\s:]+): (?P<symbol>\S+): symbol not found",
            "undefined-symbol",
        ),
    ),
    _Form(
        b"Error loading shared library ",
        _reasoned(
            rb"Error loading shared library (?P<file>[^\s:]+): (?P<why>[^\n]+)", _MUSL_REASONS
        ),
    ),
    _Form(b"dlopen(", _dyld),
    _Form(
        b"dlsym(",
        _matching(
            rb"dlsym\((?:0x)?[0-9a-f]+, (?P<symbol>[^)\s]+)\): symbol not found", "undefined-symbol"
        ),
    ),
    _Form(b"[WinError ", _windows(_WINDOWS)),
    _Form(b"error in LoadLibrary for ", _windows(_LOAD_LIBRARY)),
    _Form(
        b"DLL load failed",
        _reasoned(rb"DLL load failed(?: while importing \w+)?: (?P<why>[^\n]+)", _DLL_REASONS),
    ),
    _Form(
        b"Could not find module ",
        _matching(rb"Could not find module '(?P<file>[^'\n]+)' \(or one of its", "not-found"),
    ),
    _Form(
        b"Error in dlopen for library ",
        _matching(rb"Error in dlopen for library (?P<file>\S+?)(?=and |\s|$)", "not-found"),
    ),
    _Form(
        b"] Exec format error: ",
        _matching(rb"\] Exec format error: '(?P<file>[^'\n]+)'", "machine"),
    ),
    _Form(
        b"No such file or directory: ",
        _matching(
            rb"No such file or directory: ['\"](?P<file>" + _PACKAGED + rb")['\"]", "not-found"
        ),
    ),
    _Form(
        b"Failed to initialize zip archive",
        _reasoned(rb"Failed to initialize zip archive(?P<why>[^\n]*)", _ZIP_REASONS),
    ),
    _Form(b"No files found in zip archive", _near("corrupt")),
    _Form(
        b"Failed to extract zip file",
        _reasoned(
            rb"Failed to extract zip file (?P<file>\S+)[^\n]*?error string: (?P<why>[^\n]*)",
            _ZIP_REASONS,
        ),
    ),
    _Form(b"Failed to read zip filename", _near("corrupt")),
    _Form(b"PytorchStreamReader failed", _near("corrupt")),
    _Form(
        b"] . file not found: ", _matching(rb"\] \. file not found: (?P<file>[^\s,]+)", "corrupt")
    ),
    _Form(
        b"open file failed",
        _reasoned(
            rb"open file failed(?P<why>[^\n]{0,300}?), file path: (?P<file>[^\s,\"']+)",
            _FOPEN_REASONS,
        ),
    ),
    _Form(
        b"fopen failed",
        _reasoned(
            rb"fopen failed(?P<why>[^\n]{0,300}?), file path: (?P<file>[^\s,\"']+)", _FOPEN_REASONS
        ),
    ),
    _Form(
        b"File not found: ",
        _matching(
            rb"File not found: (?P<file>[^\s\"']*(?:aotinductor[^\s\"']*|_metadata\.json))",
            "not-found",
        ),
    ),
    _Form(
        b"Unable to open file ",
        _matching(rb"Unable to open file (?P<file>[^\s\"']+\.json)", "not-found"),
    ),
    _Form(b"Failed to find a generated cpp file or so file for model", _model_without_code),
    _Form(b"Failed to find wrapper metadata for model", _model_without_code),
    _Form(b" not found in package", _no_such_model),
    _Form(b" not found in PT2 archive contents", _no_such_model),
    _Form(b"Multiple wrapper shared libraries found in AOTI package", _near("other")),
    _Form(b"No device information found.", _near("other")),
    _Form(
        b"Saved archive version ",
        _matching(rb"Saved archive version \S+ does not match our current", "other"),
    ),
    _Form(
        b"Failed to load model: ",
        _matching(
            rb"Failed to load model: (?P<file>[^\s\"']+\.(?:so|pyd|dll|dylib))(?![\w.])", "other"
        ),
    ),
    _Form(b"Shared library file is smaller than embedded weights size", _near("corrupt")),
    _Form(b"Weights data seems corrupt", _near("corrupt")),
    _Form(b"Shared library file cannot be opened", _near("other")),
    _Form(b"Failed to open serialized weights file", _near("not-found")),
)
ANCHORS = tuple(form.anchor for form in _FORMS)

# FutureWarning: ...: libx.so: cannot open ...      WARNING 05-21 ... Failed to import x with ...
_WARNED = lazy_re(rb"\b\w*Warning: |(?<![\w.])(?:WARN(?:ING)?|INFO|DEBUG)\b")


def parse(hit: Hit) -> Parsed:
    """One draft for the text at this hit."""
    text, column = hit.line.text, hit.column
    form = next((form for form in _FORMS if text.startswith(form.anchor, column)), None)
    if form is None or is_quotation(text, column):
        return ()
    said = form.read(text, column)
    if said.reason is None:
        return ()
    words = (said.words or b"") + text[column : column + 300]
    fields = {
        "reason": said.reason,
        "file": _word(said.file),
        "symbol": _word(said.symbol),
        "said": words.decode("utf-8", "replace").strip(_AROUND),
        "warned": _WARNED.search(text[max(0, column - _BEFORE) : column]) is not None,
        "required_by": _word(said.required_by),
        "model": _word(said.model),
        **(_models(hit, said.model) if said.model is not None else {}),
    }
    fold = (said.reason, said.file, said.symbol, said.required_by, said.model, fields["warned"])
    return (Draft.of_line(hit, LoadError, fields, column, fold),)


#: what may stand around a text: blanks, colons, the frame of a box that a terminal drew
_AROUND = " \t:│┃║"
# the list that a loader prints of the models in a package
_MODELS = b"Available models:"
# RuntimeError:     what():         right before the text
_RAISED = lazy_re(rb"(?:[\w.:]{1,200}(?:Error|Exception): | {0,8}what\(\): {1,4})$")
#: lines below the text in which that list begins, and lines of it that are read
_MODELS_BELOW = 4
_MODELS_LISTED = 64


def _models(hit: Hit, asked: bytes) -> dict[str, Any]:
    """The models that the package has by the loader's own list, and whether this is one of them."""
    head = _RAISED.sub(b"", hit.line.text[: hit.column])
    below = (strip_head(head, line.text) for line in hit.following(_MODELS_LISTED))
    own = (text.decode("utf-8", "replace").strip(_AROUND) for text in below if text is not None)
    if not any(text == _MODELS.decode().strip(_AROUND) for text in islice(own, _MODELS_BELOW)):
        return {}
    listed = [text.split()[0] for text in takewhile(bool, own)]
    return {"available": ", ".join(listed) or None, "listed": _word(asked) in listed}


def _word(raw: bytes | None) -> str | None:
    return raw.decode("utf-8", "replace") if raw else None
