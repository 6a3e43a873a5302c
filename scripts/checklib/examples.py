"""Reads the tables of examples/encodings."""

from checklib import tree


def classes():
    """Returns the class of every example by file name, from the table that a test compares."""
    lines = (tree.ROOT / "test/examples/structure.txt").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))
