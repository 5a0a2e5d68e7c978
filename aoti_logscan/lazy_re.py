"""Regular expressions that are compiled when they are first used.

Of the hundreds that read all formats a log needs a few, and compiling them all takes longer than
most logs do.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Late:
    """Stands for a compiled regex; becomes as good as one with the first method that is asked."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._source)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "split")


def lazy_re(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but a broken pattern raises `re.error` only at its first use."""
    return cast("re.Pattern[AnyStr]", _Late(pattern, flags))
