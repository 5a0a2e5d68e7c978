"""What is private in a text, replaced by tokens: the same value by the same token everywhere.

`/home/anna/ranker/model.py:12` becomes `<dir-1>/model.py:12`, so that a report can be shown to
strangers and its story still be followed. What a maintainer needs stays: kernels, generated files,
torch's own paths, line numbers, sizes, dtypes, messages, debugging flags.

A line passes through the table `_FINDERS`, top to bottom. A finder sees what the ones above it
left, knows tokens, and leaves them alone. Names of people and hosts that were found are then
replaced wherever they stand as a word. Each regex takes time in proportion to the line: it has no
nested quantifier that can give back, and starts only where a word does.
"""

from __future__ import annotations

import base64
import binascii
import functools
import ipaddress
import json
import math
import os
import re
import sys
import tomllib
import typing
import urllib.parse
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

import msgspec

from aoti_logscan.errors import LogscanError

if TYPE_CHECKING:
    import regex

T = TypeVar("T")

#: seconds that a rule's regex may take on one line
REGEX_TIMEOUT = 0.5
#: strings up to this length (in characters) are remembered with what became of them
_REMEMBERED = 1_000
#: how many of them, before all are forgotten
_MEMORY = 100_000
#: how often a line may pass through the finders, until none finds anything more
_PASSES = 4
_MAX_ALIASES = 100
#: lines that are asked together which finders they want
_BATCH = 64
#: what is learned of a secret to be found again without its key must be as long, with a digit
_MIN_BARE_SECRET = 8

_ISSUED = r"<[a-z][a-z0-9-]{0,30}-\d{1,9}>"
_TOKEN = re.compile(_ISSUED)
_KIND = re.compile(r"[a-z][a-z0-9-]{0,30}")


class RuleError(LogscanError):
    """A rule of redaction is malformed; the text names the file, the key and what is wrong."""


class Rule(NamedTuple):
    """A rule of the user's own.

    `kind` is what its tokens are called: `<kind-1>`. The group `value` of `regex` is replaced, or
    the whole match where it has no such group. It sees one line at a time.
    """

    kind: str
    regex: str


class _RuleTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    regex: str


class _RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[_RuleTable, ...] = ()


def read_rules(path: str | os.PathLike[str]) -> tuple[Rule, ...]:
    """The rules of a TOML file, each a table `[[rule]]` with `kind` and `regex`.

    Raises `RuleError`, which names the file, the key and what is wrong.
    """
    try:
        with open(path, "rb") as file:
            read = msgspec.convert(tomllib.load(file), _RuleFile, strict=True)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValueError) as error:
        raise RuleError(f"{os.fspath(path)}: {error}") from error
    rules = tuple(Rule(table.kind, table.regex) for table in read.rule)
    for number, rule in enumerate(rules):
        _compiled(rule, f"{os.fspath(path)}: rule[{number}]")
    return rules


def _compiled(rule: Rule, where: str) -> regex.Pattern[str]:
    """A rule's regex made ready; raises `RuleError`, which says `where` it stands."""
    import regex

    if not _KIND.fullmatch(rule.kind):
        raise RuleError(
            f"{where}.kind: {rule.kind!r} is no name of small letters, digits and hyphens"
        )
    try:
        return regex.compile(rule.regex)
    except (regex.error, RecursionError, OverflowError) as error:
        raise RuleError(f"{where}.regex: {error}") from error


#: accounts, hosts and words that logs are full of: never replaced where they stand alone
_COMMON = frozenset(
    """
    root user users ubuntu debian centos fedora rocky alpine linux unix windows darwin macos wsl
    admin administrator guest nobody daemon anonymous unknown default public shared system sudo
    adm cdrom dip plugdev lxd video render wheel staff docker podman tty dialout audio netdev
    test tests tester testing dev devel develop developer build builder buildkite runner worker
    workers agent app apps service server servers serve serving client clients node nodes host
    hosts hostname localhost local main master slave head primary replica rank ranks leader store
    model models module modules data dataset datasets torch pytorch cuda python python3 conda
    mamba jupyter notebook jenkins gitlab github git bot svc api web www mail ftp ssh job jobs
    batch task tasks ray slurm kube kubernetes spark hadoop airflow vllm sglang triton inductor
    dynamo aten nccl gloo mpi ucx gpu gpus cpu cpus tpu npu xpu hip rocm nvidia amd intel arm mps
    meta device devices driver kernel kernels launch launches graph graphs guard guards wrapper
    home work workspace project projects repo src source sources code lib libs bin tmp temp cache
    scratch logs log logger out output outputs input inputs stdin stdout stderr file files path
    name names label value values key keys type types kind class object index indices size sizes
    shape shapes stride strides dim dims dtype bool byte char short int long half float double
    string text line lines word words list tuple dict set map array tensor tensors matrix vector
    scalar number numbers count total first last next prev left right top bottom low high begin
    end start stop open close read write load save copy move add sub mul div mod pow exp log sin
    cos tan sum max min mean avg prod any all abs neg sign sqrt rsqrt round floor ceil clamp cat
    stack split chunk view slice select gather scatter where sort topk arange empty zeros ones
    full eye rand randn dot bmm matmul linear conv conv1d conv2d pool norm batchnorm relu gelu
    silu tanh sigmoid softmax dropout embedding attention loss train trainer training trained eval
    infer inference predict step epoch sample sampler token tokens layer layers block blocks grid
    warp warps thread threads process processes memory buffer buffers storage stream streams event
    events error errors warning warnings info debug trace fatal critical failed failure success
    true false none null nan inf auto new old same other this that the and not for from with will
    can may must has have was are its let run running done ready wait time date day hour minute
    second return call called function method self cls args kwargs import export compile compiled
    assert raise except check checks expected actual got found missing invalid illegal access out
    bounds core dump dumped signal abort aborted killed exit code message mark marks rob art bill
    grant frank rich dash hash base norm grad grads grace ampere hopper volta turing ada fermi
    pascal maxwell kepler lovelace ampere einstein curie tesla team lab research group company
    """.split()  # noqa: SIM905
)
#: an account that everyone has
_NO_SECRET_USERS = frozenset(("root", "user", "none", "null", "self", "shared", "public", "git"))
_NO_SECRET_HOSTS = frozenset(("localhost", "localhost.localdomain", "none", "null", "unknown"))
_DEVICE = re.compile(r"(?i)(?:cuda|cpu|hip|xpu|mps|meta|gpu)[\d:_]*")
#: words in the place of a host that are no hosts: levels, ranks, files
_NO_HOST = re.compile(
    r"(?i)(?:v?[\d.]+|debug|info|warn(?:ing)?|error|fatal|critical|trace|notice"
    r"|(?:rank|default|worker_?tp|tid|pid|step|sha\d+)[\d:_]*"
    r"|.*\.(?:py|pyx|cpp|cc|cxx|c|cu|cuh|h|hpp|inc|so|rs|go|java|js|ts|log|json|yaml|toml))"
)
#: who shows pages to everyone
_PUBLIC = re.compile(
    r"(?i)(?:.*\.)?(?:pytorch\.org|github\.com|githubusercontent\.com|github\.io|nvidia\.com"
    r"|amd\.com|intel\.com|huggingface\.co|hf\.co|google\.com|python\.org|readthedocs\.(?:io|org)"
    r"|triton-lang\.org|llvm\.org|kernel\.org|gnu\.org|stackoverflow\.com|wikipedia\.org"
    r"|arxiv\.org|fburl\.com|gitlab\.com|bitbucket\.org|wandb\.ai|openai\.com|vllm\.ai"
    r"|w3\.org|json-schema\.org|apache\.org|meta\.com|numpy\.org|scipy\.org|oasis-open\.org"
    r"|launchpad\.net|ubuntu\.com|debian\.org)"
)


class _Name(NamedTuple):
    """A value that is replaced wherever it stands as a word."""

    kind: str
    value: str


