"""Sequences, heads and batches split over two and over four processes must give what one gives
(parallel_worker.py)."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from parallel_worker import WORLDS, every_check

WORKER = pathlib.Path(__file__).with_name("parallel_worker.py")
LIMIT = 900  # seconds, many times what it takes: a deadlock must end


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(tmp_path_factory.mktemp("distributed"))],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        start_new_session=True)
    try:
        return process.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0] + f"\nstopped after {LIMIT} s"


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("check", [name for name, _ in every_check()])
def test_processes(output, check, world):
    assert f"ok {check} of {world}\n" in output, output[-6000:]
