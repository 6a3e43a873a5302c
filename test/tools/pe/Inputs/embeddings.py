"""Checks the values of embeddings against their definitions, and errors of invalid tensors.

usage: embeddings.py DIRECTORY PE EXAMPLES
"""

import math
import pathlib
import subprocess
import sys

from tensors import load, save

DIRECTORY, PE, EXAMPLES = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
POSITIONS, WIDTH, START, MAX = 3, 16, 1234, 5000


def run(name, tensors, *options):
    """Returns the results of an embedding, or its error message."""
    DIRECTORY.mkdir(exist_ok=True)
    save(DIRECTORY / "in.safetensors", tensors)
    command = [PE, "run", EXAMPLES / f"{name}.mlir", f"--in={DIRECTORY}/in.safetensors",
               f"--out={DIRECTORY}/out.safetensors", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return load(DIRECTORY / "out.safetensors") if done.returncode == 0 else done.stderr


def expected(name, p, d):
    """Returns the value at a position and a dimension."""
    pair = 10000 ** (2 * (d // 2) / WIDTH)
    wave = math.cos(p / pair) if d % 2 else math.sin(p / pair)
    n = START + POSITIONS
    return {
        "sinusoidal": wave,
        "learned": table(p, d),
        "algebraic": p / (MAX - 1) ** (d / (WIDTH - 1)),
        "algebraic_normalized": (p / (MAX - 1)) ** (d / (WIDTH - 1)),
        "binary": (p >> d) & 1 if d < 13 else 0,
        "mixture": 0.25 * wave + 0.75 * table(MAX - n + p, d),
    }[name]


def table(row, d):
    """Returns an entry of the tables, exact in f32."""
    return (row % 64) / 8 + d


def main():
    """Compares every embedding with its definition."""
    zeros = ([1, POSITIONS, WIDTH], [0.0] * (POSITIONS * WIDTH))
    rows = {"learned": ("table", MAX), "mixture": ("rel", 2 * MAX - 1)}
    for name in ("sinusoidal", "learned", "algebraic", "algebraic_normalized", "binary", "mixture"):
        tensors = {"x": zeros}
        if name in rows:
            argument, count = rows[name]
            tensors[argument] = ([count, WIDTH],
                                 [table(r, d) for r in range(count) for d in range(WIDTH)])
        if name == "mixture":
            tensors["alpha"] = ([], [0.25])
        results = run(name, tensors, f"--q-start={START}")
        assert isinstance(results, dict), results
        shape, found = results["y"]
        assert shape == zeros[0], shape
        for s in range(POSITIONS):
            for d in range(WIDTH):
                right = expected(name, START + s, d)
                error = abs(found[s * WIDTH + d] - right)
                assert error <= 1e-6 * max(1.0, abs(right)), (name, s, d, right, error)
    message = run("sinusoidal", {"x": ([2, 8], [0.0] * 16)})
    assert "tensor 'x': expected shape [b, sq, dm], found [2, 8]" in message, message


main()
