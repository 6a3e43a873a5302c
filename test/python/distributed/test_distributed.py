"""Sequences, heads and batches split over two and four processes give the results of one process
(parallel_worker.py)."""

import pathlib

import pytest
import torch
import torch.distributed as dist

import pe_attention as pe
from conftest import output_of_processes
from parallel_worker import WORLDS, every_check

WORKER = pathlib.Path(__file__).with_name("parallel_worker.py")
LIMIT = 900  # seconds, many times the usual duration: a deadlock must end


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return output_of_processes(WORKER, tmp_path_factory.mktemp("distributed"), LIMIT)


@pytest.fixture
def group_of_one():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_a_ring_of_16_bits_adds_the_rest_of_the_merged_output(group_of_one):
    """GPU kernels round the outputs of parts, and backward adds the rest of the output to take the
    gradients of parameters: of the merged one, since the rest of a part triples the error here."""
    errors = []
    for seed in range(8):
        torch.manual_seed(seed)
        q, k, v, d_o = (torch.randn(2, 4, 128, 32).bfloat16() for _ in range(4))
        encoding = pe.nn.ALiBi(4, learned=True)

        def gradient(o):
            return torch.autograd.grad(o, encoding.slopes, d_o.to(o.dtype))[0]

        exact = gradient(pe.attention(q.float(), k.float(), v.float(), encoding, mask=pe.causal))
        ring = pe.distributed.context_parallel_attention(
            q, k, v, encoding, layout="zigzag", mask=pe.causal, target="gpu-emulator")
        whole = pe.attention(q, k, v, encoding, mask=pe.causal, target="gpu-emulator")
        errors.append([(gradient(o) - exact).norm() for o in (ring, whole)])
    ring, whole = torch.tensor(errors).median(0).values
    assert float(ring) < 1.6 * float(whole), (ring, whole)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("check", [name for name, _ in every_check()])
def test_processes(output, check, world):
    assert f"ok {check} of {world}\n" in output, output[-6000:]
