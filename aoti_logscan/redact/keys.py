"""Secrets: keys and tokens of known forms, and what stands where a secret is named."""

from __future__ import annotations

import base64
import binascii
import re

from aoti_logscan.redact.finder import Finder, any_of, secret_token, with_new
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import is_token

# AKIAIOSFODNN7EXAMPLE   ghp_...   hf_...   eyJhbGciOi.eyJzdWIi.x   ssh-rsa AAAAB3Nza...
_SHAPE = re.compile(
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
_SHAPE_NEEDS = (
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


def _basic(known: Known, match: re.Match[str]) -> str:
    """Base-64 that holds `user:password`, and no other word after `basic`."""
    try:
        plain = base64.b64decode(match["value"], validate=True)
    except (binascii.Error, ValueError):
        return match[0]
    return (
        with_new(match, known.token("credentials", match["value"])) if b":" in plain else match[0]
    )


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


def _secret_value(known: Known, match: re.Match[str]) -> str:
    """The value of a key that names a secret, unless it is code or says that there is none."""
    group = next(name for name in ("double", "single", "value") if match[name] is not None)
    value, key = match[group], match["key"].casefold()
    is_password = key.startswith(("pass", "pwd"))
    if is_token(value) or _NO_PASSWORD.fullmatch(value) or value.casefold() == key:
        return match[0]
    if not is_password and _NUMBER.fullmatch(value):
        return match[0]
    if key == "token" and match.re is _SECRET and not _may_be_token(value):
        return match[0]
    return with_new(
        match, secret_token(known, "credentials" if is_password else "token", value), group
    )


def _may_be_token(value: str) -> bool:
    """A `token` is a secret, or a piece of a text for a language model, which has no digits."""
    return len(value) >= 8 and " " not in value and any(letter.isdigit() for letter in value)


def _netrc(known: Known, match: re.Match[str]) -> str:
    if is_token(match["value"]):
        return match[0]
    secret = secret_token(known, "credentials", match["value"])
    return f"login {known.name('user', match['user'])} password {secret}"


#: where a key that names a secret ends, and its value begins
_SECRET_HINT = re.compile(r"[DdEeLlRrSs\u017fWwAa][DdEeLlNnSs\u017fTtYy][\"'\\]{0,4}\s{0,8}[:=]")
#: secrets that are known by their form
SHAPES = (
    Finder(_SHAPE_NEEDS, _SHAPE, any_of("token")),
    Finder(("hooks.slack", "/webhooks/"), _WEBHOOK, any_of("token")),
)
#: secrets that are known by what stands before them
NAMED = (
    Finder(("auth", "cookie", "private-token", "x-a"), _HEADER, any_of("token")),
    Finder(("bearer",), _BEARER, any_of("token")),
    Finder(("basic",), _BASIC, _basic),
    Finder(("curl ",), _CURL, any_of("credentials")),
    Finder(("login",), _NETRC, _netrc),
    Finder(_SECRET_NEEDS, _SECRET, _secret_value, hint=_SECRET_HINT),
    Finder(_SECRET_NEEDS, _SECRET_OPTION, _secret_value),
)
