"""What a form of a record is, and how forms are made of templates."""

from __future__ import annotations

from typing import NamedTuple

from tests.fuzz.words import Words, joined, listed, literal, said


class Form(NamedTuple):
    """One form of a record: what it is called, and its text with its final newline."""

    name: str
    text: Words


def forms(*templates: str) -> tuple[Form, ...]:
    """Forms that are a template each, of one line or more."""
    return tuple(Form(" ".join(literal(one).split())[:48], said(one + "\n")) for one in templates)


def lines(*parts: Words) -> Words:
    """The parts as lines of one text."""
    return joined("\n", *parts).map("{}\n".format)


def several(line: str, low: int, high: int) -> Words:
    """So many lines of a template, each with words of its own."""
    return listed(said(line + "\n"), "", low, high)
