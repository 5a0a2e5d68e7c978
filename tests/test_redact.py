"""What is private is replaced, the same by the same; what a diagnosis rests on stays."""

from __future__ import annotations

import re
from pathlib import Path

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st

from aoti_logscan.advice import FLAG_NAMES
from aoti_logscan.errors import LogscanError
from aoti_logscan.redact import Redactor, Rule, RuleError, read_rules
from aoti_logscan.report import (
    Argument,
    Call,
    CompileRecord,
    Dossier,
    Evidence,
    Excerpt,
    Finding,
    LaunchReport,
    Report,
    SourceReport,
    Tool,
    Verdict,
)
from tests.conftest import FIXTURES

HEX40 = "0f1e2d3c4b5a69788796a5b4c3d2e1f001234567"
AWS_SECRET = "wJalrXUtnFEMI9K7MDENG1bPxRfiCYzEXAMPLEKE"
GENERATED = "cij33hzucwu6bqwcd5nmbxbq6nplrqrh2olq3ymhcacqzuqkvnsb"

#: a text, and what must not be left of it
PLANTED: dict[str, list[tuple[str, str]]] = {
    "paths": [
        ('  File "/home/zyta/quokka/models/model.py", line 12, in forward', "zyta quokka"),
        ("/home/zyta/quokka/model.py:207: UserWarning: HIP warning", "zyta quokka"),
        ("[W1130 06:00:00.000000000 model.cpp:12] Warning: at /data/quokka/x.cpp (f)", "quokka"),
        ("Exception raised from f at /mnt/quokka/src/op.cpp:12 (most recent call first)", "quokka"),
        ('V1130 10:03:08.648000 2502 torch/_x.py:28] {"str": ["/home/zyta/q.py", 0]}', "zyta"),
        ('{"log":"  File \\"\\/home\\/zyta\\/quokka\\/x.py\\", line 3\\n"}', "zyta quokka"),
        ('{"m": "at:\\n/srv/quokka/x.py:207: UserWarning"}', "quokka"),
        ('{"m": "a\\u002fhome\\u002fzyta\\u002fproj"}', "zyta"),
        ("GET /files?p=%2Fhome%2Fzyta%2Fproj", "zyta"),
        ("        # File: /scratch/quokka/x.py:23 in forward, code: y = x", "quokka"),
        (
            "// Compile cmd\n// g++ a.cpp -I/home/zyta/inc -L/opt/quokka/lib -o/w/quokka/x.so",
            "quokka",
        ),
        ("// g++ /tmp/torchinductor_zyta/ab/cabc.cpp -I/home/zyta/include", "zyta"),
        ("\x1b[31m/srv/quokka/x.py:3: error\x1b[0m", "quokka"),
        (r'  File "C:\Users\zyta\quokka\x.py", line 3', "zyta quokka"),
        (r'  File "C:\Users\Zyta Kowalska\quokka\x.py", line 3', "zyta kowalska quokka"),
        (r'"C:\\Users\\zyta\\quokka\\x.py"', "zyta quokka"),
        (r"open \\?\C:\Users\zyta\quokka\x.py failed", "zyta quokka"),
        (r"open \\wsl$\Ubuntu\home\zyta\quokka\x.py failed", "zyta quokka"),
        (r"open \\filer7\quokka\x\y.py failed", "filer7 quokka"),
        ("/mnt/c/Users/zyta/quokka/x.py", "zyta quokka"),
        ("/Users/zyta/quokka/x.py", "zyta quokka"),
        ("D:/quokka/sub/x.py:3", "quokka"),
        ("~/quokka/sub/x.py and ~zyta/x.py", "zyta quokka"),
        ("/tmp/pytest-of-zyta/pytest-0/x.py", "zyta"),
        ("/opt/conda/envs/quokka/lib/python3.11/site-packages/torch/x.py", "quokka"),
        ("s3://quokka-bucket/models/x.pt2 file:///srv/quokka/y.py", "quokka"),
        ("TORCH_TRACE=/home/zyta/quokka/t python x.py", "zyta quokka"),
        ('"/home/\\u017cyta/x.py" żyta', "żyta u017c"),
        ("p=%2Fhome%2F%C5%BCyta%2Fx żyta", "żyta %C5"),
        ("<h1>/home/zyta/quokka/x.py</h1>", "zyta quokka"),
    ],
    "users and hosts": [
        ("(venv) zyta@moria17:~/a$ python x.py\nzyta is on moria17", "zyta moria17"),
        ("[zyta@moria17 x]$ python x.py", "zyta moria17"),
        ("zyta@moria17 lost contact", "zyta moria17"),
        ("root@3f2a9c1b7d4e:/workspace# python x.py", "3f2a9c1b7d4e"),
        ("+ ssh -p 22 zyta@moria17 nvidia-smi", "zyta moria17"),
        ("scp x.pt2 zyta@moria17.quokka.com:/data/quokka/y", "zyta moria17 quokka"),
        ("USER=zyta python x.py", "zyta"),
        ("LOGNAME=zyta", "zyta"),
        ("docker run --user zyta img", "zyta"),
        ("sudo -u zyta python x.py", "zyta"),
        ('{"username": "zyta"}', "zyta"),
        ("uid=1000(zyta) gid=1000(zyta) groups=1000(zyta),27(sudo),1007(quokka)", "zyta quokka"),
        ("Nov 30 06:29:53 moria17 python[123]: boom", "moria17"),
        ("2026-11-30T06:29:53.123+01:00 moria17 python[123]: boom", "moria17"),
        ("[moria17:4242] *** Process received signal ***", "moria17"),
        ("[moria17:4242:0:4250] Caught signal 11", "moria17"),
        ("moria17:4242:4300 [0] NCCL INFO Using eth0:10.1.2.3<0>", "moria17 10.1.2.3"),
        ("  host      : moria17.quokka.net", "moria17 quokka"),
        ("MASTER_ADDR=moria17 MASTER_PORT=29500 torchrun x.py", "moria17"),
        ("export HOSTNAME=moria17", "moria17"),
        ("torchrun --rdzv_endpoint=moria17:29500 x.py", "moria17"),
        ("Connection reset by peer [moria17]:29500", "moria17"),
        ("failed to connect to (moria17, 29500)", "moria17"),
        ("[pod/quokka-7f9c6d5b8d-x2x4q/main] boom", "quokka"),
        ("quokka-7f9c6d5b8d-x2x4q main boom", "quokka"),
        ("GPU core dump written to core_1732947123_moria17_4242.nvcudmp", "moria17"),
        ("saved moria17_4242.1732947123000.pt.trace.json", "moria17"),
        ("events.out.tfevents.1732947123.moria17.4242.0", "moria17"),
        ("srun: error: moria17: task 3: Killed", "moria17"),
        ("x.corp.quokka.com, moria.internal, zytas-laptop.local, moria.lan", "quokka moria zytas"),
        ("http://model-zyta7:8000/v1", "zyta7"),
    ],
    "addresses": [
        ("peer 10.1.2.3:4000 gone, 192.168.7.9 too", "10.1.2.3 192.168.7.9"),
        ("[::ffff:10.1.2.3]:99", "10.1.2.3"),
        ("peer fe80::1ff:fe23:4567:890a gone", "1ff:fe23"),
        ("peer [2001:db8::8a2e:370:7334]:1", "8a2e"),
        ("peer 2001:0db8:85a3:0000:0000:8a2e:0370:7334 gone", "8a2e"),
        ("link/ether 3c:fd:fe:9e:7b:1a brd ff:ff:ff:ff:ff:ff", "9e:7b"),
        ("mac 3C-FD-FE-9E-7B-1A", "9E-7B"),
        ("Author: Zed <zyta.kowalska@quokka.com>", "zyta quokka"),
        ("--mail-user=zyta@quokka.com", "zyta quokka"),
    ],
    "tokens": [
        ("key AKIAIOSFODNN7EXAMPLE used", "AKIAIOSFODNN7EXAMPLE"),
        (f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}", AWS_SECRET),
        (f"it was {AWS_SECRET} all along", AWS_SECRET),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F292c6912"),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789", "11ABCDEFG0"),
        ("glpat-abcDEF123456ghiJKL78", "abcDEF123456"),
        ("xox" + "b-123456789012-abcdefGHIJKL", "abcdefGHIJKL"),
        ("hf_abcdefGHIJKLmnopqrSTUVwxyz123456", "GHIJKLmnop"),
        ("sk-proj-abcdEFGH1234ijklMNOP5678", "abcdEFGH1234"),
        ("sk-ant-api03-abcdEFGH1234-ijklMNOP5678", "abcdEFGH1234"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuvw", "SyA1234567890"),
        ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "ghijklmnop"),
        ("pypi-AgEIcHlwaS5vcmcCJDU3abcdef", "AgEIcHlwaS5vcmc"),
        (f"WANDB_API_KEY={HEX40} python x.py", HEX40),
        (f'"wandb_api_key": "{HEX40}"', HEX40),
        ("sk_" + "live_abcdefGHIJ1234567890", "abcdefGHIJ"),
        (
            "t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN",
            "eyJzdWIi dozjgNry",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nQUJD\n-----END RSA PRIVATE KEY-----",
            "MIIE QUJD",
        ),
        ('"-----BEGIN PRIVATE KEY-----\\nMIIEvQ\\nQUJD\\n-----END PRIVATE KEY-----"', "MIIE QUJD"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n", "b3BlbnNzaC1rZXkt"),
        ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 zyta@moria17", "B3NzaC1yc2EAAAAD zyta"),
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ('"Authorization": "Basic enl0YTpodW50ZXIy"', "enl0YTpodW50ZXIy"),
        ('-H "X-Api-Key: s3cr3tvalue"', "s3cr3tvalue"),
        ("Cookie: session=abcdef123; csrftoken=xyz987", "abcdef123 xyz987"),
        ("password=hunter2 passwd: 123456", "hunter2 123456"),
        ('"password": "hunter 2"', "hunter"),
        ("mysql --password hunter2", "hunter2"),
        ('{\\"password\\": \\"hunter2\\"}', "hunter2"),
        ('secret = "xyzzy9"', "xyzzy9"),
        ("api_key: xyzzy9", "xyzzy9"),
        ("access_token=xyzzy9&x=1", "xyzzy9"),
        ("--token xyzzy999", "xyzzy999"),
        ('["--api-key", "xyzzy999"]', "xyzzy999"),
        ('CLIENT_SECRET: "xyzzy9"', "xyzzy9"),
        ("machine git.quokka.io login zyta password hunter2", "zyta hunter2"),
        ("curl -u zyta:hunter2 localhost", "zyta hunter2"),
        ("pip install https://zyta:hunter2@pypi.quokka.io/simple", "zyta hunter2 quokka"),
        ("https:\\/\\/zyta:hunter2@git.quokka.io\\/a", "zyta hunter2 quokka"),
        ("https://x.s3.amazonaws.com/k?X-Amz-Signature=deadbeef99&a=1", "deadbeef99"),
        ("postgres://zyta:hunter2@db17:5432/q", "zyta hunter2 db17"),
        (f"{GENERATED}_aB3xK9mQ2wE7rT5yU8iO1pL4", "aB3xK9mQ2wE7rT5yU8iO1pL4"),
        ("blob Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1BRUlNUVQ==", "Zm9vYmFyMTIz"),
    ],
    "environment": [
        ("QUOKKA_MODE=wombat python x.py", "wombat"),
        ("export QUOKKA='wom bat'", "wom bat"),
        ("docker run -e QUOKKA=wombat -e TORCH_LOGS=+dynamo img", "wombat"),
        ("environ({'QUOKKA': 'wombat', 'HOME': '/home/zyta'})", "wombat zyta"),
        ("  - name: QUOKKA\n    value: wombat", "wombat"),
        ('{"name": "QUOKKA", "value": "wombat"}', "wombat"),
        ("[rank0]: QUOKKA=wombat", "wombat"),
        ('"Env": ["QUOKKA=wombat", "PATH=/usr/bin"]', "wombat"),
        ("CONDA_DEFAULT_ENV=wombat", "wombat"),
    ],
}
CASES = [(text, left) for cases in PLANTED.values() for text, left in cases]
#: what stands around a planted text
SURROUNDINGS = (
    "{}",
    "[rank3]: {}",
    "2026-02-11T08:09:10.111222333Z stderr F {}",
    "\x1b[31m{}\x1b[0m",
    "(EngineCore pid=269) {}",
)

