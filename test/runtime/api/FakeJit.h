//===- FakeJit.h - A fake compiler for tests --------------------*- C++ -*-===//
//
// "Compiles" any source to a plan with one stage that doubles its argument. The object is compiled
// from FakeStages.c by the build. Counts the calls.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_API_FAKEJIT_H
#define PE_TEST_RUNTIME_API_FAKEJIT_H

#include "runtime/api/JitLibrary.h"
#include "runtime/core/File.h"

namespace pe::test {

/// The number of calls of each function, shared by all fakes with the same counts.
struct FakeCounts {
  int loads = 0;
  int prepares = 0;
  int compiles = 0;
  int kernels = 0;
};

struct FakeProgram final : jit::PreparedProgram {
  const jit::Description &description() const override { return described; }
  jit::Description described;
};

class FakeJit final : public jit::Jit {
public:
  explicit FakeJit(FakeCounts &counts) : counts(counts) {}

  std::string llvmVersion() const override { return "0.0.0"; }

  Expected<std::unique_ptr<jit::PreparedProgram>> prepare(const jit::Source &source) override {
    ++counts.prepares;
    if (source.text == "bad")
      return makeError("expected a module, found 'bad'").at(source.name + ":1:1");
    auto program = std::make_unique<FakeProgram>();
    jit::Description &description = program->described;
    description.entry.name = "double";
    description.entry.location = source.name + ":1:1";
    ValueInfo x;
    x.name = "x";
    x.dims = {-1, -1};
    x.sizes = {"b", "r"};
    ValueInfo y = x;
    y.name = "y";
    description.entry.arguments = {x};
    description.entry.results = {y};
    description.program = "{}";
    return program;
  }

  Expected<jit::CompiledCode> compile(const jit::PreparedProgram &,
                                      const jit::CompileRequest &request) override {
    ++counts.compiles;
    if (request.source.text == "uncompilable")
      return makeError("expected something else").at(request.source.name + ":2:3");
    Expected<std::string> object = readFile(PE_FAKE_OBJECT);
    if (!object)
      return object.takeError();
    jit::CompiledCode code;
    code.object = *std::move(object);
    code.explainText = "doubles " + request.source.text;
    code.explainJson = "{}";
    code.plan.entry = "double";
    code.plan.frame = plan::standardFrame();
    code.plan.target = request.target;
    code.plan.headDim = request.headDim;
    code.plan.valueDim = request.valueDim;
    code.plan.buffers = {
        {.name = "x", .role = plan::Role::Argument, .shape = {"b", "r"}},
        {.name = "y", .role = plan::Role::Result, .shape = {"b", "r"}},
    };
    code.plan.stages = {{"fakeDouble", plan::Phase::Forward, "b", "", {0, 1}, {1}, {}}};
    return code;
  }

  Expected<jit::RepresentedProgram> represent(const jit::PreparedProgram &,
                                              const jit::RepresentRequest &request) override {
    return jit::RepresentedProgram{request.source.text, request.parameters};
  }

  Expected<std::string> compileKernels(const jit::Source &) override {
    ++counts.kernels;
    return readFile(PE_FAKE_OBJECT);
  }
  Expected<std::string> emit(const jit::PreparedProgram &, const jit::CompileRequest &,
                             jit::EmitStage) override {
    return std::string("emitted");
  }

private:
  FakeCounts &counts;
};

class FakeProvider final : public api::JitProvider {
public:
  FakeProvider(FakeCounts &counts, std::string id)
      : counts(counts), id(std::move(id)), fake(counts) {}

  Expected<jit::Jit *> get() override {
    counts.loads += !loaded;
    loaded = true;
    if (missing)
      return makeError("the compiler library is missing");
    return &fake;
  }
  Expected<std::string> identity(const std::string &previous) override {
    if (previous == id)
      return previous;
    if (Expected<jit::Jit *> jit = get(); !jit)
      return jit.takeError();
    return id;
  }
  std::string place() override { return "fake"; }

  bool missing = false;

private:
  FakeCounts &counts;
  std::string id;
  FakeJit fake;
  bool loaded = false;
};

} // namespace pe::test

#endif // PE_TEST_RUNTIME_API_FAKEJIT_H
