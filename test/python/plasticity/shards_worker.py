"""Projects sharded models in four processes: argv is an empty directory; prints "ok NAME" per
check.

All modules are imported before the processes are forked, which saves time; every process group has
a time limit, so that a deadlock is an error.
"""

import datetime
import math
import multiprocessing
import os
import pathlib
import sys
import traceback

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import pe_attention as pe
from pe_attention import InputError
from pe_attention.plasticity import Dormancy
from pe_attention.plasticity._shards import Fleet

RANKS = 4
LIMIT = datetime.timedelta(seconds=60)


class Model(nn.Module):
    """A model whose rows no number of processes divides, with fewer rows than processes, tied
    weights, experts and taps."""
    def __init__(self, dtype=torch.float32):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(9, 6)
        self.up = nn.Linear(6, 10)
        self.down = nn.Linear(10, 6)
        self.few = nn.Linear(6, 2)
        self.one = nn.Linear(2, 1)
        self.conv = nn.Conv2d(3, 5, 2)
        self.experts = nn.Module()
        self.experts.w = nn.Parameter(torch.randn(3, 7, 6))
        self.lost = nn.Linear(6, 6)
        self.lost.weight.data[2] = 0
        self.again = nn.Linear(6, 10)
        self.again.weight = self.up.weight
        self.to(dtype)

    def forward(self, x):
        return self.down(self.up(x)) + self.few(x).sum() + self.lost(x).sum()


def full(model):
    return {
        name: (p.full_tensor() if isinstance(p, DTensor) else p).detach().clone()
        for name, p in model.named_parameters()
    }


def expect_equal(sharded, plain, **options):
    """Checks that the sharded model becomes, bit for bit, what the plain one becomes in one
    process."""
    report = pe.reinit(sharded, **options)
    expected = pe.reinit(plain, **options)
    assert report == expected, f"{report}\ninstead of\n{expected}"
    found = full(sharded)
    for name, p in plain.named_parameters():
        assert torch.equal(found[name], p), name


def fsdp():
    for dtype in (torch.float32, torch.bfloat16):
        model = Model(dtype)
        fully_shard(model, mesh=init_device_mesh("cpu", (4, )))
        expect_equal(model, Model(dtype), split={"up": 2})
    model = Model()
    fully_shard(model, mesh=init_device_mesh("cpu", (4, )))
    expect_equal(model, Model(), engine="cubic", iters=3, scale="fro")


def fsdp_after_a_forward_pass():
    # The root's parameters are gathered then; changes of the gathered copies would be lost.
    model = Model()
    fully_shard(model, mesh=init_device_mesh("cpu", (4, )), reshard_after_forward=False)
    with torch.no_grad():
        model(torch.randn(3, 6))
    expect_equal(model, Model())


def hsdp():
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards"))
    model = Model()
    fully_shard(model, mesh=mesh)
    expect_equal(model, Model())
    for name, p in model.named_parameters():
        pieces = [None] * 2
        dist.all_gather_object(pieces, p.to_local(), group=mesh.get_group("copies"))
        assert torch.equal(*pieces), name


def tensor_parallel(model, mesh):
    return parallelize_module(model, mesh, {
        "up": ColwiseParallel(),
        "down": RowwiseParallel(),
        "few": ColwiseParallel()
    })


def tp():
    mesh = init_device_mesh("cpu", (4, ))
    model = Model()
    model.again = nn.Linear(6, 10)
    plain = Model()
    plain.again = nn.Linear(6, 10)
    plain.again.load_state_dict(model.again.state_dict())
    tensor_parallel(model, mesh)
    assert isinstance(model.up.weight, DTensor) and model.down.weight.placements == (Shard(1), )
    expect_equal(model, plain)


def fsdp_in_tp():
    for rows in (10, 7, 5, 3, 2):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
        torch.manual_seed(rows)
        models = [
            nn.Sequential(nn.Linear(6, rows), nn.Linear(rows, 6), nn.Linear(6, 5)) for _ in range(2)
        ]
        models[1].load_state_dict(models[0].state_dict())
        parallelize_module(models[0], mesh["model"], {"0": ColwiseParallel()})
        fully_shard(models[0], mesh=mesh["data"])
        assert models[0][0].weight.device_mesh.ndim == 2
        assert models[0][2].weight.device_mesh.ndim == 1
        expect_equal(models[0], models[1])


def placed(placements, shape=(11, 5), mesh_shape=(2, 2)):
    mesh = init_device_mesh("cpu", mesh_shape)
    torch.manual_seed(1)
    plain, sharded = nn.Linear(shape[1], shape[0]), nn.Linear(shape[1], shape[0])
    sharded.load_state_dict(plain.state_dict())
    sharded.weight = nn.Parameter(distribute_tensor(plain.weight.detach().clone(), mesh,
                                                    placements))
    return sharded, plain


def placements():
    for pair in [(Shard(0), Shard(1)), (Shard(1), Shard(0)), (Shard(0), Shard(0)),
                 (Shard(1), Shard(1)), (Replicate(), Replicate()), (Shard(1), Replicate())]:
        for shape in [(11, 5), (3, 2), (1, 5)]:
            expect_equal(*placed(pair, shape))


