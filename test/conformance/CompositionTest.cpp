//===- CompositionTest.cpp - Tests pairs of features on every target ------===//
//
// Pairs that Composition.h supports run as loops, on the CPU and on the emulator, and their results
// and gradients agree with the float64 reference. Other pairs are refused with their label.
// docs/composition.md matches both; PE_WRITE_PAGE=1 writes the page.
//
//===----------------------------------------------------------------------===//

#include "conformance/Composition.h"
#include "conformance/RandomInputs.h"
#include "conformance/Subject.h"
#include "runtime/reference/Compare.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

namespace pe::conformance {
namespace {

constexpr Call kCall = {"composition", 1, 4, 2, 70, 70, 16, 16, {.queryStart = 0}};
constexpr int64_t kSplit = 40; // keys of the first shard

/// Slices all tensors with an axis of keys to keys [begin, end).
TensorMap keysOf(const TensorMap &all, const jit::EntryInfo &entry, int64_t begin, int64_t end) {
  TensorMap part = all;
  for (const jit::ValueInfo &argument : entry.arguments)
    for (size_t axis = 0; axis < argument.sizes.size(); ++axis)
      if (argument.sizes[axis] == "c" && part.contains(argument.name))
        part[argument.name] =
            part[argument.name].slice(static_cast<int>(axis), begin, end).contiguous();
  return part;
}

/// Concatenates two tensors along `axis`, in f32, or adds them if `axis` is -1.
Tensor together(const Tensor &one, const Tensor &other, int axis) {
  const Tensor first = *convert(one, DType::F32), second = *convert(other, DType::F32);
  if (axis < 0) {
    Tensor sum = Tensor::zeros(DType::F32, first.shape());
    for (int64_t n = 0; n < sum.numel(); ++n)
      sum.values<float>()[n] = first.values<float>()[n] + second.values<float>()[n];
    return sum;
  }
  Shape shape = first.shape();
  shape[axis] += second.shape()[axis];
  Tensor all = Tensor::zeros(DType::F32, shape);
  int64_t outer = 1, inner = 1;
  for (int k = 0; k < axis; ++k)
    outer *= shape[k];
  for (size_t k = axis + 1; k < shape.size(); ++k)
    inner *= shape[k];
  float *to = all.data<float>();
  for (int64_t n = 0; n < outer; ++n)
    for (const Tensor *part : {&first, &second}) {
      const int64_t run = part->shape()[axis] * inner;
      to = std::copy_n(part->values<float>().data() + n * run, run, to);
    }
  return all;
}

/// Runs a program on a target and on the reference.
class Case {
public:
  Case(const std::string &target, DType dtype, Composition chosen)
      : dtype(dtype), chosen(std::move(chosen)) {
    SubjectOptions options;
    options.target = target;
    options.dtype = dtype;
    options.poison = true;
    auto made = makeSubject(options);
    EXPECT_TRUE(made) << made.error().getMessage();
    subject = std::move(*made);
  }

  /// Expects that the program agrees with the reference.
  void expectReference();
  /// Returns the first error of compiling or running the program, or "".
  std::string findMessage();

private:
  Expected<std::unique_ptr<Function>> compile(const std::string &text) {
    return subject->compile({text, "composition.mlir", ""}, kCall.headDim, kCall.valueDim);
  }
  Expected<TensorMap> run(std::string &explained);
  Expected<TensorMap> runShards(std::string &explained);
  Status draw();

