//===- PEContents.td - Terms that depend on queries and distances -*- tablegen -*-===//
#ifndef PE_CONTENTS_TD
#define PE_CONTENTS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PE_ContentFnOp : PE_Op<"content_fn", [
    Pure, IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<PE_ContentOpInterface>]> {
  let summary = "A vector for every distance, written as scalar code";
  let description = [{
    The region computes element d of a vector P_h(i - j) from batch b, head h (of this call), global
    query position i, global key position j, d, the number of elements dim and the captured tensors.
    It must depend on i and j only through i - j, and must not depend on b (dataflow-C19).

    `content(%c)` of an attention adds scale * <q_i + v_h, P_h(i - j)> to the score, where v is the
    `shift` [heads, D], zero if absent. With `project(%w)` [D, D] it adds
    scale * <(q_i + v_h) W, P_h(i - j)>. q are the queries of the caller, without prologues and
    rotation. Like a bias, the term is added after the score function.

    With `query(%r)` of the attention, r [B, Hq, Sq, R] takes the place of q: the vectors have R
    elements, shift and projection are [heads, R] and [R, R], and the products are not scaled.

    `times(%f)` multiplies the term by a factor of the query, a `pe.factor_fn` that depends only on batch,
    head and i and is finite at every position (content_fn-C11). It changes no other part of the score.

    With `extent(n)`, P(t) is the region's vector if |t| < n, and 0 otherwise. The region is
    evaluated only at the former distances, and kernels skip blocks of pairs without any.

    `value_content(%c)` adds sum_j A_ij P_h(i - j) to the output. Its vectors have Dv elements, and
    it allows no shift, projection, factor or extent.

    `pe-classify-functions` sets `structure`, the class of the term. The region of class `angles` then
    also yields the angle (i - j) w (content_fn-C3).

    The gradients of queries, shift, projection and captures are derived. Example (Shaw et al. 2018,
    arXiv 1803.02155, section 3.2; Dai et al. 2019, arXiv 1901.02860, section 3.3):

    ```mlir
    %c = pe.content_fn(%rel_k : tensor<33x?xf32>) expr "rel_k[clamp(i - j, -16, 16) + 16, d]"
    %e = pe.content_fn(%p : tensor<16x1024xf32>) extent(1024) expr "p[d, i - j]"
    %r = pe.content_fn shift(%v : tensor<?x?xf32>)
           expr "let w = 10000 ^ (-2 * (d // 2) / dim) in select(d % 2 == 0, sin((i - j) * w), cos((i - j) * w))"
    ```
  }];
  let arguments = (ins Variadic<PE_Data>:$captures, Optional<2DTensorOf<[F32]>>:$shift,
                       Optional<2DTensorOf<[F32]>>:$projection,
                       Optional<PE_FactorType>:$factor,
                       OptionalAttr<I64Attr>:$extent,
                       OptionalAttr<PE_ContentAttr>:$structure);
  let results = (outs PE_ContentType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The element of the vector.
    ::mlir::Value getElement();
    /// The distances in `range` at which the vectors can differ from 0.
    ::mlir::pe::DifferenceRange limit(::mlir::pe::DifferenceRange range);
    /// The angle (i - j) w of all sines and cosines, for class `angles`.
    ::mlir::Value getAngle();
  }];
}

def PE_QueryShiftOp : PE_Op<"query_shift", [
    Pure, DeclareOpInterfaceMethods<PE_PrologueOpInterface, ["getTensorAxes"]>]> {
  let summary = "Adds a vector per head to the queries";
  let description = [{
    A prologue that replaces q_i by q_i + u_h, where u is `shift` [heads, D]. Content terms read the
    queries without this shift. Example (the vector u of Dai et al. 2019, arXiv 1901.02860, section
    3.3):

    ```mlir
    %p = pe.query_shift %u : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins 2DTensorOf<[F32]>:$shift);
  let results = (outs PE_PrologueType:$result);
  let assemblyFormat = "$shift attr-dict `:` type($shift)";
}

#endif // PE_CONTENTS_TD
