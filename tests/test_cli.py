"""The command: exit status, arguments, output, and that no input or outside trouble breaks it."""

from __future__ import annotations

import json
import os
import pty
import random
import subprocess
import sys
import tomllib
import unicodedata
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

import aoti_logscan
from aoti_logscan import __version__
from aoti_logscan.report import Report
from tests.conftest import FIXTURES, Run

COMMAND = Path(sys.executable).with_name("aoti-logscan")
FAILED = FIXTURES / "input-dtype/input/run.log"
HEALTHY = FIXTURES / "healthy-aoti-trace-213/input"
UNDECIDED = FIXTURES / "xpu-device-lost-cause-unknown/input"
CASES = sorted(file.parent for file in FIXTURES.glob("*/case.toml"))

#: a failure whose text carries nothing but itself
CHECK = "Error: input_handles[0]: unmatched dtype, expected: 6(at::kFloat), but got: 7\n"


def _case(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))


def _paths(folder: Path) -> list[str]:
    """What the fixture is scanned by: its standard input is given as the file it is kept in."""
    case = _case(folder)
    paths: list[str] = case.get("args", [case.get("stdin", "input")])
    return paths


def _decided(folder: Path) -> bool:
    wanted = _case(folder)["expect"]["class"]
    return isinstance(wanted, str) and wanted not in ("none", "undecided")


