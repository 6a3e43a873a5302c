"""Writes calls with lengths per batch entry to FILE.good, FILE.f32 and FILE.shape.

Keys beyond the lengths are NaN. The lengths of FILE.f32 and FILE.shape have another type and shape.
"""

import array
import random
import sys

import tensors

BATCH, HEADS, KEYS, DEPTH = 3, 2, 12, 8
LENGTHS = [5, 0, 12]
random.seed(1)


def keys():
    return [random.gauss(0, 1) if s < LENGTHS[b] else float("nan")
            for b in range(BATCH) for _ in range(HEADS) for s in range(KEYS) for _ in range(DEPTH)]


one = [random.gauss(0, 1) for _ in range(BATCH * HEADS * DEPTH)]
call = {"q": ([BATCH, HEADS, 1, DEPTH], one), "k": ([BATCH, HEADS, KEYS, DEPTH], keys()),
        "v": ([BATCH, HEADS, KEYS, DEPTH], keys()), "d_o": ([BATCH, HEADS, 1, DEPTH], one)}
lengths = array.array("i", LENGTHS)
tensors.save(sys.argv[1] + ".good", {**call, "kv_len": ([BATCH], lengths)})
tensors.save(sys.argv[1] + ".f32", {**call, "kv_len": ([BATCH], LENGTHS)})
tensors.save(sys.argv[1] + ".shape", {**call, "kv_len": ([BATCH, 1], lengths)})
