//===- NotFiniteTest.cpp - Tests NaN and infinities in inputs -------------===//
//
// A NaN in an input must reach exactly the elements that depend on it, on every target. `Readers`
// derives them from the formulas of outputs and gradients, without arithmetic on NaN. A bias of
// minus infinity masks its pair; results and gradients are compared with the float64 reference.
//
//===----------------------------------------------------------------------===//

#include "conformance/Exemptions.h"
#include "runtime/core/Random.h"
#include "runtime/reference/Compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <span>

namespace pe::conformance {
namespace {

constexpr int64_t kHeads = 4, kKeyHeads = 2, kLength = 100, kDepth = 16, kValueDepth = 24;
constexpr int64_t kNear = 8, kWindow = 70;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The function under test, with biases of the distance and optionally of the key and the query.
struct Form {
  bool isSoftmax = true;
  bool hasKeyTerm = true, hasRowTerm = true, hasLse = true;

  std::string source() const {
    std::string text = "!t = tensor<?x?x?x?xf32>\n"
                       "func.func @f(%q: !t {pe.name = \"q\"}, %k: !t {pe.name = \"k\"}, "
                       "%v: !t {pe.name = \"v\"},\n  %s: tensor<?xf32> {pe.name = \"s\"}, "
                       "%n: tensor<8xf32> {pe.name = \"near\"}";
    for (auto [has, name] : {std::pair(hasKeyTerm, "key"), std::pair(hasRowTerm, "row")})
      if (has)
        text += std::string(", %") + name + ": tensor<100xf32> {pe.name = \"" + name + "\"}";
    text += ") -> (!t {pe.name = \"o\"}";
    text += hasLse ? ", tensor<?x?x?xf32> {pe.name = \"lse\"}) {\n" : ") {\n";
    text += "  %d = pe.distance\n"
            "  %b0 = pe.linear %d slope(%s : tensor<?xf32>) {factor = -0.05}\n"
            "  %b1 = pe.bias_fn(%n : tensor<8xf32>) expr \"n[min(i - j, 7)]\"\n";
    std::string biases = "%b0, %b1";
    for (auto [has, name, index] : {std::tuple(hasKeyTerm, "key", "j"), {hasRowTerm, "row", "i"}})
      if (has) {
        text += std::string("  %b") + index + " = pe.bias_fn(%" + name +
                " : tensor<100xf32>) expr \"" + name + "[" + index + "]\"\n";
        biases += std::string(", %b") + index;
      }
    text += "  %c = pe.causal\n  %w = pe.sliding_window {left = " + std::to_string(kWindow) +
            "}\n  %m = pe.mask_and %c, %w\n";
    text += std::string("  %o") + (hasLse ? ", %lse" : "") + " = pe.attention %q, %k, %v bias(" +
            biases + ") mask(%m) {normalizer = #pe.normalizer<" +
            (isSoftmax ? "softmax" : "stick_breaking") + ">} : (!t, !t, !t) -> !t" +
            (hasLse ? ", tensor<?x?x?xf32>" : "") + "\n  return %o" + (hasLse ? ", %lse" : "") +
            " : !t" + (hasLse ? ", tensor<?x?x?xf32>" : "") + "\n}\n";
    return text;
  }

  bool sees(int64_t i, int64_t j) const { return (isSoftmax ? j <= i : j < i) && i - j < kWindow; }

