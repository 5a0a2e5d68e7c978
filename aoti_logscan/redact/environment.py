"""Values of environment variables, unless a variable is known to be harmless."""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, with_new
from aoti_logscan.redact.known import Known

# FOO=bar python x.py   export FOO=bar   docker run -e FOO=bar   "FOO=bar"
_ASSIGNED = (
    r"[A-Z_](?<!\w.)[A-Z0-9_]{1,63}+="
    r"(?:\"[^\"\n]{0,4000}+(?:\"|$)|'[^'\n]{0,4000}+(?:'|$)|[^\s\"'`;&|,)\]}\\]{1,4000}+)"
)
_ASSIGNMENT = lazy_re(
    r"(?P<name>[A-Z_][A-Z0-9_]{1,63}+)=(?P<quote>[\"']?)(?P<value>(?<=\")[^\"\n]+|(?<=')[^'\n]+"
    r"|[^\s\"'`;&|,)\]}\\]+)"
)
_ENVIRONMENT = lazy_re(rf"(?P<run>{_ASSIGNED}(?:\s{{1,4}}{_ASSIGNED})*+)(?P<last>\s*\Z)?")
_ENVIRONMENT_BEFORE = lazy_re(
    r"(?:^\s{0,40}|[$#>+] |\b(?:export|setenv|env)\s{1,4}|\bdeclare -x\s{1,4}|\s-e\s{0,4}"
    r"|\s--env[=\s]\s{0,4}|\bEnvironment=\"?|[\"']|(?:;|&&)\s{0,4}|\b[sS][eE][tT]\s{1,4}\"?"
    r"|\$env:|[\x00\v\f])\Z"
)
_PREFIX_BEFORE = lazy_re(r"[\]:|] {1,4}\Z")
# [rank3]:   2026-02-11T08:09:10.1Z stderr F   (EngineCore pid=269)   trainer-1 |
_LAUNCHER = lazy_re(
    r"\s*(?:(?:\[[^\]]{1,80}\]:?|\S{1,64} std(?:err|out) [FP]|\([^()]{1,80}\)|\S{1,64} {1,8}\|)"
    r"\s{1,4}){1,3}"
)
# no MY_KEY=x in   2026-01-01 10:00:00 DB_URL=x   where two words make the name
_IN_SENTENCE = lazy_re(
    r"(?:^|(?<=[^\s,(=\[]\s))(?P<name>[A-Z][A-Z0-9]{0,40}+(?:_[A-Z0-9]{1,40}+){1,8}+)="
    r"(?P<quote>[\"']?)(?P<value>(?<=\")[^\"\n]++|(?<=')[^'\n]++|[^\s\"'`;&|,)\]}\\]{1,4000}+)"
)
# $env:API_URL = "x"   set -x API_URL x   setenv API_URL x
_SHELL = lazy_re(
    r"(?:\$env:(?P<windows>[A-Za-z_]\w{1,63}+)\s{0,4}=\s{0,4}"
    r"|\b(?:set\s{1,4}-[gUulx]{1,4}(?:\s{1,4}-[gUulx]{1,4})?|setenv)\s{1,4}(?P<other>[A-Za-z_]\w{1,63}+)"
    r"\s{1,4})[\"']?(?P<value>(?<=[\"'])[^\"'\n]++|[^\s\"';&|]++)"
)
# {'MY_URL': 'x', 'PATH': '/usr/bin'}
_DUMP_ENTRY = r"[\"'][A-Z_][A-Z0-9_]{1,63}+[\"']\s?:\s?(?:\"[^\"\n]{0,4000}+\"|'[^'\n]{0,4000}+')"
_DUMP = lazy_re(rf"(?P<run>{_DUMP_ENTRY}(?:,\s{{0,4}}{_DUMP_ENTRY})++)")
_DUMP_HINT = lazy_re(r"[\"']\s?:(?<=[A-Z0-9_]{2}[\"']:)")
_OF_PROCESS = frozenset(("PATH", "HOME", "USER", "PWD", "SHELL", "LANG", "TERM", "HOSTNAME"))
# environ({'FOO': 'bar'})   {"name": "FOO", "value": "bar"}
_ENVIRON = lazy_re(r"\benviron\(\{(?P<run>[^\n]*)")
_ENTRY = lazy_re(
    r"(?P<quote>[\"'])(?P<name>[A-Z_][A-Z0-9_]{1,63}+)(?P=quote)\s?:\s?[\"'](?P<value>[^\"'\n]+)"
)
#: an entry of a manifest, which may be spread over lines
NAME_AND_VALUE = lazy_re(
    r"\bname[\"']?\s{0,8}:\s{0,8}[\"']?(?P<name>[A-Z_][A-Z0-9_]{1,63}+)[\"']?\s{0,8},?\s{0,200}"
    r"[\"']?\bvalue[\"']?\s{0,8}:\s{0,8}+(?![|>])[\"']?(?P<value>[^\"'\n,}]{1,4000}+)"
)
_HARMLESS_VARIABLE = lazy_re(
    r"(?:OMP|MKL|KMP|OPENBLAS|NUMEXPR|CUDA|CUDNN|CUBLAS|NVIDIA|NCCL|GLOO|UCX|TORCH|PYTORCH|PYTHON"
    r"|AOT|AOTI|AOTINDUCTOR|INDUCTOR|DYNAMO|FUNCTORCH|TRITON|HIP|ROCR|ROCM|AMD|MIOPEN|GPU|XPU"
    r"|SYCL|ONEDNN|DNNL|ATEN|C10|GLOG|KINETO|LC|TORCHINDUCTOR|TORCHDYNAMO|TORCHELASTIC|VLLM|SGLANG"
    r"|TOKENIZERS|TF|XLA|LD|XDG|SANITIZER|PYTHON[A-Z]+)(?:_\w*)?"
    r"|(?:(?:LOCAL|GROUP|ROLE)_)?(?:RANK|WORLD_SIZE)|MASTER_(?:PORT|ADDR)|LANG|LANGUAGE|TERM|SHELL"
    r"|TZ|PATH|HOME|PWD|OLDPWD|TMPDIR|TEMP|TMP|USER|LOGNAME|USERNAME|SUDO_USER|HOSTNAME|HOST"
    r"|NODE_?NAME|COMPUTERNAME|SLURMD_NODENAME|SLURM_\w*NODELIST|DEBUG|VERBOSE|CC|CXX|CFLAGS"
    r"|CXXFLAGS|LDFLAGS|CPATH|C?INCLUDE_PATH|LIBRARY_PATH|SHLVL|EDITOR|PAGER|CI|PORT|DISPLAY"
    r"|COLUMNS|LINES|CONDA_(?:PREFIX|EXE|PYTHON_EXE|SHLVL)|VIRTUAL_ENV|MAX_JOBS|HF_HUB_OFFLINE"
    r"|HSA_\w+|HF_HOME|MODE|DEVICE|DTYPE|BACKEND|OS|BLAS_INFO|LAPACK_INFO|COMMIT_SHA|CXX_\w+"
    r"|(?:CMAKE|USE|BUILD|WITH|ENABLE|PERF_WITH|FORCE|HAVE|ERR|ERROR|EXIT)_\w+|NUM_\w+|MAX_\w+"
)
#: a name that begins harmlessly, and ends in a word for a secret or a person
_PRIVATE_VARIABLE = lazy_re(
    r".+_(?:PASS|PASSWD|PASSWORD|PASSPHRASE|PW|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY"
    r"|CREDENTIALS?|CREDS|AUTH|COOKIE|OWNER|USER|USERNAME|LOGIN|EMAIL|AUTHOR|ACCOUNT|CUSTOMER)"
    r"(?<!SUDO_USER)"
)
_CONSTANT_WORDS = frozenset(
    """
    BLOCK XBLOCK YBLOCK ZBLOCK RBLOCK R0 R1 GROUP GROUPS STRIDE KERNEL DTYPE TYPE CACHE MODIFIER
    EPILOGUE PROLOGUE CAST PADDING LAYOUT DIM DIMS HEAD HEADS FLEX TF32 ALLOW ACC ACCUM EVEN FAST
    USE PRECISION FLOAT32 UNROLL NUM SIZE SMS TMA SCALE RECIPE TILE TILES DIVISIBLE IS HAS SPARSE
    PRESCALE OUTPUT INPUT LOGSUMEXP GQA SHARED QK ROWS GUARANTEED SAFE WRITE DQ DK DV KV Q1 M1 N1
    M2 N2 KV1 ACTIVATION BIAS SHAPE MASK MODS INDEX ENABLE FUSED STAGES WARPS MATRIX WEIGHT XDIM
    MAX MIN ROUNDED SPLIT SWIZZLE TRANSPOSE TRANSPOSED BROADCAST CONTIGUOUS ORDER MODE PERSISTENT
    """.split()  # noqa: SIM905
)
_HARMLESS_VALUE = lazy_re(
    r"(?i)[\d.,:x-]{0,12}|true|false|yes|no|on|off|none|null|auto|default|debug|info|warn(?:ing)?"
    r"|error|cpu|cuda(?::\d+)?|hip|xpu|gpu|(?:tl|torch)\.\w+|(?:b?float|u?int|bf|fp)\d+|c(?:\.utf-?8)?"
    r"|[a-z]{2}_[a-z]{2}\.utf-?8|\$.*|<.*"
)


