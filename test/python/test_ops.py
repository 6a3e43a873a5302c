"""Tests of torch.ops.pe.attention: opcheck, torch.compile, torch.export."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Alibi
from torch._dynamo.testing import CompileCounterWithBackend

import pe_attention as pe
from pe_attention._assemble import assembled
from pe_attention._program import Options


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()


def views(length: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
    x = torch.randn(2, length, 8, 32, requires_grad=True)
    t = x.transpose(1, 2)
    return x, [t[:, :4], t[:, 4:6], t[:, 6:]]


def test_opcheck() -> None:
    pe.attention(*views(4)[1], Alibi(4), mask=pe.causal)  # defines the operators
    _, (q, k, v) = views(11)
    encoding = Alibi(4)
    program = assembled(encoding.structure, pe.causal.structure, Options()).text
    arguments = [q.detach().requires_grad_(), k.detach(), v.detach().requires_grad_(),
                 encoding.slopes]
    found = torch.library.opcheck(torch.ops.pe.attention.default,
                                  (arguments, program, "cpu", None, 0, 0, None, ""))
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_equals_eager_without_recompilation(backend: str) -> None:
    counter = CompileCounterWithBackend(backend)

    def block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, encoding: torch.nn.Module,
              start: int | None) -> torch.Tensor:
        result: torch.Tensor = pe.attention(q, k, v, encoding, mask=pe.causal, q_start=start)
        return result

    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend=counter)
    frames: list[int] = []
    for length, start in [(33, 2), (40, 3), (57, 5), (128, 7)]:
        x, inputs = views(length)
        encoding = Alibi(4)  # another layer with the same structure
        found, expected = compiled(*inputs, encoding, start), block(*inputs, encoding, start)
        assert torch.equal(found, expected) and found.stride() == expected.stride()
        wanted = [x, encoding.slopes]
        one = torch.autograd.grad(found.square().sum(), wanted)
        two = torch.autograd.grad(expected.square().sum(), wanted)
        assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
        frames.append(counter.frame_count)
    assert len(set(frames)) == 1, frames


def test_compiled_code_follows_the_encoding() -> None:
    """Two structures, masks and options do not share compiled code."""
    _, inputs = views(17)

    def block(encoding: torch.nn.Module | None, mask: pe.Mask | None) -> torch.Tensor:
        result: torch.Tensor = pe.attention(*inputs, encoding, mask=mask)
        return result

    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for encoding in (None, Alibi(4)):
        for mask in (None, pe.causal, pe.causal & pe.sliding_window(3)):
            assert torch.equal(compiled(encoding, mask), block(encoding, mask))


def test_compiled_with_everything() -> None:
    x, inputs = views(20)
    sink = torch.randn(4, requires_grad=True)

    def block(documents: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        o, lse = pe.attention(*(t[:1] for t in inputs), Alibi_, mask=pe.causal, scale=0.2,
                              sink=sink, documents=documents, return_lse=True)
        return o * 2, lse

    Alibi_ = Alibi(4)
    documents = torch.tensor([0, 7, 20])
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for found, expected in zip(compiled(documents), block(documents), strict=True):
        assert torch.equal(found, expected)
    one, two = (torch.autograd.grad(f(documents)[0].sum(), [x, sink, Alibi_.slopes])
                for f in (compiled, block))
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_program_numbers_are_constants_in_compiled_code() -> None:
    _, inputs = views(20)

    def block(scale: float | None) -> torch.Tensor:
        result: torch.Tensor = pe.attention(*inputs, mask=pe.causal, scale=scale)
        return result

    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend="aot_eager")
    for scale in (0.1, 0.3, None):
        assert torch.equal(compiled(scale), block(scale))


def test_compiled_dropout_differs_between_calls() -> None:
    _, inputs = views(64)
    compiled = torch.compile(lambda: pe.attention(*inputs, mask=pe.causal, dropout_p=0.5),
                             fullgraph=True, backend="aot_eager")
    assert not torch.equal(compiled(), compiled())


def test_other_derivatives_raise_in_compiled_code() -> None:
    _, inputs = views(9)
    q, k, v = (t.detach() for t in inputs)

    def tangent(x: torch.Tensor) -> torch.Tensor:
        def f(y: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = pe.attention(y, k, v, mask=pe.causal)
            return result

        result: torch.Tensor = torch.func.jvp(f, (x,), (x,))[1]
        return result

    with pytest.raises(Exception, match="forward mode"):
        torch.compile(tangent, backend="aot_eager")(q)
    q.requires_grad_()
    compiled = torch.compile(lambda x: pe.attention(x, k, v, mask=pe.causal), backend="aot_eager")
    with pytest.raises(RuntimeError):
        g, = torch.autograd.grad(compiled(q).sum(), q, create_graph=True)
        torch.autograd.grad(g.square().sum(), q)


def test_wrong_shapes_raise_during_tracing() -> None:
    _, (q, k, v) = views(9)
    compiled = torch.compile(lambda: pe.attention(q, k[:1], v, mask=pe.causal), fullgraph=True,
                             backend="aot_eager")
    with pytest.raises(Exception, match="expected the batch size 2"):
        compiled()


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoding = Alibi(4)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = pe.attention(q, k, v, self.encoding, mask=pe.causal)
        return result


def test_export_runs_in_another_process(tmp_path: Path) -> None:
    _, inputs = views(12)
    model = Model()
    length = torch.export.Dim("length", min=2, max=4096)
    program = torch.export.export(model, tuple(inputs), dynamic_shapes=({2: length},) * 3)
    file = f"{tmp_path}/model.pt2"
    torch.export.save(program, file)
    _, longer = views(21)
    torch.save(longer, f"{tmp_path}/inputs.pt")
    script = ("import sys, torch, pe_attention\n"
              "program = torch.export.load(sys.argv[1] + '/model.pt2').module()\n"
              "inputs = torch.load(sys.argv[1] + '/inputs.pt')\n"
              "torch.save(program(*inputs), sys.argv[1] + '/o.pt')\n")
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    assert torch.equal(torch.load(f"{tmp_path}/o.pt"), model(*longer))


def test_selective_modes_see_the_operator() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                               kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    _, inputs = views(9)
    with Watch():
        o = pe.attention(*inputs, mask=pe.causal)
    o.sum().backward()
    assert "pe.attention_forward.default" in seen


def test_wrong_tensors_of_the_operator() -> None:
    """Graphs and exported programs call the operator without the checks of pe.attention."""
    _, (q, k, v) = views(9)
    program = assembled("", pe.causal.structure, Options()).text

    def run(*tensors: torch.Tensor, target: str = "cpu") -> None:
        torch.ops.pe.attention(list(tensors), program, target, None, 0, 0, None, "")

    run(q, k, v)
    for dtype in (torch.complex64, torch.bool, torch.uint16, torch.int32, torch.float64):
        wrong = torch.zeros(1, 4, 9, 16, dtype=dtype)
        shown = str(dtype)
        with pytest.raises(pe.InputError, match=f"^tensor 'q': expected float32, bfloat16 or "
                                                f"float16 on target cpu, found {shown}; convert"):
            run(wrong, wrong, wrong)
        with pytest.raises(pe.InputError, match="^tensor 'k': expected "):
            run(q, wrong, v)
    with pytest.raises(pe.InputError, match="float16 on target cpu, found torch.complex64"):
        run(*[t.to(torch.complex64).requires_grad_() for t in (q, k, v)])
    run(*[t.double() for t in (q, k, v)], target="reference")
    for tensors in ((q, k), (torch.ones(()), k, v), (q, k, torch.ones(()))):
        with pytest.raises(pe.InputError, match="^arguments: expected query, key and value"):
            run(*tensors)


def test_gpus_read_rows_in_place_or_a_contiguous_copy() -> None:
    from pe_attention._run import packed_for_gpu
    q = torch.randn(2, 6, 4, 16)
    in_place = [q, q.transpose(1, 2), q[:1].expand(3, -1, -1, -1), q[..., :8]]
    for tensor in in_place:
        assert packed_for_gpu(tensor) is tensor
    # The cotangent of a sum, columns, rows that are not aligned, and other ranks.
    copied = [torch.ones(()).expand(2, 6, 4, 16), q.transpose(2, 3), q[..., 1:9],
              torch.randn(2, 6, 4, 6)[..., :4], torch.randn(4, 3).T]
    for tensor in copied:
        packed = packed_for_gpu(tensor)
        assert packed.is_contiguous() and torch.equal(packed, tensor)
