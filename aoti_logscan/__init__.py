"""Says why an AOTInductor or torch.compile run died, from the log it left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aoti_logscan.pipeline import analyze
    from aoti_logscan.report import Report

__version__ = "0.1.0"
__all__ = ["Report", "__version__", "analyze"]


def __getattr__(name: str) -> Any:
    """Import `analyze` and `Report` when they are asked for: the command starts without them."""
    if name == "analyze":
        from aoti_logscan.pipeline import analyze

        return analyze
    if name == "Report":
        from aoti_logscan.report import Report

        return Report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
