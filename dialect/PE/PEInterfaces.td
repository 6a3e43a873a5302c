//===- PEInterfaces.td - What passes know about encodings ------*- tablegen -*-===//
//
// Passes see encodings through these interfaces alone. An op that implements one is a complete
// new encoding: no pass names it.
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
      Whether its tensors may be data over tokens, of any rank (`pe.axes`), which it reads at the
      global positions of `point`. Otherwise each holds one number for all heads or one per head.
    }],
    "bool", "readsTokens", (ins), "", "return false;">];
}

def PE_ScoreOpInterface : OpInterface<"ScoreOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A function of the score (`score(%s)` of `pe.attention`): what scale * <R_i q_i, R_j k_j> becomes
    at a pair before biases are added, in natural units. The op makes one `!pe.score` and becomes a
    `pe.score_fn`; the derivatives with respect to the score and to the op's tensors follow from its
    code. A cap:

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
      operands, of any rank. What may be emitted is what ScalarOpInterface says.
    }],
    "::mlir::Value", "buildScore",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$point, "::mlir::Value":$score,
         "::mlir::ValueRange":$operands)>];
}

def PE_FactorOpInterface : OpInterface<"FactorOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A factor on weights (`factor(%f)` of `pe.attention`): what the weight of a pair is multiplied by
    after the normalizer, whose statistics take no part. The op makes one `!pe.factor` and becomes a
    `pe.factor_fn`; its tensors get their share of the cotangent, weight * <dO_i, v_j> at each pair,
    through the derivative of its code. Weights that fade:

    ```cpp
    Value FadeOp::buildFactor(OpBuilder &builder, Location loc, const PairPoint &point,
                              ValueRange operands) {
      ScalarBuilder f(builder, loc, point);
      return f.create<math::ExpOp>(f.scale(-1.0, f.mul(f.headParameter(operands[0]), f.distance())));
    }
    ```
  }];
  let methods = [InterfaceMethod<[{
      Emits the f32 factor at `point`. `operands` are tensors like the op's operands, of any rank.
      What may be emitted is what ScalarOpInterface says, and draws of chance by seeds among the
      operands (`pe.dropout_factor`).
    }],
    "::mlir::Value", "buildFactor",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$point, "::mlir::ValueRange":$operands)>];
}

def PE_SinkOpInterface : OpInterface<"SinkOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A sink (`sink(%s)` of `pe.attention`): the logit, of no value, at which the statistics of a row
    start. The op makes one `!pe.sink` and becomes a `pe.sink_fn`; its tensors get gradients through
    the derivative of its code.
  }];
  let methods = [InterfaceMethod<[{
      Emits the f32 logit of the query at `row`, whose key is null. `operands` are tensors like the
      op's operands, of any rank. What may be emitted is what ScalarOpInterface says.
    }],
    "::mlir::Value", "buildLogit",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$row, "::mlir::ValueRange":$operands)>];
}

def PE_ContentOpInterface : OpInterface<"ContentOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A content term (`content(%c)` of `pe.attention`): vectors P_h(i - j), of which the attention adds
    scale * <q_i + shift_h, P_h(i - j)> to the scores. The op makes one `!pe.content` and becomes a
    `pe.content_fn`; class, cost and gradients follow from its code, which may depend on i and j
    through i - j alone. Vectors of a table over the distance, [rows, D]:

    ```cpp
    Value NearVectorsOp::buildElement(OpBuilder &builder, Location loc, const ContentPoint &point,
                                      ValueRange operands) {
      ScalarBuilder f(builder, loc, point.pair);
      Value last = f.constantInt(8), first = f.constantInt(0);
      Value row = f.create<arith::MinSIOp>(f.create<arith::MaxSIOp>(f.difference(), first), last);
      return f.read(operands[0], {f.toIndex(row), point.dim});
    }
    ```
  }];
  let methods = [
    InterfaceMethod<[{
      Emits element `point.dim` of the vector P_h(i - j), an f32. `operands` are tensors like the op's
      operands; those that getShift and getProjection name are null. What may be emitted is what
      ScalarOpInterface says, without networks.
    }],
    "::mlir::Value", "buildElement",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::ContentPoint &":$point, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<"An operand [heads, D] that is added to the queries first, or null.",
      "::mlir::Value", "getShift", (ins), "", "return {};">,
    InterfaceMethod<[{An operand [D, D] that the sum of queries and shift is multiplied with, or
      null.}],
      "::mlir::Value", "getProjection", (ins), "", "return {};">];
}

