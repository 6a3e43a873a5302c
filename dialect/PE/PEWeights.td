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
    position i, global key position j, and the captured tensors. It may use what `pe.bias_fn` may, and
    draws of chance (`pe.dropout_factor`), by captured seeds. Derivatives with respect to the other
    captures are derived. Example (weights that decay behind the normalizer):

    ```mlir
    %f = pe.factor_fn(%rate : tensor<?xf32>) expr "exp(-rate[h] * abs(i - j))"
    ```
  }];
  let arguments = (ins Variadic<PE_DataOrSeed>:$captures);
  let results = (outs PE_FactorType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The draws of chance in the region, in order.
    ::llvm::SmallVector<::mlir::pe::DropoutFactorOp> getDraws();
    /// The captured tensor that a draw takes its seed from.
    ::mlir::Value getSeed(::mlir::pe::DropoutFactorOp draw);
  }];
}

def PE_SinkFnOp : PE_Op<"sink_fn", [
    Pure, IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<PE_SinkOpInterface>]> {
  let summary = "The logit at which the statistics of a row start, written as scalar code";
  let description = [{
    The region computes the logit of a row from batch b, head h (of this call), global query position
    i, and the captured tensors, whose gradients are derived. It may use what `pe.bias_fn` may. It is
    computed once per row, in float64, and rounded. Example:

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
    /// The tensor of a logit per head that the sink is, element h; null where it is anything else.
    ::mlir::Value getLogits();
  }];
}

#endif // PE_WEIGHTS_TD
