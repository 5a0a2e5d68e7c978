"""All finders, in the order in which a line meets them."""

from __future__ import annotations

from aoti_logscan.redact import (
    addresses,
    entropy,
    environment,
    hosts,
    keys,
    logins,
    paths,
    people,
    urls,
    windows,
)
from aoti_logscan.redact.finder import Finder

#: a finder sees what the ones above it left
FINDERS: tuple[Finder, ...] = (
    *keys.SHAPES,
    *urls.FINDERS,
    *keys.NAMED,
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
