"""Secrets in headers of HTTP, as they are sent and as programs print them."""

from __future__ import annotations

import base64
import binascii
import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, any_of, with_new
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import ISSUED

# Authorization: Bearer abc   ('X-Api-Key', 'abc')   "Cookie": ["session=abc"]
_SCHEME = (
    r"(?:(?:bearer|basic|token|digest|negotiate|ntlm|api-?key|key|jwt|oauth|hmac(?:-\w{1,20})?"
    r"|aws4-hmac-sha256)\s{1,4}|[a-z][\w-]{1,30}+\s{1,4}(?=[^\s\"']{0,400}\d))?"
)
_FIELD = (
    rf"(?:[\w.-]{{1,64}}+=\\{{0,3}}\"[^\"\n]{{0,2000}}+\"?|(?:[^\s\"'\\,;<>]|{ISSUED}){{1,8000}}+)"
)
_HEADER = lazy_re(
    r"(?i)\b(?P<name>(?:proxy-)?authorization|private-token|(?:set-)?cookie|[\w-]{0,40}subscription-key"
    r"|x(?:-[a-z0-9]{1,30}){0,4}-(?:token|key|secret|password|signature))\b"
    r"[\"'\\]{0,8}\s{0,4}(?:[:=,]|->)\s{0,4}[\[(]?[\"'\\]{0,8}(?:b[\"'])?"
    rf"{_SCHEME}(?P<value>{_FIELD}(?:[,;]\s{{0,2}}{_FIELD}){{0,40}}+)"
)
# Bearer abc...
_BEARER = lazy_re(r"(?i)\bbearer\s{1,4}(?P<value>[\w.~+/-]{16,8000}+=*+)")
# Basic YW5uYTpodW50ZXIy
_BASIC = lazy_re(r"\b[Bb]asic\s{1,4}(?P<value>[A-Za-z0-9+/]{8,1000}+={0,2})")
_NO_SECRET = lazy_re(
    r"(?i)none|null|true|false|required|missing|invalid|expired|\d{1,3}|\*+|\.+|%\w"
)


def _header(known: Known, match: re.Match[str]) -> str:
    """A header's value, with all its fields, unless it says that there is none."""
    if _NO_SECRET.fullmatch(match["value"]):
        return match[0]
    return any_of("token")(known, match)


def _basic(known: Known, match: re.Match[str]) -> str:
    """Base-64 that holds `user:password`, and no other word after `basic`."""
    try:
        plain = base64.b64decode(match["value"], validate=True)
    except (binascii.Error, ValueError):
        return match[0]
    return (
        with_new(match, known.token("credentials", match["value"])) if b":" in plain else match[0]
    )


FINDERS = (
    Finder(("authorization", "cookie", "private-token", "-key", "x-"), _HEADER, _header),
    Finder(("bearer",), _BEARER, any_of("token")),
    Finder(("basic",), _BASIC, _basic),
)
