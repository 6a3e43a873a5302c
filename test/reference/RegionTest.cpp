//===- RegionTest.cpp - User regions in the reference ---------------------===//
//
// Tests the value and derivative of each scalar operation at a point, and the operations that
// regions may contain.
//
//===----------------------------------------------------------------------===//

#include "reference/Helpers.h"
#include "runtime/reference/GraphBuilder.h"

#include <cmath>

namespace pe::test {
namespace {

using Values = std::vector<int>;

/// The bias of one pair (i = 5, j = 2, head 1 of 3) from a region that reads a parameter of value
/// x, and its derivative with respect to x.
struct Point {
  double value = 0.0;
  double derivative = 0.0;
};

template <typename Write> Point evaluateRegion(double x, Write write) {
  ProgramBuilder f;
  int parameter = f.parameter("x", {});
  int bias = f.biasFunction(
      {parameter}, [&](const Values &a) { return write(f, a, f.scalar("pe.read", {a[4]})); });
  f.attention({bias}, {}, f.mask("pe.causal"));
  Encoding encoding{"region", f.finish(), f.parameters()};
  TensorMap inputs = randomInputs(encoding, {1, 3, 3, 6, 6, 2, 2}, 1);
  inputs["x"] = Tensor::scalar(x);
  Point point;
  point.value = biasAt(encoding.program, inputs, {0, 1, 5, 2});
  // Evaluates the same graph again, in reverse, for the derivative of the pair.
  reference::TensorValues tensors;
  tensors.emplace(3, reference::Array{{}, {x}});
  auto definitions = reference::findDefinitions(encoding.program);
  plan::CallSizes sizes;
  sizes.queryHeads = sizes.keyHeads = 3;
  reference::GraphBuilder builder(encoding.program, definitions, tensors, sizes);
  auto node = builder.nodeOf(encoding.program.operations[0].results[0]);
  if (!node) {
    ADD_FAILURE() << node.error().getMessage();
    return point;
  }
  reference::ScalarEvaluator evaluator(builder.graph, *node, builder.pack);
  reference::ParameterGradients gradients(builder.pack.size());
  evaluator.startHead(0, 1, 1, 3);
  evaluator.startRow(5);
  EXPECT_EQ(evaluator.evaluate(2), point.value);
  evaluator.reverse(1.0, 0.0, gradients);
  point.derivative = gradients.sum.empty() ? 0.0 : gradients.sum[0];
  return point;
}

TEST(Region, UnaryOperations) {
  struct Row {
    const char *op;
    double (*value)(double);
  };
  const Row rows[] = {
      {"arith.negf", [](double x) { return -x; }},
      {"math.absf", [](double x) { return std::fabs(x); }},
      {"math.exp", [](double x) { return std::exp(x); }},
      {"math.exp2", [](double x) { return std::exp2(x); }},
      {"math.expm1", [](double x) { return std::expm1(x); }},
      {"math.log", [](double x) { return std::log(x); }},
      {"math.log2", [](double x) { return std::log2(x); }},
      {"math.log10", [](double x) { return std::log10(x); }},
      {"math.log1p", [](double x) { return std::log1p(x); }},
      {"math.sqrt", [](double x) { return std::sqrt(x); }},
      {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"math.cbrt", [](double x) { return std::cbrt(x); }},
      {"math.sin", [](double x) { return std::sin(x); }},
      {"math.cos", [](double x) { return std::cos(x); }},
      {"math.tan", [](double x) { return std::tan(x); }},
      {"math.asin", [](double x) { return std::asin(x); }},
      {"math.acos", [](double x) { return std::acos(x); }},
      {"math.atan", [](double x) { return std::atan(x); }},
      {"math.sinh", [](double x) { return std::sinh(x); }},
      {"math.cosh", [](double x) { return std::cosh(x); }},
      {"math.tanh", [](double x) { return std::tanh(x); }},
      {"math.erf", [](double x) { return std::erf(x); }},
      {"math.erfc", [](double x) { return std::erfc(x); }},
      {"math.floor", [](double x) { return std::floor(x); }},
      {"math.round", [](double x) { return std::round(x); }},
  };
  constexpr double x = 0.7, h = 1e-5;
  for (const Row &row : rows) {
    Point point = evaluateRegion(
        x, [&](ProgramBuilder &f, const Values &, int in) { return f.scalar(row.op, {in}); });
    EXPECT_DOUBLE_EQ(point.value, row.value(x)) << row.op;
    EXPECT_NEAR(point.derivative, (row.value(x + h) - row.value(x - h)) / (2 * h), 1e-8) << row.op;
  }
}

TEST(Region, BinaryOperations) {
  struct Row {
    const char *op;
    double (*value)(double, double);
  };
  const Row rows[] = {
      {"arith.addf", [](double a, double b) { return a + b; }},
      {"arith.subf", [](double a, double b) { return a - b; }},
      {"arith.mulf", [](double a, double b) { return a * b; }},
      {"arith.divf", [](double a, double b) { return a / b; }},
      {"arith.remf", [](double a, double b) { return std::fmod(a, b); }},
      {"arith.maximumf", [](double a, double b) { return std::fmax(a, b); }},
      {"arith.minimumf", [](double a, double b) { return std::fmin(a, b); }},
      {"math.powf", [](double a, double b) { return std::pow(a, b); }},
      {"math.atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"math.copysign", [](double a, double b) { return std::copysign(a, b); }},
  };
  // Both operands depend on x, so this checks both partial derivatives.
  constexpr double x = 1.3, h = 1e-5;
  for (const Row &row : rows) {
    Point point = evaluateRegion(x, [&](ProgramBuilder &f, const Values &, int in) {
      return f.scalar(row.op, {f.scalar("math.exp", {in}), f.scalar("arith.mulf", {in, in})});
    });
    auto value = [&](double at) { return row.value(std::exp(at), at * at); };
    EXPECT_DOUBLE_EQ(point.value, value(x)) << row.op;
    EXPECT_NEAR(point.derivative, (value(x + h) - value(x - h)) / (2 * h), 1e-7) << row.op;
  }
}

TEST(Region, TieRules) {
  auto at = [](double x, const char *op, double other) {
    return evaluateRegion(x, [&](ProgramBuilder &f, const Values &,
                                 int in) { return f.scalar(op, {in, f.number(other)}); })
        .derivative;
  };
  EXPECT_EQ(at(2.0, "arith.maximumf", 2.0), 0.5);
  EXPECT_EQ(at(2.0, "arith.minimumf", 2.0), 0.5);
  EXPECT_EQ(at(2.0, "arith.maximumf", 3.0), 0.0);
  EXPECT_EQ(at(2.0, "arith.maximumf", 1.0), 1.0);
  Point zero = evaluateRegion(
      0.0, [](ProgramBuilder &f, const Values &, int in) { return f.scalar("math.absf", {in}); });
  EXPECT_EQ(zero.derivative, 0.0);
}

TEST(Region, PositionsHeadsAndIntegers) {
  Point point = evaluateRegion(1.0, [](ProgramBuilder &f, const Values &a, int) {
    int thousand = f.scalar("arith.constant", {}, "index", {{"value", 1000}});
    int head = f.scalar("pe.global_head", {a[1]}, "index");
    int total = f.scalar("pe.heads_total", {}, "index");
    // 1000 h + 10 (i - j) + H in integers.
    int ten = f.scalar("arith.constant", {}, "index", {{"value", "10 : index"}});
    int d = f.scalar("arith.subi", {a[2], a[3]}, "index");
    int sum = f.scalar("arith.addi",
                       {f.scalar("arith.muli", {thousand, head}, "index"),
                        f.scalar("arith.muli", {ten, d}, "index")},
                       "index");
    sum = f.scalar("arith.addi", {sum, total}, "index");
    return f.scalar("arith.sitofp", {f.scalar("arith.index_cast", {sum}, "i64")});
  });
  EXPECT_EQ(point.value, 1033.0);
}

/// Returns the result of an operation on two integers of `type` as a real number.
double onIntegers(const std::string &op, const std::string &type, int64_t a, int64_t b) {
  return evaluateRegion(1.0,
                        [&](ProgramBuilder &f, const Values &, int) {
                          int left = f.scalar("arith.constant", {}, type, {{"value", a}});
                          int right = f.scalar("arith.constant", {}, type, {{"value", b}});
                          return f.scalar("arith.sitofp", {f.scalar(op, {left, right}, type)});
                        })
      .value;
}

TEST(Region, UnsignedOperationsReadTheBitsOfNegativeNumbers) {
  EXPECT_EQ(onIntegers("arith.maxui", "i32", -5, 2), -5.0);
  EXPECT_EQ(onIntegers("arith.minui", "i32", -5, 2), 2.0);
  EXPECT_EQ(onIntegers("arith.divui", "i32", -5, 7), 613566755.0);
  EXPECT_EQ(onIntegers("arith.ceildivui", "i32", -5, 7), 613566756.0);
  EXPECT_EQ(onIntegers("arith.remui", "i32", -5, 7), 6.0);
  EXPECT_EQ(onIntegers("arith.shrui", "i32", -5, 1), 2147483645.0);
  EXPECT_EQ(onIntegers("arith.divui", "i64", -5, int64_t(1) << 32), 4294967295.0);
  for (const char *predicate : {"ult", "ugt"}) {
    Point point = evaluateRegion(1.0, [&](ProgramBuilder &f, const Values &, int) {
      int left = f.scalar("arith.constant", {}, "i32", {{"value", -1}});
      int right = f.scalar("arith.constant", {}, "i32", {{"value", 1}});
      int truth = f.scalar("arith.cmpi", {left, right}, "i1", {{"predicate", predicate}});
      return f.scalar("arith.uitofp", {truth});
    });
    EXPECT_EQ(point.value, std::string(predicate) == "ugt" ? 1.0 : 0.0);
  }
}

TEST(Region, IntegersWrapAroundAtTheirWidth) {
  constexpr int64_t lowest32 = -(int64_t(1) << 31), highest32 = -lowest32 - 1;
  EXPECT_EQ(onIntegers("arith.addi", "i32", highest32, 1), double(lowest32));
  EXPECT_EQ(onIntegers("arith.subi", "i32", lowest32, 1), double(highest32));
  EXPECT_EQ(onIntegers("arith.muli", "i32", 65536, 65536), 0.0);
  EXPECT_EQ(onIntegers("arith.muli", "index", 65536, 65536), 4294967296.0);
  EXPECT_EQ(onIntegers("arith.shli", "i32", 1, 31), double(lowest32));
  EXPECT_EQ(onIntegers("arith.shli", "i32", 1, 32), 0.0);
  EXPECT_EQ(onIntegers("arith.shrsi", "i32", -8, 40), -1.0);
  EXPECT_EQ(onIntegers("arith.divsi", "i32", lowest32, -1), double(lowest32));
  EXPECT_EQ(onIntegers("arith.remsi", "i32", lowest32, -1), 0.0);
}

TEST(Region, DivisionsOfIntegersRoundAndAreDefined) {
  EXPECT_EQ(onIntegers("arith.divsi", "i64", -7, 2), -3.0);
  EXPECT_EQ(onIntegers("arith.floordivsi", "i64", -7, 2), -4.0);
  EXPECT_EQ(onIntegers("arith.ceildivsi", "i64", -7, 2), -3.0);
  EXPECT_EQ(onIntegers("arith.ceildivsi", "i64", 7, 2), 4.0);
  EXPECT_EQ(onIntegers("arith.remsi", "i64", -7, 2), -1.0);
  for (const char *op : {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui",
                         "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"})
    EXPECT_EQ(onIntegers(op, "i64", 7, 0), 0.0) << op;
}

TEST(Region, BooleansBecomeNumbers) {
  auto converted = [](const char *op) {
    return evaluateRegion(
               1.0,
               [&](ProgramBuilder &f, const Values &a, int) {
                 int truth = f.scalar("arith.cmpi", {a[3], a[2]}, "i1", {{"predicate", "slt"}});
                 int number = f.scalar(op, {truth}, "index");
                 return f.scalar("arith.sitofp", {f.scalar("arith.index_cast", {number}, "i64")});
               })
        .value;
  };
  EXPECT_EQ(converted("arith.index_castui"), 1.0);
  EXPECT_EQ(converted("arith.index_cast"), -1.0);
}

TEST(Region, RealNumbersBecomeIntegersTowardZero) {
  auto converted = [](const char *op, double x) {
    return evaluateRegion(x,
                          [&](ProgramBuilder &f, const Values &, int in) {
                            int number = f.scalar(op, {in}, "i32");
                            return f.scalar("arith.sitofp", {number});
                          })
        .value;
  };
  EXPECT_EQ(converted("arith.fptosi", -2.75), -2.0);
  EXPECT_EQ(converted("arith.fptosi", 1e20), 2147483647.0);
  EXPECT_EQ(converted("arith.fptosi", -1e20), -2147483648.0);
  EXPECT_EQ(converted("arith.fptosi", std::nan("")), 0.0);
  EXPECT_EQ(converted("arith.fptoui", -2.0), 0.0);
  EXPECT_EQ(converted("arith.fptoui", 4294967295.0), -1.0);
}

TEST(Region, PowersAndClamps) {
  auto power = [](double x, int64_t n) {
    return evaluateRegion(x, [&](ProgramBuilder &f, const Values &, int in) {
      int exponent = f.scalar("arith.constant", {}, "i32", {{"value", n}});
      return f.scalar("math.fpowi", {in, exponent});
    });
  };
  EXPECT_EQ(power(-2.0, 3).value, -8.0);
  EXPECT_EQ(power(-2.0, 3).derivative, 12.0);
  EXPECT_EQ(power(2.0, -1).value, 0.5);
  EXPECT_EQ(power(0.0, 1).derivative, 0.0);
  auto clamp = [](double x) {
    return evaluateRegion(x, [&](ProgramBuilder &f, const Values &, int in) {
      return f.scalar("math.clampf", {in, f.number(-1.0), f.number(2.0)});
    });
  };
  EXPECT_EQ(clamp(3.0).value, 2.0);
  EXPECT_EQ(clamp(3.0).derivative, 0.0);
  EXPECT_EQ(clamp(2.0).derivative, 1.0);
  EXPECT_EQ(clamp(-1.0).derivative, 1.0);
  EXPECT_EQ(clamp(-1.5).derivative, 0.0);
}

TEST(Region, SelectFollowsItsComparison) {
  for (const char *predicate : {"slt", "sge"}) {
    Point point = evaluateRegion(3.0, [&](ProgramBuilder &f, const Values &a, int in) {
      int isBefore = f.scalar("arith.cmpi", {a[3], a[2]}, "i1", {{"predicate", predicate}});
      return f.scalar("arith.select", {isBefore, in, f.number(-1.0)});
    });
    bool isLess = std::string(predicate) == "slt";
    EXPECT_EQ(point.value, isLess ? 3.0 : -1.0);
    EXPECT_EQ(point.derivative, isLess ? 1.0 : 0.0);
  }
  // The predicate as MLIR's number: 4 is olt.
  Point point = evaluateRegion(3.0, [&](ProgramBuilder &f, const Values &, int in) {
    int isSmall = f.scalar("arith.cmpf", {in, f.number(4.0)}, "i1", {{"predicate", 4}});
    return f.scalar("arith.uitofp", {isSmall});
  });
  EXPECT_EQ(point.value, 1.0);
}

TEST(Region, ConstantsAreRoundedToTheirType) {
  Point point =
      evaluateRegion(1.0, [](ProgramBuilder &f, const Values &, int) { return f.number(0.1); });
  EXPECT_EQ(point.value, static_cast<double>(0.1f));
}

TEST(Region, ReadsOutOfRangeAreClamped) {
  ProgramBuilder f;
  int table = f.parameter("table", {4});
  int bias =
      f.biasFunction({table}, [&](const Values &a) { return f.scalar("pe.read", {a[4], a[3]}); });
  f.attention({bias}, {}, f.mask("pe.causal"));
  Encoding encoding{"read", f.finish(), f.parameters()};
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 6, 6, 2, 2}, 1);
  inputs["table"] = doubles({1, 2, 3, 4}, {4});
  EXPECT_EQ(biasAt(encoding.program, inputs, {0, 0, 5, 2}), 3.0);
  EXPECT_EQ(biasAt(encoding.program, inputs, {0, 0, 5, 5}), 4.0);
}

TEST(Region, ScalarMlpMatchesTheOperation) {
  ProgramBuilder f;
  std::vector<int> layers = {f.parameter("w1", {3}, -1, 1), f.parameter("b1", {3}, -1, 1),
                             f.parameter("w2", {ProgramBuilder::heads, 3}, -1, 1),
                             f.parameter("b2", {ProgramBuilder::heads}, -1, 1)};
  int bias = f.biasFunction(layers, [&](const Values &a) {
    int i = f.scalar("arith.sitofp", {f.scalar("arith.index_cast", {a[2]}, "i64")});
    int j = f.scalar("arith.sitofp", {f.scalar("arith.index_cast", {a[3]}, "i64")});
    int x = f.scalar("math.absf", {f.scalar("arith.subf", {i, j})});
    return f.scalar("pe.mlp_eval", {x, a[1], a[4], a[5], a[6], a[7]}, "f32",
                    {{"activation", "#pe.activation<tanh>"}});
  });
  std::vector<int> operands = {f.coordinate("pe.distance")};
  operands.insert(operands.end(), layers.begin(), layers.end());
  int whole = f.bias("pe.mlp", operands, {{"activation", "tanh"}});
  int difference = f.bias("pe.add", {bias, f.bias("pe.scale", {whole}, {{"factor", -1.0}})});
  f.attention({difference}, {}, f.mask("pe.causal"));
  Encoding encoding{"mlp", f.finish(), f.parameters()};
  auto bias4 = reference::materializeBias(encoding.program,
                                          randomInputs(encoding, {1, 2, 2, 5, 5, 2, 2}, 3), {});
  ASSERT_TRUE(bias4) << bias4.error().getMessage();
  for (double x : bias4->values<double>())
    EXPECT_EQ(x, 0.0);
}

TEST(Region, ScalarCosineSumMatchesTheOperation) {
  ProgramBuilder f;
  int bias = f.biasFunction({}, [&](const Values &a) {
    int i = f.scalar("arith.sitofp", {f.scalar("arith.index_cast", {a[2]}, "i64")});
    int j = f.scalar("arith.sitofp", {f.scalar("arith.index_cast", {a[3]}, "i64")});
    int x = f.scalar("math.absf", {f.scalar("arith.subf", {i, j})});
    return f.scalar("pe.cosine_sum_eval", {x}, "f32", {{"terms", 20}, {"base", 50.0}});
  });
  int whole =
      f.bias("pe.cosine_sum", {f.coordinate("pe.distance")}, {{"terms", 20}, {"base", 50.0}});
  int difference = f.bias("pe.add", {bias, f.bias("pe.scale", {whole}, {{"factor", -1.0}})});
  f.attention({difference}, {}, f.mask("pe.causal"));
  Encoding encoding{"cosines", f.finish(), f.parameters()};
  auto bias4 = reference::materializeBias(encoding.program,
                                          randomInputs(encoding, {1, 2, 2, 5, 5, 2, 2}, 3), {});
  ASSERT_TRUE(bias4) << bias4.error().getMessage();
  for (double x : bias4->values<double>())
    EXPECT_EQ(x, 0.0);
}

} // namespace
} // namespace pe::test
