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
    o_i = sum_j A_ij v_j, where A is the `normalizer`, over the unmasked keys, of
    z_ij = f(scale * <R_i q_i, R_j k_j>) + the sum of the biases and content terms. f is the score
    function, the identity by default. Shapes: q [B, Hq, Sq, D], k [B, Hkv, Sk, D],
    v [B, Hkv, Sk, Dv], o [B, Hq, Sq, Dv]. Hq is a multiple of Hkv, and query head h reads key head
    h / (Hq / Hkv). Biases are summed in the order of the operands.

    Prologues change queries, keys or both. They apply in order, before the rotation R. Content
    terms (`pe.content_fn`) are vectors that depend on the distance. They are multiplied with the
    queries or, as `value_content` (softmax only), added to the values. `query(%r)` gives every content
    term queries of another depth, r [B, Hq, Sq, R] with R a multiple of 8 from 8 to 64: it then adds
    <r_i, P(i - j)> without the scale.

    `scale` defaults to 1 / sqrt(D), or to 1 / D with `scale_by_depth`, for queries and keys that are
    normalized. The optional second result is, per query, the natural logarithm
    of the softmax denominator [B, Hq, Sq] (-inf for a row without keys) or, under stick-breaking,
    the logarithm of the remaining mass; sigmoid and softpick have no second result. Stick-breaking
    requires an order: either a mask that implies j <= i, or `direction = #pe.direction<both>` with
    keys on both sides of the queries. It uses the keys j < i and, with `attend_current`, also
    j = i. `remainder = #pe.remainder<value>` adds the remaining mass times the query's own value.

    `sink(%s)` (softmax only) adds a logit without a value to the denominator of every row. It is a
    tensor with one logit per query head, or a `!pe.sink`, a function of the query. A row without
    keys then has o = 0 and the logit as its log-sum-exp.

    `factor(%f, %g)` replaces A_ij by A_ij f_ij g_ij after normalization. The statistics (maximum,
    denominator) do not include the factors.

    `dropout(p, %seed)` replaces A_ij by A_ij / (1 - p) if word j mod 4 of Philox 4x32-10 is at
    least p * 2^32, and by 0 otherwise. The key of Philox is the seed; its counter is (b, head, i,
    floor(j / 4)), with global positions and heads. With a seed per batch entry, the counter has 0
    instead of b. The statistics do not include dropout.

    `positions(%q_pos, %k_pos)` (not under stick-breaking) replaces i and j by integers [B, Sq] and
    [B, Sk] in [0, 2^30) in every formula: in biases, the score function, the rotation and the mask.
    Tensors over queries and keys are still read at the row and the column, and dropout still uses
    row and column. The indices of a tensor over keys may depend only on j, and those of a tensor over
    queries only on i.

    With `rotated_keys`, the rotation turns only the queries, because the keys are given turned: a
    caller that keeps a cache turns every key once. The gradient of the keys is that of the turned
    ones. The prepared tensor of the keys of the same function without `rotated_keys` contains turned
    keys (docs/c-api.md).

    With `pages(%table : tensor<?x?xi32>)`, keys and values are pages of a pool that all batch entries
    share, [pages, page, Hkv, D] and [pages, page, Hkv, Dv]: key j of batch entry b is row j mod page of
    page table[b, j / page]. The table is [B, ceildiv(Sk, page)], on CPUs only and without gradients.
    Sk is the number of rows of a table's row of pages, or the length of the entry (`kv_len`).

    `rotate_values(%s)` rotates the value of the key at position j by +j before the weighted sum, and
    the output of the query at position i by -i after it (by the transposed matrices, if these are
    not orthogonal). Dv is then the number of dims of the rotation's heads. The rotation has no
    tensors except positions, and there is no `value_content`.

    `dropped` lists the biases that passes removed because they change no result; sources omit it.

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
    Optional<2DTensorOf<[I32]>>:$pages,
    Optional<PE_RotationType>:$value_rotation,
    Variadic<4DTensorOf<[F32]>>:$content_queries,
    DefaultValuedAttr<PE_NormalizerAttr, "::mlir::pe::Normalizer::Softmax">:$normalizer,
    OptionalAttr<F64Attr>:$scale, UnitAttr:$scale_by_depth, OptionalAttr<F64Attr>:$dropout,
    UnitAttr:$attend_current,
    UnitAttr:$rotated_keys,
    DefaultValuedAttr<PE_RemainderAttr, "::mlir::pe::Remainder::Drop">:$remainder,
    DefaultValuedAttr<PE_DirectionAttr, "::mlir::pe::Direction::Before">:$direction,
    OptionalAttr<StrArrayAttr>:$dropped);
  let results = (outs PE_Activations:$output, Optional<3DTensorOf<[F32]>>:$lse);
  let hasCustomAssemblyFormat = 1; // PEClauses.cpp
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The scale for a head dim: `scale`, or the default.
    double getScaleFor(int64_t headDim);
    /// The sinks, if they are a tensor. Null if they are a function of the query or absent.
    ::mlir::TypedValue<::mlir::RankedTensorType> getLogits();
    /// Returns true if adding a constant to a row of scores changes no weight: softmax without
    /// sinks.
    bool isShiftInvariant();
    /// The range of i - j that the mask allows: unbounded without a mask, and nullopt if the mask
    /// is a block argument.
    std::optional<::mlir::pe::DifferenceRange> getMaskRange();
    /// The range of i - j of the pairs that contribute: the range of the mask (unbounded if it is a
    /// block argument), without i = j if stick-breaking excludes the query's own key.
    ::mlir::pe::DifferenceRange getPairRange();
    /// Returns the queries that content term `number` multiplies: a tensor of query(...), or null for
    /// the attention's own.
    ::mlir::Value getQueriesOfContent(unsigned number);
    /// Returns the axis of keys and values that counts their heads.
    unsigned getKeyHeadAxis() { return getPages() ? 2 : 1; }
    /// Returns the name of a clause whose formulas count rows, so that positions from data cannot
    /// replace them; empty if there is none.
    ::llvm::StringRef findClauseOfRows();
    /// Returns true if the result depends on positions: through a mask, biases (including those
    /// that a pass has dropped because softmax ignores them), prologues, a rotation, or a score
    /// function, factor or sink that reads i or j.
    bool readsPositions();
  }];
}

def PE_MergeOp : PE_Op<"merge", [Pure]> {
  let summary = "Merges the results of an attention over two parts of the keys";
  let description = [{
    Merges the results of two calls of an attention with the same queries and different keys. The
    result equals that of one call over all keys. Under softmax, with lse the logarithm of
    exp(lse_1) + exp(lse_2), o = exp(lse_1 - lse) o_1 + exp(lse_2 - lse) o_2. `sink(%s)` adds
    exp(s_h) to that sum; use it if the two calls have no sink. Under stick-breaking, where the
    second results are the logarithms of the remaining mass, the first call is the one over the
    nearer keys: o = o_1 + exp(lse_1) o_2, lse = lse_1 + lse_2. A part without keys (o = 0; lse =
    -inf, or 0) changes nothing. To merge more parts, merge the result with the next part. Shapes: o
    [B, Hq, Sq, Dv], lse [B, Hq, Sq]. Example:

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
