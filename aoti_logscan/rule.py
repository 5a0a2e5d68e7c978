"""A pattern made ready: does an event fit it, and which facts does it give.

Regexes of users run under a limit of time for one field and for a whole run, since the text comes
from logs; one that took too long counts as no match, and that is told.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aoti_logscan.pattern import CLASS_FACTS, Pattern

if TYPE_CHECKING:
    import regex

#: seconds that one regex may take on one field, and in all
REGEX_TIMEOUT = 0.5
REGEX_BUDGET = 5.0

Lookup = Callable[[str], Any]
_Test = Callable[[Any], bool]


class Rule:
    """One pattern with its conditions and facts; a bad regex raises when it is used.

    The regexes of `ours`, a pattern that comes with the package, need no limit.
    """

    def __init__(self, pattern: Pattern, *, ours: bool = False) -> None:
        self.pattern = pattern
        self._ours = ours
        self._searches: list[_Search] = []
        self._conditions = [
            (name, self._test(f"where.{name}", wanted)) for name, wanted in pattern.where.items()
        ]
        if pattern.anchor is not None:
            anchor = pattern.anchor
            self._conditions.insert(0, ("text", lambda text: anchor in (text or "")))
        # regexes cost the most, so they come last
        self._conditions.sort(key=lambda condition: _asks_a_regex(pattern.where.get(condition[0])))
        self._facts = {
            name: self._source(f"facts.{name}", source) for name, source in pattern.facts.items()
        }

    @property
    def specificity(self) -> tuple[bool, int]:
        """Patterns of a known class come before nets for the rest, then the more conditions."""
        return self.pattern.failure_class != "undecided", len(self._conditions)

    def fits(self, lookup: Lookup) -> bool:
        """Whether every condition holds; `lookup` gives a field by its name."""
        return all(test(lookup(name)) for name, test in self._conditions)

    def facts(self, lookup: Lookup) -> dict[str, Any]:
        """All facts of the pattern's class; None for one that is not known."""
        found: dict[str, Any] = dict.fromkeys(CLASS_FACTS[self.pattern.failure_class])
        for name, source in self._facts.items():
            found[name] = source(lookup)
        return found

    def overruns(self) -> Iterator[str]:
        """What took too long so far, one sentence for each regex."""
        for search in self._searches:
            if search.overruns:
                yield (
                    f"{search.key}: the regex took over {REGEX_TIMEOUT:g} s on "
                    f"{search.overruns} texts, which count as no match"
                )
            if search.spent > REGEX_BUDGET:
                yield f"{search.key}: the regex was given up after {REGEX_BUDGET:g} s in all"

    def _search(self, key: str, source: str) -> _Search:
        search = _Search(key, source, limited=not self._ours)
        self._searches.append(search)
        return search

    def _test(self, key: str, wanted: Any) -> _Test:
        """A condition: a plain value is equality, a list one of, a table the named tests in it."""
        if isinstance(wanted, list):
            return lambda value: value in wanted
        if not isinstance(wanted, dict):
            return lambda value: bool(value == wanted)
        tests = [self._named_test(key, name, argument) for name, argument in wanted.items()]
        return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)

    def _named_test(self, key: str, name: str, argument: Any) -> _Test:
        if name == "present":
            return lambda value: (value is not None) is argument
        if name == "regex":
            search = self._search(key, argument)
            return lambda value: search(value) is not None
        test = self._test(key, argument)
        if name == "not":
            return lambda value: not test(value)
        return lambda value: any(test(item) for item in value or ())

    def _source(self, key: str, source: Any) -> Callable[[Lookup], Any]:
        """A fact: a field, the first known of several, a `value` itself, or a regex's `group`."""
        if isinstance(source, list):
            sources = [self._source(key, one) for one in source]
            return lambda lookup: next(
                (value for one in sources if (value := one(lookup)) is not None), None
            )
        if not isinstance(source, dict):
            return lambda lookup: lookup(source)
        if "value" in source:
            return lambda _lookup: source["value"]
        return self._extract(key, source)

    def _extract(self, key: str, source: dict[str, str]) -> Callable[[Lookup], Any]:
        search, field, group = self._search(key, source["regex"]), source["field"], source["group"]

        def extract(lookup: Lookup) -> str | None:
            match = search(lookup(field))
            return match[group] if match else None

        return extract


def _asks_a_regex(wanted: Any) -> bool:
    if not isinstance(wanted, dict):
        return False
    return "regex" in wanted or any(map(_asks_a_regex, wanted.values()))


class _Search:
    """One regex, with the time it took where that is limited."""

    def __init__(self, key: str, source: str, *, limited: bool) -> None:
        self.key = key
        self.spent = 0.0
        self.overruns = 0
        self._source = source
        self._limited = limited

    @cached_property
    def _free(self) -> re.Pattern[str]:
        return re.compile(self._source)

    @cached_property
    def _compiled(self) -> regex.Pattern[str]:
        import regex

        return regex.compile(self._source)

    def __call__(self, text: Any) -> re.Match[str] | regex.Match[str] | None:
        if not isinstance(text, str) or self.spent > REGEX_BUDGET:
            return None
        if not self._limited:
            return self._free.search(text)
        begun = time.perf_counter()
        try:
            return self._compiled.search(text, timeout=REGEX_TIMEOUT)
        except TimeoutError:
            self.overruns += 1
            return None
        finally:
            self.spent += time.perf_counter() - begun
