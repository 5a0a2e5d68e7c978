"""All finders, in the order in which a line meets them."""

from __future__ import annotations

from aoti_logscan.redact import (
    accounts,
    addresses,
    entropy,
    environment,
    headers,
    hosts,
    keys,
    logins,
    paths,
    people,
    programs,
    shapes,
    urls,
    windows,
)
from aoti_logscan.redact.finder import Finder

#: a finder sees what the ones above it left
FINDERS: tuple[Finder, ...] = (
    *shapes.FINDERS,
    *urls.FINDERS,
    *headers.FINDERS,
    *programs.FINDERS,
    *keys.FINDERS,
    *accounts.FINDERS,
    *people.NAMED,
    *logins.FINDERS,
    *hosts.NAMED,
    *environment.FINDERS,
    *people.FOLDERS,
    *windows.FINDERS,
    *paths.FINDERS,
    *hosts.PLACED,
    *addresses.FINDERS,
    *entropy.FINDERS,
)
