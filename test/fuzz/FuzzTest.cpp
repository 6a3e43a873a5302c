//===- FuzzTest.cpp - Tests that the fuzzers detect faults ----------------===//
//
// A fuzzer without findings is useful only if it would report a fault. These tests check that
// crashes, hangs, a wrong reference and ill-conditioned programs are detected, and that failures
// are minimized.
//
//===----------------------------------------------------------------------===//

#include "conformance/Subject.h"
#include "fuzz/EvaluateProgram.h"
#include "fuzz/Generate.h"
#include "fuzz/Minimize.h"
#include "fuzz/Mutations.h"
#include "fuzz/Print.h"
#include "fuzz/Triage.h"
#include "fuzz/Workers.h"
#include "runtime/api/Inputs.h"
#include "runtime/reference/Compare.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

using namespace pe;
using namespace pe::fuzz;

namespace {

TEST(Workers, SurviveCrashingTasks) {
  auto task = [](uint64_t number, const Progress &progress) -> std::string {
    progress("phase " + std::to_string(number));
    if (number == 1)
      std::abort();
    if (number == 3)
      sleep(60);
    if (number == 5) {
      std::fputs("error: the fifth\n", stderr);
      _exit(3);
    }
    return "result " + std::to_string(number);
  };
  std::map<uint64_t, Outcome> outcomes;
  runTasks(0, 7, 1, {.seconds = 5.0, .jobs = 2}, task,
           [&](const Outcome &outcome) { outcomes[outcome.task] = outcome; });
  ASSERT_EQ(outcomes.size(), 7u);
  for (uint64_t number : {0, 2, 4, 6})
    EXPECT_EQ(outcomes[number].text, "result " + std::to_string(number));
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::Crashed);
  EXPECT_EQ(groupOfDeath(outcomes[1]), "phase 1: signal 6 (Aborted)");
  EXPECT_EQ(groupOfDeath(outcomes[3]), "phase 3: timed out");
  EXPECT_EQ(groupOfDeath(outcomes[5]), "phase 5: exit status 3: error: the fifth");
}

TEST(Triage, GroupsAndClearMessages) {
  EXPECT_EQ(generalize("expected 16 at 3"), "expected N at N");
  EXPECT_TRUE(isClearMessage("expected 16 keys, found 3"));
  EXPECT_FALSE(isClearMessage("failed to legalize operation 'tile.map'"));
  EXPECT_FALSE(isClearMessage("two\nlines"));
}

TEST(Generator, IsAFunctionOfTheSeed) {
  EXPECT_EQ(printProgram(generateProgram(7)), printProgram(generateProgram(7)));
  EXPECT_NE(printProgram(generateProgram(7)), printProgram(generateProgram(8)));
}

/// Checks that these seeds cover every construct of the dialect; some are rare.
TEST(Generator, WritesEveryConstruct) {
  std::string all;
  for (uint64_t seed = 1; seed <= 400; ++seed)
    all += printProgram(generateProgram(seed));
  for (const char *word : {"xi32>",
                           "pe.absent",
                           "\"rows\"",

                           "positions(",
                           "pe.documents",
                           "restart = true",
                           "content(",
                           "query(",
                           "times(",
                           "extent(",
                           "scale_by_depth",
                           "pe.query_shift",
                           "shift(",
                           "project(",
                           "pe.score_fn",
                           "pe.sum",
                           " sink(",
                           " factor(",
                           "dropout(",
                           "tensor<?xi64>",
                           "attend_current",
                           "#pe.remainder<value>",
                           "#pe.direction<both>",
                           "pe.merge",
                           "pe.embed ",
                           "pe.embedding_fn",
                           "pe.mask_fn(",
                           "pe.mask_or",
                           "pe.rotation_table",
                           "pe.rotation_fn",
                           "#pe.rope_scaling<",
                           "<longrope",
                           "<proportional",
                           "trailing = true",
                           "alternating = true",
                           "restart = true",
                           "rotate_values(",
                           "%lse ="})
    EXPECT_NE(all.find(word), std::string::npos) << word;
}

int64_t valueOf(const char *name, Type type, int64_t a, int64_t b) {
  const ScalarOperation *operation = findOperation(name);
  auto value = operation->integer(a, b, bitsOf(type));
  bool isTruth = operation->form == Form::IntegerCompare;
  return value ? wrap(*value, isTruth ? 1 : bitsOf(type)) : INT64_MIN;
}

