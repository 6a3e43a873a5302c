//===- VectorLoops.cpp - vectorized loops of scalar stages ----------------===//
#include "passes/ToCPU/VectorLoops.h"

#include "dialect/Math/ScalarOps.h"
#include "passes/Scalar/OpShape.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToCPU/Emitter.h"
#include "passes/ToCPU/MathFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

//===- Analysis --------------------------------------------------------------------===//

namespace {

/// Determines the values that differ between lanes, and whether the body has a vector form.
class LaneAnalysis {
public:
  explicit LaneAnalysis(ForeachOp loop)
      : lane(loop.getBody().front().getArguments().back()),
        extent(getStrings(loop.getOver()).back()) {
    varying.insert(lane);
    shifted.insert(lane);
    hasForm = add(loop.getBody().front()) && isApart(loop);
  }

  explicit operator bool() const { return hasForm; }
  bool varies(Value value) const { return varying.contains(value); }
  /// Returns true if a value is the lane's index plus a term that is the same for all lanes.
  bool isShifted(Value value) const { return shifted.contains(value); }
  /// Returns true if the lanes access consecutive elements: the last index is the index of the
  /// loop, plus a uniform term if the access is not clamped, and the others are the same for all
  /// lanes.
  bool isOwnElement(Value buffer, ValueRange indices, bool isClamped) const;
  /// Returns true if the lanes read consecutive elements. Other reads are gathers.
  bool isOwn(ReadOp read) const {
    return isOwnElement(read.getBuffer(), read.getIndices(), !read.getInbounds());
  }

private:
  bool anyVaries(ValueRange values) const {
    return llvm::any_of(values, [&](Value value) { return varies(value); });
  }
  bool add(Block &block);
  bool add(Operation &op);
  bool add(scf::ForOp loop);
  bool isApart(ForeachOp loop) const;

  Value lane;
  StringRef extent;
  llvm::DenseSet<Value> varying, shifted;
  bool hasForm;
};

} // namespace

bool LaneAnalysis::isOwnElement(Value buffer, ValueRange indices, bool isClamped) const {
  if (indices.empty() || anyVaries(indices.drop_back()))
    return false;
  auto isExtent = [&] {
    auto extents = cast<BufferType>(buffer.getType()).getExtents();
    return cast<StringAttr>(extents.back()) == extent;
  };
  return isClamped ? indices.back() == lane && isExtent() : isShifted(indices.back());
}

/// Returns true if vectors can gather elements of the buffer: x86 has no gather of narrower ones.
static bool isGathered(Value buffer) {
  Type element = elementOf(buffer);
  return element.isF32() || element.isF64() || element.isInteger(32) || element.isInteger(64);
}

bool LaneAnalysis::add(Block &block) {
  return llvm::all_of(block.without_terminator(), [&](Operation &op) { return add(op); });
}

