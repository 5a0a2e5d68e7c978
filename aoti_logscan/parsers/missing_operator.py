"""What torch says where a model calls an operator that this process does not have.

    RuntimeError: Could not find schema for penguin::waddle.
    AttributeError: '_OpNamespace' 'penguin' object has no attribute 'waddle'
    NotImplementedError: Could not run 'penguin::waddle' with arguments from the 'CUDA' backend.

give a `MissingOperator` each. Operators of torch itself that have no kernel for a backend are left
out: there the build or the arguments are wrong. Sources: torch 2.13, ATen/core/dispatch
(`findSchemaOrThrow`, `reportError`); torch/_ops.py; csrc/jit/frontend (`Unknown builtin op`);
_export/serde/serialize.py; csrc/inductor/aoti_torch (the proxy executor of custom operators).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aoti_logscan.events import MissingOperator
from aoti_logscan.lazy_re import lazy_re
from aoti_logscan.lines import Hit
from aoti_logscan.parsers.quotation import is_quotation
from aoti_logscan.records import Draft, Parsed

NAME = "missing_operator"


class _Form(NamedTuple):
    """One text: its name, the literal it is found by, and what its groups say."""

    name: str
    anchor: bytes
    text: re.Pattern[bytes]


_OP = rb"(?P<op>[A-Za-z_]\w{0,200}::\w{1,200}(?:\.\w{1,100})?)"
_FORMS = (
    # Could not find schema for penguin::waddle.
    _Form(
        "schema",
        b"Could not find schema for ",
        lazy_re(rb"Could not find schema for (?P<op>\w+(?:::\w+)?(?:\.\w+)?)"),
    ),
    # AttributeError: '_OpNamespace' 'penguin' object has no attribute 'waddle'
    _Form(
        "namespace",
        b"_OpNamespace",
        lazy_re(
            rb"AttributeError(?:: |\(\\?[\"'])\\?'_OpNamespace\\?' \\?'(?P<namespace>[\w.]+?)\\?'"
            rb" object has no attribute \\?'(?P<name>\w+)"
        ),
    ),
    # The underlying op of 'penguin.waddle' has no overload name 'fast'
    _Form(
        "overload",
        b"The underlying op of ",
        lazy_re(
            rb"The underlying op of '(?P<op>[\w.:]+)' has no overload name '(?P<overload>\w+)'"
        ),
    ),
    # Could not run 'penguin::waddle' with arguments from the 'CUDA' backend.
    _Form(
        "backend",
        b"Could not run ",
        lazy_re(
            rb"Could not run '" + _OP + rb"' with arguments from the '(?P<backend>\w+)' backend"
        ),
    ),
    # ... but no fallback function is registered for schema penguin::waddle.
    _Form(
        "backend",
        b"no fallback function is registered for schema ",
        lazy_re(rb"no fallback function is registered for schema " + _OP),
    ),
    # Didn't find kernel to dispatch to for operator 'penguin::waddle'.
    _Form(
        "backend",
        b"kernel to dispatch to for operator ",
        lazy_re(rb"kernel to dispatch to for operator '" + _OP),
    ),
    # No such operator penguin::waddle
    _Form("schema", b"No such operator ", lazy_re(rb"No such operator '?" + _OP)),
    # operator torchvision::nms does not exist
    _Form(
        "schema",
        b" does not exist",
        lazy_re(rb"[Oo]perator '?" + _OP + rb"'? does not exist"),
    ),
    # Unknown builtin op: torchvision::roi_align.
    _Form("schema", b"Unknown builtin op: ", lazy_re(rb"Unknown builtin op: " + _OP)),
    # Could not find any implementations for operator penguin::waddle
    _Form(
        "schema",
        b"find any implementations",
        lazy_re(rb"find any implementations (?:for|of) (?:the )?(?:operator )?'?" + _OP),
    ),
    # Missing extern kernel penguin::waddle
    _Form(
        "schema",
        b"issing extern kernel",
        lazy_re(rb"issing extern kernel:? (?:for )?'?" + _OP),
    ),
    # No kernel registered for penguin::waddle        no kernels are registered for operator x::y
    _Form(
        "backend",
        b" registered for ",
        lazy_re(
            rb"[Nn]o kernels? (?:is |are |was )?registered for (?:the )?(?:op(?:erator)? )?'?" + _OP
        ),
    ),
    # Operator penguin::waddle is not registered
    _Form(
        "schema",
        b" not registered",
        lazy_re(rb"[Oo]p(?:erator)? '?" + _OP + rb"'? (?:is |was )?not registered"),
    ),
    # We failed to resolve torch.ops.penguin.waddle.default to an operator.
    _Form(
        "schema",
        b"We failed to resolve ",
        lazy_re(rb"We failed to resolve (?P<op>torch\.ops\.[\w.]+) to an operator"),
    ),
    # Unable to find a proxy executor to run custom ops.
    _Form(
        "proxy-executor",
        b"Unable to find a proxy executor to run custom ops",
        lazy_re(rb"Unable to find a proxy executor to run custom ops"),
    ),
)
ANCHORS = tuple(dict.fromkeys(form.anchor for form in _FORMS))
#: bytes of a text before its anchor, and from it on
_BEFORE = 500
_AFTER = 1000

# namespaces that torch itself registers
_OWN = lazy_re(
    rb"(?:aten|prims?|inductor|quantized|_quantized|sparse|mkldnn\w*|onednn|mkl|xnnpack|prepacked"
    rb"|c10d|_c10d_functional|_c10d_functional_autograd|c10d_functional|symm_mem|rngprims"
    rb"|debugprims|profiler|higher_order|nested|_nnapi|static_runtime)::"
)


def parse(hit: Hit) -> Parsed:
    """One draft for the text at this hit."""
    text, column = hit.line.text, hit.column
    for form in _FORMS:
        if not text.startswith(form.anchor, column):
            continue
        match = form.text.search(text, max(0, column - _BEFORE), column + _AFTER)
        if match is None or not match.start() <= column < match.end():
            continue
        if is_quotation(text, match.start()):
            return ()
        fields = _fields(form, match)
        if fields is None:
            return ()
        fold = tuple(fields.values())
        return (Draft.of_line(hit, MissingOperator, fields, match.start(), fold),)
    return ()


def _fields(form: _Form, match: re.Match[bytes]) -> dict[str, str | None] | None:
    named = match.groupdict()
    op = named.get("op")
    if form.name == "backend" and op and _OWN.match(op):
        return None
    if named.get("namespace"):
        op = named["namespace"] + b"::" + named["name"]
    if named.get("overload"):
        op = named["op"] + b"." + named["overload"]
    backend = named.get("backend")
    return {
        "form": form.name,
        "op": op.decode("utf-8", "replace") if op else None,
        "backend": backend.decode("utf-8", "replace") if backend else None,
    }
