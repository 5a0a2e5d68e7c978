"""Situations times patterns: findings with roles, and the verdict.

Each event goes to the most specific matching pattern. Findings of one pattern are told
apart by its key facts. The cause is the first finding, in the order of the run, that is no
consequence of another; everything else is a consequence of it or stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, get_args

from aoti_logscan.artifacts.library import Library
from aoti_logscan.artifacts.wrapper_body import Input, expected, may_check
from aoti_logscan.events import (
    AnyEvent,
    CollectiveError,
    ErrorText,
    InputCheck,
    PythonException,
    tag_of,
)
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.pattern import CLASS_FACTS, Pattern
from aoti_logscan.report import CERTAINTIES, Certainty, Evidence, Finding, Role, Verdict
from aoti_logscan.rule import Lookup, Rule
from aoti_logscan.timeline import JOINED_FIELDS, Situation, evidence_of

#: after an error of these classes every later one of the process is its consequence
_POISONING = frozenset(
    {
        "triton-index-out-of-bounds",
        "aten-index-out-of-bounds",
        "device-assert",
        "illegal-memory-access",
        "misaligned-address",
    }
)

#: how `weak` a pattern is that tells of waiting for others
_WAITS = 2
#: how ranks end that only followed
_ABORTS = ("collective-failure", "host-crash")
#: classes whose failures are told in text and in a trace, in other words but with the same key
_TOLD_BY_MANY = frozenset({"compile-failure"})


class Routed(NamedTuple):
    """Findings, cause first and then by position, and the verdict on them.

    `advisers` are the patterns whose next steps help: the cause's, or those of what was seen
    where nothing decides; each with its finding. `cause` is the cause's first event.
    """

    findings: tuple[Finding, ...]
    verdict: Verdict
    advisers: tuple[tuple[Pattern, Finding], ...]
    cause: Situation | None


class Router:
    """Patterns by event type, the artifacts at hand, and whether launches were blocking.

    `ours` are the ids of patterns that come with the package.
    """

    def __init__(
        self,
        patterns: Iterable[Pattern],
        library: Library,
        blocking: bool | None,
        ours: Collection[str] = (),
    ) -> None:
        self._rules: dict[str, list[Rule]] = {}
        for pattern in patterns:
            self._rules.setdefault(pattern.event, []).append(Rule(pattern, ours=pattern.id in ours))
        self._claimed = {kind for kind in get_args(AnyEvent) if tag_of(kind) in self._rules}
        self._library = library
        self._blocking = blocking

    def rules_of(self, situation: Situation) -> list[Rule]:
        """The matching rules, the most specific first."""
        lookup = self._lookup(situation)
        rules = self._rules.get(tag_of(type(situation.event)), ())
        matching = [rule for rule in rules if rule.fits(lookup)]
        return sorted(matching, key=lambda rule: rule.specificity, reverse=True)

    def overruns(self) -> Iterator[tuple[str, str]]:
        """Ids of patterns whose regexes took too long, each with a sentence."""
        for rules in self._rules.values():
            for rule in rules:
                yield from ((rule.pattern.id, told) for told in rule.overruns())

    def route(self, situations: Iterable[Situation]) -> Routed:
        """Findings with their roles, and the verdict."""
        drafts: dict[tuple[Any, ...], _Draft] = {}
        claims = sorted(self._claims(situations), key=_tells_no_reason)
        for situation, rule in claims:
            pattern, facts = rule.pattern, rule.facts(self._lookup(situation))
            key = self._identity(pattern, facts, situation)
            if key not in drafts and _tells_no_reason((situation, rule)):
                key = next((known for known in drafts if known[0] == key[0]), key)
            if key in drafts:
                drafts[key].add(situation, facts)
            else:
                drafts[key] = _Draft(pattern, situation, facts)
        return _judge(list(drafts.values()))

    def _identity(
        self, pattern: Pattern, facts: dict[str, Any], situation: Situation
    ) -> tuple[Any, ...]:
        """What records of one finding share: the pattern, or the class, and its key."""
        lookup = self._lookup(situation)
        whose = pattern.failure_class if pattern.failure_class in _TOLD_BY_MANY else pattern.id
        return (whose, *(facts[name] if name in facts else lookup(name) for name in pattern.key))

    def _claims(self, situations: Iterable[Situation]) -> Iterator[tuple[Situation, Rule]]:
        """Events with their rules; an exception that only retells another event is left out."""
        claimed = [
            (situation, rules[0])
            for situation in situations
            if type(situation.event) in self._claimed and (rules := self.rules_of(situation))
        ]
        explained = {
            id(situation.shim)
            for situation, rule in claimed
            if "shim_function" in rule.pattern.where
        }
        told = {
            id(traceback)
            for situation, rule in claimed
            if not isinstance(situation.event, PythonException)
            and _tells_a_failure(rule.pattern)
            and id(situation.event) not in explained
            for traceback in situation.retold_by
        }
        places = {
            (situation.event.place.source, situation.event.place.line)
            for situation, _ in claimed
            if not isinstance(situation.event, ErrorText | PythonException)
        }
        compiles = {
            id(situation.event)
            for situation, rule in claimed
            if rule.pattern.failure_class == "compile-failure"
        }
        for situation, rule in claimed:
            event = situation.event
            if id(event) in explained or _is_link(situation, compiles):
                continue
            retold = isinstance(event, ErrorText) and (
                (event.place.source, event.place.line) in places
            )
            if id(event) not in told and not retold:
                yield situation, rule

    def _lookup(self, situation: Situation) -> Lookup:
        def lookup(name: str) -> Any:
            if name in _FROM_ARTIFACTS:
                return _FROM_ARTIFACTS[name](self._library, situation)
            if name == _ASYNCHRONOUS:
                return None if self._blocking is None else not self._blocking
            return situation.field(name)

        return lookup


def _tells_a_failure(pattern: Pattern) -> bool:
    """Whether what a user's pattern on lines says of a line makes the exception around it told."""
    return pattern.event != "line" or pattern.role in ("cause", "consequence")


