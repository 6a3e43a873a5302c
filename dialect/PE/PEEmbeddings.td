//===- PEEmbeddings.td - Embeddings added to tokens ------------*- tablegen -*-===//
#ifndef PE_EMBEDDINGS_TD
#define PE_EMBEDDINGS_TD

include "dialect/PE/PEAttributes.td"
include "dialect/PE/PEInterfaces.td"
include "dialect/PE/PETypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PE_EmbeddingFnOp : PE_Op<"embedding_fn", [
    Pure, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<PE_EmbeddingOpInterface, ["getLeastSizes", "getDimsMultiple"]>]> {
  let summary = "A positional embedding, written as scalar code";
  let description = [{
    The region computes the value added to dimension d of the token at position p from p, d, the
    number of dimensions dim, the end of the sequence n (the position after the last token) and the
    captured tensors. It may use the ops that `pe.bias_fn` may, except heads and networks. Its
    gradients with respect to the captures are derived. Values are computed in float64 and rounded
    once, so that they are accurate at large positions.

    A call fails before it computes anything if a tensor that is read at p has no entry for one of
    the tokens. For other indices, `least` gives the required size of a named axis (`pe.axes`) as an
    expression over n. With `width_multiple`, the number of dimensions must be a multiple of that
    value. Example (Vaswani et al. 2017, section 3.5):

    ```mlir
    %e = pe.embedding_fn attributes {width_multiple = 2}
           expr "select(d == 2 * int(d / 2), sin(p / 10000 ^ (d / dim)), cos(p / 10000 ^ ((d - 1) / dim)))"
    %t = pe.embedding_fn(%table : tensor<?x?xf32>) expr "table[p, d]"
    %f = pe.embedding_fn(%end : tensor<?x?xf32>) attributes {least = {rows = "n"}}
           expr "end[n - 1 - p, d]"
    ```
  }];
  let arguments = (ins Variadic<PE_Tensor>:$captures, OptionalAttr<DictionaryAttr>:$least,
                       OptionalAttr<I64Attr>:$width_multiple);
  let results = (outs PE_EmbeddingType:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def PE_EmbedOp : PE_Op<"embed", [Pure, AllTypesMatch<["input", "output"]>]> {
  let summary = "Adds a positional embedding to tokens";
  let description = [{
    output[b, s, d] = input[b, s, d] + embedding at position p = q_start + s and dimension d.
    Shapes: [B, S, Dm].

    `dropout(p, %seed)` multiplies the sum by 1 / (1 - p) if word d mod 4 of Philox 4x32-10 is at
    least p * 2^32, and by 0 otherwise. The key of Philox is the seed; its counter is
    (b, 2^32 - 1, position, floor(d / 4)). No attention has the head 2^32 - 1, so one seed serves
    both ops. With a seed per batch entry, the counter has 0 instead of b. Example:

    ```mlir
    %y = pe.embed %x, %e : tensor<?x?x?xf32>
    %z = pe.embed %w, %e dropout(0.1, %seed : tensor<i64>) : tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins 3DTensorOf<[F32, BF16, F16]>:$input, PE_EmbeddingType:$embedding,
                       Optional<TensorRankOf<[I64], [0, 1]>>:$seed, OptionalAttr<F64Attr>:$dropout);
  let results = (outs 3DTensorOf<[F32, BF16, F16]>:$output);
  let assemblyFormat = [{
    $input `,` $embedding (`dropout` `(` $dropout^ `,` $seed `:` type($seed) `)`)? attr-dict
    `:` type($input)
  }];
  let hasVerifier = 1;
}

def PE_EmbedGradOp : PE_Op<"embed_grad", [Pure, AllTypesMatch<["cotangent", "gradient"]>]> {
  let summary = "The gradient of `pe.embed` with dropout";
  let description = [{
    Multiplies the cotangent by the factors of the `dropout` of `pe.embed`, which it draws again.
    Example:

    ```mlir
    %d_sum = pe.embed_grad %d_z dropout(0.1, %seed : tensor<i64>) : tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins 3DTensorOf<[F32, BF16, F16]>:$cotangent,
                       TensorRankOf<[I64], [0, 1]>:$seed, F64Attr:$dropout);
  let results = (outs 3DTensorOf<[F32, BF16, F16]>:$gradient);
  let assemblyFormat = [{
    $cotangent `dropout` `(` $dropout `,` $seed `:` type($seed) `)` attr-dict `:` type($cotangent)
  }];
  let hasVerifier = 1;
}

def PE_EmbeddingPullbackOp : PE_Op<"embedding_pullback", [Pure]> {
  let summary = "Gradients of the parameters of an embedding";
  let description = [{
    The sum over all tokens and dimensions of `cotangent` times the derivative of the embedding with
    respect to each captured tensor of its `pe.embedding_fn`, in order (embedding_pullback-C1, -C2).
    Example:

    ```mlir
    %e = pe.embedding_fn(%table : tensor<?x?xf32>) expr "table[p, d]"
    %d_table = pe.embedding_pullback %e, %d_y : tensor<?x?x?xf32> -> tensor<?x?xf32>
    ```
  }];
  let arguments = (ins PE_EmbeddingType:$embedding, 3DTensorOf<[F32, BF16, F16]>:$cotangent);
  let results = (outs Variadic<PE_Tensor>:$gradients);
  let assemblyFormat =
      "$embedding `,` $cotangent attr-dict `:` type($cotangent) (`->` type($gradients)^)?";
  let hasVerifier = 1;
}

#endif // PE_EMBEDDINGS_TD
