//===- PlanTest.cpp - Plans to JSON and back ------------------------------===//

#include "runtime/plan/Plan.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::plan;

static Plan sample() {
  Plan plan;
  plan.entry = "attention";
  plan.target = Target::Cpu;
  plan.features = "x86-64-v3";
  plan.headDim = 64;
  plan.valueDim = 32;
  plan.window = PairWindow{0, std::nullopt};
  plan.structure = "column term \"slope\"";
  plan.diagnostics = {"note"};
  plan.frame = standardFrame();
  plan.requirements = {{"k_start + c", "r", "keys"}};
  Buffer q{.name = "q", .role = Role::Argument, .shape = {"b", "hq", "r", "64"}};
  Buffer slopes{.name = "slopes", .role = Role::Argument, .shape = {"hq"}};
  slopes.parameter = {
      .init = "uniform(0,2)", .min = 0.01, .decay = false, .monitor = {{"slope", "exp(slopes)"}}};
  Buffer lse{.name = "lse", .role = Role::Residual, .shape = {"b*hq", "r"}, .zero = true};
  plan.buffers = {q, slopes, lse};
  plan.stages = {{"pe_forward", Phase::Forward, "b*hq*ceildiv(r,64)", "", {0, 1, 2}, {2}, {}},
                 {"pe_backward", Phase::Backward, "b*hkv", "", {2, 0}, {}, {}}};
  return plan;
}

static std::string replaced(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

static std::string errorOf(const std::string &json) {
  Expected<Plan> plan = parsePlan(json);
  EXPECT_FALSE(plan);
  return plan ? "" : plan.error().getMessage();
}

TEST(Plan, RoundTripKeepsEverything) {
  const Plan plan = sample();
  Expected<Plan> again = parsePlan(toJson(plan));
  ASSERT_TRUE(again) << again.error().getMessage();
  EXPECT_EQ(toJson(*again), toJson(plan));
  EXPECT_EQ(again->valueDim, 32);
  EXPECT_EQ(again->frame, plan.frame);
  EXPECT_EQ(again->window->low, 0);
  ASSERT_EQ(again->requirements.size(), 1u);
  EXPECT_EQ(again->requirements[0].size, "k_start + c");
  EXPECT_EQ(again->requirements[0].least, "r");
  EXPECT_EQ(again->requirements[0].what, "keys");
  EXPECT_FALSE(again->window->high);
  EXPECT_EQ(again->buffers[1].parameter.min, 0.01);
  EXPECT_FALSE(again->buffers[1].parameter.decay);
  EXPECT_EQ(again->buffers[1].parameter.monitor[0].second, "exp(slopes)");
  EXPECT_EQ(again->stages[1].phase, Phase::Backward);
  EXPECT_TRUE(again->hasBackward());
  EXPECT_EQ(again->findBuffer("lse"), 2);
  EXPECT_EQ(again->findBuffer("none"), -1);
}

TEST(Plan, RequirementsOfValues) {
  Plan plan = sample();
  plan.buffers.push_back(
      {.name = "cu", .role = Role::Argument, .dtype = DType::I32, .shape = {"hq"}});
  plan.valueRequirements = {{"cu", true, "0", "max(r, c)"}, {"cu", false, "0", "7"}};
  Expected<Plan> again = parsePlan(toJson(plan));
  ASSERT_TRUE(again) << again.error().getMessage();
  ASSERT_EQ(again->valueRequirements.size(), 2u);
  EXPECT_TRUE(again->valueRequirements[0].isAscending);
  EXPECT_EQ(again->valueRequirements[0].last, "max(r, c)");
  EXPECT_FALSE(again->valueRequirements[1].isAscending);
  const std::string json = toJson(plan);
  EXPECT_NE(errorOf(replaced(json, "\"ascending\"", "\"rising\"")).find("ascending or within"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "max(r, c)", "max(r, x)")).find("values of 'cu'"),
            std::string::npos);
  plan.valueRequirements = {{"slopes", true, "0", "1"}};
  EXPECT_NE(errorOf(toJson(plan)).find("expected an argument of i32, found 'slopes'"),
            std::string::npos);
}

