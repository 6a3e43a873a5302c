//===- PETypes.td - Types of the pe dialect --------------------*- tablegen -*-===//
//
// Opaque value types without parameters. Shapes belong to the tensors passed to an attention, so
// one encoding value serves calls of every size.
//
//===--------------------------------------------------------------------------===//
#ifndef PE_TYPES_TD
#define PE_TYPES_TD

include "dialect/PE/PEDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonTypeConstraints.td"

class PE_Type<string className, string typeMnemonic> : TypeDef<PE_Dialect, className> {
  let mnemonic = typeMnemonic;
}

def PE_CoordinateType : PE_Type<"Coordinate", "coordinate"> {
  let summary = "coordinate: a real number per (query, key) pair, such as their distance";
  let description = [{
    A real number for every (batch, head, query position, key position).

    ```mlir
    %d = pe.distance            // !pe.coordinate
    ```
  }];
}

def PE_BiasType : PE_Type<"Bias", "bias"> {
  let summary = "bias: a term added to the scaled score of a (query, key) pair";
  let description = [{
    A real number for every (batch, head, query position, key position), added to
    `scale * <q_i, k_j>` before the normalizer.

    ```mlir
    %b = pe.linear %d {factor = -1.0, rule = #pe.slope_rule<geometric>}   // !pe.bias
    ```
  }];
}

def PE_ScoreType : PE_Type<"Score", "score"> {
  let summary = "score: a function of the scaled score of a (query, key) pair";
  let description = [{
    A function, for every (batch, head, query position, key position), that replaces
    `scale * <q_i, k_j>` before biases are added.

    ```mlir
    %s = pe.score_fn expr "30 * tanh(s / 30)"   // !pe.score
    ```
  }];
}

def PE_FactorType : PE_Type<"Factor", "factor"> {
  let summary = "factor: a factor on the weight of a (query, key) pair";
  let description = [{
    A real number for every (batch, head, query position, key position) that multiplies the weight
    after normalization.

    ```mlir
    %f = pe.factor_fn(%rate : tensor<?xf32>) expr "exp(-rate[h] * abs(i - j))"   // !pe.factor
    ```
  }];
}

def PE_SinkType : PE_Type<"Sink", "sink"> {
  let summary = "sink: a logit per query that joins the denominator and has no value";
  let description = [{
    A real number for every (batch, head, query position), from which the statistics of the row
    start.

    ```mlir
    %s = pe.sink_fn(%rise : tensor<?xf32>) expr "rise[h] * log(1 + i)"   // !pe.sink
    ```
  }];
}

def PE_ContentType : PE_Type<"Content", "content"> {
  let summary = "content: a vector for every distance, combined with queries or values";
  let description = [{
    Vectors P_h(i - j). An attention adds scale * <q_i, P_h(i - j)> to its scores (`content`), or
    sum_j A_ij P_h(i - j) to its output (`value_content`).

    ```mlir
    %c = pe.content_fn(%er : tensor<2048x?xf32>) expr "er[2047 - (i - j), d]"   // !pe.content
    ```
  }];
}

def PE_RotationType : PE_Type<"Rotation", "rotation"> {
  let summary = "rotation of queries and keys by their positions";
  let description = [{
    An orthogonal map of the head dimension per position, applied to both queries and keys, so that
    scores depend on positions only through their difference.

    ```mlir
    %r = pe.rotary              // !pe.rotation
    ```
  }];
}

def PE_PrologueType : PE_Type<"Prologue", "prologue"> {
  let summary = "prologue: an elementwise function of queries, keys or both, applied first";
  let description = [{
    A function of an element of a query or key and of its batch entry, head, position and dim. Ops
    with PrologueOpInterface define it.

    ```mlir
    %o = pe.attention %q, %k, %v prologue(%p) mask(%m)
        : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
    ```
  }];
}

def PE_MaskType : PE_Type<"Mask", "mask"> {
  let summary = "mask: the keys that each query may attend to";
  let description = [{
    A boolean for every (batch, head, query position, key position). Masked pairs have a probability
    of exactly 0 and no gradient.

    ```mlir
    %m = pe.causal              // !pe.mask
    ```
  }];
}

def PE_EmbeddingType : PE_Type<"Embedding", "embedding"> {
  let summary = "embedding: a number for every position and dimension of a token";
  let description = [{
    The values that `pe.embed` adds to the tokens before the projections of attention.

    ```mlir
    %e = pe.embedding_fn(%table : tensor<?x?xf32>) expr "table[p, d]"   // !pe.embedding
    ```
  }];
}

def PE_AdjointType : PE_Type<"Adjoint", "adjoint"> {
  let summary = "The derivative of a result with respect to a bias, one value per pair";
  let description = [{
    `pe.attention_grad` yields an adjoint per bias, and `pe.pullback` maps it to the gradients of
    the bias's parameters. It is never stored: a lowering computes only the sums that the class of
    the bias requires.

    ```mlir
    %da = pe.add_adjoints %a, %b      // !pe.adjoint
    ```
  }];
}

// One value for all heads (rank 0) or one per head of this call (rank 1; extent 1 is shared).
def PE_Parameter : AnyTypeOf<[0DTensorOf<[F32]>, 1DTensorOf<[F32]>],
                             "0-d or 1-d (one number per head) f32 tensor">;
// Any f32 tensor, such as the layers of an MLP.
def PE_Tensor : RankedTensorOf<[F32]>;
// The tensors that a region may read: parameters, and data of floats or integers.
def PE_Data : RankedTensorOf<[F32, I32]>;
// PE_Data or seeds.
def PE_DataOrSeed : RankedTensorOf<[F32, I32, I64]>;

// Queries, keys, values and results: [batch, heads, length, head dim].
def PE_Activations : 4DTensorOf<[F32, BF16, F16]>;

#endif // PE_TYPES_TD
