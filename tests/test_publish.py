"""What is made to be passed on holds no secret of any input, whichever way it came in."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aoti_logscan.recording import run_record
from tests.conftest import FIXTURES, Run

USER = "annabelle.kowalczyk"
HOME = f"/home/{USER}"
PROJECT = f"{HOME}/skunkworks-fraud"
HOST = "gpu-node-17.corp.acme-internal.net"
IP, IP6, MAC = "10.42.17.99", "fd12:3456:789a::17", "3c:ec:ef:12:9a:b4"
MAIL = "annabelle.k@acme-internal.net"
HF, GITHUB = "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", "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
AWS, PASSWORD, OPAQUE = (
    "AKIAQ7F3ZK5LXW2N9JTD",
    "hunter2-Tr0ub4dor",
    "Zk9xQ2vL7mRt4WbN8cYp3HsD6gJf1AaE",
)
SECRETS = {
    **{"user": USER, "project": "skunkworks-fraud", "host": HOST, "ip": IP, "ip6": IP6},
    **{"mac": MAC, "mail": MAIL, "hf": HF, "github": GITHUB, "aws": AWS},
    **{"password": PASSWORD, "opaque": OPAQUE},
}
TORCH = f"{HOME}/venv/lib/python3.11/site-packages/torch"
ERROR = "Error: input_handles[0]: unmatched dim value at 1, expected: 8, but got: 9"

#: lines of a terminal around the failure, as people paste them
TERMINAL = f"""\
{USER}@{HOST}:~/skunkworks-fraud$ export HF_TOKEN={HF}
{USER}@{HOST}:~/skunkworks-fraud$ AWS_ACCESS_KEY_ID={AWS} DB_PASSWORD={PASSWORD} python serve.py
connecting to https://svc:{PASSWORD}@{HOST}:8443/v1?token={OPAQUE} from {IP} [{IP6}] ({MAC})
Authorization: Bearer {OPAQUE}
cloning https://{GITHUB}@github.com/acme/skunkworks-fraud for {MAIL}
Traceback (most recent call last):
  File "{PROJECT}/serve.py", line 41, in main
    scores = model(batch)  # asked {MAIL}, key {HF}
  File "{TORCH}/export/pt2_archive/_package.py", line 743, in __call__
    flat_outputs = self.loader.boxed_run(flat_inputs)
