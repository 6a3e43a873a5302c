//===- PERotations.td - Rotations of queries and keys ----------*- tablegen -*-===//
#ifndef PE_ROTATIONS_TD
#define PE_ROTATIONS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// `methods` lists the interface methods that the op implements in addition to those of every
/// rotation.
class PE_RotationOp<string mnemonic, list<string> methods = [], list<Trait> traits = []>
    : PE_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<PE_RotationOpInterface, methods>] # traits> {
  let results = (outs PE_RotationType:$result);
}

def PE_RotaryOp : PE_RotationOp<"rotary",
    ["getMagnitude", "isPerHead", "getRequirements", "getFirstDim", "getTensorExtents",
     "getAxisPositions", "buildAxis"],
    [AttrSizedOperandSegments]> {
  let summary = "Rotary position embedding";
  let description = [{
    Pair p of the n = rotary_dims (default: all) leading dims, or of the last n dims if `trailing`,
    is rotated by the angle position * base^(-2p/n) (Su et al. 2021, arXiv 2104.09864, Eq. 15 and
    34). Pairs are (x_p, x_{p+n/2}), or (x_2p, x_{2p+1}) if `interleaved`. `scaling` changes the
    frequencies for sequences longer than in training. The base is the attribute `base` (default
    10000) or a learned operand with one value for all heads (rank 0) or one per head. A base per
    head requires as many key heads as query heads.

    `positions(%p)` rotates every pair by one of several positions of its token, integers
    [axes, batch, rows] in [0, 2^30); formulas and masks still count rows. One tensor serves queries
    and keys, which then have equally many rows; two tensors are those of queries and of keys.
    `sections` has the number of pairs of each axis, and the pairs of axis 0 come first. With
    `sections_of = m`, the sections are those of m pairs: axis a ends before the first pair p with
    p m >= s_a n/2, where s_a is the sum of the sections up to a. With `alternating`, pair p has
    axis a = p mod axes if p m < axes * sections[a] n/2, otherwise axis 0. With `restart`, the
    frequencies of an axis with k pairs are base^(-p/k), and p counts from the axis' first pair.
    Example:

    ```mlir
    %r = pe.rotary {base = 10000.0, scaling = #pe.rope_scaling<linear, factor = 4.0>}
    %s = pe.rotary positions(%p : tensor<3x?x?xi32>) {sections = [24, 20, 20], alternating = true}
    %t = pe.rotary positions(%qp, %kp : tensor<2x?x?xi32>, tensor<2x?x?xi32>)
        {sections = [1, 1], sections_of = 2, restart = true}
    ```
  }];
  let arguments = (ins Optional<PE_Parameter>:$learned_base,
                       Variadic<3DTensorOf<[I32]>>:$positions, OptionalAttr<F64Attr>:$base,
                       DefaultValuedAttr<BoolAttr, "false">:$interleaved,
                       OptionalAttr<I64Attr>:$rotary_dims,
                       DefaultValuedAttr<BoolAttr, "false">:$trailing,
                       OptionalAttr<PE_RopeScalingAttr>:$scaling,
                       OptionalAttr<I64ArrayAttr>:$sections, OptionalAttr<I64Attr>:$sections_of,
                       DefaultValuedAttr<BoolAttr, "false">:$alternating,
                       DefaultValuedAttr<BoolAttr, "false">:$restart);
  let assemblyFormat = [{
    custom<LearnedBase>($learned_base, type($learned_base))
    (`positions` `(` $positions^ `:` type($positions) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def PE_RotationTableOp
    : PE_RotationOp<"rotation_table",
                    ["getTables", "getTensorExtents", "getRequirements", "getFirstDim"]> {
  let summary = "A rotation by cosines and sines from tensors";
  let description = [{
    Pair p of a row at position i becomes (x c - y s, y c + x s) with c = cosines[i, p] and s =
    sines[i, p]. The tensors have one column per pair and one row for every position up to the last
    one of the call. A call checks this before it computes anything. Keys begin at position 0 or
    later. With a leading batch axis, [B, positions, pairs], every batch entry has its own rows;
    The gradients of both tensors are summed over heads and, without a batch axis, over batch
    entries. `rotary_dims`, `trailing` and `interleaved` are as in `pe.rotary`. Example:

    ```mlir
    %r = pe.rotation_table %cos, %sin : tensor<?x?xf32>, tensor<?x?xf32>
    %s = pe.rotation_table %c, %d : tensor<?x?x?xf32>, tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins TensorRankOf<[F32], [2, 3]>:$cosines, TensorRankOf<[F32], [2, 3]>:$sines,
                       DefaultValuedAttr<BoolAttr, "false">:$interleaved,
                       OptionalAttr<I64Attr>:$rotary_dims,
                       DefaultValuedAttr<BoolAttr, "false">:$trailing);
  let assemblyFormat = "$cosines `,` $sines attr-dict `:` type($cosines) `,` type($sines)";
  let hasVerifier = 1;
}

def PE_RotationFnOp : PE_Op<"rotation_fn", [
    Pure, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<PE_RotationOpInterface,
        ["isPerHead", "getMagnitude", "getTensorExtents", "getRequirements", "getFirstDim"]>]> {
  let summary = "A rotation whose frequencies are written as scalar code";
  let description = [{
    The region computes the frequency, in radians per position, of pair p of head h from h, p, the
    number n of rotated pairs (`rotary_dims` / 2) and the captured tensors. p is in [0, n). The pair
    of a row at position i is rotated by the angle i * frequency; the frequency must not depend on i
    and j. A frequency of 0 leaves its pair unchanged. The region may use the ops that `pe.bias_fn`
    may, except networks. All values, including the literals of a formula, are float64, and the
    gradients of the captures are derived.

    An axis of a capture that is read at h has one entry per head, and one that is read at p has one
    entry per pair, with or without `pe.axes`. Any other axis has a static size or a user-defined
    name. Frequencies that depend on h require as many key heads as query heads. `rotary_dims`,
    `trailing` and `interleaved` are as in `pe.rotary`; `magnitude` is a factor on cosines and
    sines. Example (the
    second rotates three quarters of the pairs, the third has a factor per pair):

    ```mlir
    %r = pe.rotation_fn(%base : tensor<?xf32>) expr "base[h] ^ (-p / n)"
    %s = pe.rotation_fn expr "select(p < 3 * n / 4, 10000 ^ (-p / n), 0)"
    %t = pe.rotation_fn(%factor : tensor<?xf32>) attributes {magnitude = 1.19, rotary_dims = 64}
           expr "10000 ^ (-p / n) / factor[p]"
    ```
  }];
  let arguments = (ins Variadic<PE_Data>:$captures,
                       DefaultValuedAttr<BoolAttr, "false">:$interleaved,
                       OptionalAttr<I64Attr>:$rotary_dims,
                       DefaultValuedAttr<BoolAttr, "false">:$trailing,
                       OptionalAttr<F64Attr>:$magnitude);
  let results = (outs PE_RotationType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // PE_ROTATIONS_TD
