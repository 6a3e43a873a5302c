//===- ScalarJit.cpp - runs the value and adjoint of a bias region --------===//

#include "passes/Transforms/ScalarJit.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "passes/Transforms/ScalarVjp.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;

namespace pe::test {
namespace {

/// Stores captured tensors consecutively in a flat memref, and gradients in another.
class FlatParameters : public mlir::pe::ParameterAccess {
public:
  FlatParameters(Block &region, Value params, Value gradients)
      : params(params), gradients(gradients) {
    int64_t offset = 0;
    for (BlockArgument argument : region.getArguments().drop_front(4)) {
      offsets.push_back(offset);
      offset += cast<RankedTensorType>(argument.getType()).getNumElements();
    }
  }

  Value read(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices) override {
    return memref::LoadOp::create(builder, loc, params, position(builder, loc, tensor, indices));
  }
  void accumulate(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices,
                  Value value) override {
    Value at = position(builder, loc, tensor, indices);
    Value sum = arith::AddFOp::create(builder, loc,
                                      memref::LoadOp::create(builder, loc, gradients, at), value);
    memref::StoreOp::create(builder, loc, sum, gradients, at);
  }
  Value axisSize(OpBuilder &builder, Location loc, BlockArgument tensor, int64_t axis) override {
    int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(axis);
    return arith::ConstantIndexOp::create(builder, loc, size);
  }
  Value globalHead(OpBuilder &, Location, Value head) override { return head; }
  Value headsTotal(OpBuilder &builder, Location loc) override {
    return arith::ConstantIndexOp::create(builder, loc, 4);
  }

private:
  Value position(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices) {
    auto constant = [&](int64_t v) { return arith::ConstantIndexOp::create(builder, loc, v); };
    auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
    Value at = constant(0);
    for (auto [size, index] : llvm::zip_equal(shape, indices)) {
      Value low = arith::MaxSIOp::create(builder, loc, index, constant(0));
      Value inside = arith::MinSIOp::create(builder, loc, low, constant(size - 1));
      at = arith::AddIOp::create(builder, loc,
                                 arith::MulIOp::create(builder, loc, at, constant(size)), inside);
    }
    return arith::AddIOp::create(builder, loc, at, constant(offsets[tensor.getArgNumber() - 4]));
  }

  Value params, gradients;
  SmallVector<int64_t> offsets;
};

mlir::pe::ScalarVjp derive(Value root, ArrayRef<Value> inputs = {}) {
  auto vjp = mlir::pe::ScalarVjp::create(root, inputs);
  if (failed(vjp))
    llvm::report_fatal_error("the region is not differentiable");
  return *vjp;
}

/// Emits value and adjoint of `root`; returns the value.
Value emitWhole(OpBuilder &builder, Value root, IRMapping &mapping, Value cotangent,
                FlatParameters &params, FloatType type) {
  mlir::pe::ScalarVjp vjp = derive(root);
  Value primal = vjp.emitPrimal(builder, mapping, params, type);
  vjp.emitAdjoint(builder, mapping, cotangent, params);
  return primal;
}

/// The same, through the operands of the operation that defines `root`.
Value emitChained(OpBuilder &builder, Value root, IRMapping &mapping, Value cotangent,
                  FlatParameters &params, FloatType type) {
  SmallVector<Value> inputs(root.getDefiningOp()->getOperands());
  SmallVector<mlir::pe::ScalarVjp> inner;
  for (Value input : inputs) {
    inner.push_back(derive(input));
    inner.back().emitPrimal(builder, mapping, params, type);
  }
  mlir::pe::ScalarVjp outer = derive(root, inputs);
  Value primal = outer.emitPrimal(builder, mapping, params, type);
  SmallVector<Value> adjoints = outer.emitAdjoint(builder, mapping, cotangent, params);
  for (auto [vjp, adjoint] : llvm::zip_equal(inner, adjoints))
    vjp.emitAdjoint(builder, mapping, adjoint, params);
  return primal;
}

/// Builds func @adjoint(params, gradients, out, h, i, j, cotangent), which stores the value to
/// out[0] and adds the gradients.
void buildFunction(ModuleOp module, mlir::pe::BiasFnOp bias, FloatType type, bool chained) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = bias.getLoc();
  auto flat = MemRefType::get({ShapedType::kDynamic}, type);
  Type index = builder.getIndexType();
  auto signature = builder.getFunctionType({flat, flat, flat, index, index, index, type}, {});
  auto func = func::FuncOp::create(builder, loc, "adjoint", signature);
  func->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(), builder.getUnitAttr());
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto args = entry->getArguments();

