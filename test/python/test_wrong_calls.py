"""Tests of wrong calls of every public callable, generated from the signatures with a fixed seed:
each argument is replaced by values of other kinds, omitted, passed twice or misspelled. All of them
raise an error of this package."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import pe_attention as pe

SEED = 25
PER_PARAMETER = 6

Q = torch.randn(1, 2, 4, 8)
LSE = torch.zeros(1, 2, 4)
MODEL = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
PROGRAM = pe.nn.ALiBi(2).program(pe.causal).text


def _formula(b: Any, h: Any, i: Any, j: Any) -> Any:
    return -1.0 * (i - j)


def _condition(b: Any, h: Any, i: Any, j: Any) -> Any:
    return j <= i


def _optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD(MODEL.parameters(), lr=0.1)


# A valid call of each function: its arguments by name. Constructors of pe.nn are added below.
RIGHT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "attention": (pe.attention, {"query": Q, "key": Q, "value": Q}),
    "reference": (pe.reference, {"query": Q, "key": Q, "value": Q}),
    "check": (pe.check, {"q_len": 3, "head_dim": 8}),
    "explain": (pe.explain, {"encoding": pe.nn.ALiBi(2)}),
    "merge": (pe.merge, {}),
    "compile": (pe.compile, {"source": PROGRAM}),
    "load": (pe.load, {"path": "/nowhere.pe"}),
    "mask": (pe.mask, {"function": _condition}),
    "sliding_window": (pe.sliding_window, {"left": 3}),
    "bias": (pe.bias, {"function": _formula}),
    "score_mod": (pe.score_mod, {"function": lambda score, b, h, i, j: score}),
    "rotation": (pe.rotation, {"function": lambda h, p, n: 10000.0 ** (-p / n)}),
    "from_flex": (pe.from_flex, {"mask_mod": _condition}),
    "from_mlir": (pe.from_mlir, {"text_or_path": PROGRAM}),
    "per_head": (pe.per_head, {}),
    "scalar": (pe.scalar, {}),
    "vector": (pe.vector, {"size": 3}),
    "param_groups": (pe.param_groups, {"model": MODEL}),
    "reinit": (pe.reinit, {"model": MODEL}),
    "Encoding": (pe.Encoding, {}),
    "Encoding.dense": (pe.nn.ALiBi(2).dense, {"q_len": 4, "k_len": 4}),
    "mask.dense": (pe.mask(lambda b, h, i, j: j <= i).dense, {"q_len": 4, "k_len": 4}),
    "plot.bias": (pe.plot.bias, {"encoding": pe.nn.ALiBi(2), "length": 4}),
    "plot.distance": (pe.plot.distance, {"encoding": pe.nn.ALiBi(2), "length": 4}),
    "plot.attention": (pe.plot.attention, {"query": Q, "key": Q}),
    "polar": (pe.plasticity.polar, {"w": torch.eye(3)}),
    "newton_schulz": (pe.plasticity.newton_schulz, {"w": torch.eye(3)}),
    "measure_dfi": (pe.plasticity.measure_dfi, {"w": torch.eye(3)}),
    "measure_sfe": (pe.plasticity.measure_sfe, {"w": torch.eye(3), "old": torch.eye(3)}),
    "dash_": (pe.plasticity.dash_, {"model": MODEL, "batches": [torch.randn(2, 4)],
                                    "loss": lambda batch: MODEL(batch).sum()}),
    "Dormancy": (pe.plasticity.Dormancy, {"model": MODEL}),
    "reset_optimizer_states": (pe.plasticity.reset_optimizer_states,
                               {"optimizers": _optimizer(), "parameters": MODEL}),
    "distributed.context_parallel_attention": (
        pe.distributed.context_parallel_attention, {"query": Q, "key": Q, "value": Q}),
    "distributed.shard": (pe.distributed.shard, {"tensor": Q}),
    "distributed.unshard": (pe.distributed.unshard, {"tensor": Q}),
}
_SIZES = {"heads": 2, "head_dim": 8, "length": 4, "dim": 4}
for _name in pe.nn.__all__:
    _class = getattr(pe.nn, _name)
    _needed = [p.name for p in inspect.signature(_class).parameters.values()
               if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    RIGHT[f"nn.{_name}"] = (_class, {name: _SIZES[name] for name in _needed})

# Values by kind.
VALUES: dict[str, Any] = {
    "None": None, "str": "x", "list": [1, "x"], "bool": True, "object": object(), "class": int,
    "encoding class": pe.nn.ALiBi,
    "lambda": lambda: 0, "real": 2.5, "negative": -3, "nan": float("nan"), "inf": float("inf"),
    "array": np.zeros((2, 2)), "tensor": torch.zeros(2, 2), "whole": torch.zeros(2, 3).int(),
    "meta": torch.zeros(1, 2, 4, 8, device="meta"), "complex": 1j,
    "complex tensor": torch.zeros(1, 2, 4, 8, dtype=torch.complex64), "dict": {"x": 1},
}

# Kinds that the types in annotations accept.
_FITS = {
    "None": {"None"}, "str": {"str"}, "bool": {"bool"}, "float": {"real", "negative"},
    "int": {"negative"}, "object": set(VALUES), "Any": set(VALUES),
    "torch.Tensor": {"tensor", "whole", "meta", "complex tensor"},
    "Tensor": {"tensor", "whole", "meta", "complex tensor"},
    "Split": {"dict"}, "Init": {"real", "negative"},
    "Callable": {"lambda", "class", "encoding class"},
    "Target": {"lambda", "class", "encoding class"},
}
# Kinds that are invalid although the annotation accepts them: numbers out of range, tensors of
# other shapes.
_WRONG = {"negative": ("heads", "head_dim", "value_dim", "size", "length", "bits", "left", "right",
                       "q_len", "k_len", "batch", "clip", "buckets", "max_distance", "terms", "dim",
                       "dropout_p", "alpha", "least", "tau", "cap", "rotary_dims", "hidden"),
          "bool": (), "tensor": ("query", "key", "value", "sink", "documents"),
          "whole": ("query", "key", "value", "sink", "documents", "w", "old"),
          "meta": ("query", "key", "value", "sink", "documents", "w", "old"),
          "complex tensor": ("query", "key", "value", "sink", "documents", "w", "old"),
          "str": ("target", "engine", "scale", "norm", "dtype", "method", "layout", "threshold",
                  "activation", "final_activation", "source", "path", "text_or_path", "init")}


def _fits(parameter: inspect.Parameter, kind: str) -> bool:
    if parameter.name in _WRONG.get(kind, ()):
        return False
    annotation = str(parameter.annotation)
    for name, kinds in _FITS.items():
        if kind in kinds and name in annotation.replace("Sequence[", "").replace("[", " ").replace(
                "|", " ").replace("]", " ").split():
            return True
    return parameter.annotation is parameter.empty


# Generated calls that are valid nevertheless, with the reason.
ALLOWED = {
    "param_groups(unknown=...)": "options are passed to the optimizer, which checks them",
    "nn.Mixture(alpha: negative)": "the learned weight may begin anywhere",
    "dash_(batches:": "any iterable gives batches, which the caller's loss reads",
}


Call = tuple[str, Callable[[], Any]]


def _calls() -> Iterator[Call]:
    drawn = random.Random(SEED)
    for name, (function, right) in RIGHT.items():
        parameters = inspect.signature(function).parameters
        by_position = [p for p in parameters.values()
                       if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

        def call(named: dict[str, Any], function: Callable[..., Any] = function,
                 first: tuple[str, ...] = tuple(p.name for p in by_position
                                                if p.kind is p.POSITIONAL_ONLY)) -> Any:
            rest = {key: value for key, value in named.items() if key not in first}
            return function(*[named[key] for key in first if key in named], **rest)

        for parameter in parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            kinds = [kind for kind in VALUES if not _fits(parameter, kind)]
            for kind in drawn.sample(kinds, min(PER_PARAMETER, len(kinds))):
                yield (f"{name}({parameter.name}: {kind})",
                       lambda call=call, named={**right, parameter.name: VALUES[kind]}: call(named))
            if parameter.default is parameter.empty:
                rest = {key: right[key] for key in right if key != parameter.name}
                yield (f"{name}() without {parameter.name}",
                       lambda call=call, named=rest: call(named))
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
            yield (f"{name}() with one argument more",
                   lambda function=function, count=len(by_position): function(*[2] * (count + 1)))
        yield (f"{name}(unknown=...)",
               lambda function=function, right=right: function(**right, unknown=1))


CALLS = [(name, call) for name, call in _calls() if not name.startswith(tuple(ALLOWED))]


def test_coverage_of_public_functions() -> None:
    assert len(CALLS) >= 200
    public = {name for name in pe.__all__ if inspect.isroutine(getattr(pe, name))}
    assert public <= set(RIGHT), "expected a valid call of every public function"
    # Types of results, which users do not construct.
    given = {"MatrixReport", "Recycled", "Report"}
    assert set(pe.plasticity.__all__) - given <= set(RIGHT)
    assert {f"distributed.{name}" for name in pe.distributed.__all__} <= set(RIGHT)


@pytest.mark.parametrize("function", RIGHT)
def test_wrong_calls(function: str) -> None:
    """Each call raises one error of this package, of one paragraph."""
    wrong = []
    for name, call in CALLS:
        if not name.startswith(f"{function}("):
            continue
        try:
            call()
            wrong.append(f"{name} was accepted")
        except pe.Error as error:
            if not 5 < len(str(error)) < 1500:
                wrong.append(f"{name}: {str(error)[:100]}")
        except Exception as error:  # noqa: BLE001
            wrong.append(f"{name}: {type(error).__name__}: {str(error)[:100]}")
    assert not wrong, "\n".join(wrong)


def test_hints_for_other_libraries() -> None:
    """The error for an argument of another library contains its hint."""
    from pe_attention._kinds import HINTS

    for name, hint in HINTS.items():
        with pytest.raises(pe.InputError) as error:
            pe.attention(Q, Q, Q, **{name: None})
        assert str(error.value) == f"attention: expected no argument {name}, found None; {hint}"
