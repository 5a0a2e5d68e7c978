"""The same value has the same token; tokens of the text itself are never issued."""

from __future__ import annotations

from aoti_logscan.redact import Redactor


def test_same_value_has_the_same_token_in_all_texts() -> None:
    redactor = Redactor()
    first = redactor.text('File "/home/anna/a/x.py" and /home/bob/b/y.py on 10.0.0.3')
    assert first == 'File "<dir-1>/x.py" and <dir-2>/y.py on <ip-1>'
    assert redactor.text("/home/anna/a/z.py, 10.0.0.4, 10.0.0.3") == "<dir-1>/z.py, <ip-2>, <ip-1>"


def test_token_of_the_text_is_never_issued() -> None:
    text = Redactor().text("<user-1> met USER=anna in <dir-1>/x: /data/q/x.py, anna")
    assert text == "<user-1> met USER=<user-2> in <dir-1>/x: <dir-2>/x.py, <user-2>"


def test_found_counts_values_and_never_shows_them() -> None:
    redactor = Redactor()
    redactor.text("USER=anna 10.0.0.3 10.0.0.4 10.0.0.3")
    assert redactor.found() == {"user": 1, "ip": 2}
