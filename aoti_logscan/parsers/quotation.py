"""Whether a message is said by a failing program, or quoted by someone who speaks of it.

Documents, tests, configurations, diffs and commit messages hold the same words as a failure. They
put them in backquotes, in a list or call, behind a bullet, or in a test's name, a shell in what it
searches for; a failing program puts them at the end of its line, or as the value of a key
(`"error": "CUDA error: ..."`).
"""

from __future__ import annotations

from aoti_logscan.lazy_re import lazy_re

# `RuntimeError: CUDA error ...
_BACKQUOTE = lazy_re(rb"`(?:[\w.]+: )?$")
# ["CUDA error ...    raises(RuntimeError, "CUDA error ...    Fix "CUDA error
# but not   "error": "CUDA error ...   error='CUDA ...   RuntimeError('CUDA ...   error 'CUDA ...
# nor the quote that closes   Model 'u'
_QUOTE = lazy_re(rb"(?P<quote>[\"'])(?:[\w.]+: )?$")
# b"    f'
_LITERAL = lazy_re(rb"(?<![\w\"'])[bfru]$")
_WORD = lazy_re(rb"\w$")
_VALUE = lazy_re(
    rb"(?:[\w\"']\s*:\s*|^\s*|(?:Error|Exception|Failure|due to|[Mm]essage)[ (]?"
    rb"|(?:err(?:or)?|msg|message|exc(?:eption)?|reason|details?|std(?:err|out)|output|log|text"
    rb"|body|event|line|stack|trace)[\"']?=|(?:err|exc|fail|log|std|out|msg|lines)\w*[\"']?\s*[:=]"
    rb"\s*\[\s*)$"
)
_SINGLE_QUOTED_BY = lazy_re(rb"\w $")
# raise RuntimeError("CUDA error ...
_RAISE = lazy_re(rb"\braise\s+[\w.]+\(?\s*[bfru]?[\"']?$")
# -  CUDA error ...     * Avoid CUDA error     +    # RuntimeError: ...
_BULLET = lazy_re(rb"^\s*(?:[-*] [\"']?(?:[\w.]+: )?|[-+]\s*#.*|[-+]\s{2,}.*)$")
# # workaround for: RuntimeError: CUDA error ...    but not   # RuntimeError: CUDA error ...
_COMMENT = lazy_re(rb"^\s*(?:#|//|--)\s+(?:[a-z]+[,:]?\s+)+(?:[\w.]+: )?$")
# tests/test_x.py::test_err[CUDA error: ...] PASSED    but not    x.py::test_err - RuntimeError: ...
_TEST_NAME = lazy_re(rb"\.py::\w+\[[^\]]*$")
# a1b2c3d Fix CUDA error: ...    fix(cuda): avoid CUDA error ...    Fixes "CUDA error ...
_COMMIT = lazy_re(
    rb"^\s*(?:[0-9a-f]{7,40} )?(?:[(\[][^)\]]{1,60}[)\]]:? ?|\w{2,12}(?:\(\w+\))?: )*"
    rb"(?:[Ff]ix|[Aa]void|[Pp]revent|[Rr]evert|[Rr]esolve|[Rr]epro(?:duce)?"
    rb"|[Ww]ork ?around(?: for)?)(?:e?[sd])?(?:\(\w+\))?:? (?:[\w'-]+ ){0,5}[\"']?(?:[\w.]+: )?$"
)
# + grep -c 'CUDA error: ...' serve.log     $ rg "CUDA error ...
_SEARCHED = lazy_re(
    rb"(?:^|[\s;|(/])(?:[ezf]?grep|rg|ag|ack|awk|sed)\b[^|;\"']{0,80}(?P<quote>[\"'])[^\"']{0,80}$"
)


def is_quotation(text: bytes, start: int) -> bool:
    """Whether the message that begins at `start` of a line is quoted rather than said."""
    head = text[max(0, start - 120) : start]
    if any(pattern.search(head) for pattern in (_BACKQUOTE, _TEST_NAME, _RAISE)):
        return True
    if start <= 120 and any(pattern.match(head) for pattern in (_BULLET, _COMMENT, _COMMIT)):
        return True
    if _SEARCHED.search(head):
        return True
    match = _QUOTE.search(head)
    before = _before_quote(head[: match.start()]) if match else None
    if match is None or before is None or _VALUE.search(before):
        return False
    # NCCL WARN Cuda failure 'an illegal ...'; Worker failed with error 'CUDA error: ...
    return match["quote"] == b'"' or not _SINGLE_QUOTED_BY.search(before)


def _before_quote(head: bytes) -> bytes | None:
    """What stands before an opening quote; None where the quote closes what is before it."""
    if _LITERAL.search(head):
        head = head[:-1]
    elif _WORD.search(head):
        return None
    return head[-40:]
