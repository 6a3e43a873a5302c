//===- MasksTest.cpp - masks from data, block by block, on every target ---===//
//
// What a mask leaves out is not read: spare keys and values may be NaN, and results and gradients
// are to the bit those with zeros in their place. Masks whose blocks of pairs are empty, whole or
// cut, whose rows or batch entries see nothing, and lengths that end inside a block agree with the
// float64 reference.
//
//===----------------------------------------------------------------------===//

#include "conformance/Subject.h"
#include "runtime/core/Random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

namespace pe::conformance {
namespace {

constexpr int64_t kBatch = 2, kHeads = 2, kKeyHeads = 1, kDepth = 16;

/// A mask by formula, and the data that it reads.
struct MaskForm {
  const char *formula;
  const char *data = ""; // the tensors among n [b], qd [b, i], kd [b, j], hs [h]
  bool isSoftmax = true;
  bool hasBias = false;

  std::string source() const {
    const std::pair<const char *, const char *> axes[] = {{"n", "\"batch\""},
                                                          {"qd", "\"batch\", \"query\""},
                                                          {"kd", "\"batch\", \"key\""},
                                                          {"hs", "\"head\""}};
    std::string arguments, captures, types;
    for (auto [name, axis] : axes)
      if ((" " + std::string(data) + " ").find(" " + std::string(name) + " ") !=
          std::string::npos) {
        std::string type = name[1] == 'd' ? "tensor<?x?xi32>" : "tensor<?xi32>";
        arguments += std::string(", %") + name + ": " + type + " {pe.name = \"" + name +
                     "\", pe.axes = [" + axis + "]}";
        captures += (captures.empty() ? "%" : ", %") + std::string(name);
        types += (types.empty() ? "" : ", ") + type;
      }
    std::string text = "!t = tensor<?x?x?x?xf32>\nfunc.func @f(%q: !t {pe.name = \"q\"}, %k: !t "
                       "{pe.name = \"k\"}, %v: !t {pe.name = \"v\"}, %s: tensor<?xf32> {pe.name = "
                       "\"s\"}" +
                       arguments +
                       ") -> (!t {pe.name = \"o\"}, tensor<?x?x?xf32> {pe.name = \"lse\"}) {\n";
    text += "  %d = pe.distance\n  %b = pe.linear %d slope(%s : tensor<?xf32>) {factor = -0.05}\n";
    text += std::string("  %m = pe.mask_fn") +
            (captures.empty() ? "" : "(" + captures + " : " + types + ")") + " expr \"" + formula +
            "\"\n";
    text += std::string("  %o, %lse = pe.attention %q, %k, %v ") + (hasBias ? "bias(%b) " : "") +
            "mask(%m) {normalizer = #pe.normalizer<" + (isSoftmax ? "softmax" : "stick_breaking") +
            ">} : (!t, !t, !t) -> !t, tensor<?x?x?xf32>\n  return %o, %lse : !t, "
            "tensor<?x?x?xf32>\n}\n";
    if (!hasBias) { // an argument that nothing reads would be refused
      const std::string slope = ", %s: tensor<?xf32> {pe.name = \"s\"}";
      text.erase(text.find(slope), slope.size());
      text.erase(text.find("  %d = pe.distance"), text.find("  %m =") - text.find("  %d = pe"));
    }
    return text;
  }
};

/// Lengths of a call and what its masks read.
struct MaskCall {
  int64_t queries, keys;
  std::vector<int32_t> lengths = {}; // n, per batch entry
  int64_t documents = 1;             // qd and kd: sorted, of random lengths; 0: random numbers
  unsigned seed = 1;

