"""Checks that every experiment has a README.md and is named in the test of experiments and in
docs/training.md: ROOT TEST."""

import pathlib
import sys

root, test = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text()
page = (root / "docs/training.md").read_text()
names = [path.parent.name for path in root.glob("examples/*/experiment.json")]
assert len(names) == 9, names
for name in names:
    assert f"= {name}\n" in test, f"{name} is not in the test"
    assert name in page, f"{name} is not in docs/training.md"
    assert (root / "examples" / name / "README.md").exists(), f"{name} has no README.md"
