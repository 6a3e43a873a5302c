//===- CompiledAttention.cpp - training's attention, compiled by pe ---===//
#include "tools/pe/CompiledAttention.h"

#include "runtime/core/File.h"
#include "runtime/device/cpu/ObjectLoader.h"
#include "runtime/plan/SizeExpression.h"
#include "runtime/train/blas/Blas.h"

#include <algorithm>

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

/// Runs on the model's memory: queries, outputs and gradients are where the model has them. What a
/// backward call needs of the forward call, and the workspace, is kept from step to step.
class CompiledAttention : public train::AttentionFunction {
public:
  CompiledAttention(TrainedEncoding given, std::vector<train::EncodingParameter> parameters,
                    ParallelFor &pool)
      : encoding(std::move(given)), known(std::move(parameters)), pool(pool),
        runner(*encoding.function->runner) {
    for (const train::EncodingParameter &parameter : known)
      gradientNames.push_back("d_" + parameter.name);
    const device::BoundPlan &plan = runner.bound();
    for (size_t i = 0; i < plan.buffers().size(); ++i)
      if (plan.isSaved(i))
        kept[plan.getPlan().buffers[i].name];
    for (const device::PreparedGroup &group : plan.groups())
      if (group.readBy & device::kBackward)
        kept[group.name];
  }

  const std::vector<train::EncodingParameter> &parameters() const override { return known; }

  Status forward(const train::AttentionInputs &in, float *o) override {
    std::vector<View> views = argumentsOf(in);
    for (auto &[name, tensor] : kept) {
      View view = {};
      view.name = name.c_str();
      if (Status s = runner.shapeOf(argumentsOf(in), view); !s)
        return s;
      Shape shape(view.shape, view.shape + view.rank);
      if (!tensor.isDefined() || tensor.shape() != shape)
        tensor = Tensor::empty(static_cast<DType>(view.dtype), std::move(shape));
      views.push_back(viewOf(name.c_str(), tensor));
    }
    views.push_back(viewOn("o", o, {in.batch, in.heads, in.length, in.headDim}));
    output = o;
    return run(device::kPrepare | device::kForward, views);
  }

  Status backward(const train::AttentionInputs &in, const float *dO,
                  const train::AttentionGradients &out) override {
    if (!output)
      return makeError("backward was called before forward");
    const Shape queries = {in.batch, in.heads, in.length, in.headDim},
                keys = {in.batch, in.keyHeads, in.length, in.headDim};
    std::vector<View> views = argumentsOf(in);
    for (auto &[name, tensor] : kept)
      views.push_back(viewOf(name.c_str(), tensor));
    views.push_back(viewOn("o", output, queries));
    views.push_back(viewOn("d_o", dO, queries));
    for (auto [name, into, shape] :
         {std::tuple{"d_q", out.dQ, &queries}, {"d_k", out.dK, &keys}, {"d_v", out.dV, &keys}})
      if (into)
        views.push_back(viewOn(name, into, *shape));
    for (size_t i = 0; i < known.size(); ++i)
      if (out.parameters[i])
        views.push_back(viewOn(gradientNames[i].c_str(), out.parameters[i], known[i].shape));
    return run(device::kBackward, views);
  }

private:
  static View viewOn(const char *name, const float *data, const Shape &shape) {
    return viewOf(name, Tensor::borrow(const_cast<float *>(data), DType::F32, shape));
  }

  std::vector<View> argumentsOf(const train::AttentionInputs &in) const {
    const Shape keys = {in.batch, in.keyHeads, in.length, in.headDim};
    std::vector<View> views = {viewOn("q", in.q, {in.batch, in.heads, in.length, in.headDim}),
                               viewOn("k", in.k, keys), viewOn("v", in.v, keys)};
    for (size_t i = 0; i < known.size(); ++i)
      views.push_back(viewOn(known[i].name.c_str(), in.parameters[i], known[i].shape));
    return views;
  }

  Status run(device::Halves halves, const std::vector<View> &views) {
    device::BoundCall call(runner.bound(), halves, views);
    if (Status s = call.bind({}); !s)
      return s;
    if (!workspace.isDefined() || workspace.numel() < call.workspaceBytes())
      workspace = Tensor::empty(DType::U8, {call.workspaceBytes()});
    device::CallContext context;
    context.workspace = workspace.rawData();
    context.workspaceBytes = workspace.numel();
    context.pool = &pool;
    if (Status s = call.checkMemory(context.workspace, context.workspaceBytes); !s)
      return s;
    return runner.run(call, context);
  }

  TrainedEncoding encoding;
  std::vector<train::EncodingParameter> known;
  std::vector<std::string> gradientNames;
  ParallelFor &pool;
  const device::Runner &runner;
  /// Saved and prepared tensors by name.
  TensorMap kept;
  Tensor workspace;
  /// Where the last forward call wrote.
  const float *output = nullptr;
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
