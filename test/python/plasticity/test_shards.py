"""DTensors: four processes must get, bit for bit, what one process gets (shards_worker.py)."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

WORKER = pathlib.Path(__file__).with_name("shards_worker.py")
CHECKS = re.findall(r"\w+", WORKER.read_text().split("CHECKS = [")[1].split("]")[0])
LIMIT = 900  # seconds, many times what it takes: a deadlock must end


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, str(WORKER),
         str(tmp_path_factory.mktemp("shards"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True)
    try:
        return process.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0] + f"\nstopped after {LIMIT} s"


@pytest.mark.parametrize("check", CHECKS)
def test_four_processes(output, check):
    assert f"ok {check}\n" in output, output[-6000:]
