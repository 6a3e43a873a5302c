"""Fixtures and helpers for all tests of the Python package. The tests run against the installed
package, or against the sources with PYTHONPATH=python and PE_LIBRARY=build/lib."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Tests do not touch the user's cache.
os.environ.setdefault("PE_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"pe-test-{os.getuid()}"))
# Tests do not use Inductor's cached graphs of other runs.
if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
    _graphs = os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="pe-inductor-")
    atexit.register(shutil.rmtree, _graphs, ignore_errors=True)
# The graphs are small, and each parallel compile process would import PyTorch.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import pe_attention as pe
from pe_attention._function import get_function


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(params=[None, 16], ids=["contiguous", "pages"])
def storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a test with both storages of `caches.create`."""
    import caches

    monkeypatch.setattr(caches, "PAGE", request.param)


class Alibi(torch.nn.Module):
    """A learned slope per head, written as the pieces of a program."""

    def __init__(self, heads: int, dtype: torch.dtype = torch.float32) -> None:
        from pe_attention._assemble import Argument, Piece, dump

        super().__init__()
        self.heads = heads
        self.slopes = torch.nn.Parameter((torch.rand(heads) + 0.1).to(dtype))
        slopes = Argument("slopes", "tensor<?xf32>", "pe.init = 1.0")
        self.structure = dump(Piece(
            "%{d} = pe.distance\n"
            "%{b} = pe.linear %{d} slope(%{slopes} : tensor<?xf32>) {factor = -1.0}",
            ("bias(%{b})",), (slopes,)))

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return (self.slopes,)

    def dense(self, i: torch.Tensor, j: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return -self.slopes.to(dtype)[:, None, None] * (i - j).abs()


def dense_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                    encoding: Alibi | None = None, causal: bool = True, window: int | None = None,
                    q_start: int | None = None, k_start: int = 0, scale: float | None = None,
                    sink: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes attention with an explicit matrix in float64, and the logarithm of the
    denominator."""
    q, k, v = q.double(), k.double(), v.double()
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    start = k_start + k.shape[2] - q.shape[2] if q_start is None else q_start
    i = torch.arange(q.shape[2])[:, None] + start
    j = torch.arange(k.shape[2])[None] + k_start
    z = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if encoding is not None:
        z = z + encoding.dense(i, j, torch.float64)
    hidden = (i < 0) | torch.zeros_like(j, dtype=torch.bool)
    if causal:
        hidden = hidden | (j > i)
    if window is not None:
        hidden = hidden | (i - j >= window)
    z = z.masked_fill(hidden, -torch.inf)
    rows = z if sink is None else torch.cat([z, sink.double()[None, :, None, None].expand(
        z.shape[0], -1, z.shape[2], 1)], -1)
    lse = rows.logsumexp(-1)
    empty = torch.isinf(lse)
    p = torch.exp(z - lse.masked_fill(empty, 0.0)[..., None])
    return p @ v, lse


def close(found: torch.Tensor, expected: torch.Tensor, bound: float = 2e-6) -> None:
    """Checks that the error is at most `bound` times the largest expected value. If the expected
    value is zero, terms of about 1 cancel, and the bound applies to their rounding error."""
    assert found.shape == expected.shape
    if not expected.numel():
        return
    found, expected = found.detach().double(), expected.detach().double()
    infinite = torch.isinf(expected)
    assert torch.equal(found[infinite], expected[infinite])
    found, expected = found.masked_fill(infinite, 0), expected.masked_fill(infinite, 0)
    largest = max(float(expected.abs().max()), 0.1)
    error = float((found - expected).abs().max())
    assert error <= bound * largest, f"error {error:.2e}, largest {largest:.2e}"


@functools.cache
def multiplies(dtype: torch.dtype) -> bool:
    """Returns whether CPU kernels multiply numbers of a 16-bit type, with the bounds of GPUs, so
    that results are not those of float32."""
    name = {torch.bfloat16: "bf16", torch.float16: "f16"}[dtype]
    program = pe.nn.ALiBi(1).program(pe.causal).text
    return bool(get_function(program, "cpu", 8, 8, name, False).info["products"] != "f32")


class Conversions(TorchDispatchMode):  # type: ignore[misc]
    """Counts the calls of kernels, and the copies of tensors of four dimensions in a wider type."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.copies = 0

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (),
                           options: Any = None) -> Any:
        result = function(*arguments, **(options or {}))
        kernels = torch.ops.pe
        self.calls += function in (kernels.attention.default, kernels.attention_forward.default,
                                   kernels.attention_backward.default)
        if function is torch.ops.aten._to_copy.default:
            source = arguments[0]
            self.copies += source.dim() == 4 and source.itemsize < result.itemsize
        return result


def output_of_processes(worker: Path, folder: Path, limit: int) -> str:
    """Returns the output of a script that starts processes of torch.distributed. All of them end
    with it, or after `limit` seconds."""
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
                   "PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen([sys.executable, str(worker), str(folder)], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env=environment,
                               start_new_session=True)
    try:
        return process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0] + f"\nstopped after {limit} s"
