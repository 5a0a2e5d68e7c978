"""Names of people in messages, in what programs say of themselves, and in rows of tables."""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, with_new
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import is_token
from aoti_logscan.redact.words import COMMON, NO_SECRET_USERS

_NAME = r"(?P<value>[A-Za-z_][\w.-]{1,63}+)"
# user: anna   Owner: anna   X-Forwarded-User: anna   at the end of a line or before another key
_COLON = lazy_re(
    r"(?<![A-Za-z.])(?:[Uu]ser(?:name)?|[Oo]wner|[Ll]ogin)\s{0,2}:\s{1,8}"
    rf"{_NAME}(?=\s{{0,8}}$|[,;)}}]|\s{{1,8}}\w{{1,40}}[:=])"
)
# Currently logged in as: anna (team)   running as user anna   denied for user 'anna'
_SAID = lazy_re(
    r"(?:\b[Ll]ogged in as:?\s{1,4}|\b[Rr]unning as (?:user )?|\buser(?: name)?:? [\"']"
    rf"(?=[\w.-]{{2,64}}[\"'])|\bgetuser\(\)\s?(?:->|=|:)\s?[\"']|\[sudo\] password for )"
    rf"{_NAME}(?![\w(/\[=])"
    r"(?: \((?P<team>[\w-]{2,64}+)\))?"
)
# anna is not in the sudoers file
_SUDOER = lazy_re(rf"(?<![\w.-]){_NAME}(?= is not in the sudoers)")
# UserId=anna(1001)   Account=acme   'mlflow.user': 'anna'   uid=anna,ou=people   user.name=Anna K
_FIELD = lazy_re(
    r"(?:\b(?:UserId|GroupId)=(?=[\w.-]{2,64}\()|\bAccount=(?=\w)|--account[= ]"
    r"|[\"'][\w.]{1,30}\.user[\"']\s?:\s?[\"']|\buid=(?=[\w.-]{2,64},\w{1,20}=))"
    rf"{_NAME}"
)
# Author: Anna Kowalczyk <anna@example.com>   user.name=Anna Kowalczyk
_FULL_NAME = lazy_re(
    r"(?:\b(?:Author|Committer|Commit|Signed-off-by|Co-authored-by|Reviewed-by|Tested-by|Maintainer)"
    r"\s?:\s{1,8}(?=[^<>\n:]{2,80}\s<)|\buser\.name\s?=\s?)"
    r"(?P<value>[^\W\d_][\w.' -]{1,60}+)"
)
# User: ACME\anna
_DOMAIN_USER = lazy_re(
    r"(?i)\b(?:user(?:name)?|login|account|owner|as)[\s:='\"]{1,4}(?P<domain>[a-z][\w-]{1,30})"
    rf"(?P<slash>\\{{1,2}}){_NAME}"
)
# rows of `ps aux`, `ps -ef`, `who`
_PROCESS = lazy_re(
    r"^(?P<value>[A-Za-z_][\w.-]{1,63}\+?)(?=\s{1,20}\d{1,8}\s{1,12}(?:\d{1,4}\.\d\s{1,8}\d{1,3}\.\d\s"
    r"|\d{1,8}\s{1,8}\d{1,3}\s{1,8}[\w:]{3,8}\s{1,8}(?:\?|pts/\d{1,4}|tty\w{1,6})\s)"
    r"|\s{1,20}(?:pts/\d{1,4}|tty\d{1,3})\s{1,12}(?:\d{4}-\d\d-|[A-Z][a-z]{2} ))"
)
# a row of `top`
_TOP = lazy_re(
    r"^\s{0,8}\d{1,8}\s(?P<value>[A-Za-z_][\w.-]{1,63}\+?)(?=\s{1,12}(?:\d{1,3}|rt)\s{1,6}-?\d{1,3}\s{1,8}"
    r"[\d.]{1,12}[kmgtp]?\s{1,8}[\d.]{1,12}[kmgtp]?\s{1,8}[\d.]{1,12}[kmgtp]?\s[RSDZTIt]\s)"
)
# a row of `ls -l`
_LISTED = lazy_re(
    r"^\s{0,8}(?P<head>[bcdlps-][rwxsStT-]{9}[.+@]?\s{1,8}\d{1,8}\s)(?P<value>[A-Za-z_][\w.-]{1,63}+)\s{1,20}"
    r"(?P<group>[A-Za-z_][\w.-]{0,63}+(?: [a-z]{1,20})?)(?=\s{1,20}\d)"
)
# a row of `squeue`:   1234567  gpu  train.sh  anna  R  0:10  1  gpu-a17
_QUEUED = lazy_re(
    r"^\s{0,20}\d{1,12}(?:_\S{1,20})?\s{1,20}\S{1,40}\s{1,20}\S{1,40}\s{1,20}(?P<value>[A-Za-z_][\w.-]{1,63}+)"
    r"(?=\s{1,12}(?:R|PD|CG|CF|CD|F|S|TO|OOM)\s{1,12}[\d:-]{3,20}\s{1,12}\d{1,6}\s)"
)
# | anna(100M)   | anna:python/4242(100M)   of `gpustat`
_GPUSTAT = lazy_re(r"(?<=MB \| )(?P<value>[A-Za-z_][\w.-]{1,63}+)(?=(?::\S{1,80})?\(\d{1,9}M\))")
# git@host:anna/repo.git   wandb.ai/anna/repo
_REPOSITORY = lazy_re(
    r"(?:\bgit@[\w.-]{1,252}+:|\bwandb\.(?:ai|io)/(?!site|docs|articles|fully-conn|authorize|settings"
    r"|home|login))(?P<value>[\w.-]{1,100}+/[\w./-]{1,200}+)"
)
_PUBLIC_REPOSITORY = lazy_re(
    r"(?i)(?:pytorch|triton-lang|openai|vllm-project|sgl-project|nvidia|rocm|intel|huggingface|facebook\w*"
    r"|meta-pytorch|microsoft|google|numpy|python|llvm)/.*"
)
_TYPE = lazy_re(r"_.*|[A-Z]\w*[A-Z]\w*|\w+\.[A-Z].*")
#: what stands where a name may, and is none
_NO_NAME = frozenset(
    """
    error invalid unknown failed denied required input provided defined specified supplied code
    space given null missing f32 f16 bf16 i64 i32 str int float tensor none not
    """.split()  # noqa: SIM905
)