  TensorMap draw(const MaskForm &form) const {
    TensorMap inputs;
    auto normal = [&](const char *name, const Shape &shape) {
      Tensor tensor = Tensor::zeros(DType::F32, shape);
      Random(seed, name).fillNormal(tensor, 0, 1);
      inputs[name] = tensor;
    };
    normal("q", {kBatch, kHeads, queries, kDepth});
    normal("k", {kBatch, kKeyHeads, keys, kDepth});
    normal("v", {kBatch, kKeyHeads, keys, kDepth});
    normal("d_o", {kBatch, kHeads, queries, kDepth});
    normal("d_lse", {kBatch, kHeads, queries});
    if (form.hasBias)
      normal("s", {kHeads});
    auto has = [&](const char *name) {
      return (" " + std::string(form.data) + " ").find(" " + std::string(name) + " ") !=
             std::string::npos;
    };
    auto whole = [&](const char *name, const Shape &shape) {
      return inputs[name] = Tensor::zeros(DType::I32, shape);
    };
    if (has("n")) {
      Tensor n = whole("n", {kBatch});
      for (int64_t b = 0; b < kBatch; ++b)
        n.data<int32_t>()[b] = lengths[b];
    }
    if (has("hs")) {
      Tensor hs = whole("hs", {kHeads});
      for (int64_t h = 0; h < kHeads; ++h)
        hs.data<int32_t>()[h] = static_cast<int32_t>(h * 70 + 3);
    }
    if (!has("qd") && !has("kd"))
      return inputs;
    // The documents of all positions; queries are the last of them.
    std::mt19937 random(seed);
    const int64_t positions = std::max(queries, keys);
    std::vector<int32_t> ids(kBatch * positions);
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t p = 0; p < positions; ++p)
        ids[b * positions + p] =
            static_cast<int32_t>(random() % std::max<int64_t>(2, 2 * documents));
      if (documents)
        std::sort(ids.begin() + b * positions, ids.begin() + (b + 1) * positions);
    }
    auto fill = [&](const char *name, int64_t length) {
      if (!has(name))
        return;
      Tensor tensor = whole(name, {kBatch, length});
      for (int64_t b = 0; b < kBatch; ++b)
        for (int64_t p = 0; p < length; ++p)
          tensor.data<int32_t>()[b * length + p] = ids[(b + 1) * positions - length + p];
    };
    fill("qd", queries);
    fill("kd", keys);
    return inputs;
  }
};

class Target {
public:
  explicit Target(const std::string &name) : name(name) {
    SubjectOptions options;
    options.target = name;
    auto made = makeSubject(options);
    if (made)
      subject = std::move(*made);
    else
      ADD_FAILURE() << made.error().render("error");
  }
  TensorMap run(const std::string &source, const TensorMap &inputs, int threads = 2) {
    std::unique_ptr<Function> &function = functions[source];
    if (!function) {
      auto compiled = subject->compile({source, "masks.mlir", ""}, kDepth, kDepth);
      if (!compiled) {
        ADD_FAILURE() << compiled.error().render("error") << source;
        return {};
      }
      function = std::move(*compiled);
    }
    auto found = function->run(inputs, {}, threads);
    if (!found)
      ADD_FAILURE() << found.error().render("error");
    return found ? std::move(*found) : TensorMap();
  }
  const std::string name;

private:
  std::unique_ptr<Subject> subject;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

class Masks : public testing::TestWithParam<std::string> {
protected:
  Masks() : target(GetParam()) {}
  Target target;

