"""Writes 12 short text files to train with: DIRECTORY [LINES]."""

import pathlib
import sys

directory, lines = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
for number in range(12):
    (directory / f"{number}.txt").write_text(f"text number {number} to learn from\n" * lines)
