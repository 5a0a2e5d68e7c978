"""What loaders of packages and libraries say: the reason, what it names, the package's models."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from aoti_logscan.events import LoadError
from aoti_logscan.parsers import load_error
from tests.parsers.conftest import DRESSED, around, events, every_cut, one, scan, told

VERSION = (
    "OSError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.31' not found"
    " (required by /opt/ops/libpenguin.so)\n"
)
NO_CODE = (
    "RuntimeError: Failed to find a generated cpp file or so file for model 'waddle' in the zip"
    " archive.\n"
    "\n"
    "Available models:\n"
    "encoder\n"
    "waddle\n"
    "\n"
    "\n"
    "To load a specific model, please provide its name using the `model_name` parameter\n"
    "\n"
    "The following files were found:\n"
    "p/data/aotinductor/waddle/cabc.wrapper_metadata.json\n"
)


def _error(text: str | bytes) -> LoadError:
    event = one(text, load_error)
    assert isinstance(event, LoadError)
    return event


def test_version_that_a_library_lacks_is_named_with_who_asks_for_it() -> None:
    assert told(_error(VERSION)) == {
        "is": "LoadError",
        "reason": "abi",
        "file": "/lib64/libstdc++.so.6",
        "symbol": "GLIBCXX_3.4.31",
        "said": "version `GLIBCXX_3.4.31' not found (required by /opt/ops/libpenguin.so)",
        "warned": False,
        "required_by": "/opt/ops/libpenguin.so",
    }


def test_version_in_the_quotes_of_a_newer_glibc_is_named() -> None:
    assert _error(VERSION.replace("`", "'")).symbol == "GLIBCXX_3.4.31"


def test_versions_that_two_libraries_ask_for_are_two_errors() -> None:
    text = VERSION + VERSION.replace("libpenguin", "libpuffin")
    assert [event.required_by for event in events(text, load_error)] == [  # type: ignore[attr-defined]
        "/opt/ops/libpenguin.so",
        "/opt/ops/libpuffin.so",
    ]


def test_model_without_a_library_is_listed_all_the_same() -> None:
    error = _error(NO_CODE)
    assert (error.reason, error.model, error.listed) == ("no-model", "waddle", True)
    assert error.available == "encoder, waddle"


def test_model_that_the_package_does_not_list_is_told() -> None:
    error = _error(NO_CODE.replace("'waddle'", "'decoder'"))
    assert (error.model, error.available, error.listed) == ("decoder", "encoder, waddle", False)


def test_model_without_a_list_below_may_be_listed() -> None:
    error = _error(NO_CODE.split("\n", 1)[0] + "\nAvailable models? none\n")
    assert (error.model, error.available, error.listed) == ("waddle", None, None)


def test_missing_model_of_python_is_named() -> None:
    error = _error("RuntimeError: Model decoder not found in package\n")
    assert (error.reason, error.model, error.said) == (
        "no-model",
        "decoder",
        "Model decoder not found in package",
    )


def test_frame_of_a_box_is_not_said() -> None:
    width = max(map(len, NO_CODE.splitlines()))
    box = "".join(f"│ {line:<{width}} │\n" for line in NO_CODE.splitlines())
    error = _error(box)
    assert error.said.endswith("in the zip archive.")
    assert (error.available, error.listed) == ("encoder, waddle", True)


@DRESSED
@pytest.mark.parametrize("text", [VERSION, NO_CODE], ids=["version", "no code"])
def test_dress_changes_nothing(dress: Callable[[str], str], text: str) -> None:
    assert told(_error(dress(text))) == told(_error(text))


def test_empty_text_gives_nothing() -> None:
    assert scan("", load_error) == ((), 0, {}, ())


@pytest.mark.parametrize("text", [VERSION, NO_CODE], ids=["version", "no code"])
def test_cut_at_any_byte_invents_nothing(text: str) -> None:
    whole = told(_error(text))
    for event in every_cut(text, load_error):
        known = told(event)
        assert {known[name] for name in ("reason", "file", "symbol") if name in known} <= {
            whole.get(name) for name in ("reason", "file", "symbol")
        }


@settings(max_examples=100)
@given(around(*load_error.ANCHORS, b"Available models:", b"model 'x'"))
def test_any_bytes_are_read(data: bytes) -> None:
    assert scan(data, load_error).size == len(data)