#: lines whose every character a diagnosis may rest on
KEPT = (
    f"/tmp/torchinductor_root/ij/{GENERATED}.py:37: unknown: block: [0,0,0], thread: [1,0,0] "
    "Assertion `index out of bounds: 0 <= tmp4 < ks0` failed.",
    '  File "/opt/conda/lib/python3.11/site-packages/torch/_inductor/codecache.py", line 12, in f',
    '  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner',
    "frame #1: c10::cuda::c10_cuda_check_implementation(int, char const*, bool) + 0x1a2 "
    "(0x7f12ab34cd56 in /usr/local/lib/python3.11/dist-packages/torch/lib/libc10_cuda.so)",
    "Exception raised from c10_cuda_check_implementation at /pytorch/c10/cuda/CUDAException.cpp:44",
    "../aten/src/ATen/native/cuda/Indexing.cu:1289: indexSelectLargeIndex: block: [0,0,0]",
    "/__w/pytorch/pytorch/aten/src/ATen/native/cuda/Loss.cu:245: nll_loss_forward_reduce_cuda",
    "/lib/x86_64-linux-gnu/libc.so.6 /proc/self/maps /dev/nvidia0 /usr/local/cuda/bin/nvcc",
    "V1130 06:29:53.164000 16210 torch/_inductor/graph.py:2722] [0/0] [__output_code] Output code:",
    "torch 2.13.0+gitabcdef cudnn 8.9.2.26 nvidia-cublas-cu12==12.1.3.1 torch==2.13.0.1",
    "Driver Version: 535.104.05 NCCL version 2.21.5+cuda12.4 libcudnn.so.8.9.2.26",
    "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib N3c1016DistBackendErrorE",
    "triton_per_fused__log_softmax_index_sin_sum_0 triton_poi_fused_add_3_0d1d2d3d4d5d6d7d8d9de",
    "extern_kernels.mm(buf0, reinterpret_tensor(arg1_1, (16, 10), (1, 16), 0), out=buf1)",
    f"fvp56kbu73pkhxx6wcezqh43yiwlnf777nqagpevjjssodacm7rr {GENERATED} a{GENERATED[:51]}",
    "/tmp/torchinductor_root/triton/0/PQ6DTC3LNRMNLA3QHIIQQQVMAGYI6ECYKSNMTSIH7YV7P2W5FVOQ/t.cubin",
    '{"inductor_output_code": {}, "has_payload": "f47eed70fdf767f121190c7695f7e5e4"}',
    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    "cf30153c4c131c8164ee7798e5022d810682e2cb",
    "tensor([-0.3456, 1.2e-05], device='cuda:0', dtype=torch.float32) size=[4, 8], stride=[8, 1]",
    "AOTInductorModelUpdateConstantsMapV2 XPUInt8MMTemplateConfigHeuristic",
    "triton_mm_4 0.0123 ms 100.0% ACC_TYPE='tl.float32', ALLOW_TF32=False, BLOCK_K=16, EVEN_K=True",
    "max_tokens=16, num_tokens: 4096, token_ids=[1, 2], next token: 12345, token: 'world'",
    'password = getpass.getpass() token = self.token secret=None api_key=os.environ["X"]',
    "password: ******** secret=%s The password: ${PASSWORD}",
    'CUDA_LAUNCH_BLOCKING=1 TORCH_LOGS="+dynamo" AOTI_RUNTIME_CHECK_INPUTS=1 python model.py',
    "CUDA_VISIBLE_DEVICES=0,1 OMP_NUM_THREADS=8 LOCAL_RANK=0 RANK=3 WORLD_SIZE=8 torchrun model.py",
    "See https://pytorch.org/docs/stable/notes/cuda.html and https://github.com/pytorch/pytorch",
    "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html"
    "#group__CUDART__TYPES_1g3f51e3575c2178246db0a94a430e0038",
    "https://docs.google.com/document/d/1HSuTTVvYH1pTew89Rtpeu84Ht3nQEFTYhAX3Ypa_xJs/edit",
    "#0  0x00007fffe43a1b02 in callable@entry (args@entry=0x7ffff76d03f0) memcpy@@GLIBC_2.14",
    "[rank3]:[E810 21:06:30.480021775 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0 Rank 3]",
    "[cuda:0] [cpu:0] [loggers.py:118] [localhost]:29500 [127.0.0.1]:3998 [::]:29500 ::1 0.0.0.0",
    "a::b fe::de at::Tensor x[1::2] dead::beef 06:29:53 0000:3b:00.0 std::add::bad",
    "size=4, dtype=torch.float32, stream=stream0, XBLOCK=128, in_ptr0=buf0",
    "q@k.transpose(-2, -1) x @ w.T y = x@w # matmul @triton.jit uses: actions/checkout@v4",
    "threading.local() self.local torch.distributed.internal and/or tokens/s 1/2/3 a/b/c.py",
    f"model.pt2!data/aotinductor/model/{GENERATED}.wrapper.cpp:1212",
    f"/tmp/AbC123/data/aotinductor/model/{GENERATED}.wrapper.cpp:1212",
    "basic arithmetic, Basic dGVzdHRlc3Q= secret=12345 api_key: 3 passwd: wrong",
    "1.2.3.400 255.255.255.0 foo-1.2.3.4 00:00:00:00:00:00 20-11-30-06-29-53 1:2:3:4:5:6:7:x",
    "git@github.com:pytorch/pytorch.git git+ssh://git@github.com/pytorch/pytorch",
    r"lambda x:\n    return y, C:\Windows\System32\x.dll",
    "e6b3f86e-ae1c-4cc8-9b35-542be15184c7 0x7f12ab34cd56789012345678901234",
    "GET /v1/chat/completions HTTP/1.1 copied from device to host: failed",
    "input_handles[2]: unmatched dtype, expected: 5(at::kHalf), but got: 15(at::kBFloat16)",
    r"C:\actions-runner\_work\pytorch\pytorch\builder\windows\pytorch\aten\src\ATen\x.cu:3",
)


