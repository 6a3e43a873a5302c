//===- Conformance.cpp - Runs the case table ------------------------------===//

#include "conformance/Conformance.h"

#include "conformance/RandomInputs.h"
#include "runtime/reference/Entries.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace pe::conformance {
namespace {

Expected<std::string> readFile(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!(text << file.rdbuf()))
    return makeError("cannot read '", path, "'");
  return text.str();
}

/// Returns error / bound of a tensor, or a large value if it could not be compared.
double shareOf(const reference::TensorReport &tensor) {
  reference::Report single;
  single.tensors.push_back(tensor);
  return single.worstShare();
}

/// Adds its lifetime to an entry of SuiteTimes.
class Stopwatch {
public:
  explicit Stopwatch(double &account) : account(account) {}
  ~Stopwatch() {
    account += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  double &account;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace

bool takesLengths(const reference::Program &program, const jit::EntryInfo &entry) {
  const bool isArgument = std::ranges::any_of(
      entry.arguments, [](const jit::ValueInfo &argument) { return argument.name == "kv_len"; });
  return !isArgument && reference::checkEntries(program, entry.arguments);
}

std::string CaseResult::summary() const {
  std::string name = encoding + " " + call + (subject.empty() ? "" : " " + subject);
  name.resize(std::max<size_t>(name.size(), 44), ' ');
  if (!failure.empty())
    return name + " " + failure + "  FAILED\n";
  if (!exemption.empty())
    return name + " not supported: " + exemption + "\n";
  auto worst =
      std::max_element(report.tensors.begin(), report.tensors.end(),
                       [](const auto &a, const auto &b) { return shareOf(a) < shareOf(b); });
  if (worst == report.tensors.end())
    return name + " nothing to compare  FAILED\n";
  reference::Report single;
  single.tensors.push_back(*worst);
  return name + " " + single.table();
}

Expected<const Suite::Loaded *> Suite::load(const EncodingFile &encoding) {
  std::string name(encoding.name);
  if (auto found = loadedEncodings.find(name); found != loadedEncodings.end())
    return &found->second;
  std::string path = root + "/" + std::string(encoding.path);
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  jit::Source source{std::move(*text), path, ""};
  auto description = subject.describe(source);
  if (!description)
    return description.takeError();
  auto program = reference::parseProgram(description->program);
  if (!program)
    return program.takeError();
  Loaded loaded{std::move(source), std::move(description->entry), std::move(*program)};
  return &loadedEncodings.emplace(name, std::move(loaded)).first->second;
}

Expected<Function *> Suite::compile(const EncodingFile &encoding, const Loaded &loaded,
                                    const Call &call, Subject &asked) {
  // An embedding is not specialized to a width; its depths have their default values.
  const int64_t headDim = encoding.isEmbedding ? 64 : call.headDim;
  const int64_t valueDim = encoding.isEmbedding ? 64 : call.valueDim;
  std::pair key(&asked, std::string(encoding.name) + " " + std::to_string(headDim) + " " +
                            std::to_string(valueDim));
  if (auto found = functions.find(key); found != functions.end())
    return found->second.get();
  Stopwatch watch(spent.compiling);
  auto function = asked.compile(loaded.source, headDim, valueDim);
  if (!function)
    return function.takeError();
  return functions.emplace(key, std::move(*function)).first->second.get();
}

Status Suite::ask(const EncodingFile &encoding, const Call &call, const Loaded &loaded) {
  if (question.encoding == encoding.name && question.call == call.name)
    return Status::success();
  Stopwatch watch(spent.reference);
  question = {};
  auto inputs = drawInputs(loaded.entry, call, seed + call.seed);
  if (!inputs)
    return inputs.takeError();
  for (auto &[name, tensor] : *inputs) {
    if (!isActivation(loaded.entry, name))
      continue;
    auto rounded = convert(tensor, storageOf(dtype));
    if (!rounded)
      return rounded.takeError();
    tensor = std::move(*rounded);
  }
  if (!call.lengths.empty() && takesLengths(loaded.program, loaded.entry))
    inputs->emplace(
        "kv_len", Tensor::of(std::vector(call.lengths.begin(), call.lengths.end()), {call.batch}));
  const auto evaluate = [&](const reference::EvaluateOptions &options) {
    return reference::evaluateEntries(loaded.program, loaded.entry.arguments, *inputs,
                                      call.positions, grad, options);
  };
  auto expected = evaluate({});
  if (!expected)
    return expected.takeError();
  if (computation != DType::F32) {
    auto rounded = evaluate({.rounding = computation, .threads = 0});
    if (!rounded)
      return rounded.takeError();
    question.rounded = std::move(*rounded);
  }
  question.encoding = encoding.name;
  question.call = call.name;
  question.inputs = std::move(*inputs);
  question.expected = std::move(*expected);
  return Status::success();
}

Status Suite::runCase(const EncodingFile &encoding, const Call &call, Subject &asked, bool once,
                      CaseResult &result) {
  auto loaded = load(encoding);
  if (!loaded)
    return loaded.takeError();
  auto function = compile(encoding, **loaded, call, asked);
  if (!function)
    return function.takeError();
  if (Status status = ask(encoding, call, **loaded); !status)
    return status;
  reference::CompareOptions comparison;
  comparison.computation = computation;
  if (computation != DType::F32)
    comparison.rounded = &question.rounded;
  auto approximations = reference::approximationsOf((*function)->explainJson());
  if (!approximations)
    return approximations.takeError();
  comparison.approximations = *std::move(approximations);

  Stopwatch watch(spent.running);
  TensorMap first;
  for (int threads : std::span(threadCounts).first(once ? 1 : threadCounts.size())) {
    auto found = (*function)->run(question.inputs, call.positions, threads);
    if (!found)
      return found.takeError();
    if (first.empty()) {
      auto report = reference::compare(question.expected, *found, comparison);
      if (!report)
        return report.takeError();
      result.report = std::move(*report);
      first = std::move(*found);
    } else if (std::string name = reference::findBitwiseDifference(first, *found); !name.empty()) {
      return makeError("'", name, "' differs bitwise between a run on ", threadCounts[0],
                       " threads and one on ", threads);
    }
  }
  return Status::success();
}

CaseResult Suite::run(const EncodingFile &encoding, const Call &call) {
  return run(encoding, call, subject);
}

CaseResult Suite::run(const EncodingFile &encoding, const Call &listed, Subject &other, bool once) {
  Call call = listed;
  if (encoding.isUngrouped)
    call.keyHeads = call.queryHeads;
  if (encoding.isPlaced) {
    call.batch = std::min<int64_t>(call.batch, 1);
    const int64_t start =
        call.positions.queryStart.value_or(call.positions.keyStart + call.keys - call.queries);
    call.positions.queryStart = std::max<int64_t>(start, 0);
  }
  CaseResult result;
  result.encoding = encoding.name;
  result.call = call.name;
  if (Status status = runCase(encoding, call, other, once, result); !status)
    result.failure = status.error().render("error");
  return result;
}

} // namespace pe::conformance
