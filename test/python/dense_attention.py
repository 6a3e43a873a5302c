"""Attention in plain PyTorch and float64, and comparisons with it."""

import torch


def inputs(batch, heads, q_len, k_len, depth, kv_heads=None, seed=0):
    """Returns q, k, v and a cotangent of o."""
    generator = torch.Generator().manual_seed(seed)

    def draw(count, length):
        return torch.randn(batch, count, length, depth, generator=generator)

    kv_heads = kv_heads or heads
    q, k, v = draw(heads, q_len), draw(kv_heads, k_len), draw(kv_heads, k_len)
    return (*(t.requires_grad_() for t in (q, k, v)), draw(heads, q_len))


def scores(q, k):
    """Returns scaled scores in float64; each key head serves a group of query heads."""
    k = k.double().repeat_interleave(q.shape[1] // k.shape[1], 1)
    return q.double() @ k.transpose(-1, -2) / q.shape[-1] ** 0.5


def weigh(s, v, allowed):
    """Applies softmax over the allowed pairs; a row without allowed pairs gives 0."""
    s = s.masked_fill(~allowed, -float("inf"))
    some = s.isfinite().any(-1, keepdim=True)
    p = torch.softmax(torch.where(some, s, 0.0), -1) * some
    return p @ v.double().repeat_interleave(s.shape[1] // v.shape[1], 1)


def softmax_attention(q, k, v, bias, allowed):
    return weigh(scores(q, k) + bias, v, allowed)


def compare(o, expected, wanted, d_o, bound):
    """Compares the output and the gradients of `wanted` by relative errors, or by the canceled
    terms if a gradient is small."""
    assert o.shape == expected.shape
    assert error(o, expected) < bound, f"o: {error(o, expected)}"
    gradients = torch.autograd.grad(o, wanted, d_o, allow_unused=True)
    references = torch.autograd.grad(expected, wanted, d_o.double(), allow_unused=True)
    for number, (found, reference) in enumerate(zip(gradients, references, strict=True)):
        if reference is None:
            assert found is None or not found.abs().max() > 0
            continue
        # A gradient whose terms cancel, such as that of a bias added to whole rows, is compared
        # absolutely.
        size = max(float(reference.double().norm()), 0.05 * float(d_o.norm()))
        difference = float((found.double() - reference.double()).norm())
        assert difference < 3 * bound * size, f"gradient {number}: {difference / size}"


def error(found, reference):
    found, reference = found.detach().double(), reference.detach().double()
    return float((found - reference).norm() / max(float(reference.norm()), 1e-30))
