//===- GpuToEmulator.cpp - the pass pe-gpu-to-emulator --------------------===//
#include "passes/ToEmulator/ToEmulator.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "pe-gpu-to-emulator"

using namespace mlir;

namespace mlir::tile {
#define GEN_PASS_DEF_PEGPUTOEMULATORPASS
#include "passes/ToEmulator/Passes.h.inc"
} // namespace mlir::tile

namespace {

/// Slots of 64 bits in a lane's frame: the operands of mma.sync.
constexpr int64_t kFrameSlots = 16;
/// Flags of pe_emu_access.
constexpr int64_t kWrite = 1, kShared = 2;
/// runtime/device/emulator/Collectives.h
enum Collective : int64_t { SyncWarp, Shuffle, LoadMatrices, MultiplyAdd, Reduce };

/// The outcome for an operation of the kernel:
/// kept, replaced, or unknown to the emulator.
enum class Outcome { Kept, Replaced, Refused };

std::string describe(Location loc) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  loc->print(stream);
  return text;
}

class KernelRewriter {
public:
  KernelRewriter(ModuleOp module, int64_t dropSync)
      : module(module), b(module.getLoc(), module.getContext()), dropSync(dropSync) {}

  LogicalResult run(LLVM::LLVMFuncOp kernel);
  int64_t getSyncCount() const { return syncs; }

private:
  // Types and constants.
  Type pointer() { return LLVM::LLVMPointerType::get(b.getContext()); }
  Type nothing() { return LLVM::LLVMVoidType::get(b.getContext()); }
  Value integer(int64_t value, Type type) {
    return b.create<LLVM::ConstantOp>(type, b.getIntegerAttr(type, value));
  }
  Value i32(int64_t value) { return integer(value, b.getI32Type()); }
  Value i64(int64_t value) { return integer(value, b.getI64Type()); }
  Value call(StringRef callee, Type result, ValueRange operands);
  Value where(Operation *op);
  Value slot(int64_t index);

  LLVM::LLVMFuncOp createThreadFunction(LLVM::LLVMFuncOp kernel);
  void createEntry(LLVM::LLVMFuncOp kernel, LLVM::LLVMFuncOp thread);
  LogicalResult rewriteOp(Operation *op);
  template <typename... Ops> Outcome rewriteOneOf(Operation *op);
  // Thread and block indices, and synchronisation.
  Outcome rewrite(NVVM::ThreadIdXOp op);
  Outcome rewrite(NVVM::BlockIdXOp op);
  Outcome rewrite(NVVM::BarrierOp op);
  Outcome rewrite(NVVM::SyncWarpOp op);
  Outcome rewrite(LLVM::FenceOp op);
  // Warp collectives.
  Outcome rewrite(NVVM::ShflOp op);
  Outcome rewrite(NVVM::ReduxOp op);
  Outcome rewrite(NVVM::LdMatrixOp op);
  Outcome rewrite(NVVM::MmaOp op);
  // Numbers.
  Outcome rewrite(NVVM::ConvertFloatToTF32Op op);
  Outcome rewrite(LLVM::CallIntrinsicOp op);
  Outcome rewrite(LLVM::CallOp op);
  // Copies and memory.
  Outcome rewrite(NVVM::CpAsyncOp op);
  Outcome rewrite(NVVM::CpAsyncCommitGroupOp op);
  Outcome rewrite(NVVM::CpAsyncWaitGroupOp op);
  Outcome rewrite(LLVM::AddressOfOp op);
  Outcome rewrite(LLVM::LoadOp op);
  Outcome rewrite(LLVM::StoreOp op);
  Outcome rewrite(LLVM::AtomicRMWOp op);

  Outcome replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    return Outcome::Replaced;
  }
  Outcome collective(Operation *op, Collective what, int64_t detail, ValueRange operands);
  /// Before an access to memory that threads share, its bounds and races are checked.
  void checkAccess(Operation *op, Value address, Type type, bool isWrite);
  /// Whether this synchronising operation is to be left out.
  bool isDropped() { return syncs++ == dropSync; }

  ModuleOp module;
  ImplicitLocOpBuilder b;
  int64_t dropSync, syncs = 0;
  Value frame;
  llvm::StringMap<LLVM::GlobalOp> places;
};