TEST(Plan, ErrorsNameTheFault) {
  const std::string json = toJson(sample());
  EXPECT_NE(errorOf("{").find("expected JSON"), std::string::npos);
  EXPECT_NE(errorOf("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(errorOf("{}").find("'version'"), std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"version\": 3", "\"version\": 99")).find("found 99"),
            std::string::npos);
  EXPECT_EQ(errorOf(replaced(json, "\"version\": 3", "\"version\": 1")),
            "expected plan version 3, found 1; compile the source again with this version of pe");
  EXPECT_NE(errorOf(replaced(json, "\"parameter\",", "\"constant\",")).find("found 'constant'"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"k_start + c - r\"", "7")).find("plan.frame[9]: expected"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"k_start + c - r\"", "\"k_stop\"")).find("'q_start'"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"residual\"", "\"other\"")).find("buffers[2]: 'role'"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"f32\"", "\"f33\"")).find("found 'f33'"), std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"b*hq\"", "\"b*hx\"")).find("buffer 'lse'"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"headDim\": 64", "\"headDim\": \"64\"")).find("'headDim'"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"pe_backward\"", "\"\"")).find("symbol"), std::string::npos);
}

// Converting such a value to int64_t is undefined behaviour; found by the fuzzer with sanitizers.
TEST(Plan, RejectsNumbersThatAreNotInt64) {
  const std::string json = toJson(sample());
  EXPECT_EQ(errorOf(replaced(json, "\"low\": 0", "\"low\": 1e300")),
            "plan.window: 'low': expected an integer, found number");
  EXPECT_EQ(errorOf(replaced(json, "\"low\": 0", "\"low\": 9223372036854775808")),
            "plan.window: 'low': expected a 64-bit integer");
  EXPECT_EQ(errorOf(replaced(json, "\"headDim\": 64", "\"headDim\": 9223372036854775808")),
            "plan: 'headDim': expected a 64-bit integer");
}

TEST(Plan, IndicesAndNamesAreChecked) {
  Plan plan = sample();
  plan.stages[0].buffers.push_back(3);
  Status status = validate(plan);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().getMessage().find("below 3, found 3"), std::string::npos);
  plan = sample();
  plan.buffers[2].name = "q";
  EXPECT_FALSE(validate(plan));
  plan = sample();
  plan.buffers[0].dtype = DType::U8;
  EXPECT_FALSE(validate(plan));
}

// A forward call has no cotangents, so a forward stage that reads one would get a null address.
TEST(Plan, RequirementsAreChecked) {
  const std::string json = toJson(sample());
  EXPECT_NE(errorOf(replaced(json, "\"k_start + c\"", "\"n\"")).find("requirement of keys"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"k_start + c\"", "3"))
                .find("expected a list of [size, least, text]"),
            std::string::npos);
}

TEST(Plan, StagesWriteOnlyTheirBuffers) {
  Plan plan = sample();
  EXPECT_EQ(parsePlan(toJson(plan))->stages[0].writes, std::vector<int>{2});
  plan.stages[1].writes = {1};
  EXPECT_EQ(validate(plan).error().getMessage(),
            "stage 'pe_backward': expected to write only its own buffers, found 1");
  plan.stages[1].writes = {0};
  EXPECT_EQ(validate(plan).error().getMessage(),
            "stage 'pe_backward': expected not to write any argument, found 'q'");
}

TEST(Plan, StagesHaveConditions) {
  Plan plan = sample();
  EXPECT_EQ(toJson(plan).find("\"when\""), std::string::npos);
  plan.stages[0].when = "9 - r";
  const std::string json = toJson(plan);
  Expected<Plan> again = parsePlan(json);
  ASSERT_TRUE(again) << again.error().getMessage();
  EXPECT_EQ(again->stages[0].when, "9 - r");
  EXPECT_EQ(again->stages[1].when, "");
  EXPECT_EQ(toJson(*again), json);
  for (const char *wrong : {"\"9 - rows\"", "\"9 -\""}) {
    const std::string message = errorOf(replaced(json, "\"9 - r\"", wrong));
    EXPECT_NE(message.find("stage 'pe_forward'"), std::string::npos) << message;
  }
  EXPECT_NE(errorOf(replaced(json, "\"9 - r\"", "9")).find("'when'"), std::string::npos);
}

