//===- Judge.cpp - Runs one program on every target -----------------------===//

#include "fuzz/Judge.h"

#include "conformance/RandomInputs.h"
#include "fuzz/EvaluateProgram.h"
#include "fuzz/Print.h"
#include "fuzz/Triage.h"
#include "runtime/api/Inputs.h"
#include "runtime/core/Error.h"
#include "runtime/reference/Compare.h"

#include <algorithm>

namespace pe::fuzz {
namespace {

/// The largest number of pairs that the second evaluation visits; more take too long.
constexpr int64_t kMostPairsTwice = 3000;

/// A message with which a target may refuse a program that others run: a limit that
/// passes/ToGPU/README.md or dialect/Step states. Any other refusal is a finding.
struct StatedLimit {
  std::string_view target, message;
};
constexpr StatedLimit kStatedLimits[] = {
    {"gpu-emulator", "the gradient of a tensor is accumulated at indices that depend on both"},
    {"gpu-emulator:bf16:", "(step-C5)"},
    {"gpu-emulator:bf16:", "(step-C6)"},
    {"gpu-emulator:bf16:", "expected a stage that takes ahead=1, found none"}};

bool isStatedLimit(const std::string &target, const std::string &message) {
  return std::ranges::any_of(kStatedLimits, [&](const StatedLimit &limit) {
    return target.starts_with(limit.target) && message.find(limit.message) != std::string::npos;
  });
}

/// Groups tensors by kind: "d_p0" and "d_p7" are both gradients of parameters.
std::string kindOf(const std::string &tensor) {
  return tensor.starts_with("d_p") ? "d_PARAMETER" : tensor;
}

} // namespace

/// The state of one program under test.
struct Judge::Case {
  const Program &program;
  const Progress &progress;
  jit::Source source;
  TensorMap inputs;
  reference::Program parsed;
  jit::EntryInfo entry;
  /// The inputs rounded to a type, and the reference's results for them.
  struct Expectation {
    TensorMap inputs;
    reference::Results exact, rounded;
  };
  std::map<DType, Expectation> expectations;
  Verdict verdict;
  /// The target and message of each refusal, and the targets that accepted the program.
  std::vector<std::pair<std::string, std::string>> refusals;
  std::vector<std::string> accepted;

