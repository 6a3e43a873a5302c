//===- ExecutionTest.cpp - the tile algorithms, executed ------------------===//
//
// Every algorithm of test/dialect/Tile/algorithms.mlir and Inputs/terms.mlir through
// pe-tile-to-loops at several block sizes and with rows or columns as the outer loop, against
// whole matrices in double.
//
//===----------------------------------------------------------------------===//
#include "passes/ToLoops/DenseAttention.h"
#include "passes/ToLoops/TilePlan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace pe::test {
namespace {

const std::string kAlgorithms = PE_TEST_SOURCE_DIR "/test/dialect/Tile/algorithms.mlir";
const std::string kTerms = PE_TEST_SOURCE_DIR "/test/passes/ToLoops/Inputs/terms.mlir";

/// In units of the tensor's norm.
constexpr double kTolerance = 5e-6;

/// ||x - ref|| / max(||ref||, 1): all inputs are normal numbers, so 1 is the size of what cancels.
template <typename T> double errorOf(std::span<const T> x, const std::vector<double> &ref) {
  if (x.size() != ref.size())
    return INFINITY;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isinf(ref[i]) && x[i] == ref[i])
      continue;
    difference += (x[i] - ref[i]) * (x[i] - ref[i]);
    norm += ref[i] * ref[i];
  }
  return std::sqrt(difference / std::max(norm, 1.0));
}

template <typename T = float>
void expectClose(Tensors &tensors, const std::string &name, const std::vector<double> &ref,
                 double tolerance = kTolerance) {
  std::span<const T> x = tensors.get<T>(name);
  EXPECT_LE(errorOf(x, ref), tolerance) << name;
}

//===- Cases -----------------------------------------------------------------===//

/// batch, query heads, key heads, queries, keys, query start, key start
const plan::CallSizes kSizes[] = {
    {1, 1, 1, 1, 1, 0, 0},     // one pair
    {2, 4, 2, 37, 37, 0, 0},   // odd length, grouped heads
    {1, 3, 3, 5, 50, 45, 0},   // the last queries of a longer text
    {1, 2, 1, 50, 20, -7, 0},  // rows before the beginning, rows beyond the last key
    {1, 2, 2, 33, 49, 40, 24}, // a shard
    {1, 1, 1, 18, 20, 0, 9},   // rows before the first key
    {1, 2, 2, 7, 0, 0, 0},     // no keys
    {2, 2, 1, 0, 7, 0, 0},     // no queries
};

class Execution : public testing::TestWithParam<LoopChoice> {};

struct MaskCase {
  std::string text;
  std::function<bool(int64_t, int64_t)> inMask;
};
const MaskCase kNone = {"{kind = \"none\"}", [](int64_t, int64_t) { return true; }};
const MaskCase kCausal = {"{kind = \"causal\"}", [](int64_t i, int64_t j) { return j <= i; }};
const MaskCase kStrict = {"{kind = \"strict_causal\"}", [](int64_t i, int64_t j) { return j < i; }};
const MaskCase kWindow = {"{kind = \"window\", left = 12 : i64, right = 5 : i64}",
                          [](int64_t i, int64_t j) { return i - j < 12 && j - i < 5; }};

DenseAttention makeDense(const plan::CallSizes &sizes, int64_t headDim, int64_t valueDim,
                         const MaskCase &mask) {
  DenseAttention dense;
  dense.sizes = sizes;
  dense.headDim = headDim;
  dense.valueDim = valueDim;
  dense.inMask = mask.inMask;
  dense.draw(17 + sizes.keys + 100 * sizes.queries);
  return dense;
}

void setInputs(Tensors &tensors, const DenseAttention &dense) {
  tensors.set("q", dense.q);
  tensors.set("k", dense.k);
  tensors.set("v", dense.v);
  tensors.set("d_o", dense.dO);
}

std::string describe(const plan::CallSizes &s) {
  std::string text;
  for (int64_t size :
       {s.batch, s.queryHeads, s.keyHeads, s.queries, s.keys, s.queryStart, s.keyStart})
    text += std::to_string(size) + " ";
  return text;
}

