//===- MergeLaunches.cpp - the pass pe-merge-launches ---------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "dialect/Tile/SizeNames.h"
#include "passes/ToGPU/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PEMERGELAUNCHESPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

//===- Analysis ---------------------------------------------------------------------===//

/// Returns true if the two launches are parts of the same calls. Preparation stays apart, because
/// the caller may hold a part of its results.
static bool isOfSameCall(LaunchOp a, LaunchOp b) {
  auto isBackward = [](LaunchOp launch) {
    return launch.getPhase() == Phase::Backward || launch.getPhase() == Phase::Finish;
  };
  const bool isSamePhase = a.getPhase() == b.getPhase() || (isBackward(a) && isBackward(b));
  return isSamePhase && a.getPhase() != Phase::Prepare && a.getWhenAttr() == b.getWhenAttr();
}

/// Returns true for kernels without shared memory, so that a CTA costs the same in a larger kernel.
static bool isSmall(LaunchOp launch) {
  return launch.getThreads() && launch.getWrites() && launch.getSharedBytes().value_or(0) == 0;
}

static bool canMerge(LaunchOp a, LaunchOp b) {
  return isSmall(a) && isSmall(b) && a.getThreads() == b.getThreads() && isOfSameCall(a, b);
}

/// Returns true if `a` may write a buffer that `b` uses.
static bool writesFor(LaunchOp a, LaunchOp b) {
  if (!a.getWrites())
    return true;
  return llvm::any_of(*a.getWrites(), [&](int64_t index) {
    return llvm::is_contained(b.getBuffers(), a.getBuffers()[index]);
  });
}

static bool isIndependent(LaunchOp a, LaunchOp b) { return !writesFor(a, b) && !writesFor(b, a); }

/// Returns the first of `earlier` whose kernel `launch` may join: no launch from there on uses its
/// results or writes what it uses. Returns a null op if there is none.
static LaunchOp findPartner(ArrayRef<LaunchOp> earlier, LaunchOp launch) {
  LaunchOp found;
  for (LaunchOp other : llvm::reverse(earlier)) {
    if (!isIndependent(other, launch))
      break;
    if (canMerge(other, launch))
      found = other;
  }
  return found;
}

/// Returns `first` + "_and_" + the part of `second` after the words that both begin with.
static std::string joinNames(StringRef first, StringRef second) {
  size_t same = 0;
  for (size_t i = 0; i < std::min(first.size(), second.size()) && first[i] == second[i]; ++i)
    if (first[i] == '_')
      same = i + 1;
  return (first + "_and_" + second.drop_front(same)).str();
}

//===- Rewriting --------------------------------------------------------------------===//

namespace {

/// Creates the kernel whose first CTAs execute one kernel and whose other CTAs execute another.
class Merger {
public:
  Merger(LaunchOp first, LaunchOp second);
  LaunchOp run();

private:
  using Kernel = LLVM::LLVMFuncOp;
  Kernel kernelOf(LaunchOp launch) const;
  Kernel createKernel();
  void copyAttributes(Kernel from, LaunchOp launch, Kernel to);
  Value size(StringRef expression);
  /// Moves the body of a kernel to the builder's insertion point; `block` is the index of its CTA.
  void moveBody(LaunchOp launch, Value block);
  SmallVector<int64_t> writes() const;

  LaunchOp first, second;
  const std::vector<::pe::plan::FrameWord> frame;
  tile::gpu::KernelBuilder b;
  llvm::SetVector<Value> buffers;
  llvm::SetVector<int32_t> words;
  Kernel merged;
};

} // namespace

Merger::Merger(LaunchOp first, LaunchOp second)
    : first(first), second(second), frame(getFrame(first->getParentOfType<PlanOp>())),
      b(first.getLoc(), first.getContext()) {
  buffers.insert_range(first.getBuffers());
  buffers.insert_range(second.getBuffers());
  words.insert_range(*first.getWords());
  words.insert_range(*second.getWords());
  for (auto [index, word] : llvm::enumerate(frame))
    if (word.kind != ::pe::plan::FrameWord::Kind::Stride && mentions(first.getItems(), word.name))
      words.insert(index);
}

Merger::Kernel Merger::kernelOf(LaunchOp launch) const {
  auto kernels = first->getParentOfType<ModuleOp>().lookupSymbol<mlir::gpu::GPUModuleOp>(
      tile::gpu::KernelFunction::kModule);
  return kernels.lookupSymbol<Kernel>(launch.getCallee());
}

void Merger::copyAttributes(Kernel from, LaunchOp launch, Kernel to) {
  for (auto [index, buffer] : llvm::enumerate(launch.getBuffers())) {
    const auto at = llvm::find(buffers, buffer) - buffers.begin();
    for (NamedAttribute attribute : from.getArgAttrDict(index)
                                        ? from.getArgAttrDict(index)
                                        : DictionaryAttr::get(b.getContext()))
      to.setArgAttr(at, attribute.getName(), attribute.getValue());
  }
}

Merger::Kernel Merger::createKernel() {
  Kernel kernel = kernelOf(first);
  SmallVector<Type> arguments(buffers.size(), b.globalPointer());
  for (int32_t word : words)
    arguments.push_back(frame[word].kind == ::pe::plan::FrameWord::Kind::Stride ? b.getI64Type()
                                                                                : b.i32());
  OpBuilder at(kernel);
  auto made = Kernel::create(
      at, kernel.getLoc(), joinNames(first.getCallee(), second.getCallee()),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), arguments));
  made->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  copyAttributes(kernel, first, made);
  copyAttributes(kernelOf(second), second, made);
  b.setInsertionPointToStart(made.addEntryBlock(at));
  return made;
}