bool LaneAnalysis::add(Operation &op) {
  if (isa<SizeOp>(op))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return add(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return !varies(branch.getCondition()) && branch->getNumResults() == 0 &&
           add(*branch.thenBlock()) && (!branch.elseBlock() || add(*branch.elseBlock()));
  if (auto read = dyn_cast<ReadOp>(op)) {
    if (!anyVaries(read.getIndices()))
      return true;
    varying.insert(read.getValue());
    return isOwn(read) || isGathered(read.getBuffer());
  }
  if (auto write = dyn_cast<WriteOp>(op))
    return isOwnElement(write.getBuffer(), write.getIndices(), /*isClamped=*/false);
  if (auto sum = dyn_cast<AccumulateOp>(op))
    return sum.getKind() == Reduction::Add && isa<FloatType>(elementOf(sum.getBuffer())) &&
           (isOwnElement(sum.getBuffer(), sum.getIndices(), /*isClamped=*/true) ||
            !anyVaries(sum.getIndices()));
  if (!::pe::math::findScalarOp(op.getName().getStringRef()) || op.getNumResults() != 1)
    return false;
  if (!anyVaries(op.getOperands()))
    return true;
  varying.insert(op.getResult(0));
  auto shifts = [&](Value index, Value by) { return isShifted(index) && !varies(by); };
  if (auto sum = dyn_cast<arith::AddIOp>(op)) {
    shifted.erase(sum); // a loop-carried operand may have become varying since the last visit
    if (shifts(sum.getLhs(), sum.getRhs()) || shifts(sum.getRhs(), sum.getLhs()))
      shifted.insert(sum);
  }
  return !isFunctionCall(&op) || hasVectorForm(&op); // others would need one call per lane
}

/// Marks the values that a loop carries as varying if the init or the body makes them vary.
bool LaneAnalysis::add(scf::ForOp loop) {
  if (anyVaries({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}))
    return false;
  auto vary = [&](Value carried, Value from) {
    return varies(from) && varying.insert(carried).second;
  };
  for (auto [carried, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    vary(carried, init);
  for (bool isNew = true; isNew;) {
    if (!add(*loop.getBody()))
      return false;
    isNew = false;
    for (auto [carried, next] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getBody()->getTerminator()->getOperands()))
      isNew |= vary(carried, next);
  }
  for (auto [carried, result] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults()))
    vary(result, carried);
  return true;
}

/// Returns true if no lane accesses an element that another lane changes: buffers that the loop
/// writes are accessed only at the lanes' own elements, and buffers with sums over all lanes are
/// not read.
bool LaneAnalysis::isApart(ForeachOp loop) const {
  llvm::MapVector<Value, llvm::SmallDenseSet<Value>> written; // the last indices, by buffer
  llvm::DenseSet<Value> shared;
  auto eachAccess = [&](llvm::function_ref<bool(Value, ValueRange, bool isChange)> visit) {
    return !loop.getBody()
                .walk([&](Operation *op) {
                  bool isFine = true;
                  if (auto write = dyn_cast<WriteOp>(op))
                    isFine = visit(write.getBuffer(), write.getIndices(), true);
                  else if (auto sum = dyn_cast<AccumulateOp>(op))
                    isFine = visit(sum.getBuffer(), sum.getIndices(), true);
                  else if (auto read = dyn_cast<ReadOp>(op))
                    isFine = visit(read.getBuffer(), read.getIndices(), false);
                  return isFine ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  };
  // An index computed inside a loop of the body may change from iteration to iteration.
  auto isFixed = [&](Value index) {
    Operation *op = index.getDefiningOp();
    return !op || op->getParentOp() == loop;
  };
  const bool areFixed = eachAccess([&](Value buffer, ValueRange indices, bool isChange) {
    if (!isChange)
      return true;
    if (indices.empty() || !varies(indices.back())) {
      shared.insert(buffer);
      return true;
    }
    written[buffer].insert(indices.back());
    return isFixed(indices.back());
  });
  return areFixed && eachAccess([&](Value buffer, ValueRange indices, bool isChange) {
           if (shared.contains(buffer))
             return isChange && !written.contains(buffer);
           auto places = written.find(buffer);
           return places == written.end() || (places->second.size() == 1 && !indices.empty() &&
                                              places->second.contains(indices.back()));
         });
}

//===- Code ------------------------------------------------------------------------===//

namespace {

/// Emits the body for `lanes` values of the loop's last index.
class LaneCode {
public:
  LaneCode(const LaneAnalysis &analysis, Emitter &e, const StageFunction &function)
      : analysis(analysis), e(e), function(function) {}

  void emit(Block &body, ValueRange outer, Value first);

private:
  void emit(Block &block);
  void emit(Operation &op);
  void emitLoop(scf::ForOp loop);
  void emitBranch(scf::IfOp branch);
  void emitSum(AccumulateOp sum);
  Value emitVector(Operation &op);
  Value emitGather(ReadOp read);
  Value scalarOf(Value value) { return lookUpScalar(e, value, scalars, function); }
  Value vectorOf(Value value);
  SmallVector<Value> placeOf(Value buffer, ValueRange indices, bool clamped);

  const LaneAnalysis &analysis;
  Emitter &e;
  const StageFunction &function;
  IRMapping scalars; // uniform values; for the last index and its shifts, the first lane's
  llvm::DenseMap<Value, Value> vectors;
};

} // namespace

void LaneCode::emit(Block &body, ValueRange outer, Value first) {
  scalars.map(body.getArguments().drop_back(), outer);
  Value lane = body.getArguments().back();
  scalars.map(lane, first);
  vectors[lane] = e.create<arith::AddIOp>(e.splatIndex(e.fromValue(first)), e.iota());
  emit(body);
}

void LaneCode::emit(Block &block) {
  for (Operation &op : block.without_terminator())
    emit(op);
}

void LaneCode::emit(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitLoop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return emitBranch(branch);
  if (auto sum = dyn_cast<AccumulateOp>(op))
    return emitSum(sum);
  if (auto write = dyn_cast<WriteOp>(op)) {
    e.create<vector::StoreOp>(vectorOf(write.getValue()), function.getView(write.getBuffer()),
                              placeOf(write.getBuffer(), write.getIndices(), /*clamped=*/false));
    return;
  }
  Value result = op.getResult(0);
  if (analysis.varies(result))
    vectors[result] = emitVector(op);
  if (!analysis.varies(result) || analysis.isShifted(result)) // the value of the first lane
    emitScalarOp(e, op, scalars, function);
}

/// Returns the value in every lane.
Value LaneCode::vectorOf(Value value) {
  if (analysis.varies(value))
    return vectors.lookup(value);
  Value scalar = scalarOf(value);
  return isa<IndexType>(scalar.getType()) ? e.splatIndex(e.fromValue(scalar)) : e.broadcast(scalar);
}

/// Returns the indices of the first lane's element. The last index is in range, as the loop's is.
SmallVector<Value> LaneCode::placeOf(Value buffer, ValueRange indices, bool clamped) {
  SmallVector<Value> place = llvm::map_to_vector(indices, [&](Value at) { return scalarOf(at); });
  if (clamped)
    for (auto [at, size] : llvm::drop_end(llvm::zip_equal(place, function.getExtents(buffer))))
      at = clampIndex(e, e.getLoc(), at, size);
  return place;
}

Value LaneCode::emitVector(Operation &op) {
  if (auto read = dyn_cast<ReadOp>(op)) {
    if (!analysis.isOwn(read))
      return emitGather(read);
    return e.create<vector::LoadOp>(
        e.vectorType(read.getValue().getType()), function.getView(read.getBuffer()),
        placeOf(read.getBuffer(), read.getIndices(), !read.getInbounds()));
  }
  auto operands =
      llvm::map_to_vector(op.getOperands(), [&](Value value) { return vectorOf(value); });
  if (isFunctionCall(&op))
    return createFunction(e, op, operands);
  return OpShape(e.lanes).create(e, e.getLoc(), op, operands);
}

/// Emits a read at indices that differ between lanes, each clamped as in scalar code. Lanes with
/// equal indices are one load: buckets and clamped distances are equal over long runs, and a gather
/// takes as long as a load per lane.
Value LaneCode::emitGather(ReadOp read) {
  Value buffer = read.getBuffer(), view = function.getView(buffer), areEqual;
  auto extents = function.getExtents(buffer), strides = function.getStrides(buffer);
  SmallVector<Value> from, first; // the indices without those of the lanes, and of the first lane
  SmallVector<std::pair<Value, Value>> places; // those of the lanes, with their strides
  for (auto [index, extent, stride] : llvm::zip_equal(read.getIndices(), extents, strides)) {
    if (!analysis.varies(index)) {
      Value at = scalarOf(index);
      from.push_back(read.getInbounds() ? at : clampIndex(e, e.getLoc(), at, extent));
      first.push_back(from.back());
      continue;
    }
    Value at = vectorOf(index);
    if (!read.getInbounds()) {
      Value last = e.splatIndex(e.fromValue(extent) - Index(1));
      at = e.create<arith::MaxSIOp>(e.create<arith::MinSIOp>(at, last), e.splatInt(0));
    }
    Value head = e.create<vector::ExtractOp>(at, 0);
    Value same = e.compare(arith::CmpIPredicate::eq, at, e.broadcast(head));
    areEqual = areEqual ? e.create<arith::AndIOp>(areEqual, same) : same;
    from.push_back(e.toValue(0));
    first.push_back(e.create<arith::IndexCastOp>(e.getIndexType(), head));
    places.push_back({at, stride});
  }
  VectorType type = e.vectorType(read.getValue().getType());
  Value all = e.create<vector::ReductionOp>(vector::CombiningKind::AND, areEqual);
  auto branch = e.create<scf::IfOp>(TypeRange{type}, all, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(branch.thenBlock());
  e.create<scf::YieldOp>(e.broadcast(e.create<memref::LoadOp>(view, first)));
  e.setInsertionPointToStart(branch.elseBlock());
  const VectorType wide = e.vectorType(e.getI64Type());
  Value offsets;
  for (auto [at, stride] : places) {
    Value step = e.broadcast(e.create<arith::IndexCastOp>(e.getI64Type(), stride));
    Value offset = e.create<arith::MulIOp>(e.create<arith::ExtSIOp>(wide, at), step);
    offsets = offsets ? e.create<arith::AddIOp>(offsets, offset) : offset;
  }
  Value everyLane = e.constant(DenseElementsAttr::get(e.vectorType(e.getI1Type()), true));
  Value zero = e.constant(cast<TypedAttr>(e.getZeroAttr(type)));
  e.create<scf::YieldOp>(
      e.create<vector::GatherOp>(type, view, from, offsets, everyLane, zero).getResult());
  return branch.getResult(0);
}

/// Adds the lanes to their elements, or their sum to a common element.
void LaneCode::emitSum(AccumulateOp sum) {
  Value buffer = sum.getBuffer(), view = function.getView(buffer), value = vectorOf(sum.getValue());
  VectorType type = e.vectorType(elementOf(buffer));
  const auto from = cast<VectorType>(value.getType()).getElementTypeBitWidth();
  if (from < type.getElementTypeBitWidth())
    value = e.create<arith::ExtFOp>(type, value);
  if (analysis.isOwnElement(buffer, sum.getIndices(), /*isClamped=*/true)) {
    if (from > type.getElementTypeBitWidth())
      value = e.create<arith::TruncFOp>(type, value);
    SmallVector<Value> place = placeOf(buffer, sum.getIndices(), /*clamped=*/true);
    Value old = e.create<vector::LoadOp>(type, view, place);
    e.create<vector::StoreOp>(e.add(old, value), view, place);
    return;
  }
  SmallVector<Value> place;
  for (auto [index, size] : llvm::zip_equal(sum.getIndices(), function.getExtents(buffer)))
    place.push_back(clampIndex(e, e.getLoc(), scalarOf(index), size));
  emitAccumulation(e, e.getLoc(), e.sumLanes(value), view, place);
}

void LaneCode::emitLoop(scf::ForOp loop) {
  auto lifted = [&](Value carried, Value value) {
    return analysis.varies(carried) ? vectorOf(value) : scalarOf(value);
  };
  auto bind = [&](Value carried, Value value) {
    if (analysis.varies(carried))
      vectors[carried] = value;
    else
      scalars.map(carried, value);
  };
  SmallVector<Value> inits;
  for (auto [carried, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    inits.push_back(lifted(carried, init));
  auto copy = e.create<scf::ForOp>(scalarOf(loop.getLowerBound()), scalarOf(loop.getUpperBound()),
                                   scalarOf(loop.getStep()), inits);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(copy.getBody());
  scalars.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [carried, value] : llvm::zip_equal(loop.getRegionIterArgs(), copy.getRegionIterArgs()))
    bind(carried, value);
  emit(*loop.getBody());
  SmallVector<Value> next;
  for (auto [carried, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getBody()->getTerminator()->getOperands()))
    next.push_back(lifted(carried, value));
  if (!next.empty())
    e.create<scf::YieldOp>(next);
  for (auto [result, value] : llvm::zip_equal(loop.getResults(), copy.getResults()))
    bind(result, value);
}

void LaneCode::emitBranch(scf::IfOp branch) {
  Block *otherwise = branch.elseBlock();
  auto copy = e.create<scf::IfOp>(scalarOf(branch.getCondition()), otherwise != nullptr);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(copy.thenBlock());
  emit(*branch.thenBlock());
  if (!otherwise)
    return;
  e.setInsertionPointToStart(copy.elseBlock());
  emit(*otherwise);
}

/// Replaces the functions of scalars in the block of the insertion point by their vector forms, so
/// that an element has the same bits in a vector and in the remainder.
static void useVectorForms(Emitter &e) {
  SmallVector<Operation *> functions;
  e.getInsertionBlock()->walk([&](Operation *op) {
    if (isFunctionCall(op) && hasVectorForm(op) && !isa<VectorType>(op->getResult(0).getType()))
      functions.push_back(op);
  });
  for (Operation *op : functions) {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPoint(op);
    SmallVector<Value> operands = llvm::map_to_vector(
        op->getOperands(), [&](Value value) { return e.broadcast(value, /*width=*/1); });
    Value result = createFunction(e, *op, operands);
    op->getResult(0).replaceAllUsesWith(e.create<vector::ExtractOp>(result, 0));
    op->erase();
  }
}

/// Emits the last loop of `loop`: in vectors, and the remainder one by one. `eachItem` emits its
/// argument for the indices of every item, inside these loops.
static void emitLastLoop(Emitter &e, ForeachOp loop, const LaneAnalysis &analysis,
                         const StageFunction &function,
                         llvm::function_ref<void(llvm::function_ref<void(ValueRange)>)> eachItem) {
  Block &body = loop.getBody().front();
  Index count = e.fromValue(function.emitSize(e, e.getLoc(), getStrings(loop.getOver()).back()));
  Index whole = roundDown(count, e.lanes);
  e.loop(0, whole, e.lanes, [&](Index first) {
    eachItem([&](ValueRange outer) {
      LaneCode(analysis, e, function).emit(body, outer, e.toValue(first));
    });
    useVectorForms(e);
  });
  e.loop(whole, count, 1, [&](Index at) {
    eachItem([&](ValueRange outer) {
      IRMapping mapping;
      mapping.map(body.getArguments().drop_back(), outer);
      mapping.map(body.getArguments().back(), e.toValue(at));
      emitScalarBlock(e, body, mapping, function);
    });
    useVectorForms(e);
  });
}

bool mlir::tile::cpu::emitVectorLoop(OpBuilder &builder, ForeachOp loop, ArrayRef<Value> item,
                                     const StageFunction &function, int64_t lanes) {
  SmallVector<StringRef> over = getStrings(loop.getOver());
  if (over.empty())
    return false;
  LaneAnalysis analysis(loop);
  if (!analysis)
    return false;
  Emitter e(loop.getLoc(), function.getFunction(), lanes);
  e.restoreInsertionPoint(builder.saveInsertionPoint());
  SmallVector<Value> outer(item);
  for (StringRef extent : ArrayRef(over).drop_back()) {
    auto nest =
        e.create<scf::ForOp>(e.toValue(0), function.emitSize(e, e.getLoc(), extent), e.toValue(1));
    outer.push_back(nest.getInductionVar());
    e.setInsertionPointToStart(nest.getBody());
  }
  emitLastLoop(e, loop, analysis, function, [&](auto emit) { emit(outer); });
  return true;
}

bool mlir::tile::cpu::emitVectorLoopOfItems(OpBuilder &builder, ForeachOp loop, Value first,
                                            Value end, const StageFunction &function,
                                            int64_t lanes) {
  LaneAnalysis analysis(loop);
  if (!analysis)
    return false;
  Emitter e(loop.getLoc(), function.getFunction(), lanes);
  e.restoreInsertionPoint(builder.saveInsertionPoint());
  emitLastLoop(e, loop, analysis, function, [&](auto emit) {
    e.loop(e.fromValue(first), e.fromValue(end), 1, [&](Index item) { emit(e.toValue(item)); });
  });
  return true;
}
