//===- PEScalars.td - Scalar ops used inside regions -----------*- tablegen -*-===//
//
// The ops of scalar regions in addition to those of arith and math.
//
//===--------------------------------------------------------------------------===//
#ifndef PE_SCALARS_TD
#define PE_SCALARS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PE_ReadOp : PE_Op<"read", [Pure,
    TypesMatchWith<"result type matches the element type of the tensor", "source", "result",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">]> {
  let summary = "Reads one element of a tensor";
  let description = [{
    There is one index per dimension. A constant index outside a static extent is an error; any
    other index is clamped to [0, extent), so a read is always defined. The gradient of the result
    is added to the gradient of the element; integers have no gradient. Example:

    ```mlir
    %x = pe.read %table[%row, %h] : tensor<32x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def PE_YieldOp : PE_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "Ends a region of the pe dialect";
  let description = [{
    Example:

    ```mlir
    pe.yield %v : f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def PE_MlpEvalOp : PE_Op<"mlp_eval", [Pure, AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<PE_PiecewiseOpInterface>]> {
  let summary = "Output h of a small MLP at the scalar x";
  let description = [{
    The scalar form of `pe.mlp`, with the same layers. Example:

    ```mlir
    %y = pe.mlp_eval %x, %h layers(%w1, %b1, %w2, %b2
        : tensor<32xf32>, tensor<32xf32>, tensor<?x32xf32>, tensor<?xf32>) : f32
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, F64]>:$x, Index:$head, Variadic<PE_Tensor>:$layers,
    DefaultValuedAttr<PE_ActivationAttr, "::mlir::pe::Activation::Relu">:$activation,
    DefaultValuedAttr<PE_ActivationAttr, "::mlir::pe::Activation::Identity">:$final_activation,
    DefaultValuedAttr<F64Attr, "1e-5">:$tolerance);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let assemblyFormat = [{
    $x `,` $head `layers` `(` $layers `:` type($layers) `)` attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

def PE_CosineSumEvalOp : PE_Op<"cosine_sum_eval", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "sum_k cos(x / base^(k / terms)) of the scalar x";
  let description = [{
    The scalar form of `pe.cosine_sum`, without the amplitude. Long sums are lowered to a loop.
    Example:

    ```mlir
    %y = pe.cosine_sum_eval %x {terms = 64, base = 10000.0} : f32
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, F64]>:$x, DefaultValuedAttr<I64Attr, "64">:$terms,
                       DefaultValuedAttr<F64Attr, "10000.0">:$base);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def PE_GlobalHeadOp : PE_Op<"global_head", [Pure]> {
  let summary = "The index of a head in the entire model";
  let description = [{
    head_start + h for the head h of this call. Example:

    ```mlir
    %g = pe.global_head %h
    ```
  }];
  let arguments = (ins Index:$head);
  let results = (outs Index:$result);
  let assemblyFormat = "$head attr-dict";
}

def PE_DropoutFactorOp : PE_Op<"dropout_factor", [Pure]> {
  let summary = "1 / (1 - p) if dropout keeps the pair, otherwise 0";
  let description = [{
    The factor of `dropout(p, %seed)` of `pe.attention` on the weight of the region's pair, drawn by
    row and column. Only allowed in `pe.factor_fn`. Example:

    ```mlir
    %f = pe.dropout_factor 0.1, %seed : tensor<i64>
    ```
  }];
  let arguments = (ins F64Attr:$probability, TensorRankOf<[I64], [0, 1]>:$seed);
  let results = (outs F32:$result);
  let assemblyFormat = "$probability `,` $seed attr-dict `:` type($seed)";
  let hasVerifier = 1;
}

def PE_AxisSizeOp : PE_Op<"axis_size", [Pure]> {
  let summary = "The size of an axis of a tensor that a region reads";
  let description = [{
    A formula writes it as `size(table, 0)`. Axes count from 0. Example:

    ```mlir
    %rows = pe.axis_size %table, 0 : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$source `,` $axis attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def PE_HeadsTotalOp : PE_Op<"heads_total", [Pure]> {
  let summary = "The number of heads of the entire model";
  let description = [{
    Example:

    ```mlir
    %n = pe.heads_total
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def PE_SumOp : PE_Op<"sum", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "The sum of scalar code over an index";
  let description = [{
    The region computes one summand from the index k = 0, 1, ... and the inputs, which are scalars
    and tensors of the surrounding code. The number of summands is `count`, or the size of an axis
    of an input, `extent` = [index of the input, axis]. A formula writes it as `sum(k < 8, ...)` or
    `sum(k < size(u, 0), ...)`. Example:

    ```mlir
    %y = pe.sum(%x, %u : f32, tensor<?xf32>) attributes {extent = array<i64: 1, 0>} {
    ^bb0(%k: index, %a: f32, %t: tensor<?xf32>):
      %t_k = pe.read %t[%k] : tensor<?xf32>
      %z = arith.mulf %t_k, %a : f32
      pe.yield %z : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, OptionalAttr<I64Attr>:$count,
                       OptionalAttr<DenseI64ArrayAttr>:$extent);
  let results = (outs F32:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`(` $inputs^ `:` type($inputs) `)`)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The value that the region yields.
    ::mlir::Value getSummand();
    /// The input whose axis gives the number of summands; null if `count` does.
    ::mlir::Value getCounted();
    /// Moves code that does not depend on the index before the sum.
    void hoistInvariants();
    /// Erases unused code of the region, and inputs that neither the region nor `extent` uses.
    void dropUnusedInputs();
    /// The upper bound on `count`.
    static constexpr int64_t kMaxCount = 4096;
  }];
}

#endif // PE_SCALARS_TD
