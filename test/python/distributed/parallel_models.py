"""Checks of models that every process of a group runs: data, tensor and context parallelism."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

import pe_attention as pe
from conftest import multiplies
from parallel_cases import CASES, DEPTH, HEADS, KV_HEADS, LENGTH
from pe_attention.distributed import context_parallel_attention, shard

WORDS, WIDTH, TEXTS = 13, 24, 4
EXPECTED = {}


class Layer(nn.Module):

    def __init__(self, encoding, attend):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * DEPTH)
        self.out = nn.Linear(HEADS * DEPTH, WIDTH)
        self.encoding, self.attend = encoding, attend

    def forward(self, x):
        heads = self.qkv(x).unflatten(-1, (-1, DEPTH)).transpose(1, 2)
        q, k, v = heads.split((HEADS, KV_HEADS, KV_HEADS), 1)
        return x + self.out(self.attend(q, k, v, self.encoding).transpose(1, 2).flatten(2))


def whole_sequence(q, k, v, encoding):
    return pe.attention(q, k, v, encoding, mask=pe.causal)


def split_sequence(q, k, v, encoding):
    return context_parallel_attention(q, k, v, encoding, layout="zigzag", mask=pe.causal)


class Model(nn.Module):
    """Two layers with different encodings, some of whose parameters have shape [1]."""

    def __init__(self, attend=whole_sequence):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(WORDS, WIDTH)
        encodings = (pe.nn.FIRE(HEADS, hidden=(8,), initial_length=16.0),
                     pe.nn.RoPE() + pe.nn.KerpleLog(HEADS))
        self.layers = nn.ModuleList(Layer(encoding, attend) for encoding in encodings)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def numbers(self):
        return [p for p in self.parameters() if p.shape == (1,)]


def texts():
    return torch.randint(WORDS, (TEXTS, LENGTH + 1), generator=torch.Generator().manual_seed(1))


def loss_of(model, inputs, targets):
    return cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


def heads_of_all():
    """Returns q, k, v and a cotangent, with as many key heads as query heads."""
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(4, HEADS, LENGTH, DEPTH, generator=generator) for _ in range(4)]


def encoding_of_heads():
    torch.manual_seed(4)
    return pe.nn.FIRE(HEADS, hidden=(8,), initial_length=16.0) + pe.nn.ALiBi(HEADS)


def prepare():
    model, text = Model(), texts()
    loss_of(model, text[:, :-1], text[:, 1:]).backward()
    EXPECTED["model"] = {name: p.grad for name, p in model.named_parameters()}
    assert len(model.numbers()) == 2
    encoding, (q, k, v, d_o) = encoding_of_heads(), heads_of_all()
    given = [t.requires_grad_() for t in (q, k, v)]
    o = pe.attention(*given, encoding, mask=pe.causal)
    o.backward(d_o)
    EXPECTED["heads"] = [o.detach(), *(t.grad for t in given),
                         *(p.grad for p in encoding.parameters())]
    # The programs of a ring.
    for layer in model.layers:
        pe.attention(q, k, v, layer.encoding, mask=pe.causal, return_lse=True)


def close(found, expected, name, bound=1e-5):
    assert found.shape == expected.shape, name
    largest = max(float(expected.abs().max()), 0.1)
    error = float((found.detach() - expected).abs().max()) / largest
    assert error < bound, f"{name}: {error:.1e}"


def expect_gradients(model):
    for name, p in model.named_parameters():
        assert p.grad is not None, name
        gradient = p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad
        close(gradient, EXPECTED["model"][name.removeprefix("module.")], name)


def own_texts():
    text = texts().tensor_split(dist.get_world_size())[dist.get_rank()]
    return text[:, :-1], text[:, 1:]


def ddp():
    model = DistributedDataParallel(Model())
    loss_of(model, *own_texts()).backward()
    expect_gradients(model)


def fsdp2():
    """The encoding's parameters belong to the layer that is sharded; the second step gathers the
    parameters updated by the first."""
    model = Model()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    assert all(isinstance(p, DTensor) for p in model.parameters())
    loss_of(model, *own_texts()).backward()
    expect_gradients(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [p.full_tensor().clone() for p in model.numbers()]
    optimizer.step()
    assert all(not torch.equal(a, b.full_tensor())
               for a, b in zip(before, model.numbers(), strict=True))
    loss_of(model, *own_texts()).backward()


def fsdp2_of_an_encoding_alone():
    """Attention does not call the encoding's forward, so FSDP would not gather it: this is an
    error."""
    model = Model()
    fully_shard(model.layers[0].encoding)
    try:
        loss_of(model, *own_texts())
    except pe.InputError as error:
        assert "fully_shard" in str(error), str(error)
    else:
        raise AssertionError("expected an error for a sharded encoding")


def context_parallel():
    """The mean of the ranks' mean losses is the mean over all tokens, which DDP computes."""
    model = DistributedDataParallel(Model(split_sequence))
    text = texts()
    inputs, targets = (shard(t, layout="zigzag", dim=1) for t in (text[:, :-1], text[:, 1:]))
    loss_of(model, inputs, targets).backward()
    expect_gradients(model)


def context_parallel_fsdp2():
    model = fully_shard(Model(split_sequence))
    text = texts()
    inputs, targets = (shard(t, layout="zigzag", dim=1) for t in (text[:, :-1], text[:, 1:]))
    loss_of(model, inputs, targets).backward()
    expect_gradients(model)


