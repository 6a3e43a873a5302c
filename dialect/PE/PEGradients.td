//===- PEGradients.td - Derivatives at the pe level ------------*- tablegen -*-===//
//
// The ops that pe-differentiate creates: the gradient of an attention, the pullback of a bias to
// its parameters, and sums of adjoints. Users do not write them.
//
//===--------------------------------------------------------------------------===//
#ifndef PE_GRADIENTS_TD
#define PE_GRADIENTS_TD

include "dialect/PE/PETypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PE_AttentionGradOp : PE_Op<"attention_grad", [Pure]> {
  let summary = "Gradients of query, key, value and every bias of an attention";
  let description = [{
    `output` is the first result of a `pe.attention`. The operands and attributes of that op apply
    here, and its results are the residuals. `cotangent` is the derivative of the loss with respect
    to the output, `lse_cotangent` with respect to its log-sum-exp. There is one adjoint per bias,
    in order, then those of the score function, the prologues, the rotation, the content terms, the
    content term of the values, the sink and the factors. All but the biases have an adjoint only if
    they have tensor operands (attention_grad-C1 to -C3). `pe-expand-functions` must have converted
    sinks and dropout to values (attention_grad-C5). Example:

    ```mlir
    %o = pe.attention %q, %k, %v bias(%bias)
        : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    %dq, %dk, %dv, %a = pe.attention_grad %o, %d_o
        : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
        -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, !pe.adjoint)
    ```
  }];
  let arguments = (ins PE_Activations:$output, PE_Activations:$cotangent,
                       Optional<3DTensorOf<[F32]>>:$lse_cotangent);
  let results = (outs PE_Activations:$query_grad, PE_Activations:$key_grad,
                      PE_Activations:$value_grad, Variadic<PE_AdjointType>:$adjoints);
  let assemblyFormat = [{
    $output `,` $cotangent (`lse` `(` $lse_cotangent^ `:` type($lse_cotangent) `)`)? attr-dict
    `:` `(` type($output) `,` type($cotangent) `)` `->`
    `(` type($query_grad) `,` type($key_grad) `,` type($value_grad)
    (`,` type($adjoints)^)? `)`
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The attention that is differentiated.
    ::mlir::pe::AttentionOp getAttention();
    /// The operands of `attention` that have an adjoint, in the order of the adjoints.
    static ::llvm::SmallVector<::mlir::Value> getDifferentiated(::mlir::pe::AttentionOp attention);
  }];
}

def PE_MergeGradOp : PE_Op<"merge_grad", [Pure]> {
  let summary = "Gradients of the operands of a merge";
  let description = [{
    `output` is the first result of a `pe.merge`; the results are the gradients of its tensor
    operands, in order (merge_grad-C1, -C2). Example:

    ```mlir
    %o, %lse = pe.merge %o1, %lse1, %o2, %lse2
        : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?xf32>)
        -> tensor<?x?x?x?xf32>, tensor<?x?x?xf32>
    %d_o1, %d_lse1, %d_o2, %d_lse2 = pe.merge_grad %o, %d_o lse(%d_lse : tensor<?x?x?xf32>)
        : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
        -> (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?xf32>)
    ```
  }];
  let arguments = (ins PE_Activations:$output, PE_Activations:$cotangent,
                       Optional<3DTensorOf<[F32]>>:$lse_cotangent);
  let results = (outs Variadic<RankedTensorOf<[F32, BF16, F16]>>:$gradients);
  let assemblyFormat = [{
    $output `,` $cotangent (`lse` `(` $lse_cotangent^ `:` type($lse_cotangent) `)`)? attr-dict
    `:` `(` type($output) `,` type($cotangent) `)` `->` `(` type($gradients) `)`
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The merge that is differentiated.
    ::mlir::pe::MergeOp getMerge();
  }];
}

