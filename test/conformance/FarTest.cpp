//===- FarTest.cpp - Tests biases far from position 0 ---------------------===//
//
// A bias with a term per query and a term per key nearly cancels if both are large: far from
// position 0, at explicit positions, or for large data. The tests compare results and gradients
// with the reference for every target and type of activations, with slopes for which products are
// inexact.
//
//===----------------------------------------------------------------------===//

#include "conformance/RandomInputs.h"
#include "conformance/Subject.h"
#include "runtime/core/Random.h"
#include "runtime/reference/Compare.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace pe::conformance {
namespace {

constexpr int64_t kQueries = 40, kKeys = 70, kDepth = 16, kMostPositions = 256;
constexpr int64_t kStarts[] = {4000, 65000, 1000000, (1 << 30) - kMostPositions};

struct Bias {
  const char *name;
  const char *arguments; ///< after q, k and v
  const char *bias;      ///< defines %b
  const char *clauses = "";
  bool hasLse = false;
};

constexpr const char *kSlope =
    "%s: tensor<?xf32> {pe.name = \"s\", pe.init = \"uniform(0.01,0.3)\"}";
constexpr const char *kLine =
    "pe.bias_fn(%s : tensor<?xf32>) expr \"s[h] * (sqrt(j * j + 1.0) - sqrt(i * i + 1.0))\"";

const Bias kBiases[] = {
    {"given",
     "%x: tensor<?x?xi32> {pe.name = \"x\", pe.init = \"integers(0,256)\"}, "
     "%y: tensor<?x?xi32> {pe.name = \"y\", pe.init = \"integers(0,256)\"}",
     "pe.linear %d slope(%s : tensor<?xf32>) {factor = -1.0}",
     "positions(%x, %y : tensor<?x?xi32>, tensor<?x?xi32>)"},
    {"formula", "", kLine},
    {"formula_lse", "", kLine, "", /*hasLse=*/true},
    {"formula_sink", "%t: tensor<?xf32> {pe.name = \"t\", pe.init = \"uniform(-1,1)\"}", kLine,
     "sink(%t : tensor<?xf32>)"},
    {"formula_stick_breaking", "", kLine, "{normalizer = #pe.normalizer<stick_breaking>}"},
    {"data",
     "%f: tensor<?x?x?xf32> {pe.name = \"f\", pe.init = \"uniform(0,50)\", "
     "pe.axes = [\"batch\", \"head\", \"key\"]}",
     "pe.bias_fn(%s, %f : tensor<?xf32>, tensor<?x?x?xf32>) "
     "expr \"s[h] * (f[b, h, i] - f[b, h, j])\""},
};

std::string programOf(const Bias &bias) {
  const std::string result = bias.hasLse ? "%o, %lse" : "%o",
                    lse = bias.hasLse ? ", tensor<?x?x?xf32>" : "";
  std::string clauses = bias.clauses, attributes;
  if (clauses.starts_with("{"))
    std::swap(clauses, attributes);
  return "!t = tensor<?x?x?x?xf32>\n"
         "func.func @f(%q: !t {pe.name = \"q\"}, %k: !t {pe.name = \"k\"}, %v: !t {pe.name = "
         "\"v\"},\n  " +
         std::string(kSlope) + (*bias.arguments ? ", " : "") + bias.arguments +
         ") -> (!t {pe.name = \"o\"}" + (bias.hasLse ? lse + " {pe.name = \"lse\"}" : "") +
         ") {\n  %d = pe.distance\n  %b = " + bias.bias + "\n  %m = pe.causal\n  " + result +
         " = pe.attention %q, %k, %v bias(%b) " + clauses + " mask(%m) " + attributes +
         " : (!t, !t, !t) -> !t" + lse + "\n  return " + result + " : !t" + lse + "\n}\n";
}

/// Draws positions from [start, start + kMostPositions), and adds `start` to data.
void drawFar(TensorMap &inputs, int64_t start) {
  for (const char *name : {"x", "y"})
    if (auto found = inputs.find(name); found != inputs.end()) {
      Random random(start, name);
      for (int32_t &position : found->second.values<int32_t>())
        position = static_cast<int32_t>(start + random.below(kMostPositions));
    }
  if (auto found = inputs.find("f"); found != inputs.end())
    for (float &value : found->second.values<float>())
      value += static_cast<float>(start);
}

struct Target {
  const char *name;
  DType dtype;
};

class Far : public testing::TestWithParam<std::tuple<Target, Bias>> {
protected:
  void SetUp() override {
    const auto &[target, bias] = GetParam();
    SubjectOptions options;
    options.target = target.name;
    options.dtype = dtype = target.dtype;
    options.poison = true;
    auto made = makeSubject(options);
    ASSERT_TRUE(made) << made.error().getMessage();
    subject = std::move(*made);
    const jit::Source source{.text = programOf(bias), .name = "far.mlir", .entry = ""};
    auto compiled = subject->compile(source, kDepth, kDepth);
    ASSERT_TRUE(compiled) << compiled.error().getMessage();
    function = std::move(*compiled);
    auto described = subject->describe(source);
    ASSERT_TRUE(described) << described.error().getMessage();
    entry = std::move(described->entry);
    auto parsed = reference::parseProgram(described->program);
    ASSERT_TRUE(parsed) << parsed.error().getMessage();
    program = std::move(*parsed);
  }

