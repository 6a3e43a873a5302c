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
    sum of the biases and content terms over the unmasked keys, and f is the function of the score, if there is one. Shapes: q [B, Hq, Sq, D], k [B, Hkv, Sk, D],
    v [B, Hkv, Sk, Dv], o [B, Hq, Sq, Dv]; Hq is a multiple of Hkv, query head h reads key head
    h / (Hq / Hkv). The order of the biases is the order of their sum.

    Prologues change queries, keys or both, one after the other, in front of the rotation R. Content
    terms (`pe.content_fn`) are vectors of the distance that are multiplied with the queries, or, as
    `value_content` (softmax only), added to the values.

    `scale` is 1 / sqrt(D) when absent. The optional second result is, per query, the natural
    logarithm of the softmax denominator [B, Hq, Sq] (-inf for a row without keys), or under
    stick-breaking the logarithm of the remaining mass. Stick-breaking needs an order: a mask
    that implies j <= i, or `direction = #pe.direction<both>` and none that does. It takes keys
    j < i; with `attend_current` also j = i. `remainder = #pe.remainder<value>` gives the remaining
    mass to the query's own value.

    `sink(%s)` (softmax only): a logit that joins the denominator of every row and has no value: a
    tensor of one per query head, or a `!pe.sink`, a function of the query. A row without keys then
    has o = 0 and the logit as its log-sum-exp.

    `factor(%f, %g)`: A_ij counts as A_ij f_ij g_ij behind the normalizer. Statistics take part
    without factors.

    `dropout(p, %seed)`: A_ij counts as A_ij / (1 - p) where word j mod 4 of Philox 4x32-10 is at
    least p * 2^32, and as 0 elsewhere; its key is the seed, its counter (b, head, i, floor(j / 4)) in
    global positions and heads. With a seed per batch entry the counter has 0 in place of b.
    Statistics take part undropped.

    `positions(%q_pos, %k_pos)` (softmax only): numbers [B, Sq] and [B, Sk] in [0, 2^30) that stand for
    i and j in every formula: biases, the function of the score, the rotation and the mask. Tensors
    over queries and keys are still read at the row and the column, and dropout counts these. A
    tensor over keys is read by formulas of j alone, one over queries by formulas of i.

    Example:

    ```mlir
    %o = pe.attention %q, %k, %v bias(%b) rotate(%r) mask(%m) {scale = 0.125}
        : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    ```
  }];
  let arguments = (ins PE_Activations:$query, PE_Activations:$key, PE_Activations:$value,
    Variadic<PE_BiasType>:$biases, Variadic<PE_PrologueType>:$prologues,
    Optional<PE_RotationType>:$rotation, Variadic<PE_ContentType>:$contents,
    Optional<PE_ContentType>:$value_content,
    Optional<PE_ScoreType>:$score,
    Optional<AnyTypeOf<[1DTensorOf<[F32]>, PE_SinkType]>>:$sink, Variadic<PE_FactorType>:$factors,
    Optional<TensorRankOf<[I64], [0, 1]>>:$seed, Optional<2DTensorOf<[I32]>>:$query_positions,
    Optional<2DTensorOf<[I32]>>:$key_positions, Optional<PE_MaskType>:$mask,
    DefaultValuedAttr<PE_NormalizerAttr, "::mlir::pe::Normalizer::Softmax">:$normalizer,
    OptionalAttr<F64Attr>:$scale, OptionalAttr<F64Attr>:$dropout, UnitAttr:$attend_current,
    DefaultValuedAttr<PE_RemainderAttr, "::mlir::pe::Remainder::Drop">:$remainder,
    DefaultValuedAttr<PE_DirectionAttr, "::mlir::pe::Direction::Before">:$direction);
  let results = (outs PE_Activations:$output, Optional<3DTensorOf<[F32]>>:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value custom<Clauses>($biases, $prologues, $rotation, $contents,
    $value_content, $score, $sink, type($sink), $factors, $dropout, $seed, type($seed),
    $query_positions, type($query_positions), $key_positions, type($key_positions), $mask) attr-dict
    custom<AttentionTypes>(type($query), type($key), type($value), type($output), type($lse))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The scale, or 1 / sqrt(D) when it is absent; D must be static.
    double getEffectiveScale();
    /// The sinks where they are a tensor; null where they are a function of the query or there are
    /// none.
    ::mlir::TypedValue<::mlir::RankedTensorType> getLogits();
    /// Whether a number added to a whole row of scores changes no weight: softmax without sinks.
    bool isShiftInvariant();
    /// The range of i - j the mask allows; everything without a mask, none when the mask is a
    /// block argument.
    std::optional<::mlir::pe::DifferenceRange> getMaskRange();
    /// The range of i - j of the pairs that take part: what the mask allows (everything where it is
    /// a block argument), without the query's own key where stick-breaking leaves that out.
    ::mlir::pe::DifferenceRange getPairRange();
    /// Whether the result depends on where queries and keys are: by a mask, biases (those too that
    /// softmax ignores and a pass has dropped), prologues, a rotation, or a function of the score,
    /// factor or sink that reads i or j.
    bool readsPositions();
  }];
}

def PE_MergeOp : PE_Op<"merge", [Pure]> {
  let summary = "What one attention over the keys of two would have given";
  let description = [{
    Two calls of one attention on the same queries and on two parts of the keys, merged from their
    results. Under softmax, with lse the logarithm of exp(lse_1) + exp(lse_2),
    o = exp(lse_1 - lse) o_1 + exp(lse_2 - lse) o_2; `sink(%s)` adds exp(s_h) to that sum, for calls
    that have no sink of their own. Under stick-breaking, where the second results are logarithms of
    the remaining mass, the first call is the one on the nearer keys: o = o_1 + exp(lse_1) o_2,
    lse = lse_1 + lse_2. A part without keys (o = 0; lse = -inf, or 0) changes nothing. Further
    parts are merged with what this makes. Shapes: o [B, Hq, Sq, Dv], lse [B, Hq, Sq]. Example:

    ```mlir
    %o, %lse = pe.merge %o1, %lse1, %o2, %lse2
        : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?xf32>)
        -> tensor<?x?x?x?xf32>, tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins PE_Activations:$first, 3DTensorOf<[F32]>:$first_lse,
    PE_Activations:$second, 3DTensorOf<[F32]>:$second_lse, Optional<1DTensorOf<[F32]>>:$sink,
    DefaultValuedAttr<PE_NormalizerAttr, "::mlir::pe::Normalizer::Softmax">:$normalizer);
  let results = (outs PE_Activations:$output, 3DTensorOf<[F32]>:$lse);
  let assemblyFormat = [{
    custom<MergeOperands>($first, $first_lse, $second, $second_lse, $sink, type($sink)) attr-dict
    custom<MergeTypes>(type($first), type($first_lse), type($second), type($second_lse),
    type($output), type($lse))
  }];
  let hasVerifier = 1;
}

#endif // PE_ATTENTION_TD
