//===- NarrowFloats.cpp - bf16 and tf32 without hardware support ----------===//
#include "passes/ToLoops/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

/// Rounds `x` to the nearest tf32, as an f32; ties go away from zero if `tiesAway`, else to even.
static Value roundToTf32(ImplicitLocOpBuilder &b, Value x, bool tiesAway) {
  auto word = [&](int32_t bits) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(bits));
  };
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), x);
  Value half = word(0x1000);
  if (!tiesAway) { // add one less if the kept part is even
    Value shifted = arith::ShRUIOp::create(b, bits, word(13));
    half = arith::AddIOp::create(b, word(0xFFF), arith::AndIOp::create(b, shifted, word(1)));
  }
  Value kept = arith::AndIOp::create(b, arith::AddIOp::create(b, bits, half), word(~0x1FFF));
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, x, x);
  Value rounded = arith::BitcastOp::create(b, b.getF32Type(), kept);
  return arith::SelectOp::create(b, isNumber, rounded, x);
}

/// Returns the replacement of a conversion to or from tf32, or null for other operations. Operands
/// of type tf32 are already f32.
static Value replacementOf(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto toFloat = [&](Value value, Type type) -> Value {
    if (value.getType() == type)
      return value;
    if (type.isF64())
      return arith::ExtFOp::create(b, type, value);
    return arith::TruncFOp::create(b, type, value);
  };
  if (auto narrow = dyn_cast<arith::TruncFOp>(op); narrow && narrow.getType().isTF32())
    return roundToTf32(b, toFloat(narrow.getIn(), b.getF32Type()),
                       narrow.getRoundingmode() == arith::RoundingMode::to_nearest_away);
  if (auto extend = dyn_cast<arith::ExtFOp>(op); extend && extend.getIn().getType().isTF32()) {
    extend.getIn().setType(b.getF32Type());
    return toFloat(extend.getIn(), extend.getType());
  }
  return {};
}

static void lowerTf32(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (Value replacement = replacementOf(op)) {
      op->getResult(0).replaceAllUsesWith(replacement);
      op->erase();
    }
  });
  AttrTypeReplacer replacer; // replaces the types of memory and of loaded values
  replacer.addReplacement(
      [](FloatTF32Type type) -> Type { return Float32Type::get(type.getContext()); });
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/false, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

LogicalResult mlir::tile::lowerNarrowFloats(ModuleOp module, bool hasBf16) {
  SmallVector<Operation *> conversions;
  for (auto function : module.getOps<func::FuncOp>()) {
    lowerTf32(function);
    function.walk([&](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        conversions.push_back(op);
    });
  }
  if (hasBf16)
    return success();
  RewritePatternSet patterns(module.getContext());
  arith::populateExpandBFloat16Patterns(patterns);
  return applyOpPatternsGreedily(conversions, std::move(patterns));
}
