//===- PlotData.cpp - The data of a plotted call: documents, positions ---===//
#include "runtime/core/Random.h"
#include "runtime/reference/CallSizes.h"
#include "runtime/train/api/FedData.h"
#include "runtime/train/model/ProjectedInputs.h"
#include "tools/pe/Plot.h"

#include <algorithm>

namespace pe::cli {

/// Draws the document of each of `count` tokens: a few documents of random lengths.
static std::vector<int32_t> drawDocuments(int64_t count, uint64_t seed) {
  Random random(seed, "documents");
  std::vector<int32_t> documents;
  for (int32_t document = 0; static_cast<int64_t>(documents.size()) < count; ++document) {
    const auto length = static_cast<int64_t>(random.uniform(0.1, 0.5) * static_cast<double>(count));
    documents.resize(std::min(count, static_cast<int64_t>(documents.size()) + length + 1),
                     document);
  }
  return documents;
}

void PlottedEncoding::findAxisPositions(const reference::Program &parsed) {
  for (const reference::Argument &argument : parsed.arguments)
    if (const int64_t axes = reference::axesOfPositions(parsed, argument))
      axisPositions[argument.name] = axes;
}

int64_t PlottedEncoding::gridSide(int64_t length) const {
  int64_t side = 0, tokens = 0;
  while (tokens < length) {
    tokens = ++side;
    for (int64_t axis = 1; axis < axisCount(); ++axis)
      tokens *= side;
  }
  return side;
}

/// Returns the positions of tokens `first` to `first` + `count` - 1 of a grid for `length` tokens,
/// in row-major order. The first axis has no end.
Tensor PlottedEncoding::gridPositions(int64_t axes, int64_t first, int64_t count,
                                      int64_t length) const {
  const int64_t side = gridSide(length);
  Tensor positions = Tensor::zeros(DType::I32, {axes, 1, count});
  for (int64_t token = 0; token < count; ++token) {
    int64_t left = first + token;
    for (int64_t axis = axes - 1; axis >= 0; --axis, left /= side)
      positions.data<int32_t>()[axis * count + token] =
          static_cast<int32_t>(axis > 0 ? left % side : left);
  }
  return positions;
}

/// Adds the data that training recognizes by name, and applies the transformations of training to
/// the values drawn for projections. Training has complete sequences; here the keys end in padding.
Status PlottedEncoding::feedData(int64_t first, int64_t queries, int64_t keys,
                                 TensorMap &arguments) const {
  std::vector<int32_t> documents = drawDocuments(keys, settings.seed);
  const auto prefix = static_cast<int32_t>(
      Random(settings.seed, "choice.0").below(static_cast<uint64_t>(keys / 2 + 1)));
  train::AttentionInputs in;
  in.batch = 1;
  in.headDim = headDim();
  in.documents = documents.data();
  in.prefixes = &prefix;
  in.seed = settings.seed;
  for (const ValueInfo &argument : program->description->entry.arguments) {
    if (auto found = axisPositions.find(argument.name);
        found != axisPositions.end() && !given.contains(argument.name)) {
      const bool isOfQueries = argument.sizes.back() == "r";
      arguments[argument.name] =
          gridPositions(found->second, isOfQueries ? first : 0, isOfQueries ? queries : keys, keys);
      continue;
    }
    const auto kind = train::findFedData(argument);
    if (!kind || given.count(argument.name) || argument.optional)
      continue;
    Tensor &tensor = arguments[argument.name];
    if (*kind == train::FedData::Projected) {
      const int64_t length = tensor.dim(tensor.rank() - 1);
      for (int64_t line = 0; line < tensor.numel() / length; ++line)
        train::applyForm(train::projectedInputOf(argument).form,
                         {tensor.data<float>() + line * length, static_cast<size_t>(length)});
      continue;
    }
    const bool isTable = *kind == train::FedData::Cosines || *kind == train::FedData::Sines;
    in.length = isTable                            ? std::max(keys, first + queries)
                : *kind == train::FedData::Lengths ? std::max<int64_t>(3 * keys / 4, 1)
                                                   : keys;
    tensor = train::makeFedData(*kind, in);
    const bool isOfQueries = argument.sizes.size() == 2 && argument.sizes[1] == "r";
    if (isOfQueries && first + queries > keys)
      return makeError("tensor '", argument.name, "': expected queries at positions of keys");
    tensor = isOfQueries ? tensor.slice(1, first, queries).clone() : tensor.clone();
  }
  return Status::success();
}

} // namespace pe::cli