def _environment(known: Known, match: re.Match[str]) -> str:
    """Assignments in a row, where they begin a line or a command, or make up a whole message."""
    if not _begins_command(match):
        return match[0]
    return with_new(
        match, _ASSIGNMENT.sub(lambda found: variable(known, found), match["run"]), "run"
    )


def _begins_command(match: re.Match[str]) -> bool:
    text, start = match.string, match.start()
    if _ENVIRONMENT_BEFORE.search(text, max(start - 60, 0), start):
        return True
    if match["last"] is not None and _PREFIX_BEFORE.search(text, max(start - 6, 0), start):
        return True
    return start < 200 and _LAUNCHER.fullmatch(text, 0, start) is not None


def _environ(known: Known, match: re.Match[str]) -> str:
    """Entries of `os.environ` as Python prints it."""
    return with_new(match, _ENTRY.sub(lambda found: variable(known, found), match["run"]), "run")


def _in_shell(known: Known, match: re.Match[str]) -> str:
    """A variable that shells other than `sh` set."""
    value = match["value"]
    if is_harmless(match["windows"] or match["other"]) or is_harmless_value(value):
        return match[0]
    return with_new(match, known.token("value", value))


def _dump(known: Known, match: re.Match[str]) -> str:
    """Entries of a dict that can only be an environment."""
    entries = {entry["name"]: entry["value"] for entry in _ENTRY.finditer(match["run"])}
    others = [
        name
        for name, value in entries.items()
        if not (_is_constant(name) or value.replace("_", "").isupper())
    ]
    if _OF_PROCESS.isdisjoint(entries) and len(others) < 2:
        return match[0]
    return with_new(match, _ENTRY.sub(lambda found: variable(known, found), match["run"]), "run")