  /// Draws the inputs. `level` is the mean of the biases; under stick-breaking it must be far below
  /// 0, or rows run out of mass early.
  TensorMap draw(double level) const {
    TensorMap inputs;
    auto normal = [&](const char *name, const Shape &shape, double mean, double deviation) {
      Tensor tensor = Tensor::zeros(DType::F32, shape);
      Random(7, name).fillNormal(tensor, mean, deviation);
      inputs[name] = tensor;
    };
    normal("q", {1, kHeads, kLength, kDepth}, 0, 1);
    normal("k", {1, kKeyHeads, kLength, kDepth}, 0, 1);
    normal("v", {1, kKeyHeads, kLength, kValueDepth}, 0, 1);
    normal("s", {kHeads}, 0.5, 0.1);
    normal("near", {kNear}, level, 0.3);
    if (hasKeyTerm)
      normal("key", {kLength}, 0, 1);
    if (hasRowTerm)
      normal("row", {kLength}, 0, 1);
    normal("d_o", {1, kHeads, kLength, kValueDepth}, 0, 1);
    if (hasLse)
      normal("d_lse", {1, kHeads, kLength}, 0, 1);
    return inputs;
  }
  TensorMap draw() const { return draw(isSoftmax ? 0.0 : -5.0); }
};

using Flags = std::vector<bool>;

/// The elements of results and gradients that depend on a NaN of the inputs, by the formulas of
/// docs/encodings and docs/numerics.md. For example, o and the log-sum-exp of a row depend on the
/// row's query, its unmasked keys and their biases.
class Readers {
public:
  Readers(const Form &form, const TensorMap &inputs) : form(form), inputs(inputs) {
    for (const auto &[name, tensor] : inputs)
      if (!name.starts_with("d_"))
        gradient("d_" + name);
    found["o"] = Flags(kHeads * kLength * kValueDepth);
    found["lse"] = Flags(kHeads * kLength);
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < kLength; ++i)
        form.isSoftmax ? softmaxRow(h, i) : stickBreakingRow(h, i);
    if (!form.hasLse)
      found.erase("lse");
  }
  std::map<std::string, Flags> found;

private:
  Flags &gradient(const std::string &name) {
    Flags &flags = found[name];
    flags.resize(inputs.at(name.substr(2)).numel());
    return flags;
  }
  /// Returns the rows of `depth` elements of a tensor that have a NaN.
  Flags rowsWithNaN(const std::string &name, int64_t depth = 1) const {
    if (!inputs.contains(name))
      return {};
    const std::span<const float> values = inputs.at(name).values<float>();
    Flags rows(values.size() / size_t(depth));
    for (size_t n = 0; n < values.size(); ++n)
      if (std::isnan(values[n]))
        rows[n / size_t(depth)] = true;
    return rows;
  }
  static int64_t keyRow(int64_t h, int64_t j) { return h / (kHeads / kKeyHeads) * kLength + j; }
  static int64_t nearOf(int64_t i, int64_t j) { return std::min<int64_t>(i - j, kNear - 1); }

  bool isScoreNaN(int64_t h, int64_t i, int64_t j) const {
    return query[h * kLength + i] || key[keyRow(h, j)] || slope[h] || near[nearOf(i, j)] ||
           (form.hasKeyTerm && keyTerm[j]) || (form.hasRowTerm && rowTerm[i]);
  }

  void markOutput(int64_t h, int64_t i, bool all) {
    for (int64_t e = 0; e < kValueDepth; ++e) {
      bool isNaNHere = all;
      for (int64_t j = 0; j < kLength; ++j)
        isNaNHere |= form.sees(i, j) && valueElement[keyRow(h, j) * kValueDepth + e];
      if (isNaNHere)
        found["o"][(h * kLength + i) * kValueDepth + e] = true;
    }
    if (all)
      found["lse"][h * kLength + i] = true;
  }
  void markWeight(int64_t h, int64_t j) {
    std::fill_n(found["d_v"].begin() + keyRow(h, j) * kValueDepth, kValueDepth, true);
  }
  /// Marks the elements that depend on a NaN cotangent of the score of (i, j).
  void markScore(int64_t h, int64_t i, int64_t j) {
    std::fill_n(found["d_q"].begin() + (h * kLength + i) * kDepth, kDepth, true);
    std::fill_n(found["d_k"].begin() + keyRow(h, j) * kDepth, kDepth, true);
    found["d_s"][h] = true;
    found["d_near"][nearOf(i, j)] = true;
    if (form.hasKeyTerm)
      found["d_key"][j] = true;
    if (form.hasRowTerm)
      found["d_row"][i] = true;
  }

