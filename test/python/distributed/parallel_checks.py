"""Checks of `context_parallel_attention` that every process of a group runs."""

import torch
import torch.distributed as dist

import pe_attention as pe
from conftest import multiplies
from parallel_cases import BATCH, CASES, DEPTH, HEADS, LENGTH, METHODS
from pe_attention.distributed import context_parallel_attention, shard, unshard

BY_NAME = {case.name: case for case in CASES}
# The units of roundoff.
LOW = {torch.bfloat16: 2 ** -8, torch.float16: 2 ** -11}
LOW_CASES = ("nope", "fire", "sink", "stick_breaking")
LOW_EXPECTED = {}


def prepare():
    """Computes the f32 results for 16-bit inputs, and compiles the programs of the parts."""
    for name in LOW_CASES:
        case = BY_NAME[name]
        for dtype in LOW:
            low = [t.to(dtype).requires_grad_() for t in case.inputs()]
            pe.attention(*low, case.encoding, mask=case.mask)
            wide = [t.detach().float().requires_grad_() for t in low]
            o = pe.attention(*wide, case.encoding, mask=case.mask)
            cotangent = case.cotangent.to(dtype).float()
            LOW_EXPECTED[name, dtype] = [o.detach(), *torch.autograd.grad(
                o, wide + case.parameters(), cotangent)]
        pe.attention(*wide, case.encoding, mask=case.mask, return_lse=True)


def run(case, method, layout, **options):
    """Returns the output and gradients of this rank's shards, and its share of the gradients of
    parameters."""
    axes = [2, 2, 2, *(axis for _, axis in case.data.values())]
    local = [shard(t, layout=layout, dim=axis).requires_grad_(t.is_floating_point())
             for t, axis in zip(case.inputs(), axes, strict=True)]
    q, k, v, *data = local
    torch.manual_seed(3)
    o = context_parallel_attention(q, k, v, case.bound_encoding(data), None, method, layout,
                                   mask=case.mask, **case.options, **options)
    assert o.stride() == q.stride() or q.stride() != q.contiguous().stride()
    wanted = [t for t in local if t.requires_grad]
    gradients = torch.autograd.grad(o, wanted + case.parameters(), shard(case.cotangent,
                                                                          layout=layout))
    axes = [axis for t, axis in zip(local, axes, strict=True) if t.requires_grad]
    return o.detach(), list(zip(gradients, axes)), list(gradients[len(wanted):])


def expect_whole(case, method, layout):
    o, gradients, shares = run(case, method, layout)
    found = [unshard(o, layout=layout)]
    found += [unshard(gradient, layout=layout, dim=axis) for gradient, axis in gradients]
    for share in shares:
        dist.all_reduce(share)
    for number, (one, other) in enumerate(zip(found + shares, case.expected, strict=True)):
        assert one.shape == other.shape
        largest = max(float(other.abs().max()), 1.0)  # for smaller values, terms of about 1 cancel
        error = float((one - other).abs().max()) / largest
        assert error <= case.bound, f"tensor {number}: error {error:.1e}"


def the_same_bits_again():
    for name in ("fire", "stick_breaking"):
        for method, layout in BY_NAME[name].methods:
            first, second = (run(BY_NAME[name], method, layout) for _ in range(2))
            flat = [[r[0], *(g for g, _ in r[1]), *r[2]] for r in (first, second)]
            assert all(torch.equal(a, b) for a, b in zip(*flat, strict=True)), (name, method)


def parts_of_other_lengths():
    """Parts of different lengths, including an empty part."""
    case, world, rank = BY_NAME["fire"], dist.get_world_size(), dist.get_rank()
    lengths = [LENGTH - 9, 9] if world == 2 else [20, 0, 5, LENGTH - 25]
    at = sum(lengths[:rank])
    for method in ("ring", "all_gather"):
        for given in (None, lengths):
            local = [t.narrow(2, at, lengths[rank]).requires_grad_() for t in case.inputs()]
            o = context_parallel_attention(*local, case.encoding, None, method, mask=case.mask,
                                           lengths=given)
            gradients = torch.autograd.grad(o, local,
                                            case.cotangent.narrow(2, at, lengths[rank]))
            for one, other in zip([o, *gradients], case.expected[:4], strict=True):
                other = other.narrow(2, at, lengths[rank])
                assert one.shape == other.shape
                assert torch.allclose(one, other, atol=2e-5), method


