//===- Optimizers.cpp - Assignment of parameters to optimizers ------------===//
//
// Routes, norms, and the calls of the optimizers.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Optimizers.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>

namespace pe::train {
namespace {

/// Elements per work item of a norm.
constexpr int64_t kSlice = 8192;

constexpr size_t kAdamW = 0, kMuon = 1, kNone = Route::kNone;

Route routeOf(const Parameter &parameter, OptimizerKind kind) {
  if (parameter.frozen)
    return {kNone, "frozen: it keeps its initial values"};
  switch (parameter.role) {
  case Role::Embedding:
    return {kAdamW, parameter.shared ? "tied embedding and output head"
                                     : "embedding: its rows are looked up, not multiplied"};
  case Role::Head:
    return {kAdamW, "output head: one row for each token"};
  case Role::Encoding:
    return {kAdamW, "parameter of the encoding"};
  case Role::Gate:
    return {kAdamW, "input of the encoding: one row for each head"};
  case Role::Attention:
  case Role::Mlp:
    break;
  }
  if (parameter.shape.size() != 2)
    return {kAdamW, "not a matrix"};
  return {kind == OptimizerKind::Muon ? kMuon : kAdamW,
          "matrix of " + std::string(parameter.role == Role::Attention ? "attention"
                                                                       : "a feed-forward layer")};
}

} // namespace

Expected<OptimizerKind> parseOptimizer(std::string_view name) {
  if (name == "adamw")
    return OptimizerKind::AdamW;
  if (name == "muon")
    return OptimizerKind::Muon;
  return makeError("expected an optimizer of ", joinChoices({"adamw", "muon"}), ", found '", name,
                   "'");
}

Optimizers::Optimizers(const ParameterLayout &layout, const Kernels &kernels,
                       const OptimizerConfig &config)
    : layout(layout), kernels(kernels), counts(layout.size()) {
  std::vector<std::vector<int64_t>> chosen(2);
  for (int64_t index = 0; index < layout.size(); ++index) {
    ways.push_back(routeOf(layout[index], config.kind));
    if (ways.back().optimizer != kNone)
      chosen[ways.back().optimizer].push_back(index);
    for (int64_t begin = 0; begin < layout[index].extent; begin += kSlice)
      slices.push_back(
          {index, layout[index].offset + begin, std::min(kSlice, layout[index].extent - begin)});
  }
  list.push_back(std::make_unique<AdamW>(layout, chosen[kAdamW], kernels, config.adamw));
  if (config.kind == OptimizerKind::Muon)
    list.push_back(std::make_unique<Muon>(layout, chosen[kMuon], kernels, config.muon));
}

Norms Optimizers::norms(const ParameterBlock &block, ParallelFor &parallel) const {
  std::vector<double> sums(slices.size());
  parallelFor(parallel, static_cast<int64_t>(slices.size()), [&](int64_t item) {
    kernels.sumSquares(block.data() + slices[item].offset, &sums[item], slices[item].count);
  });
  Norms result{0, std::vector<double>(list.size())};
  for (size_t item = 0; item < slices.size(); ++item) {
    result.total += sums[item];
    if (const size_t optimizer = ways[slices[item].parameter].optimizer; optimizer != kNone)
      result.each[optimizer] += sums[item];
  }
  result.total = std::sqrt(result.total);
  for (double &norm : result.each)
    norm = std::sqrt(norm);
  return result;
}

Status Optimizers::step(ParameterBlock &values, const ParameterBlock &gradients, const Norms &norms,
                        const Rates &rates, ParallelFor &parallel) {
  for (int64_t &count : counts)
    ++count;
  for (size_t i = 0; i < list.size(); ++i)
    if (Status status = list[i]->step({values, gradients, norms.each[i], rates.each[i],
                                       rates.encoding.value_or(rates.each[i]), counts, parallel});
        !status)
      return status;
  return Status::success();
}

std::string_view Optimizers::nameOf(int64_t parameter) const {
  const size_t optimizer = ways[parameter].optimizer;
  return optimizer == kNone ? "none" : list[optimizer]->name();
}

std::vector<StateBlock> *Optimizers::stateOf(int64_t parameter) {
  const size_t optimizer = ways[parameter].optimizer;
  return optimizer == kNone ? nullptr : &list[optimizer]->state();
}

void Optimizers::reset(int64_t parameter) {
  std::vector<StateBlock> *blocks = stateOf(parameter);
  if (!blocks)
    return;
  for (StateBlock &block : *blocks)
    std::fill_n(block.at(parameter), layout[parameter].extent, 0.0f);
  counts[parameter] = 0;
}

void Optimizers::reset(int64_t parameter, std::span<const int64_t> elements) {
  if (std::vector<StateBlock> *blocks = stateOf(parameter))
    for (StateBlock &block : *blocks)
      for (int64_t element : elements)
        block.at(parameter)[element] = 0;
}

float *Optimizers::find(std::string_view name, int64_t parameter) {
  if (std::vector<StateBlock> *blocks = stateOf(parameter))
    for (StateBlock &block : *blocks)
      if (block.name() == name)
        return block.at(parameter);
  return nullptr;
}

std::vector<StatePart> Optimizers::state() {
  std::vector<StatePart> parts;
  for (int64_t index = 0; index < layout.size(); ++index) {
    std::vector<StateBlock> *blocks = stateOf(index);
    if (!blocks)
      continue;
    for (StateBlock &block : *blocks)
      parts.push_back({block.name() + "." + layout[index].name,
                       Tensor::borrow(block.at(index), DType::F32, layout[index].shape),
                       block.least()});
  }
  parts.push_back({"updates", viewOf(counts)});
  return parts;
}

} // namespace pe::train
