"""Maps optimizer states to parameters, and deletes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torch import Tensor, nn
from torch.optim import Optimizer

from .._arguments import checked, found as shown
from .._errors import InputError

# Per-element states whose initial value is zero.
RUNNING = frozenset({
    "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_inf", "momentum_buffer", "square_avg",
    "grad_avg", "acc_delta", "sum", "hessian", "exp_avg_diff", "neg_pre_grad"
})
# Optimizers that shard the states of a parameter over processes or combine those of many
# parameters.
FOREIGN = frozenset({
    "ZeroRedundancyOptimizer", "DeepSpeedZeroOptimizer", "DeepSpeedZeroOptimizer_Stage3",
    "BF16_Optimizer", "DistributedFusedAdam", "_NamedOptimizer"
})
Optimizers = Optimizer | Iterable[Optimizer]


def as_list(optimizers: Optimizers) -> list[Optimizer]:
    is_one = hasattr(optimizers, "param_groups")
    if not is_one and not isinstance(optimizers, Iterable):
        raise InputError(f"optimizers: expected torch.optim.Optimizers, found {shown(optimizers)}")
    listed = [optimizers] if is_one else list(optimizers)  # type: ignore[arg-type]
    for index, optimizer in enumerate(listed):
        found = type(optimizer).__name__
        if not isinstance(getattr(optimizer, "state", None), Mapping) or not hasattr(
                optimizer, "param_groups"):
            raise InputError(
                f"optimizers[{index}]: expected a torch.optim.Optimizer, found {found}")
        if found in FOREIGN:
            raise InputError(
                f"optimizers[{index}]: expected an optimizer whose states belong to one parameter "
                f"each, found {found}; omit it and create a new one after the call")
    return listed  # type: ignore[return-value]


def _belongs(state: Tensor, parameter: Tensor) -> bool:
    """Returns whether a state has the parameter's shape or that of a factor of it (Adafactor), or
    is a number."""
    own, shape = list(parameter.shape), list(state.shape)
    if state.numel() == 1 or shape == own:
        return True
    if len(shape) == len(own):
        return all(a in (1, b) for a, b in zip(shape, own))
    return any(shape == own[:axis] + own[axis + 1:] for axis in range(len(own)))


def _check(optimizer: Optimizer, index: int, names: Mapping[int, str]) -> None:
    """Checks that every state belongs to one parameter. Some optimizers store the states of a whole
    group with its first parameter."""
    place = f"optimizers[{index}] ({type(optimizer).__name__})"
    held = {
        id(parameter): parameter
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    for key, states in optimizer.state.items():
        if id(key) not in held or not isinstance(states, Mapping):
            raise InputError(
                f"{place}: expected states of its parameters, found one of {type(key).__name__} "
                f"{key!r:.40}; omit it and create a new one after the call")
        name = names.get(id(key), "another")
        for what, state in states.items():
            if isinstance(state, Tensor):
                if _belongs(state, key):
                    continue
                found = f"shape {list(state.shape)}"
            elif state is None or isinstance(state, (int, float, str)):
                continue
            else:
                found = type(state).__name__
            raise InputError(
                f"{place}: parameter '{name}' of shape {list(key.shape)}: expected states of that "
                f"shape, found '{what}' with {found}; omit it and create a new "
                "optimizer after the call")


def check_optimizers(optimizers: list[Optimizer], names: Mapping[int, str]) -> None:
    """Rejects optimizers whose states cannot be mapped. `names` contains the parameters that will
    change."""
    if not optimizers:
        return
    held: set[int] = set()
    for index, optimizer in enumerate(optimizers):
        _check(optimizer, index, names)
        held |= {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for parameter, name in names.items():
        if parameter not in held:
            raise InputError(
                f"optimizers: expected an optimizer of parameter '{name}', found none, so its "
                "state would remain; pass all optimizers, created from the current model")


def forget(optimizers: list[Optimizer], parameters: Iterable[Tensor]) -> int:
    """Deletes the states of the parameters, and returns how many parameters had a state."""
    count = 0
    for parameter in parameters:
        for optimizer in optimizers:
            if parameter in optimizer.state:
                del optimizer.state[parameter]
                count += 1
    return count


@checked()
def reset_optimizer_states(optimizers: Optimizers, parameters: nn.Module | Iterable[Tensor]) -> int:
    """Deletes the optimizer states of these parameters, or of all parameters of a module: momenta,
    second moments and step counts. Returns the number of parameters whose state was deleted.

    Raises an error, without changing anything, for a state that does not belong to one parameter.
    """
    listed = as_list(optimizers)
    if isinstance(parameters, nn.Module):
        named: dict[int, tuple[str, Tensor]] = {
            id(p): (name, p)
            for name, p in parameters.named_parameters()
        }
    else:
        named = {}
        for index, p in enumerate([parameters] if isinstance(parameters, Tensor) else parameters):
            if not isinstance(p, Tensor):
                raise InputError(
                    f"parameters[{index}]: expected a tensor, found {type(p).__name__}")
            named[id(p)] = (f"parameters[{index}]", p)
    if not listed:
        raise InputError("optimizers: expected at least one, found none")
    check_optimizers(listed, {key: name for key, (name, _) in named.items()})
    return forget(listed, [p for _, p in named.values()])


def local_running_states(optimizers: list[Optimizer], parameter: Tensor, name: str) -> list[Tensor]:
    """Returns the states that have the parameter's rows and columns, for clearing some of them."""
    found = []
    for optimizer in optimizers:
        for what, state in optimizer.state.get(parameter, {}).items():
            if not isinstance(state, Tensor) or state.numel() == 1:
                continue
            if what not in RUNNING or state.shape != parameter.shape:
                raise InputError(
                    f"parameter '{name}': expected running means of shape {list(parameter.shape)}, "
                    f"to clear single neurons, found state '{what}' of shape "
                    f"{list(state.shape)} in {type(optimizer).__name__}")
            found.append(state)
    return found
