//===- PEInterfaces.td - Interfaces of encodings ---------------*- tablegen -*-===//
//
// Passes access encodings only through these interfaces. To add an encoding, implement one of them;
// no pass refers to the op by name.
//
//===--------------------------------------------------------------------------===//
#ifndef PE_INTERFACES_TD
#define PE_INTERFACES_TD

include "mlir/IR/OpBase.td"

def PE_ScalarOpInterface : OpInterface<"ScalarOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A coordinate or a bias: a scalar function of one (batch, head, query, key) point. The op defines
    its value at a point as scalar IR; its class, cost and gradients are derived from that.
  }];
  let methods = [InterfaceMethod<[{
      Emits the f32 value at `point`. `operands` correspond one to one to the op's operands:
      coordinates and biases are passed as their f32 values at the point, tensors as tensors. Only
      `arith`, `math` and the scalar ops of pe (`pe.read`, `pe.mlp_eval`, `pe.global_head`,
      `pe.heads_total`) may be emitted.
    }],
    "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$point, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      Returns true if the op's tensors may be data over tokens, of any rank (`pe.axes`), read at the
      global positions of `point`. Otherwise each tensor holds one value for all heads or one per
      head.
    }],
    "bool", "readsTokens", (ins), "", "return false;">];
}

def PE_ScoreOpInterface : OpInterface<"ScoreOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A score function (`score(%s)` of `pe.attention`). It maps scale * <R_i q_i, R_j k_j> of a pair,
    in natural units, to the score to which biases are added. The op has one result, a `!pe.score`,
    and is rewritten to a `pe.score_fn`. The derivatives with respect to the score and to the op's
    tensors are derived from its code. Example (a cap):

    ```cpp
    Value CapOp::buildScore(OpBuilder &builder, Location loc, const PairPoint &point, Value score,
                            ValueRange operands) {
      ScalarBuilder f(builder, loc, point);
      return f.scale(30.0, f.create<math::TanhOp>(f.scale(1.0 / 30.0, score)));
    }
    ```
  }];
  let methods = [InterfaceMethod<[{
      Emits the new f32 score at `point`, given the old one. `operands` are tensors like the op's
      operands, of any rank. The ops that ScalarOpInterface lists may be emitted.
    }],
    "::mlir::Value", "buildScore",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$point, "::mlir::Value":$score,
         "::mlir::ValueRange":$operands)>];
}

def PE_FactorOpInterface : OpInterface<"FactorOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A factor on weights (`factor(%f)` of `pe.attention`). It multiplies the weight of a pair after
    normalization and does not change the statistics. The op has one result, a `!pe.factor`, and is
    rewritten to a `pe.factor_fn`. The gradients of its tensors follow from the cotangent of the
    factor, weight * <dO_i, v_j> at each pair, and the derivative of its code. Example (weights that
    decay with the distance):

    ```cpp
    Value FadeOp::buildFactor(OpBuilder &builder, Location loc, const PairPoint &point,
                              ValueRange operands) {
      ScalarBuilder f(builder, loc, point);
      return f.create<math::ExpOp>(f.scale(-1.0, f.mul(f.parameter(operands[0]), f.distance())));
    }
    ```
  }];
  let methods = [InterfaceMethod<[{
      Emits the f32 factor at `point`. `operands` are tensors like the op's operands, of any rank.
      The ops that ScalarOpInterface lists may be emitted, and `pe.dropout_factor` with a seed among
      the operands.
    }],
    "::mlir::Value", "buildFactor",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$point, "::mlir::ValueRange":$operands)>];
}

def PE_SinkOpInterface : OpInterface<"SinkOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A sink (`sink(%s)` of `pe.attention`): a logit without a value, from which the statistics of a
    row start. The op has one result, a `!pe.sink`, and is rewritten to a `pe.sink_fn`. The
    gradients of its tensors follow from the derivative of its code.
  }];
  let methods = [InterfaceMethod<[{
      Emits the f32 logit of the query at `row`, whose key is null. `operands` are tensors like the
      op's operands, of any rank. The ops that ScalarOpInterface lists may be emitted.
    }],
    "::mlir::Value", "buildLogit",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$row, "::mlir::ValueRange":$operands)>];
}

