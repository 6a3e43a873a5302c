//===- ExpandBiases.cpp - biases as single regions of scalar code ---------===//
//
// See Passes.td for an example. The pass depends only on ScalarOpInterface, not on particular
// encodings.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/Passes.h"

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEBiases.h"
#include "dialect/PE/PEEmbeddings.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "pe-expand-biases"

namespace mlir::pe {
#define GEN_PASS_DEF_PEEXPANDBIASESPASS
#include "passes/Transforms/Passes.h.inc"

namespace {

/// The ops that compute a bias, in topological order, and the tensors that they read.
struct BiasSlice {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> parameters;
};

bool isEncoding(Value value) { return isa<CoordinateType, BiasType>(value.getType()); }

/// Collects the slice without recursion, because a program may chain any number of ops.
FailureOr<BiasSlice> collectSlice(Value bias) {
  BiasSlice slice;
  SmallVector<Value> pending = {bias};
  while (!pending.empty()) {
    auto op = pending.back().getDefiningOp<ScalarOpInterface>();
    if (!op)
      return emitError(pending.back().getLoc())
             << "expected a value produced by an op with ScalarOpInterface, found "
             << (pending.back().getDefiningOp() ? "another op" : "a block argument")
             << "; inline private functions first";
    size_t before = pending.size();
    for (Value operand : llvm::reverse(op->getOperands()))
      if (isEncoding(operand) && !slice.ops.contains(operand.getDefiningOp()))
        pending.push_back(operand);
    if (pending.size() != before)
      continue;
    pending.pop_back();
    if (slice.ops.insert(op))
      for (Value operand : op->getOperands())
        if (!isEncoding(operand))
          slice.parameters.insert(operand);
  }
  return slice;
}

bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

/// Fills the region of `function`: its block arguments are the point and the captures.
void emitRegion(BiasFnOp function, const BiasSlice &slice, Value bias) {
  Block &block = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  PairPoint point{block.getArgument(0), block.getArgument(1), block.getArgument(2),
                  block.getArgument(3)};
  DenseMap<Value, Value> scalars;
  for (auto [capture, argument] :
       llvm::zip_equal(function.getCaptures(), block.getArguments().drop_front(4)))
    scalars[capture] = argument;
  for (Value parameter : slice.parameters)
    if (isConstant(parameter))
      scalars[parameter] = builder.clone(*parameter.getDefiningOp())->getResult(0);
  for (Operation *op : slice.ops) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(scalars.lookup(operand));
    scalars[op->getResult(0)] =
        cast<ScalarOpInterface>(op).buildScalar(builder, op->getLoc(), point, operands);
  }
  YieldOp::create(builder, bias.getLoc(), scalars.lookup(bias));
}

BiasFnOp createFunction(OpBuilder &builder, const BiasSlice &slice, Value bias) {
  SmallVector<Value> captures;
  for (Value parameter : slice.parameters)
    if (!isConstant(parameter))
      captures.push_back(parameter);
  auto function = BiasFnOp::create(builder, bias.getLoc(), bias.getType(), captures);
  Block &block = function.getBody().emplaceBlock();
  for (int position = 0; position < 4; ++position)
    block.addArgument(builder.getIndexType(), bias.getLoc());
  for (Value capture : captures)
    block.addArgument(capture.getType(), capture.getLoc());
  return function;
}

/// Folds and merges ops in the region; rejects constant tensors that are still read as tensors.
LogicalResult simplifyRegion(BiasFnOp function) {
  GreedyRewriteConfig config;
  config.enableConstantCSE();
  if (failed(applyPatternsGreedily(function.getBody(), FrozenRewritePatternSet(), config)))
    return function.emitOpError("could not be simplified");
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  for (Operation &op : function.getBody().front())
    if (op.hasTrait<OpTrait::ConstantLike>() && isa<ShapedType>(op.getResult(0).getType()))
      return emitError(op.getLoc()) << "expected a parameter to be a function argument or a "
                                       "constant with all elements equal, found "
                                    << op.getResult(0).getType() << " with different elements";
  return success();
}

/// Merges equal operations without folding: an embedding, including its constants, is float64.
void mergeEqualOps(EmbeddingFnOp function) {
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
}

void eraseDead(func::FuncOp function) {
  for (Block &block : function.getBody())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
}

struct ExpandBiasesPass : impl::PEExpandBiasesPassBase<ExpandBiasesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) { attentions.push_back(op); });
    llvm::MapVector<Value, Value> functions;
    for (AttentionOp attention : attentions)
      for (OpOperand &operand : attention->getOpOperands()) {
        if (!isa<BiasType>(operand.get().getType()))
          continue;
        Value &function = functions[operand.get()];
        if (!function)
          function = expand(operand.get());
        if (!function)
          return signalPassFailure();
        operand.set(function);
      }
    for (auto embedding : getOperation().getOps<EmbeddingFnOp>())
      mergeEqualOps(embedding);
    eraseDead(getOperation());
  }

  /// Returns the bias as one region, or null after an error. A bias that is already one region is
  /// unchanged.
  Value expand(Value bias) {
    auto written = bias.getDefiningOp<BiasFnOp>();
    auto isInlined = [](Value capture) { return isConstant(capture) || isEncoding(capture); };
    if (written && llvm::none_of(written.getCaptures(), isInlined))
      return bias;
    FailureOr<BiasSlice> slice = collectSlice(bias);
    if (failed(slice))
      return {};
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(bias);
    BiasFnOp function = createFunction(builder, *slice, bias);
    emitRegion(function, *slice, bias);
    return succeeded(simplifyRegion(function)) ? function.getResult() : Value();
  }
};

} // namespace
} // namespace mlir::pe
