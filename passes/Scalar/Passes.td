//===- Passes.td - the pass of this room ----------------------------------===//
#ifndef PE_PASSES_SCALAR_PASSES
#define PE_PASSES_SCALAR_PASSES

include "mlir/Pass/PassBase.td"

def PETileDefineIntegersPass : Pass<"pe-tile-define-integers", "::mlir::tile::PlanOp"> {
  let summary = "gives integers of scalar code the same meaning on every target";
  let description = [{
    An index has 64 bits, but vector units and GPUs are faster with 32. A range analysis with the
    limits of a call (positions are below 2^30 in magnitude, extents below 2^31) decides the width. An
    `index` that remains after this pass fits in a signed 32-bit integer, and so do all operands that it
    is computed from; values that may not fit are computed in i64. Lowerings may therefore give `index`
    any width of at least 32 bits.

    The pass also defines the undefined cases of the other integer types. Overflow wraps around, and
    flags that promise otherwise are dropped. A quotient or remainder by 0 is 0, the smallest
    integer divided by -1 wraps around, and a shift by the width or more shifts out all bits; if the
    ranges do not exclude these cases, a select handles them. `index_castui` and divisions that
    round to the floor or the ceiling are expanded into simpler operations. A conversion of a 64-bit
    integer to float becomes one of a 32-bit integer if the value fits.

    ```mlir
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %d = arith.subi %i, %j : index          // |d| < 2^31: stays
      %p = arith.muli %d, %d : index          // up to 2^62
      %x = arith.index_cast %p : index to i64
      %f = arith.sitofp %x : i64 to f32
    ==>
      %d = arith.subi %i, %j : index
      %w = arith.index_cast %d : index to i64
      %p = arith.muli %w, %w : i64
      %f = arith.sitofp %p : i64 to f32
    ```
    Example: test/passes/Scalar/tile-define-integers.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // PE_PASSES_SCALAR_PASSES
