"""Tests that formulas follow the values that their functions refer to."""

import copy
import functools
import pickle

import pytest
import torch

import pe_attention as pe

from dense_attention import inputs

WIDTH = 3
SLOPES = torch.tensor([0.5, 0.25])


def flex(function):
    return lambda: pe.from_flex(function)


class Settings:
    def __init__(self):
        self.scale, self.table = 2.0, [1, 2]


def corner(encoding):
    """Returns the bias of the last query and the first key, for head 0."""
    return float(encoding.dense(4, 4)[0, 0, -1, 0].detach())


def test_numbers_of_closures():
    c = 50.0
    encoding = pe.from_flex(lambda s, b, h, i, j: s - c * (i - j))
    assert corner(encoding) == -150
    c = 60.0
    assert corner(encoding) == -180
    q, k, v, _ = inputs(1, 2, 4, 4, 8)
    again = pe.from_flex(lambda s, b, h, i, j: s - c * (i - j))
    assert torch.equal(pe.attention(q, k, v, encoding), pe.attention(q, k, v, again))


def test_globals_attributes_items_and_helpers():
    settings = Settings()

    def helper(x):
        return x * settings.scale + settings.table[0]

    @pe.bias
    def formula(b, h, i, j):
        return helper(i - j) * WIDTH

    encoding = formula(heads=2)
    assert corner(encoding) == (3 * 2 + 1) * 3
    settings.scale = 3.0
    assert corner(encoding) == (3 * 3 + 1) * 3
    settings.table[0] = 2
    assert corner(encoding) == (3 * 3 + 2) * 3
    globals()["WIDTH"] = 2
    try:
        assert corner(encoding) == (3 * 3 + 2) * 2
    finally:
        globals()["WIDTH"] = 3


def test_properties_and_partial_functions():
    class Layer:
        slope = 1.0

        @property
        def doubled(self):
            return 2 * self.slope

        def score(self, factor, score, b, h, i, j):
            return score + self.doubled * factor * (i - j)

    layer = Layer()
    encoding = pe.from_flex(functools.partial(layer.score, 10))
    assert corner(encoding) == 60
    layer.slope = 2.0
    assert corner(encoding) == 120


def test_tensors_that_are_replaced():
    """Tensors in the closure, in an object and in a module that is called; also with another
    shape."""
    table = torch.zeros(2, 4)
    encoding = pe.from_flex(lambda s, b, h, i, j: s + table[h, i - j])
    assert corner(encoding) == 0
    table = torch.arange(16.0).reshape(2, 8)
    assert corner(encoding) == 3
    table[0, 3] = 7  # in place: the same tensor
    assert corner(encoding) == 7

    network = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    encoding = pe.bias(lambda b, h, i, j: network((i - j).float().unsqueeze(-1))[..., h])(2)
    before = corner(encoding)
    network[2].bias = torch.nn.Parameter(network[2].bias.detach() + 5)
    assert corner(encoding) == pytest.approx(before + 5, abs=1e-5)
    assert len(list(encoding.parameters())) == 4


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.t = torch.nn.Parameter(torch.tensor([0.5, 0.25]))
        self.register_buffer("shift", torch.ones(2))
        self.e = pe.from_flex(self.score)

    def score(self, score, b, h, i, j):
        return score + self.t[h] * (i - j) + self.shift[h]

    def forward(self, q, k, v):
        return pe.attention(q, k, v, self.e, mask=pe.causal)


def test_parameters_of_a_layer():
    """They are in the state once, replacements are followed, and copies have separate
    parameters."""
    layer = Layer()
    q, k, v, d_o = inputs(1, 2, 9, 9, 16)
    assert list(layer.state_dict()) == ["t", "shift"]
    assert [name for name, _ in layer.named_parameters()] == ["t"]
    assert Layer().load_state_dict(layer.state_dict()).missing_keys == []
    first = layer(q, k, v)
    layer.t = torch.nn.Parameter(torch.tensor([5.0, 1.0]))
    second = layer(q, k, v)
    assert not torch.allclose(first, second)
    second.backward(d_o)
    assert layer.t.grad.abs().min() > 0 and list(layer.state_dict()) == ["t", "shift"]
    twin = copy.deepcopy(layer)
    assert torch.equal(twin(q, k, v), second) and twin.e.self_t is twin.t
    with torch.no_grad():
        twin.t.zero_()
    assert torch.equal(layer(q, k, v), second)
    assert torch.equal(layer.double().e.dense(3, 3), layer.e.dense(3, 3))
    # A parameter that belongs to no module is in the state of the encoding.
    free = torch.nn.Parameter(torch.ones(2))
    assert list(pe.from_flex(lambda s, b, h, i, j: s * free[h]).state_dict()) == ["free"]