  Block &region = bias.getBody().front();
  FlatParameters params(region, args[0], args[1]);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  IRMapping mapping;
  mlir::pe::mapPoint(mapping, region, {zero, args[3], args[4], args[5]});
  Value root = cast<mlir::pe::YieldOp>(region.getTerminator()).getValues()[0];
  Value primal = (chained ? emitChained : emitWhole)(builder, root, mapping, args[6], params, type);
  memref::StoreOp::create(builder, loc, primal, args[2], zero);
  func::ReturnOp::create(builder, loc);
}

std::unique_ptr<ExecutionEngine> compile(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  if (failed(pm.run(module)))
    llvm::report_fatal_error("the emitted code does not lower to LLVM");
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  return llvm::cantFail(ExecutionEngine::create(module));
}

template <typename T> StridedMemRefType<T, 1> describe(const std::vector<T> &values) {
  T *data = const_cast<T *>(values.data());
  return {data, data, 0, {static_cast<int64_t>(values.size())}, {1}};
}

} // namespace

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<mlir::pe::PEDialect, arith::ArithDialect, math::MathDialect, func::FuncDialect,
                  memref::MemRefDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

OwningOpRef<ModuleOp> parseRegion(MLIRContext &context, const std::vector<std::string> &captures,
                                  const std::string &body) {
  std::string outer, operands, types, inner = "%b: index, %h: index, %i: index, %j: index";
  for (size_t n = 0; n < captures.size(); ++n) {
    std::string comma = n ? ", " : "", name = std::to_string(n);
    outer += comma + "%t" + name + ": " + captures[n];
    operands += comma + "%t" + name;
    types += comma + captures[n];
    inner += ", %c" + name + ": " + captures[n];
  }
  std::string list = captures.empty() ? "" : "(" + operands + " : " + types + ")";
  std::string text = "func.func @f(" + outer + ") -> !pe.bias {\n%r = pe.bias_fn" + list +
                     " {\n^bb0(" + inner + "):\n" + body + "\n}\nreturn %r : !pe.bias\n}\n";
  return parseSourceString<ModuleOp>(text, &context);
}

mlir::pe::BiasFnOp biasOf(ModuleOp module) {
  mlir::pe::BiasFnOp found;
  module.walk([&](mlir::pe::BiasFnOp op) { found = op; });
  return found;
}

template <typename T> ScalarJit<T>::ScalarJit(mlir::pe::BiasFnOp bias, bool chained) {
  MLIRContext *context = bias.getContext();
  FloatType type = std::is_same_v<T, double> ? FloatType(Float64Type::get(context))
                                             : FloatType(Float32Type::get(context));
  OwningOpRef<ModuleOp> module = ModuleOp::create(bias.getLoc());
  buildFunction(*module, bias, type, chained);
  engine = compile(*module);
}

template <typename T> T ScalarJit<T>::value(const std::vector<T> &params, const Point &point) {
  std::vector<T> gradients(params.size()), out(1);
  auto p = describe(params), g = describe(gradients), o = describe(out);
  llvm::cantFail(engine->invoke("adjoint", &p, &g, &o, point.h, point.i, point.j, T(0)));
  return out[0];
}

template <typename T>
std::vector<T> ScalarJit<T>::gradient(const std::vector<T> &params, const Point &point,
                                      T cotangent) {
  std::vector<T> gradients(params.size()), out(1);
  auto p = describe(params), g = describe(gradients), o = describe(out);
  llvm::cantFail(engine->invoke("adjoint", &p, &g, &o, point.h, point.i, point.j, cotangent));
  return gradients;
}

template class ScalarJit<float>;
template class ScalarJit<double>;

} // namespace pe::test
