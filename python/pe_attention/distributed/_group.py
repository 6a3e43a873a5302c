"""Process groups: agreement between ranks, and communication between neighbors in a ring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from .._errors import InputError


class Group:
    """The processes that share a sequence: a process group, a one-dimensional device mesh, or None
    for all processes."""

    def __init__(self, group: Any) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise InputError("group: expected a process group, found none; call "
                             "torch.distributed.init_process_group first")
        if isinstance(group, DeviceMesh):
            if group.ndim != 1:
                raise InputError(f"group: expected a one-dimensional device mesh, found "
                                 f"{group.ndim} dimensions; select one, as in mesh['context']")
            group = group.get_group()
        if group is not None and not isinstance(group, dist.ProcessGroup):
            raise InputError(f"group: expected a process group, a device mesh or None, found "
                             f"{group!r}")
        whole = dist.group.WORLD
        assert whole is not None
        self.group: dist.ProcessGroup = whole if group is None else group
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        if self.rank < 0:
            raise InputError("group: expected a group that contains this process, found another")

    def peer(self, rank: int) -> int:
        """Returns the global rank of a rank of this group."""
        return dist.get_global_rank(self.group, rank % self.world)

    def pass_on(self, give: torch.Tensor, take: torch.Tensor, tag: int) -> Pending:
        """Starts to send bytes to the next rank and to receive bytes from the previous one."""
        operations = []
        if give.numel():
            operations.append(dist.P2POp(dist.isend, give, self.peer(self.rank + 1), self.group,
                                         tag))
        if take.numel():
            operations.append(dist.P2POp(dist.irecv, take, self.peer(self.rank - 1), self.group,
                                         tag))
        works = dist.batch_isend_irecv(operations) if operations else []
        return Pending(works, give, take)

    def gather(self, own: torch.Tensor) -> list[torch.Tensor]:
        """Gathers tensors of equal shape and type from all ranks."""
        found = [torch.empty_like(own) for _ in range(self.world)]
        dist.all_gather(found, own, self.group)
        return found

    def exchange(self, parts: torch.Tensor) -> torch.Tensor:
        """Exchanges bytes: row r of `parts` [world, bytes] is sent to rank r, and row r of the
        result comes from rank r."""
        found = torch.empty_like(parts)
        dist.all_to_all_single(found, parts, group=self.group)
        return found


class Pending:
    """A message in transit. It owns its buffers until completion."""

    def __init__(self, works: Sequence[Any], given: torch.Tensor, taken: torch.Tensor) -> None:
        self.works, self.given, self.taken = works, given, taken

    def wait(self) -> torch.Tensor:
        for work in self.works:
            work.wait()
        return self.taken


def agree(group: Group, facts: dict[str, int], device: torch.device, error: Exception | None,
          words: Mapping[str, Sequence[str]] = MappingProxyType({})) -> list[int]:
    """Returns the lengths of all ranks after checking that the other facts are equal and that no
    rank reports an error. An error on one rank raises an error on all ranks, so that no rank waits
    forever. Messages contain the words for the facts in `words`, which are indices."""
    own = torch.tensor([int(error is not None), *facts.values()], dtype=torch.int64, device=device)
    everyone = torch.stack(group.gather(own)).tolist()
    if error is not None:
        raise error
    for rank, (failed, *_) in enumerate(everyone):
        if failed:
            raise InputError(f"rank {rank} rejected its arguments; see its error message")
    for at, name in enumerate(facts, 1):
        for rank, numbers in enumerate(everyone):
            if name != "length" and numbers[at] != everyone[0][at]:
                expected, found = [words[name][n] if name in words else n
                                   for n in (everyone[0][at], numbers[at])]
                raise InputError(f"{name}: expected {expected} on rank {rank} as on rank 0, found "
                                 f"{found}")
    return [int(numbers[1 + list(facts).index("length")]) for numbers in everyone]
