"""Selects the parameters of a model that are matrices, and splits fused ones into parts.

The type of a module determines what its parameters are: the weight of a Linear, the taps of a
convolution, fused projections, stacks of experts. Names only distinguish attention from
feed-forward layers and identify output heads.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from .._arguments import found
from .._errors import InputError

Target = str | Callable[[str, nn.Module], bool]
Split = Mapping[str, int | Sequence[int]]
Box = tuple[tuple[int, int], ...]

TARGETS = ("all", "attention", "mlp")
ATTENTION = ("attn", "attention")
MLP = ("mlp", "ffn", "feed_forward", "feedforward", "expert", "moe")
EXPERTS = ("expert", "moe")
HEADS = frozenset({
    "head", "heads", "classifier", "score", "logits", "unembed", "unembedding", "embed_out",
    "output_projection", "vocab_projection"
})
NO_HEADS = ("multi", "attn", "attention")
# Prefixes that wrappers add to the names of parameters.
WRAPPERS = ("_orig_mod.", "_checkpoint_wrapped_module.", "_fsdp_wrapped_module.")
FLOATING = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@dataclass
class Kind:
    """The output axis of a parameter, and its composition."""

    out_axis: int = 0
    parts: int = 1
    stack: bool = False
    taps: bool = False
    groups: int = 1


@dataclass
class Unit:
    """Matrices that are projected together: one matrix, or the taps of a convolution."""

    name: str
    parameter: Tensor
    box: Box
    out_axis: int
    taps: bool

    def matrices(self, values: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Yields views of the matrices in the unit's values, with their names."""
        if not self.taps:
            yield self.name, values.reshape(values.shape[-2:]) if values.dim() == 3 else values
            return
        for place in itertools.product(*map(range, values.shape[2:])):
            label = ", ".join(map(str, place))
            index: tuple[slice | int, ...] = (slice(None), slice(None), *place)
            yield f"{self.name}[:, :, {label}]", values[index]

    @property
    def shape(self) -> list[int]:
        return [end - begin for begin, end in self.box]


@dataclass
class Candidate:
    """A parameter with its names, the modules that contain it, and the reason for not projecting it
    ("" if it is projected)."""

    name: str
    module: nn.Module
    parameter: Tensor
    kind: Kind | None
    why: str = ""
    units: list[Unit] = field(default_factory=list)


def clean_name(name: str) -> str:
    for wrapper in WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def kind_of(module: nn.Module, own: str, parameter: Tensor, path: str) -> Kind | None:
    """Returns the kind of the parameter `own` of the module, or None if the module's type does not
    determine it."""
    if isinstance(module, nn.Linear):
        return Kind() if own == "weight" else None
    if isinstance(module, nn.modules.conv._ConvNd):
        if own != "weight":
            return None
        return Kind(out_axis=1 if module.transposed else 0, taps=True, groups=module.groups)
    if isinstance(module, nn.MultiheadAttention):
        return Kind(
            parts=3) if own == "in_proj_weight" else Kind() if own.endswith("_weight") else None
    if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
        gates = 4 if "LSTM" in type(module).__name__ else 3 if "GRU" in type(module).__name__ else 1
        return Kind(
            parts=1 if own.startswith("weight_hr") else gates) if own.startswith("weight") else None
    # GPT-2's Conv1D of transformers
    if type(module).__name__ == "Conv1D" and hasattr(module, "nf"):
        return Kind(out_axis=1) if own == "weight" else None
    if parameter.dim() == 3 and any(word in path for word in EXPERTS):
        return Kind(out_axis=2 if getattr(module, "is_transposed", False) else 1, stack=True)
    return None


