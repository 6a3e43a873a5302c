"""Tests that `min` applies wherever a parameter is read, whatever its value."""

import copy
import pickle

import pytest
import torch

import pe_attention as pe

from dense_attention import inputs


@pe.bias(amp=pe.per_head(1.0), tau=pe.per_head(16.0, min=1e-3))
def bump(b, h, i, j, amp, tau):
    return amp[h] * torch.exp(-abs(i - j) / tau[h])


def at(encoding, value):
    with torch.no_grad():
        encoding.tau.fill_(value)
    return encoding


def test_values_below_the_minimum_read_as_the_minimum():
    """In eager, compiled and dense form; the state keeps names and values."""
    q, k, v, _ = inputs(1, 2, 9, 9, 16)
    low, least = at(bump(heads=2), -0.05), at(bump(heads=2), 1e-3)
    expected = pe.attention(q, k, v, least, mask=pe.causal)
    assert torch.isfinite(expected).all()
    attend = torch.compile(pe.attention, fullgraph=True)
    for same in (low, copy.deepcopy(low), pickle.loads(pickle.dumps(low))):
        assert torch.equal(pe.attention(q, k, v, same, mask=pe.causal), expected)
        assert torch.equal(attend(q, k, v, same, mask=pe.causal), expected)
        assert torch.equal(same.dense(9, 9), least.dense(9, 9))
        assert list(same.state_dict()) == ["amp", "tau"] and same.tau[0] == -0.05


def test_gradients_restore_a_parameter():
    """Below the bound, only a gradient that increases the parameter passes."""
    for sign in (1.0, -1.0):
        encoding = at(bump(heads=2), -0.05)
        encoding.parameter("tau").mul(sign).sum().backward()
        assert torch.equal(encoding.tau.grad, torch.full((2,), min(sign, 0.0)))
    inside = at(bump(heads=2), 2.0)
    inside.parameter("tau").sum().backward()
    assert torch.equal(inside.tau.grad, torch.ones(2))


@pytest.mark.parametrize("compiled", [False, True])
def test_large_steps_give_no_nan(compiled):
    """The first example of the README with SGD steps that move tau below its bound."""
    torch.manual_seed(0)
    encoding = at(bump(heads=2), 0.5)
    attend = torch.compile(pe.attention, fullgraph=True) if compiled else pe.attention
    q, k, v, _ = inputs(1, 2, 9, 9, 16)
    optimizer = torch.optim.SGD(encoding.parameters(), lr=1e3)
    lowest = []
    for _ in range(8):
        o = attend(q, k, v, encoding, mask=pe.causal)
        # The first step lowers the weight of distance 1: tau becomes negative.
        loss = (encoding.dense(9, 9)[..., 1, 0]).sum() + o.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lowest.append(float(encoding.tau.detach().min()))
        assert torch.isfinite(loss) and torch.isfinite(encoding.tau).all()
    assert min(lowest) < 0


def test_keep_enforces_the_minimum():
    encoding = bump(heads=2)
    groups = pe.param_groups(encoding, lr=1e6)
    optimizer = groups.keep(torch.optim.SGD(groups))
    encoding.parameter("tau").sum().backward()
    optimizer.step()
    assert torch.equal(encoding.tau, torch.full((2,), 1e-3))


def test_the_initial_value_is_checked():
    with pytest.raises(pe.InputError, match="init: expected at least min=0.001, found 0.0"):
        pe.per_head(0.0, min=1e-3)
    with pytest.raises(pe.InputError, match="min: expected a finite number or None, found '1'"):
        pe.scalar(2.0, min="1")


def test_scalars_and_text_programs():
    """For shape [1] and for rank 0."""
    text = bump(heads=2).program().text
    encoding = pe.from_mlir(text, heads=2)
    q, k, v, _ = inputs(1, 2, 9, 9, 16)
    assert torch.equal(pe.attention(q, k, v, at(encoding, -1.0)),
                       pe.attention(q, k, v, at(bump(heads=2), 1e-3)))

    @pe.bias(tau=pe.scalar(1.0, min=0.5))
    def one(b, h, i, j, tau):
        return -abs(i - j) / tau

    assert torch.equal(at(one(heads=2), 0.0).dense(3, 3), at(one(heads=2), 0.5).dense(3, 3))
