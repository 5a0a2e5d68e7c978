"""The strings of a value, however deep: collected, and put back changed."""

from __future__ import annotations

import functools
import typing
from collections.abc import Collection, Mapping
from typing import Any, Literal

import msgspec

_SEQUENCES = (tuple, list, set, frozenset)


def strings(value: Any) -> Collection[str]:
    """The different strings of a value that may be private, in the order they are met."""
    found: dict[str, None] = {}
    _collect(value, found)
    return found.keys()


def _collect(value: Any, found: dict[str, None]) -> None:
    if isinstance(value, str):
        found[value] = None
    elif isinstance(value, _SEQUENCES):
        for item in value:
            _collect(item, found)
    elif isinstance(value, msgspec.Struct):
        for name in _text_fields(type(value)):
            _collect(getattr(value, name), found)
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect(key, found)
            _collect(item, found)


def with_strings(value: Any, texts: Mapping[str, str]) -> Any:
    """A value with its strings replaced; the value itself where nothing in it changes."""
    if isinstance(value, str):
        return texts[value]
    if isinstance(value, _SEQUENCES):
        items = [with_strings(item, texts) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, msgspec.Struct):
        return _struct_with(value, texts)
    if isinstance(value, dict):
        return {with_strings(key, texts): with_strings(item, texts) for key, item in value.items()}
    return value


def _struct_with(value: msgspec.Struct, texts: Mapping[str, str]) -> msgspec.Struct:
    changed = {}
    for name in _text_fields(type(value)):
        old = getattr(value, name)
        if old and (new := with_strings(old, texts)) != old:
            changed[name] = new
    return msgspec.structs.replace(value, **changed) if changed else value


@functools.cache
def _text_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a struct whose values can hold text that is no word of a closed set."""
    hints = typing.get_type_hints(kind)
    return tuple(name for name in kind.__struct_fields__ if _holds_text(hints[name]))


def _holds_text(hint: Any) -> bool:
    if typing.get_origin(hint) is Literal or hint in (int, float, bool, bytes, type(None), ...):
        return False
    inner = typing.get_args(hint)
    return any(map(_holds_text, inner)) if inner else True
