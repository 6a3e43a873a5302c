"""Kills `pe demo` as soon as it has printed its first row: kill_demo.py FLAG...

Prints the output until then.
"""

import subprocess
import sys

process = subprocess.Popen(["pe", "demo", *sys.argv[1:]], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
for line in process.stdout:
    print(line, end="")
    if line.startswith("alibi"):
        process.kill()
        break
process.wait()
