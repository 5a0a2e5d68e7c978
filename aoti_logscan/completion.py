"""Completion of the command line in bash, zsh and fish: click's, where paths stand beside commands.

The first word may be a command or a path. Click's script for bash cannot offer both; the one here
can.
"""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

#: the variable by which a script asks for completions
VARIABLE = "_AOTI_LOGSCAN_COMPLETE"
PROGRAM = "aoti-logscan"

_BASH = """\
%(complete_func)s() {
    local type value words
    local IFS=$'\\n'
    words=$(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            plain) COMPREPLY+=("$value") ;;
            file) compopt -o filenames; COMPREPLY+=($(compgen -f -- "$value")) ;;
            dir) compopt -o filenames; COMPREPLY+=($(compgen -d -- "$value")) ;;
        esac
    done <<< "$words"
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Completion for bash 4.4 and later."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is typed, and that one; bash splits words at `=`."""
        args, incomplete = super().get_completion_args()
        before = ["", *args]
        kept = [
            word
            for previous, word in zip(before, args, strict=False)
            if not (word == "=" and previous.startswith("--"))
        ]
        return kept, incomplete


class _Whole(ShellComplete):
    """For shells that replace the whole word: `--format=js` becomes `--format=json`."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """What may stand for the incomplete word."""
        option, equals, _ = incomplete.partition("=")
        found = super().get_completions(args, incomplete)
        if not equals or not option.startswith("--"):
            return found
        return [CompletionItem(f"{option}={item.value}", item.type, item.help) for item in found]


class Zsh(_Whole, ZshComplete):
    """Completion for zsh."""


class Fish(_Whole, FishComplete):
    """Completion for fish, whose script takes a comma for the end of the help."""

    def format_completion(self, item: CompletionItem[str]) -> str:
        """One line of the answer."""
        shown = item.help.replace(",", ";") if item.help else None
        return super().format_completion(CompletionItem(item.value, item.type, shown))


_SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
SHELLS = tuple(_SHELLS)


def register() -> None:
    """Have click answer the scripts with the classes here."""
    for name, shell in _SHELLS.items():
        add_completion_class(shell, name)


def script(command: click.Command, shell: str) -> str:
    """The script that a shell (one of `SHELLS`) sources."""
    return _SHELLS[shell](command, {}, PROGRAM, VARIABLE).source()


# --- what stands for a word


def commands_and_files(
    context: click.Context, incomplete: str, *, is_first: bool
) -> list[CompletionItem[Any]]:
    """Files and, for the first word, the commands beside them."""
    found: list[CompletionItem[Any]] = []
    group = context.parent.command if context.parent else None
    if is_first and isinstance(group, click.Group):
        found += [
            CompletionItem(name, help=command.get_short_help_str())
            for name, command in group.commands.items()
            if name.startswith(incomplete) and not command.hidden
        ]
    return [*found, CompletionItem(incomplete, type="file")]


def pattern_names(incomplete: str) -> list[CompletionItem[Any]]:
    """The names of the built-in patterns, with their titles."""
    from aoti_logscan.catalogue import catalogue

    return [
        CompletionItem(name, help=pattern.title)
        for name, pattern in catalogue(()).patterns.items()
        if name.startswith(incomplete)
    ]
