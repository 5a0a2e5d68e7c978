"""What a server was asked is no failure, whatever it says."""

from __future__ import annotations

import pytest

from aoti_logscan.events import Event
from tests.parsers.conftest import events

SAID = "RuntimeError: CUDA error: an illegal memory access was encountered"
ASSERTED = (
    "/tmp/c5/cc53.py:30: unknown: block: [3,0,0], thread: [64,0,0] Assertion `index out of bounds:"
    " 0 <= tmp4 < ks0` failed."
)
TRACEBACK = r"Traceback (most recent call last):\n  File a.py, line 1, in f\nKeyError: 1"


def _events(template: str, said: str) -> list[Event]:
    return list(events((template.replace("@", said) + "\n").encode()))


@pytest.mark.parametrize("said", [SAID, ASSERTED, TRACEBACK])
@pytest.mark.parametrize(
    "template",
    [
        'INFO Received request chatcmpl-8: prompt: "<|im_start|>user\\nWhat is @ ?", params: x',
        "INFO Received request 7: prompt: 'it \\'says\\' @', params: x",
        '{"prompt": "I see @"}',
        "{'messages': [{'role': 'user', 'content': 'what is @'}]}",
        '{"msg": "request: {\\"prompt\\": \\"I see @\\"}"}',
    ],
)
def test_prompt_tells_no_failure(template: str, said: str) -> None:
    assert _events(template, said) == []


@pytest.mark.parametrize(
    "template",
    [
        'request 7: prompt: "hello", failed: @',
        "request 7: prompt: 'a', error: @",
        "prompt: @",
        "{'role': 'user', 'content': 'x'} @",
        "{'role': 'assistant', 'content': '@",
    ],
)
def test_failure_beside_a_prompt_is_told(template: str) -> None:
    assert len(_events(template, SAID)) == 1


def test_prompt_of_the_line_above_is_over() -> None:
    assert len(_events('prompt: "never closed\n@', SAID)) == 1