Value KernelRewriter::call(StringRef callee, Type result, ValueRange operands) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(callee);
  if (!function) {
    OpBuilder at = OpBuilder::atBlockBegin(module.getBody());
    // Operands lose their address spaces at the end.
    SmallVector<Type> types;
    for (Type type : operands.getTypes())
      types.push_back(isa<LLVM::LLVMPointerType>(type) ? pointer() : type);
    function = LLVM::LLVMFuncOp::create(at, module.getLoc(), callee,
                                        LLVM::LLVMFunctionType::get(result, types));
  }
  auto op = b.create<LLVM::CallOp>(function, operands);
  return op.getNumResults() ? op.getResult() : Value();
}

/// The location as a constant text.
Value KernelRewriter::where(Operation *op) {
  std::string text = (op->getName().getStringRef() + " at " + describe(op->getLoc())).str();
  LLVM::GlobalOp &global = places[text];
  if (!global) {
    OpBuilder at = OpBuilder::atBlockBegin(module.getBody());
    std::string bytes = text + '\0';
    auto type = LLVM::LLVMArrayType::get(at.getI8Type(), bytes.size());
    global = LLVM::GlobalOp::create(
        at, op->getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal,
        "pe_emu_place" + std::to_string(places.size()), at.getStringAttr(bytes));
  }
  return b.create<LLVM::AddressOfOp>(pointer(), global.getSymName());
}

