"""Reports of a projection, one per matrix, with the keys of `pe reinit --report`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass


@dataclass
class MatrixReport:
    """The report of one matrix, or of a parameter that was not changed. Deviations from an
    isometry, |X^T X - I|_F^2 per dimension of the smaller side, are those of the old weights and of
    the new weights divided by the scale; sfe is |W - W_new|_F^2."""

    name: str
    shape: list[int]
    chosen: bool
    why: str
    dfi_before: float | None = None
    dfi_after: float | None = None
    sfe: float | None = None
    iterations: int | None = None
    rank: int | None = None
    scale: float | None = None
    norm: float | None = None

    def __str__(self) -> str:
        size = "x".join(map(str, self.shape))
        if not self.chosen:
            return f"{self.name} {size}: left alone ({self.why})"
        note = "" if self.why == "projected" else f", {self.why}"
        return (
            f"{self.name} {size}: |W| {self.norm:.4g}, DfI/n {self.dfi_before:.1e} -> "
            f"{self.dfi_after:.1e}, SFE {self.sfe:.4g}, scale {self.scale:.4g}, rank {self.rank}, "
            f"{self.iterations} iterations{note}")


@dataclass
class Report(Sequence[MatrixReport]):
    """The matrices of a model in order. `str` gives a line per projected matrix."""

    entries: list[MatrixReport]
    optimizer_states: int = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.entries[index]

    def __iter__(self) -> Iterator[MatrixReport]:
        return iter(self.entries)

    @property
    def projected(self) -> list[MatrixReport]:
        return [entry for entry in self.entries if entry.chosen]

    def by_name(self) -> dict[str, MatrixReport]:
        return {entry.name: entry for entry in self.entries}

    def to_json(self) -> str:
        """Returns the report as a JSON list, in the format of `pe reinit --report`."""
        keys = ("name", "shape", "chosen", "why", "dfi_before", "dfi_after", "sfe", "iterations",
                "rank", "scale")
        table = [{key: asdict(entry)[key] for key in keys} for entry in self.entries]
        return json.dumps(table, indent=1)

    def __str__(self) -> str:
        lines = [str(entry) for entry in self.projected]
        zeros = sum(entry.why == "zero" for entry in self.entries)
        lines.append(
            f"{len(lines)} matrices projected" +
            (f", {zeros} of zeros left alone" if zeros else "") +
            (f"; {self.optimizer_states} optimizer states reset" if self.optimizer_states else ""))
        return "\n".join(lines)
