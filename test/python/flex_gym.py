"""The functions of FlexAttention's published collections (attention-gym and its notebook), written
again for 64 tokens. Each maker returns a `score_mod` or a `mask_mod`; the float tensors that it
captures are its arguments, so that it also makes the function in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

BATCH, HEADS, LENGTH, DEPTH = 2, 2, 64, 16


@dataclass(frozen=True)
class Case:
    """A function by the name of the published one, the float tensors that its maker takes, and the
    numbers of queries and keys."""

    name: str
    make: Callable[..., Any]
    is_mask: bool
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    sizes: tuple[int, int] = (LENGTH, LENGTH)


CASES: list[Case] = []


def score(name, **tensors):
    def add(make):
        CASES.append(Case(name, make, False, tensors))
        return make
    return add


def mask(name, sizes=(LENGTH, LENGTH)):
    def add(make):
        CASES.append(Case(name, make, True, {}, sizes))
        return make
    return add


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


# --- Scores --------------------------------------------------------------------------


@score("noop")
def noop():
    return lambda s, b, h, q, k: s


@score("relative position")
def relative():
    return lambda s, b, h, q, k: s + (q - k)


@score("checkerboard")
def checkerboard():
    def mod(s, b, h, q, k):
        s = torch.where(torch.abs(k - q) % 2 == 1, s * 0.5, s)
        return torch.where(torch.abs(k - q) % 2 == 0, s * 2.0, s)
    return mod


@score("ALiBi")
def alibi():
    return lambda s, b, h, q, k: s + torch.exp2(-((h + 1) * 8.0 / HEADS)) * (k - q)


@score("ALiBi, slopes captured", slopes=draw(HEADS))
def alibi_learned(slopes):
    return lambda s, b, h, q, k: s + slopes[h] * (k - q)


@score("ALiBi and causal, one function", slopes=draw(HEADS))
def alibi_causal(slopes):
    return lambda s, b, h, q, k: torch.where(q >= k, s + slopes[h] * (k - q), -float("inf"))


@score("Sandwich", table=draw(2 * LENGTH - 1), scale=draw(HEADS))
def sandwich(table, scale):
    return lambda s, b, h, q, k: s + table[q - k + LENGTH - 1] * scale[h]


HOPS = torch.arange(LENGTH)[:, None].bitwise_xor(torch.arange(LENGTH)[None]) % 7


@score("Graphormer, spatial", table=draw(HEADS, 7))
def graphormer_spatial(table):
    hops = torch.stack([HOPS, HOPS.T.flip(0)]).int()
    return lambda s, b, h, q, k: s + table[h, hops[b, q, k]]


@score("Graphormer, edges", weights=draw(HEADS, 3, 5))
def graphormer_edges(weights):
    counts = (HOPS % 4).expand(BATCH, -1, -1).int()
    kinds = torch.stack([(HOPS * n + n) % 5 for n in (1, 2, 3)], -1).expand(BATCH, -1, -1, -1).int()
    columns = [weights[:, place] for place in range(3)]

    def mod(s, b, h, q, k):
        count, total = counts[b, q, k], 0.0
        for place, column in enumerate(columns):
            value = column[h, kinds[b, q, k, place]]
            total = total + torch.where(count > place, value, 0.0)
        return s + total / torch.clamp(count, min=1)
    return mod


@score("MLA, scores of rotated parts", queries=draw(BATCH, HEADS, LENGTH, 8),
       keys=draw(BATCH, 1, LENGTH, 8))
def latent(queries, keys):
    return lambda s, b, h, q, k: s + 0.5 * torch.dot(queries[b, h, q], keys[b, h // HEADS, k])


@score("tanh soft cap")
def softcap():
    return lambda s, b, h, q, k: 20 * torch.tanh(s / 20)


@torch.library.custom_op("pe_gym::tanh", mutates_args=())
def _approximate(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x)


@score("tanh soft cap by an operator")
def softcap_operator():
    return lambda s, b, h, q, k: 20 * _approximate(s / 20)


@score("activation, GELU")
def gelu():
    return lambda s, b, h, q, k: torch.log(torch.nn.functional.gelu(s) + 1.0)


@score("activation, ReLU")
def relu():
    return lambda s, b, h, q, k: torch.log(torch.nn.functional.relu(s) + 1.0)


# --- Masks of positions ----------------------------------------------------------------


def _causal(b, h, q, k):
    return q >= k


@mask("causal")
def causal():
    return _causal


@mask("sliding window")
def window():
    return lambda b, h, q, k: (q - k <= 9) & (q >= k)


@mask("dilated sliding window")
def dilated():
    def mod(b, h, q, k):
        distance = torch.abs(q - k)
        return (distance <= 12) & (distance % 3 == 0)
    return mod


@mask("prefix LM")
def prefix():
    return lambda b, h, q, k: (k < 10) | (q >= k)


@mask("global and sliding window")
def longformer():
    marked = torch.zeros(LENGTH, dtype=torch.bool)
    marked[[0, 40]] = True
    return lambda b, h, q, k: ((q - k).abs() <= 5) | (marked[q] | marked[k])


@mask("batchify")
def batchify():
    size = 16
    return lambda b, h, q, k: (q // size == k // size) & _causal(b, h, q % size, k % size)


@mask("block diffusion")
def block_diffusion():
    half, size = LENGTH // 2, 8

    def mod(b, h, q, k):
        noised_q, noised_k = q < half, k < half
        block_q, block_k = q % half // size, k % half // size
        return (((block_q == block_k) & (noised_q == noised_k))
                | ((block_q > block_k) & noised_q & ~noised_k)
                | ((block_q >= block_k) & ~noised_q & ~noised_k))
    return mod


# --- Documents, images and trees -----------------------------------------------------------

ENDS = torch.tensor([0, 20, 27, 50, 64], dtype=torch.int32)
DOCUMENT = torch.repeat_interleave(torch.arange(4, dtype=torch.int32), ENDS.diff())


@mask("documents, causal inside")
def documents():
    def mod(b, h, q, k):
        inside = _causal(b, h, q - ENDS[DOCUMENT[q]], k - ENDS[DOCUMENT[k]])
        return (DOCUMENT[q] == DOCUMENT[k]) & inside
    return mod


@mask("documents, packed and causal")
def packed():
    return lambda b, h, q, k: (k >= ENDS[DOCUMENT[q]]) & (q >= k)


@mask("shared prefix")
def shared_prefix():
    owner = torch.tensor([0, 0, 2, 2])

    def mod(b, h, q, k):
        document = DOCUMENT[q]
        first = owner[document]
        own = (k >= ENDS[document]) & (q >= k)
        return own | ((document != first) & (k >= ENDS[first]) & (k < ENDS[first + 1]))
    return mod


@mask("Flamingo, text to images", (12, 9))
def flamingo():
    spans = torch.tensor([[0, 7], [1, 7], [7, 12]])
    image = torch.repeat_interleave(torch.arange(3), 3)

    def mod(b, h, q, k):
        span = spans[image[k]]
        return (q >= span[0]) & (q < span[1])
    return mod


@mask("tree of drafted tokens", (7, 16))
def tree():
    sees = torch.eye(7, dtype=torch.bool)
    for node, parent in enumerate([0, 1, 1, 3, 3, 0], start=1):
        sees[node] |= sees[parent]

    def mod(b, h, q, k):
        node = (k - 9).clamp(min=0, max=6)
        return (k < 9) | ((k >= 9) & (k < 16) & sees[q, node])
    return mod


@mask("blocks of drafted tokens", (12, 17))
def draft_blocks():
    def mod(b, h, q, k):
        own = (k >= 5) & (q // 4 == (k - 5) // 4) & ((k - 5) % 4 <= q % 4)
        return (k < 5) | own
    return mod


# --- Images and videos ------------------------------------------------------------------

SIDE, KERNEL, TILE = 8, 5, 4


def _near(q, k):
    center = q.clamp(KERNEL // 2, SIDE - 1 - KERNEL // 2)
    return (center - k).abs() <= KERNEL // 2


@mask("stand-alone self-attention")
def standalone():
    def mod(b, h, q, k):
        rows, columns = (q // SIDE - k // SIDE).abs(), (q % SIDE - k % SIDE).abs()
        return (rows <= KERNEL // 2) & (columns <= KERNEL // 2)
    return mod


@mask("NATTEN")
def natten():
    return lambda b, h, q, k: _near(q // SIDE, k // SIDE) & _near(q % SIDE, k % SIDE)


@mask("NATTEN, tiles")
def natten_tiled():
    def place(index):
        tile, inside = index // TILE ** 2, index % TILE ** 2
        across = SIDE // TILE
        return tile % across * TILE + inside % TILE, tile // across * TILE + inside // TILE

    def mod(b, h, q, k):
        (x, y), (u, v) = place(q), place(k)
        return _near(x, u) & _near(y, v)
    return mod


@mask("NATTEN, Morton order")
def natten_morton():
    def even_bits(code):
        code = code & 0x55
        code = (code | (code >> 1)) & 0x33
        return (code | (code >> 2)) & 0x0F

    def mod(b, h, q, k):
        return (_near(even_bits(q), even_bits(k))
                & _near(even_bits(q >> 1), even_bits(k >> 1)))
    return mod


def _tile_axis(q, k, kernel, count):
    left, right = kernel // 2, kernel // 2 + kernel % 2 - 1
    center = q.clamp(left, count - 1 - right)
    return (k >= center - left) & (k <= center + right)


@mask("sliding tiles, 2-D, and text")
def tiles_2d():
    seen, tile, across = 48, 4, 4  # tiles of 2 x 2 in an image of 6 x 8, then 16 words

    def mod(b, h, q, k):
        near = (_tile_axis(q // tile // across, k // tile // across, 1, 3)
                & _tile_axis(q // tile % across, k // tile % across, 2, 4))
        image = (q < seen) & (k < seen)
        words = (q < seen) & (k >= seen) & (k < LENGTH)
        return (image & near) | words | ((q >= seen) & (k < LENGTH))
    return mod


@mask("sliding tiles, 3-D")
def tiles_3d():
    def axes(index):
        tile = index // 8
        return tile // 4, tile % 4 // 2, tile % 2

    def mod(b, h, q, k):
        near = [_tile_axis(x, y, kernel, 2) for x, y, kernel in
                zip(axes(q), axes(k), (1, 2, 1), strict=True)]
        return near[0] & near[1] & near[2] & (q < LENGTH) & (k < LENGTH)
    return mod


@mask("Sparse VideoGen, spatial")
def spatial():
    return lambda b, h, q, k: (k < 4) | (q < 4) | (torch.abs(q - k) < 24)


@mask("Sparse VideoGen, temporal")
def temporal():
    return lambda b, h, q, k: (k < 4) | (q < 4) | (torch.abs((q - 4) % 12 - (k - 4) % 12) < 4)


CHOSEN = torch.tensor([[0, 2], [1, 3], [2, 0], [3, 1]]).expand(BATCH, HEADS, -1, -1)
FILLED = torch.tensor([16, 16, 11, 16])


@mask("Video Sparse Attention, list of tiles")
def chosen_tiles():
    def mod(b, h, q, k):
        tile = k // 16
        chosen = (CHOSEN[b, h, q // 16] == tile.unsqueeze(-1)).any(dim=-1)
        return chosen & (k % 16 < FILLED[tile])
    return mod


@mask("Video Sparse Attention, map of tiles")
def tile_map():
    chosen = torch.zeros(BATCH, HEADS, 4, 4, dtype=torch.bool).scatter(-1, CHOSEN, True)
    return lambda b, h, q, k: chosen[b, h, q // 16, k // 16] & (k % 16 < FILLED[k // 16])
