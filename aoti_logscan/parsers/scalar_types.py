"""The numbers that c10 prints for dtypes and devices, in torch's words.

Source: torch 2.13, torch/headeronly/core/ScalarType.h and DeviceType.h; the numbers have never
been reassigned.
"""

from __future__ import annotations

# fmt: off
_DTYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32",
    "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16", "quint4x2",
    "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "float8_e5m2",
    "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64",
    "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7",
    "int1", "int2", "int3", "int4", "int5", "int6", "int7",
    "float8_e8m0fnu", "float4_e2m1fn_x2",
)
# fmt: on

_DEVICES = {
    0: "cpu",
    1: "cuda",
    2: "mkldnn",
    6: "hip",
    9: "xla",
    12: "xpu",
    13: "mps",
    14: "meta",
    15: "hpu",
    19: "mtia",
    20: "privateuseone",
}


def dtype_name(number: int) -> str | None:
    """`float32` for 6; None for a number that no version has."""
    return _DTYPES[number] if 0 <= number < len(_DTYPES) else None


def device_name(number: int) -> str | None:
    """`cuda` for 1 (ROCm too); None for a number that is not known."""
    return _DEVICES.get(number)