def _tells_no_reason(claim: tuple[Situation, Rule]) -> bool:
    """Whether this is a failed compilation without words, which others may tell."""
    situation, rule = claim
    told_by_many = rule.pattern.failure_class in _TOLD_BY_MANY
    return told_by_many and situation.field("compile_headline") is None


def _is_link(situation: Situation, compiles: set[int]) -> bool:
    """Whether a failed compilation came of this exception, which so tells nothing of its own."""
    last = situation.led_to
    return last is not None and last is not situation.event and id(last) in compiles


def _kernel_of_file(library: Library, situation: Situation) -> str | None:
    return library.kernel_of(situation.field("file"))


def _input_name(library: Library, situation: Situation) -> str | None:
    event = situation.event
    if not isinstance(event, InputCheck) or event.input is None:
        return None
    return library.input_name(event.input, _named_files(situation), _fits(event))


def _input_expected(library: Library, situation: Situation) -> str | None:
    """The whole of what the package expects of the refused input."""
    event = situation.event
    if not isinstance(event, InputCheck) or event.input is None:
        return None
    known = library.input(event.input, _named_files(situation), _fits(event))
    return expected(known) if known else None


def _named_files(situation: Situation) -> list[str]:
    return [situation.shim.file] if situation.shim else []


def _fits(check: InputCheck) -> Callable[[Input], bool]:
    return lambda known: may_check(known, check.property, check.dim, check.expected)


def _custom_ops(library: Library, _situation: Situation) -> str | None:
    return ", ".join(library.custom_ops[:5]) or None


def _constant_fqn(library: Library, situation: Situation) -> str | None:
    """The user's own name of the constant that the failure names."""
    said = situation.field("subject") or situation.field("message")
    return library.constant_fqn(said) if isinstance(said, str) else None


_FROM_ARTIFACTS: dict[str, Callable[[Library, Situation], Any]] = {
    "package.device": lambda library, _situation: library.device,
    "package.kernel": _kernel_of_file,
    "package.input_name": _input_name,
    "package.input_expected": _input_expected,
    "package.custom_ops": _custom_ops,
    "package.constant_fqn": _constant_fqn,
}
_ASYNCHRONOUS = "launches_are_asynchronous"
#: names of what patterns may ask beside the fields of an event
LOOKED_UP = (*JOINED_FIELDS, *_FROM_ARTIFACTS, _ASYNCHRONOUS)


#: facts that add up over the records of a finding
_ADDED = ("assertions", "blocks")