def _left(text: str, planted: str) -> list[str]:
    """Which words of what was planted are still in the text."""
    words = [planted] if planted == "wom bat" else planted.split()
    return [word for word in words if word.casefold() in text.casefold()]


@pytest.mark.parametrize(("text", "planted"), CASES)
def test_private_text_is_replaced(text: str, planted: str) -> None:
    assert _left(text, planted)
    assert not _left(Redactor().text(text), planted)


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize(("text", "planted"), CASES)
def test_private_text_is_replaced_in_a_log(text: str, planted: str, around: str) -> None:
    if not text.startswith(("Nov ", "2026", "quokka-7f", "moria17:", "USER", "LOGNAME", "[", "(")):
        assert not _left(Redactor().text(around.format(text)), planted)


def test_nothing_private_is_left_where_all_stand_in_one_log() -> None:
    redacted = Redactor().text("\n".join(text for text, _ in CASES))
    assert not [left for _, planted in CASES for left in _left(redacted, planted)]


@pytest.mark.parametrize("line", KEPT)
def test_what_a_diagnosis_rests_on_is_kept(line: str) -> None:
    assert Redactor().text(line) == line


@pytest.mark.parametrize("flag", FLAG_NAMES)
def test_value_of_a_debugging_flag_is_kept(flag: str) -> None:
    for text in (f"{flag}=+x,aot python a.py", f"export {flag}=+x,aot", f"-e {flag}=+x,aot"):
        assert Redactor().text(text) == text


