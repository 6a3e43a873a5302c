# Checks that every example is in the contract's table, and that rows without an example are marked
# "not built". Arguments: docs/contract.md and the directory of the examples.
import os
import re
import sys

contract, folder = sys.argv[1:]
text = open(contract, encoding="utf-8").read()
table = text.split("| file | parameters by name")[1].split("\n\n")[0].split("\nAbsolute")[0]
problems, known = [], set()
for row in re.findall(r"^\| (.*?) \|", table, re.M):
    is_built = "not built" not in row
    names = re.sub(r": not built$", "", re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", row))
    for name in filter(None, (part.strip() for part in names.split(","))):
        if not re.fullmatch(r"\w+", name):
            continue
        known.add(name)
        exists = os.path.exists(os.path.join(folder, name + ".mlir"))
        if exists != is_built:
            problems.append(f"{name}: {'exists but' if exists else 'missing, but not'} 'not built'")
absolute = text.split("\nAbsolute encodings")[1].split("`[B,S,Dm]`: ")[1].split(". Row s")[0]
for name in re.split(r",\s+|\s+and\s+", re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", absolute)):
    known.add(name.strip())
    if not os.path.exists(os.path.join(folder, name.strip() + ".mlir")):
        problems.append(f"{name.strip()}: missing")
for file in sorted(os.listdir(folder)):
    if file.endswith(".mlir") and file[:-5] not in known:
        problems.append(f"{file} is not in the table")
print(f"{len(known)} encodings in the table")
print("\n".join(problems))
sys.exit(1 if problems or len(known) < 40 else 0)
