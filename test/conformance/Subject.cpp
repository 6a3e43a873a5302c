//===- Subject.cpp - What the conformance suite judges --------------------===//

#include "conformance/Subject.h"

#include "runtime/device/cpu/Executor.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/reference/Reference.h"

#include <dlfcn.h>

namespace pe::conformance {
namespace {

bool isCotangent(const std::string &name) { return name.starts_with("d_"); }

//===----------------------------------------------------------------------===//
// The compiler and the CPU device
//===----------------------------------------------------------------------===//

class CompiledFunction : public Function {
public:
  explicit CompiledFunction(cpu::Executor executor) : executor(std::move(executor)) {}

  Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                          int threads) override {
    cpu::ThreadPool pool({threads});
    TensorMap arguments, cotangents;
    for (const auto &[name, tensor] : inputs)
      (isCotangent(name) ? cotangents : arguments)[name] = tensor;
    auto forward = executor.forward(arguments, positions, pool);
    if (!forward)
      return forward.takeError();
    auto found = executor.backward(*forward, cotangents, pool);
    if (!found)
      return found.takeError();
    for (const auto &[name, tensor] : forward->results())
      found->emplace(name, tensor);
    return std::move(*found);
  }

private:
  cpu::Executor executor;
};

class CompilerSubject : public Subject {
public:
  CompilerSubject(jit::Jit &jit, std::string lowering, std::string features)
      : jit(jit), lowering(std::move(lowering)), features(std::move(features)) {}

  Expected<jit::Description> describe(const jit::Source &source) override {
    return jit.describe(source);
  }

  Expected<std::unique_ptr<Function>> compile(const jit::Source &source, int64_t headDim,
                                              int64_t valueDim) override {
    jit::CompileRequest request;
    request.source = source;
    request.features = features;
    request.headDim = headDim;
    request.valueDim = valueDim;
    request.grad = true;
    request.lowering = lowering;
    auto code = jit.compile(request);
    if (!code)
      return code.takeError();
    auto object = cpu::loadObject(code->object);
    if (!object)
      return object.takeError();
    std::shared_ptr<cpu::LoadedCode> loaded = *object;
    cpu::Executor::Options options;
    options.poison = true;
    auto executor = cpu::Executor::create(
        std::move(code->plan), [=](const std::string &symbol) { return loaded->lookup(symbol); },
        loaded, options);
    if (!executor)
      return executor.takeError();
    return std::make_unique<CompiledFunction>(std::move(*executor));
  }

private:
  jit::Jit &jit;
  std::string lowering;
  std::string features;
};

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

class ReferenceFunction : public Function {
public:
  explicit ReferenceFunction(reference::Program program) : program(std::move(program)) {}

  Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                          int threads) override {
    auto results = reference::evaluate(program, inputs, positions, /*grad=*/true, threads);
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
    return jit.describe(source);
  }
  Expected<std::unique_ptr<Function>> compile(const jit::Source &source, int64_t,
                                              int64_t) override {
    auto description = jit.describe(source);
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

Expected<jit::Jit *> loadCompiler() {
  static jit::Jit *loaded = nullptr;
  if (loaded)
    return loaded;
  // Beside the programs: the run path of this one finds it.
  void *library = dlopen("libpe-jit.so", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError("cannot load the compiler: ", dlerror());
  auto create = reinterpret_cast<jit::Jit *(*)(int)>(dlsym(library, "peCreateJit"));
  if (create)
    loaded = create(jit::kJitAbiVersion);
  if (!loaded)
    return makeError("expected a libpe-jit.so of this build (interface ", jit::kJitAbiVersion,
                     "); rebuild both");
  return loaded;
}

Expected<std::unique_ptr<Subject>> makeSubject(const std::string &target,
                                               const std::string &features) {
  auto jit = loadCompiler();
  if (!jit)
    return jit.takeError();
  if (target == "cpu" || target == "loops")
    return std::make_unique<CompilerSubject>(**jit, target, features);
  if (target == "reference")
    return std::make_unique<ReferenceSubject>(**jit);
  return makeError("expected target 'cpu', 'loops' or 'reference', found '", target, "'");
}

} // namespace pe::conformance