def PE_EmbeddingOpInterface : OpInterface<"EmbeddingOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    An embedding (`pe.embed %x, %e`): the number that is added to dimension d of the token at
    position p. The op makes one `!pe.embedding` and becomes a `pe.embedding_fn`: values are computed
    in float64 and rounded once, and gradients of the op's tensors are derived. A row per position:

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
      Emits the f32 element at `point`. `operands` are tensors like the op's operands; every unknown
      size of theirs counts `model`, `query` or something of a name of its own (`pe.axes`). What may
      be emitted is what ScalarOpInterface says, without heads and networks.
    }],
    "::mlir::Value", "buildElement",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::TokenPoint &":$point, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      The least sizes of named axes as expressions over n, like `least` of `pe.embedding_fn`; null
      where what is read at p says enough.
    }],
    "::mlir::DictionaryAttr", "getLeastSizes", (ins), "", "return {};">,
    InterfaceMethod<"What the number of dimensions must be a multiple of.",
      "int64_t", "getDimsMultiple", (ins), "", "return 1;">];
}

def PE_MaskOpInterface : OpInterface<"MaskOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A mask: a boolean at one (batch, head, query, key) point, and what is known at compile time
    about whole ranges of keys.
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
      The smallest known range of i - j that holds every unmasked pair, from the ranges of the
      mask operands; `exact` when the mask is precisely that range.
    }],
    "::mlir::pe::DifferenceRange", "getDifferenceRange",
    (ins "::llvm::ArrayRef<::mlir::pe::DifferenceRange>":$operands)>,
    InterfaceMethod<[{
      Emits which keys the query at `row` (its key is null) may see, if they are an interval of
      positions for every query; nothing otherwise. `operands` are the intervals of mask
      operands, and `read` emits an element of a tensor operand, its indices clamped. The default is
      the interval of a mask that is exactly a range of i - j.
    }],
    "std::optional<::mlir::pe::KeyInterval>", "buildKeyInterval",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "const ::mlir::pe::PairPoint &":$row,
         "::llvm::ArrayRef<::mlir::pe::KeyInterval>":$operands,
         "::llvm::function_ref<::mlir::Value(::mlir::Value, ::mlir::ValueRange)>":$read), "", [{
      return ::mlir::pe::intervalOfRange(builder, loc, row, $_op.getDifferenceRange({}));
    }]>,
    InterfaceMethod<[{
      The operand, an i32 tensor [boundaries], that says where documents begin, of a mask that keeps
      the pairs of one document: document n has the positions from element n up to and without
      element n + 1. Null for any other mask. The mask then becomes an interval of every row, and a
      call's boundaries are checked.
    }],
    "::mlir::Value", "getDocumentBoundaries", (ins), "", "return {};">,
    InterfaceMethod<[{
      Whether positions count from the beginning of each of these documents wherever a formula reads
      them.
    }],
    "bool", "restartsPositions", (ins), "", "return false;">];
}

