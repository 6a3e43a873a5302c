"""Tests of pe.reinit: selected matrices, scales, optimizer states and errors."""

import json
import math

import pytest
import torch
from torch import nn

import pe_attention as pe
from pe_attention import InputError
from pe_attention.plasticity import measure_dfi, newton_schulz, polar, reset_optimizer_states


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.self_attn = nn.ModuleDict(
            {name: nn.Linear(size, size)
             for name in ("wq", "wk", "wv", "wo")})
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))


class Language(nn.Module):
    """A language model over bytes, whose feed-forward layers have as many outputs as there are
    bytes."""
    def __init__(self, tied=True):
        super().__init__()
        torch.manual_seed(0)
        self.wte = nn.Embedding(64, 16)
        self.blocks = nn.ModuleList(Block(16) for _ in range(2))
        self.last = nn.Linear(16, 64, bias=False)
        if tied:
            self.last.weight = self.wte.weight


def snapshot(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def changed(model, before):
    return [name for name, p in model.named_parameters() if not torch.equal(p, before[name])]


def names(report):
    return [entry.name for entry in report.projected]


def chosen_of(model, **options):
    before = snapshot(model)
    report = pe.reinit(model, **options)
    assert changed(model, before) == sorted(set(changed(model, before)),
                                            key=changed(model, before).index)
    return changed(model, before), {entry.name: entry.why for entry in report}


def test_a_language_model():
    for tied in (True, False):
        model = Language(tied)
        before = snapshot(model)
        report = pe.reinit(model)
        expected = [
            f"blocks.{i}.{name}.weight" for i in range(2)
            for name in ("self_attn.wq", "self_attn.wk", "self_attn.wv", "self_attn.wo", "mlp.0",
                         "mlp.2")
        ]
        assert names(report) == changed(model, before) == expected
        why = {entry.name: entry.why for entry in report}
        assert why["wte.weight"] == "embedding"
        assert why["last.weight"] == ("tied to wte.weight" if tied else "head")
        assert why["blocks.0.norm.weight"] == "rank 1"
        for entry in report.projected:
            w = model.get_parameter(entry.name)
            scale = math.sqrt(w.shape[0] / w.shape[1])
            assert torch.allclose(w, polar(before[entry.name]) * scale, atol=1e-6)
            assert measure_dfi(w, scale) < 1e-12 and entry.dfi_after < 1e-12
            assert entry.dfi_before == pytest.approx(float(measure_dfi(before[entry.name])))
            assert entry.sfe == pytest.approx(float(
                (w.detach() - before[entry.name]).square().sum()),
                                              rel=1e-5)
            assert entry.scale == scale and entry.rank == 16


def test_targets():
    attention = [
        f"blocks.{i}.self_attn.{name}.weight" for i in range(2) for name in ("wq", "wk", "wv", "wo")
    ]
    mlp = [f"blocks.{i}.mlp.{k}.weight" for i in range(2) for k in (0, 2)]
    assert chosen_of(Language(), target="attention")[0] == attention
    assert chosen_of(Language(), target="mlp")[0] == mlp
    seen = []

    def last_block(name, module):
        seen.append(type(module))
        return name.startswith("blocks.1.mlp")

    assert chosen_of(Language(), target=last_block)[0] == mlp[2:]
    assert nn.Embedding not in seen and nn.Linear in seen
    # Heads are also projected on request, including the weights tied to them.
    assert chosen_of(Language(),
                     target=lambda name, module: name == "last.weight")[0] == ["wte.weight"]
    layer = nn.TransformerEncoderLayer(16, 2, 32)
    assert chosen_of(layer, target="mlp")[0] == ["linear1.weight", "linear2.weight"]
    assert chosen_of(
        layer, target="attention")[0] == ["self_attn.in_proj_weight", "self_attn.out_proj.weight"]


def test_heads_by_name():
    for name in ("lm_head", "classifier", "qa_head"):
        model = nn.ModuleDict({"body": nn.Linear(4, 4), name: nn.Linear(4, 4)})
        assert chosen_of(model)[0] == ["body.weight"], name
    model = nn.ModuleDict({"multi_head": nn.Linear(4, 4), "overhead": nn.Linear(4, 4)})
    assert len(chosen_of(model)[0]) == 2


def test_tied_matrices_once():
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6))
    model[1].weight = model[0].weight
    expected = polar(model[0].weight)
    report = pe.reinit(model)
    assert names(report) == ["0.weight"] and torch.allclose(model[1].weight, expected, atol=1e-7)
    assert report.by_name()["1.weight"].why == "tied to 0.weight"