  /// Marks the elements of a row under softmax. A NaN score is in the row's sum, hence in every
  /// weight. A NaN value is in the sum of A dA, hence in every cotangent of the row's scores.
  void softmaxRow(int64_t h, int64_t i) {
    bool hasScore = false, hasValue = false;
    for (int64_t j = 0; j < kLength; ++j)
      if (form.sees(i, j)) {
        hasScore |= isScoreNaN(h, i, j);
        hasValue |= value[keyRow(h, j)];
      }
    markOutput(h, i, hasScore);
    for (int64_t j = 0; j < kLength; ++j)
      if (form.sees(i, j)) {
        if (hasScore)
          markWeight(h, j);
        if (hasScore || hasValue)
          markScore(h, i, j);
      }
  }

  /// Marks the elements of a row under stick-breaking. A NaN score is in its own weight and in the
  /// weights of older keys. The cotangent of a score depends on its own value and on the values of
  /// older keys.
  void stickBreakingRow(int64_t h, int64_t i) {
    int64_t newest = -1, oldest = kLength; // NaN score; NaN of A dA
    for (int64_t j = 0; j < kLength; ++j)
      if (form.sees(i, j) && isScoreNaN(h, i, j))
        newest = j;
    for (int64_t j = kLength; j-- > 0;)
      if (form.sees(i, j) && (j <= newest || value[keyRow(h, j)]))
        oldest = j;
    markOutput(h, i, newest >= 0);
    for (int64_t j = 0; j < kLength; ++j)
      if (form.sees(i, j)) {
        if (j <= newest)
          markWeight(h, j);
        if (j >= oldest)
          markScore(h, i, j);
      }
  }

