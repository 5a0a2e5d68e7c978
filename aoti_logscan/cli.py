"""The command: reads its arguments, prints the report, and sets the exit status."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

import click

from aoti_logscan import __version__, interruption
from aoti_logscan.errors import LogscanError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from aoti_logscan.progress import Progress
    from aoti_logscan.report import Report

_Read = TypeVar("_Read")

FOUND, CLEAN, USAGE = 1, 0, 2
#: errors of writing where there is no room
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
INTERRUPTED = 130


class _UsageError(click.ClickException):
    """One clear line on stderr and exit status 2."""

    exit_code = USAGE

    def format_message(self) -> str:
        from aoti_logscan.render.layout import visible

        return visible(self.message)


class _DefaultScan(click.Group):
    """A group whose default command is `scan`: anything that is no command is its argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else None
        if first not in ("-h", "--help", "--version") and first not in self.commands:
            ctx.meta[_FIRST_WORD] = not args
            args = ["scan", *args]
        return super().parse_args(ctx, args)


#: whether nothing was typed yet, so that what is completed may be a command
_FIRST_WORD = "aoti_logscan.first_word"


class _DefaultCommand(click.Command):
    """The command that need not be named: options of the group may stand in its place."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = super().shell_complete(ctx, incomplete)
        if ctx.parent is not None and ctx.meta.get(_FIRST_WORD):
            of_group = click.Command.shell_complete(ctx.parent.command, ctx.parent, incomplete)
            known = {item.value for item in found}
            found += [item for item in of_group if item.value not in known]
        return found


def _complete_path(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from aoti_logscan.completion import commands_and_files

    return commands_and_files(ctx, incomplete, is_first=bool(ctx.meta.get(_FIRST_WORD)))


def _complete_pattern(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from aoti_logscan.completion import pattern_names

    return pattern_names(incomplete)


@click.group(cls=_DefaultScan, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="aoti-logscan")
def cli() -> None:
    """Says why an AOTInductor or torch.compile run died, from the log it left behind.

    \b
    aoti-logscan [OPTIONS] [PATH]...     read files, folders, .gz, .zip, .pt2
    python serve.py 2>&1 | aoti-logscan  read a pipe
    """


_packages_option = click.option(
    "--package",
    "packages",
    multiple=True,
    metavar="PATH",
    shell_complete=_complete_path,
    help="A .pt2 of the run (repeatable).",
)
_patterns_option = click.option(
    "--patterns",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="A folder of patterns of your own; one of a built-in name replaces it (repeatable).",
)


@cli.command(cls=_DefaultCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=_complete_path)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "json", "events", "markdown", "html", "sarif"]),
    default="text",
    show_default=True,
    help="markdown, html and sarif are made to be passed on, and redacted.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write here, not to stdout.")
@click.option(
    "--attach",
    "attachment",
    metavar="FILE.zip",
    type=click.Path(dir_okay=False),
    help="Write the files for a bug report too: the report, its evidence and code, redacted.",
)
@_packages_option
@click.option("--rank", type=click.IntRange(0), help="Leave out what is of another rank.")
@_patterns_option
@click.option("--all", "show_all", is_flag=True, help="Show consequences and what is harmless too.")
@click.option(
    "--no-redact",
    "redacts",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Keep names, paths, hosts and secrets in what is made to be passed on.",
)
@click.option(
    "--redact",
    "rules",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Replace what these rules of your own find as well (TOML).",
)
@click.option(
    "--tlparse",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Render the traces with tlparse into this folder, not redacted; -f html links into it.",
)
@click.option(
    "--follow",
    "follows",
    is_flag=True,
    help="Go on reading a file that grows, until a failure stands in it.",
)
@click.pass_context
def scan(ctx: click.Context, /, **options: Any) -> None:
    """Read what a failed run left behind and say why it died (the default command).

    Ctrl-C ends the reading: the diagnosis of what was read is printed.

    Exit status: 0 no failure found, 1 a failure found (decided or not), 2 usage error or nothing
    could be opened, 130 interrupted before any failure was found.
    """
    asked = _Asked(**options)
    asked = asked._replace(paths=_or_standard_input(ctx, asked.paths))
    _check_targets(asked)
    with interruption.heeded():
        interrupted = asked.follows and _follow(asked)
        status = _events(asked) if asked.form == "events" else _scan(asked)
        if status == CLEAN and (interrupted or interruption.is_asked()):
            status = INTERRUPTED
    ctx.exit(status)


class _Asked(NamedTuple):
    """The options of a scan."""

    paths: tuple[str, ...]
    form: str
    output: str | None
    packages: tuple[str, ...]
    rank: int | None
    folders: tuple[str, ...]
    show_all: bool
    attachment: str | None
    redacts: bool
    rules: str | None
    tlparse: str | None
    follows: bool

    @property
    def what(self) -> dict[str, Any]:
        """What the pipeline is told beside the paths."""
        return {"patterns": self.folders, "packages": self.packages, "rank": self.rank}


def _check_targets(asked: _Asked) -> None:
    """Refuse to write over what is read, or one output over the other."""
    read = [path for path in (*asked.paths, *asked.packages, asked.rules) if path]
    written = {"--output": asked.output, "--attach": asked.attachment}
    for option, path in written.items():
        if path == "":
            raise _UsageError(f"{option} needs a file's name")
        if path is not None and any(_is_same_file(path, other) for other in read):
            raise _UsageError(f"{option}: {path} is read, it cannot be written too")
    real = [_real(path) for path in written.values() if path]
    if len(set(real)) < len(real):
        raise _UsageError("--output and --attach are the same file")


def _real(path: str) -> str:
    """The path without links; as it is, where the folder that it is relative to is gone."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def _is_same_file(one: str, other: str) -> bool:
    return os.path.isfile(one) and os.path.isfile(other) and os.path.samefile(one, other)


