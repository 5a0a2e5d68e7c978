"""Secrets that are known by the key that names them."""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, any_of, secret_token, with_new
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import is_token

# password=hunter2   "api_key": "abc"   secret: abc   AWS_SECRET_ACCESS_KEY='abc'   --token abc
_WORD_BEGINS = r"(?:(?<![A-Za-z])|(?-i:(?<=[a-z])(?=[A-Z])))"
#: a key's last word, which may be part of a longer one (`dbpassword`); short ones are words
SECRET_KEY = (
    r"passw(?:or)?d|passphrase|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|client[_-]?secret"
    r"|(?:api|account|shared|encryption|signing|license|subscription)[_-]?key"
    r"|private[_-]?key(?:[_-]id)?"
    r"|(?:access|auth|refresh|session|security|bearer|csrf|bot|hub|hf|gh|github|gitlab|api)"
    r"[_-]?token|access[_-]?key|credentials?|token"
    rf"|(?=[acdflmprsu]){_WORD_BEGINS}(?:(?:my|db|sql|ftp|ldap|smtp|root|user)?pass|pw|creds|auth|cookie|session)"
)
#: in quotes, however often they are escaped, up to the same quote; else to the end of the line
_QUOTED = (
    r"(?P<escape>\\{0,15}+)(?P<quote>[\"'])(?:(?P=quote){2})?"
    r"(?P<quoted>(?:[^\"'\\\n]|(?!(?P=quote))[\"']|\\++(?!(?P=quote))"
    r"|(?P=escape)\\++(?P=quote)){1,4000}+)"
)
_UNQUOTED = (
    r"(?P<value>[^\s\"'`,;&|()\[\]{}\\]{1,4000}+(?:(?<=[!$#%^*])[^\s\"'`,;\\]{1,400}+)?+)(?![(\[{])"
)
_SECRET = lazy_re(
    rf"(?i)(?=[a-hlmpr-u\u017f])(?P<key>{SECRET_KEY})[\"'\\]{{0,8}}\s{{0,8}}(?P<sign>:|=>?)\s{{0,8}}"
    rf"(?:{_QUOTED}|{_UNQUOTED})"
)
_SECRET_OPTION = lazy_re(
    rf"(?i)(?<![\w-])--?(?:[a-z0-9]{{1,20}}[_-]){{0,3}}(?P<key>{SECRET_KEY})"
    r"(?P<sign>\s{1,4}|[\"'],\s{0,4}(?=[\"']))"
    rf"(?:{_QUOTED}|{_UNQUOTED})"
)
_SECRET_NEEDS = (
    *("pass", "pwd", "secret", "token", "credential", "creds", "api_key", "api-key", "apikey"),
    *("account", "access", "shared", "private", "encryption", "signing", "license", "subscription"),
    *("pw", "auth", "cookie", "session"),
)
#: where a key that names a secret ends, and its value begins
_SECRET_HINT = lazy_re(
    r"[AaDdEeIiLlOoPpRrSs\u017fTtWw][DdEeHhLlNnSs\u017fTtWwYy]"
    r"[\"'\\]{0,8}\s{0,8}[:=]"
)
# password: correct horse battery   to the end of the line, or of the sentence
_WORDS = lazy_re(
    r"(?i)(?P<key>passw(?:or)?d|passphrase)\s{0,4}:\s{1,4}(?P<first>[^\s\"'`,;&|()\[\]{}\\<]{1,200}+)"
    r"(?P<value>(?: (?![\w.-]{1,64}[=:])[^\s\"'`,;&|()\[\]{}\\<]{1,200}+){1,12}+)"
)
#   password hunter2   on a line of its own, as in a .netrc
_PASSWORD_LINE = lazy_re(r"^\s{0,40}(?P<key>password)\s{1,8}(?P<value>\S{1,1000})\s{0,8}$")
# <password>hunter2</password>   <add key="ApiKey" value="abc"/>
_ELEMENT = lazy_re(rf"(?i)<[\w:.-]{{0,64}}(?P<key>{SECRET_KEY})>(?P<value>[^<>\n]{{1,4000}}+)</")
_ADDED = lazy_re(
    rf"(?i)\b(?:key|name)=[\"'][\w:.-]{{0,64}}(?P<key>{SECRET_KEY})[\"']\s{{1,8}}value=[\"']"
    r"(?P<value>[^\"'\n]{1,4000}+)"
)
# api key 0123456789abcdef0123456789abcdef
_NAMED_HEX = lazy_re(
    r"(?i)\b(?:api|access|secret|account|private|license)[ _-]?key(?: is)?[ :=]{1,4}"
    r"(?P<value>[0-9a-f]{24,128})(?![0-9a-z])"
)
# what stands for a secret in messages and code; a password may be a number
_NO_SECRET = lazy_re(
    r"(?i)true|false|yes|no|none|null|nil|str|int|bool|bytes|string|optional|required|missing"
    r"|invalid|expired|incorrect|wrong|redacted|hidden|\*+|-+|=+|\.+|(?-i:\$[A-Z_][A-Z0-9_]*)|\$\{.*"
    r"|%\(?\w+.*|<[a-z _-]*>?"
    r"|(?:self|cls)\..*|(?:os|args|config|cfg|conf|settings|options|opts|kwargs|params|env|ctx"
    r"|request)\.[a-z_.]+"
)
_NO_TOKEN = lazy_re(r"(?i)\$\w+|<.*|[/~].*|[a-z_]+\.[a-z_.]+")
_NUMBER = lazy_re(r"-?\d{1,6}(?:\.\d{0,6})?")
#: keys that name other things as often: passes of a compiler, sessions
_WEAK = frozenset(("pass", "pw", "auth", "cookie", "session"))
_COMPILER_PASS = lazy_re(
    r"(?i)(?:pre|post|custom|fusion|grad|graph|joint|gemm|cat|forward|backward|fx|opt\w*|first"
    r"|second|inference|decompos\w*|final|each|this|next|last)[_ -]\Z"
)
_ASSIGNS_BEFORE = lazy_re(r"(?:^|[{,(?&])\s{0,40}[\"']?\Z")


