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
         "const ::mlir::pe::PairPoint &":$point, "::mlir::ValueRange":$operands)>];
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
    }]>];
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
    InterfaceMethod<"Cosines and sines as tensors [positions, pairs], or null.",
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
           "::mlir::ValueRange":$operands)>];
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