/// A row that attends to nothing, and a key that nobody attends to, is exactly zero.
void expectUntouchedAreZero(Tensors &tensors, const DenseAttention &dense) {
  const plan::CallSizes &s = dense.sizes;
  auto expectZero = [&](const char *name, int64_t heads, int64_t rows, int64_t row, int64_t depth) {
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t d = 0; d < depth; ++d)
        EXPECT_EQ(tensors[name][(head * rows + row) * depth + d], 0.0f) << name;
  };
  auto touches = [&](int64_t count, auto attends) {
    for (int64_t other = 0; other < count; ++other)
      if (attends(other))
        return true;
    return false;
  };
  for (int64_t row = 0; row < s.queries; ++row)
    if (!touches(s.keys, [&](int64_t column) { return dense.attends(row, column); })) {
      expectZero("o", s.batch * s.queryHeads, s.queries, row, dense.valueDim);
      expectZero("d_q", s.batch * s.queryHeads, s.queries, row, dense.headDim);
    }
  for (int64_t column = 0; column < s.keys; ++column)
    if (!touches(s.queries, [&](int64_t row) { return dense.attends(row, column); })) {
      expectZero("d_k", s.batch * s.keyHeads, s.keys, column, dense.headDim);
      expectZero("d_v", s.batch * s.keyHeads, s.keys, column, dense.valueDim);
    }
}

void expectGradients(Tensors &tensors, const DenseAttention &dense) {
  expectUntouchedAreZero(tensors, dense);
  expectClose(tensors, "o", dense.o);
  expectClose(tensors, "d_q", dense.dq);
  expectClose(tensors, "d_k", dense.dk);
  expectClose(tensors, "d_v", dense.dv);
  EXPECT_TRUE(tensors.guardsStand());
}

/// Log-sum-exp in units of log2, as the algorithms keep it.
std::vector<double> inLog2(std::vector<double> lse) {
  for (double &x : lse)
    x *= 1.4426950408889634;
  return lse;
}

/// Sums of dS along diagonals, as tile.window_grad lays them out.
std::vector<double> diagonals(const DenseAttention &dense) {
  const plan::CallSizes &s = dense.sizes;
  int64_t width = s.queries + s.keys + 63;
  std::vector<double> sums(s.batch * s.queryHeads * width);
  for (int64_t bh = 0; bh < s.batch * s.queryHeads; ++bh)
    for (int64_t row = 0; row < s.queries; ++row)
      for (int64_t column = 0; column < s.keys; ++column)
        sums[bh * width + row - column + s.keys - 1] += dense.dS[dense.pair(0, bh, row, column)];
  return sums;
}

//===- The algorithms by hand ------------------------------------------------------===//

TEST_P(Execution, softmax) {
  for (const MaskCase &mask : {kCausal, kNone, kStrict, kWindow}) {
    TilePlan forward(kAlgorithms, "softmax_forward", GetParam(), mask.text);
    TilePlan backward(kAlgorithms, "softmax_backward", GetParam(), mask.text);
    for (const plan::CallSizes &sizes : kSizes) {
      SCOPED_TRACE(mask.text + " " + describe(sizes));
      DenseAttention dense = makeDense(sizes, 64, 64, mask);
      dense.scale = 0.125;
      dense.bias = [&](int64_t, int64_t, int64_t row, int64_t column) {
        return -0.5 * (row + sizes.queryStart - column - sizes.keyStart);
      };
      dense.runSoftmax();
      Tensors tensors;
      setInputs(tensors, dense);
      forward.run(tensors, sizes);
      expectClose(tensors, "lse", inLog2(dense.lse));
      backward.run(tensors, sizes);
      expectGradients(tensors, dense);
      expectClose(tensors, "diagonals", diagonals(dense));
    }
  }
}

