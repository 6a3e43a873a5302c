"""Common code of the checks of the source tree: lists the files and reports problems.

The checks read the directory instead of git's index, so that they also work in an archive.
"""

import argparse
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
IGNORED = re.compile(
    r"^(\.git|\.cache|\.vscode|\.idea|\.mypy_cache|\.pytest_cache|build.*|dist|__pycache__|"
    r"compile_commands\.json)$")
CODE = (".h", ".cpp", ".td", ".py", ".cmake", ".txt", ".mlir", ".test", ".md", ".json", ".sh",
        ".yml", ".yaml")


def files(root, under=""):
    """Returns the sorted paths below root/under, relative to root, without builds and caches."""
    found = []
    for directory, directories, names in os.walk(root / under):
        directories[:] = sorted(name for name in directories if not IGNORED.match(name))
        found += [pathlib.Path(directory, name).relative_to(root) for name in names
                  if not IGNORED.match(name)]
    return sorted(found)


def lines(root, path):
    """Returns (line number, text) of each line of a file, or an empty list if it is not text."""
    try:
        return list(enumerate((root / path).read_text(encoding="utf-8").splitlines(), start=1))
    except UnicodeDecodeError:
        return []


def is_code(path):
    return path.suffix in CODE or path.parts[0] in ("scripts", ".ci") or path.name == "Makefile"


def run(check, description):
    """Implements the main program of a check, which returns problems as "PATH:LINE: message"."""
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument("--root", default=ROOT, type=pathlib.Path, help="the source tree")
    problems = check(parser.parse_args().root.resolve())
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    sys.exit(1 if problems else 0)
