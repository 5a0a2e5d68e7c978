"""Paths of Windows: on a drive, and on a file server."""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder
from aoti_logscan.redact.hosts import host_token
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.paths import split
from aoti_logscan.redact.tokens import ISSUED, is_token
from aoti_logscan.redact.words import is_private_host

# C:\work\model.py   \\?\C:\work\model.py   C:/work/model.py
_PART = rf"(?:[\w.+@%~=#$()-]|{ISSUED})++(?: [\w.+()-]++(?=[\w. +()-]{{0,60}}+[/\\]))*+"
_DRIVE = lazy_re(
    r"(?:\\{2,4}[?.]\\{1,2})?(?<![A-Za-z0-9_])(?P<drive>[A-Za-z]):"
    rf"(?P<path>(?:[/\\]{{1,4}}{_PART})++[/\\]{{0,4}})"
)
# \\fileserver\share\model.py   \\wsl$\Ubuntu\home\anna
_SHARE = lazy_re(
    rf"(?<![\\\w])(?P<slashes>\\\\(?:\\\\)?)(?P<value>[A-Za-z][\w.$-]{{2,252}}+)"
    rf"(?P<path>(?:\\(?!\\)|(?<=[\w$])\\\\(?!\\)){_PART}(?:\\{{1,2}}{_PART})*+)"
)
# a path of Windows that is the system's own, or where torch is built
_SYSTEM = lazy_re(
    r"(?i)/(?:windows|program files(?: \(x86\))?|programdata|actions-runner/_work/pytorch|python\d*"
    r"|cuda|hostedtoolcache|cb|w/b)(?:/.*)?|/[^/]*"
)


def _drive(known: Known, match: re.Match[str]) -> str:
    """A path of Windows, its kind of separator kept."""
    written = match["path"]
    if match["drive"].islower() and re.match(r"\\[nrt]", written):
        return match[0]
    return _windows_path(known, match, match["drive"] + ":", "")


def _share(known: Known, match: re.Match[str]) -> str:
    """A path on a file server, whose name is a host's."""
    host = match["value"]
    is_private = not host.casefold().startswith("wsl") and is_private_host(host)
    shown = match["slashes"] + (host_token(known, host) if is_private else host)
    return _windows_path(known, match, host, shown)


def _windows_path(known: Known, match: re.Match[str], root: str, shown: str) -> str:
    """A path below `root`, of which `shown` is shown before the token of its folders."""
    written = match["path"]
    path = re.sub(r"[/\\]+", "/", written)
    folder, kept = split(path)
    if not folder or is_token(folder[1:]) or _SYSTEM.fullmatch(path):
        return match[0]
    separator = written[: len(written) - len(written.lstrip("/\\"))]
    before = shown + separator if shown else ""
    return before + known.token("dir", root + folder) + kept.replace("/", separator)


FINDERS = (
    Finder((":\\", ":/"), _DRIVE, _drive),
    Finder(("\\\\",), _SHARE, _share),
)
