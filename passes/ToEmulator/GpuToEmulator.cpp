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
  LogicalResult rewrite(Operation *op);
  void rewriteAccess(Operation *op, Value address, Type type, bool isWrite);
  void collective(Operation *op, Collective what, int64_t detail, ValueRange operands);
  /// Whether this synchronising operation is to be left out.
  bool isDropped() { return syncs++ == dropSync; }
  LogicalResult refuse(Operation *op) { return op->emitOpError("is not known to the emulator"); }

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

void KernelRewriter::collective(Operation *op, Collective what, int64_t detail,
                                ValueRange operands) {
  for (auto [index, operand] : llvm::enumerate(operands))
    b.create<LLVM::StoreOp>(operand, slot(index));
  call("pe_emu_collective", nothing(), {i32(what), i32(detail), frame, where(op)});
  if (op->getNumResults() == 0)
    return;
  Type type = op->getResult(0).getType();
  auto structure = dyn_cast<LLVM::LLVMStructType>(type);
  if (!structure) {
    op->getResult(0).replaceAllUsesWith(b.create<LLVM::LoadOp>(type, frame));
    return;
  }
  Value result = b.create<LLVM::PoisonOp>(type);
  for (auto [index, element] : llvm::enumerate(structure.getBody()))
    result = b.create<LLVM::InsertValueOp>(result, b.create<LLVM::LoadOp>(element, slot(index)),
                                           ArrayRef<int64_t>{static_cast<int64_t>(index)});
  op->getResult(0).replaceAllUsesWith(result);
}

void KernelRewriter::rewriteAccess(Operation *op, Value address, Type type, bool isWrite) {
  const unsigned space = cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace();
  if (space != 1 && space != 3) // memory of the thread
    return;
  const int64_t bytes = DataLayout::closest(op).getTypeSize(type);
  call("pe_emu_access", nothing(),
       {address, i64(bytes), i32((isWrite ? kWrite : 0) | (space == 3 ? kShared : 0)), where(op)});
}

