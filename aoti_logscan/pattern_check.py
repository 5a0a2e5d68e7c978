"""What is wrong with a pattern file, and how to mend it: all of it at once, never an exception."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import msgspec
import regex

from aoti_logscan.advice import FLAG_NAMES
from aoti_logscan.errors import PatternError
from aoti_logscan.events import AnyEvent, tag_of
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.pattern import CLASS_FACTS, Pattern, folder_of_patterns, load
from aoti_logscan.router import LOOKED_UP, placeholders
from aoti_logscan.sources import shown

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

#: bytes that the literal of a pattern on raw lines has at least
MIN_ANCHOR = 3
#: how like a class's own fact an additional one may be
_TYPO = 0.8
#: placeholders that every summary may have
_ALWAYS_KNOWN = ("count", "rank")

_ID = lazy_re(r"[a-z0-9][a-z0-9-]*")
_EVENTS: dict[str, type[msgspec.Struct]] = {tag_of(kind): kind for kind in get_args(AnyEvent)}


class Flaw(NamedTuple):
    """One thing that is wrong: in which file, at which key, what, and what would be right."""

    file: str
    key: str
    what: str
    mend: str

    @property
    def told(self) -> str:
        """Key, what is wrong and how to mend it, in one line."""
        at = f"{self.key}: " if self.key else ""
        return f"{at}{self.what}; {self.mend}"

    @property
    def in_file(self) -> str:
        """The same with the file's name in front."""
        return f"{self.file}: {self.told}"


class Checked(NamedTuple):
    """A pattern file as it was read; `pattern` is None where flaws make it useless."""

    pattern: Pattern | None
    flaws: tuple[Flaw, ...]


def check_file(file: Path) -> Checked:
    """The pattern of a file, or every flaw of it."""
    name = shown(str(file))
    try:
        return _checked(file, name)
    except PatternError as error:
        what = str(error).removeprefix(f"{file}: ")
        return Checked(None, (Flaw(name, "", what, "write it as TOML in UTF-8"),))
    except RecursionError:
        return Checked(None, (Flaw(name, "", "is nested too deep", "write it flat"),))


def _checked(file: Path, name: str) -> Checked:
    tables = load(file)
    flaws = [Flaw(name, *told) for told in _schema_flaws(tables)]
    if not flaws:
        flaws = [Flaw(name, *told) for told in _flaws(shown(file.stem), tables)]
    if flaws:
        return Checked(None, tuple(flaws))
    return Checked(msgspec.convert({**tables, "id": file.stem}, Pattern), ())


_Told = tuple[str, str, str]


@cache
def _schema() -> dict[str, Any]:
    file = folder_of_patterns() / "pattern.schema.json"
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema


def _schema_flaws(tables: Mapping[str, Any]) -> Iterator[_Told]:
    import jsonschema

    validator = jsonschema.Draft202012Validator(_schema())
    for error in sorted(validator.iter_errors(tables), key=lambda error: error.json_path):
        yield from _told(error)


def _told(error: ValidationError) -> Iterator[_Told]:
    """The flaws that a schema error stands for; of alternatives, those of the nearest one."""
    key = error.json_path.removeprefix("$").removeprefix(".")
    schema: Any = error.schema
    instance: Any = error.instance
    match error.validator:
        case "oneOf":
            nearest = _nearest(error.context or ())
            if nearest is not None:
                yield from _told(nearest)
            else:
                mend = "write a value, a list of values, or a table with a test"
                yield key, f"{error.instance!r} may not stand here", mend
        case "required":
            missing = error.message.split("'")[1]
            told = schema["properties"].get(missing, {}).get("description", "a value")
            yield key, f"{missing!r} is missing", f"add {missing}: {told}"
        case "additionalProperties":
            known = tuple(schema["properties"])
            for name in sorted(set(instance) - set(known)):
                yield _join(key, name), "is no key that is known here", _did_you_mean(name, known)
        case "enum":
            mend = _did_you_mean(error.instance, schema["enum"])
            yield key, f"{error.instance!r} is not known", mend
        case "type":
            names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            mend = f"write a TOML {' or '.join(names)}"
            yield key, f"{error.instance!r} is of the wrong type", mend
        case _:
            yield key, error.message, schema.get("description", "`aoti-logscan schema pattern`")


