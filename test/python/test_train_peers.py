"""Tests scripts/train-peers at a tiny size: the losses of pe and of PyTorch, not the speeds."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent.parent
BUILT = Path(os.environ["PE_OPT"]).parent if "PE_OPT" in os.environ else ROOT / "build/bin"
TINY = ("--layers=1", "--dim=32", "--heads=2", "--seq=48", "--batch=4")
ROW = re.compile(r"^\| (\w+) \| (\w+) \| [\d.]+ -> [\d.]+ \| ([\d.e, +-]+) \|", re.MULTILINE)
# The script allows 1e-4; at this size FIRE without the gradient of w2 would differ by 2e-5.
BOUND = 1e-5
Run = Callable[..., tuple[object, str, str]]


@pytest.fixture
def script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("train_peers", str(ROOT / "scripts/train-peers"))
    spec = importlib.util.spec_from_loader("train_peers", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    exec(loader.get_code("train_peers"), module.__dict__)  # writes no files next to the script
    return module


@pytest.fixture
def peers(script: ModuleType, monkeypatch: pytest.MonkeyPatch,
          capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the script and returns its exit status, its output and its errors."""
    if not (BUILT / "pe").exists():
        pytest.fail(f"there is no program pe in {BUILT}; `make python` builds it")
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ["PE_CACHE_DIR"])

    def run(*flags: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["train-peers", f"--pe={BUILT}/pe", *TINY, *flags])
        try:
            status = script.main()
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return run


def differences(text: str) -> dict[tuple[str, str], list[float]]:
    return {(encoding, optimizer): [float(value) for value in values.split(", ")]
            for encoding, optimizer, values in ROW.findall(text)}


def test_losses_with_adamw(peers: Run) -> None:
    status, text, errors = peers("--rounds=0", "--no-compile", "--optimizers=adamw")
    assert status == 0, text + errors
    found = differences(text)
    names = ("rope", "alibi", "fire", "t5", "stick_breaking")
    assert set(found) == {(name, "adamw") for name in names}
    assert all(value <= BOUND for values in found.values() for value in values)


def test_losses_with_muon(peers: Run) -> None:
    status, text, errors = peers("--rounds=0", "--no-compile", "--optimizers=muon",
                                 "--encodings=fire")
    assert status == 0, text + errors
    [value] = differences(text)["fire", "muon"]
    assert value <= BOUND


def test_losses_and_times_of_compiled_code(peers: Run) -> None:
    status, text, errors = peers("--rounds=1", "--encodings=alibi", "--optimizers=adamw")
    assert status == 0, text + errors
    eager, compiled = differences(text)["alibi", "adamw"]
    assert max(eager, compiled) <= BOUND
    ratio = r"\| \d+\.\d\d \([^)]*\) "
    assert re.search(rf"{ratio}\| 2 {ratio}\| \d+ \|$", text, re.MULTILINE), text


def test_other_losses_fail(peers: Run, script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_another_model(path: Path) -> dict[str, torch.Tensor]:
        tensors = read(path)
        tensors["head"] *= 1.01
        return tensors

    read = script.read_safetensors
    monkeypatch.setattr(script, "read_safetensors", of_another_model)
    status, text, _ = peers("--rounds=0", "--no-compile", "--optimizers=adamw", "--encodings=rope")
    assert status == 1
    assert "allowed 1e-04" in text


def test_mistakes_are_named(peers: Run) -> None:
    status, _, errors = peers("--encodings=rope,roep")
    assert status == 2
    assert "--encodings: expected some of rope, alibi" in errors and "found roep" in errors
    status, _, errors = peers("--clock=cpu", "--threads=2")
    assert (status, "--clock=cpu: expected --threads=1, found 2" in errors) == (2, True)
    status, _, errors = peers("--encodings=rope", "--heads=5", "--rounds=0")
    assert "train-peers: " in str(status) and "--dim" in str(status)
