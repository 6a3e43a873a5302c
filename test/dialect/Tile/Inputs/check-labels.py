"""Checks that every constraint label is in the verifiers, docs/spec-tile.md and a negative test.

usage: check-labels.py ROOT
"""

import pathlib
import re
import sys


def expand(text):
    """Returns the labels in `text`, such as `load-C1` and the shorthand `store-C1, C2, C3`."""
    labels = set()
    for name, numbers in re.findall(r"\b([a-z_]+)-(C\d+(?:, C\d+)*)", text):
        labels.update(f"{name}-{number}" for number in numbers.split(", "))
    return labels


def main(root):
    sources = [*(root / "dialect" / "Tile").glob("*Verifiers.cpp"),
               *(root / "dialect" / "Step").glob("*.[ch]*"),
               *(root / "passes" / "Schedule").glob("*.[ch]*"),
               root / "runtime" / "jit" / "LoweredProgram.cpp"]
    code = "".join(path.read_text() for path in sorted(sources))
    labels = expand(code)
    # In rules that several ops share, the name and the number are separate.
    for name in re.findall(r'verifyMemory\(\*this, "(\w+)"\)', code):
        labels.update(f"{name}-C{n}" for n in (1, 2, 3, 4))
    for name in re.findall(r'"(read|write|accumulate)"', code):
        labels.update(f"{name}-C{n}" for n in (1, 2, 3))
    for name in re.findall(r'verifyWindow\(\*this, "(\w+)"', code):
        labels.update(f"{name}-C{n}" for n in (1, 2, 3))
    for name in re.findall(r'verifyIndex\(\*this, .*"(\w+)"\)', code):
        labels.update(f"{name}-C{n}" for n in (2, 3))
    cases = [path for room in ("Tile", "Step")
             for path in sorted((root / "test" / "dialect" / room).glob("errors*.mlir"))]
    tests = "".join(path.read_text() for path in cases)
    spec = expand((root / "docs" / "spec-tile.md").read_text())
    tested = expand("".join(re.findall(r"expected-error.*", tests)))
    for test in ("step.test", "cuda-errors.test"): # choices that do not fit a stage or a chip
        tested |= expand((root / "test" / "tools" / "pe" / test).read_text())
    missing = [f"{label}: not in docs/spec-tile.md" for label in sorted(labels - spec)]
    missing += [f"{label}: no negative test" for label in sorted(labels - tested)]
    missing += [f"{label}: in no verifier" for label in sorted((spec | tested) - labels)]
    print("\n".join(missing + [f"{len(labels)} labels"]))
    return 1 if missing or len(labels) < 80 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
