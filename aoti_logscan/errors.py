"""The errors a caller of this package may see; malformed input is never one of them."""

from __future__ import annotations


class LogscanError(Exception):
    """Says in one sentence what went wrong, where, and what to do; the command prints it as is."""


class UnreadablePathError(LogscanError):
    """A path that was named does not exist or may not be read."""


class PatternError(LogscanError):
    """A pattern file is malformed; the text names the file, the key and what would be right."""
