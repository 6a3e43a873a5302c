//===- ScalarStages.cpp - preparation and reduction stages as kernels -----===//
#include "passes/ToGPU/ScalarStages.h"

#include "dialect/Tile/SizeNames.h"
#include "passes/ToGPU/LoopIndices.h"
#include "passes/ToGPU/Maps.h"
#include "passes/ToLoops/ScalarStage.h"
#include "passes/ToLoops/StageFunction.h"
#include "runtime/device/library/FindSegments.h"

#include "llvm/ADT/SetVector.h"
#include <vector>

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

//===- Kernels --------------------------------------------------------------------===//

namespace {

constexpr int64_t kThreads = 128;

/// The CTAs of a loop whose number of iterations no grid can have. They fill most chips once.
constexpr int64_t kConstantGrid = 128;

/// Returns the buffers that an operation uses, in the order of the plan.
SmallVector<Value> buffersOf(Operation *loop, StageOp stage) {
  llvm::SmallDenseSet<Value> used;
  loop->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<BufferType>(operand.getType()))
        used.insert(operand);
  });
  SmallVector<Value> result;
  for (Value buffer : collectBuffers(stage))
    if (used.contains(buffer))
      result.push_back(buffer);
  return result;
}

/// One loop of a kernel. Its iterations are divided among the threads of as many CTAs as needed.
class LoopCode {
public:
  LoopCode(StageOp stage, ForeachOp loop);

  /// Returns the buffers that the loop uses.
  ArrayRef<Value> getBuffers() const { return buffers; }
  /// Returns true if neither loop changes a buffer that the other uses.
  bool isIndependentOf(const LoopCode &other) const;
  /// Returns the number of CTAs as a size expression.
  std::string items() const;
  /// Emits the iterations of a thread: number `first` (an i64) and, unless `step` is zero, every
  /// `step`th after it.
  void write(KernelFunction &fn, Value first, int64_t step);
  /// Emits the code of CTA `block` (an i64) of this loop.
  void writeBlock(KernelFunction &fn, Value block);

private:
  /// Returns true if the number of iterations depends on parameters of the call, which a grid
  /// cannot. Then a constant number of CTAs divides them.
  bool hasConstantGrid() const;
  void writeFrom(unsigned dim, RegionWriter &writer);
  /// Adds the terms of a warp as a tree; the last lane adds the result to memory.
  void addLanes(AccumulateOp sum, RegionWriter &writer);
  /// Computes the parallel indices from one i64; the last varies fastest.
  void setIndices(Value number, RegionWriter &writer);
  SmallVector<StringRef> parallelExtents() const;

  ForeachOp loop;
  llvm::SmallDenseSet<Operation *> sumsOfLanes;
  llvm::SmallBitVector parallel;
  SmallVector<StringRef> extents;
  SmallVector<Value> buffers;
  llvm::SmallDenseSet<Value> changed;
  KernelFunction *fn = nullptr;
};

LoopCode::LoopCode(StageOp stage, ForeachOp loop)
    : loop(loop), sumsOfLanes(laneSums(loop)), parallel(parallelIndices(loop)),
      extents(getStrings(stage.getOver())) {
  if (!sumsOfLanes.empty())
    parallel.set(parallel.size() - 1);
  llvm::append_range(extents, getStrings(loop.getOver()));
  buffers = buffersOf(loop, stage);
  loop.walk([&](Operation *op) {
    if (auto write = dyn_cast<WriteOp>(op))
      changed.insert(write.getBuffer());
    else if (auto sum = dyn_cast<AccumulateOp>(op))
      changed.insert(sum.getBuffer());
  });
}

bool LoopCode::isIndependentOf(const LoopCode &other) const {
  auto mentions = [](const LoopCode &code, const llvm::SmallDenseSet<Value> &values) {
    return llvm::any_of(code.buffers, [&](Value buffer) { return values.contains(buffer); });
  };
  return !mentions(other, changed) && !mentions(*this, other.changed);
}

/// Emits loops over the indices that are not parallel, the first outermost.
void LoopCode::writeFrom(unsigned dim, RegionWriter &writer) {
  while (dim < extents.size() && parallel[dim])
    ++dim;
  if (dim == extents.size()) {
    writer.writeBody();
    return;
  }
  fn->b.loop(0, fn->size(extents[dim]), 1, [&](Num index) {
    writer.mapping[loop.getBody().front().getArgument(dim)] = fn->b.toValue(index);
    writeFrom(dim + 1, writer);
  });
}

