"""Runs Hugging Face transformers models on pe's kernels and encodings.

Importing this module registers pe with transformers, if a supported version is installed, so that
`attn_implementation="pe"` selects pe's kernels. `use` also adds encodings. Tested with transformers
5.23.0.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .._errors import InputError
from .._module import Encoding
from ._hf_attention import (NAME, NAMES, PLACE, Attached, attached, attend,
                            settle_bare)
from ._hf_bias import OwnBias, OwnRanks
from ._hf_masks import PLAIN, make_mask

__all__ = ["Layer", "Replaced", "register", "use"]

TESTED = ("5.23.0",)
_OLDEST = (5, 23)
_HANDLE = "_pe_replaced"
_CROSS = re.compile(r"cross|encdec|encoder_attn|enc_dec", re.IGNORECASE)

Make = Callable[[nn.Module], Encoding | None]


@dataclass(frozen=True)
class Layer:
    """An attention layer of a model: its path, its class, its encoding, and the model's positional
    parts that were replaced."""

    name: str
    kind: str
    encoding: Encoding | None
    replaced: tuple[str, ...] = ()

    def __str__(self) -> str:
        kept = "no encoding" if self.encoding is None else type(self.encoding).__name__
        gone = f" instead of {' and '.join(self.replaced)}" if self.replaced else ""
        return f"{self.name} ({self.kind}): {kept}{gone}"


class Replaced(Sequence[Layer]):
    """The changes that `use` made to a model, as a sequence of `Layer`. `restore()` reverts
    them."""

    def __init__(self, model: nn.Module) -> None:
        self._model: nn.Module | None = model
        self._layers: list[Layer] = []
        self._configs: list[tuple[Any, Any]] = []
        self._hooks: list[Any] = []
        self._frozen: list[tuple[torch.Tensor, bool]] = []
        self._attentions: list[nn.Module] = []

    def __getitem__(self, index: Any) -> Any:
        return self._layers[index]

    def __len__(self) -> int:
        return len(self._layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._layers)

    def __repr__(self) -> str:
        return "\n".join(map(str, self._layers))

    def restore(self) -> None:
        """Restores the model's attention and positional parts, and removes the encodings. This is a
        no-op on a second call, or after another `use` of the model."""
        model, self._model = self._model, None
        if model is None:
            return
        for config, implementation in self._configs:
            config._attn_implementation_internal = implementation
        for hook in self._hooks:
            hook.remove()
        for parameter, needed in self._frozen:
            parameter.requires_grad_(needed)
        for layer in self._attentions:
            layer.__dict__.pop(PLACE, None)
            layer.__dict__.pop("compute_bias", None)
            getattr(layer, "rel_logits_proj", layer).__dict__.pop("forward", None)
            if "pe_encoding" in layer._modules:
                del layer.pe_encoding
        model.__dict__.pop(_HANDLE, None)


def use(model: nn.Module, encoding: Encoding | Make | None = None, *, replace_rope: bool = False,
        replace_bias: bool = False) -> Replaced:
    """Runs the attention of a transformers model on pe's kernels, with encodings of pe.

    `encoding` is called with each self-attention module and returns its encoding, or None. Layers
    for which it returns the same object share it; an encoding passed directly is shared by all
    layers. Encodings become submodules `pe_encoding` of their (first) layer: they are trained,
    moved and saved with the model. Without `encoding` the model computes the same results as
    before.

    `replace_rope` removes the model's rotation in layers with an encoding, and `replace_bias` the
    relative bias of T5 and Inkling models; by default both remain, and the encoding's bias is
    added. Kernels compute these biases from their parameters, so there is no value per pair.
    Cross-attention keeps its positional parts and runs on pe's kernels.

    Rejects a model whose attention does not use transformers' `AttentionInterface`, an encoding for
    another number of heads, and a version of transformers that is too old; the model is then
    unchanged. A second `use` replaces the first.

    Example: `pe.integrations.transformers.use(model, lambda layer: pe.nn.FIRE(heads=8),
    replace_rope=True)`
    """
    register()
    found = _attentions(model)
    old: Replaced | None = model.__dict__.get(_HANDLE)
    plans = [_plan(name, layer, is_cross, encoding, replace_rope, replace_bias)
             for name, layer, is_cross in found]
    if old is not None:
        old.restore()
    replaced = Replaced(model)
    model.__dict__[_HANDLE] = replaced
    try:
        _switch(model, replaced, [layer for _, layer, _ in found])
        seen: set[int] = set()
        for (name, layer, _), plan in zip(found, plans, strict=True):
            _attach(name, layer, plan, replaced, seen)
    except BaseException:
        replaced.restore()
        raise
    return replaced


# --- Registration ------------------------------------------------------------


def register() -> None:
    """Registers pe's attention and masks with transformers as "pe" and "pe_attention", so that
    `attn_implementation="pe"` of `from_config`, `from_pretrained` and configurations and
    `model.set_attn_implementation("pe")` run a model on pe's kernels. Importing
    `pe_attention.integrations.transformers` does this if it can. Raises an error if transformers is
    missing or too old.

    A model keeps its own positional parts. A tensor `position_bias` that it passes to its attention
    is added to the scaled scores, with its gradient.
    """
    problem = _problem()
    if problem:
        raise InputError(problem)
    library = importlib.import_module("transformers.modeling_utils")
    masks = importlib.import_module("transformers.masking_utils")
    PLAIN.causal, PLAIN.bidirectional = (masks.causal_mask_function,
                                         masks.bidirectional_mask_function)
    settle_bare()
    for name in NAMES:
        library.AttentionInterface.register(name, attend)
        masks.AttentionMaskInterface.register(name, make_mask)


def _problem() -> str:
    """Returns the reason why pe cannot be registered, or ""."""
    wanted = f"{_OLDEST[0]}.{_OLDEST[1]}"
    try:
        library = importlib.import_module("transformers")
    except ModuleNotFoundError:
        return (f"pe.integrations.transformers: expected transformers {wanted} or newer, "
                f"found none; pip install 'transformers>={wanted}'")
    version = str(library.__version__)
    numbers = [int(n) for n in re.findall(r"\d+", version)[:2]]
    if tuple(numbers) < _OLDEST:
        return (f"pe.integrations.transformers: expected transformers {wanted} or newer "
                f"(tested with {', '.join(TESTED)}), found {version}; pip install -U "
                f"transformers")
    return ""


def _attentions(model: nn.Module) -> list[tuple[str, nn.Module, bool]]:
    """Returns name, module and a flag for cross-attention of all modules that use the registry."""
    if not isinstance(model, nn.Module):
        raise InputError(f"model: expected a model of transformers, found {type(model).__name__}")
    found = []
    modules = dict(model.named_modules())
    for name, module in modules.items():
        code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
        if code is None or "ALL_ATTENTION_FUNCTIONS" not in code.co_names:
            continue
        parent = modules.get(name.rpartition(".")[0])
        words = [type(module).__name__, name.rpartition(".")[2], type(parent).__name__]
        found.append((name, module, any(map(_CROSS.search, words))))
    if not found:
        raise InputError(f"model: expected layers that call transformers' AttentionInterface (such "
                         f"as those of LlamaForCausalLM), found none in {type(model).__name__}")
    return found


def _switch(model: nn.Module, replaced: Replaced, layers: Sequence[nn.Module]) -> None:
    """Sets the attention implementation in the configurations of the model and of all models in
    it."""
    models: list[Any] = [m for m in model.modules() if hasattr(m, "set_attn_implementation")]
    configs = {id(m.config): m.config for m in models}
    configs |= {id(layer.config): layer.config for layer in layers if hasattr(layer, "config")}
    replaced._configs = [(c, c._attn_implementation_internal) for c in configs.values()]
    for one in models:
        if one.config._attn_implementation != NAME:
            one.set_attn_implementation(NAME)
    for layer in layers:
        config: Any = getattr(layer, "config", None)
        if config is None or config._attn_implementation != NAME:
            raise InputError(f"model: expected one whose attention can be set, found "
                             f"{type(layer).__name__} of {type(model).__name__}, which keeps its "
                             f"own")


# --- Layers --------------------------------------------------------------------


def _plan(name: str, layer: nn.Module, is_cross: bool, make: Encoding | Make | None,
          replace_rope: bool, replace_bias: bool) -> Attached:
    plan = Attached(name)
    has_table = all(hasattr(layer, field) for field in (
        "compute_bias", "relative_attention_num_buckets", "relative_attention_max_distance"))
    ranks = _ranks_of(layer)
    plan.drops_bias = has_table or ranks is not None
    if is_cross or make is None:
        encoding = None
    else:
        encoding = make if isinstance(make, Encoding) else make(layer)
    if has_table and not is_cross and (encoding is None or not replace_bias):
        sizes: Any = layer
        plan.own = OwnBias(sizes.relative_attention_num_buckets,
                           sizes.relative_attention_max_distance, not sizes.is_decoder)
        plan.drops_bias = False
    if ranks is not None and (encoding is None or not replace_bias):
        vectors: torch.Tensor = ranks.proj
        plan.own = OwnRanks(*vectors.shape)
        plan.drops_bias = False
    if encoding is None:
        return plan
    plan.encoding = _checked(name, layer, encoding)
    turns = "position_embeddings" in inspect.signature(type(layer).forward).parameters
    rotated = any(c.startswith("rotate(") for c in encoding.piece().clauses)
    if replace_rope and not turns:
        hint = "; replace_bias=True replaces its relative bias" if has_table else ""
        raise InputError(f"replace_rope: expected layers with an argument position_embeddings, "
                         f"found {type(layer).__name__} ({name}), which has no rotation{hint}")
    if turns and rotated and not replace_rope:
        raise InputError(f"encoding: expected one without a rotation, because {name} rotates "
                         f"queries and keys, found {type(encoding).__name__}; pass "
                         f"replace_rope=True")
    if replace_bias and not has_table and ranks is None:
        raise InputError(f"replace_bias: expected layers with the relative bias of T5 or Inkling, "
                         f"found {type(layer).__name__} ({name})")
    plan.hides_rotation = replace_rope
    return plan


def _checked(name: str, layer: nn.Module, encoding: Any) -> Encoding:
    if not isinstance(encoding, Encoding):
        raise InputError(f"encoding: expected None or an encoding such as pe.nn.ALiBi(heads) "
                         f"for {name}, found {type(encoding).__name__}")
    if encoding._data:
        raise InputError(f"encoding: expected one whose tensors are parameters, found "
                         f"{type(encoding).__name__}, which needs {', '.join(encoding._data)} in "
                         f"each call; models do not pass them")
    heads = getattr(layer, "n_heads", None) or getattr(
        getattr(layer, "config", None), "num_attention_heads", None)
    if encoding.heads is not None and heads is not None and encoding.heads != heads:
        raise InputError(f"encoding: expected one for the {heads} heads of {name}, found one for "
                         f"{encoding.heads}")
    return encoding


def _attach(name: str, layer: nn.Module, plan: Attached, replaced: Replaced,
            seen: set[int]) -> None:
    replaced._attentions.append(layer)
    layer.__dict__[PLACE] = plan
    plan.settle(getattr(getattr(layer, "config", None), "attn_logit_softcapping", None))
    gone = []
    if plan.encoding is not None:
        device = next((p.device for p in layer.parameters()), None)
        if id(plan.encoding) not in seen:
            # A shared encoding is a submodule of its first layer only, because saved files contain
            # each tensor once.
            seen.add(id(plan.encoding))
            layer.add_module("pe_encoding", plan.encoding.to(device).train(layer.training))
        if plan.hides_rotation:
            hook = layer.register_forward_pre_hook(_unturned, with_kwargs=True)
            replaced._hooks.append(hook)
            gone.append("its rotation")
    if _ranks_of(layer) is not None:
        _replace_ranks(layer, plan, replaced)
        if plan.own is None:
            gone.append("its relative bias")
    elif plan.own is not None or (plan.drops_bias and hasattr(layer, "relative_attention_bias")):
        _replace_bias(layer, plan, replaced)
        if plan.own is None:
            gone.append("its relative bias")
    replaced._layers.append(Layer(name, type(layer).__name__, plan.encoding, tuple(gone)))


def _unturned(layer: nn.Module, args: tuple[Any, ...],
              kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a layer with an identity rotation: cosines of 1 and sines of 0."""
    names = [*inspect.signature(type(layer).forward).parameters][1:]
    place = names.index("position_embeddings")
    given = args[place] if place < len(args) else kwargs.get("position_embeddings")
    if isinstance(given, torch.Tensor) and given.is_complex():
        still: Any = torch.ones_like(given)
    elif isinstance(given, tuple) and len(given) == 2:
        still = (torch.ones_like(given[0]), torch.zeros_like(given[1]))
    else:
        here = attached(layer)
        raise InputError(f"{here.name if here else type(layer).__name__}: position_embeddings: "
                         f"expected cosines and sines, or complex numbers, found "
                         f"{type(given).__name__}; replace_rope cannot remove them")
    if place < len(args):
        return (*args[:place], still, *args[place + 1:]), kwargs
    return args, {**kwargs, "position_embeddings": still}