def PE_ContentOpInterface : OpInterface<"ContentOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A content term (`content(%c)` of `pe.attention`): vectors P_h(i - j). The attention adds scale *
    <q_i + shift_h, P_h(i - j)> to the scores. The op has one result, a `!pe.content`, and is
    rewritten to a `pe.content_fn`. Its class, cost and gradients are derived from its code, which
    may depend on i and j only through i - j. Example (vectors from a table over the distance,
    [rows, D]):

    ```cpp
    Value NearVectorsOp::buildElement(OpBuilder &builder, Location loc, const ContentPoint &point,
                                      ValueRange operands) {
      ScalarBuilder f(builder, loc, point.pair);
      Value last = f.constantInt(8), first = f.constantInt(0);
      Value row = f.create<arith::MinSIOp>(f.create<arith::MaxSIOp>(f.difference(), first), last);
      Value index = f.create<arith::IndexCastOp>(builder.getIndexType(), row);
      return f.read(operands[0], {index, point.dim});
    }
    ```
  }];
  let methods = [
    InterfaceMethod<[{
      Emits element `point.dim` of the vector P_h(i - j), an f32. `operands` are tensors like the
      op's operands; those that getShift and getProjection return are null. The ops that
      ScalarOpInterface lists may be emitted, except networks.
    }],
    "::mlir::Value", "buildElement",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::ContentPoint &":$point, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<"The operand [heads, D] that is added to the queries first, or null.",
      "::mlir::Value", "getShift", (ins), "", "return {};">,
    InterfaceMethod<[{The operand [D, D] by which the sum of queries and shift is multiplied, or
      null.}],
      "::mlir::Value", "getProjection", (ins), "", "return {};">];
}

def PE_EmbeddingOpInterface : OpInterface<"EmbeddingOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    An embedding (`pe.embed %x, %e`): the value added to dimension d of the token at position p. The
    op has one result, a `!pe.embedding`, and is rewritten to a `pe.embedding_fn`. Values are
    computed in float64 and rounded once, and the gradients of the op's tensors are derived. Example
    (one row per position):

    ```cpp
    Value RowsOp::buildElement(OpBuilder &builder, Location loc, const TokenPoint &point,
                               ValueRange operands) {
      return ReadOp::create(builder, loc, builder.getF32Type(), operands[0],
                            ValueRange{point.position, point.dim});
    }
    ```
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the f32 element at `point`. `operands` are tensors like the op's operands. The axis of
      every dynamic size must be `model`, `query` or a user-defined name (`pe.axes`). The ops that
      ScalarOpInterface lists may be emitted, except heads and networks.
    }],
    "::mlir::Value", "buildElement",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::TokenPoint &":$point, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      The smallest sizes of named axes as expressions over n, like `least` of `pe.embedding_fn`.
      Null if the reads at p imply them.
    }],
    "::mlir::DictionaryAttr", "getLeastSizes", (ins), "", "return {};">,
    InterfaceMethod<"The number of dimensions must be a multiple of this value.",
      "int64_t", "getDimsMultiple", (ins), "", "return 1;">];
}

def PE_MaskOpInterface : OpInterface<"MaskOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A mask: a boolean for every (batch, head, query, key) point, with the facts about ranges of keys
    that are known at compile time.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the i1 value at `point` (true: the query may attend to the key). `operands` are the
      i1 values of mask operands and the tensors of tensor operands.
    }],
    "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$point, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      The smallest known range of i - j that contains every unmasked pair, given the ranges of the
      mask operands. It is `exact` if the mask keeps all pairs of the range.
    }],
    "::mlir::pe::DifferenceRange", "getDifferenceRange",
    (ins "::llvm::ArrayRef<::mlir::pe::DifferenceRange>":$operands)>,
    InterfaceMethod<[{
      Emits the interval of keys that the head and query at `row` (its key is null) may attend to. Returns
      nullopt if the keys of some query are not an interval of positions. `operands` are the
      intervals of mask operands, and `read` emits an element of a tensor operand with clamped
      indices. By default, handles masks that are exactly a range of i - j.
    }],
    "std::optional<::mlir::pe::KeyInterval>", "buildKeyInterval",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$row,
         "::llvm::ArrayRef<::mlir::pe::KeyInterval>":$operands,
         "::llvm::function_ref<::mlir::Value(::mlir::Value, ::mlir::ValueRange)>":$read), "", [{
      return ::mlir::pe::intervalOfRange(builder, loc, row, $_op.getDifferenceRange({}));
    }]>,
    InterfaceMethod<[{
      If the mask keeps the pairs within a document, the operand with the beginnings of the
      documents, an i32 tensor [boundaries]: document n has the positions from element n up to, but
      excluding, element n + 1. Null for any other mask. If not null, the mask becomes an interval
      per row, and the boundaries of a call are checked.
    }],
    "::mlir::Value", "getDocumentBoundaries", (ins), "", "return {};">,
    InterfaceMethod<[{
      Returns true if formulas read positions relative to the beginning of the document.
    }],
    "bool", "restartsPositions", (ins), "", "return false;">];
}

