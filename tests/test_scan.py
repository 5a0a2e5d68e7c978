"""The scanner: records over window ends, folding, limits, owners and places."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aoti_logscan import kept, lines, scan
from aoti_logscan.events import ErrorText, Event, GeneratedCode, Harmless
from aoti_logscan.lines import Hit, clean
from aoti_logscan.parsers import OWNERS, PARSERS
from aoti_logscan.prefix import NOTHING, read_prefix
from aoti_logscan.records import Draft, Malformed, Owner, Parsed, Parser
from aoti_logscan.scan import Scanned, Scanner, Trouble
from aoti_logscan.streams import Stream
from tests.conftest import FIXTURES

# --- toy formats


class _Blocks:
    """`BEGIN` at the start of a line, lines, and a line `END`: one event of all of them."""

    NAME = "blocks"
    ANCHORS = (b"BEGIN",)

    def parse(self, hit: Hit) -> Parsed:
        if hit.column:
            return ()
        found = [hit.line.text]
        for line in hit.following(10_000):
            found.append(line.text)
            if line.text == b"END":
                return (_draft(hit, b"|".join(found), line.end),)
        return (Malformed(hit.line.start, hit.line.end, "a block without its end"),)


class _Notes:
    """`NOTE topic by writer`: notes on one topic are folded, their writers counted."""

    NAME = "notes"
    ANCHORS = (b"NOTE ",)

    def parse(self, hit: Hit) -> Parsed:
        topic, _, writer = hit.line.text[hit.column + 5 :].partition(b" by ")
        draft = _draft(hit, topic, hit.line.end)
        return (draft._replace(fold=(topic,), member=writer),)


class _Quotes:
    """Lines that begin with `> ` are closed: nothing in them is another's."""

    NAME = "quotes"
    ANCHORS = (b"> ",)

    def parse(self, hit: Hit) -> Parsed:
        return () if hit.column else (_draft(hit, hit.line.text, hit.line.end),)

    def owns(self, hit: Hit) -> int | None:
        return hit.line.end if hit.line.text.startswith(b"> ") else None


class _Loud:
    """The anchor of `_Notes` again, under another name."""

    NAME = "loud"
    ANCHORS = (b"NOTE ",)

    def parse(self, hit: Hit) -> Parsed:
        return (_draft(hit, b"loud", hit.line.end),)


def _draft(hit: Hit, message: bytes, end: int) -> Draft:
    fields = {"channel": "what", "message": message.decode("utf-8", "replace")}
    prefix = read_prefix(hit.line.text[: hit.column])
    return Draft(ErrorText, fields, hit.line.start, end, hit.line.text, prefix)


TOYS: tuple[Parser, ...] = (_Blocks(), _Notes())


class _Sizes(NamedTuple):
    """Bytes read at a time, kept behind, and of the longest record that is carried."""

    window: int
    behind: int = 64 << 10
    record: int = 1 << 20


def _scan(
    raw: bytes,
    parsers: Sequence[Parser] = TOYS,
    owners: Sequence[Owner] = (),
    sizes: _Sizes | None = None,
) -> Scanned:
    with pytest.MonkeyPatch.context() as patch:
        if sizes is not None:
            patch.setattr(scan, "WINDOW", sizes.window)
            patch.setattr(scan, "LOOK_BEHIND", sizes.behind)
            patch.setattr(scan, "MAX_RECORD", sizes.record)
            patch.setattr(lines, "MAX_RECORD", sizes.record)
        return Scanner(parsers, owners).scan("log", Stream(io.BytesIO(raw)))


def _messages(scanned: Scanned) -> list[str]:
    return [event.message for event in scanned.events if isinstance(event, ErrorText)]


# --- what a scan gives


def test_empty_stream_gives_nothing() -> None:
    assert _scan(b"") == Scanned((), 0, {}, ())


def test_foreign_text_gives_its_size_only() -> None:
    assert _scan(b"nothing to see\n\x00\xff\n") == Scanned((), 18, {}, ())


def test_event_tells_its_place_from_the_start_of_its_line() -> None:
    event = _scan(b"first\n[rank3]: NOTE x by y\nlast\n").events[0]
    place = event.place
    assert (place.source, place.line, place.offset) == ("log", 2, 6)
    assert (place.text, event.end, event.rank) == ("[rank3]: NOTE x by y", 26, 3)


def test_record_at_the_very_start_and_end_is_found() -> None:
    assert _messages(_scan(b"NOTE a by x\nNOTE b by x")) == ["a", "b"]


