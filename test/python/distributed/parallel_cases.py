"""Attention calls whose results over all data the split calls must reproduce."""

import torch

import pe_attention as pe

from generic_form import GenericDocuments, GenericSink

METHODS = [(method, layout) for method in ("ring", "all_gather")
           for layout in ("contiguous", "zigzag")]
RING, GATHER = METHODS[:2], METHODS[2:]
SOME = [("ring", "zigzag"), ("all_gather", "contiguous")]
BATCH, HEADS, KV_HEADS, LENGTH, DEPTH = 2, 4, 2, 48, 16


class Case:
    """One case. `data` are the tensors that the call of the encoding provides, with the axes that
    are split."""

    def __init__(self, name, encoding=None, mask=pe.causal, data=None, bound=2e-6, methods=SOME,
                 batch=BATCH, **options):
        self.name, self.encoding, self.mask, self.bound = name, encoding, mask, bound
        self.data = data or {}
        self.methods, self.batch, self.options = methods, batch, options

    def inputs(self):
        """Returns q, k, v and the tensors of the call, not split."""
        generator = torch.Generator().manual_seed(len(self.name))
        shapes = [(self.batch, heads, LENGTH, DEPTH) for heads in (HEADS, KV_HEADS, KV_HEADS)]
        tensors = [torch.randn(shape, generator=generator) for shape in shapes]
        self.cotangent = torch.randn(self.batch, HEADS, LENGTH, DEPTH, generator=generator)
        return tensors + [tensor.clone() for tensor, _ in self.data.values()]

    def bound_encoding(self, tensors):
        """Returns the encoding bound to the tensors of the call, whole or of this rank."""
        if not self.data:
            return self.encoding
        return self.encoding(**dict(zip(self.data, tensors, strict=True)))

    def parameters(self):
        found = list(self.encoding.parameters()) if self.encoding is not None else []
        sink = self.options.get("sink")
        return found + ([sink] if sink is not None else [])

    def prepare(self):
        """Computes the expected output and gradients, and compiles the programs of the parts."""
        tensors = [t.requires_grad_(t.is_floating_point()) for t in self.inputs()]
        q, k, v, *data = tensors
        options = dict(mask=self.mask, **self.options)
        torch.manual_seed(3)
        o = pe.attention(q, k, v, self.bound_encoding(data), **options)
        self.wanted = [t for t in tensors if t.requires_grad]
        every = self.wanted + self.parameters()
        self.expected = [o.detach(), *torch.autograd.grad(o, every, self.cotangent)]
        if ("ring", "zigzag") in self.methods:
            pe.attention(q, k, v, self.bound_encoding(data), return_lse=True, **options)


def _per_key(*shape):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(*shape, LENGTH, generator=generator)


def _learned(module):
    """Sets parameters to values that differ between heads."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.rand(parameter.shape, generator=generator))
    return module


def _forgetting():
    f = -torch.rand(BATCH, HEADS, LENGTH, generator=torch.Generator().manual_seed(9)).cumsum(-1)
    return {"f": (f, 2), "f_q": (f.clone(), 2)}


def _near_a_token():
    """Returns a mask that reads a tensor of the whole sequence, equal on all ranks."""
    words = torch.arange(LENGTH).repeat(BATCH, 1) // 5
    return pe.mask(lambda b, h, i, j: (j <= i) & (words[b, i] - words[b, j] < 3))


_SINK_OF_THE_QUERY = """
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %rise: tensor<?xf32> {pe.name = "rise", pe.init = 0.2})
    -> (!qkv {pe.name = "o"}) {
  %s = pe.sink_fn(%rise : tensor<?xf32>) expr "rise[h] * log(1 + i)"
  %o = pe.attention %q, %k, %v sink(%s) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
"""


torch.manual_seed(0)  # the initial parameters of FIRE
CASES = [
    Case("nope", methods=METHODS),
    Case("fire", _learned(pe.nn.FIRE(HEADS, hidden=(8,), initial_length=16.0)), bound=1e-5,
         methods=METHODS),
    Case("alibi_rope_both_sides", _learned(pe.nn.ALiBi(HEADS, learned=True)) + pe.nn.RoPE(),
         mask=None, methods=METHODS),
    Case("t5", _learned(pe.nn.T5(HEADS)), scale=0.3),
    Case("window", mask=pe.causal & pe.sliding_window(7), methods=RING),
    Case("formula_mask", mask=_near_a_token()),
    Case("stick_breaking", pe.nn.StickBreaking(attend_current=True), methods=METHODS),
    Case("rse", _learned(pe.nn.RSE(HEADS)), bound=1e-5, methods=RING),
    Case("stick_breaking_remainder", pe.nn.StickBreaking(remainder=True), methods=GATHER),
    Case("sigmoid", _learned(pe.nn.Sigmoid(offset=-2.0)) + pe.nn.RoPE(), methods=GATHER),
    Case("sink", _learned(pe.nn.ALiBi(HEADS, learned=True)) +
         _learned(pe.nn.AttentionSink(HEADS)), methods=RING),
    Case("shaw_values", pe.nn.Shaw(head_dim=DEPTH, clip=4, values=True), methods=RING),
    Case("key_bias", pe.nn.KeyBias(), mask=None, data={"key_bias": (_per_key(BATCH), 1)},
         methods=METHODS),
    Case("forgetting", pe.nn.Forgetting(), data=_forgetting()),
    Case("positions", pe.nn.RoPE() + pe.nn.Positions(), data={
        name: ((2 * torch.arange(LENGTH, dtype=torch.int32)).repeat(BATCH, 1), 1)
        for name in ("q_pos", "k_pos")}, methods=RING),
    Case("dropout", dropout_p=0.3, methods=RING),
    Case("documents", batch=1, documents=torch.tensor([0, 11, 30, LENGTH])),
    Case("sink_of_the_query", pe.from_mlir(_SINK_OF_THE_QUERY, HEADS), methods=GATHER),
    Case("generic_sink", GenericSink(HEADS), mask=None),
    Case("generic_documents", GenericDocuments([0, 11, 30, LENGTH]), mask=None, batch=1),
]
