"""Tests of programs and packages on arrays: NumPy, DLPack and PyTorch tensors, without autograd."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Alibi, close, dense_attention

import pe_attention as pe
from pe_attention._assemble import assembled
from pe_attention._dtypes import CODES, FRAMEWORK, NAMES_OF_DLPACK
from pe_attention._program import Options

PROGRAM = assembled(Alibi(2).structure, pe.causal.structure, Options(return_lse=True)).text


@pytest.fixture
def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {name: rng.standard_normal((2, 2, 33, 32), np.float32)
                              for name in ("q", "k", "v")}
    arrays["slopes"] = np.array([0.5, 0.25], np.float32)
    return arrays


def test_element_types_have_the_codes_of_the_c_api() -> None:
    header = Path(__file__).resolve().parents[2] / "runtime" / "include" / "pe" / "pe-c.h"
    declared = re.findall(r"^  PE_(\w+) = (\d+),?(?:$|  ?/\*)", header.read_text(
        encoding="utf-8").split("typedef enum pe_dtype {")[1].split("}")[0], re.MULTILINE)
    assert {name.lower(): int(code) for name, code in declared} == CODES
    for name, framework in FRAMEWORK.items():
        dtype = getattr(torch, framework)
        assert NAMES_OF_DLPACK[_dlpack_type(torch.zeros(1, dtype=dtype))] == name


def _dlpack_type(tensor: torch.Tensor) -> tuple[int, int]:
    """Returns the type code and the bits of an element."""
    code = 4 if tensor.dtype is torch.bfloat16 else 2 if tensor.dtype.is_floating_point else 0
    return 1 if tensor.dtype is torch.uint8 else code, 8 * tensor.dtype.itemsize


def expected(inputs: dict[str, Any], **starts: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    encoding = Alibi(2)
    encoding.slopes.data = torch.from_numpy(np.array(inputs["slopes"])).double()
    tensors = [torch.from_numpy(np.array(inputs[n])).double().requires_grad_() for n in "qkv"]
    o = dense_attention(*tensors, encoding, **starts)[0]
    gradients = torch.autograd.grad(o.sum(), [*tensors, encoding.slopes])
    return o.detach(), list(gradients)


def check(fn: Any, inputs: dict[str, Any]) -> None:
    results = fn(**inputs)
    o, gradients = expected(inputs)
    close(torch.as_tensor(np.asarray(results["o"])), o)
    found = results.backward(d_o=np.ones_like(np.asarray(results["o"])))
    for name, gradient in zip(("d_q", "d_k", "d_v", "d_slopes"), gradients, strict=True):
        close(torch.as_tensor(np.asarray(found[name])), gradient, 2e-5)


def test_numpy_arrays(inputs: dict[str, Any]) -> None:
    fn = pe.compile(PROGRAM)
    check(fn, inputs)
    results = fn(**inputs)
    assert isinstance(results["o"], np.ndarray) and list(results) == ["o", "lse"]
    again = fn.backward(d_o=np.ones_like(results["o"]))
    assert set(again) == {"d_q", "d_k", "d_v", "d_slopes"}
    o = fn(**inputs, q_start=40, k_start=30)["o"]
    close(torch.from_numpy(o), expected(inputs, q_start=40, k_start=30)[0])


def test_strided_arrays_are_not_copied(inputs: dict[str, Any]) -> None:
    packed = np.random.default_rng(1).standard_normal((2, 33, 3, 2, 32), np.float32)
    q, k, v = (packed[:, :, n].transpose(0, 2, 1, 3) for n in range(3))
    check(pe.compile(PROGRAM), {**inputs, "q": q, "k": k, "v": v[..., ::-1]})


def test_dlpack(inputs: dict[str, Any]) -> None:
    class Foreign:
        """An object with __dlpack__ only."""

        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

    fn = pe.compile(PROGRAM)
    found = fn(**{name: Foreign(np.array(array)) for name, array in inputs.items()})["o"]
    assert np.array_equal(found, fn(**inputs)["o"])


def test_tensors_return_tensors(inputs: dict[str, Any]) -> None:
    fn = pe.compile(PROGRAM)
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    o = fn(**tensors)["o"]
    assert isinstance(o, torch.Tensor) and np.array_equal(o.numpy(), fn(**inputs)["o"])


def test_emulated_kernels_in_bf16(inputs: dict[str, Any]) -> None:
    fn = pe.compile(PROGRAM, target="gpu-emulator", dtype="bf16")
    tensors = {n: torch.from_numpy(a).to(torch.bfloat16 if n != "slopes" else torch.float32)
               for n, a in inputs.items()}
    results = fn(**tensors)
    assert results["o"].dtype == torch.bfloat16
    o, gradients = expected({n: t.float().numpy() for n, t in tensors.items()})
    close(results["o"], o, 1e-2)
    found = results.backward(d_o=torch.ones_like(results["o"]))
    for name, gradient in zip(("d_q", "d_k", "d_v", "d_slopes"), gradients, strict=True):
        close(found[name], gradient, 2e-2)
    with pytest.raises(pe.InputError, match="q: expected numbers of bf16, found f32"):
        fn(**inputs)


def test_the_reference_in_f64(inputs: dict[str, Any]) -> None:
    fn = pe.compile(PROGRAM, target="reference", dtype="f64")
    o = fn(**{name: array.astype(np.float64) for name, array in inputs.items()})["o"]
    close(torch.from_numpy(o), expected(inputs)[0], 1e-13)


def test_packages(inputs: dict[str, Any], tmp_path: Path) -> None:
    fn = pe.compile(PROGRAM, head_dim=32)
    package = tmp_path / "alibi.pepkg"
    fn.save_package(package, targets=("cpu", "gpu-emulator"))
    loaded = pe.load(package)
    check(loaded, inputs)
    check(pickle.loads(pickle.dumps(loaded)), inputs)
    assert loaded.signature["head_dim"] == 32 and loaded.signature["grad"]
    assert [a["name"] for a in loaded.signature["arguments"]] == ["q", "k", "v", "slopes"]
    damaged = tmp_path / "damaged.pepkg"
    data = bytearray(package.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(pe.InputError, match="damaged.pepkg"):
        pe.load(damaged)
    with pytest.raises(pe.Error, match="missing.pepkg"):
        pe.load(tmp_path / "missing.pepkg")


def test_a_program_from_a_file(inputs: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "mine.mlir"
    file.write_text(PROGRAM)
    check(pe.compile(file), inputs)
    file.write_text(PROGRAM.replace("pe.distance", "pe.distanc"))
    with pytest.raises(pe.CompileError, match="mine.mlir:4:") as caught:
        pe.compile(file)
    assert (caught.value.file, caught.value.line) == (str(file), 4)


def test_copies_threads_and_forks(inputs: dict[str, Any]) -> None:
    fn = pe.compile(PROGRAM)
    o = fn(**inputs)["o"]
    copies = [fn, copy.deepcopy(fn), pickle.loads(pickle.dumps(fn)), fn]
    same: list[bool] = []

    def run(each: Any) -> None:
        for _ in range(10):
            each(**inputs)
            gradients = each.backward(d_o=np.ones_like(o))
        same.append(np.array_equal(each(**inputs)["o"], o) and len(gradients) == 4)

    threads = [threading.Thread(target=run, args=(each,)) for each in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * 4
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(fn(**inputs)["o"], o) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_neither_torch_nor_numpy_is_imported() -> None:
    script = ("import sys, pe_attention as pe\n"
              "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
              "pe.causal & pe.sliding_window(3)\n"
              "fn = pe.compile(sys.stdin.read()); fn.signature\n"
              "import numpy as np\n"
              "x = np.ones((1, 2, 5, 64), np.float32)\n"
              "fn(q=x, k=x, v=x, slopes=np.ones(2, np.float32)).backward(d_o=x)\n"
              "assert 'torch' not in sys.modules\n"
              "sys.modules['torch'] = None  # as if it were not installed\n"
              "try:\n    pe.attention\n    assert False\n"
              "except ModuleNotFoundError as error:\n"
              "    assert 'install pe-attention[torch]' in str(error), error\n")
    subprocess.run([sys.executable, "-c", script], input=PROGRAM, text=True, check=True)


def _import_times() -> Iterator[float]:
    script = ("import time; t = time.perf_counter(); import pe_attention; "
              "print(time.perf_counter() - t)")
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              check=True)
        yield float(done.stdout)


def test_import_is_fast() -> None:
    assert min(_import_times()) <= 0.05