def _nearest(errors: Iterable[ValidationError]) -> ValidationError | None:
    """Of the errors of all alternatives, the one that lies deepest, or that names no type."""
    able = [error for error in errors if error.validator != "type"]
    return max(able, key=lambda error: len(error.absolute_path), default=None)


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _did_you_mean(word: object, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(word), known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"one of {', '.join(known)} may stand here"


def _flaws(stem: str, tables: Mapping[str, Any]) -> Iterator[_Told]:
    """What the schema cannot tell: names of events, fields and facts, regexes, the anchor."""
    if not _ID.fullmatch(stem):
        yield "", f"{stem!r} is no id", "name the file in lower case, digits and '-'"
    event = tables["event"]
    if event not in _EVENTS:
        yield "event", f"{event!r} is not known", _did_you_mean(event, tuple(_EVENTS))
        return
    yield from _anchor_flaws(event, tables.get("anchor"))
    fields = (*_EVENTS[event].__struct_fields__, *LOOKED_UP)
    facts = CLASS_FACTS[tables["class"]]
    for name, wanted in tables.get("where", {}).items():
        yield from _unknown(f"where.{name}", name, fields)
        yield from _regex_flaws(f"where.{name}", wanted)
    for name, source in tables.get("facts", {}).items():
        if name not in facts and (close := difflib.get_close_matches(name, facts, 1, _TYPO)):
            yield (
                f"facts.{name}",
                f"{name!r} is no fact of this class",
                f"did you mean {close[0]!r}?",
            )
        yield from _source_flaws(f"facts.{name}", source, fields)
    yield from _word_flaws(tables, (*facts, *tables.get("facts", ())), fields)


def _word_flaws(
    tables: Mapping[str, Any], facts: Sequence[str], fields: Sequence[str]
) -> Iterator[_Told]:
    """Names of facts, classes and flags that stand in values and texts."""
    for name in tables.get("key", ()):
        yield from _unknown("key", name, (*facts, *fields))
    for name in tables.get("consequence_of", ()):
        yield from _unknown("consequence_of", name, ("*", *CLASS_FACTS))
    texts = [(name, tables[name]) for name in ("summary", "follows", "explain") if name in tables]
    texts += [(f"fixes[{at}]", text) for at, text in enumerate(tables.get("fixes", ()))]
    for at, worded in enumerate(tables.get("wording", ())):
        told = (worded["summary"], *worded.get("fixes", ()))
        texts += [(f"wording[{at}]", text) for text in told]
        for name in worded["when"]:
            yield from _unknown(f"wording[{at}].when", name, facts)
    for at, step in enumerate(tables.get("next", ())):
        texts += [
            (f"next[{at}].{part}", step.get(part, "")) for part in ("title", "command", "why")
        ]
        if "flag" in step:
            yield from _unknown(f"next[{at}].flag", step["flag"], FLAG_NAMES)
        for name in (*step.get("when", ()), *([step["unless"]] if "unless" in step else ())):
            yield from _unknown(f"next[{at}]", name, facts)
    for key, text in texts:
        if text.count("[[") != text.count("]]"):
            yield key, "'[[' without ']]'", "an optional part stands in [[ ]]; write a [ once"
        for name in placeholders(text):
            yield from _unknown(key, name, (*facts, *_ALWAYS_KNOWN))


def _unknown(key: str, name: str, known: Sequence[str]) -> Iterator[_Told]:
    if name not in known:
        yield key, f"{name!r} is not known", _did_you_mean(name, known)


def _anchor_flaws(event: str, anchor: str | None) -> Iterator[_Told]:
    if event != "line":
        if anchor is not None:
            yield (
                "anchor",
                "only patterns on raw lines have one",
                'take it out, or set event = "line"',
            )
        return
    rule = "a literal that stands in every such line and hardly anywhere else"
    if anchor is None:
        yield "anchor", "is missing", f"add {rule}"
    elif len(anchor.encode()) < MIN_ANCHOR:
        yield "anchor", f"is shorter than {MIN_ANCHOR} bytes", f"take {rule}"
    elif not anchor.isprintable():
        yield "anchor", "holds a control character", "a line holds none; take a part without it"


def _source_flaws(key: str, source: Any, fields: Sequence[str]) -> Iterator[_Told]:
    """What is wrong with where a fact comes from."""
    if isinstance(source, str):
        yield from _unknown(key, source, fields)
    elif isinstance(source, list):
        for one in source:
            yield from _source_flaws(key, one, fields)
    elif "regex" in source:
        yield from _unknown(key, source["field"], fields)
        found = list(_regex_flaws(key, source))
        yield from found
        groups = () if found else tuple(regex.compile(source["regex"]).groupindex)
        if not found and source["group"] not in groups:
            what = f"the regex has no group {source['group']!r}"
            yield key, what, f"name one: (?P<{source['group']}>...)"


def _regex_flaws(key: str, wanted: Any) -> Iterator[_Told]:
    """Regexes that do not compile, in a condition or a source."""
    if not isinstance(wanted, dict):
        return
    for name, argument in wanted.items():
        if name == "regex":
            try:
                regex.compile(argument)
            except (regex.error, ValueError, OverflowError) as error:
                yield _join(key, "regex"), f"{argument!r} is no regex: {error}", "mend it there"
        else:
            yield from _regex_flaws(_join(key, name), argument)
