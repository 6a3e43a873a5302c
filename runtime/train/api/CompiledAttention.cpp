//===- CompiledAttention.cpp - The compiled attention of a layer ----------===//
#include "runtime/train/api/CompiledAttention.h"

#include "runtime/train/api/BoundFunction.h"

#include <cmath>

namespace pe::train {
namespace {

/// The part of a batch that one call processes: the entire batch, or one sequence.
struct Part {
  TensorMap kept, data;
  std::vector<Tensor> gradients;
};

class CompiledAttention : public AttentionFunction {
public:
  CompiledAttention(std::shared_ptr<const TrainedFunction> given, ParallelFor &pool)
      : known(std::move(given)), training(known->function, pool) {
    if (known->evaluation)
      evaluation.emplace(known->evaluation, pool);
    for (const auto &parameter : known->parameters)
      parameterGradients.push_back("d_" + parameter.name);
    for (const auto &input : known->projected)
      projectedGradients.push_back("d_" + input.name);
  }

  const std::vector<EncodingParameter> &parameters() const override { return known->parameters; }
  std::vector<ProjectedInput> projected() const override { return known->projected; }
  bool readsPrefixes() const override { return known->has(FedData::Prefixes); }

  Status forward(const AttentionInputs &in, const HeadRows<float> &o) override {
    output = {o.data, o.pitch};
    const bool drops = in.training || !evaluation;
    std::vector<Part> &parts = drops ? trained : evaluated;
    parts.resize(partCount(in));
    for (size_t part = 0; part < parts.size(); ++part) {
      const AttentionInputs piece = partOf(in, part);
      fillData(piece, parts[part].data);
      std::vector<View> views = argumentsOf(piece, parts[part].data);
      addHeads(views, &HeadSet::o, partOf(output, in, part), piece, piece.heads);
      if (Status s = (drops ? training : *evaluation).forward(views, parts[part].kept); !s)
        return s;
    }
    return Status::success();
  }

  Status backward(const AttentionInputs &in, const HeadRows<const float> &dO,
                  const AttentionGradients &out) override {
    if (!output.data)
      return makeError("backward was called before forward");
    for (size_t part = 0; part < trained.size(); ++part)
      if (Status s = backwardPart(in, part, dO, out); !s)
        return s;
    return Status::success();
  }

private:
  size_t partCount(const AttentionInputs &in) const {
    return known->has(FedData::Boundaries) ? in.batch : 1;
  }
  /// Returns the rows of a part of the batch.
  template <typename Float>
  static HeadRows<const Float> partOf(const HeadRows<Float> &rows, const AttentionInputs &in,
                                      size_t part) {
    return {rows.at(static_cast<int64_t>(part) * in.length), rows.pitch};
  }
  int64_t projectedOffset(const AttentionInputs &in, size_t input, size_t part) const {
    return static_cast<int64_t>(part) * (known->projected[input].perHead ? in.heads : 1) *
           in.length;
  }

  AttentionInputs partOf(const AttentionInputs &in, size_t part) const {
    if (!known->has(FedData::Boundaries))
      return in;
    AttentionInputs piece = in;
    piece.batch = 1;
    for (HeadRows<const float> *rows : {&piece.q, &piece.k, &piece.v})
      *rows = partOf(*rows, in, part);
    piece.documents += static_cast<int64_t>(part) * in.length;
    piece.prefixes += part;
    for (size_t i = 0; i < piece.projected.size(); ++i)
      piece.projected[i] += projectedOffset(in, i, part);
    return piece;
  }

  /// Adds the heads of every set, [batch, heads, length, headDim], as the argument or result
  /// `name`.
  void addHeads(std::vector<View> &views, std::string HeadSet::*name,
                const HeadRows<const float> &rows, const AttentionInputs &in, int64_t heads) const {
    const int64_t each = heads / static_cast<int64_t>(known->sets.size());
    for (size_t set = 0; set < known->sets.size(); ++set) {
      View view = viewOn((known->sets[set].*name).c_str(),
                         rows.at(0, static_cast<int64_t>(set) * each * in.headDim),
                         {in.batch, each, in.length, in.headDim});
      view.strides[0] = in.length * rows.pitch;
      view.strides[1] = in.headDim;
      view.strides[2] = rows.pitch;
      views.push_back(view);
    }
  }

