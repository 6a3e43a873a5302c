//===- Subject.cpp - Subjects of the conformance suite --------------------===//

#include "conformance/Subject.h"

#include "pe/pe.h"
#include "runtime/api/Compiler.h"
#include "runtime/device/cpu/CpuInfo.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/reference/Reference.h"

#include <dlfcn.h>

namespace pe::conformance {
namespace {

void separate(const TensorMap &inputs, TensorMap &arguments, TensorMap &cotangents) {
  for (const auto &[name, tensor] : inputs)
    (name.starts_with("d_") ? cotangents : arguments)[name] = tensor;
}

/// Loads the compiler's library on first use; it is never unloaded.
Expected<jit::Jit *> loadCompiler() {
  static jit::Jit *loaded = nullptr;
  if (loaded)
    return loaded;
  // The run path of the executable contains the library's directory.
  void *library = dlopen("libpe-jit.so", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError("cannot load the compiler: ", dlerror());
  auto create = reinterpret_cast<jit::Jit *(*)(int)>(dlsym(library, "peCreateJit"));
  if (create)
    loaded = create(jit::kJitAbiVersion);
  if (!loaded)
    return makeError("expected libpe-jit.so of this build (interface ", jit::kJitAbiVersion,
                     "); rebuild both");
  return loaded;
}

//===----------------------------------------------------------------------===//
// The public API
//===----------------------------------------------------------------------===//

class ApiFunction : public Function {
public:
  ApiFunction(pe::Function function, bool grad) : function(std::move(function)), grad(grad) {}

  Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                          int threads) override {
    std::unique_ptr<ParallelFor> pool = makeThreadPool(threads);
    CallOptions options{positions, pool.get()};
    TensorMap arguments, cotangents;
    separate(inputs, arguments, cotangents);
    auto call = function.forward(arguments, options);
    if (!call)
      return call.takeError();
    if (!grad)
      return call->results();
    auto found = function.backward(*call, cotangents, options);
    if (!found)
      return found.takeError();
    for (const auto &[name, tensor] : call->results())
      found->emplace(name, tensor);
    return std::move(*found);
  }
  std::string explainJson() const override { return function.explainJson(); }

private:
  pe::Function function;
  bool grad;
};

void assign(std::string &target, const std::string &name) { target = name; }
void assign(plan::Target &target, const std::string &name) { target = *plan::findTarget(name); }
void assign(plan::Lowering &lowering, const std::string &name) {
  lowering = *plan::findCpuLowering(name);
}

/// Sets the target; "cpu" and "loops" are lowerings for the CPU.
template <typename Request> void setTarget(Request &request, const SubjectOptions &options) {
  if (options.target == "gpu-emulator" || options.target == "cuda")
    assign(request.target, options.target);
  else
    assign(request.lowering, options.target);
  request.chip = options.chip;
  request.schedule = options.schedule;
  request.loops = options.loops;
}

class ApiSubject : public Subject {
public:
  explicit ApiSubject(SubjectOptions options) : options(std::move(options)) {}

  Expected<jit::Description> describe(const jit::Source &source) override {
    auto program = Program::parse(source.text, source.name, source.entry);
    if (!program)
      return program.takeError();
    return jit::Description{program->signature(), program->json()};
  }

  Expected<std::unique_ptr<Function>> compile(const jit::Source &source, int64_t headDim,
                                              int64_t valueDim) override {
    auto program = Program::parse(source.text, source.name, source.entry);
    if (!program)
      return program.takeError();
    CompileOptions request;
    request.features = options.features;
    request.headDim = headDim;
    request.valueDim = valueDim;
    request.grad = options.grad;
    request.dtype = options.dtype;
    setTarget(request, options);
    auto function = program->compile(request);
    if (!function)
      return function.takeError();
    return std::make_unique<ApiFunction>(std::move(*function), options.grad);
  }

private:
  SubjectOptions options;
};

//===----------------------------------------------------------------------===//
// The compiler and the CPU device, with poisoned buffers
//===----------------------------------------------------------------------===//

class PoisonedFunction : public Function {
public:
  PoisonedFunction(std::shared_ptr<const device::Runner> runner, std::string explanation, bool grad)
      : runner(std::move(runner)), explanation(std::move(explanation)), grad(grad) {}

  Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                          int threads) override {
    cpu::ThreadPool pool({threads});
    TensorMap arguments, cotangents;
    separate(inputs, arguments, cotangents);
    auto forward = runner->forward(arguments, positions, pool);
    if (!forward)
      return forward.takeError();
    if (!grad)
      return (*forward)->results();
    auto found = runner->backward(**forward, cotangents, pool);
    if (!found)
      return found.takeError();
    for (const auto &[name, tensor] : (*forward)->results())
      found->emplace(name, tensor);
    return std::move(*found);
  }
  std::string explainJson() const override { return explanation; }

private:
  std::shared_ptr<const device::Runner> runner;
  std::string explanation;
  bool grad;
};

Expected<jit::Description> describeWith(jit::Jit &jit, const jit::Source &source) {
  auto program = jit.prepare(source);
  if (!program)
    return program.takeError();
  return (*program)->description();
}

class PoisonedSubject : public Subject {
public:
  PoisonedSubject(jit::Jit &jit, SubjectOptions options) : jit(jit), options(std::move(options)) {}