def test_convolutions_by_tap():
    for module, out_axis in [(nn.Conv2d(3, 5, (2, 3)), 0), (nn.Conv1d(6, 4, 3), 0),
                             (nn.ConvTranspose2d(3, 5, 2), 1), (nn.Conv2d(6, 8, 2, groups=2), 0)]:
        old = module.weight.detach().clone()
        report = pe.reinit(nn.Sequential(module))
        taps = math.prod(old.shape[2:])
        assert len(report.projected) == taps * module.groups
        rows = old.shape[0] // module.groups
        for group in range(module.groups):
            part = slice(group * rows, (group + 1) * rows)
            ratio = old.shape[1] / rows if out_axis else rows / old.shape[1]
            for tap in range(taps):
                w, new = (x[part].flatten(2)[..., tap] for x in (old, module.weight.detach()))
                assert torch.allclose(new, polar(w) * math.sqrt(ratio) / taps, atol=1e-6)
    with pytest.raises(InputError, match="depthwise"):
        pe.reinit(nn.Conv2d(4, 4, 3, groups=4))


def test_fused_and_stacked():
    class Conv1D(nn.Module):  # the interface of transformers' Conv1D
        def __init__(self, outputs, inputs):
            super().__init__()
            self.nf = outputs
            self.weight = nn.Parameter(torch.randn(inputs, outputs))

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_up_proj = nn.Parameter(torch.randn(3, 12, 4))
            self.bias = nn.Parameter(torch.randn(3, 12))

    model = nn.ModuleDict({
        "c_attn": Conv1D(24, 8),
        "qkv": nn.Linear(8, 16),
        "experts": Experts(),
        "mha": nn.MultiheadAttention(8, 2),
        "rnn": nn.GRU(8, 6)
    })
    old = snapshot(model)
    pe.reinit(model, split={"c_attn": 3, "qkv": (8, 4, 4), "gate_up_proj": 2})
    new = snapshot(model)
    for i in range(3):
        part = slice(8 * i, 8 * i + 8)
        assert torch.allclose(new["c_attn.weight"][:, part],
                              polar(old["c_attn.weight"][:, part]),
                              atol=1e-6)
        for half in (slice(0, 6), slice(6, 12)):
            expected = polar(old["experts.gate_up_proj"][i, half]) * math.sqrt(6 / 4)
            assert torch.allclose(new["experts.gate_up_proj"][i, half], expected, atol=1e-6)
        name = "mha.in_proj_weight"
        assert torch.allclose(new[name][part], polar(old[name][part]), atol=1e-6)
        part = slice(6 * i, 6 * i + 6)
        name = "rnn.weight_ih_l0"
        assert torch.allclose(new[name][part], polar(old[name][part]) * math.sqrt(6 / 8), atol=1e-6)
    for part in (slice(0, 8), slice(8, 12), slice(12, 16)):
        scale = math.sqrt((part.stop - part.start) / 8)
        assert torch.allclose(new["qkv.weight"][part],
                              polar(old["qkv.weight"][part]) * scale,
                              atol=1e-6)
    assert torch.equal(new["experts.bias"], old["experts.bias"])
    whole = Conv1D(24, 8)
    expected = polar(whole.weight) * math.sqrt(24 / 8)
    pe.reinit(nn.ModuleDict({"c_attn": whole}))
    assert torch.allclose(whole.weight, expected, atol=1e-6)


def test_engines_and_scales():
    def one(**options):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(12, 20))
        old = model[0].weight.detach().clone()
        report = pe.reinit(model, **options)
        return old, model[0].weight.detach(), report[0]

    old, new, entry = one(engine="cubic", iters=5)
    assert torch.allclose(new, newton_schulz(old, iters=5) * math.sqrt(20 / 12), atol=1e-6)
    assert entry.iterations == 5 and entry.dfi_after > 1e-4
    old, new, entry = one(engine="cubic", norm="spectral")
    assert entry.iterations == 10
    old, new, _ = one(engine="quintic", scale="none")
    assert torch.allclose(new, polar(old), atol=1e-5)
    old, new, _ = one(scale="fro")
    assert torch.linalg.matrix_norm(new) == pytest.approx(float(torch.linalg.matrix_norm(old)),
                                                          rel=1e-6)
    old, new, entry = one(scale="mean-sigma")
    assert entry.scale == pytest.approx(float(torch.linalg.svdvals(old).mean()), rel=1e-5)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        layer = nn.Linear(12, 20, dtype=dtype)
        expected = (polar(layer.weight.double()) * math.sqrt(20 / 12)).to(dtype)
        pe.reinit(layer)
        assert layer.weight.dtype == dtype and torch.equal(layer.weight, expected)