def test_events_come_in_the_order_of_the_bytes() -> None:
    raw = b"NOTE a by x\nBEGIN\nEND\nNOTE b by x\n"
    assert _messages(_scan(raw)) == ["a", "BEGIN|END", "b"]


def test_records_are_counted_by_parser() -> None:
    raw = b"NOTE a by x\nNOTE a by x\nBEGIN\nEND\n"
    assert _scan(raw).records == {"notes": 2, "blocks": 1}


def test_anchor_inside_the_record_of_its_own_parser_is_no_record() -> None:
    assert _messages(_scan(b"BEGIN\nBEGIN\nEND\nBEGIN\nEND\n")) == ["BEGIN|BEGIN|END", "BEGIN|END"]


def test_anchor_inside_the_record_of_another_parser_is_a_record() -> None:
    assert _messages(_scan(b"BEGIN\nNOTE a by x\nEND\n")) == ["BEGIN|NOTE a by x|END", "a"]


def test_anchor_that_two_parsers_share_is_given_to_both_in_their_order() -> None:
    assert _messages(_scan(b"NOTE a by x\n", (_Notes(), _Loud()))) == ["a", "loud"]
    assert _messages(_scan(b"NOTE a by x\n", (_Loud(), _Notes()))) == ["loud", "a"]


def test_text_of_a_place_is_cut_after_so_many_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_TEXT", 12)
    event = _scan("NOTE a by \U0001f600\U0001f601\U0001f602\U0001f603\n".encode()).events[0]
    assert event.place.text == "NOTE a by"  # no half a word, which may be half a secret


def test_text_of_a_place_is_decoded_whatever_its_bytes() -> None:
    assert _scan(b"NOTE a by \xff\x00\n").events[0].place.text == "NOTE a by \ufffd\x00"


# --- malformed records


def test_malformed_record_is_a_problem_at_its_line() -> None:
    scanned = _scan(b"x\nBEGIN\nunfinished\n")
    assert scanned.problems == (Trouble(2, "a block without its end"),)
    assert (scanned.events, scanned.records) == ((), {})


def test_record_after_a_malformed_one_is_read() -> None:
    scanned = _scan(b"BEGIN\nunfinished\nNOTE a by x\n")
    assert _messages(scanned) == ["a"]
    assert len(scanned.problems) == 1


def test_problems_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_MAX_PROBLEMS", 3)
    scanned = _scan(b"BEGIN\n" * 5)
    what = "a block without its end"
    assert scanned.problems == (
        *(Trouble(line, what) for line in (1, 2, 3)),
        Trouble(None, "2 further problems are not listed"),
    )


# --- folding


def test_equal_records_become_one_event_with_count_first_and_last() -> None:
    raw = b"NOTE a by x\nNOTE b by x\nNOTE a by y\nNOTE a by x\n"
    event = _scan(raw).events[0]
    assert (event.count, event.distinct, event.repeats) == (3, 2, (24, 36))
    assert (event.place.line, event.place.text) == (1, "NOTE a by x")
    assert event.last is not None
    assert (event.last.line, event.last.offset, event.last.text) == (4, 36, "NOTE a by x")


def test_single_record_has_no_last_place() -> None:
    event = _scan(b"NOTE a by x\n").events[0]
    assert (event.count, event.distinct, event.repeats, event.last) == (1, 1, (), None)


def test_records_without_members_count_none() -> None:
    assert _scan(b"BEGIN\nEND\n").events[0].distinct is None


def test_records_that_do_not_fold_stay_apart() -> None:
    assert [event.count for event in _scan(b"BEGIN\nEND\n" * 3).events] == [1, 1, 1]


def test_records_of_different_ranks_do_not_fold() -> None:
    events = _scan(b"[rank0]: NOTE a by x\n[rank1]: NOTE a by x\n[rank0]: NOTE a by x\n").events
    assert [(event.rank, event.count) for event in events] == [(0, 2), (1, 1)]


def test_records_of_different_processes_do_not_fold() -> None:
    events = _scan(b"(pid=7) NOTE a by x\n(pid=8) NOTE a by x\n").events
    assert [(event.process, event.count) for event in events] == [("7", 1), ("8", 1)]


def test_first_eight_repeats_are_kept() -> None:
    event = _scan(b"NOTE a by x\n" * 20).events[0]
    assert event.count == 20
    assert event.repeats == (12, 24, 36, 48, 60, 72, 84, 96)


