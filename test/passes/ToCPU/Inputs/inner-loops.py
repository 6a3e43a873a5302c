"""Counts the instructions of the innermost loops of an assembly file that multiply and add.

Prints a line per loop of at least 16 multiply-adds: the numbers of multiply-adds, broadcasts from
memory, vector loads, and moves of a vector between a register and the stack frame (spills).
"""

import re
import sys

text = open(sys.argv[1]).read()
labels = {}
lines = text.split("\n")
for number, line in enumerate(lines):
    label = re.match(r"(\.LBB\w+):", line)
    if label:
        labels[label.group(1)] = number
    jump = re.match(r"\tj\w+\t(\.LBB\w+)", line)
    if not jump or labels.get(jump.group(1), number) >= number:
        continue
    body = lines[labels[jump.group(1)] : number]
    if sum(bool(re.match(r"\.LBB", other)) for other in body) > 1:
        continue  # not innermost
    count = lambda pattern: sum(bool(re.search(pattern, other)) for other in body)
    fmas = count(r"\tvfmadd")
    if fmas < 16:
        continue
    loads = count(r"\tvmov[au]ps\t[^%].*, %[yz]mm")
    frame = count(r"-byte (Spill|Reload|Folded)")
    broadcasts = count(r"vbroadcastss")
    print(f"{fmas} multiply-adds, {broadcasts} broadcasts, {loads} loads, {frame} on the stack")