def given_positions_of_parts_of_other_lengths():
    """A ring passes the start of each block, even if there are more rows than keys."""
    case, world, rank = BY_NAME["positions"], dist.get_world_size(), dist.get_rank()
    lengths = [LENGTH - 9, 9] if world == 2 else [20, 3, 5, LENGTH - 28]
    at = sum(lengths[:rank])
    whole = case.inputs()
    axes = [2, 2, 2, *(axis for _, axis in case.data.values())]
    for method in ("ring", "all_gather"):
        q, k, v, *data = (t.narrow(axis, at, lengths[rank]) for t, axis in
                          zip(whole, axes, strict=True))
        local = [t.requires_grad_() for t in (q, k, v)]
        o = context_parallel_attention(*local, case.bound_encoding(data), None, method,
                                       mask=case.mask)
        gradients = torch.autograd.grad(o, local, case.cotangent.narrow(2, at, lengths[rank]))
        for one, other in zip([o, *gradients], case.expected[:4], strict=True):
            assert torch.allclose(one, other.narrow(2, at, lengths[rank]), atol=2e-5), method


def in_a_group_and_a_mesh():
    """A group of half of the processes, whose ranks do not start at 0, and a mesh."""
    world, rank = dist.get_world_size(), dist.get_rank()
    half = dist.new_group(list(range(world // 2, world)))
    case = BY_NAME["nope"]
    q, k, v = case.inputs()
    if rank >= world // 2:
        local = [shard(t, half) for t in (q, k, v)]
        o = context_parallel_attention(*local, None, half, mask=case.mask)
        assert torch.allclose(unshard(o, half), case.expected[0], atol=1e-5)
    mesh = dist.device_mesh.init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("a", "b"))
    local = [shard(t, mesh["a"]) for t in (q, k, v)]
    o = context_parallel_attention(*local, group=mesh["a"], mask=case.mask)
    assert torch.allclose(unshard(o, mesh["a"]), case.expected[0], atol=1e-5)


def low_precision():
    """Results and gradients of 16-bit inputs have the type of the inputs, and are those of f32 on
    the extended inputs, rounded once. Only all_gather sums rounded gradients of keys and values,
    which then are within one unit of roundoff of their norms. Gradients of parameters are f32. CPUs
    that multiply the type have results near those of f32. Gradients of parameters, like those of
    queries, are sums over pairs, of which most may cancel; both have errors of the same size."""
    for (name, dtype), expected in LOW_EXPECTED.items():
        case, unit = BY_NAME[name], LOW[dtype]
        for method, layout in METHODS:
            local = [shard(t.to(dtype), layout=layout).requires_grad_() for t in case.inputs()]
            o = context_parallel_attention(*local, case.encoding, None, method, layout,
                                           mask=case.mask)
            gradients = torch.autograd.grad(o, local + case.parameters(),
                                            shard(case.cotangent.to(dtype), layout=layout))
            found = [o.detach(), *gradients]
            assert all(t.dtype is dtype for t in found[:4])
            assert all(t.dtype is torch.float32 for t in found[4:])
            found[:4] = [unshard(t, layout=layout).float() for t in found[:4]]
            for share in found[4:]:
                dist.all_reduce(share)
            for number, (one, other) in enumerate(zip(found, expected, strict=True)):
                slack = case.bound * max(float(other.abs().max()), 1.0)
                difference = (one - other).abs()
                if multiplies(dtype):
                    bound = 2 ** -6 * other.norm()
                    if number >= 4:
                        bound = 2 ** -7 * max(other.norm(), expected[1].norm())
                    passes = bool(difference.norm() <= bound)
                elif method == "all_gather" and number in (2, 3):
                    passes = float(difference.norm()) <= unit * float(other.norm())
                else:
                    passes = bool((difference <= slack + (number < 4) * unit * other.abs()).all())
                assert passes, f"{name} {dtype} {method} {layout} {number}: {difference.max():.1e}"


def unsharding_sums_gradients():
    """Every rank's loss depends on the whole tensor; each shard receives the sum."""
    for layout in ("contiguous", "zigzag"):
        whole = torch.arange(2.0 * 16).view(2, 16)
        local = shard(whole, layout=layout, dim=1).requires_grad_()
        again = unshard(local, layout=layout, dim=1)
        assert torch.equal(again, whole)
        (again * (dist.get_rank() + 1) * whole).sum().backward()
        factor = sum(range(1, dist.get_world_size() + 1))
        assert torch.equal(local.grad, factor * shard(whole, layout=layout, dim=1))


def expect_refused(message, *tensors, **options):
    try:
        context_parallel_attention(*tensors, **options)
    except pe.InputError as error:
        assert message in str(error), str(error)
    else:
        raise AssertionError(f"expected an error: {message}")


def refusals():
    """An error on one process is raised on all processes, and none waits."""
    rank = dist.get_rank()
    q, k, v = (torch.randn(BATCH, HEADS, 8, DEPTH) for _ in range(3))
    odd = [torch.randn(BATCH, HEADS, 8 + 2 * (rank == 1), DEPTH) for _ in range(3)]
    expect_refused("expected the same even length on every rank for 'zigzag'", *odd,
                   layout="zigzag")
    expect_refused("lengths: expected a length for each of", q, k, v, lengths=[8])
    expect_refused("method: expected 'ring' or 'all_gather', found 'rings'", q, k, v,
                   method="rings")
    expect_refused("layout: expected 'contiguous' or 'zigzag'", q, k, v, layout="striped")
    expect_refused("key: expected 8 positions like query", q, k[:, :, :4], v[:, :, :4])
    wrong = k[..., :8] if rank == 1 else k
    expect_refused("key: expected the head dim 16" if rank == 1 else
                   "rank 1 rejected its arguments", q, wrong, v)
    expect_refused("batch: expected 2 on rank 1 as on rank 0, found 1",
                   *(t[:1] if rank == 1 else t for t in (q, k, v)))
    dtype = torch.float16 if rank == 1 else torch.bfloat16
    expect_refused("type: expected bfloat16 on rank 1 as on rank 0, found float16",
                   *(t.to(dtype) for t in (q, k, v)))
    expect_refused("method: expected ring on rank 1 as on rank 0, found all_gather", q, k, v,
                   method="all_gather" if rank == 1 else "ring")
    expect_refused("tensors that require gradients", q, k.requires_grad_(rank == 1), v)
    ring = dict(method="ring", mask=pe.causal)
    k.requires_grad_(False)
    expect_refused("expected stick-breaking without remainder for method='ring'", q, k, v,
                   pe.nn.StickBreaking(remainder=True), **ring)
    expect_refused("which merges results over parts of the keys, found softpick", q, k, v,
                   pe.nn.Softpick(), **ring)
    expect_refused("found bidirectional=True", q, k, v, pe.nn.StickBreaking(bidirectional=True))
    expect_refused("expected a sink with one logit per head for method='ring'", q, k, v,
                   BY_NAME["sink_of_the_query"].encoding, **ring)
    expect_refused("key_bias: expected this rank's 8 positions, found 16", q, k, v,
                   pe.nn.KeyBias()(key_bias=torch.zeros(BATCH, 16)))


def no_second_derivatives():
    q = torch.randn(BATCH, HEADS, 8, DEPTH, requires_grad=True)
    for method in ("ring", "all_gather"):
        o = context_parallel_attention(q, q, q, None, None, method, mask=pe.causal)
        gradient, = torch.autograd.grad(o.square().sum(), q, create_graph=True)
        try:
            gradient.sum().backward()
        except (RuntimeError, NotImplementedError):
            continue
        raise AssertionError("expected an error, found second derivatives")


CHECKS = [the_same_bits_again, parts_of_other_lengths,
          given_positions_of_parts_of_other_lengths, in_a_group_and_a_mesh, low_precision,
          unsharding_sums_gradients, refusals, no_second_derivatives]
