"""Projects matrices that are spread over processes as DTensors: one owner gathers, projects and
scatters each.

All processes of a mesh first exchange the locations of their shards and any errors. Then all derive
the same schedule: the owner of each matrix in each round, and the transfers of its pieces. All
processes therefore take part in the same transfers in the same order, whatever the sizes of the
shards; empty pieces are not sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from .._errors import InputError
from ._polar import Method
from ._project import check_finite, project_unit
from ._report import MatrixReport
from ._select import Box, Unit


@dataclass
class Transfer:
    """One piece of a unit: the part of the parameter, the rank whose shard contains it, and the
    owner."""

    unit: int
    box: Box
    rank: int
    owner: int


def local_of(parameter: DTensor) -> Tensor:
    """Returns this process's shard, which shares its memory."""
    with torch.no_grad():
        return parameter.to_local()


def local_box(parameter: DTensor, name: str) -> Box:
    """Returns the part of the whole parameter that the shard covers."""
    if any(placement.is_partial() for placement in parameter.placements):
        raise InputError(
            f"parameter '{name}': expected shards or copies, found partial sums; reduce them first")
    shape, offset = compute_local_shape_and_global_offset(parameter.shape, parameter.device_mesh,
                                                          parameter.placements)
    local = local_of(parameter)
    if tuple(local.shape) != tuple(shape):
        raise InputError(
            f"parameter '{name}': expected a shard of shape {list(shape)}, by its placements "
            f"{list(parameter.placements)}, found {list(local.shape)}")
    return tuple((begin, begin + size) for begin, size in zip(offset, shape))


