//===- PEAttention.td - The op that consumes encodings ---------*- tablegen -*-===//
#ifndef PE_ATTENTION_TD
#define PE_ATTENTION_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PE_AttentionOp : PE_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "Fused attention with biases, a rotation and a mask";
  let description = [{
    o_i = sum_j A_ij v_j, where A is the `normalizer` of z_ij = f(scale * <R_i q_i, R_j k_j>) +
    sum of the biases over the unmasked keys, and f is the function of the score, if there is one. Shapes: q [B, Hq, Sq, D], k [B, Hkv, Sk, D],
    v [B, Hkv, Sk, Dv], o [B, Hq, Sq, Dv]; Hq is a multiple of Hkv, query head h reads key head
    h / (Hq / Hkv). The order of the biases is the order of their sum.

    Prologues change queries, keys or both, one after the other, in front of the rotation R.

    `scale` is 1 / sqrt(D) when absent. The optional second result is, per query, the natural
    logarithm of the softmax denominator [B, Hq, Sq] (-inf for a row without keys), or under
    stick-breaking the logarithm of the remaining mass. Stick-breaking needs an order: a mask
    that implies j <= i.

    `sink(%s)` (softmax only): a logit per query head that joins the denominator and has no value. A
    row without keys then has o = 0 and log-sum-exp s_h.

    `dropout(p, %seed)`: A_ij counts as A_ij / (1 - p) where word j mod 4 of Philox 4x32-10 is at
    least p * 2^32, and as 0 elsewhere; its key is the seed, its counter (b, head, i, floor(j / 4)) in
    global positions and heads. With a seed per batch entry the counter has 0 in place of b.
    Statistics take part undropped.

    `positions(%q_pos, %k_pos)` (softmax only): numbers [B, Sq] and [B, Sk] in [0, 2^30) that stand for
    i and j in every formula: biases, the function of the score, the rotation and the mask. Tensors
    over queries and keys are still read at the row and the column, and dropout counts these. A
    tensor over keys is read by formulas of j alone, one over queries by formulas of i.

    Content terms have a reserved place between `bias` and `mask`
    (docs/spec.md) and are refused until they are built. Example:

    ```mlir
    %o = pe.attention %q, %k, %v bias(%b) rotate(%r) mask(%m) {scale = 0.125}
        : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    ```
  }];
  let arguments = (ins PE_Activations:$query, PE_Activations:$key, PE_Activations:$value,
    Variadic<PE_BiasType>:$biases, Variadic<PE_PrologueType>:$prologues,
    Optional<PE_RotationType>:$rotation,
    Optional<PE_ScoreType>:$score, Optional<1DTensorOf<[F32]>>:$sink,
    Optional<TensorRankOf<[I64], [0, 1]>>:$seed, Optional<2DTensorOf<[I32]>>:$query_positions,
    Optional<2DTensorOf<[I32]>>:$key_positions, Optional<PE_MaskType>:$mask,
    DefaultValuedAttr<PE_NormalizerAttr, "::mlir::pe::Normalizer::Softmax">:$normalizer,
    OptionalAttr<F64Attr>:$scale, OptionalAttr<F64Attr>:$dropout);
  let results = (outs PE_Activations:$output, Optional<3DTensorOf<[F32]>>:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value custom<Clauses>($biases, $prologues, $rotation, $score, $sink,
    type($sink), $dropout, $seed, type($seed), $query_positions, type($query_positions),
    $key_positions, type($key_positions), $mask) attr-dict
    `:` `(` type($query) `,` type($key) `,` type($value) `)` `->` type($output) (`,` type($lse)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The scale, or 1 / sqrt(D) when it is absent; D must be static.
    double getEffectiveScale();
    /// Whether a number added to a whole row of scores changes no weight: softmax without sinks.
    bool isShiftInvariant();
    /// The range of i - j the mask allows; everything without a mask, none when the mask is a
    /// block argument.
    std::optional<::mlir::pe::DifferenceRange> getMaskRange();
  }];
}

#endif // PE_ATTENTION_TD
