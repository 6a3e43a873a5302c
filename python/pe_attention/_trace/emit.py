"""Emits traced formulas as regions of the pe dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .._assemble import Argument, Piece
from .graph import REAL, TRUTH, WHOLE, Graph, Layers, Node, Place, Source
from .tracer import constant_as_f32

# The block arguments of a clause's region, in order.
_INPUTS = {"score": ("s", "b", "h", "i", "j"), "rotate": ("h", "p", "n")}
_PAIR = ("b", "h", "i", "j")
_REAL = {"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf",
         "max": "arith.maximumf", "min": "arith.minimumf", "neg": "arith.negf",
         "abs": "math.absf", "pow": "math.powf", "round": "math.roundeven",
         **{op: f"math.{op}" for op in (
             "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
             "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "erf", "erfc", "floor",
             "ceil", "trunc", "copysign")}}
_WHOLE = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli", "max": "arith.maxsi",
          "min": "arith.minsi", "div_floor": "arith.floordivsi", "div_trunc": "arith.divsi",
          "shl": "arith.shli", "shr": "arith.shrsi",
          **{op: f"arith.{op}i" for op in ("and", "or", "xor")}}
_PREDICATES = {"lt": ("slt", "olt"), "le": ("sle", "ole"), "gt": ("sgt", "ogt"),
               "ge": ("sge", "oge"), "eq": ("eq", "oeq"), "ne": ("ne", "une")}


def location(place: Place | None) -> str:
    """Returns ` loc("file":line:column)`, or "" without a place."""
    if place is None:
        return ""
    return f" loc({json.dumps(place.file, ensure_ascii=False)}:{place.line}:{place.column})"


def number_text(value: float, kind: str = "f32") -> str:
    """Formats an f32 or f64 for MLIR."""
    is_wide = kind == "f64"
    value = value if is_wide else constant_as_f32(value)
    if value != value:
        return "0x7FF8000000000000" if is_wide else "0x7FC00000"
    if value in (float("inf"), float("-inf")):
        sign = "7" if value > 0 else "F"
        return f"0x{sign}FF0000000000000" if is_wide else f"0x{sign}F800000"
    return f"{value:.17e}" if is_wide else f"{value:.8e}"


class Region:
    """The text of one formula as `pe.bias_fn`, `pe.score_fn`, `pe.mask_fn` or `pe.rotation_fn`,
    with its captures. `real` is the type of its real numbers, f32 or f64."""

    def __init__(self, graph: Graph, result: int, real: str = "f32") -> None:
        self.graph, self.result, self.real = graph, result, real
        self.types = {WHOLE: "index", REAL: real, TRUTH: "i1"}
        self.steps = graph.needed([result])
        self.numbers = graph.read_sources([result])
        self.lines: list[str] = []

    def piece(self, op: str, clause: str, attributes: Mapping[str, str],
              settings: str = "") -> Piece:
        """Returns a piece whose only definition is `op`. `attributes` maps arguments to their
        attributes; `settings` are the attributes of the op: ` attributes {...}`."""
        arguments = [self._argument(n, attributes) for n in self.numbers]
        captures = ", ".join(f"%{{{a.place()}}}" for a in arguments)
        types = ", ".join(a.type for a in arguments)
        head = f"({captures} : {types})" if arguments else ""
        inputs = [f"%{name}: {'f32' if name == 's' else 'index'}"
                  for name in _INPUTS.get(clause, _PAIR)]
        inputs += [f"%t{n}: {a.type}" for n, a in zip(self.numbers, arguments, strict=True)]
        for step in self.steps:
            self._emit(step, self.graph.nodes[step])
        kind = self.types[self.graph.nodes[self.result].kind]
        body = "\n".join(f"    {line}" for line in self.lines)
        text = (f"%{{fn}} = {op}{head}{settings} {{\n  ^bb0({', '.join(inputs)}):\n{body}\n"
                f"    pe.yield {self._name(self.result)} : {kind}\n"
                f"  }}{location(self.graph.place)}")
        return Piece(text, (f"{clause}(%{{fn}})",), tuple(arguments))

    # Arguments

    def _argument(self, number: int, attributes: Mapping[str, str]) -> Argument:
        source = self.graph.sources[number]
        given = attributes.get(source.name, "")
        if not source.captured:
            return Argument(source.name, self._type(source, self._parameter_sizes(source)), given,
                            f"t_{number}")
        axes = self._axes(number, source)
        sizes = [None if axis is not None and size != 1 else size
                 for axis, size in zip(axes, source.shape, strict=True)]
        if any(axis not in (None, "head") for axis in axes):
            names = [axis or f"{source.name}_{n}" for n, axis in enumerate(axes)]
            listed = ", ".join(f'"{name}"' for name in names)
            given = f"{given}, pe.axes = [{listed}]".lstrip(", ")
        return Argument(source.name, self._type(source, sizes), given, f"t_{number}")

    @staticmethod
    def _parameter_sizes(source: Source) -> list[int | None]:
        return [None, *source.shape[1:]] if source.per_head else list(source.shape)

    @staticmethod
    def _type(source: Source, sizes: list[int | None]) -> str:
        element = "f32" if source.kind == REAL else "i32"
        return f"tensor<{''.join(f'{s if s is not None else chr(63)}x' for s in sizes)}{element}>"

    def _axes(self, number: int, source: Source) -> list[str | None]:
        """Returns what each axis of a captured tensor counts; None for a constant size."""
        axes: list[str | None] = [None] * len(source.shape)
        nodes = [self.graph.nodes[s] for s in self.steps]
        reads = [n for n in nodes if n.op == "read" and n.data == number]
        known = {"b": "batch", "h": "head"}
        for axis in range(len(axes)):
            inputs = {self.graph.nodes[n.operands[axis]].data if
                      self.graph.nodes[n.operands[axis]].op == "input" else None for n in reads}
            if len(inputs) == 1 and inputs <= {"b", "h"}:
                axes[axis] = known[str(inputs.pop())]
            elif inputs and inputs <= {"i", "j"}:
                axes[axis] = f"{source.name}_{axis}"
        for node in nodes:
            if isinstance(node.data, Layers) and number in node.data.sources[-2:]:
                axes[0] = "head"
        return axes

    # Steps

    def _name(self, step: int) -> str:
        node = self.graph.nodes[step]
        if node.op == "input":
            return "%s" if node.data == "score" else f"%{node.data}"
        return f"%n{step}"

    def _emit(self, step: int, node: Node) -> None:
        if node.op == "input":
            return
        names = [self._name(n) for n in node.operands]
        before, text = self._text(step, node, names)
        place = location(node.place)
        self.lines += [line + place for line in before]
        self.lines.append(f"{self._name(step)} = {text}{place}")

    def _text(self, step: int, node: Node, names: list[str]) -> tuple[list[str], str]:
        """Returns the lines before the step's operation, and its right-hand side."""
        if node.op == "constant":
            return [], self._constant(node)
        if node.op == "read":
            return self._read(step, node, names)
        if node.op == "mlp":
            return [], self._network(node, names)
        if node.op == "to_real":
            return [f"%w{step} = arith.index_cast {names[0]} : index to i64"], \
                f"arith.sitofp %w{step} : i64 to {self.real}"
        if node.op == "to_whole":
            return [f"%w{step} = arith.fptosi {names[0]} : {self.real} to i32"], \
                f"arith.index_cast %w{step} : i32 to index"
        if node.op == "not":
            return [f"%w{step} = arith.constant true"], f"arith.xori {names[0]}, %w{step} : i1"
        if node.op == "select":
            return [], f"arith.select {', '.join(names)} : {self.types[node.kind]}"
        kind = self.graph.nodes[node.operands[0]].kind
        if node.op in _PREDICATES:
            whole, real = _PREDICATES[node.op]
            op = f"arith.cmpf {real}" if kind == REAL else f"arith.cmpi {whole}"
            return [], f"{op}, {', '.join(names)} : {self.types[kind]}"
        op = (_REAL if node.kind == REAL else _WHOLE)[node.op]
        return [], f"{op} {', '.join(names)} : {self.types[node.kind]}"

    def _constant(self, node: Node) -> str:
        assert isinstance(node.data, (bool, int, float))
        if node.kind == TRUTH:
            return f"arith.constant {'true' if node.data else 'false'}"
        if node.kind == WHOLE:
            return f"arith.constant {node.data} : index"
        return f"arith.constant {number_text(node.data, self.real)} : {self.real}"

    def _read(self, step: int, node: Node, names: list[str]) -> tuple[list[str], str]:
        assert isinstance(node.data, int)
        text = f"pe.read %t{node.data}[{', '.join(names)}] : {self._capture_type(node.data)}"
        if node.kind == REAL and self.real == "f32":
            return [], text
        cast = (f"arith.extf %w{step} : f32 to {self.real}" if node.kind == REAL else
                f"arith.index_cast %w{step} : i32 to index")
        return [f"%w{step} = {text}"], cast

    def _capture_type(self, number: int) -> str:
        return self._argument(number, {}).type

    def _network(self, node: Node, names: list[str]) -> str:
        layers = node.data
        assert isinstance(layers, Layers)
        values = ", ".join(f"%t{n}" for n in layers.sources)
        types = ", ".join(self._capture_type(n) for n in layers.sources)
        return (f"pe.mlp_eval {names[0]}, {names[1]} layers({values} : {types}) "
                f"{{activation = #pe.activation<{layers.activation}>, "
                f"final_activation = #pe.activation<{layers.final_activation}>}} : f32")
