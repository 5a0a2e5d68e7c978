"""Imports go down only: each module may import those of lower layers, and never torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "aoti_logscan"

#: from the top; a module belongs to the first row whose name its dotted path starts with
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli",),
    ("progress", "record", "publish", "completion", "manual"),
    ("rehearsal", "follow"),
    ("pipeline",),
    ("bundle",),
    ("render",),
    ("catalogue",),
    ("last_kernel", "pattern_check", "next_steps", "dossier", "signature", "report_size"),
    ("router", "advice"),
    ("kernel_origin", "saved_marks"),
    ("launches", "rule", "lineage"),
    ("timeline", "pattern", "redact", "bounds", "failing_sizes"),
    ("compile_failure",),
    ("readings",),
    ("parsers", "artifacts"),
    ("tlparse_pages",),
    ("trace_copies",),
    ("sources", "scan"),
    ("contexts", "kept", "blocks"),
    ("records",),
    ("archives",),
    ("streams", "lines", "prefix", "relay", "recorder", "run_packages", "ahead"),
    ("anchors", "forked"),
    ("events", "report", "errors", "recording", "rungs", "interruption", "lazy_re"),
    ("tensor_worker",),
)
#: a module of the same layer may be imported in these packages only
TOGETHER = ("parsers", "artifacts", "render", "redact")
MODULES = sorted(PACKAGE.rglob("*.py"))


def _dotted(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _layer(module: str) -> int:
    top = module.split(".")[0]
    return next(number for number, names in enumerate(LAYERS) if top in names)


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _own(imported: str) -> str | None:
    inner = imported.removeprefix("aoti_logscan.")
    known = inner != imported and any(inner.split(".")[0] in names for names in LAYERS)
    return inner if known else None


@pytest.mark.parametrize("file", MODULES, ids=_dotted)
def test_module_imports_only_what_lies_below_it(file: Path) -> None:
    module = _dotted(file)
    if module in ("__init__", ""):
        return
    for imported in _imports(file):
        inner = _own(imported)
        if inner is None:
            continue
        beside = inner.split(".")[0] == module.split(".")[0] and module.split(".")[0] in TOGETHER
        assert _layer(inner) > _layer(module) or beside, f"{module} imports {imported}"


@pytest.mark.parametrize(
    "file", [file for file in MODULES if file.stem != "tensor_worker"], ids=_dotted
)
def test_module_does_not_import_torch(file: Path) -> None:
    assert not any(name.split(".")[0] == "torch" for name in _imports(file))


def test_scan_knows_no_format() -> None:
    assert not any("parsers" in name for name in _imports(PACKAGE / "scan.py"))


def test_only_the_command_prints_or_exits() -> None:
    for file in MODULES:
        called = {
            node.func.id
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        if _dotted(file) not in ("cli", "record"):
            assert not called & {"print", "exit", "input"}, file