TEST(Plan, StagesUseOnlyBuffersOfTheirPhase) {
  Plan plan = sample();
  plan.buffers.push_back({.name = "d_o", .role = Role::Cotangent, .shape = {"b"}});
  plan.buffers.push_back({.name = "d_q", .role = Role::Gradient, .shape = {"b"}});
  plan.stages[1].buffers = {3, 4};
  EXPECT_TRUE(validate(plan));
  for (int index : {3, 4})
    for (Phase phase : {Phase::Prepare, Phase::Forward}) {
      Plan wrong = plan;
      wrong.stages[0].phase = phase;
      wrong.stages[0].buffers.push_back(index);
      Status status = validate(wrong);
      ASSERT_FALSE(status);
      EXPECT_NE(status.error().getMessage().find("to use no "), std::string::npos);
    }
}

TEST(Plan, HeadersAreChecked) {
  const std::string json = toJson(sample());
  EXPECT_NE(errorOf(replaced(json, "\"cpu\"", "\"tpu\"")).find("found 'tpu'"), std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"headDim\": 64", "\"headDim\": -1")).find("found -1"),
            std::string::npos);
  EXPECT_NE(errorOf(replaced(json, "\"valueDim\": 32", "\"valueDim\": 4611686018427387904"))
                .find("value dim"),
            std::string::npos);
  Plan plan = sample();
  plan.dtype = DType::I32;
  EXPECT_FALSE(validate(plan));
  plan = sample();
  plan.buffers[0].shape.assign(kMaxRank + 1, "b");
  EXPECT_FALSE(validate(plan));
  EXPECT_NE(errorOf(std::string(100000, '[')).find("nested levels"), std::string::npos);
  EXPECT_NE(errorOf("{\"version\": " + std::string(100000, '[')).find("nested levels"),
            std::string::npos);
}

TEST(Plan, LaunchesOfKernels) {
  Plan plan = sample();
  plan.stages[0].launch = Launch{128, 70000};
  EXPECT_NE(errorOf(toJson(plan)).find("expected no kernel threads on target cpu"),
            std::string::npos);
  plan.target = Target::Cuda;
  EXPECT_NE(errorOf(toJson(plan)).find("expected kernel threads on target cuda, found none"),
            std::string::npos);
  plan.stages[0].launch.reset();
  plan.stages[0].words = {0};
  plan.target = Target::Cpu;
  EXPECT_NE(validate(plan).error().getMessage().find("frame words only for a kernel"),
            std::string::npos);
  plan.stages[0].launch = Launch{128, 70000};
  plan.target = Target::None; // not set yet
  plan.stages[0].words = {0, 12};
  EXPECT_NE(errorOf(toJson(plan)).find("indices of frame words below 12, found 12"),
            std::string::npos);
  plan.stages[0].words.assign(1018, 3); // and three buffers: 4096 bytes
  EXPECT_TRUE(validate(plan));
  plan.stages[0].words.push_back(3);
  EXPECT_NE(errorOf(toJson(plan)).find("at most 4096 bytes of parameters for a kernel, found 4100"),
            std::string::npos);
  plan.stages[0].words = {3, 8};
  Expected<Plan> again = parsePlan(toJson(plan));
  ASSERT_TRUE(again) << again.error().getMessage();
  ASSERT_TRUE(again->stages[0].launch);
  EXPECT_EQ(again->stages[0].launch->threads, 128);
  EXPECT_EQ(again->stages[0].launch->sharedBytes, 70000);
  EXPECT_EQ(again->stages[0].words, (std::vector<int>{3, 8}));
  EXPECT_FALSE(again->stages[1].launch);
  for (int threads : {0, 33, 1056}) {
    plan.stages[0].launch = Launch{threads, 0};
    EXPECT_NE(errorOf(toJson(plan))
                  .find("expected 32 to 1024 threads, a multiple of 32, found " +
                        std::to_string(threads)),
              std::string::npos);
  }
  plan.stages[0].launch = Launch{32, -1};
  EXPECT_NE(
      errorOf(toJson(plan)).find("expected a nonnegative number of shared memory bytes, found -1"),
      std::string::npos);
}
