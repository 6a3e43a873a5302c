"""Compares groups of two and of four processes with one process: argv is an empty directory; prints
"ok NAME of N" per check.

The expected values are computed, and all programs compiled, before the processes are forked, which
saves time; every process group has a time limit, so that a deadlock is an error.
"""

import datetime
import functools
import multiprocessing
import os
import pathlib
import sys
import traceback

import torch
import torch.distributed as dist

import parallel_checks
import parallel_models
from parallel_cases import CASES

LIMIT = datetime.timedelta(seconds=60)
WORLDS = (2, 4)


def every_check():
    for case in CASES:
        for method, layout in case.methods:
            yield (f"{case.name} {method} {layout}",
                   functools.partial(parallel_checks.expect_whole, case, method, layout))
    for module in (parallel_checks, parallel_models):
        for check in module.CHECKS:
            yield check.__name__, check


def process(rank, world, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store{world}", rank=rank,
                            world_size=world, timeout=LIMIT)
    for name, check in every_check():
        try:
            check()
            dist.barrier()
        except Exception:
            # Other processes may wait for this one in a transfer: later checks would be
            # meaningless.
            print(f"FAILED {name} of {world} on rank {rank}\n{traceback.format_exc()}", flush=True)
            os._exit(1)
        if rank == 0:
            print(f"ok {name} of {world}", flush=True)
    dist.destroy_process_group()


def main():
    folder = pathlib.Path(sys.argv[1])
    for case in CASES:
        case.prepare()
    parallel_checks.prepare()
    parallel_models.prepare()
    context = multiprocessing.get_context("fork")
    failed = False
    for world in WORLDS:
        processes = [context.Process(target=process, args=(rank, world, folder))
                     for rank in range(world)]
        for each in processes:
            each.start()
        for each in processes:
            each.join()
        failed = failed or any(each.exitcode for each in processes)
    sys.exit(failed)


if __name__ == "__main__":
    main()
