"""Compares the structure that the compiler finds in every example with a table.

usage: check_structure.py EXAMPLES TABLE

A line of the table has the name of a file and, per attention, its normalizer, its other clauses and
the class of each term: `softmax score=queries sink segments`. A file without a line, a line without
a file and a different structure are errors.
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys

PASSES = ["--pe-prepare", "--pe-structure-pipeline", "--pe-explain-structure=json", "-o",
          "/dev/null"]


def structure_of(path):
    result = subprocess.run(["pe-opt", str(path), *PASSES], capture_output=True, text=True)
    if result.returncode != 0:
        return result.stderr.strip()
    found = json.loads(result.stdout)
    attentions = []
    for attention in found["attentions"]:
        words = [attention["normalizer"]]
        if attention["score"]:
            words.append("score=" + ("queries" if attention["score"]["in_queries"] else "each"))
        words += [mode for mode in ("sink", "factor", "dropout") if attention.get(mode)]
        words += [term["class"] for term in attention["terms"]]
        words += ["content=" + content["class"] for content in attention.get("contents", [])]
        if "value_content" in attention:
            words.append("value_content=" + attention["value_content"]["class"])
        attentions.append(" ".join(words))
    attentions += [embedding["class"] for embedding in found.get("embeddings", [])]
    attentions += ["merge of " + merge["normalizer"] for merge in found.get("merges", [])]
    return "; ".join(attentions)


def main(examples, table):
    expected = {}
    for line in pathlib.Path(table).read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, structure = line.partition(": ")
            expected[name] = structure
    files = {path.stem: path for path in pathlib.Path(examples).glob("*.mlir")}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(files, pool.map(structure_of, files.values())))
    wrong = 0
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            wrong += 1
            print(f"{name}: expected {expected.get(name, 'a line in ' + table)}, "
                  f"found {found.get(name, 'no such file')}")
    print(f"{len(files)} files, {wrong} differ")
    return 1 if wrong else 0


sys.exit(main(*sys.argv[1:]))
