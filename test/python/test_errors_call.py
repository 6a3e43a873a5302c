"""Tests of wrong calls: the error is one line that names the argument, the expected value and the
value found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Alibi

import pe_attention as pe


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


Q = zeros(2, 4, 9, 16)
CALLS: list[tuple[str, Callable[[], Any]]] = [
    ("query: expected a tensor, found a NumPy array of shape [1, 1, 1, 1]; write torch.as_ten",
     lambda: pe.attention(np.zeros((1, 1, 1, 1)), Q, Q)),  # type: ignore[arg-type]
    ("encoding: expected an encoding such as pe.nn.ALiBi(heads=4), found the class ALiBi",
     lambda: pe.attention(Q, Q, Q, pe.nn.ALiBi)),  # type: ignore[arg-type]
    ("found pe.causal; pass a mask as mask=...",
     lambda: pe.nn.ALiBi(4) + pe.causal),  # type: ignore[operator]
    ("+: expected an encoding such as pe.nn.ALiBi(heads=4), found 3",
     lambda: pe.nn.ALiBi(4) + 3),  # type: ignore[operator]
    ("q_len: expected an integer of at least 0, found -1", lambda: pe.nn.ALiBi(4).dense(-1, 4)),
    ("dense: expected sizes up to 2^30", lambda: pe.nn.ALiBi(4).dense(2 ** 40, 4)),
    ("mask: expected a mask", lambda: pe.attention(Q, Q, Q, mask=type(pe.causal))),
    ("key: expected [batch, heads, length, depth], found 3 dimensions",
     lambda: pe.attention(Q, Q[0], Q)),
    ("value: expected the type of query, torch.float32, found torch.float16; convert one of them",
     lambda: pe.attention(Q, Q, Q.half())),
    ("key: expected the type of query, torch.bfloat16, found torch.float32; convert one of them",
     lambda: pe.attention(Q.bfloat16(), Q, Q.bfloat16())),
    ("key: expected the type of query, torch.bfloat16, found torch.float16; convert one of them",
     lambda: pe.attention(Q.bfloat16(), Q.half(), Q.bfloat16())),
    ("value: expected the type of query, torch.float16, found torch.float64; convert one of them",
     lambda: pe.attention(Q.half(), Q.half(), Q.double())),
    ("value: expected a floating type (float32, bfloat16 or float16), found torch.int32; write v",
     lambda: pe.attention(Q.half(), Q.half(), Q.int())),
    ("query: expected a floating type (float32, bfloat16 or float16), found torch.float8_e4m3fn",
     lambda: pe.attention(*[Q.to(torch.float8_e4m3fn)] * 3)),
    ("o2: expected torch.bfloat16, the type of o1, found torch.float16",
     lambda: pe.merge(Q.bfloat16(), Q[..., 0], Q.half(), Q[..., 0])),
    ("query: expected a floating type (float32, bfloat16 or float16), found torch.int64; write q",
     lambda: pe.attention(Q.long(), Q.long(), Q.long())),
    ("query: expected float32, bfloat16 or float16 on target cpu, found float64",
     lambda: pe.attention(Q.double(), Q.double(), Q.double())),
    ("value: expected a tensor on cpu like query, found one on meta",
     lambda: pe.attention(Q, Q, Q.to("meta"))),
    ("key, value: expected the batch size 2 of query, found 1 and 2",
     lambda: pe.attention(Q, Q[:1], Q)),
    ("key: expected the head dim 16 of query, found 8",
     lambda: pe.attention(Q, Q[..., :8], Q)),
    ("value: expected the heads and length of key, [4, 9], found [4, 5]",
     lambda: pe.attention(Q, Q, Q[:, :, :5])),
    ("query: expected a multiple of the 3 heads of key, found 4",
     lambda: pe.attention(Q, Q[:, :3], Q[:, :3])),
    ("dropout_p: expected a probability in [0, 1), found 1.5",
     lambda: pe.attention(Q, Q, Q, dropout_p=1.5)),
    ("target: expected one of cpu, cuda, gpu-emulator, reference, found 'gpu'",
     lambda: pe.attention(Q, Q, Q, target="gpu")),
    ("query: expected a tensor on cuda for target cuda, found one on cpu",
     lambda: pe.attention(Q, Q, Q, target="cuda")),
    ("tensor 'slopes': expected shape [hq = 4], found [3]",
     lambda: pe.attention(Q, Q, Q, Alibi(3), mask=pe.causal)),
    ("tensor 'sink': expected shape [hq = 4], found [5]",
     lambda: pe.attention(Q, Q, Q, sink=zeros(5))),
    ("sliding_window: expected left, right or both, found neither", lambda: pe.sliding_window()),
    ("sliding_window: left: expected an integer of at least 1, found 0",
     lambda: pe.sliding_window(0)),
    ("source: expected the text of a program or a file, found '/nowhere.mlir'",
     lambda: pe.compile("/nowhere.mlir")),
    ("dtype: expected one of f32, bf16, f16, tf32 for target cpu, found 'f64'",
     lambda: pe.compile("func.func @f() { return }", dtype="f64")),
    ("dtype: expected one of f32, f64 for target reference, found 'bf16'",
     lambda: pe.compile("func.func @f() { return }", target="reference", dtype="bf16")),
    ("pairs_memory: expected it with target cuda or gpu-emulator, found 'cpu'",
     lambda: pe.compile("func.func @f() { return }", pairs_memory=1)),
    ("pairs_memory: expected an integer of at least 0, found -1",
     lambda: pe.compile("func.func @f() { return }", target="gpu-emulator", pairs_memory=-1)),
    ("expected memory for pairs from 0 to 16777216 MiB, found 16777217",
     lambda: pe.compile(pe.nn.NoPE().program(None).text, target="gpu-emulator",
                        pairs_memory=2**24 + 1)(q=Q, k=Q, v=Q)),
    ("expected dtype f32, bf16 or f16 on target cpu, found tf32",
     lambda: pe.compile(pe.nn.NoPE().program(None).text, dtype="tf32")(q=Q, k=Q, v=Q)),
    ("dtype: expected float32, bfloat16 or float16, found 'tf32'",
     lambda: pe.explain(dtype="tf32")),
    ("heads_total", lambda: pe.attention(Q, Q, Q, head_start=2)),
    ("tensor 'documents': expected it to end at 9, where the call ends, found 12",
     lambda: pe.attention(Q[:1], Q[:1], Q[:1], documents=torch.tensor([0, 12]))),
    ("expected one rotate in an attention, found 2", lambda: _twice_rotated()),
]


def _twice_rotated() -> None:
    from pe_attention._assemble import Piece, assemble
    rotation = Piece("%{r} = pe.rotary", ("rotate(%{r})",))
    assemble([rotation, rotation])


@pytest.mark.parametrize("message, call", CALLS, ids=[m[:48] for m, _ in CALLS])
def test_wrong_calls(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises((pe.InputError, pe.CompileError)) as caught:
        call()
    text = str(caught.value)
    assert message in text and "\n" not in text.strip(), text


def test_kinds_of_errors() -> None:
    for kind in (ValueError, TypeError, pe.Error):
        assert issubclass(pe.InputError, kind)
    with pytest.raises(pe.CompileError) as caught:
        pe.compile("func.func @attention(")
    assert (caught.value.line, caught.value.column) == (1, 21)
    assert str(caught.value).startswith("program:1:21: ")


def test_no_device() -> None:
    meta = Q.to("meta")
    with pytest.raises(pe.DeviceError, match="found one on meta"):
        pe.attention(meta, meta, meta)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'attend'"):
        pe.attend  # noqa: B018
    assert "attention" in dir(pe)


def test_no_library(tmp_path: Any) -> None:
    import os
    import subprocess
    import sys
    script = "import pe_attention as pe; pe.compile('func.func')"
    done = subprocess.run([sys.executable, "-c", script],
                          env={**os.environ, "PE_LIBRARY": str(tmp_path)}, capture_output=True,
                          text=True, check=False)
    assert done.returncode and done.stderr.splitlines()[-1].startswith(
        f"pe_attention._errors.DeviceError: expected libpe.so in {tmp_path}, found none")


def test_encoding_for_another_number_of_heads() -> None:
    q = torch.randn(1, 2, 5, 16)
    with pytest.raises(pe.InputError, match="2 heads, the number of query, found one for 3"):
        pe.attention(q, q, q, pe.nn.ALiBi(3))
    pe.attention(q, q, q, pe.nn.ALiBi(4), head_start=2, heads_total=4)  # two heads of four
