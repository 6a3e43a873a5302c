//===- PEMasks.td - Masks --------------------------------------*- tablegen -*-===//
#ifndef PE_MASKS_TD
#define PE_MASKS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class PE_MaskOp<string mnemonic, list<Trait> traits = []>
    : PE_Op<mnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<PE_MaskOpInterface>], traits)> {
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

def PE_MaskAndOp : PE_MaskOp<"mask_and"> {
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

def PE_MaskOrOp : PE_MaskOp<"mask_or"> {
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
