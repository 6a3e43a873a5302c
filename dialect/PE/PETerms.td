//===- PETerms.td - The terms of a sum of biases ---------------*- tablegen -*-===//
//
// The ops that pe-split-terms creates: the biases of an attention as a sum of terms, each of the
// cheapest exact class. Users do not write them.
//
//===--------------------------------------------------------------------------===//
#ifndef PE_TERMS_TD
#define PE_TERMS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PE_TermOp : PE_Op<"term", [
    Pure, IsolatedFromAbove, DeclareOpInterfaceMethods<PE_ScalarOpInterface>]> {
  let summary = "One term of a sum of biases, with one region per part";
  let description = [{
    A bias operand of a `pe.attention` after `pe-split-terms`. Its class determines its parts. Each
    part is a region whose arguments are exactly the values that it may depend on, so later passes
    need no analysis. The arguments are batch b and head h, those listed below, and one per capture.
    Every part yields one f32.

    | class | parts | value |
    |---|---|---|
    | `row` | row (i) | row |
    | `column` | column (j) | column |
    | `row_column` | row (i), column (j) | row + column |
    | `affine` | distance (d) | distance, a multiple of d = i - j |
    | `distance` | distance (d) | distance |
    | `segments` | factor (d), row factor (i), scale (), piece (x: f32) | scale * piece(factor * row factor) |
    | `general` | pair (i, j) | pair |

    i and j are global positions and d = i - j, all of type index. The piece of a `segments` term is
    piecewise linear in x, with breakpoints that all heads share; it ends with an op that implements
    PiecewiseOpInterface. Only the parts of `row`, `column`, `row_column`, `affine` and `general`
    may depend on b (term-C1 to term-C6 of docs/spec.md).

    `formula` is the term written with the user's names. Example:

    ```mlir
    %term = pe.term <affine, "is proportional to i - j">(%slopes : tensor<?xf32>)
        attributes {formula = "slopes[h] * (i - j)"} {
    ^bb0(%b: index, %h: index, %d: index, %s: tensor<?xf32>):
      %d32 = arith.index_cast %d : index to i32
      %f = arith.sitofp %d32 : i32 to f32
      %sh = pe.read %s[%h] : tensor<?xf32>
      %v = arith.mulf %sh, %f : f32
      pe.yield %v : f32
    }
    ```
  }];
  let arguments = (ins PE_TermAttr:$structure, Variadic<PE_Data>:$captures,
                       StrAttr:$formula);
  let results = (outs PE_BiasType:$result);
  let regions = (region VariadicRegion<SizedRegion<1>>:$parts);
  let assemblyFormat = [{
    $structure (`(` $captures^ `:` type($captures) `)`)? attr-dict-with-keyword $parts
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::pe::TermClass getTermClass() { return getStructure().getCls(); }
    ::llvm::StringRef getReason() { return getStructure().getReason(); }
    /// The block of a part that the class has.
    ::mlir::Block &getPart(::mlir::pe::TermPart part);
    /// The value that the part yields.
    ::mlir::Value getPartValue(::mlir::pe::TermPart part);
    /// Returns true if any part depends on the batch b.
    bool dependsOnBatch();
    /// Returns true if the part depends on the head h.
    bool dependsOnHead(::mlir::pe::TermPart part);
    /// Drops captures that no part reads.
    void dropUnusedCaptures();
  }];
}

#endif // PE_TERMS_TD