class _Known:
    """Which value has which token, and the names that are replaced wherever they stand."""

    def __init__(self) -> None:
        #: grows with each name that is learned, so that what was remembered before is void
        self.version = 0
        self.tokens: dict[str, str] = {}
        self.issued: set[str] = set()
        self.counts: Counter[str] = Counter()
        self._reserved: set[str] = set()
        self._last: Counter[str] = Counter()
        self._names: dict[str, _Name] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._aliases: dict[str, _Name] = {}
        self._same: dict[str, str] = {}

    def reserve(self, text: str) -> None:
        """Never issue a token that the text itself holds."""
        if "<" in text:
            self._reserved.update(
                token for token in _TOKEN.findall(text) if token not in self.issued
            )

    def token(self, kind: str, value: str) -> str:
        """The token of a value; a value that has one keeps it, whatever kind it is now."""
        key = f"/{value}" if kind == "dir" else self._same.get(value.casefold(), value.casefold())
        if (known := self.tokens.get(key)) is None:
            known = self.tokens[key] = self._issue(kind)
        return known

    def _issue(self, kind: str) -> str:
        while True:
            self._last[kind] += 1
            token = f"<{kind}-{self._last[kind]}>"
            if token not in self._reserved:
                self.issued.add(token)
                self.counts[kind] += 1
                return token

    def name(self, kind: str, value: str) -> str:
        """The token of a name, which from now on is replaced wherever it stands."""
        self.learn(kind, value)
        return self.token(kind, value)

    def learn(self, kind: str, value: str) -> None:
        """Replace a value wherever it stands, unless logs are full of it."""
        folded = value.casefold()
        if folded in self._names or len(value) < 3 or folded in _COMMON or not folded[0].isalnum():
            return
        if folded.isdigit() or len(folded) != len(value):
            return
        self.version += 1
        self._names[folded] = name = _Name(kind, value)
        first = _PIECE.match(folded)
        assert first is not None
        lengths = {len(value), *self._lengths.get(first[0], ())}
        self._lengths[first[0]] = tuple(sorted(lengths, reverse=True))
        if not value.isascii() and len(self._aliases) < _MAX_ALIASES:
            self._aliases[json.dumps(value)[1:-1]] = name
            self._aliases[urllib.parse.quote(value, errors="replace")] = name

    def learn_host(self, host: str) -> None:
        """Replace a host wherever it stands; its first label alone is the same host."""
        self.learn("host", host)
        label = host.partition(".")[0]
        if label != host and _looks_like_host(label) and label.casefold() not in self.tokens:
            self.learn("host", label)
            self._same[label.casefold()] = host.casefold()

    def bare(self, line: str) -> str:
        """The line with every name that stands in it as a word replaced."""
        for alias, name in self._aliases.items():
            if alias in line:
                line = line.replace(alias, self.token(*name))
        if self._lengths.keys().isdisjoint(_PIECE.findall(line.casefold())):
            return line
        return "".join(self._replaced(line))

    def _replaced(self, line: str) -> Iterator[str]:
        done = 0
        for piece in _PIECE.finditer(line):
            start = piece.start()
            if start >= done and (name := self._name_at(line, piece)):
                yield line[done:start]
                yield self.token(*name)
                done = start + len(name.value)
        yield line[done:]

    def _name_at(self, line: str, piece: re.Match[str]) -> _Name | None:
        start = piece.start()
        for length in self._lengths.get(piece[0].casefold(), ()):
            end = start + length
            name = self._names.get(line[start:end].casefold())
            if name and not line[end : end + 1].isalnum() and not _in_code(line, start, end):
                return name
        return None


# a token, what escapes a character before a name, or what a name is made of
_PIECE = re.compile(
    rf"{_ISSUED}|\\\\|\\u[0-9a-fA-F]{{4}}|\\x[0-9a-fA-F]{{2}}|\\[nrt]|%[0-9a-fA-F]{{2}}"
    r"|\x1b\[[0-9;]{0,20}m|[^\W_]+"
)
_OPERATORS = ("aten.", "aten::", "prims.", "torch.", "tl.", "ops.", "libdevice.", "tl_math.")
_GENERATED_NAME = re.compile(r"(?:triton|cpp|aoti|extern|torch|aten|at|c10)_|_Z")


def _in_code(line: str, start: int, end: int) -> bool:
    """Whether a word is part of an operator's or a generated kernel's name."""
    if line.endswith(_OPERATORS, max(start - 12, 0), start):
        return True
    if line[start - 1 : start] != "_" and line[end : end + 1] != "_":
        return False
    head = _IDENTIFIER_BEFORE.search(line, max(start - 200, 0), start)
    return head is not None and _GENERATED_NAME.match(head[0]) is not None


_IDENTIFIER_BEFORE = re.compile(r"(?<!\w)\w+\Z")

_Replace = Callable[[_Known, "re.Match[str]"], str]


class _Finder(NamedTuple):
    """One form of private text; tried where one of `needs` is in the line, in small letters."""

    needs: tuple[str, ...]
    form: re.Pattern[str]
    replace: _Replace


def _with(match: re.Match[str], new: str, group: str = "value") -> str:
    """The match with one group replaced."""
    text, (start, end) = match.string, match.span(group)
    return text[match.start() : start] + new + text[end : match.end()]


def _is_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def _any_of(kind: str) -> _Replace:
    """The whole value is private, whatever it is."""

    def replace(known: _Known, match: re.Match[str]) -> str:
        value = match["value"]
        return match[0] if _is_token(value) else _with(match, _secret(known, kind, value))

    return replace


def _secret(known: _Known, kind: str, value: str) -> str:
    """A secret's token; one that can be told from words is also found without its key."""
    if len(value) >= _MIN_BARE_SECRET and any(character.isdigit() for character in value):
        known.learn(kind, value)
    return known.token(kind, value)