def _replace_bias(layer: nn.Module, plan: Attached, replaced: Replaced) -> None:
    table = getattr(layer, "relative_attention_bias", None)
    if not isinstance(table, nn.Embedding):
        return
    if plan.own is None:
        # The table is unused, and DDP would wait for its gradient.
        replaced._frozen.append((table.weight, table.weight.requires_grad))
        table.weight.requires_grad_(False)
    # The first layer computes the table instead of the bias and passes it on to all layers.
    layer.__dict__["compute_bias"] = functools.partial(_table_of, table, plan.own is None)


def _ranks_of(layer: nn.Module) -> Any:
    """Returns the module that computes the bias of an Inkling layer from its queries, or None."""
    found: Any = getattr(layer, "rel_logits_proj", None)
    vectors = getattr(found, "proj", None)
    if not isinstance(vectors, torch.Tensor) or not hasattr(found, "rel_extent"):
        return None
    return found if vectors.shape[0] <= 64 else None


def _replace_ranks(layer: nn.Module, plan: Attached, replaced: Replaced) -> None:
    """The layer then passes on the rows of its queries instead of the bias. It may scale them, as
    it scales the bias."""
    ranks = _ranks_of(layer)
    if plan.own is None:
        replaced._frozen.append((ranks.proj, ranks.proj.requires_grad))
        ranks.proj.requires_grad_(False)
    ranks.__dict__["forward"] = functools.partial(_rows_of, plan.own is None)


def _rows_of(is_replaced: bool, rows: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    """Takes rows [batch, queries, heads, rank]."""
    return rows.new_zeros(1, 1, 1, 1) if is_replaced else rows.transpose(1, 2)


def _table_of(table: nn.Embedding, is_replaced: bool, *_: Any, **__: Any) -> torch.Tensor:
    if is_replaced:
        return table.weight.new_zeros(1, 1, 1, 1)
    return table.weight.clone()[None, None]


if not _problem():
    register()
