//===- KernelFunction.cpp - the kernel of a lowered stage -----------------===//
#include "passes/ToGPU/KernelFunction.h"

#include "dialect/Tile/SizeNames.h"
#include "passes/ToLoops/LaunchWrites.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

Value mlir::tile::gpu::addTemporary(StageOp stage, const Twine &name, ArrayRef<std::string> extents,
                                    Type element, bool zero, SlotsAttr slots) {
  OpBuilder builder(stage);
  auto plan = stage->getParentOfType<PlanOp>();
  SmallVector<StringAttr> attrs;
  for (const std::string &extent : extents)
    attrs.push_back(builder.getStringAttr(extent));
  auto type = BufferType::get(stage.getContext(), attrs, element);
  return BufferOp::create(builder, stage.getLoc(), type,
                          (plan.getSymName() + "_" + stage.getSymName() + name).str(),
                          Role::Temporary, zero, /*strided=*/false, slots, /*pages=*/StringAttr());
}

void mlir::tile::gpu::enterStage(OpBuilder &builder, StageOp stage, const Twine &suffix) {
  auto made = StageOp::create(builder, stage.getLoc(), (stage.getSymName() + suffix).str(),
                              stage.getPhase(), builder.getStrArrayAttr({}), stage.getWhenAttr(),
                              /*pairs=*/Value(), /*schedule=*/ScheduleAttrInterface());
  builder.setInsertionPointToEnd(&made.getBody().emplaceBlock());
}

SmallVector<Value> mlir::tile::gpu::addElementLoop(OpBuilder &builder, Location loc, Value buffer) {
  SmallVector<StringRef> extents;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents())
    extents.push_back(extent.getValue());
  auto loop = ForeachOp::create(builder, loc, builder.getStrArrayAttr(extents));
  Block &body = loop.getBody().emplaceBlock();
  for (size_t i = 0; i < extents.size(); ++i)
    body.addArgument(builder.getIndexType(), loc);
  builder.setInsertionPointToStart(&body);
  return llvm::to_vector_of<Value>(body.getArguments());
}

/// Returns the module of all kernels of this compilation, with the declaration of shared memory.
static mlir::gpu::GPUModuleOp kernelModule(ModuleOp module) {
  if (auto found = module.lookupSymbol<mlir::gpu::GPUModuleOp>(KernelFunction::kModule))
    return found;
  auto builder = ImplicitLocOpBuilder::atBlockEnd(module.getLoc(), module.getBody());
  auto kernels = builder.create<mlir::gpu::GPUModuleOp>(KernelFunction::kModule);
  builder.setInsertionPointToStart(kernels.getBody());
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  builder.create<LLVM::GlobalOp>(bytes, /*isConstant=*/false, LLVM::Linkage::External,
                                 KernelFunction::kShared, Attribute(), /*alignment=*/1024,
                                 /*addrSpace=*/3);
  return kernels;
}

static bool isStride(const ::pe::plan::FrameWord &word) {
  return word.kind == ::pe::plan::FrameWord::Kind::Stride;
}