def PE_PullbackOp : PE_Op<"pullback", [Pure]> {
  let summary = "Gradients of a bias's parameters";
  let description = [{
    The sum over all batches, heads and pairs of `adjoint` times the derivative of the bias with
    respect to each captured tensor of its `pe.bias_fn` or `pe.term`, in order (pullback-C1, -C2).
    Example:

    ```mlir
    %bias = pe.bias_fn(%slopes : tensor<?xf32>) expr "-slopes[h] * abs(i - j)"
    %d_slopes = pe.pullback %bias, %a : tensor<?xf32>
    ```
  }];
  let arguments = (ins PE_BiasType:$bias, PE_AdjointType:$adjoint);
  let results = (outs Variadic<PE_Data>:$gradients);
  let assemblyFormat = "$bias `,` $adjoint attr-dict (`:` type($gradients)^)?";
  let hasVerifier = 1;
}

def PE_ScorePullbackOp : PE_Op<"score_pullback", [Pure]> {
  let summary = "Gradients of the parameters of a score function";
  let description = [{
    The sum over all batches, heads and pairs of `adjoint` times the derivative of the new score
    with respect to each captured tensor of its `pe.score_fn`, in order (score_pullback-C1, -C2).
    Example:

    ```mlir
    %s = pe.score_fn(%gain : tensor<?xf32>) expr "s * gain[h]"
    %d_gain = pe.score_pullback %s, %a : tensor<?xf32>
    ```
  }];
  let arguments = (ins PE_ScoreType:$score, PE_AdjointType:$adjoint);
  let results = (outs Variadic<PE_Data>:$gradients);
  let assemblyFormat = "$score `,` $adjoint attr-dict (`:` type($gradients)^)?";
  let hasVerifier = 1;
}

def PE_WeightPullbackOp : PE_Op<"weight_pullback", [Pure]> {
  let summary = "Gradients of the tensors of a factor on weights, or of a sink";
  let description = [{
    The sum over all batches, heads and pairs (for a sink, queries) of `adjoint` times the
    derivative with respect to each captured tensor of the `pe.factor_fn` or `pe.sink_fn`, in order
    (weight_pullback-C1, -C2). Example:

    ```mlir
    %f = pe.factor_fn(%rate : tensor<?xf32>) expr "exp(-rate[h] * abs(i - j))"
    %d_rate = pe.weight_pullback %f, %a : !pe.factor -> tensor<?xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[PE_FactorType, PE_SinkType]>:$source, PE_AdjointType:$adjoint);
  let results = (outs Variadic<PE_DataOrSeed>:$gradients);
  let assemblyFormat = "$source `,` $adjoint attr-dict `:` type($source) `->` type($gradients)";
  let hasVerifier = 1;
}

def PE_ProloguePullbackOp : PE_Op<"prologue_pullback", [Pure]> {
  let summary = "Gradients of the tensors of a prologue, rotation or content term";
  let description = [{
    The derivative of the loss with respect to each tensor operand of the op that defines the
    prologue, rotation or content term, in order (prologue_pullback-C1, -C2). For a prologue or
    rotation, `adjoint` is the adjoint of the queries and keys it produces. Example:

    ```mlir
    %r = pe.rotary %base : tensor<?xf32>
    %d_base = pe.prologue_pullback %r, %a : !pe.rotation -> tensor<?xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[PE_PrologueType, PE_RotationType, PE_ContentType]>:$prologue,
                       PE_AdjointType:$adjoint);
  let results = (outs Variadic<PE_Data>:$gradients);
  let assemblyFormat = "$prologue `,` $adjoint attr-dict `:` type($prologue) `->` type($gradients)";
  let hasVerifier = 1;
}

def PE_AddAdjointsOp : PE_Op<"add_adjoints", [Pure]> {
  let summary = "The sum of two adjoints of one bias";
  let description = [{
    Example:

    ```mlir
    %c = pe.add_adjoints %a, %b
    ```
  }];
  let arguments = (ins PE_AdjointType:$lhs, PE_AdjointType:$rhs);
  let results = (outs PE_AdjointType:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

def PE_ZerosLikeOp : PE_Op<"zeros_like", [Pure, SameOperandsAndResultType]> {
  let summary = "A tensor of zeros with the shape of another tensor";
  let description = [{
    The gradient of an argument that no result depends on. Example:

    ```mlir
    %d_s = pe.zeros_like %s : tensor<?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

#endif // PE_GRADIENTS_TD
