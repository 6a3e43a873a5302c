//===- TileToLoops.cpp - lowering of stages to loops over blocks ----------===//
//
// A stage with a stream runs in three steps, each over all rows and keys of the work item: it
// initializes carries and folds, visits the blocks in order, and computes the values that depend on
// the stream's results. Carries and folds are stored in temporary buffers of the plan between steps
// and blocks. Rows or columns may therefore own the outer loop: either way, a row visits its key
// blocks in the same order.
//
//===----------------------------------------------------------------------===//
#include "dialect/Math/ScalarOps.h"
#include "dialect/Tile/Owner.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/ToLoops/BlockEmitter.h"
#include "passes/ToLoops/NarrowFloats.h"
#include "passes/ToLoops/ScalarStage.h"
#include "passes/ToLoops/ToLoops.h"

#include "dialect/Tile/SizeNames.h"

#define DEBUG_TYPE "pe-tile-to-loops"

namespace mlir::tile {
#define GEN_PASS_DEF_PETILETOLOOPSPASS
#include "passes/ToLoops/Passes.h.inc"

namespace {

/// The limit for one work item, whose scratch memory is on the stack of a worker thread.
constexpr int64_t kMaxScratchBytes = 256 * 1024;

/// The loops that compute a value outside the stream.
enum class Loops { Heads, Rows, Columns };
Loops loopsOf(const SpaceSet &spaces) {
  return hasRows(spaces) ? Loops::Rows : hasColumns(spaces) ? Loops::Columns : Loops::Heads;
}

class StageToLoops {
public:
  StageToLoops(StageOp stage, const LoopOptions &options)
      : stage(stage), options(options), overKeyHeads(stage.isOver("hkv")),
        stream(stage.getStream()) {
    addStreamBuffers();
    function.emplace(stage, "", collectAllBuffers());
    emitter.emplace(stage, *function, options);
  }

  LogicalResult run();

private:
  void addStreamBuffers();
  SmallVector<Value> collectAllBuffers();
  bool columnsAreOuter() const;

  void forHeads(llvm::function_ref<void()> body);
  void forRowBlocks(llvm::function_ref<void()> body);
  void forColumnBlocks(llvm::function_ref<void()> body);
  void forSplits(llvm::function_ref<void()> body);

  void collectNeeded(Value value, llvm::SmallDenseSet<Operation *> &needed);
  void emitNeeded(const llvm::SmallDenseSet<Operation *> &needed);
  void initialise();
  void emitBlocks();
  Value emitIsSkipped();
  void emitBlock();
  void emitBody();
  void emitResults(Loops loops);

