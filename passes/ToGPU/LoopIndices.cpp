//===- LoopIndices.cpp - how threads may divide a loop of a scalar stage --===//
#include "passes/ToGPU/LoopIndices.h"

#include "passes/ToLoops/StageFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;
using mlir::tile::gpu::kLanes;

namespace {

/// argument + constant + a size of the call, or a null argument.
struct AffineIndex {
  BlockArgument argument;
  int64_t constant = 0;
  StringRef size = {}; // an expression; empty: zero
};

AffineIndex affineOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return {argument};
  if (auto difference = value.getDefiningOp<arith::SubIOp>()) { // (argument + size) - size
    AffineIndex index = affineOf(difference.getLhs());
    auto size = difference.getRhs().getDefiningOp<SizeOp>();
    if (!index.argument || !size || size.getExpression() != index.size)
      return {};
    index.size = {};
    return index;
  }
  auto sum = value.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return {};
  for (auto [a, b] : {std::pair(sum.getLhs(), sum.getRhs()), {sum.getRhs(), sum.getLhs()}}) {
    APInt number;
    auto size = b.getDefiningOp<SizeOp>();
    const bool isConstant = matchPattern(b, m_ConstantInt(&number));
    if (!size && !isConstant)
      continue;
    AffineIndex index = affineOf(a);
    if (!index.argument || (size && !index.size.empty()))
      return {};
    if (size)
      index.size = size.getExpression();
    else
      index.constant += number.getSExtValue();
    return index;
  }
  return {};
}

/// One write, read or sum of a buffer that the loop changes.
struct Access {
  Operation *op;
  Value buffer;
  OperandRange indices;
};

/// The accesses of a loop to the buffers that it changes.
class ChangedBuffers {
public:
  explicit ChangedBuffers(ForeachOp loop);

  ArrayRef<Access> all() const { return accesses; }
  /// Returns true if different values of an argument of the region never access the same element of
  /// the buffer.
  bool isApart(BlockArgument argument, Value buffer) const;

private:
  bool isApart(BlockArgument argument, const Access &access) const;
  /// Returns the number of values of an argument, or 0 if it is not constant.
  int64_t countOf(BlockArgument argument) const;
  bool isClamped(const AffineIndex &at, StringRef extent) const;

  SmallVector<StringRef> extents;
  SmallVector<Access> accesses;
};

ChangedBuffers::ChangedBuffers(ForeachOp loop)
    : extents(getStrings(loop->getParentOfType<StageOp>().getOver())) {
  llvm::append_range(extents, getStrings(loop.getOver()));
  llvm::SmallDenseSet<Value> changed;
  loop.getBody().walk([&](Operation *op) {
    if (auto write = dyn_cast<WriteOp>(op))
      accesses.push_back({op, write.getBuffer(), write.getIndices()});
    else if (auto sum = dyn_cast<AccumulateOp>(op))
      accesses.push_back({op, sum.getBuffer(), sum.getIndices()});
    else if (auto read = dyn_cast<ReadOp>(op))
      accesses.push_back({op, read.getBuffer(), read.getIndices()});
    if (!accesses.empty() && accesses.back().op == op && !isa<ReadOp>(op))
      changed.insert(accesses.back().buffer);
  });
  llvm::erase_if(accesses, [&](const Access &access) { return !changed.contains(access.buffer); });
}

int64_t ChangedBuffers::countOf(BlockArgument argument) const {
  int64_t number = 0;
  extents[argument.getArgNumber()].getAsInteger(10, number);
  return number;
}

/// Clamping maps several indices to one element, such as all indices of an axis of extent 1. Named
/// extents are those that the loop covers.
bool ChangedBuffers::isClamped(const AffineIndex &at, StringRef extent) const {
  int64_t size = 0;
  const int64_t count = countOf(at.argument);
  return !extent.getAsInteger(10, size) &&
         (!count || !at.size.empty() || at.constant < 0 || at.constant + count > size);
}

/// Returns true if every access to the buffer has only the argument in one dimension, and the
/// constants of two accesses are equal there or differ by at least the argument's range.
bool ChangedBuffers::isApart(BlockArgument argument, const Access &access) const {
  auto bufferExtents = cast<BufferType>(access.buffer.getType()).getExtents();
  const int64_t count = countOf(argument);
  for (auto [dim, index] : llvm::enumerate(access.indices)) {
    AffineIndex affine = affineOf(index);
    if (affine.argument != argument || isClamped(affine, bufferExtents[dim].getValue()))
      continue;
    if (llvm::all_of(accesses, [&, d = dim](const Access &other) {
          if (other.buffer != access.buffer)
            return true;
          AffineIndex at = affineOf(other.indices[d]);
          const int64_t distance = std::abs(at.constant - affine.constant);
          return at.argument == argument && at.size == affine.size &&
                 (distance == 0 || (count && distance >= count));
        }))
      return true;
  }
  return false;
}

