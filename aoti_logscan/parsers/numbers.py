"""Numbers of a log as integers, however many digits someone wrote."""

from __future__ import annotations

#: digits of the largest number that any format has (a 64-bit integer)
_DIGITS = 20


def integer(raw: bytes | None) -> int | None:
    """The integer; None where there is none or it is beyond 64 bits."""
    if not raw or len(raw) > _DIGITS:
        return None
    try:
        return int(raw)
    except ValueError:  # something else came between the digits
        return None
