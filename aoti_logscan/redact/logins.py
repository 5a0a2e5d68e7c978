"""`name@host`: prompts, remote commands, and e-mail addresses."""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder
from aoti_logscan.redact.hosts import host_token
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.words import (
    NO_SECRET_USERS,
    PUBLIC_HOST,
    TLD,
    is_number,
    is_private_host,
    looks_like_host,
)

# anna@gpu-node-17:~$   ssh anna@gpu01   anna@example.com
_AT = lazy_re(
    r"(?<![\w.@/+%-])(?P<user>[A-Za-z0-9_][\w.+%-]{0,63}+)@"
    r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(?![\w@(\[=-])"
)
# :~/x$   :/workspace#   in brackets, with a blank: ` x]$`
_PROMPT_AFTER = lazy_re(
    r":\\?[~/]|:[^\s:]{0,200}[$#%>] | (?:[~/]|<dir-)\S{0,200} [%$#] | MINGW\d\d "
)
# ┌──(anna㉿gpu01)-[~]
_KALI = lazy_re(
    r"(?<=\()(?P<user>[A-Za-z_][\w.-]{0,63}+)(?P<at>[㉿💀])(?P<host>[A-Za-z0-9][\w.-]{0,251})(?=\)-\[)"
)
_PROMPT_IN_BRACKETS_AFTER = lazy_re(r" [^\]\n$#]{0,200}\][$#] ")
_ADDRESS = lazy_re(r"0x[0-9a-fA-F]+")
_REMOTE = ("ssh ", "scp ", "sftp ", "rsync ", "mosh ", "sshfs ", "ssh-copy-id ")
_MAIL_HOST = lazy_re(rf"(?i)(?:[a-z0-9-]{{1,63}}\.)+(?:{TLD}|(?!py\Z|so\Z|mt\Z)[a-z]{{2}})")


def _at(known: Known, match: re.Match[str]) -> str:
    """`name@host` of a prompt or a remote command, else an e-mail address, else as it looks."""
    user, host = match["user"], match["host"]
    if _is_login(match):
        return _login(known, user, host)
    if PUBLIC_HOST.fullmatch(host) and user.casefold() == "git":
        return match[0]
    if _ADDRESS.fullmatch(host):
        return match[0]
    in_angles = match.string[match.start() - 1 : match.start()] == "<" and "." in host
    if in_angles and match.string[match.end() : match.end() + 1] == ">":
        return known.token("email", match[0])
    if _MAIL_HOST.fullmatch(host):
        return known.token("email", match[0])
    if looks_like_host(host) and not user[0].isdigit():
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
    return after.match(text, end) is not None and not is_number(match["host"])


def _kali(known: Known, match: re.Match[str]) -> str:
    user, _, host = _login(known, match["user"], match["host"]).partition("@")
    return user + match["at"] + host


def _login(known: Known, user: str, host: str) -> str:
    if user.casefold() not in NO_SECRET_USERS:
        user = known.name("user", user)
    if is_private_host(host):
        host = host_token(known, host)
    return f"{user}@{host}"


FINDERS = (Finder(("@",), _AT, _at), Finder(("㉿", "💀"), _KALI, _kali))