def PE_RotationOpInterface : OpInterface<"RotationOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A rotation of pairs of head dimensions: pair p of the first `getRotatedDims` dims is turned by
    the angle position * frequency(p) and multiplied by `getMagnitude`. Other dims are unchanged.
    Cosines and sines are computed once per call, outside the kernels; `getTables` gives them as
    tensors instead. Gradients of the op's tensor operands are derived.
  }];
  let methods = [
    InterfaceMethod<"How many leading dims of `headDim` are rotated (even).",
      "int64_t", "getRotatedDims", (ins "int64_t":$headDim)>,
    InterfaceMethod<[{
      Emits the f64 radians per position of the pair at `point`. `operands` are tensors like the
      op's operands. What may be emitted is what ScalarOpInterface says. Called only if there are no
      tables.
    }],
      "::mlir::Value", "buildFrequency",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "const ::mlir::pe::RotationPoint &":$point, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<"Whether frequencies depend on the head.",
      "bool", "isPerHead", (ins), "", "return false;">,
    InterfaceMethod<[{Cosines and sines as tensors [positions, pairs] or [batch, positions, pairs], or
      null.}],
      "::mlir::pe::RotationTensors", "getTables", (ins), "", "return {};">,
    InterfaceMethod<"True: pairs (x_2p, x_2p+1); false: pairs (x_p, x_p+n/2) of n rotated dims.",
      "bool", "isInterleavedPairs", (ins)>,
    InterfaceMethod<"Factor on cosine and sine.",
      "double", "getMagnitude", (ins "int64_t":$headDim), "", "return 1.0;">,
    InterfaceMethod<[{
      The size of each axis of tensor operand `operand`, as size expressions; new names become sizes
      of the call. Empty: as for any other argument.
    }],
      "::llvm::SmallVector<std::string>", "getTensorExtents", (ins "::mlir::Value":$operand), "",
      "return {};">,
    InterfaceMethod<"What a call must fulfil, checked before any work.",
      "::llvm::SmallVector<::mlir::pe::Requirement>", "getRequirements", (ins), "", "return {};">,
    InterfaceMethod<[{Checks that the rotation is defined for heads of `headDim` dims; reports
      through `emitError` otherwise.}],
      "::llvm::LogicalResult", "verifyHeadDim",
      (ins "int64_t":$headDim, "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>];
}

def PE_PrologueOpInterface : OpInterface<"PrologueOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A prologue: a function of every element of queries, keys or both, applied before anything else
    reads them (`prologue(...)` of `pe.attention`, in order, in front of a rotation). The op defines
    one element as scalar IR; the gradients of elements and of the op's tensor operands are derived
    from that.
  }];
  let methods = [
    InterfaceMethod<"Whether it changes queries.", "bool", "changesQueries", (ins)>,
    InterfaceMethod<"Whether it changes keys.", "bool", "changesKeys", (ins)>,
    InterfaceMethod<[{
      Emits the new f32 element at `point`, given the old one. `operands` are tensors like the op's
      operands. What may be emitted is what ScalarOpInterface says.
    }],
      "::mlir::Value", "buildElement",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "const ::mlir::pe::RowPoint &":$point, "::mlir::Value":$element,
           "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
      What the axes of tensor operand `operand` have to count, as words of `pe.axes`; its sizes are
      then unknown. Empty: anything.
    }],
      "::llvm::SmallVector<::llvm::StringRef>", "getTensorAxes", (ins "::mlir::Value":$operand), "",
      "return {};">];
}

def PE_PiecewiseOpInterface : OpInterface<"PiecewiseOpInterface"> {
  let cppNamespace = "::mlir::pe";
  let description = [{
    A scalar op that is, for fixed parameters and head, a function of one scalar: a candidate for
    the class `segments`. Where its pieces end follows from how it is composed: a chain of affine
    maps, each followed by a function of one number.
  }];
  let methods = [
    InterfaceMethod<"The scalar it is a function of.",
      "::mlir::Value", "getCoordinate", (ins)>,
    InterfaceMethod<"The index of the head (local to this call).",
      "::mlir::Value", "getHeadIndex", (ins)>,
    InterfaceMethod<[{The links that it is composed of, first applied first. The first map has one
      input, each other map as many as the one before has outputs; the last has an output per head,
      or one for all heads.}],
      "::llvm::SmallVector<::mlir::pe::ChainLink>", "getChain", (ins)>,
    InterfaceMethod<[{The degree of its pieces: 0 or 1 where it equals a polynomial of that degree on
      each of finitely many, 3 where it is smooth between its kinks and has to be approximated; none
      where its pieces cannot be found.}],
      "std::optional<int64_t>", "getDegree", (ins), "",
      "return ::mlir::pe::degreeOfChain($_op.getChain());">,
    InterfaceMethod<"How far an approximation may be off, in logits.",
      "double", "getLogitTolerance", (ins)>];
}

#endif // PE_INTERFACES_TD
