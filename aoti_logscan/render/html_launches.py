"""The launches as columns that the page's script reads, and the places where it draws them.

Columns rather than objects, and each text once: 100,000 launches with the printed values of four
arguments are 12 MB instead of 150.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from aoti_logscan.render.html_markup import EMPTY, Html, el, plural, shown
from aoti_logscan.render.html_parts import producer, section
from aoti_logscan.report import Argument, Call, Dossier, Kernel, LaunchReport

#: printed arguments of launches in the page; of more, the last ones
MAX_VALUES = 400_000
#: different calls in generated code, with their origins, in the page
MAX_ORIGINS = 5_000
#: characters of one name in the columns
_MAX_NAME = 1_000
#: the largest integer that a script can count with
_LARGEST = 2**53

K = TypeVar("K", bound=Hashable)


class Codes(Generic[K]):
    """Numbers for values: each distinct one is listed once, as `form` writes it."""

    def __init__(self, form: Callable[[K], Any], limit: int = _LARGEST) -> None:
        self._form = form
        self._limit = limit
        self._known: dict[K, int] = {}
        self.listed: list[Any] = []

    def of(self, value: K) -> int:
        """The number of the value; -1 where the list is full."""
        known = self._known.get(value)
        if known is not None:
            return known
        if len(self.listed) >= self._limit:
            return -1
        self._known[value] = len(self.listed)
        self.listed.append(self._form(value))
        return self._known[value]


def launches(dossier: Dossier) -> Html:
    """The section: the script's charts, and the last launches for where no script runs."""
    found = dossier.launches
    if not found:
        told = "No launch was marked, and no generated code is at hand that would list its calls."
        return section("launches", "Launches", el("p", told, class_="empty"))
    total = len(found) + dossier.launches_left_out
    what = "call" if found[0].open is None else "launch"
    note = plural(total, what, "launches" if what == "launch" else "calls")
    return section(
        "launches",
        "Launches in order" if what == "launch" else "Calls in the generated code",
        _called_only(found[0]),
        el("div", id="timeline", class_="js"),
        el("noscript", _last(found)),
        note=note,
    )


def _called_only(first: LaunchReport) -> Html:
    """What a list of calls does not tell."""
    if first.open is not None:
        return EMPTY
    told = (
        "No launch was marked in what was read. These are the wrapper's calls in the order of the "
        "code: nothing here tells which of them ran."
    )
    return el("p", told, class_="quiet")


def _last(found: Sequence[LaunchReport]) -> Html:
    """The last launches as a plain list."""
    last = found[-20:]
    told = f"The last {len(last)} of {len(found):,}; the charts need JavaScript."
    state = {True: "open", False: "back", None: "call"}
    items = (
        el("li", f"{shown(one.index)}  {state[one.open]}  ", el("code", shown(one.kernel, 300)))
        for one in last
    )
    return el("div", el("p", told, class_="quiet"), el("ul", *items, class_="points"))


def launch_data(dossier: Dossier) -> str:
    """The columns as JSON in which no character can end or open markup."""
    text = msgspec.json.encode(_columns(dossier)).decode()
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _columns(dossier: Dossier) -> dict[str, Any]:
    found = dossier.launches
    names: Codes[str] = Codes(_name)
    lanes: Codes[tuple[int | None, str]] = Codes(lambda key: [_whole(key[0]), _name(key[1])])
    origins: Codes[_Origin] = Codes(_origin, MAX_ORIGINS)
    columns = {
        "kernel": [names.of(one.kernel) for one in found],
        "lane": [lanes.of((one.rank, one.source)) for one in found],
        "origin": [origins.of(_origin_of(one)) for one in found],
    }
    return {
        **columns,
        "index": [_whole(one.index) for one in found],
        "line": [_whole(one.line) for one in found],
        "state": "".join(_STATES[one.open] for one in found),
        "kernels": names.listed,
        "lanes": lanes.listed,
        "origins": origins.listed,
        "originsLeftOut": columns["origin"].count(-1),
        "leftOut": dossier.launches_left_out,
        "named": _named(dossier.report.last_kernel, found),
        **_values(found),
    }


_STATES = {True: "o", False: "b", None: "c"}


