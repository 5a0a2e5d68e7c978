"""Paths to sources, artifacts and what is not read: files, folders, pipes, archives, encodings."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import random
import struct
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from aoti_logscan import sources, streams
from aoti_logscan.errors import UnreadablePathError
from aoti_logscan.sources import Artifact, Named, PackageFile, Source, Unread, find
from aoti_logscan.streams import Stream
from tests.conftest import FIXTURES

TEXT = b"one\ntwo \xc3\xa9\n"
#: text that packs to half its size only
_NOISE = random.Random(2).randbytes(50_000).hex().encode()


def _find(*paths: object) -> list[Named]:
    return list(find([str(path) for path in paths]))


def _only(*paths: object) -> Named:
    (named,) = _find(*paths)
    return named


def _drain(stream: Stream) -> bytes:
    """All bytes of a stream, asked for a few at a time."""
    view = memoryview(bytearray(7))
    chunks = iter(lambda: bytes(view[: stream.readinto(view)]), b"")
    return b"".join(chunks)


def _read(named: Named) -> bytes:
    assert isinstance(named, Source)
    stream = named.open()
    data = _drain(stream)
    stream.close()
    assert stream.problem is None
    return data


def _content(named: Named) -> bytes:
    """What an artifact holds."""
    assert isinstance(named, Artifact)
    content = named.read()
    if isinstance(content, PackageFile):
        content.file.seek(0)
        data = content.file.read()
        assert len(content) == len(data)
        return data
    return content


def _broken(named: Named) -> tuple[bytes, str | None]:
    """What came of a stream before it broke off, and what it says."""
    assert isinstance(named, Source)
    stream = named.open()
    return _drain(stream), stream.problem


def _unread(named: Named) -> tuple[str, str]:
    assert isinstance(named, Unread)
    return named.name, named.why


def _file(path: Path, data: bytes = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


# --- files


def test_file_is_a_source_of_its_bytes(tmp_path: Path) -> None:
    log = _file(tmp_path / "run.log")
    named = _only(log)
    assert (named.name, _read(named)) == (str(log), TEXT)


def test_file_of_any_name_is_a_source(tmp_path: Path) -> None:
    assert _read(_only(_file(tmp_path / "core.42"))) == TEXT


def test_empty_file_is_a_source(tmp_path: Path) -> None:
    named = _only(_file(tmp_path / "run.log", b""))
    assert isinstance(named, Source)
    assert (named.note, _read(named)) == (None, b"")


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_file_shorter_than_any_mark_is_whole(tmp_path: Path, size: int) -> None:
    assert _read(_only(_file(tmp_path / "run.log", b"abcdefgh"[:size]))) == b"abcdefgh"[:size]


def test_path_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(UnreadablePathError, match=r"^no such file or directory: no/such\.log$"):
        _find("no/such.log")


def test_paths_before_one_that_does_not_exist_are_found(tmp_path: Path) -> None:
    found = find([str(_file(tmp_path / "run.log")), "no/such.log"])
    assert next(found).name == str(tmp_path / "run.log")
    with pytest.raises(UnreadablePathError):
        next(found)


def test_several_paths_keep_their_order(tmp_path: Path) -> None:
    late, early = _file(tmp_path / "z.log"), _file(tmp_path / "a.log")
    assert [named.name for named in _find(late, early)] == [str(late), str(early)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_is_not_read(tmp_path: Path) -> None:
    log = _file(tmp_path / "run.log")
    log.chmod(0)
    assert _unread(_only(log)) == (str(log), "permission denied")


def test_file_that_may_not_be_looked_at_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    log = _file(tmp_path / "run.log")
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", refuse)
        named = _only(log)
    assert _unread(named) == (str(log), "permission denied")


def test_device_is_not_read() -> None:
    assert _unread(_only("/dev/null")) == ("/dev/null", "not a regular file")


# --- folders


def test_folder_is_walked_in_natural_order(tmp_path: Path) -> None:
    for name in ("rank10.log", "rank2.log", "b/rank0.log", "a/x/rank1.log", "c.log"):
        _file(tmp_path / name)
    names = [os.path.relpath(named.name, tmp_path) for named in _find(tmp_path)]
    assert names == ["a/x/rank1.log", "b/rank0.log", "c.log", "rank2.log", "rank10.log"]


def test_names_of_digits_and_of_letters_are_ordered_together(tmp_path: Path) -> None:
    for name in ("10", "9", "a", "1a", "01"):
        _file(tmp_path / name)
    names = [os.path.basename(named.name) for named in _find(tmp_path)]
    assert names == ["01", "1a", "9", "10", "a"]


def test_empty_folder_holds_nothing(tmp_path: Path) -> None:
    assert _find(tmp_path) == []


def test_folder_that_cannot_be_listed_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    assert _unread(_only(tmp_path)) == (str(tmp_path), "permission denied")


def test_link_to_itself_is_not_read(tmp_path: Path) -> None:
    link = tmp_path / "loop"
    link.symlink_to(link)
    assert _unread(_only(link)) == (str(link), "too many levels of symbolic links")
    assert _unread(_only(tmp_path)) == (str(link), "too many levels of symbolic links")


def test_link_to_a_folder_above_is_not_followed(tmp_path: Path) -> None:
    _file(tmp_path / "run.log")
    (tmp_path / "up").symlink_to(tmp_path)
    assert [type(named) for named in _find(tmp_path)] == [Source, Unread]


def test_link_to_a_folder_is_followed_where_it_is_named(tmp_path: Path) -> None:
    _file(tmp_path / "logs/run.log")
    (tmp_path / "link").symlink_to(tmp_path / "logs")
    assert _only(tmp_path / "link").name == str(tmp_path / "link/run.log")


def test_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(_file(tmp_path / "run.log"))
    assert _read(_only(tmp_path / "link")) == TEXT


def test_broken_link_is_not_read(tmp_path: Path) -> None:
    link = tmp_path / "gone"
    link.symlink_to(tmp_path / "nothing")
    assert _unread(_only(link)) == (str(link), "no such file or directory")


def test_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert _unread(_only(tmp_path)) == (str(tmp_path / "pipe"), "not a regular file")


# --- pipes


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Puts bytes on standard input."""

    def put(data: bytes) -> None:
        text = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdin", text)

    return put