@pytest.mark.parametrize(
    ("path", "redacted"),
    [
        ("/home/anna/proj/models/model.py:12", "<dir-1>/model.py:12"),
        ("/home/anna", "<dir-1>"),
        ("/data/acme", "<dir-1>"),
        ("/home/anna/.venv/bin/python", "<dir-1>/python"),
        (
            "/home/anna/venv/lib/python3.11/site-packages/torch/_inductor/codecache.py",
            "<dir-1>/lib/python3.11/site-packages/torch/_inductor/codecache.py",
        ),
        (
            "/workspace/pytorch/aten/src/ATen/native/cuda/Indexing.cu:93",
            "<dir-1>/aten/src/ATen/native/cuda/Indexing.cu:93",
        ),
        (
            f"/tmp/torchinductor_anna/ij/{GENERATED}.py",
            f"/tmp/torchinductor_<user-1>/ij/{GENERATED}.py",
        ),
        (f"/mnt/scratch/anna/cache/ij/{GENERATED}.py:3", f"<dir-1>/ij/{GENERATED}.py:3"),
        (
            "/srv/m/model.pt2!data/aotinductor/model/x.cpp",
            "<dir-1>/model.pt2!data/aotinductor/model/x.cpp",
        ),
        ("/mnt/x/data/aotinductor/model/x.cpp", "<dir-1>/data/aotinductor/model/x.cpp"),
        (
            "crash/run.log model.py /root/x.py /tmp/x.py",
            "crash/run.log model.py /root/x.py /tmp/x.py",
        ),
    ],
)
def test_path_keeps_what_is_torchs_and_the_file(path: str, redacted: str) -> None:
    assert Redactor().text(path) == redacted