def test_zeros_and_lost_directions():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    nn.init.zeros_(model[0].weight)
    with torch.no_grad():
        model[1].weight[3] = 0
    optimizer = stepped(model, torch.optim.AdamW)
    with torch.no_grad():
        model[0].weight.zero_()
        model[1].weight[3] = 0
    report = pe.reinit(model, optimizers=optimizer)
    assert [entry.why for entry in report
            if len(entry.shape) > 1] == ["zero", "rank deficient, completed"]
    assert report.by_name()["1.weight"].rank == 7 and torch.count_nonzero(model[0].weight) == 0
    assert model[0].weight in optimizer.state and model[1].weight not in optimizer.state
    assert str(report).endswith(
        "1 matrices projected, 1 of zeros left alone; 1 optimizer states reset")


# -- Optimizers ------------------------------------------------------------------------------------


def stepped(model, make, **options):
    optimizer = make(model.parameters(), lr=1e-3, **options)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    return optimizer


@pytest.mark.parametrize("make, options", [(torch.optim.AdamW, {}),
                                           (torch.optim.Adam, {
                                               "amsgrad": True
                                           }), (torch.optim.SGD, {
                                               "momentum": 0.9
                                           }), (torch.optim.Adafactor, {}),
                                           (torch.optim.RMSprop, {}), (torch.optim.Adagrad, {})])
def test_only_projected_parameters_lose_their_state(make, options):
    model = Language()
    optimizer = stepped(model, make, **options)
    before = {
        name: {
            key: torch.as_tensor(value).clone()
            for key, value in optimizer.state[p].items() if value is not None
        }
        for name, p in model.named_parameters()
    }
    report = pe.reinit(model, target="mlp", optimizers=[optimizer])
    assert report.optimizer_states == 4
    for name, p in model.named_parameters():
        if name in names(report):
            assert p not in optimizer.state
        else:
            for key, value in before[name].items():
                assert torch.equal(torch.as_tensor(optimizer.state[p][key]), value)
    weights = model.get_parameter("blocks.0.mlp.0.weight")
    expected = weights.detach().clone().requires_grad_()
    expected.grad = weights.grad.clone()
    other = make([expected], lr=1e-3, **options)
    if make is not torch.optim.Adagrad:  # its states exist from the start
        optimizer.step()
        other.step()
        assert torch.equal(weights, expected)


def test_reset_optimizer_states():
    model = Language()
    optimizer = stepped(model, torch.optim.AdamW)
    assert reset_optimizer_states(optimizer, [model.wte.weight]) == 1
    assert model.wte.weight not in optimizer.state and len(optimizer.state) == 28
    assert reset_optimizer_states([optimizer], model.blocks[0].mlp) == 4
    assert reset_optimizer_states([optimizer], model) == 24 and not optimizer.state
    with pytest.raises(InputError, match="optimizers: expected at least one, found none"):
        reset_optimizer_states([], model)
    with pytest.raises(InputError, match=r"parameters\[0\]: expected a tensor, found str"):
        reset_optimizer_states(optimizer, ["wte"])


