"""Encodings: modules that define what an attention adds to its scores, with their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ._arguments import checked, found, named
from ._assemble import Argument, Piece, assemble, dump, intersect, join
from ._at_least import at_least
from ._declare import Declaration, initialise
from ._dense import Positions
from ._errors import InputError
from ._program import Options, Program
from ._tensors import as_int32, check_tensor

if TYPE_CHECKING:
    from ._masks import Mask

# The ways in which a program's argument views a tensor of the module: unchanged, flattened, as a
# scalar, or as int32.
VIEWS = ("same", "flat", "number", "whole")
# The lower bounds of the sizes of a dense bias or mask.
SIZES = {"q_len": 0, "k_len": 0, "batch": 0, "heads": 1}


def _not_an_encoding(value: object) -> InputError:
    from ._kinds import advice_of_encoding  # which imports this module indirectly

    return InputError(f"+: expected an encoding such as pe.nn.ALiBi(heads=4), found "
                      f"{found(value)}; {advice_of_encoding(value)}")


class Encoding(nn.Module):
    """A positional encoding. `a + b` combines two encodings. One object may be used in any number
    of layers, which then share its parameters.

    A subclass declares its parameters by `declare`, defines its text in the pe dialect by `define`,
    and implements the same bias in plain PyTorch as `bias`, which `dense` uses.
    """

    declarations: dict[str, Declaration]
    @named({}, "Encoding")
    def __init__(self, heads: int | None = None, head_dim: int | None = None,
                 value_dim: int | None = None) -> None:
        super().__init__()
        for name, size in {"heads": heads, "head_dim": head_dim, "value_dim": value_dim}.items():
            if size is not None and (type(size) is not int or size < 1):
                raise InputError(f"{name}: expected an integer of at least 1, found {size!r}")
        self.heads, self.head_dim, self.value_dim = heads, head_dim, value_dim
        self.declarations = {}
        self._data: tuple[str, ...] = ()
        self._piece = Piece()
        self._order: tuple[tuple[str, str], ...] = ()
        self._programs: dict[tuple[str, Options], Program] = {}
        self._structure: str | None = None

    # Parameters

    def declare(self, name: str, declaration: Declaration) -> None:
        """Adds a parameter and initializes it."""
        known = {"heads": self.heads, "depth": self.head_dim,
                 "value_depth": self.value_dim or self.head_dim}
        try:
            shape = declaration.shape(known)
        except InputError as error:
            raise InputError(f"{type(self).__name__}: {name}: {error}") from None
        self.declarations[name] = declaration
        self.register_parameter(name, nn.Parameter(torch.empty(shape)))
        initialise(getattr(self, name), declaration.init, name)

    def reset_parameters(self) -> None:
        """Initializes all declared parameters again."""
        for name, declaration in self.declarations.items():
            initialise(getattr(self, name), declaration.init, name)

    def needed_data(self) -> tuple[str, ...]:
        """Returns the names of the tensors that every call must provide."""
        return self._data

    def expected_data(self) -> str:
        """Returns the description of these tensors for messages."""
        return ", ".join(self._data) or "none"

    def decays(self, name: str) -> bool:
        """Returns whether weight decay applies to a parameter: as declared, else if it has two axes
        or more."""
        declaration = self.declarations.get(name)
        return declaration.decay if declaration else getattr(self, name).dim() > 1

    @torch.no_grad()
    def clamp_(self) -> None:
        """Raises values below the declared `min` to `min`, which is the value that calls use for
        them. `pe.param_groups(model).keep(optimizer)` calls this after every step."""
        for name, declaration in self.declarations.items():
            if declaration.min is not None:
                getattr(self, name).clamp_(min=declaration.min)

    # Programs

    def define(self, definitions: str, *clauses: str,
               data: Mapping[str, tuple[str, str]] | None = None) -> None:
        """Defines the text of the encoding, in which `%{name}` is a value or a declared parameter.
        `data` maps the tensors that every call provides to their types and attributes."""
        declared = self.declarations.items()
        arguments = [Argument(name, d.type(), d.attributes()) for name, d in declared]
        arguments += [Argument(name, kind, text) for name, (kind, text) in (data or {}).items()]
        self._data = tuple(data or ())
        order = [(name, "number" if d.as_number else "same") for name, d in declared]
        order += [(name, kind_of(type_)) for name, (type_, _) in (data or {}).items()]
        self._set(Piece(definitions, clauses, tuple(arguments)), order)

    def _set(self, piece: Piece, order: Sequence[tuple[str, str]]) -> None:
        self._piece, self._order = piece, tuple(order)
        self._programs = {}
        self._structure = None if self.own_masks() else dump(piece)

    @property
    def structure(self) -> str | None:
        """Returns the serialized text, which identifies the program of a call, or None if the
        encoding has masks."""
        self.follow()
        return self._structure

    def follow(self) -> None:
        """Updates the text if its inputs have changed. Most encodings have no such inputs."""

    def piece(self) -> Piece:
        """Returns the text of the encoding without its masks, with names of the form `%{name}`."""
        return self._piece

    def own_masks(self) -> tuple[Mask, ...]:
        """Returns the masks that are part of the encoding."""
        return ()

    def own_arguments(self, data: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Returns the tensors for the arguments of `piece`, in order."""
        return tuple([view_of(name, data[name] if name in data else self.parameter(name), view)
                      for name, view in self._order])

    def parameter(self, name: str) -> torch.Tensor:
        """Returns the tensor `name` of this module with its `min` applied."""
        declaration = self.declarations.get(name)
        # Attributes of a module that are not in its dictionary take most of a microsecond.
        found = self._parameters.get(name)
        tensor: torch.Tensor = getattr(self, name) if found is None else found
        if declaration is None or declaration.min is None:
            return tensor
        return at_least(tensor, declaration.min)

    def arguments(self) -> tuple[torch.Tensor, ...]:
        """Returns the program's tensors other than q, k and v and those of the call's mask, sink
        and so on, in order."""
        if self._data:
            names = ", ".join(f"{name}={name}" for name in self.needed_data())
            raise InputError(f"{type(self).__name__}: expected the tensors {self.expected_data()} "
                             f"of this call; pass encoding({names}) to pe.attention")
        return self.all_arguments({})

    def all_arguments(self, data: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Returns `arguments` including the tensors that a call provides."""
        return self.own_arguments(data) + self.mask_arguments(data)

    def mask_arguments(self, data: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Returns the tensors that the masks of the encoding read."""
        masks = self.own_masks()
        return tuple([value for mask in masks for value in mask.arguments()]) if masks else ()

    def program(self, mask: Mask | None = None, options: Options = Options()) -> Program:
        """Returns the program of an attention with this encoding."""
        self.follow()
        key = ("" if mask is None else mask.structure, options)
        if key not in self._programs:
            self._programs[key] = self._assemble(mask, options)
        return self._programs[key]

    def _assemble(self, mask: Mask | None, options: Options) -> Program:
        pieces = [self.piece()]
        last = mask.piece() if mask is not None else None
        if self.own_masks():
            # The masks of the encoding, and their tensors, precede those of the call.
            own = intersect([m.piece() for m in self.own_masks()])
            operand = own.clauses[0][len("mask("):-1]
            definitions = own.definitions.replace(operand, "%own_mask")
            pieces.append(Piece(definitions, (), own.arguments))
            named = Piece("", ("mask(%own_mask)",))
            last = named if last is None else intersect([named, last])
        return assemble(pieces, last, options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_programs": {}}

    # Other uses

    @named({}, "encoding")
    def forward(self, **data: torch.Tensor) -> Bound:
        """Binds the tensors of one call to this encoding, as in `forgetting(f=f)`."""
        return Bound(self, data)

    def __radd__(self, other: object) -> Encoding:
        """Supports `sum([a, b])`, which starts with 0."""
        if type(other) is int and other == 0:
            return self
        raise _not_an_encoding(other)

    def __add__(self, other: Encoding) -> Encoding:
        if isinstance(other, Encoding):
            return Sum(self, other)
        raise _not_an_encoding(other)

    def bias(self, at: Positions, p: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Computes the bias in plain PyTorch, with parameters `p`, at positions that broadcast to
        [batch, heads, queries, keys]."""
        raise InputError(f"{type(self).__name__}: dense: expected an encoding with a bias in plain "
                         f"PyTorch, found one without")

    def full_bias(self, at: Positions, data: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Computes `bias` with this module's parameters and the tensors of a call."""
        names = [name for name, _ in self._order]
        tensors = {name: data[name] if name in data else self.parameter(name) for name in names}
        return self.bias(at, {name: tensor.to(at.dtype) if tensor.is_floating_point() else tensor
                              for name, tensor in tensors.items()})

    @checked(least=SIZES)
    def dense(self, q_len: int, k_len: int, *, q_start: int | None = None, k_start: int = 0,
              batch: int = 1, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Returns the bias as a tensor [batch, heads, q_len, k_len], differentiable, in plain
        PyTorch. It does not include masks. Without `q_start` the last query is at the position of
        the last key."""
        return _dense(self, {}, q_len, k_len, q_start, k_start, batch, dtype)

    def heads_of(self, data: Mapping[str, torch.Tensor]) -> int | None:
        """Returns the number of heads of the encoding, or None if it supports any number."""
        return self.heads

    def reads_heads(self) -> bool:
        """Returns whether an encoding without a fixed number of heads depends on the head."""
        return False

    def extra_repr(self) -> str:
        return f"heads={self.heads}" if self.heads is not None else ""


def _dense(encoding: Encoding, data: Mapping[str, torch.Tensor], q_len: int, k_len: int,
           q_start: int | None, k_start: int, batch: int, dtype: torch.dtype) -> torch.Tensor:
    first = k_start + k_len - q_len if q_start is None else q_start
    encoding.follow()
    known = [*data.values(), *encoding.parameters(), *encoding.buffers()]
    heads = encoding.heads_of(data)
    if heads is None and encoding.reads_heads():
        raise InputError("dense: expected the number of heads: the formula depends on h and "
                         "reads no tensor with an axis of heads; pass heads=8 to the constructor "
                         "of the encoding")
    heads = heads or 1
    at = Positions.of(batch, heads, range(first, first + q_len), range(k_start, k_start + k_len),
                      dtype, known[0].device if known else None)
    return encoding.full_bias(at, data).to(dtype).expand(batch, heads, q_len, k_len)


def direct_arguments(encoding: Encoding) -> tuple[tuple[str, str, float | None], ...] | None:
    """Returns the names of the arguments of an encoding, how a program views them, and the lower
    bounds of parameters, if the arguments are views of tensors of the call and of parameters, and
    if the text of the encoding does not change, else None."""
    own = type(encoding)
    are_base = all([getattr(own, name) is getattr(Encoding, name) for name in (
        "structure", "follow", "piece", "arguments", "all_arguments", "own_arguments",
        "mask_arguments", "parameter")])
    views = [view for _, view in encoding._order]
    if not are_base or encoding.own_masks() or "whole" in views:
        return None
    declared = [encoding.declarations.get(name) for name, _ in encoding._order]
    return tuple((name, view, each.min if each else None)
                 for (name, view), each in zip(encoding._order, declared, strict=True))


def kind_of(type_: str) -> str:
    """Returns how an argument of this MLIR type views a tensor of a call."""
    return "whole" if type_.endswith(("<i32>", "xi32>")) else "same"


def view_of(name: str, tensor: torch.Tensor, view: str) -> torch.Tensor:
    if view == "same":
        return tensor
    if view == "flat":
        return tensor.reshape(-1)
    if view == "number":
        return tensor.reshape(())
    return as_int32(name, tensor)


class Sum(Encoding):
    """A sum of encodings. Biases are added; at most one encoding rotates queries and keys, and at
    most one changes the score."""

    def __init__(self, *terms: Encoding) -> None:
        flat = [t for term in terms for t in (term.parts() if isinstance(term, Sum) else (term,))]
        counts = {t.heads for t in flat if t.heads is not None}
        if len(counts) > 1:
            raise InputError(f"+: expected encodings with the same number of heads, found "
                             f"{' and '.join(map(str, sorted(counts)))}")
        super().__init__(counts.pop() if counts else None)
        self.terms = nn.ModuleList(flat)
        self._data = tuple(dict.fromkeys(name for term in flat for name in term._data))
        self._write()

    def _write(self) -> None:
        self._pieces = [term.piece() for term in self.parts()]
        self._set(join(self._pieces), ())

    def follow(self) -> None:
        for term in self.parts():
            term.follow()
        if any([term._piece is not piece for term, piece in zip(self.parts(), self._pieces)]):
            self._write()

    def parts(self) -> tuple[Encoding, ...]:
        return tuple(term for term in self.terms if isinstance(term, Encoding))

    def own_masks(self) -> tuple[Mask, ...]:
        return tuple(mask for term in self.parts() for mask in term.own_masks())

    def own_arguments(self, data: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple([value for term in self.parts() for value in term.own_arguments(data)])

    def mask_arguments(self, data: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple([value for term in self.parts() for value in term.mask_arguments(data)])

    def clamp_(self) -> None:
        for term in self.parts():
            term.clamp_()

    def reset_parameters(self) -> None:
        for term in self.parts():
            term.reset_parameters()

    def heads_of(self, data: Mapping[str, torch.Tensor]) -> int | None:
        counts = {count for term in self.parts() if (count := term.heads_of(data))}
        if len(counts) > 1:
            raise InputError(f"+: expected encodings with the same number of heads, found "
                             f"{' and '.join(map(str, sorted(counts)))}")
        return next(iter(counts), self.heads)

    def reads_heads(self) -> bool:
        return any(term.reads_heads() for term in self.parts())

    def full_bias(self, at: Positions, data: Mapping[str, torch.Tensor]) -> torch.Tensor:
        first, *rest = [term.full_bias(at, data) for term in self.parts()]
        return sum(rest, start=first)


class Bound:
    """An encoding with the tensors of one call. Nothing is copied."""

    def __init__(self, encoding: Encoding, data: Mapping[str, torch.Tensor]) -> None:
        expected = encoding._data
        if tuple(data) != expected and set(data) != set(expected):
            raise InputError(f"{type(encoding).__name__}: expected the tensors "
                             f"{encoding.expected_data()}, found {', '.join(data) or 'none'}")
        for name, tensor in data.items():
            check_tensor(name, tensor)
        self.encoding, self.data = encoding, dict(data)
        self.structure = encoding.structure

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return self.encoding.all_arguments(self.data)

    def program(self, mask: Mask | None = None, options: Options = Options()) -> Program:
        return self.encoding.program(mask, options)

    @checked(least=SIZES)
    def dense(self, q_len: int, k_len: int, *, q_start: int | None = None, k_start: int = 0,
              batch: int = 1, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Returns the bias with the bound tensors; see `Encoding.dense`."""
        return _dense(self.encoding, self.data, q_len, k_len, q_start, k_start, batch, dtype)