class Selection:
    """The candidates of a model, including those that a target selects."""
    def __init__(self, model: nn.Module, target: Target, split: Split | None) -> None:
        if not callable(target) and not (isinstance(target, str) and target in TARGETS):
            raise InputError(
                f"target: expected one of {', '.join(TARGETS)} or a function of (name, module), "
                f"found {target!r}")
        if split is not None and not isinstance(split, Mapping):
            raise InputError(
                f"split: expected parts by name as in {{'qkv': 3}}, found {found(split)}")
        self.model, self.target, self.split = model, target, dict(split or {})
        self.unused = set(self.split)
        self.embedded = {
            id(parameter)
            for module in model.modules() if is_embedding(module)
            for parameter in module.parameters(recurse=False)
        }
        self.heads = set(map(id, _heads(model)))

    def candidates(self) -> list[Candidate]:
        found: list[Candidate] = []
        first: dict[int, Candidate] = {}
        for path, module, above in _modules(self.model):
            for own, parameter in module._parameters.items():
                if parameter is None:
                    continue
                name = clean_name(f"{path}.{own}" if path else own)
                types = " ".join(type(m).__name__.lower() for m in (*above, module))
                candidate = Candidate(name, module, parameter,
                                      kind_of(module, own, parameter, f"{name.lower()} {types}"))
                candidate.why = self._why_not(candidate, types, above)
                earlier = first.get(id(parameter))
                if earlier is not None and (not earlier.why or candidate.why):
                    candidate.why = f"tied to {earlier.name}"
                elif earlier is not None:
                    earlier.why = f"tied to {name}"
                if not candidate.why:
                    candidate.units = self._units(candidate)
                first[id(parameter)] = candidate if not candidate.why else first.get(
                    id(parameter), candidate)
                found.append(candidate)
        if self.unused:
            raise InputError(f"split: expected names of parameters that are projected, found "
                             f"{sorted(self.unused)[0]!r}, which is not")
        return found

    def _why_not(self, candidate: Candidate, types: str, above: Sequence[nn.Module]) -> str:
        parameter, module = candidate.parameter, candidate.module
        if parameter.dim() < 2:
            return f"rank {parameter.dim()}"
        if parameter.dtype not in FLOATING:
            return f"type {str(parameter.dtype).removeprefix('torch.')}"
        if parameter.numel() == 0:
            return "empty"
        if is_embedding(module):
            return "embedding"
        if not parameter.requires_grad:
            return "frozen"
        if callable(self.target):
            return self._why_not_called(candidate)
        if candidate.kind is None:
            return f"a parameter of {type(module).__name__}, no known matrix"
        if candidate.kind.taps and _grouped(candidate) == [1, 1]:
            return "depthwise"
        if id(module) in self.heads or id(parameter) in self.embedded:
            return "head"
        return self._why_not_target(candidate.name.lower(), types, above)

    def _why_not_called(self, candidate: Candidate) -> str:
        if not self.target(candidate.name, candidate.module):  # type: ignore[operator]
            return "not chosen"
        if candidate.kind is None:
            if candidate.parameter.dim() > 3:
                raise InputError(
                    f"parameter '{candidate.name}': expected a matrix or a stack of matrices, "
                    f"found shape {list(candidate.parameter.shape)}; exclude it by target")
            stack = candidate.parameter.dim() == 3
            candidate.kind = Kind(out_axis=int(stack), stack=stack)
        return ""

    def _why_not_target(self, name: str, types: str, above: Sequence[nn.Module]) -> str:
        if self.target == "attention" and not any(word in f"{name} {types.replace('.', ' ')}"
                                                  for word in ATTENTION):
            return "not attention"
        if self.target == "mlp":
            own_mlp = bool(above) and isinstance(
                above[-1], (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer))
            named = any(word in f"{name} {types}" for word in MLP)
            if not (named or own_mlp) or any(word in name for word in ATTENTION):
                return "not mlp"
        return ""

    def _units(self, candidate: Candidate) -> list[Unit]:
        kind, shape = candidate.kind, candidate.parameter.shape
        assert kind is not None
        sizes = self._sizes(candidate, kind)
        ranges: list[list[tuple[str, int, int]]] = [[("", 0, size)] for size in shape]
        if kind.stack:
            ranges[0] = [(f"[{index}]", index, index + 1) for index in range(shape[0])]
        if len(sizes) > 1:
            ends = list(itertools.accumulate(sizes))
            ranges[kind.out_axis] = [(f"[{i}]", end - size, end)
                                     for i, (size, end) in enumerate(zip(sizes, ends))]
        if kind.groups > 1:
            step = shape[0] // kind.groups
            ranges[0] = [(f"[{i * step}:{(i + 1) * step}]", i * step, (i + 1) * step)
                         for i in range(kind.groups)]
        return [
            Unit(candidate.name + "".join(label for label, _, _ in place), candidate.parameter,
                 tuple((begin, end)
                       for _, begin, end in place), kind.out_axis - int(kind.stack), kind.taps)
            for place in itertools.product(*ranges)
        ]

    def _sizes(self, candidate: Candidate, kind: Kind) -> list[int]:
        """Returns the sizes of the parts along the outputs."""
        outputs = candidate.parameter.shape[kind.out_axis]
        given: int | Sequence[int] = kind.parts
        layer = candidate.name.removesuffix(".weight")
        for key, parts in self.split.items():
            if any(
                    fnmatch.fnmatchcase(name, pattern) for name in (layer, candidate.name)
                    for pattern in (key, "*." + key)):
                given = parts
                self.unused.discard(key)
        if isinstance(given, int):
            if given < 1 or outputs % given:
                raise InputError(
                    f"split: parameter '{candidate.name}': expected outputs for {given} equal "
                    f"parts, found {outputs}; pass their sizes")
            given = [outputs // given] * given
        if sum(given) != outputs or min(given) < 1:
            raise InputError(
                f"split: parameter '{candidate.name}': expected parts that add up to {outputs} "
                f"outputs, found {list(given)}")
        if len(given) > 1 and kind.groups > 1:
            raise InputError(
                f"split: parameter '{candidate.name}': expected a convolution without groups, "
                f"found {kind.groups} groups")
        return list(given)


def is_embedding(module: nn.Module) -> bool:
    return isinstance(module, (nn.Embedding, nn.EmbeddingBag))


def _grouped(candidate: Candidate) -> list[int]:
    """Returns the rows and columns of one tap of one group."""
    assert candidate.kind is not None
    rows, cols = candidate.parameter.shape[:2]
    return [rows // candidate.kind.groups, cols]


def _modules(model: nn.Module) -> Iterator[tuple[str, nn.Module, tuple[nn.Module, ...]]]:
    """Yields every module once, with its path and the modules that contain it."""
    above: dict[str, nn.Module] = {}
    for path, module in model.named_modules():
        above[path] = module
        pieces = path.split(".") if path else []
        parents = [".".join(pieces[:k]) for k in range(len(pieces))]
        yield path, module, tuple(above[parent] for parent in parents if parent in above)


def _heads(model: nn.Module) -> Iterator[nn.Module]:
    """Yields projections to the vocabulary or to classes."""
    output = getattr(model, "get_output_embeddings", lambda: None)
    try:
        declared = output()
    except (AttributeError, NotImplementedError):  # a base class without one
        declared = None
    if isinstance(declared, nn.Module):
        yield declared
    tables = {(module.num_embeddings, module.embedding_dim)
              for module in model.modules() if isinstance(module, (nn.Embedding, nn.EmbeddingBag))}
    last = None
    for path, module in model.named_modules():
        if not isinstance(module, nn.Linear):
            continue
        last = module
        for piece in clean_name(path).lower().split("."):
            if piece in HEADS or (piece.endswith("_head") and not any(word in piece
                                                                      for word in NO_HEADS)):
                yield module
    # Earlier layers may have this shape by coincidence, such as a feed-forward layer of size 256
    # over bytes.
    if last is not None and (last.out_features, last.in_features) in tables:
        yield last
