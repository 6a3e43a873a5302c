//===- CompiledEmbedding.cpp - Compiled encodings of the token embedding ---===//
#include "runtime/train/api/CompiledEmbedding.h"

#include "runtime/train/api/BoundFunction.h"

namespace pe::train {
namespace {

class CompiledEmbedding : public EmbeddingFunction {
public:
  CompiledEmbedding(std::shared_ptr<const TrainedFunction> given, int64_t dim, ParallelFor &pool)
      : known(std::move(given)), dim(dim), function(known->function, pool) {
    for (const auto &parameter : known->parameters)
      gradientNames.push_back("d_" + parameter.name);
  }

  const std::vector<EncodingParameter> &parameters() const override { return known->parameters; }

  Status forward(int64_t batch, int64_t length, const float *x,
                 const std::vector<const float *> &parameters, float *y) override {
    std::vector<View> views = argumentsOf(batch, length, x, parameters);
    views.push_back(viewOn("y", y, {batch, length, dim}));
    return function.forward(std::move(views), kept);
  }

  Status backward(int64_t batch, int64_t length, const float *x,
                  const std::vector<const float *> &parameters, const float *dY,
                  const std::vector<float *> &gradients) override {
    if (known->parameters.empty())
      return Status::success();
    std::vector<View> views = argumentsOf(batch, length, x, parameters);
    views.push_back(viewOn("d_y", dY, {batch, length, dim}));
    for (size_t i = 0; i < gradients.size(); ++i)
      views.push_back(viewOn(gradientNames[i].c_str(), gradients[i], known->parameters[i].shape));
    return function.backward(std::move(views), kept);
  }

private:
  std::vector<View> argumentsOf(int64_t batch, int64_t length, const float *x,
                                const std::vector<const float *> &parameters) const {
    std::vector<View> views = {viewOn("x", x, {batch, length, dim})};
    for (size_t i = 0; i < parameters.size(); ++i)
      views.push_back(
          viewOn(known->parameters[i].name.c_str(), parameters[i], known->parameters[i].shape));
    return views;
  }

  std::shared_ptr<const TrainedFunction> known;
  int64_t dim;
  BoundFunction function;
  std::vector<std::string> gradientNames;
  TensorMap kept;
};

} // namespace

std::unique_ptr<EmbeddingFunction>
makeCompiledEmbedding(std::shared_ptr<const TrainedFunction> function, int64_t dim,
                      ParallelFor &pool) {
  return std::make_unique<CompiledEmbedding>(std::move(function), dim, pool);
}

} // namespace pe::train