def test_compiled_code_follows(monkeypatch):
    """Numbers in closures and globals, and tensors of a layer, become guards."""
    layer, c = Layer(), 1.0
    q, k, v, _ = inputs(1, 2, 9, 9, 16)
    encoding = pe.from_flex(lambda s, b, h, i, j: s - c * (i - j))
    attend = torch.compile(lambda q, k, v: pe.attention(q, k, v, encoding), fullgraph=True)
    assert torch.equal(attend(q, k, v), pe.attention(q, k, v, encoding))
    for c in (2.0, 1.0):
        again = pe.from_flex(lambda s, b, h, i, j: s - c * (i - j))
        assert torch.equal(attend(q, k, v), pe.attention(q, k, v, again))
    by_global = pe.bias(lambda b, h, i, j: -WIDTH * SLOPES[h] * (i - j))(2)
    mask = pe.mask(lambda b, h, i, j: i - j < WIDTH)
    attend = torch.compile(lambda q, k, v: pe.attention(q, k, v, by_global, mask=mask),
                           fullgraph=True)
    assert torch.equal(attend(q, k, v), pe.attention(q, k, v, by_global, mask=mask))
    monkeypatch.setitem(globals(), "WIDTH", 2)
    compiled = attend(q, k, v)
    assert torch.equal(compiled, pe.attention(q, k, v, by_global, mask=mask))
    assert torch.equal(compiled, pe.attention(
        q, k, v, pe.bias(lambda b, h, i, j: -2 * SLOPES[h] * (i - j))(2),
        mask=pe.mask(lambda b, h, i, j: i - j < 2)))
    run = torch.compile(layer, fullgraph=True)
    run(q, k, v)
    layer.t = torch.nn.Parameter(torch.tensor([5.0, 1.0]))
    assert torch.equal(run(q, k, v), layer(q, k, v))


def test_masks_and_sums():
    width = 5
    mask = pe.mask(lambda b, h, i, j: (j <= i) & (i - j < width))
    encoding = pe.from_flex(mask_mod=lambda b, h, i, j: (j <= i) & (i - j < width))
    both = encoding + pe.nn.ALiBi(2)
    q, k, v, _ = inputs(1, 2, 9, 9, 16)
    for width in (5, 2):
        expected = pe.attention(q, k, v, mask=pe.causal & pe.sliding_window(width))
        assert torch.equal(pe.attention(q, k, v, mask=mask), expected)
        assert torch.equal(pe.attention(q, k, v, encoding), expected)
        assert int(mask.dense(9, 9).sum()) == sum(min(n + 1, width) for n in range(9))
        expected = pe.attention(q, k, v, pe.nn.ALiBi(2), mask=pe.causal & pe.sliding_window(width))
        assert torch.allclose(pe.attention(q, k, v, both), expected, atol=1e-6)


def test_copies_keep_their_values():
    c = 1.0
    encoding = pe.bias(lambda b, h, i, j: -c * SLOPES[h] * (i - j))(2)
    shallow, deep = copy.copy(encoding), copy.deepcopy(encoding)
    restored = pickle.loads(pickle.dumps(encoding))
    c = 2.0
    assert [corner(e) for e in (encoding, shallow, deep, restored)] == [-3, -3, -1.5, -1.5]


def test_python_numbers_from_tensors_are_refused():
    for function in (lambda b, h, i, j: SLOPES[0].item() * i, lambda b, h, i, j: float(SLOPES[1]),
                     lambda b, h, i, j: i if SLOPES[0] else j):
        with pytest.raises(pe.CompileError, match=f"{__file__}:.*(concrete|no value|current)"):
            pe.bias(function)(2)
    scale = torch.tensor(2.0)
    for function in (lambda b, h, i, j: scale.item() * i, lambda b, h, i, j: float(scale) * i):
        with pytest.raises(pe.CompileError, match="would make the tensor's current value a const"):
            pe.bias(function)(2)
