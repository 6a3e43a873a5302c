"""Writes queries and keys whose scores rise along the keys, or compares first rows of two results.

usage: rescale.py write FILE SLOPE...   the slopes of the rows after the first, which has slope 0
       rescale.py compare FILE FILE

Scores of a row are its slope times the number of the key / 64, plus noise.
"""

import random
import sys

from tensors import load, save

ROWS, KEYS, DEPTH = 16, 192, 64

action, *arguments = sys.argv[1:]
if action == "write":
    path, *slopes = arguments
    chance = random.Random(1)
    tensors = {name: [chance.gauss(0, 1) for _ in range(count * DEPTH)]
               for name, count in (("q", ROWS), ("k", KEYS), ("v", KEYS))}
    for row in range(ROWS):
        tensors["q"][row * DEPTH] = float(slopes[(row - 1) % len(slopes)]) if row else 0.0
    for key in range(KEYS):
        tensors["k"][key * DEPTH] = key / 8
    save(path, {name: ([1, 1, len(numbers) // DEPTH, DEPTH], numbers)
                for name, numbers in tensors.items()})
else:
    first, second = (load(path)["o"][1] for path in arguments)
    assert first[:DEPTH] == second[:DEPTH], "expected equal bits of the first row, found others"
    assert first[DEPTH:] != second[DEPTH:], "expected other rows to differ"
    print("the first row is the same")