  Expected<jit::Description> describe(const jit::Source &source) override {
    return describeWith(jit, source);
  }

  Expected<std::unique_ptr<Function>> compile(const jit::Source &source, int64_t headDim,
                                              int64_t valueDim) override {
    jit::CompileRequest request;
    request.source = source;
    request.features = options.features;
    request.headDim = headDim;
    request.valueDim = valueDim;
    request.grad = options.grad;
    request.dtype = options.dtype;
    setTarget(request, options);
    auto program = jit.prepare(source);
    if (!program)
      return program.takeError();
    auto code = jit.compile(**program, request);
    if (!code)
      return code.takeError();
    auto runner = api::makeRunner(std::move(code->plan), code->object,
                                  {.poison = true, .beforeStage = options.spoil});
    if (!runner)
      return runner.takeError();
    return std::make_unique<PoisonedFunction>(*std::move(runner), std::move(code->explainJson),
                                              options.grad);
  }

private:
  jit::Jit &jit;
  SubjectOptions options;
};

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

class ReferenceFunction : public Function {
public:
  explicit ReferenceFunction(reference::Program program) : program(std::move(program)) {}

  Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                          int threads) override {
    auto results = reference::evaluate(program, inputs, positions, /*grad=*/true,
                                       {.rounding = {}, .threads = unsigned(threads)});
    if (!results)
      return results.takeError();
    TensorMap found;
    for (const TensorMap *tensors : {&results->outputs, &results->gradients})
      for (const auto &[name, tensor] : *tensors) {
        auto rounded = convert(tensor, DType::F32);
        if (!rounded)
          return rounded.takeError();
        found.emplace(name, std::move(*rounded));
      }
    return found;
  }

private:
  reference::Program program;
};

class ReferenceSubject : public Subject {
public:
  explicit ReferenceSubject(jit::Jit &jit) : jit(jit) {}

  Expected<jit::Description> describe(const jit::Source &source) override {
    return describeWith(jit, source);
  }
  Expected<std::unique_ptr<Function>> compile(const jit::Source &source, int64_t,
                                              int64_t) override {
    auto description = describeWith(jit, source);
    if (!description)
      return description.takeError();
    auto program = reference::parseProgram(description->program);
    if (!program)
      return program.takeError();
    return std::make_unique<ReferenceFunction>(std::move(*program));
  }

private:
  jit::Jit &jit;
};

} // namespace

DType productsOf(const SubjectOptions &options) {
  if (options.target != "cpu" || !isNarrow(options.dtype))
    return options.dtype;
  const plan::Machine *cpu = cpu::machineOf(options.features);
  const bool hasProducts = cpu && plan::findMatrixOp(*cpu, plan::Form::PairDot, options.dtype);
  return hasProducts ? options.dtype : DType::F32;
}

Expected<std::unique_ptr<Subject>> makeSubject(const SubjectOptions &options) {
  bool isCompiled = options.target == "cpu" || options.target == "loops" ||
                    options.target == "gpu-emulator" || options.target == "cuda";
  if (!isCompiled && options.target != "reference")
    return makeError(
        "expected target 'cpu', 'loops', 'gpu-emulator', 'cuda' or 'reference', found '",
        options.target, "'");
  if (options.target == "cuda" && options.poison)
    return makeError("expected --poison for targets that compute on the host only");
  if (isCompiled && !options.poison)
    return std::make_unique<ApiSubject>(options);
  auto jit = loadCompiler();
  if (!jit)
    return jit.takeError();
  if (isCompiled)
    return std::make_unique<PoisonedSubject>(**jit, options);
  return std::make_unique<ReferenceSubject>(**jit);
}

} // namespace pe::conformance
