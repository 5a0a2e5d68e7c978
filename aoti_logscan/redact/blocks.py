"""What is private and spread over lines: blocks of keys, entries of variables in YAML."""

from __future__ import annotations

import functools
import re

from aoti_logscan.redact.environment import NAME_AND_VALUE, variable
from aoti_logscan.redact.finder import with_new
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import is_token

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


def without_blocks(known: Known, text: str) -> str:
    """The text without what is spread over lines; it has as many lines as before."""
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(functools.partial(_key_block, known), text)
        text = _CUT_PRIVATE_KEY.sub(functools.partial(_key_block, known), text)
    if "value:" in text and "name:" in text:
        text = NAME_AND_VALUE.sub(functools.partial(variable, known), text)
    return text


def _key_block(known: Known, match: re.Match[str]) -> str:
    """A key that takes up as many lines as it did."""
    value = match["value"].strip()
    if not value or is_token(value):
        return match[0]
    return with_new(match, known.token("token", value) + "\n" * match["value"].count("\n"))
