//===- PEMasks.td - Masks --------------------------------------*- tablegen -*-===//
#ifndef PE_MASKS_TD
#define PE_MASKS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// `methods` lists the interface methods that the op implements in addition to those of every mask.
class PE_MaskOp<string mnemonic, list<string> methods = [], list<Trait> traits = []>
    : PE_Op<mnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<PE_MaskOpInterface, methods>], traits)> {
  let results = (outs PE_MaskType:$result);
}

def PE_CausalOp : PE_MaskOp<"causal"> {
  let summary = "Keys up to the query: j <= i";
  let description = [{
    Stick-breaking uses only the keys strictly before the query. Example:

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
    A side without a bound is unbounded. With `pe.causal` and left = w, a query attends to its own
    key and the w - 1 keys before it. Example:

    ```mlir
    %w = pe.sliding_window {left = 128}
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$left, OptionalAttr<I64Attr>:$right);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def PE_MaskFnOp : PE_MaskOp<"mask_fn", ["buildKeyInterval"], [IsolatedFromAbove, SingleBlock]> {
  let summary = "Keys for which scalar code yields true";
  let description = [{
    The region computes whether the query may attend to the key from batch b, head h (of this call),
    global query position i, global key position j, and the captured tensors of integers. It may use
    the ops that `pe.bias_fn` may, and yields one i1. Conditions on entire rows are recognized:
    comparisons of i - j with a constant become a band of pairs, and comparisons of j with a value
    that does not depend on j become an interval per row, or per row and head. All other conditions are evaluated
    per pair inside the band. Example (documents, and padding):

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

def PE_DocumentsOp : PE_MaskOp<"documents", ["getDocumentBoundaries", "restartsPositions"]> {
  let summary = "Keys of the query's own document, for documents packed into one sequence";
  let description = [{
    Document n has the positions from boundaries[n] up to, but excluding, boundaries[n + 1].
    Boundaries begin at 0, do not decrease, and end at the end of the queries and keys of the call.
    The batch size is 1. With `restart`, formulas (biases, score functions, rotations and other
    masks) read positions relative to the beginning of the document, so the result equals that of
    one call per document. Tensors over queries and keys are still read at the row and the column of
    the packed sequence. With `restart`, `pe.documents` must be the mask of the attention itself or
    one of the masks that `pe.mask_and` combines.

    The values of boundaries are checked if they are in host memory. Otherwise a query attends only
    to keys that exist, whatever the values are. Example:

    ```mlir
    %m = pe.documents %cu_seqlens : tensor<?xi32> {restart = true}
    ```
  }];
  let arguments = (ins 1DTensorOf<[I32]>:$boundaries, DefaultValuedAttr<BoolAttr, "false">:$restart);
  let assemblyFormat = "$boundaries `:` type($boundaries) attr-dict";
}

def PE_DocumentBoundsOp : PE_Op<"document_bounds", [Pure]> {
  let summary = "The bounds of the document of every position";
  let description = [{
    The results hold, for every query of the call (or every key, with `keys`), the first position of
    its document and the position after the last one. pe-place-positions creates this op; users
    write `pe.documents`. Example:

    ```mlir
    %begin, %end = pe.document_bounds %cu_seqlens : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins 1DTensorOf<[I32]>:$boundaries, UnitAttr:$keys);
  let results = (outs 1DTensorOf<[I32]>:$begin, 1DTensorOf<[I32]>:$end);
  let assemblyFormat = [{
    $boundaries attr-dict `:` type($boundaries) `->` type($begin) `,` type($end)
  }];
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

def PE_MaskPartsOp : PE_MaskOp<"mask_parts", ["buildKeyInterval"], [AttrSizedOperandSegments]> {
  let summary = "A mask in the form that kernels use: a range of i - j, intervals of keys, and code";
  let description = [{
    Allows the pairs that all parts allow: those with `min` <= i - j <= `max` (an absent bound does
    not restrict them), those that every mask of `intervals` allows, and those for which `code`, a
    `pe.mask_fn`, yields true. `pe-expand-masks` creates this op for the mask of every attention;
    later passes and `pe explain` read it and do not analyze masks.

    - `intervals` keep an interval of keys in every row. Kernels visit no other keys.
    - `code` is evaluated for every pair. With `code_bounds`, it also implies an interval of keys in
      every row (`buildKeyHull`). With `blocks`, entire blocks of pairs are decided at once.
    - With `per_head`, the intervals depend on the head.

    Example (a window per head):

    ```mlir
    %w = pe.mask_fn(%width : tensor<?xi32>) expr "i - j < width[h]"
    %m = pe.mask_parts intervals(%w) {min = 0, per_head}
    ```
  }];
  let arguments = (ins Variadic<PE_MaskType>:$intervals, Optional<PE_MaskType>:$code,
                       OptionalAttr<I64Attr>:$min, OptionalAttr<I64Attr>:$max,
                       UnitAttr:$per_head, UnitAttr:$code_bounds, UnitAttr:$blocks);
  let assemblyFormat = [{
    (`intervals` `(` $intervals^ `)`)? (`code` `(` $code^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The range of i - j; exact if it is the only part.
    ::mlir::pe::DifferenceRange getRange();
  }];
}

#endif // PE_MASKS_TD
