//===- CallRanges.cpp - ranges of a call's integers -----------------------===//
#include "passes/Scalar/CallRanges.h"

#include "dialect/Tile/SizeNames.h"

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace mlir::tile {
namespace {

constexpr int64_t kPositions = int64_t(1) << 30; // the bound of the magnitudes of positions
constexpr int64_t kLowest32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kHighest32 = std::numeric_limits<int32_t>::max();

ConstantIntRanges indexRange(int64_t low, int64_t high) {
  return ConstantIntRanges::fromSigned(APInt(64, low, /*isSigned=*/true),
                                       APInt(64, high, /*isSigned=*/true));
}

/// Returns the range that follows from the limits of a call on positions, counts and sizes.
std::optional<ConstantIntRanges> rangeByLimits(Value value) {
  if (auto size = value.getDefiningOp<SizeOp>()) {
    // This keeps the buffer index of a pair's row or key (j - k_start) an index.
    const bool isParameter =
        value.getDefiningOp()->getParentOfType<PlanOp>().hasParameter(size.getExpression());
    return isParameter ? indexRange(-kPositions, kPositions) : indexRange(kLowest32, kHighest32);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !value.getType().isIndex())
    return std::nullopt;
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto map = dyn_cast<MapOp>(parent)) {
    Value input = map.getInputOf(argument);
    return input && input.getDefiningOp<PositionOp>() ? indexRange(-kPositions + 1, kPositions - 1)
                                                      : indexRange(0, kHighest32 - 1);
  }
  // A loop visits at most 2^31 - 1 elements.
  if (isa<ForeachOp>(parent))
    return indexRange(0, kHighest32 - 1);
  return std::nullopt;
}

/// Returns true for sizes and starts, and false for any other parameter.
bool isOfPlaces(SizeOp size) {
  auto plan = size->getParentOfType<PlanOp>();
  std::vector<std::string> names = getSizeNames(plan, SizeUse::Extent);
  names.insert(names.end(), {"q_start", "k_start", "head_start"});
  std::string problem;
  auto parsed = ::pe::plan::SizeExpression::parse(std::string_view(size.getExpression()), problem);
  assert(parsed && "size expressions are checked by the verifier");
  return !parsed->findOtherThan(names);
}

/// Returns true for sums and differences of one tile.foreach index and sizes: a buffer index, a
/// position or a difference of positions. All fit in 32 bits by the limits of a call, although the
/// ranges of the operands do not prove it.
bool isPlace(Value value, int &indices) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    ++indices;
    return isa<ForeachOp>(argument.getOwner()->getParentOp());
  }
  Operation *op = value.getDefiningOp();
  if (auto size = dyn_cast<SizeOp>(op))
    return isOfPlaces(size);
  return isa<arith::AddIOp, arith::SubIOp>(op) && isPlace(op->getOperand(0), indices) &&
         isPlace(op->getOperand(1), indices);
}

bool isPlace(Operation *op) {
  int indices = 0;
  return isa<arith::AddIOp, arith::SubIOp>(op) && op->getResult(0).getType().isIndex() &&
         isPlace(op->getResult(0), indices) && indices == 1;
}

/// Returns the range of a loop's index between constants or sizes. It does not depend on the order
/// in which the analysis visits them: upstream treats an unvisited bound as unbounded.
std::optional<ConstantIntRanges> rangeOfLoopIndex(scf::ForOp loop) {
  auto rangeOf = [](Value bound) -> std::optional<ConstantIntRanges> {
    APInt number;
    if (matchPattern(bound, m_ConstantInt(&number)))
      return ConstantIntRanges::constant(number);
    return rangeByLimits(bound);
  };
  auto lower = rangeOf(loop.getLowerBound()), upper = rangeOf(loop.getUpperBound());
  if (!loop.getInductionVar().getType().isIndex() || !lower || !upper)
    return std::nullopt;
  const int64_t first = lower->smin().getSExtValue(), end = upper->smax().getSExtValue();
  return indexRange(first, std::max(first, end - 1));
}

class CallRangeAnalysis : public dataflow::IntegerRangeAnalysis {
public:
  using IntegerRangeAnalysis::IntegerRangeAnalysis;

  void setToEntryState(dataflow::IntegerValueRangeLattice *lattice) override {
    std::optional<ConstantIntRanges> limits = rangeByLimits(lattice->getAnchor());
    if (!limits)
      return IntegerRangeAnalysis::setToEntryState(lattice);
    propagateIfChanged(lattice, lattice->join(IntegerValueRange(*limits)));
  }

  LogicalResult visitOperation(Operation *op,
                               ArrayRef<const dataflow::IntegerValueRangeLattice *> operands,
                               ArrayRef<dataflow::IntegerValueRangeLattice *> results) override {
    if (!isPlace(op))
      return IntegerRangeAnalysis::visitOperation(op, operands, results);
    IntegerValueRange range(indexRange(kLowest32 + 1, kHighest32));
    propagateIfChanged(results[0], results[0]->join(range));
    return success();
  }

  void visitNonControlFlowArguments(Operation *op, const RegionSuccessor &successor,
                                    ArrayRef<dataflow::IntegerValueRangeLattice *> lattices,
                                    unsigned first) override {
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<ConstantIntRanges> range = loop ? rangeOfLoopIndex(loop) : std::nullopt;
    if (!range || lattices.empty() || lattices[0]->getAnchor() != loop.getInductionVar())
      return IntegerRangeAnalysis::visitNonControlFlowArguments(op, successor, lattices, first);
    propagateIfChanged(lattices[0], lattices[0]->join(IntegerValueRange(*range)));
  }
};

} // namespace

FailureOr<CallRanges> findCallRanges(PlanOp plan) {
  DataFlowSolver solver;
  dataflow::loadBaselineAnalyses(solver);
  solver.load<CallRangeAnalysis>();
  if (failed(solver.initializeAndRun(plan)))
    return failure();
  CallRanges ranges;
  auto note = [&](Value value) {
    if (!value.getType().isIntOrIndex())
      return;
    const auto *lattice = solver.lookupState<dataflow::IntegerValueRangeLattice>(value);
    if (lattice && !lattice->getValue().isUninitialized())
      ranges.try_emplace(value, lattice->getValue().getValue());
  };
  plan.walk([&](Operation *op) {
    for (Value result : op->getResults())
      note(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), note);
  });
  return ranges;
}

} // namespace mlir::tile