def _secret_value(known: Known, match: re.Match[str]) -> str:
    """The value of a key that names a secret, unless it is code or says that there is none."""
    group = "value" if match["value"] is not None else "quoted"
    value, key = match[group], match["key"].casefold()
    if is_no_secret(value, key) or (key == "token" and not _may_be_token(match, value)):
        return match[0]
    if (key in _WEAK or key.endswith("pass")) and not _may_be_weak(match, value, key):
        return match[0]
    kind = "credentials" if _is_password(key) or key.endswith(("pass", "pw")) else "token"
    return with_new(match, secret_token(known, kind, value), group)


def _is_password(key: str) -> bool:
    return key.startswith(("passw", "passphrase", "pwd"))


def is_no_secret(value: str, key: str) -> bool:
    """Whether a value is a token of ours, code, or a word that says that there is no secret."""
    if is_token(value) or _NO_SECRET.fullmatch(value) or value.casefold() == key:
        return True
    is_other = _NUMBER.fullmatch(value) or _NO_TOKEN.fullmatch(value)
    return bool(is_other and not _is_password(key))


def _may_be_token(match: re.Match[str], value: str) -> bool:
    """A `token` is a secret, or a piece of a text for a language model, which has no digits."""
    if match.re is _SECRET_OPTION:
        return True
    if len(value) < 8 or " " in value:
        return False
    if any(letter.isdigit() for letter in value):
        return True
    if "=" in match["sign"]:
        return match["value"] is None or "_" not in value
    start = match.start()
    return _ASSIGNS_BEFORE.search(match.string, max(start - 50, 0), start) is not None


def _may_be_weak(match: re.Match[str], value: str, key: str) -> bool:
    """Whether a value looks drawn by somebody: no word, no number, no expression."""
    if key.endswith("pass"):
        start = match.start()
        if _COMPILER_PASS.search(match.string, max(start - 30, 0), start):
            return False
    has_digit = any(letter.isdigit() for letter in value)
    is_number = value.isdigit() or value.startswith(("0x", "0X"))
    return len(value) >= 6 and " " not in value and has_digit and not is_number


def _more_words(known: Known, match: re.Match[str]) -> str:
    """All words of a passphrase; those of a message about one stay."""
    first = match["first"]
    if is_no_secret(first, match["key"].casefold()):
        return match[0]
    value = first + match["value"]
    head = match[0][: match.start("first") - match.start()]
    return head + secret_token(known, "credentials", value)


def _plain_value(known: Known, match: re.Match[str]) -> str:
    """The value of a key that can only name a secret."""
    value, key = match["value"], match["key"].casefold()
    if is_no_secret(value, key):
        return match[0]
    return with_new(
        match, secret_token(known, "credentials" if _is_password(key) else "token", value)
    )


FINDERS = (
    Finder(("passw", "passphrase"), _WORDS, _more_words),
    Finder(_SECRET_NEEDS, _SECRET, _secret_value, hint=_SECRET_HINT),
    Finder(_SECRET_NEEDS, _SECRET_OPTION, _secret_value),
    Finder(("password",), _PASSWORD_LINE, _plain_value),
    Finder(("</",), _ELEMENT, _plain_value),
    Finder(("value=",), _ADDED, _plain_value),
    Finder(("key",), _NAMED_HEX, any_of("token")),
)