  void addProjected(std::vector<View> &views, const std::string &name, size_t input,
                    const float *data, const AttentionInputs &in) const {
    Shape shape = {in.batch, in.heads, in.length};
    if (!known->projected[input].perHead)
      shape.erase(shape.begin() + 1);
    views.push_back(viewOn(name.c_str(), data, shape));
  }

  std::vector<View> argumentsOf(const AttentionInputs &in, const TensorMap &data) const {
    std::vector<View> views;
    addHeads(views, &HeadSet::q, in.q, in, in.heads);
    addHeads(views, &HeadSet::k, in.k, in, in.keyHeads);
    addHeads(views, &HeadSet::v, in.v, in, in.keyHeads);
    for (size_t i = 0; i < known->parameters.size(); ++i)
      views.push_back(
          viewOn(known->parameters[i].name.c_str(), in.parameters[i], known->parameters[i].shape));
    for (size_t i = 0; i < known->projected.size(); ++i)
      addProjected(views, known->projected[i].name, i, in.projected[i], in);
    for (const auto &[name, tensor] : data)
      views.push_back(viewOf(name.c_str(), tensor));
    return views;
  }

  /// Computes all fed data of this call except projections.
  void fillData(const AttentionInputs &in, TensorMap &data) const {
    for (const DataArgument &argument : known->data)
      if (argument.kind != FedData::Projected)
        data[argument.name] = makeFedData(argument.kind, in);
  }

  Status backwardPart(const AttentionInputs &in, size_t index, const HeadRows<const float> &dO,
                      const AttentionGradients &out) {
    Part &part = trained[index];
    const AttentionInputs piece = partOf(in, index);
    std::vector<View> views = argumentsOf(piece, part.data);
    addHeads(views, &HeadSet::o, partOf(output, in, index), piece, piece.heads);
    addHeads(views, &HeadSet::dO, partOf(dO, in, index), piece, piece.heads);
    addHeads(views, &HeadSet::dQ, partOf(out.dQ, in, index), piece, piece.heads);
    addHeads(views, &HeadSet::dK, partOf(out.dK, in, index), piece, piece.keyHeads);
    addHeads(views, &HeadSet::dV, partOf(out.dV, in, index), piece, piece.keyHeads);
    for (size_t i = 0; i < known->projected.size(); ++i)
      addProjected(views, projectedGradients[i], i,
                   out.projected[i] + projectedOffset(in, i, index), piece);
    // The first sequence writes the parameters' gradients; the others are added in order.
    std::vector<Tensor> &sums = part.gradients;
    for (size_t i = 0; i < known->parameters.size(); ++i) {
      if (sums.size() <= i)
        sums.push_back(Tensor::empty(DType::F32, known->parameters[i].shape));
      views.push_back(viewOn(parameterGradients[i].c_str(),
                             index == 0 ? out.parameters[i] : sums[i].data<float>(),
                             known->parameters[i].shape));
    }
    if (Status s = training.backward(views, part.kept); !s)
      return s;
    for (size_t i = 0; i < known->parameters.size() && index > 0; ++i)
      for (int64_t element = 0; element < sums[i].numel(); ++element)
        out.parameters[i][element] += sums[i].data<float>()[element];
    return Status::success();
  }

  std::shared_ptr<const TrainedFunction> known;
  BoundFunction training;
  std::optional<BoundFunction> evaluation;
  std::vector<std::string> parameterGradients, projectedGradients;
  std::vector<Part> trained, evaluated;
  /// The output of the last forward call.
  HeadRows<const float> output;
};

} // namespace

std::unique_ptr<AttentionFunction>
makeCompiledAttention(std::shared_ptr<const TrainedFunction> function, ParallelFor &pool) {
  return std::make_unique<CompiledAttention>(std::move(function), pool);
}

} // namespace pe::train
