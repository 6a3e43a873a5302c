//===- PERotations.td - Rotations of queries and keys ----------*- tablegen -*-===//
#ifndef PE_ROTATIONS_TD
#define PE_ROTATIONS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class PE_RotationOp<string mnemonic, list<Trait> traits = []>
    : PE_Op<mnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<PE_RotationOpInterface>], traits)> {
  let results = (outs PE_RotationType:$result);
}

def PE_RotaryOp : PE_RotationOp<"rotary"> {
  let summary = "Rotary position embedding";
  let description = [{
    Pair p of the n = rotary_dims (default: all) leading dims is rotated by the angle
    position * base^(-2p/n) (Su et al. 2021, arXiv 2104.09864, Eq. 15 and 34). Pairs are
    (x_p, x_{p+n/2}), or (x_2p, x_{2p+1}) when `interleaved`. Example:

    ```mlir
    %r = pe.rotary {base = 10000.0}
    ```
  }];
  let arguments = (ins DefaultValuedAttr<F64Attr, "10000.0">:$base,
                       DefaultValuedAttr<BoolAttr, "false">:$interleaved,
                       OptionalAttr<I64Attr>:$rotary_dims);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // PE_ROTATIONS_TD