Value KernelRewriter::slot(int64_t index) {
  return b.create<LLVM::GEPOp>(pointer(), b.getI64Type(), frame,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

Outcome KernelRewriter::collective(Operation *op, Collective what, int64_t detail,
                                   ValueRange operands) {
  for (auto [index, operand] : llvm::enumerate(operands))
    b.create<LLVM::StoreOp>(operand, slot(index));
  call("pe_emu_collective", nothing(), {i32(what), i32(detail), frame, where(op)});
  if (op->getNumResults() == 0)
    return Outcome::Replaced;
  Type type = op->getResult(0).getType();
  auto structure = dyn_cast<LLVM::LLVMStructType>(type);
  if (!structure)
    return replace(op, b.create<LLVM::LoadOp>(type, frame));
  Value result = b.create<LLVM::PoisonOp>(type);
  for (auto [index, element] : llvm::enumerate(structure.getBody()))
    result = b.create<LLVM::InsertValueOp>(result, b.create<LLVM::LoadOp>(element, slot(index)),
                                           ArrayRef<int64_t>{static_cast<int64_t>(index)});
  return replace(op, result);
}

void KernelRewriter::checkAccess(Operation *op, Value address, Type type, bool isWrite) {
  const unsigned space = cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace();
  if (space != 1 && space != 3) // memory of the thread
    return;
  const int64_t bytes = DataLayout::closest(op).getTypeSize(type);
  call("pe_emu_access", nothing(),
       {address, i64(bytes), i32((isWrite ? kWrite : 0) | (space == 3 ? kShared : 0)), where(op)});
}

//===- Where a thread is, and what waits for others --------------------------------===//

Outcome KernelRewriter::rewrite(NVVM::ThreadIdXOp op) {
  return replace(op, call("pe_emu_thread", b.getI32Type(), {}));
}

Outcome KernelRewriter::rewrite(NVVM::BlockIdXOp op) {
  return replace(op, call("pe_emu_block", b.getI32Type(), {}));
}

Outcome KernelRewriter::rewrite(NVVM::BarrierOp op) {
  if (op.getBarrierId() || op.getNumberOfThreads())
    return Outcome::Refused;
  if (!isDropped())
    call("pe_emu_barrier", nothing(), {where(op)});
  return Outcome::Replaced;
}

Outcome KernelRewriter::rewrite(NVVM::SyncWarpOp op) {
  return isDropped() ? Outcome::Replaced : collective(op, SyncWarp, 0, {});
}

Outcome KernelRewriter::rewrite(LLVM::FenceOp op) {
  // The host's atomics are stronger; the order is checked.
  call("pe_emu_fence", nothing(), {where(op)});
  return Outcome::Replaced;
}

//===- What the lanes of a warp do together -----------------------------------------===//

Outcome KernelRewriter::rewrite(NVVM::ShflOp op) {
  const bool isXor = op.getKind() == NVVM::ShflKind::bfly;
  if (!isXor && op.getKind() != NVVM::ShflKind::idx)
    return Outcome::Refused;
  return collective(op, Shuffle, isXor ? 0 : static_cast<int64_t>(op.getKind()),
                    {op.getVal(), op.getOffset()});
}

Outcome KernelRewriter::rewrite(NVVM::ReduxOp op) {
  const NVVM::ReduxKind kinds[] = {NVVM::ReduxKind::ADD, NVVM::ReduxKind::MIN,
                                   NVVM::ReduxKind::MAX};
  const auto *kind = llvm::find(kinds, op.getKind());
  if (kind == std::end(kinds) || !op.getType().isInteger(32))
    return Outcome::Refused;
  return collective(op, Reduce, kind - kinds, {op.getVal()});
}

Outcome KernelRewriter::rewrite(NVVM::LdMatrixOp op) {
  if (op.getNum() != 4)
    return Outcome::Refused;
  return collective(op, LoadMatrices, op.getLayout() == NVVM::MMALayout::col, {op.getPtr()});
}

Outcome KernelRewriter::rewrite(NVVM::MmaOp op) {
  const NVVM::MMATypes types[] = {NVVM::MMATypes::bf16, NVVM::MMATypes::f16, NVVM::MMATypes::tf32};
  const auto *type = llvm::find(types, op.getMultiplicandAPtxType());
  auto shape = op.getShape();
  if (type == std::end(types) || shape.getM() != 16 || shape.getN() != 8 ||
      shape.getK() != (*type == NVVM::MMATypes::tf32 ? 8 : 16))
    return Outcome::Refused;
  return collective(op, MultiplyAdd, type - types, op->getOperands());
}

//===- Numbers ----------------------------------------------------------------------===//

Outcome KernelRewriter::rewrite(NVVM::ConvertFloatToTF32Op op) {
  if (op.getRnd() != NVVM::FPRoundingMode::RNA || op.getRelu() ||
      op.getSat() != NVVM::SaturationMode::NONE)
    return Outcome::Refused;
  return replace(op, call("pe_emu_round_to_tf32", b.getI32Type(), {op.getSrc()}));
}

Outcome KernelRewriter::rewrite(LLVM::CallIntrinsicOp op) {
  StringRef callee = llvm::StringSwitch<StringRef>(op.getIntrin())
                         .Case("llvm.nvvm.ex2.approx.ftz.f", "pe_emu_exp2")
                         .Case("llvm.nvvm.lg2.approx.ftz.f", "pe_emu_log2")
                         .Case("llvm.nvvm.rcp.approx.ftz.f", "pe_emu_reciprocal")
                         .Default("");
  if (callee.empty())
    return Outcome::Refused;
  return replace(op, call(callee, b.getF32Type(), op.getArgs()));
}

/// Calls of the device library become calls of its host version.
Outcome KernelRewriter::rewrite(LLVM::CallOp op) {
  std::optional<StringRef> callee = op.getCallee();
  if (!callee)
    return Outcome::Refused;
  if (!module.lookupSymbol(*callee)) {
    OpBuilder at = OpBuilder::atBlockBegin(module.getBody());
    SmallVector<Type> types(op.getArgOperands().getTypes());
    Type result = op.getNumResults() ? op.getResult().getType() : nothing();
    LLVM::LLVMFuncOp::create(at, op.getLoc(), *callee, LLVM::LLVMFunctionType::get(result, types));
  }
  return Outcome::Kept;
}

//===- Copies and memory ------------------------------------------------------------===//

Outcome KernelRewriter::rewrite(NVVM::CpAsyncOp op) {
  Value bytes = op.getCpSize() ? op.getCpSize() : i32(op.getSize());
  call("pe_emu_copy_async", nothing(),
       {op.getDst(), op.getSrc(), i32(op.getSize()), bytes, where(op)});
  return Outcome::Replaced;
}

Outcome KernelRewriter::rewrite(NVVM::CpAsyncCommitGroupOp) {
  call("pe_emu_commit_copies", nothing(), {});
  return Outcome::Replaced;
}

Outcome KernelRewriter::rewrite(NVVM::CpAsyncWaitGroupOp op) {
  if (!isDropped())
    call("pe_emu_wait_for_copies", nothing(), {i32(op.getN())});
  return Outcome::Replaced;
}

Outcome KernelRewriter::rewrite(LLVM::AddressOfOp op) {
  if (cast<LLVM::LLVMPointerType>(op.getType()).getAddressSpace() != 3)
    return Outcome::Kept;
  return replace(op, call("pe_emu_shared", pointer(), {}));
}

Outcome KernelRewriter::rewrite(LLVM::LoadOp op) {
  if (op.getOrdering() != LLVM::AtomicOrdering::not_atomic)
    return replace(op, call("pe_emu_atomic_load", b.getI32Type(), {op.getAddr(), where(op)}));
  checkAccess(op, op.getAddr(), op.getType(), /*isWrite=*/false);
  return Outcome::Kept;
}

Outcome KernelRewriter::rewrite(LLVM::StoreOp op) {
  if (op.getOrdering() != LLVM::AtomicOrdering::not_atomic) {
    call("pe_emu_atomic_store", nothing(), {op.getValue(), op.getAddr(), where(op)});
    return Outcome::Replaced;
  }
  checkAccess(op, op.getAddr(), op.getValue().getType(), /*isWrite=*/true);
  return Outcome::Kept;
}

Outcome KernelRewriter::rewrite(LLVM::AtomicRMWOp op) {
  const bool isGlobal = op.getPtr().getType().getAddressSpace() == 1;
  if (op.getBinOp() != LLVM::AtomicBinOp::add || !op.getType().isInteger(32) || !isGlobal)
    return Outcome::Refused;
  // Without the counter a CTA's item is its index in the grid.
  return replace(op, isDropped() ? call("pe_emu_block", b.getI32Type(), {})
                                 : call("pe_emu_atomic_add", b.getI32Type(),
                                        {op.getVal(), op.getPtr(), where(op)}));
}

//===- A kernel -----------------------------------------------------------------------===//

template <typename... Ops> Outcome KernelRewriter::rewriteOneOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Outcome>(op)
      .Case<Ops...>([&](auto known) { return rewrite(known); })
      .Default([](Operation *other) {
        const bool isUnknown = isa<NVVM::NVVMDialect>(other->getDialect()) ||
                               isa<LLVM::InlineAsmOp, LLVM::AtomicCmpXchgOp>(other);
        return isUnknown ? Outcome::Refused : Outcome::Kept;
      });
}

LogicalResult KernelRewriter::rewriteOp(Operation *op) {
  b.setInsertionPoint(op);
  b.setLoc(op->getLoc());
  switch (rewriteOneOf<NVVM::ThreadIdXOp, NVVM::BlockIdXOp, NVVM::BarrierOp, NVVM::SyncWarpOp,
                       LLVM::FenceOp, NVVM::ShflOp, NVVM::ReduxOp, NVVM::LdMatrixOp, NVVM::MmaOp,
                       NVVM::ConvertFloatToTF32Op, LLVM::CallIntrinsicOp, LLVM::CallOp,
                       NVVM::CpAsyncOp, NVVM::CpAsyncCommitGroupOp, NVVM::CpAsyncWaitGroupOp,
                       LLVM::AddressOfOp, LLVM::LoadOp, LLVM::StoreOp, LLVM::AtomicRMWOp>(op)) {
  case Outcome::Refused:
    return op->emitOpError("is not known to the emulator");
  case Outcome::Replaced:
    op->erase();
    break;
  case Outcome::Kept:
    break;
  }
  return success();
}

/// A copy of the kernel that finds its arguments in the arrays of the stage ABI.
LLVM::LLVMFuncOp KernelRewriter::createThreadFunction(LLVM::LLVMFuncOp kernel) {
  b.setInsertionPointToEnd(module.getBody());
  auto thread = b.create<LLVM::LLVMFuncOp>(
      (kernel.getSymName() + ".thread").str(),
      LLVM::LLVMFunctionType::get(nothing(), {pointer(), pointer()}), LLVM::Linkage::Internal);
  IRMapping mapping;
  kernel.getBody().cloneInto(&thread.getBody(), mapping);
  Block &entry = thread.getBody().front();
  Value buffers = entry.addArgument(pointer(), b.getLoc());
  Value words = entry.addArgument(pointer(), b.getLoc());
  b.setInsertionPointToStart(&entry);
  frame = b.create<LLVM::AllocaOp>(pointer(), b.getI64Type(), i64(kFrameSlots), 16);
  // Its buffers, then the words of the call's frame that it lists.
  ArrayRef<int32_t> places;
  if (auto list = kernel->getAttrOfType<DenseI32ArrayAttr>("pe.frame_words"))
    places = list;
  const unsigned count = kernel.getNumArguments(), numBuffers = count - places.size();
  for (unsigned i = 0; i < count; ++i) {
    const bool isWord = i >= numBuffers;
    const int32_t index = isWord ? places[i - numBuffers] : i;
    Value address = b.create<LLVM::GEPOp>(pointer(), b.getI64Type(), isWord ? words : buffers,
                                          ArrayRef<LLVM::GEPArg>{index});
    Value value = b.create<LLVM::LoadOp>(isWord ? b.getI64Type() : pointer(), address);
    if (isWord && entry.getArgument(i).getType().isInteger(32))
      value = b.create<LLVM::TruncOp>(entry.getArgument(i).getType(), value);
    else if (!isWord) // the address space decides how accesses are checked; it goes at the end
      value = b.create<LLVM::AddrSpaceCastOp>(entry.getArgument(i).getType(), value);
    entry.getArgument(i).replaceAllUsesWith(value);
  }
  entry.eraseArguments(0, count);
  return thread;
}

void KernelRewriter::createEntry(LLVM::LLVMFuncOp kernel, LLVM::LLVMFuncOp thread) {
  b.setInsertionPointToEnd(module.getBody());
  auto entry = b.create<LLVM::LLVMFuncOp>(
      kernel.getSymName(),
      LLVM::LLVMFunctionType::get(nothing(), {pointer(), pointer(), b.getI64Type()}));
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  auto threads = kernel->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getReqntidAttrName());
  auto bytes = kernel->getAttrOfType<IntegerAttr>("pe.shared_bytes");
  call("pe_emu_launch", nothing(),
       {b.create<LLVM::AddressOfOp>(pointer(), thread.getSymName()), block->getArgument(0),
        block->getArgument(1), block->getArgument(2), i32(threads[0]),
        i64(bytes ? bytes.getInt() : 0)});
  b.create<LLVM::ReturnOp>(ValueRange());
}

