//===- PE.cpp - Registration of the pe dialect ----------------------------===//

#include "dialect/PE/PE.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::pe;

#include "dialect/PE/PEDialect.cpp.inc"
#include "dialect/PE/PEEnums.cpp.inc"

/// Parses and prints [LOW, HIGH], which the class `near` has.
static ParseResult parseDistances(AsmParser &parser, ContentClass cls, int64_t &low,
                                  int64_t &high) {
  low = 0, high = -1;
  if (cls != ContentClass::Near)
    return success();
  return failure(parser.parseLSquare() || parser.parseInteger(low) || parser.parseComma() ||
                 parser.parseInteger(high) || parser.parseRSquare());
}
static void printDistances(AsmPrinter &printer, ContentClass cls, int64_t low, int64_t high) {
  if (cls == ContentClass::Near)
    printer << " [" << low << ", " << high << "]";
}

#define GET_TYPEDEF_CLASSES
#include "dialect/PE/PETypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/PE/PEAttributes.cpp.inc"

namespace {
/// Allows inlining everywhere: encodings and attention are pure.
struct PEInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
};
} // namespace

void PEDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/PE/PETypes.cpp.inc"
      >();
}

void PEDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/PE/PEAttributes.cpp.inc"
      >();
}

void PEDialect::initialize() {
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEAttention.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEBiases.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEContents.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PECoordinates.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEEmbeddings.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEGradients.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PETerms.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEMasks.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PERotations.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEScalars.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEScores.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/PE/PEWeights.cpp.inc"
      >();
  addInterfaces<PEInlinerInterface>();
}

Operation *PEDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