def part_of_the_world():
    # Processes outside a mesh take no part, and no process may wait for them.
    everyone = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("half", "a", "b"))
    mesh = everyone["a", "b"]
    torch.manual_seed(2)
    plain, sharded = nn.Linear(5, 9), nn.Linear(5, 9)
    sharded.load_state_dict(plain.state_dict())
    sharded.weight = nn.Parameter(
        distribute_tensor(plain.weight.detach().clone(), mesh, (Replicate(), Shard(0))))
    if dist.get_rank() < 2:
        expect_equal(sharded, plain)
    dist.barrier()


def expect_refused(message, model, **options):
    before = {
        name: (p.to_local() if isinstance(p, DTensor) else p).detach().clone()
        for name, p in model.named_parameters()
    }
    try:
        pe.reinit(model, **options)
    except InputError as error:
        assert message in str(error), str(error)
    else:
        raise AssertionError(f"expected an error: {message}")
    for name, p in model.named_parameters():
        local = p.to_local() if isinstance(p, DTensor) else p
        assert torch.equal(torch.nan_to_num(local), torch.nan_to_num(before[name])), name


def refusals():
    """An error on one process is raised on all processes, and nothing has changed."""
    mesh = init_device_mesh("cpu", (4, ))
    model = Model()
    fully_shard(model, mesh=mesh)
    if dist.get_rank() == 2:  # rows 6 to 8
        with torch.no_grad():
            model.up.weight.to_local()[1, 4] = math.nan
    mark = "" if dist.get_rank() == 2 else "rank 2: "
    expect_refused(mark + "parameter 'up.weight': expected finite weights, found nan at [7, 4]",
                   model)
    model = Model()
    fully_shard(model, mesh=mesh)
    if dist.get_rank() == 1:
        model.few.requires_grad_(False)
    expect_refused("model: expected the same matrices on all ranks of a mesh", model)
    expect_refused(
        "scale: expected one of" if dist.get_rank() == 3 else "rank 3: scale: expected one of",
        model,
        scale="max" if dist.get_rank() == 3 else "none")
    linear = nn.Linear(4, 4)
    linear.weight = nn.Parameter(
        DTensor.from_local(torch.randn(4, 4),
                           mesh, (Shard(0), ),
                           run_check=False,
                           shape=torch.Size((7, 4)),
                           stride=(4, 1)))
    expect_refused("parameter 'weight': expected a shard of shape", linear)


def optimizer_states():
    model, plain = Model(), Model()
    fully_shard(model, mesh=init_device_mesh("cpu", (4, )))
    results = []
    for each in (model, plain):
        optimizer = torch.optim.AdamW(each.parameters(), lr=0.1)
        for step in range(3):
            for p in each.parameters():
                p.grad = torch.ones_like(p) * 0.1
            optimizer.step()
            if step == 1:
                report = pe.reinit(each, optimizers=optimizer)
                assert report.optimizer_states == 7, report.optimizer_states
        results.append(full(each))
    for name, value in results[1].items():
        assert torch.equal(results[0][name], value), name


def dormancy_of_all_data():
    """All processes recycle the same neurons: those that are dormant over the data of all
    processes."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    data = torch.eye(4).repeat(3, 1)
    with torch.no_grad():  # neurons 0 to 3 respond to one kind of input each, 4 to none
        model[0].weight[:4].copy_(torch.eye(4))
        model[0].bias.copy_(torch.tensor([0.0, 0.0, 0.0, 0.0, -9.0, 1.0]))
    with Dormancy(model) as dormancy:
        model(data[dist.get_rank()::4])
        assert dormancy.recycle()[0].dormant == [4]
    for p in model.parameters():
        theirs = [torch.empty_like(p) for _ in range(RANKS)]
        dist.all_gather(theirs, p.detach())
        assert all(torch.equal(p, other) for other in theirs)


def every_process_works():
    """Matrices are distributed: no process owns more than its share."""
    mesh = init_device_mesh("cpu", (4, ))
    model = Model()
    fully_shard(model, mesh=mesh)
    from pe_attention.plasticity._select import Selection
    fleet = Fleet(mesh)
    units = [unit for c in Selection(model, "all", None).candidates() for unit in c.units]
    assert fleet.plan(units) == ""
    owners = [owner for work in fleet.rounds() for _, owner in work]
    assert len(owners) == len(units) == 9
    assert max(map(owners.count, range(4))) == 3 and min(map(owners.count, range(4))) == 2


CHECKS = [
    fsdp, fsdp_after_a_forward_pass, hsdp, tp, fsdp_in_tp, placements, part_of_the_world, refusals,
    optimizer_states, dormancy_of_all_data,
    every_process_works
]


def process(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo",
                            init_method=f"file://{folder}/store",
                            rank=rank,
                            world_size=RANKS,
                            timeout=LIMIT)
    for check in CHECKS:
        try:
            check()
            dist.barrier()
        except Exception:
            # Other processes may wait for this one in a transfer: later checks would be
            # meaningless.
            print(f"FAILED {check.__name__} on rank {rank}\n{traceback.format_exc()}", flush=True)
            os._exit(1)
        if rank == 0:
            print(f"ok {check.__name__}", flush=True)
    dist.destroy_process_group()


def main():
    folder = pathlib.Path(sys.argv[1])
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=process, args=(rank, folder)) for rank in range(RANKS)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    sys.exit(any(each.exitcode for each in processes))


if __name__ == "__main__":
    main()