  void compareAt(int64_t start);

  DType dtype = DType::F32;
  std::unique_ptr<Subject> subject;
  std::unique_ptr<Function> function;
  jit::EntryInfo entry;
  reference::Program program;
};

void Far::compareAt(int64_t start) {
  Call call{"far", 1, 2, 1, kQueries, kKeys, kDepth, kDepth};
  const bool isGiven = std::string(std::get<Bias>(GetParam()).name) == "given";
  call.positions.keyStart = isGiven ? 0 : start;
  auto inputs = drawInputs(entry, call, start);
  ASSERT_TRUE(inputs) << inputs.error().getMessage();
  drawFar(*inputs, start);
  for (auto &[name, tensor] : *inputs)
    if (tensor.rank() == 4)
      tensor = *convert(tensor, storageOf(dtype));
  auto expected = reference::evaluate(program, *inputs, call.positions, /*grad=*/true);
  ASSERT_TRUE(expected) << expected.error().getMessage();
  reference::CompareOptions comparison;
  comparison.computation = dtype;
  reference::Results rounded;
  if (dtype != DType::F32) {
    rounded = *reference::evaluate(program, *inputs, call.positions, /*grad=*/true,
                                   {.rounding = dtype, .threads = 1});
    comparison.rounded = &rounded;
  }
  auto found = function->run(*inputs, call.positions, 2);
  ASSERT_TRUE(found) << found.error().getMessage();
  auto report = reference::compare(*expected, *found, comparison);
  ASSERT_TRUE(report) << report.error().getMessage();
  EXPECT_TRUE(report->passes()) << "start " << start << "\n" << report->table();
}

TEST_P(Far, KeepsAccuracy) {
  for (int64_t start : kStarts)
    compareAt(start);
}

std::string nameOfCase(const testing::TestParamInfo<std::tuple<Target, Bias>> &info) {
  const auto &[target, bias] = info.param;
  std::string name = std::string(target.name) + "_" + nameOf(target.dtype).data() + "_" + bias.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Exact, Far,
                         testing::Combine(testing::Values(Target{"cpu", DType::F32},
                                                          Target{"loops", DType::F32},
                                                          Target{"gpu-emulator", DType::F32}),
                                          testing::ValuesIn(kBiases)),
                         nameOfCase);
INSTANTIATE_TEST_SUITE_P(Narrow, Far,
                         testing::Combine(testing::Values(Target{"gpu-emulator", DType::TF32},
                                                          Target{"gpu-emulator", DType::BF16},
                                                          Target{"gpu-emulator", DType::F16}),
                                          testing::ValuesIn(kBiases)),
                         nameOfCase);

} // namespace
} // namespace pe::conformance