RuntimeError: {ERROR}
Segmentation fault (core dumped) on {HOST} for {USER} in {PROJECT}
"""
TRACE = (
    "V1130 06:29:53.164000 16210 torch/_dynamo/utils.py:2009] "
    + json.dumps(
        {
            "compilation_metrics": {
                "compile_id": "0/0",
                "co_filename": f"{PROJECT}/model.py",
                "fail_type": "InductorError",
                "fail_reason": f"LoweringException: no {PROJECT}/w.bin with {HF} on {HOST}",
            },
            "frame_id": 0,
        }
    )
    + "\n"
)
WRAPPER = f"""\
// Compile cmd
// g++ {PROJECT}/model.cpp -I{TORCH}/include -DKEY={OPAQUE}
void AOTInductorModel::run_impl(
    cpp_fused_add_0(buf0);  // File: {PROJECT}/model.py:7 in forward, by {MAIL} from {IP}
"""
DUMP = (
    f"[ before_launch: cpp_fused_add_0 ]\n  path {PROJECT} host {HOST}\n"
    f"run.sh: line 7:   977 Segmentation fault      (core dumped) python {PROJECT}/serve.py {HF}\n"
)
STACK = (
    f"terminate called after throwing an instance of 'std::runtime_error'\n"
    f"  what():  cannot open {PROJECT}/weights.bin for {USER} at {IP}\n"
    f"Exception raised from load at {PROJECT}/csrc/load.cpp:12 (most recent call first):\n"
    f"frame #0: c10::Error::Error() + 0x99 (0x7f1 in {HOME}/venv/lib/libc10.so)\n"
    f"frame #1: fraud::load() + 0x11 (0x7f2 in {PROJECT}/libfraud.so)\n"
)


def _text(folder: Path) -> None:
    (folder / f"{USER}.log").write_text(TERMINAL)


def _json_lines(folder: Path) -> None:
    lines = [json.dumps({"log": line, "host": HOST}) for line in TERMINAL.splitlines()]
    (folder / "pod.log").write_text("\n".join(lines))
    (folder / "whole.json").write_text(json.dumps({"stderr": TERMINAL}))


def _trace(folder: Path) -> None:
    (folder / "dedicated_log_torch_trace_rank_0_x.log").write_text(TRACE)


def _package(folder: Path) -> None:
    with zipfile.ZipFile(folder / f"{USER}.pt2", "w") as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/data/aotinductor/model/cabc.wrapper.cpp", WRAPPER)
    (folder / "run.log").write_text(
        f"Error: cpp_fused_add_0(buf0) API call failed at {PROJECT}/cabc.wrapper.cpp, line 4\n"
        + TERMINAL
    )


def _source(folder: Path) -> None:
    (folder / "cabc.wrapper.cpp").write_text(WRAPPER)
    (folder / "run.log").write_text(DUMP)


def _printer(folder: Path) -> None:
    (folder / "run.log").write_text(DUMP)


def _stack(folder: Path) -> None:
    (folder / "run.log").write_text(STACK)


def _compressed(folder: Path) -> None:
    (folder / "run.log.gz").write_bytes(gzip.compress(TERMINAL.encode()))


def _archive(folder: Path) -> None:
    with tarfile.open(folder / "logs.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo(f"{USER}/run/rank0.log")
        info.size = len(TERMINAL.encode())
        archive.addfile(info, io.BytesIO(TERMINAL.encode()))


def _utf16(folder: Path) -> None:
    (folder / "run.log").write_bytes(TERMINAL.encode("utf-16"))


def _recording(folder: Path) -> None:
    (folder / "output.log").write_text(TERMINAL)
    record = {
        "command": ["python", f"{PROJECT}/serve.py", "--token", OPAQUE],
        "directory": PROJECT,
        "environment": [f"TORCH_TRACE={PROJECT}/trace"],
        "kept": [f"TORCH_LOGS=+dynamo,{HF}"],
        "signal": "SIGSEGV",
    }
    (folder / "run.json").write_bytes(run_record(record))


def _coloured(folder: Path) -> None:
    lines = TERMINAL.replace(USER, f"\x1b[1;32m{USER}\x1b[0m").splitlines()
    (folder / "run.log").write_text("\n".join(f"\x1b[31m{line}\x1b[0m" for line in lines))


INPUTS: dict[str, Callable[[Path], None]] = {
    one.__name__.strip("_"): one
    for one in (
        *(_text, _json_lines, _trace, _package, _source, _printer, _stack, _compressed),
        *(_archive, _utf16, _recording, _coloured),
    )
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is named after its owner."""
    made = tmp_path / f"of-{USER}"
    made.mkdir()
    return made


def _published(run: Run, folder: Path, *args: str) -> Iterator[tuple[str, str]]:
    """Every text that is made to be passed on, by its name."""
    for form in ("markdown", "html", "sarif"):
        result = run("-f", form, str(folder), *args)
        assert result.exit_code == 1, result.output
        yield form, result.stdout
    path = folder.parent / "bug.zip"
    assert run("--attach", str(path), str(folder), *args).exit_code == 1
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            yield f"name of {info.filename}", info.filename
            yield info.filename, archive.read(info).decode()


def _leaks(text: str) -> list[str]:
    """The secrets that a text holds, also in other letters, escaped, or spelt as in a URI."""
    lowered = text.lower()
    return [name for name, secret in SECRETS.items() if secret.lower() in lowered]


@pytest.mark.parametrize("kind", INPUTS)
def test_no_secret_is_in_what_is_passed_on(kind: str, run: Run, folder: Path) -> None:
    INPUTS[kind](folder)
    leaked = {name: found for name, text in _published(run, folder) if (found := _leaks(text))}
    assert leaked == {}


@pytest.mark.parametrize("kind", INPUTS)
def test_secrets_are_there_where_nothing_is_redacted(kind: str, run: Run, folder: Path) -> None:
    """What the test above looks for would be found: the inputs lead into the outputs."""
    INPUTS[kind](folder)
    found = {name for _, text in _published(run, folder, "--no-redact") for name in _leaks(text)}
    assert {"user", "project"} <= found
    assert len(found) >= 3


def test_story_can_still_be_followed(run: Run, folder: Path) -> None:
    INPUTS["package"](folder)
    shown = run("-f", "markdown", str(folder)).stdout
    for kept in (
        "input-mismatch",
        "unmatched dim value at 1, expected: 8, but got: 9",
        "/site-packages/torch/export/pt2_archive/_package.py",
        "serve.py",
        "line 41",
    ):
        assert kept in shown


def test_it_is_said_what_was_replaced_and_not_with_what(run: Run, folder: Path) -> None:
    INPUTS["text"](folder)
    result = run("--attach", str(folder.parent / "bug.zip"), str(folder))
    told = result.stderr
    assert " bytes. Redacted: " in told
    assert " user name" in told
    with zipfile.ZipFile(folder.parent / "bug.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["redacted"]["user"] >= 1
    assert _leaks(json.dumps(manifest)) == []


def test_rules_of_the_users_own_are_added(run: Run, folder: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nkind = "ticket"\nregex = "FRAUD-\\\\d+"\n')
    (folder / "run.log").write_text(f"{ERROR}\nsee FRAUD-1234 and FRAUD-1234\n")
    shown = run("-f", "markdown", "--redact", str(rules), str(folder)).stdout
    assert "FRAUD-1234" not in shown
    assert shown.count("<ticket-1>") >= 2


def test_broken_rule_is_one_clear_line(run: Run, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nkind = "ticket"\nregex = "("\n')
    log = str(FIXTURES / "input-dim-static/input")
    result = run("-f", "markdown", "--redact", str(rules), log)
    assert result.exit_code == 2
    assert "rules.toml" in result.stderr
    assert "Traceback" not in result.stderr


def test_terminal_and_json_keep_their_paths(run: Run, folder: Path) -> None:
    INPUTS["text"](folder)
    assert str(folder) in run("-f", "json", str(folder)).stdout


def test_attachment_that_cannot_be_written_costs_no_report(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "none" / "bug.zip"
    result = run("--attach", str(path), str(FIXTURES / "input-dim-static/input"))
    assert result.exit_code == 2
    assert result.stdout.startswith("Input mismatch")
    assert f"cannot write {path}: No such file or directory" in result.stderr


def test_healthy_run_is_published_too(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text("hello\n")
    for form in ("markdown", "html", "sarif"):
        assert run("-f", form, str(log)).exit_code == 0
    assert run("--attach", str(tmp_path / "bug.zip"), str(log)).exit_code == 0


@pytest.mark.parametrize("option", ["--attach", "--tlparse"])
def test_events_are_listed_alone(option: str, run: Run, tmp_path: Path) -> None:
    log = str(FIXTURES / "input-dim-static/input")
    result = run("-f", "events", option, str(tmp_path / "x"), log)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "-f events goes with neither --attach nor --tlparse" in result.stderr


def _refused(run: Run, *args: str) -> str:
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


@pytest.mark.parametrize("option", ["--attach", "--output"])
def test_what_is_read_is_not_written(option: str, run: Run, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(TERMINAL)
    link = tmp_path / "link.log"
    link.symlink_to(log)
    for target in (log, link):
        told = _refused(run, str(log), option, str(target))
        assert f"{option}: {target} is read, it cannot be written too" in told
    assert log.read_text() == TERMINAL
    assert f"{option} needs a file's name" in _refused(run, str(log), option, "")


def test_one_output_does_not_replace_the_other(run: Run, tmp_path: Path) -> None:
    log, target = str(FIXTURES / "input-dim-static/input"), str(tmp_path / "a.zip")
    told = _refused(run, log, "--attach", target, "-o", f"{tmp_path}/./a.zip")
    assert "--output and --attach are the same file" in told


@pytest.mark.parametrize("before", [0, 1500, 1990, 5000])
@pytest.mark.parametrize("after", [0, 35, 60, 5000])
def test_secret_in_a_long_line_is_seen_whole(
    before: int, after: int, run: Run, tmp_path: Path
) -> None:
    long = "x " * before + f"--password {PASSWORD} " + "y " * after
    log = tmp_path / "run.log"
    log.write_text(f"{long}\n{ERROR} {long}\n{long}\n")
    leaked = {name for name, text in _published(run, log) if PASSWORD[3:] in text}
    assert leaked == set()


def test_pages_of_tlparse_are_said_to_be_as_they_are(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "dedicated_log_torch_trace_x.log"
    log.write_text(TRACE)
    result = run(str(log), "--tlparse", str(tmp_path / "pages"))
    assert "whose pages are not redacted" in result.stderr
