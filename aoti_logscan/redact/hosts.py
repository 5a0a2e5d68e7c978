"""Names of machines: where a key names one, in prefixes of lines, names of files, domains."""

from __future__ import annotations

import re
import sys

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.finder import Finder, with_new
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.words import COMMON, PUBLIC_HOST, TLD, is_private_host, looks_like_host

_HOST = r"(?P<value>[A-Za-z0-9][\w.-]{0,252}+)"
# Nov 30 06:29:53 gpu-node-17 python[123]:   2026-11-30T06:29:53.1+00:00 gpu-node-17 python[123]:
_SYSLOG = lazy_re(
    r":(?<=\d\d:)\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? "
    rf"{_HOST} [\w./()@-]{{1,100}}+(?:\[\d{{1,9}}\])?: "
)
_DATE = lazy_re(r"(?:\b[^\W\d_]{3,5}\.? [ \d]\d |\b\d{4}-\d\d-\d\d[T ])\Z")
# [gpu-node-17:4242]   [gpu-node-17:4242:0:4242]   gpu-node-17:4242:4300 [0] NCCL INFO
_WITH_PROCESS = lazy_re(rf"\[{_HOST}:\d{{2,9}}(?::\d{{1,9}}){{0,2}}\]")
_NCCL = lazy_re(rf"(?<![\w.:/-]){_HOST}:\d{{1,9}}:\d{{1,9}} \[\d{{1,4}}\] NCCL ")
# "hostname": "gpu-node-17"   MASTER_ADDR=gpu-node-17   --rdzv_endpoint gpu-node-17:29500
_NAMED_HOST = lazy_re(
    r"(?:(?<![\w-])(?:MASTER_ADDR|HOSTNAME|HOST|Hostname|NODE_?NAME|COMPUTERNAME|SLURMD_NODENAME|POD_NAME"
    r"|(?:SLURM|PBS|LSB)_[A-Z_]{0,20}(?:NODELIST|HOSTS?)|host_?name|node_?name"
    r"|(?:--)?master[_-]addr|(?:--)?rdzv[_-]endpoint)[\"'\\]{0,2}\s{0,12}[=:]\s?[\"'\\]{0,2}"
    rf"|--(?:master[_-]addr|rdzv[_-]endpoint|host(?:name)?)[ =]){_HOST}(?![\w(/])"
)
# host      : gpu-node-17
_ELASTIC_HOST = lazy_re(rf"(?<![\w-])host {{2,20}}: {_HOST}")
# "host": "gpu-node-17"   host=gpu-node-17   host: gpu-node-17
_SOME_HOST = lazy_re(
    rf"(?<![\w-])host[\"'\\]{{0,2}}\s{{0,2}}[=:]\s?[\"'\\]{{0,2}}{_HOST}(?![\w(/])"
)
# node='gpu-node-17'   Node: gpu-node-17/10.0.0.3   Linux gpu-node-17 5.15.0-91
_NODE = lazy_re(
    rf"(?:\bnode=[\"'](?=[\w.-]{{2,252}}[\"'])|\bNode:\s{{1,20}}(?=[\w.-]{{2,252}}/(?:\d|<ip-)))"
    rf"{_HOST}"
)
_UNAME = lazy_re(rf"\bLinux {_HOST}(?= \d{{1,2}}\.\d{{1,3}}\.\d)")
# NodeList=gpu-a[17-19]   BatchHost=gpu-a17
_NODES = lazy_re(
    r"\b(?:NodeList|BatchHost|ReqNodeList|ExcNodeList|NodeHostName|NodeAddr)="
    r"(?P<value>[A-Za-z][\w.-]{0,100}(?:\[[\d,-]{1,200}\])?(?:,[A-Za-z][\w.-]{0,100}(?:\[[\d,-]{1,200}\])?){0,100})"
)
# registry.acme.com:5000/team/img:1
_REGISTRY = lazy_re(
    r"(?<![\w./@-])(?P<value>(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}+\.){1,6}[A-Za-z]{2,20}+(?::\d{2,5})?"
    r"(?:/[a-z0-9][\w.-]{0,100}+){1,6})(?=:[\w][\w.-]{0,100}|@sha256:)"
)
_IMAGE_BEFORE = lazy_re(
    r"(?i)(?:\bimage[\"']?\s?[:=]\s{0,4}[\"']?|\b(?:docker|podman|nerdctl|crictl)\s[^\n]{0,100}\s)\Z"
)
_PUBLIC_REGISTRY = lazy_re(
    r"(?:[\w.-]+\.)?(?:docker\.io|nvcr\.io|ghcr\.io/pytorch|quay\.io/pypa|mcr\.microsoft\.com"
    r"|registry\.k8s\.io|gcr\.io/google\w*)/.*"
)
# arn:aws:iam::123456789012:role/x
_ARN = lazy_re(
    r"\barn:aws[\w-]{0,12}:[\w-]{0,30}:[\w-]{0,30}:(?P<value>\d{12}:[^\s\"',;)]{1,400}+)"
)
# [gpu-node-17]:29500
_SOCKET = lazy_re(rf"\[{_HOST}\]:\d{{1,5}}")
# connect to (gpu-node-17, 29500)   connected to gpu-node-17:29500
_PEER = lazy_re(rf"\bconnect(?:ed|ing)? to [(\[]?(?:host )?{_HOST}(?:, ?|\]?:)\d")
# [pod/trainer-7f9c6d5b8-x2x4q/main] text   trainer-7f9c6d5b8-x2x4q main text
_POD = lazy_re(rf"\[pod/{_HOST}/")
_POD_FIRST = lazy_re(
    r"^(?P<value>[a-z0-9][a-z0-9-]{0,200}-[bcdf-hj-np-tv-xz2456789]{8,10}"
    r"-[bcdf-hj-np-tv-xz2456789]{5})(?=[ |:])"
)
# core_1732_gpu-node-17_4242.nvcudmp
_CORE = lazy_re(r"\bcore_\d{1,20}_(?P<value>[A-Za-z0-9][\w.-]{0,252}?)_\d{1,9}\.nvcudmp")
# gpu-node-17_4242.1732000000.pt.trace.json   events.out.tfevents.1732000000.gpu-node-17.4242.0
_PROFILE = lazy_re(
    r"(?<![\w.-])(?P<value>[A-Za-z0-9][A-Za-z0-9.-]{0,252}+)_\d{1,9}\.\d{6,20}\.pt\.trace\.json"
)
_TENSORBOARD = lazy_re(r"\btfevents\.\d{6,20}\.(?P<value>[A-Za-z0-9][A-Za-z0-9-]{0,252}+)")
# srun: error: gpu-node-17: task 3   *** STEP 12.0 ON gpu-node-17 CANCELLED
_SLURM = lazy_re(rf"(?:\bsrun: error: |\bslurmstepd-|\*\*\* (?:STEP|JOB) [\d.]{{1,20}} ON ){_HOST}")
# x.corp.example.com   gpu01.internal   annas-laptop.local   ip-10-0-0-3
_DOMAIN = lazy_re(
    r"(?<![\w.@-])(?P<value>(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}+\.){1,8}[A-Za-z]{2,20}+"
    r"|ip(?:-\d{1,3}+){4})(?![\w(-]|\.\w)"
)
_DOMAINS = (
    *("ip-", ".corp.", ".intra.", ".io", ".ai"),
    *(f".{end}" for end in TLD.split("|") if len(end) > 2),
)
_INTERNAL = lazy_re(
    r"(?i).*\.(?:internal|local|lan|corp|intranet|localdomain|private|svc)"
    r"|.*\.(?:corp|internal|intra|prod|staging|priv|hpc|cluster|compute)\.(?:.*\.)?"
    rf"(?:{TLD}|[a-z]{{2}})|.*\.amazonaws\.com|ip(?:-\d+){{4}}(?:\..*)?"
)
_NUMBERED_DOMAIN = lazy_re(rf"(?i)[^.]*[\d-][^.]*\..*\.(?:{TLD})")


