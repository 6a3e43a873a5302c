"""Checks the useful work that `pe run --time` prints against pairs counted here.

    count_pairs.py DIRECTORY
"""

import json
import pathlib
import subprocess
import sys

HEADS, LENGTH, DEPTH = 3, 150, 16

PROGRAM = """!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {{pe.name = "q"}}, %k: !t {{pe.name = "k"}}, %v: !t {{pe.name = "v"}},
             %n: tensor<?xi32> {{pe.name = "n", pe.axes = ["batch"],
                                     pe.init = "integers(70,71)"}}) -> (!t {{pe.name = "o"}}) {{
  %m = pe.mask_fn(%n : tensor<?xi32>) expr "{0}"
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}}
"""

MASKS = {
    "j <= i and j < n[b]": lambda h, i, j: j <= i and j < 70,
    "j <= i and (i - j) % 3 == n[b] % 3": lambda h, i, j: j <= i and (i - j) % 3 == 1,
    "i // 40 == j // 40 and j > h and j < n[b]": lambda h, i, j: i // 40 == j // 40 and h < j < 70,
}


# Masks other than mask_fn: (arguments, operations, clauses, kept pairs), for one batch entry.
SOURCE = """!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {{pe.name = "q"}}, %k: !t {{pe.name = "k"}}, %v: !t {{pe.name = "v"}}{0})
    -> (!t {{pe.name = "o"}}) {{
  %c = pe.causal
  {1}
  %o = pe.attention %q, %k, %v {2} : (!t, !t, !t) -> !t
  return %o : !t
}}
"""
STICK = "{normalizer = #pe.normalizer<stick_breaking>, "
HALVES = "%m = pe.mask_fn expr \"i // 75 == j // 75\""
POSITIONS = (', %p: tensor<?x?xi32> {pe.name = "p", pe.init = "integers(7,8)"}, '
             '%r: tensor<?x?xi32> {pe.name = "r", pe.init = "integers(7,8)"}')
FORMS = [
    (', %d: tensor<?xi32> {pe.name = "d", pe.axes = ["boundaries"]}',
     "%e = pe.documents %d : tensor<?xi32> {restart = true} %m = pe.mask_and %c, %e",
     "mask(%m)", lambda i, j: j <= i),
    (POSITIONS, "", "positions(%p, %r : tensor<?x?xi32>, tensor<?x?xi32>) mask(%c)",
     lambda i, j: True),
    ("", HALVES + " %n = pe.mask_and %m, %c", "mask(%n) " + STICK + "attend_current}",
     lambda i, j: i // 75 == j // 75 and j <= i),
    ("", HALVES, "mask(%m) " + STICK + "direction = #pe.direction<both>}",
     lambda i, j: i // 75 == j // 75 and i != j),
]


def count(source, shape):
    run = subprocess.run(["pe", "run", str(source), "--random=1", "--time=1", f"--shape={shape}"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    line = json.loads(run.stdout.splitlines()[0])
    return line["forward_gflops"] * 1e9 * line["forward_seconds"] / (4 * DEPTH)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, (formula, keeps) in enumerate(MASKS.items()):
        source = folder / f"mask{number}.mlir"
        source.write_text(PROGRAM.format(formula))
        found = count(source, f"b=2,h={HEADS},sq={LENGTH},d={DEPTH}")
        pairs = 2 * sum(keeps(h, i, j) for h in range(HEADS) for i in range(LENGTH)
                        for j in range(LENGTH))
        if abs(found - pairs) > 0.5:
            sys.exit(f"{formula}: expected {pairs} pairs, found {found}")
    for number, (arguments, operations, clauses, keeps) in enumerate(FORMS):
        source = folder / f"form{number}.mlir"
        source.write_text(SOURCE.format(arguments, operations, clauses))
        sizes = ",boundaries=2" if "boundaries" in arguments else ""
        found = count(source, f"b=1,h={HEADS},sq={LENGTH},d={DEPTH}{sizes}")
        pairs = HEADS * sum(keeps(i, j) for i in range(LENGTH) for j in range(LENGTH))
        if abs(found - pairs) > 0.5:
            sys.exit(f"{clauses}: expected {pairs} pairs, found {found}")


if __name__ == "__main__":
    main()
