//===- PEBiases.td - Additive biases ---------------------------*- tablegen -*-===//
//
// Functions of coordinates, one value per (batch, head, query, key).
//
//===--------------------------------------------------------------------------===//
#ifndef PE_BIASES_TD
#define PE_BIASES_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class PE_BiasOp<string mnemonic, list<Trait> traits = []>
    : PE_Op<mnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<PE_ScalarOpInterface>], traits)> {
  let results = (outs PE_BiasType:$result);
}

def PE_LinearOp : PE_BiasOp<"linear", [AttrSizedOperandSegments]> {
  let summary = "factor * slope_h * x + intercept_h";
  let description = [{
    b_h(x) = factor * s_h * x (+ intercept_h). The slope is either a parameter or given by a fixed
    `rule` of the global head. ALiBi (Press et al. 2022, arXiv 2108.12409) is this function of the
    distance, with factor -1. Example:

    ```mlir
    %a = pe.linear %d {factor = -1.0, rule = #pe.slope_rule<geometric>}
    %b = pe.linear %d slope(%s : tensor<?xf32>) {factor = -1.0}
    ```
  }];
  let arguments = (ins PE_CoordinateType:$x, Optional<PE_Parameter>:$slope,
                       Optional<PE_Parameter>:$intercept,
                       DefaultValuedAttr<F64Attr, "1.0">:$factor,
                       OptionalAttr<PE_SlopeRuleAttr>:$rule);
  let assemblyFormat = [{
    $x (`slope` `(` $slope^ `:` type($slope) `)`)?
    (`intercept` `(` $intercept^ `:` type($intercept) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def PE_TableOp : PE_BiasOp<"table"> {
  let summary = "A learned row per value of an integer coordinate";
  let description = [{
    b_h(x) = table[x, h] for a table [N, H]. x is an integer; values outside [0, N) are clamped. The
    bias of T5 is this function of `pe.bucket`. Example:

    ```mlir
    %b = pe.table %x, %table : tensor<32x?xf32>
    ```
  }];
  let arguments = (ins PE_CoordinateType:$x, 2DTensorOf<[F32]>:$table);
  let assemblyFormat = "$x `,` $table attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def PE_PowerOp : PE_BiasOp<"power"> {
  let summary = "factor * slope_h * x^exponent_h";
  let description = [{
    b_h(x) = factor * r1_h * x^(r2_h) for x >= 0. At x = 0 the value and all gradients are 0. The
    power form of Kerple (Chi et al. 2022, arXiv 2205.09921) is this function of the distance, with
    factor -1. Example:

    ```mlir
    %b = pe.power %d exponent(%r2 : tensor<?xf32>) slope(%r1 : tensor<?xf32>) {factor = -1.0}
    ```
  }];
  let arguments = (ins PE_CoordinateType:$x, PE_Parameter:$exponent, PE_Parameter:$slope,
                       DefaultValuedAttr<F64Attr, "1.0">:$factor);
  let assemblyFormat = [{
    $x `exponent` `(` $exponent `:` type($exponent) `)` `slope` `(` $slope `:` type($slope) `)`
    attr-dict
  }];
  let hasVerifier = 1;
}

def PE_MlpOp : PE_BiasOp<"mlp"> {
  let summary = "A small MLP of a coordinate, one output per head";
  let description = [{
    b_h(x) = final_activation((W_n a(... a(W_1 x + b_1) ...) + b_n)_h) with a = `activation`. The
    layers are w1[n1], b1[n1], w2[n2, n1], b2[n2], ..., and finally w[H, n], b[H] (or a single row
    and bias that all heads share). A single layer is w[H], b[H]. A polynomial approximation of a
    smooth activation has an error of at most `tolerance` logits; everything else is exact. Example:

    ```mlir
    %b = pe.mlp %t layers(%w1, %b1, %w2, %b2
        : tensor<32xf32>, tensor<32xf32>, tensor<?x32xf32>, tensor<?xf32>)
        {activation = #pe.activation<relu>}
    ```
  }];
  let arguments = (ins PE_CoordinateType:$x, Variadic<PE_Tensor>:$layers,
    DefaultValuedAttr<PE_ActivationAttr, "::mlir::pe::Activation::Relu">:$activation,
    DefaultValuedAttr<PE_ActivationAttr, "::mlir::pe::Activation::Identity">:$final_activation,
    DefaultValuedAttr<F64Attr, "1e-5">:$tolerance);
  let assemblyFormat = "$x `layers` `(` $layers `:` type($layers) `)` attr-dict";
  let hasVerifier = 1;
}

def PE_CosineSumOp : PE_BiasOp<"cosine_sum"> {
  let summary = "amplitude_h * sum_k cos(x / base^(k / terms))";
  let description = [{
    b_h(x) = r1_h * sum_{k=1..terms} cos(x / base^(k / terms)), with r1 = 1 if there is no
    amplitude. This is Sandwich (Chi et al. 2023, arXiv 2212.10356) in the form of arXiv 2310.04418,
    App. A.2. Example:

    ```mlir
    %b = pe.cosine_sum %r amplitude(%r1 : tensor<?xf32>) {terms = 64}
    ```
  }];
  let arguments = (ins PE_CoordinateType:$x, Optional<PE_Parameter>:$amplitude,
                       DefaultValuedAttr<I64Attr, "64">:$terms,
                       DefaultValuedAttr<F64Attr, "10000.0">:$base);
  let assemblyFormat = "$x (`amplitude` `(` $amplitude^ `:` type($amplitude) `)`)? attr-dict";
  let hasVerifier = 1;
}

def PE_AddOp : PE_BiasOp<"add"> {
  let summary = "The sum of two biases";
  let description = [{
    Example:

    ```mlir
    %c = pe.add %a, %b
    ```
  }];
  let arguments = (ins PE_BiasType:$lhs, PE_BiasType:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

def PE_ScaleOp : PE_BiasOp<"scale"> {
  let summary = "A bias times a constant";
  let description = [{
    Example:

    ```mlir
    %c = pe.scale %a {factor = 0.5}
    ```
  }];
  let arguments = (ins PE_BiasType:$bias, F64Attr:$factor);
  let assemblyFormat = "$bias attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def PE_BiasFnOp : PE_BiasOp<"bias_fn",
    [IsolatedFromAbove, SingleBlock]> {
  let summary = "A bias written as scalar code";
  let description = [{
    The region computes one f32 from batch b, head h (of this call), global query position i, global
    key position j, the captured tensors and the captured coordinates. Coordinates are f32 inside
    the region. The region may use `arith`, `math` and the scalar ops of pe. Its gradients with
    respect to the captures are derived. Example:

    ```mlir
    %bias = pe.bias_fn(%amp : tensor<?xf32>) {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %a: tensor<?xf32>):
      %v = pe.read %a[%h] : tensor<?xf32>
      pe.yield %v : f32
    }
    ```

    A formula may replace the region. It refers to captures by their names in the list. b, h, i and
    j are integers, and integers may be used as indices. The parser expands the formula and reports
    errors at their position in it (`Expression.h` has the grammar, docs/spec.md the functions).
    Example:

    ```mlir
    %bias = pe.bias_fn(%amp, %tau : tensor<?xf32>, tensor<?xf32>)
              expr "amp[h] * exp(-abs(i - j) / tau[h])"
    %t = pe.log_distance c(%c : tensor<f32>)
    %faded = pe.bias_fn(%fade, %t : tensor<?xf32>, !pe.coordinate) expr "fade[h] * t"
    ```
  }];
  let arguments = (ins Variadic<AnyTypeOf<[PE_Data, PE_CoordinateType]>>:$captures);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = "bool readsTokens() { return true; }";
}

#endif // PE_BIASES_TD
