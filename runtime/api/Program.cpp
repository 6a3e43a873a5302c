//===- Program.cpp - pe::Program ------------------------------------------===//

#include "runtime/api/Guard.h"
#include "runtime/api/ProgramState.h"
#include "runtime/api/ReferenceRunner.h"
#include "runtime/core/File.h"
#include "runtime/device/cuda/Device.h"

#include <algorithm>

namespace pe {

using api::Bundle;
using api::Compiler;
using api::ProgramState;

std::string version() { return PE_VERSION; }

/// Returns true if an argument has an axis with the head dim of queries, keys or values.
static bool hasDepth(const EntryInfo &entry) {
  const auto isDepth = [](const std::string &size) { return size == "d" || size == "e"; };
  return std::any_of(entry.arguments.begin(), entry.arguments.end(), [&](const ValueInfo &value) {
    return std::any_of(value.sizes.begin(), value.sizes.end(), isDepth);
  });
}

jit::CompileRequest api::requestOf(const ProgramState &state, const CompileOptions &options) {
  jit::CompileRequest request;
  request.source = state.source;
  request.target = plan::findTarget(options.target).value_or(plan::Target::None);
  request.chip = options.chip;
  request.features = options.features;
  // If no tensor has a head dim, ignore it, so that all requests share one compiled function.
  const CompileOptions defaults;
  const bool hasDepths = hasDepth(state.description->entry);
  request.headDim = hasDepths ? options.headDim : defaults.headDim;
  request.valueDim = hasDepths ? options.valueDim : defaults.valueDim;
  request.dtype = options.dtype;
  request.grad = options.grad;
  request.earlyExit = options.earlyExit;
  request.pairsMemory = options.pairsMemory;
  request.lowering = plan::findCpuLowering(options.lowering).value_or(plan::Lowering::Cpu);
  request.loops = options.loops;
  request.lineTables = options.lineTables;
  request.schedule = options.schedule;
  return request;
}

/// Checks the names of a target and a lowering.
static Status checkNames(const CompileOptions &options) {
  if (!plan::findCpuLowering(options.lowering))
    return makeError("expected lowering cpu or loops, found ", options.lowering);
  const std::string &target = options.target;
  const auto found = plan::findTarget(target);
  if (found == plan::Target::Reference)
    return makeError("target 'reference' evaluates a source without compiling it; expected 'cpu', "
                     "'cuda' or 'gpu-emulator'");
  if (found && *found != plan::Target::None)
    return Status::success();
  return makeError("unknown target '", target, "'; expected 'cpu', 'cuda' or 'gpu-emulator'");
}

static Expected<std::shared_ptr<const ProgramState>>
loadPackage(const std::string &bytes, const std::string &path, const std::string &entry) {
  const std::string where = "file '" + path + "'";
  Expected<Bundle> bundle = api::readBundle(bytes);
  if (!bundle)
    return bundle.takeError().within(where);
  Expected<jit::Description> description = api::loadDescription(*bundle);
  if (!description)
    return description.takeError().within(where);
  if (!entry.empty() && entry != description->entry.name)
    return makeError(where, ": expected entry '", entry, "', found a package of '",
                     description->entry.name, "'");
  auto package = api::Package::open(*std::move(bundle));
  if (!package)
    return package.takeError().within(where);
  return std::make_shared<const ProgramState>(
      ProgramState{{"", path, entry},
                   std::make_shared<const jit::Description>(*std::move(description)),
                   *std::move(package)});
}

static Expected<std::shared_ptr<const ProgramState>> describeSource(jit::Source source) {
  auto description = Compiler::instance().describe(source);
  if (!description)
    return description.takeError();
  return std::make_shared<const ProgramState>(
      ProgramState{std::move(source), *std::move(description), nullptr});
}

Expected<std::shared_ptr<const ProgramState>>
api::parseProgram(const std::string &text, const std::string &name, const std::string &entry) {
  return describeSource({text, name, entry});
}

Expected<std::shared_ptr<const ProgramState>> api::loadProgram(const std::string &path,
                                                               const std::string &entry) {
  Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  if (api::isBundle(*bytes))
    return loadPackage(*bytes, path, entry);
  return describeSource({*std::move(bytes), path, entry});
}

Expected<Program> Program::load(const std::string &path, const std::string &entry) {
  return api::guarded([&]() -> Expected<Program> {
    auto state = api::loadProgram(path, entry);
    if (!state)
      return state.takeError();
    Program program;
    program.state = *std::move(state);
    return program;
  });
}

Expected<Program> Program::parse(const std::string &text, const std::string &name,
                                 const std::string &entry) {
  return api::guarded([&]() -> Expected<Program> {
    auto state = api::parseProgram(text, name, entry);
    if (!state)
      return state.takeError();
    Program program;
    program.state = *std::move(state);
    return program;
  });
}

const EntryInfo &Program::signature() const { return state->description->entry; }
const std::string &Program::json() const { return state->description->program; }

/// Checks that the package was compiled with the requested options.
static Status checkPackage(const plan::Plan &plan, const CompileOptions &options) {
  const auto check = [](const char *what, const auto &found, const auto &expected) -> Status {
    if (found == expected)
      return Status::success();
    return makeError("expected ", what, " ", expected, ", found a package compiled for ", found);
  };
  const bool hasDepths = plan.headDim != 0 || plan.valueDim != 0; // false for an embedding
  if (Status s = check("head dim", plan.headDim, hasDepths ? options.headDim : 0); !s)
    return s;
  if (Status s = check("value dim", plan.valueDim, hasDepths ? options.valueDim : 0); !s)
    return s;
  if (Status s = check("dtype", nameOf(plan.dtype), nameOf(options.dtype)); !s)
    return s;
  if (!options.features.empty() && plan.target == plan::Target::Cpu)
    if (Status s = check("features", plan.features, options.features); !s)
      return s;
  if (options.lowering != nameOf(plan::Lowering::Cpu) || !options.earlyExit ||
      options.pairsMemory != CompileOptions().pairsMemory || !options.schedule.empty())
    return makeError(
        "expected the default lowering, schedule, memory for pairs and early exit, "
        "because a package is already compiled; compile the source with these options");
  if (options.grad && !plan.hasBackward())
    return makeError(
        "expected a package with gradients, found one without; compile it with --grad");
  return Status::success();
}

static Expected<std::shared_ptr<const api::CompiledFunction>>
openReference(const ProgramState &program, const CompileOptions &options) {
  auto runner = api::ReferenceRunner::create(*program.description, options.dtype, options.grad);
  if (!runner)
    return runner.takeError();
  return std::make_shared<const api::CompiledFunction>(
      api::CompiledFunction{*std::move(runner), "float64 reference", "null"});
}

Expected<jit::CompileRequest> api::requestHere(const ProgramState &program,
                                               const CompileOptions &options) {
  jit::CompileRequest request = requestOf(program, options);
  if (request.target == plan::Target::Cuda && request.chip.empty()) {
    auto device = cuda::Device::open(options.device);
    if (!device)
      return device.takeError();
    request.chip = (*device)->compilationChip();
  }
  return request;
}

Expected<std::shared_ptr<const api::CompiledFunction>>
api::compileProgram(const ProgramState &program, const CompileOptions &options) {
  if (options.target == nameOf(plan::Target::Reference))
    return openReference(program, options);
  if (Status s = checkNames(options); !s)
    return s.takeError();
  if (!program.packaged) {
    auto request = requestHere(program, options);
    return request ? Compiler::instance().compile(*request) : request.takeError();
  }
  const std::string where = "file '" + program.source.name + "'";
  auto plan = program.packaged->find(options);
  if (!plan)
    return plan.takeError().within(where);
  if (Status s = checkPackage(**plan, options); !s)
    return s.takeError().within(where);
  auto function = program.packaged->load(options);
  if (!function)
    return function.takeError().within(where);
  return function;
}

Expected<Function> Program::compile(const CompileOptions &options) const {
  return api::guarded([&]() -> Expected<Function> {
    auto compiled = api::compileProgram(*state, options);
    if (!compiled)
      return compiled.takeError();
    Function function;
    function.program = state;
    function.state = *std::move(compiled);
    return function;
  });
}

Expected<std::string> Program::emit(const CompileOptions &options, Stage stage) const {
  return api::guarded([&]() -> Expected<std::string> {
    if (Status s = checkNames(options); !s)
      return s.takeError();
    if (state->packaged)
      return makeError("file '", state->source.name,
                       "': expected a source, found a package; a package cannot be compiled again");
    const jit::EmitStage stages[] = {jit::EmitStage::PE,   jit::EmitStage::Tile,
                                     jit::EmitStage::LLVM, jit::EmitStage::Object,
                                     jit::EmitStage::Ptx,  jit::EmitStage::Step};
    return Compiler::instance().emit(api::requestOf(*state, options),
                                     stages[static_cast<int>(stage)]);
  });
}

Expected<std::string> api::packageProgram(const ProgramState &program,
                                          const std::vector<CompileOptions> &targets,
                                          bool withBias) {
  if (program.packaged)
    return makeError("file '", program.source.name, "': expected a source, found a package");
  Bundle package = describeToBundle(*program.description);
  for (const CompileOptions &options : targets) {
    if (Status s = checkNames(options); !s)
      return s.takeError();
    jit::CompileRequest request = requestOf(program, options);
    Expected<Bundle> bundle = Compiler::instance().compileToBundle(request);
    if (!bundle)
      return bundle.takeError();
    if (Status s = addVariant(package, *bundle); !s)
      return s.takeError();
    if (!withBias)
      continue;
    request.grad = false;
    request.materialize = true;
    Expected<Bundle> bias = Compiler::instance().compileToBundle(request);
    if (!bias)
      return bias.takeError();
    if (Status s = addBias(package, *bias); !s)
      return s.takeError();
  }
  return writeBundle(package);
}

Expected<std::string> Program::package(const std::vector<CompileOptions> &targets) const {
  return api::guarded(
      [&]() -> Expected<std::string> { return api::packageProgram(*state, targets, false); });
}

} // namespace pe