def _values(found: Sequence[LaunchReport]) -> dict[str, Any]:
    """What was printed, launch by launch from the first that the page has room for."""
    kinds: Codes[_Kind] = Codes(_kind)
    sets: Codes[tuple[int, ...]] = Codes(list)
    first = _first_with_room(found)
    told = [one.arguments if at >= first else () for at, one in enumerate(found)]
    which = [sets.of(tuple([kinds.of(_kind_of(arg)) for arg in each])) for each in told]
    flat = [arg for each in told for arg in each]
    return {
        "set": which,
        "sets": sets.listed,
        "kinds": kinds.listed,
        "min": [_number(arg.min) for arg in flat],
        "max": [_number(arg.max) for arg in flat],
        "mean": [_number(arg.mean) for arg in flat],
        "bad": "".join(_BAD[arg.nan, arg.inf] for arg in flat),
        "valuesLeftOut": sum(bool(one.arguments) for one in found[:first]),
    }


def _first_with_room(found: Sequence[LaunchReport]) -> int:
    room = MAX_VALUES
    for at in range(len(found) - 1, -1, -1):
        room -= len(found[at].arguments)
        if room < 0:
            return at + 1
    return 0


#: one letter for what was said of NaN and inf, unknown first
_BAD = {
    (nan, inf): "abcdefghi"[3 * at + of]
    for at, nan in enumerate((None, False, True))
    for of, inf in enumerate((None, False, True))
}

_Kind = tuple[str, str, str | None, str | None, tuple[int, ...] | None, tuple[int, ...] | None, Any]


def _kind_of(one: Argument) -> _Kind:
    return (one.name, one.phase, one.dtype, one.device, one.size, one.stride, one.numel)


def _kind(of: _Kind) -> list[str | None]:
    return [None if one is None else shown(one, _MAX_NAME) for one in of]


_Origin = tuple[Call | None, Any, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def _origin_of(one: LaunchReport) -> _Origin:
    return (one.call, one.producers, one.source_nodes, one.aten_ops, one.user_stack)


def _origin(of: _Origin) -> dict[str, Any]:
    call, producers, nodes, operators, stack = of
    at = "" if call is None or call.file is None else f"{call.file}:{shown(call.line)}"
    return {
        "at": _name(at),
        "call": "" if call is None else _name(call.text),
        "reads": [f"{_name(one.argument)}: {_name(producer(one))}" for one in producers[:60]],
        "nodes": _names(nodes),
        "operators": _names(operators),
        "stack": _names(stack),
    }


def _names(texts: Iterable[str]) -> list[str]:
    return [_name(text) for text in list(texts)[:60]]


def _name(text: str) -> str:
    return shown(text, _MAX_NAME)


def _whole(number: int | None) -> int | None:
    return number if number is None or abs(number) < _LARGEST else _LARGEST


def _number(value: float | None) -> float | int | str | None:
    """A number as JSON has it; NaN and the infinities by the names that a script reads."""
    if value is None:
        return None
    if math.isfinite(value):
        return int(value) if value == int(value) and abs(value) < 1e15 else value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _named(kernel: Kernel | None, found: Sequence[LaunchReport]) -> dict[str, Any] | None:
    """The last kernel's launch among the launches; `at` is None where none or several fit."""
    if kernel is None:
        return None
    fitting = [at for at, one in enumerate(found) if _is_of(one, kernel)]
    at = fitting[0] if len(fitting) == 1 else None
    label = {True: "never came back", False: "last, came back", None: "named by the evidence"}
    return {
        "kernel": _name(kernel.name),
        "at": at,
        "label": label[kernel.open],
        "bad": kernel.open is not False,
    }


def _is_of(one: LaunchReport, kernel: Kernel) -> bool:
    if one.kernel != kernel.name or _of_another_rank(one, kernel):
        return False
    if kernel.launch_index is not None:
        at_home = kernel.evidence is None or kernel.evidence.source == one.source
        return at_home and one.index == kernel.launch_index
    return kernel.call is None or kernel.call == one.call


def _of_another_rank(one: LaunchReport, kernel: Kernel) -> bool:
    return None not in (one.rank, kernel.rank) and one.rank != kernel.rank