LogicalResult KernelRewriter::run(LLVM::LLVMFuncOp kernel) {
  b.setLoc(kernel.getLoc());
  LLVM::LLVMFuncOp thread = createThreadFunction(kernel);
  SmallVector<Operation *> ops;
  thread.walk([&](Operation *op) {
    if (op != thread)
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (failed(rewriteOp(op)))
      return failure();
  // One address space on the host.
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](LLVM::LLVMPointerType) -> Type { return pointer(); });
  replacer.recursivelyReplaceElementsIn(thread, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  thread.walk([](LLVM::AddrSpaceCastOp cast) {
    cast.getResult().replaceAllUsesWith(cast.getArg());
    cast.erase();
  });
  createEntry(kernel, thread);
  return success();
}

struct PEGpuToEmulatorPass : tile::impl::PEGpuToEmulatorPassBase<PEGpuToEmulatorPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto kernels : llvm::make_early_inc_range(module.getOps<mlir::gpu::GPUModuleOp>())) {
      KernelRewriter rewriter(module, dropSync);
      for (auto kernel : llvm::make_early_inc_range(kernels.getOps<LLVM::LLVMFuncOp>())) {
        if (!kernel->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
          continue;
        // Out of the way: the host function takes its name.
        if (failed(rewriter.run(kernel)))
          return signalPassFailure();
      }
      module->setAttr("pe.emulated_syncs", IntegerAttr::get(IntegerType::get(&getContext(), 64),
                                                            rewriter.getSyncCount()));
      kernels.erase();
    }
  }
};

} // namespace
