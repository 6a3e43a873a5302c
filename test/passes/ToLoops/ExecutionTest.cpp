//===- ExecutionTest.cpp - executes tile ops ------------------------------===//
//
// The conformance suite executes and checks the plans of passes/ToTile; here they must only stay
// inside their buffers. These tests also execute forms of tile ops that passes/ToTile does not
// emit, through pe-tile-to-loops at several block sizes and with either owner, and compare with
// unblocked matrices in double.
//===----------------------------------------------------------------------===//
#include "passes/ToLoops/Blocks.h"
#include "passes/ToLoops/TilePlan.h"

#include <cmath>
#include <map>

namespace pe::test {
namespace {

/// The tolerance relative to the norm of the tensor.
constexpr double kTolerance = 5e-6;

/// Returns ||x - ref|| / max(||ref||, 1). All inputs are standard normal, so terms that cancel have
/// magnitude 1.
double errorOf(std::span<const float> x, const std::vector<double> &ref) {
  if (x.size() != ref.size())
    return INFINITY;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - ref[i]) * (x[i] - ref[i]);
    norm += ref[i] * ref[i];
  }
  return std::sqrt(difference / std::max(norm, 1.0));
}

void expectClose(Tensors &tensors, const std::string &name, const std::vector<double> &ref) {
  EXPECT_LE(errorOf(tensors[name], ref), kTolerance) << name;
}

/// Batch, query heads, key heads, queries, keys, query start and key start.
const plan::CallSizes kSizes[] = {
    {1, 1, 1, 1, 1, 0, 0},     // one pair
    {2, 4, 2, 37, 37, 0, 0},   // odd length, grouped heads
    {1, 3, 3, 5, 50, 45, 0},   // the last queries of a longer sequence
    {1, 2, 1, 50, 20, -7, 0},  // rows before position 0, rows after the last key
    {1, 2, 2, 33, 49, 40, 24}, // a shard
    {1, 2, 2, 7, 0, 0, 0},     // no keys
    {2, 2, 1, 0, 7, 0, 0},     // no queries
};

std::string describe(const plan::CallSizes &s) {
  std::string text;
  for (int64_t size :
       {s.batch, s.queryHeads, s.keyHeads, s.queries, s.keys, s.queryStart, s.keyStart})
    text += std::to_string(size) + " ";
  return text;
}

/// The mask of every plan below.
constexpr const char *kPairs = "  %pairs = tile.pairs band(left = 12, right = 5)\n";
bool isInMask(int64_t i, int64_t j) { return i >= 0 && i - j < 12 && j - i < 5; }

class Execution : public testing::TestWithParam<LoopOptions> {};

//===- Sums over every space -------------------------------------------------------===//

const std::string kSums = std::string(R"mlir(
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %X = tile.buffer "x" argument : !tile.buffer<[b, hq, r], f32>
  %Y = tile.buffer "y" argument : !tile.buffer<[b, hq, c], f32>
  %W = tile.buffer "w" argument : !tile.buffer<[hq], f32>
  %ROWS = tile.buffer "rows" result : !tile.buffer<[b, hq, r], f32>
  %COLUMNS = tile.buffer "columns" result : !tile.buffer<[b, hkv, c], f32>
  %HEADS = tile.buffer "heads" result : !tile.buffer<[b, hq], f32>
  %LARGEST = tile.buffer "largest" result : !tile.buffer<[b, hq, r], f32>
)mlir") + kPairs + R"mlir(  tile.stage @sums forward over ["b", "hkv"] pairs %pairs {
    %x = tile.load %X : !tile.buffer<[b, hq, r], f32> -> !tile.val<[r], f32>
    %none = tile.constant -1.0e30 : !tile.val<[r], f32>
    %m, %r, %c, %h = tile.stream ascending carry(%none : !tile.val<[r], f32>) {
    ^bb0(%largest: !tile.val<[r], f32>):
      %w = tile.load %W : !tile.buffer<[hq], f32> -> !tile.val<[], f32>
      %y = tile.load %Y : !tile.buffer<[b, hq, c], f32> -> !tile.val<[c], f32>
      %row = tile.position "r" : !tile.val<[r], index>
      %column = tile.position "c" : !tile.val<[c], index>
      %s = tile.map(%x, %y, %w, %row, %column)
          : (!tile.val<[r], f32>, !tile.val<[c], f32>, !tile.val<[], f32>, !tile.val<[r], index>,
             !tile.val<[c], index>) -> !tile.val<[r, c], f32> {
      ^bb0(%a: f32, %e: f32, %g: f32, %i: index, %j: index):
        %d = arith.subi %i, %j : index
        %di = arith.index_cast %d : index to i64
        %df = arith.sitofp %di : i64 to f32
        %0 = arith.mulf %a, %e : f32
        %1 = arith.mulf %g, %df : f32
        %2 = arith.addf %0, %1 : f32
        tile.yield %2 : f32
      }
      %block = tile.reduce max over c %s : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %new = tile.map(%largest, %block)
          : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
      ^bb0(%a: f32, %e: f32):
        %0 = arith.maximumf %a, %e : f32
        tile.yield %0 : f32
      }
      %rows = tile.reduce add over c %s : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %columns = tile.reduce add over r %s : !tile.val<[r, c], f32> -> !tile.val<[c], f32>
      %heads = tile.reduce add over r %rows : !tile.val<[r], f32> -> !tile.val<[], f32>
      tile.yield %new, %rows, %columns, %heads
          : !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[c], f32>, !tile.val<[], f32>
    } : !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[c], f32>, !tile.val<[], f32>
    tile.store %m, %LARGEST : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
    tile.store %r, %ROWS : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
    tile.store %c, %COLUMNS : !tile.val<[c], f32> -> !tile.buffer<[b, hkv, c], f32>
    tile.store %h, %HEADS : !tile.val<[], f32> -> !tile.buffer<[b, hq], f32>
  }
}
)mlir";

