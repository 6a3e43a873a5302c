//===- PERotations.td - Rotations of queries and keys ----------*- tablegen -*-===//
#ifndef PE_ROTATIONS_TD
#define PE_ROTATIONS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// `methods`: the interface methods it implements besides those of every rotation.
class PE_RotationOp<string mnemonic, list<string> methods = []>
    : PE_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<PE_RotationOpInterface, methods>]> {
  let results = (outs PE_RotationType:$result);
}

def PE_RotaryOp : PE_RotationOp<"rotary", ["getMagnitude", "isPerHead", "getRequirements"]> {
  let summary = "Rotary position embedding";
  let description = [{
    Pair p of the n = rotary_dims (default: all) leading dims is rotated by the angle
    position * base^(-2p/n) (Su et al. 2021, arXiv 2104.09864, Eq. 15 and 34). Pairs are
    (x_p, x_{p+n/2}), or (x_2p, x_{2p+1}) when `interleaved`. `scaling` changes the frequencies for
    texts longer than those of training. The base is 10000, the attribute `base`, or a learned
    operand: one number for all heads (rank 0) or one per head, which needs as many key heads as
    query heads. Example:

    ```mlir
    %r = pe.rotary {base = 10000.0, scaling = #pe.rope_scaling<linear, factor = 4.0>}
    ```
  }];
  let arguments = (ins Optional<PE_Parameter>:$learned_base, OptionalAttr<F64Attr>:$base,
                       DefaultValuedAttr<BoolAttr, "false">:$interleaved,
                       OptionalAttr<I64Attr>:$rotary_dims, OptionalAttr<PE_RopeScalingAttr>:$scaling);
  let assemblyFormat = "custom<LearnedBase>($learned_base, type($learned_base)) attr-dict";
  let hasVerifier = 1;
}

def PE_RotationTableOp
    : PE_RotationOp<"rotation_table", ["getTables", "getTensorExtents", "getRequirements"]> {
  let summary = "A rotation by cosines and sines that are given";
  let description = [{
    Pair p of a row at position i becomes (x c - y s, y c + x s) with c = cosines[i, p] and
    s = sines[i, p]. The tensors have one column per pair and a row for every position up to the
    last one of a call, which is checked before any work; keys begin at position 0 or later. Both
    have gradients, sums over batches and heads. `rotary_dims` and `interleaved` as in `pe.rotary`.
    Example:

    ```mlir
    %r = pe.rotation_table %cos, %sin : tensor<?x?xf32>, tensor<?x?xf32>
    ```
  }];
  let arguments = (ins 2DTensorOf<[F32]>:$cosines, 2DTensorOf<[F32]>:$sines,
                       DefaultValuedAttr<BoolAttr, "false">:$interleaved,
                       OptionalAttr<I64Attr>:$rotary_dims);
  let assemblyFormat = "$cosines `,` $sines attr-dict `:` type($cosines) `,` type($sines)";
  let hasVerifier = 1;
}

#endif // PE_ROTATIONS_TD
