//===- SplitTermsTest.cpp - sums and invariances of split terms -----------===//
//
// Splits random biases into terms. At random pairs the terms must add up to the bias, and each term
// must have the invariance that its class claims, because lowerings rely on it.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Analysis/Structure.h"
#include "passes/Transforms/Passes.h"
#include "passes/Transforms/ScalarJit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <map>
#include <random>
#include <set>

using namespace pe::test;
using mlir::pe::TermClass;

namespace {

/// Writes a random expression over the positions and two parameters per head.
class Expression {
public:
  explicit Expression(unsigned seed) : random(seed) {}

  /// Returns the operations of a region, ending with the yield.
  std::string write() {
    code = R"(    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %fi = arith.sitofp %i32 : i32 to f32
    %fj = arith.sitofp %j32 : i32 to f32
    %d32 = arith.subi %i32, %j32 : i32
    %fd = arith.sitofp %d32 : i32 to f32
    %ad = math.absf %fd : f32
    %sh = pe.read %c0[%h] : tensor<3xf32>
    %th = pe.read %c1[%h] : tensor<3xf32>
    %one = arith.constant 1.0 : f32
    %tenth = arith.constant 0.125 : f32
)";
    std::string sum = value(2);
    for (int n = 0; n < 3; ++n)
      sum = op(choose({"arith.addf", "arith.subf"}), {sum, value(3)});
    return code + "    pe.yield " + sum + " : f32\n";
  }

private:
  std::string choose(const std::vector<std::string> &of) {
    return of[std::uniform_int_distribution<size_t>(0, of.size() - 1)(random)];
  }
  std::string op(const std::string &name, const std::vector<std::string> &operands) {
    std::string result = "%v" + std::to_string(count++);
    code += "    " + result + " = " + name + " ";
    for (size_t n = 0; n < operands.size(); ++n)
      code += (n ? ", " : "") + operands[n];
    code += " : f32\n";
    return result;
  }
  std::string value(int depth) {
    if (depth == 0)
      return choose({"%fi", "%fj", "%fd", "%ad", "%sh", "%th", "%tenth"});
    std::string kind =
        choose({"sum", "product", "product", "scaled", "quotient", "sin", "neg", "shifted"});
    if (kind == "sum")
      return op(choose({"arith.addf", "arith.subf"}), {value(depth - 1), value(depth - 1)});
    if (kind == "product")
      return op("arith.mulf", {choose({"%sh", "%th", "%tenth"}), value(depth - 1)});
    if (kind == "scaled")
      return op("arith.mulf", {value(depth - 1), value(0)});
    if (kind == "sin")
      return op("math.sin", {op("arith.mulf", {"%tenth", value(depth - 1)})});
    if (kind == "shifted")
      return op("arith.subf", {op("arith.mulf", {"%tenth", value(0)}), choose({"%one", "%tenth"})});
    if (kind == "neg")
      return op("arith.negf", {value(depth - 1)});
    std::string below = op("arith.addf", {op("math.absf", {value(depth - 1)}), "%one"});
    return op("arith.divf", {value(depth - 1), below});
  }

  std::mt19937 random;
  std::string code;
  int count = 0;
};

std::string makeModule(const std::string &region, bool causal) {
  std::string mask = causal ? "mask(%m) " : "";
  return R"(
func.func @f(%q: tensor<1x3x8x8xf32>, %s: tensor<3xf32>, %t: tensor<3xf32>) -> tensor<1x3x8x8xf32> {
  %bias = pe.bias_fn(%s, %t : tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %c0: tensor<3xf32>, %c1: tensor<3xf32>):
)" + region +
         R"(  }
  %m = pe.causal
  %o = pe.attention %q, %q, %q bias(%bias) )" +
         mask +
         R"(
      : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  return %o : tensor<1x3x8x8xf32>
})";
}

/// One compiled term with the parameters of its captures.
struct CompiledTerm {
  TermClass cls;
  ScalarJit<double> jit;
  std::vector<double> params;

  double at(int64_t i, int64_t j) { return jit.value(params, {1, i, j}); }
};

