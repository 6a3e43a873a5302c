"""Compares attentions that share a bias with separate calls: EXAMPLES PREFIX.

Results of fire_shared.mlir are those of fire.mlir bit for bit, and the gradients of its parameters
the sums of those of two calls within 2e-6."""

import math
import random
import subprocess
import sys

from tensors import load, save

SHAPE = [2, 4, 130, 16]
PARAMETERS = {"c": [], "L_multiplier": [], "w1": [32], "b1": [32], "w2": [4, 32], "b2": [4]}


def run(program, inputs, prefix):
    save(prefix + ".in", inputs)
    subprocess.run(["pe", "run", program, f"--in={prefix}.in", f"--out={prefix}.out", "--grad"],
                   check=True)
    return load(prefix + ".out")


def main(examples, prefix):
    generator = random.Random(1)

    def draw(shape):
        return shape, [generator.gauss(0, 1) for _ in range(math.prod(shape))]

    parameters = {name: draw(shape) for name, shape in PARAMETERS.items()}
    parameters["c"] = ([], [0.1])
    parameters["L_multiplier"] = ([], [0.1])  # rows on both sides of L = 51
    layers = [{name: draw(SHAPE) for name in ("q", "k", "v", "d_o")} for _ in range(2)]
    together = dict(parameters)
    for number, layer in enumerate(layers, 1):
        together.update({f"{name}{number}": tensor for name, tensor in layer.items()})
    shared = run(f"{examples}/fire_shared.mlir", together, prefix + ".shared")
    apart = [run(f"{examples}/fire.mlir", {**parameters, **layer}, prefix + f".{number}")
             for number, layer in enumerate(layers)]
    same = all(shared[name + str(number)] == one[name] for number, one in enumerate(apart, 1)
               for name in ("o", "d_q", "d_k", "d_v"))
    print("results and gradients of data:", "bitwise" if same else "DIFFERENT")
    for name in PARAMETERS:
        found = shared["d_" + name][1]
        expected = [sum(values) for values in zip(*(one["d_" + name][1] for one in apart))]
        # The terms of both calls cancel in part, so the error is relative to the summands.
        size = math.sqrt(sum(value * value for one in apart for value in one["d_" + name][1]))
        error = math.sqrt(sum((a - b) ** 2 for a, b in zip(found, expected)))
        print(f"d_{name}:", "within 2e-6" if error <= 2e-6 * size else f"off by {error / size:.3g}")


main(*sys.argv[1:])
