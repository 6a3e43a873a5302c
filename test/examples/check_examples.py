"""Runs a command on every example and prints the names of those that fail.

usage: check_examples.py DIRECTORY COMMAND...   ({} in COMMAND is replaced by the file)
"""

import pathlib
import subprocess
import sys


def main() -> int:
    directory, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    examples = sorted(directory.glob("*.mlir"))
    if not examples:
        print(f"error: no examples in {directory}", file=sys.stderr)
        return 1
    failed = []
    for example in examples:
        arguments = [argument.replace("{}", str(example)) for argument in command]
        result = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            failed.append(example.name)
            print(result.stderr, file=sys.stderr)
    print(f"{len(examples)} examples, {len(failed)} failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
