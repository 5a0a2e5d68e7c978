"""The words that lines of logs are made of: names, numbers, shapes, paths, devices, times.

`SLOTS` are strategies by the names that templates use: `said("{path}:{line}: {function}")` draws a
path, a line and a function each time.
"""

from __future__ import annotations

import re
import string

from hypothesis import strategies as st

Words = st.SearchStrategy[str]

_SLOT = re.compile(r"\{([a-z]\w*)\}")
_LOWER = string.ascii_lowercase
_OPS = (
    *(
        "add",
        "mul",
        "sum",
        "index",
        "embedding",
        "gather",
        "scatter",
        "sin",
        "relu",
        "native_layer",
    ),
    *("cat", "where", "_to_copy", "index_select", "mean", "clone", "view", "argmax", "softmax"),
)


def one_of(*words: str) -> Words:
    """One of these words."""
    return st.sampled_from(words)


def joined(separator: str, *parts: Words) -> Words:
    """All parts, one behind the other."""
    return st.tuples(*parts).map(separator.join)


def number(low: int, high: int) -> Words:
    """An integer in digits."""
    return st.integers(low, high).map(str)


def listed(parts: Words, separator: str, low: int = 0, high: int = 4) -> Words:
    """So many parts, apart from one another by the separator."""
    return st.lists(parts, min_size=low, max_size=high).map(separator.join)


def hexadecimal(digits: int) -> Words:
    """`0x` and at most so many digits."""
    return st.integers(1, 16**digits - 1).map("0x{:x}".format)


_word = st.text(_LOWER, min_size=2, max_size=8)
_name = joined("", st.sampled_from(_LOWER), st.text(_LOWER + "_0123456789", max_size=9))
_class = _word.map(str.capitalize)
_folder = st.text(_LOWER + "0123456789_-.", min_size=1, max_size=9).map(lambda text: f"d{text}")
_folders = listed(_folder, "/", 1, 4)
_root = one_of("/home", "/tmp", "/opt/venv/lib/python3.11/site-packages/torch", "/srv", "/mnt/ß")
_fused = st.lists(st.sampled_from(_OPS), min_size=1, max_size=4).map("_".join)
_small = number(0, 9)
_index = number(0, 200)
_size = st.one_of(number(0, 64), number(0, 1 << 20), number(0, (1 << 63) - 1))
_signed = st.one_of(_size, _size.map("-{}".format))
_line = number(1, 20_000)
_address = hexadecimal(12)
_device = one_of("cpu", "cuda:0", "cuda:7", "cuda", "xpu:1", "meta", "mps")
_block = joined(",", number(0, 9_999), number(0, 9), number(0, 9)).map("[{}]".format)
_buffer = joined("", one_of("buf", "arg"), _index)
_symbol = joined("", one_of("ks", "s", "u"), _index)
_temporary = _index.map("tmp{}".format)
_bound = st.one_of(_size, _size.map("{}L".format), _symbol, _symbol.map("((-1) + {})".format))
_triton = joined(
    "", one_of("triton_poi", "triton_red", "triton_per"), _fused.map("_fused_{}_".format), _index
)
_cpp = joined("", _fused.map("cpp_fused_{}_".format), _index)
_time = st.times().map(lambda time: time.strftime("%H:%M:%S"))
_month_day = st.dates().map(lambda date: date.strftime("%m%d"))
_path = joined("/", _root, _folders)

SLOTS: dict[str, Words] = {
    "word": _word,
    "name": _name,
    "Class": _class,
    "small": _small,
    "index": _index,
    "size": _size,
    "signed": _signed,
    "line": _line,
    "pid": number(1, 4_194_303),
    "rank": number(0, 4_095),
    "bits": hexadecimal(16),
    "address": _address,
    "hex": _address.map(lambda text: text[2:]),
    "device": _device,
    "block": _block,
    "buffer": _buffer,
    "symbol": _symbol,
    "temporary": _temporary,
    "bound": _bound,
    "triton": _triton,
    "cpp": _cpp,
    "kernel": st.one_of(_triton, _cpp),
    "folder": _path,
    "path": joined("", _path, st.just("/"), _name, one_of(".log", ".py", ".bin", "")),
    "py": joined("", _path, st.just("/"), _name, st.just(".py")),
    "so": joined("", _path, st.just("/"), _name, one_of(".so", ".so.6", ".abi3.so")),
    "pt2": joined("", _path, st.just("/"), _name, st.just(".pt2")),
    "wrapper": joined("", _path, st.just("/c"), _name, st.just(".wrapper.cpp")),
    "cu": joined("", _path, st.just("/"), _class, one_of(".cu", ".cuh", ".hip", ".h")),
    "source": joined("", _path, st.just("/"), _class, one_of(".cpp", ".h", ".cc")),
    "function": st.one_of(_name, joined("::", _word, _class, _name), st.just("operator()")),
    "mangled": joined("", st.just("_ZN"), number(2, 20), _name, st.just("Ev")),
    "op": joined("::", _word.map("my{}".format), _name),
    "exception": one_of("RuntimeError", "ValueError", "torch.AcceleratorError", "KeyError"),
    "message": listed(st.one_of(_word, _size, _path), " ", 1, 6),
    "text": st.text(
        st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\x85"),
        max_size=20,
    ),
    "time": _time,
    "micro": number(0, 999_999).map(lambda text: text.zfill(6)),
    "nano": number(0, 999_999_999).map(lambda text: text.zfill(9)),
    "date": st.dates().map(str),
    "month_day": _month_day,
    "c10_day": _month_day.map(lambda text: text.lstrip("0")),
    "host": joined("-", _word, _index),
    "gib": joined("", number(1, 90), st.just("."), number(10, 99), one_of(" GiB", " MiB", " KiB")),
    "version": joined(".", _small, _small, _small),
    "signal": one_of("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGKILL"),
    "dtype": one_of("float32", "int64", "bfloat16", "bool", "long int", "c10::complex<float>"),
    "shape": listed(_size, ", ", 0, 4).map("[{}]".format),
    "value": st.one_of(
        st.floats(-1e6, 1e6).map(str), one_of("nan", "-nan", "inf", "-inf", "0", "1e+38")
    ),
    "arguments": listed(st.one_of(_buffer, _symbol, _size.map("{}L".format)), ", ", 1, 6),
}


def said(template: str) -> Words:
    """The template with a word drawn for each of its slots; several lines are one text."""
    pieces = _SLOT.split(template)
    parts = [SLOTS[piece] if at % 2 else st.just(piece) for at, piece in enumerate(pieces)]
    return joined("", *parts)


def literal(template: str) -> str:
    """The template's own words, without its slots."""
    return _SLOT.sub("", template)