def test_dash_is_standard_input(piped: Callable[[bytes], None]) -> None:
    piped(TEXT)
    named = _only("-")
    assert (named.name, _read(named)) == ("<stdin>", TEXT)


def test_empty_standard_input_is_a_source(piped: Callable[[bytes], None]) -> None:
    piped(b"")
    assert _read(_only("-")) == b""


def test_gzip_on_standard_input_is_unpacked(piped: Callable[[bytes], None]) -> None:
    piped(gzip.compress(TEXT))
    assert _read(_only("-")) == TEXT


def test_zip_on_standard_input_is_opened(piped: Callable[[bytes], None], tmp_path: Path) -> None:
    piped(_zip(tmp_path / "a.zip", {"b.log": TEXT}).read_bytes())
    named = _only("-")
    assert (named.name, _read(named)) == ("<stdin>!b.log", TEXT)


def test_bytes_that_only_begin_like_zip_are_not_read(piped: Callable[[bytes], None]) -> None:
    piped(b"PK\x03\x04rest")
    why = "a broken zip archive: File is not a zip file"
    assert _unread(_only("-")) == ("<stdin>", why)


def test_utf16_on_standard_input_is_decoded(piped: Callable[[bytes], None]) -> None:
    piped(TEXT.decode().encode("utf-16"))
    assert _read(_only("-")) == TEXT


def test_dash_named_twice_is_empty_the_second_time(piped: Callable[[bytes], None]) -> None:
    piped(TEXT)
    assert [_read(named) for named in find(["-", "-"])] == [TEXT, b""]


def test_dash_without_standard_input_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert isinstance(_only("-"), Unread)