  /// Results and gradients agree with the reference, and are the same bits with one thread.
  void expectReference(const MaskForm &form, const MaskCall &call) {
    SCOPED_TRACE(form.source() + std::to_string(call.queries) + " x " + std::to_string(call.keys));
    Target reference("reference");
    const TensorMap inputs = call.draw(form);
    TensorMap expected = reference.run(form.source(), inputs),
              found = target.run(form.source(), inputs),
              again = target.run(form.source(), inputs, 1);
    for (const auto &[name, tensor] : expected) {
      ASSERT_TRUE(found.contains(name)) << name;
      std::span<const float> x = found.at(name).values<float>(), r = tensor.values<float>();
      ASSERT_EQ(std::memcmp(x.data(), again.at(name).values<float>().data(), x.size_bytes()), 0)
          << name;
      double error = 0.0, norm = 0.0, worst = 0.0;
      for (size_t n = 0; n < r.size(); ++n) {
        if (!std::isfinite(r[n])) {
          ASSERT_EQ(x[n], r[n]) << name << " " << n;
          continue;
        }
        ASSERT_TRUE(std::isfinite(x[n])) << name << " " << n << ": " << x[n];
        worst = std::max<double>(worst, std::abs(double(x[n]) - r[n]));
        error += (double(x[n]) - r[n]) * (double(x[n]) - r[n]);
        norm += double(r[n]) * r[n];
      }
      EXPECT_LE(std::sqrt(error), 2e-5 * std::sqrt(norm) + 1e-6) << name << ", at most " << worst;
    }
  }
};

TEST_P(Masks, SpareKeysAreNotRead) {
  const MaskForm forms[] = {
      {"j <= i and j < n[b]", "n"},
      {"j < n[b]", "n"},
      {"j <= i and j < n[b] and (i - j) % 3 != 1", "n"},
      {"j < n[b] and (i + j) % 5 != 1", "n", true, true},
      {"j <= i and j < n[b]", "n", false},
      {"j <= i and j < n[b] and (i - j) % 3 != 1", "n", false, true},
      {"j <= i and kd[b, j] != 0", "kd"},
      {"j <= i and kd[b, j] != 0", "kd", false},
  };
  const MaskCall calls[] = {{150, 150, {70, 128}}, {40, 200, {199, 0}, 1, 2}};
  for (const MaskForm &form : forms)
    for (const MaskCall &call : calls) {
      const bool isByKey = std::strcmp(form.data, "kd") == 0;
      // A GPU multiplies what only code hides, key by key, by zeros (docs/numerics.md).
      if (isByKey && target.name == "gpu-emulator")
        continue;
      SCOPED_TRACE(form.source());
      TensorMap clean = call.draw(form), spoilt = call.draw(form);
      for (const char *name : {"k", "v"})
        for (int64_t b = 0; b < kBatch; ++b)
          for (int64_t j = 0; j < call.keys; ++j) {
            const bool isSpare = isByKey ? clean["kd"].data<int32_t>()[b * call.keys + j] == 0
                                         : j >= call.lengths[b];
            for (int64_t d = 0; isSpare && d < kDepth; ++d) {
              const int64_t at = (b * call.keys + j) * kDepth + d;
              clean[name].data<float>()[at] = 0.0f;
              spoilt[name].data<float>()[at] = std::numeric_limits<float>::quiet_NaN();
            }
          }
      TensorMap expected = target.run(form.source(), clean);
      TensorMap found = target.run(form.source(), spoilt);
      for (const auto &[name, tensor] : expected) {
        std::span<const float> before = tensor.values<float>(),
                               after = found.at(name).values<float>();
        int64_t different = 0;
        for (size_t n = 0; n < before.size(); ++n)
          different += !(before[n] == after[n]);
        EXPECT_EQ(different, 0) << name << " of " << target.name << ", " << call.queries << " x "
                                << call.keys;
      }
    }
}

TEST_P(Masks, BlocksOfEveryState) {
  const MaskForm forms[] = {
      {"j <= i and qd[b, i] == kd[b, j]", "qd kd"},
      {"qd[b, i] != kd[b, j]", "qd kd", true, true},
      {"j < i and qd[b, i] == kd[b, j]", "qd kd", false},
      {"abs(i // 16 - j // 16) <= 2 and abs(i % 16 - j % 16) <= 3"},
      {"j <= i and (j < 4 or i - j < 70)", "", true, true},
      {"j <= i and (j < 4 or i - j < 70)", "", false, true},
      {"j <= i and (i - j) // 64 % 2 == 0 and j < n[b]", "n"},
      {"i >= hs[h] and j >= hs[h] and (i + j) % 2 == 0", "hs"},
      {"kd[b, j] == 1", "kd"},
  };
  const MaskCall calls[] = {{200, 200, {150, 0}, 2, 3},
                            {70, 193, {64, 65}, 3, 4},
                            {65, 65, {1, 65}, 0, 5},
                            {1, 129, {129, 3}, 1, 6}};
  for (const MaskForm &form : forms)
    for (const MaskCall &call : calls)
      expectReference(form, call);
}

INSTANTIATE_TEST_SUITE_P(Targets, Masks, testing::Values("loops", "cpu", "gpu-emulator"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name == "gpu-emulator" ? std::string("emulator") : name;
                         });

} // namespace
} // namespace pe::conformance
