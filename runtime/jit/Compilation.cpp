//===- Compilation.cpp - Compilation of a source --------------------------===//
#include "runtime/jit/Compilation.h"

#include "runtime/jit/Attributes.h"
#include "runtime/jit/ParserMessages.h"

#include "dialect/PE/PE.h"
#include "dialect/PE/PEArgumentAttributes.h"
#include "dialect/Tile/Tile.h"
#include "passes/Pipelines/PlanExport.h"
#include "passes/ToTile/ToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/InlinerInterfaceImpl.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace pe::jit {

static DialectRegistry &outsideDialects() {
  static DialectRegistry registry;
  return registry;
}

void addDialects(llvm::function_ref<void(DialectRegistry &)> insert) { insert(outsideDialects()); }

const DialectRegistry &getRegistry() {
  static const DialectRegistry registry = [] {
    DialectRegistry all;
    outsideDialects().appendTo(all);
    all.insert<mlir::pe::PEDialect, tile::TileDialect, arith::ArithDialect, cf::ControlFlowDialect,
               func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect,
               math::MathDialect, memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
               vector::VectorDialect>();
    func::registerInlinerExtension(all);
    LLVM::registerInlinerInterface(all);
    registerBuiltinDialectTranslation(all);
    registerGPUDialectTranslation(all);
    registerLLVMDialectTranslation(all);
    registerNVVMDialectTranslation(all);
    return all;
  }();
  return registry;
}

Compilation::Compilation(const DialectRegistry &registry)
    : context(std::make_shared<MLIRContext>(registry, MLIRContext::Threading::DISABLED)),
      diagnostics(context.get()) {}

Compilation::Compilation(const Compilation &other)
    : context(other.context), diagnostics(context.get(), other.diagnostics.getRemarks()),
      module(other.getModule().clone()) {}

Status Compilation::parse(const Source &source) {
  llvm::SourceMgr manager;
  manager.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(source.text, source.name, /*RequiresNullTerminator=*/true),
      llvm::SMLoc());
  diagnostics.setSource(source.text);
  module =
      parseSourceFile<ModuleOp>(manager, ParserConfig(context.get(), /*verifyAfterParse=*/false));
  if (module && !source.attributes.empty())
    if (Status set = setAttributes(*module, source.attributes); !set) {
      diagnostics.setSource({});
      return set.takeError().within("file '" + source.name + "'");
    }
  const bool isGood =
      module && succeeded(verifyTerminators(*module)) && succeeded(mlir::verify(*module));
  diagnostics.setSource({});
  if (!isGood)
    return diagnostics.take("cannot parse " + source.name);
  return Status::success();
}

Status Compilation::run(llvm::function_ref<void(OpPassManager &)> build, Verify verify) {
  PassManager manager(context.get(), ModuleOp::getOperationName());
  manager.enableVerifier(verify == Verify::EveryPass);
  build(manager);
  if (failed(manager.run(*module)) || (verify == Verify::Once && failed(mlir::verify(*module))))
    return diagnostics.take("compilation failed without a message; this is a defect of pe");
  return Status::success();
}

std::string Compilation::print() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

namespace {

ValueInfo describeValue(Value value, DictionaryAttr attributes, Location location) {
  ValueInfo info;
  info.location = placeOf(location);
  if (auto name = attributes ? attributes.getAs<StringAttr>("pe.name") : StringAttr())
    info.name = name.str();
  auto type = cast<RankedTensorType>(value.getType());
  info.dtype = *mlir::pe::dtypeOf(type.getElementType());
  for (int64_t size : type.getShape())
    info.dims.push_back(ShapedType::isDynamic(size) ? -1 : size);
  for (std::string &extent : mlir::pe::namedExtents(value))
    info.sizes.push_back(extent);
  if (ArrayAttr axes = mlir::pe::axesOf(value))
    for (StringRef word : axes.getAsValueRange<StringAttr>())
      info.axes.push_back(word.str());
  if (attributes)
    info.parameter = mlir::pe::parameterInfo(attributes, type.getRank());
  info.optional = !info.parameter.absent.empty();
  return info;
}

/// Returns the arguments with the boundaries of documents that a mask reads.
std::vector<std::string> documentsOf(Value mask) {
  std::vector<std::string> names;
  SmallVector<Value> pending;
  if (mask)
    pending.push_back(mask);
  while (!pending.empty()) {
    auto op = pending.pop_back_val().getDefiningOp<mlir::pe::MaskOpInterface>();
    if (!op)
      continue;
    if (Value boundaries = op.getDocumentBoundaries())
      names.push_back(mlir::pe::nameOfArgument(boundaries).str());
    for (Value operand : op->getOperands())
      if (isa<mlir::pe::MaskType>(operand.getType()))
        pending.push_back(operand);
  }
  return names;
}

AttentionInfo describeAttention(mlir::pe::AttentionOp op) {
  using mlir::pe::DifferenceRange;
  AttentionInfo info;
  info.normalizer = stringifyNormalizer(op.getNormalizer()).str();
  info.isMergeable = !mlir::pe::traitsOf(op.getNormalizer()).statistic.empty();
  info.remainder = stringifyRemainder(op.getRemainder()).str();
  info.direction = stringifyDirection(op.getDirection()).str();
  if (Value logits = op.getLogits())
    info.sink = mlir::pe::nameOfArgument(logits).str();
  info.hasSinkFunction = op.getSink() && !op.getLogits();
  info.documents = documentsOf(op.getMask());
  if (Value table = op.getPages())
    info.pages = mlir::pe::nameOfArgument(table).str();
  if (op.getQueryPositions()) // rows do not bound positions that are data
    return info;
  const DifferenceRange range = op.getPairRange().ofPositions();
  if (range.min != DifferenceRange::kUnboundedMin)
    info.low = range.min;
  if (range.max != DifferenceRange::kUnboundedMax)
    info.high = range.max;
  return info;
}

} // namespace

EntryInfo describeEntry(ModuleOp module, const std::string &entry) {
  func::FuncOp function;
  for (auto candidate : module.getOps<func::FuncOp>())
    if (candidate.isPublic() && (entry.empty() || candidate.getName() == entry))
      function = candidate;
  EntryInfo info;
  info.name = function.getName().str();
  info.location = placeOf(function.getLoc());
  for (BlockArgument argument : function.getArguments())
    info.arguments.push_back(describeValue(
        argument, function.getArgAttrDict(argument.getArgNumber()), argument.getLoc()));
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, result] : llvm::enumerate(terminator->getOperands()))
    info.results.push_back(
        describeValue(result, function.getResultAttrDict(index), result.getLoc()));
  function.walk([&](mlir::pe::AttentionOp attention) {
    info.attentions.push_back(describeAttention(attention));
  });
  for (const mlir::pe::Requirement &required : mlir::pe::requirementsOf(function))
    info.requirements.push_back({required.size, required.least, required.what});
  for (const mlir::pe::ValueRequirement &required : mlir::pe::valueRequirementsOf(function))
    info.valueRequirements.push_back(
        {required.tensor, required.isAscending, required.first, required.last});
  return info;
}

} // namespace pe::jit