def _feed(path: Path, data: bytes) -> threading.Thread:
    thread = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT)], ids=["plain", "gzip"])
def test_named_pipe_is_read(tmp_path: Path, data: bytes) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = _feed(pipe, data)
    named = _only(pipe)
    assert (named.name, _read(named)) == (str(pipe), TEXT)
    writer.join(10)


# --- encodings


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_utf16_is_turned_into_utf8(tmp_path: Path, mark: bytes, encoding: str) -> None:
    text = "naïve \U0001f600\r\n" * 20_000
    named = _only(_file(tmp_path / "run.log", mark + text.encode(encoding)))
    assert isinstance(named, Source)
    assert named.note is None
    assert _read(named) == text.encode()


def test_utf16_cut_in_the_middle_of_a_character_ends_in_a_mark(tmp_path: Path) -> None:
    data = codecs.BOM_UTF16_LE + "ab".encode("utf-16-le")[:-1]
    assert _read(_only(_file(tmp_path / "run.log", data))) == b"a\xef\xbf\xbd"


def test_lone_surrogates_in_utf16_are_replaced(tmp_path: Path) -> None:
    data = codecs.BOM_UTF16_LE + b"\x00\xd8a\x00"
    assert _read(_only(_file(tmp_path / "run.log", data))) == b"\xef\xbf\xbda"


def test_mark_of_utf8_is_taken_off(tmp_path: Path) -> None:
    assert _read(_only(_file(tmp_path / "run.log", codecs.BOM_UTF8 + TEXT))) == TEXT


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_file_of_a_mark_alone_is_empty(tmp_path: Path, mark: bytes) -> None:
    assert _read(_only(_file(tmp_path / "run.log", mark))) == b""


# --- what is no log


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (b"\x7fELF\x02\x01\x01", "not a log: an ELF object"),
        (b"\x89PNG\r\n\x1a\n", "not a log: a PNG picture"),
        (b"%PDF-1.7\n", "not a log: a PDF"),
        (b"\x80\x02}q\x00.", "not a log: a pickle"),
    ],
)
def test_other_formats_are_not_read(tmp_path: Path, head: bytes, why: str) -> None:
    binary = _file(tmp_path / "run.log", head + b"\x00" * 100)
    assert _unread(_only(binary)) == (str(binary), why)


def test_random_bytes_are_read_and_noted(tmp_path: Path) -> None:
    data = b"\x01" + random.Random(1).randbytes(9999)
    named = _only(_file(tmp_path / "run.log", data))
    assert isinstance(named, Source)
    assert named.note is not None
    assert named.note.startswith("hardly text: ")
    assert _read(named) == data


@pytest.mark.parametrize("data", [TEXT, b"\x1b[31mred\x1b[0m\r\n" * 100, "é漢字\n".encode() * 99])
def test_text_is_not_noted(tmp_path: Path, data: bytes) -> None:
    named = _only(_file(tmp_path / "run.log", data))
    assert isinstance(named, Source)
    assert named.note is None


def test_log_with_a_few_control_bytes_is_not_noted() -> None:
    named = _only(FIXTURES / "healthy-full-text-logs-with-control-bytes/input/stderr.log")
    assert isinstance(named, Source)
    assert named.note is None


# --- artifacts


@pytest.mark.parametrize("name", ["out.py", "x.wrapper.cpp", "model.pt2"])
def test_generated_code_in_a_folder_is_an_artifact(tmp_path: Path, name: str) -> None:
    _file(tmp_path / name, b"Traceback (most recent call last):\n")
    assert _content(_only(tmp_path)) == b"Traceback (most recent call last):\n"


def test_package_is_an_artifact_whatever_its_name(tmp_path: Path) -> None:
    package = (FIXTURES / "input-dtype/input/model.pt2").read_bytes()
    assert _content(_only(_file(tmp_path / "attachment.zip", package))) == package


