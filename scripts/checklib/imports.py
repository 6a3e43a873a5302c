"""Checks the imports of the Python package: every import, also one inside a function, obeys the
rooms of rooms.py, and no modules import each other in a cycle.

Imports under `if TYPE_CHECKING` never run. They obey the rooms but cannot close a cycle.
"""

import ast
import pathlib

from checklib import rooms, tree


def module_of(path):
    """Returns the dotted name of a module below rooms.PACKAGE; the package itself is ""."""
    parts = pathlib.Path(path).relative_to(rooms.PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module):
    """Returns the room of a module, or None if its directory has none."""
    first, _, rest = module.partition(".")
    for room, (members, _) in rooms.PYTHON_ROOMS.items():
        if (first or "__init__") in members:
            return room
    return None if rest else "core"


def type_imports(syntax):
    """Returns the imports under `if TYPE_CHECKING`."""
    return {inner for node in ast.walk(syntax)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for statement in node.body for inner in ast.walk(statement)}


def named(node, package, modules):
    """Returns the modules of the package that an import names. `package` contains the importing
    module, as a list of names from the top."""
    names = []
    if isinstance(node, ast.Import):
        names = [alias.name.split(".") for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        start = package[:len(package) - node.level + 1] if node.level else []
        base = start + (node.module.split(".") if node.module else [])
        names = [base + [alias.name] for alias in node.names]
    found = set()
    for top, *rest in names:
        if top == "pe_attention":
            prefixes = [".".join(rest[:length]) for length in range(len(rest) + 1)]
            found.add([prefix for prefix in prefixes if prefix in modules][-1])
    return found


def imports_of(root, path, modules):
    """Returns (line, module of the package, True if the import runs) for each import of a file."""
    syntax = ast.parse((root / path).read_text(encoding="utf-8"), str(path))
    package = list(path.parent.relative_to(pathlib.Path(rooms.PACKAGE).parent).parts)
    never_run = type_imports(syntax)
    return [(node.lineno, other, node not in never_run) for node in ast.walk(syntax)
            for other in sorted(named(node, package, modules))]


def executed(module, other):
    """Returns the modules that run when `module` imports `other`: itself, and the package that
    contains it unless that has been imported for `module`."""
    package = other.rpartition(".")[0]
    return {other} if package in ("", module, module.rpartition(".")[0]) else {other, package}


def cycles(graph):
    """Returns a path for each edge that closes a cycle in a depth-first walk."""
    found, state, path = [], {}, []

    def visit(module):
        state[module] = "open"
        path.append(module)
        for other in sorted(graph[module]):
            if state.get(other) == "open":
                found.append([*path[path.index(other):], other])
            elif other not in state:
                visit(other)
        path.pop()
        state[module] = "done"

    for module in sorted(graph):
        if module not in state:
            visit(module)
    return found


def check(root):
    paths = {module_of(path): path for path in tree.files(root, rooms.PACKAGE)
             if path.suffix == ".py"}
    problems, graph, lines = [], {}, {}
    for module, path in paths.items():
        room, graph[module] = room_of(module), set()
        if room is None:
            problems.append(f"{path}:1: expected a room of PYTHON_ROOMS in "
                            f"scripts/checklib/rooms.py; add it there")
            continue
        for line, other, runs in imports_of(root, path, paths):
            if room_of(other) not in (None, room, *rooms.PYTHON_ROOMS[room][1]):
                problems.append(f"{path}:{line}: {room} may not import {room_of(other)} "
                                f"({other or 'pe_attention'})")
            for target in executed(module, other) & paths.keys() if runs else ():
                graph[module].add(target)
                lines[module, target] = line
    for cycle in cycles(graph):
        names = " -> ".join(module or "pe_attention" for module in cycle)
        problems.append(f"{paths[cycle[0]]}:{lines[cycle[0], cycle[1]]}: expected no cycle of "
                        f"imports, found {names}; move what they share into a module that "
                        f"imports neither")
    return problems