TEST_P(Execution, sumsAndMaximaOverEverySpace) {
  TilePlan plan(kSums, GetParam());
  for (const plan::CallSizes &s : kSizes) {
    SCOPED_TRACE(describe(s));
    const int64_t heads = s.batch * s.queryHeads, group = s.queryHeads / s.keyHeads;
    const std::vector<float> x = normals(heads * s.queries, 1), y = normals(heads * s.keys, 2),
                             w = normals(s.queryHeads, 3);
    std::vector<double> rows(heads * s.queries), largest(rows.size(), -1e30), sums(heads),
        columns(s.batch * s.keyHeads * s.keys);
    for (int64_t bh = 0; bh < heads; ++bh)
      for (int64_t row = 0; row < s.queries; ++row)
        for (int64_t column = 0; column < s.keys; ++column) {
          const int64_t i = row + s.queryStart, j = column + s.keyStart;
          if (!isInMask(i, j))
            continue;
          double value = double(x[bh * s.queries + row]) * y[bh * s.keys + column] +
                         double(w[bh % s.queryHeads]) * (i - j);
          double &max = largest[bh * s.queries + row];
          max = std::max(max, value);
          rows[bh * s.queries + row] += value;
          sums[bh] += value;
          columns[bh / group * s.keys + column] += value;
        }
    Tensors tensors;
    tensors.set("x", std::span(x));
    tensors.set("y", std::span(y));
    tensors.set("w", std::span(w));
    plan.run(tensors, s);
    expectClose(tensors, "rows", rows);
    expectClose(tensors, "columns", columns);
    expectClose(tensors, "heads", sums);
    expectClose(tensors, "largest", largest);
    EXPECT_TRUE(tensors.guardsStand());
  }
}

//===- Values over any set of spaces -------------------------------------------------//

const std::string kSets = std::string(R"mlir(
!rd = !tile.val<[r, d], f32>
!re = !tile.val<[r, e], f32>
!rcd = !tile.val<[d, c, r], f32>
!rde = !tile.val<[r, d, e], f32>
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %W = tile.buffer "w" argument : !tile.buffer<[d, e], f32>
  %APART = tile.buffer "apart" result : !tile.buffer<[b, hq, r, d], f32>
  %TURNED = tile.buffer "turned" result : !tile.buffer<[b, hq, r, e], f32>
)mlir") + kPairs + R"mlir(  tile.stage @sets forward over ["b", "hq"] pairs %pairs {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !rd
    %sum = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %x = tile.map(%q, %k) : (!rd, !tile.val<[c, d], f32>) -> !rcd {
      ^bb0(%a: f32, %e: f32):
        %0 = arith.subf %a, %e : f32
        %1 = math.absf %0 : f32
        tile.yield %1 : f32
      }
      %block = tile.reduce add over c %x : !rcd -> !rd
      tile.yield %block : !rd
    } : !rd
    tile.store %sum, %APART : !rd -> !tile.buffer<[b, hq, r, d], f32>
  }
  tile.stage @turn forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !rd
    %w = tile.load %W : !tile.buffer<[d, e], f32> -> !tile.val<[e, d], f32>
    %p = tile.map(%q, %w) : (!rd, !tile.val<[d, e], f32>) -> !rde {
    ^bb0(%a: f32, %e: f32):
      %0 = arith.mulf %a, %e : f32
      tile.yield %0 : f32
    }
    %y = tile.reduce add over d %p : !rde -> !re
    tile.store %y, %TURNED : !re -> !tile.buffer<[b, hq, r, e], f32>
  }
}
)mlir";