def test_same_value_has_the_same_token_in_all_texts() -> None:
    redactor = Redactor()
    first = redactor.text('File "/home/anna/a/x.py" and /home/bob/b/y.py on 10.0.0.3')
    assert first == 'File "<dir-1>/x.py" and <dir-2>/y.py on <ip-1>'
    assert redactor.text("/home/anna/a/z.py, 10.0.0.4, 10.0.0.3") == "<dir-1>/z.py, <ip-2>, <ip-1>"


def test_name_found_in_one_string_is_replaced_in_all() -> None:
    redactor = Redactor()
    assert redactor.text("anna said so") == "anna said so"
    redactor.learn(["/home/anna/x.py", "gpu7:12:13 [0] NCCL INFO x"])
    assert redactor.text("Anna said so on gpu7") == "<user-1> said so on <host-1>"


def test_first_label_of_a_host_is_the_same_host() -> None:
    text = "  host      : gpu-7.corp.example.com\nlost gpu-7"
    assert Redactor().text(text) == "  host      : <host-1>\nlost <host-1>"


@pytest.mark.parametrize("name", ["root", "ubuntu", "model", "ab", "sum"])
def test_name_that_logs_are_full_of_is_replaced_in_its_form_only(name: str) -> None:
    redactor = Redactor(names=[name])
    text = redactor.text(f"/home/{name}/x/y.py: {name} failed")
    assert text == f"<dir-1>/y.py: {name} failed"


