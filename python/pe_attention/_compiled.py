"""Programs and packages as Python functions of arrays, without PyTorch."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _arrays, _library
from ._arguments import checked, named, whole_number
from ._arrays import Array
from ._errors import CompileError, InputError
from ._function import LENGTHS, Function, Place, Tensor, get_function


class Results(Mapping[str, Any]):
    """The results of a call by name, together with the data that their gradients need."""

    def __init__(self, function: Function, arguments: list[Array], kept: list[tuple[Tensor, Array]],
                 scalars: list[tuple[str, int]], as_torch: bool) -> None:
        self._function, self._arguments, self._kept = function, arguments, kept
        self._scalars, self._as_torch = scalars, as_torch
        self._results = {tensor.name: array for tensor, array in kept
                         if tensor in function.results}

    def __getitem__(self, name: str) -> Any:
        if name not in self._results:
            raise KeyError(f"expected a result of {', '.join(self._results)}, found '{name}'")
        return self._results[name].owner

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def backward(self, **cotangents: Any) -> dict[str, Any]:
        """Returns the gradients of all arguments, `d_NAME`, for the gradients of the results,
        `d_o=...`."""
        function = self._function
        if not function.has_gradients:
            raise InputError("backward: expected a function with gradients, found one without; "
                             "compile it with grad=True")
        known = {f"d_{name}": name for name in self._results}
        if not cotangents or not set(cotangents) <= set(known):
            raise InputError(f"backward: expected one or more of {', '.join(known)}, found "
                             f"{', '.join(cotangents) or 'none'}")
        given = [(argument.name, array) for argument, array in
                 zip([*function.arguments, LENGTHS], self._arguments, strict=False)]
        given += [(t.name, array) for t, array in self._kept if "backward" in t.read_by]
        given += [(name, _arrays.view_of(name, value)) for name, value in cotangents.items()]
        gradients = []
        for argument, array in zip(function.arguments, self._arguments, strict=False):
            gradient = function.gradients.get(argument.name)
            if gradient is not None:
                made = _arrays.empty(gradient.name, gradient.dtype, array.shape, self._as_torch)
                gradients.append((gradient.name, made))
        _run(function, _library.BACKWARD, given + gradients, self._scalars)
        return {name: array.owner for name, array in gradients}


def _run(function: Function, half: int, views: Sequence[tuple[str, Array]],
         scalars: Sequence[tuple[str, int]]) -> None:
    arrays = [array for _, array in views]
    function.views(half, tuple(name for name, _ in views)).run(
        tuple(array.key() for array in arrays), lambda: [array.view() for array in arrays],
        [array.pointer for array in arrays], scalars, Place())


class Compiled:
    """A compiled program or package. A call takes its arguments and numbers such as `q_start` by
    name and returns its results: `fn(q=q, k=k, v=v)["o"]`. It may also take `kv_len`, the number of
    keys of each batch entry. Calls are thread-safe."""

    def __init__(self, source: str, name: str, is_package: bool, options: dict[str, Any]) -> None:
        self._source, self._name, self._is_package = source, name, is_package
        self._options = options
        self._package: Function | None = None
        self._last = threading.local()
        if is_package:
            self._package = Function(_library.open_function(source, True, name, options))

    def __reduce__(self) -> tuple[object, ...]:
        return Compiled, (self._source, self._name, self._is_package, self._options)

    def __deepcopy__(self, memo: object) -> Compiled:
        return self  # immutable

    def __repr__(self) -> str:
        return f"<pe_attention.Compiled {self._name}>"

    def _function(self, arrays: Mapping[str, Array]) -> Function:
        if self._package is not None:
            return self._package
        options = dict(self._options)
        for name, operand in (("head_dim", "q"), ("value_dim", "v")):
            if options[name] is None:
                array = arrays.get(operand)
                options[name] = array.shape[-1] if array is not None and array.shape else 64
        return get_function(self._source, options["target"], options["head_dim"],
                            options["value_dim"], options["dtype"], options["grad"], self._name,
                            pairs_memory=options["pairs_memory"])

    @property
    def signature(self) -> dict[str, Any]:
        """Returns the arguments and results of the function, as described in docs/c-api.md."""
        return self._function({}).info

    @named({}, "call")
    def __call__(self, **given: Any) -> Results:
        arrays = {name: _arrays.view_of(name, value) for name, value in given.items()}
        function = self._function(arrays)
        scalars = [(name, whole_number(name, given[name])) for name in function.scalars
                   if name in given]
        names = [argument.name for argument in function.arguments]
        has_lengths = LENGTHS.name in given and LENGTHS.name not in names
        names += [LENGTHS.name] if has_lengths else []
        unknown = [name for name in given if name not in names and name not in function.scalars]
        missing = [a.name for a in function.arguments if a.name not in given and not a.optional]
        if unknown or missing:
            found = f"unknown {', '.join(unknown)}" if unknown else f"no {', '.join(missing)}"
            raise InputError(f"arguments: expected {', '.join(names)} and numbers "
                             f"{', '.join(function.scalars)}, found {found}")
        arguments = [arrays[name] for name in names]
        as_torch = any(_arrays.is_torch(given[name]) for name in names)
        sizes = self._sizes(function, arguments, dict(scalars))
        outputs = list(function.results)
        if function.has_gradients:
            outputs += function.kept(has_lengths)
        # NumPy has no bf16, which a saved tensor may have.
        made = [(t, _arrays.empty(t.name, t.dtype, t.shape_in(sizes),
                                  as_torch and (t in function.results or t.dtype == "bf16")))
                for t in outputs]
        _run(function, _library.PREPARE | _library.FORWARD,
             [*zip(names, arguments, strict=True), *((t.name, array) for t, array in made)],
             scalars)
        self._last.results = Results(function, arguments, made, scalars, as_torch)
        results: Results = self._last.results
        return results

    @staticmethod
    def _sizes(function: Function, arguments: list[Array], scalars: dict[str, int]) \
            -> dict[str, Any]:
        for argument, array in zip([*function.arguments, LENGTHS], arguments, strict=False):
            if len(array.shape) != argument.rank:
                raise InputError(f"{argument.name}: expected {argument.rank} dimensions "
                                 f"[{', '.join(argument.shape)}], found a shape of "
                                 f"{list(array.shape)}")
            if array.dtype != argument.dtype:
                raise InputError(f"{argument.name}: expected numbers of {argument.dtype}, found "
                                 f"{array.dtype}; convert it, or compile with another dtype")
        return function.sizes([array.shape for array in arguments], scalars)

    def backward(self, **cotangents: Any) -> dict[str, Any]:
        """Returns the gradients of this thread's last call. `results.backward` returns those of any
        call."""
        results: Results | None = getattr(self._last, "results", None)
        if results is None:
            raise InputError("backward: expected an earlier call in this thread, found none")
        return results.backward(**cotangents)

    def save_package(self, path: str | os.PathLike[str], targets: Sequence[str] = ("cpu",),
                     chips: Sequence[str] = ()) -> None:
        """Writes a package of compiled code for `targets` ("cpu", "cuda", "gpu-emulator"), for
        `load` and for libpe without the compiler. The head dims are those given to `compile`; the
        default is 64."""
        if self._is_package:
            raise InputError(f"save_package: expected a program, found the package {self._name}; "
                             f"compile the source")
        options = self._options
        head = options["head_dim"] or 64
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "program.mlir"
            source.write_text(self._source)
            command = [str(_library.program()), "compile", str(source), "--emit=package", "-o",
                       os.fspath(path), f"--target={','.join(targets)}", f"--head-dim={head}",
                       f"--value-dim={options['value_dim'] or head}", f"--dtype={options['dtype']}"]
            command += ["--grad"] if options["grad"] else []
            command += [f"--chip={','.join(chips)}"] if chips else []
            if options["pairs_memory"] is not None:
                command.append(f"--pairs-memory={options['pairs_memory']}")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            message = done.stderr.strip().removeprefix("pe: ").removeprefix("error: ")
            raise CompileError(message.replace(str(source), self._name))


def _read(source: str | os.PathLike[str]) -> tuple[str, str]:
    """Returns the text of a program and its name for messages."""
    if isinstance(source, str) and ("\n" in source or "func.func" in source):
        return source, "program"
    try:
        return Path(source).read_text(), os.fspath(source)
    except (OSError, ValueError) as error:  # ValueError: an invalid path, or text that is not UTF-8
        raise InputError(f"source: expected the text of a program or a file, found {source!r}: "
                         f"{getattr(error, 'strerror', None) or error}") from None


@checked(least={"head_dim": 1, "value_dim": 1, "pairs_memory": 0})
def compile(source: str | os.PathLike[str], *, target: str = "cpu", head_dim: int | None = None,
            value_dim: int | None = None, dtype: str = "f32", grad: bool = True,
            pairs_memory: int | None = None) -> Compiled:
    """Compiles a program, given as text or a file, to a function of arrays. `head_dim` and
    `value_dim` default to the depths of q and v. `dtype` is the type of queries, keys, values,
    outputs and their gradients: f32, bf16 or f16; CPU kernels compute in f32 and round results
    once, except that processors with `vdpbf16ps` multiply bf16.
    GPU kernels also support tf32, whose tensors are f32. "reference" supports f32 and f64.
    `pairs_memory` is for GPUs: the most memory of a backward call for the adjoints of the scores,
    in MiB; the default is 1024. With more pairs, or 0, thread blocks add the gradients of queries
    in turns."""
    text, name = _read(source)
    if target not in _library.TARGETS:
        raise InputError(f"target: expected one of {', '.join(_library.TARGETS)}, found {target!r}")
    types = ("f32", "f64") if target == "reference" else ("f32", "bf16", "f16", "tf32")
    if dtype not in types:
        raise InputError(f"dtype: expected one of {', '.join(types)} for target {target}, found "
                         f"{dtype!r}")
    if pairs_memory is not None and target not in ("cuda", "gpu-emulator"):
        raise InputError(f"pairs_memory: expected it with target cuda or gpu-emulator, found "
                         f"{target!r}")
    options = {"target": target, "head_dim": head_dim, "value_dim": value_dim, "dtype": dtype,
               "grad": grad, "pairs_memory": pairs_memory}
    # Reports errors of the source now: the reference checks it without generating code.
    checked = {"target": "reference", "head_dim": head_dim or 64,
               "value_dim": value_dim or head_dim or 64}
    _library.library().pe_close(_library.open_function(text, False, name, checked))
    return Compiled(text, name, False, options)


@checked()
def load(path: str | os.PathLike[str], *, target: str = "cpu",
         entry: str | None = None) -> Compiled:
    """Loads a package written by `save_package` or `pe compile --emit=package`."""
    return Compiled(os.fspath(path), os.fspath(path), True, {"target": target, "entry": entry})
