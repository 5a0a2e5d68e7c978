"""Logs of every format, built from its grammar and damaged: what holds of all of them."""

from __future__ import annotations

import json
import sys
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aoti_logscan import pipeline
from aoti_logscan.catalogue import catalogue
from aoti_logscan.parsers import PARSERS
from aoti_logscan.records import Parser
from tests.conftest import Run
from tests.fuzz import target, values
from tests.fuzz.damage import DRESSES, LOGS, damaged
from tests.fuzz.folders import FOLDERS
from tests.fuzz.forms import Form
from tests.fuzz.grammar import FORMATS, RECORDS
from tests.fuzz.invariants import check_artifact, check_log, check_windows, scanned
from tests.fuzz.profile import examples

FORMS = [(name, form) for name, forms in FORMATS.items() for form in forms]
#: formats of whole files, and forms that are told by standing at the start of a line
_BARE = ("run_record", "torch_trace")
_AT_THE_START = ("torch._inductor", "torch._dynamo", "torch.fx.", "triton.compiler")
#: what a store makes of forms that need the lines below, or a quote that it escapes twice
_LOST = {
    "docker": ("output", ":: unknown: block: , thread:", "GPU assertion", "- name: PYTORCH"),
    "json twice": ("cut", "OSError: [WinError", '"ExitCode"', "- name: PYTORCH"),
}


def _id(value: object) -> str:
    return str(getattr(value, "name", getattr(value, "NAME", value)))


# --- the grammar itself


def test_every_parser_has_a_grammar() -> None:
    assert list(FORMATS) == [parser.NAME for parser in PARSERS]


@pytest.mark.parametrize("parser", PARSERS, ids=_id)
def test_grammar_has_a_form_for_every_anchor(parser: Parser) -> None:
    drawn: list[str] = []

    @examples(3)
    @given(st.tuples(*(form.text for form in FORMATS[parser.NAME])))
    def draw(texts: tuple[str, ...]) -> None:
        drawn.extend(texts)

    draw()
    whole = "".join(drawn).encode()
    assert [anchor for anchor in parser.ANCHORS if anchor not in whole] == []


@pytest.mark.parametrize(("name", "form"), FORMS, ids=_id)
def test_undamaged_record_is_found_by_the_parser_that_owns_it(name: str, form: Form) -> None:
    @examples(3)
    @given(form.text)
    def finds(text: str) -> None:
        assert scanned(text.encode()).records.get(name), text

    finds()


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in _BARE])
def test_record_is_found_however_launchers_and_stores_dress_it(name: str) -> None:
    forms = FORMATS[name]
    words = st.tuples(*(st.tuples(*dress.words) for dress in DRESSES))

    @examples(2)
    @given(st.tuples(*(form.text for form in forms)), words)
    def finds(texts: tuple[str, ...], words: tuple[tuple[str, str], ...]) -> None:
        for dress, drawn in zip(DRESSES, words, strict=True):
            for form, text in zip(forms, texts, strict=True):
                if not form.name.startswith((*_AT_THE_START, *_LOST.get(dress.name, ()))):
                    log = dress.put(text, *drawn)
                    assert scanned(log.encode()).records.get(name), (dress.name, log)

    finds()


# --- damaged logs


@examples(120)
@given(LOGS)
def test_whatever_befell_a_log_the_answer_holds_what_it_promises(raw: bytes) -> None:
    check_log(raw)


@examples(150)
@given(LOGS, st.integers(16, 4_000))
def test_windows_of_any_size_find_the_same_in_a_damaged_log(raw: bytes, window: int) -> None:
    check_windows(raw, window)


@examples(60)
@given(LOGS)
def test_equal_logs_get_equal_answers(raw: bytes) -> None:
    one, other = (check_log(raw, published=False) for _ in range(2))
    assert one[0] == other[0]
    assert one[1].events == other[1].events


@examples(40)
@given(raw=LOGS)
def test_command_prints_a_report_of_its_schema(raw: bytes, run: Run) -> None:
    result = run("-f", "json", "-", stdin=raw)
    assert result.exit_code in (0, 1)
    report = json.loads(result.stdout)
    _REPORT.validate(report)
    assert result.exit_code == (report["verdict"]["class"] != "none")


@examples(40)
@given(raw=LOGS)
def test_command_prints_events_of_their_schema(raw: bytes, run: Run) -> None:
    result = run("-f", "events", "-", stdin=raw)
    assert result.exit_code == 0
    for line in result.stdout.splitlines():
        _EVENT.validate(json.loads(line))


def _validator(of: str) -> Any:
    schema = msgspec.json.decode(pipeline.schema(of))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


_REPORT, _EVENT = _validator("report"), _validator("event")


@examples(60)
@given(FOLDERS)
def test_whatever_lies_in_a_folder_the_answer_holds_what_it_promises(sections: bytes) -> None:
    target.one(b"F" + sections)


# --- JSON of any shape


@examples(150)
@given(st.lists(values.TRACES, min_size=1, max_size=3).map("".join))
def test_traces_may_hold_json_of_any_shape(text: str) -> None:
    check_log(text.encode(), published=False)


@examples(60)
@given(values.RUN_RECORDS)
def test_run_json_may_hold_json_of_any_shape(text: str) -> None:
    check_log(text.encode(), published=False)


@pytest.mark.parametrize("name", values.FILES)
def test_files_of_a_package_may_hold_json_of_any_shape(name: str) -> None:
    @examples(60)
    @given(values.DOCUMENTS)
    def reads(text: str) -> None:
        check_artifact(name, text.encode())

    reads()


# --- work


def _calls(raw: bytes) -> int:
    """How many functions are called to scan and judge a log: its work, whatever the machine."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    check_log(raw, published=False)
    sys.setprofile(called)
    try:
        pipeline.analyze_text(raw, catalogue())
    finally:
        sys.setprofile(None)
    return count


@examples(60)
@given(damaged(RECORDS.map(str.encode)))
def test_twice_as_much_of_a_damaged_record_is_at_most_three_times_the_work(piece: bytes) -> None:
    short, long = (_calls(piece * times) for times in (24, 48))
    assert long <= 3 * short
