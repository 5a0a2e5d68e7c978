from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aoti_logscan import pipeline
from aoti_logscan.render import html_launches
from aoti_logscan.render.html import render_html
from aoti_logscan.render.html_markup import anchor, el, prose, sentence, shown
from aoti_logscan.render.html_parts import listing
from aoti_logscan.render.html_tables import link_key
from aoti_logscan.report import (
    Argument,
    Call,
    CompileRecord,
    Dossier,
    Evidence,
    Excerpt,
    Kernel,
    LaunchReport,
    Problem,
    SuspectCode,
)
from tests.conftest import FIXTURES

PAGES = (
    "triton-oob-proven-by-package",
    "lineage-index-from-size-of-empty-table",
    "lineage-index-made-by-argmax-kernel",
    "printer-level2-crash-pty",
    "printer-level2-healthy",
    "ima-on-rank3-of-eight-others-nccl-timeout",
    "xpu-device-lost-cause-unknown",
    "trace-failed-compile",
)
VOID = {"meta", "link", "input", "wbr"}
ATTRIBUTES = re.compile(r"^(?!on|style$)[a-z][a-z-]*$")


class Page(HTMLParser):
    """A page taken apart: elements with attributes, texts by element, and what is not closed."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.wholes: list[tuple[str, dict[str, str | None], str]] = []
        self.text = ""
        self._open: list[tuple[str, dict[str, str | None], int]] = []
        self.feed(markup)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"{tag} has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append((tag, dict(attrs), len(self.text)))

    def handle_endtag(self, tag: str) -> None:
        opened, attrs, start = self._open.pop()
        assert opened == tag, f"{opened} is closed by {tag}"
        self.wholes.append((tag, attrs, self.text[start:]))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str, **attributes: str) -> list[str]:
        return [
            text
            for name, attrs, text in self.wholes
            if name == tag and attributes.items() <= attrs.items()
        ]

    def by_id(self, name: str) -> str:
        return next(text for _, attrs, text in self.wholes if attrs.get("id") == name)

    def of_class(self, name: str) -> list[str]:
        return [
            text for _, attrs, text in self.wholes if name in (attrs.get("class") or "").split()
        ]

    def columns(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.by_id("launch-data"))
        return decoded


def dossier_of(name: str) -> Dossier:
    paths = [FIXTURES / name / "input"]
    report = pipeline.analyze(paths)
    return Dossier(report=report, launches=pipeline.kernels(paths))


@pytest.fixture(scope="module")
def crash() -> Dossier:
    return dossier_of("printer-level2-crash-pty")


@pytest.fixture(scope="module")
def healthy() -> Dossier:
    return dossier_of("printer-level2-healthy")


def page_of(dossier: Dossier, **more: Any) -> Page:
    return Page(render_html(dossier, **more))


def with_report(dossier: Dossier, **changes: Any) -> Dossier:
    report = msgspec.structs.replace(dossier.report, **changes)
    return msgspec.structs.replace(dossier, report=report)


def check_structure(page: Page) -> None:
    """What holds of every page, whatever is in it."""
    tags = [tag for tag, _ in page.elements]
    assert [tags.count(one) for one in ("h1", "main", "header", "footer", "title")] == [1] * 5
    assert page.elements[0] == ("html", {"lang": "en"})
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for tag, attrs in page.elements:
        assert all(ATTRIBUTES.match(name) for name in attrs), (tag, attrs)
        link = attrs.get("href", attrs.get("src"))
        if link is not None:
            assert link.startswith(("./", "data:,")) or link.removeprefix("#") in ids, link
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    steps = [after - before for before, after in pairwise(levels)]
    assert max(steps) <= 1, levels


@pytest.mark.parametrize("name", PAGES)
def test_page_of_a_fixture_is_well_formed(name: str) -> None:
    page = page_of(dossier_of(name))
    check_structure(page)


@pytest.mark.parametrize("name", PAGES)
def test_first_screen_holds_the_answer(name: str) -> None:
    dossier = dossier_of(name)
    report = dossier.report
    told = page_of(dossier).by_id("verdict")
    assert report.verdict.failure_class in told
    assert report.verdict.summary.replace("`", "") in told
    for wanted in (report.verdict.certainty, report.signature):
        assert wanted is None or wanted in told
    if report.last_kernel is not None:
        assert report.last_kernel.name in told
    if report.next_steps:
        assert report.next_steps[0].title in told
    if report.verdict.finding is not None:
        assert report.findings[report.verdict.finding].evidence[0].text in told


def test_policy_names_exactly_the_embedded_scripts_and_styles(crash: Dossier) -> None:
    page = page_of(crash)
    policy = next(
        attrs["content"]
        for tag, attrs in page.elements
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    told = dict(part.split(" ", 1) for part in policy.split("; "))
    scripts = [
        text
        for tag, attrs, text in page.wholes
        if tag == "script" and attrs.get("type") != "application/json"
    ]
    assert told["script-src"].split() == [_hash(text) for text in scripts]
    assert told["style-src"].split() == [_hash(text) for text in page.all("style")]
    assert told["default-src"] == told["base-uri"] == told["form-action"] == "'none'"
    assert told["img-src"] == "data:"
    assert "unsafe" not in policy


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def test_page_names_no_address_but_in_comments_of_uplot(crash: Dossier) -> None:
    markup = render_html(crash).replace("https://github.com/leeoniya/uPlot", "")
    assert not re.search(r"https?://|@import|url\(", markup)


def test_licence_of_the_charts_is_in_the_page(crash: Dossier) -> None:
    footer = page_of(crash).all("footer")[0]
    assert "uPlot 1.6.32" in footer
    assert "Copyright (c)" in footer


def test_healthy_run_says_so(healthy: Dossier) -> None:
    page = page_of(healthy)
    assert page.by_id("verdict-title") == "No failure found"
    assert "passed" in (dict(page.elements[_at(page, "verdict")][1])["class"] or "")
    assert "No known failure" in page.by_id("findings")


def _at(page: Page, name: str) -> int:
    return next(at for at, (_, attrs) in enumerate(page.elements) if attrs.get("id") == name)


def test_undecided_shows_what_was_seen() -> None:
    page = page_of(dossier_of("xpu-device-lost-cause-unknown"))
    assert page.by_id("verdict-title") == "Undecided"
    assert "UR_RESULT_ERROR_DEVICE_LOST" in page.of_class("said")[0]


def test_nothing_read_makes_a_page(healthy: Dossier) -> None:
    bare = with_report(healthy, sources=(), flags=(), findings=())
    page = page_of(msgspec.structs.replace(bare, launches=()))
    check_structure(page)
    assert "No launch was marked" in page.by_id("launches")


def test_finding_shows_its_evidence_in_its_surroundings(crash: Dossier) -> None:
    evidence = crash.report.findings[0].evidence[0]
    around = Excerpt(
        source=evidence.source,
        line=evidence.line,
        first_line=evidence.line - 1,
        text="the line before\n<b>the line</b>\nthe line after\n",
    )
    page = page_of(msgspec.structs.replace(crash, excerpts=(around,)))
    assert "the line before" in page.by_id("findings")
    assert page.all("mark", **{"class": "line"}) == ["<b>the line</b>"]
    numbers = page.of_class("excerpt")[0]
    assert str(evidence.line + 1) in numbers
    assert str(evidence.line + 2) not in numbers


def test_excerpt_of_another_line_is_not_taken(crash: Dossier) -> None:
    evidence = crash.report.findings[0].evidence[0]
    other = Excerpt(source=evidence.source, line=1, first_line=1, text="another line")
    page = page_of(msgspec.structs.replace(crash, excerpts=(other,)))
    assert "another line" not in page.text


def test_code_is_folded_around_its_lit_lines() -> None:
    text = "\n".join(f"line {number}" for number in range(100, 400))
    page = Page(listing(text, 100, (250,)).markup)
    assert page.all("mark") == ["line 250"]
    assert page.all("summary") == [
        "142 lines folded (100 to 241)",
        "141 lines folded (259 to 399)",
    ]
    assert page.of_class("lit") == ["250line 250"]


def test_of_very_long_code_the_surroundings_of_the_lit_line_are_kept() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 300_001))
    page = Page(listing(text, 1, (150_000,)).markup)
    assert page.all("mark") == ["line 150000"]
    assert page.of_class("more") == ["295,000 more lines of code not shown here"]
    code = [line for text in page.all("pre") for line in text.split("\n") if "line" in line]
    assert code == [f"line {number}" for number in range(147_500, 152_500)]


def test_short_code_is_whole() -> None:
    page = Page(listing("a\nb\nc", 1, ()).markup)
    assert not page.all("details")
    assert page.all("pre") == ["1\n2\n3", "a\nb\nc"]


def test_suspects_code_is_shown(crash: Dossier) -> None:
    code = SuspectCode(
        name="k", role="kernel", language="triton", file="/c/k.py", first_line=7, text="x = 1\n"
    )
    page = page_of(msgspec.structs.replace(crash, code=(code,)))
    assert "x = 1" in page.by_id("code")
    assert "lines 7 to 7" in str(page.elements)


def test_lineage_is_two_lists_and_a_check() -> None:
    page = page_of(dossier_of("lineage-index-from-size-of-empty-table"))
    told = page.by_id("lineage")
    assert len(page.of_class("chain")) == 2
    assert "arg1_1.size(0)" in page.of_class("chain")[1]
    assert "checked: at least 0, at most 4096" in told
    assert "s66 = 0, index = -1" in told
    assert "0 <= tmp9 < ks0" in page.of_class("failed")[-1] + told


def test_lineage_names_the_kernel_that_made_the_index() -> None:
    page = page_of(dossier_of("lineage-index-made-by-argmax-kernel"))
    index = page.of_class("chain")[0]
    assert "made by kerneltriton_per_fused_argmax_0" in index
    assert "buf0in_ptr0 in the kernel" in index


def test_compilations_failed_first_and_linked(healthy: Dossier) -> None:
    records = tuple(
        CompileRecord(id=name, rank=rank, ok=ok, fail_type=None, fail_reason="one\ntwo")
        for name, rank, ok in [("0/0", None, True), ("1/0", 3, False), ("2/0", 3, True)]
    )
    links = {link_key("1/0", 3): "tl/-_1_0/index.html", link_key("2/0", 3): "javascript:alert(1)"}
    page = page_of(with_report(healthy, compiles=records), links=links)
    told = page.by_id("compiles")
    assert told.index("1/0") < told.index("0/0")
    assert "1 of 3 failed" in told
    hrefs = [attrs["href"] for tag, attrs in page.elements if tag == "a" and "rel" in attrs]
    assert hrefs == ["./tl/-_1_0/index.html", "./javascript%3Aalert(1)"]


@pytest.mark.parametrize(
    ("url", "leads"),
    [
        ("a b/c.html", "./a%20b/c.html"),
        ("//evil.example/x", ".///evil.example/x"),
        ("https://evil.example", "./https%3A//evil.example"),
        ('"><script>', "./%22%3E%3Cscript%3E"),
        ("\ud800\x00", "./?%00"),
    ],
)
def test_a_link_leads_only_beside_the_page(url: str, leads: str) -> None:
    assert Page(anchor(url, "x").markup).elements == [("a", {"href": leads, "rel": "noreferrer"})]


@pytest.mark.parametrize(
    ("redacted", "told"),
    [
        (None, "Not redacted: "),
        ({}, "Redacted: nothing had to be replaced."),
        ({"user": 2, "dir": 5}, "Redacted, by kind and number: dir 5, user 2"),
    ],
)
def test_footer_tells_of_redaction(
    healthy: Dossier, redacted: dict[str, int] | None, told: str
) -> None:
    page = page_of(healthy, redacted=redacted)
    assert told in page.of_class("redaction")[0]
    assert ("not redacted" in page.by_id("verdict")) == (redacted is None)


def test_more_than_fits_is_counted(healthy: Dossier) -> None:
    source = healthy.report.sources[0]
    problems = tuple(Problem(line, "odd") for line in range(80))
    sources = (msgspec.structs.replace(source, problems=problems),) * 1_200
    page = page_of(with_report(healthy, sources=sources))
    assert "200 more sources not shown here" in page.by_id("sources")
    assert "30 more problems not shown here" in page.by_id("sources")


def test_five_hundred_findings_are_all_there(crash: Dossier) -> None:
    one = crash.report.findings[0]
    many = (one, *(msgspec.structs.replace(one, role="consequence") for _ in range(499)))
    page = page_of(with_report(crash, findings=many))
    assert len(page.of_class("finding")) == 500
    opened = [attrs for _, attrs in page.elements if "finding" in (attrs.get("class") or "")]
    assert sum("open" in attrs for attrs in opened) == 1


def test_columns_give_the_launches_back(crash: Dossier) -> None:
    data = page_of(crash).columns()
    names = [data["kernels"][kernel] for kernel in data["kernel"]]
    assert names == [launch.kernel for launch in crash.launches]
    assert data["state"] == "b" * len(crash.launches)
    assert data["index"] == [launch.index for launch in crash.launches]
    told = [arg for launch in crash.launches for arg in launch.arguments]
    kinds = [data["kinds"][kind] for which in data["set"] for kind in data["sets"][which]]
    assert [kind[:2] for kind in kinds] == [[arg.name, arg.phase] for arg in told]
    assert data["min"] == [arg.min for arg in told]
    assert data["named"] == {
        "kernel": "aoti_torch_cpu_mm_out",
        "at": 4,
        "label": "last, came back",
        "bad": False,
    }


def test_values_that_json_lacks_are_named(healthy: Dossier) -> None:
    argument = Argument(name="b", phase="after", min=-math.inf, max=math.nan, mean=2.0, nan=True)
    data = _columns(healthy, _launch(0, arguments=(argument,)))
    assert (data["min"], data["max"], data["mean"]) == (["-Infinity"], ["NaN"], [2])
    assert data["bad"] == "g"


def _launch(index: int, **more: Any) -> LaunchReport:
    given: dict[str, Any] = {
        "kernel": "k",
        "open": False,
        "rank": None,
        "source": "a.log",
        "line": 1,
    } | more
    return LaunchReport(index=index, **given)


def _columns(dossier: Dossier, *found: LaunchReport, **report: Any) -> dict[str, Any]:
    changed = with_report(dossier, **report)
    return page_of(msgspec.structs.replace(changed, launches=found)).columns()


def test_only_the_last_values_have_room(healthy: Dossier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_launches, "MAX_VALUES", 5)
    monkeypatch.setattr(html_launches, "MAX_ORIGINS", 2)
    two = tuple(Argument(name=name, phase="before", min=1.0) for name in "ab")
    found = [_launch(at, arguments=two, call=Call("w.cpp", at, "call()")) for at in range(4)]
    data = _columns(healthy, *found)
    assert [len(data["sets"][which]) for which in data["set"]] == [0, 0, 2, 2]
    assert data["valuesLeftOut"] == 2
    assert data["origin"] == [0, 1, -1, -1]
    assert data["originsLeftOut"] == 2


def _kernel(**more: Any) -> Kernel:
    given: dict[str, Any] = {
        "name": "k",
        "certainty": "sure",
        "open": True,
        "found_by": "printer",
        "why": "w",
    }
    return Kernel(**(given | more))


@pytest.mark.parametrize(
    ("kernel", "at"),
    [
        (_kernel(launch_index=1, rank=1), 3),
        (_kernel(launch_index=1), None),
        (_kernel(launch_index=1, evidence=Evidence("b.log", 9, 0, "")), 3),
        (_kernel(launch_index=7), None),
        (_kernel(call=Call("w.cpp", 9, "c")), 1),
        (_kernel(name="other"), None),
    ],
)
def test_named_launch_is_the_only_one_that_fits(
    healthy: Dossier, kernel: Kernel, at: int | None
) -> None:
    found = (
        _launch(0, rank=0),
        _launch(1, rank=0, call=Call("w.cpp", 9, "c")),
        _launch(0, rank=1, source="b.log"),
        _launch(1, rank=1, source="b.log", open=True),
    )
    named = _columns(healthy, *found, last_kernel=kernel)["named"]
    assert named["at"] == at
    assert named["label"] == "never came back"


def test_calls_that_only_stand_in_the_code_are_no_launches() -> None:
    page = page_of(dossier_of("triton-oob-proven-by-package"))
    assert "nothing here tells which of them ran" in page.by_id("launches")
    assert page.columns()["state"] == "cccc"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\tb\x1b[31m", "a   b\\x1b[31m"),
        ("a\r\nb\u202e\u2028", "a\nb\\u202e "),
        ("\ud800", "\\ud800"),
        (None, "unknown"),
        (True, "yes"),
        ([1, {"a": None}], "[1, a: unknown]"),
        (1 << 64, "0x10000000000000000"),
        ("x" * 20_010, "x" * 20_000 + " … (10 more characters)"),
    ],
)
def test_any_value_is_shown(value: Any, text: str) -> None:
    assert shown(value) == text


def test_backquotes_are_code_where_they_pair() -> None:
    assert prose("a `b<` c").markup == "a <code>b&lt;</code> c"
    assert prose("a `b c").markup == "a `b c"


def test_a_name_keeps_its_case() -> None:
    assert sentence("it came back").markup == "It came back"
    assert sentence("buf0 is bad").markup == "buf0 is bad"
    assert sentence("").markup == ""


def test_an_attribute_cannot_be_left() -> None:
    assert el("p", title='"><b>\n', hidden=True, id=None).markup == (
        '<p title="&quot;&gt;&lt;b&gt;\\x0a" hidden></p>'
    )


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--",
    "]]>",
    '" onmouseover="alert(1)',
    "'><svg/onload=alert(1)>",
    "</style></title></textarea>",
    "javascript:alert(1)",
    "&lt;b&gt;&#x3c;",
    "\x00\x1b]0;x\x07\x9b",
    "\u202e\u2066\u200b\ufeff",
    "\ud800\udfff\udc80",
    "\u2028\u2029\r\x85",
    "```\n# x",
    "${x}{{x}}{%x%}",
    "`a` `",
    "",
)
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20))
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(-3, 3) | st.integers(-(10**30), 10**30),
    float: st.floats(),
    bool: st.booleans(),
    type(None): st.none(),
    Any: st.none() | texts | st.floats() | st.integers() | st.lists(texts, max_size=2),
}


def drawn(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type of the report, with hostile texts wherever there is a text."""
    if kind in SCALARS:
        return SCALARS[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is tuple:
        return st.lists(drawn(inner[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(drawn(inner[0]), drawn(inner[1]), max_size=2)
    if origin is not None:
        return st.one_of(*map(drawn, inner))
    fields = {one.name: drawn(one.type) for one in msgspec.structs.fields(kind)}
    return st.fixed_dictionaries(fields).map(lambda given: kind(**given))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    drawn(Dossier),
    st.dictionaries(texts, texts, max_size=2),
    st.none() | st.dictionaries(texts, st.integers(0, 9), max_size=2),
)
def test_no_text_becomes_markup(
    dossier: Dossier, links: dict[str, str], redacted: dict[str, int] | None
) -> None:
    markup = render_html(dossier, links=links, redacted=redacted)
    markup.encode()
    assert all(char.isprintable() or char == "\n" for char in markup)
    page = Page(markup)
    check_structure(page)
    tags = [tag for tag, _ in page.elements]
    assert (tags.count("script"), tags.count("style")) == (3, 2)
    assert not {"img", "svg", "iframe", "object", "form", "base", "b<"} & set(tags)
    data = page.columns()
    assert len(data["kernel"]) == len(dossier.launches)
    flat = sum(len(data["sets"][which]) for which in data["set"])
    assert flat == len(data["min"]) == len(data["bad"])


@given(st.sampled_from(HOSTILE) | st.text())
def test_text_comes_back_as_it_is_shown(text: str) -> None:
    assert Page(el("p", text).markup).text == shown(text)