  const Form &form;
  const TensorMap &inputs;
  const Flags query = rowsWithNaN("q", kDepth), key = rowsWithNaN("k", kDepth),
              value = rowsWithNaN("v", kValueDepth), valueElement = rowsWithNaN("v"),
              slope = rowsWithNaN("s"), near = rowsWithNaN("near"), keyTerm = rowsWithNaN("key"),
              rowTerm = rowsWithNaN("row");
};

/// One subject's functions for the forms of this file.
class Target {
public:
  explicit Target(const std::string &name) {
    SubjectOptions options;
    options.target = name;
    maskedPairs =
        findExemption("NotFinite: masked pairs of a NaN", deviceOf(options), options.dtype);
    auto made = makeSubject(options);
    if (made)
      subject = std::move(*made);
    else
      ADD_FAILURE() << made.error().render("error");
  }
  TensorMap run(const std::string &source, const TensorMap &inputs) {
    std::unique_ptr<Function> &function = functions[source];
    if (!function) {
      auto compiled = subject->compile({source, "not-finite.mlir", ""}, kDepth, kValueDepth);
      if (!compiled) {
        ADD_FAILURE() << compiled.error().render("error");
        return {};
      }
      function = std::move(*compiled);
    }
    auto found = function->run(inputs, {}, 2);
    if (!found)
      ADD_FAILURE() << found.error().render("error");
    return found ? std::move(*found) : TensorMap();
  }
  /// Returns the entry for NaNs in gradients of masked pairs, or null.
  const Exemption *ofMaskedPairs() const { return maskedPairs; }
  /// The number of elements for which that entry was used.
  int64_t masked = 0;

private:
  const Exemption *maskedPairs;
  std::unique_ptr<Subject> subject;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

class NotFinite : public testing::TestWithParam<std::string> {
protected:
  NotFinite() : target(GetParam()) {}
  Target target;
};

TensorMap clone(const TensorMap &inputs) {
  TensorMap copies;
  for (const auto &[name, tensor] : inputs) {
    auto values = tensor.values<float>();
    copies[name] = Tensor::of(std::vector<float>(values.begin(), values.end()), tensor.shape());
  }
  return copies;
}

float &element(TensorMap &inputs, const std::string &name, int64_t at) {
  return inputs.at(name).data<float>()[at];
}

bool hasNaN(const TensorMap &inputs, const std::string &name) {
  auto values = inputs.at(name).values<float>();
  return std::any_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

/// Returns a NaN with all bits set, which incorrect bit arithmetic would turn into a number.
float fullNaN() { return std::bit_cast<float>(~uint32_t(0)); }

/// Expects that every element of `Readers` is NaN and the others are unchanged.
void expectReaders(Target &target, const Form &form, const TensorMap &clean,
                   const TensorMap &inputs) {
  TensorMap expected = target.run(form.source(), clean), found = target.run(form.source(), inputs);
  Readers readers(form, inputs);
  for (const auto &[name, flags] : readers.found) {
    ASSERT_TRUE(found.contains(name)) << name;
    std::span<const float> values = found.at(name).values<float>();
    std::span<const float> before = expected.at(name).values<float>();
    ASSERT_EQ(values.size(), flags.size()) << name;
    int64_t missing = 0, extra = 0, changed = 0;
    for (size_t n = 0; n < flags.size(); ++n) {
      missing += flags[n] && !std::isnan(values[n]);
      extra += !flags[n] && std::isnan(values[n]);
      changed += !flags[n] && !std::isnan(values[n]) && values[n] != before[n];
    }
    // Under softmax the gradient of a row term is identically 0.
    if (name == "d_row" && form.isSoftmax)
      missing = 0;
    EXPECT_EQ(missing, 0) << name;
    // Masked scores are never used.
    if (!target.ofMaskedPairs() || name == "lse" || (name == "o" && !hasNaN(inputs, "v")))
      EXPECT_EQ(extra, 0) << name;
    else
      target.masked += extra;
    EXPECT_EQ(changed, 0) << name;
  }
}

TEST_P(NotFinite, NaNReachesExactlyItsReaders) {
  struct Place {
    const char *name;
    int64_t at;
  };
  const Place places[] = {{"q", (1 * kLength + 37) * kDepth + 3},
                          {"q", (3 * kLength + 1) * kDepth},
                          {"k", (1 * kLength + 50) * kDepth + 15},
                          {"k", (0 * kLength + 99) * kDepth},
                          {"v", (1 * kLength + 41) * kValueDepth + 5},
                          {"v", (0 * kLength + 3) * kValueDepth + 23},
                          {"s", 2},
                          {"near", 0},
                          {"near", 7},
                          {"key", 20},
                          {"row", 64}};
  for (bool isSoftmax : {true, false}) {
    const Form form = Form{isSoftmax};
    const TensorMap clean = form.draw();
    for (const Place &place : places) {
      if (!clean.contains(place.name))
        continue;
      SCOPED_TRACE(std::string(isSoftmax ? "softmax " : "stick-breaking ") + place.name + " " +
                   std::to_string(place.at));
      TensorMap inputs = clone(clean);
      element(inputs, place.name, place.at) = place.at % 2 ? fullNaN() : kNaN;
      expectReaders(target, form, clean, inputs);
    }
  }
  if (target.ofMaskedPairs())
    EXPECT_GT(target.masked, 0) << "remove the entry from Exemptions.cpp";
}

// Stick-breaking stops when no row has mass left; a NaN row must not stop.
TEST_P(NotFinite, NaNIsNotSkippedByEarlyExit) {
  Form form = Form{false};
  form.hasLse = false;
  const TensorMap clean = form.draw(/*level=*/2.0);
  TensorMap inputs = clone(clean);
  element(inputs, "q", (2 * kLength + 90) * kDepth) = kNaN;
  expectReaders(target, form, clean, inputs);
}

/// Compares results and gradients with the float64 reference.
void expectReference(Target &target, const std::string &source, const TensorMap &inputs) {
  Target reference("reference");
  TensorMap expected = reference.run(source, inputs), found = target.run(source, inputs);
  for (const auto &[name, tensor] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    std::span<const float> x = found.at(name).values<float>(), r = tensor.values<float>();
    double error = 0.0, norm = 0.0;
    for (size_t n = 0; n < r.size(); ++n) {
      if (!std::isfinite(r[n]) || r[n] == 0.0f) {
        EXPECT_EQ(x[n], r[n]) << name << " " << n;
        continue;
      }
      ASSERT_TRUE(std::isfinite(x[n])) << name << " " << n << ": " << x[n];
      error += (double(x[n]) - r[n]) * (double(x[n]) - r[n]);
      norm += double(r[n]) * r[n];
    }
    EXPECT_LE(std::sqrt(error), 2e-5 * std::sqrt(norm)) << name;
  }
}

TEST_P(NotFinite, MinusInfinityMasks) {
  for (bool isSoftmax : {true, false}) {
    const Form form = Form{isSoftmax};
    for (const char *what : {"the query's own distance", "far distances", "all", "keys", "rows"}) {
      SCOPED_TRACE(std::string(isSoftmax ? "softmax, " : "stick-breaking, ") + what);
      TensorMap inputs = form.draw();
      const std::string name = what;
      if (name == "the query's own distance") // the only key of row 0
        element(inputs, "near", 0) = -kInfinity;
      else if (name == "far distances")
        element(inputs, "near", 7) = -kInfinity;
      else if (name == "all")
        for (int64_t n = 0; n < kNear; ++n)
          element(inputs, "near", n) = -kInfinity;
      else if (name == "keys" && form.hasKeyTerm)
        for (int64_t j : {0, 1, 2, 40, 41, 99})
          element(inputs, "key", j) = -kInfinity;
      else if (name == "rows" && form.hasRowTerm)
        for (int64_t i : {0, 33, 99})
          element(inputs, "row", i) = -kInfinity;
      else
        continue;
      expectReference(target, form.source(), inputs);
    }
  }
}

// log(0) has an infinite derivative, but the pair that it masks must contribute 0.
TEST_P(NotFinite, MinusInfinityOfALogarithmHasNoGradient) {
  for (const char *formula :
       {"log(s[h] * (i - j))", "min(log(s[h] * (i - j)), 2.0 + sin(0.01 * i * j))"}) {
    SCOPED_TRACE(formula);
    std::string source = Form{true, false, false, true}.source();
    const std::string old = "n[min(i - j, 7)]", capture = "%n : tensor<8xf32>";
    source.replace(source.find(old), old.size(), formula);
    source.replace(source.find("(" + capture), capture.size() + 1, "(%s : tensor<?xf32>");
    TensorMap inputs = Form{true, false, false, true}.draw();
    expectReference(target, source, inputs);
  }
}

// A bias of -1e9 on some keys of a row is bitwise equivalent to minus infinity.
TEST_P(NotFinite, LargeNegativeBiasIsExact) {
  const Form form = Form{true};
  TensorMap finite = form.draw(), infinite = form.draw();
  element(finite, "near", 7) = -1e9f;
  element(infinite, "near", 7) = -kInfinity;
  TensorMap a = target.run(form.source(), finite), b = target.run(form.source(), infinite);
  for (const auto &[name, tensor] : a)
    for (size_t n = 0; n < tensor.values<float>().size(); ++n)
      ASSERT_EQ(tensor.values<float>()[n], b.at(name).values<float>()[n]) << name << " " << n;
}

// The softmax of plus infinity is not finite; under stick-breaking the key takes all remaining
// mass.
TEST_P(NotFinite, PlusInfinity) {
  for (bool isSoftmax : {true, false}) {
    Form form = Form{isSoftmax};
    TensorMap inputs = form.draw();
    element(inputs, "near", 3) = kInfinity;
    TensorMap found = target.run(form.source(), inputs);
    auto o = found.at("o").values<float>();
    EXPECT_TRUE(std::isfinite(o[2 * kValueDepth]));
    EXPECT_EQ(std::isnan(o[3 * kValueDepth]), isSoftmax);
    if (!isSoftmax)
      EXPECT_EQ(found.at("lse").values<float>()[3], -kInfinity);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, NotFinite,
                         testing::Values("reference", "loops", "cpu", "gpu-emulator"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name == "gpu-emulator" ? std::string("emulator") : name;
                         });

} // namespace
} // namespace pe::conformance
