"""Encodings whose programs are written in MLIR's generic form, in which clauses of the attention
are operands."""

import torch

from pe_attention._program import Options, Program

_X, _ROWS = "tensor<?x?x?x?xf32>", "tensor<?x?x?xf32>"
_TEXT = """
"builtin.module"() ({{
  "func.func"() <{{sym_name = "attention", function_type = ({arguments}) -> ({results}),
      arg_attrs = [{{pe.name = "q"}}, {{pe.name = "k"}}, {{pe.name = "v"}}, {{{attributes}}}],
      res_attrs = [{names}]}}> ({{
  ^bb0(%arg0: {x}, %arg1: {x}, %arg2: {x}, %arg3: {type}):
    %causal = "pe.causal"() : () -> !pe.mask
    {mask}
    %r:{count} = "pe.attention"(%arg0, %arg1, %arg2, {operands}) <{{
        direction = #pe.direction<before>, normalizer = #pe.normalizer<softmax>,
        operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, {sinks}, 0, 0, 0, 0, 1, 0, 0,
                                    0>,
        remainder = #pe.remainder<drop>}}> : ({x}, {x}, {x}, {types}) -> ({results})
    "func.return"({values}) : ({results}) -> ()
  }}) : () -> ()
}}) : () -> ()
"""


class _GenericForm(torch.nn.Module):
    """A causal attention whose program has one argument after q, k and v."""

    def _text(self, returns_lse: bool, name: str, **parts: object) -> Program:
        results = [_X, _ROWS][:1 + returns_lse]
        text = _TEXT.format(
            x=_X, arguments=", ".join([_X, _X, _X, str(parts["type"])]),
            results=", ".join(results), count=len(results),
            names=", ".join(f'{{pe.name = "{n}"}}' for n in ("o", "lse")[:len(results)]),
            values=", ".join(f"%r#{n}" for n in range(len(results))), **parts)
        return Program(text, (name,))


class GenericSink(_GenericForm):
    """A sink, a parameter."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.sink = torch.nn.Parameter(torch.linspace(-0.5, 1.0, heads))

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return (self.sink,)

    def program(self, mask: object = None, options: Options = Options()) -> Program:
        return self._text(
            options.return_lse, "sink", type="tensor<?xf32>", sinks=1, mask="",
            attributes='pe.name = "sink", pe.init = 0.0, pe.decay = false',
            operands="%arg3, %causal", types="tensor<?xf32>, !pe.mask")


class GenericDocuments(_GenericForm):
    """Documents packed into one sequence, with their boundaries as a buffer."""

    def __init__(self, boundaries: list[int]) -> None:
        super().__init__()
        self.register_buffer("boundaries", torch.tensor(boundaries, dtype=torch.int32))

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return (self.boundaries,)

    def program(self, mask: object = None, options: Options = Options()) -> Program:
        return self._text(
            options.return_lse, "cu", type="tensor<?xi32>", sinks=0,
            attributes='pe.name = "cu", pe.axes = ["boundaries"]',
            mask='%documents = "pe.documents"(%arg3) <{restart = true}> : (tensor<?xi32>) -> '
                 '!pe.mask\n    %both = "pe.mask_and"(%causal, %documents) : (!pe.mask, !pe.mask) '
                 '-> !pe.mask',
            operands="%both", types="!pe.mask")