  void find(const std::string &group, const std::string &detail) {
    verdict.findings.push_back({group, detail});
  }
  Status prepare(conformance::Subject &subject);
  Expected<const Expectation *> expectation(DType dtype);
  void compare(const std::string &target, DType dtype, const Expectation &expected,
               const TensorMap &found, const std::string &explanation);
};

Status Judge::Case::prepare(conformance::Subject &subject) {
  source = {printProgram(program), "program.mlir", ""};
  progress("describe");
  auto description = subject.describe(source);
  if (!description)
    return description.takeError();
  auto read = reference::parseProgram(description->program);
  if (!read)
    return read.takeError();
  parsed = std::move(*read);
  entry = description->entry;
  const Sizes &sizes = program.sizes;
  const plan::CallSizes call = {sizes.batch, sizes.queryHeads, sizes.keyHeads, sizes.queries,
                                sizes.keys};
  plan::SizeValues values = call.values(sizes.headDim, sizes.valueDim);
  values.insert({{"rows", sizes.rows},
                 {"boundaries", sizes.boundaries},
                 {"model", sizes.width},
                 {"q_start", program.queryStart()},
                 {"k_start", program.positions.keyStart}});
  for (ValueInfo &argument : description->entry.arguments)
    argument.optional = std::ranges::any_of(program.parameters, [&](const Parameter &parameter) {
      return parameter.name == argument.name && parameter.isLeftOut;
    });
  auto arguments = api::randomArguments(description->entry, program.seed, values);
  if (!arguments)
    return arguments.takeError();
  auto cotangents = api::randomCotangents(description->entry, program.seed, values);
  if (!cotangents)
    return cotangents.takeError();
  inputs = std::move(*arguments);
  inputs.merge(*cotangents);
  return Status::success();
}

Expected<const Judge::Case::Expectation *> Judge::Case::expectation(DType dtype) {
  if (auto found = expectations.find(dtype); found != expectations.end())
    return &found->second;
  progress("reference");
  Expectation expected;
  for (const auto &[name, tensor] : inputs) {
    const bool isActivation = conformance::isActivation(entry, name);
    const DType whole = isFloating(tensor.dtype()) ? DType::F32 : tensor.dtype(); // seeds
    auto rounded = convert(tensor, isActivation ? storageOf(dtype) : whole);
    if (!rounded)
      return rounded.takeError();
    expected.inputs.emplace(name, std::move(*rounded));
  }
  auto exact = reference::evaluate(parsed, expected.inputs, program.positions, /*grad=*/true,
                                   {.rounding = {}, .threads = 1});
  if (!exact)
    return exact.takeError();
  expected.exact = std::move(*exact);
  if (dtype != DType::F32) {
    auto rounded = reference::evaluate(parsed, expected.inputs, program.positions, /*grad=*/true,
                                       {.rounding = dtype, .threads = 1});
    if (!rounded)
      return rounded.takeError();
    expected.rounded = std::move(*rounded);
  }
  return &expectations.emplace(dtype, std::move(expected)).first->second;
}

void Judge::Case::compare(const std::string &target, DType dtype, const Expectation &expected,
                          const TensorMap &found, const std::string &explanation) {
  reference::CompareOptions options;
  options.computation = dtype;
  if (dtype != DType::F32)
    options.rounded = &expected.rounded;
  auto approximations = reference::approximationsOf(explanation);
  if (!approximations) {
    find(target + ": no explanation", approximations.error().getMessage());
    return;
  }
  options.approximations = *std::move(approximations);
  auto report = reference::compare(expected.exact, found, options);
  if (!report) {
    find(target + ": not compared", report.error().getMessage());
    return;
  }
  std::string kinds;
  for (const reference::TensorReport &tensor : report->tensors)
    if (!tensor.passes()) {
      std::string kind = kindOf(tensor.name) + (tensor.problem.empty() ? "" : " not finite");
      if (kinds.find(kind) == std::string::npos)
        kinds += (kinds.empty() ? "" : ", ") + kind;
    }
  if (!kinds.empty())
    find(target + ": differs from the reference in " + kinds, report->table());
}

void Judge::runTarget(const Target &target, Case &run) const {
  const Sizes &sizes = run.program.sizes;
  auto expected = run.expectation(target.dtype);
  if (!expected) {
    run.refusals.emplace_back("reference", expected.error().getMessage());
    return;
  }
  run.progress("compile " + target.name);
  auto function = target.subject->compile(run.source, sizes.headDim, sizes.valueDim);
  if (!function) {
    run.refusals.emplace_back(target.name, function.error().getMessage());
    return;
  }
  TensorMap first;
  for (int threads : {1, 3}) {
    run.progress("run " + target.name);
    auto found = (*function)->run((*expected)->inputs, run.program.positions, threads);
    if (!found) {
      // The first run may refuse the call; the second must do the same.
      if (first.empty())
        run.refusals.emplace_back(target.name, found.error().getMessage());
      else
        run.find(target.name + ": one run of two fails", found.error().getMessage());
      return;
    }
    if (first.empty())
      first = std::move(*found);
    else if (std::string name = reference::findBitwiseDifference(first, *found); !name.empty())
      run.find(target.name + ": runs differ bitwise in " + kindOf(name), name);
  }
  run.accepted.push_back(target.name);
  run.compare(target.name, target.dtype, **expected, first, (*function)->explainJson());
}

/// Adds a finding for each refusal, except clear refusals by all targets and documented limits.
static void judgeRefusals(const std::vector<std::pair<std::string, std::string>> &refusals,
                          const std::vector<std::string> &accepted, Verdict &verdict) {
  for (const auto &[target, message] : refusals) {
    if (!isClearMessage(message))
      verdict.findings.push_back({target + ": unclear message: " + generalize(message), message});
    else if (!accepted.empty() && isStatedLimit(target, message))
      verdict.limits.push_back(target + ": " + generalize(message));
    else if (!accepted.empty())
      verdict.findings.push_back({target + ": refuses what others run: " + generalize(message),
                                  "but " + accepted.front() + " runs it: " + message});
  }
  if (accepted.empty() && !refusals.empty() && verdict.findings.empty())
    verdict.refusal = generalize(refusals.front().second);
}

/// Joins equal findings of several targets: "loops, cpu: differs ...". If the reference is wrong,
/// drops its differences from the targets.
static void joinFindings(Verdict &verdict) {
  bool isReferenceWrong = std::ranges::any_of(verdict.findings, [](const Finding &finding) {
    return finding.group.starts_with("reference: ");
  });
  std::vector<Finding> joined;
  for (const Finding &finding : verdict.findings) {
    size_t colon = finding.group.find(": ");
    std::string target = finding.group.substr(0, colon), what = finding.group.substr(colon);
    if (isReferenceWrong && what.starts_with(": differs from the reference"))
      continue;
    auto same = std::ranges::find_if(joined, [&](const Finding &other) {
      return other.group.substr(other.group.find(": ")) == what;
    });
    if (same == joined.end())
      joined.push_back(finding);
    else
      same->group = same->group.substr(0, same->group.size() - what.size()) + ", " + target + what;
  }
  verdict.findings = std::move(joined);
}

Verdict Judge::judge(const Program &program, const Progress &progress) const {
  Case run{.program = program, .progress = progress};
  if (Status status = run.prepare(*targets.front().subject); !status) {
    run.refusals.emplace_back("describe", status.error().getMessage());
    judgeRefusals(run.refusals, run.accepted, run.verdict);
    return std::move(run.verdict);
  }
  auto parameters = parametersFrom(program, run.inputs);
  std::vector<Node> values = program.biases;
  values.insert(values.end(), program.contents.begin(), program.contents.end());
  if (program.embedding)
    values.push_back(*program.embedding);
  for (const Node &value : values)
    if (!parameters || !conditionOf(program, value, *parameters, 2000).isGood()) {
      run.verdict.isIllConditioned = true;
      return std::move(run.verdict);
    }
  if (checksReference && pairsOf(program) <= kMostPairsTwice) {
    auto expected = run.expectation(DType::F32);
    progress("second evaluation");
    run.verdict.wasCheckedTwice = bool(expected);
    if (expected)
      if (Status status = checkReference(program, run.inputs, (*expected)->exact); !status)
        run.find("reference: differs from the second evaluation", status.error().getMessage());
  }
  for (const Target &target : targets) {
    bool isEmulated = target.name.starts_with("gpu-emulator");
    bool hasKernels = program.entry != Entry::Attention ||
                      (program.sizes.headDim >= 16 && program.sizes.valueDim >= 16);
    if (!target.name.empty() && (hasKernels || !isEmulated))
      runTarget(target, run);
  }
  judgeRefusals(run.refusals, run.accepted, run.verdict);
  joinFindings(run.verdict);
  return std::move(run.verdict);
}

Expected<Judge::Target> Judge::makeTarget(const std::string &name) {
  Target target;
  target.name = name;
  const size_t colon = name.find(':');
  const size_t second = colon == std::string::npos ? colon : name.find(':', colon + 1);
  conformance::SubjectOptions options;
  if (colon != std::string::npos) {
    auto dtype = parseDType(name.substr(colon + 1, second - colon - 1));
    if (!dtype)
      return dtype.takeError();
    target.dtype = *dtype;
  }
  if (second != std::string::npos)
    options.schedule = name.substr(second + 1);
  options.target = name.substr(0, colon);
  options.dtype = target.dtype;
  options.poison = true;
  auto subject = conformance::makeSubject(options);
  if (!subject)
    return subject.takeError();
  target.subject = std::move(*subject);
  return target;
}

Expected<Judge> Judge::create(const std::vector<std::string> &names) {
  Judge judge;
  for (const std::string &name : names) {
    if (name == "reference") {
      judge.checksReference = true;
      continue;
    }
    auto target = makeTarget(name);
    if (!target)
      return target.takeError();
    judge.targets.push_back(std::move(*target));
  }
  if (judge.targets.empty()) { // a subject must parse the program
    auto reader = makeTarget("cpu");
    if (!reader)
      return reader.takeError();
    reader->name = "";
    judge.targets.push_back(std::move(*reader));
  }
  return judge;
}

std::vector<std::string> targetsOfSeed(uint64_t seed) {
  std::vector<std::string> targets = {"reference", "loops", "cpu", "gpu-emulator"};
  static const char *const narrow[] = {"gpu-emulator:bf16", "gpu-emulator:f16",
                                       "gpu-emulator:tf32"};
  if (seed % 4 == 0)
    targets.push_back(narrow[seed / 4 % 3]);
  if (seed % 8 == 2)
    targets.push_back("gpu-emulator:bf16:ahead=1");
  return targets;
}

} // namespace pe::fuzz
