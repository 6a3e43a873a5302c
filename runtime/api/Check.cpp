//===- Check.cpp - Comparison of results with the reference ---------------===//
#include "runtime/api/Check.h"

#include "runtime/device/common/Runner.h"
#include "runtime/plan/Plan.h"

#include <nlohmann/json.hpp>

namespace pe::api {

Expected<Judgement> judge(const jit::Description &description, const CompiledFunction &function,
                          const TensorMap &inputs, const TensorMap &found,
                          const Positions &positions, bool grad, unsigned threads) {
  auto parsed = reference::parseProgram(description.program);
  if (!parsed)
    return parsed.takeError();
  reference::EvaluateOptions evaluation;
  evaluation.threads = threads;
  auto results = reference::evaluate(*parsed, inputs, positions, grad, evaluation);
  if (!results)
    return results.takeError();
  reference::CompareOptions comparison;
  comparison.computation = function.runner->getPlan().dtype;
  if (!function.explainJson.empty()) { // empty for the reference
    auto approximations = reference::approximationsOf(function.explainJson);
    if (!approximations)
      return approximations.takeError();
    comparison.approximations = *std::move(approximations);
  }
  std::optional<reference::Results> rounded;
  if (comparison.computation != DType::F32 && comparison.computation != DType::F64) {
    evaluation.rounding = comparison.computation;
    auto evaluated = reference::evaluate(*parsed, inputs, positions, grad, evaluation);
    if (!evaluated)
      return evaluated.takeError();
    rounded = *std::move(evaluated);
    comparison.rounded = &*rounded;
  }
  auto report = reference::compare(*results, found, comparison);
  if (!report)
    return report.takeError();
  return Judgement{*std::move(report), results->maxLogit, std::move(results->outsideReads),
                   std::move(results->badScore)};
}

Status Judgement::status() const {
  if (passes())
    return Status::success();
  if (!outsideReads.empty())
    return makeError(outsideReads.front().message()).at(outsideReads.front().location);
  if (const reference::TensorReport *tensor = report.findNothingFinite())
    return makeError("'", tensor->name, "' has no finite element", badScore.empty() ? "" : "; ",
                     badScore);
  if (std::string name = report.findUnbounded(); !name.empty())
    return makeError("'", name, "' cannot be checked: its error bound exceeds 1; logits reach ",
                     maxLogit, ", so their rounding alone may change every weight");
  return makeError("results differ from the float64 reference beyond the stated tolerance");
}

std::string Judgement::json() const {
  using Json = nlohmann::ordered_json;
  Json tensors = Json::array();
  for (const reference::TensorReport &tensor : report.tensors)
    tensors.push_back({{"name", tensor.name},
                       {"line", tensor.line()},
                       {"passes", tensor.passes()},
                       {"error", tensor.error},
                       {"norm", tensor.norm},
                       {"bound", tensor.bound},
                       {"scale", tensor.scale},
                       {"not_finite", tensor.notFinite},
                       {"problem", tensor.problem}});
  Json outside = Json::array();
  for (const reference::OutsideRead &read : outsideReads)
    outside.push_back((read.location.empty() ? "" : read.location + ": ") + read.message());
  const Status judged = status();
  return Json{{"passes", passes()},    {"message", judged ? "" : judged.error().getMessage()},
              {"max_logit", maxLogit}, {"outside_reads", outside},
              {"bad_score", badScore}, {"tensors", tensors}}
      .dump();
}

} // namespace pe::api