def _follow(asked: _Asked) -> bool:
    """Wait until a failure stands in the file; whether Ctrl-C ended the wait."""
    from aoti_logscan.catalogue import catalogue
    from aoti_logscan.follow import until_failure

    if len(asked.paths) != 1:
        raise _UsageError("--follow needs one file")
    (path,) = asked.paths

    def wait(watch: Progress) -> None:
        progress = watch.source(path)
        until_failure(path, catalogue(asked.folders), rank=asked.rank, progress=progress)

    _watched(asked.paths, wait)
    interrupted = interruption.is_asked()
    # what is there is read whole
    interruption.forget()
    return interrupted


def _events(asked: _Asked) -> int:
    """List all events; gives the exit status."""
    from aoti_logscan import pipeline
    from aoti_logscan.catalogue import catalogue
    from aoti_logscan.render.json import render_lines

    if asked.attachment or asked.tlparse:
        raise _UsageError("-f events goes with neither --attach nor --tlparse")
    found = _watched(
        asked.paths, lambda watch: pipeline.events(asked.paths, **asked.what, watch=watch)
    )
    _write(render_lines(found), asked.output)
    _warn(flaw.in_file for flaw in catalogue(asked.folders).flaws)
    return CLEAN


def _scan(asked: _Asked) -> int:
    """Show the report, and publish it where that is asked for; gives the exit status."""
    is_for_here = asked.form in ("text", "json") and not (asked.attachment or asked.tlparse)
    report = _analyze(asked) if is_for_here else _publish(asked)
    return CLEAN if report.verdict.failure_class == "none" else FOUND


def _analyze(asked: _Asked) -> Report:
    from aoti_logscan import pipeline

    report = _watched(
        asked.paths, lambda watch: pipeline.analyze(asked.paths, **asked.what, watch=watch)
    )
    _show(asked, report)
    return report


def _publish(asked: _Asked) -> Report:
    from aoti_logscan import publish

    wanted = publish.Wanted(
        form=asked.form if asked.form in publish.FORMATS else None,
        output=Path(asked.output) if asked.output else None,
        tlparse=Path(asked.tlparse) if asked.tlparse else None,
        redacts=asked.redacts,
        rules=Path(asked.rules) if asked.rules else None,
    )
    published = _watched(
        asked.paths,
        lambda watch: publish.publish(asked.paths, wanted, **asked.what, watch=watch),
    )
    if published.text is None:
        _show(asked, published.report)
    else:
        _write(published.text, asked.output)
    _warn(published.remarks)
    if asked.attachment:
        _warn(_attach(Path(asked.attachment), published.share))
    return published.report


def _show(asked: _Asked, report: Report) -> None:
    stream = None if asked.output else sys.stdout
    _write(_render(report, asked.form, asked.show_all, stream), asked.output)


@cli.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=_complete_path)
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text")
@_packages_option
@click.option("--rank", type=click.IntRange(0), help="Leave out what is of another rank.")
@click.option("--kernel", help="One kernel whole: code, calls, what it reads, printed values.")
@click.option("--buffer", help="One buffer: the calls that write and read it, through renames.")
@click.pass_context
def kernels(
    ctx: click.Context,
    paths: tuple[str, ...],
    form: str,
    packages: tuple[str, ...],
    rank: int | None,
    kernel: str | None,
    buffer: str | None,
) -> None:
    """List the launches that the intermediate value printer marked.

    In order, open (no mark tells that it came back) or back, with the statistics of arguments.
    Where nothing was marked: the calls in the generated code at hand.
    """
    paths = _or_standard_input(ctx, paths)
    from aoti_logscan import pipeline
    from aoti_logscan.render import kernels as render
    from aoti_logscan.render.json import render_value

    found: Any
    if kernel is not None:
        found = _watched(
            paths,
            lambda watch: pipeline.kernel(kernel, paths, packages=packages, rank=rank, watch=watch),
        )
        text = render.render_kernel(found, kernel)
    elif buffer is not None:
        found = _watched(
            paths, lambda watch: pipeline.buffer(buffer, paths, packages=packages, watch=watch)
        )
        text = render.render_buffer(found, buffer)
    else:
        found = _watched(
            paths,
            lambda watch: pipeline.kernels(paths, packages=packages, rank=rank, watch=watch),
        )
        text = render.render_kernels(found)
    _write(render_value(found) if form == "json" else text, None)