std::vector<CompiledTerm> compileTerms(mlir::ModuleOp module) {
  const std::vector<double> values[] = {{0.5, -1.25, 2}, {1.5, 0.75, -0.5}};
  std::vector<CompiledTerm> terms;
  std::vector<TermClass> classes;
  module.walk([&](mlir::pe::AttentionOp attention) {
    for (mlir::Value bias : attention.getBiases()) {
      auto term = bias.getDefiningOp<mlir::pe::TermOp>();
      classes.push_back(term ? term.getTermClass() : TermClass::General);
    }
  });
  // A term defines its value like every bias (ScalarOpInterface).
  mlir::PassManager manager(module.getContext());
  manager.addNestedPass<mlir::func::FuncOp>(mlir::pe::createPEExpandBiasesPass());
  EXPECT_TRUE(succeeded(manager.run(module)));
  module.walk([&](mlir::pe::AttentionOp attention) {
    for (auto [cls, value] : llvm::zip_equal(classes, attention.getBiases())) {
      auto bias = value.getDefiningOp<mlir::pe::BiasFnOp>();
      std::vector<double> params;
      for (mlir::Value capture : bias.getCaptures()) {
        unsigned number = mlir::cast<mlir::BlockArgument>(capture).getArgNumber() - 1;
        params.insert(params.end(), values[number].begin(), values[number].end());
      }
      terms.push_back({cls, ScalarJit<double>(bias), params});
    }
  });
  return terms;
}

/// Checks the invariance of the term's class at the pair (i, j).
void checkPromise(CompiledTerm &term, int64_t i, int64_t j, double tolerance) {
  double value = term.at(i, j);
  switch (term.cls) {
  case TermClass::Row:
    EXPECT_EQ(value, term.at(i, j / 2));
    break;
  case TermClass::Column:
    EXPECT_EQ(value, term.at(i + 3, j));
    break;
  case TermClass::RowColumn:
    EXPECT_NEAR(value, term.at(i, 2) + term.at(3, j) - term.at(3, 2), tolerance);
    break;
  case TermClass::Affine:
    EXPECT_NEAR(value, term.at(1, 0) * (i - j), tolerance);
    break;
  case TermClass::Distance:
    EXPECT_NEAR(value, term.at(i + 5, j + 5), tolerance);
    EXPECT_NEAR(value, term.at(std::max<int64_t>(i - j, 0), std::max<int64_t>(j - i, 0)),
                tolerance);
    break;
  default:
    break;
  }
}

class SplitTerms : public testing::TestWithParam<bool> {};

TEST_P(SplitTerms, AddUpAndAreInvariant) {
  bool causal = GetParam();
  auto context = makeContext();
  std::set<TermClass> seen;
  std::mt19937 random(3);
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::string text = makeModule(Expression(seed).write(), causal);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    ASSERT_TRUE(module) << text;
    std::vector<CompiledTerm> whole = compileTerms(*module);
    mlir::PassManager manager(context.get());
    manager.addNestedPass<mlir::func::FuncOp>(mlir::pe::createPESplitTermsPass());
    ASSERT_TRUE(succeeded(manager.run(*module)));
    std::vector<CompiledTerm> terms = compileTerms(*module);
    std::uniform_int_distribution<int64_t> position(0, 20);
    for (int repeat = 0; repeat < 6; ++repeat) {
      int64_t i = position(random), j = position(random);
      if (causal && i < j)
        std::swap(i, j);
      // Folded coefficients are constants of the region, which are f32.
      double sum = 0, magnitude = 1;
      for (CompiledTerm &term : terms) {
        sum += term.at(i, j);
        magnitude += std::abs(term.at(i, j));
      }
      for (CompiledTerm &term : terms) {
        seen.insert(term.cls);
        checkPromise(term, i, j, 2e-7 * magnitude);
      }
      EXPECT_NEAR(sum, whole[0].at(i, j), 2e-7 * magnitude) << text;
    }
    if (HasFailure())
      FAIL() << text;
  }
  for (TermClass cls : {TermClass::Row, TermClass::Column, TermClass::RowColumn, TermClass::Affine,
                        TermClass::Distance, TermClass::General})
    EXPECT_TRUE(seen.count(cls)) << "no random bias had the class "
                                 << stringifyTermClass(cls).str();
}

INSTANTIATE_TEST_SUITE_P(Masks, SplitTerms, testing::Bool(),
                         [](const auto &info) { return info.param ? "causal" : "none"; });

} // namespace
