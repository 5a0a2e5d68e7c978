"""Builds the manual page of the wheel from the commands' own help."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPage(BuildHookInterface):
    """Adds share/man/man1/aoti-logscan.1 to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the page beside the build and have it installed."""
        sys.path.insert(0, self.root)
        from aoti_logscan.cli import cli
        from aoti_logscan.manual import page

        file = Path(self.root, "dist", "aoti-logscan.1")
        file.parent.mkdir(exist_ok=True)
        file.write_text(page(cli, self.metadata.version, default="scan"), encoding="utf-8")
        build_data["shared_data"][str(file)] = "share/man/man1/aoti-logscan.1"
