"""URLs: who logs in, the host, secret parameters, and folders of a store."""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, any_of, with_new
from aoti_logscan.redact.hosts import host_token
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import ISSUED, is_token
from aoti_logscan.redact.words import NO_SECRET_USERS, is_private_host, looks_like_host

# https://user:pass@host:80/a/b?token=x   s3://bucket/a/b   https:\/\/host
_URL = lazy_re(
    r"(?<![A-Za-z0-9])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{1,15}):(?P<slashes>\\{0,2}/\\{0,2}/)"
    rf"(?P<rest>(?:[^\s\"'<>|`^{{}}\\,)]|{ISSUED}|\\{{1,2}}/|,(?=\w))++)"
)
_AUTHORITY = lazy_re(
    r"(?:(?P<credentials>[^/?#\\]*)@)?(?P<host>\[[^\]]*\]|[^/?#\\:]*)(?P<more>.*)", re.DOTALL
)
_QUERY = lazy_re(
    r"(?i)(?P<key>[?&;](?:[\w.%-]{0,40}[_-])?(?:token|sig|signature|key|secret|password|passwd|auth"
    r"|credential|accesskeyid|awsaccesskeyid|code|jwt|sessionid|policy|key-pair-id|googleaccessid|apikey"
    r"|pass|pwd)=)(?P<value>[^&#;\s]{1,8000}+)"
)
# https://<credentials-1>@github.com/acme/skunkworks   what a login opens is no public page
_BEHIND_LOGIN = lazy_re(
    rf"//{ISSUED}@(?:[A-Za-z0-9.-]{{1,253}}+|{ISSUED})(?::\d{{1,5}}+)?/(?P<value>[^\s\"'<>?#,)\\]++)"
)
# redirect=https%3A%2F%2Fanna%3Ahunter2%40db
_ENCODED_LOGIN = lazy_re(
    r"(?i)%3A%2F%2F(?P<value>[\w.~+-]{0,200}+%3A(?:[\w.~+!-]|%(?!40|2F)[0-9a-f]{2}){1,200}+)(?=%40)"
)
# anna:hunter2@db:5432
_LOGIN_AND_PORT = lazy_re(
    r"(?<![\w/@.:<-])(?P<value>[A-Za-z_][\w.-]{0,63}+:[^\s:@/\"'<>(){},]{3,200}+)"
    r"@(?=(?:[A-Za-z0-9][\w.-]{0,252}|<[a-z]{1,20}-\d{1,9}>):\d{2,5}(?![\w:]))"
)
# jdbc:oracle:thin:anna/hunter2@db:1521
_JDBC = lazy_re(r"\bjdbc:\w{1,20}:(?:\w{1,20}:)?(?P<value>[^/\s:@]{1,64}/[^/\s@]{1,200})@")
# db17:5432:*:anna:hunter2   a line of a .pgpass
_PGPASS = lazy_re(
    r"^\s{0,8}(?P<host>[\w.-]{1,252}+|\*):(?:\d{2,5}|\*):(?:[A-Za-z_][\w-]{0,63}+|\*):"
    r"(?P<value>[A-Za-z_][\w.-]{0,63}+:\S{3,200}+)$"
)
# anna:$6$salt$hash:19000:0   of a password that was hashed
_HASHED = lazy_re(
    r"(?<![\w.$-])(?P<user>[A-Za-z_][\w.-]{0,63}+):(?P<value>\$(?:apr1|2[abxy]|[1567y]|argon2\w{1,2}"
    r"|scrypt|pbkdf2[\w-]{0,20}|gy)\$[^\s:\"']{4,400}+)"
)
_STORES = ("s3", "s3a", "s3n", "gs", "gcs", "hdfs", "abfs", "abfss", "wasbs", "az", "oss", "r2")


def _url(known: Known, match: re.Match[str]) -> str:
    """A URL without its credentials and secret parameters, its host replaced unless public."""
    head = match["scheme"] + ":" + match["slashes"]
    if match["scheme"].casefold() == "file":
        return match[0]
    if not match["rest"].strip("/"):
        return match[0]
    if match["scheme"].casefold() in _STORES:
        return head + _store_path(known, match["rest"])
    parts = _AUTHORITY.fullmatch(match["rest"])
    assert parts is not None
    more = _QUERY.sub(
        lambda found: with_new(found, _token(known, "token", found["value"])), parts["more"]
    )
    return head + _url_login(known, parts["credentials"]) + _url_host(known, parts["host"]) + more


def _url_login(known: Known, credentials: str | None) -> str:
    """Who logs in; everyone does as `git`."""
    if credentials is None:
        return ""
    public = credentials in ("", "git")
    return f"{credentials if public else _token(known, 'credentials', credentials)}@"


def _url_host(known: Known, host: str) -> str:
    """A URL's host; addresses are left to those who know them."""
    if not is_private_host(host) or ("." not in host and not looks_like_host(host)):
        return host
    return host_token(known, host)


def _behind_login(known: Known, match: re.Match[str]) -> str:
    return with_new(match, known.token("dir", match["value"]))


def _store_path(known: Known, path: str) -> str:
    """Bucket and folders become one token, the file stays."""
    folders, slash, name = path.rpartition("/")
    return _token(known, "dir", folders) + slash + name if slash else _token(known, "dir", path)


def _token(known: Known, kind: str, value: str) -> str:
    """A value's token, which one of the text is itself."""
    return value if is_token(value) else known.token(kind, value)


def _pgpass(known: Known, match: re.Match[str]) -> str:
    host = match["host"]
    if host not in ("*", "localhost") and not looks_like_host(host):
        return match[0]
    return with_new(match, known.token("credentials", match["value"]))


def _hashed(known: Known, match: re.Match[str]) -> str:
    user = match["user"]
    if user.casefold() not in NO_SECRET_USERS:
        user = known.name("user", user)
    return f"{user}:{known.token('credentials', match['value'])}"


FINDERS = (
    Finder(("://", r":\/"), _URL, _url),
    Finder(("://",), _BEHIND_LOGIN, _behind_login),
    Finder(("%3a%2f%2f",), _ENCODED_LOGIN, any_of("credentials")),
    Finder(("@",), _LOGIN_AND_PORT, any_of("credentials")),
    Finder(("jdbc:",), _JDBC, any_of("credentials")),
    Finder((":",), _PGPASS, _pgpass),
    Finder((":$",), _HASHED, _hashed),
)