# -----BEGIN RSA PRIVATE KEY-----\nMIIE...   a log may end in it
_PRIVATE_KEY = re.compile(
    r"(?P<head>-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<value>(?:(?!-----BEGIN )[\s\S]){0,20000}?)"
    r"(?P<foot>-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
)
_CUT_PRIVATE_KEY = re.compile(
    r"(?P<head>-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<value>(?:[\\\s]*+[A-Za-z0-9+=][A-Za-z0-9+/=]{15,}+)++)"
)
# AKIAIOSFODNN7EXAMPLE   ghp_...   hf_...   eyJhbGciOi.eyJzdWIi.x   ssh-rsa AAAAB3Nza...
_KNOWN_SHAPE = re.compile(
    r"(?<![A-Za-z0-9_])(?P<value>"
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}(?![A-Z0-9])"
    r"|gh[pousr]_[A-Za-z0-9]{16,255}+|github_pat_[A-Za-z0-9_]{16,255}+"
    r"|gl(?:pat|rt)-[\w.-]{16,255}+|xox[a-z]-[\w-]{8,255}+|xapp-[\w-]{8,255}+"
    r"|hf_[A-Za-z0-9]{16,255}+|(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,255}+"
    r"|whsec_[\w+/=]{16,255}+"
    r"|sk-(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{20,255}+|AIza[\w-]{30,255}+|ya29\.[\w-]{16,255}+"
    r"|npm_[A-Za-z0-9]{30,255}+|pypi-[\w-]{16,255}+|nvapi-[\w-]{16,255}+|dop_v1_[0-9a-f]{32,255}+"
    r"|hvs\.[\w-]{16,255}+|AGE-SECRET-KEY-[A-Z0-9]{16,255}+"
    r"|eyJ[\w-]{8,8000}+\.[\w-]{8,8000}+(?:\.[\w-]{0,8000}+)?"
    r"|(?<=ssh-rsa )AAAA[\w+/]{16,8000}+={0,2}|(?<=ssh-ed25519 )AAAA[\w+/]{16,8000}+={0,2}"
    r"|(?<=-nistp\d{3} )AAAA[\w+/]{16,8000}+={0,2})"
)
_SHAPES = (
    *("akia", "asia", "agpa", "aida", "aroa", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *("github_pat_", "glpat-", "glrt-", "xox", "xapp-", "hf_", "k_live_", "k_test_", "whsec_"),
    *("sk-", "aiza", "ya29.", "npm_", "pypi-", "nvapi-", "dop_v1_", "hvs.", "age-secret"),
    *("eyj", " aaaa"),
)
# hooks.slack.com/services/T000/B000/xxxx
_WEBHOOK = re.compile(
    r"(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/(?P<value>[\w/-]{8,200}+)"
)
# Authorization: Bearer abc   "X-Api-Key": "abc"   Cookie: session=abc
_HEADER = re.compile(
    r"(?i)\b(?:(?:proxy-)?authorization|x-api-key|x-auth-token|x-amz-security-token"
    r"|private-token|(?:set-)?cookie)\b[\"'\\]{0,3}\s{0,4}[:=]\s{0,4}[\"'\\]{0,3}"
    r"(?:b[\"'])?(?:(?:bearer|basic|token|digest|negotiate|aws4-hmac-sha256)\s{1,4})?"
    r"(?P<value>[^\s\"'\\,;]{1,8000}+(?:;\s?[^\s\"'\\,;]{1,4000}+)*+)"
)
# Bearer abc...
_BEARER = re.compile(r"(?i)\bbearer\s{1,4}(?P<value>[\w.~+/-]{16,8000}+=*+)")
# Basic YW5uYTpodW50ZXIy
_BASIC = re.compile(r"\b[Bb]asic\s{1,4}(?P<value>[A-Za-z0-9+/]{8,1000}+={0,2})")


def _basic(known: _Known, match: re.Match[str]) -> str:
    """Base-64 that holds `user:password`, and no other word after `basic`."""
    try:
        plain = base64.b64decode(match["value"], validate=True)
    except (binascii.Error, ValueError):
        return match[0]
    return _with(match, known.token("credentials", match["value"])) if b":" in plain else match[0]


# password=hunter2   "api_key": "abc"   secret: abc   AWS_SECRET_ACCESS_KEY='abc'   --token abc
_SECRET_KEYS = (
    r"passw(?:or)?d|passphrase|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|client[_-]?secret"
    r"|(?:api|account|shared|encryption|signing|license|private)[_-]?key"
    r"|(?:access|auth|refresh|session|security|bearer|csrf|bot|hub|hf|gh|github|gitlab|api)"
    r"[_-]?token|access[_-]?key|credentials?|token"
)
_QUOTED = r"\\?\"(?P<double>[^\"\\\n]{1,4000}+)|\\?'(?P<single>[^'\\\n]{1,4000}+)"
_UNQUOTED = r"(?P<value>[^\s\"'`,;&|()\[\]{}\\]{1,4000}+)(?![(\[{])"
_SECRET = re.compile(
    rf"(?i)(?P<key>{_SECRET_KEYS})[\"'\\]{{0,4}}\s{{0,8}}(?::|=>?)\s{{0,8}}"
    rf"(?:{_QUOTED}|{_UNQUOTED})"
)
_SECRET_OPTION = re.compile(
    rf"(?i)(?<![\w-])--?(?:[a-z0-9]{{1,20}}[_-]){{0,3}}(?P<key>{_SECRET_KEYS})"
    r"(?:\s{1,4}|[\"'],\s{0,4}(?=[\"']))"
    rf"(?:{_QUOTED}|{_UNQUOTED})"
)
_SECRET_NEEDS = (
    *("passw", "passphrase", "pwd", "secret", "token", "credential", "api_key", "api-key"),
    *("apikey", "account", "access", "shared_key", "shared-key", "private", "encryption"),
    *("signing", "license"),
)
# curl -u anna:hunter2
_CURL = re.compile(r"\s(?:-u|--user)[ =]?[\"']?(?P<value>[^\s:\"'/]{1,200}:[^\s\"']{1,1000})")
# machine host login anna password hunter2
_NETRC = re.compile(r"\blogin\s{1,4}(?P<user>\S{1,64})\s{1,4}password\s{1,4}(?P<value>\S{1,1000})")
# what stands for a secret in messages and code; a password may be a number
_NO_PASSWORD = re.compile(
    r"(?i)true|false|none|null|nil|str|int|bool|bytes|string|optional|required|missing|invalid"
    r"|expired|incorrect|wrong|redacted|\*+|-+|\.+|\$\w+|\$\{.*|%\(?\w+.*|<.*|[/~].*"
    r"|(?:self|cls|os|args|config|cfg|conf|settings|options|opts|kwargs|params|env|ctx|request)\..*"
)
_NUMBER = re.compile(r"-?\d{1,6}(?:\.\d{0,6})?")


def _secret_value(known: _Known, match: re.Match[str]) -> str:
    """The value of a key that names a secret, unless it is code or says that there is none."""
    group = next(name for name in ("double", "single", "value") if match[name] is not None)
    value, key = match[group], match["key"].casefold()
    is_password = key.startswith(("pass", "pwd"))
    if _is_token(value) or _NO_PASSWORD.fullmatch(value) or value.casefold() == key:
        return match[0]
    if not is_password and _NUMBER.fullmatch(value):
        return match[0]
    if key == "token" and match.re is _SECRET and not _may_be_token(value):
        return match[0]
    return _with(match, _secret(known, "credentials" if is_password else "token", value), group)


def _may_be_token(value: str) -> bool:
    """A `token` is a secret, or a piece of a text for a language model, which has no digits."""
    return len(value) >= 8 and " " not in value and any(letter.isdigit() for letter in value)


def _netrc(known: _Known, match: re.Match[str]) -> str:
    if _is_token(match["value"]):
        return match[0]
    secret = _secret(known, "credentials", match["value"])
    return f"login {known.name('user', match['user'])} password {secret}"


# https://user:pass@host:80/a/b?token=x   s3://bucket/a/b   https:\/\/host
_URL = re.compile(
    r"(?<![A-Za-z0-9])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{1,15}):(?P<slashes>\\{0,2}/\\{0,2}/)"
    r"(?P<rest>(?:[^\s\"'<>|`^{}\\,)]|\\{1,2}/|,(?=\w))++)"
)
_AUTHORITY = re.compile(
    r"(?:(?P<credentials>[^/?#\\]*)@)?(?P<host>\[[^\]]*\]|[^/?#\\:]*)(?P<more>.*)", re.DOTALL
)
_QUERY = re.compile(
    r"(?i)(?P<key>[?&;](?:[\w.%-]{0,40}[_-])?(?:token|sig|signature|key|secret|password|passwd|auth"
    r"|credential|accesskeyid|awsaccesskeyid|code|jwt|sessionid)=)(?P<value>[^&#;\s]{1,8000}+)"
)
_STORES = ("s3", "s3a", "s3n", "gs", "gcs", "hdfs", "abfs", "abfss", "wasbs", "az", "oss", "r2")


def _url(known: _Known, match: re.Match[str]) -> str:
    """A URL without its credentials and secret parameters, its host replaced unless public."""
    head = match["scheme"] + ":" + match["slashes"]
    if match["scheme"].casefold() == "file":
        return match[0]
    if match["scheme"].casefold() in _STORES:
        return head + _store_path(known, match["rest"])
    parts = _AUTHORITY.fullmatch(match["rest"])
    assert parts is not None
    more = _QUERY.sub(
        lambda found: _with(found, known.token("token", found["value"])), parts["more"]
    )
    return head + _url_login(known, parts["credentials"]) + _url_host(known, parts["host"]) + more


def _url_login(known: _Known, credentials: str | None) -> str:
    """Who logs in; everyone does as `git`."""
    if credentials is None:
        return ""
    public = credentials in ("", "git")
    return f"{credentials if public else known.token('credentials', credentials)}@"


def _url_host(known: _Known, host: str) -> str:
    """A URL's host; addresses are left to those who know them."""
    if not _is_private_host(host) or ("." not in host and not _looks_like_host(host)):
        return host
    return _host_token(known, host)


def _store_path(known: _Known, path: str) -> str:
    """Bucket and folders become one token, the file stays."""
    folders, slash, name = path.rpartition("/")
    return known.token("dir", folders) + slash + name if slash else known.token("dir", path)


# USER=anna   "username": "anna"   --user anna   sudo -u anna   uid=1000(anna)
_USER = re.compile(
    r"(?<![A-Za-z])(?:(?:USER|LOGNAME|USERNAME|SUDO_USER|user(?:_?name)?|login|logname)=[\"']?"
    r"|[\"'](?:user(?:_?name)?|login|owner)\\?[\"']\s?:\s?\\?[\"']|username:\s"
    r"|--user(?:name)?[ =]|\bsudo\s+-u\s+|\bsu\s+-\s+)"
    r"(?P<value>[A-Za-z_][\w.-]{1,63}+)(?![\w(@/:\[])"
)
_UID = re.compile(r"(?<=\d)\((?P<value>[A-Za-z_][\w.-]{0,63}+)\)")
_UID_LINE = re.compile(r"\buid=\d+\([^\n]{0,4000}")
# /tmp/torchinductor_anna/   /tmp/pytest-of-anna/
_OWN_CACHE = re.compile(
    r"(?<=[/\\])(?:torchinductor_|pytest-of-)(?P<value>[A-Za-z_][\w.-]{0,63}?)(?=[/\\\"'\s:;,)]|$)"
)
# /home/anna   C:\Users\anna   \/home\/anna   %2Fhome%2Fanna   \\wsl$\Ubuntu\home\anna
_SEPARATOR = (
    r"(?:%(?:25)?(?:2[Ff]|5[Cc])|\\{1,2}u00(?:2[fF]|5[cC])|(?:/|\\(?!u[0-9a-fA-F]{4})){1,4})"
)
_HOME = re.compile(
    rf"(?P<head>{_SEPARATOR}(?:home\d?|homes|Users){_SEPARATOR})"
    r"(?P<value>(?:[\w.+@-]|\\{1,2}u(?!00)[0-9a-fA-F]{4}|%(?!2[Ff]|5[Cc]|25)[0-9a-fA-F]{2})++"
    r"(?:(?: [\w.+@-]++){1,3}+(?=[/\\]))?)"
)
_UNICODE_ESCAPE = re.compile(r"\\{1,2}u([0-9a-fA-F]{4})")
_FILE = re.compile(r".+\.(?:py|pt2?|so|cpp|cu|log|txt|json|ya?ml|toml|sh|zip|gz|html?|md)")


def _user(known: _Known, match: re.Match[str]) -> str:
    value = match["value"]
    if value.casefold() in _NO_SECRET_USERS:
        return match[0]
    return _with(match, known.name("user", value))


def _uid(known: _Known, match: re.Match[str]) -> str:
    """The names on a line of `id`; groups that every system has stay."""
    return _UID.sub(
        lambda found: found[0] if found["value"].casefold() in _COMMON else _user(known, found),
        match[0],
    )


def _home(known: _Known, match: re.Match[str]) -> str:
    """The folder of a person; a file right below `/home` is none."""
    name = _unescaped(match["value"])
    if _FILE.fullmatch(name) or _is_token(name) or name.casefold() in _NO_SECRET_USERS:
        return match[0]
    return _with(match, known.name("user", name))


def _unescaped(name: str) -> str:
    """A name as JSON or a URL escapes it, as it is."""
    name = _UNICODE_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), name)
    return urllib.parse.unquote(name, errors="replace")