TEST_P(Execution, valuesOverAnySet) {
  TilePlan plan(kSets, GetParam());
  for (const plan::CallSizes &s : kSizes) {
    SCOPED_TRACE(describe(s));
    constexpr int64_t kD = 8, kE = 4;
    const int64_t heads = s.batch * s.queryHeads, group = s.queryHeads / s.keyHeads;
    const std::vector<float> q = normals(heads * s.queries * kD, 1),
                             k = normals(s.batch * s.keyHeads * s.keys * kD, 2),
                             w = normals(kD * kE, 3);
    std::vector<double> apart(q.size()), turned(heads * s.queries * kE);
    for (int64_t row = 0; row < heads * s.queries; ++row)
      for (int64_t d = 0; d < kD; ++d) {
        for (int64_t e = 0; e < kE; ++e)
          turned[row * kE + e] += double(q[row * kD + d]) * w[d * kE + e];
        const int64_t head = row / s.queries, i = row % s.queries + s.queryStart;
        for (int64_t column = 0; column < s.keys; ++column)
          if (isInMask(i, column + s.keyStart))
            apart[row * kD + d] +=
                std::abs(double(q[row * kD + d]) - k[(head / group * s.keys + column) * kD + d]);
      }
    Tensors tensors;
    tensors.set("q", std::span(q));
    tensors.set("k", std::span(k));
    tensors.set("w", std::span(w));
    plan.run(tensors, s);
    expectClose(tensors, "apart", apart);
    expectClose(tensors, "turned", turned);
    EXPECT_TRUE(tensors.guardsStand());
  }
}

//===- Scans ---------------------------------------------------------------------===//

struct Scan {
  std::string kind;
  bool isDescending, isExclusive;
};

/// Returns a plan that computes the sum of the scan's values, weighted by key position, and its
/// carry.
std::string scanPlan(const Scan &scan) {
  const std::string order = scan.isDescending ? "descending" : "ascending";
  return std::string(R"mlir(
!r = !tile.val<[r], f32>
!rc = !tile.val<[r, c], f32>
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %X = tile.buffer "x" argument : !tile.buffer<[b, hq, r], f32>
  %LAST = tile.buffer "last" result : !tile.buffer<[b, hq, r], f32>
  %SUM = tile.buffer "sum" result : !tile.buffer<[b, hq, r], f32>
)mlir") + kPairs +
         R"mlir(  tile.stage @scan forward over ["b", "hq"] pairs %pairs {
    %x = tile.load %X : !tile.buffer<[b, hq, r], f32> -> !r
    %last, %sum = tile.stream )mlir" +
         order + R"mlir( carry(%x : !r) {
    ^bb0(%carry: !r):
      %row = tile.position "r" : !tile.val<[r], index>
      %column = tile.position "c" : !tile.val<[c], index>
      %a, %e = tile.map(%row, %column)
          : (!tile.val<[r], index>, !tile.val<[c], index>) -> (!rc, !rc) {
      ^bb0(%i: index, %j: index):
        %c7 = arith.constant 7 : index
        %c11 = arith.constant 11 : index
        %0 = arith.muli %j, %c7 : index
        %c70 = arith.constant 70 : index // makes the sum nonnegative for every negative start
        %from = arith.addi %i, %c70 : index
        %1 = arith.addi %0, %from : index
        %2 = arith.remui %1, %c11 : index
        %3 = arith.index_cast %2 : index to i64
        %4 = arith.sitofp %3 : i64 to f32
        %scale = arith.constant 0.125 : f32
        %5 = arith.mulf %4, %scale : f32
        %one = arith.constant 1.0 : f32
        %6 = arith.subf %5, %one : f32
        tile.yield %5, %6 : f32, f32
      }
      %y, %next = tile.scan )mlir" +
         scan.kind + " " + order + " %a " + (scan.kind == "linear" ? "plus %e : !rc " : "") +
         "carry %carry " + (scan.isExclusive ? "exclusive" : "") + R"mlir( : !rc, !r
      %z = tile.map(%y, %column) : (!rc, !tile.val<[c], index>) -> !rc {
      ^bb0(%v: f32, %j: index):
        %0 = arith.index_cast %j : index to i64
        %1 = arith.sitofp %0 : i64 to f32
        %2 = arith.mulf %v, %1 : f32
        tile.yield %2 : f32
      }
      %block = tile.reduce add over c %z : !rc -> !r
      tile.yield %next, %block : !r, !r
    } : !r, !r
    tile.store %last, %LAST : !r -> !tile.buffer<[b, hq, r], f32>
    tile.store %sum, %SUM : !r -> !tile.buffer<[b, hq, r], f32>
  }
}
)mlir";
}

