"""Paths: folders that are somebody's own become one token; what is torch's stays."""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import ISSUED

# /home/anna/ranker/model.py   ~/ranker/model.py   \/data\/x.py   -I/data/include
_PART = (
    rf"(?:[\w.+@%~=#$-]|{ISSUED}|\\{{1,2}}u[0-9a-fA-F]{{4}}"
    r"|(?<=\w)[',(](?=[\w.+-]{1,60}+\)?\\{0,2}/\w)|\)(?=/\w))++"
)
_SLASH = r"\\{0,2}/"
# right after the path's first character: what may stand before it
_BEFORE = (
    r"(?:(?<![\w.\-/~$)\]}%\\].)|(?<=\\[nrt].)|(?<=-[ILBo].)|(?<=-isystem.)|(?<=-include.)"
    r"|(?<=\[\dm.)|(?<=\[\d\dm.)|(?<=;\dm.)|(?<=;\d\dm.)|(?<=file://.))"
)
_MORE = rf"{_PART}(?:{_SLASH}{_PART})*+(?:{_SLASH})?+"
_PATH = lazy_re(
    rf"{ISSUED}(?:{_SLASH}{_PART})*+|/{_BEFORE}{_MORE}|\\{_BEFORE}\\?+/{_MORE}"
    rf"|~{_BEFORE}[\w-]{{0,32}}+{_SLASH}{_MORE}"
)
_SYSTEM = lazy_re(
    r"/(?:usr|lib\d{0,2}|bin|sbin|etc|proc|sys|dev(?!/shm/)|run(?!/media/|/user/)|boot|snap"
    r"|var/(?:folders|lib|log|run|cache|spool)|private/(?:var|tmp|etc)|System|Library"
    r"|Applications|nix/store|gnu/store|opt/(?:conda(?!/envs/)|python[\w.-]*|venv[\w.-]*|rocm[\w.-]*"
    r"|nvidia|intel|amdgpu|hostedtoolcache|homebrew|libtorch|pytorch|mini(?:conda|forge)\d?(?!\d?/envs/)|anaconda\d?(?!\d?/envs/)|rh"
    r"|amazon|hpcx|openmpi|mellanox|cuda[\w.-]*)|pytorch|__w|builder|croot|conda-bld|opt/_internal"
    r"|sysdeps|nptl|csu|build(?:dir)?/glibc[\w.-]*|v\d|api|health|metrics)(?:/.*)?"
    r"|/root(?:/[^/]*)?"
)
_TEMPORARY_FOLDER = lazy_re(
    r"/(?:tmp|var/tmp|dev/shm|run/user/\d+)/(?:(?:tmp|torchinductor_|aotinductor_|torchelastic_|pytest-|pip-"
    r"|triton|nvidia-mps|systemd-|cuda|cc)[^/]*"
    r"|(?=[^/]*(?:\d[A-Za-z]|[A-Za-z][A-Z]))[A-Za-z0-9]{5,8})(?:/.*)?"
    r"|/(?:tmp|var/tmp|dev/shm|run/user/\d+)(?:/[^/]*)?"
)
# from here on a path is torch's, Python's or generated
_KEPT = lazy_re(
    r"(?<=/)(?:(?:lib(?:64)?/python\d[\d.]*/)?(?:site|dist)-packages/|lib(?:64)?/python\d[\d.]*/"
    r"|(?:Lib|lib)/site-packages/|aten/src/|c10/|torchgen/|functorch/"
    r"|torch/(?:_\w+|csrc|nn|fx|utils|optim|cuda|distributed|export|include|lib|headeronly|ao|amp"
    r"|autograd|backends|func|jit|library\.py|testing|multiprocessing|sparse|special|compiler)/"
    r"|torch/[\w]+\.(?:py|h)\Z|third_party/(?:gloo|fbgemm|cutlass|ideep|onnx|kineto|pybind11|tensorpipe|flash-attention)/"
    r"|triton/(?:backends|compiler|runtime|language)/"
    r"|data/aotinductor/|\.triton/cache/|triton/\d+/[A-Z2-7]{52}/"
    r"|fxgraph/|aotautograd/|(?:[a-z0-9]{2}/)?[acf]?[a-z2-7]{51,52}(?![a-z0-9]))"
)
_PROGRAMS = frozenset(
    (
        *("python", "python3", "torchrun", "pip", "gcc", "g++", "cc", "c++", "clang", "clang++"),
        *("nvcc", "hipcc", "ptxas", "cuobjdump", "gdb", "bash", "sh", "zsh", "pytest"),
        *("accelerate", "deepspeed", "compute-sanitizer", "cuda-gdb", "aoti-logscan"),
    )
)
_SUFFIX = lazy_re(r"[^/]*[^/.][^/]*\.[A-Za-z][A-Za-z0-9]{0,11}(?:\.\d+)*|[^/]*\.so(?:\.\d+)*")


def _path(known: Known, match: re.Match[str]) -> str:
    """A path as it was written: what follows a token of ours is what was kept of a path."""
    text = match[0]
    if text[0] != "<":
        return _written_path(known, text)
    token, sign, rest = text.partition(">")
    return text if known.is_issued(token + sign) else token + sign + _written_path(known, rest)


def _written_path(known: Known, text: str) -> str:
    """A path whose slashes may be escaped, as in JSON."""
    if "\\" not in text:
        return _folders_out(known, text) if text else text
    slash = text[: text.index("/") + 1].lstrip("~")
    return _folders_out(known, re.sub(r"\\+/", "/", text)).replace("/", slash)


def _folders_out(known: Known, path: str) -> str:
    """A path with the folders that are somebody's own as one token; the file's name stays."""
    full_stops = path[len(path.rstrip(".")) :]
    path = path[: len(path) - len(full_stops)]
    if _is_public_path(path):
        return path + full_stops
    folder, kept = split(path)
    token = known.token("dir", folder) if folder not in ("", "~", "/root") else folder
    return token + kept + full_stops


def _is_public_path(path: str) -> bool:
    """Whether a path is the system's, or a single name below the root, which may be anything."""
    root = path.lstrip("/~").partition("/")[0]
    return bool(
        _SYSTEM.fullmatch(path)
        or _TEMPORARY_FOLDER.fullmatch(path)
        or (path.count("/") < 2 and (path[0] != "~" or not path.strip("~/")))
        or not any(letter.isalpha() for letter in root)
    )


def split(path: str) -> tuple[str, str]:
    """The folders that are private, and the rest of the path, which is not."""
    if kept := _KEPT.search(path):
        return path[: kept.start() - 1], path[kept.start() - 1 :]
    folder, _, name = path.rstrip("/").rpartition("/")
    is_file = not path.endswith("/") and (_SUFFIX.fullmatch(name) or name in _PROGRAMS)
    if is_file:
        return folder, "/" + name
    return path.rstrip("/"), "/" if path.endswith("/") else ""


FINDERS = (Finder(("/",), _PATH, _path),)
