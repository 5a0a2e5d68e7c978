"""What is private and spread over lines: blocks of keys, values below their names."""

from __future__ import annotations

import functools
import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.environment import NAME_AND_VALUE, is_harmless, variable
from aoti_logscan.redact.finder import secret_token, with_new
from aoti_logscan.redact.hosts import host_token
from aoti_logscan.redact.keys import SECRET_KEY, is_no_secret
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.manifests import HINT, Manifest
from aoti_logscan.redact.tokens import is_token
from aoti_logscan.redact.words import is_private_host

# -----BEGIN RSA PRIVATE KEY-----\nMIIE...   a log may end in it
_PRIVATE_KEY = lazy_re(
    r"(?P<head>-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<value>(?:(?!-----BEGIN )[\s\S]){0,20000}?)"
    r"(?P<foot>-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
)
_CUT_PRIVATE_KEY = lazy_re(
    r"(?m)(?P<head>-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?P<value>(?:[\\\s]++n?[A-Za-z0-9+=][A-Za-z0-9+/=]{15,}+)++"
    r"(?:(?:\\{1,8}n|\n)[A-Za-z0-9+/=]{1,64}+(?=[\"'\\]|\s*?$))?)"
)
# ...and may begin in it
_REST_OF_PRIVATE_KEY = lazy_re(
    r"(?m)^(?P<value>(?:[A-Za-z0-9+/=]{1,76}(?:\n|\\{1,8}n)){1,400})"
    r"(?=-----END [A-Z ]{0,40}PRIVATE KEY)"
)
# export KEYS="one\ntwo"   closed at the end of a later line
_LONG_VARIABLE = lazy_re(
    r"(?m)^(?P<head>[^\n\"]{0,80}?(?:\b(?:export|declare -x)\s)?"
    r"\b(?P<name>[A-Z_][A-Z0-9_]{1,63}+)=)\""
    r"(?P<value>[^\n\"]{0,4000}+(?:\n[^\n\"]{0,4000}+){1,40}?)\"[;\s]{0,4}$"
)
_LONG_BEFORE = lazy_re(r"(?:.*[$#>+\]:|] )?\s*(?:(?:export|declare -x)\s)?[A-Z0-9_]+=")
# password=\nhunter2
_VALUE_BELOW = lazy_re(
    rf"(?im)(?P<key>{SECRET_KEY})[\"']?[^\S\n]{{0,4}}(?P<sign>[=:])[^\S\n]{{0,4}}\\?\r?\n"
    r"[^\S\n]{0,40}[\"']?(?P<value>[^\s\"':]{4,400}+)[\"']?[^\S\n]{0,4}\r?$"
)
# $ hostname -f\ngpu01.acme.de
_HOSTNAME = lazy_re(
    r"(?m)^(?P<head>[^\n]{0,100}[$#%>+] hostname(?: -[a-zA-Z]{1,2})?[^\S\n]{0,4}\r?\n)"
    r"(?P<value>[A-Za-z0-9][\w.-]{1,252})(?=\r?$)"
)


def without_blocks(known: Known, text: str) -> str:
    """The text without what is spread over lines; it has as many lines as before."""
    if "PRIVATE KEY" in text:
        for form in (_PRIVATE_KEY, _CUT_PRIVATE_KEY, _REST_OF_PRIVATE_KEY):
            text = form.sub(functools.partial(_key_block, known), text)
    if "value" in text and "name" in text:
        text = NAME_AND_VALUE.sub(functools.partial(variable, known), text)
    return _without_values_below(known, text) if "\n" in text else text


def _without_values_below(known: Known, text: str) -> str:
    if '="' in text:
        text = _LONG_VARIABLE.sub(functools.partial(_long_variable, known), text)
    if "=\n" in text or ":\n" in text or "=\r\n" in text or ":\r\n" in text:
        text = _VALUE_BELOW.sub(functools.partial(_value_below, known), text)
    if " hostname" in text:
        text = _HOSTNAME.sub(functools.partial(_hostname, known), text)
    return Manifest(known, text).redacted() if HINT.search(text) else text


def _key_block(known: Known, match: re.Match[str]) -> str:
    """A key that takes up as many lines as it did."""
    value = match["value"].strip()
    if not value or is_token(value):
        return match[0]
    return with_new(match, known.token("token", value) + "\n" * match["value"].count("\n"))


def _long_variable(known: Known, match: re.Match[str]) -> str:
    """A variable's value over lines, where the variable begins a line or a command."""
    if is_harmless(match["name"]) or not _LONG_BEFORE.fullmatch(match["head"]):
        return match[0]
    value = match["value"]
    if is_token(value.strip()):
        return match[0]
    return with_new(match, known.token("value", value) + "\n" * value.count("\n"))


def _hostname(known: Known, match: re.Match[str]) -> str:
    host = match["value"]
    return with_new(match, host_token(known, host)) if is_private_host(host) else match[0]


def _value_below(known: Known, match: re.Match[str]) -> str:
    """A secret on a line of its own, below the key that names it."""
    value, key = match["value"], match["key"].casefold()
    has_digit = any(letter.isdigit() for letter in value)
    if is_no_secret(value, key) or (match["sign"] == ":" and not has_digit):
        return match[0]
    return with_new(match, secret_token(known, "credentials", value))
