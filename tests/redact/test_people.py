"""Accounts in a list of all: who is a person is replaced with all that is said of them."""

from __future__ import annotations

import pytest

from aoti_logscan.redact import Redactor


def test_full_name_of_an_account_is_replaced_wherever_it_stands() -> None:
    text = Redactor().text(
        "anna:x:1000:1000:Anna Kowalczyk,Room 7,,:/home/anna:/bin/bash\n"
        "Anna Kowalczyk said that anna was in"
    )
    assert text == (
        "<user-1>:x:1000:1000:<user-2>,<value-1>,,:<dir-1>:/bin/bash\n"
        "<user-2> said that <user-1> was in"
    )


def test_full_name_is_replaced_where_the_account_is_a_common_word() -> None:
    text = Redactor().text("dev:*:1001:1001:Anna Kowalczyk:/data/home/dev:/bin/zsh")
    assert text == "dev:*:1001:1001:<user-1>:<dir-1>:/bin/zsh"


@pytest.mark.parametrize(
    "line",
    [
        "root:x:0:0:root:/root:/bin/bash",
        "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin",
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
        "systemd-network:x:998:998:systemd Network Management:/:/usr/sbin/nologin",
        "ubuntu:x:1000:1000:Ubuntu,,,:/root:/bin/bash",
        "dev:x:1000:1000::/root:/bin/bash",
        "std:x:1000:1000:no home",
    ],
)
def test_account_of_the_system_stays(line: str) -> None:
    assert Redactor().text(line) == line
