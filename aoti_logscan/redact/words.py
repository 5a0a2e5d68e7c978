"""Which words, accounts and hosts are no secrets, judged by how they look."""

from __future__ import annotations

from aoti_logscan.lazy_re import lazy_re

#: accounts, hosts and words that logs are full of: never replaced where they stand alone
COMMON = frozenset(
    """
    root user users ubuntu debian centos fedora rocky alpine linux unix windows darwin macos wsl
    admin administrator guest nobody daemon anonymous unknown default public shared system sudo
    adm cdrom dip plugdev lxd video render wheel staff docker podman tty dialout audio netdev
    test tests tester testing dev devel develop developer build builder buildkite runner worker
    workers agent app apps service server servers serve serving client clients node nodes host
    hosts hostname localhost local main master slave head primary replica rank ranks leader store
    model models module modules data dataset datasets torch pytorch cuda python python3 conda
    mamba jupyter notebook jenkins gitlab github git bot svc api web www mail ftp ssh job jobs
    batch task tasks ray slurm kube kubernetes spark hadoop airflow vllm sglang triton inductor
    dynamo aten nccl gloo mpi ucx gpu gpus cpu cpus tpu npu xpu hip rocm nvidia amd intel arm mps
    meta device devices driver kernel kernels launch launches graph graphs guard guards wrapper
    home work workspace project projects repo src source sources code lib libs bin tmp temp cache
    scratch logs log logger out output outputs input inputs stdin stdout stderr file files path
    name names label value values key keys type types kind class object index indices size sizes
    shape shapes stride strides dim dims dtype bool byte char short int long half float double
    string text line lines word words list tuple dict set map array tensor tensors matrix vector
    scalar number numbers count total first last next prev left right top bottom low high begin
    end start stop open close read write load save copy move add sub mul div mod pow exp log sin
    cos tan sum max min mean avg prod any all abs neg sign sqrt rsqrt round floor ceil clamp cat
    stack split chunk view slice select gather scatter where sort topk arange empty zeros ones
    full eye rand randn dot bmm matmul linear conv conv1d conv2d pool norm batchnorm relu gelu
    silu tanh sigmoid softmax dropout embedding attention loss train trainer training trained eval
    infer inference predict step epoch sample sampler token tokens layer layers block blocks grid
    warp warps thread threads process processes memory buffer buffers storage stream streams event
    events error errors warning warnings info debug trace fatal critical failed failure success
    true false none null nan inf auto new old same other this that the and not for from with will
    can may must has have was are its let run running done ready wait time date day hour minute
    second return call called function method self cls args kwargs import export compile compiled
    assert raise except check checks expected actual got found missing invalid illegal access out
    bounds core dump dumped signal abort aborted killed exit code message mark marks rob art bill
    grant frank rich dash hash base norm grad grads grace ampere hopper volta turing ada fermi
    pascal maxwell kepler lovelace ampere einstein curie tesla team lab research group company
    """.split()  # noqa: SIM905
)
#: accounts and hosts that everyone has
NO_SECRET_USERS = frozenset(("root", "user", "none", "null", "self", "shared", "public", "git"))
_NO_SECRET_HOSTS = frozenset(("localhost", "localhost.localdomain", "none", "null", "unknown"))
_DEVICE = lazy_re(r"(?i)(?:cuda|cpu|hip|xpu|mps|meta|gpu)[\d:_]*")
#: words in the place of a host that are no hosts: levels, ranks, files
_NO_HOST = lazy_re(
    r"(?i)(?:v?[\d.]+|debug|info|warn(?:ing)?|error|fatal|critical|trace|notice"
    r"|(?:rank|default|worker_?tp|tid|pid|step|sha\d+)[\d:_]*"
    r"|.*\.(?:py|pyx|cpp|cc|cxx|c|cu|cuh|h|hpp|inc|so|rs|go|java|js|ts|log|json|yaml|toml))"
)
#: who shows pages to everyone
PUBLIC_HOST = lazy_re(
    r"(?i)(?:.*\.)?(?:pytorch\.org|github\.com|githubusercontent\.com|github\.io|nvidia\.com"
    r"|amd\.com|intel\.com|huggingface\.co|hf\.co|google\.com|python\.org|readthedocs\.(?:io|org)"
    r"|triton-lang\.org|llvm\.org|kernel\.org|gnu\.org|stackoverflow\.com|wikipedia\.org"
    r"|arxiv\.org|fburl\.com|gitlab\.com|bitbucket\.org|wandb\.ai|openai\.com|vllm\.ai"
    r"|w3\.org|json-schema\.org|apache\.org|meta\.com|numpy\.org|scipy\.org|oasis-open\.org"
    r"|launchpad\.net|ubuntu\.com|debian\.org)"
)
#: what the name of a host on the internet or of an internal domain ends in, as a regex
TLD = (
    "com|org|net|edu|gov|mil|io|ai|dev|cloud|info|biz|tech|internal|local|lan|corp|intranet"
    "|private|localdomain|svc|example"
)
_NUMBERED = lazy_re(r"(?=.*[A-Za-z])(?=.*[\d-])(?!v\d|sha\d|GLIBC)[A-Za-z0-9.-]+")


def looks_like_host(host: str) -> bool:
    """Whether a word is numbered or hyphenated, as hosts are; other words may be anything."""
    no_host = _NO_HOST.fullmatch(host) or _DEVICE.fullmatch(host)
    return _NUMBERED.fullmatch(host) is not None and no_host is None


def is_private_host(host: str) -> bool:
    """Whether a word in the place of a host tells which machine it is."""
    return not (
        host.casefold() in _NO_SECRET_HOSTS
        or is_number(host)
        or ":" in host
        or "<" in host
        or _NO_HOST.fullmatch(host)
        or PUBLIC_HOST.fullmatch(host)
    )


def is_number(host: str) -> bool:
    """Whether a word in the place of a host has no letters, as addresses and counts have."""
    return not any(letter.isalpha() for letter in host)
