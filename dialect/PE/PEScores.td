//===- PEScores.td - Score functions ---------------------------*- tablegen -*-===//
#ifndef PE_SCORES_TD
#define PE_SCORES_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PE_ScoreFnOp : PE_Op<"score_fn", [
    Pure, IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<PE_ScoreOpInterface>]> {
  let summary = "A score function, written as scalar code";
  let description = [{
    The region computes the new score of a pair from the scaled one, s = scale * <R_i q_i, R_j k_j>,
    batch b, head h (of this call), global query position i, global key position j, and the captured
    tensors. Biases are added to the new score. The region may use the ops that `pe.bias_fn` may.
    Its derivatives with respect to s and the captures are derived.

    `pe-classify-functions` sets `per_query` if the function is s times a finite value that depends
    only on b, h and i. The region then does not read j (score_fn-C7). Example (a cap, Gemma Team 2024,
    arXiv 2408.00118, section 2):

    ```mlir
    %s = pe.score_fn expr "30 * tanh(s / 30)"
    %t = pe.score_fn(%gain : tensor<?xf32>) expr "s * log(1 + i) * gain[h]"
    ```
  }];
  let arguments = (ins Variadic<PE_Data>:$captures, UnitAttr:$per_query);
  let results = (outs PE_ScoreType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // PE_SCORES_TD
