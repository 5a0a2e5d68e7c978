"""Poor surroundings: locales, folders, variables and limits of the process."""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.packed import PACKERS, repeated, zipped
from tests.hostile.test_special_files import _as_anyone
from tests.hostile.tool import CLASS, ERROR, MIB, fixture, spawn, told

FORMS = ["text", "html"]
#: what Python itself needs to find the tool
NEEDED = {name: os.environ[name] for name in ("PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}

LOCALES: dict[str, dict[str, str]] = {
    "nothing set": {},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "POSIX": {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    "none such": {"LC_ALL": "xx_XX.nonsense"},
    "ascii": {"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"},
    "utf-16": {"PYTHONIOENCODING": "utf-16"},
    "cp1252": {"PYTHONIOENCODING": "cp1252:strict"},
}


def test_locale_changes_no_report_and_no_error(tmp_path: Path) -> None:
    log = tmp_path / "é漢.log"
    log.write_bytes("é漢\U0001f600 ".encode() + fixture("input-dtype/input/run.log"))
    plain = spawn(log, env={**NEEDED, "LC_ALL": "C.UTF-8"})
    assert (plain.status, plain.err) == (1, b"")
    assert "é漢.log" in plain.out.decode()
    for name, locale in LOCALES.items():
        done = spawn(log, env={**NEEDED, **locale})
        assert done == plain._replace(peak=done.peak), name


@pytest.mark.parametrize("locale", ["ascii", "utf-16"])
@pytest.mark.parametrize("words", [["no/é漢"], ["--attach", "/dev/null/é漢", "-"]], ids=" ".join)
def test_locale_changes_no_status(words: list[str], locale: str) -> None:
    done = spawn(*words, feed=[ERROR], env={**NEEDED, **LOCALES[locale]})
    assert done.status == 2
    assert b"Traceback" not in done.err
    assert len(done.err) > 10


SETTINGS: dict[str, dict[str, str]] = {
    "no home": {"HOME": ""},
    "a home that is not there": {"HOME": "/nonexistent"},
    "a home that is a device": {"HOME": "/dev/null"},
    "no path": {"PATH": ""},
    "no temporary folder": {"TMPDIR": "/nonexistent"},
    "an unknown terminal": {"TERM": "bogus", "COLUMNS": "-3", "LINES": "x"},
    "colour": {"FORCE_COLOR": "", "NO_COLOR": "1"},
    "users that are nobody": {"USER": "", "LOGNAME": "\x1b[31m"},
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_setting_changes_no_report(setting: dict[str, str]) -> None:
    done = spawn("-f", "html", "-", feed=[ERROR], env={**NEEDED, **setting})
    assert (done.status, done.err) == (1, b"")
    assert b"isaligned" in done.out


@pytest.mark.parametrize("form", FORMS)
def test_folder_that_is_gone_changes_no_report(tmp_path: Path, form: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = spawn("-f", form, "-", feed=[ERROR], cwd=gone, ready=gone.rmdir)
    assert (done.status, done.err) == (1, b"")


@pytest.mark.parametrize("option", ["-o", "--attach", "--tlparse"])
def test_output_into_a_folder_that_is_gone_is_one_line(tmp_path: Path, option: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = ["-f", "html", option, "report", "-"]
    done = spawn(*words, feed=[ERROR], cwd=gone, ready=gone.rmdir)
    assert b"Traceback" not in done.err
    assert done.status == (1 if option == "--tlparse" else 2)
    assert done.err.count(b"\n") == 1


def test_run_in_a_folder_that_is_gone_keeps_its_status(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = spawn("run", "--", "sh", "-c", "exit 7", cwd=gone, ready=gone.rmdir)
    assert done.status == 7
    assert b"Traceback" not in done.err


def test_folders_that_may_not_be_written_change_no_report(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    env = {**NEEDED, "HOME": str(home), "TMPDIR": str(home)}
    for form in FORMS:
        done = spawn("-f", form, "-", feed=[ERROR], env=env, cwd=home, ready=_as_anyone)
        assert (done.status, done.err) == (1, b"")
    done = spawn("-o", "report", "-", feed=[ERROR], env=env, cwd=home, ready=_as_anyone)
    assert (done.status, done.err) == (2, b"Error: cannot write report: Permission denied\n")


def test_few_descriptors_are_enough(tmp_path: Path) -> None:
    for number in range(40):
        folder = tmp_path / ("d/" * number)
        folder.mkdir(exist_ok=True)
        (folder / "a.log").write_bytes(b"fine\n")
        (folder / "b.gz").write_bytes(PACKERS["gz"](b"fine\n"))
        (folder / "c.zip").write_bytes(zipped({"d.log": ERROR, "e.py": b"x = 1\n"}))
        (folder / "m.pt2").write_bytes(zipped({"m/a.wrapper.cpp": b"x"}))
    done = spawn("-f", "json", tmp_path, limits={resource.RLIMIT_NOFILE: 16})
    assert done.report.verdict.failure_class == CLASS
    assert told(done.report) == []
    assert len(done.report.sources) == 40 * 5


@pytest.mark.parametrize(
    "words", [[], ["-f", "html"], ["kernels"], ["run", "--", "sh", "-c", "exit 1"]], ids=" ".join
)
def test_fewest_descriptors_are_enough(words: list[str]) -> None:
    limits = {resource.RLIMIT_NOFILE: 16}
    done = spawn(*words, *([] if "run" in words else ["-"]), feed=[ERROR], limits=limits)
    assert b"Traceback" not in done.err
    assert done.status in (0, 1)


@pytest.mark.parametrize("of", ["words", "lines", "errors", "packed", "package"])
def test_two_gigabytes_of_addresses_are_enough(tmp_path: Path, of: str) -> None:
    data: dict[str, Any] = {
        "words": repeated(b"a" * MIB, 200),
        "lines": repeated(b"step 1 of 2\n" * (MIB // 12), 40),
        "errors": repeated(b"RuntimeError: CUDA error: invalid argument\n" * 1000, 8),
        "packed": repeated(bytes(MIB), 300, PACKERS["xz"]),
        "package": zipped({"m/a.wrapper.cpp": b"x = 1\n" * (12 * MIB)}),
    }
    (tmp_path / ("a.pt2" if of == "package" else "a.log.x")).write_bytes(data[of])
    (tmp_path / "run.log").write_bytes(ERROR)
    done = spawn("-f", "json", tmp_path, limits={resource.RLIMIT_AS: 2 << 30})
    found = {finding.failure_class for finding in done.report.findings}
    assert CLASS in found


def test_stack_of_a_megabyte_is_enough(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{\n "aoti_logscan_run": ' + "[" * 100_000)
    (tmp_path / "run.log").write_bytes(ERROR)
    done = spawn("-f", "json", tmp_path, limits={resource.RLIMIT_STACK: MIB})
    assert done.report.verdict.failure_class == CLASS
