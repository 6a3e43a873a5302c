"""Runs pe-kernel-bench on encodings and calls; exits with 1 at the first difference.

usage: run-cases.py EXAMPLES sizes|few|parts|empty [--turn] ENCODING...

With --turn every encoding runs every second call, and its neighbours the others.
"""

import subprocess
import sys

# Rows and keys that are not multiples of a tile, more rows or more keys, grouped heads, depths that
# are not multiples of a vector, starts. Few rows: one split of the keys, or several.
CALLS = {
    "sizes": [
        "--r=37 --c=130",
        "--r=130 --c=37 --memory=begin",
        "--r=65 --c=63 --hq=4 --hkv=2 --d=40 --e=72",
        "--r=50 --c=100 --q_start=10 --k_start=3 --features=x86-64-v4",
        "--r=150 --c=150 --hq=3 --hkv=1 --b=2 --d=8 --e=24 --features=x86-64-v4",
    ],
    "few": [
        "--r=1 --c=130",
        "--r=8 --c=1100 --hq=4 --hkv=2 --d=40 --e=72 --memory=begin",
        "--r=5 --c=513 --hq=3 --hkv=1 --b=2 --d=8 --e=24 --features=x86-64-v4",
        "--r=3 --c=600 --set=key_block=24",
        "--r=8 --c=70 --q_start=-4",
        "--r=4 --c=0",
    ],
    # Rows in parts: each part is an item, or all parts are in one item.
    "parts": [
        "--r=130 --c=37 --set=part_rows=32",
        "--r=130 --c=150 --hq=4 --hkv=2 --d=40 --e=72 --set=part_rows=64",
        "--r=50 --c=100 --q_start=10 --k_start=3 --features=x86-64-v4 --set=part_rows=16",
        "--r=150 --c=150 --hq=3 --hkv=1 --b=2 --d=8 --e=24 --set=part_rows=32,split_below=1",
        "--r=0 --c=10 --set=part_rows=1",
        "--r=50 --c=70 --q_start=-20 --set=part_rows=16",
    ],
    "empty": ["--r=0 --c=10", "--r=10 --c=0", "--r=50 --c=100 --q_start=-20"],
}
# Sums that cancel under softmax; the conformance suite compares them with float64.
IGNORED = "d_w1,d_b1,d_w2,d_b2,d_w3,d_b3,d_c,d_L_multiplier"

examples, calls, encodings = sys.argv[1], sys.argv[2], sys.argv[3:]
step = 2 if encodings[0] == "--turn" else 1
for number, encoding in enumerate(encodings[step - 1:]):
    for call in CALLS[calls][number % step::step]:
        command = ["pe-kernel-bench", f"{examples}/{encoding}.mlir", "--grad=1", "--quiet=1"]
        command += ["--tolerance=1e-4", f"--ignore={IGNORED}"] + call.split()
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            print(" ".join(command), result.stdout, result.stderr, sep="\n")
            sys.exit(1)
