"""What became of texts that were met before: strings of logs and reports repeat."""

from __future__ import annotations

#: texts up to this length (in characters) are remembered
_LENGTH = 1_000
#: how many of them, before all are forgotten
_SIZE = 100_000


class Memory(dict[str, str]):
    """Short texts, each with what became of it."""

    def remember(self, text: str, result: str) -> None:
        """Remember what became of a text, unless it is long."""
        if len(self) >= _SIZE:
            self.clear()
        if len(text) <= _LENGTH:
            self[text] = result
