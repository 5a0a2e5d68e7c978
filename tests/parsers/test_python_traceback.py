"""Python tracebacks: frames, exception and message, whoever else writes between the lines."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import Frame, PythonException
from aoti_logscan.parsers import python_traceback
from tests.parsers.conftest import (
    DRESSED,
    KERNEL_PY,
    WRAPPER_CPP,
    around,
    events,
    every_cut,
    one,
    scan,
    told,
)

HEAD = "Traceback (most recent call last):\n"
TEXT = (
    HEAD + '  File "/opt/tern/train.py", line 402, in <module>\n'
    "    main()\n"
    '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/utils/clip_grad.py", line 38, in f\n'
    "    return func(*args, **kwargs)\n"
    "           ^^^^^^^^^^^^^^^^^^^^^\n"
    "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
)
FRAMES = (
    Frame("<module>", "/opt/tern/train.py", 402, "main()"),
    Frame(
        "f",
        "/opt/venv/lib/python3.11/site-packages/torch/nn/utils/clip_grad.py",
        38,
        "return func(*args, **kwargs)",
    ),
)
MESSAGE = (
    "CUDA error: an illegal memory access was encountered\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"
)


def _exceptions(text: str) -> list[PythonException]:
    found = events(text, python_traceback)
    return [event for event in found if isinstance(event, PythonException)]


def _ends(text: str) -> list[tuple[str | None, str]]:
    return [(event.exception, event.message) for event in _exceptions(text)]


def test_traceback_gives_frames_exception_and_message() -> None:
    assert told(one("step 1\n" + TEXT, python_traceback)) == {
        "is": "PythonException",
        "begins": 7,
        "exception": "torch.AcceleratorError",
        "message": MESSAGE,
        "frames": FRAMES,
        "cut": False,
        "followed": False,
    }


@pytest.mark.parametrize(
    ("head", "rank"),
    [
        ("[2026-02-13 08:11:53 TP3] Scheduler hit an exception: ", 3),
        ("(Worker_TP1 pid=955) ERROR 05-21 10:11:12 [executor.py:596] Worker failed: ", 1),
        ("2026-02-13 08:11:53,123 ERROR serve: ", None),
    ],
)
def test_head_of_a_logger_on_the_first_line_only(head: str, rank: int | None) -> None:
    (found,) = _exceptions(head + TEXT)
    assert (found.exception, found.frames) == ("torch.AcceleratorError", FRAMES)
    assert found.rank == rank
    assert found.time is not None


def test_place_is_the_line_of_the_exception() -> None:
    event = one("step 1\n" + TEXT, python_traceback)
    shown = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    assert (event.place.line, event.place.text) == (8, shown)
    assert event.end == len("step 1\n" + TEXT) - 1


@pytest.mark.parametrize(
    ("line", "exception", "message"),
    [
        ("AssertionError", "AssertionError", ""),
        ("KeyError: 'a'", "KeyError", "'a'"),
        ("torch._dynamo.exc.Unsupported: no", "torch._dynamo.exc.Unsupported", "no"),
        ("__main__.main.<locals>.Boom: x", "__main__.main.<locals>.Boom", "x"),
        ("RuntimeError: a: b: c", "RuntimeError", "a: b: c"),
    ],
)
def test_exception_line(line: str, exception: str, message: str) -> None:
    assert _ends(f'{HEAD}  File "/a.py", line 1, in f\n    g()\n{line}\n') == [(exception, message)]


def test_frame_without_source_or_function() -> None:
    text = f'{HEAD}  File "<string>", line 7, in launcher\n  File "/a.py", line 1\nKeyError: 1\n'
    (event,) = _exceptions(text)
    assert event.frames == (Frame("launcher", "<string>", 7), Frame(None, "/a.py", 1))


def test_repeated_frames_are_no_source_text() -> None:
    text = (
        f'{HEAD}  File "/a.py", line 1, in f\n  [Previous line repeated 996 more times]\n'
        "RecursionError: deep\n"
    )
    (event,) = _exceptions(text)
    assert event.frames == (Frame("f", "/a.py", 1),)


def test_chained_exceptions_are_two_events() -> None:
    second = TEXT.replace("illegal", "other")
    for_this = "\nThe above exception was the direct cause of the following exception:\n\n"
    assert [exception for exception, _ in _ends(TEXT + for_this + second)] == [
        "torch.AcceleratorError",
        "torch.AcceleratorError",
    ]


@pytest.mark.parametrize(
    "after",
    [
        "terminate called after throwing an instance of 'c10::Error'",
        "Exception raised from make_tensor at a.cpp:3 (most recent call first):",
        "[rank0]:[W817 21:06:30.480021775 x.cpp:1] bye",
        "W1130 06:29:53.164000 16210 torch/x.py:2] hi",
        "Fatal Python error: Aborted",
        HEAD.strip(),
    ],
)
def test_message_ends_where_another_record_begins(after: str) -> None:
    text = f'{HEAD}  File "/a.py", line 1, in f\nRuntimeError: boom\nmore\n{after}\n'
    assert _ends(text)[0] == ("RuntimeError", "boom\nmore")


@DRESSED
def test_dress_of_the_lines_changes_nothing(dress: Callable[[str], str]) -> None:
    (event,) = _exceptions(dress(TEXT))
    assert (event.exception, event.message.split("\n")[0]) == (
        "torch.AcceleratorError",
        MESSAGE.split("\n")[0],
    )
    assert event.frames == FRAMES


def test_traceback_that_begins_a_json_string() -> None:
    assert _ends(json.dumps({"textPayload": TEXT}) + "\n")[0][0] == "torch.AcceleratorError"


def test_lines_of_other_writers_with_other_prefixes_are_passed_over() -> None:
    text = (
        "[rank1]: Traceback (most recent call last):\n"
        "step 4 loss 1.22\n"
        '[rank1]:   File "/a.py", line 1, in f\n'
        "[rank1]:     g()\n"
        "(Worker_TP0 pid=955) ERROR 05-21 10:11:12 [executor.py:596] hello\n"
        "[rank1]: RuntimeError: boom\n"
    )
    (event,) = _exceptions(text)
    assert (event.exception, event.message, event.rank) == ("RuntimeError", "boom", 1)
    assert event.frames == (Frame("f", "/a.py", 1, "g()"),)


TWO_RANKS = (
    "[rank0]: Traceback (most recent call last):\n"
    "[rank1]: Traceback (most recent call last):\n"
    '[rank0]:   File "/a.py", line 1, in f\n'
    '[rank1]:   File "/b.py", line 2, in g\n'
    "[rank1]:     q()\n"
    "[rank0]:     p()\n"
    "[rank1]: KeyError: 1\n"
    "[rank0]: RuntimeError: boom\n"
)


def test_interleaved_tracebacks_of_two_ranks_are_told_apart() -> None:
    found = {event.rank: (event.exception, event.frames) for event in _exceptions(TWO_RANKS)}
    assert found == {
        0: ("RuntimeError", (Frame("f", "/a.py", 1, "p()"),)),
        1: ("KeyError", (Frame("g", "/b.py", 2, "q()"),)),
    }


def test_interleaved_tracebacks_of_two_processes_are_told_apart() -> None:
    text = TWO_RANKS.replace("[rank0]:", "(Worker pid=41)").replace("[rank1]:", "(Worker pid=42)")
    found = {event.process: event.exception for event in _exceptions(text)}
    assert found == {"41": "RuntimeError", "42": "KeyError"}


@pytest.mark.parametrize("at", [1, 2, 3])
def test_lines_of_other_writers_in_an_unprefixed_traceback_are_passed_over(at: int) -> None:
    lines = [HEAD, '  File "/a.py", line 1, in f\n', "    g()\n", "RuntimeError: boom\n"]
    lines.insert(at, "[rank1]:W1130 06:29:53.164000 16210 torch/x.py:2722] recompiling\n")
    assert _ends("".join(lines)) == [("RuntimeError", "boom")]


@pytest.mark.parametrize(
    "line",
    ['INFO:     127.0.0.1:53412 - "GET / HTTP/1.1" 200 OK', "WARNING:root:slow batch"],
)
def test_log_line_between_the_frames_is_no_exception(line: str) -> None:
    text = (
        f'{HEAD}  File "/a.py", line 1, in f\n    g()\n{line}\n'
        '  File "/b.py", line 2, in g\n    h()\nRuntimeError: boom\n'
    )
    assert [exception for exception, _ in _ends(text)] == ["RuntimeError"]


def test_equal_tracebacks_of_one_rank_are_counted() -> None:
    event = one(TEXT + "\n" + TEXT, python_traceback)
    assert event.count == 2


# empty, truncated, foreign


@pytest.mark.parametrize("text", ["", HEAD, HEAD.strip(), HEAD + "\nstep 1\n"])
def test_head_alone_gives_nothing(text: str) -> None:
    assert events(text, python_traceback) == []


def test_traceback_that_the_log_cuts_keeps_its_frames() -> None:
    text = TEXT.partition("torch.AcceleratorError")[0]
    assert told(one(text, python_traceback)) == {
        "is": "PythonException",
        "begins": 0,
        "message": "",
        "frames": FRAMES,
        "cut": True,
        "followed": False,
    }


def test_word_after_a_cut_traceback_is_no_exception() -> None:
    text = f'{HEAD}  File "/a.py", line 1, in f\n    g()\ndone\n'
    assert [exception for exception, _ in _ends(text)] == [None]


def test_cut_at_any_byte_gives_a_beginning_of_what_is_there() -> None:
    cuts = [told(event) for event in every_cut(TEXT, python_traceback)]
    texts = [cut.get("exception", "") + cut["message"] for cut in cuts]
    whole = "torch.AcceleratorError" + MESSAGE
    assert [text for text in texts if not whole.startswith(text.rstrip(":"))] == []


@pytest.mark.parametrize(
    "text",
    [
        '    print("Traceback (most recent call last):")\n',
        "'Traceback (most recent call last)' in str(error)\n",
        "Traceback (most recent call last): see above\nall fine\n",
        WRAPPER_CPP,
        KERNEL_PY,
    ],
    ids=["print", "in", "prose", "wrapper", "kernel"],
)
def test_foreign_text_gives_nothing(text: str) -> None:
    assert events(text, python_traceback) == []


def test_at_most_64_frames_are_kept_and_the_last_are() -> None:
    frames = "".join(f'  File "/a.py", line {n}, in f\n    g()\n' for n in range(1, 101))
    (event,) = _exceptions(f"{HEAD}{frames}RuntimeError: deep\n")
    assert [frame.line for frame in event.frames] == list(range(37, 101))


def test_traceback_longer_than_a_window_is_whole() -> None:
    frames = "".join(f'  File "/a.py", line {n}, in f\n    {"g" * 400}()\n' for n in range(900))
    (event,) = _exceptions("x" * (1 << 20) + "\n" + f"{HEAD}{frames}RuntimeError: deep\n")
    assert (event.exception, event.message, event.place.line) == ("RuntimeError", "deep", 1803)


@settings(max_examples=80, deadline=None)
@given(
    around(
        *python_traceback.ANCHORS,
        b'\n  File "/a.py", line 1, in f\n',
        b"    g()\n",
        b"RuntimeError: ",
        b"[rank1]: ",
    )
)
def test_random_bytes_never_raise(data: bytes) -> None:
    assert scan(data, python_traceback).size == len(data)


# without a head, in a notebook, in a chain


def test_exception_of_a_compiler_is_read_where_the_log_begins_inside_its_traceback() -> None:
    text = "    raise X(\ntorch._inductor.exc.InductorError: KeyError: 1\n"
    assert _ends(text) == [("torch._inductor.exc.InductorError", "KeyError: 1")]


def test_sentence_on_an_exception_is_none() -> None:
    assert _ends("we saw torch._inductor.exc.InductorError: KeyError: 1\n") == []


def test_traceback_of_a_notebook_ends_in_its_type() -> None:
    text = (
        "BackendCompilerFailed                     Traceback (most recent call last)\n"
        "Cell In[4], line 3\n----> 3 m(x)\n\n"
        "File /opt/venv/lib/python3.11/site-packages/torch/_dynamo/x.py:11, in Graph.call(self)\n"
        "   1105     raise e\n\nBackendCompilerFailed: backend='inductor' raised:\nKeyError: 1\n"
    )
    (event,) = _exceptions(text)
    assert event.exception == "BackendCompilerFailed"
    assert event.message == "backend='inductor' raised:\nKeyError: 1"
    assert [frame.function for frame in event.frames] == ["Graph.call"]


def test_exception_that_another_came_of_is_followed() -> None:
    chained = "\nThe above exception was the direct cause of the following exception:\n\n"
    assert [event.followed for event in _exceptions(TEXT + chained + TEXT)] == [True, False]


def test_long_source_listing_keeps_its_reason() -> None:
    listing = "".join(f"    tmp{n} = tl.load(p + {n})\n" for n in range(40))
    text = (
        f'{HEAD}  File "/a.py", line 1, in f\n    g()\n'
        f"triton.compiler.errors.CompilationError: at 41:9:\n{listing}"
        "          ^\nValueError('no')\n"
    )
    (event,) = _exceptions(text)
    assert event.message.endswith("\n^\nValueError('no')")