/// Returns the value of a size expression as an i64.
Value Merger::size(StringRef expression) {
  using Expression = ::pe::plan::SizeExpression;
  auto number = [&](int64_t value) -> Value {
    return b.create<arith::ConstantOp>(b.getI64IntegerAttr(value));
  };
  auto leaf = [&](const Expression::Step &step) -> Value {
    if (step.kind == Expression::Kind::Constant)
      return number(step.value);
    const auto *word = llvm::find_if(words, [&](int32_t index) {
      return frame[index].kind != ::pe::plan::FrameWord::Kind::Stride &&
             frame[index].name == step.name;
    });
    return b.create<arith::ExtSIOp>(b.getI64Type(),
                                    merged.getArgument(buffers.size() + (word - words.begin())));
  };
  auto apply = [&](Expression::Kind kind, Value x, Value y) -> Value {
    switch (kind) {
    case Expression::Kind::Add:
      return b.createOrFold<arith::AddIOp>(x, y);
    case Expression::Kind::Subtract:
      return b.createOrFold<arith::SubIOp>(x, y);
    case Expression::Kind::Multiply:
      return b.createOrFold<arith::MulIOp>(x, y);
    case Expression::Kind::CeilDiv:
      x = b.createOrFold<arith::AddIOp>(x, b.createOrFold<arith::SubIOp>(y, number(1)));
      return b.createOrFold<arith::DivUIOp>(x, y);
    case Expression::Kind::Max:
      return b.createOrFold<arith::MaxSIOp>(x, y);
    default:
      return b.createOrFold<arith::MinSIOp>(x, y);
    }
  };
  return parseForPlan(expression, first->getParentOfType<PlanOp>()).fold<Value>(leaf, apply);
}

void Merger::moveBody(LaunchOp launch, Value block) {
  Kernel kernel = kernelOf(launch);
  Block &body = kernel.getBody().front();
  const unsigned count = launch.getBuffers().size();
  for (BlockArgument argument : body.getArguments()) {
    const unsigned index = argument.getArgNumber();
    const size_t at =
        index < count ? llvm::find(buffers, launch.getBuffers()[index]) - buffers.begin()
                      : buffers.size() + (llvm::find(words, (*launch.getWords())[index - count]) -
                                          words.begin());
    argument.replaceAllUsesWith(merged.getArgument(at));
  }
  kernel.walk([&](NVVM::BlockIdXOp op) {
    op.replaceAllUsesWith(block);
    op.erase();
  });
  Block *entry = &merged.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    // Memory of a thread is static only in the entry block.
    if (isa<LLVM::AllocaOp>(op) && b.getBlock() != entry) {
      Operation *count = op.getOperand(0).getDefiningOp();
      op.moveBefore(entry, entry->begin());
      count->moveBefore(&op);
    } else {
      op.moveBefore(b.getBlock(), b.getInsertionPoint());
    }
  }
  kernel.erase();
}

SmallVector<int64_t> Merger::writes() const {
  SmallVector<int64_t> written;
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    auto isWrittenBy = [&, b = buffer](LaunchOp launch) {
      return llvm::any_of(*launch.getWrites(),
                          [&](int64_t at) { return launch.getBuffers()[at] == b; });
    };
    if (isWrittenBy(first) || isWrittenBy(second))
      written.push_back(index);
  }
  return written;
}

LaunchOp Merger::run() {
  merged = createKernel();
  Value block = b.toValue(b.blockIndex());
  Value index = b.create<arith::ExtUIOp>(b.getI64Type(), block);
  Value begin = size(first.getItems());
  Value isFirst = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, index, begin);
  Value rest = b.create<arith::SubIOp>(block, b.create<arith::TruncIOp>(b.i32(), begin));
  b.ifElse(
      isFirst, TypeRange(),
      [&] {
        moveBody(first, block);
        return SmallVector<Value>();
      },
      [&] {
        moveBody(second, rest);
        return SmallVector<Value>();
      });
  b.create<LLVM::ReturnOp>(ValueRange());
  for (Value buffer : second.getBuffers())
    if (Operation *op = buffer.getDefiningOp(); first->isBeforeInBlock(op))
      op->moveBefore(first);
  OpBuilder at(first);
  const std::string items = first.getItems().str() + "+" + second.getItems().str();
  auto launch = LaunchOp::create(
      at, first.getLoc(), merged.getSymName(), first.getPhase(), at.getStringAttr(items),
      first.getWhenAttr(), buffers.getArrayRef(), first.getThreadsAttr(),
      first.getSharedBytesAttr(), at.getDenseI32ArrayAttr(words.getArrayRef()),
      at.getDenseI64ArrayAttr(writes()));
  first.erase();
  second.erase();
  return launch;
}

namespace {

struct PEMergeLaunchesPass : tile::impl::PEMergeLaunchesPassBase<PEMergeLaunchesPass> {
  using Base::Base;

  void runOnOperation() override {
    for (PlanOp plan : getOperation().getOps<PlanOp>()) {
      SmallVector<LaunchOp> kept;
      for (LaunchOp launch : llvm::to_vector(plan.getOps<LaunchOp>())) {
        LaunchOp partner = findPartner(kept, launch);
        if (!partner) {
          kept.push_back(launch);
          continue;
        }
        LaunchOp *place = llvm::find(kept, partner);
        *place = Merger(partner, launch).run();
      }
    }
  }
};

} // namespace
