"""Rewrites a log as another machine, user, model or launcher would have written it.

Paths, names, numbers and line prefixes change at random; what says which failure it is does not. A
verdict must not move under any of it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Rewrite = Callable[[str, random.Random], str]

_WORDS = ("heron", "plover", "siskin", "dunlin", "avocet", "godwit", "smew", "ruff", "teal")


def paths(text: str, rng: random.Random) -> str:
    """Other home, cache and installation folders; package-internal paths stay."""
    user, root = rng.choice(_WORDS), rng.choice(("/srv", "/mnt/disk1", "/data", "/scratch"))
    text = re.sub(r"/home/\w+", f"{root}/{user}", text)
    text = re.sub(r"/tmp/torchinductor_\w+", f"/var/tmp/torchinductor_{user}", text)
    text = re.sub(r"/opt/(venv\d*|python)", rf"{root}/env/\1", text)
    return re.sub(r"(/__w)?/pytorch/pytorch/|(?<![\w/])/pytorch/", "/builds/pt/", text)


def names(text: str, rng: random.Random) -> str:
    """Other graph inputs, temporaries, kernels, size symbols and constants."""
    shift = rng.randrange(2, 40)
    suffix = rng.choice(_WORDS)
    text = re.sub(r"\barg(\d+)_1\b", lambda m: f"arg{int(m[1]) + shift}_1", text)
    text = re.sub(r"\btmp(\d+)\b", lambda m: f"tmp{int(m[1]) + shift}", text)
    text = re.sub(r"\bks(\d+)\b", lambda m: f"ks{int(m[1]) + shift}", text)
    text = re.sub(r"\bbuf(\d+)\b", lambda m: f"buf{int(m[1]) + shift}", text)
    return re.sub(r"\b((?:triton_\w{3}|cpp)_fused)_\w+\b", rf"\1_{suffix}_{shift}", text)


def numbers(text: str, rng: random.Random) -> str:
    """Other source lines, blocks, threads, addresses, sizes and pids; codes and flags stay."""
    add = rng.randrange(1, 900)
    bump = lambda match: str(int(match[1]) + add)  # noqa: E731
    text = re.sub(r"(?<=\.py:)(\d+)", bump, text)
    text = re.sub(r"(?<=, line )(\d+)", bump, text)
    text = re.sub(r"(?<=block: \[)(\d+)", bump, text)
    text = re.sub(r"(?<=dim value at \d, expected: )(\d+)(, but got: )(\d+)", _sizes(add), text)
    text = re.sub(r"(?<=vector size to be )(\d+)(, but got )(\d+)", _sizes(add), text)
    text = re.sub(r"(?<=expected ndim )(\d+)( but got )(\d+)", _sizes(add), text)
    return re.sub(r"0x7[0-9a-f]{8,11}", lambda match: f"0x7{rng.getrandbits(40):010x}", text)


def _sizes(add: int) -> Callable[[re.Match[str]], str]:
    return lambda match: f"{int(match[1]) + add}{match[2]}{int(match[3]) + add}"


_PREFIXES: tuple[Callable[[random.Random, int], str], ...] = (
    lambda rng, n: "> ",
    lambda rng, n: "# ",
    lambda rng, n: "│ ",
    lambda rng, n: "    ",
    lambda rng, n: "E       ",
    lambda rng, n: f"2026-0{n % 9 + 1}-11T08:09:10.{n:09d}Z stderr F ",
    lambda rng, n: f"2026-06-21 12:23:{n % 60:02d},{n % 1000:03d} ",
    lambda rng, n: f"Jun 21 12:23:{n % 60:02d} node7 docker[3764470]: ",
    lambda rng, n: "(Worker_TP1 pid=955) ERROR 05-21 10:11:12 [multiproc_executor.py:596] ",
    lambda rng, n: "[rank5]: ",
    lambda rng, n: "[default2]:",
)


def prefixes(text: str, rng: random.Random) -> str:
    """One launcher's prefix in front of every line."""
    prefix = rng.choice(_PREFIXES)
    return "".join(
        prefix(rng, n) + line for n, line in enumerate(text.splitlines(keepends=True), 1)
    )


def colours(text: str, rng: random.Random) -> str:
    """Every line in a colour."""
    code = rng.choice(("31", "1;31", "38;5;196"))
    lines = text.split("\n")
    return "\n".join(f"\x1b[{code}m{line}\x1b[0m" if line else line for line in lines)


def windows_ends(text: str, _rng: random.Random) -> str:
    """CRLF line ends."""
    return text.replace("\n", "\r\n")


def progress_bars(text: str, rng: random.Random) -> str:
    """A carriage-return progress bar glued to the front of the first line."""
    percent = rng.randrange(1, 99)
    return f" {percent}%|███   | {percent}/100 [00:21<00:01, 94.87it/s]\r" * 3 + text


def surroundings(text: str, rng: random.Random) -> str:
    """Lines of an innocent program before and after."""
    steps = "".join(
        f"step {n} loss {rng.random():.4f} {rng.choice(_WORDS)}\n" for n in range(rng.randrange(9))
    )
    return steps + text + "\n\ndone with error handling, 0 errors\n"


CONTENT: tuple[Rewrite, ...] = (paths, names, numbers)
LAYOUT: tuple[Rewrite, ...] = (prefixes, colours, windows_ends, progress_bars, surroundings)


def rewrite(text: str, seed: int, *, layout: bool = True) -> str:
    """The text with every content rewriting and, if wanted, one or two of the layout."""
    rng = random.Random(seed)
    for change in CONTENT:
        text = change(text, rng)
    for change in rng.sample(LAYOUT, rng.randrange(1, 3)) if layout else ():
        text = change(text, rng)
    return text