TEST(ScalarOperations, WrapToTheirWidth) {
  EXPECT_EQ(valueOf("arith.muli", Type::I32, 1 << 20, 1 << 11), INT32_MIN);
  EXPECT_EQ(valueOf("arith.muli", Type::I8, 16, 9), -112);
  EXPECT_EQ(valueOf("arith.divui", Type::I32, -1, 2), INT32_MAX);
  EXPECT_EQ(valueOf("arith.maxui", Type::I64, -1, 5), -1);
  EXPECT_EQ(valueOf("arith.remui", Type::I16, -1, 10), 5);
  EXPECT_EQ(valueOf("arith.floordivsi", Type::Index, -7, 2), -4);
  EXPECT_EQ(valueOf("arith.ceildivsi", Type::Index, 7, 2), 4);
  EXPECT_EQ(valueOf("arith.shrui", Type::I8, -2, 1), 127);
  EXPECT_EQ(valueOf("arith.shli", Type::I32, 3, 31), INT32_MIN);
  EXPECT_EQ(valueOf("arith.cmpi ult", Type::I32, -1, 1), 0);
  EXPECT_EQ(valueOf("arith.cmpi slt", Type::I32, -1, 1), -1);
  EXPECT_EQ(valueOf("arith.divsi", Type::I8, -128, -1), INT64_MIN); // undefined
}

Program programOf(Node value) {
  Program program;
  program.sizes = {1, 2, 1, 5, 7, 16, 16};
  program.biases = {makeNode(Op::Region, Type::Bias, {std::move(value)})};
  return program;
}

Node keyAsReal() { return makeNode(Op::ToReal, Type::F32, {makeNode(Op::Key, Type::Index)}); }

TEST(Condition, DetectsResultsThatRoundingDecides) {
  Program smooth = programOf(makeScalar("math.sin", Type::F32, {keyAsReal()}));
  EXPECT_TRUE(conditionOf(smooth, smooth.biases[0], {}, 100).isGood());
  // An approximate power of two can be just below the integer.
  Node power = makeScalar("math.exp2", Type::F32, {keyAsReal()});
  Program jumping = programOf(makeScalar("math.floor", Type::F32, {std::move(power)}));
  EXPECT_FALSE(conditionOf(jumping, jumping.biases[0], {}, 100).isGood());
  Program undefined =
      programOf(makeScalar("arith.divf", Type::F32, {makeReal(Type::F32, 1), keyAsReal()}));
  EXPECT_FALSE(conditionOf(undefined, undefined.biases[0], {}, 100).isGood());
}

TEST(Minimize, KeepsTheFailure) {
  auto hasProduct = [](const Program &program) {
    bool found = false;
    for (const Node &bias : program.biases)
      walk(bias,
           [&](const Node &node) { found |= node.scalar && node.scalar->name == "arith.muli"; });
    return found && program.sizes.keys > 3;
  };
  uint64_t seed = 1;
  while (!hasProduct(generateProgram(seed)))
    ++seed;
  Program smallest = minimize(generateProgram(seed), hasProduct);
  EXPECT_TRUE(hasProduct(smallest));
  EXPECT_EQ(smallest.biases.size(), 1u);
  EXPECT_EQ(smallest.sizes.keys, 4);
  EXPECT_EQ(smallest.sizes.queries, 1);
  EXPECT_FALSE(smallest.rotation || smallest.mask || smallest.hasLse || smallest.isStickBreaking);
  int nodes = 0;
  walk(smallest.biases[0], [&](const Node &) { ++nodes; });
  EXPECT_LE(nodes, 6) << printProgram(smallest);
}

TEST(Mutations, AreFunctionsOfTheSeedAndChangeSomething) {
  const std::string text = R"({"a": [1, 2, {"b": "c"}], "d": 4.5})";
  for (auto mutate :
       {+[](const std::string &good, Random &random) { return mutateJson(good, random); },
        +[](const std::string &good, Random &random) { return mutateBytes(good, random); },
        +[](const std::string &good, Random &random) { return mutateTokens(good, {}, random); }}) {
    int changed = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) {
      Random first(seed, "x"), second(seed, "x");
      std::string once = mutate(text, first);
      EXPECT_EQ(once, mutate(text, second));
      changed += once != text;
    }
    EXPECT_GT(changed, 30);
  }
}

/// The results of a program for random inputs, exact and rounded to bf16.
struct Evaluated {
  reference::Results exact, rounded;

