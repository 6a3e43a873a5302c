"""Projects the weights of a model onto scaled isometries."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ._arguments import checked
from ._errors import InputError
from .plasticity._optimizers import Optimizers, as_list, check_optimizers, forget
from .plasticity._polar import Method, checked_method
from .plasticity._project import SCALES, check_finite, project_unit
from .plasticity._report import MatrixReport, Report
from .plasticity._select import Candidate, Selection, Split, Target, Unit, clean_name

if dist.is_available():
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import DTensor

    from .plasticity._shards import Fleet


def mesh_of(parameter: Tensor) -> DeviceMesh | None:
    """Returns the mesh of a DTensor, or None for a plain tensor."""
    if dist.is_available() and isinstance(parameter, DTensor):
        return parameter.device_mesh
    return None


def _unwrapped(model: nn.Module) -> nn.Module:
    if not isinstance(model, nn.Module):
        raise InputError(f"model: expected a torch.nn.Module, found {type(model).__name__}")
    wrapped = getattr(model, "module", None)
    if isinstance(model, nn.parallel.DistributedDataParallel) and isinstance(wrapped, nn.Module):
        return wrapped
    return model


def _reshard(model: nn.Module) -> None:
    """Reshards FSDP2 modules. FSDP2 keeps the gathered parameters of some modules after a forward
    pass, and changes of these would be lost."""
    for module in model.modules():
        if any(type_.__name__ == "FSDPModule" for type_ in type(module).__mro__):
            module.reshard()  # type: ignore[operator]


def _refuse_flat(model: nn.Module) -> None:
    """Rejects parameters without their matrices: flat parameters of FSDP1, partitions of ZeRO-3,
    and parameters without values."""
    for path, module in model.named_modules():
        if type(module).__name__ == "FullyShardedDataParallel":
            raise InputError(
                f"module '{path or type(module).__name__}': expected parameters with their own "
                "shapes, found FSDP1, which keeps flat pieces; use "
                "torch.distributed.fsdp.fully_shard, or project a full state dict with `pe reinit`")
    for name, parameter in model.named_parameters():
        name = clean_name(name)
        if hasattr(parameter, "ds_id") or hasattr(parameter, "ds_status"):
            raise InputError(
                f"parameter '{name}': expected its matrix, found a partition of DeepSpeed ZeRO-3; "
                "project a consolidated checkpoint with `pe reinit`")
        if type(parameter).__name__ == "FlatParameter":
            raise InputError(
                f"parameter '{name}': expected its matrix, found a flat parameter of FSDP1")
        if parameter.is_meta or isinstance(parameter, nn.parameter.UninitializedParameter):
            raise InputError(
                f"parameter '{name}': expected values, found none (a lazy or meta parameter); "
                "initialize the model first")


def _refuse_types(candidates: list[Candidate]) -> None:
    for candidate in candidates:
        kind = type(candidate.parameter.data)
        if candidate.units and kind is not Tensor and mesh_of(candidate.parameter) is None:
            raise InputError(
                f"parameter '{candidate.name}': expected a plain tensor or a DTensor, found "
                f"{kind.__name__}; exclude it by target")


def _checked(model: nn.Module, target: Target, split: Split | None, scale: str,
             optimizers: Optimizers) -> tuple[list[Candidate], list[torch.optim.Optimizer]]:
    """Returns the candidates and optimizers, after all checks that need no communication."""
    if scale not in SCALES:
        raise InputError(f"scale: expected one of {', '.join(SCALES)}, found {scale!r}")
    listed = as_list(optimizers)
    _refuse_flat(model)
    candidates = Selection(model, target, split).candidates()
    chosen = [candidate for candidate in candidates if candidate.units]
    if not chosen:
        reasons = sorted(
            {candidate.why
             for candidate in candidates if candidate.parameter.dim() > 1})
        raise InputError("target: expected a matrix to project, found none among "
                         f"{len(candidates)} parameters ({'; '.join(reasons) or 'no matrices'})")
    _refuse_types(candidates)
    check_optimizers(listed, {id(candidate.parameter): candidate.name for candidate in chosen})
    for candidate in chosen:
        if mesh_of(candidate.parameter) is None:
            check_finite(candidate.name, candidate.parameter.detach())
    return candidates, listed


def _whole(unit: Unit, method: Method, scale: str) -> list[MatrixReport]:
    """Projects a unit whose matrix is in this process."""
    with torch.no_grad():
        part = unit.parameter.detach()[tuple(slice(begin, end) for begin, end in unit.box)]
        values = part.clone(memory_format=torch.contiguous_format)
        reports = project_unit(unit, values, method, scale)
        part.copy_(values)
    return reports


def _agree(fleets: list[Fleet], mistake: str) -> str:
    """Exchanges errors: returns an error that any process of any mesh found. Every process takes
    part for each of its meshes."""
    for fleet in fleets:
        mistake = fleet.agree(mistake)
    return mistake


def _project(candidates: list[Candidate], fleets: list[Fleet], method: Method,
             scale: str) -> dict[str, list[MatrixReport]]:
    units = [unit for candidate in candidates for unit in candidate.units]
    mistake = ""
    for fleet in fleets:
        found = fleet.plan([unit for unit in units if mesh_of(unit.parameter) == fleet.mesh])
        mistake = mistake or found
    mistake = _agree(fleets, mistake)
    if mistake:
        raise InputError(mistake)
    done: dict[str, list[MatrixReport]] = {}
    for fleet in fleets:
        done |= fleet.project(method, scale)
    for unit in units:
        if mesh_of(unit.parameter) is None:
            done[unit.name] = _whole(unit, method, scale)
    return done


def _fleets(model: nn.Module) -> list[Fleet]:
    """Returns a fleet per mesh of this process, in the order of the parameters."""
    found: list[Fleet] = []
    for parameter in model.parameters():
        mesh = mesh_of(parameter)
        if mesh is None or mesh.get_coordinate() is None:
            continue
        if all(fleet.mesh != mesh for fleet in found):
            found.append(Fleet(mesh))
    return found


@checked()
def reinit(model: nn.Module,
           target: Target = "all",
           engine: str = "auto",
           *,
           iters: int | None = None,
           norm: str | None = None,
           scale: str = "muon",
           split: Split | None = None,
           optimizers: Optimizers = (),
           seed: int = 0) -> Report:
    """Replaces the weight matrices of a model by the nearest isometry times a scale, in place.

    `target` is "all", "attention", "mlp" or a function of (name, module). Embeddings, output heads,
    biases and norms are not changed; a function may also select heads and parameters of unknown
    modules. `engine` is "qdwh", "quintic", "cubic" (exactly `iters` steps, 10 by default, starting
    from `norm` "fro" or "spectral") or "auto"; `scale` is "muon", "none", "mean-sigma" or "fro";
    `split` maps fused weights to their parts, {"c_attn": 3} or {"qkv": (64, 16, 16)}. The states of
    projected parameters in `optimizers` are deleted. Parameters may be DTensors; then all processes
    of their mesh must call this function. After an InputError the model is unchanged.
    """
    model = _unwrapped(model)
    method = checked_method(engine, iters, norm, seed)
    _reshard(model)
    fleets = _fleets(model)
    try:
        mistake: Exception | None = None
        try:
            candidates, listed = _checked(model, target, split, scale, optimizers)
        except Exception as error:  # the other processes wait for this status
            mistake = error
        elsewhere = _agree(fleets, str(mistake) if mistake else "")
        if mistake:
            raise mistake
        if elsewhere:
            raise InputError(elsewhere)
        done = _project(candidates, fleets, method, scale)
    finally:
        for fleet in fleets:
            fleet.close()
    entries: list[MatrixReport] = []
    changed: list[Tensor] = []
    for candidate in candidates:
        reports = [report for unit in candidate.units for report in done.get(unit.name, [])]
        if not candidate.units:
            reports = [
                MatrixReport(candidate.name, list(candidate.parameter.shape), False, candidate.why)
            ]
        elif any(report.chosen for report in reports):
            changed.append(candidate.parameter)
        entries += reports
    return Report(entries, forget(listed, changed))
