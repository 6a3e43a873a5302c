"""Checks that no stage of an encoding runs as plain loops, with or without gradients.

usage: no-loops.py DIRECTORY...

Prints the remarks of pe-tile-to-cpu, which name the stage and the reason, and exits with 1 if there
is one, or if no stage has lanes along keys.
"""

import pathlib
import re
import subprocess
import sys

problems, stages = [], 0
files = [path for name in sys.argv[1:] for path in sorted(pathlib.Path(name).glob("*.mlir"))]
for path in files:
    for grad in ("false", "true"):
        command = ["pe-opt", str(path), "--pe-prepare", "--pe-structure-pipeline",
                   f"--pe-to-tile=few-rows=8 grad={grad}", "--pe-schedule-cpu",
                   "--pe-tile-to-cpu"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        problems += re.findall(r"remark: .*", done.stderr)
        launches = re.findall(r"tile\.launch @(\w+) ", done.stdout)
        stages += sum(bool(re.search(r"_forward_(splits|few)$", name)) for name in launches)
print("\n".join(problems + [f"{len(files)} files, {stages} stages over the keys of few rows"]))
sys.exit(bool(problems) or stages < len(files))
