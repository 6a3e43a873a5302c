"""Checks the guarantees of docs/architecture.md for the tile IR of every encoding.

usage: check_tile_ir.py ROOT

- It is the same for every target that supports the type of activations: f32, and for every second
  file one of the narrow types in turn. The exception are the stages for calls with few rows, which
  CPUs and loops have in addition (AttentionForward.cpp): their programs are equal, and without
  these stages they are those of GPUs.
- Its operations are those of the tile dialect, scalar code (arith, math, scf), and loads and stores
  of scratch memory (memref.load, store); its memrefs are scratch memory; no word in it names a
  target or a target's features. Nor does such a word occur in the definitions of the dialect.
- It survives a round trip through its text.
"""

import pathlib
import re
import subprocess
import sys

DIALECTS = {"arith", "builtin", "math", "scf", "tile"}
MEMORY = {"memref.load", "memref.store"}
WORDS = re.compile(
    r"\b(vector|llvm|nvvm|nvgpu|gpu|cuda|ptx|spirv|rocdl|amdgpu|x86\w*|avx\w*|amx|simd|sm_\d+\w*"
    r"|cpu\w*|warps?|lanes?|cta|threads?|blocks?_(?:rows|columns|size)|shared\w*|registers?"
    r"|affine|linalg|async|mma|ldmatrix)\b")
# Scratch memory has a shape, an element type and no memory space.
PLAIN_MEMREF = re.compile(r"memref<(?:\d+x)*(?:f32|f64|i1|i32|i64|index)>")
TARGETS = {"f32": ["cpu", "loops", "cuda", "gpu-emulator"],
           "bf16": ["cuda", "gpu-emulator", "loops"], "tf32": ["cuda", "loops"]}
NARROW = ["bf16", "tf32"]
SEPARATOR = "\n// -----\n"
GPUS = {"cuda", "gpu-emulator"}
# The stages for few rows, their temporaries, and the attributes that other ops have with them.
FEW_STAGE = re.compile(r"^( *)tile\.stage @\w+_forward_(?:splits|merge|few) .*?^\1\}\n",
                       re.MULTILINE | re.DOTALL)
FEW_BUFFER = re.compile(r'^ *%\d+ = tile\.buffer "\w+_split\d+" .*\n', re.MULTILINE)
FEW_WORDS = re.compile(r'key_split = \d+ : i64, | when "r - \d+"')


def run(*command, text=None):
    """Returns the standard output of a program that must succeed."""
    return subprocess.run(command, input=text, check=True, text=True, stdout=subprocess.PIPE).stdout


def tile_ir(path, target, dtype):
    """Returns the tile IR of an encoding with its gradients; "loops" is not a target."""
    where = ["--lowering=loops"] if target == "loops" else [f"--target={target}"]
    chip = ["--chip=sm_80"] if target == "cuda" else []
    return run("pe", "compile", str(path), "--emit=tile", "--grad", "--head-dim=32",
               "--value-dim=16", f"--dtype={dtype}", *where, *chip)


def opt(texts, *options):
    """Returns what pe-opt prints for every program. One process reads all: starting costs more."""
    printed = run("pe-opt", "--split-input-file", *options, text=SEPARATOR.join(texts))
    results = printed.split(SEPARATOR)
    assert len(results) == len(texts)
    return [result.strip() for result in results]


def without_few_rows(text):
    """Returns the program without the stages for few rows; the others run for every call."""
    for pattern in (FEW_STAGE, FEW_BUFFER, FEW_WORDS):
        text = pattern.sub("", text)
    return text


def problems_of_text(text, generic):
    """Returns operations, types and words that are not allowed in tile IR."""
    # Ignores names that the user chose: of buffers, and of symbols derived from them.
    without_names = re.sub(r'(tile\.buffer) "[^"]*"', r"\1", text)
    without_names = re.sub(r"@\w+", "@", without_names)
    found = sorted(set(WORDS.findall(without_names)))
    for operation in sorted(set(re.findall(r'"(\w+\.\w+)"\(', generic))):
        if operation.split(".")[0] not in DIALECTS and operation not in MEMORY:
            found.append(operation)
    memrefs = set(re.findall(r"memref<[^>]*>", text))
    found += sorted(memref for memref in memrefs if not PLAIN_MEMREF.fullmatch(memref))
    return found


def compile_all(files):
    """Returns the tile IR of every file and type by target, with a name for messages."""
    compiled = {}
    for number, path in enumerate(files):
        for dtype in ["f32", *NARROW[number % 4:number % 4 + 1]]:  # every second file
            compiled[f"{path.name}: {dtype}"] = {
                target: tile_ir(path, target, dtype) for target in TARGETS[dtype]}
    return compiled


def check_targets(compiled):
    """Returns the targets whose programs differ; programs are compared as printed."""
    problems = []
    ends = []  # of the two groups: a program with stages for few rows, and one of GPUs
    for name, texts in compiled.items():
        for target, text in texts.items():
            if ("tile.pairs" in text and target not in GPUS) != bool(FEW_STAGE.search(text)):
                problems.append(f"{name}: expected stages for few rows only on CPUs, see {target}")
        groups = [[target for target in texts if (target in GPUS) == on_gpu]
                  for on_gpu in (False, True)]
        for group in groups:
            problems += [f"{name}: differs between {group[0]} and {other}"
                         for other in group[1:] if texts[other] != texts[group[0]]]
        ends += [without_few_rows(texts[group[0]]) for group in groups]
    printed = opt(ends)
    for name, cpu, gpu in zip(compiled, printed[::2], printed[1::2], strict=True):
        if cpu != gpu:
            problems.append(f"{name}: differs between CPUs and GPUs")
    return problems


def check_words(compiled):
    """Returns what is not allowed in the programs, which survive a round trip."""
    texts = [next(iter(targets.values())) for targets in compiled.values()]
    generic = opt(texts, "--verify-roundtrip", "--mlir-print-op-generic")
    return [f"{name}: found {what}"
            for name, text, printed in zip(compiled, texts, generic, strict=True)
            for what in problems_of_text(text, printed)]


def check_definitions(root):
    """Returns target words in the dialect's definitions; its descriptions may name lowerings."""
    problems = []
    for path in sorted((root / "dialect" / "Tile").glob("*.td")):
        text = re.sub(r"//.*", "", path.read_text())
        text = re.sub(r"\[\{.*?\}\]", "", text, flags=re.DOTALL)
        # The op that a lowering leaves instead of a stage.
        text = re.sub(r"def Tile_LaunchOp .*?\n\}\n", "", text, flags=re.DOTALL)
        problems += [f"{path.name}: found {word}" for word in sorted(set(WORDS.findall(text)))]
    return problems


def check_itself():
    """Checks that the search finds known violations and accepts valid text."""
    for text in ("vector<4xf32>", "gpu.thread_id", "memref<4xf32, 3>", "cpu_schedule = 1"):
        assert problems_of_text(text, ""), text
    assert problems_of_text("", '"memref.subview"(%0)') == ["memref.subview"]
    assert not problems_of_text('tile.buffer "lane" argument', '"memref.load"("tile.map"()')


def main(root):
    check_itself()
    directories = [root / "examples" / "encodings", root / "test" / "conformance" / "encodings"]
    files = sorted(path for directory in directories for path in directory.glob("*.mlir"))
    compiled = compile_all(files)
    problems = check_definitions(root) + check_targets(compiled) + check_words(compiled)
    print("\n".join(problems + [f"{len(files)} files"]))
    return 1 if problems or len(files) < 29 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
