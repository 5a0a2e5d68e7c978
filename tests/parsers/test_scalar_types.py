"""c10's numbers in torch's words."""

from __future__ import annotations

import pytest

from aoti_logscan.parsers.scalar_types import device_name, dtype_name


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "uint8"),
        (1, "int8"),
        (4, "int64"),
        (5, "float16"),
        (6, "float32"),
        (7, "float64"),
        (9, "complex64"),
        (11, "bool"),
        (15, "bfloat16"),
        (22, "bits16"),
        (23, "float8_e5m2"),
        (24, "float8_e4m3fn"),
        (27, "uint16"),
        (29, "uint64"),
        (30, "uint1"),
        (36, "uint7"),
        (37, "int1"),
        (43, "int7"),
        (44, "float8_e8m0fnu"),
        (45, "float4_e2m1fn_x2"),
    ],
)
def test_dtype_has_its_number_of_scalar_type_h(number: int, name: str) -> None:
    assert dtype_name(number) == name


@pytest.mark.parametrize("number", [-1, 46, 10**18])
def test_dtype_that_no_version_has_is_unknown(number: int) -> None:
    assert dtype_name(number) is None


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "cpu"), (1, "cuda"), (6, "hip"), (12, "xpu"), (13, "mps"), (14, "meta"), (19, "mtia")],
)
def test_device_has_its_number_of_device_type_h(number: int, name: str) -> None:
    assert device_name(number) == name


@pytest.mark.parametrize("number", [-1, 3, 21, 10**18])
def test_device_that_is_not_known_is_unknown(number: int) -> None:
    assert device_name(number) is None
