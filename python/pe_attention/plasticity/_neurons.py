"""Finds the hidden neurons of a model, with the layers that feed them and the layer that reads
them.

A neuron is an input feature of a layer, such as the down projection of a feed-forward block. Its
activity is the input of that layer, however it was computed: for SwiGLU, the product silu(gate) *
up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from .._errors import InputError
from ._select import ATTENTION, clean_name

# Modules that process every neuron or channel independently.
ELEMENTWISE = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout,
               nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish,
               nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Softsign, nn.Hardswish, nn.Hardtanh,
               nn.Hardsigmoid, nn.LogSigmoid, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d,
               nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d,
               nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d)
Pair = tuple[str | Sequence[str], str]


@dataclass
class Layer:
    """A linear layer or a convolution. The axes of its weight are outputs and inputs."""

    name: str
    module: nn.Module
    weight: Tensor
    bias: Tensor | None
    out_axis: int
    in_axis: int

    @property
    def outputs(self) -> int:
        return int(self.weight.shape[self.out_axis])

    @property
    def inputs(self) -> int:
        return int(self.weight.shape[self.in_axis])


@dataclass
class Neurons:
    """`count` neurons: rows of each layer of `sources` (twice as many rows of a fused gate and up
    projection), and groups of `width` columns of `reader`. `width` exceeds one if channels were
    flattened."""

    sources: list[Layer]
    reader: Layer
    count: int
    width: int


def layer_of(name: str, module: nn.Module) -> Layer | None:
    weight, bias = getattr(module, "weight", None), getattr(module, "bias", None)
    if not isinstance(weight, nn.Parameter):
        return None
    axes = None
    if isinstance(module, nn.Linear):
        axes = 0, 1
    elif isinstance(module, nn.modules.conv._ConvNd) and module.groups == 1:
        axes = (1, 0) if module.transposed else (0, 1)
    elif type(module).__name__ == "Conv1D" and hasattr(module, "nf"):
        axes = 1, 0
    if axes is None:
        return None
    return Layer(clean_name(name), module, weight, bias if isinstance(bias, Tensor) else None,
                 *axes)


def feature_axis(layer: Layer) -> int:
    """Returns the axis of a layer's input that holds features, counted from the end."""
    if isinstance(layer.module, nn.modules.conv._ConvNd):
        return -layer.weight.dim() + 1
    return -1


def joined(sources: list[Layer], reader: Layer) -> Neurons | None:
    """Returns the neurons between these layers, or None if the sizes do not match."""
    sizes = {source.outputs for source in sources}
    if len(sizes) != 1:
        return None
    size = sizes.pop()
    flattened = (isinstance(sources[0].module, nn.modules.conv._ConvNd)
                 and not isinstance(reader.module, nn.modules.conv._ConvNd))
    if reader.inputs == size:
        return Neurons(sources, reader, size, 1)
    if flattened and reader.inputs % size == 0:
        return Neurons(sources, reader, size, reader.inputs // size)
    if len(sources) == 1 and not flattened and size == 2 * reader.inputs:
        return Neurons(sources, reader, reader.inputs, 1)
    return None


def _in_chain(path: str, chain: nn.Sequential) -> Iterator[Neurons]:
    last: Layer | None = None
    for name, module in chain.named_children():
        layer = layer_of(f"{path}.{name}" if path else name, module)
        if layer is not None:
            found = joined([last], layer) if last is not None else None
            if found is not None and found.count == found.sources[0].outputs:
                yield found
            last = layer
        elif not isinstance(module, (*ELEMENTWISE, nn.Flatten)):
            last = None


def _in_block(path: str, block: nn.Module) -> Neurons | None:
    """Returns the neurons of a feed-forward block: one layer, or a gate and one more, read by the
    last layer."""
    layers = [
        layer for name, child in block.named_children()
        if (layer := layer_of(f"{path}.{name}" if path else name, child)) is not None
        and not isinstance(child, nn.modules.conv._ConvNd)
    ]
    if len(layers) not in (2, 3):
        return None
    readers = []
    for reader in layers:
        others = [layer for layer in layers if layer is not reader]
        if all(other.inputs == reader.outputs for other in others):
            found = joined(others, reader)
            if found is not None:
                readers.append(found)
    # Among square layers, the last one registered is the reader.
    return readers[-1] if readers else None


def find(model: nn.Module) -> Iterator[Neurons]:
    """Yields the neurons that follow from module types: chains, and blocks of two or three linear
    layers outside attention."""
    for path, module in model.named_modules():
        if isinstance(module, nn.Sequential):
            yield from _in_chain(path, module)
            continue
        words = f"{type(module).__name__} {path.rpartition('.')[2]}".lower()
        if not any(word in words for word in ATTENTION):
            found = _in_block(path, module)
            if found is not None:
                yield found


def given(model: nn.Module, pairs: Sequence[Pair]) -> Iterator[Neurons]:
    """Yields the neurons that the caller named as (sources, reader)."""
    for index, pair in enumerate(pairs):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"pairs[{index}]: expected (layers before, layer that reads), found "
                             f"{pair!r}")
        sources, reader = pair
        layers = []
        for name in (*([sources] if isinstance(sources, str) else sources), reader):
            try:
                layer = layer_of(name, model.get_submodule(name))
            except AttributeError:
                raise InputError(
                    f"pairs[{index}]: expected the name of a module, found {name!r}") from None
            if layer is None:
                raise InputError(
                    f"pairs[{index}]: expected linear layers or convolutions without groups, found "
                    f"'{name}' of type {type(model.get_submodule(name)).__name__}")
            layers.append(layer)
        found = joined(layers[:-1], layers[-1])
        if found is None:
            sizes = ", ".join(str(layer.outputs) for layer in layers[:-1])
            raise InputError(f"pairs[{index}]: expected as many outputs as '{reader}' has inputs, "
                             f"{layers[-1].inputs}, found {sizes}")
        yield found
