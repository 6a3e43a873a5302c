"""Checks the useful work that `pe run --time` prints against pairs counted here.

    count_pairs.py FOLDER
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


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, (formula, keeps) in enumerate(MASKS.items()):
        source = folder / f"mask{number}.mlir"
        source.write_text(PROGRAM.format(formula))
        run = subprocess.run(
            ["pe", "run", str(source), "--random=1", "--time=1",
             f"--shape=b=2,h={HEADS},sq={LENGTH},d={DEPTH}"], capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(run.stderr)
        line = json.loads(run.stdout.splitlines()[0])
        found = line["forward_gflops"] * 1e9 * line["forward_seconds"] / (4 * DEPTH)
        pairs = 2 * sum(keeps(h, i, j) for h in range(HEADS) for i in range(LENGTH)
                        for j in range(LENGTH))
        if abs(found - pairs) > 0.5:
            sys.exit(f"{formula}: expected {pairs} pairs, found {found}")


if __name__ == "__main__":
    main()
