//===- StepProgramsTest.cpp - choices of step programs keep all bits ------===//
//
// `ahead`, `slots` and `late_slots` of `#step.gpu` change when a kernel copies, waits and computes,
// but no number that it computes: at equal blocks all results and gradients have equal bits. There
// is one exception: in a sum of two products, x * c + y * c, LLVM fuses one of them with the sum,
// and which one may depend on the order of instructions, which `ahead` changes.
//
//===----------------------------------------------------------------------===//
#include "pe/pe.h"

#include <gtest/gtest.h>

#include <cstring>

namespace pe::conformance {
namespace {

struct Case {
  const char *encoding;
  DType dtype;
  /// The scores are a sum of two products.
  bool hasTwoProducts = false;
};

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return std::string(info.param.encoding) + "_" + std::string(pe::nameOf(info.param.dtype));
}

class StepPrograms : public testing::TestWithParam<Case> {
protected:
  /// Compiles the encoding with fields of its schedules for the PTX machine.
  Function compile(const std::string &schedule) {
    auto program = Program::load(std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/" +
                                 GetParam().encoding + ".mlir");
    EXPECT_TRUE(program) << program.error().render("error");
    CompileOptions options;
    options.target = "gpu-emulator";
    options.headDim = options.valueDim = 24;
    options.dtype = GetParam().dtype;
    options.grad = true;
    options.schedule = schedule;
    auto function = program->compile(options);
    EXPECT_TRUE(function) << function.error().render("error");
    return *function;
  }

  /// Sets all bits of the exponent in the last numbers: infinities or NaN.
  static void spoil(Tensor &tensor) {
    auto *bytes = static_cast<unsigned char *>(tensor.rawData());
    std::memset(bytes + tensor.byteSize() - 8, 0x7f, 8);
    for (size_t i = tensor.byteSize() - 8; i < tensor.byteSize(); i += 2)
      bytes[i] = 0xff;
  }

  /// Returns the results and gradients of a call.
  static TensorMap run(const Function &function, int64_t queries, int64_t keys,
                       const Positions &positions = {}, bool isFinite = true) {
    auto inputs = function.randomInputs(/*seed=*/7, {1, 2, 1, queries, keys});
    EXPECT_TRUE(inputs) << inputs.error().render("error");
    if (!isFinite)
      spoil(inputs->at("k"));
    auto call = function.forward(*inputs, {.positions = positions});
    EXPECT_TRUE(call) << call.error().render("error");
    TensorMap found = call->results();
    auto gradients = function.backward(*call, {{"d_o", found.at("o")}}, {.positions = positions});
    EXPECT_TRUE(gradients) << gradients.error().render("error");
    found.insert(gradients->begin(), gradients->end());
    return found;
  }
};

void expectSameBits(const TensorMap &found, const TensorMap &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto &[name, tensor] : expected)
    EXPECT_EQ(std::memcmp(found.at(name).rawData(), tensor.rawData(), tensor.byteSize()), 0)
        << name;
}

TEST_P(StepPrograms, KeepAllBits) {
  const Function usual = compile("");
  for (const char *schedule :
       {"forward.ahead=1,forward.late_slots=1", "ahead=1", "ahead=1,slots=3,late_slots=3",
        "slots=1,late_slots=1", "slots=1", "late_slots=3"}) {
    SCOPED_TRACE(schedule);
    if (GetParam().hasTwoProducts && std::string(schedule).find("ahead") != std::string::npos)
      continue;
    const Function chosen = compile(schedule);
    // One block and several, the last of them partial; no keys at all.
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 1}, {70, 200}, {5, 0}}) {
      SCOPED_TRACE(std::to_string(queries) + " x " + std::to_string(keys));
      expectSameBits(run(chosen, queries, keys), run(usual, queries, keys));
    }
    // Far positions, queries before all keys, and numbers that are not finite.
    for (int64_t start : {(int64_t(1) << 30) - 200, int64_t(-60)}) {
      const Positions positions{.queryStart = start, .keyStart = start < 0 ? 0 : start - 90};
      SCOPED_TRACE(start);
      expectSameBits(run(chosen, 70, 200, positions), run(usual, 70, 200, positions));
    }
    expectSameBits(run(chosen, 70, 200, {}, /*isFinite=*/false),
                   run(usual, 70, 200, {}, /*isFinite=*/false));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, StepPrograms,
    testing::Values(Case{"nope", DType::BF16},
                    // Stops early, skips blocks backward, and stores snapshots.
                    Case{"stick_breaking", DType::BF16},
                    // Leaves out blocks by the code of a mask.
                    Case{"custom_mask", DType::F32},
                    // Reads tables of distances, and sums along diagonals.
                    Case{"t5", DType::F32}, Case{"music_transformer", DType::BF16, true},
                    // Rounds panels in place.
                    Case{"rope", DType::TF32}),
    nameOf);

TEST(StepProgram, IsRefusedIfItDoesNotFit) {
  auto program = Program::load(std::string(PE_TEST_SOURCE_DIR) + "/examples/encodings/nope.mlir");
  ASSERT_TRUE(program) << program.error().render("error");
  auto errorOf = [&](const std::string &schedule) {
    CompileOptions options;
    options.target = "gpu-emulator";
    options.headDim = options.valueDim = 128;
    options.dtype = DType::BF16;
    options.schedule = schedule;
    auto function = program->compile(options);
    return function ? std::string() : function.error().render("error");
  };
  EXPECT_NE(errorOf("ahead=2").find("expected ahead from 0 to 1, found 2 (step-C2)"),
            std::string::npos)
      << errorOf("ahead=2");
  EXPECT_NE(errorOf("colour=2").find("found colour (step-C1)"), std::string::npos)
      << errorOf("colour=2");
  EXPECT_NE(errorOf("ahead=1,owner_tiles=4")
                .find("expected at most 255 registers of a thread for sums and scores with ahead = "
                      "1, found 464"),
            std::string::npos)
      << errorOf("ahead=1,owner_tiles=4");
  EXPECT_NE(errorOf("slots=4,late_slots=4,inner_block=256").find("bytes of shared memory"),
            std::string::npos)
      << errorOf("slots=4,late_slots=4,inner_block=256");
}

} // namespace
} // namespace pe::conformance
