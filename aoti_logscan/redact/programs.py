"""Secrets and people on the command lines of programs that log in."""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, any_of, secret_token, with_new
from aoti_logscan.redact.hosts import host_token
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import is_token
from aoti_logscan.redact.words import (
    COMMON,
    NO_SECRET_USERS,
    is_private_host,
    looks_like_host,
)

# curl -u anna:hunter2
_CURL = lazy_re(r"\s(?:-u|--user)[ =]?[\"']?(?P<value>[^\s:\"'/]{1,200}:[^\s\"']{1,1000})")
# machine host login anna password hunter2
_NETRC = lazy_re(r"\blogin\s{1,4}(?P<user>\S{1,64})\s{1,4}password\s{1,4}(?P<value>\S{1,1000})")
# lines of a .netrc:   machine git.acme.io   login anna
_MACHINE_LINE = lazy_re(r"^\s{0,40}machine\s{1,8}(?P<value>[A-Za-z0-9][\w.-]{0,252}+)\s{0,8}$")
_LOGIN_LINE = lazy_re(r"^\s{0,40}login\s{1,8}(?P<value>[A-Za-z_][\w.@-]{1,63}+)\s{0,8}$")
_NO_LOGIN = frozenset(("required", "ok", "successful", "succeeded", "prompt", "shell", "page"))
# sshpass -p hunter2 ssh x   mysql -h db -u anna -phunter2   docker login -p hunter2
_SHORT_OPTION = lazy_re(
    r"\b(?:sshpass|mysql(?:dump|admin)?|mariadb|docker login|podman login)\s"
    r"(?:[^\n;|&]{0,200}?\s)??-p\s?(?P<quote>[\"']?)(?P<value>[^\s\"']{1,400}+)"
)
# mysql -uanna   psql -U anna
_SHORT_USER = lazy_re(
    r"\b(?:(?:mysql(?:dump|admin)?|mariadb|docker login|podman login)\s(?:[^\n;|&]{0,200}?\s)??-u"
    r"|(?:psql|pg_dump|pg_restore)\s(?:[^\n;|&]{0,200}?\s)??-U)\s?"
    r"(?P<value>[A-Za-z_][\w.-]{1,63}+)"
)
# wandb login 0123...   huggingface-cli login --token x has its key
_KEY_LOGIN = lazy_re(
    r"\b(?:wandb|neptune|comet) login\s(?:--?[\w-]{1,30}(?:=\S{1,200})?\s){0,4}"
    r"(?P<value>[A-Za-z0-9_-]{20,200}+)"
)


def _netrc(known: Known, match: re.Match[str]) -> str:
    if is_token(match["value"]):
        return match[0]
    secret = secret_token(known, "credentials", match["value"])
    return f"login {known.name('user', match['user'])} password {secret}"


def _machine_line(known: Known, match: re.Match[str]) -> str:
    host = match["value"]
    is_host = is_private_host(host) and ("." in host or looks_like_host(host))
    return with_new(match, host_token(known, host)) if is_host else match[0]


def _login_line(known: Known, match: re.Match[str]) -> str:
    value = match["value"].casefold()
    return match[0] if value in COMMON or value in _NO_LOGIN else _short_user(known, match)


def _short_user(known: Known, match: re.Match[str]) -> str:
    if match["value"].casefold() in NO_SECRET_USERS:
        return match[0]
    return with_new(match, known.name("user", match["value"]))


FINDERS = (
    Finder(("curl ",), _CURL, any_of("credentials")),
    Finder(("login",), _NETRC, _netrc),
    Finder(("machine",), _MACHINE_LINE, _machine_line),
    Finder(("login",), _LOGIN_LINE, _login_line),
    Finder(("sshpass", "mysql", "mariadb", "login"), _SHORT_OPTION, any_of("credentials")),
    Finder(("mysql", "mariadb", "login", "psql", "pg_"), _SHORT_USER, _short_user),
    Finder((" login",), _KEY_LOGIN, any_of("token")),
)