def test_name_is_no_part_of_a_word_a_kernel_or_an_operator() -> None:
    text = "annals triton_poi_fused_anna_0 aten.anna.default hanna"
    assert Redactor(names=["anna"]).text(text) == text


def test_name_that_is_escaped_is_replaced() -> None:
    redactor = Redactor(names=["żyta"])
    text = redactor.text(r'{"m": "\u017cyta"} %C5%BCyta ŻYTA')
    assert text == '{"m": "<user-1>"} <user-1> <user-1>'


def test_number_is_no_name() -> None:
    assert Redactor(names=["12345"]).text("USER_ID 12345") == "USER_ID 12345"


def test_names_of_the_caller_are_known_from_the_start() -> None:
    redactor = Redactor(names=["anna", "/home/bob", "gpu-7.corp.example.com"])
    text = redactor.text("anna_x.log bob gpu-7 GPU-7.corp.example.com")
    assert text == "<user-1>_x.log <user-2> <host-1> <host-1>"


def test_token_of_the_text_is_never_issued() -> None:
    text = Redactor().text("<user-1> met USER=anna in <dir-1>/x: /data/q/x.py, anna")
    assert text == "<user-1> met USER=<user-2> in <dir-1>/x: <dir-2>/x.py, <user-2>"


def test_private_path_after_a_token_of_the_text_is_replaced() -> None:
    assert Redactor().text("<x-1>/home/anna/a/b.py") == "<x-1><dir-1>/b.py"


def test_colours_are_kept_around_what_is_replaced() -> None:
    text = "\x1b[31mUSER=anna\x1b[0m \x1b[1m10.0.0.3\x1b[0m"
    redacted = "\x1b[31mUSER=<user-1>\x1b[0m \x1b[1m<ip-1>\x1b[0m"
    assert Redactor().text(text) == redacted


def test_more_colours_than_a_log_has_are_kept() -> None:
    text = "".join(f"\x1b[{number}mx" for number in range(100))
    assert Redactor().text(text) == text


def test_folder_of_windows_is_no_end_of_a_line() -> None:
    assert Redactor().text(r"at C:\Users\nina\new\x.py") == r"at <dir-1>\x.py"
    text = r'{"m": "C:\\Users\\nina\\new\\x.py\nUSER=nina"}'
    assert Redactor().text(text) == r'{"m": "<dir-1>\\x.py\nUSER=<user-1>"}'


def test_key_block_keeps_its_lines() -> None:
    text = "a\n-----BEGIN PRIVATE KEY-----\nQUJD\nQUJE\n-----END PRIVATE KEY-----\nb"
    assert Redactor().text(text).count("\n") == text.count("\n")


def test_found_counts_values_and_never_shows_them() -> None:
    redactor = Redactor()
    redactor.text("USER=anna 10.0.0.3 10.0.0.4 10.0.0.3")
    assert redactor.found() == {"user": 1, "ip": 2}


@pytest.fixture
def dossier() -> Dossier:
    """A small report with private strings in every kind of place."""
    evidence = Evidence("/home/zyta/run.log", 3, 12, "RuntimeError: at /home/zyta/quokka/x.py")
    finding = Finding(
        pattern="illegal-memory-access",
        failure_class="illegal-memory-access",
        role="cause",
        certainty="sure",
        title="t",
        summary="zyta's kernel",
        facts={"file": "/home/zyta/quokka/x.py", "line": 3, "zyta": ["moria17", None]},
        count=1,
        rank=None,
        process="12",
        evidence=(evidence,),
        explain="",
        fixes=(),
    )
    report = Report(
        schema_version="1",
        tool=Tool("aoti-logscan", "0"),
        signature="5f2c-91ab",
        verdict=Verdict(
            failure_class="illegal-memory-access", certainty="sure", summary="zyta", finding=0
        ),
        findings=(finding,),
        last_kernel=None,
        lineage=None,
        flags=(),
        next_steps=(),
        compiles=(CompileRecord(id="0/0", rank=0, ok=True, fail_type=None, fail_reason=None),),
        sources=(
            SourceReport(
                name="moria17.log",
                bytes=1,
                rank=None,
                torch_version="2.13.0",
                records={"torch_trace": 1},
                problems=(),
            ),
        ),
    )
    launch = LaunchReport(
        index=0,
        kernel="triton_poi_fused_add_0",
        open=True,
        rank=0,
        source="/home/zyta/run.log",
        line=1,
        arguments=(Argument(name="buf0", phase="before", dtype="float32", size=(2, 3)),),
        call=Call("/srv/quokka/w.cpp", 3, "call_triton_poi_fused_add_0(buf0)"),
        user_stack=('File "/home/zyta/quokka/x.py", line 3, in f',),
    )
    excerpt = Excerpt(source="r.log", line=2, first_line=1, text="USER=zyta\nMASTER_ADDR=moria17")
    return Dossier(report=report, launches=(launch,), excerpts=(excerpt,))