def host_token(known: Known, host: str) -> str:
    """A host's token; the host is from now on replaced wherever it stands."""
    known.learn_host(host)
    return known.token("host", host)


def _host(known: Known, match: re.Match[str]) -> str:
    """A word in the place of a host."""
    host = match["value"].rstrip(".")
    if not is_private_host(host):
        return match[0]
    return with_new(match, host_token(known, host) + match["value"][len(host) :])


def _numbered_host(known: Known, match: re.Match[str]) -> str:
    """A word in a place where other things than hosts stand too."""
    return _host(known, match) if looks_like_host(match["value"].partition(".")[0]) else match[0]


def _syslog(known: Known, match: re.Match[str]) -> str:
    """The host after a date and a time."""
    start = match.start() - len("06")
    is_dated = _DATE.search(match.string, max(start - 12, 0), start)
    return _host(known, match) if is_dated else match[0]


def _domain(known: Known, match: re.Match[str]) -> str:
    """A name of an internal domain, and no attribute of a Python module."""
    name = match["value"]
    if PUBLIC_HOST.fullmatch(name) or _is_attribute(name.casefold().split(".")):
        return match[0]
    if _INTERNAL.fullmatch(name) or _NUMBERED_DOMAIN.fullmatch(name):
        return _host(known, match)
    return match[0]