void expectScan(const TilePlan &plan, const Scan &scan, const plan::CallSizes &s) {
  const int64_t rows = s.batch * s.queryHeads * s.queries;
  const std::vector<float> x = normals(rows, 4);
  std::vector<double> last(x.begin(), x.end()), sum(rows);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t step = 0; step < s.keys; ++step) {
      const int64_t column = scan.isDescending ? s.keys - 1 - step : step;
      const int64_t i = row % s.queries + s.queryStart, j = column + s.keyStart;
      if (!isInMask(i, j))
        continue;
      const double a = double((j * 7 + i + 70) % 11) * 0.125;
      const double before = last[row];
      last[row] = scan.kind == "odds" ? before / (1.0 + a)
                                      : a * before + (scan.kind == "linear" ? a - 1.0 : 0.0);
      sum[row] += double(j) * (scan.isExclusive ? before : last[row]);
    }
  Tensors tensors;
  tensors.set("x", std::span(x));
  plan.run(tensors, s);
  expectClose(tensors, "last", last);
  expectClose(tensors, "sum", sum);
  EXPECT_TRUE(tensors.guardsStand());
}

TEST_P(Execution, scans) {
  for (const char *kind : {"mul", "linear", "odds"})
    for (int form = 0; form < 4; ++form) {
      const Scan scan = {kind, (form & 1) != 0, (form & 2) != 0};
      TilePlan plan(scanPlan(scan), GetParam());
      for (const plan::CallSizes &sizes : kSizes) {
        SCOPED_TRACE(std::string(kind) + " " + std::to_string(form) + ": " + describe(sizes));
        expectScan(plan, scan, sizes);
      }
    }
}

//===- Running maxima --------------------------------------------------------------===//

/// Returns a plan that computes the maximum of x_i y_j up to a slack of 2, and the sum of
/// 2^((x_i y_j - maximum) unit), over the keys of every row.
std::string rescalePlan(double unit) {
  return std::string(R"mlir(
!r = !tile.val<[r], f32>
!c = !tile.val<[c], f32>
!rc = !tile.val<[r, c], f32>
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %X = tile.buffer "x" argument : !tile.buffer<[b, hq, r], f32>
  %Y = tile.buffer "y" argument : !tile.buffer<[b, hq, c], f32>
  %MAX = tile.buffer "max" result : !tile.buffer<[b, hq, r], f32>
  %SUM = tile.buffer "sum" result : !tile.buffer<[b, hq, r], f32>
)mlir") + kPairs +
         R"mlir(  tile.stage @rescale forward over ["b", "hq"] pairs %pairs {
    %x = tile.load %X : !tile.buffer<[b, hq, r], f32> -> !r
    %none = tile.constant -1.0e29 : !r
    %zero = tile.constant 0.0 : !r
    %max, %sum = tile.stream ascending carry(%none, %zero : !r, !r) {
    ^bb0(%m: !r, %l: !r):
      %y = tile.load %Y : !tile.buffer<[b, hq, c], f32> -> !c
      %product = tile.map(%x, %y) : (!r, !c) -> !rc {
      ^bb0(%a: f32, %e: f32):
        %0 = arith.mulf %a, %e : f32
        tile.yield %0 : f32
      }
      %s = tile.mask %product fill -1.0e30 : !rc
      %d, %offset, %raised, %scaled = tile.rescale %s from %m(%l) unit )mlir" +
         std::to_string(unit) + R"mlir( slack 2.0 : !rc, !r, !r
      %p = tile.map(%d, %offset) : (!rc, !r) -> !rc {
      ^bb0(%a: f32, %e: f32):
        %unit = arith.constant )mlir" +
         std::to_string(unit) + R"mlir( : f32
        %0 = math.fma %a, %unit, %e : f32
        %1 = math.exp2 %0 : f32
        tile.yield %1 : f32
      }
      %block = tile.reduce add over c %p : !rc -> !r
      %next = tile.map(%scaled, %block) : (!r, !r) -> !r {
      ^bb0(%a: f32, %e: f32):
        %0 = arith.addf %a, %e : f32
        tile.yield %0 : f32
      }
      tile.yield %raised, %next : !r, !r
    } : !r, !r
    tile.store %max, %MAX : !r -> !tile.buffer<[b, hq, r], f32>
    tile.store %sum, %SUM : !r -> !tile.buffer<[b, hq, r], f32>
  }
}
)mlir";
}

