"""Hostile logs through the command: in no output does their text act, be it markup or escapes."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.conftest import Run

EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(1)></pre></details></summary>"
    "`` ``` ~~~ | [x](javascript:alert(1)) @everyone #1 &lt; <!-- ]]> "
    "\x1b[2J\x1b[31m\x1b]0;title\x07\x1b]8;;http://e.vil\x07\x9b31m\x90q\x9c"
    "\x08\x08\x0b\x0c\x7f\u202e\u2066\u200b\ufeff\u2028\x00"
)
#: logs that carry it in messages, names of kernels, files and operators, and in printed values
LOGS = {
    "exception": f'Traceback (most recent call last):\n  File "/srv/{EVIL}.py", line 3, in {EVIL}\n'
    f"    {EVIL}\nRuntimeError: CUDA error: misaligned address {EVIL}\n",
    "assertion": f"/tmp/{EVIL}/cabc.py:3: {EVIL}: block: [0,0,0], thread: [0,0,0] Assertion "
    f"`index out of bounds: 0 <= tmp4 < {EVIL}` failed.\n",
    "input": "Error: input_handles[0]: unmatched dtype, "
    f"expected: 6({EVIL}), but got: 11({EVIL})\n",
    "shim": f"Error: aoti_torch_cpu_mm_out({EVIL}) API call failed "
    f"at /t/{EVIL}.wrapper.cpp, line 9\n",
    "marks": f"[ before_launch: {EVIL} ]\n[  before_launch - {EVIL} - {EVIL}  ]:\n"
    f"Dtype: {EVIL}\nDevice: {EVIL}\nMin value: nan\n\nSegmentation fault (core dumped)\n",
    "compile": "V1130 06:29:53.164000 16210 torch/_dynamo/utils.py:2009] "
    + json.dumps(
        {
            "compilation_metrics": {
                "compile_id": EVIL,
                "fail_type": EVIL,
                "fail_reason": EVIL,
            },
            "frame_id": 0,
        },
        ensure_ascii=False,
    )
    + "\n",
    "abort": f"terminate called after throwing an instance of '{EVIL}'\n  what():  {EVIL}\n",
    "nothing": f"{EVIL}\n",
}
OURS = {
    *("h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "ul", "li"),
    *("strong", "br", "details", "summary", "sub"),
}


class _Page(HTMLParser):
    """What could act in a page: elements and attributes that run, load or lead somewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.acting: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        if tag in ("img", "iframe", "object", "embed", "base", "form", "svg:script"):
            self.acting.append(tag)
        for name, value in attrs:
            leads_out = name in ("href", "src") and not (value or "").startswith(
                ("#", "data:,", "./")
            )
            if name.startswith("on") or name == "style" or leads_out:
                self.acting.append(f"{tag} {name}={value}")


@pytest.fixture(params=LOGS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A hostile log in a file that is named to match."""
    folder = tmp_path / "<img src=x onerror=alert(1)>\x1b[31m\u202e"
    folder.mkdir()
    file = folder / "`x` | [y](z) @everyone.log"
    file.write_text(LOGS[request.param], encoding="utf-8")
    return file


def _attached(run: Run, log: Path) -> Iterator[tuple[str, str]]:
    path = log.parent.parent / "bug.zip"
    run("--attach", str(path), str(log))
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        for name in archive.namelist():
            yield name, archive.read(name).decode()


def _unprintable(text: str) -> set[str]:
    return {char for line in text.split("\n") for char in line if not char.isprintable()}


@pytest.mark.parametrize("form", ["text", "json", "events", "markdown", "sarif", "kernels"])
def test_no_character_acts_on_a_terminal(form: str, log: Path, run: Run) -> None:
    words = ["kernels"] if form == "kernels" else ["-f", form, "--all"]
    result = run(*words, str(log))
    assert result.exit_code in (0, 1)
    assert _unprintable(result.stdout) == set()
    assert _unprintable(result.stderr) == set()


def test_no_character_of_an_attachment_acts(log: Path, run: Run) -> None:
    for name, text in _attached(run, log):
        assert name.isprintable()
        assert _unprintable(text) <= ({"\t"} if name == "report.html" else set()), name


def test_markdown_is_only_our_markup(log: Path, run: Run) -> None:
    page = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render(run("-f", "markdown", str(log)).stdout)
    )
    assert {tag.lower() for tag in re.findall(r"</?([A-Za-z!][\w-]*)", page)} <= OURS
    outside = re.sub(r"<(code|pre)>.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"@everyone|#1\b|<[^>]*(?:href|src)=", outside)


def test_page_is_only_our_markup(log: Path, run: Run) -> None:
    shown = run("-f", "html", str(log)).stdout
    clean = run("-f", "html", "-", stdin=b"hello\n").stdout
    found, ours = _Page(), _Page()
    found.feed(shown)
    ours.feed(clean)
    assert found.acting == []
    assert found.scripts == ours.scripts
    assert _unprintable(shown) <= _unprintable(clean)