  const DType dtype;
  const Composition chosen;
  std::unique_ptr<Subject> subject;
  jit::EntryInfo entry;
  reference::Program program;
  TensorMap inputs;
};

Status Case::draw() {
  auto description = subject->describe({programOf(chosen), "composition.mlir", ""});
  if (!description)
    return description.takeError();
  entry = description->entry;
  auto parsed = reference::parseProgram(description->program);
  if (!parsed)
    return parsed.takeError();
  program = *std::move(parsed);
  auto drawn = drawInputs(entry, kCall, /*seed=*/1);
  if (!drawn)
    return drawn.takeError();
  inputs = *std::move(drawn);
  for (auto &[name, tensor] : inputs)
    if (isActivation(entry, name)) {
      auto rounded = convert(tensor, storageOf(dtype));
      if (!rounded)
        return rounded.takeError();
      tensor = *std::move(rounded);
    }
  return Status::success();
}

Expected<TensorMap> Case::run(std::string &explained) {
  if (has(chosen, "merge of shards"))
    return runShards(explained);
  auto function = compile(programOf(chosen));
  if (!function)
    return function.takeError();
  explained = (*function)->explainJson();
  return (*function)->run(inputs, kCall.positions, 2);
}

/// Runs both shards, merges their results, and runs both shards again with the merge's cotangents.
Expected<TensorMap> Case::runShards(std::string &explained) {
  auto function = compile(programOf(chosen, /*withSink=*/false)), merge = compile(mergeOf(chosen));
  if (!function)
    return function.takeError();
  if (!merge)
    return merge.takeError();
  explained = (*function)->explainJson();
  const bool nearFirst = has(chosen, "stick-breaking");
  TensorMap shards[2], results[2], merging;
  auto runShard = [&](int n) -> Status {
    TensorMap given = shards[n];
    given.erase("sink");
    Positions positions = kCall.positions;
    positions.keyStart = n ? kSplit : 0;
    auto found = (*function)->run(given, positions, 2);
    if (!found)
      return found.takeError();
    results[n] = *std::move(found);
    return Status::success();
  };
  auto numberOf = [&](int n) { return std::string(n == nearFirst ? "1" : "2"); };
  for (int n : {0, 1}) {
    shards[n] = keysOf(inputs, entry, n ? kSplit : 0, n ? kCall.keys : kSplit);
    if (Status status = runShard(n); !status)
      return status.takeError();
    for (const char *name : {"o", "lse"})
      merging[name + numberOf(n)] = results[n][name];
  }
  for (const char *name : {"d_o", "d_lse", "sink"})
    if (inputs.contains(name))
      merging[name] = inputs[name];
  auto found = (*merge)->run(merging, {}, 2);
  if (!found)
    return found.takeError();
  for (int n : {0, 1}) {
    for (const char *name : {"d_o", "d_lse"})
      shards[n][name] = (*found)[name + numberOf(n)];
    if (Status status = runShard(n); !status)
      return status.takeError();
  }
  TensorMap all;
  for (const char *name : {"o", "lse", "d_sink"})
    if (found->contains(name))
      all[name] = (*found)[name];
  for (const jit::ValueInfo &argument : entry.arguments) {
    const std::string name = "d_" + argument.name;
    if (!results[0].contains(name))
      continue;
    const auto axis = std::ranges::find(argument.sizes, "c") - argument.sizes.begin();
    const bool isSplit = axis < static_cast<std::ptrdiff_t>(argument.sizes.size());
    all[name] = together(results[0][name], results[1][name], isSplit ? static_cast<int>(axis) : -1);
  }
  return all;
}

void Case::expectReference() {
  SCOPED_TRACE(programOf(chosen));
  if (Status status = draw(); !status)
    FAIL() << status.error().render("error");
  auto expected = reference::evaluate(program, inputs, kCall.positions, /*grad=*/true);
  ASSERT_TRUE(expected) << expected.error().getMessage();
  std::string explained;
  auto found = run(explained);
  ASSERT_TRUE(found) << found.error().render("error");
  reference::CompareOptions options;
  options.computation = dtype;
  auto approximations = reference::approximationsOf(explained);
  ASSERT_TRUE(approximations) << approximations.error().getMessage();
  options.approximations = *std::move(approximations);
  reference::Results rounded;
  if (dtype != DType::F32) {
    auto evaluated = reference::evaluate(program, inputs, kCall.positions, /*grad=*/true,
                                         {.rounding = dtype, .threads = 0});
    ASSERT_TRUE(evaluated) << evaluated.error().getMessage();
    rounded = *std::move(evaluated);
    options.rounded = &rounded;
  }
  auto report = reference::compare(*expected, *found, options);
  ASSERT_TRUE(report) << report.error().getMessage();
  EXPECT_TRUE(report->passes()) << report->table();
}

std::string Case::findMessage() {
  if (Status status = draw(); !status)
    return status.error().render("error");
  std::string explained;
  auto found = run(explained);
  return found ? "" : found.error().render("error");
}

std::string plainName(const std::string &text) {
  std::string name;
  for (char letter : text)
    if (std::isalnum(static_cast<unsigned char>(letter)))
      name += letter;
  return name;
}

//===----------------------------------------------------------------------===//

class Compositions : public testing::TestWithParam<std::tuple<const char *, size_t>> {};

TEST_P(Compositions, AgreeWithTheReference) {
  const auto [target, number] = GetParam();
  Case(target, DType::F32, compositions()[number]).expectReference();
}

class SingleFeature : public testing::TestWithParam<std::tuple<const char *, size_t>> {};

TEST_P(SingleFeature, AgreesWithTheReferenceInBF16) {
  const auto [target, number] = GetParam();
  Case(target, DType::BF16, closureOf({number})).expectReference();
}

/// Returns the words of the message that name the reason: the label in parentheses, or the
/// parser's.
std::string messagePart(const Refusal &refusal) {
  std::string label(refusal.label);
  return label.find(' ') == std::string::npos ? "(" + label + ")" : label;
}

class Refused : public testing::TestWithParam<const char *> {};

TEST_P(Refused, WithTheirLabels) {
  for (size_t a = 0; a < features().size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (const Refusal *refusal = refusalOf(a, b)) {
        Composition both = closureOf({b, a});
        const std::string message = Case(GetParam(), DType::F32, both).findMessage();
        EXPECT_NE(message.find(messagePart(*refusal)), std::string::npos)
            << programOf(both) << message;
      }
}

TEST(CompositionPage, MatchesTheTables) {
  const std::string path = std::string(PE_TEST_SOURCE_DIR) + "/docs/composition.md";
  if (std::getenv("PE_WRITE_PAGE"))
    std::ofstream(path) << compositionPage();
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), compositionPage()) << "PE_WRITE_PAGE=1 writes " << path;
}

const char *const kTargets[] = {"loops", "cpu", "gpu-emulator"};

std::string nameOfTarget(const char *target) { return plainName(target); }

INSTANTIATE_TEST_SUITE_P(Targets, Compositions,
                         testing::Combine(testing::ValuesIn(kTargets),
                                          testing::Range(size_t(0), compositions().size())),
                         [](const auto &test) {
                           return nameOfTarget(std::get<0>(test.param)) + "_" +
                                  std::to_string(std::get<1>(test.param));
                         });
// The CPU computes only in f32.
INSTANTIATE_TEST_SUITE_P(Targets, SingleFeature,
                         testing::Combine(testing::Values("loops", "gpu-emulator"),
                                          testing::Range(size_t(0), features().size())),
                         [](const auto &test) {
                           return nameOfTarget(std::get<0>(test.param)) + "_" +
                                  plainName(std::string(features()[std::get<1>(test.param)].name));
                         });
INSTANTIATE_TEST_SUITE_P(Targets, Refused, testing::ValuesIn(kTargets),
                         [](const auto &test) { return nameOfTarget(test.param); });

} // namespace
} // namespace pe::conformance
