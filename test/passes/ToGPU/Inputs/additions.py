"""Counts how many numbers a thread adds in a row, in the tile program after pe-divide-loops.

A worker of a divided loop executes the loop's iterations divided by the number of workers; a lane
of the stage that combines them adds blocks of 256 groups of workers, every 32nd group if the lanes
of a warp added theirs. These numbers are evaluated for calls of up to 2^24 iterations, from the
expressions in the program on standard input.
"""

import math
import re
import sys

FUNCTIONS = {"ceildiv": lambda x, y: -(-x // y), "min": min, "max": max}
LANES, BLOCK = 32, 256
CALLS = [(1, 1, 16), (16, 1, 300), (16, 1, 4096), (16, 2, 131072), (8, 1, 1 << 20), (1, 1, 1 << 23)]


def evaluate(expression: str, heads: int, batch: int, length: int) -> int:
    """Returns the value of a size expression of a call without a cache."""
    names = {"b": batch, "hq": heads, "hkv": heads, "r": length, "c": length, "t": 2 * length}
    names |= {"d": 64, "e": 64, "q_start": 0, "k_start": 0, "capacity": length}
    return eval(expression, {"__builtins__": {}}, {**names, **FUNCTIONS})  # of the compiler


def divided_loops(text: str) -> list[tuple[str, list[str]]]:
    """Returns the groups of workers and the extents that they divide, of every divided loop."""
    loops = []
    for loop in text.split("tile.foreach over")[1:]:
        body = loop.partition("scf.for")[0]
        extents = re.findall(r'"([^"]*)"', loop.partition("{")[0])
        if len(extents) > 1 and extents[-1] == str(LANES) and f",{LANES})" in extents[-2]:
            sizes = re.findall(r'tile\.size "([^"]*)"', body)
            assert sizes[0] == extents[-2], (sizes, extents)
            loops.append((extents[-2], sizes[1:]))
    return loops


program = sys.stdin.read()
loops = divided_loops(program)
added = set(re.findall(r'_groups\d+" .* : <\["([^"]*)"', program))  # by the lanes of a warp
most_iterations = most_groups = most_blocks = most_calls = 0
for groups, sizes in loops:
    for heads, batch, length in CALLS:
        count = math.prod(evaluate(size, heads, batch, length) for size in sizes)
        if count > 1 << 24:
            continue
        warps = evaluate(groups, heads, batch, length)
        most_iterations = max(most_iterations, -(-count // (warps * LANES)))
        parts = -(-warps // LANES) if groups in added else warps
        most_groups = max(most_groups, min(parts, BLOCK))
        most_blocks = max(most_blocks, -(-parts // BLOCK))
        most_calls = max(most_calls, count)
print(f"{len(loops)} divided loops, up to {most_calls} iterations")
print(f"a worker executes at most {most_iterations}")
print(f"a lane adds at most {most_groups} groups in a row, and {most_blocks} blocks")
