"""The table of element types: the only list of their names, codes and counterparts in Python."""

from __future__ import annotations

from typing import NamedTuple


class DType(NamedTuple):
    """An element type of the C API.

    `code` is the value of pe_dtype. `framework` is the name in PyTorch and NumPy, empty for a type
    that no tensor has, and `dlpack` the pair of type code and bits.
    """

    name: str
    code: int
    framework: str = ""
    dlpack: tuple[int, int] | None = None


# DLPack type codes: 0 signed, 1 unsigned, 2 float, 4 bfloat. A test compares names and codes with
# pe-c.h.
_TABLE = (
    DType("f32", 0, "float32", (2, 32)),
    DType("f64", 1, "float64", (2, 64)),
    DType("bf16", 2, "bfloat16", (4, 16)),
    DType("f16", 3, "float16", (2, 16)),
    DType("i64", 4, "int64", (0, 64)),
    DType("i32", 5, "int32", (0, 32)),
    DType("u8", 11, "uint8", (1, 8)),
    DType("tf32", 16),
)
CODES = {dtype.name: dtype.code for dtype in _TABLE}
# pe's names by those of PyTorch and NumPy, the reverse, and pe's names by DLPack's types.
NAMES = {dtype.framework: dtype.name for dtype in _TABLE if dtype.framework}
FRAMEWORK = {name: framework for framework, name in NAMES.items()}
NAMES_OF_DLPACK = {dtype.dlpack: dtype.name for dtype in _TABLE if dtype.dlpack}
