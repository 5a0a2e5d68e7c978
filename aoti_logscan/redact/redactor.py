"""The redactor: forms first, then the names that were found in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeVar, cast

from aoti_logscan.redact.forms import PASSES, Forms
from aoti_logscan.redact.known import Known
from aoti_logscan.redact.memory import Memory
from aoti_logscan.redact.rules import REGEX_TIMEOUT, OwnRule, Rule
from aoti_logscan.redact.strings import strings, with_strings
from aoti_logscan.redact.words import looks_like_host

T = TypeVar("T")


class Redactor:
    """Replaces what is private by tokens, the same in every text that it is given.

    `rules` are the user's own and come first; `names` (of the user, the host, a home folder) are
    known from the start. Raises `RuleError` for a rule whose regex is none.
    """

    def __init__(self, rules: Sequence[Rule] = (), *, names: Sequence[str] = ()) -> None:
        self._known = Known()
        self._rules = [OwnRule(rule, f"rules[{number}]") for number, rule in enumerate(rules)]
        self._forms = Forms(self._known, self._rules)
        self._done = Memory()
        self._done_version = 0
        for name in names:
            self._learn_name(name)

    def learn(self, value: Any) -> None:
        """Look through all strings of a value, however deep, for what is private.

        What is found in one string is from then on replaced in all, also where it stands alone.
        """
        self._learn(strings(value))

    def text(self, text: str) -> str:
        """The text with everything private replaced; one that was redacted comes back as it is."""
        found = self._forms.text(text)
        if self._done_version != self._known.version:
            self._done.clear()
            self._done_version = self._known.version
        if (done := self._done.get(text)) is not None:
            return done
        done = "\n".join(map(self._without_names, found.split("\n")))
        self._done.remember(text, done)
        return done

    def value(self, value: T) -> T:
        """The same value with every string in it replaced, keys of dicts too.

        Structs, dicts, lists, tuples and sets are looked into; words of a closed set (`Literal`
        fields) stay. What is private in one string is replaced in all.
        """
        texts = strings(value)
        self._learn(texts)
        return cast(T, with_strings(value, {text: self.text(text) for text in texts}))

    def found(self) -> dict[str, int]:
        """How many different values have a token, by kind; never the values."""
        return dict(self._known.counts)

    def overruns(self) -> tuple[str, ...]:
        """The rules that took too long, one sentence each; such a line is replaced whole."""
        return tuple(
            f"rule {number} ({rule.kind}): the regex took over {REGEX_TIMEOUT:g} s on "
            f"{rule.overruns} lines, which are replaced whole"
            for number, rule in enumerate(self._rules)
            if rule.overruns
        )

    def _learn_name(self, name: str) -> None:
        """A name of unknown kind; of a path it is the last folder's."""
        name = name.rstrip("/\\")
        last = max(name.rfind("/"), name.rfind("\\")) + 1
        if not last and looks_like_host(name):
            self._known.learn_host(name)
        else:
            self._known.learn("user", name[last:])

    def _learn(self, texts: Collection[str]) -> None:
        for text in texts:
            self._known.reserve(text)
        for text in texts:
            self._forms.text(text)

    def _without_names(self, line: str) -> str:
        """A line without the names in it; what a name was joined to may show its form only then."""
        for _ in range(PASSES):
            before = line
            line = self._known.bare(line)
            if line == before:
                break
            line = self._forms.line(line)
        return line