bool ChangedBuffers::isApart(BlockArgument argument, Value buffer) const {
  return llvm::all_of(accesses, [&](const Access &access) {
    return access.buffer != buffer || isApart(argument, access);
  });
}

/// The values of a loop's region that may differ between the lanes of a warp.
class LaneValues {
public:
  LaneValues(ForeachOp loop, BlockArgument lane);

  bool varies(Value value) const { return varying.contains(value); }
  /// Returns true if all lanes execute the op equally often.
  bool isUniform(Operation *op) const;
  /// Returns true if only the last lane executes the op.
  bool isOfLastLane(Operation *op) const;

private:
  ForeachOp loop;
  BlockArgument lane;
  llvm::DenseSet<Value> varying;
};

LaneValues::LaneValues(ForeachOp loop, BlockArgument lane) : loop(loop), lane(lane) {
  varying.insert(lane);
  loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto variesIn = [&](Operation *inner) {
      return isa<memref::LoadOp>(inner) ||
             llvm::any_of(inner->getOperands(), [&](Value v) { return varies(v); });
    };
    auto nested = op->walk([&](Operation *inner) {
      return variesIn(inner) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!nested.wasInterrupted())
      return;
    varying.insert_range(op->getResults());
    if (auto repeated = dyn_cast<scf::ForOp>(op)) {
      varying.insert_range(repeated.getRegionIterArgs());
      Value bounds[] = {repeated.getLowerBound(), repeated.getUpperBound(), repeated.getStep()};
      if (llvm::any_of(bounds, [&](Value bound) { return varies(bound); }))
        varying.insert(repeated.getInductionVar());
    }
  });
}

bool LaneValues::isUniform(Operation *op) const {
  for (Operation *outer = op->getParentOp(); outer != loop; outer = outer->getParentOp()) {
    auto repeated = dyn_cast<scf::ForOp>(outer);
    if (!repeated || varies(repeated.getInductionVar()))
      return false;
  }
  return true;
}

bool LaneValues::isOfLastLane(Operation *op) const {
  for (Operation *outer = op; outer->getParentOp() != loop; outer = outer->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(outer->getParentOp());
    auto equal = branch ? branch.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    APInt number;
    if (equal && equal.getPredicate() == arith::CmpIPredicate::eq && equal.getLhs() == lane &&
        matchPattern(equal.getRhs(), m_ConstantInt(&number)) && number == kLanes - 1 &&
        branch.getThenRegion().isAncestor(outer->getParentRegion()))
      return true;
  }
  return false;
}

} // namespace

llvm::SmallBitVector mlir::tile::gpu::parallelIndices(ForeachOp loop) {
  Block &body = loop.getBody().front();
  llvm::SmallBitVector result(body.getNumArguments(), true);
  if (loop.getIndependent())
    return result;
  const ChangedBuffers buffers(loop);
  for (BlockArgument argument : body.getArguments())
    result[argument.getArgNumber()] = llvm::all_of(
        buffers.all(), [&](const Access &a) { return buffers.isApart(argument, a.buffer); });
  return result;
}

llvm::SmallDenseSet<Operation *> mlir::tile::gpu::laneSums(ForeachOp loop) {
  const auto extents = getStrings(loop.getOver());
  if (loop.getIndependent() || extents.empty() || extents.back() != std::to_string(kLanes))
    return {};
  BlockArgument lane = loop.getBody().front().getArguments().back();
  const ChangedBuffers buffers(loop);
  const LaneValues values(loop, lane);
  llvm::SmallDenseSet<Operation *> sums;
  llvm::SmallDenseMap<Value, Reduction> kinds;
  llvm::SmallDenseSet<Value> used; // by the last lane
  for (const Access &access : buffers.all()) {
    if (buffers.isApart(lane, access.buffer))
      continue;
    if (values.isOfLastLane(access.op)) {
      used.insert(access.buffer);
      continue;
    }
    // A sum after the last lane's code would be missing there.
    auto sum = dyn_cast<AccumulateOp>(access.op);
    if (!sum || used.contains(access.buffer) || !values.isUniform(sum) ||
        llvm::any_of(access.indices, [&](Value index) { return values.varies(index); }) ||
        kinds.insert({access.buffer, sum.getKind()}).first->second != sum.getKind())
      return {};
    sums.insert(sum);
  }
  return sums;
}