  static Evaluated of(const Program &program, uint64_t seed) {
    auto subject = conformance::makeSubject({.target = "reference"});
    EXPECT_TRUE(subject) << subject.error().getMessage();
    auto description = (*subject)->describe({printProgram(program), "program.mlir", ""});
    EXPECT_TRUE(description) << description.error().getMessage();
    auto parsed = reference::parseProgram(description->program);
    EXPECT_TRUE(parsed);
    const Sizes &s = program.sizes;
    const plan::SizeValues sizes =
        plan::CallSizes{s.batch, s.queryHeads, s.keyHeads, s.queries, s.keys}.values(s.headDim,
                                                                                     s.valueDim);
    TensorMap inputs = *api::randomArguments(description->entry, seed, sizes);
    inputs.merge(*api::randomCotangents(description->entry, seed, sizes));
    for (auto &[name, tensor] : inputs)
      if (tensor.rank() == 4)
        tensor = *convert(tensor, DType::BF16);
    return {*reference::evaluate(*parsed, inputs, {}, /*grad=*/true),
            *reference::evaluate(*parsed, inputs, {}, /*grad=*/true, {.rounding = DType::BF16})};
  }
};

/// A sink's gradient is one value per head. Its bf16 error cannot be bounded by one evaluation, in
/// which the roundings can cancel.
TEST(NarrowTypes, BoundOfASinkIsTheSizeOfItsRoundings) {
  Program program;
  program.sizes = {1, 1, 1, 5, 5, 24, 24};
  program.sink = makeRead(Type::F32, addParameter(program, {kHeads}, -2, 4),
                          {makeNode(Op::Head, Type::Index)});
  int noticed = 0;
  double largest = 0, smallest = 1e9;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Evaluated found = Evaluated::of(program, seed);
    const Tensor &exact = found.exact.gradients.at("d_p0");
    const double size = found.rounded.rounding.at("d_p0").values<double>()[0];
    const double sample = std::fabs(found.rounded.gradients.at("d_p0").values<double>()[0] -
                                    exact.values<double>()[0]);
    largest = std::max(largest, sample / size);
    smallest = std::min(smallest, sample / size);
    TensorMap results = found.exact.gradients;
    results.insert(found.exact.outputs.begin(), found.exact.outputs.end());
    reference::CompareOptions options;
    options.computation = DType::BF16;
    options.rounded = &found.rounded;
    auto passes = [&](double factor, double moved) {
      Tensor wrong = exact.clone();
      wrong.values<double>()[0] = factor * exact.values<double>()[0] + moved;
      results["d_p0"] = wrong;
      return reference::compare(found.exact, results, options)->passes();
    };
    EXPECT_TRUE(passes(1.0, 1.5 * size));
    noticed += !passes(1.05, 0.0);
  }
  EXPECT_LT(largest, 1.0);
  EXPECT_LT(smallest, 0.1) << "expected roundings that cancel";
  EXPECT_GE(noticed, 12);
}

/// The reference's results of a program with a learned table, a rotation and a mask.
struct SecondEvaluation : testing::Test {
  Program program;
  TensorMap inputs;
  reference::Results results;

  void SetUp() override {
    Node read = makeNode(Op::Read, Type::F32, {makeNode(Op::Key, Type::Index)});
    read.parameters = {addParameter(program, {5}, -1, 1)};
    Program filled = programOf(std::move(read));
    filled.parameters = program.parameters;
    program = filled;
    program.mask = makeNode(Op::Causal, Type::Mask);
    program.rotation = makeNode(Op::Rotary, Type::Rotation);
    program.rotation->reals[0] = 100.0;
    program.hasLse = true;
    auto subject = conformance::makeSubject({.target = "reference"});
    ASSERT_TRUE(subject) << subject.error().getMessage();
    auto description = (*subject)->describe({printProgram(program), "program.mlir", ""});
    ASSERT_TRUE(description) << description.error().getMessage();
    auto read_ = reference::parseProgram(description->program);
    ASSERT_TRUE(read_);
    const plan::SizeValues sizes = plan::CallSizes{1, 2, 1, 5, 7}.values(16, 16);
    inputs = *api::randomArguments(description->entry, 1, sizes);
    inputs.merge(*api::randomCotangents(description->entry, 1, sizes));
    auto evaluated = reference::evaluate(*read_, inputs, program.positions, /*grad=*/true);
    ASSERT_TRUE(evaluated) << evaluated.error().getMessage();
    results = std::move(*evaluated);
  }
};

TEST_F(SecondEvaluation, AgreesWithTheReference) {
  Status status = checkReference(program, inputs, results);
  EXPECT_TRUE(status) << status.error().getMessage();
}

TEST_F(SecondEvaluation, DetectsEveryWrongTensor) {
  for (TensorMap reference::Results::*tensors :
       {&reference::Results::outputs, &reference::Results::gradients})
    for (auto &[name, tensor] : results.*tensors) {
      double &element = tensor.values<double>()[tensor.values<double>().size() - 1];
      element += 1e-2;
      Status status = checkReference(program, inputs, results);
      ASSERT_FALSE(status) << name;
      EXPECT_NE(status.error().getMessage().find("'" + name + "'"), std::string::npos)
          << status.error().getMessage();
      element -= 1e-2;
    }
}

} // namespace
