"""Archives of millions of names, or of endless ones: refused or cut, in little memory, and said."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from aoti_logscan import archives, sources
from tests.conftest import Run
from tests.hostile.packed import END, directory_end, entry, header, member, repeated, tar, zipped
from tests.hostile.tool import CLASS, ERROR, MIB, Done, scan, spawn, told

#: memory of the whole process, in bytes
BOUND = 200 * MIB


def _read(path: Path, data: bytes) -> Done:
    path.write_bytes(data)
    done = spawn("-f", "json", path)
    assert done.peak < BOUND
    return done


def _listing(count: int) -> bytes:
    """A zip of so many members that are all at one place."""
    local = b"PK\3\4" + bytes(26)
    one = entry(b"a.log", 0, 0, 0)
    return local + one * count + directory_end(count, len(one) * count, len(local))


@pytest.mark.parametrize("name", ["logs.zip", "model.pt2"])
def test_zip_of_millions_of_names_is_refused_before_it_is_listed(tmp_path: Path, name: str) -> None:
    (what,) = told(_read(tmp_path / name, _listing(1_000_000)).report)
    assert what.startswith("too many members, in a directory of 51000000 bytes")


def test_zip_that_claims_ten_million_names_is_refused(tmp_path: Path) -> None:
    count, size = 10_000_000, 510_000_000
    with open(tmp_path / "a.zip", "wb") as file:
        file.write(b"PK\3\4")
        file.truncate(4 + size)
        file.seek(0, 2)
        file.write(directory_end(count, size, 4))
    done = spawn("-f", "json", tmp_path / "a.zip")
    assert told(done.report)[0].startswith("too many members, in a directory of 510000000 bytes")
    assert done.peak < BOUND


def test_zip_beyond_what_is_read_gives_its_first_members_and_says_so(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_MEMBERS", 100)
    members = {f"{number}.log": b"" for number in range(110)}
    (tmp_path / "a.zip").write_bytes(zipped({"first.log": ERROR, **members}))
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert told(report) == ["11 of 111 members were not read"]


def test_zip_of_names_in_a_zip_is_refused(tmp_path: Path, run: Run) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"many.zip": _listing(100_000), "run.log": ERROR}))
    report = scan(run, tmp_path)
    assert report.verdict.failure_class == CLASS
    assert told(report)[0].startswith("too many members, in a directory of 5100000 bytes")


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "members after the first 10000 were not read"),
        (tarfile.DIRTYPE, "members after the first 50000 headers were not read"),
    ],
    ids=["links", "folders"],
)
def test_tar_of_a_million_headers_is_cut_and_its_first_log_read(
    tmp_path: Path, kind: bytes, what: str
) -> None:
    many = repeated(header("a", kind) * 1000, 1000)
    done = _read(tmp_path / "a.tar.gz", repeated(member("run.log", ERROR), 1) + many)
    assert done.report.verdict.failure_class == CLASS
    assert told(done.report)[-1] == what


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XGLTYPE])
def test_tar_of_many_members_is_cut_and_its_first_log_read(
    run: Run, monkeypatch: pytest.MonkeyPatch, kind: bytes
) -> None:
    monkeypatch.setattr(sources, "MAX_MEMBERS", 100)
    monkeypatch.setattr(archives, "MAX_HEADERS", 200)
    report = scan(run, "-", stdin=member("run.log", ERROR) + header("a", kind) * 300 + END)
    assert report.verdict.failure_class == CLASS
    assert told(report)[-1].startswith("members after the first ")


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_name_of_a_gigabyte_is_not_held(tmp_path: Path, kind: bytes) -> None:
    start = member("run.log", ERROR) + header("n", kind, 1 << 30)
    data = repeated(start, 1) + repeated(b"a" * MIB, 1024)
    done = _read(tmp_path / "a.tar.gz", data)
    assert done.report.verdict.failure_class == CLASS
    assert told(done.report)[-1] == "a name of 1073741824 bytes; it and the rest were not read"


@pytest.mark.parametrize("kind", [tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK])
def test_what_is_passed_over_is_not_held(tmp_path: Path, kind: bytes) -> None:
    start = repeated(header("n", kind, 256 * MIB), 1) + repeated(b"a" * MIB, 256)
    done = _read(tmp_path / "a.tar.gz", start + repeated(tar({"run.log": ERROR}), 1))
    assert done.report.verdict.failure_class == CLASS
    assert told(done.report) == []


@pytest.mark.parametrize(
    "records",
    [b"1" * 200_000, b"9 a=b\n" * 30_000, b"18 path=b.log\n" * 9_000],
    ids=["digits", "short records", "paths"],
)
def test_extended_header_costs_no_more_than_its_length(run: Run, records: bytes) -> None:
    described = member("x", records, tarfile.XHDTYPE) + member("run.log", ERROR)
    report = scan(run, "-", stdin=described * 4 + END)
    assert report.verdict.failure_class == CLASS


@pytest.mark.parametrize(
    "records", [b"3 a" * 80_000 + b"=", b"0 a=b\n" * 9], ids=["keys in keys", "no length"]
)
def test_extended_header_without_end_is_read_to_its_end(tmp_path: Path, records: bytes) -> None:
    described = member("x", records, tarfile.XHDTYPE) + member("run.log", ERROR)
    assert _read(tmp_path / "a.tar", described + END).report.verdict.failure_class == CLASS


@pytest.mark.parametrize("size", [1 << 40, (1 << 63) - 1])
def test_member_of_more_bytes_than_there_are_is_not_skipped_for_ever(
    tmp_path: Path, size: int
) -> None:
    claimed = header("lib.so", size=size) + b"\x7fELF" + bytes(508)
    done = _read(tmp_path / "a.tar", member("run.log", ERROR) + claimed)
    assert done.report.verdict.failure_class == CLASS
    assert told(done.report)[-1] == "a broken tar archive: unexpected end of data"


@pytest.mark.parametrize("size", [b"-1", b"9" * 19, b"9" * 5000, b"1e9", b""])
def test_size_in_an_extended_header_may_be_anything(run: Run, size: bytes) -> None:
    record = b"size=" + size + b"\n"
    record = b"%d " % (len(record) + len(b"%d " % (len(record) + 5))) + record
    described = member("x", record, tarfile.XHDTYPE) + member("b.log", b"fine\n")
    report = scan(run, "-", stdin=member("run.log", ERROR) + described + END)
    assert report.verdict.failure_class == CLASS


def test_holes_of_a_sparse_member_are_not_filled(run: Run) -> None:
    block = bytearray(header("run.log", tarfile.GNUTYPE_SPARSE, len(ERROR)))
    block[386:410] = b"00000000000\0" + b"%011o\0" % len(ERROR)
    block[483:495] = b"77777777777\0"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    report = scan(run, "-", stdin=bytes(block) + ERROR + bytes(-len(ERROR) % 512) + END)
    assert report.verdict.failure_class == CLASS
    assert report.sources[0].bytes == len(ERROR)


def test_name_of_a_member_is_shown_from_its_end(run: Run) -> None:
    name = "d/" * 50_000 + "rank3.log"
    long_name = member("n", name.encode(), tarfile.GNUTYPE_LONGNAME)
    (source,) = scan(run, "-", stdin=long_name + member("x", ERROR) + END).sources
    assert source.name.endswith("d/rank3.log")
    assert len(source.name) < 2_000
    assert source.rank == 3


@pytest.mark.parametrize("name", [b"\xff.log", b"\xed\xa0\x80.log", b"\x1b[31m.log", b"\n"])
def test_name_of_a_member_may_be_any_bytes(run: Run, name: bytes) -> None:
    block = bytearray(header("x", size=len(ERROR)))
    block[: len(name)] = name
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    data = bytes(block) + ERROR + bytes(-len(ERROR) % 512) + END
    assert scan(run, "-", stdin=data).verdict.failure_class == CLASS
