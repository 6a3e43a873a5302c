"""Checks the output of `pe compare` for an experiment.

usage: check_experiment.py FILE.json DIRECTORY

Every row must have two seeds, every row except baselines margins, and every claim a verdict. The
page must show the rows and claims.
"""

import html
import json
import pathlib
import sys


def main(path, folder):
    experiment = json.loads(pathlib.Path(path).read_text())
    folder = pathlib.Path(folder)
    results = json.loads((folder / "results.json").read_text())
    rows = results["encodings"]
    expected = experiment.get("encodings", []) + list(experiment.get("rows", {}))
    assert list(rows) == expected, (list(rows), expected)
    is_time = experiment.get("measure") == "forward-time"
    lengths = set(experiment["flags"]["eval-lengths"].split(","))
    baselines = experiment.get("baselines", expected[:1])
    for name, row in rows.items():
        assert row["seeds"] == 2, name
        values = row["milliseconds"] if is_time else row.get("accuracy") or row["bits_per_char"]
        assert set(values) == lengths, (name, values)
        assert all(value >= 0 for value in values.values()), (name, values)
        assert (name in baselines) != ("margin" in row), name
        if name not in baselines:
            assert row["baseline"] in baselines and set(row["margin"]) == lengths, name
        columns = set(experiment.get("columns", []))
        if "from" not in experiment.get("rows", {}).get(name, {}):
            columns.discard("SFE")
        assert set(row.get("more", {})) == columns, name
    claims = [claim["claim"] for claim in experiment["claims"]]
    assert [claim["claim"] for claim in results.get("claims", [])] == claims
    page = html.unescape((folder / "report.html").read_text())
    for shown in (experiment["title"], *expected, *claims):
        assert shown in page, shown


main(*sys.argv[1:])