def intersection(a: Box, b: Box) -> Box | None:
    both = tuple((max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(a, b))
    return None if any(begin >= end for begin, end in both) else both


def inside(box: Box, outer: Box) -> tuple[slice, ...]:
    """Returns the slices of a box in the tensor whose box is `outer`."""
    return tuple(
        slice(begin - outer[axis][0], end - outer[axis][0])
        for axis, (begin, end) in enumerate(box))


def volume(box: Box) -> int:
    return math.prod(max(0, end - begin) for begin, end in box)


class Fleet:
    """The processes of one mesh, and the matrices that are spread over them."""
    def __init__(self, mesh: DeviceMesh) -> None:
        self.mesh = mesh
        self.ranks = sorted(int(rank) for rank in mesh.mesh.flatten())
        self.me = dist.get_rank()
        self.own_group = False
        self.device = torch.device(mesh.device_type)
        if self.device.type != "cpu":
            index = torch.get_device_module(mesh.device_type).current_device()
            self.device = torch.device(mesh.device_type, index)
        self.group: dist.ProcessGroup | None
        if mesh.ndim == 1:
            self.group = mesh.get_group()
        elif len(self.ranks) == dist.get_world_size():
            self.group = dist.group.WORLD
        else:
            self.group = dist.new_group(self.ranks, use_local_synchronization=True)
            self.own_group = True
        self.units: list[Unit] = []
        self.boxes: dict[int, list[tuple[str, Box]]] = {}

    def close(self) -> None:
        if self.own_group:
            dist.destroy_process_group(self.group)

    def gathered(self, value: object) -> dict[int, object]:
        """Returns the value of every rank."""
        result: list[object] = [None] * len(self.ranks)
        dist.all_gather_object(result, (self.me, value), group=self.group)
        return dict(pair for pair in result if isinstance(pair, tuple))

    def agree(self, mistake: str) -> str:
        """Returns the error of this rank or, if it has none, of another rank."""
        answers = self.gathered(mistake)
        others = [f"rank {rank}: {found}" for rank, found in sorted(answers.items()) if found]
        return mistake or (others[0] if others else "")

    def plan(self, units: Sequence[Unit]) -> str:
        """Exchanges the locations of the shards, and returns an error message or ""."""
        own: list[tuple[str, Box]] = []
        mistake = ""
        try:
            for unit in units:
                assert isinstance(unit.parameter, DTensor)
                box = local_box(unit.parameter, unit.name)
                check_finite(unit.name, local_of(unit.parameter), tuple(begin for begin, _ in box))
                own.append((unit.name, box))
        except InputError as error:
            mistake = str(error)
        self.units = list(units)
        answers = self.gathered((mistake, own))
        for rank in self.ranks:
            answer = answers[rank]
            assert isinstance(answer, tuple)
            said, boxes = answer
            if said:
                return str(said) if rank == self.me else f"rank {rank}: {said}"
            self.boxes[rank] = boxes
        return self._check_table()

    def _check_table(self) -> str:
        names = [unit.name for unit in self.units]
        for rank, boxes in self.boxes.items():
            if [name for name, _ in boxes] != names:
                return (
                    f"model: expected the same matrices on all ranks of a mesh, found "
                    f"{len(boxes)} on rank {rank} and {len(names)} on rank {self.me}")
        for index, unit in enumerate(self.units):
            held = {self.boxes[rank][index][1] for rank in self.ranks}
            if sum(map(volume, held)) != unit.parameter.numel():
                return (f"parameter '{unit.name}': expected shards that are a partition of "
                        f"{list(unit.parameter.shape)}, found {sorted(held)}")
        return ""

    def pieces(self, index: int, owner: int) -> Iterator[Transfer]:
        """Yields the pieces of a unit, each once, from the owner itself if it has a copy."""
        unit = self.units[index]
        seen: dict[Box, int] = {}
        for rank in (owner, *self.ranks):
            box = self.boxes[rank][index][1]
            if intersection(box, unit.box) is not None:
                seen.setdefault(box, rank)
        for box, rank in sorted(seen.items()):
            part = intersection(box, unit.box)
            assert part is not None
            yield Transfer(index, part, rank, owner)

    def copies(self, index: int, owner: int) -> Iterator[Transfer]:
        """Yields the transfers that return a unit's parts to every rank."""
        for rank in self.ranks:
            part = intersection(self.boxes[rank][index][1], self.units[index].box)
            if part is not None:
                yield Transfer(index, part, rank, owner)

    def rounds(self) -> Iterator[list[tuple[int, int]]]:
        """Yields rounds of units with their owners, at most one per rank, of similar cost."""
        def cost(index: int) -> int:
            shape = self.units[index].shape
            return math.prod(shape) * min(shape[-2:])

        order = sorted(range(len(self.units)), key=lambda index: (-cost(index), index))
        for begin in range(0, len(order), len(self.ranks)):
            yield list(zip(order[begin:begin + len(self.ranks)], self.ranks))

    def view(self, transfer: Transfer) -> Tensor:
        """Returns the piece within this process's shard."""
        unit = self.units[transfer.unit]
        assert isinstance(unit.parameter, DTensor)
        return local_of(unit.parameter)[inside(transfer.box, self.boxes[self.me][transfer.unit][1])]

    def wait(self, transfers: list[dist.P2POp]) -> None:
        for work in dist.batch_isend_irecv(transfers) if transfers else ():
            work.wait()

    def send(self, values: Tensor, to: int) -> dist.P2POp:
        return dist.P2POp(dist.isend, values.to(self.device).contiguous(), to, self.group)

    def receive(self, like: Tensor, of: int) -> tuple[Tensor, Tensor, dist.P2POp]:
        room = torch.empty(like.shape, dtype=like.dtype, device=self.device)
        return like, room, dist.P2POp(dist.irecv, room, of, self.group)

    def gather(self, work: list[tuple[int, int]]) -> Tensor | None:
        """Returns the values of the unit that this process owns in a round, or None."""
        mine: Tensor | None = None
        sends, receives = [], []
        for index, owner in work:
            unit = self.units[index]
            if owner == self.me:
                mine = torch.empty(unit.shape, dtype=unit.parameter.dtype, device=self.device)
            for piece in self.pieces(index, owner):
                if owner == self.me and mine is not None:
                    part = mine[inside(piece.box, unit.box)]
                    if piece.rank == self.me:
                        part.copy_(self.view(piece))
                    else:
                        receives.append(self.receive(part, piece.rank))
                elif piece.rank == self.me:
                    sends.append(self.send(self.view(piece), owner))
        self.wait([*sends, *(operation for _, _, operation in receives)])
        for part, room, _ in receives:
            part.copy_(room)
        return mine

    def scatter(self, work: list[tuple[int, int]], mine: Tensor | None) -> None:
        sends, receives = [], []
        for index, owner in work:
            for piece in self.copies(index, owner):
                if owner == self.me and mine is not None:
                    part = mine[inside(piece.box, self.units[index].box)]
                    if piece.rank == self.me:
                        self.view(piece).copy_(part)
                    else:
                        sends.append(self.send(part, piece.rank))
                elif piece.rank == self.me:
                    receives.append(self.receive(self.view(piece), owner))
        self.wait([*sends, *(operation for _, _, operation in receives)])
        for part, room, _ in receives:
            part.copy_(room)

    def project(self, method: Method, scale: str) -> dict[str, list[MatrixReport]]:
        """Projects all units, and returns the reports of all ranks by the units' names."""
        reports: dict[str, list[MatrixReport]] = {}
        with torch.no_grad():
            for work in self.rounds():
                mine = self.gather(work)
                for index, owner in work:
                    if owner == self.me and mine is not None:
                        unit = self.units[index]
                        reports[unit.name] = project_unit(unit, mine, method, scale)
                self.scatter(work, mine)
        together: dict[str, list[MatrixReport]] = {}
        for theirs in self.gathered(reports).values():
            assert isinstance(theirs, dict)
            together |= theirs
        return together
