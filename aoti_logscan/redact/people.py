"""Names of people: accounts that are named, and home folders."""

from __future__ import annotations

import re
import urllib.parse

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, with_new
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import is_token
from aoti_logscan.redact.words import COMMON, NO_SECRET_USERS

# USER=anna   "username": "anna"   --user anna   sudo -u anna   uid=1000(anna)
_USER = lazy_re(
    r"(?<![A-Za-z])(?:(?:USER|LOGNAME|USERNAME|SUDO_USER|user(?:_?name)?|login|logname)=[\"']?"
    r"|[\"'](?:user(?:_?name)?|login|owner)\\?[\"']\s?:\s?\\?[\"']|username:\s"
    r"|--user(?:name)?[ =]|\bsudo\s+-u\s+|\bsu\s+-\s+)"
    r"(?P<value>[A-Za-z_][\w.-]{1,63}+)(?![\w(@/:\[])"
)
_UID = lazy_re(r"(?<=\d)\((?P<value>[A-Za-z_][\w.-]{0,63}+)\)")
_UID_LINE = lazy_re(r"\buid=\d+\([^\n]{0,4000}")
# anna:x:1000:1000:Anna Kowalczyk,Room 7,,:/home/anna:/bin/bash
_ACCOUNT = lazy_re(
    r"(?<![\w.:/-])(?P<user>[A-Za-z_][\w.-]{0,63}+)(?P<ids>:[x*!]{1,2}:(?P<uid>\d{1,10}):\d{1,10}:)"
    r"(?P<about>[^:\n]{0,400}+)(?=:\\{0,2}/)"
)
_FIRST_PERSON, _NOBODY = 1_000, 65_534
# /tmp/torchinductor_anna/   /tmp/pytest-of-anna/
_OWN_CACHE = lazy_re(
    r"(?<=[/\\])(?:torchinductor_|pytest-of-)(?P<value>[A-Za-z_][\w.-]{0,63}?)(?=[/\\\"'\s:;,)]|$)"
)
# /home/anna   C:\Users\anna   \/home\/anna   %2Fhome%2Fanna   \\wsl$\Ubuntu\home\anna
_SEPARATOR = (
    r"(?:%(?:25)?(?:2[Ff]|5[Cc])|\\{1,2}u00(?:2[fF]|5[cC])|(?:/|\\(?!u[0-9a-fA-F]{4})){1,4})"
)
_HOME = lazy_re(
    rf"(?P<head>(?:{_SEPARATOR}|(?<![\w.~$-]))(?:home\d?|homes|Users){_SEPARATOR}"
    r"|(?<![\w./~$-])users/)"
    r"(?P<value>(?:[\w.+@-]|(?<=\w)[',(](?=[\w.+-]{1,60}+\)?/\w)|\)(?=/\w)|\\{1,2}u(?!00)[0-9a-fA-F]{4}|%(?!2[Ff]|5[Cc]|25)[0-9a-fA-F]{2})++"
    r"(?:(?: [\w.+@-]++){1,3}+(?=[/\\])|(?: [A-Z][a-z]{1,30}+){1,2}(?=[\"']|\s{0,4}$))?)"
)
_UNICODE_ESCAPE = lazy_re(r"\\{1,2}u([0-9a-fA-F]{4})")
_FILE = lazy_re(r".+\.(?:py|pt2?|so|cpp|cu|log|txt|json|ya?ml|toml|sh|zip|gz|html?|md)")


def _user(known: Known, match: re.Match[str]) -> str:
    value = match["value"]
    if value.casefold() in NO_SECRET_USERS:
        return match[0]
    return with_new(match, known.name("user", value))


def _uid(known: Known, match: re.Match[str]) -> str:
    """The names on a line of `id`; groups that every system has stay."""
    return _UID.sub(
        lambda found: found[0] if found["value"].casefold() in COMMON else _user(known, found),
        match[0],
    )


def _account(known: Known, match: re.Match[str]) -> str:
    """A person's account in a list of all, with the full name; accounts of the system stay."""
    user, uid = match["user"], int(match["uid"])
    if uid < _FIRST_PERSON or uid == _NOBODY:
        return match[0]
    if user.casefold() not in COMMON:
        user = known.name("user", user)
    name, *others = match["about"].split(",")
    if _tells(name):
        name = known.name("user", name)
    others = [known.token("value", other) if _tells(other) else other for other in others]
    return user + match["ids"] + ",".join([name, *others])


def _tells(about: str) -> bool:
    """Whether what stands for a full name, a room or a telephone tells anything."""
    return bool(about.strip()) and not is_token(about) and about.casefold() not in COMMON


def _home(known: Known, match: re.Match[str]) -> str:
    """The folder of a person; a file right below `/home` is none."""
    name = _unescaped(match["value"])
    if _FILE.fullmatch(name) or is_token(name) or name.casefold() in NO_SECRET_USERS:
        return match[0]
    return with_new(match, known.name("user", name))


def _unescaped(name: str) -> str:
    """A name as JSON or a URL escapes it, as it is."""
    name = _UNICODE_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), name)
    return urllib.parse.unquote(name, errors="replace")


#: accounts that are named as such
NAMED = (
    Finder(("user", "logname", "login", "owner", "sudo ", "su - "), _USER, _user),
    Finder(("uid=",), _UID_LINE, _uid),
    Finder((":x:", ":*:", ":!"), _ACCOUNT, _account),
)
#: accounts that a folder is named after
FOLDERS = (
    Finder(("torchinductor_", "pytest-of-"), _OWN_CACHE, _user),
    Finder(("home", "users"), _HOME, _home),
)
