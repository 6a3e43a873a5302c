"""Tests of DTensors: four processes give, bit for bit, the result of one process
(shards_worker.py)."""

import pathlib
import re

import pytest

from conftest import output_of_processes

WORKER = pathlib.Path(__file__).with_name("shards_worker.py")
CHECKS = re.findall(r"\w+", WORKER.read_text().split("CHECKS = [")[1].split("]")[0])
LIMIT = 900  # seconds, many times the usual duration: a deadlock must end


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return output_of_processes(WORKER, tmp_path_factory.mktemp("shards"), LIMIT)


@pytest.mark.parametrize("check", CHECKS)
def test_four_processes(output, check):
    assert f"ok {check}\n" in output, output[-6000:]