@pytest.mark.parametrize(
    "member", ["m/archive_format", "m/data/aotinductor/model/x.so", "x.wrapper.cpp"]
)
def test_zip_laid_out_as_a_package_is_an_artifact(tmp_path: Path, member: str) -> None:
    assert isinstance(_only(_zip(tmp_path / "a.zip", {member: b"pt2"})), Artifact)


def test_code_is_read_one_byte_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_CODE", 5)
    assert _content(_only(_file(tmp_path / "out.py", b"123456789"))) == b"123456"


def test_package_is_not_read_before_it_is_asked_for(tmp_path: Path) -> None:
    with open(_file(tmp_path / "model.pt2", b"PK\x03\x04"), "r+b") as file:
        file.truncate(1 << 40)
    named = _only(tmp_path / "model.pt2")
    assert isinstance(named, Artifact)
    assert len(named.read()) == 1 << 40


# --- compressed files

_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
_EACH = pytest.mark.parametrize("pack", _PACKERS.values(), ids=_PACKERS.keys())


@_EACH
def test_compressed_file_is_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    packed = _file(tmp_path / "run.log", pack(TEXT * 9999))
    named = _only(packed)
    assert (named.name, _read(named)) == (str(packed), TEXT * 9999)


@_EACH
def test_compressed_standard_input_is_unpacked(
    piped: Callable[[bytes], None], pack: Callable[[bytes], bytes]
) -> None:
    piped(pack(TEXT * 9999))
    assert _read(_only("-")) == TEXT * 9999


