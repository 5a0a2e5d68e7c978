"""The redactor on real logs, and on texts that nobody would write."""

from __future__ import annotations

import re
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from aoti_logscan.redact import Redactor
from tests.conftest import FIXTURES
from tests.redact.planted import CASES

#: what must survive in every log, wherever it stands
_SURVIVES = re.compile(
    r"\b(?:triton_(?:poi|per|red|tem)_\w+|cpp_fused_\w+|c[a-z2-7]{51}\b|aoti_torch_\w+"
    r"|[\w.-]+\.(?:py|cpp|cu|cuh|h):\d+|AOTI_\w+|CUDA_LAUNCH_BLOCKING=\d|TORCH_\w+"
    r"|torch/[\w/]+\.py|aten/src/[\w/]+\.\w+|c10/[\w/]+\.\w+|(?:size|stride|dtype)=[\w.\[\]()]+)"
    r"|Assertion `[^`']{1,200}|line \d+|\w+Error: [^/<\n\"'@]{0,80}|input_handles\[\d+\][\w :,()]+"
)


def _logs() -> list[Path]:
    files = [*FIXTURES.glob("*/input/**/*"), *FIXTURES.glob("forms/*/input/**/*")]
    return sorted(
        file
        for file in files
        if file.is_file() and file.read_bytes()[:2] not in (b"PK", b"\x1f\x8b")
    )


@pytest.mark.parametrize("file", _logs(), ids=lambda file: str(file.relative_to(FIXTURES)))
def test_real_log_keeps_its_story(file: Path) -> None:
    text = file.read_bytes().decode("utf-8", errors="replace")
    redacted = Redactor().text(text)
    assert _SURVIVES.findall(redacted) == _SURVIVES.findall(text)
    assert redacted.count("\n") == text.count("\n")
    assert not re.search(r"/home/|torchinductor_(?!root|<)[a-z]+/|/srv/\w|Users[/\\]", redacted)


_HOSTILE = st.one_of(
    st.text(),
    st.text(
        alphabet=st.sampled_from(
            list("aZ0/\\.:@=<>-_ \n\r\t\"'`%~$!?&[]{}()|u2Fn\x1b\x00\ud800\u202e")
        )
    ),
    st.lists(
        st.sampled_from(
            [text for text, _ in CASES]
            + ["<user-1>", "<dir-1>", "<token-1>", "anna", "/home/", "anna@", "://", "=", "\\", "/"]
            + [
                "-----BEGIN PRIVATE KEY-----",
                "password=",
                "C:\\",
                "\\\\",
                "%2F",
                ".",
                ":",
                "::",
                "@",
            ]
        )
    ).map("".join),
)


@hypothesis.given(_HOSTILE)
@hypothesis.settings(deadline=None)
def test_redacted_text_comes_back_as_it_is(text: str) -> None:
    redactor = Redactor(names=["anna"])
    redacted = redactor.text(text)
    assert redactor.text(redacted) == redacted


@hypothesis.given(st.lists(_HOSTILE))
@hypothesis.settings(deadline=None)
def test_value_is_what_text_gives(texts: list[str]) -> None:
    redactor = Redactor()
    redacted = redactor.value(texts)
    assert redacted == [redactor.text(text) for text in texts]
    assert redactor.value(tuple(texts)) == tuple(redacted)


@hypothesis.given(_HOSTILE, st.sampled_from(["anna17", "gpu-node-17", "10.1.2.3"]))
@hypothesis.settings(deadline=None)
def test_value_is_found_whatever_stands_before_it(text: str, secret: str) -> None:
    """Each on a line of its own, in a form of its own."""
    forms = f"\n/home/anna17/x/y.py\n  host      : gpu-node-17\npeer 10.1.2.3\n{secret}\n"
    redacted = Redactor().text(text + forms)
    assert secret not in redacted.removeprefix(text).splitlines()[-1]
