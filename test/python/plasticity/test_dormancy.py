"""Tests of dormant neurons and direction-aware shrinking against their formulas."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from pe_attention import InputError
from pe_attention.plasticity import Dormancy, dash_


class Gated(nn.Module):
    """silu(gate x) * up x, read by down."""

    def __init__(self, fused=False, size=6, hidden=10):
        super().__init__()
        if fused:
            self.gate_up_proj = nn.Linear(size, 2 * hidden)
        else:
            self.gate_proj, self.up_proj = nn.Linear(size, hidden), nn.Linear(size, hidden)
        self.down_proj = nn.Linear(hidden, size)

    def forward(self, x):
        gate, up = (self.gate_up_proj(x).chunk(2, -1) if hasattr(self, "gate_up_proj") else
                    (self.gate_proj(x), self.up_proj(x)))
        self.activity = (functional.silu(gate) * up).detach()
        return self.down_proj(functional.silu(gate) * up)


def batches(*shape, count=3):
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(*shape, generator=generator) for _ in range(count)]


def stepped(model, make=torch.optim.AdamW, **options):
    """Returns an optimizer whose state has no zero elements."""
    optimizer = make(model.parameters(), **{"lr": 1e-4, **options})
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    optimizer.step()
    return optimizer


def snapshot(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def mask_of(size, dormant):
    mask = torch.zeros(size, dtype=torch.bool)
    mask[list(dormant)] = True
    return mask


def expect_states(optimizer, parameter, cleared):
    """Checks that moments are zero exactly where `cleared` is, and that step counts have not
    changed."""
    for key, state in optimizer.state[parameter].items():
        if key == "step":
            assert float(state) == 1
        else:
            assert torch.equal(state == 0, cleared.expand_as(state)), key


def relu_network():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 3))
    with torch.no_grad():
        model[0].bias[[1, 6]] = -100.0  # never positive
    return model


def test_planted_neurons():
    model, dead = relu_network(), mask_of(8, [1, 6])
    optimizer, old, data = stepped(model), snapshot(model), batches(4, 5)
    old = snapshot(model)
    with Dormancy(model) as dormancy:
        expected = [model(x) for x in data]
        scores = dormancy.scores()["3"]
        activity = torch.cat([model[1](model[0](x)) for x in data]).mean(0).detach()
        assert torch.allclose(scores, (activity / (activity.mean() + 1e-9)).double(), rtol=1e-5)
        report = dormancy.recycle(optimizer)
        assert [str(entry) for entry in report] == ["3: 2 of 8 neurons dormant"]
        assert report[0].dormant == [1, 6]
        # The function has not changed: the neurons were silent, and their new outputs are zero.
        for x, y in zip(data, expected):
            assert torch.allclose(model(x), y, atol=1e-6)
    bound = math.sqrt(6 / (5 + 8))
    fresh = model[0].weight[dead]
    assert fresh.abs().max() <= bound and fresh.abs().max() > 0.5 * bound
    assert not torch.equal(fresh, old["0.weight"][dead])
    assert torch.equal(model[0].weight[~dead], old["0.weight"][~dead])
    assert torch.equal(model[0].bias, torch.where(dead, 0.0, old["0.bias"]))
    assert torch.equal(model[3].weight, torch.where(dead, 0.0, old["3.weight"]))
    assert torch.equal(model[3].bias, old["3.bias"])
    expect_states(optimizer, model[0].weight, dead[:, None])
    expect_states(optimizer, model[0].bias, dead)
    expect_states(optimizer, model[3].weight, dead)
    expect_states(optimizer, model[3].bias, mask_of(3, []))


def test_recycled_neurons_learn_again():
    model, data = relu_network(), batches(16, 5)
    with Dormancy(model) as dormancy:
        for x in data:
            model(x)
        dormancy.recycle()
        for x in data:
            model(x)
        assert dormancy.recycle()[0].dormant == []  # alive, and statistics have restarted
    target = torch.randn(16, 3)
    (model(data[0]) - target).square().sum().backward()
    assert model[3].weight.grad[:, [1, 6]].abs().min() > 0


@pytest.mark.parametrize("tau", [0.0, 0.2, 0.7])
def test_the_threshold(tau):
    model, data = relu_network(), batches(7, 5)
    with Dormancy(model, tau) as dormancy:
        for x in data:
            model(x)
        activity = torch.cat([model[1](model[0](x)) for x in data]).double().mean(0)
        score = activity / (activity.mean() + 1e-9)
        model(torch.zeros(0, 5))  # an empty batch has no effect
        assert dormancy.recycle()[0].dormant == (score <= tau).nonzero().flatten().tolist()


@pytest.mark.parametrize("fused", [False, True])
def test_gated_activity_is_the_product(fused):
    torch.manual_seed(1)
    model = Gated(fused)
    dead = mask_of(10, [0, 7])
    up = model.gate_up_proj if fused else model.up_proj
    with torch.no_grad():  # the gates are active; only the products are zero
        rows = torch.cat([~dead & dead, dead]) if fused else dead
        up.weight[rows] = 0
        up.bias[rows] = 0
    optimizer, data = stepped(model, torch.optim.SGD, lr=0.0, momentum=0.9), batches(2, 3, 6)
    old = snapshot(model)
    with Dormancy(model, 0.01) as dormancy:
        expected, activity = [], []
        for x in data:
            expected.append(model(x))
            activity.append(model.activity.abs().flatten(0, -2))
        mean = torch.cat(activity).mean(0)
        assert torch.allclose(dormancy.scores()["down_proj"],
                              (mean / (mean.mean() + 1e-9)).double(),
                              rtol=1e-5)
        assert dormancy.recycle([optimizer])[0].dormant == [0, 7]
        for x, y in zip(data, expected):
            assert torch.equal(model(x), y)
    sources = {"gate_up_proj": dead.repeat(2)} if fused else {"gate_proj": dead, "up_proj": dead}
    for name, rows in sources.items():
        layer = model.get_submodule(name)
        assert layer.weight[rows].abs().min() > 0 and not layer.bias[rows].any()
        assert torch.equal(layer.weight[~rows], old[f"{name}.weight"][~rows])
        assert torch.equal(layer.bias[~rows], old[f"{name}.bias"][~rows])
        expect_states(optimizer, layer.weight, rows[:, None])
    assert torch.equal(model.down_proj.weight, torch.where(dead, 0.0, old["down_proj.weight"]))
    expect_states(optimizer, model.down_proj.weight, dead)


def test_convolutions():
    torch.manual_seed(2)
    model = nn.Sequential(nn.Conv2d(2, 6, 3), nn.ReLU(), nn.Conv2d(6, 4, 2), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 4, 3))
    with torch.no_grad():
        model[0].bias[4] = -100
        model[2].bias[[0, 3]] = -100
    optimizer, data = stepped(model), batches(2, 2, 7, 7)
    old = snapshot(model)
    with Dormancy(model) as dormancy:
        expected = [model(x) for x in data]
        report = {entry.name: entry.dormant for entry in dormancy.recycle(optimizer)}
        assert report == {"2": [4], "6": [0, 3]}
        for x, y in zip(data, expected):
            assert torch.allclose(model(x), y, atol=1e-6)
    first, second = mask_of(6, [4]), mask_of(4, [0, 3])
    # The outputs of the middle layer are drawn again, and its inputs from the first layer are
    # cleared.
    assert not model[2].weight[:, first].any()
    assert model[2].weight[second][:, ~first].abs().min() > 0
    assert model[0].weight[first].abs().max() <= math.sqrt(6 / (9 * (2 + 6)))
    columns = second.repeat_interleave(4)
    assert torch.equal(model[6].weight, torch.where(columns, 0.0, old["6.weight"]))
    expect_states(optimizer, model[6].weight, columns)
    expect_states(optimizer, model[0].weight, first[:, None, None, None])


def test_named_pairs_and_attention():

    class Split(nn.Module):

        def __init__(self):
            super().__init__()
            self.inner, self.self_attention = nn.ModuleDict({"dense": nn.Linear(4, 9)}), Attention()
            self.outer = nn.ModuleDict({"dense": nn.Linear(9, 4)})

        def forward(self, x):
            return self.outer["dense"](self.inner["dense"](x).relu())

    class Attention(nn.Module):

        def __init__(self):
            super().__init__()
            self.q, self.o = nn.Linear(4, 4), nn.Linear(4, 4)

    torch.manual_seed(4)
    model = Split()
    with pytest.raises(InputError,
                       match="expected layers that read others through activations, found none"):
        Dormancy(model)
    with torch.no_grad():
        model.inner["dense"].bias[2] = -100
    with Dormancy(model, pairs=[("inner.dense", "outer.dense")]) as dormancy:
        model(torch.randn(300, 4))
        assert dormancy.recycle()[0].dormant == [2]
    for pair, message in [
        (("inner", "outer.dense"), "expected linear layers or convolutions without groups"),
        (("none", "outer.dense"), "expected the name of a module, found 'none'"),
        (("outer.dense", "outer.dense"), "expected as many outputs as 'outer.dense' has inputs, 9")
    ]:
        with pytest.raises(InputError, match=message):
            Dormancy(model, pairs=[pair])


def test_refused_states_change_nothing():
    model, data = relu_network(), batches(4, 5)
    for make, options, message in [(torch.optim.Adafactor, {}, "found state 'row_var' of shape"),
                                   (torch.optim.Rprop, {}, "found state 'prev' of shape")]:
        optimizer = stepped(model, make, **options)
        with torch.no_grad():
            model[0].bias[[1, 6]] = -100.0
        old = snapshot(model)
        with Dormancy(model) as dormancy:
            model(data[0])
            with pytest.raises(InputError, match=message):
                dormancy.recycle(optimizer)
        assert all(torch.equal(p, old[name]) for name, p in model.named_parameters())
    with pytest.raises(InputError, match="tau: expected a number in .0, 1., found 1"):
        Dormancy(model, 1)


def test_hooks_do_not_synchronize():
    # On the meta device, every read of a value raises an error.
    model = relu_network().to("meta")
    with Dormancy(model) as dormancy:
        model(torch.zeros(4, 5, device="meta"))
        assert dormancy.watches[0].total.shape == (8, ) and dormancy.watches[0].seen == 4
    model(torch.zeros(4, 5, device="meta"))
    assert dormancy.watches[0].seen == 4


# -- DASH ------------------------------------------------------------------------------------------


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 5),
                         nn.LayerNorm(5), nn.Linear(5, 2))


def test_dash_is_the_published_formula():
    model, data = network(), [(x, torch.randn(4, 2)) for x in batches(4, 3, 4, 4)]
    old = snapshot(model)
    averages = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    for x, y in data:
        model.zero_grad()
        functional.mse_loss(model(x), y).backward()
        for name, p in model.named_parameters():
            averages[name] = 0.7 * averages[name] + 0.3 * -p.grad
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    factors = dash_(model, data, lambda batch: functional.mse_loss(model(batch[0]), batch[1]))
    assert sorted(factors) == ["0.bias", "0.weight", "3.bias", "3.weight", "5.bias", "5.weight"]
    shrunk = 0
    for name, p in model.named_parameters():
        assert torch.equal(p.grad, gradients[name])
        if name.startswith("4"):
            assert torch.equal(p, old[name])
            continue
        kept = {4: 2, 2: 1, 1: 0}[p.dim()]
        g, w = averages[name].flatten(kept), old[name].flatten(kept)
        cosine = (g * w).sum(-1) / (g.norm(dim=-1) * w.norm(dim=-1))
        factor = cosine.clamp(0.3, 1)
        assert torch.allclose(factors[name], factor, atol=1e-5), name
        assert torch.allclose(p, (w * factor[..., None]).view(p.shape), atol=1e-6), name
        shrunk += int((factor > 0.3).sum())
    assert shrunk > 0  # the bound alone does not explain the result


def test_dash_keeps_aligned_weights():
    model = nn.Linear(4, 2, bias=False)
    weight = model.weight.detach().clone()
    # The gradient is -w for the first row and w for the second.
    sign = torch.tensor([[-1.0], [1.0]])
    factors = dash_(model, [None], lambda _: (model.weight * sign * weight).sum(), least=0.5)
    assert torch.allclose(factors["weight"], torch.tensor([1.0, 0.5]))
    assert torch.allclose(model.weight, weight * torch.tensor([[1.0], [0.5]]))


def test_dash_refuses():
    model = nn.Linear(4, 2)
    for options, message in [({
            "alpha": 0
    }, "alpha: expected a number in .0, 1."), ({
            "least": 2
    }, "least: expected"), ({
            "batches": []
    }, "batches: expected at least one, found none"),
                             ({
                                 "loss": lambda _: model.weight.sum() * math.nan
                             }, "parameter 'weight': expected finite"),
                             ({
                                 "model": nn.LayerNorm(3)
                             }, "expected linear layers or convolutions")]:
        arguments = {
            "model": model,
            "batches": [1],
            "loss": lambda _: model.weight.sum(),
            **options
        }
        old = model.weight.detach().clone()
        with pytest.raises(InputError, match=message):
            dash_(**arguments)
        assert torch.equal(model.weight, old)
