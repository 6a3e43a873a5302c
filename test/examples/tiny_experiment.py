"""Writes a copy of an example experiment that runs in seconds.

usage: tiny_experiment.py ROOT NAME OUT [ROW...]

Keeps the rows, starts and claims of ROOT/examples/NAME, or only the given rows and the claims about
them, but reduces models, lengths and steps. The fields of `quick` must be fields of the experiment.
"""

import json
import pathlib
import sys

SIZES = {"layers": 1, "dim": 16, "heads": 2, "kv-heads": 2, "seq": 16, "batch": 2, "warmup": 1,
         "threads": 1, "seeds": "0,1", "eval-interval": 0, "eval-lengths": "16,32"}


def shrink(root, flags, preset):
    """Replaces sizes by those of `preset`, and paths by paths below `root`."""
    for name in flags:
        if name in preset:
            flags[name] = preset[name]
    if flags.get("steps"):
        flags["steps"] = 2
    if flags.get("redo-interval"):
        flags["redo-interval"] = 1
    for name in ("data", "encoding"):
        if (root / flags.get(name, "-")).exists():
            flags[name] = str(root / flags[name])


def patch(whole, changes):
    """Applies a merge patch, so that the changes of --quick are tested."""
    for name, change in changes.items():
        if isinstance(change, dict):
            patch(whole[name], change)
        else:
            whole[name] = change


def is_about(claim, rows):
    sides = [claim[side] for side in ("lower", "than")]
    return all(side.rpartition("@")[0] in rows for side in sides if isinstance(side, str))


def move(claim, columns, length):
    """Replaces the lengths in a claim by an evaluated length; names of columns are kept."""
    for side in ("lower", "than"):
        row, at, column = str(claim[side]).rpartition("@")
        if at and column not in columns:
            claim[side] = f"{row}@{length}"


def main(root, name, out, *chosen):
    root = pathlib.Path(root)
    experiment = json.loads((root / "examples" / name / "experiment.json").read_text())
    quick = experiment.pop("quick")
    for field, rows in quick.items():
        assert field == "flags" or rows.keys() <= experiment[field].keys(), (field, list(rows))
    patch(experiment, quick)
    preset = SIZES | ({"seq": 20, "eval-lengths": "20,29"} if "addition" in name else {})
    flags = experiment["flags"] = {"data": "docs", "steps": 2} | experiment["flags"]
    flags |= preset
    groups = [*experiment.get("rows", {}).values(), *experiment.get("starts", {}).values()]
    for group in [flags, *groups]:
        shrink(root, group, preset)
    rows = experiment.get("encodings", []) + list(experiment.get("rows", {}))
    for claim in experiment["claims"]:
        assert is_about(claim, rows), claim
        move(claim, experiment.get("columns", []), preset["eval-lengths"].rpartition(",")[2])
    if chosen:
        assert set(chosen) <= set(rows), chosen
        experiment["encodings"] = [row for row in experiment.get("encodings", []) if row in chosen]
        experiment["rows"] = {row: own for row, own in experiment.get("rows", {}).items()
                              if row in chosen}
        experiment["claims"] = [claim for claim in experiment["claims"] if is_about(claim, chosen)]
    pathlib.Path(out).write_text(json.dumps(experiment))


main(*sys.argv[1:])
