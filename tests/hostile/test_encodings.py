"""Bytes that are no text, or text of another kind: read where that can be, else said."""

from __future__ import annotations

import codecs
import gzip

import pytest

from tests.conftest import Run
from tests.hostile.tool import CLASS, ERROR, fixture, scan, told

LOG = fixture("forms/a-embedding-large-index/input/train.log")
OF_LOG = "aten-index-out-of-bounds"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_utf16_with_a_mark_is_read(run: Run, encoding: str, pack: object) -> None:
    assert callable(pack)
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else codecs.BOM_UTF16_BE
    report = scan(run, "-", stdin=pack(mark + LOG.decode().encode(encoding)))
    assert report.verdict.failure_class == OF_LOG
    assert report.sources[0].bytes == len(LOG)
    assert told(report) == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_said_to_be_hardly_text(run: Run, encoding: str) -> None:
    report = scan(run, "-", stdin=LOG.decode().encode(encoding))
    assert told(report)[0].startswith("hardly text: ")


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be"])
def test_utf32_with_a_mark_is_said_to_be_hardly_text(run: Run, encoding: str) -> None:
    mark = codecs.BOM_UTF32_LE if encoding == "utf-32-le" else codecs.BOM_UTF32_BE
    report = scan(run, "-", stdin=mark + LOG.decode().encode(encoding))
    assert told(report)[0].startswith("hardly text: ")


def test_utf8_with_the_mark_of_utf16_is_said_to_be_hardly_text(run: Run) -> None:
    (what,) = told(scan(run, "-", stdin=codecs.BOM_UTF16_LE + LOG))
    assert what.startswith("hardly text: ")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_of_other_scripts_is_text(run: Run, encoding: str) -> None:
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else codecs.BOM_UTF16_BE
    text = "\u6a21\u578b\u52a0\u8f7d\u5931\u8d25\n" * 100
    assert told(scan(run, "-", stdin=mark + text.encode(encoding))) == []


def test_utf16_that_goes_on_as_utf8_gives_its_first_part(run: Run) -> None:
    data = codecs.BOM_UTF16_LE + ERROR.decode().encode("utf-16-le") + LOG
    assert scan(run, "-", stdin=data).verdict.failure_class == CLASS


@pytest.mark.parametrize(
    "odd",
    [
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xc0\x80",
        b"\0",
        b"\0" * 5000,
        b"\xe2\x80\xae",
        bytes(range(128, 256)),
        bytes(range(1, 32)),
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
    ids=repr,
)
def test_odd_bytes_around_a_failure_hide_it_not(run: Run, odd: bytes) -> None:
    for form in ("json", "text", "markdown", "html", "sarif", "events"):
        data = odd + b"\n" + ERROR[:-1] + odd + b"\n" + odd
        result = run("-f", form, "-", stdin=data)
        assert result.exit_code == (0 if form == "events" else 1)
        assert result.stderr == ""
    assert scan(run, "-", stdin=data).verdict.failure_class == CLASS


@pytest.mark.parametrize("odd", [b"\0", b"\xff", b"\xc3"], ids=repr)
def test_odd_bytes_anywhere_in_a_failure_never_make_another(run: Run, odd: bytes) -> None:
    for at in range(len(ERROR)):
        report = scan(run, "-", stdin=ERROR[:at] + odd + ERROR[at:])
        assert report.verdict.failure_class in (CLASS, "undecided", "none")
