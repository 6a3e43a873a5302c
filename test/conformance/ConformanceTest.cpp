//===- ConformanceTest.cpp - Tests that the suite detects faults ----------===//
//
// One fake subject returns the reference's results; the others corrupt them. The suite must pass
// the first and fail each of the others.
//
//===----------------------------------------------------------------------===//

#include "conformance/Exemptions.h"
#include "conformance/RandomCalls.h"
#include "conformance/RandomInputs.h"
#include "reference/Encodings.h"
#include "runtime/plan/Machine.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace pe::conformance {
namespace {

using Damage = std::function<void(TensorMap &found, int threads)>;

/// The reference in f32 with corrupted results.
class FakeFunction : public Function {
public:
  FakeFunction(const reference::Program &program, Damage damage)
      : program(program), damage(std::move(damage)) {}

  Expected<TensorMap> run(const TensorMap &inputs, const Positions &positions,
                          int threads) override {
    auto results =
        reference::evaluate(program, inputs, positions, true, {.rounding = {}, .threads = 1});
    if (!results)
      return results.takeError();
    TensorMap found;
    for (const TensorMap *tensors : {&results->outputs, &results->gradients})
      for (const auto &[name, tensor] : *tensors)
        found[name] = *convert(tensor, DType::F32);
    damage(found, threads);
    return found;
  }

private:
  const reference::Program &program;
  Damage damage;
};

/// Supports one encoding, without a compiler.
class FakeSubject : public Subject {
public:
  explicit FakeSubject(Damage damage)
      : encoding(test::encodingNamed("kerple_log")), damage(std::move(damage)) {}

