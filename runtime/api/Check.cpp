//===- Check.cpp - Comparison of results with the reference ---------------===//
#include "runtime/api/Check.h"

#include "runtime/device/common/Runner.h"
#include "runtime/plan/Plan.h"
#include "runtime/reference/Entries.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace pe::api {

/// Returns the first tensor that fails in both reports by errors of similar size, or null.
static const reference::TensorReport *findSameFailure(const reference::Report &found,
                                                      const reference::Report &rounded) {
  for (const reference::TensorReport &tensor : found.tensors)
    for (const reference::TensorReport &other : rounded.tensors) {
      const bool isAsLarge = !other.problem.empty() || other.error * 16 >= tensor.error;
      if (tensor.name == other.name && !tensor.passes() && !other.passes() && isAsLarge)
        return &other;
    }
  return nullptr;
}

/// Evaluates the function again with its formulas in float32 and everything else in float64. If
/// this fails in the same way as the results of the call, no float32 computation could have passed.
static Expected<std::optional<Judgement::Explanation>>
explain(const reference::Program &program, const TensorMap &inputs, const Positions &positions,
        bool grad, unsigned threads, const reference::Results &exact,
        const reference::Report &report) {
  std::optional<Judgement::Explanation> explanation;
  reference::EvaluateOptions options;
  options.threads = threads;
  options.roundsFormulas = true;
  auto rounded = reference::evaluate(program, inputs, positions, grad, options);
  if (!rounded)
    return rounded.takeError();
  TensorMap found = std::move(rounded->outputs);
  found.merge(rounded->gradients);
  auto ofRounded = reference::compare(exact, found);
  if (!ofRounded)
    return ofRounded.takeError();
  const reference::TensorReport *tensor = findSameFailure(report, *ofRounded);
  if (!tensor)
    return explanation;
  auto loss = reference::findFormulaLoss(program, inputs, positions);
  if (!loss)
    return loss.takeError();
  explanation = Judgement::Explanation{*tensor, *std::move(loss)};
  return explanation;
}

Expected<Judgement> judge(const jit::Description &description, const CompiledFunction &function,
                          const TensorMap &inputs, const TensorMap &found,
                          const Positions &positions, bool grad, unsigned threads) {
  auto parsed = reference::parseProgram(description.program);
  if (!parsed)
    return parsed.takeError();
  reference::EvaluateOptions evaluation;
  evaluation.threads = threads;
  const std::vector<ValueInfo> &arguments = description.entry.arguments;
  auto results =
      reference::evaluateEntries(*parsed, arguments, inputs, positions, grad, evaluation);
  if (!results)
    return results.takeError();
  reference::CompareOptions comparison;
  comparison.computation = function.runner->getPlan().products;
  if (!function.explainJson.empty()) { // empty for the reference
    auto approximations = reference::approximationsOf(function.explainJson);
    if (!approximations)
      return approximations.takeError();
    comparison.approximations = *std::move(approximations);
  }
  std::optional<reference::Results> rounded;
  if (comparison.computation != DType::F32 && comparison.computation != DType::F64) {
    evaluation.rounding = comparison.computation;
    auto evaluated =
        reference::evaluateEntries(*parsed, arguments, inputs, positions, grad, evaluation);
    if (!evaluated)
      return evaluated.takeError();
    rounded = *std::move(evaluated);
    comparison.rounded = &*rounded;
  }
  auto report = reference::compare(*results, found, comparison);
  if (!report)
    return report.takeError();
  std::optional<Judgement::Explanation> explanation;
  if (!report->passes() && !reference::hasLengths(*parsed, inputs)) {
    auto explained = explain(*parsed, inputs, positions, grad, threads, *results, *report);
    if (!explained)
      return explained.takeError();
    explanation = *std::move(explained);
  }
  return Judgement{*std::move(report), results->maxLogit, std::move(results->outsideReads),
                   std::move(results->badScore), std::move(explanation)};
}

/// Returns the error that explains the difference, located at the operation that loses the digits
/// if it is known.
static Error describe(const Judgement::Explanation &explanation) {
  const auto &[tensor, loss] = explanation;
  char error[64];
  std::snprintf(error, sizeof(error), "error %.2e",
                tensor.error / (tensor.isAbsolute() ? 1.0 : tensor.norm));
  const std::string found = tensor.problem.empty() ? error : tensor.problem;
  return makeError(
             "results differ from the float64 reference beyond the stated tolerance because "
             "the formula loses digits in float32: evaluated in float32 alone, it fails too ('",
             tensor.name, "': ", found, ")", loss.message.empty() ? "" : "; ", loss.message,
             "; keep the operands small, or compute them in integers, which are exact")
      .at(loss.location);
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
  if (explanation)
    return describe(*explanation);
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
