"""Addresses of networks and of network cards."""

from __future__ import annotations

import ipaddress
import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, with_new
from aoti_logscan.redact.known import Known

_IP4 = lazy_re(r"(?P<value>\d(?<![A-Za-z0-9.].)\d{0,2}+(?:\.\d{1,3}+){3})(?!\w|\.\d)")
_IP6 = lazy_re(
    r"(?P<value>[0-9a-fA-F](?<![\w:.].)[0-9a-fA-F]{0,3}+(?::[0-9a-fA-F]{0,4}+){2,7}+)(?![\w:])"
)
_MAC = lazy_re(
    r"(?P<value>[0-9A-Fa-f](?<![0-9A-Za-z:.-].)[0-9A-Fa-f](?P<sign>[:-])(?:[0-9A-Fa-f]{2}(?P=sign)){4}"
    r"[0-9A-Fa-f]{2})(?![0-9A-Za-z]|[:-][0-9A-Fa-f])"
)
_IP4_HINT = lazy_re(r"\.\d{1,3}\.\d{1,3}\.\d")
# `::` or seven colons, else `_ip6` has it for no address
_IP6_HINT = lazy_re(r":(?<=[0-9a-fA-F]:)(?::|(?:[0-9a-fA-F]{1,4}:){6})")
_MAC_HINT = lazy_re(r"[:-][0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-]")
_VERSION_BEFORE = lazy_re(
    r"(?i)(?:versions?|torch\w*|cuda\w*|cudnn|cublas\w*|nccl|driver|release|toolkit|build|triton"
    r"|python|rocm|miopen|tensorrt|nvidia-[\w-]+|[=<>~!]=)[\s\"':=(v]{0,12}\Z"
)


def _ip4(known: Known, match: re.Match[str]) -> str:
    """An address of a network, neither the machine's own nor a version of four numbers."""
    try:
        address = ipaddress.IPv4Address(match["value"])
    except ValueError:
        return match[0]
    if address.is_loopback or address.is_unspecified or str(address).startswith("255."):
        return match[0]
    start = match.start()
    is_part = match.string[max(start - 1, 0) : start] in ("-", "_")
    if is_part and not address.is_private:
        return match[0]
    if _VERSION_BEFORE.search(match.string, max(start - 60, 0), start):
        return match[0]
    return with_new(match, known.token("ip", match["value"]))


def _ip6(known: Known, match: re.Match[str]) -> str:
    """An address, and no time, slice or C++ name: those are no address or have a short head."""
    value = match["value"]
    if "::" not in value and value.count(":") != 7:
        return match[0]
    try:
        address = ipaddress.IPv6Address(value)
    except ValueError:
        return match[0]
    head = value.partition("::")[0]
    is_short = "::" in value and ":" not in head and not (len(head) == 4 and _is_mixed(head))
    if address.is_loopback or address.is_unspecified or is_short:
        return match[0]
    return with_new(match, known.token("ip", value))


def _is_mixed(text: str) -> bool:
    return not text.isdigit() and not text.isalpha()


def _mac(known: Known, match: re.Match[str]) -> str:
    value = match["value"]
    digits = set(value.casefold()) - {":", "-"}
    if len(digits) == 1 or (match["sign"] == "-" and digits <= set("0123456789")):
        return match[0]
    return with_new(match, known.token("mac", value))


FINDERS = (
    Finder((".",), _IP4, _ip4, hint=_IP4_HINT),
    Finder((":",), _IP6, _ip6, hint=_IP6_HINT),
    Finder((":", "-"), _MAC, _mac, hint=_MAC_HINT),
)