def test_members_beyond_the_limit_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_MEMBERS", 2)
    event = _scan(b"NOTE a by x\nNOTE a by y\nNOTE a by z\n").events[0]
    assert (event.count, event.distinct) == (3, 2)


def test_oldest_of_too_many_open_folds_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_OPEN_FOLDS", 2)
    raw = b"NOTE a by x\nNOTE b by x\nNOTE c by x\nNOTE c by x\nNOTE a by x\n"
    events = _scan(raw).events
    assert [event.count for event in events] == [1, 1, 2, 1]


def test_folding_goes_on_over_windows() -> None:
    event = _scan(b"NOTE a by x\n" * 100, sizes=_Sizes(16, 32)).events[0]
    assert (event.count, event.last and event.last.line) == (100, 100)


def test_first_and_last_of_too_many_events_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MAX_EVENTS", 2)
    scanned = _scan(b"NOTE a by x\nNOTE b by x\nNOTE c by x\nNOTE d by x\nNOTE a by x\n")
    assert _messages(scanned) == ["a", "d"]
    assert scanned.events[0].count == 2
    assert scanned.records == {"notes": 5}
    what = "2 error-text records in the middle were counted but not kept"
    assert scanned.problems == (Trouble(None, what),)


def test_record_equal_to_one_that_is_not_kept_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MAX_EVENTS", 2)
    scanned = _scan(b"NOTE a by x\nNOTE b by x\nNOTE c by x\nNOTE b by x\n")
    assert _messages(scanned) == ["a", "b"]


# --- owners


def test_owner_hides_other_parsers_from_its_record() -> None:
    quotes = _Quotes()
    raw = b"> NOTE a by x\nNOTE b by x\n"
    assert _messages(_scan(raw, (quotes, *TOYS), (quotes,))) == ["> NOTE a by x", "b"]


def test_without_its_owner_the_record_is_open() -> None:
    assert _messages(_scan(b"> NOTE a by x\n", TOYS)) == ["a"]


def test_owner_does_not_hide_an_owner_before_it() -> None:
    first, second = _Quotes(), _Quotes()
    assert _messages(_scan(b"> a\n", (first, second), (first, second))) == ["> a"]
    assert _messages(_scan(b"> a\n", (first, second), ())) == ["> a", "> a"]


def test_owner_reads_its_record_though_another_anchor_stands_before_its_own() -> None:
    line = b"W0718 09:12:40.511000 60233 torch/_inductor/select_algorithm.py:2100] "
    raw = line + b"Runtime error during autotuning: CUDA error: x. Ignoring this choice.\n"
    assert [type(event) for event in _scan_real(raw).events] == [Harmless]


@pytest.mark.parametrize("window", range(5, 40))
def test_owned_record_is_hidden_where_windows_end_in_it(window: int) -> None:
    quotes = _Quotes()
    raw = b"> NOTE a by x NOTE b by y NOTE c by z\nNOTE d by x\n"
    scanned = _scan(raw, (quotes, *TOYS), (quotes,), _Sizes(window, 64))
    assert _messages(scanned) == [raw[:37].decode(), "d"]


# --- streams that break off


class _Breaking(io.RawIOBase):
    """Gives its bytes and then an error instead of an end."""

    def __init__(self, raw: bytes) -> None:
        self._raw = io.BytesIO(raw)

    def readinto(self, buffer: Any) -> int:
        if count := self._raw.readinto(buffer):
            return count
        raise OSError(5, "Input/output error")


def test_stream_that_breaks_off_keeps_what_came_and_says_where() -> None:
    stream = Stream(_Breaking(b"NOTE a by x\nhalf a li"))
    scanned = Scanner(TOYS, ()).scan("log", stream)
    assert _messages(scanned) == ["a"]
    assert scanned.problems == (Trouble(2, "reading stopped: input/output error"),)
    assert scanned.size == 21


class _Dripping(io.RawIOBase):
    """Gives one byte at a time, as a slow pipe may."""

    def __init__(self, raw: bytes) -> None:
        self._raw = io.BytesIO(raw)

    def readinto(self, buffer: Any) -> int:
        return self._raw.readinto(memoryview(buffer)[:1])


def test_stream_that_drips_gives_the_same() -> None:
    raw = b"NOTE a by x\nBEGIN\n1\nEND\n" * 3
    assert Scanner(TOYS, ()).scan("log", Stream(_Dripping(raw))) == _scan(raw)


# --- windows