@cli.command(
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] --",
)
@click.argument(
    "command",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="COMMAND...",
    shell_complete=_complete_path,
)
@click.option(
    "--step",
    type=click.Choice(["sanity", "pinpoint", "kernels", "inspect", "auto"]),
    help="A rung of the debugging ladder; auto climbs it while the verdict is undecided.",
)
@click.option(
    "--record",
    "folder",
    metavar="DIR",
    type=click.Path(),
    help="Keep the recording here; a recording that is there is renamed.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the diagnosis here.")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text")
@_packages_option
@click.pass_context
def run(
    ctx: click.Context,
    command: tuple[str, ...],
    step: str | None,
    folder: str | None,
    output: str | None,
    form: str,
    packages: tuple[str, ...],
) -> None:
    """Run a command, record what it prints, and say why it failed.

    Its output passes through unchanged; the diagnosis goes to stderr. Exit status: that of the
    command, 128 and the number of the signal that it died of, 127 where it is not found.
    """
    from aoti_logscan import record

    def show(report: Any) -> None:
        text = _render(report, form, False, None if output else sys.stderr)
        try:
            if output is not None:
                _write(text, output)
                return
        except click.ClickException as error:
            _complain(error)
        with contextlib.suppress(OSError):
            click.echo(text.encode("utf-8", "backslashreplace"), nl=False, err=True)

    def say(remark: str) -> None:
        if form == "text" or output is not None:
            shown = "".join(char if char.isprintable() else "\ufffd" for char in remark)
            with contextlib.suppress(OSError):
                click.echo(f"aoti-logscan: {shown}", err=True)

    place = None if folder is None else Path(folder)
    try:
        status = record.run(record.Request(command, step, place, packages, show, say))
    except record.FolderInUseError as error:
        raise _UsageError(str(error)) from error
    ctx.exit(status)


@cli.command()
@click.argument("of", type=click.Choice(["report", "event", "pattern"]))
def schema(of: str) -> None:
    """Print the JSON Schema of a report, an event or a pattern."""
    from aoti_logscan import pipeline

    _write(pipeline.schema(of).decode() + "\n", None)


@cli.group()
def patterns() -> None:
    """List, show and check the patterns that name failures."""


@patterns.command("list")
@_patterns_option
def list_patterns(folders: tuple[str, ...]) -> None:
    """List all patterns: name, class, role and title."""
    from aoti_logscan.catalogue import catalogue
    from aoti_logscan.render.patterns import render_list

    in_use = catalogue(folders)
    _write(render_list(in_use.patterns.values()), None)
    _warn(flaw.in_file for flaw in in_use.flaws)


@patterns.command("show")
@click.argument("name", metavar="ID", shell_complete=_complete_pattern)
@_patterns_option
def show_pattern(name: str, folders: tuple[str, ...]) -> None:
    """Print a pattern's file, to read it or to start one of your own from it."""
    from aoti_logscan.catalogue import catalogue
    from aoti_logscan.render.layout import visible

    files = catalogue(folders).files
    if name not in files:
        close = _like(name, files)
        raise _UsageError(
            f"no pattern {name!r}" + (f" (did you mean {close[0]!r}?)" if close else "")
        )
    lines = [f"# {files[name]}", *files[name].read_text(encoding="utf-8").split("\n")]
    _write("\n".join(visible(line.expandtabs(8)) for line in lines), None)