# anna@gpu-node-17:~$   ssh anna@gpu01   anna@example.com
_AT = re.compile(
    r"(?<![\w.@/+%-])(?P<user>[A-Za-z0-9_][\w.+%-]{0,63}+)@"
    r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(?![\w@(\[=-])"
)
# :~/x$   :/workspace#   in brackets, with a blank: ` x]$`
_PROMPT_AFTER = re.compile(r":\\?[~/]|:[^\s:]{0,200}[$#%>] ")
_PROMPT_IN_BRACKETS_AFTER = re.compile(r" [^\]\n$#]{0,200}\][$#] ")
_REMOTE = ("ssh ", "scp ", "sftp ", "rsync ", "mosh ", "sshfs ", "ssh-copy-id ")
_TLD = (
    "com|org|net|edu|gov|mil|io|ai|dev|cloud|info|biz|tech|internal|local|lan|corp|intranet"
    "|private|localdomain|svc|example"
)
_MAIL_HOST = re.compile(rf"(?i)(?:[a-z0-9-]{{1,63}}\.)+(?:{_TLD}|(?!py\Z|so\Z|mt\Z)[a-z]{{2}})")
_NUMBERED = re.compile(r"(?=.*[A-Za-z])(?=.*[\d-])(?!v\d|sha\d|GLIBC)[A-Za-z0-9.-]+")


def _at(known: _Known, match: re.Match[str]) -> str:
    """`name@host` of a prompt or a remote command, else an e-mail address, else as it looks."""
    user, host = match["user"], match["host"]
    if _is_login(match):
        return _login(known, user, host)
    if _PUBLIC.fullmatch(host) and user.casefold() == "git":
        return match[0]
    if _MAIL_HOST.fullmatch(host):
        return known.token("email", match[0])
    if _looks_like_host(host) and not user[0].isdigit():
        return _login(known, user, host)
    return match[0]


def _is_login(match: re.Match[str]) -> bool:
    text, start, end = match.string, match.start(), match.end()
    if match["user"].casefold() == "git" or match["user"][0].isdigit():
        return False
    before = text[max(start - 120, 0) : start]
    if any(command in before for command in _REMOTE):
        return True
    in_brackets = text[max(start - 1, 0) : start] == "["
    after = _PROMPT_IN_BRACKETS_AFTER if in_brackets else _PROMPT_AFTER
    return after.match(text, end) is not None and not _is_number(match["host"])


def _login(known: _Known, user: str, host: str) -> str:
    if user.casefold() not in _NO_SECRET_USERS:
        user = known.name("user", user)
    if _is_private_host(host):
        host = _host_token(known, host)
    return f"{user}@{host}"


def _is_number(host: str) -> bool:
    return not any(letter.isalpha() for letter in host)


def _looks_like_host(host: str) -> bool:
    """Hosts are numbered or hyphenated; other words may be anything."""
    no_host = _NO_HOST.fullmatch(host) or _DEVICE.fullmatch(host)
    return _NUMBERED.fullmatch(host) is not None and no_host is None


def _is_private_host(host: str) -> bool:
    """Whether a word in the place of a host tells which machine it is."""
    return not (
        host.casefold() in _NO_SECRET_HOSTS
        or _is_number(host)
        or ":" in host
        or "<" in host
        or _NO_HOST.fullmatch(host)
        or _PUBLIC.fullmatch(host)
    )


def _host_token(known: _Known, host: str) -> str:
    known.learn_host(host)
    return known.token("host", host)


def _host(known: _Known, match: re.Match[str]) -> str:
    """A word in the place of a host."""
    host = match["value"].rstrip(".")
    if not _is_private_host(host):
        return match[0]
    return _with(match, _host_token(known, host) + match["value"][len(host) :])


def _numbered_host(known: _Known, match: re.Match[str]) -> str:
    """A word in a place where other things than hosts stand too."""
    return _host(known, match) if _looks_like_host(match["value"].partition(".")[0]) else match[0]


_HOST = r"(?P<value>[A-Za-z0-9][\w.-]{0,252}+)"
# Nov 30 06:29:53 gpu-node-17 python[123]:   2026-11-30T06:29:53.1+00:00 gpu-node-17 python[123]:
_SYSLOG = re.compile(
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? "
    rf"{_HOST} [\w./()@-]{{1,100}}+(?:\[\d{{1,9}}\])?: "
)
_DATE = re.compile(r"(?:\b[^\W\d_]{3,5}\.? [ \d]\d |\b\d{4}-\d\d-\d\d[T ])\Z")
# [gpu-node-17:4242]   [gpu-node-17:4242:0:4242]   gpu-node-17:4242:4300 [0] NCCL INFO
_WITH_PROCESS = re.compile(rf"\[{_HOST}:\d{{2,9}}(?::\d{{1,9}}){{0,2}}\]")
_NCCL = re.compile(rf"(?<![\w.:/-]){_HOST}:\d{{1,9}}:\d{{1,9}} \[\d{{1,4}}\] NCCL ")
# "hostname": "gpu-node-17"   MASTER_ADDR=gpu-node-17   --rdzv_endpoint gpu-node-17:29500
_NAMED_HOST = re.compile(
    r"(?:(?<![\w-])(?:MASTER_ADDR|HOSTNAME|HOST|NODE_?NAME|COMPUTERNAME|SLURMD_NODENAME|POD_NAME"
    r"|(?:SLURM|PBS|LSB)_[A-Z_]{0,20}(?:NODELIST|HOSTS?)|host_?name|node_?name"
    r"|(?:--)?master[_-]addr|(?:--)?rdzv[_-]endpoint)[\"'\\]{0,2}\s{0,12}[=:]\s?[\"'\\]{0,2}"
    rf"|--(?:master[_-]addr|rdzv[_-]endpoint|host(?:name)?)[ =]){_HOST}(?![\w(/])"
)
# host      : gpu-node-17
_ELASTIC_HOST = re.compile(rf"(?<![\w-])host {{2,20}}: {_HOST}")
# "host": "gpu-node-17"   host=gpu-node-17   host: gpu-node-17
_SOME_HOST = re.compile(
    rf"(?<![\w-])host[\"'\\]{{0,2}}\s{{0,2}}[=:]\s?[\"'\\]{{0,2}}{_HOST}(?![\w(/])"
)
# [gpu-node-17]:29500
_SOCKET = re.compile(rf"\[{_HOST}\]:\d{{1,5}}")
# connect to (gpu-node-17, 29500)   connected to gpu-node-17:29500
_PEER = re.compile(rf"\bconnect(?:ed|ing)? to [(\[]?(?:host )?{_HOST}(?:, ?|\]?:)\d")
# [pod/trainer-7f9c6d5b8-x2x4q/main] text   trainer-7f9c6d5b8-x2x4q main text
_POD = re.compile(rf"\[pod/{_HOST}/")
_POD_FIRST = re.compile(
    r"^(?P<value>[a-z0-9][a-z0-9-]{0,200}-[bcdf-hj-np-tv-xz2456789]{8,10}"
    r"-[bcdf-hj-np-tv-xz2456789]{5})(?=[ |:])"
)
# core_1732_gpu-node-17_4242.nvcudmp
_CORE = re.compile(r"\bcore_\d{1,20}_(?P<value>[A-Za-z0-9][\w.-]{0,252}?)_\d{1,9}\.nvcudmp")
# gpu-node-17_4242.1732000000.pt.trace.json   events.out.tfevents.1732000000.gpu-node-17.4242.0
_PROFILE = re.compile(
    r"(?<![\w.-])(?P<value>[A-Za-z0-9][A-Za-z0-9.-]{0,252}+)_\d{1,9}\.\d{6,20}\.pt\.trace\.json"
)
_TENSORBOARD = re.compile(r"\btfevents\.\d{6,20}\.(?P<value>[A-Za-z0-9][A-Za-z0-9-]{0,252}+)")
# srun: error: gpu-node-17: task 3   *** STEP 12.0 ON gpu-node-17 CANCELLED
_SLURM = re.compile(
    rf"(?:\bsrun: error: |\bslurmstepd-|\*\*\* (?:STEP|JOB) [\d.]{{1,20}} ON ){_HOST}"
)
# x.corp.example.com   gpu01.internal   annas-laptop.local   ip-10-0-0-3
_DOMAIN = re.compile(
    r"(?<![\w.@-])(?P<value>(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}+\.){1,8}[A-Za-z]{2,20}+"
    r"|ip(?:-\d{1,3}+){4})(?![\w(-]|\.\w)"
)
_DOMAINS = (
    *("ip-", ".corp.", ".intra.", ".io", ".ai"),
    *(f".{end}" for end in _TLD.split("|") if len(end) > 2),
)
_INTERNAL = re.compile(
    r"(?i).*\.(?:internal|local|lan|corp|intranet|localdomain|private|svc)"
    r"|.*\.(?:corp|internal|intra|prod|staging|priv|hpc|cluster|compute)\.(?:.*\.)?"
    rf"(?:{_TLD}|[a-z]{{2}})|.*\.amazonaws\.com|ip(?:-\d+){{4}}(?:\..*)?"
)
_NUMBERED_DOMAIN = re.compile(rf"(?i)[^.]*[\d-][^.]*\..*\.(?:{_TLD})")


def _syslog(known: _Known, match: re.Match[str]) -> str:
    """The host after a date and a time."""
    start = match.start()
    is_dated = _DATE.search(match.string, max(start - 12, 0), start)
    return _host(known, match) if is_dated else match[0]


def _domain(known: _Known, match: re.Match[str]) -> str:
    """A name of an internal domain, and no attribute of a Python module."""
    name = match["value"]
    if _PUBLIC.fullmatch(name) or _is_attribute(name.casefold().split(".")):
        return match[0]
    if _INTERNAL.fullmatch(name) or _NUMBERED_DOMAIN.fullmatch(name):
        return _host(known, match)
    return match[0]


def _is_attribute(labels: list[str]) -> bool:
    """Whether `threading.local` and the like are Python's; a host's name is no module's."""
    is_module = labels[0] in sys.stdlib_module_names or labels[0] in _COMMON
    return is_module and len(labels) <= 3 and labels[-1] in ("local", "internal", "private")


_IP4 = re.compile(r"(?P<value>\d(?<![A-Za-z0-9.].)\d{0,2}+(?:\.\d{1,3}+){3})(?!\w|\.\d)")
_IP6 = re.compile(
    r"(?P<value>[0-9a-fA-F](?<![\w:.].)[0-9a-fA-F]{0,3}+(?::[0-9a-fA-F]{0,4}+){2,7}+)(?![\w:])"
)
_MAC = re.compile(
    r"(?P<value>[0-9A-Fa-f](?<![0-9A-Za-z:.-].)[0-9A-Fa-f](?P<sign>[:-])(?:[0-9A-Fa-f]{2}(?P=sign)){4}"
    r"[0-9A-Fa-f]{2})(?![0-9A-Za-z]|[:-][0-9A-Fa-f])"
)
_VERSION_BEFORE = re.compile(
    r"(?i)(?:versions?|torch\w*|cuda\w*|cudnn|cublas\w*|nccl|driver|release|toolkit|build|triton"
    r"|python|rocm|miopen|tensorrt|nvidia-[\w-]+|[=<>~!]=)[\s\"':=(v]{0,12}\Z"
)


def _ip4(known: _Known, match: re.Match[str]) -> str:
    """An address of a network, neither the machine's own nor a version of four numbers."""
    try:
        address = ipaddress.IPv4Address(match["value"])
    except ValueError:
        return match[0]
    if address.is_loopback or address.is_unspecified or str(address).startswith("255."):
        return match[0]
    start = match.start()
    is_part = match.string[max(start - 1, 0) : start] in ("-", "_")
    if is_part and not address.is_private:
        return match[0]
    if _VERSION_BEFORE.search(match.string, max(start - 60, 0), start):
        return match[0]
    return _with(match, known.token("ip", match["value"]))


def _ip6(known: _Known, match: re.Match[str]) -> str:
    """An address, and no time, slice or C++ name: those are no address or have a short head."""
    value = match["value"]
    if "::" not in value and value.count(":") != 7:
        return match[0]
    try:
        address = ipaddress.IPv6Address(value)
    except ValueError:
        return match[0]
    head = value.partition("::")[0]
    is_short = "::" in value and ":" not in head and not (len(head) == 4 and _is_mixed(head))
    if address.is_loopback or address.is_unspecified or is_short:
        return match[0]
    return _with(match, known.token("ip", value))


def _is_mixed(text: str) -> bool:
    return not text.isdigit() and not text.isalpha()


def _mac(known: _Known, match: re.Match[str]) -> str:
    value = match["value"]
    digits = set(value.casefold()) - {":", "-"}
    if len(digits) == 1 or (match["sign"] == "-" and digits <= set("0123456789")):
        return match[0]
    return _with(match, known.token("mac", value))


# /home/anna/ranker/model.py   ~/ranker/model.py   \/data\/x.py   -I/data/include
_PART = rf"(?:[\w.+@%~=#$-]|{_ISSUED}|\\{{1,2}}u[0-9a-fA-F]{{4}})++"
_SLASH = r"\\{0,2}/"
# right after the path's first character: what may stand before it
_BEFORE = (
    r"(?:(?<![\w.\-/~$)\]}%\\].)|(?<=\\[nrt].)|(?<=-[ILBo].)|(?<=-isystem.)|(?<=-include.)"
    r"|(?<=\[\dm.)|(?<=\[\d\dm.)|(?<=;\dm.)|(?<=;\d\dm.)|(?<=file://.))"
)
_MORE = rf"{_PART}(?:{_SLASH}{_PART})*+(?:{_SLASH})?+"
_PATH = re.compile(
    rf"{_ISSUED}(?:{_SLASH}{_PART})*+|/{_BEFORE}{_MORE}|\\{_BEFORE}\\?+/{_MORE}"
    rf"|~{_BEFORE}[\w-]{{0,32}}+{_SLASH}{_MORE}"
)
# C:\work\model.py   \\?\C:\work\model.py   C:/work/model.py
_WINDOWS_PART = rf"(?:[\w.+@%~=#$()-]|{_ISSUED})++(?: [\w.+()-]++(?=[\w. +()-]{{0,60}}+[/\\]))*+"
_DRIVE = re.compile(
    r"(?:\\{2,4}[?.]\\{1,2})?(?<![A-Za-z0-9_])(?P<drive>[A-Za-z]):"
    rf"(?P<path>(?:[/\\]{{1,4}}{_WINDOWS_PART})++[/\\]{{0,4}})"
)
# \\fileserver\share\model.py   \\wsl$\Ubuntu\home\anna
_SHARE = re.compile(
    rf"(?<![\\\w])(?P<slashes>\\\\(?:\\\\)?)(?P<value>[A-Za-z][\w.$-]{{2,252}}+)"
    rf"(?P<path>(?:\\(?!\\)|(?<=[\w$])\\\\(?!\\)){_WINDOWS_PART}(?:\\{{1,2}}{_WINDOWS_PART})*+)"
)
_SYSTEM = re.compile(
    r"/(?:usr|lib\d{0,2}|bin|sbin|etc|proc|sys|dev(?!/shm/)|run(?!/media/|/user/)|boot|snap"
    r"|var/(?:folders|lib|log|run|tmp|cache|spool)|private/(?:var|tmp|etc)|System|Library"
    r"|Applications|nix/store|gnu/store|opt/(?:conda(?!/envs/)|python[\w.-]*|venv[\w.-]*|rocm[\w.-]*"
    r"|nvidia|intel|amdgpu|hostedtoolcache|homebrew|libtorch|pytorch|miniconda\d?|anaconda\d?|rh"
    r"|amazon|hpcx|openmpi|mellanox|cuda[\w.-]*)|pytorch|__w|builder|croot|conda-bld|opt/_internal"
    r"|sysdeps|nptl|csu|build(?:dir)?/glibc[\w.-]*|v\d|api|health|metrics)(?:/.*)?"
    r"|/root(?:/[^/]*)?"
)
_TEMPORARY_FOLDER = re.compile(
    r"/(?:tmp|dev/shm|run/user/\d+)/(?:(?:tmp|torchinductor_|aotinductor_|torchelastic_|pytest-|pip-"
    r"|triton|nvidia-mps|systemd-|cuda|cc)[^/]*|[A-Za-z0-9]{6})(?:/.*)?"
    r"|/(?:tmp|dev/shm|run/user/\d+)(?:/[^/]*)?"
)
# from here on a path is torch's, Python's or generated
_KEPT = re.compile(
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
_SUFFIX = re.compile(r"[^/]*[^/.][^/]*\.[A-Za-z][A-Za-z0-9]{0,11}(?:\.\d+)*|[^/]*\.so(?:\.\d+)*")


def _path(known: _Known, match: re.Match[str]) -> str:
    """A path as it was written: what follows a token of ours is what was kept of a path."""
    text = match[0]
    if text[0] != "<":
        return _written_path(known, text)
    token, sign, rest = text.partition(">")
    return text if token + sign in known.issued else token + sign + _written_path(known, rest)


def _written_path(known: _Known, text: str) -> str:
    """A path whose slashes may be escaped, as in JSON."""
    if "\\" not in text:
        return _folders_out(known, text) if text else text
    slash = text[: text.index("/") + 1].lstrip("~")
    return _folders_out(known, re.sub(r"\\+/", "/", text)).replace("/", slash)


def _folders_out(known: _Known, path: str) -> str:
    """A path with the folders that are somebody's own as one token; the file's name stays."""
    full_stops = path[len(path.rstrip(".")) :]
    path = path[: len(path) - len(full_stops)]
    if _is_public_path(path):
        return path + full_stops
    folder, kept = _split(path)
    token = known.token("dir", folder) if folder not in ("", "~") else folder
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


def _split(path: str) -> tuple[str, str]:
    """The folders that are private, and the rest of the path, which is not."""
    if kept := _KEPT.search(path):
        return path[: kept.start() - 1], path[kept.start() - 1 :]
    folder, _, name = path.rstrip("/").rpartition("/")
    is_file = not path.endswith("/") and (_SUFFIX.fullmatch(name) or name in _PROGRAMS)
    if is_file:
        return folder, "/" + name
    return path.rstrip("/"), "/" if path.endswith("/") else ""


# a path of Windows that is the system's own, or where torch is built
_WINDOWS_SYSTEM = re.compile(
    r"(?i)/(?:windows|program files(?: \(x86\))?|programdata|actions-runner/_work/pytorch|python\d*"
    r"|cuda|hostedtoolcache|cb|w/b)(?:/.*)?|/[^/]*"
)


def _drive(known: _Known, match: re.Match[str]) -> str:
    """A path of Windows, its kind of separator kept."""
    written = match["path"]
    if match["drive"].islower() and re.match(r"\\[nrt]", written):
        return match[0]
    return _windows_path(known, match, match["drive"] + ":", "")


def _share(known: _Known, match: re.Match[str]) -> str:
    """A path on a file server, whose name is a host's."""
    host = match["value"]
    is_private = not host.casefold().startswith("wsl") and _is_private_host(host)
    shown = match["slashes"] + (_host_token(known, host) if is_private else host)
    return _windows_path(known, match, host, shown)


def _windows_path(known: _Known, match: re.Match[str], root: str, shown: str) -> str:
    """A path below `root`, of which `shown` is shown before the token of its folders."""
    written = match["path"]
    path = re.sub(r"[/\\]+", "/", written)
    folder, kept = _split(path)
    if not folder or _is_token(folder[1:]) or _WINDOWS_SYSTEM.fullmatch(path):
        return match[0]
    separator = written[: len(written) - len(written.lstrip("/\\"))]
    before = shown + separator if shown else ""
    return before + known.token("dir", root + folder) + kept.replace("/", separator)


# FOO=bar python x.py   export FOO=bar   docker run -e FOO=bar   "FOO=bar"
_ASSIGNED = (
    r"[A-Z_](?<!\w.)[A-Z0-9_]{1,63}+="
    r"(?:\"[^\"\n]{0,4000}+\"|'[^'\n]{0,4000}+'|[^\s\"'`;&|,)\]}\\]{1,4000}+)"
)
_ASSIGNMENT = re.compile(
    r"(?P<name>[A-Z_][A-Z0-9_]{1,63}+)=(?P<quote>[\"']?)(?P<value>(?<=\")[^\"\n]+|(?<=')[^'\n]+"
    r"|[^\s\"'`;&|,)\]}\\]+)"
)
_ENVIRONMENT = re.compile(rf"(?P<run>{_ASSIGNED}(?:\s{{1,4}}{_ASSIGNED})*+)(?P<last>\s*\Z)?")
_ENVIRONMENT_BEFORE = re.compile(
    r"(?:^\s{0,40}|[$#>+] |\b(?:export|setenv|env)\s{1,4}|\bdeclare -x\s{1,4}|\s-e\s{0,4}"
    r"|\s--env[=\s]\s{0,4}|\bEnvironment=\"?|[\"'])\Z"
)
_PREFIX_BEFORE = re.compile(r"[\]:|] {1,4}\Z")
# [rank3]:   2026-02-11T08:09:10.1Z stderr F   (EngineCore pid=269)   trainer-1 |
_LAUNCHER = re.compile(
    r"\s*(?:(?:\[[^\]]{1,80}\]:?|\S{1,64} std(?:err|out) [FP]|\([^()]{1,80}\)|\S{1,64} {1,8}\|)"
    r"\s{1,4}){1,3}"
)
# environ({'FOO': 'bar'})   {"name": "FOO", "value": "bar"}
_ENVIRON = re.compile(r"\benviron\(\{(?P<run>[^\n]*)")
_ENTRY = re.compile(
    r"(?P<quote>[\"'])(?P<name>[A-Z_][A-Z0-9_]{1,63}+)(?P=quote)\s?:\s?[\"'](?P<value>[^\"'\n]+)"
)
_NAME_AND_VALUE = re.compile(
    r"\bname[\"']?\s{0,8}:\s{0,8}[\"']?(?P<name>[A-Z_][A-Z0-9_]{1,63}+)[\"']?\s{0,8},?\s{0,200}"
    r"[\"']?\bvalue[\"']?\s{0,8}:\s{0,8}[\"']?(?P<value>[^\"'\n,}]{1,4000}+)"
)
_HARMLESS_VARIABLE = re.compile(
    r"(?:OMP|MKL|KMP|OPENBLAS|NUMEXPR|CUDA|CUDNN|CUBLAS|NVIDIA|NCCL|GLOO|UCX|TORCH|PYTORCH|PYTHON"
    r"|AOT|AOTI|AOTINDUCTOR|INDUCTOR|DYNAMO|FUNCTORCH|TRITON|HIP|ROCR|ROCM|AMD|MIOPEN|GPU|XPU"
    r"|SYCL|ONEDNN|DNNL|ATEN|C10|GLOG|KINETO|LC|TORCHINDUCTOR|TORCHDYNAMO|TORCHELASTIC|VLLM|SGLANG"
    r"|TOKENIZERS|TF|XLA|LD|XDG|SANITIZER|PYTHON[A-Z]+)(?:_\w*)?"
    r"|(?:(?:LOCAL|GROUP|ROLE)_)?(?:RANK|WORLD_SIZE)|MASTER_(?:PORT|ADDR)|LANG|LANGUAGE|TERM|SHELL"
    r"|TZ|PATH|HOME|PWD|OLDPWD|TMPDIR|TEMP|TMP|USER|LOGNAME|USERNAME|SUDO_USER|HOSTNAME|HOST"
    r"|NODE_?NAME|COMPUTERNAME|SLURMD_NODENAME|SLURM_\w*NODELIST|DEBUG|VERBOSE|CC|CXX|CFLAGS"
    r"|CXXFLAGS|LDFLAGS|CPATH|C?INCLUDE_PATH|LIBRARY_PATH|SHLVL|EDITOR|PAGER|CI|PORT|DISPLAY"
    r"|COLUMNS|LINES|CONDA_(?:PREFIX|EXE|PYTHON_EXE|SHLVL)|VIRTUAL_ENV|MAX_JOBS|HF_HUB_OFFLINE"
    r"|HSA_\w+|HF_HOME|MODE|DEVICE|DTYPE|BACKEND"
)
_HARMLESS_VALUE = re.compile(
    r"(?i)[\d.,:x-]{0,12}|true|false|yes|no|on|off|none|null|auto|default|debug|info|warn(?:ing)?"
    r"|error|cpu|cuda(?::\d+)?|hip|xpu|gpu|(?:tl|torch)\.\w+|(?:b?float|u?int|bf|fp)\d+|c(?:\.utf-?8)?"
    r"|[a-z]{2}_[a-z]{2}\.utf-?8|\$.*|<.*"
)


def _environment(known: _Known, match: re.Match[str]) -> str:
    """Assignments in a row, where they begin a line or a command, or make up a whole message."""
    if not _begins_command(match):
        return match[0]
    return _with(match, _ASSIGNMENT.sub(lambda found: _variable(known, found), match["run"]), "run")


def _begins_command(match: re.Match[str]) -> bool:
    text, start = match.string, match.start()
    if _ENVIRONMENT_BEFORE.search(text, max(start - 60, 0), start):
        return True
    if match["last"] is not None and _PREFIX_BEFORE.search(text, max(start - 6, 0), start):
        return True
    return start < 200 and _LAUNCHER.fullmatch(text, 0, start) is not None


def _environ(known: _Known, match: re.Match[str]) -> str:
    """Entries of `os.environ` as Python prints it."""
    return _with(match, _ENTRY.sub(lambda found: _variable(known, found), match["run"]), "run")


def _variable(known: _Known, match: re.Match[str]) -> str:
    """A variable's value, unless the variable is known to be harmless, or the value is."""
    name, value = match["name"], match["value"]
    if _HARMLESS_VARIABLE.fullmatch(name) or _HARMLESS_VALUE.fullmatch(value):
        return match[0]
    return _with(match, known.token("value", value))


# a secret without a key: it changes between kinds of characters far more often than words do
_LONG = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}+")
_GENERATED = re.compile(
    r"[a-z]?[a-z2-7]{24,60}|[A-Z2-7]{24,60}|(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}"
    r"|[0-9a-f]{96}|[0-9a-f]{128})|(?:[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{64})|0x[0-9a-fA-F]+|[\d_-]+"
    r"|_*Z[A-Z0-9].*|N(?:St)?\d{1,3}[a-z_]\w*E\w*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_PIECES = re.compile(r"[^/_=-]+")
_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])|[A-Z](?=[A-Z][a-z])")
_AWS_SECRET = 40
#: of the places between two characters, how many must be changes: words in a name have 0.2 at most
_CHANGES = 0.3
#: bits a character: a name of repeated letters and numbers (`0d1d2d3d4d5d6d`) has less
_BITS = 3.4


def _long(known: _Known, match: re.Match[str]) -> str:
    """A word that looks drawn at random, and is none of torch's own names and hashes."""
    word = match[0]
    pieces = _PIECES.findall(word)
    is_aws = len(word) == _AWS_SECRET and _is_random(word)
    if not (is_aws or any(map(_is_random, pieces))) or _is_public(match):
        return word
    has_generated = any(len(piece) >= 24 and _GENERATED.fullmatch(piece) for piece in pieces)
    if not is_aws and (has_generated or len(pieces) > 1 + len(word) // 20):
        return _PIECES.sub(lambda piece: _random_piece(known, piece), word)
    return known.token("token", word)


def _is_public(match: re.Match[str]) -> bool:
    """Whether a word is a C++ symbol or part of a public URL."""
    start = match.start()
    end = start + match[0].find("/") + 1
    before = _IN_PUBLIC_URL.search(match.string, max(start - 200, 0), end)
    return before is not None or _MANGLED.match(match[0]) is not None


_IN_PUBLIC_URL = re.compile(
    rf"//{_PUBLIC.pattern.removeprefix('(?i)')}/[^\s\"'?]*\Z", re.IGNORECASE
)
_MANGLED = re.compile(r"_*Z[A-Z0-9]")


def _random_piece(known: _Known, piece: re.Match[str]) -> str:
    return known.token("token", piece[0]) if _is_random(piece[0]) else piece[0]


def _is_random(word: str) -> bool:
    """Whether a word of 24 characters or more looks drawn at random, as keys are."""
    if len(word) < 24 or _GENERATED.fullmatch(word):
        return False
    head = word[:400]
    changes = sum(1 for _ in _CHANGE.finditer(head)) / (len(head) - 1)
    return changes >= _CHANGES and _bits(head) >= _BITS


def _bits(text: str) -> float:
    """Shannon's entropy of the characters of a text, in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


#: a finder sees what the ones above it left
_FINDERS: tuple[_Finder, ...] = (
    _Finder(_SHAPES, _KNOWN_SHAPE, _any_of("token")),
    _Finder(("hooks.slack", "/webhooks/"), _WEBHOOK, _any_of("token")),
    _Finder(("://", r":\/"), _URL, _url),
    _Finder(("auth", "cookie", "private-token", "x-a"), _HEADER, _any_of("token")),
    _Finder(("bearer",), _BEARER, _any_of("token")),
    _Finder(("basic",), _BASIC, _basic),
    _Finder(("curl ",), _CURL, _any_of("credentials")),
    _Finder(("login",), _NETRC, _netrc),
    _Finder(_SECRET_NEEDS, _SECRET, _secret_value),
    _Finder(_SECRET_NEEDS, _SECRET_OPTION, _secret_value),
    _Finder(("user", "logname", "login", "owner", "sudo ", "su - "), _USER, _user),
    _Finder(("uid=",), _UID_LINE, _uid),
    _Finder(("@",), _AT, _at),
    _Finder(("host", "addr", "endpoint", "node", "pod_", "computername"), _NAMED_HOST, _host),
    _Finder(("host ",), _ELASTIC_HOST, _host),
    _Finder(("host",), _SOME_HOST, _numbered_host),
    _Finder(("=",), _ENVIRONMENT, _environment),
    _Finder(("environ(",), _ENVIRON, _environ),
    _Finder(("value",), _NAME_AND_VALUE, _variable),
    _Finder(("torchinductor_", "pytest-of-"), _OWN_CACHE, _user),
    _Finder(("home", "users"), _HOME, _home),
    _Finder((":\\", ":/"), _DRIVE, _drive),
    _Finder(("\\\\",), _SHARE, _share),
    _Finder(("/",), _PATH, _path),
    _Finder(("nvcudmp",), _CORE, _host),
    _Finder(("pt.trace.json",), _PROFILE, _host),
    _Finder(("tfevents",), _TENSORBOARD, _host),
    _Finder((":",), _SYSLOG, _syslog),
    _Finder(("[",), _WITH_PROCESS, _numbered_host),
    _Finder(("] nccl",), _NCCL, _host),
    _Finder(("]:",), _SOCKET, _host),
    _Finder(("connect",), _PEER, _numbered_host),
    _Finder(("[pod/",), _POD, _host),
    _Finder(("-",), _POD_FIRST, _host),
    _Finder(("srun:", "slurmstepd", "*** "), _SLURM, _host),
    _Finder(_DOMAINS, _DOMAIN, _domain),
    _Finder((".",), _IP4, _ip4),
    _Finder((":",), _IP6, _ip6),
    _Finder((":", "-"), _MAC, _mac),
    _Finder(("",), _LONG, _long),
)


class Redactor:
    """Replaces what is private by tokens, the same in every text that it is given.

    `rules` are the user's own and come first; `names` (of the user, the host, a home folder) are
    known from the start. Raises `RuleError` for a rule whose regex is none.
    """

    def __init__(self, rules: Sequence[Rule] = (), *, names: Sequence[str] = ()) -> None:
        self._known = _Known()
        self._rules = tuple(
            _OwnRule(rule.kind, _compiled(rule, f"rules[{number}]"))
            for number, rule in enumerate(rules)
        )
        for name in names:
            self._learn_name(name)
        self._found: dict[str, str] = {}
        self._done: dict[str, str] = {}
        self._done_version = 0

    def _learn_name(self, name: str) -> None:
        """A name of unknown kind; of a path it is the last folder's."""
        name = name.rstrip("/\\")
        last = max(name.rfind("/"), name.rfind("\\")) + 1
        if not last and _looks_like_host(name):
            self._known.learn_host(name)
        else:
            self._known.learn("user", name[last:])

    def learn(self, value: Any) -> None:
        """Look through all strings of a value, however deep, for what is private.

        What is found in one string is from then on replaced in all, also where it stands alone.
        """
        self._learn(_strings(value))

    def text(self, text: str) -> str:
        """The text with everything private replaced; one that was redacted comes back as it is."""
        found = self._without_forms(text)
        if self._done_version != self._known.version:
            self._done.clear()
            self._done_version = self._known.version
        if (done := self._done.get(text)) is not None:
            return done
        done = "\n".join(map(self._without_names, found.split("\n")))
        self._remember(self._done, text, done)
        return done

    def value(self, value: T) -> T:
        """The same value with every string in it replaced, keys of dicts too.

        Structs, dicts, lists, tuples and sets are looked into; words of a closed set (`Literal`
        fields) stay. What is private in one string is replaced in all.
        """
        texts = _strings(value)
        self._learn(texts)
        return cast(T, _copy(value, {text: self.text(text) for text in texts}))

    def _learn(self, texts: Collection[str]) -> None:
        for text in texts:
            self._known.reserve(text)
        for text in texts:
            self._without_forms(text)

    def found(self) -> dict[str, int]:
        """How many different values have a token, by kind; never the values."""
        return dict(self._known.counts)

    def overruns(self) -> tuple[str, ...]:
        """The rules that took too long, one sentence each; such a line is replaced whole."""
        return tuple(
            f"rule {number} ({rule.kind}): the regex took over {REGEX_TIMEOUT:g} s on "
            f"{rule.overruns} lines, which are replaced whole"
            for number, rule in enumerate(self._rules)
            if rule.overruns
        )

    def _without_forms(self, text: str) -> str:
        """The text without what shows itself by its form; names are learned on the way."""
        if (found := self._found.get(text)) is not None:
            return found
        self._known.reserve(text)
        found = self._in_lines(self._without_blocks(text))
        for _ in range(_PASSES):
            again = self._without_blocks(found)
            if again == found:
                break
            found = self._in_lines(again)
        self._remember(self._found, text, found)
        return found

    def _in_lines(self, text: str) -> str:
        lines = text.split("\n")
        return "\n".join(
            self._line(line, finders)
            for batch in _batches(lines)
            for finders in [_wanted("\n".join(batch))]
            for line in batch
        )

    def _without_names(self, line: str) -> str:
        """A line without the names in it; what a name was joined to may show its form only then."""
        for _ in range(_PASSES):
            before = line
            line = self._known.bare(line)
            if line == before:
                break
            line = self._line(line, _FINDERS)
        return line

    def _without_blocks(self, text: str) -> str:
        """The text without what is spread over lines."""
        if "PRIVATE KEY" in text:
            text = _PRIVATE_KEY.sub(functools.partial(_key_block, self._known), text)
            text = _CUT_PRIVATE_KEY.sub(functools.partial(_key_block, self._known), text)
        if "value:" in text and "name:" in text:
            text = _NAME_AND_VALUE.sub(functools.partial(_variable, self._known), text)
        return text

    def _line(self, line: str, finders: tuple[_Finder, ...]) -> str:
        """A line, which may itself be lines that were escaped."""
        if (known := self._found.get(line)) is not None:
            return known
        found = line
        for rule in self._rules:
            found = rule.apply(self._known, found)
        found = "".join(self._part(part, finders) for part in _parts(found))
        self._remember(self._found, line, found)
        return found

    def _part(self, part: str, finders: tuple[_Finder, ...]) -> str:
        """A text without ends of lines, through the finders until none finds anything more."""
        found, colours = _without_colours(part)
        for _ in range(_PASSES):
            before = found
            found = _through(finders, self._known, found)
            if found == before:
                break
        return found.translate(colours) if colours else found

    def _remember(self, memory: dict[str, str], text: str, result: str) -> None:
        if len(memory) >= _MEMORY:
            memory.clear()
        if len(text) <= _REMEMBERED:
            memory[text] = result


def _key_block(known: _Known, match: re.Match[str]) -> str:
    """A key that takes up as many lines as it did."""
    value = match["value"].strip()
    if not value or _is_token(value):
        return match[0]
    return _with(match, known.token("token", value) + "\n" * match["value"].count("\n"))


def _batches(lines: list[str]) -> Iterator[list[str]]:
    """The lines in batches that are worth asking which finders they want."""
    return (lines[first : first + _BATCH] for first in range(0, len(lines), _BATCH))


def _wanted(text: str) -> tuple[_Finder, ...]:
    """The finders that may find something in a text; most find nothing in most."""
    lowered = text.lower()
    return tuple(finder for finder in _FINDERS if any(need in lowered for need in finder.needs))


# a path of Windows, where `\n` begins a folder; else what ends a line of escaped text: `\n`, `\\n`
_ESCAPED_END = re.compile(
    r"(?<![A-Za-z])[A-Za-z]:(?:\\\\(?:[^\s\"'\\]|\\\\)*+|\\(?!\\)(?:[^\s\"'\\]|\\(?!\\))*+)"
    r"|(?<!\\)(?:\\{2}[\w.$?-]{1,252}+\\(?=[\w$])|\\{4}[\w.$?-]{1,252}+\\{2}(?=[\w$]))[^\s\"']*+"
    r"|(?P<end>(?<!\\)\\{1,8}[nrt])"
)


def _parts(line: str) -> Iterator[str]:
    """The lines of an escaped text, and what ends them, in turn."""
    done = 0
    if "\\" in line:
        for match in _ESCAPED_END.finditer(line):
            if match["end"]:
                yield line[done : match.start()]
                yield match["end"]
                done = match.end()
    yield line[done:]


_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
#: blanks that logs do not have, which stand for colours, so that a word begins after one
_BLANKS = "".join(map(chr, (*range(0x2000, 0x200B), 0x1680, 0x205F, 0x3000)))


def _without_colours(text: str) -> tuple[str, dict[int, str]]:
    """A text with blanks for its colours, and what each blank stands for."""
    if "\x1b" not in text:
        return text, {}
    colours = dict.fromkeys(_COLOUR.findall(text))
    if len(colours) > len(_BLANKS) or any(blank in text for blank in _BLANKS):
        return text, {}
    blanks = dict(zip(colours, _BLANKS, strict=False))
    return (
        _COLOUR.sub(lambda colour: blanks[colour[0]], text),
        {ord(blank): colour for colour, blank in blanks.items()},
    )


def _through(finders: tuple[_Finder, ...], known: _Known, line: str) -> str:
    lowered = line.lower()
    for finder in finders:
        for need in finder.needs:
            if need in lowered:
                line = finder.form.sub(functools.partial(finder.replace, known), line)
                break
    return line


class _OwnRule:
    """A rule of the user's, with the lines on which it took too long."""

    def __init__(self, kind: str, compiled: regex.Pattern[str]) -> None:
        self.kind = kind
        self.overruns = 0
        self._compiled = compiled
        self._group = "value" if "value" in compiled.groupindex else 0

    def apply(self, known: _Known, line: str) -> str:
        """The line with what the rule finds replaced; whole, where that takes too long."""
        tokens = [token.span() for token in _TOKEN.finditer(line)] if "<" in line else []
        try:
            return self._compiled.sub(
                functools.partial(self._replace, known, tokens), line, timeout=REGEX_TIMEOUT
            )
        except TimeoutError:
            self.overruns += 1
            return known.token(self.kind, line)

    def _replace(
        self, known: _Known, tokens: list[tuple[int, int]], match: regex.Match[str]
    ) -> str:
        value = match[self._group]
        start, end = match.span(self._group)
        if not value or any(first < end and start < last for first, last in tokens):
            return match[0]
        whole, token = match.string, known.token(self.kind, value)
        return f"{whole[match.start() : start]}{token}{whole[end : match.end()]}"


def _strings(value: Any) -> Collection[str]:
    """The different strings of a value that may be private, in the order they are met."""
    found: dict[str, None] = {}
    _collect(value, found)
    return found.keys()


def _collect(value: Any, found: dict[str, None]) -> None:
    if isinstance(value, str):
        found[value] = None
    elif isinstance(value, _SEQUENCES):
        for item in value:
            _collect(item, found)
    elif isinstance(value, msgspec.Struct):
        for name in _text_fields(type(value)):
            _collect(getattr(value, name), found)
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect(key, found)
            _collect(item, found)


_SEQUENCES = (tuple, list, set, frozenset)


def _copy(value: Any, texts: Mapping[str, str]) -> Any:
    """A value with its strings replaced; the value itself where nothing in it changes."""
    if isinstance(value, str):
        return texts[value]
    if isinstance(value, _SEQUENCES):
        items = [_copy(item, texts) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, msgspec.Struct):
        return _copy_struct(value, texts)
    if isinstance(value, dict):
        return {_copy(key, texts): _copy(item, texts) for key, item in value.items()}
    return value


def _copy_struct(value: msgspec.Struct, texts: Mapping[str, str]) -> msgspec.Struct:
    changed = {}
    for name in _text_fields(type(value)):
        old = getattr(value, name)
        if old and (new := _copy(old, texts)) != old:
            changed[name] = new
    return msgspec.structs.replace(value, **changed) if changed else value


@functools.cache
def _text_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a struct whose values can hold text that is no word of a closed set."""
    hints = typing.get_type_hints(kind)
    return tuple(name for name in kind.__struct_fields__ if _holds_text(hints[name]))


def _holds_text(hint: Any) -> bool:
    if typing.get_origin(hint) is Literal or hint in (int, float, bool, bytes, type(None), ...):
        return False
    inner = typing.get_args(hint)
    return any(map(_holds_text, inner)) if inner else True
