//===- PermissionsTest.cpp - blocks that a stream permits to skip ---------===//
//
// Compares stick-breaking attention from passes/ToTile, with its permissions used or ignored, with
// the float64 reference under the contract's bounds. The comparison must fail if a permission is
// too loose.
//
//===----------------------------------------------------------------------===//
#include "passes/ToLoops/Blocks.h"
#include "passes/ToLoops/TilePlan.h"
#include "runtime/core/Random.h"
#include "runtime/reference/Compare.h"

namespace pe::test {
namespace {

constexpr int64_t kPositions = 250, kDepth = 16;
/// One batch entry, head and key head; positions start at 0.
const plan::CallSizes kSizes = {1, 1, 1, kPositions, kPositions, 0, 0};
const Shape kShape = {1, 1, kPositions, kDepth};

/// The inputs of a call and the results of the reference for them.
struct Question {
  Source source =
      compileToTile(PE_TEST_SOURCE_DIR "/examples/encodings/stick_breaking.mlir", kDepth, kDepth);
  TensorMap inputs;
  reference::Results expected;

  Question() {
    for (const char *name : {"q", "k", "v", "d_o"}) {
      inputs[name] = Tensor::zeros(DType::F32, kShape);
      Random(1, name).fillNormal(inputs[name], 0.0, 1.0);
    }
    // Scores of about -2 give each key an eighth of the mass, so that a bound matters for blocks of
    // any size, and the permitted bound is reached.
    for (int64_t row = 0; row < kPositions; ++row) {
      inputs["q"].values<float>()[row * kDepth] = 2.0f;
      inputs["k"].values<float>()[row * kDepth] = -4.0f;
    }
    auto program = reference::parseProgram(source.program);
    expected = *reference::evaluate(*program, inputs, Positions(), /*grad=*/true);
  }
};

const Question &question() {
  static const Question asked;
  return asked;
}

/// Returns the plan with another bound for one permission, in all stages.
std::string withBound(const std::string &attribute, const std::string &bound) {
  std::string text = question().source.tile;
  const std::string written = attribute + " = 1.000000e-09", loose = attribute + " = " + bound;
  size_t at = text.find(written);
  EXPECT_NE(at, std::string::npos) << written << " in\n" << text;
  for (; at != std::string::npos; at = text.find(written, at + loose.size()))
    text.replace(at, written.size(), loose);
  return text;
}

Tensors run(const std::string &tile, const LoopOptions &options) {
  Tensors tensors;
  for (const auto &[name, tensor] : question().inputs)
    tensors.set(name, std::span(tensor.values<float>()));
  TilePlan(tile, options).run(tensors, kSizes);
  EXPECT_TRUE(tensors.guardsStand());
  return tensors;
}

bool passes(Tensors &tensors) {
  TensorMap found;
  for (const char *name : {"o", "d_q", "d_k", "d_v"}) {
    found[name] = Tensor::zeros(DType::F32, kShape);
    std::ranges::copy(tensors[name], found[name].values<float>().begin());
  }
  return reference::compare(question().expected, found)->passes();
}

bool passes(Tensors &&tensors) { return passes(tensors); }

class Permissions : public testing::TestWithParam<LoopOptions> {
protected:
  LoopOptions choice(bool stop, bool skip) const {
    LoopOptions options = GetParam();
    options.useStop = stop;
    options.useSkip = skip;
    return options;
  }
};

/// Returns the remaining mass at the first keys of the last row, which is zero if they were
/// skipped.
float firstMass(Tensors &tensors) { return tensors["attention_mass"][kPositions - 1]; }

TEST_P(Permissions, changeRoundingOnly) {
  const std::string &tile = question().source.tile;
  Tensors everything = run(tile, choice(false, false)), stopped = run(tile, choice(true, false)),
          skipped = run(tile, choice(false, true));
  EXPECT_TRUE(passes(everything));
  EXPECT_TRUE(passes(stopped));
  EXPECT_TRUE(passes(skipped));
  EXPECT_GT(firstMass(everything), 0.0f);
  EXPECT_EQ(firstMass(stopped), 0.0f);
}

TEST_P(Permissions, failIfTheyAreTooLoose) {
  const std::string stops = withBound("stop_below", "0.5"), skips = withBound("skip_below", "0.5");
  EXPECT_FALSE(passes(run(stops, choice(true, false))));
  EXPECT_FALSE(passes(run(skips, choice(false, true))));
}

TEST_P(Permissions, areIgnoredByDefault) {
  EXPECT_TRUE(passes(run(withBound("stop_below", "0.5"), choice(false, true))));
}

INSTANTIATE_TEST_SUITE_P(Blocks, Permissions, allBlocks(), nameOf);

} // namespace
} // namespace pe::test
