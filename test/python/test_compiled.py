"""Tests of all encodings of pe.nn in compiled code, and of errors and recompilation."""

import pickle
import subprocess
import sys
import threading

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils.checkpoint import checkpoint

import pe_attention as pe

from every_encoding import CASES, ONE_PER_CLASS, Call
from test_classes import DEPTH, bind, draw_inputs, make


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()


def packed(length, heads=2, depth=DEPTH):
    x = torch.randn(1, length, 3 * heads, depth, requires_grad=True)
    return x, list(x.transpose(1, 2).split(heads, 1))


@pytest.mark.parametrize("part", range(3))
def test_every_class_compiled_equals_eager(part):
    """Values, layouts and gradients, for cotangents expanded from one number. Each graph contains a
    third of the classes."""
    made = [make(name, Call(1, 2, 9, 9, DEPTH, 0, 0)) for name in ONE_PER_CLASS[part::3]]
    x, inputs = packed(9)
    wanted = [x] + [t for encoding, _, data in made
                    for t in (*encoding.parameters(), *data.values()) if t.requires_grad]

    def attend(q, k, v):
        return [pe.attention(q, k, v, bind(encoding, data), mask=mask)
                for encoding, mask, data in made]

    def run(function):
        results = function(*inputs)
        return [*results, *torch.autograd.grad([o.sum() for o in results], wanted)]

    compiled = run(torch.compile(attend, fullgraph=True, dynamic=True, backend="aot_eager"))
    for one, two in zip(compiled, run(attend), strict=True):
        assert torch.equal(one, two) and one.stride() == two.stride()


def test_lengths_and_starts_compile_once():
    """Four lengths and several starts reuse the code of the first call, also if a saved tensor has
    a row per 64 keys."""
    made = [make(name, None) for name in ("fire", "rope_yarn", "shaw", "stick_breaking")]
    counter = CompileCounterWithBackend("aot_eager")

    def attend(q, k, v, q_start, k_start):
        return [pe.attention(q, k, v, encoding, mask=mask, q_start=q_start, k_start=k_start)
                for encoding, mask, _ in made]

    compiled = torch.compile(attend, fullgraph=True, dynamic=True, backend=counter)
    frames = set()
    for length, q_start, k_start in [(33, 4, 2), (40, 9, 3), (57, 60, 5), (128, 7, 6)]:
        x, inputs = packed(length)
        wanted = [x, *(p for encoding, *_ in made for p in encoding.parameters())]
        found = compiled(*inputs, q_start, k_start)
        expected = attend(*inputs, q_start, k_start)
        for one, two in zip(found, expected, strict=True):
            assert torch.equal(one, two)
        for one, two in zip(*(torch.autograd.grad([o.sum() for o in results], wanted)
                              for results in (found, expected)), strict=True):
            assert torch.equal(one, two)
        frames.add(counter.frame_count)
    assert len(frames) == 1, frames


def test_masks_and_numbers_created_in_compiled_code():
    """Masks joined in compiled code, windows whose size is an argument, and integers as scale."""
    _, inputs = packed(24)
    prefix = torch.tensor([6])
    look_back = pe.mask(lambda b, h, i, j: j < prefix[b])

    def attend(window, scale):
        mask = pe.causal & pe.sliding_window(window) | look_back
        return pe.attention(*inputs, mask=mask, scale=scale)

    compiled = torch.compile(attend, fullgraph=True, dynamic=True, backend="aot_eager")
    results = [compiled(*given) for given in ((3, 1), (4, 2), (5, 2), (5, 0.5), (3, 1))]
    for given, found in zip(((3, 1), (4, 2), (5, 2), (5, 0.5), (3, 1)), results, strict=True):
        assert torch.equal(found, attend(*given))
    assert not torch.equal(results[0], results[1])
    lost = [pe.causal & pe.sliding_window(3) | look_back, pe.causal | look_back]
    assert lost[0].structure != lost[1].structure
    assert pickle.loads(pickle.dumps(lost[0])).structure == lost[0].structure


