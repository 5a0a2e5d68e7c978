"""URLs keep what a public page is found by; logins and what they open do not stay."""

from __future__ import annotations

import pytest

from aoti_logscan.redact import Redactor


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("https://anna:pw@github.com/acme/x.git", "https://<credentials-1>@github.com/<dir-1>"),
        (
            "https://anna:pw@git.acme.io:8443/a/b?x=1",
            "https://<credentials-1>@<host-1>:8443/<dir-1>?x=1",
        ),
        ("https://git@github.com/pytorch/pytorch", "https://git@github.com/pytorch/pytorch"),
        (
            "https://github.com/pytorch/pytorch/issues/1",
            "https://github.com/pytorch/pytorch/issues/1",
        ),
        ("s3://bucket/a/b/model.pt2", "s3://<dir-1>/model.pt2"),
        ("https://github.com/a?x=1&token=abc", "https://github.com/a?x=1&token=<token-1>"),
    ],
)
def test_url_loses_its_login_and_what_it_opens(url: str, redacted: str) -> None:
    redactor = Redactor()
    assert redactor.text(url) == redacted
    assert redactor.text(redacted) == redacted
