"""Tests scripts/narrow-gradients: bf16 gradients of parameters err less than PyTorch's."""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import statistics
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES = argparse.Namespace(length=256, depth=64, heads=4)


@pytest.fixture
def script() -> ModuleType:
    path = str(ROOT / "scripts/narrow-gradients")
    loader = importlib.machinery.SourceFileLoader("narrow_gradients", path)
    spec = importlib.util.spec_from_loader("narrow_gradients", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


# The gradients that cancel most: the weights of a row's distances have both signs.
@pytest.mark.parametrize(("title", "names"), [("FIRE", ("b1", "w2")), ("Sandwich", ("r1",))])
def test_error_is_smaller(script: ModuleType, title: str, names: tuple[str, ...]) -> None:
    runs = [script.errors(script.MODULES[title], SIZES, seed) for seed in range(5)]
    for name in names:
        ours, theirs = (statistics.median(run[name][side] for run in runs) for side in (0, 1))
        assert ours < 0.8 * theirs