def variable(known: Known, match: re.Match[str]) -> str:
    """A variable's value, unless the variable is known to be harmless, or the value is."""
    if is_harmless(match["name"]) or is_harmless_value(match["value"]):
        return match[0]
    return with_new(match, known.token("value", match["value"]))


def is_harmless(name: str) -> bool:
    """Whether what a variable holds is nobody's: flags, constants of kernels."""
    if _PRIVATE_VARIABLE.fullmatch(name):
        return False
    return bool(_HARMLESS_VARIABLE.fullmatch(name)) or _is_constant(name)


def is_harmless_value(value: str) -> bool:
    """Whether a value is a number, a switch, a level, or one of torch's words."""
    return _HARMLESS_VALUE.fullmatch(value) is not None


def _is_constant(name: str) -> bool:
    """Whether a name is made of the words of constants in templates of kernels."""
    words = [word for word in name.split("_") if len(word) > 1]
    return bool(words) and all(word in _CONSTANT_WORDS for word in words)


# the end of a name
_ENVIRONMENT_HINT = lazy_re(r"=(?<=[A-Z0-9_]{2}=)")
FINDERS = (
    Finder(("=",), _ENVIRONMENT, _environment, hint=_ENVIRONMENT_HINT),
    Finder(("environ(",), _ENVIRON, _environ),
    Finder(("=",), _IN_SENTENCE, variable, hint=_ENVIRONMENT_HINT),
    Finder(("$env:", "set -", "setenv "), _SHELL, _in_shell),
    Finder((":",), _DUMP, _dump, hint=_DUMP_HINT),
    Finder(("value",), NAME_AND_VALUE, variable),
)