KernelFunction::KernelFunction(StageOp stage, StringRef suffix, ArrayRef<Value> buffers,
                               int64_t threads, KernelBuilder &builder)
    : b(builder), headDim(stage->getParentOfType<PlanOp>().getHeadDim()),
      valueDim(stage->getParentOfType<PlanOp>().getValueDim()), threads(threads),
      plan(stage->getParentOfType<PlanOp>()), buffers(buffers) {
  auto kernels = kernelModule(plan->getParentOfType<ModuleOp>());
  MLIRContext *context = b.getContext();
  SmallVector<Type> arguments(buffers.size(), b.globalPointer());
  const std::vector<::pe::plan::FrameWord> frame = getFrame(plan);
  for (const ::pe::plan::FrameWord &word : frame)
    arguments.push_back(isStride(word) ? Type(b.getI64Type()) : b.i32());
  std::string name = (plan.getSymName() + "_" + stage.getSymName() + suffix).str();
  OpBuilder at = OpBuilder::atBlockEnd(kernels.getBody());
  function = LLVM::LLVMFuncOp::create(
      at, stage.getLoc(), name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), arguments));
  function->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  // Without a minimum, ptxas assumes that more CTAs share a multiprocessor and spills although a
  // thread could have more registers.
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  Block *entry = function.addEntryBlock(at);
  b.setInsertionPointToStart(entry);
  for (auto [index, word] : llvm::enumerate(frame)) {
    Value argument = entry->getArgument(buffers.size() + index);
    if (isStride(word))
      strides[word.name].push_back(argument);
    else
      sizes[word.name] = b.fromValue(argument);
  }
  if (headDim != 0) { // the depths are constants in a plan with attention
    sizes["d"] = Num(headDim);
    sizes["e"] = Num(valueDim);
  }
  const bool isPlaced = !stage->getParentOfType<PlanOp>().getUnplaced();
  for (StringRef start : {"q_start", "k_start"})
    if (!isPlaced || !sizes.contains(start))
      sizes[start] = Num(0);
  auto type = LLVM::LLVMPointerType::get(context, 3);
  sharedBase = b.create<LLVM::AddressOfOp>(type, kShared);
}

Value KernelFunction::shared() { return sharedBase; }

Value KernelFunction::pointer(Value buffer) const {
  const auto *found = llvm::find(buffers, buffer);
  assert(found != buffers.end() && "buffer of another stage");
  return const_cast<LLVM::LLVMFuncOp &>(function).getArgument(found - buffers.begin());
}

Num KernelFunction::size(StringRef expression) {
  if (auto known = sizes.find(expression); known != sizes.end())
    return known->second;
  using Expression = ::pe::plan::SizeExpression;
  auto leaf = [&](const Expression::Step &step) {
    return step.kind == Expression::Kind::Name ? sizes.lookup(step.name) : Num(step.value);
  };
  auto apply = [](Expression::Kind kind, Num left, Num right) {
    switch (kind) {
    case Expression::Kind::Add:
      return left + right;
    case Expression::Kind::Subtract:
      return left - right;
    case Expression::Kind::Multiply:
      return left * right;
    case Expression::Kind::CeilDiv:
      return ceilDiv(left, right);
    case Expression::Kind::Max:
      return maxOf(left, right);
    default:
      return minOf(left, right);
    }
  };
  return parseForPlan(expression, plan).fold<Num>(leaf, apply);
}

Value KernelFunction::wideProduct(ArrayRef<StringRef> expressions) {
  Value product = b.wide(Num(1));
  for (StringRef expression : expressions)
    product = b.createOrFold<arith::MulIOp>(product, b.wide(size(expression)));
  return product;
}

SmallVector<Num> KernelFunction::extents(Value buffer) {
  SmallVector<Num> result;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents())
    result.push_back(size(extent.getValue()));
  return result;
}

Value KernelFunction::addressOf(Value buffer, ArrayRef<std::optional<Num>> indices) {
  auto type = cast<BufferType>(buffer.getType());
  SmallVector<Num> shape = extents(buffer);
  const int64_t width = type.getElementType().getIntOrFloatBitWidth() / 8;
  // Products of extents and of strides need 64 bits.
  Value offset;
  ArrayRef<Value> given = stridesOf(buffer);
  for (auto [axis, stride] : llvm::enumerate(given)) {
    if (!indices[axis] || indices[axis]->isConstant(0))
      continue;
    Value part = b.createOrFold<arith::MulIOp>(b.wide(*indices[axis]), stride);
    offset = offset ? b.createOrFold<arith::AddIOp>(offset, part) : part;
  }
  if (!given.empty())
    indices = indices.drop_front(given.size()), shape.erase(shape.begin(), shape.end() - 1);
  for (auto [index, extent] : llvm::zip(indices, shape)) {
    if (offset && given.empty())
      offset = b.createOrFold<arith::MulIOp>(offset, b.wide(extent));
    if (index && !index->isConstant(0))
      offset = offset ? b.createOrFold<arith::AddIOp>(offset, b.wide(*index)) : b.wide(*index);
  }
  if (!offset)
    return pointer(buffer);
  return b.moved(pointer(buffer), b.createOrFold<arith::MulIOp>(offset, b.wide(width)));
}

