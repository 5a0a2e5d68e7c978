"""What a server was asked, as it logs its requests: no text in a prompt is a failure.

    INFO 05-05 14:40:11 [logger.py:39] Received request chatcmpl-8: prompt: "<|im_start|>user\\nWhat
    does RuntimeError: CUDA error: an illegal memory access was encountered mean?", params: ...

(on one line) gives nothing, and what stands between the quotes is owned here. Sources: vLLM,
entrypoints/logger.py, `log_inputs`; requests of the OpenAI API as JSON or as a Python dict.
"""

from __future__ import annotations

import re

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.records import Parsed

NAME = "prompts"
#: it is never called for: prompts are looked for where another format was found
ANCHORS: tuple[bytes, ...] = ()

# prompt: "    "prompt": "    prompt='    {"role": "user", "content": "    and all of it in a string
_OPENED = lazy_re(
    rb"(?:\b(?:prompt|question|instruction|user_(?:input|message))\\*[\"']?\s*[:=]\s*"
    rb"|role\\*[\"']: ?\\*[\"']user\\*[\"'], ?\\*[\"']content\\*[\"']: ?)(?P<quote>\\*[\"'])"
)
#: words of which one stands before any prompt: to look for them costs less than the regex
_WORDS = (b"prompt", b"question", b"instruction", b"user_", b"role")
#: bytes before a hit in which a prompt may begin
_WITHIN = 8192


def parse(_hit: Hit) -> Parsed:
    """Nothing: a prompt is no event."""
    return ()


def owns(hit: Hit) -> int | None:
    """The end of the hit where it stands in a prompt whose quote is open."""
    buffer = hit.window.buffer
    begin = max(0, hit.start - _WITHIN)
    head = bytes(buffer[buffer.rfind(b"\n", begin, hit.start) + 1 or begin : hit.start])
    if not any(word in head for word in _WORDS):
        return None
    for opened in _OPENED.finditer(head):
        closing = rb"(?<!\\)" + re.escape(opened["quote"])
        if re.compile(closing).search(head, opened.end()) is None:
            return hit.end
    return None