void LoopCode::addLanes(AccumulateOp sum, RegionWriter &writer) {
  KernelBuilder &b = fn->b;
  const Value term = writer.lookup(sum.getValue());
  Value value = term;
  Type type = cast<BufferType>(sum.getBuffer().getType()).getElementType();
  if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    value = b.create<arith::ExtFOp>(type, value);
  for (int64_t mask = kLanes / 2; mask > 0; mask /= 2)
    value = emitReduction(b, b.getLoc(), sum.getKind(), value, b.shuffleXor(value, mask));
  writer.mapping[sum.getValue()] = value;
  for (Value index : sum.getIndices())
    writer.lookup(index); // before the branch, so that later code may use it
  Value lane = writer.lookup(loop.getBody().front().getArguments().back());
  b.ifThen(b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, lane, b.integer(kLanes - 1)),
           [&] { writer.addToMemory(sum); });
  writer.mapping[sum.getValue()] = term; // other sums may have the same term
}

void LoopCode::setIndices(Value number, RegionWriter &writer) {
  KernelBuilder &b = fn->b;
  for (unsigned i = extents.size(); i-- > 0;) {
    if (!parallel[i])
      continue;
    Value extent = b.wide(fn->size(extents[i]));
    Value index = b.createOrFold<arith::RemUIOp>(number, extent);
    writer.mapping[loop.getBody().front().getArgument(i)] =
        b.createOrFold<arith::TruncIOp>(b.i32(), index);
    number = b.createOrFold<arith::DivUIOp>(number, extent);
  }
}

SmallVector<StringRef> LoopCode::parallelExtents() const {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < extents.size(); ++i)
    if (parallel[i])
      names.push_back(extents[i]);
  return names;
}

bool LoopCode::hasConstantGrid() const {
  auto parameters = loop->getParentOfType<PlanOp>().getOps<ParameterOp>();
  return llvm::any_of(parallelExtents(), [&](StringRef extent) {
    return llvm::any_of(parameters, [&](ParameterOp p) { return mentions(extent, p.getName()); });
  });
}

std::string LoopCode::items() const {
  if (hasConstantGrid())
    return std::to_string(kConstantGrid);
  return "ceildiv(" + productOfExtents(parallelExtents()) + "," + std::to_string(kThreads) + ")";
}

void LoopCode::write(KernelFunction &function, Value first, int64_t step) {
  fn = &function;
  KernelBuilder &b = fn->b;
  const LocationScope location(b, loop.getLoc());
  Value total = fn->wideProduct(parallelExtents());
  RegionWriter writer(*fn, loop.getBody().front());
  writer.accumulate = [&](AccumulateOp sum, RegionWriter &w) {
    if (sumsOfLanes.contains(sum))
      addLanes(sum, w);
    else
      w.addToMemory(sum);
  };
  auto writeIteration = [&](Value number) {
    setIndices(number, writer);
    writeFrom(0, writer);
  };
  if (step == 0) {
    b.ifThen(b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, first, total),
             [&] { writeIteration(first); });
    return;
  }
  auto steps = b.create<scf::ForOp>(first, total, b.wide(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(steps.getBody());
  writeIteration(steps.getInductionVar());
}

void LoopCode::writeBlock(KernelFunction &function, Value block) {
  KernelBuilder &b = function.b;
  // A grid has up to 2^31 CTAs of many threads each, so indices are i64.
  Value first = b.create<arith::AddIOp>(b.create<arith::MulIOp>(block, b.wide(kThreads)),
                                        b.wide(b.threadIndex()));
  write(function, first, hasConstantGrid() ? kConstantGrid * kThreads : 0);
}

/// Emits one kernel with independent loops, each of which has its own CTAs.
void lowerLoops(StageOp stage, MutableArrayRef<LoopCode> loops, unsigned number) {
  const std::string suffix = number ? "_" + std::to_string(number) : "";
  llvm::SetVector<Value> buffers;
  for (const LoopCode &loop : loops)
    buffers.insert_range(loop.getBuffers());
  KernelBuilder b(stage.getLoc(), stage.getContext());
  KernelFunction fn(stage, suffix, buffers.getArrayRef(), kThreads, b);
  Value block = b.wide(b.blockIndex());
  std::string items;
  for (LoopCode &loop : loops) {
    Value count = b.wide(fn.size(loop.items()));
    auto isOurs = [&] { return b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, block, count); };
    if (loops.size() == 1)
      loop.writeBlock(fn, block);
    else // the comparison is unsigned: a block of an earlier loop is negative here
      b.ifThen(isOurs(), [&] { loop.writeBlock(fn, block); });
    block = b.createOrFold<arith::SubIOp>(block, count);
    items += (items.empty() ? "" : "+") + loop.items();
  }
  fn.finish(stage, items, /*sharedBytes=*/0);
}

