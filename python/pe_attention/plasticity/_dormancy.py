"""Finds and recycles dormant neurons while a model runs (ReDo; Sokar et al. 2023)."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .._arguments import checked, found
from .._errors import InputError
from ._neurons import Layer, Neurons, Pair, feature_axis, find, given
from ._optimizers import Optimizers, as_list, check_optimizers, local_running_states

EPSILON = 1e-9


@dataclass
class Recycled:
    """The dormant neurons of one layer, by the name of the layer that reads them."""

    name: str
    dormant: list[int]
    count: int

    def __str__(self) -> str:
        return f"{self.name}: {len(self.dormant)} of {self.count} neurons dormant"


class Watch:
    """The mean activity of neurons, accumulated on their device without synchronization."""

    def __init__(self, neurons: Neurons) -> None:
        self.neurons = neurons
        self.total: Tensor | None = None
        self.seen = 0
        self.handle = neurons.reader.module.register_forward_pre_hook(self.look, with_kwargs=True)

    def look(self, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        x = arguments[0] if arguments else next(iter(named.values()))
        neurons = self.neurons
        axis = x.dim() + feature_axis(neurons.reader)
        if x.shape[axis] != neurons.reader.inputs:
            raise InputError(
                f"module '{neurons.reader.name}': expected {neurons.reader.inputs} features, found "
                f"{x.shape[axis]}; Dormancy needs whole activations, not "
                "those of tensor parallelism"
            )
        with torch.no_grad():
            size = x.detach().abs()
            others = [k for k in range(x.dim()) if k != axis]
            sums = size.sum(others,
                            dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)
            sums = sums.view(neurons.count, neurons.width).sum(1)
            self.total = sums if self.total is None else self.total + sums
            self.seen += x.numel() // neurons.count

    def mean(self, group: dist.ProcessGroup | None) -> Tensor | None:
        """Returns the mean |activity| of each neuron over all processes."""
        total = self.total
        if group is not None:
            device = self.neurons.reader.weight.device
            total = torch.zeros(self.neurons.count, device=device) if total is None else total
            both = torch.cat(
                [total.double(),
                 total.new_full((1, ), self.seen, dtype=torch.float64)])
            dist.all_reduce(both, group=group)
            return both[:-1] / both[-1] if float(both[-1]) else None
        return None if total is None else total.double() / self.seen

    def forget(self) -> None:
        self.total, self.seen = None, 0


def _dimension(values: Tensor, axis: int, mask: Tensor) -> tuple[slice | Tensor, ...]:
    return tuple(mask if k == axis else slice(None) for k in range(values.dim()))


class Dormancy:
    """Monitors the neurons of a model and recycles dormant ones.

    A neuron is dormant if its mean |activity| is at most `tau` times the mean over the neurons of
    its layer. The monitored neurons are the inputs of layers that read others through activations:
    in chains (nn.Sequential), in feed-forward blocks of two linear layers or of a gate, an up and a
    down projection (fused or not), and in `pairs`, given as (names of the layers before, name of
    the layer that reads them).

        dormancy = Dormancy(model, tau=0.025)
        ...                                     # training
        print(dormancy.recycle(optimizers))
    """

    @checked(name="Dormancy")
    def __init__(self,
                 model: nn.Module,
                 tau: float = 0.0,
                 *,
                 pairs: Sequence[Pair] = (),
                 seed: int = 0,
                 group: dist.ProcessGroup | None = None) -> None:
        if isinstance(tau, bool) or not isinstance(tau, (int, float)) or not 0 <= tau < 1:
            raise InputError(f"tau: expected a number in [0, 1), found {tau!r}")
        if not isinstance(model, nn.Module):
            raise InputError(f"model: expected a torch.nn.Module, found {type(model).__name__}")
        if group is not None and not (dist.is_available() and isinstance(group, dist.ProcessGroup)):
            raise InputError(f"group: expected a process group or None, found {found(group)}")
        self.tau, self.seed, self.round = float(tau), seed, 0
        self.group = group
        neurons = [*given(model, pairs), *find(model)]
        seen: set[int] = set()
        self.watched: list[Neurons] = []
        for each in neurons:
            if id(each.reader.module) not in seen:
                seen.add(id(each.reader.module))
                self.watched.append(each)
        if not self.watched:
            raise InputError(
                "model: expected layers that read others through activations, found none; name "
                "them by pairs=[(\"before\", \"after\")]")
        for each in self.watched:
            for layer in (*each.sources, each.reader):
                if hasattr(layer.weight, "placements"):
                    raise InputError(
                        f"parameter '{layer.name}.weight': expected a tensor of this process, "
                        "found a DTensor; Dormancy does not work on shards")
        self.watches = [Watch(each) for each in self.watched]

    def close(self) -> None:
        """Stops monitoring."""
        for watch in self.watches:
            watch.handle.remove()

    def __enter__(self) -> Dormancy:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def _process_group(self) -> dist.ProcessGroup | None:
        if self.group is None and dist.is_available() and dist.is_initialized():
            return dist.group.WORLD
        return self.group

    def scores(self) -> dict[str, Tensor]:
        """Returns the activity of each neuron relative to its layer's mean, by the layer that reads
        it."""
        result = {}
        for watch in self.watches:
            mean = watch.mean(self._process_group())
            if mean is not None:
                result[watch.neurons.reader.name] = mean / (mean.mean() + EPSILON)
        return result

    def recycle(self, optimizers: Optimizers = ()) -> list[Recycled]:
        """Recycles dormant neurons: incoming weights are drawn from the Xavier-uniform
        distribution, and biases and outgoing weights are set to zero, so removing a silent neuron
        does not change the function. Running means of optimizers for these weights are set to zero;
        step counts are not changed. Statistics restart. After an InputError nothing has changed."""
        listed = as_list(optimizers)
        scores = self.scores()
        work: list[tuple[Neurons, Tensor]] = []
        report = []
        for neurons in self.watched:
            score = scores.get(neurons.reader.name)
            if score is None:
                continue
            mask = score <= self.tau
            report.append(
                Recycled(neurons.reader.name,
                         mask.nonzero().flatten().tolist(), neurons.count))
            if report[-1].dormant:
                work.append((neurons, mask))
        states = self._states(listed, [neurons for neurons, _ in work])
        with torch.no_grad():
            for neurons, mask in work:
                self._renew(neurons, mask, states)
            # After all incoming weights: a layer may be both a source and a reader.
            for neurons, mask in work:
                self._silence(neurons, mask, states)
        self.round += 1
        for watch in self.watches:
            watch.forget()
        return report

    def _states(self, optimizers: list[torch.optim.Optimizer],
                work: list[Neurons]) -> Callable[[Tensor], list[Tensor]]:
        """Returns the running means of optimizers for a parameter. Rejects states without the
        parameter's rows and columns."""
        names: dict[int, str] = {}
        found: dict[int, list[Tensor]] = {}
        for neurons in work:
            for layer in (*neurons.sources, neurons.reader):
                names[id(layer.weight)] = f"{layer.name}.weight"
                found[id(layer.weight)] = local_running_states(optimizers, layer.weight,
                                                               f"{layer.name}.weight")
                if layer.bias is not None and layer is not neurons.reader:
                    names[id(layer.bias)] = f"{layer.name}.bias"
                    found[id(layer.bias)] = local_running_states(optimizers, layer.bias,
                                                                 f"{layer.name}.bias")
        check_optimizers(optimizers, names)
        return lambda parameter: found[id(parameter)]

    def _renew(self, neurons: Neurons, mask: Tensor, states: Callable[[Tensor],
                                                                      list[Tensor]]) -> None:
        for layer in neurons.sources:
            rows = mask.repeat(layer.outputs // neurons.count)
            place = _dimension(layer.weight, layer.out_axis, rows)
            layer.weight[place] = self._fresh(layer)[place]
            for state in states(layer.weight):
                state[place] = 0
            if layer.bias is not None:
                for values in (layer.bias, *states(layer.bias)):
                    values[rows] = 0

    def _silence(self, neurons: Neurons, mask: Tensor,
                 states: Callable[[Tensor], list[Tensor]]) -> None:
        columns = mask.repeat_interleave(neurons.width)
        for values in (neurons.reader.weight, *states(neurons.reader.weight)):
            values[_dimension(values, neurons.reader.in_axis, columns)] = 0

    def _fresh(self, layer: Layer) -> Tensor:
        """Returns a Xavier-uniform weight, equal on all processes."""
        weight = layer.weight
        seed = zlib.crc32(f"{self.seed} {self.round} {layer.name}".encode())
        generator = torch.Generator(device="cpu").manual_seed(seed)
        taps = math.prod(weight.shape[2:])
        bound = math.sqrt(6 / (taps * (layer.outputs + layer.inputs)))
        drawn = torch.rand(weight.shape, generator=generator, dtype=torch.float64, device="cpu")
        return ((2 * drawn - 1) * bound).to(weight)
