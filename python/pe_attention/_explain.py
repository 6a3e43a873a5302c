"""Describes the code that a call compiles to."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from . import _library
from ._arguments import checked
from ._assemble import assembled
from ._dtypes import FRAMEWORK
from ._errors import CompileError, InputError
from ._function import get_function
from ._masks import Mask
from ._program import Options, Program

if TYPE_CHECKING:
    from ._module import Encoding

# The types of activations, by their names in PyTorch and in pe.
_DTYPES = {name: dtype for dtype in ("f32", "bf16", "f16") for name in (dtype, FRAMEWORK[dtype])}


class Explanation(str):
    """The text of an explanation. `structure` is a short summary, `program` the compiled
    program."""

    structure: str
    program: str


def program_for(encoding: Encoding | None, mask: Mask | None, options: Options) -> Program:
    first = "" if encoding is None else getattr(encoding, "structure", None)
    second = "" if mask is None else mask.structure
    if first is None:
        assert encoding is not None
        made: Program = encoding.program(mask, options)
        return made
    return assembled(first, second, options)


@checked(least={"head_dim": 1, "value_dim": 1})
def explain(encoding: Encoding | None = None, *, mask: Mask | None = None, head_dim: int = 64,
            value_dim: int | None = None, dtype: object = "f32",
            target: str = "cpu") -> Explanation:
    """Explains how `pe.attention` computes this encoding and mask: kernels, classes of terms,
    costs, and the location of each term in the formula."""
    if encoding is not None or mask is not None:
        from ._kinds import check_encoding, check_mask

        check_encoding(encoding)
        check_mask(mask)
    name = str(dtype).removeprefix("torch.")
    if name not in _DTYPES:
        raise InputError(f"dtype: expected float32, bfloat16 or float16, found {dtype!r}")
    inside = "f32" if target == "reference" else _DTYPES[name]
    value = value_dim or head_dim
    program = program_for(encoding, mask, Options())
    function = get_function(program.text, target, head_dim, value, inside, True)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.mlir"
        source.write_text(program.text)
        command = [str(_library.program()), "explain", str(source), f"--head-dim={head_dim}",
                   f"--value-dim={value}", f"--target={target}", f"--dtype={inside}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(done.stderr.strip().replace(str(source), "program"))
    text = done.stdout.replace(str(source), "program").rstrip()
    if inside != _DTYPES[name]:
        text += f"\ntypes: the reference computes in float64; tensors of {name} are converted"
    elif target == "cpu" and function.info["products"] != "f32":
        text += (f"\ntypes: tensors are {name} in memory; products of {name} are added in float32, "
                 f"and results are rounded")
    elif target == "cpu" and inside != "f32":
        text += (f"\ntypes: tensors are {name} in memory; results are computed in float32 and "
                 f"rounded once")
    explanation = Explanation(text)
    explanation.structure, explanation.program = function.info["structure"], program.text
    return explanation
