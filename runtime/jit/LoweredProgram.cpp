//===- LoweredProgram.cpp - a program in the LLVM dialect -----------------===//
#include "runtime/jit/LoweredProgram.h"

#include "passes/Analysis/Explain.h"
#include "passes/Pipelines/PlanExport.h"
#include "passes/Schedule/StepPrograms.h"
#include "passes/Transforms/Passes.h"

namespace pe::jit {

bool isForGpu(const CompileRequest &request) { return isGpu(request.target); }

Expected<Chip> chipOf(const CompileRequest &request) {
  const bool isDefault = request.target == plan::Target::GpuEmulator && request.chip.empty();
  return parseChip(isDefault ? "sm_80" : request.chip);
}

namespace {

/// Returns the structure in one line, for example "softmax + segments; stick_breaking + affine".
std::string summarize(const llvm::json::Value &explanation) {
  std::string line;
  const llvm::json::Array *attentions = explanation.getAsObject()->getArray("attentions");
  for (const llvm::json::Value &value : *attentions) {
    const llvm::json::Object &attention = *value.getAsObject();
    line += (line.empty() ? "" : "; ") + attention.getString("normalizer").value_or("").str();
    if (attention.getObject("score"))
      line += " + score_fn";
    for (const llvm::json::Value &term : *attention.getArray("terms"))
      line += " + " + term.getAsObject()->getString("class").value_or("").str();
  }
  if (const llvm::json::Array *embeddings = explanation.getAsObject()->getArray("embeddings"))
    for (const llvm::json::Value &embed : *embeddings)
      line += (line.empty() ? "" : "; ") + embed.getAsObject()->getString("class")->str();
  if (const llvm::json::Array *merges = explanation.getAsObject()->getArray("merges"))
    for (const llvm::json::Value &merge : *merges)
      line += (line.empty() ? "" : "; ") + merge.getAsObject()->getString("class")->str();
  return line;
}

Expected<Explanation> explain(Compilation &compilation, const mlir::pe::CompileOptions &options) {
  const std::string &entry = options.entry;
  const mlir::pe::HeadDims dims = {options.headDim, options.valueDim};
  Explanation result;
  for (auto function : compilation.getModule().getOps<mlir::func::FuncOp>()) {
    if (!function.isPublic() || (!entry.empty() && function.getName() != entry))
      continue;
    auto text = mlir::pe::explainStructure(function, dims);
    auto json = mlir::pe::explainStructureAsJson(function, dims);
    if (mlir::failed(text) || mlir::failed(json))
      return compilation.takeError("cannot explain the function");
    result.text = *text;
    llvm::raw_string_ostream(result.json) << *json;
    result.line = summarize(*json);
  }
  return result;
}

/// Adds `value` to an explanation in JSON.
void addToJson(std::string &json, llvm::StringRef key, llvm::json::Value value) {
  auto parsed = llvm::json::parse(json);
  if (!parsed || !parsed->getAsObject())
    return llvm::consumeError(parsed.takeError());
  llvm::json::Object &object = *parsed->getAsObject();
  object[key] = std::move(value);
  json.clear();
  llvm::raw_string_ostream(json) << llvm::json::Value(std::move(object));
}

/// Adds the schedules of the stages with a stream to an explanation.
void explainSchedules(mlir::ModuleOp module, Explanation &explanation) {
  llvm::json::Array schedules;
  std::string text;
  module.walk([&](mlir::tile::StageOp stage) {
    if (!stage.getScheduleAttr() || !stage.getStream())
      return;
    std::string schedule;
    llvm::raw_string_ostream(schedule) << stage.getScheduleAttr();
    text += "  " + stage.getSymName().str() + ": " + schedule;
    llvm::json::Object entry{{"stage", stage.getSymName()}, {"schedule", schedule}};
    if (std::optional<llvm::StringRef> when = stage.getWhen()) {
      text += " if " + when->str() + " > 0";
      entry["when"] = *when;
    }
    text += "\n";
    schedules.push_back(std::move(entry));
  });
  if (schedules.empty())
    return;
  explanation.text += "schedules\n" + text;
  addToJson(explanation.json, "schedules", std::move(schedules));
}

} // namespace

Expected<Explanation> lower(Compilation &compilation, const CompileRequest &request,
                            const mlir::pe::CompileOptions &options) {
  Status structured = compilation.run(
      [&](mlir::OpPassManager &pm) { mlir::pe::buildStructurePipeline(pm, options); });
  if (!structured)
    return structured.error();
  auto explanation = explain(compilation, options);
  if (!explanation)
    return explanation;
  Status scheduled = compilation.run([&](mlir::OpPassManager &pm) {
    mlir::pe::buildPEToTilePipeline(pm, options);
    mlir::pe::buildSchedulePipeline(pm, options);
  });
  if (!scheduled)
    return scheduled.error();
  explainSchedules(compilation.getModule(), *explanation);
  for (auto plan : compilation.getModule().getOps<mlir::tile::PlanOp>())
    explanation->hasKeyBlock |= plan.getKeyBlock().has_value();
  Status lowered = compilation.run(
      [&](mlir::OpPassManager &pm) { mlir::pe::buildScheduledToFunctionsPipeline(pm, options); });
  if (!lowered)
    return lowered.error();
  auto convert = [&](mlir::OpPassManager &pm) {
    if (isForGpu(request))
      mlir::pe::buildKernelsToLLVMPipeline(pm, options);
    else
      mlir::pe::buildFunctionsToLLVMPipeline(pm);
  };
  if (Status converted = compilation.run(convert, Compilation::Verify::Once); !converted)
    return converted.error();
  return explanation;
}

namespace {

Expected<plan::Plan> takePlan(mlir::ModuleOp module) {
  auto text = module->getAttrOfType<mlir::StringAttr>(mlir::pe::kPlanAttr);
  if (!text)
    return makeError("the pipelines produced no plan; this is a defect of pe");
  auto plan = plan::parsePlan(text.strref());
  module->removeAttr(mlir::pe::kPlanAttr);
  return plan;
}

/// Returns a stage whose kernel takes more shared memory than the machine has, or null.
const plan::Stage *findTooLarge(const plan::Plan &plan, const plan::Machine &machine) {
  auto found = llvm::find_if(plan.stages, [&](const plan::Stage &stage) {
    return stage.launch && stage.launch->sharedBytes > machine.sharedBytes;
  });
  return found == plan.stages.end() ? nullptr : &*found;
}

Status lower(LoweredProgram &program, const CompileRequest &request) {
  auto explanation = lower(program.compilation, request, program.options);
  if (!explanation)
    return explanation.takeError();
  program.explanation = *std::move(explanation);
  auto plan = takePlan(program.compilation.getModule());
  if (!plan)
    return plan.takeError();
  program.plan = *std::move(plan);
  return Status::success();
}

} // namespace

static Error describeExcess(const plan::Stage &stage, const plan::Machine &machine,
                            const CompileRequest &request) {
  return makeError("kernel '", stage.symbol, "' needs ", stage.launch->sharedBytes,
                   " bytes of shared memory, expected at most ", machine.sharedBytes, " on ",
                   machine.name, "; choose a smaller head dim, a 16-bit dtype, or ",
                   request.schedule.empty() ? "a chip with more shared memory"
                                            : "smaller blocks and fewer slots in the schedule",
                   " (step-C6)");
}

Expected<std::unique_ptr<LoweredProgram>> lowerToFit(const Compilation &prepared,
                                                     const CompileRequest &request,
                                                     mlir::pe::CompileOptions options) {
  constexpr int kMostEqual = 2, kMostHalvings = 2; // a step need not change the size
  std::optional<Error> excess;
  auto phase = plan::Phase::Forward;
  int64_t bytes = 0;
  bool hasKeyBlock = false;
  for (int equal = 0;;) {
    std::unique_ptr<LoweredProgram> result(new LoweredProgram{options, prepared.copy(), {}, {}});
    Status lowered = lower(*result, request);
    if (!lowered && !excess)
      return lowered.takeError();
    if (lowered && !isForGpu(request))
      return result;
    if (lowered) {
      const plan::Machine &machine = *chipOf(request)->machine; // known since optionsOf
      const plan::Stage *stage = findTooLarge(result->plan, machine);
      if (!stage)
        return result;
      equal = stage->phase == phase && stage->launch->sharedBytes == bytes ? equal + 1 : 0;
      phase = stage->phase, bytes = stage->launch->sharedBytes;
      hasKeyBlock = result->explanation.hasKeyBlock;
      excess = describeExcess(*stage, machine, request);
    }
    if (!request.schedule.empty())
      return *excess;
    if (!lowered || equal == kMostEqual) { // these are the smallest blocks
      if (!hasKeyBlock || options.smallerKeyBlock == kMostHalvings)
        return *excess;
      ++options.smallerKeyBlock;
      options.smallerForward = options.smallerBackward = bytes = equal = 0;
      continue;
    }
    ++(phase == plan::Phase::Backward ? options.smallerBackward : options.smallerForward);
  }
}

void explainKernels(const plan::Plan &plan, const plan::Machine &chip, std::string &text,
                    std::string &json) {
  llvm::json::Array kernels, launches;
  text += "kernels for " + std::string(chip.name) + "\n";
  for (const plan::Stage &stage : plan.stages) {
    if (!stage.launch)
      continue;
    launches.push_back(llvm::json::Object{{"name", stage.symbol},
                                          {"phase", std::string(nameOf(stage.phase))},
                                          {"ctas", stage.items},
                                          {"threads", stage.launch->threads}});
    if (stage.launch->sharedBytes == 0)
      continue;
    // Of the shared memory of a multiprocessor, each CTA takes 1 KiB more than it asks for.
    constexpr int kReserved = 1024;
    const int byMemory = (chip.sharedBytes + kReserved) / (stage.launch->sharedBytes + kReserved);
    const int ctas = std::min(byMemory, chip.threads / stage.launch->threads);
    text += "  " + stage.symbol + ": " + stage.items + " CTAs of " +
            std::to_string(stage.launch->threads) + " threads and " +
            std::to_string(stage.launch->sharedBytes) + " bytes of shared memory; at most " +
            std::to_string(ctas) + " on a multiprocessor\n";
    kernels.push_back(llvm::json::Object{{"name", stage.symbol},
                                         {"ctas", stage.items},
                                         {"threads", stage.launch->threads},
                                         {"shared_bytes", stage.launch->sharedBytes},
                                         {"ctas_per_multiprocessor", ctas}});
  }
  addToJson(json, "chip", std::string(chip.name));
  addToJson(json, "kernels", std::move(kernels));
  addToJson(json, "launches", std::move(launches));
}

} // namespace pe::jit
