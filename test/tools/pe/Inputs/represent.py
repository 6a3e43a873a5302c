"""Represents an example as progressive interpolation and compares the materialized biases of both
for every pair of positions up to the length:

    represent.py EXAMPLES NAME LENGTH PREFIX PARAMETER=SHAPE:LOW:HIGH...

Prints the largest difference as "bitwise", or "within 1e-6" of the largest value."""

import math
import random
import subprocess
import sys

from tensors import load, save

HEADS = 4


def materialize(program, parameters, length, prefix):
    shape = [1, HEADS, length + 1, 8]
    data = {name: (shape, [0.0] * math.prod(shape)) for name in "qkv"}
    save(prefix + ".in", {**data, **parameters})
    subprocess.run(["pe", "run", program, f"--in={prefix}.in", f"--out={prefix}.out",
                    "--materialize"], check=True, stderr=subprocess.DEVNULL)
    return load(prefix + ".out")


def main(examples, name, length, prefix, *specifications):
    parameters = {}
    for specification in specifications:
        parameter, rest = specification.split("=")
        shape, low, high = rest.split(":")
        shape = [int(size) for size in shape.split("x")]
        generator = random.Random(parameter)
        parameters[parameter] = (shape, [generator.uniform(float(low), float(high))
                                         for _ in range(math.prod(shape))])
    save(prefix + ".p", parameters)
    source = f"{examples}/{name}.mlir"
    subprocess.run(["pe", "represent", source, f"--length={length}", f"--in={prefix}.p",
                    f"--heads={HEADS}", f"--out={prefix}.mlir", f"--out-params={prefix}.q"],
                   check=True)
    old = materialize(source, parameters, int(length), prefix + ".old")
    new = materialize(prefix + ".mlir", load(prefix + ".q"), int(length), prefix + ".new")
    size = int(length) + 1
    for kind in ("bias_reference", "bias"):
        worst = largest = 0.0
        a, b = old[kind][1], new[kind][1]
        for row in range(HEADS * size):
            for place in range(row * size, row * size + row % size + 1):
                worst = max(worst, abs(a[place] - b[place]))
                largest = max(largest, abs(a[place]))
        verdict = "bitwise" if worst == 0 else (
            "within 1e-6" if worst <= 1e-6 * largest else f"{worst / largest:.3g} of the largest")
        print(name, kind, "of", f"{largest:.3g}:", verdict)


main(*sys.argv[1:])
