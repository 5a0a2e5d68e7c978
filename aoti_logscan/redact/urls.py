"""URLs: who logs in, the host, secret parameters, and folders of a store."""

from __future__ import annotations

import re

from aoti_logscan.redact.finder import Finder, with_new
from aoti_logscan.redact.hosts import host_token
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import ISSUED
from aoti_logscan.redact.words import is_private_host, looks_like_host

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
# https://<credentials-1>@github.com/acme/skunkworks   what a login opens is no public page
_BEHIND_LOGIN = re.compile(
    rf"//{ISSUED}@(?:[A-Za-z0-9.-]{{1,253}}+|{ISSUED})(?::\d{{1,5}}+)?/(?P<value>[^\s\"'<>?#,)\\]++)"
)
_STORES = ("s3", "s3a", "s3n", "gs", "gcs", "hdfs", "abfs", "abfss", "wasbs", "az", "oss", "r2")


def _url(known: Known, match: re.Match[str]) -> str:
    """A URL without its credentials and secret parameters, its host replaced unless public."""
    head = match["scheme"] + ":" + match["slashes"]
    if match["scheme"].casefold() == "file":
        return match[0]
    if match["scheme"].casefold() in _STORES:
        return head + _store_path(known, match["rest"])
    parts = _AUTHORITY.fullmatch(match["rest"])
    assert parts is not None
    more = _QUERY.sub(
        lambda found: with_new(found, known.token("token", found["value"])), parts["more"]
    )
    return head + _url_login(known, parts["credentials"]) + _url_host(known, parts["host"]) + more


def _url_login(known: Known, credentials: str | None) -> str:
    """Who logs in; everyone does as `git`."""
    if credentials is None:
        return ""
    public = credentials in ("", "git")
    return f"{credentials if public else known.token('credentials', credentials)}@"


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
    return known.token("dir", folders) + slash + name if slash else known.token("dir", path)


FINDERS = (
    Finder(("://", r":\/"), _URL, _url),
    Finder(("://",), _BEHIND_LOGIN, _behind_login),
)