TEST_P(Execution, stickBreaking) {
  for (const MaskCase &mask : {kStrict, kCausal, kWindow}) {
    TilePlan forward(kAlgorithms, "stick_breaking_forward", GetParam(), mask.text);
    TilePlan backward(kAlgorithms, "stick_breaking_backward", GetParam(), mask.text);
    for (const plan::CallSizes &sizes : kSizes) {
      SCOPED_TRACE(mask.text + " " + describe(sizes));
      DenseAttention dense = makeDense(sizes, 64, 64, mask);
      dense.scale = 0.125;
      dense.runStickBreaking();
      Tensors tensors;
      setInputs(tensors, dense);
      forward.run(tensors, sizes);
      backward.run(tensors, sizes);
      expectGradients(tensors, dense);
    }
  }
}

//===- Every kind of bias ----------------------------------------------------------===//

/// The parameters of Inputs/terms.mlir and their function.
struct TermParameters {
  std::vector<float> slopes, amp, col, row, w1, b1, w2, b2;

  TermParameters(const plan::CallSizes &s, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    auto fill = [&](std::vector<float> &values, int64_t count) {
      values.resize(count);
      for (float &x : values)
        x = normal(random);
    };
    fill(slopes, s.queryHeads);
    fill(amp, s.queryHeads);
    fill(col, s.batch * s.queryHeads * s.keys);
    fill(row, s.batch * s.queryHeads * s.queries);
    fill(w1, 8);
    fill(b1, 8);
    fill(w2, s.queryHeads * 8);
    fill(b2, s.queryHeads);
    for (float &x : slopes)
      x *= 0.1f;
  }

  void set(Tensors &tensors) const {
    tensors.set("slopes", slopes);
    tensors.set("amp", amp);
    tensors.set("col", col);
    tensors.set("row", row);
    tensors.set("w1", w1);
    tensors.set("b1", b1);
    tensors.set("w2", w2);
    tensors.set("b2", b2);
  }

  double network(int64_t h, double t) const {
    double sum = b2[h];
    for (int unit = 0; unit < 8; ++unit)
      sum += w2[h * 8 + unit] * std::max(w1[unit] * t + b1[unit], 0.0);
    return sum;
  }
};

double decay(double distance) { return std::exp(-std::abs(distance) / 7); }

void setTermBias(DenseAttention &dense, const TermParameters &p) {
  const plan::CallSizes s = dense.sizes;
  dense.bias = [s, &p](int64_t b, int64_t h, int64_t row, int64_t column) {
    double i = row + s.queryStart, j = column + s.keyStart, d = std::abs(i - j);
    double t = std::log1p(0.1 * d) / std::log1p(0.1 * std::max(i, 5.0));
    return -p.slopes[h] * d + p.network(h, t) + p.amp[h] * decay(d) +
           p.col[(b * s.queryHeads + h) * s.keys + column] +
           p.row[(b * s.queryHeads + h) * s.queries + row];
  };
}

/// What the backward plan leaves of the segments' adjoint, from its own tables of u and v: the
/// side of a kink that a pair falls on is a matter of single precision.
void expectSegmentGradients(Tensors &tensors, const DenseAttention &dense) {
  const plan::CallSizes &s = dense.sizes;
  std::span<float> u = tensors["u"], v = tensors["v_row"], knots = tensors["knots"];
  std::span<float> slope = tensors["slope"];
  int32_t count = tensors.get<int32_t>("count")[0];
  int64_t heads = s.batch * s.queryHeads, width = s.queries + s.keys + 63;
  std::vector<double> moments(heads * 18), rows(heads * s.queries), distances(heads * width);
  for (int64_t bh = 0; bh < heads; ++bh)
    for (int64_t row = 0; row < s.queries; ++row)
      for (int64_t column = 0; column < s.keys; ++column) {
        int64_t at = row - column + s.keys - 1, segment = 0;
        float t = u[at] * v[row];
        for (int32_t kink = 0; kink + 1 < count; ++kink)
          segment += knots[kink] < t;
        double g = dense.dS[dense.pair(0, bh, row, column)];
        double a = slope[bh % s.queryHeads * 9 + segment];
        moments[(bh * 9 + segment) * 2] += g;
        moments[(bh * 9 + segment) * 2 + 1] += g * t;
        rows[bh * s.queries + row] += g * a * u[at];
        distances[bh * width + at] += g * a * v[row];
      }
  expectClose(tensors, "moments", moments, 2e-5); // sums of numbers of both signs
  expectClose(tensors, "v_grad", rows, 2e-5);
  expectClose(tensors, "u_grad", distances, 2e-5);
}

