//===- PEMasks.td - Masks --------------------------------------*- tablegen -*-===//
#ifndef PE_MASKS_TD
#define PE_MASKS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// `methods`: the interface methods it implements besides those of every mask.
class PE_MaskOp<string mnemonic, list<string> methods = []>
    : PE_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<PE_MaskOpInterface, methods>]> {
  let results = (outs PE_MaskType:$result);
}

def PE_CausalOp : PE_MaskOp<"causal"> {
  let summary = "Keys up to the query: j <= i";
  let description = [{
    Under stick-breaking the keys strictly before the query take part. Example:

    ```mlir
    %m = pe.causal
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def PE_StrictCausalOp : PE_MaskOp<"strict_causal"> {
  let summary = "Keys before the query: j < i";
  let description = [{
    Example:

    ```mlir
    %m = pe.strict_causal
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def PE_SlidingWindowOp : PE_MaskOp<"sliding_window"> {
  let summary = "Keys near the query: i - j < left and j - i < right";
  let description = [{
    A side without a bound is open. With `pe.causal` and left = w, a query sees itself and the
    w - 1 keys before it. Example:

    ```mlir
    %w = pe.sliding_window {left = 128}
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$left, OptionalAttr<I64Attr>:$right);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def PE_PrefixLmOp : PE_MaskOp<"prefix_lm", ["buildKeyInterval", "getTensorExtents"]> {
  let summary = "Keys up to the query, and all keys before the prefix's end: j <= i or j < prefix[b]";
  let description = [{
    `prefix` holds the length of the prefix of every batch entry, in positions. A length of 0 is a
    causal mask. Example:

    ```mlir
    %m = pe.prefix_lm %prefix : tensor<?xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$prefix);
  let assemblyFormat = "$prefix attr-dict `:` type($prefix)";
  let hasVerifier = 1;
}

def PE_MaskAndOp : PE_MaskOp<"mask_and", ["buildKeyInterval"]> {
  let summary = "Pairs that both masks allow";
  let description = [{
    Example:

    ```mlir
    %m = pe.mask_and %a, %b
    ```
  }];
  let arguments = (ins PE_MaskType:$lhs, PE_MaskType:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
  let hasFolder = 1;
}

def PE_MaskOrOp : PE_MaskOp<"mask_or", ["buildKeyInterval"]> {
  let summary = "Pairs that at least one mask allows";
  let description = [{
    Example:

    ```mlir
    %m = pe.mask_or %a, %b
    ```
  }];
  let arguments = (ins PE_MaskType:$lhs, PE_MaskType:$rhs);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
  let hasFolder = 1;
}

#endif // PE_MASKS_TD
