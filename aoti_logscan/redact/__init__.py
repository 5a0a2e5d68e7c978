"""What is private in a text, replaced by tokens: the same value by the same token everywhere.

`/home/anna/ranker/model.py:12` becomes `<dir-1>/model.py:12`, so that a report can be shown to
strangers and its story still be followed. What a maintainer needs stays: kernels, generated files,
torch's own paths, line numbers, sizes, dtypes, messages, debugging flags.

A line passes through the finders of `table.FINDERS`, top to bottom. A finder sees what the ones
above it left, knows tokens, and leaves them alone. Names of people and hosts that were found are
then replaced wherever they stand as a word. Each regex takes time in proportion to the line: it
has no nested quantifier that can give back, and starts only where a word does.

From the bottom: `words` and `tokens`, `known`, `finder` and `rules`, one module for each kind of
private text, `table`, `needs`, `forms`, `redactor`.
"""

from __future__ import annotations

from aoti_logscan.redact.redactor import Redactor
from aoti_logscan.redact.rules import Rule, RuleError, read_rules

__all__ = ["Redactor", "Rule", "RuleError", "read_rules"]