def test_value_is_the_same_dossier_without_what_is_private(dossier: Dossier) -> None:
    redacted = Redactor().value(dossier)
    text = msgspec.json.encode(redacted).decode()
    assert not _left(text, "zyta quokka moria17")
    assert msgspec.json.decode(text, type=Dossier) == redacted
    assert redacted.launches[0].kernel == "triton_poi_fused_add_0"
    assert redacted.launches[0].arguments == dossier.launches[0].arguments
    assert redacted.report.findings[0].evidence[0].line == 3
    assert redacted.report.findings[0].role == "cause"
    assert redacted.report.verdict.failure_class == "illegal-memory-access"
    assert redacted.report.sources[0].records == {"torch_trace": 1}


def test_value_keeps_equal_strings_equal(dossier: Dossier) -> None:
    redacted = Redactor().value(dossier)
    assert redacted.launches[0].source == redacted.report.findings[0].evidence[0].source


def test_value_leaves_what_holds_nothing_private_as_it_is() -> None:
    argument = Argument(name="buf0", phase="before", dtype="float32", size=(2, 3))
    assert Redactor().value(argument) is argument


def test_value_looks_into_every_kind_of_collection() -> None:
    rule = Rule("a", "/srv/q/x.py")
    value = {"/srv/q/x.py": [rule, {"/srv/q/x.py"}, frozenset(("/srv/q/x.py",)), b"/srv/q", 1]}
    new = "<dir-1>/x.py"
    expected = {new: [Rule("a", new), {new}, frozenset((new,)), b"/srv/q", 1]}
    assert Redactor().value(value) == expected


def test_rule_of_ones_own_comes_first_and_names_its_tokens() -> None:
    redactor = Redactor([Rule("ticket", r"QK-\d+"), Rule("team", r"team (?P<value>\w+)")])
    text = redactor.text("QK-12 by team red, then QK-12, QK-13 by team blue")
    assert text == "<ticket-1> by team <team-1>, then <ticket-1>, <ticket-2> by team <team-2>"
    assert redactor.found() == {"ticket": 2, "team": 2}


def test_line_on_which_a_rule_takes_too_long_is_replaced_whole() -> None:
    redactor = Redactor([Rule("slow", r"(a|aa)+(a|aa)+(a|aa)+$")])
    text = redactor.text("aab\n" + "a" * 60 + "!")
    assert text == "aab\n<slow-1>"
    assert "rule 0 (slow)" in redactor.overruns()[0]


def test_rule_that_matches_nothing_at_all_changes_nothing() -> None:
    assert Redactor([Rule("empty", "x*")]).text("abc") == "abc"


def test_rules_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("[[rule]]\nkind = 'ticket'\nregex = 'QK-\\d+'\n")
    assert read_rules(file) == (Rule("ticket", r"QK-\d+"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[rule]]\nkind = 'Ticket'\nregex = 'a'", r"rules.toml: rule\[0\].kind: 'Ticket' is no"),
        ("[[rule]]\nkind = 'a'\nregex = '('", r"rules.toml: rule\[0\].regex: missing \)"),
        ("[[rule]]\nkind = 'a'", r"rules.toml: .*missing required field `regex`.*rule"),
        ("[[rule]]\nkind = 'a'\nregex = 3", r"rules.toml: Expected `str`, got `int`.*regex"),
        ("[[rules]]\nkind = 'a'", "rules.toml: .*unknown field `rules`"),
        ("[[rule", "rules.toml: "),
        ("rule = '\udcff'", "rules.toml: .*utf-8"),
    ],
)
def test_malformed_rules_are_told_with_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(RuleError, match=told) as raised:
        read_rules(file)
    assert isinstance(raised.value, LogscanError)