@pytest.mark.parametrize("window", range(1, 130))
def test_record_over_a_window_end_is_whole(window: int) -> None:
    block = b"BEGIN\n" + b"line\n" * 9 + b"END\n"
    raw = b"padding\n" * 3 + block + b"NOTE a by x\n" + block + b"NOTE b by y\n"
    assert _scan(raw, sizes=_Sizes(window, 32)) == _scan(raw)


_PIECES = (
    b"BEGIN\n",
    b"END\n",
    b"END",
    b"NOTE a by x\n",
    b"bar\rNOTE b by x\n",
    b"NOTE b by ",
    b"x\n",
    b"\r\n",
    b"\n",
    b"BEG",
    b"NOTE",
    b" c\n",
    b"[rank1]: ",
    b"{'log': 'NOTE d by e\\nBEGIN\\nEND\\n'}\n",
)
_TEXT = st.lists(st.sampled_from(_PIECES), max_size=40).map(b"".join)


@given(raw=_TEXT, window=st.integers(1, 80))
@example(raw=b"{'log': 'NOTE d by e\\nBEGIN\\nEND\\n'}\n", window=1)
@settings(deadline=None, max_examples=200)
def test_windows_of_any_size_give_what_one_gives(raw: bytes, window: int) -> None:
    assert _scan(raw, sizes=_Sizes(window)) == _scan(raw)


def test_windows_agree_on_a_carriage_return_before_an_escaped_string() -> None:
    raw = b"NOTE a by x\rgo {'log': 'one\\ntwo'}\n"
    assert _scan(raw, sizes=_Sizes(8)) == _scan(raw)


@pytest.mark.parametrize("window", [16, 33, 64, 200])
def test_record_longer_than_a_record_may_be_is_cut_and_told(window: int) -> None:
    raw = b"first\nBEGIN\n" + b"line\n" * 100 + b"END\nNOTE a by x\n"
    scanned = _scan(raw, sizes=_Sizes(window, 64, 128))
    assert _messages(scanned) == ["a"]
    assert scanned.problems == (
        Trouble(2, "a block without its end"),
        Trouble(2, "a record longer than 128 bytes was cut"),
    )


def test_record_as_long_as_a_record_may_be_is_whole() -> None:
    raw = b"BEGIN\n" + b"line\n" * 20 + b"END\n"
    scanned = _scan(raw, sizes=_Sizes(16, 64, len(raw) + 16))
    assert len(scanned.events) == 1
    assert scanned.problems == ()


@pytest.mark.parametrize("end", [b"\r", b"\\n"], ids=["carriage-return", "escaped"])
def test_record_of_one_physical_line_that_is_too_long_is_cut(end: bytes) -> None:
    raw = b"{'log': 'go" + end + b"BEGIN" + end + (b"line" + end) * 100 + b"NOTE a by x" + end
    scanned = _scan(raw, sizes=_Sizes(64, 64, 128))
    assert Trouble(1, "a record longer than 128 bytes was cut") in scanned.problems
    assert _messages(scanned) == ["a"]


def test_record_at_the_start_of_a_line_longer_than_a_record_is_found() -> None:
    raw = b"CUDA error: out of memory " + b"y" * 3_000_000 + b"\nlast\n"
    scanned = _scan_real(raw)
    assert [event.place.line for event in scanned.events] == [1]
    assert scanned.size == len(raw)


def test_record_late_in_a_huge_escaped_line_is_found() -> None:
    raw = b"{'log': 'go\\n" + b"step done\\n" * 300 + b"BEGIN\\n1\\nEND\\n'}\n"
    assert _messages(_scan(raw, sizes=_Sizes(256, 256))) == ["BEGIN|1|END"]


# --- real logs

LOGS = sorted(
    file
    for file in FIXTURES.glob("*/input/**/*")
    if file.suffix in (".log", ".txt", ".err", ".json") and file.stat().st_size < 250_000
)
SMALL = [log for log in LOGS if log.stat().st_size < 20_000]
REAL = Scanner(PARSERS, OWNERS)


def _name(value: Path | int) -> str:
    return str(value) if isinstance(value, int) else f"{value.relative_to(FIXTURES).parts[0]}"


def _scan_real(raw: bytes, sizes: _Sizes | None = None) -> Scanned:
    return _scan(raw, PARSERS, OWNERS, sizes)


@pytest.mark.parametrize("window", [64, 101, 179, 256, 367, 512])
@pytest.mark.parametrize("log", SMALL, ids=_name)
def test_small_windows_find_in_a_real_log_what_one_finds(log: Path, window: int) -> None:
    raw = log.read_bytes()
    assert _scan_real(raw, _Sizes(window)) == _scan_real(raw)


