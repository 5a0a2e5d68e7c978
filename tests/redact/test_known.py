"""Names that are known are replaced wherever they stand as a word, and nowhere else."""

from __future__ import annotations

import pytest

from aoti_logscan.redact import Redactor


def test_name_found_in_one_string_is_replaced_in_all() -> None:
    redactor = Redactor()
    assert redactor.text("anna said so") == "anna said so"
    redactor.learn(["/home/anna/x.py", "gpu7:12:13 [0] NCCL INFO x"])
    assert redactor.text("Anna said so on gpu7") == "<user-1> said so on <host-1>"


def test_first_label_of_a_host_is_the_same_host() -> None:
    text = "  host      : gpu-7.corp.example.com\nlost gpu-7"
    assert Redactor().text(text) == "  host      : <host-1>\nlost <host-1>"


@pytest.mark.parametrize("name", ["root", "ubuntu", "model", "ab", "sum"])
def test_name_that_logs_are_full_of_is_replaced_in_its_form_only(name: str) -> None:
    redactor = Redactor(names=[name])
    text = redactor.text(f"/home/{name}/x/y.py: {name} failed")
    assert text == f"<dir-1>/y.py: {name} failed"


def test_name_is_no_part_of_a_word_a_kernel_or_an_operator() -> None:
    text = "annals triton_poi_fused_anna_0 aten.anna.default hanna"
    assert Redactor(names=["anna"]).text(text) == text


def test_name_that_is_escaped_is_replaced() -> None:
    redactor = Redactor(names=["żyta"])
    text = redactor.text(r'{"m": "\u017cyta"} %C5%BCyta ŻYTA')
    assert text == '{"m": "<user-1>"} <user-1> <user-1>'


def test_number_is_no_name() -> None:
    assert Redactor(names=["12345"]).text("USER_ID 12345") == "USER_ID 12345"


def test_names_of_the_caller_are_known_from_the_start() -> None:
    redactor = Redactor(names=["anna", "/home/bob", "gpu-7.corp.example.com"])
    text = redactor.text("anna_x.log bob gpu-7 GPU-7.corp.example.com")
    assert text == "<user-1>_x.log <user-2> <host-1> <host-1>"


def test_thirty_thousand_names_are_read() -> None:
    text = "\n".join(f"/home/anna{number}/x.py anna{number}" for number in range(30_000))
    redactor = Redactor()
    assert redactor.text(text).splitlines()[-1] == "<dir-30000>/x.py <user-30000>"
    assert redactor.found() == {"user": 30_000, "dir": 30_000}
