//===- CallLibmNearZero.cpp - libm for expm1 and log1p --------------------===//
#include "passes/Pipelines/Pipelines.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"

#define DEBUG_TYPE "pe-call-libm-near-zero"

namespace mlir::pe {
#define GEN_PASS_DEF_PECALLLIBMNEARZEROPASS
#include "passes/Pipelines/Passes.h.inc"

namespace {

struct PECallLibmNearZeroPass : impl::PECallLibmNearZeroPassBase<PECallLibmNearZeroPass> {
  using Base::Base;
  void runOnOperation() override {
    // Skip the conversion, which visits every operation, for the many modules without these ops.
    auto isNearZero = [](Operation *op) {
      return isa<math::ExpM1Op, math::Log1pOp>(op) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
    };
    if (!getOperation().walk(isNearZero).wasInterrupted())
      return;
    RewritePatternSet patterns(&getContext());
    populateMathToLibmConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::ExpM1Op, math::Log1pOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace mlir::pe
