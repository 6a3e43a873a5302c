//===- Compiler.cpp - Compilation with caching ----------------------------===//

#include "runtime/api/Compiler.h"

#include "runtime/core/Hash.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/Executor.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/device/cuda/EmulatedRunner.h"
#include "runtime/plan/SignatureJson.h"

#include <algorithm>

namespace pe::api {

Compiler &Compiler::instance() {
  // Never destroyed, because functions of the user may outlive static destruction.
  static Compiler *compiler =
      new Compiler(makeJitLibrary(), DiskCache(DiskCache::defaultDirectory()));
  return *compiler;
}

static const std::string &section(const Bundle &bundle, const char *name) {
  static const std::string empty;
  const auto found = bundle.find(name);
  return found == bundle.end() ? empty : found->second;
}

/// Returns the digest of two sections. The length of the first is hashed to separate them.
static std::string digestOf(const std::string &first, const std::string &second) {
  Sha256 hash;
  hash.update(std::to_string(first.size()) + ":");
  hash.update(first);
  hash.update(second);
  return hash.finish();
}

std::string digestOf(const Bundle &bundle) {
  return digestOf(section(bundle, "plan"), section(bundle, "object"));
}

Expected<std::shared_ptr<const device::Runner>> makeRunner(plan::Plan plan, const std::string &code,
                                                           device::HostOptions options) {
  using Result = Expected<std::shared_ptr<const device::Runner>>;
  const auto result = [](auto runner) -> Result {
    return runner ? Result(*std::move(runner)) : Result(runner.takeError());
  };
  if (plan.target == plan::Target::Cuda)
    return result(cuda::CudaRunner::create(std::move(plan), code));
  if (plan.target == plan::Target::GpuEmulator)
    return result(cuda::EmulatedRunner::create(std::move(plan), code, std::move(options)));
  auto object = cpu::loadObject(code);
  if (!object)
    return object.takeError();
  const auto lookup = [&](const std::string &symbol) { return (*object)->lookup(symbol); };
  auto executor = cpu::Executor::create(std::move(plan), lookup, *object, std::move(options));
  if (!executor)
    return executor.takeError();
  return std::make_shared<const cpu::Executor>(*std::move(executor));
}

Expected<std::shared_ptr<const CompiledFunction>> loadFunction(const Bundle &bundle,
                                                               const std::string &target) {
  Expected<plan::Plan> plan = plan::parsePlan(section(bundle, "plan"));
  if (!plan)
    return plan.takeError();
  if (section(bundle, "digest") != digestOf(bundle))
    return makeError(
               "expected a plan and code that were compiled together, found a plan or code that "
               "was changed; compile it again")
        .of(ErrorKind::Compile);
  if (plan->target == plan::Target::None)
    return makeError("expected a plan with a target, found none");
  if (target == nameOf(plan::Target::GpuEmulator) && plan->target == plan::Target::Cuda)
    plan->target = plan::Target::GpuEmulator;
  auto runner = makeRunner(*std::move(plan), section(bundle, "object"));
  if (!runner)
    return runner.takeError();
  return std::make_shared<const CompiledFunction>(CompiledFunction{
      *std::move(runner), section(bundle, "explain.txt"), section(bundle, "explain.json")});
}

Expected<TensorMap> asPlanned(const TensorMap &tensors, const plan::Plan &plan) {
  TensorMap result = tensors;
  for (auto &[name, tensor] : result) {
    const int index = plan.findBuffer(name);
    if (index < 0 || plan.buffers[index].dtype == tensor.dtype() || !isFloating(tensor.dtype()) ||
        !isFloating(plan.buffers[index].dtype))
      continue;
    Expected<Tensor> converted = convert(tensor, plan.buffers[index].dtype);
    if (!converted)
      return converted.takeError().within("tensor '" + name + "'");
    tensor = *std::move(converted);
  }
  return result;
}

Bundle describeToBundle(const jit::Description &description) {
  std::string entry = plan::toJson(description.entry);
  std::string digest = digestOf(entry, description.program + description.pieces);
  return {{"entry", std::move(entry)},
          {"program", description.program},
          {"pieces", description.pieces},
          {"digest", std::move(digest)}};
}

Expected<jit::Description> loadDescription(const Bundle &bundle) {
  Expected<EntryInfo> entry = plan::parseEntryInfo(section(bundle, "entry"));
  if (!entry)
    return entry.takeError();
  const std::string &program = section(bundle, "program"), &pieces = section(bundle, "pieces");
  if (section(bundle, "digest") != digestOf(section(bundle, "entry"), program + pieces))
    return makeError(
        "expected a signature and a program that were written together, found one that "
        "was changed; compile it again");
  return jit::Description{*std::move(entry), program, pieces};
}

/// Returns a cache key of everything that determines the result of the compiler. Called with the
/// mutex held.
Expected<std::string> Compiler::keyOf(const char *what, const jit::Source &source,
                                      const std::string &fields) {
  if (compilerIdentity.empty()) {
    const std::string record = "compiler at " + provider->place();
    std::string previous;
    if (std::optional<Bundle> known = cache.get(record))
      previous = section(*known, "identity");
    Expected<std::string> identity = provider->identity(previous);
    if (!identity)
      return identity.takeError();
    if (*identity != previous)
      cache.put(record, {{"identity", *identity}});
    compilerIdentity = *std::move(identity);
  }
  std::vector<std::string> parts = {what,
                                    std::string(PE_VERSION),
                                    compilerIdentity,
                                    cpu::hostCpu().fingerprint(),
                                    source.entry,
                                    fields,
                                    source.text};
  for (const auto &[name, value] : source.attributes)
    parts.insert(parts.end(), {name, value});
  std::string key;
  // Length prefixes separate the fields.
  for (const std::string &part : parts) {
    key += std::to_string(part.size()) + ":";
    key += part;
  }
  return key;
}

static std::string textOf(const LoopOptions &loops) {
  return std::to_string(loops.blockRows) + "x" + std::to_string(loops.blockColumns) +
         " owner=" + std::to_string(static_cast<int>(loops.owner)) +
         " stop=" + std::to_string(loops.useStop) + " skip=" + std::to_string(loops.useSkip);
}

Expected<std::string> Compiler::requestKey(const jit::CompileRequest &request) {
  const std::string fields =
      "target=" + std::string(nameOf(request.target)) + " chip=" + request.chip +
      " features=" + request.features + " head=" + std::to_string(request.headDim) +
      " value=" + std::to_string(request.valueDim) +
      " dtype=" + std::string(nameOf(request.dtype)) + " grad=" + std::to_string(request.grad) +
      " early-exit=" + std::to_string(request.earlyExit) +
      " pairs-memory=" + std::to_string(request.pairsMemory) +
      " lowering=" + std::string(nameOf(request.lowering)) +
      " materialize=" + std::to_string(request.materialize) + " loops=" + textOf(request.loops) +
      " line-tables=" + std::to_string(request.lineTables) + " schedule=" + request.schedule;
  // The key contains the file name because explanations and remarks do.
  return keyOf("function", request.source, fields + " name=" + request.source.name);
}

/// Returns the prepared program of a source, which is valid until the next call. Called with the
/// mutex held.
Expected<const jit::PreparedProgram *> Compiler::prepare(jit::Jit &jit, const jit::Source &source) {
  constexpr size_t kKept = 4; // each takes up to 10 MB
  auto &programs = preparedPrograms;
  const auto found = std::ranges::find(
      programs, source, [](const auto &entry) -> const jit::Source & { return entry.first; });
  if (found != programs.end()) {
    programs.splice(programs.begin(), programs, found);
    return programs.front().second.get();
  }
  auto program = jit.prepare(source);
  if (!program)
    return program.takeError();
  ++counts.prepared;
  programs.emplace_front(source, *std::move(program));
  if (programs.size() > kKept)
    programs.pop_back();
  return programs.front().second.get();
}

Expected<std::shared_ptr<const jit::Description>> Compiler::describe(const jit::Source &source) {
  std::lock_guard lock(mutex);
  // The key contains the file name because locations in a description do.
  Expected<std::string> key = keyOf("description", source, "name=" + source.name);
  if (!key)
    return key.takeError();
  if (auto found = descriptions.find(*key); found != descriptions.end())
    return found->second;
  const auto remember = [&](jit::Description description) {
    return descriptions[*key] = std::make_shared<const jit::Description>(std::move(description));
  };
  if (std::optional<Bundle> bundle = cache.get(*key))
    if (Expected<jit::Description> description = loadDescription(*bundle))
      return remember(*std::move(description));
  Expected<jit::Jit *> jit = provider->get();
  if (!jit)
    return jit.takeError();
  auto program = prepare(**jit, source);
  if (!program)
    return program.takeError().of(ErrorKind::Compile);
  const jit::Description &description = (*program)->description();
  cache.put(*key, describeToBundle(description));
  return remember(description);
}

/// Runs the compiler. Called with the mutex held.
Expected<Bundle> Compiler::compileFresh(const jit::CompileRequest &request) {
  Expected<jit::Jit *> jit = provider->get();
  if (!jit)
    return jit.takeError();
  auto program = prepare(**jit, request.source);
  if (!program)
    return program.takeError().of(ErrorKind::Compile);
  Expected<jit::CompiledCode> code = (*jit)->compile(**program, request);
  if (!code)
    return code.takeError().of(ErrorKind::Compile);
  ++counts.compiled;
  Bundle bundle = {{"plan", plan::toJson(code->plan)},
                   {"object", std::move(code->object)},
                   {"explain.txt", std::move(code->explainText)},
                   {"explain.json", std::move(code->explainJson)}};
  bundle["digest"] = digestOf(bundle);
  return bundle;
}

Expected<std::shared_ptr<const CompiledFunction>>
Compiler::compile(const jit::CompileRequest &request) {
  std::lock_guard lock(mutex);
  Expected<std::string> key = requestKey(request);
  if (!key)
    return key.takeError();
  if (auto found = functions.find(*key); found != functions.end()) {
    ++counts.fromMemory;
    return found->second;
  }
  if (std::optional<Bundle> bundle = cache.get(*key))
    if (auto function = loadFunction(*bundle)) {
      ++counts.fromDisk;
      return functions[*key] = *std::move(function);
    }
  Expected<Bundle> bundle = compileFresh(request);
  if (!bundle)
    return bundle.takeError();
  auto function = loadFunction(*bundle);
  if (!function)
    return function.takeError();
  cache.put(*key, *bundle);
  return functions[*key] = *std::move(function);
}

Expected<std::shared_ptr<cpu::LoadedCode>> Compiler::compileKernels(const jit::Source &source) {
  std::lock_guard lock(mutex);
  Expected<std::string> key = keyOf("kernels", source, "");
  if (!key)
    return key.takeError();
  if (std::optional<Bundle> bundle = cache.get(*key))
    if (auto code = cpu::loadObject(section(*bundle, "object"))) {
      ++counts.fromDisk;
      return code;
    }
  Expected<jit::Jit *> jit = provider->get();
  if (!jit)
    return jit.takeError();
  Expected<std::string> object = (*jit)->compileKernels(source);
  if (!object)
    return object.takeError();
  ++counts.compiled;
  auto code = cpu::loadObject(*object);
  if (code)
    cache.put(*key, {{"object", *std::move(object)}});
  return code;
}

Expected<Bundle> Compiler::compileToBundle(const jit::CompileRequest &request) {
  std::lock_guard lock(mutex);
  return compileFresh(request);
}

Expected<std::string> Compiler::emit(const jit::CompileRequest &request, jit::EmitStage stage) {
  std::lock_guard lock(mutex);
  Expected<jit::Jit *> jit = provider->get();
  if (!jit)
    return jit.takeError();
  auto program = prepare(**jit, request.source);
  if (!program)
    return program.takeError();
  return (*jit)->emit(**program, request, stage);
}

Expected<jit::RepresentedProgram> Compiler::represent(const jit::RepresentRequest &request) {
  std::lock_guard lock(mutex);
  Expected<jit::Jit *> jit = provider->get();
  if (!jit)
    return jit.takeError();
  auto program = prepare(**jit, request.source);
  if (!program)
    return program.takeError();
  return (*jit)->represent(**program, request);
}

CompilerStatistics Compiler::statistics() const {
  std::lock_guard lock(mutex);
  return counts;
}

} // namespace pe::api