class _Draft:
    """A finding in the making."""

    def __init__(self, pattern: Pattern, first: Situation, facts: dict[str, Any]) -> None:
        self.pattern = pattern
        self.first = first
        self.facts = facts
        self.count = first.event.count
        self.role: Role = pattern.role
        self.certainty: Certainty = pattern.certainty
        self.sources = {first.event.place.source: first}
        self.rank = first.rank
        self.ranks = {first.rank}
        self.process = first.event.process
        #: other ranks that aborted because of this failure
        self.aborted = 0

    def add(self, situation: Situation, facts: dict[str, Any]) -> None:
        """Take in another record of the same finding.

        What was known first stays; of a failed compilation the exception that was raised last
        tells, where it has words.
        """
        raised_later = (
            self.failure_class in _TOLD_BY_MANY
            and isinstance(situation.event, PythonException)
            and situation.field("compile_headline") is not None
        )
        self.count += situation.event.count
        self.rank = situation.rank if self.rank is None else self.rank
        self.ranks.add(situation.rank)
        self.process = situation.event.process if self.process is None else self.process
        self.sources.setdefault(situation.event.place.source, situation)
        for name, value in facts.items():
            if name in _ADDED and isinstance(value, int):
                self.facts[name] = (self.facts[name] or 0) + value
            elif self.facts.get(name) is None or (raised_later and value is not None):
                self.facts[name] = value

    @property
    def failure_class(self) -> str:
        return self.pattern.failure_class

    def follows(self, other: _Draft) -> bool:
        """Whether this is a consequence of `other`, if that is the cause."""
        named = self.pattern.consequence_of
        if "*" in named and (self.pattern.role != "cause" or self.failure_class == "undecided"):
            return True
        shared = _may_share_a_process(self, other)
        if shared and other.failure_class in named:
            return True
        if self.pattern.weak > other.pattern.weak:
            # who waits for others, or ends because of them, cannot have been first
            return self.pattern.weak >= _WAITS or not self.first.is_before(other.first)
        if self.pattern.weak < other.pattern.weak:
            return False
        if self.failure_class == other.failure_class:
            return self.pattern.id != other.pattern.id and other.first.order < self.first.order
        poisons = other.failure_class in _POISONING
        return poisons and shared and not self.first.is_before(other.first)

    def _evidence(self) -> Iterator[Evidence]:
        """The first record of each source, and the failed shim call where it tells half of it."""
        for situation in self.sources.values():
            yield evidence_of(situation.event)
        if "shim_function" in self.pattern.where and self.first.shim is not None:
            yield evidence_of(self.first.shim)

    def _afterwards(self) -> str:
        """`; 7 ranks aborted afterwards`, or nothing."""
        if not self.aborted:
            return ""
        return f"; {self.aborted} rank{'s' if self.aborted > 1 else ''} aborted afterwards"

    def finding(self) -> Finding:
        pattern = self.pattern
        known = {**self.facts, "count": self.count, "rank": self.rank}
        follows = pattern.follows if self.role == "consequence" else None
        worded = pattern.worded(self.facts)
        return Finding(
            pattern=pattern.id,
            failure_class=pattern.failure_class,
            role=self.role,
            certainty=self.certainty,
            title=pattern.title,
            summary=(fill(follows or worded.summary, known) or pattern.title) + self._afterwards(),
            facts=_told_facts(self.facts, CLASS_FACTS[pattern.failure_class]),
            count=self.count,
            rank=self.rank,
            process=self.process,
            evidence=tuple(self._evidence()),
            explain=fill(pattern.explain, known),
            fixes=tuple(fill(text, known) for text in worded.fixes or ()),
        )


def _told_facts(facts: dict[str, Any], of_class: Sequence[str]) -> dict[str, Any]:
    """The facts of the class, known or not, and the pattern's own where they are known."""
    return {name: value for name, value in facts.items() if name in of_class or value is not None}


def _may_share_a_process(one: _Draft, other: _Draft) -> bool:
    """False where the ranks are known and differ."""
    return one.rank is None or other.rank is None or one.rank == other.rank


_PLACEHOLDER = lazy_re(r"\{([a-z_]+)\}")


def placeholders(template: str) -> list[str]:
    """The names of facts that a pattern's text asks for."""
    return _PLACEHOLDER.findall(template)


def fill(template: str, facts: dict[str, Any]) -> str:
    """A pattern's text with its facts: `{name}`; a part in `[[ ]]` goes where a fact is null."""
    parts = []
    for at, part in enumerate(template.replace("]]", "[[").split("[[")):
        optional = at % 2 == 1
        names = placeholders(part)
        if optional and any(facts.get(name) is None for name in names):
            continue
        parts.append(_PLACEHOLDER.sub(lambda match: _told(facts.get(match[1])), part))
    return "".join(parts).strip()


def _told(value: Any) -> str:
    return "?" if value is None else str(value)


def _judge(drafts: Sequence[_Draft]) -> Routed:
    cause, others = _cause(drafts)
    if cause is not None:
        _complete(cause, others)
    for draft in others:
        draft.role = _role_beside(draft, cause) if cause is not None else _role_alone(draft)
    if cause is not None:
        cause.aborted = len(_aborted_ranks(others) - cause.ranks)
    ordered = [*([cause] if cause else []), *sorted(others, key=lambda draft: draft.first.order)]
    findings = tuple(draft.finding() for draft in ordered)
    own = any(_is_own(draft) for draft in drafts)
    symptoms = [
        (draft, finding)
        for draft, finding in zip(ordered, findings, strict=True)
        if finding.failure_class != "none" and not (own and _is_told_by_launcher(draft))
    ]
    told = symptoms if cause is None else [(cause, findings[0])]
    advisers = tuple((draft.pattern, finding) for draft, finding in told)
    first = cause.first if cause else None
    seen = [finding for _, finding in symptoms]
    return Routed(findings, _verdict(cause, findings, seen), advisers, first)


