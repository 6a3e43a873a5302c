//===- CompiledAttention.cpp - training's attention, compiled by pe ---===//
#include "tools/pe/CompiledAttention.h"

#include "runtime/core/File.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/train/blas/Blas.h"

#include <cstring>

namespace pe::cli {
namespace {

/// Attention without positions, for --encoding=none.
constexpr const char *kPlainAttention = R"(
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %m = pe.causal
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
)";

class CompiledAttention : public train::AttentionFunction {
public:
  CompiledAttention(TrainedEncoding encoding, int64_t heads, ParallelFor &pool)
      : encoding(std::move(encoding)), pool(pool) {
    for (const ValueInfo &argument : this->encoding.description->entry.arguments) {
      if (isData(argument.name))
        continue;
      Shape shape;
      for (int64_t dim : argument.dims)
        shape.push_back(dim < 0 ? heads : dim);
      const double lowest = -std::numeric_limits<double>::infinity();
      known.push_back({argument.name, shape, argument.parameter.init, argument.parameter.decay,
                       static_cast<float>(argument.parameter.min.value_or(lowest)),
                       argument.parameter.monitor});
    }
  }

  const std::vector<train::EncodingParameter> &parameters() const override { return known; }

  Status forward(const train::AttentionInputs &in, float *o) override {
    auto result = encoding.function->runner->forward(bind(in), {}, pool);
    if (!result)
      return result.error();
    const Tensor &found = (*result)->results().at("o");
    std::memcpy(o, found.rawData(), found.byteSize());
    last = *std::move(result);
    return Status::success();
  }

  Status backward(const train::AttentionInputs &in, const float *dO,
                  const train::AttentionGradients &out) override {
    if (!last)
      return makeError("backward was called before forward");
    TensorMap cotangents;
    cotangents["d_o"] = borrow(dO, {in.batch, in.heads, in.length, in.headDim});
    auto gradients = encoding.function->runner->backward(*last, cotangents, pool);
    if (!gradients)
      return gradients.error();
    auto take = [&](const std::string &name, float *into) {
      const Tensor &found = gradients->at(name);
      if (into)
        std::memcpy(into, found.rawData(), found.byteSize());
    };
    take("d_q", out.dQ);
    take("d_k", out.dK);
    take("d_v", out.dV);
    for (size_t i = 0; i < known.size(); ++i)
      take("d_" + known[i].name, out.parameters[i]);
    return Status::success();
  }

private:
  static bool isData(const std::string &name) { return name == "q" || name == "k" || name == "v"; }

  static Tensor borrow(const float *data, Shape shape) {
    return Tensor::borrow(const_cast<float *>(data), DType::F32, std::move(shape));
  }

  TensorMap bind(const train::AttentionInputs &in) const {
    TensorMap arguments;
    arguments["q"] = borrow(in.q, {in.batch, in.heads, in.length, in.headDim});
    arguments["k"] = borrow(in.k, {in.batch, in.keyHeads, in.length, in.headDim});
    arguments["v"] = borrow(in.v, {in.batch, in.keyHeads, in.length, in.headDim});
    for (size_t i = 0; i < known.size(); ++i)
      arguments[known[i].name] = borrow(in.parameters[i], known[i].shape);
    return arguments;
  }

  TrainedEncoding encoding;
  std::vector<train::EncodingParameter> known;
  std::shared_ptr<const device::Call> last;
  ParallelFor &pool;
};

} // namespace

Expected<TrainedEncoding> compileEncoding(const std::string &file, int64_t headDim) {
  jit::CompileRequest request;
  request.headDim = request.valueDim = headDim;
  request.grad = true;
  request.source.name = file;
  if (file == "none") {
    request.source.text = kPlainAttention;
  } else {
    auto text = readFile(file);
    if (!text)
      return text.error();
    request.source.text = std::move(*text);
  }
  auto description = api::Compiler::instance().describe(request.source);
  if (!description)
    return description.error();
  auto function = api::Compiler::instance().compile(request);
  if (!function)
    return function.error();
  return TrainedEncoding{*description, *function};
}

train::AttentionFactory TrainedEncoding::factory(int64_t heads, ParallelFor &parallel) const {
  return [encoding = *this, heads,
          &parallel]() -> Expected<std::unique_ptr<train::AttentionFunction>> {
    return std::unique_ptr<train::AttentionFunction>(
        std::make_unique<CompiledAttention>(encoding, heads, parallel));
  };
}

Expected<train::Kernels> prepareTraining() {
  if (Status loaded = blas::load(); !loaded)
    return loaded.takeError();
  auto code =
      api::Compiler::instance().compileKernels({train::kernelSource(), "training kernels", ""});
  if (!code)
    return code.error();
  static std::vector<std::shared_ptr<cpu::LoadedCode>> loaded;
  loaded.push_back(*code);
  return train::bindKernels(
      [code = *code](const std::string &symbol) { return code->lookup(symbol); });
}

} // namespace pe::cli
