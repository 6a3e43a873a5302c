"""Sequences, heads and batches split over two and four processes give the results of one process
(parallel_worker.py)."""

import pathlib

import pytest

from conftest import output_of_processes
from parallel_worker import WORLDS, every_check

WORKER = pathlib.Path(__file__).with_name("parallel_worker.py")
LIMIT = 900  # seconds, many times the usual duration: a deadlock must end


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return output_of_processes(WORKER, tmp_path_factory.mktemp("distributed"), LIMIT)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("check", [name for name, _ in every_check()])
def test_processes(output, check, world):
    assert f"ok {check} of {world}\n" in output, output[-6000:]
