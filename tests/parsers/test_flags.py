"""Debugging flags: what was set is told, what is only advised is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import Event, FlagSeen
from aoti_logscan.parsers import flags
from tests.parsers.conftest import (
    DRESSED,
    WRAPPER_CPP,
    around,
    events,
    one,
    scan,
)


def _flag(event: Event) -> tuple[str, str]:
    assert isinstance(event, FlagSeen)
    return event.name, event.value


@pytest.mark.parametrize("name", flags.NAMES)
def test_every_flag_of_the_table_is_seen(name: str) -> None:
    assert _flag(one(f"$ {name}=1 python infer.py\n", flags)) == (name, "1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("export TORCH_LOGS=output_code", "output_code"),
        ('$ TORCH_LOGS="+inductor,graph" python x.py', "+inductor,graph"),
        ("TORCH_LOGS='+dynamo' python x.py", "+dynamo"),
        ("ENV TORCH_LOGS=all", "all"),
        ("docker run -e TORCH_LOGS=all image", "all"),
        ("C:\\> set TORCH_LOGS=all", "all"),
        ("set TORCH_LOGS=all", "all"),
        ("TORCH_LOGS=", ""),
        ("TORCH_LOGS=all; python x.py", "all"),
        ("setenv TORCH_LOGS all", "all"),
        ("Step 4/9 : ENV TORCH_LOGS +inductor", "+inductor"),
        ("      TORCH_LOGS:       +inductor", "+inductor"),
        ("env: {'TORCH_LOGS': '+inductor', \"HOME\": \"/root\"}", "+inductor"),
        ('        - name: TORCH_LOGS\n          value: "+inductor"', "+inductor"),
        ('"Env": ["PATH=/bin", "TORCH_LOGS=all", "HOME=/root"]', "all"),
    ],
)
def test_setting_has_its_value(text: str, value: str) -> None:
    assert _flag(one(text + "\n", flags)) == ("TORCH_LOGS", value)


@pytest.mark.parametrize(
    "text",
    [
        "CUDA_LAUNCH_BLOCKING: makes launches wait",
        "CUDA_LAUNCH_BLOCKING: 1 makes launches wait",
        "see CUDA_LAUNCH_BLOCKING",
        "CUDA_LAUNCH_BLOCKING 1",
        "CUDA_LAUNCH_BLOCKING_HELP: 1",
        "        - name: CUDA_LAUNCH_BLOCKING\n          other: 1",
        "        - name: CUDA_LAUNCH_BLOCKING",
        'os.environ["CUDA_LAUNCH_BLOCKING"]',
    ],
)
def test_name_without_a_value_of_its_own_is_no_setting(text: str) -> None:
    assert events(text + "\n", flags) == []


def test_several_flags_of_one_command_are_several_events() -> None:
    text = "$ CUDA_LAUNCH_BLOCKING=1 TORCH_SHOW_CPP_STACKTRACES=1 AMD_SERIALIZE_KERNEL=3 ./a\n"
    assert [_flag(event) for event in events(text, flags)] == [
        ("CUDA_LAUNCH_BLOCKING", "1"),
        ("TORCH_SHOW_CPP_STACKTRACES", "1"),
        ("AMD_SERIALIZE_KERNEL", "3"),
    ]


def test_equal_settings_are_counted_and_others_told_apart() -> None:
    text = "export TORCH_LOGS=a\nexport TORCH_LOGS=b\nexport TORCH_LOGS=a\n"
    assert [(_flag(event)[1], event.count) for event in events(text, flags)] == [("a", 2), ("b", 1)]


@DRESSED
def test_dress_of_the_line_changes_nothing(dress: Callable[[str], str]) -> None:
    text = "$ CUDA_LAUNCH_BLOCKING=1 python infer.py --batch 9\n"
    assert _flag(one(dress(text), flags)) == ("CUDA_LAUNCH_BLOCKING", "1")


# empty, truncated, foreign


def test_empty_text_gives_nothing() -> None:
    assert scan("", flags) == ((), 0, {}, ())


@pytest.mark.parametrize(
    "text",
    [
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n",
        "For debugging consider passing AMD_SERIALIZE_KERNEL=3\n",
        'Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information\n',
        'For even more developer context, set TORCH_LOGS="+dynamo"\n',
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".\n',
        "rerun with TORCH_SHOW_CPP_STACKTRACES=1\n",
        "add `CUDA_LAUNCH_BLOCKING=1` to the command\n",
        "MY_CUDA_LAUNCH_BLOCKING=1 python x.py\n",
        "os.environ.CUDA_LAUNCH_BLOCKING=1\n",
        "CUDA_LAUNCH_BLOCKING is not set\n",
        WRAPPER_CPP,
    ],
    ids=[
        "torch",
        "hip",
        "dynamo",
        "dynamo-lower",
        "recompiles",
        "rerun",
        "markdown",
        "longer-name",
        "attribute",
        "no-value",
        "wrapper",
    ],
)
def test_advice_and_foreign_text_give_nothing(text: str) -> None:
    assert events(text, flags) == []


@pytest.mark.parametrize(
    "text",
    [
        "Enable TORCH_SHOW_CPP_STACKTRACES=1 for the C++ stack\n",
        "more output can be had (e.g. TORCH_LOGS=output_code)\n",
    ],
)
def test_advice_in_other_words_gives_nothing(text: str) -> None:
    assert events(text, flags) == []


def test_full_stop_of_a_sentence_is_no_part_of_the_value() -> None:
    text = "This run had CUDA_LAUNCH_BLOCKING=1.\n"
    assert _flag(one(text, flags)) == ("CUDA_LAUNCH_BLOCKING", "1")


@settings(max_examples=80, deadline=None)
@given(around(*flags.ANCHORS, b"export ", b"'", b"set "))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, flags).size == len(data)