ArrayRef<Value> KernelFunction::stridesOf(Value buffer) const {
  auto found = strides.find(buffer.getDefiningOp<BufferOp>().getName());
  return found == strides.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second);
}

Num KernelFunction::rowPitch(Value buffer) {
  if (ArrayRef<Value> given = stridesOf(buffer); !given.empty())
    return b.fromValue(b.create<arith::TruncIOp>(b.i32(), given.back()));
  return extents(buffer).back();
}

Value KernelFunction::address(Value buffer, const Place &place) {
  SmallVector<std::optional<Num>> indices;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents()) {
    const Num *index = place.find(extent.getValue());
    indices.push_back(index ? std::optional(*index) : std::nullopt);
  }
  return addressOf(buffer, indices);
}

Value KernelFunction::address(Value buffer, ArrayRef<Num> indices) {
  SmallVector<std::optional<Num>> all(indices.begin(), indices.end());
  return addressOf(buffer, all);
}

LLVM::LLVMFuncOp KernelFunction::declare(StringRef name, ArrayRef<Type> arguments) {
  auto kernels = function->getParentOfType<mlir::gpu::GPUModuleOp>();
  if (auto known = kernels.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder at = OpBuilder::atBlockBegin(kernels.getBody());
  return LLVM::LLVMFuncOp::create(
      at, b.getLoc(), name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), arguments));
}

/// Returns true if the kernel only reads the memory of the pointer.
static bool isOnlyRead(Value pointer) {
  return llvm::all_of(pointer.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<LLVM::GEPOp>(user))
      return isOnlyRead(user->getResult(0));
    if (auto load = dyn_cast<LLVM::LoadOp>(user))
      return load.getOrdering() == LLVM::AtomicOrdering::not_atomic;
    if (auto copy = dyn_cast<NVVM::CpAsyncOp>(user))
      return use.get() == copy.getSrc() && use.get() != copy.getDst();
    return false;
  });
}

SmallVector<int32_t> KernelFunction::dropUnusedWords() {
  Block &entry = function.getBody().front();
  const unsigned first = buffers.size();
  SmallVector<int32_t> words;
  llvm::BitVector unused(entry.getNumArguments());
  for (unsigned i = first; i < entry.getNumArguments(); ++i)
    if (entry.getArgument(i).use_empty())
      unused.set(i);
    else
      words.push_back(i - first);
  entry.eraseArguments(unused);
  function.setFunctionType(LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                                       llvm::to_vector(entry.getArgumentTypes())));
  return words;
}

LaunchOp KernelFunction::finish(StageOp stage, StringRef items, int64_t sharedBytes) {
  b.create<LLVM::ReturnOp>(ValueRange());
  const SmallVector<int32_t> words = dropUnusedWords();
  // The buffers of a plan are separate allocations. Buffers that are written get no attributes,
  // because other threads may write them between a barrier and the next read.
  for (auto [index, buffer] : llvm::enumerate(buffers))
    if (isOnlyRead(function.getArgument(index))) {
      function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
      function.setArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
    }
  OpBuilder at(stage);
  auto launch = LaunchOp::create(at, stage.getLoc(), function.getSymName(), stage.getPhase(),
                                 at.getStringAttr(forPlan(items, plan)), stage.getWhenAttr(),
                                 buffers, at.getI64IntegerAttr(threads),
                                 at.getI64IntegerAttr(sharedBytes), at.getDenseI32ArrayAttr(words),
                                 /*writes=*/{});
  noteWrites(launch, stage);
  return launch;
}