  Expected<jit::Description> describe(const jit::Source &) override {
    jit::Description description;
    auto add = [](std::vector<jit::ValueInfo> &list, const std::string &name,
                  std::vector<std::string> sizes, const std::string &init) {
      jit::ValueInfo value;
      value.name = name;
      value.dims.assign(sizes.size(), -1);
      value.sizes = std::move(sizes);
      value.parameter.init = init;
      list.push_back(value);
    };
    add(description.entry.arguments, "q", {"b", "hq", "r", "d"}, "");
    add(description.entry.arguments, "k", {"b", "hkv", "c", "d"}, "");
    add(description.entry.arguments, "v", {"b", "hkv", "c", "e"}, "");
    add(description.entry.arguments, "r1", {""}, "uniform(0,2)");
    add(description.entry.arguments, "r2", {""}, "uniform(0,1)");
    add(description.entry.results, "o", {"b", "hq", "r", "e"}, "");
    test::ProgramBuilder builder;
    int r1 = builder.parameter("r1", {-1}), r2 = builder.parameter("r2", {-1});
    int x = builder.coordinate("pe.log_distance", {r2});
    int bias =
        builder.bias("pe.linear", {x, r1}, {{"factor", -1.0}, {"operandSegmentSizes", {1, 1, 0}}});
    builder.attention({bias}, {}, builder.mask("pe.causal"));
    description.program = builder.json();
    return description;
  }
  Expected<std::unique_ptr<Function>> compile(const jit::Source &, int64_t, int64_t) override {
    return std::make_unique<FakeFunction>(encoding.program, damage);
  }

private:
  test::Encoding encoding;
  Damage damage;
};

CaseResult runWith(Damage damage, std::string_view callName = "odd_heads") {
  FakeSubject subject(std::move(damage));
  Suite suite(subject, PE_TEST_SOURCE_DIR, {1, 1, 2}, 1);
  for (const Call &call : calls())
    if (call.name == callName)
      return suite.run({"kerple_log", "test/conformance/README.md"}, call);
  ADD_FAILURE() << "no call " << callName;
  return {};
}

float *firstElement(TensorMap &found, const std::string &name) {
  return found.at(name).data<float>();
}

TEST(Conformance, PerfectDevicePassesEveryCall) {
  for (const Call &call : calls())
    if (!call.isLong) {
      CaseResult result = runWith([](TensorMap &, int) {}, call.name);
      EXPECT_TRUE(result.passes()) << result.summary();
    }
}

TEST(Conformance, DamagedResultsFail) {
  const Damage damages[] = {
      [](TensorMap &found, int) { *firstElement(found, "o") += 1.0f; },
      [](TensorMap &found, int) { *firstElement(found, "d_r2") *= 1.01f; },
      [](TensorMap &found, int) { found.erase("d_v"); },
      [](TensorMap &found, int) { found["d_q"] = Tensor::zeros(DType::F32, found["d_q"].shape()); },
  };
  for (const Damage &damage : damages) {
    CaseResult result = runWith(damage);
    EXPECT_FALSE(result.passes());
    EXPECT_NE(result.summary().find("FAILED"), std::string::npos) << result.summary();
  }
}

TEST(Conformance, DifferenceBetweenThreadCountsFails) {
  CaseResult result = runWith([](TensorMap &found, int threads) {
    float *element = firstElement(found, "d_k");
    *element = threads == 1 ? *element : std::nextafter(*element, 2.0f);
  });
  EXPECT_FALSE(result.passes());
  EXPECT_NE(result.failure.find("'d_k' differs bitwise"), std::string::npos) << result.failure;
}

TEST(Conformance, DifferenceBetweenRunsFails) {
  int runs = 0;
  CaseResult result = runWith([&](TensorMap &found, int) {
    float *element = firstElement(found, "o");
    if (++runs == 2)
      *element = std::nextafter(*element, 2.0f);
  });
  EXPECT_FALSE(result.passes());
}

TEST(Conformance, MaskedRowsMustBeZero) {
  CaseResult result =
      runWith([](TensorMap &found, int) { *firstElement(found, "o") = 1e-30f; }, "masked_rows");
  EXPECT_FALSE(result.passes());
}

/// Refuses to compile.
class RefusingSubject final : public FakeSubject {
public:
  RefusingSubject() : FakeSubject([](TensorMap &, int) {}) {}
  Expected<std::unique_ptr<Function>> compile(const jit::Source &, int64_t, int64_t) override {
    return makeError("kernel 'forward' needs 238336 bytes of shared memory");
  }
};

constexpr EncodingFile kFake = {"kerple_log", "test/conformance/README.md"};
constexpr Exemption kListed = {"kerple_log odd_heads", "gpu", DType::F32, "shared memory",
                               "it is too large"};

TEST(Exemptions, ARefusedCaseFailsUnlessItIsListed) {
  RefusingSubject subject;
  Suite suite(subject, PE_TEST_SOURCE_DIR, {1}, 1);
  CaseResult result = suite.run(kFake, calls()[2]);
  EXPECT_FALSE(result.passes());
  CaseResult other = result;
  other.failure = "error: the file is missing";
  judgeListed(kListed, result);
  EXPECT_TRUE(result.passes());
  EXPECT_NE(result.summary().find("not supported: it is too large"), std::string::npos);
  judgeListed(kListed, other);
  EXPECT_FALSE(other.passes());
}

TEST(Exemptions, AListedCaseThatPassesFails) {
  FakeSubject subject([](TensorMap &, int) {});
  Suite suite(subject, PE_TEST_SOURCE_DIR, {1}, 1);
  CaseResult result = suite.run(kFake, calls()[2]);
  ASSERT_TRUE(result.passes()) << result.summary();
  judgeListed(kListed, result);
  EXPECT_FALSE(result.passes());
  EXPECT_NE(result.summary().find("remove the entry"), std::string::npos) << result.summary();
}

// An entry excuses a refusal, not wrong results.
TEST(Exemptions, WrongResultsOfAListedCaseFail) {
  FakeSubject subject([](TensorMap &found, int) { found.at("o").data<float>()[0] += 1; });
  Suite suite(subject, PE_TEST_SOURCE_DIR, {1}, 1);
  CaseResult result = suite.run(kFake, calls()[2]);
  judgeListed(kListed, result);
  EXPECT_FALSE(result.passes());
}

TEST(Exemptions, NameCasesDevicesAndReasons) {
  std::set<std::string> names = {"*"};
  for (const EncodingFile &encoding : encodingFiles())
    for (const Call &call : callsOf(encoding))
      names.insert(std::string(encoding.name) + " " + std::string(call.name));
  size_t gpus = 0;
  for (const plan::Machine &machine : plan::kMachines)
    gpus += machine.isGpu;
  for (const Exemption &exemption : exemptions()) {
    SCOPED_TRACE(exemption.name);
    const bool isOfTable = exemption.name.find(": ") == std::string_view::npos;
    EXPECT_EQ(isOfTable, names.contains(std::string(exemption.name)));
    EXPECT_EQ(isOfTable, !exemption.refusal.empty());
    EXPECT_FALSE(exemption.reason.empty());
    const auto isFound = [&](std::string_view device) {
      return findExemption(exemption.name, device, exemption.dtype) == &exemption;
    };
    size_t devices = isFound("cpu");
    for (const plan::Machine &machine : plan::kMachines)
      devices += isFound(machine.name);
    EXPECT_EQ(devices,
              exemption.devices == "gpu" ? gpus : 1 + std::ranges::count(exemption.devices, ','));
    EXPECT_FALSE(isFound("loops"));
  }
  EXPECT_EQ(findExemption("panels deep", "sm_90", DType::F32), nullptr);
  EXPECT_NE(findExemption("nope deep", "cpu", DType::TF32), nullptr);
  EXPECT_EQ(findExemption("NotFinite: other", "cpu", DType::TF32), nullptr);
  EXPECT_EQ(deviceOf({.target = "cpu"}), "cpu");
  EXPECT_EQ(deviceOf({.target = "gpu-emulator"}), "sm_80");
  EXPECT_EQ(deviceOf({.target = "gpu-emulator", .chip = "sm_90a+ptx83"}), "sm_90a");
}

TEST(Cases, CoverTheContract) {
  bool differentLengths = false, differentDims = false, grouped = false, odd = false;
  std::set<int64_t> lengths;
  for (const Call &call : calls()) {
    lengths.insert(call.queries);
    differentLengths |= call.queries != call.keys && call.queries > 1 && call.keys > 1;
    differentDims |= call.headDim != call.valueDim;
    grouped |= call.keyHeads > 1 && call.queryHeads > call.keyHeads;
    odd |= call.queryHeads % 2 == 1 && call.queryHeads > 1;
  }
  EXPECT_TRUE(differentLengths && differentDims && grouped && odd);
  for (int64_t length : {0, 1, 37, 200, 1000})
    EXPECT_TRUE(lengths.contains(length)) << length;
}

TEST(Cases, RotateTheLoopChoices) {
  std::set<std::pair<size_t, int64_t>> met; // choices and head dims
  for (size_t encoding = 0; encoding < encodingFiles().size(); ++encoding) {
    std::set<size_t> choices;
    for (const Call &call : calls()) {
      size_t count = 0;
      for (size_t choice = 0; choice < loopChoices().size(); ++choice)
        if (isInTurn(choice, encoding, call)) {
          ++count;
          choices.insert(choice);
          met.insert({choice, call.headDim});
        }
      EXPECT_EQ(count, 1u) << call.name;
    }
    ASSERT_EQ(choices.size(), 2u) << encodingFiles()[encoding].name;
    const LoopOptions &a = loopChoices()[*choices.begin()].options;
    const LoopOptions &b = loopChoices()[*choices.rbegin()].options;
    EXPECT_NE(a.blockRows, b.blockRows);
    EXPECT_NE(a.owner, b.owner);
  }
  for (size_t choice = 0; choice < loopChoices().size(); ++choice)
    for (int64_t headDim : {8, 16, 64})
      EXPECT_TRUE(met.contains({choice, headDim})) << loopChoices()[choice].name << " " << headDim;
}

TEST(Cases, TurnsCoverEveryCaseOnce) {
  for (size_t encoding = 0; encoding < encodingFiles().size(); ++encoding)
    for (size_t of : {1, 2, 3}) {
      std::set<std::string_view> met;
      for (size_t number = 0; number < of; ++number)
        for (const Call &call : calls())
          if (isInTurn({number, of}, encoding, call))
            EXPECT_TRUE(met.insert(call.name).second) << call.name;
      EXPECT_EQ(met.size(), calls().size());
    }
}

TEST(Cases, RandomCallsAreStepsOfDecoding) {
  std::set<int64_t> rows, splits, boundaries;
  int withLengths = 0, withStarts = 0;
  for (const EncodingFile &file : encodingFiles())
    for (int number = 0; number < 10; ++number) {
      const RandomCall drawn = drawFewRows(file, 1, number), again = drawFewRows(file, 1, number);
      const Call &call = drawn.sizes;
      EXPECT_EQ(drawn.name, again.name);
      EXPECT_EQ(call.seed, again.sizes.seed);
      EXPECT_EQ(call.keys, again.sizes.keys);
      EXPECT_EQ(drawn.lengths, again.lengths);
      EXPECT_NE(call.seed, drawFewRows(file, 2, number).sizes.seed);
      EXPECT_TRUE(call.queries >= 1 && call.queries <= 8) << call.queries;
      EXPECT_TRUE(call.keys >= 1 && call.keys <= 3000) << call.keys;
      EXPECT_EQ(call.queryHeads % call.keyHeads, 0);
      RandomCall small = drawn;
      small.useSmallDims();
      EXPECT_FALSE(waitsForTurn(file, small.call())) << "turns would omit it";
      EXPECT_TRUE(drawn.lengths.empty() || int64_t(drawn.lengths.size()) == call.batch);
      for (int32_t length : drawn.lengths)
        EXPECT_TRUE(length >= 0 && length <= call.keys) << length;
      rows.insert(call.queries);
      splits.insert((call.keys + 511) / 512);
      if (call.keys % 512 <= 1 || call.keys % 512 == 511)
        boundaries.insert(call.keys);
      withLengths += !drawn.lengths.empty();
      withStarts += call.positions.queryStart.has_value();
    }
  EXPECT_EQ(rows.size(), 8u);
  EXPECT_EQ(splits.size(), 6u);
  EXPECT_GE(boundaries.size(), 12u);
  EXPECT_GT(withLengths, 100);
  EXPECT_GT(withStarts, 100);
}

TEST(Cases, HotCallsHaveTheirLogits) {
  FakeSubject subject([](TensorMap &, int) {});
  for (const Call &call : calls()) {
    if (call.logits == 1.0)
      continue;
    auto description = subject.describe({});
    auto inputs = drawInputs(description->entry, call, 1);
    ASSERT_TRUE(inputs) << inputs.error().getMessage();
    auto program = reference::parseProgram(description->program);
    auto results = reference::evaluate(*program, *inputs, call.positions, false);
    EXPECT_GT(results->maxLogit, 0.5 * call.logits);
    EXPECT_LT(results->maxLogit, 3.0 * call.logits);
  }
}

} // namespace
} // namespace pe::conformance