def test_missing_file_of_rules_is_told(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"rules\.toml"):
        read_rules(tmp_path / "rules.toml")


def test_bad_rule_given_directly_is_told() -> None:
    with pytest.raises(RuleError, match=r"rules\[0\].regex"):
        Redactor([Rule("a", "(")])


#: what must survive in every log, wherever it stands
_SURVIVES = re.compile(
    r"\b(?:triton_(?:poi|per|red|tem)_\w+|cpp_fused_\w+|c[a-z2-7]{51}\b|aoti_torch_\w+"
    r"|[\w.-]+\.(?:py|cpp|cu|cuh|h):\d+|AOTI_\w+|CUDA_LAUNCH_BLOCKING=\d|TORCH_\w+"
    r"|torch/[\w/]+\.py|aten/src/[\w/]+\.\w+|c10/[\w/]+\.\w+|(?:size|stride|dtype)=[\w.\[\]()]+)"
    r"|Assertion `[^`']{1,200}|line \d+|\w+Error: [^/<\n\"'@]{0,80}|input_handles\[\d+\][\w :,()]+"
)


def _logs() -> list[Path]:
    files = [*FIXTURES.glob("*/input/**/*"), *FIXTURES.glob("forms/*/input/**/*")]
    return sorted(
        file
        for file in files
        if file.is_file() and file.read_bytes()[:2] not in (b"PK", b"\x1f\x8b")
    )


@pytest.mark.parametrize("file", _logs(), ids=lambda file: str(file.relative_to(FIXTURES)))
def test_real_log_keeps_its_story(file: Path) -> None:
    text = file.read_bytes().decode("utf-8", errors="replace")
    redacted = Redactor().text(text)
    assert _SURVIVES.findall(redacted) == _SURVIVES.findall(text)
    assert redacted.count("\n") == text.count("\n")
    assert not re.search(r"/home/|torchinductor_(?!root|<)[a-z]+/|/srv/\w|Users[/\\]", redacted)


_HOSTILE = st.one_of(
    st.text(),
    st.text(
        alphabet=st.sampled_from(
            list("aZ0/\\.:@=<>-_ \n\r\t\"'`%~$!?&[]{}()|u2Fn\x1b\x00\ud800\u202e")
        )
    ),
    st.lists(
        st.sampled_from(
            [text for text, _ in CASES]
            + ["<user-1>", "<dir-1>", "<token-1>", "anna", "/home/", "anna@", "://", "=", "\\", "/"]
            + [
                "-----BEGIN PRIVATE KEY-----",
                "password=",
                "C:\\",
                "\\\\",
                "%2F",
                ".",
                ":",
                "::",
                "@",
            ]
        )
    ).map("".join),
)


@hypothesis.given(_HOSTILE)
@hypothesis.settings(deadline=None)
def test_redacted_text_comes_back_as_it_is(text: str) -> None:
    redactor = Redactor(names=["anna"])
    redacted = redactor.text(text)
    assert redactor.text(redacted) == redacted


@hypothesis.given(st.lists(_HOSTILE))
@hypothesis.settings(deadline=None)
def test_value_is_what_text_gives(texts: list[str]) -> None:
    redactor = Redactor()
    redacted = redactor.value(texts)
    assert redacted == [redactor.text(text) for text in texts]
    assert redactor.value(tuple(texts)) == tuple(redacted)


@hypothesis.given(_HOSTILE, st.sampled_from(["anna17", "gpu-node-17", "10.1.2.3"]))
@hypothesis.settings(deadline=None)
def test_value_is_found_whatever_stands_before_it(text: str, secret: str) -> None:
    """Each on a line of its own, in a form of its own."""
    forms = f"\n/home/anna17/x/y.py\n  host      : gpu-node-17\npeer 10.1.2.3\n{secret}\n"
    redacted = Redactor().text(text + forms)
    assert secret not in redacted.removeprefix(text).splitlines()[-1]


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "/a",
        "a.",
        "a@b ",
        "<user-1>",
        "password=",
        "A=b ",
        "::",
        "\\\\a\\",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_megabyte_of_one_thing_is_read(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert isinstance(Redactor().text(text), str)


def test_thirty_thousand_names_are_read() -> None:
    text = "\n".join(f"/home/anna{number}/x.py anna{number}" for number in range(30_000))
    redactor = Redactor()
    assert redactor.text(text).splitlines()[-1] == "<dir-30000>/x.py <user-30000>"
    assert redactor.found() == {"user": 30_000, "dir": 30_000}
