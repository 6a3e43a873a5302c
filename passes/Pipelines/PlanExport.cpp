//===- PlanExport.cpp - a lowered tile.plan as plain data -----------------===//
#include "passes/Pipelines/PlanExport.h"

#include "dialect/Tile/SizeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/ToLoops/LaunchWrites.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::tile;
namespace plan = ::pe::plan;

namespace {

plan::Role roleOf(Role role) {
  switch (role) {
  case Role::Argument:
    return plan::Role::Argument;
  case Role::Result:
    return plan::Role::Result;
  case Role::Residual:
    return plan::Role::Residual;
  case Role::Temporary:
    return plan::Role::Temporary;
  case Role::Cotangent:
    return plan::Role::Cotangent;
  case Role::Gradient:
    return plan::Role::Gradient;
  }
  llvm_unreachable("unknown role");
}

plan::Phase phaseOf(Phase phase) {
  switch (phase) {
  case Phase::Prepare:
    return plan::Phase::Prepare;
  case Phase::Forward:
    return plan::Phase::Forward;
  case Phase::Backward:
    return plan::Phase::Backward;
  case Phase::Finish:
    return plan::Phase::Finish;
  }
  llvm_unreachable("unknown phase");
}

/// Returns the buffers that a stage writes, as recorded by the lowering. If nothing is recorded,
/// returns all buffers that are not inputs of the call.
std::vector<int> writesOf(LaunchOp launch, const plan::Stage &stage, const plan::Plan &plan) {
  std::vector<int> writes;
  if (std::optional<ArrayRef<int64_t>> noted = launch.getWrites()) {
    for (int64_t position : *noted)
      writes.push_back(stage.buffers[position]);
    return writes;
  }
  for (int buffer : stage.buffers)
    if (plan.buffers[buffer].role != plan::Role::Argument &&
        plan.buffers[buffer].role != plan::Role::Cotangent)
      writes.push_back(buffer);
  return writes;
}

} // namespace

std::optional<::pe::DType> mlir::pe::dtypeOf(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  ::pe::Expected<::pe::DType> dtype = ::pe::parseDType(name);
  return dtype && isPlanned(*dtype) ? std::optional(*dtype) : std::nullopt;
}

plan::ParameterInfo mlir::pe::parameterInfo(DictionaryAttr attributes, size_t rank) {
  plan::ParameterInfo info;
  if (Attribute init = attributes.get("pe.init")) {
    if (auto text = dyn_cast<StringAttr>(init))
      info.init = text.str();
    else if (auto number = dyn_cast<FloatAttr>(init))
      llvm::raw_string_ostream(info.init) << llvm::format("%.9g", number.getValueAsDouble());
    else if (auto number = dyn_cast<IntegerAttr>(init))
      info.init = std::to_string(number.getInt());
    info.decay = rank > 1; // no decay for scales and slopes, which must not be pulled to zero
  }
  if (auto absent = attributes.getAs<StringAttr>("pe.absent"))
    info.absent = absent.str();
  if (auto min = attributes.getAs<FloatAttr>("pe.min"))
    info.min = min.getValueAsDouble();
  if (auto decay = attributes.getAs<BoolAttr>("pe.decay"))
    info.decay = decay.getValue();
  if (auto monitor = attributes.getAs<DictionaryAttr>("pe.monitor"))
    for (NamedAttribute entry : monitor)
      if (auto text = dyn_cast<StringAttr>(entry.getValue()))
        info.monitor.emplace_back(entry.getName().str(), text.str());
  return info;
}

/// Exports an op that states a requirement on calls. Returns false for any other op.
static bool exportRequirement(Operation &op, PlanOp plan, plan::Plan &result) {
  if (auto required = dyn_cast<RequireOp>(op)) {
    result.requirements.push_back({forPlan(required.getSize(), plan),
                                   forPlan(required.getLeast(), plan), required.getWhat().str()});
    return true;
  }
  auto required = dyn_cast<RequireValuesOp>(op);
  if (required)
    result.valueRequirements.push_back({required.getTensor().str(), required.getAscending(),
                                        forPlan(required.getFirst(), plan),
                                        forPlan(required.getLast(), plan)});
  return required != nullptr;
}

FailureOr<plan::Plan> mlir::pe::exportPlan(PlanOp op) {
  if (failed(checkKeyBlock(op)))
    return failure();
  plan::Plan result;
  result.entry = op.getSymName().str();
  result.headDim = op.getHeadDim();
  result.valueDim = op.getValueDim();
  if (op.getMaskLow() || op.getMaskHigh() || op.getMaskNone())
    result.window = plan::PairWindow{op.getMaskLow(), op.getMaskHigh()};
  result.frame = getFrame(op);
  llvm::DenseMap<Value, int> index;
  for (Operation &inner : op.getBody().front()) {
    if (auto buffer = dyn_cast<BufferOp>(inner)) {
      Type element = buffer.getBuffer().getType().getElementType();
      std::optional<::pe::DType> dtype = mlir::pe::dtypeOf(element);
      if (!dtype)
        return buffer.emitOpError("expected an element type of plans, found ") << element;
      plan::Buffer &out = result.buffers.emplace_back();
      out.name = buffer.getName().str();
      out.role = roleOf(buffer.getRole());
      out.dtype = *dtype;
      out.zero = buffer.getZero();
      out.parameter = parameterInfo(buffer->getDiscardableAttrDictionary(),
                                    buffer.getBuffer().getType().getExtents().size());
      out.optional = !out.parameter.absent.empty();
      for (StringAttr extent : buffer.getBuffer().getType().getExtents())
        out.shape.push_back(forPlan(extent.getValue(), op));
      index[buffer.getBuffer()] = result.buffers.size() - 1;
      continue;
    }
    if (exportRequirement(inner, op, result))
      continue;
    if (isa<ExtentOp, ParameterOp, PairsOp>(inner)) // already part of the lowered stages
      continue;
    auto launch = dyn_cast<LaunchOp>(inner);
    if (!launch)
      return inner.emitError("expected every stage to be lowered to tile.launch, found ")
             << inner.getName();
    plan::Stage &stage = result.stages.emplace_back();
    stage.symbol = launch.getCallee().str();
    stage.phase = phaseOf(launch.getPhase());
    stage.items = launch.getItems().str();
    stage.when = launch.getWhen().value_or("").str();
    for (Value buffer : launch.getBuffers())
      stage.buffers.push_back(index.lookup(buffer));
    if (launch.getWords())
      stage.words.assign(launch.getWords()->begin(), launch.getWords()->end());
    stage.writes = writesOf(launch, stage, result);
    if (launch.getThreads())
      stage.launch = {static_cast<int>(*launch.getThreads()),
                      static_cast<int>(launch.getSharedBytes().value_or(0))};
  }
  return result;
}

namespace mlir::pe {
#define GEN_PASS_DEF_PEEXPORTPLANPASS
#include "passes/Pipelines/Passes.h.inc"

namespace {

struct PEExportPlanPass : impl::PEExportPlanPassBase<PEExportPlanPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (PlanOp op : llvm::make_early_inc_range(module.getOps<PlanOp>())) {
      FailureOr<plan::Plan> plan = exportPlan(op);
      if (failed(plan))
        return signalPassFailure();
      for (const plan::Stage &stage : plan->stages)
        if (auto function = module.lookupSymbol<func::FuncOp>(stage.symbol))
          function->setAttr(kStageAttr, UnitAttr::get(&getContext()));
      module->setAttr(kPlanAttr, StringAttr::get(&getContext(), plan::toJson(*plan)));
      op.erase();
    }
  }
};

} // namespace
} // namespace mlir::pe