/// The maximum is at most the largest product and at least that minus the slack, and the sum is
/// relative to it. Large maxima are exact.
TEST_P(Execution, runningMaxima) {
  constexpr double kSlack = 2.0;
  for (const auto &[unit, size] : {std::pair(1.0, 4.0), {0.125, 30.0}, {0.125, 1e6}}) {
    TilePlan plan(rescalePlan(unit), GetParam());
    for (const plan::CallSizes &s : kSizes) {
      SCOPED_TRACE(std::to_string(size) + ": " + describe(s));
      const int64_t rows = s.batch * s.queryHeads * s.queries;
      const std::vector<float> x = normals(rows, 4);
      std::vector<float> y = normals(s.batch * s.queryHeads * s.keys, 5);
      for (float &value : y)
        value *= float(size);
      Tensors tensors;
      tensors.set("x", std::span(x));
      tensors.set("y", std::span(std::as_const(y)));
      plan.run(tensors, s);
      std::vector<double> sums(rows);
      for (int64_t row = 0; row < rows; ++row) {
        const double maximum = tensors["max"][row];
        double largest = -INFINITY;
        for (int64_t key = 0; key < s.keys; ++key) {
          if (!isInMask(row % s.queries + s.queryStart, key + s.keyStart))
            continue;
          const double score = x[row] * y[row / s.queries * s.keys + key];
          largest = std::max(largest, score);
          sums[row] += std::exp2((score - maximum) * unit);
        }
        if (largest == -INFINITY)
          continue;
        EXPECT_LE(maximum, largest);
        EXPECT_GE(maximum, largest - (size > 1e3 ? 0.0 : kSlack / unit + 1e-4)) << row;
      }
      if (size < 1e3) // otherwise, the products round
        expectClose(tensors, "sum", sums);
      EXPECT_TRUE(tensors.guardsStand());
    }
  }
}

//===- Plans of ToTile -----------------------------------------------------------------===//

/// Plans with every class of terms and both normalizers read only initialized memory and write only
/// inside their buffers. The conformance suite checks the results.
TEST_P(Execution, staysInsideItsBuffers) {
  for (const char *file :
       {"test/conformance/encodings/two_biases.mlir", "examples/encodings/fire.mlir",
        "examples/encodings/custom_bias.mlir", "examples/encodings/stick_breaking.mlir"}) {
    SCOPED_TRACE(file);
    static std::map<std::string, Source> sources;
    if (!sources.contains(file))
      sources[file] = compileToTile(std::string(PE_TEST_SOURCE_DIR "/") + file, 8, 16);
    TilePlan plan(sources[file].tile, GetParam());
    for (const plan::CallSizes &sizes : kSizes) {
      SCOPED_TRACE(describe(sizes));
      Tensors tensors;
      plan.draw(tensors, sizes);
      plan.run(tensors, sizes);
      EXPECT_TRUE(tensors.guardsStand());
      for (const char *name : {"o", "d_q", "d_k", "d_v"})
        EXPECT_TRUE(std::ranges::all_of(tensors[name], [](float x) { return std::isfinite(x); }))
            << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, Execution, allBlocks(), nameOf);

//===- The comparison itself -------------------------------------------------------===//

TEST(Comparison, failsOnCorruptedResults) {
  std::vector<double> ref = {1, 2, 3};
  std::vector<float> x = {1, 2, 3};
  EXPECT_EQ(errorOf(x, ref), 0);
  x[1] = 2.001f;
  EXPECT_GT(errorOf(x, ref), kTolerance);
  x[1] = NAN;
  EXPECT_FALSE(errorOf(x, ref) <= kTolerance);
  x.pop_back();
  EXPECT_FALSE(errorOf(x, ref) <= kTolerance);
}

} // namespace
} // namespace pe::test
