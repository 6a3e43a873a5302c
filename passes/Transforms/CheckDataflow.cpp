//===- CheckDataflow.cpp - From arguments through attention to results ----===//
//
// Constraints dataflow-C1 to dataflow-C5 of docs/spec.md: what a call of the compiled function does
// with its tensors. Checked after inlining, when the entry is all there is.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEAttention.h"
#include "llvm/ADT/DenseSet.h"
#include <array>
#include <iterator>

#define DEBUG_TYPE "pe-check-dataflow"

namespace mlir::pe {
#define GEN_PASS_DEF_PECHECKDATAFLOWPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// Results come from attention, each once.
LogicalResult checkResults(func::ReturnOp returned) {
  if (returned.getNumOperands() == 0) // dataflow-C1
    return returned.emitError()
           << "expected at least one result, found none; a program returns what attention makes "
              "(dataflow-C1)";
  DenseSet<Value> seen;
  for (auto [number, value] : llvm::enumerate(returned.getOperands())) {
    if (!value.getDefiningOp<AttentionOp>()) // dataflow-C2
      return returned.emitError() << "expected result " << number
                                  << " to be made by pe.attention, found "
                                  << (value.getDefiningOp() ? "the result of another op"
                                                            : "an argument")
                                  << " (dataflow-C2)";
    if (!seen.insert(value).second) // dataflow-C3
      return returned.emitError() << "expected result " << number
                                  << " to be returned once, found it twice (dataflow-C3)";
  }
  return success();
}

/// Queries, keys and values are arguments that serve nothing else: their gradients have one source.
LogicalResult checkActivations(AttentionOp attention) {
  for (OpOperand &operand : attention->getOpOperands().take_front(3)) {
    const char *role = std::array{"queries", "keys", "values"}[operand.getOperandNumber()];
    if (!isa<BlockArgument>(operand.get())) // dataflow-C4
      return attention.emitError() << "expected " << role
                                   << " to be an argument of the entry function, found the result "
                                      "of another op; compile each attention by itself "
                                      "(dataflow-C4)";
    if (!operand.get().hasOneUse()) { // dataflow-C5
      InFlightDiagnostic diagnostic =
          attention.emitError() << "expected " << role << " to have no other use, found "
                                << std::distance(operand.get().use_begin(), operand.get().use_end())
                                << " uses; give each use an argument of its own (dataflow-C5)";
      diagnostic.attachNote(operand.get().getLoc()) << "this argument";
      return diagnostic;
    }
  }
  return success();
}

struct CheckDataflowPass : impl::PECheckDataflowPassBase<CheckDataflowPass> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    func::FuncOp function = getOperation();
    if (!function.isPublic() || function.isExternal())
      return;
    auto returned = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    bool isValid = succeeded(checkResults(returned));
    for (auto attention : function.getOps<AttentionOp>())
      isValid = isValid && succeeded(checkActivations(attention));
    if (!isValid)
      signalPassFailure();
  }
};

} // namespace
} // namespace mlir::pe
