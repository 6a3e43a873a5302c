"""Changes the build of pe that finished runs record: DIRECTORY PATTERN."""

import pathlib
import sys

cells = list(pathlib.Path(sys.argv[1]).glob(sys.argv[2]))
assert cells, "expected finished runs, found none"
for cell in cells:
    cell.write_text(cell.read_text().replace('"build":"', '"build":"0'))