def _name(known: Known, match: re.Match[str]) -> str:
    """Who is named, unless the name is everyone's or a word of the message."""
    value = match["value"]
    folded = value.casefold().rstrip(".")
    if folded in NO_SECRET_USERS or folded in COMMON or folded in _NO_NAME:
        return match[0]
    return with_new(match, known.name("user", value.rstrip(".")) + value[len(folded) :])


def _person(known: Known, match: re.Match[str]) -> str:
    """Who is named after a word that has a type after it in code."""
    return match[0] if _TYPE.fullmatch(match["value"]) else _name(known, match)


def _said(known: Known, match: re.Match[str]) -> str:
    new = _name(known, match)
    if match["team"] and not is_token(match["team"]):
        new = new.removesuffix(match["team"] + ")") + known.token("value", match["team"]) + ")"
    return new


def _full_name(known: Known, match: re.Match[str]) -> str:
    value = match["value"].rstrip()
    if value.casefold() in COMMON:
        return match[0]
    return with_new(match, known.name("user", value) + match["value"][len(value) :])


def _domain_user(known: Known, match: re.Match[str]) -> str:
    if match["value"].casefold() in NO_SECRET_USERS:
        return match[0]
    domain = known.token("host", match["domain"])
    head = match[0][: match.start("domain") - match.start()]
    return head + domain + match["slash"] + known.name("user", match["value"])


def _listed(known: Known, match: re.Match[str]) -> str:
    group = match["group"]
    shown = group if group.casefold() in COMMON else known.token("value", group)
    new = _name(known, match)
    return new.removesuffix(group) + shown


def _repository(known: Known, match: re.Match[str]) -> str:
    """Whose repository, unless everyone knows it."""
    if _PUBLIC_REPOSITORY.fullmatch(match["value"]):
        return match[0]
    return with_new(match, known.token("dir", match["value"]))


FINDERS = (
    Finder(("git@", "wandb."), _REPOSITORY, _repository),
    Finder(("user", "owner", "login", " as ", "account"), _DOMAIN_USER, _domain_user),
    Finder(("user", "owner", "login"), _COLON, _person),
    Finder(("logged in", "running as", "user", "[sudo]"), _SAID, _said),
    Finder(("sudoers",), _SUDOER, _name),
    Finder(("userid", "groupid", "account", "uid=", ".user"), _FIELD, _name),
    Finder(("author", "commit", "-by", "maintainer", "user.name"), _FULL_NAME, _full_name),
    Finder(("pts/", "tty", " ? ", ".0 ", "."), _PROCESS, _name),
    Finder((" r ", " s ", " d ", " i "), _TOP, _name),
    Finder(("r--", "rw-", "r-x", "---", "rwx"), _LISTED, _listed),
    Finder((" r ", " pd ", " cg ", " cd ", " f ", " cf "), _QUEUED, _name),
    Finder(("mb | ",), _GPUSTAT, _name),
)