def test_formulas_inside_compiled_code_are_refused():
    def attend(q):
        return pe.attention(q, q, q, mask=pe.mask(lambda b, h, i, j: j <= i))

    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match="create the mask outside of the compiled"):
        compiled(torch.randn(1, 1, 4, DEPTH))


@pytest.mark.parametrize("inside", [False, True])
def test_traced_formulas_compile_without_warnings(inside, recwarn):
    """The formula is traced before compilation, or by the compiled function after a graph break."""
    torch._dynamo.utils.warn_once_cache.clear()
    slope = torch.tensor([0.5, 0.25])

    def formula():
        return pe.bias(lambda b, h, i, j: -slope[h] * (i - j))(2)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoding = None if inside else formula()

        def forward(self, q):
            mask = pe.mask(lambda b, h, i, j: j <= i) if inside else pe.causal
            return pe.attention(q, q, q, self.encoding or formula(), mask=mask)

    model, q = Model(), torch.randn(1, 2, 9, DEPTH)
    found = torch.compile(model, fullgraph=not inside, backend="aot_eager")(q)
    assert torch.equal(found, model(q))
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("name", ["t5", "rope"])
def test_other_derivatives_raise(name):
    """Forward mode and gradients of gradients raise an error instead of giving zero, also in
    compiled code."""
    encoding, mask, data = make(name, Call(1, 2, 5, 5, DEPTH, 0, 0))
    q, k, v = (t.detach() for t in draw_inputs(5, 5, 2, 2))

    def attend(x):
        return pe.attention(x, k, v, bind(encoding, data), mask=mask)

    for run in (attend, torch.compile(attend, fullgraph=True, backend="aot_eager")):
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(q, torch.ones_like(q))
            with pytest.raises(Exception, match="forward mode"):
                run(dual)
        x = q.clone().requires_grad_()
        gradient, = torch.autograd.grad(run(x).square().sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="second backward|double backward"):
            gradient.sum().backward()
    for key, parameter in encoding.named_parameters():
        with torch.autograd.forward_ad.dual_level():
            value = parameter.detach()
            dual = torch.autograd.forward_ad.make_dual(value, torch.ones_like(value))
            with pytest.raises(NotImplementedError, match="forward mode"):
                torch.func.functional_call(Around(encoding), {f"encoding.{key}": dual}, (q, k, v))


class Around(torch.nn.Module):
    def __init__(self, encoding):
        super().__init__()
        self.encoding = encoding

    def forward(self, q, k, v):
        return pe.attention(q, k, v, self.encoding, mask=pe.causal)


def test_export_and_another_process(tmp_path):
    """A program exported at one length runs at another in a process that only imports the package:
    with content terms, value content terms, and explicit positions of type int64."""
    encoding, mask, _ = make("shaw_values", None)
    placed = pe.nn.ALiBi(2, learned=True) + pe.nn.RoPE() + pe.nn.Positions()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = encoding, placed

        def forward(self, q, k, v, at):
            k = pe.attention(q, k, v, self.first, mask=mask)
            return pe.attention(q, k, v, self.second(q_pos=at["q"], k_pos=at["k"]), mask=mask)

    def inputs(length):
        at = torch.arange(length)[None]
        return (*draw_inputs(length, length, 2, 2), {"q": 2 * at, "k": at + 3})

    length = torch.export.Dim("length", min=2, max=4096)
    program = torch.export.export(Model(), inputs(12), dynamic_shapes=(
        *({2: length},) * 3, {"q": {1: length}, "k": {1: length}}))
    torch.export.save(program, f"{tmp_path}/model.pt2")
    torch.save(inputs(21), f"{tmp_path}/inputs.pt")
    script = ("import os, sys, torch, pe_attention\n"
              "os.chdir(sys.argv[1])\n"
              "program = torch.export.load('model.pt2').module()\n"
              "torch.save(program(*torch.load('inputs.pt')), 'o.pt')\n"
              "assert 'pe_attention.nn' not in sys.modules\n")
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    assert torch.equal(torch.load(f"{tmp_path}/o.pt"), Model()(*inputs(21)))