@pytest.mark.parametrize("window", [64, 512])
@pytest.mark.parametrize("log", SMALL, ids=_name)
def test_four_kilobytes_behind_are_enough_for_a_log_of_short_lines(log: Path, window: int) -> None:
    raw = log.read_bytes()
    assert _scan_real(raw, _Sizes(window, behind=4 << 10)) == _scan_real(raw)


@pytest.mark.parametrize("window", range(64, 513))
def test_windows_of_every_size_find_an_interleaved_traceback(window: int) -> None:
    raw = (FIXTURES / "input-dtype/input/run.log").read_bytes()
    assert _scan_real(raw, _Sizes(window)) == _scan_real(raw)


@pytest.mark.parametrize("window", [4 << 10, 30_011, 64 << 10])
@pytest.mark.parametrize("log", [log for log in LOGS if log not in SMALL], ids=_name)
def test_windows_find_in_a_large_real_log_what_one_finds(log: Path, window: int) -> None:
    raw = log.read_bytes()
    assert _scan_real(raw, _Sizes(window)) == _scan_real(raw)


@pytest.mark.parametrize("window", [4_000, 4_096, 5_000, 16_384])
def test_traceback_deep_in_a_trace_payload_stays_owned(window: int) -> None:
    head = b"V1130 06:57:13.145000 30988 torch/_inductor/codecache.py:2616] "
    raw = (
        head
        + b'{"inductor_output_code": {"filename": "x"}, "has_payload": "a"}\n'
        + b"".join(b"\tbuf%d = empty_strided(%d)\n" % (n, n * n) for n in range(3000))
        + b'\tTraceback (most recent call last):\n\t  File "a.py", line 3, in f\n\tKeyError: 1\n'
    )
    whole, windows = _scan_real(raw), _scan_real(raw, _Sizes(window))
    assert [type(event) for event in whole.events] == [GeneratedCode]
    assert windows == whole


def _lines_with_offsets(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Line by line, as a slow reader goes: where each begins, and its bytes."""
    offset = 0
    for line in raw.split(b"\n"):
        yield offset, line
        offset += len(line) + 1


def _as_a_slow_reader_finds_it(raw: bytes, event: Event, escaped: bool) -> tuple[int, str]:
    """The line that holds the event's offset, and its text from there on, as far as was told."""
    place = event.place
    number, (offset, line) = next(
        (number, (offset, line))
        for number, (offset, line) in enumerate(_lines_with_offsets(raw), 1)
        if offset <= place.offset <= offset + len(line)
    )
    told = place.text[:40]
    shown = clean(line[place.offset - offset :], escaped).decode("utf-8", "replace")
    return number, shown[: len(told)]


@pytest.mark.parametrize("log", LOGS, ids=_name)
def test_every_place_in_a_real_log_is_where_a_slow_reader_finds_it(log: Path) -> None:
    raw = log.read_bytes()
    events = _scan_real(raw).events
    found = [_as_a_slow_reader_finds_it(raw, event, log.suffix == ".json") for event in events]
    assert found == [(event.place.line, event.place.text[:40]) for event in events]


@pytest.mark.parametrize("log", LOGS, ids=_name)
def test_last_places_in_a_real_log_are_counted_as_the_first_are(log: Path) -> None:
    raw = log.read_bytes()
    lasts = [event.last for event in _scan_real(raw).events if event.last]
    assert [raw.count(b"\n", 0, last.offset) + 1 for last in lasts] == [last.line for last in lasts]


@pytest.mark.parametrize("log", SMALL, ids=_name)
def test_real_log_cut_anywhere_is_read(log: Path) -> None:
    raw = log.read_bytes()
    cuts = range(0, len(raw), max(1, len(raw) // 20))
    assert [REAL.scan("log", Stream(io.BytesIO(raw[:cut]))).size for cut in cuts] == list(cuts)


@given(raw=st.binary(max_size=400), anchors=st.lists(st.sampled_from(PARSERS), max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_around_real_anchors_are_read(raw: bytes, anchors: list[Parser]) -> None:
    data = b"".join(raw + parser.ANCHORS[0] for parser in anchors) + raw
    assert REAL.scan("log", Stream(io.BytesIO(data))).size == len(data)


def test_nothing_tells_of_no_writer() -> None:
    assert NOTHING == (None, None, None)