def _spawn(*args: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """The installed command, in a process of its own; nothing is on its standard input."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    command = [str(COMMAND), *(str(arg) for arg in args)]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=60, check=False, **options)


def _shell(line: str, *args: object) -> subprocess.CompletedProcess[bytes]:
    """A shell line in which "$0" is the command and "$1" is the first argument."""
    words = [str(COMMAND), *(str(arg) for arg in args)]
    return subprocess.run(["sh", "-c", line, *words], capture_output=True, timeout=60, check=False)


# --- exit status


@pytest.mark.parametrize(
    ("path", "status"), [(HEALTHY, 0), (FAILED, 1), (UNDECIDED, 1), ("no/such.log", 2)]
)
def test_exit_status_tells_what_was_found(run: Run, path: object, status: int) -> None:
    assert run(str(path)).exit_code == status


@pytest.mark.parametrize(
    ("path", "status"), [(HEALTHY, 0), (FAILED, 1), (UNDECIDED, 1), ("no/such.log", 2)]
)
def test_installed_command_has_the_same_exit_status(path: object, status: int) -> None:
    assert _spawn(path).returncode == status


def test_module_is_the_command() -> None:
    words = [sys.executable, "-m", "aoti_logscan", str(FAILED)]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, _spawn(FAILED).stdout)


# --- arguments


def test_path_that_does_not_exist_is_one_line_on_stderr() -> None:
    done = _spawn("no/such.log")
    assert (done.stdout, done.stderr) == (b"", b"Error: no such file or directory: no/such.log\n")


def test_path_that_does_not_exist_beside_one_that_does_is_an_error(run: Run) -> None:
    result = run(str(FAILED), "no/such.log")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: no such file or directory: no/such.log\n"


@pytest.mark.parametrize(("word", "meant"), [("schemas", "schema"), ("scans", "scan")])
def test_word_like_a_command_is_a_path_and_names_the_command(
    run: Run, word: str, meant: str
) -> None:
    result = run(word)
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: no such file or directory: {word} (did you mean the command '{meant}'?)\n"
    )


def test_file_named_like_a_command_is_given_with_its_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema").write_text(CHECK, encoding="utf-8")
    assert run("./schema").exit_code == 1


def test_scan_may_be_named(run: Run) -> None:
    assert run("scan", str(FAILED)).stdout == run(str(FAILED)).stdout


@pytest.mark.parametrize("option", ["--nope", "-x"])
def test_unknown_option_is_a_usage_error(run: Run, option: str) -> None:
    result = run(option, str(FAILED))
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert option in result.stderr


def test_unknown_format_names_the_known_ones(run: Run) -> None:
    result = run("-f", "yaml", str(FAILED))
    assert result.exit_code == 2
    assert "'yaml' is not one of 'text', 'json'" in result.stderr


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_shown_and_nothing_is_read(run: Run, option: str) -> None:
    result = run(option)
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: aoti-logscan")
    assert result.stderr == ""


def test_version_is_told(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"aoti-logscan, version {__version__}\n")


def test_no_path_on_a_terminal_shows_help() -> None:
    ours, theirs = pty.openpty()
    try:
        done = _spawn(stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert done.stdout.startswith(b"Usage: aoti-logscan scan [OPTIONS] [PATH]...\n")


def test_no_path_reads_a_pipe(run: Run) -> None:
    assert run(stdin=CHECK.encode()).stdout == run("-", stdin=CHECK.encode()).stdout


def test_options_without_a_path_read_a_pipe(run: Run) -> None:
    report = json.loads(run("-f", "json", stdin=CHECK.encode()).stdout)
    assert report["verdict"]["class"] == "input-mismatch"
    assert [source["name"] for source in report["sources"]] == ["<stdin>"]


def test_several_paths_are_read_in_their_order(run: Run) -> None:
    trace = HEALTHY / "trace"
    report = json.loads(run("-f", "json", str(FAILED), str(trace)).stdout)
    names = [source["name"] for source in report["sources"]]
    assert [Path(name).parent for name in names] == [FAILED.parent, trace]


def test_package_is_opened_beside_the_paths(run: Run) -> None:
    package = str(FAILED.parent / "model.pt2")
    alone = json.loads(run("-f", "json", str(FAILED)).stdout)
    joined = json.loads(run("-f", "json", "--package", package, str(FAILED)).stdout)
    assert alone["findings"][0]["facts"]["name"] is None
    assert joined["findings"][0]["facts"]["name"] == "arg3_1"


# --- where the output goes


@pytest.mark.parametrize("form", ["text", "json"])
def test_output_file_holds_what_stdout_would(run: Run, tmp_path: Path, form: str) -> None:
    file = tmp_path / "report"
    result = run("-f", form, "-o", str(file), str(FAILED))
    assert (result.exit_code, result.output) == (1, "")
    assert file.read_text(encoding="utf-8") == run("-f", form, str(FAILED)).stdout


def test_output_into_a_missing_folder_is_one_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "none" / "report"
    result = run("-o", str(file), str(FAILED))
    assert result.exit_code == 2
    assert result.stderr == f"Error: cannot write {file}: No such file or directory\n"


def test_output_to_a_folder_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    result = run("-o", str(tmp_path), str(FAILED))
    assert result.exit_code == 2
    assert "is a directory" in result.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_reader_that_goes_away_is_no_error(form: str) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = _spawn("-f", form, FAILED, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_full_disk_is_one_line() -> None:
    done = _shell('"$0" "$1" > /dev/full', FAILED)
    assert done.returncode == 2
    assert done.stderr == b"Error: cannot write stdout: No space left on device\n"


@pytest.mark.parametrize("form", ["text", "json"])
def test_closed_stdout_is_one_line(form: str) -> None:
    done = _shell('"$0" -f "$2" "$1" >&-', FAILED, form)
    assert done.returncode == 2
    assert done.stderr == b"Error: cannot write stdout: it is closed\n"


def test_closed_stdout_does_not_matter_to_an_output_file(tmp_path: Path) -> None:
    done = _shell('"$0" -o "$2" "$1" >&-', FAILED, tmp_path / "report")
    assert (done.returncode, done.stderr) == (1, b"")


def test_closed_stdin_named_by_dash_is_one_line() -> None:
    done = _shell('"$0" - <&-')
    assert done.returncode == 2
    why = b"nothing could be opened: <stdin>: there is no standard input"
    assert done.stderr == b"Error: " + why + b"\n"


def test_closed_stdin_without_a_path_shows_help() -> None:
    done = _shell('"$0" <&-')
    assert (done.returncode, done.stderr) == (2, b"")
    assert done.stdout.startswith(b"Usage: ")


def test_dash_named_twice_gives_no_traceback() -> None:
    done = _shell('"$0" - - < "$1"', FAILED)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("form", ["text", "json"])
def test_plain_locale_changes_nothing(form: str) -> None:
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = _spawn("-f", form, FAILED, env=plain)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout == _spawn("-f", form, FAILED).stdout
    assert form == "json" or "·".encode() in done.stdout


# --- odd input


def test_empty_file_has_no_failure(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(b"")
    result = run(str(tmp_path / "run.log"))
    assert (result.exit_code, result.stdout) == (
        0,
        "No failure found\n  1 source, 0 bytes read\n",
    )


def test_random_bytes_have_no_failure_and_are_noted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes(b"\x01" + random.Random(1).randbytes(100_000))
    result = run("-f", "json", str(tmp_path))
    (source,) = json.loads(result.stdout)["sources"]
    assert (result.exit_code, source["bytes"]) == (0, 100_001)
    assert source["problems"][0]["what"].startswith("hardly text: ")


def test_empty_folder_cannot_be_read(run: Run, tmp_path: Path) -> None:
    result = run(str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr == "Error: nothing to read: what was named holds no files\n"


def test_folder_with_nothing_readable_names_the_first_reason(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "nothing")
    (tmp_path / "b").symlink_to(tmp_path / "b")
    result = run(str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: nothing could be opened: {tmp_path / 'a'}: no such file or directory\n"
    )


def test_binary_alone_is_opened_and_is_no_log(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(b"\x7fELF")
    result = run("-f", "json", str(tmp_path))
    (source,) = json.loads(result.stdout)["sources"]
    assert (result.exit_code, source["bytes"]) == (0, 0)
    assert source["problems"] == [{"line": None, "what": "not a log: an ELF object"}]


def test_unreadable_file_beside_a_log_is_a_problem_in_the_report(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"\x7fELF")
    (tmp_path / "run.log").write_text(CHECK, encoding="utf-8")
    result = run("-f", "json", str(tmp_path))
    report = json.loads(result.stdout)
    assert (result.exit_code, report["verdict"]["class"]) == (1, "input-mismatch")
    assert [source["problems"] for source in report["sources"]] == [
        [{"line": None, "what": "not a log: an ELF object"}],
        [],
    ]


def test_null_device_cannot_be_read(run: Run) -> None:
    result = run("/dev/null")
    assert result.exit_code == 2
    assert result.stderr == "Error: nothing could be opened: /dev/null: not a regular file\n"


def test_null_device_on_stdin_is_empty() -> None:
    done = _spawn()
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"No failure found\n  1 source, 0 bytes read\n"


@pytest.mark.parametrize("name", ["logs.zip", "model.pt2"])
def test_malformed_archive_is_a_problem_not_a_usage_error(
    run: Run, tmp_path: Path, name: str
) -> None:
    package = (FIXTURES / "input-dtype/input/model.pt2").read_bytes()
    (tmp_path / name).write_bytes(package[:40_000])
    assert run(str(tmp_path / name)).exit_code == 0


def test_empty_archive_cannot_be_read(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w"):
        pass
    result = run(str(tmp_path / "logs.zip"))
    assert result.exit_code == 2
    assert result.stderr == "Error: nothing to read: what was named holds no files\n"


def test_garbled_artifact_in_an_archive_is_a_problem_in_the_report(
    run: Run, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("out.py", random.Random(1).randbytes(20_000))
        archive.writestr("run.log", CHECK)
    data = bytearray((tmp_path / "logs.zip").read_bytes())
    data[10_000] ^= 0xFF
    (tmp_path / "logs.zip").write_bytes(data)
    result = run("-f", "json", str(tmp_path))
    assert result.exit_code == 1
    assert "CRC" in json.loads(result.stdout)["sources"][0]["problems"][0]["what"]


def test_file_name_of_any_bytes_is_told_in_json(run: Run, tmp_path: Path) -> None:
    (Path(os.fsencode(tmp_path).decode()) / os.fsdecode(b"\xff.log")).write_text(CHECK)
    result = run("-f", "json", str(tmp_path))
    assert result.exit_code == 1
    assert json.loads(result.stdout)["verdict"]["class"] == "input-mismatch"


def test_file_name_of_any_bytes_is_told_in_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.log")).write_text(CHECK)
    result = run(str(tmp_path))
    assert result.exit_code == 1
    assert "\ufffd.log:1" in result.stdout


# --- no control character of a log reaches the terminal


def _unsafe(text: str) -> list[str]:
    """Characters of the text, but for newlines, that a terminal may act on."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]


_CONTROLS = [
    "\x1b[2J",
    "\x1b]0;owned\x07",
    "\x1b",
    "\x07",
    "\x08\x08",
    "\x00",
    "\x7f",
    "\x9b31m",
    "\r",
    "\u200e",
    "\u202e",
    "\u2066",
    "\ufeff",
]


@pytest.mark.parametrize("show", [(), ("--all",)], ids=["folded", "all"])
@pytest.mark.parametrize(
    "control",
    [
        *_CONTROLS,
        "\u061c",
        "\u00ad",
        "\U000e0041",
    ],
    ids=ascii,
)
def test_control_characters_of_a_log_are_shown_not_sent(
    run: Run, control: str, show: tuple[str, ...]
) -> None:
    check = f"{control}{CHECK.rstrip()}{control}\n"
    head = f"{control}x.py:3: f{control}: block: [0,0,0], thread: [1,0,0] "
    log = f"{check}{head}Assertion `a{control}b < c` failed.\n{control}"
    result = run(*show, stdin=log.encode())
    assert result.exit_code == 1
    assert _unsafe(result.stdout) == []


def test_control_characters_of_a_file_name_are_shown_not_sent(run: Run, tmp_path: Path) -> None:
    (tmp_path / "\x1b]0;t\x07\u202e.log").write_text(CHECK, encoding="utf-8")
    (tmp_path / "\x1b.so").write_bytes(b"\x7fELF")
    result = run(str(tmp_path))
    assert result.exit_code == 1
    assert _unsafe(result.stdout) == []


def test_output_to_a_pipe_has_no_colour() -> None:
    assert b"\x1b" not in _spawn(FAILED).stdout


# --- fixtures


_DECIDED = [folder for folder in CASES if _decided(folder)]


@pytest.mark.parametrize("folder", _DECIDED, ids=lambda folder: str(folder.name))
def test_verdict_and_next_step_stand_within_the_first_twelve_lines(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    result = run(*_paths(folder))
    top = result.stdout.splitlines()[:12]
    assert result.exit_code == 1
    assert top[0].endswith(("  sure", "  likely", "  possible"))
    assert [line[:8] for line in top if line.startswith("Next ")] == ["Next 1  "]


@cache
def _schema() -> Any:
    done = _spawn("schema", "report")
    return json.loads(done.stdout)


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: str(folder.name))
def test_report_keeps_to_its_schema(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    report = json.loads(run("-f", "json", *_paths(folder)).stdout)
    errors = jsonschema.Draft202012Validator(_schema()).iter_errors(report)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


def test_schema_refuses_what_is_no_report() -> None:
    assert not jsonschema.Draft202012Validator(_schema()).is_valid({"schema_version": "1"})


@pytest.mark.parametrize("of", ["report", "event", "pattern"])
def test_schema_is_a_schema(run: Run, of: str) -> None:
    result = run("schema", of)
    assert result.exit_code == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(result.stdout))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: str(folder.name))
def test_library_gives_the_report_of_the_command(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    printed = msgspec.json.decode(run("-f", "json", *_paths(folder)).stdout, type=Report)
    assert printed == aoti_logscan.analyze(_paths(folder))


def test_json_is_the_same_on_every_run(run: Run) -> None:
    assert run("-f", "json", str(UNDECIDED)).stdout == run("-f", "json", str(UNDECIDED)).stdout


def test_name_that_the_package_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'aoti_logscan' has no attribute 'nothing'"):
        _ = aoti_logscan.nothing