def _aborted_ranks(drafts: Iterable[_Draft]) -> set[int | None]:
    """The ranks of which it is told that they gave up because of another's failure."""
    return {
        rank
        for draft in drafts
        if draft.role == "consequence" and draft.failure_class in _ABORTS
        for rank in draft.ranks
        if rank is not None
    }


def _cause(drafts: Sequence[_Draft]) -> tuple[_Draft | None, list[_Draft]]:
    """The first finding that may be a cause and follows from no other that may."""
    able = [
        draft
        for draft in drafts
        if draft.pattern.role == "cause" and draft.failure_class != "undecided"
    ]
    able.sort(key=lambda draft: draft.first.order)
    # what follows from what depends on pattern and rank alone, so the first of each will do
    first = {(draft.pattern.id, draft.rank): draft for draft in reversed(able)}
    able = sorted(first.values(), key=lambda draft: (draft.pattern.weak, draft.first.order))
    roots = [
        draft
        for draft in able
        if not any(
            other is not draft and draft.follows(other) and not other.follows(draft)
            for other in able
        )
    ]
    roots.sort(key=lambda draft: draft.first.order)
    cause = next(iter(roots or able), None)
    if cause is not None and cause.pattern.weak and any(_is_symptom(draft) for draft in drafts):
        cause = None
    if cause is not None:
        _lower_where_order_is_unknown(cause, roots)
        _lower_where_a_rank_raised(cause, drafts)
    return cause, [draft for draft in drafts if draft is not cause]


def _complete(cause: _Draft, others: Sequence[_Draft]) -> None:
    """Take from other reports of the same failure what the first one does not tell."""
    for other in others:
        if (
            other.failure_class == cause.failure_class
            and other.pattern.role == "cause"
            and other.pattern.id != cause.pattern.id
            and other.facts.get("runtime") == cause.facts.get("runtime")
            and _may_share_a_process(other, cause)
        ):
            for name in CLASS_FACTS[cause.failure_class]:
                if cause.facts.get(name) is None:
                    cause.facts[name] = other.facts.get(name)


def _is_symptom(draft: _Draft) -> bool:
    """Whether this is a failure of its own whose class is not known."""
    return draft.failure_class == "undecided" and draft.pattern.role == "cause"


def _lower_where_order_is_unknown(cause: _Draft, roots: Sequence[_Draft]) -> None:
    """Without wall times, which of several sources or ranks failed first is only likely."""
    if any(
        draft.failure_class != cause.failure_class and not cause.first.is_in_order_with(draft.first)
        for draft in roots
        if draft is not cause
    ):
        _lower(cause)


def _lower_where_a_rank_raised(cause: _Draft, drafts: Sequence[_Draft]) -> None:
    """Who waited in vain may have waited for a rank that its own exception ended."""
    raised = any(_is_own(draft) and not cause.first.is_before(draft.first) for draft in drafts)
    if cause.pattern.weak == _WAITS and raised:
        _lower(cause)


def _is_own(draft: _Draft) -> bool:
    """Whether this is an exception of the program's own."""
    return draft.failure_class == "none" and isinstance(draft.first.event, PythonException)


def _is_told_by_launcher(draft: _Draft) -> bool:
    """Whether torch's launcher tells that a process ended as an exception of Python ends it."""
    event = draft.first.event
    elastic = isinstance(event, CollectiveError) and event.form == "elastic"
    return elastic and draft.facts.get("exit_code") in (None, "1")


def _lower(draft: _Draft) -> None:
    at = CERTAINTIES.index(draft.certainty)
    draft.certainty = CERTAINTIES[min(at + 1, len(CERTAINTIES) - 1)]


def _role_beside(draft: _Draft, cause: _Draft) -> Role:
    if draft.pattern.role != "cause":
        return draft.pattern.role
    if draft.pattern.id == cause.pattern.id:
        return "context"
    return "consequence" if draft.follows(cause) else "context"


def _role_alone(draft: _Draft) -> Role:
    """Where nothing decides, a failure that was seen is no cause but part of the picture."""
    return "context" if draft.pattern.role == "cause" else draft.pattern.role


def _verdict(
    cause: _Draft | None, findings: Sequence[Finding], symptoms: Sequence[Finding]
) -> Verdict:
    if cause is not None:
        found = findings[0]
        return Verdict(
            failure_class=found.failure_class,
            certainty=found.certainty,
            summary=found.summary,
            finding=0,
        )
    if not symptoms:
        return Verdict(
            failure_class="none", certainty=None, summary="No failure was found.", finding=None
        )
    seen = "; ".join(dict.fromkeys(finding.summary for finding in symptoms))
    return Verdict(
        failure_class="undecided",
        certainty=None,
        summary=f"Something failed, and what was read does not decide why: {seen}",
        finding=None,
    )