/// A size expression as a number of segmentsScratch.
struct SizeText {
  SizeText(std::string text) : text(std::move(text)) {}
  SizeText(int64_t number) : text(std::to_string(number)) {}
  friend SizeText operator+(const SizeText &a, const SizeText &b) {
    SizeText sum(a.text + "+" + b.text);
    sum.isSum = true;
    return sum;
  }
  friend SizeText operator*(const SizeText &a, const SizeText &b) {
    return a.asFactor() + "*" + b.asFactor();
  }
  std::string asFactor() const { return isSum ? "(" + text + ")" : text; }

  std::string text;
  bool isSum = false;
};

/// Adds global memory for finding segments.
Value segmentsScratch(StageOp stage, FindSegmentsOp op) {
  auto extentOf = [](Value buffer, unsigned fromLast) {
    auto extents = cast<BufferType>(buffer.getType()).getExtents();
    return extents.size() < fromLast ? std::string("1")
                                     : extents[extents.size() - fromLast].getValue().str();
  };
  std::string width = "1";
  for (size_t i = 1; i < op.getLinks().size(); i += 2)
    width = "max(" + width + "," + extentOf(op.getLinks()[i], 1) + ")";
  const SizeText ends = SizeText(extentOf(op.getCoefficients(), 2)) + 1;
  const SizeText size =
      ::pe::segments::segmentsScratch<SizeText>(kPeGpuSegmentsThreads, op.getDegree(), width, ends);
  OpBuilder builder(stage);
  auto plan = stage->getParentOfType<PlanOp>();
  auto type = BufferType::get(stage.getContext(), builder.getStringAttr(size.text),
                              Float64Type::get(stage.getContext()));
  return BufferOp::create(builder, stage.getLoc(), type,
                          (plan.getSymName() + "_" + stage.getSymName() + "_scratch").str(),
                          Role::Temporary, /*zero=*/false, /*strided=*/false,
                          /*slots=*/SlotsAttr(), /*pages=*/StringAttr());
}

/// Emits a kernel in which one CTA calls `pe_gpu_find_segments` and then executes the loops that
/// follow in the stage. Every thread has the argument block in its memory.
void lowerFindSegments(StageOp stage, FindSegmentsOp op) {
  KernelBuilder b(op.getLoc(), stage.getContext());
  SmallVector<Value> buffers = buffersOf(stage, stage);
  Value scratch = segmentsScratch(stage, op);
  buffers.push_back(scratch);
  KernelFunction fn(stage, "", buffers, kPeGpuSegmentsThreads, b);
  Type i64 = b.getI64Type();
  auto pointerType = LLVM::LLVMPointerType::get(b.getContext());
  auto generic = [&](Value buffer) -> Value {
    return b.create<LLVM::AddrSpaceCastOp>(pointerType, fn.pointer(buffer));
  };
  auto address = [&](Value buffer) -> Value {
    return b.create<LLVM::PtrToIntOp>(i64, generic(buffer));
  };
  auto product = [&](ArrayRef<StringRef> extents) { return fn.wideProduct(extents); };
  auto number = [&](int64_t value) -> Value {
    return b.create<arith::ConstantOp>(b.getI64IntegerAttr(value));
  };
  SmallVector<Value> words;
  for (const SegmentsWord &word : getSegmentsWords(op))
    words.push_back(std::visit(llvm::makeVisitor(number, address, product), word));
  Value block = b.create<LLVM::AllocaOp>(pointerType, i64, b.integer(words.size()), 8);
  for (auto [index, word] : llvm::enumerate(words))
    b.create<LLVM::StoreOp>(
        word, b.create<LLVM::GEPOp>(pointerType, i64, block,
                                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)}));
  b.create<LLVM::CallOp>(fn.declare("pe_gpu_find_segments", {pointerType, pointerType, b.i32()}),
                         ValueRange{block, generic(scratch), b.integer(kPeGpuSegmentsThreads)});
  for (ForeachOp loop : stage.getBody().getOps<ForeachOp>()) {
    b.barrier();
    LoopCode(stage, loop).write(fn, b.wide(b.threadIndex()), kPeGpuSegmentsThreads);
  }
  fn.finish(stage, "1", /*sharedBytes=*/0);
}

} // namespace

void mlir::tile::gpu::lowerScalarStage(StageOp stage) {
  if (auto finds = stage.getBody().getOps<FindSegmentsOp>(); !finds.empty())
    return lowerFindSegments(stage, *finds.begin());
  std::vector<LoopCode> group;
  unsigned number = 0;
  auto lowerGroup = [&] {
    if (!group.empty())
      lowerLoops(stage, group, number++);
    group.clear();
  };
  for (auto loop : stage.getBody().getOps<ForeachOp>()) {
    LoopCode code(stage, loop);
    if (!llvm::all_of(group, [&](const LoopCode &other) { return code.isIndependentOf(other); }))
      lowerGroup();
    group.push_back(std::move(code));
  }
  lowerGroup();
}
