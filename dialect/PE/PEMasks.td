//===- PEMasks.td - Masks --------------------------------------*- tablegen -*-===//
#ifndef PE_MASKS_TD
#define PE_MASKS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// `methods`: the interface methods it implements besides those of every mask.
class PE_MaskOp<string mnemonic, list<string> methods = [], list<Trait> traits = []>
    : PE_Op<mnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<PE_MaskOpInterface, methods>], traits)> {
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

def PE_MaskFnOp : PE_MaskOp<"mask_fn", ["buildKeyInterval"], [IsolatedFromAbove, SingleBlock]> {
  let summary = "Keys for which scalar code says true";
  let description = [{
    The region computes whether the query may attend to the key, from batch b, head h (of this
    call), global query position i, global key position j, and the captured tensors of whole
    numbers. It may use what `pe.bias_fn` may, and yields one i1. What it says about whole rows is
    found: comparisons of i - j with a number become a band of pairs, comparisons of j with a value
    free of j and h an interval of every row. Anything else is evaluated per pair inside the band.
    Example (documents, and padding):

    ```mlir
    %m = pe.mask_fn(%q_doc, %k_doc : tensor<?x?xi32>, tensor<?x?xi32>)
        expr "q_doc[b, i] == k_doc[b, j]"
    %p = pe.mask_fn(%kv_len : tensor<?xi32>) expr "j < kv_len[b]"
    ```
  }];
  let arguments = (ins Variadic<PE_Data>:$captures);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
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
