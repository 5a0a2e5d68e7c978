"""Fails unless as many tests ran and passed as the repository says there must be, none skipped."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

report, minimum = sys.argv[1:]
suite = next(ElementTree.parse(report).getroot().iter("testsuite"))
count = {name: int(suite.get(name, 0)) for name in ("tests", "skipped", "failures", "errors")}
passed = count["tests"] - count["skipped"] - count["failures"] - count["errors"]
wanted = int(Path(minimum).read_text(encoding="utf-8"))
if passed < wanted or count["skipped"]:
    sys.exit(f"{passed} tests passed, {count['skipped']} were skipped; at least {wanted} must pass")
print(f"{passed} tests passed (at least {wanted} must)")