LogicalResult KernelRewriter::rewrite(Operation *op) {
  b.setInsertionPoint(op);
  b.setLoc(op->getLoc());
  bool isErased = true;
  auto replace = [&](Value value) { op->getResult(0).replaceAllUsesWith(value); };
  LogicalResult status =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case<NVVM::ThreadIdXOp>([&](auto) {
            replace(call("pe_emu_thread", b.getI32Type(), {}));
            return success();
          })
          .Case<NVVM::BlockIdXOp>([&](auto) {
            replace(call("pe_emu_block", b.getI32Type(), {}));
            return success();
          })
          .Case([&](NVVM::BarrierOp barrier) {
            if (barrier.getBarrierId() || barrier.getNumberOfThreads())
              return refuse(op);
            if (!isDropped())
              call("pe_emu_barrier", nothing(), {where(op)});
            return success();
          })
          .Case([&](NVVM::SyncWarpOp) {
            if (!isDropped())
              collective(op, SyncWarp, 0, {});
            return success();
          })
          .Case([&](NVVM::ShflOp shuffle) {
            const auto kind = static_cast<int64_t>(shuffle.getKind());
            const bool isXor = shuffle.getKind() == NVVM::ShflKind::bfly;
            if (!isXor && shuffle.getKind() != NVVM::ShflKind::idx)
              return refuse(op);
            collective(op, Shuffle, isXor ? 0 : kind, {shuffle.getVal(), shuffle.getOffset()});
            return success();
          })
          .Case([&](NVVM::ReduxOp reduce) {
            const int64_t detail = reduce.getKind() == NVVM::ReduxKind::ADD   ? 0
                                   : reduce.getKind() == NVVM::ReduxKind::MIN ? 1
                                   : reduce.getKind() == NVVM::ReduxKind::MAX ? 2
                                                                              : -1;
            if (detail < 0 || !reduce.getType().isInteger(32))
              return refuse(op);
            collective(op, Reduce, detail, {reduce.getVal()});
            return success();
          })
          .Case([&](NVVM::LdMatrixOp load) {
            if (load.getNum() != 4)
              return refuse(op);
            collective(op, LoadMatrices, load.getLayout() == NVVM::MMALayout::col, {load.getPtr()});
            return success();
          })
          .Case([&](NVVM::MmaOp mma) {
            auto shape = mma.getShape();
            auto type = mma.getMultiplicandAPtxType();
            const int64_t detail = type == NVVM::MMATypes::bf16   ? 0
                                   : type == NVVM::MMATypes::f16  ? 1
                                   : type == NVVM::MMATypes::tf32 ? 2
                                                                  : -1;
            if (shape.getM() != 16 || shape.getN() != 8 || detail < 0 ||
                shape.getK() != (detail == 2 ? 8 : 16))
              return refuse(op);
            collective(op, MultiplyAdd, detail, op->getOperands());
            return success();
          })
          .Case([&](NVVM::ConvertFloatToTF32Op convert) {
            if (convert.getRnd() != NVVM::FPRoundingMode::RNA || convert.getRelu() ||
                convert.getSat() != NVVM::SaturationMode::NONE)
              return refuse(op);
            replace(call("pe_emu_round_to_tf32", b.getI32Type(), {convert.getSrc()}));
            return success();
          })
          .Case([&](NVVM::CpAsyncOp copy) {
            Value bytes = copy.getCpSize() ? copy.getCpSize() : i32(copy.getSize());
            call("pe_emu_copy_async", nothing(),
                 {copy.getDst(), copy.getSrc(), i32(copy.getSize()), bytes, where(op)});
            return success();
          })
          .Case([&](NVVM::CpAsyncCommitGroupOp) {
            call("pe_emu_commit_copies", nothing(), {});
            return success();
          })
          .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
            if (!isDropped())
              call("pe_emu_wait_for_copies", nothing(), {i32(wait.getN())});
            return success();
          })
          .Case([&](LLVM::FenceOp) { // the host's atomics are stronger; the order is checked
            call("pe_emu_fence", nothing(), {where(op)});
            return success();
          })
          .Case([&](LLVM::CallIntrinsicOp intrinsic) {
            StringRef callee = llvm::StringSwitch<StringRef>(intrinsic.getIntrin())
                                   .Case("llvm.nvvm.ex2.approx.ftz.f", "pe_emu_exp2")
                                   .Case("llvm.nvvm.lg2.approx.ftz.f", "pe_emu_log2")
                                   .Case("llvm.nvvm.rcp.approx.ftz.f", "pe_emu_reciprocal")
                                   .Default("");
            if (callee.empty())
              return refuse(op);
            replace(call(callee, b.getF32Type(), intrinsic.getArgs()));
            return success();
          })
          .Case([&](LLVM::CallOp library) {
            // The device library is a library of the host here.
            isErased = false;
            std::optional<StringRef> callee = library.getCallee();
            if (!callee)
              return refuse(op);
            if (!module.lookupSymbol(*callee)) {
              OpBuilder at = OpBuilder::atBlockBegin(module.getBody());
              SmallVector<Type> types(library.getArgOperands().getTypes());
              Type result = library.getNumResults() ? library.getResult().getType() : nothing();
              LLVM::LLVMFuncOp::create(at, op->getLoc(), *callee,
                                       LLVM::LLVMFunctionType::get(result, types));
            }
            return success();
          })
          .Case([&](LLVM::AddressOfOp address) {
            isErased = cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() == 3;
            if (isErased)
              replace(call("pe_emu_shared", pointer(), {}));
            return success();
          })
          .Case([&](LLVM::LoadOp load) {
            isErased = load.getOrdering() != LLVM::AtomicOrdering::not_atomic;
            if (isErased)
              replace(call("pe_emu_atomic_load", b.getI32Type(), {load.getAddr(), where(op)}));
            else
              rewriteAccess(op, load.getAddr(), load.getType(), /*isWrite=*/false);
            return success();
          })
          .Case([&](LLVM::StoreOp store) {
            isErased = store.getOrdering() != LLVM::AtomicOrdering::not_atomic;
            if (isErased)
              call("pe_emu_atomic_store", nothing(),
                   {store.getValue(), store.getAddr(), where(op)});
            else
              rewriteAccess(op, store.getAddr(), store.getValue().getType(), /*isWrite=*/true);
            return success();
          })
          .Case([&](LLVM::AtomicRMWOp update) {
            const bool isGlobal = update.getPtr().getType().getAddressSpace() == 1;
            if (update.getBinOp() != LLVM::AtomicBinOp::add || !update.getType().isInteger(32) ||
                !isGlobal)
              return refuse(op);
            // Without it a CTA's item would be its place in the grid.
            replace(isDropped() ? call("pe_emu_block", b.getI32Type(), {})
                                : call("pe_emu_atomic_add", b.getI32Type(),
                                       {update.getVal(), update.getPtr(), where(op)}));
            return success();
          })
          .Case<LLVM::InlineAsmOp, LLVM::AtomicCmpXchgOp>([&](auto) { return refuse(op); })
          .Default([&](Operation *) {
            isErased = false;
            return isa<NVVM::NVVMDialect>(op->getDialect()) ? refuse(op) : success();
          });
  if (succeeded(status) && isErased)
    op->erase();
  return status;
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
    if (failed(rewrite(op)))
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