@patterns.command("check")
@click.argument("folders", nargs=-1, metavar="[DIR]", type=click.Path(exists=True, file_okay=False))
@click.pass_context
def check_patterns(ctx: click.Context, folders: tuple[str, ...]) -> None:
    """Check the patterns of a folder, or the built-in ones: files, examples, who claims what.

    All examples are tried with all patterns, the folder's and the built-in ones. Exit status: 0
    nothing is wrong, 1 something is.
    """
    from aoti_logscan.catalogue import catalogue
    from aoti_logscan.rehearsal import rehearse
    from aoti_logscan.render.patterns import render_check

    in_use = catalogue(folders)
    rehearsed = rehearse(in_use)
    flaws = [flaw.in_file for flaw in (*in_use.flaws, *rehearsed.flaws)]
    counts = (len(in_use.patterns), rehearsed.examples, rehearsed.counterexamples)
    _write(render_check(flaws, *counts), None)
    ctx.exit(FOUND if flaws else CLEAN)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes this command line in a shell.

    \b
    eval "$(aoti-logscan completion bash)"      in ~/.bashrc
    eval "$(aoti-logscan completion zsh)"       in ~/.zshrc, after compinit
    aoti-logscan completion fish | source       in ~/.config/fish/config.fish
    """
    from aoti_logscan.completion import script

    _write(script(cli, shell), None)


@cli.command()
def man() -> None:
    """Print the manual page in roff, for `aoti-logscan man | man -l -` or a folder of MANPATH."""
    from aoti_logscan.manual import page

    _write(page(cli, __version__, default="scan"), None)


def _warn(lines: Iterable[str]) -> None:
    from aoti_logscan.render.layout import visible

    for line in lines:
        with contextlib.suppress(OSError):
            click.echo(visible(line), err=True)


def _attach(path: Path, share: Any) -> tuple[str, ...]:
    from aoti_logscan.publish import attach

    try:
        return attach(path, share)
    except OSError as error:
        raise _UsageError(f"cannot write {path}: {error.strerror or error}") from error


def _or_standard_input(ctx: click.Context, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths, or standard input; on a terminal without paths the help, and status 2."""
    if paths:
        return paths
    if sys.stdin is None or sys.stdin.isatty():
        click.echo(ctx.get_help())
        ctx.exit(USAGE)
    return ("-",)


def _opened(paths: tuple[str, ...], read: Callable[[], _Read]) -> _Read:
    """What `read` gives; a path that cannot be opened is one clear line and status 2."""
    try:
        return read()
    except LogscanError as error:
        raise _usage_error(error, paths) from error


def _watched(paths: tuple[str, ...], read: Callable[[Progress], _Read]) -> _Read:
    """What `read` gives, as `_opened`; on a terminal, work over a second says how far it is."""
    from aoti_logscan.progress import Progress

    with Progress(paths, sys.stderr) as watch:
        return _opened(paths, lambda: read(watch))


def _usage_error(error: LogscanError, paths: tuple[str, ...]) -> click.ClickException:
    from aoti_logscan.render.layout import visible

    text = visible(str(error))
    if len(paths) == 1 and not os.path.lexists(paths[0]):
        close = _like(paths[0], cli.commands)
        if close:
            text += f" (did you mean the command '{close[0]}'?)"
    return _UsageError(text)


def _like(word: str, known: Iterable[str]) -> list[str]:
    """The known word that one may have meant, if any."""
    import difflib

    return difflib.get_close_matches(word, list(known), n=1)


def _render(report: Any, form: str, show_all: bool, stream: TextIO | None) -> str:
    """The report as `form`; `stream` is where it goes, None for a file."""
    if form == "json":
        from aoti_logscan.render.json import render_json

        return render_json(report)
    from aoti_logscan.render.terminal import has_colour, render_terminal
    from aoti_logscan.render.text import render_text

    render = render_terminal if stream and has_colour(stream, os.environ) else render_text
    return render(report, show_all=show_all, width=_width(stream))


def _width(stream: TextIO | None) -> int:
    """The columns of a terminal; of anything else 80."""
    from aoti_logscan.render.terminal import is_terminal

    if stream is None or not is_terminal(stream):
        return 80
    if stream is sys.stdout:
        import shutil

        return shutil.get_terminal_size((80, 24)).columns
    return os.get_terminal_size(stream.fileno()).columns or 80


def _write(text: str, output: str | None) -> None:
    data = text.encode("utf-8", "backslashreplace")
    try:
        if output is None:
            if sys.stdout is None:
                raise _UsageError("cannot write stdout: it is closed")
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            with open(output, "wb") as file:
                file.write(data)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise _UsageError(f"cannot write {output or 'stdout'}: {error.strerror}") from error


def _complain(error: click.ClickException) -> None:
    """Show the error, where standard error can be written."""
    with contextlib.suppress(OSError):
        error.show()


def main() -> None:
    """Entry point of the `aoti-logscan` command; Ctrl-C ends it as it ends other commands."""
    # what is kept is kept to the end: looking for garbage in it is a tenth of the run
    gc.set_threshold(100_000, 50, 1000)
    if "_AOTI_LOGSCAN_COMPLETE" in os.environ:
        from aoti_logscan.completion import register

        register()
    try:
        status = cli(prog_name="aoti-logscan", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else CLEAN)
    except click.ClickException as error:
        _complain(error)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        # help and the version, which click prints
        _complain(_UsageError(f"cannot write stdout: {error.strerror}"))
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(USAGE)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
