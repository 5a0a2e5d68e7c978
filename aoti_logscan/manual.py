"""The manual page, in man(7), made from the commands' own help so that it cannot drift from it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from inspect import cleandoc

import click

from aoti_logscan.lazy_re import lazy_re

#: where the reader finds what begins so, under EXIT STATUS
_STATUS = "Exit status:"

#: characters of a line of the source
_WIDTH = 68

#: variables that the tool or its libraries read
ENVIRONMENT = (
    ("NO_COLOR", "No colour on a terminal."),
    ("FORCE_COLOR", "Colour also where standard output is no terminal."),
    ("TERM", "With dumb or unknown: no colour and no progress line."),
    ("COLUMNS", "The width of the report, instead of the terminal's."),
)

#: what to type, and what it does
EXAMPLES = (
    ("aoti-logscan crash/", "Read a folder of logs, traces and packages."),
    ("python serve.py 2>&1 | aoti-logscan", "Read what a program prints."),
    ("aoti-logscan -f json run.log > report.json", "A report for programs."),
    (
        "aoti-logscan run --step auto --record crash -- python serve.py",
        "Run a program on its own terminal, with more and more checks while the verdict is open.",
    ),
    ("aoti-logscan kernels --kernel NAME crash/", "One kernel whole."),
    (
        'eval "$(aoti-logscan completion bash)"',
        "Complete commands, options and paths in this shell.",
    ),
)


def page(command: click.Group, version: str, default: str) -> str:
    """The manual page of the tool as roff; `default` is the command that need not be named."""
    context = click.Context(command, info_name="aoti-logscan", **command.context_settings)
    commands = tuple(_commands(context))
    scan = next(one for one in commands if one.info_name == default)
    lines = [
        f'.TH AOTI\\-LOGSCAN 1 "" "aoti\\-logscan {_escaped(version)}" "User Commands"',
        *_name(context),
        *_synopsis(commands, scan),
        *_description(context, scan),
        *_options("OPTIONS", list(dict.fromkeys([*_records(scan), *_records(context)]))),
        ".SH COMMANDS",
        *(line for one in commands if one is not scan for line in _command(one)),
        *_exit_status(commands, scan),
        *_options("ENVIRONMENT", ENVIRONMENT),
        *_examples(),
    ]
    return "\n".join(lines) + "\n"


def _commands(context: click.Context) -> Iterator[click.Context]:
    """The context of every command that is run, in the order in which they are declared."""
    assert isinstance(context.command, click.Group)
    for name, command in context.command.commands.items():
        inner = click.Context(command, context, name)
        if isinstance(command, click.Group):
            yield from _commands(inner)
        else:
            yield inner


# --- sections


def _name(context: click.Context) -> Iterator[str]:
    said = _paragraphs(context.command)[0]
    yield ".SH NAME"
    yield f"aoti\\-logscan \\- {_escaped(said[0].lower() + said[1:].rstrip('.'))}"


def _synopsis(commands: Sequence[click.Context], scan: click.Context) -> Iterator[str]:
    yield ".SH SYNOPSIS"
    yield ".B aoti\\-logscan"
    yield _text(" ".join(scan.command.collect_usage_pieces(scan)))
    for one in commands:
        if one is not scan:
            yield ".br"
            yield from _usage(one)


def _usage(context: click.Context) -> tuple[str, str]:
    pieces = " ".join(context.command.collect_usage_pieces(context))
    return f".B {_escaped(context.command_path)}", _text(pieces)


def _description(context: click.Context, scan: click.Context) -> Iterator[str]:
    yield ".SH DESCRIPTION"
    told = [*_paragraphs(context.command), *_paragraphs(scan.command)]
    yield from _body(told)


def _command(context: click.Context) -> Iterator[str]:
    yield f".SS {_escaped(context.command_path.partition(' ')[2])}"
    yield from (*_usage(context), ".PP")
    yield from _body(_paragraphs(context.command))
    yield from _tagged(_records(context))


def _exit_status(commands: Sequence[click.Context], scan: click.Context) -> Iterator[str]:
    """What each command's help says of its exit status."""
    yield ".SH EXIT STATUS"
    for one in commands:
        of = "" if one is scan else f"{one.command_path.partition(' ')[2]}: "
        for told in _paragraphs(one.command):
            if said := told.partition(_STATUS)[2].strip():
                yield from ((".PP",) if of else ())
                yield from _filled(of + said)


def _options(title: str, records: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield f".SH {title}"
    yield from _tagged(records)


def _examples() -> Iterator[str]:
    yield ".SH EXAMPLES"
    for number, (typed, does) in enumerate(EXAMPLES):
        yield from ((".PP",) if number else ())
        yield from _filled(does)
        yield from (".PP", ".RS 4", ".nf", _text(typed), ".fi", ".RE")


# --- parts


def _records(context: click.Context) -> list[tuple[str, str]]:
    """The options of a command as its help shows them: how they are written, what they do."""
    options = (one for one in context.command.get_params(context) if isinstance(one, click.Option))
    found = (option.get_help_record(context) for option in options)
    return [record for record in found if record is not None]


def _tagged(records: Sequence[tuple[str, str]]) -> Iterator[str]:
    for written, does in records:
        yield ".TP"
        yield f".B {_escaped(written)}"
        yield from _filled(does) if does else ("\\&",)


_BLANK_LINE = lazy_re(r"\n[ \t]*\n")


def _paragraphs(command: click.Command) -> list[str]:
    """The command's help in paragraphs; one that click keeps as it is still begins with \\b."""
    return [part for part in _BLANK_LINE.split(cleandoc(command.help or "")) if part.strip()]


def _body(paragraphs: Sequence[str]) -> Iterator[str]:
    """Paragraphs without what stands under EXIT STATUS."""
    told = (part if _is_kept(part) else part.partition(_STATUS)[0] for part in paragraphs)
    for number, part in enumerate(part for part in told if part.strip()):
        yield from ((".PP",) if number else ())
        if _is_kept(part):
            yield from (".nf", *(_text(line) for line in part.strip("\b\n").split("\n")), ".fi")
        else:
            yield from _filled(part)


def _is_kept(paragraph: str) -> bool:
    """Whether click leaves the paragraph's lines as they are."""
    return paragraph.startswith("\b")


# --- characters


def _filled(text: str) -> Iterator[str]:
    """A paragraph in lines that are good to read as they are, too."""
    joined = " ".join(text.split())
    for line in textwrap.wrap(joined, width=_WIDTH, break_long_words=False, break_on_hyphens=False):
        yield _text(line)


def _text(line: str) -> str:
    """A line of text that roff takes for no request."""
    shown = _escaped(line)
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def _escaped(text: str) -> str:
    """The text with what roff reads as its own written out: backslashes, hyphens, quotes."""
    return text.translate(_SPECIAL)


_SPECIAL = str.maketrans(
    {
        "\\": "\\e",
        "-": "\\-",
        '"': "\\(dq",
        "'": "\\(aq",
        "`": "\\(ga",
        "^": "\\(ha",
        "~": "\\(ti",
    }
)