def refuse(message, model, **options):
    before = snapshot(model)
    with pytest.raises(InputError) as caught:
        pe.reinit(model, **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert all(
        torch.equal(p, before[name]) or bool(p.isnan().any())
        for name, p in model.named_parameters())


def test_states_that_cannot_be_mapped():
    model = Language()
    first = model.blocks[0].mlp[0].weight
    stacked = stepped(model, torch.optim.SGD, momentum=0.9)
    stacked.state[first]["momentum_buffer"] = torch.zeros(4, *first.shape)
    refuse(
        "optimizers[0] (SGD): parameter 'blocks.0.mlp.0.weight' of shape [64, 16]: expected states "
        "of that shape, found 'momentum_buffer' with shape [4, 64, 16]",
        model,
        optimizers=stacked)
    listed = stepped(model, torch.optim.SGD)
    listed.state[first]["blocks"] = [torch.zeros(2, 2)]
    refuse("found 'blocks' with list", model, optimizers=[listed])
    foreign = stepped(model, torch.optim.AdamW)
    foreign.state["group"] = {"exp_avg": torch.zeros(3)}
    refuse("expected states of its parameters, found one of str 'group'",
           model,
           optimizers=[foreign])
    copies = torch.optim.AdamW([p.detach().clone().requires_grad_() for p in model.parameters()])
    refuse("expected an optimizer of parameter 'blocks.0.self_attn.wq.weight', found none",
           model,
           optimizers=[copies])
    refuse("optimizers[0]: expected a torch.optim.Optimizer, found int", model, optimizers=[3])


# -- Mistakes --------------------------------------------------------------------------------------


def test_bad_arguments():
    refuse("target: expected one of all, attention, mlp or a function", Language(), target="heads")
    refuse("engine: expected one of auto, qdwh, quintic, cubic, found 'svd'",
           Language(),
           engine="svd")
    refuse("iters: expected engine='cubic', the only engine with this option", Language(), iters=5)
    refuse("norm: expected engine='cubic'", Language(), engine="qdwh", norm="fro")
    refuse("scale: expected one of muon, none, mean-sigma, fro, found 'max'",
           Language(),
           scale="max")
    refuse("found 'c_attn', which is not", Language(), split={"c_attn": 3})
    refuse("parameter 'blocks.0.mlp.0.weight': expected outputs for 3 equal parts, found 64",
           Language(),
           split={"mlp.0": 3})
    refuse("expected parts that add up to 64 outputs, found [1, 2]",
           Language(),
           split={"mlp.0": (1, 2)})
    refuse("expected a matrix to project, found none among 4 parameters (frozen)",
           nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)).requires_grad_(False))
    refuse("found none among 2 parameters (no matrices)", nn.LayerNorm(3))
    with pytest.raises(InputError, match="model: expected a torch.nn.Module, found a tensor"):
        pe.reinit(torch.zeros(3, 3))


def test_non_finite_values():
    model = Language()
    with torch.no_grad():
        model.blocks[1].mlp[2].weight[3, 5] = math.nan
    refuse("parameter 'blocks.1.mlp.2.weight': expected finite weights, found nan at [3, 5]", model)


def test_flat_and_missing_parameters():
    model = nn.Sequential(nn.Linear(3, 3))
    with pytest.raises(InputError, match="parameter '0.weight': expected values, found none"):
        pe.reinit(nn.Sequential(nn.Linear(3, 3, device="meta")))
    with pytest.raises(InputError, match="parameter 'weight': expected values, found none"):
        pe.reinit(nn.LazyLinear(3))
    model[0].weight.ds_id = 0
    refuse("parameter '0.weight': expected its matrix, found a partition of DeepSpeed ZeRO-3",
           model)
    flat = type("FullyShardedDataParallel", (nn.Module, ), {})()
    flat.inner = nn.Linear(3, 3)
    refuse("found FSDP1, which keeps flat pieces", nn.Sequential(flat))
    refuse("expected a plain tensor or a DTensor, found Other", with_subclass())


def with_subclass():
    class Other(torch.Tensor):
        pass

    model = nn.Linear(3, 3)
    model.weight = nn.Parameter(torch.randn(3, 3).as_subclass(Other))
    return model


def test_wrappers_and_the_report():
    plain, wrapped = Language(), nn.ModuleDict({"_orig_mod": Language()})
    expected = pe.reinit(plain)
    report = pe.reinit(wrapped)
    assert [str(entry) for entry in report] == [str(entry) for entry in expected]
    table = json.loads(report.to_json())
    assert list(table[0]) == [
        "name", "shape", "chosen", "why", "dfi_before", "dfi_after", "sfe", "iterations", "rank",
        "scale"
    ]
    assert len(table) == len(report) and str(report).count("\n") == len(report.projected)
    # A second projection of an isometry changes at most the last bits.
    before = snapshot(plain)
    pe.reinit(plain)
    assert all(torch.allclose(p, before[name], atol=1e-6) for name, p in plain.named_parameters())