def PE_RotationOpInterface : OpInterface<"RotationOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A rotation of pairs of head dimensions: pair p of `getRotatedDims` dims, which begin at
    `getFirstDim`, is rotated by the angle position * frequency(p) and multiplied by `getMagnitude`.
    Other dims are unchanged. The position is that of the row, or one of `getAxisPositions`.
    Cosines and sines are computed once per call, outside the kernels, unless `getTables` returns
    them as tensors. The gradients of the op's tensor operands are derived.
  }];
  let methods = [
    InterfaceMethod<"The number of dims of `headDim` that are rotated (even).",
      "int64_t", "getRotatedDims", (ins "int64_t":$headDim)>,
    InterfaceMethod<"The first dim of `headDim` that is rotated.",
      "int64_t", "getFirstDim", (ins "int64_t":$headDim), "", "return 0;">,
    InterfaceMethod<[{The positions of tokens by axis, or null if each pair is rotated by the
      position of the row.}],
      "::mlir::pe::AxisPositions", "getAxisPositions", (ins), "", "return {};">,
    InterfaceMethod<[{Emits the axis, an `index` value, of pair `pair` of heads of `headDim` dims.
      Called only if `getAxisPositions` is not null.}],
      "::mlir::Value", "buildAxis",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::Value":$pair,
           "int64_t":$headDim), "", "return {};">,
    InterfaceMethod<[{
      Emits the f64 frequency, in radians per position, of the pair at `point`. `operands` are
      tensors like the op's operands. The ops that ScalarOpInterface lists may be emitted. Called
      only if `getTables` returns null.
    }],
      "::mlir::Value", "buildFrequency",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "const ::mlir::pe::RotationPoint &":$point, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<"Returns true if frequencies depend on the head.",
      "bool", "isPerHead", (ins), "", "return false;">,
    InterfaceMethod<[{The cosines and sines as tensors [positions, pairs] or
      [batch, positions, pairs], or null.}],
      "::mlir::pe::RotationTensors", "getTables", (ins), "", "return {};">,
    InterfaceMethod<[{Returns true for pairs (x_2p, x_2p+1), false for pairs (x_p, x_p+n/2), of n
      rotated dims.}],
      "bool", "isInterleavedPairs", (ins)>,
    InterfaceMethod<"The factor on cosines and sines.",
      "double", "getMagnitude", (ins "int64_t":$headDim), "", "return 1.0;">,
    InterfaceMethod<[{
      The size of each axis of tensor operand `operand`, as size expressions. New names become sizes
      of the call. If empty, the axes have the sizes of any other argument.
    }],
      "::llvm::SmallVector<std::string>", "getTensorExtents", (ins "::mlir::Value":$operand), "",
      "return {};">,
    InterfaceMethod<"The requirements on a call, checked before it computes anything.",
      "::llvm::SmallVector<::mlir::pe::Requirement>", "getRequirements", (ins), "", "return {};">,
    InterfaceMethod<[{Checks that the rotation is defined for heads of `headDim` dims. Reports an
      error through `emitError` if not.}],
      "::llvm::LogicalResult", "verifyHeadDim",
      (ins "int64_t":$headDim, "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>];
}

def PE_PrologueOpInterface : OpInterface<"PrologueOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A prologue: an elementwise function of queries, keys or both, applied before anything else reads
    them (`prologue(...)` of `pe.attention`; several apply in order, before a rotation). The op
    defines one element as scalar IR. The gradients of elements and of the op's tensor operands are
    derived from that.
  }];
  let methods = [
    InterfaceMethod<"Returns true if it changes queries.", "bool", "changesQueries", (ins)>,
    InterfaceMethod<"Returns true if it changes keys.", "bool", "changesKeys", (ins)>,
    InterfaceMethod<[{
      Emits the new f32 element at `point`, given the old one. `operands` are tensors like the op's
      operands. The ops that ScalarOpInterface lists may be emitted.
    }],
      "::mlir::Value", "buildElement",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "const ::mlir::pe::RowPoint &":$point, "::mlir::Value":$element,
           "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      The required axes of tensor operand `operand`, as names of `pe.axes`; its sizes are then
      dynamic. Empty if any axes are allowed.
    }],
      "::llvm::SmallVector<::llvm::StringRef>", "getTensorAxes", (ins "::mlir::Value":$operand), "",
      "return {};">];
}

def PE_PiecewiseOpInterface : OpInterface<"PiecewiseOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A scalar op that is a function of one scalar if its parameters and head are fixed: a candidate
    for the class `segments`. It is a chain of affine maps, each followed by an elementwise
    function, from which the ends of its pieces are computed.
  }];
  let methods = [
    InterfaceMethod<"The scalar argument of the function.",
      "::mlir::Value", "getCoordinate", (ins)>,
    InterfaceMethod<"The index of the head (local to this call).",
      "::mlir::Value", "getHeadIndex", (ins)>,
    InterfaceMethod<[{The links of the chain, in the order in which they apply. The first map has
      one input; each other map has as many inputs as the previous one has outputs. The last map has
      one output per head, or one for all heads.}],
      "::llvm::SmallVector<::mlir::pe::ChainLink>", "getChain", (ins)>,
    InterfaceMethod<[{The degree of the pieces: 0 or 1 if the function is exactly a polynomial of
      that degree on each of finitely many pieces; 3 if it is smooth between its kinks and is
      approximated; nullopt if its pieces cannot be found.}],
      "std::optional<int64_t>", "getDegree", (ins), "",
      "return ::mlir::pe::degreeOfChain($_op.getChain());">,
    InterfaceMethod<"The largest error of an approximation, in logits.",
      "double", "getLogitTolerance", (ins)>];
}

#endif // PE_INTERFACES_TD
