//===- ScheduleFieldsTest.cpp - every field of a schedule is safe ---------===//
//
// A value of a field of `#step.cpu` or `#step.gpu` is refused with a label, or by the check of GPU
// kernels, or gives the results of the usual schedule except for rounding.
//
//===----------------------------------------------------------------------===//
#include "pe/pe.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pe::conformance {
namespace {

struct Case {
  const char *encoding, *target;
  std::vector<std::string> schedules;
};

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  std::string name = std::string(info.param.encoding) + "_" + info.param.target;
  std::ranges::replace(name, '-', '_');
  return name;
}

/// Returns texts "NAME=VALUE" for every value.
std::vector<std::string>
fieldsOf(const std::vector<std::pair<const char *, std::vector<int>>> &values) {
  std::vector<std::string> texts;
  for (const auto &[name, numbers] : values)
    for (int number : numbers)
      texts.push_back(std::string(name) + "=" + std::to_string(number));
  return texts;
}

class ScheduleFields : public testing::TestWithParam<Case> {
protected:
  Expected<Function> compile(const std::string &schedule) {
    auto program = Program::load(std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" +
                                 GetParam().encoding + ".mlir");
    EXPECT_TRUE(program) << program.error().render("error");
    CompileOptions options;
    options.target = GetParam().target;
    if (options.target == "cpu")
      options.features = "x86-64-v3";
    options.headDim = 24, options.valueDim = 40;
    options.grad = true;
    options.schedule = schedule;
    return program->compile(options);
  }

  static TensorMap run(const Function &function) {
    auto inputs = function.randomInputs(/*seed=*/3, {1, 2, 1, 150, 170});
    auto call = function.forward(*inputs);
    EXPECT_TRUE(call) << call.error().render("error");
    if (!call)
      return {};
    TensorMap found = call->results();
    auto gradients = function.backward(*call, {{"d_o", found.at("o")}});
    EXPECT_TRUE(gradients) << gradients.error().render("error");
    if (gradients)
      found.insert(gradients->begin(), gradients->end());
    return found;
  }
};

/// Returns ||x - y|| / ||y||.
double distanceOf(const Tensor &x, const Tensor &y) {
  double difference = 0, norm = 0;
  const auto a = x.values<float>(), b = y.values<float>();
  for (size_t i = 0; i < b.size(); ++i) {
    difference += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
    norm += double(b[i]) * b[i];
  }
  return std::sqrt(difference / norm);
}

TEST_P(ScheduleFields, AreRefusedOrRight) {
  auto usual = compile("");
  ASSERT_TRUE(usual) << usual.error().render("error");
  const TensorMap expected = run(*usual);
  size_t refused = 0;
  for (const std::string &schedule : GetParam().schedules) {
    SCOPED_TRACE(schedule);
    auto chosen = compile(schedule);
    if (!chosen) {
      const std::string message = chosen.error().render("error");
      const bool isClear = message.find("(step-C") != std::string::npos ||
                           message.find("no GPU kernel can compute this: ") != std::string::npos;
      EXPECT_TRUE(isClear) << message;
      ++refused;
      continue;
    }
    const TensorMap found = run(*chosen);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto &[name, tensor] : expected)
      EXPECT_LE(distanceOf(found.at(name), tensor), 2e-5) << name;
  }
  EXPECT_LT(refused, GetParam().schedules.size() / 2);
}

const std::vector<std::string> kGpu = fieldsOf({{"warps", {1, 2, 3, 5, 8, 16}},
                                                {"owner_tiles", {1, 2, 3, 4}},
                                                {"inner_block", {16, 32, 48, 80, 96, 128}},
                                                {"ahead", {1}},
                                                {"slots", {1, 3, 4}},
                                                {"late_slots", {1, 4}}});
const std::vector<std::string> kCpu = fieldsOf({{"lanes", {4, 16}},
                                                {"query_vectors", {1, 3, 8}},
                                                {"key_rows", {1, 3, 16}},
                                                {"depth_rows", {1, 2, 5, 16}},
                                                {"column_rows", {1, 3, 16}},
                                                {"column_vectors", {1, 3, 8}},
                                                {"sweep_keys", {1, 3, 16}},
                                                {"unroll", {1, 3, 16}},
                                                {"query_block", {16, 48, 1024}},
                                                {"key_block", {16, 48, 1024}},
                                                {"part_rows", {1, 50}},
                                                {"most_parts", {1, 64}},
                                                {"split_below", {1, 100}}});

std::vector<std::string> withOwners(std::vector<std::string> schedules) {
  schedules.push_back("backward.owner=rows");
  schedules.push_back("forward.owner=columns");
  return schedules;
}

INSTANTIATE_TEST_SUITE_P(Encodings, ScheduleFields,
                         testing::Values(Case{"nope", "gpu-emulator", withOwners(kGpu)},
                                         Case{"stick_breaking", "gpu-emulator", kGpu},
                                         Case{"nope", "cpu", withOwners(kCpu)},
                                         Case{"t5", "cpu", kCpu}),
                         nameOf);

} // namespace
} // namespace pe::conformance