  StageOp stage;
  LoopOptions options;
  bool overKeyHeads;
  StreamOp stream;
  SmallVector<Value> streamBuffers; // one per result of the stream
  std::optional<StageFunction> function;
  std::optional<BlockEmitter> emitter;
};

//===- Buffers of carries and folds ------------------------------------------===//

/// Returns the type of a buffer for a stream result: the heads of the stage, then its spaces.
BufferType streamBufferType(Value result, StageOp stage) {
  const SpaceSet &spaces = spacesOf(result);
  SmallVector<StringRef> names = {"b"};
  // The rows of a stage over key heads belong to query heads.
  names.push_back(hasColumns(spaces) && stage.isOver("hkv") ? "hkv" : "hq");
  if (stage.isOver("ks"))
    names.push_back("ks");
  llvm::append_range(names, spaces.getNames());
  Builder builder(result.getContext());
  auto extents = llvm::map_to_vector(names, [&](StringRef n) { return builder.getStringAttr(n); });
  // Sums are stored in their computation type; tf32 is never in memory.
  return BufferType::get(result.getContext(), extents,
                         computationType(cast<ValType>(result.getType()).getElementType()));
}

void StageToLoops::addStreamBuffers() {
  if (!stream)
    return;
  OpBuilder builder(stage);
  for (auto [index, result] : llvm::enumerate(stream.getResults())) {
    bool carry = index < stream.getNumCarries();
    std::string name = (stage.getSymName() + (carry ? "_carry" : "_fold") + Twine(index)).str();
    streamBuffers.push_back(BufferOp::create(builder, stream.getLoc(),
                                             streamBufferType(result, stage), name, Role::Temporary,
                                             /*zero=*/false,
                                             /*strided=*/false, /*slots=*/SlotsAttr(),
                                             /*pages=*/StringAttr()));
  }
}

SmallVector<Value> StageToLoops::collectAllBuffers() {
  SmallVector<Value> buffers = collectBuffers(stage);
  buffers.append(streamBuffers);
  return buffers;
}

//===- Loops -------------------------------------------------------------------===//

void StageToLoops::forHeads(llvm::function_ref<void()> body) {
  BlockPosition &position = emitter->position;
  auto &builder = emitter->builder;
  auto divide = [&](Value a, Value b) -> Value { return arith::DivSIOp::create(builder, a, b); };
  Value group = divide(emitter->size("hq"), emitter->size("hkv"));
  if (!overKeyHeads) {
    position.hkv = divide(position.hq, group);
    return body();
  }
  Value first = arith::MulIOp::create(builder, position.hkv, group);
  emitter->forRange(group, [&](Value member) {
    position.hq = arith::AddIOp::create(builder, first, member);
    body();
    position.hq = Value();
  });
}

void StageToLoops::forRowBlocks(llvm::function_ref<void()> body) {
  BlockPosition &position = emitter->position;
  auto &builder = emitter->builder;
  Value size = emitter->index(options.blockRows);
  emitter->forRange(
      emitter->size("ceildiv(r," + std::to_string(options.blockRows) + ")"), [&](Value block) {
        position.firstRow = arith::MulIOp::create(builder, block, size);
        Value left = arith::SubIOp::create(builder, emitter->size("r"), position.firstRow);
        position.rows = arith::MinSIOp::create(builder, left, size);
        body();
        position.firstRow = position.rows = Value();
      });
}

/// Visits the blocks of keys in the order of the stream.
void StageToLoops::forColumnBlocks(llvm::function_ref<void()> body) {
  BlockPosition &position = emitter->position;
  auto &builder = emitter->builder;
  Value size = emitter->index(options.blockColumns), end = emitter->size("c");
  Value first, count;
  if (stage.isOver("ks")) {
    Value keys = emitter->index(function->getPlan().getKeySplit().value());
    first = arith::MulIOp::create(builder, position.split, keys);
    end = arith::MinSIOp::create(builder, end, arith::AddIOp::create(builder, first, keys));
    // ceildiv(end - first, size)
    Value last = arith::AddIOp::create(builder, arith::SubIOp::create(builder, end, first),
                                       emitter->index(options.blockColumns - 1));
    count = arith::DivUIOp::create(builder, last, size);
  } else {
    count = emitter->size("ceildiv(c," + std::to_string(options.blockColumns) + ")");
  }
  bool descending = stream && stream.getOrder() == Order::Descending;
  emitter->forRange(count, [&](Value block) {
    if (descending) {
      Value lastBlock = arith::SubIOp::create(builder, count, emitter->index(1));
      block = arith::SubIOp::create(builder, lastBlock, block);
    }
    position.keyBlock = block;
    position.firstColumn = arith::MulIOp::create(builder, block, size);
    if (first)
      position.firstColumn = arith::AddIOp::create(builder, first, position.firstColumn);
    Value left = arith::SubIOp::create(builder, end, position.firstColumn);
    position.columns = arith::MinSIOp::create(builder, left, size);
    body();
    position.firstColumn = position.columns = position.keyBlock = Value();
  });
}

/// Visits the splits of the keys in the order of the stream.
void StageToLoops::forSplits(llvm::function_ref<void()> body) {
  auto &builder = emitter->builder;
  Value count = emitter->size("ks");
  emitter->forRange(count, [&](Value split) {
    if (stream.getOrder() == Order::Descending) {
      Value last = arith::SubIOp::create(builder, count, emitter->index(1));
      split = arith::SubIOp::create(builder, last, split);
    }
    emitter->position.split = split;
    body();
    emitter->position.split = Value();
  });
}

//===- Values outside the stream -------------------------------------------------===//

/// Collects the ops of the stage's body that compute `value`.
void StageToLoops::collectNeeded(Value value, llvm::SmallDenseSet<Operation *> &needed) {
  Operation *op = value.getDefiningOp();
  if (!op || op == stream || op->getParentOp() != stage || !isa<ValType>(value.getType()) ||
      !needed.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    collectNeeded(operand, needed);
}

void StageToLoops::emitNeeded(const llvm::SmallDenseSet<Operation *> &needed) {
  for (Operation &op : stage.getBody().front())
    if (needed.contains(&op))
      emitter->emit(op);
}

/// Emits the stores of values with `loops`, and the ops that compute these values.
void StageToLoops::emitResults(Loops loops) {
  llvm::SmallDenseSet<Operation *> needed;
  for (StoreOp store : stage.getBody().front().getOps<StoreOp>())
    if (loopsOf(spacesOf(store.getValue())) == loops) {
      needed.insert(store);
      collectNeeded(store.getValue(), needed);
    }
  if (needed.empty())
    return;
  auto body = [&] { emitNeeded(needed); };
  if (loops == Loops::Columns)
    return forColumnBlocks(body);
  forHeads([&] { loops == Loops::Rows ? forRowBlocks(body) : body(); });
}

//===- The stream ------------------------------------------------------------------===//

/// Initializes carries with the stream's operands, and folds with zero.
void StageToLoops::initialise() {
  llvm::SmallDenseSet<Operation *> needed;
  for (Value carry : stream.getCarries())
    collectNeeded(carry, needed);
  auto fill = [&](Loops loops) {
    for (auto [index, result] : llvm::enumerate(stream.getResults())) {
      if (loopsOf(spacesOf(result)) != loops)
        continue;
      emitter->forEachPoint(spacesOf(result), [&](const Point &point) {
        Value initial = index < stream.getNumCarries()
                            ? emitter->at(stream.getCarries()[index], point)
                            : emitter->number(0.0);
        emitter->writeBuffer(initial, streamBuffers[index], point);
      });
    }
  };
  forHeads([&] {
    fill(Loops::Heads);
    forRowBlocks([&] {
      emitNeeded(needed);
      fill(Loops::Rows);
    });
  });
  forColumnBlocks([&] { fill(Loops::Columns); });
}

bool StageToLoops::columnsAreOuter() const {
  if (options.owner != LoopOwner::Auto)
    return options.owner == LoopOwner::Columns;
  return getOwner(stage) == Owner::Columns;
}

void StageToLoops::emitBlocks() {
  llvm::SmallDenseSet<Operation *> needed;
  stream.getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      collectNeeded(operand, needed);
  });
  if (columnsAreOuter() && !stream.getOverSplits()) {
    forColumnBlocks([&] {
      forHeads([&] {
        forRowBlocks([&] {
          emitNeeded(needed);
          emitBlock();
        });
      });
    });
    return;
  }
  forHeads([&] {
    forRowBlocks([&] {
      emitNeeded(needed);
      if (stream.getOverSplits())
        forSplits([&] { emitBlock(); });
      else
        forColumnBlocks([&] { emitBlock(); });
    });
  });
}

/// Emits a condition (an i1) that is true if the block can be skipped and the options request it.
/// Returns null if no block is ever skipped.
Value StageToLoops::emitIsSkipped() {
  Value skipped;
  auto &builder = emitter->builder;
  if (options.useStop && stream.getStopCarry()) {
    Value carry = stream.getResult(*stream.getStopCarry());
    skipped =
        emitter->isBelowInEveryRow(stream.getStopBelow()->convertToDouble(),
                                   [&](const Point &point) { return emitter->at(carry, point); });
  }
  if (options.useSkip && stream.getSkipBuffer()) {
    Value small = emitter->isBelowInEveryRow(
        stream.getSkipBelow()->convertToDouble(),
        [&](const Point &point) { return emitter->readBuffer(stream.getSkipBuffer(), point); });
    skipped = skipped ? arith::OrIOp::create(builder, skipped, small) : small;
  }
  return skipped;
}

/// Emits one block. If it is skipped, carries stay unchanged and stored values become zero.
void StageToLoops::emitBlock() {
  Value skipped = emitIsSkipped();
  if (!skipped)
    return emitBody();
  auto &builder = emitter->builder;
  auto branch = scf::IfOp::create(builder, skipped, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (StoreOp store : stream.getBody().front().getOps<StoreOp>())
    emitter->forEachPoint(spacesOf(store.getValue()), [&](const Point &point) {
      emitter->writeBuffer(emitter->number(0.0), store.getBuffer(), point);
    });
  builder.setInsertionPointToStart(branch.elseBlock());
  emitBody();
}

/// Emits the body of the stream.
void StageToLoops::emitBody() {
  Block &body = stream.getBody().front();
  for (auto [argument, result] : llvm::zip(body.getArguments(), stream.getResults()))
    emitter->compute(argument, [&](const Point &point) { return emitter->at(result, point); });
  for (Operation &op : body.without_terminator())
    emitter->emit(op);
  for (auto [index, result] : llvm::enumerate(stream.getResults())) {
    Value yielded = stream.getYielded(index);
    emitter->forEachPoint(spacesOf(result), [&](const Point &point) {
      Value number = emitter->at(yielded, point);
      if (index < stream.getNumCarries())
        emitter->writeBuffer(number, streamBuffers[index], point);
      else
        emitter->addToBuffer(number, streamBuffers[index], point);
    });
  }
}

//===- Stages ----------------------------------------------------------------------===//

LogicalResult StageToLoops::run() {
  SmallVector<StringRef> over = getStrings(stage.getOver());
  SmallVector<Value> item = function->decomposeItem(emitter->builder, stage.getLoc(), over);
  emitter->position.b = item[0];
  (overKeyHeads ? emitter->position.hkv : emitter->position.hq) = item[1];
  if (stage.isOver("ks"))
    emitter->position.split = item[2];
  if (stream) {
    for (auto [result, buffer] : llvm::zip_equal(stream.getResults(), streamBuffers))
      emitter->defineInBuffer(result, buffer);
    initialise();
    emitBlocks();
  }
  for (Loops loops : {Loops::Rows, Loops::Columns, Loops::Heads})
    emitResults(loops);
  if (emitter->getScratchBytes() > kMaxScratchBytes)
    return stage.emitOpError("expected at most ")
           << kMaxScratchBytes << " bytes of scratch memory, found " << emitter->getScratchBytes()
           << ": choose smaller blocks than " << options.blockRows << " x " << options.blockColumns;
  function->createLaunch(stage, productOfExtents(over));
  stage.erase();
  return success();
}

/// Checks that all spaces are blocks or depths, because scratch memory has constant extents.
LogicalResult checkSpaces(StageOp stage) {
  WalkResult result = stage.walk([&](Operation *op) -> WalkResult {
    for (Value value : op->getResults())
      if (isa<ValType>(value.getType()))
        for (StringRef space : spacesOf(value).getNames())
          if (space != "r" && space != "c" && !isDepth(space))
            return op->emitOpError("expected a value over r, c and a depth, found one over ")
                   << spacesOf(value).toString() << ": the loops have no extent for " << space;
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Checks the stage for forms that the loops do not support.
LogicalResult checkStage(StageOp stage, const LoopOptions &options) {
  if (failed(checkSpaces(stage)))
    return failure();
  if (options.blockRows < 1 || options.blockColumns < 1)
    return stage.emitOpError("expected blocks of at least 1 x 1, found ")
           << options.blockRows << " x " << options.blockColumns;
  PlanOp plan = stage->getParentOfType<PlanOp>();
  for (Value buffer : collectBuffers(stage))
    if (cast<BufferType>(buffer.getType()).has("kb") &&
        plan.getKeyBlock() != static_cast<uint64_t>(options.blockColumns))
      return stage.emitOpError("expected block-columns to equal the plan's key_block = ")
             << *plan.getKeyBlock() << ", found " << options.blockColumns;
  return success();
}

struct PETileToLoopsPass : impl::PETileToLoopsPassBase<PETileToLoopsPass> {
  using Base::Base;
  void runOnOperation() override {
    LoopOptions options = {blockRows, blockColumns, owner, useStop, useSkip};
    SmallVector<StageOp> stages;
    for (PlanOp plan : getOperation().getOps<PlanOp>()) {
      if (hasKeyBlocks(plan))
        plan.setKeyBlock(blockColumns);
      llvm::append_range(stages, plan.getOps<StageOp>());
    }
    for (StageOp stage : stages)
      if (failed(lowerStageToLoops(stage, options)))
        return signalPassFailure();
    if (failed(lowerNarrowFloats(getOperation())))
      signalPassFailure();
  }
};

} // namespace

/// Checks that scalar code, which the lowering clones, has only operations of the table, which
/// every lowering supports.
static LogicalResult checkScalarCode(StageOp stage) {
  WalkResult result = stage.walk([&](Operation *op) {
    const bool isScalarCode = isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
    if (!isScalarCode || ::pe::math::findScalarOp(op->getName().getStringRef()))
      return WalkResult::advance();
    op->emitOpError("expected an operation from the table of scalar operations "
                    "(dialect/Math/ScalarOps.h)");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult lowerStageToLoops(StageOp stage, const LoopOptions &options) {
  if (failed(checkScalarCode(stage)))
    return failure();
  if (isScalarStage(stage))
    return lowerScalarStage(stage);
  if (failed(checkStage(stage, options)))
    return failure();
  return StageToLoops(stage, options).run();
}

} // namespace mlir::tile
