"""Checks the output of `pe compare`: check_compare.py DIRECTORY [RESULTS OF AN EARLIER RUN]

The table must be the mean over the runs in the directory. A resumed run must have the numbers of
the earlier one.
"""

import json
import pathlib
import statistics
import sys

folder = pathlib.Path(sys.argv[1])
encodings = json.loads((folder / "results.json").read_text())["encodings"]
assert len(encodings) == 4, list(encodings)
for name, row in encodings.items():
    prefix = "".join(c if c.isalnum() or c in "=.-" else "_" for c in name) + "-seed"
    cells = [json.loads(path.read_text()) for path in (folder / "cells").iterdir()
             if path.name.startswith(prefix)]
    assert len(cells) == row["seeds"] == 2, name
    for length in ("16", "32"):
        values = [dict(map(tuple, cell["bits"]))[int(length)] for cell in cells]
        assert abs(row["bits_per_char"][length] - statistics.mean(values)) < 1e-12
        assert abs(row["deviation"][length] - statistics.stdev(values)) < 1e-12
        assert values[0] != values[1]
    assert [step for step, _ in row["evaluations"]] == [5, 10, 15, 20]
page = (folder / "report.html").read_text()
assert "Held-out loss between steps" in page and "±" in page
if len(sys.argv) > 2:
    before = json.loads(pathlib.Path(sys.argv[2]).read_text())["encodings"]
    for name, row in encodings.items():
        for key in ("bits_per_char", "deviation", "evaluations"):
            assert row[key] == before[name][key], (name, key)
