//===- CompiledAttention.cpp - training's attention, compiled by pe ---===//
#include "tools/pe/CompiledAttention.h"

#include "runtime/core/File.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/plan/SizeExpression.h"
#include "runtime/train/blas/Blas.h"

#include <algorithm>
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

bool isData(const std::string &name) { return name == "q" || name == "k" || name == "v"; }

/// The shape of a parameter: numbers, depths, and at most one axis of heads. The compiler takes
/// every other open axis for heads too, so two of them say that the tensor is none of a parameter's
/// shape.
Expected<Shape> shapeOf(const ValueInfo &argument, int64_t heads, int64_t headDim) {
  const auto fail = [&](const std::string &why) {
    return makeError("'", argument.name, "' has ", why,
                     ", so it is data; only q, k, v are fed in "
                     "training, and a parameter has numbers for axes and at most one of heads")
        .at(argument.location);
  };
  const plan::SizeValues sizes = {{"hq", heads}, {"d", headDim}, {"e", headDim}};
  Shape shape;
  int64_t headAxes = 0;
  for (size_t axis = 0; axis < argument.dims.size(); ++axis) {
    int64_t size = argument.dims[axis];
    if (size < 0) {
      auto expression = plan::SizeExpression::parse(argument.sizes[axis]);
      auto value =
          expression ? expression->evaluate(sizes) : Expected<int64_t>(expression.takeError());
      if (!value)
        return fail("an axis of size '" + argument.sizes[axis] + "'");
      headAxes += argument.sizes[axis] == "hq";
      size = *value;
    }
    shape.push_back(size);
  }
  if (headAxes > 1)
    return fail(std::to_string(headAxes) + " open axes");
  return shape;
}

/// What training can drive: q, k and v in, o out, and parameters that say how they begin.
Status checkTrainable(const EntryInfo &entry) {
  const auto has = [](const std::vector<ValueInfo> &values, const std::string &name) {
    return std::any_of(values.begin(), values.end(),
                       [&](const ValueInfo &value) { return value.name == name; });
  };
  for (const char *name : {"q", "k", "v"})
    if (!has(entry.arguments, name))
      return makeError("expected the arguments q, k and v to train with, found no '", name, "'")
          .at(entry.location);
  if (!has(entry.results, "o"))
    return makeError("expected a result o to train with, found none").at(entry.location);
  for (const ValueInfo &argument : entry.arguments) {
    if (isData(argument.name) || argument.optional)
      continue;
    if (argument.parameter.init.empty() || argument.dtype != DType::F32)
      return makeError("'", argument.name,
                       "' is data; only q, k, v are fed in training (a parameter "
                       "is f32 and has a pe.init)")
          .at(argument.location);
    if (auto shape = shapeOf(argument, /*heads=*/1, /*headDim=*/8); !shape)
      return shape.takeError();
  }
  return Status::success();
}

Expected<std::vector<train::EncodingParameter>> parametersOf(const EntryInfo &entry, int64_t heads,
                                                             int64_t headDim) {
  std::vector<train::EncodingParameter> parameters;
  for (const ValueInfo &argument : entry.arguments) {
    if (isData(argument.name) || argument.optional)
      continue;
    auto shape = shapeOf(argument, heads, headDim);
    if (!shape)
      return shape.takeError();
    const double lowest = -std::numeric_limits<double>::infinity();
    parameters.push_back(
        {argument.name, *std::move(shape), argument.parameter.init, argument.parameter.decay,
         static_cast<float>(argument.parameter.min.value_or(lowest)), argument.parameter.monitor});
  }
  return parameters;
}

class CompiledAttention : public train::AttentionFunction {
public:
  CompiledAttention(TrainedEncoding encoding, std::vector<train::EncodingParameter> parameters,
                    ParallelFor &pool)
      : encoding(std::move(encoding)), known(std::move(parameters)), pool(pool) {}

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
  if (Status trainable = checkTrainable((*description)->entry); !trainable)
    return trainable.takeError();
  auto function = api::Compiler::instance().compile(request);
  if (!function)
    return function.error();
  return TrainedEncoding{*description, *function};
}

train::AttentionFactory TrainedEncoding::factory(int64_t heads, ParallelFor &parallel) const {
  return [encoding = *this, heads,
          &parallel]() -> Expected<std::unique_ptr<train::AttentionFunction>> {
    auto parameters = parametersOf(encoding.description->entry, heads,
                                   encoding.function->runner->getPlan().headDim);
    if (!parameters)
      return parameters.takeError();
    return std::unique_ptr<train::AttentionFunction>(
        std::make_unique<CompiledAttention>(encoding, *std::move(parameters), parallel));
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
