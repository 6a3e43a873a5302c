//===- Passes.td - passes from pe to pe --------------------*- tablegen -*-===//
#ifndef PE_TRANSFORMS_PASSES_TD
#define PE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PECheckEncodingsPass : Pass<"pe-check-encodings", "::mlir::ModuleOp"> {
  let summary = "Rejects programs that are not valid encodings";
  let description = [{
    The first pass of every pipeline. Op verifiers are local; this pass checks the constraints between
    ops (program-C1 to program-C12 of docs/spec.md) and reports errors at the user's line: one entry
    function whose arguments and results are named, unique and tensors; encoding values that stay inside
    functions and never pass through control flow or public function boundaries; calls of private functions
    only, without recursion; and no op that is not part of an encoding program. The pass changes nothing.

    ```mlir
    // error: expected a name, found none; write %q: ... {pe.name = "q"} (program-C3)
    func.func @attention(%q: tensor<?x?x?x?xf32>) { ... }
    ```
  }];
  let options = [Option<"entry", "entry", "std::string", "\"\"",
                        "The public function to compile; default: the only one">];
}

def PECheckDataflowPass : Pass<"pe-check-dataflow", "::mlir::func::FuncOp"> {
  let summary = "Rejects programs whose tensors do not flow from arguments through attention to results";
  let description = [{
    Runs after inlining, when the entry function contains the entire dataflow, and checks dataflow-C1 to
    dataflow-C26 of docs/spec.md. Among them: every result is produced by pe.attention, pe.merge or
    pe.embed and returned once; queries, keys and values are arguments with no other use. The pass
    changes nothing.

    ```mlir
    // error: expected keys to have no other use, found 2 uses; pass a separate argument for each use
    %o = pe.attention %q, %k, %k : (!qkv, !qkv, !qkv) -> !qkv
    ```
  }];
}

def PECheckReadsPass : Pass<"pe-check-reads", "::mlir::func::FuncOp"> {
  let summary = "Rejects subscripts that read a tensor at the wrong variable or always at one end";
  let description = [{
    A read with an index outside its axis returns the nearest element. This pass rejects reads of
    captured tensors that cannot be intended (read-C3 to read-C5 of docs/spec.md): an axis that
    counts heads, batches, queries, keys or dims is read at a variable of another kind; an index is
    a negative constant; an index is at or beyond one end of its axis for every pair that the mask
    keeps. Branches of a select that no kept pair takes are ignored. Reads that depend on the sizes
    of a call or on data are checked at the call. Captures and arguments that are never read get a
    warning. The pass changes nothing.

    ```mlir
    // error: the axis of amp counts heads and is read at i; did you mean amp[h]? (read-C3)
    %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[i]"
    ```
  }];
}

