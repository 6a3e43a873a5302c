//===- PEWeights.td - Factors on weights, and sinks ------------*- tablegen -*-===//
#ifndef PE_WEIGHTS_TD
#define PE_WEIGHTS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PE_FactorFnOp : PE_Op<"factor_fn", [
    Pure, IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<PE_FactorOpInterface>]> {
  let summary = "A factor on the weight of every pair, written as scalar code";
  let description = [{
    The region computes the factor of a pair from batch b, head h (of this call), global query
    position i, global key position j, and the captured tensors. It may use the ops that
    `pe.bias_fn` may, and `pe.dropout_factor` with captured seeds. The derivatives with respect to
    the other captures are derived.

    `pe-classify-functions` sets `per_query` if the factor is finite and depends only on b, h and i.
    The region then reads neither j nor a random draw (factor_fn-C8). Example (weights that decay after normalization):

    ```mlir
    %f = pe.factor_fn(%rate : tensor<?xf32>) expr "exp(-rate[h] * abs(i - j))"
    ```
  }];
  let arguments = (ins Variadic<PE_DataOrSeed>:$captures, UnitAttr:$per_query);
  let results = (outs PE_FactorType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The random draws of the region, in order.
    ::llvm::SmallVector<::mlir::pe::DropoutFactorOp> getDraws();
    /// The captured tensor with the seed of a draw.
    ::mlir::Value getSeed(::mlir::pe::DropoutFactorOp draw);
  }];
}

def PE_SinkFnOp : PE_Op<"sink_fn", [
    Pure, IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<PE_SinkOpInterface>]> {
  let summary = "The logit from which the statistics of a row start, written as scalar code";
  let description = [{
    The region computes the logit of a row from batch b, head h (of this call), global query
    position i, and the captured tensors, whose gradients are derived. It may use the ops that
    `pe.bias_fn` may. The logit is computed once per row, in float64, and rounded. Example:

    ```mlir
    %s = pe.sink_fn(%start, %rise : tensor<?xf32>, tensor<?xf32>)
        expr "start[h] + rise[h] * log(1 + i)"
    ```
  }];
  let arguments = (ins Variadic<PE_Data>:$captures);
  let results = (outs PE_SinkType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The tensor `t` if the sink is t[h]; otherwise null.
    ::mlir::Value getLogits();
  }];
}

#endif // PE_WEIGHTS_TD