/// Sums of dS over the pairs of a head, a row, a column; and of dS times the decay.
void expectSums(Tensors &tensors, const DenseAttention &dense) {
  const plan::CallSizes &s = dense.sizes;
  int64_t group = s.queryHeads / s.keyHeads;
  std::vector<double> heads(s.batch * s.queryHeads), rows(heads.size() * s.queries),
      columns(s.batch * s.keyHeads * s.keys), amp(s.queryHeads);
  double size = 0;
  for (int64_t bh = 0; bh < s.batch * s.queryHeads; ++bh)
    for (int64_t row = 0; row < s.queries; ++row)
      for (int64_t column = 0; column < s.keys; ++column) {
        double g = dense.dS[dense.pair(0, bh, row, column)];
        heads[bh] += g;
        rows[bh * s.queries + row] += g;
        columns[bh / group * s.keys + column] += g;
        amp[bh % s.queryHeads] += g * decay(row + s.queryStart - column - s.keyStart);
        size += std::abs(g);
      }
  expectClose(tensors, "col_sums", columns);
  expectClose<double>(tensors, "d_amp", amp, 2e-5);
  // Softmax makes these zero, but for rounding.
  for (const char *name : {"row_sums", "head_sums"})
    for (float x : tensors[name])
      EXPECT_NEAR(x, 0.0, 1e-6 * (size + 1)) << name;
}

TEST_P(Execution, everyKindOfBias) {
  for (const MaskCase &mask : {kCausal, kNone, kWindow}) {
    TilePlan forward(kTerms, "terms_forward", GetParam(), mask.text);
    TilePlan backward(kTerms, "terms_backward", GetParam(), mask.text);
    for (const plan::CallSizes &sizes : kSizes) {
      SCOPED_TRACE(mask.text + " " + describe(sizes));
      DenseAttention dense = makeDense(sizes, 8, 4, mask);
      TermParameters parameters(sizes, 5);
      dense.scale = 0.25;
      setTermBias(dense, parameters);
      dense.runSoftmax();
      Tensors tensors;
      setInputs(tensors, dense);
      parameters.set(tensors);
      forward.run(tensors, sizes);
      expectClose(tensors, "lse", inLog2(dense.lse));
      backward.run(tensors, sizes);
      expectGradients(tensors, dense);
      expectClose(tensors, "diagonals", diagonals(dense));
      expectSegmentGradients(tensors, dense);
      expectSums(tensors, dense);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, Execution,
                         testing::Values(LoopChoice{1, 1, "rows"}, LoopChoice{1, 1, "columns"},
                                         LoopChoice{16, 16, "rows"}, LoopChoice{16, 16, "columns"},
                                         LoopChoice{48, 32, "rows"}, LoopChoice{48, 32, "columns"},
                                         LoopChoice{5, 64, "auto"}),
                         [](const auto &info) {
                           return std::to_string(info.param.rows) + "x" +
                                  std::to_string(info.param.columns) + "_" + info.param.owner;
                         });

//===- The comparison itself -------------------------------------------------------===//

TEST(Comparison, failsOnCorruptedResults) {
  std::vector<double> ref = {1, 2, 3};
  std::vector<float> x = {1, 2, 3};
  EXPECT_EQ(errorOf(std::span<const float>(x), ref), 0);
  x[1] = 2.001f;
  EXPECT_GT(errorOf(std::span<const float>(x), ref), kTolerance);
  x[1] = NAN;
  EXPECT_FALSE(errorOf(std::span<const float>(x), ref) <= kTolerance);
  x.pop_back();
  EXPECT_FALSE(errorOf(std::span<const float>(x), ref) <= kTolerance);
  EXPECT_FALSE(errorOf(std::span<const float>(std::vector<float>{1e-5f}), {0.0}) <= kTolerance);
  EXPECT_FALSE(errorOf(std::span<const float>(std::vector<float>{0}), {-INFINITY}) <= kTolerance);
}

} // namespace
} // namespace pe::test
