"""What is private in YAML: entries of variables, environments, secrets; it is spread over lines."""

from __future__ import annotations

from typing import NamedTuple

from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.redact.environment import is_harmless, is_harmless_value
from aoti_logscan.redact.finder import secret_token
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.tokens import is_token

#: what says that a text may hold such lines
HINT = lazy_re(
    r"(?m)^[^\S\n]{0,200}(?:- )?(?:value|(?:stringD|d)ata|[eE]nv(?:ironment)?|[A-Z][A-Z0-9]*_\w+):"
)
# - name: DB_URL
_LINE = lazy_re(
    r"(?P<indent>[^\S\n]{0,200})(?P<dash>-\s{1,8})?[\"']?(?P<key>[A-Za-z_][\w.-]{0,200}+)[\"']?\s{0,4}"
    r"(?P<sign>:(?:\s{1,40}|$)|=)(?P<value>.*)"
)
_IGNORED = lazy_re(r"\s*(?:#.*)?")
_BLOCK = lazy_re(r"[|>][+-]?\d?\s*(?:#.*)?")
_VARIABLE = lazy_re(r"[A-Z_][A-Z0-9_]{1,63}")
_VALUE = lazy_re(r"(?P<open>[\"']?)(?P<value>.*?)(?P<close>(?P=open),?\s*)")
# a value that is one word, and no type as in code
_WORD = lazy_re(r"(?!(?:int|str|bool|float|bytes|object|Any|None)$)[^\s\"'(\[{]*[^\s\"',(\[{]")
#: how many lines are looked at for what a line belongs to
_NEAR = 12
_KEYS_OF_ITEMS = frozenset(("name", "valueFrom", "env"))


class _Line(NamedTuple):
    """A line `key: value`; `column` is where the key begins."""

    number: int
    column: int
    dash: bool
    key: str
    sign: str
    value: str


class Manifest:
    """The lines of a text, in which those that are entries are replaced."""

    def __init__(self, known: Known, text: str) -> None:
        self._known = known
        self._lines = text.split("\n")
        self._is_secret = any(line.strip() == "kind: Secret" for line in self._lines)

    def redacted(self) -> str:
        """The text without values of variables and secrets; it has as many lines as before."""
        for number in range(len(self._lines)):
            if line := self._read(number):
                self._look_at(line)
        return "\n".join(self._lines)

    def _look_at(self, line: _Line) -> None:
        if line.key == "value" and line.sign != "=":
            self._value(line)
        elif line.key in ("environment", "Environment", "env") and not line.value:
            self._below(line, only_variables=True)
        elif line.key == "stringData" or (line.key == "data" and self._is_secret):
            self._below(line, only_variables=False)
        elif line.sign != "=" and _is_variable(line) and self._is_next_to_variable(line):
            self._replace(line)

    def _read(self, number: int) -> _Line | None:
        text = self._lines[number]
        if ":" not in text and "=" not in text:
            return None
        if not (match := _LINE.fullmatch(text)):
            return None
        return _Line(
            number,
            match.start("key"),
            match["dash"] is not None,
            match["key"],
            match["sign"].strip(),
            match["value"].strip(),
        )

    def _value(self, line: _Line) -> None:
        """A value, which its name may excuse; one without a name is an entry that was cut."""
        if not line.column:
            return
        name = self._name_of(line)
        if name is None:
            if self._is_next_to_entry(line) or self._is_cut_off(line):
                self._replace(line)
        elif not is_harmless(name):
            self._replace(line)

    def _name_of(self, line: _Line) -> str | None:
        """The name in the same item, before or after the value."""
        if not line.dash and (before := self._near(line, -1)) and _is_same_item(before, line):
            return before.value.strip("\"'")
        after = self._near(line, 1)
        if after and not after.dash and _is_same_item(after, line):
            return after.value.strip("\"'")
        return None

    def _is_next_to_entry(self, line: _Line) -> bool:
        near = (self._near(line, -1), self._near(line, 1))
        return any(
            other is not None and other.key in _KEYS_OF_ITEMS and (other.dash or not other.value)
            for other in near
        )

    def _is_cut_off(self, line: _Line) -> bool:
        """Whether an excerpt begins with the line, so that its name may stand before it."""
        before = self._lines[: line.number]
        is_first = len(before) < _NEAR and all(map(_IGNORED.fullmatch, before))
        is_type = any(map(str.isupper, line.value)) and line.value.isalpha()
        is_word = _WORD.fullmatch(line.value) is not None and not is_type
        return is_first and is_word and line.number + 1 < len(self._lines)

    def _is_next_to_variable(self, line: _Line) -> bool:
        near = (self._near(line, -1), self._near(line, 1))
        others = [other for other in near if other and other.column == line.column]
        return any(map(_is_variable, others))

    def _near(self, line: _Line, step: int) -> _Line | None:
        """The next line before or after that says something, comments left out."""
        for number in range(line.number + step, line.number + step * _NEAR, step):
            if not 0 <= number < len(self._lines):
                return None
            if not _IGNORED.fullmatch(self._lines[number]):
                return self._read(number)
        return None

    def _below(self, head: _Line, *, only_variables: bool) -> None:
        """All entries that are indented more than a line."""
        for number in range(head.number + 1, len(self._lines)):
            if _IGNORED.fullmatch(self._lines[number]):
                continue
            line = self._read(number)
            indent = len(self._lines[number]) - len(self._lines[number].lstrip())
            if indent < head.column or (indent == head.column and not (line and line.dash)):
                return
            if line and not (only_variables and not _is_entry(line)):
                self._replace(line)

    def _replace(self, line: _Line) -> None:
        """A line with its value, or the block below it, as a token."""
        if line.key not in ("value", "data") and is_harmless(line.key):
            return
        if not line.value:
            return
        if _BLOCK.fullmatch(line.value):
            self._replace_block(line)
            return
        match = _VALUE.fullmatch(line.value)
        assert match is not None
        value = match["value"]
        if not value or is_token(value) or is_harmless_value(value) or value[0] in "{[":
            return
        new = match["open"] + secret_token(self._known, "value", value) + match["close"].rstrip()
        text = self._lines[line.number]
        start = text.rindex(line.value)
        self._lines[line.number] = text[:start] + new + text[start + len(line.value) :]

    def _replace_block(self, line: _Line) -> None:
        """The lines below a `|`; the first of them becomes the token, the others empty."""
        start = end = line.number + 1
        own = len(self._lines[line.number]) - len(self._lines[line.number].lstrip())
        while end < len(self._lines):
            text = self._lines[end]
            if text.strip() and len(text) - len(text.lstrip()) <= own:
                break
            end += 1
        value = "\n".join(text.strip() for text in self._lines[start:end]).strip()
        if not value or is_token(value):
            return
        first = self._lines[start]
        indent = first[: len(first) - len(first.lstrip())]
        empty = [""] * (end - start - 1)
        self._lines[start:end] = [indent + secret_token(self._known, "value", value), *empty]


def _is_same_item(name: _Line, value: _Line) -> bool:
    is_in_list = name.dash or value.dash
    return is_in_list and name.key == "name" and name.column == value.column and bool(name.value)


def _is_variable(line: _Line) -> bool:
    is_cased = line.column > 0 and "_" in line.key and _VARIABLE.fullmatch(line.key)
    return bool(is_cased and _WORD.fullmatch(line.value))


def _is_entry(line: _Line) -> bool:
    return _VARIABLE.fullmatch(line.key) is not None