@_EACH
def test_compressed_file_of_nothing_is_empty(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    assert _read(_only(_file(tmp_path / "run.log", pack(b"")))) == b""


@_EACH
def test_compressed_files_one_after_another_are_one_source(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    assert _read(_only(_file(tmp_path / "run.log", pack(TEXT) + pack(b"3\n")))) == TEXT + b"3\n"


@_EACH
def test_compressed_file_that_is_cut_gives_what_came_and_says_so(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(_NOISE)
    data, problem = _broken(_only(_file(tmp_path / "run.log", packed[: len(packed) // 2])))
    assert problem is not None
    assert problem.startswith("reading stopped: ")
    assert _NOISE.startswith(data)


@_EACH
def test_garbled_compressed_file_says_so(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    packed = bytearray(pack(_NOISE))
    packed[-40:-20] = bytes(20)
    _, problem = _broken(_only(_file(tmp_path / "run.log", bytes(packed))))
    assert problem is not None
    assert problem.startswith("reading stopped: ")


# --- gzip


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    packed = _file(tmp_path / "run.log.gz", gzip.compress(TEXT * 9999))
    named = _only(packed)
    assert (named.name, _read(named)) == (str(packed), TEXT * 9999)


def test_gzip_is_told_by_its_bytes(tmp_path: Path) -> None:
    assert _read(_only(_file(tmp_path / "run.log", gzip.compress(TEXT)))) == TEXT


def test_gzip_of_several_members_is_one_source(tmp_path: Path) -> None:
    data = gzip.compress(TEXT) + gzip.compress(b"three\n")
    assert _read(_only(_file(tmp_path / "run.log.gz", data))) == TEXT + b"three\n"


def test_gzip_of_nothing_is_empty(tmp_path: Path) -> None:
    assert _read(_only(_file(tmp_path / "run.log.gz", gzip.compress(b"")))) == b""


def test_gzip_of_utf16_is_decoded(tmp_path: Path) -> None:
    data = gzip.compress(TEXT.decode().encode("utf-16"))
    assert _read(_only(_file(tmp_path / "run.log.gz", data))) == TEXT


_CUT = "reading stopped: Compressed file ended before the end-of-stream marker was reached"


def test_cut_gzip_gives_what_came_before_the_cut(tmp_path: Path) -> None:
    packed = _file(tmp_path / "run.log.gz", gzip.compress(_NOISE)[:-1000])
    data, problem = _broken(_only(packed))
    assert problem == _CUT
    assert len(data) > 90_000
    assert _NOISE.startswith(data)


def test_short_cut_gzip_gives_what_came_before_the_cut(tmp_path: Path) -> None:
    packed = _file(tmp_path / "run.log.gz", gzip.compress(_NOISE[:2000])[:-100])
    data, problem = _broken(_only(packed))
    assert problem == _CUT
    assert len(data) > 1000
    assert _NOISE.startswith(data)


def test_garbled_gzip_says_so(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(_NOISE))
    packed[40_000:40_100] = bytes(100)
    data, problem = _broken(_only(_file(tmp_path / "run.log.gz", bytes(packed))))
    assert data[:30_000] == _NOISE[:30_000]
    assert problem is not None
    assert problem.startswith("reading stopped: ")


def test_bytes_that_only_begin_like_gzip_say_so(tmp_path: Path) -> None:
    data, problem = _broken(_only(_file(tmp_path / "run.log.gz", b"\x1f\x8b\x08garbage")))
    assert data == b""
    assert problem is not None
    assert problem.startswith("reading stopped: ")


# --- zip


def test_members_are_sources_named_after_their_archive(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "a.zip", {"b.log": TEXT, "sub/c.log": b"three\n", "d.log": b""})
    found = _find(archive)
    assert [(named.name, _read(named)) for named in found] == [
        (f"{archive}!b.log", TEXT),
        (f"{archive}!sub/c.log", b"three\n"),
        (f"{archive}!d.log", b""),
    ]


def test_zip_is_told_by_its_bytes(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "run.log", {"b.log": TEXT}, zipfile.ZIP_STORED)
    assert _read(_only(archive)) == TEXT


def test_folders_in_a_zip_are_passed_over(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "a.zip", {"sub/": b"", "sub/b.log": TEXT})
    assert _only(archive).name == f"{archive}!sub/b.log"


def test_gzip_in_a_zip_is_unpacked(tmp_path: Path) -> None:
    assert _read(_only(_zip(tmp_path / "a.zip", {"b.log.gz": gzip.compress(TEXT)}))) == TEXT


def test_utf16_in_a_zip_is_decoded(tmp_path: Path) -> None:
    data = TEXT.decode().encode("utf-16")
    assert _read(_only(_zip(tmp_path / "a.zip", {"b.log": data}))) == TEXT


def test_generated_code_in_a_zip_is_an_artifact(tmp_path: Path) -> None:
    assert _content(_only(_zip(tmp_path / "a.zip", {"out.py": b"x = 1\n"}))) == b"x = 1\n"


def test_binary_in_a_zip_is_not_read(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "a.zip", {"lib.so": b"\x7fELF"})
    assert _unread(_only(archive)) == (f"{archive}!lib.so", "not a log: an ELF object")


def test_empty_zip_holds_nothing(tmp_path: Path) -> None:
    assert _find(_zip(tmp_path / "a.zip", {})) == []


def test_cut_zip_is_not_read(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "a.zip", {"b.log": TEXT})
    archive.write_bytes(archive.read_bytes()[:-30])
    why = "a broken zip archive: File is not a zip file"
    assert _unread(_only(archive)) == (str(archive), why)


def test_cut_package_is_an_artifact_whose_reader_tells_the_problem(tmp_path: Path) -> None:
    package = (FIXTURES / "input-dtype/input/model.pt2").read_bytes()
    assert isinstance(_only(_file(tmp_path / "model.pt2", package[:40_000])), Artifact)


def test_directory_of_a_zip_is_not_read_for_every_member(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    directory = zipfile.ZipFile._RealGetContents  # type: ignore[attr-defined]

    def count(archive: zipfile.ZipFile) -> None:
        read.append(archive)
        directory(archive)

    archive = _zip(tmp_path / "a.zip", {f"{n}.log": TEXT for n in range(50)})
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", count)
    assert len(_read_in_order(archive)) == 50
    assert len(read) < 10


def _flip(archive: Path, at: int) -> Path:
    data = bytearray(archive.read_bytes())
    data[at] ^= 0xFF
    archive.write_bytes(data)
    return archive


def test_garbled_member_gives_what_came_before_and_says_so(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "a.zip", {"b.log": _NOISE}, zipfile.ZIP_STORED)
    found = find([str(_flip(archive, 50_000))])
    data, problem = _broken(next(found))
    assert data[:40_000] == _NOISE[:40_000]
    assert problem == "reading stopped: Bad CRC-32 for file 'b.log'"


def test_encrypted_member_is_not_read(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "a.zip", {"b.log": TEXT}, zipfile.ZIP_STORED)
    data = bytearray(archive.read_bytes())
    directory = data.index(b"PK\x01\x02")
    struct.pack_into("<H", data, 6, 1)
    struct.pack_into("<H", data, directory + 8, 1)
    archive.write_bytes(data)
    named = _only(archive)
    assert isinstance(named, Unread)
    assert "encrypted" in named.why


def test_member_of_an_unknown_method_is_not_read(tmp_path: Path) -> None:
    archive = _zip(tmp_path / "a.zip", {"b.log": TEXT}, zipfile.ZIP_STORED)
    data = bytearray(archive.read_bytes())
    directory = data.index(b"PK\x01\x02")
    struct.pack_into("<H", data, 8, 99)
    struct.pack_into("<H", data, directory + 10, 99)
    archive.write_bytes(data)
    assert _unread(_only(archive)) == (
        f"{archive}!b.log",
        "That compression method is not supported",
    )


# --- tar


def _tar(path: Path, members: dict[str, bytes], mode: str = "") -> Path:
    with tarfile.open(path, f"w{mode}") as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def _read_in_order(path: Path) -> list[tuple[str, bytes]]:
    """Names after the archive's, and bytes, read before the next is looked for."""
    start = len(f"{path}!")
    return [(named.name[start:], _read(named)) for named in find([str(path)])]


@pytest.mark.parametrize("mode", ["", ":gz", ":xz", ":bz2"])
def test_members_of_a_tar_are_sources(tmp_path: Path, mode: str) -> None:
    members = {"b.log": TEXT * 5000, "sub/c.log": b"three\n", "d.log": b""}
    archive = _tar(tmp_path / "a.tar", members, mode)
    assert _read_in_order(archive) == list(members.items())


def test_tar_on_standard_input_is_opened(piped: Callable[[bytes], None], tmp_path: Path) -> None:
    piped(_tar(tmp_path / "a.tar", {"b.log": TEXT}, ":gz").read_bytes())
    assert [(named.name, _read(named)) for named in find(["-"])] == [("<stdin>!b.log", TEXT)]


def test_member_of_a_tar_that_is_not_read_does_not_shift_the_next(tmp_path: Path) -> None:
    archive = _tar(tmp_path / "a.tar", {"lib.so": b"\x7fELF" + bytes(9999), "b.log": TEXT})
    first, second = (
        named.why if isinstance(named, Unread) else _read(named) for named in find([str(archive)])
    )
    assert (first, second) == ("not a log: an ELF object", TEXT)


def test_link_in_a_tar_is_not_read(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    assert _unread(_only(tmp_path / "a.tar")) == (f"{tmp_path}/a.tar!link", "not a regular file")


def test_cut_tar_gives_what_came_and_says_so(tmp_path: Path) -> None:
    archive = _tar(tmp_path / "a.tar", {"b.log": TEXT, "c.log": _NOISE})
    archive.write_bytes(archive.read_bytes()[:60_000])
    found = [
        named if isinstance(named, Unread) else (named.name, *_broken(named))
        for named in find([str(archive)])
    ]
    assert found[0] == (f"{archive}!b.log", TEXT, None)
    assert "end of data" in str(found[1:])


def test_members_of_a_tar_beyond_the_limit_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_MEMBERS", 2)
    archive = _tar(tmp_path / "a.tar", {f"{n}.log": TEXT for n in range(5)})
    found = [type(named) for named in find([str(archive)])]
    assert found == [Source, Source, Unread]


# --- archives in archives


def test_archive_inside_an_archive_is_opened(tmp_path: Path) -> None:
    inner = _zip(tmp_path / "inner.zip", {"b.log": TEXT}).read_bytes()
    packed = _tar(tmp_path / "inner.tar", {"c.log": b"three\n"}, ":gz").read_bytes()
    archive = _zip(tmp_path / "a.zip", {"x.zip": inner, "y.tgz": packed})
    assert _read_in_order(archive) == [("x.zip!b.log", TEXT), ("y.tgz!c.log", b"three\n")]


def test_package_inside_an_archive_is_an_artifact(tmp_path: Path) -> None:
    package = (FIXTURES / "input-dtype/input/model.pt2").read_bytes()
    assert _content(_only(_zip(tmp_path / "a.zip", {"model.pt2": package}))) == package


def test_archive_inside_two_archives_is_not_opened(tmp_path: Path) -> None:
    innermost = _zip(tmp_path / "1.zip", {"b.log": TEXT}).read_bytes()
    inner = _zip(tmp_path / "2.zip", {"1.zip": innermost}).read_bytes()
    archive = _zip(tmp_path / "3.zip", {"2.zip": inner})
    why = "an archive inside an archive inside an archive is not opened"
    assert _unread(_only(archive)) == (f"{archive}!2.zip!1.zip", why)


def test_inner_archive_that_is_too_large_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_INNER", 1 << 20)
    inner = _zip(tmp_path / "1.zip", {"b.log": bytes(2 << 20)}, zipfile.ZIP_STORED).read_bytes()
    archive = _zip(tmp_path / "2.zip", {"1.zip": inner})
    why = "an archive of more than 1 MiB in a pipe or archive"
    assert _unread(_only(archive)) == (f"{archive}!1.zip", why)


# --- limits


def test_members_beyond_the_limit_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_MEMBERS", 2)
    archive = _zip(tmp_path / "a.zip", {f"{n}.log": TEXT for n in range(5)})
    found = _find(archive)
    assert [type(named) for named in found] == [Source, Source, Unread]
    assert _unread(found[2]) == (str(archive), "3 of 5 members were not read")


def _bomb(tmp_path: Path, kind: str) -> Path:
    if kind == "gzip":
        return _file(tmp_path / "a.gz", gzip.compress(bytes(1 << 20)))
    return _zip(tmp_path / "a.zip", {"b.log": bytes(1 << 20)})


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_what_expands_too_often_is_cut_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(streams, "RATIO_FROM", 1 << 16)
    monkeypatch.setattr(streams, "MAX_RATIO", 50)
    data, problem = _broken(_only(_bomb(tmp_path, kind)))
    assert problem == "expands more than 50 times; the rest was not read"
    assert 0 < len(data) <= 1 << 17


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_what_expands_too_far_is_cut_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(streams, "MAX_EXPANDED", 1 << 16)
    data, problem = _broken(_only(_bomb(tmp_path, kind)))
    assert problem is not None
    assert problem.startswith("expands to more than ")
    assert 0 < len(data) <= 1 << 17


def test_members_of_an_archive_share_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_EXPANDED", 50_000)
    archive = _zip(tmp_path / "a.zip", {f"{n}.log": bytes(40_000) for n in range(4)})
    assert sum(len(_broken(named)[0]) for named in find([str(archive)])) < 100_000


def test_expanding_within_the_limits_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_RATIO", 2)
    assert _read(_only(_bomb(tmp_path, "gzip"))) == bytes(1 << 20)


# --- streams that break off


class _Breaking(io.RawIOBase):
    """Gives three bytes and then an error."""

    def __init__(self) -> None:
        self._left = b"abc"

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._left:
            raise OSError(5, "Input/output error")
        buffer[:1], self._left = self._left[:1], self._left[1:]
        return 1


def test_stream_that_breaks_gives_what_came_and_says_so_once() -> None:
    stream = Stream(_Breaking())
    assert (_drain(stream), stream.problem) == (b"abc", "reading stopped: input/output error")
    assert _drain(stream) == b""