def test_arguments_are_checked_while_tracing():
    """Tracing checks arguments as libpe does in a call: otherwise an exported program would fail at
    run time."""
    class Model(torch.nn.Module):
        def forward(self, q, k, v, at):
            return pe.attention(q, k, v, pe.nn.Positions()(q_pos=at, k_pos=at))

    q, k, v = draw_inputs(12, 12, 2, 2, batch=2)
    at = torch.arange(12)[None]
    with pytest.raises(pe.InputError, match=r"'q_pos': expected shape .*\[2, 12\], found \[1, 12"):
        torch.export.export(Model(), (q, k, v, at))
    with pytest.raises(pe.InputError, match="q_pos: expected integers, found torch.float32"):
        Model()(q, k, v, at.float())


@pytest.mark.parametrize("name", ["fire", "attention_sink"])
def test_checkpointing_repeats_the_seeds(name):
    """Eager and compiled; the seeds of dropout come from PyTorch's generator."""
    encoding, mask, _ = make(name, None)
    x, inputs = packed(17)
    wanted = [x, *encoding.parameters()]

    def attend(q, k, v):
        return pe.attention(q, k, v, encoding, mask=mask, dropout_p=0.3)

    def run(function):
        torch.manual_seed(4)
        o = function(*inputs)
        return [o, *torch.autograd.grad(o.square().sum(), wanted)]

    def kept(*tensors):
        return checkpoint(attend, *tensors, use_reentrant=False)

    compiled = torch.compile(kept, fullgraph=True, backend="aot_eager")
    plain = run(attend)
    for function in (kept, compiled):
        for one, two in zip(plain, run(function), strict=True):
            assert torch.equal(one, two), function


@pytest.mark.parametrize("name", ["fire", "rse"])
def test_autocast(name):
    """As in PyTorch's attention, the result has autocast's type, and gradients the types of their
    tensors."""
    encoding, mask, _ = make(name, None)
    inputs = [t.requires_grad_() for t in draw_inputs(9, 9, 2, 2)]

    def attend(*tensors):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return pe.attention(*tensors, encoding, mask=mask)

    o = attend(*inputs)
    assert o.dtype == torch.bfloat16
    rounded = pe.attention(*(t.bfloat16() for t in inputs), encoding, mask=mask)
    assert torch.equal(o, rounded)
    for tensor, gradient in zip([*inputs, *encoding.parameters()], torch.autograd.grad(
            o.sum(), [*inputs, *encoding.parameters()]), strict=True):
        assert gradient.dtype == tensor.dtype == torch.float32 and gradient.isfinite().all()
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*inputs), o)


def test_four_threads_run_every_class_with_the_same_bits():
    """Values and gradients; each thread starts at another case."""
    made = {name: make(name, Call(1, 2, 16, 16, DEPTH, 0, 0)) for name in CASES}
    inputs = [t.requires_grad_() for t in draw_inputs(16, 16, 2, 2)]

    def run(name):
        encoding, mask, data = made[name]
        o = pe.attention(*inputs, bind(encoding, data), mask=mask)
        wanted = [*inputs, *encoding.parameters(), *(t for t in data.values() if t.requires_grad)]
        return [o.detach(), *torch.autograd.grad(o.square().sum(), wanted)]

    expected = {name: run(name) for name in CASES}
    wrong = []

    def work(first):
        names = list(CASES)
        for name in names[first:] + names[:first]:
            if not all(torch.equal(a, b) for a, b in zip(run(name), expected[name], strict=True)):
                wrong.append(name)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 13, 26, 39)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