def tensor_parallel():
    """Each rank has some heads, and the rows of parameters for these heads."""
    rank, count = dist.get_rank(), HEADS // dist.get_world_size()
    own = slice(rank * count, (rank + 1) * count)
    whole = encoding_of_heads()
    local = pe.nn.FIRE(count, hidden=(8,), initial_length=16.0) + pe.nn.ALiBi(count)
    with torch.no_grad():
        for mine, theirs in zip(local.parameters(), whole.parameters(), strict=True):
            mine.copy_(theirs if mine.shape == theirs.shape else theirs[own])
    *inputs, d_o = heads_of_all()
    q, k, v = (t[:, own].requires_grad_() for t in inputs)
    o = pe.attention(q, k, v, local, mask=pe.causal, head_start=rank * count, heads_total=HEADS)
    gradients = torch.autograd.grad(o, [q, k, v, *local.parameters()], d_o[:, own])
    for number, (one, other) in enumerate(zip([o, *gradients], EXPECTED["heads"], strict=True)):
        if number < 4:
            close(one, other[:, own], number)
        elif one.shape != other.shape:
            close(one, other[own], number)
        else:  # of all heads
            total = one.clone()
            dist.all_reduce(total)
            close(total, other, number)


def dtensors():
    """Split over batches and heads at once, with plain parameters and with DTensors."""
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2))
    for placements in ([Shard(0), Shard(1)], [Shard(1), Shard(0)], [Shard(1), Shard(1)],
                       [Replicate(), Shard(0)]):
        for distributed in (False, True):
            encoding = encoding_of_heads()
            if distributed:
                nn.Module.apply(encoding, lambda m: _distribute(m, mesh))
            *inputs, d_o = (distribute_tensor(t, mesh, placements) for t in heads_of_all())
            q, k, v = (t.requires_grad_() for t in inputs)
            o = pe.attention(q, k, v, encoding, mask=pe.causal)
            assert isinstance(o, DTensor) and o.placements == tuple(placements)
            o.backward(d_o)
            found = [o, *(t.grad for t in (q, k, v)), *(p.grad for p in encoding.parameters())]
            for number, (one, other) in enumerate(zip(found, EXPECTED["heads"], strict=True)):
                one = one.full_tensor() if isinstance(one, DTensor) else one
                close(one, other, f"{placements} {number}")


def dtensors_of_16_bits():
    """The local tensors are given to the kernels in their type; the result and the gradients have
    it too, and parameters have f32 gradients."""
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2))
    placements = [Shard(0), Shard(1)]
    encoding = encoding_of_heads()
    *inputs, d_o = (t.bfloat16() for t in heads_of_all())
    wide = [(t.clone() if multiplies(torch.bfloat16) else t.float()).requires_grad_()
            for t in inputs]
    expected = pe.attention(*wide, encoding, mask=pe.causal)
    expected = [expected.detach(), *torch.autograd.grad(
        expected, [*wide, *encoding.parameters()], d_o.to(expected.dtype))]
    split = [distribute_tensor(t, mesh, placements).requires_grad_() for t in inputs]
    o = pe.attention(*split, encoding, mask=pe.causal)
    o.backward(distribute_tensor(d_o, mesh, placements))
    found = [o, *(t.grad for t in split), *(p.grad for p in encoding.parameters())]
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        dtype, bound = (torch.bfloat16, 2 ** -8) if number < 4 else (torch.float32, 1e-5)
        assert one.dtype is dtype, number
        close(one.full_tensor() if isinstance(one, DTensor) else one, other, number, bound)


def dtensors_of_generic_form():
    """Sinks and documents of programs in MLIR's generic form, split over heads."""
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2))
    placements = [Shard(1), Replicate()]
    for case in (case for case in CASES if case.name.startswith("generic_")):
        inputs = [distribute_tensor(t, mesh, placements).requires_grad_() for t in case.inputs()]
        o = pe.attention(*inputs, case.encoding)
        gradients = torch.autograd.grad(o, inputs + case.parameters(),
                                        distribute_tensor(case.cotangent, mesh, placements))
        for number, (one, other) in enumerate(zip([o, *gradients], case.expected, strict=True)):
            one = one.full_tensor() if isinstance(one, DTensor) else one
            close(one, other, f"{case.name} {number}")


def _distribute(module, mesh):
    for name, p in list(module.named_parameters(recurse=False)):
        module.register_parameter(name, nn.Parameter(
            distribute_tensor(p.detach(), mesh, [Replicate()] * mesh.ndim)))


def dtensors_refused():
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    *inputs, _ = heads_of_all()
    rows = [distribute_tensor(t, mesh, [Shard(2)]) for t in inputs]
    heads = [distribute_tensor(t, mesh, [Shard(1)]) for t in inputs]
    few = [heads[0], *(distribute_tensor(t[:, :1], mesh, [Shard(1)]) for t in inputs[1:])]
    for message, tensors, options in (
            ("pe.distributed.context_parallel_attention", rows, {}),
            ("value: expected a DTensor like query", [*heads[:2], inputs[2]], {}),
            ("key: expected the mesh and placements of query", [heads[0], rows[1], rows[2]], {}),
            ("key: expected multiples of", few, {}),
            ("dropout_p: expected 0 for DTensors", heads, {"dropout_p": 0.1}),
            ("head_start", heads, {"head_start": 1})):
        try:
            pe.attention(*tensors, **options)
        except pe.InputError as error:
            assert message in str(error), str(error)
        else:
            raise AssertionError(f"expected an error: {message}")


CHECKS = [ddp, fsdp2, fsdp2_of_an_encoding_alone, context_parallel, context_parallel_fsdp2,
          tensor_parallel, dtensors, dtensors_of_16_bits, dtensors_of_generic_form,
          dtensors_refused]
