"""Patterns tried on all examples: each claims its own, no counterexample, nobody else's.

The same check serves the built-in patterns and a user's folder of them, whose examples and
patterns are tried together with the built-in ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from aoti_logscan.catalogue import Catalogue, built_in
from aoti_logscan.launches import bad_values
from aoti_logscan.pattern import Example
from aoti_logscan.pattern_check import Flaw
from aoti_logscan.pipeline import Evidence, analyze_text
from aoti_logscan.report import Finding, Report
from aoti_logscan.router import Router

#: the claimer of an example that no pattern claims
NOBODY = "(nobody)"


class Rehearsal(NamedTuple):
    """What came of it.

    `confusion` counts examples by the id of the pattern they belong to and the id of the one that
    the verdict on them rests on; `counterexamples` is how many were tried.
    """

    confusion: Mapping[tuple[str, str], int]
    counterexamples: int
    flaws: tuple[Flaw, ...]

    @property
    def examples(self) -> int:
        """How many examples were tried."""
        return sum(self.confusion.values())


def rehearse(in_use: Catalogue) -> Rehearsal:
    """Every example and counterexample of every pattern, before all patterns."""
    confusion: Counter[tuple[str, str]] = Counter()
    flaws: list[Flaw] = []
    against = 0
    for name, pattern in in_use.patterns.items():
        for at, example in enumerate(pattern.example):
            report, evidence = analyze_text(example.text.encode(), in_use)
            confusion[name, _claimer(report)] += 1
            flaws += _example_flaws(in_use, name, f"example[{at}]", example, report)
            flaws += _strangers(in_use, name, f"example[{at}]", report)
            flaws += _ties(in_use, evidence)
        for at, example in enumerate(pattern.counterexample):
            against += 1
            report, _ = analyze_text(example.text.encode(), in_use)
            flaws += _counterexample_flaws(in_use, name, f"counterexample[{at}]", example, report)
    return Rehearsal(confusion, against, tuple(dict.fromkeys(flaws)))


def _first(report: Report) -> Finding | None:
    """The finding that the verdict rests on, or the first of what was seen."""
    return report.findings[report.verdict.finding or 0] if report.findings else None


def _claimer(report: Report) -> str:
    first = _first(report)
    return first.pattern if first else NOBODY


def _example_flaws(
    in_use: Catalogue, name: str, key: str, example: Example, report: Report
) -> Iterator[Flaw]:
    file = str(in_use.files[name])
    first = _first(report)
    if first is None or first.pattern != name:
        mend = "tell them apart by a condition, an override or another example"
        yield Flaw(file, key, f"is claimed by {_claimer(report)}", mend)
        return
    for fact, wanted in example.facts.items():
        if (got := first.facts.get(fact)) != wanted:
            yield _fact_flaw(file, f"{key}.facts.{fact}", wanted, got)


def _strangers(in_use: Catalogue, name: str, key: str, report: Report) -> Iterator[Flaw]:
    """Patterns of a user's folder that find something in the example of another pattern."""
    for claimer in {finding.pattern for finding in report.findings} - {name}:
        if in_use.files[claimer] != built_in().files.get(claimer):
            what = f"also claims a line of {name}'s {key}"
            yield Flaw(str(in_use.files[claimer]), "where", what, "narrow its conditions")


def _fact_flaw(file: str, key: str, wanted: Any, got: Any) -> Flaw:
    return Flaw(file, key, f"should be {wanted!r} and is {got!r}", "mend the source in [facts]")


def _counterexample_flaws(
    in_use: Catalogue, name: str, key: str, example: Example, report: Report
) -> Iterator[Flaw]:
    file = str(in_use.files[name])
    claims = [finding.pattern for finding in report.findings]
    if name in claims:
        yield Flaw(file, key, "is claimed by this pattern", "narrow its conditions")
    if example.pattern is not None and example.pattern not in claims:
        what = f"is not claimed by {example.pattern} but by {', '.join(claims) or NOBODY}"
        yield Flaw(file, key, what, "take another text, or name another pattern")


def _ties(in_use: Catalogue, evidence: Evidence) -> Iterator[Flaw]:
    """Two patterns that fit one event equally well: then chance would decide."""
    router = Router(in_use.patterns.values(), evidence.library, None, in_use.ours)
    for situation in (*evidence.situations, *bad_values(evidence.situations)):
        best = router.rules_of(situation)[:2]
        if len(best) == 2 and best[0].specificity == best[1].specificity:
            one, other = (rule.pattern.id for rule in best)
            what = f"fits a line as well as {one} does: {situation.event.place.text[:80]!r}"
            yield Flaw(str(in_use.files[other]), "where", what, "add a condition to one of them")
