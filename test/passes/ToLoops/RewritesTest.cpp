//===- RewritesTest.cpp - tile-to-tile passes for GPUs preserve results ---===//
//
// pe-spill-pairs, pe-hoist-row-values, pe-split-sums, pe-lay-out-tables, pe-divide-loops and
// pe-fuse-loops rewrite tile programs before pe-tile-to-gpu. Executes the programs before and after
// them through pe-tile-to-loops.
//
//===----------------------------------------------------------------------===//
#include "passes/ToLoops/TilePlan.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pe::test {
namespace {

/// A program, and the kinds of sums of its backward pass.
struct Program {
  const char *file, *sums;
};

/// The bound of distanceOf. Slots are f32, and sums of thousands of pairs cancel to small
/// gradients.
constexpr double kTolerance = 5e-4;

class Rewrites : public testing::TestWithParam<Program> {};

/// Returns ||x - y|| / max(||y||, 1).
double distanceOf(std::span<const float> x, std::span<const float> y) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    difference += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
    norm += double(y[i]) * y[i];
  }
  return x.size() == y.size() ? std::sqrt(difference / std::max(norm, 1.0)) : INFINITY;
}

TEST_P(Rewrites, preserveResults) {
  const std::string before =
      compileToTile(std::string(PE_TEST_SOURCE_DIR "/") + GetParam().file, 8, 16).tile;
  const std::string after = rewriteForGpu(before);
  EXPECT_NE(after.find(GetParam().sums), std::string::npos) << after;
  const LoopOptions options{16, 16, LoopOwner::Columns};
  TilePlan plan(before, options), rewritten(after, options);
  // Batch, query heads, key heads, queries, keys, query start and key start. The longest have
  // several blocks of 16 owners.
  for (const plan::CallSizes &sizes :
       {plan::CallSizes{1, 1, 1, 1, 1, 0, 0}, plan::CallSizes{2, 4, 2, 37, 37, 0, 0},
        plan::CallSizes{1, 3, 3, 5, 50, 45, 0}, plan::CallSizes{1, 3, 1, 300, 300, 0, 0}}) {
    SCOPED_TRACE(std::to_string(sizes.queries) + " " + std::to_string(sizes.keys));
    Tensors expected;
    plan.draw(expected, sizes);
    Tensors found = expected;
    plan.run(expected, sizes);
    rewritten.run(found, sizes);
    EXPECT_TRUE(found.guardsStand());
    for (const std::string &name : expected.names())
      if (name == "o" || name.starts_with("d_"))
        EXPECT_LE(distanceOf(found[name], expected[name]), kTolerance) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sums, Rewrites,
    testing::Values(
        Program{"examples/encodings/t5.mlir",
                "slots <c by 16> {zero} : <[b, hq, \"min(ceildiv(c,16),256)\", t], f32>"},
        Program{"examples/encodings/fire.mlir",
                "slots <c by 16> {zero} : <[b, hq, \"ceildiv(c,16)\", 33, 2], f32>"},
        Program{"examples/encodings/fire_gelu.mlir",
                "slots <c by 16> {zero} : <[b, hq, \"ceildiv(c,16)\"], f32>"},
        Program{"examples/encodings/music_transformer.mlir", "temporary : <[t, d], f32>"},
        // Pairs of the smaller calls fit 1 MiB; those of the last one are added up in turns.
        Program{"examples/encodings/alibi.mlir",
                "temporary : <[b, hq, \"ceildiv(c,64)*64\", \"ceildiv(r,128)*128\"], f32>"}),
    [](const auto &program) {
      std::string name = program.param.file;
      name = name.substr(name.rfind('/') + 1);
      return name.substr(0, name.find('.'));
    });

} // namespace
} // namespace pe::test
