"""Runs an installed command, away from the source tree, on a fixture and checks its answer."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

command, fixture = (str(Path(argument).absolute()) for argument in sys.argv[1:])
with tempfile.TemporaryDirectory() as elsewhere:
    done = subprocess.run(
        [command, "-f", "json", fixture], cwd=elsewhere, capture_output=True, check=False
    )
    text = subprocess.run([command, fixture], cwd=elsewhere, capture_output=True, check=False)
    pages = Path(elsewhere, "bug.zip")
    attached = subprocess.run(
        [command, "--attach", pages, fixture], cwd=elsewhere, capture_output=True, check=False
    )
    assert zipfile.is_zipfile(pages), attached.stderr
report = json.loads(done.stdout)
assert done.returncode == text.returncode == 1, done.stderr
assert report["verdict"]["class"] == "input-mismatch", report["verdict"]
assert report["findings"][0]["facts"]["name"] == "arg3_1", report["findings"][0]["facts"]
assert text.stdout.startswith(b"Input mismatch"), text.stdout
manual = Path(command).parent.parent / "share/man/man1/aoti-logscan.1"
assert manual.read_text(encoding="utf-8").startswith(".TH AOTI"), manual
print(f"the wheel's command answers: {report['verdict']['summary']}")
