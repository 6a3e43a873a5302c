"""Checks that every mlir example in the op descriptions of dialect/PE parses and verifies.

The examples are fragments: undefined values get the types that their uses imply.

usage: op_examples.py DIALECT_DIRECTORY PE_OPT
"""

import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"```mlir\n(.*?)```", re.DOTALL)
COORDINATE, BIAS, MASK, ROTATION = "!pe.coordinate", "!pe.bias", "!pe.mask", "!pe.rotation"
SCORE, PROLOGUE = "!pe.score", "!pe.prologue"
ADJOINT = "!pe.adjoint"
EMBEDDING = "!pe.embedding"

# Patterns whose groups are operand names, with the type of these operands.
PLACES = [
    (r"pe\.(?:linear|table|power|mlp|cosine_sum) (%\w+)", COORDINATE),
    (r"pe\.add (%\w+), (%\w+)", BIAS),
    (r"pe\.scale (%\w+)", BIAS),
    (r"pe\.mask_(?:and|or) (%\w+), (%\w+)", MASK),
    (r"rotate\((%\w+)\)", ROTATION),
    (r"prologue\((%\w+)\)", PROLOGUE),
    (r"pe\.prologue_pullback %\w+, (%\w+)", ADJOINT),
    (r"mask\((%\w+)\)", MASK),
    (r"pe\.global_head (%\w+)", "index"),
    (r"pe\.mlp_eval (%\w+)", "f32"),
    (r"pe\.mlp_eval %\w+, (%\w+)", "index"),
    (r"pe\.cosine_sum_eval (%\w+)", "f32"),
    (r"pe\.yield (%\w+)", "f32"),
    (r"pe\.pullback (%\w+)", BIAS),
    (r"pe\.pullback %\w+, (%\w+)", ADJOINT),
    (r"pe\.score_pullback (%\w+)", SCORE),
    (r"pe\.weight_pullback %\w+, (%\w+)", ADJOINT),
    (r"pe\.score_pullback %\w+, (%\w+)", ADJOINT),
    (r"pe\.embed %\w+, (%\w+)", EMBEDDING),
    (r"pe\.embedding_pullback (%\w+)", EMBEDDING),
    (r"pe\.add_adjoints (%\w+), (%\w+)", ADJOINT),
]
# Patterns with a group of names and a group of their types.
LISTS = [
    r"\((%[\w%, ]+)\s*: ([^()]+)\)",
    r"pe\.table %\w+, (%\w+) : (\S+)",
    r"pe\.read (%\w+)\[[^\]]*\] : (\S+)",
    r"pe\.attention (%\w+, %\w+, %\w+)[^:]*: \(([^()]*)\)",
    r"pe\.attention_grad (%\w+, %\w+)\s*: \(([^()]*)\)",
    r"pe\.merge (%\w+, %\w+, %\w+, %\w+)\s*: \(([^()]*)\)",
    r"pe\.merge_grad (%\w+, %\w+) lse\([^)]*\)\s*: \(([^()]*)\)",
    r"pe\.zeros_like (%\w+) : (\S+)",
    r"pe\.axis_size (%\w+), \d+ : (\S+)",
    r"pe\.embed (%\w+), %\w+(?: dropout\([^)]*\))? : (\S+)",
    r"pe\.embed_grad (%\w+) dropout\([^)]*\) : (\S+)",
    r"dropout\([\d.]+, (%\w+) : ([^()]+)\)",
    r"pe\.embedding_pullback %\w+, (%\w+) : (\S+)",
    r"pe\.query_shift (%\w+) : (\S+)",
    r"pe\.rotary (%\w+) : (\S+)",
    r"pe\.dropout_factor [\d.]+, (%\w+) : (\S+)",
    r"pe\.document(?:s|_bounds) (%\w+) : (\S+)",
    r"pe\.rotation_table (%\w+, %\w+) : (.*)",
]


def types_of(example):
    """Returns the types of the values whose uses determine it."""
    found = {}
    for pattern, value_type in PLACES:
        for match in re.finditer(pattern, example):
            found.update((name, value_type) for name in match.groups())
    for names in re.findall(r"bias\(([^)]*)\)", example):
        found.update((name.strip(), BIAS) for name in names.split(","))
    for indices in re.findall(r"pe\.read %\w+\[([^\]]*)\]", example):
        found.update((name.strip(), "index") for name in indices.split(","))
    for pattern in LISTS:
        for names, types in re.findall(pattern, example):
            found.update(zip((name.strip() for name in names.split(",")),
                             (one.strip() for one in types.split(","))))
    return found


def program(example):
    """Returns the fragment as a module."""
    if example.lstrip().startswith("func.func"):
        return example
    if example.startswith("#pe."):
        return f'"test.use"() {{attribute = {example.strip()}}} : () -> ()'
    results = re.findall(r"((?:%\w+, )*%\w+) =", example)
    defined = set(re.findall(r"%\w+", " ".join(results))) | set(re.findall(r"(%\w+): ", example))
    values = [f'{name} = "test.value"() : () -> {value_type}'
              for name, value_type in types_of(example).items() if name not in defined]
    body = "\n".join(values) + "\n" + example
    if example.lstrip().startswith("pe.yield"):
        point = "%b: index, %h: index, %i: index, %j: index"
        return (f"func.func @f() {{ %0 = pe.bias_fn {{\n^bb0({point}):\n"
                f"%v = arith.constant 1.0 : f32\n{example}}}\nreturn }}")
    return f"func.func @f() {{\n{body}\nreturn\n}}"


def main():
    directory, opt = pathlib.Path(sys.argv[1]), sys.argv[2]
    failed, count = 0, 0
    for path in sorted(directory.glob("*.td")):
        text = path.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            lines = match[1].splitlines()
            indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
            source = program("\n".join(line[indent:] for line in lines) + "\n")
            count += 1
            # Run each example separately, so that it cannot use values of another.
            result = subprocess.run([opt, "--allow-unregistered-dialect", "-o", "/dev/null", "-"],
                                    input=source, capture_output=True, text=True, check=False)
            if result.returncode:
                failed += 1
                line = text.count("\n", 0, match.start()) + 1
                print(f"{path}:{line}: example does not verify\n{source}\n{result.stderr}")
    print(f"{count} examples, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