def _registry(known: Known, match: re.Match[str]) -> str:
    """An image in a registry of one's own."""
    start = match.start()
    is_image = _IMAGE_BEFORE.search(match.string, max(start - 120, 0), start)
    if not is_image or _PUBLIC_REGISTRY.fullmatch(match["value"]):
        return match[0]
    return known.token("value", match["value"])


def _arn(known: Known, match: re.Match[str]) -> str:
    """An account and what is in it."""
    return with_new(match, known.token("value", match["value"]))


def _is_attribute(labels: list[str]) -> bool:
    """Whether `threading.local` and the like are Python's; a host's name is no module's."""
    is_module = len(labels[0]) < 2 or labels[0] in sys.stdlib_module_names or labels[0] in COMMON
    return is_module and len(labels) <= 3 and labels[-1] in ("local", "internal", "private")


#: hosts that a key names
NAMED = (
    Finder(("host", "addr", "endpoint", "node", "pod_", "computername"), _NAMED_HOST, _host),
    Finder(("host ",), _ELASTIC_HOST, _host),
    Finder(("host",), _SOME_HOST, _numbered_host),
    Finder(("node",), _NODE, _host),
    Finder(("linux ",), _UNAME, _host),
    Finder(("nodelist", "batchhost", "nodehost", "nodeaddr"), _NODES, _host),
    Finder(("image", "docker", "podman", "nerdctl", "crictl"), _REGISTRY, _registry),
    Finder(("arn:aws",), _ARN, _arn),
)
#: hosts in the places where tools write them, and internal domains
PLACED = (
    Finder(("nvcudmp",), _CORE, _host),
    Finder(("pt.trace.json",), _PROFILE, _host),
    Finder(("tfevents",), _TENSORBOARD, _host),
    Finder((":",), _SYSLOG, _syslog),
    Finder(("[",), _WITH_PROCESS, _numbered_host),
    Finder(("] nccl",), _NCCL, _host),
    Finder(("]:",), _SOCKET, _host),
    Finder(("connect",), _PEER, _numbered_host),
    Finder(("[pod/",), _POD, _host),
    Finder(("-",), _POD_FIRST, _host),
    Finder(("srun:", "slurmstepd", "*** "), _SLURM, _host),
    Finder(_DOMAINS, _DOMAIN, _domain),
)