def PEExpandBiasesPass : Pass<"pe-expand-biases", "::mlir::func::FuncOp"> {
  let summary = "Rewrites every bias of an attention as one region of scalar code";
  let description = [{
    Every bias of an attention becomes one `pe.bias_fn` whose region computes the scalar value of
    the bias and of every coordinate that it uses (ScalarOpInterface), simplified, with the parameter
    tensors as captures in the order of their first use. A bias that several attentions share
    remains one value. Later passes do not depend on the op of an encoding.

    ```mlir
    %d = pe.distance
    %b = pe.linear %d slope(%s : tensor<?xf32>) {factor = -1.0}
    // ==>
    %b = pe.bias_fn(%s : tensor<?xf32>) {
    ^bb0(%batch: index, %h: index, %i: index, %j: index, %slope: tensor<?xf32>):
      %minus_one = arith.constant -1.0 : f32
      %0 = arith.subi %i, %j : index
      %1 = arith.index_cast %0 : index to i32
      %2 = arith.sitofp %1 : i32 to f32
      %3 = math.absf %2 : f32
      %4 = pe.read %slope[%h] : tensor<?xf32>
      %5 = arith.mulf %4, %3 : f32
      %6 = arith.mulf %5, %minus_one : f32
      pe.yield %6 : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::pe::PEDialect"];
}

def PEExpandFunctionsPass : Pass<"pe-expand-functions", "::mlir::func::FuncOp"> {
  let summary = "Rewrites score functions, content terms, factors, sinks and embeddings as regions";
  let description = [{
    Every op with ScoreOpInterface, ContentOpInterface, FactorOpInterface, SinkOpInterface or
    EmbeddingOpInterface becomes the `pe.score_fn`, `pe.content_fn`, `pe.factor_fn`, `pe.sink_fn` or
    `pe.embedding_fn` whose region is the op's scalar code, with its tensors as captures. These region
    ops themselves are unchanged. A tensor of sinks becomes the `pe.sink_fn` that reads it at h,
    `dropout` a `pe.factor_fn` of one draw, and the factors of an attention become their product.
    Later passes do not depend on these ops and clauses.

    ```mlir
    %s = test.cap(%limit : tensor<?xf32>)
    // ==>
    %s = pe.score_fn(%limit : tensor<?xf32>) {
    ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
      %0 = pe.read %t[%h] : tensor<?xf32>
      %1 = arith.divf %score, %0 : f32
      %2 = math.tanh %1 : f32
      %3 = arith.mulf %0, %2 : f32
      pe.yield %3 : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::pe::PEDialect"];
}

def PEExpandMasksPass : Pass<"pe-expand-masks", "::mlir::func::FuncOp"> {
  let summary = "Separates key intervals of a mask from its per-pair conditions";
  let description = [{
    Conjuncts of an attention's mask that keep an interval of keys for every row are unchanged
    (`buildKeyInterval`): kernels visit no other keys. The other conjuncts become one `pe.mask_fn`,
    which is evaluated for every pair, together with the range of i - j that they are known to keep. A
    mask that consists of intervals is not changed.

    ```mlir
    %even = test.even
    %o = pe.attention %q, %k, %v mask(%even)
    // ==>
    %causal = pe.causal
    %fn = pe.mask_fn {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %0 = arith.subi %i, %j : index
      %1 = arith.remsi %0, %two : index
      %2 = arith.cmpi eq, %1, %zero : index
      pe.yield %2 : i1
    }
    %m = pe.mask_and %causal, %fn
    %o = pe.attention %q, %k, %v mask(%m)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::pe::PEDialect"];
}

def PEClassifyFunctionsPass : Pass<"pe-classify-functions", "::mlir::func::FuncOp"> {
  let summary = "Stores the classes of content terms, score functions and factors";
  let description = [{
    Later passes and `pe explain` read these classes and do not analyze the code.

    - A content term gets its class (`#pe.content`) for the pairs that its attention keeps. A term of
      several attentions is copied.
    - A score function that multiplies s by a value of the query gets `per_query`: the queries are
      multiplied.
    - A factor on weights is split into a product of values of the query, which gets `per_query` and
      multiplies the output, and the rest.

    Values of the query must be finite at every position (passes/Analysis/QueryFactor.h).

    ```mlir
    // rel_k[clamp(i - j, -2, 2) + 2, d]
    %c = pe.content_fn(%rel_k : tensor<5x?xf32>) {...}
    // exp(-abs(i - j)) * gate[b, h, i]
    %f = pe.factor_fn(%gate : tensor<?x?x?xf32>) {...}
    %o = pe.attention %q, %k, %v content(%c) factor(%f)
    // ==>
    %c = pe.content_fn(%rel_k : tensor<5x?xf32>)
        attributes {structure = #pe.content<near [-2, 2], "has 5 different vectors: ...">} {...}
    %f0 = pe.factor_fn {...}                                                      // exp(-abs(i - j))
    %f1 = pe.factor_fn(%gate : tensor<?x?x?xf32>) attributes {per_query} {...}    // gate[b, h, i]
    %o = pe.attention %q, %k, %v content(%c) factor(%f0, %f1)
    ```
    Tested by test/passes/Transforms/classify-functions.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::pe::PEDialect"];
}

def PESplitTermsPass : Pass<"pe-split-terms", "::mlir::func::FuncOp"> {
  let summary = "Rewrites the biases of an attention as a sum of terms";
  let description = [{
    The biases of an attention form one sum, and the class of a sum is that of its most expensive
    summand (passes/Analysis/Structure.h). This pass splits the sum, sorts its summands by class and
    creates one `pe.term` per class, cheapest first; every segments summand is a separate term. Biases
    are classified only here: a term states its class, and the arguments of its parts are only the
    values that they depend on. Summands that are affine in i and j become c * (i - j), or a row and a
    column. A row and a column form one term. A distance term absorbs affine summands and per-head
    constants, which cost nothing in its table. The coordinate of a segments term becomes u * r. Under
    a mask that implies j <= i, |i - j| is i - j.

    ```mlir
    // slope[h] * (i - j) + exp(i * j)
    %b = pe.bias_fn(%s : tensor<?xf32>) { ... pe.yield %sum : f32 }
    %o = pe.attention %q, %k, %v bias(%b) ...
    // ==>
    %t0 = pe.term <affine, "is proportional to i - j">(%s : tensor<?xf32>)
        attributes {formula = "slope[h] * (i - j)"} {
    ^bb0(%b: index, %h: index, %d: index, %slope: tensor<?xf32>): ... pe.yield %product : f32
    }
    %t1 = pe.term <general, "combines (i) and (j) in arith.mulf">
        attributes {formula = "exp(i * j)"} {
    ^bb0(%b: index, %h: index, %i: index, %j: index): ... pe.yield %exp : f32
    }
    %o = pe.attention %q, %k, %v bias(%t0, %t1) ...
    ```
    Tested by test/passes/Transforms/split-terms.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::pe::PEDialect"];
}

def PEPlacePositionsPass : Pass<"pe-place-positions", "::mlir::func::FuncOp"> {
  let summary = "Replaces i and j in formulas by positions that are data";
  let description = [{
    If an attention has positions(...), or a mask of documents in which positions restart, i and j
    are data. The terms, the score function and the masks get code that reads them, and later passes
    need no support for positions. Tensors over queries and keys are still read at the row and the
    column. With explicit positions, terms that are proportional to i - j become a row and a column,
    other functions of i - j become general, and every mask becomes code per pair. If positions
    restart, i - j equals the difference of row and column, so only values that depend on i or j
    separately change. `pe.documents` becomes an interval of keys per row. The attribute
    `pe.positions` records the change for `pe explain`.

    ```mlir
    %t = pe.term <row, "..."> { ^bb0(%b: index, %h: index, %i: index): ... f(%i) }
    %o = pe.attention %q, %k, %v bias(%t) positions(%x, %y : tensor<?x?xi32>, tensor<?x?xi32>)
    // ==>
    %t = pe.term <row, "...">(%x : tensor<?x?xi32>) {
    ^bb0(%b: index, %h: index, %i: index, %p: tensor<?x?xi32>):
      %0 = pe.read %p[%b, %i] : tensor<?x?xi32>
      %1 = arith.index_cast %0 : i32 to index    // and clamped to [0, 2^30)
      ... f(%1)
    }
    %o = pe.attention ... {pe.positions = "i is x[b, query], j is y[b, key]"}
    ```
    Tested by test/passes/Transforms/place-positions.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::pe::PEDialect"];
}

def PESimplifyUnderNormalizerPass : Pass<"pe-simplify-under-normalizer", "::mlir::func::FuncOp"> {
  let summary = "Drops terms that do not change the attention";
  let description = [{
    The softmax of a row is unchanged by a constant added to the entire row. A term that depends only
    on the query position is dropped if the log-sum-exp, which does change, is unused, and if the term
    is finite for all parameters: minus infinity would mask the row. Under stick-breaking
    only zeros are dropped. The attribute `dropped` records the dropped terms for `pe explain`.
    Parameters that no remaining term reads get zero gradients (pe-differentiate).

    ```mlir
    %o = pe.attention %q, %k, %v bias(%row, %distance) ...
    // ==>
    %o = pe.attention %q, %k, %v bias(%distance) ... {dropped = ["a row term at ..."]}
    ```
    Tested by test/passes/Transforms/simplify-under-normalizer.mlir.
  }];
  let statistics = [Statistic<"numDropped", "terms-dropped", "Number of terms dropped">];
}

def PEExplainStructurePass : Pass<"pe-explain-structure", "::mlir::func::FuncOp"> {
  let summary = "Prints the structure of every attention's biases";
  let description = [{
    Prints the output of `pe explain` (passes/Analysis/Explain.h) to stdout. Run it after the passes
    that `pe explain` runs: pe-expand-biases, pe-split-terms, pe-simplify-under-normalizer.

    ```mlir
    %o = pe.attention %q, %k, %v bias(%b) mask(%m) ...
    // attention at e.mlir:9:10: softmax, keys with 0 <= i - j
    //   bias slopes at e.mlir:7:10
    //     class: affine, because it is proportional to i - j
    ```
    Tested by test/passes/Transforms/explain-structure.mlir.
  }];
  let options = [Option<"json", "json", "bool", "false", "Print JSON instead of text">];
}

def PEDifferentiatePass : Pass<"pe-differentiate", "::mlir::ModuleOp"> {
  let summary = "Adds the gradient function of every public function";
  let description = [{
    Adds for every public function @f a private function @f_grad with `pe.gradient_of = @f`. It
    takes the arguments of @f and a cotangent `d_RESULT` for every floating result, and returns the
    gradient `d_NAME` of every floating argument, in order. Its body repeats the forward ops, whose
    results are the residuals, and visits them in reverse: `pe.attention_grad` computes the
    gradients of query, key and value and one `!pe.adjoint` per bias, and `pe.pullback` takes the
    adjoint of a bias to its parameters. A bias that several attentions share is pulled back once,
    with the sum of its adjoints. Arguments that do not reach a result get zero gradients.

    ```mlir
    func.func @f(%q, %k, %v, %s) -> %o {
      %b = pe.bias_fn(%s : tensor<?xf32>) { ... }
      %o = pe.attention %q, %k, %v bias(%b) ...
      return %o
    }
    // ==>
    func.func private @f_grad(%q, %k, %v, %s, %d_o) -> (%d_q, %d_k, %d_v, %d_s) {
      %b = pe.bias_fn(%s : tensor<?xf32>) { ... }
      %o = pe.attention %q, %k, %v bias(%b) ...
      %d_q, %d_k, %d_v, %a = pe.attention_grad %o, %d_o ...
      %d_s = pe.pullback %b, %a ...
      return %d_q, %d_k, %d_v, %d_s
    }
    ```
    Tested by test/passes/Transforms/differentiate.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::pe::PEDialect"];
}

def PERepresentAsFirePass : Pass<"pe-represent-as-fire", "::mlir::func::FuncOp"> {
  let summary = "Rewrites known biases as networks of progressive interpolation";
  let description = [{
    Theorem 3.1 of Li et al. 2023 (arXiv 2310.04418): the biases of T5, ALiBi, Kerple and Sandwich
    are FIRE with particular parameters for every position up to `length`. A table of buckets
    becomes a network of steps. A linear function of the distance or of its logarithm becomes a
    network without a hidden layer, and a sum of cosines a network with the activation cos. A power
    of the distance becomes a power of t. Other biases are rejected. `representByInterpolation` also
    derives the new parameters from the old ones (dialect/Math/FireRepresentation.h); `pe represent`
    writes both.

    ```mlir
    %d = pe.distance
    %b = pe.linear %d slope(%slopes : tensor<?xf32>) {factor = -1.0}
    // ==> for length=512
    %one = arith.constant dense<1.0> : tensor<f32>
    %t = pe.progressive threshold(%one : tensor<f32>) {initial_length = 512.0, epsilon = 0.0}
    %b = pe.mlp %t layers(%w1, %b1 : tensor<?xf32>, tensor<?xf32>)
           {activation = #pe.activation<identity>}
    ```
    Tested by test/passes/Transforms/represent-as-fire.mlir.
  }];
  let options = [Option<"length", "length", "int64_t", "512",
                        "The position up to which biases are the same">,
                 Option<"heads", "heads", "int64_t", "0",
                        "The number of heads, for slopes that follow a rule">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::pe::PEDialect"];
}

def PEExportProgramPass : Pass<"pe-export-program", "::mlir::ModuleOp"> {
  let summary = "Prints the neutral form of the public functions that the reference reads";
  let description = [{
    For tests and inspection: prints `exportProgram` of dialect/PE/ExportProgram.h to stdout, indented.

    ```mlir
    %d = pe.distance
    // {"op": "pe.distance", "operands": [], "results": [3], "types": ["!pe.coordinate"], ...}
    ```
  }];
}

#endif // PE_TRANSFORMS_PASSES_TD
