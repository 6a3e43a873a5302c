//===- MasksTest.cpp - Tests masks from data on every target --------------===//
//
// Masked keys and values are not read: they can be NaN, and results and gradients are bitwise equal
// to those with zeros. Results agree with the float64 reference for masks with empty, full and
// partial blocks, for rows or batch entries without keys, and for lengths that end inside a block.
// Other tests corrupt block states, bounds and tickets, and check that these tests would fail.
//
//===----------------------------------------------------------------------===//

#include "conformance/Subject.h"
#include "runtime/core/Random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>

namespace pe::conformance {
namespace {

constexpr int64_t kBatch = 2, kDepth = 16;

/// A mask formula and the data that it reads.
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
    text +=
        "  %b = pe.bias_fn(%s : tensor<?xf32>)\n      expr \"s[h] * (0.3 * sin(0.001 * i * j) - "
        "0.05 * "
        "(i - j))\"\n";
    text += std::string("  %m = pe.mask_fn") +
            (captures.empty() ? "" : "(" + captures + " : " + types + ")") + " expr \"" + formula +
            "\"\n";
    text += std::string("  %o, %lse = pe.attention %q, %k, %v ") + (hasBias ? "bias(%b) " : "") +
            "mask(%m) {normalizer = #pe.normalizer<" + (isSoftmax ? "softmax" : "stick_breaking") +
            ">} : (!t, !t, !t) -> !t, tensor<?x?x?xf32>\n  return %o, %lse : !t, "
            "tensor<?x?x?xf32>\n}\n";
    if (!hasBias) { // an unused argument would be rejected
      const std::string slope = ", %s: tensor<?xf32> {pe.name = \"s\"}";
      text.erase(text.find(slope), slope.size());
      text.erase(text.find("  %b ="), text.find("  %m =") - text.find("  %b ="));
    }
    return text;
  }
};

/// The sizes of a call and the data of its masks.
struct MaskCall {
  int64_t queries, keys;
  std::vector<int32_t> lengths = {}; // n, per batch entry
  int64_t documents = 1;             // in qd and kd: sorted, of random lengths; 0: random ids
  unsigned seed = 1;
  int64_t keyHeads = 1; // half as many as query heads

  TensorMap draw(const MaskForm &form) const {
    TensorMap inputs;
    const int64_t heads = 2 * keyHeads;
    auto normal = [&](const char *name, const Shape &shape) {
      Tensor tensor = Tensor::zeros(DType::F32, shape);
      Random(seed, name).fillNormal(tensor, 0, 1);
      inputs[name] = tensor;
    };
    normal("q", {kBatch, heads, queries, kDepth});
    normal("k", {kBatch, keyHeads, keys, kDepth});
    normal("v", {kBatch, keyHeads, keys, kDepth});
    normal("d_o", {kBatch, heads, queries, kDepth});
    normal("d_lse", {kBatch, heads, queries});
    if (form.hasBias)
      normal("s", {heads});
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
      Tensor hs = whole("hs", {heads});
      for (int64_t h = 0; h < heads; ++h)
        hs.data<int32_t>()[h] = static_cast<int32_t>(h * 70 + 3);
    }
    if (!has("qd") && !has("kd"))
      return inputs;
    // The documents of all positions; queries are at the last ones.
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
  explicit Target(const std::string &name, decltype(SubjectOptions::spoil) spoil = nullptr)
      : name(name) {
    SubjectOptions options;
    options.target = name;
    options.poison = static_cast<bool>(spoil);
    options.spoil = std::move(spoil);
    auto made = makeSubject(options);
    if (made)
      subject = std::move(*made);
    else
      ADD_FAILURE() << made.error().render("error");
  }
  Expected<TensorMap> tryRun(const std::string &source, const TensorMap &inputs, int threads = 2) {
    std::unique_ptr<Function> &function = functions[source];
    if (!function) {
      auto compiled = subject->compile({source, "masks.mlir", ""}, kDepth, kDepth);
      if (!compiled) {
        ADD_FAILURE() << compiled.error().render("error") << source;
        return compiled.takeError();
      }
      function = std::move(*compiled);
    }
    return function->run(inputs, {}, threads);
  }
  TensorMap run(const std::string &source, const TensorMap &inputs, int threads = 2) {
    auto found = tryRun(source, inputs, threads);
    if (!found)
      ADD_FAILURE() << found.error().render("error");
    return found ? std::move(*found) : TensorMap();
  }
  const std::string name;

private:
  std::unique_ptr<Subject> subject;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

/// Returns the results and gradients outside their bounds, or "" if all satisfy the contract.
std::string mistakesIn(const TensorMap &found, const TensorMap &expected) {
  std::string text;
  for (const auto &[name, tensor] : expected) {
    if (!found.contains(name)) {
      text += name + " is missing\n";
      continue;
    }
    std::span<const float> x = found.at(name).values<float>(), r = tensor.values<float>();
    double error = 0.0, norm = 0.0;
    int64_t notFinite = 0;
    for (size_t n = 0; n < r.size(); ++n) {
      if (!std::isfinite(r[n]) || !std::isfinite(x[n])) {
        notFinite += x[n] != r[n];
        continue;
      }
      error += (double(x[n]) - r[n]) * (double(x[n]) - r[n]);
      norm += double(r[n]) * r[n];
    }
    if (notFinite)
      text += name + ": " + std::to_string(notFinite) + " elements are not finite\n";
    if (!(std::sqrt(error) <= 2e-5 * std::sqrt(norm) + 1e-6))
      text += name + ": error " + std::to_string(std::sqrt(error)) + " of " +
              std::to_string(std::sqrt(norm)) + "\n";
  }
  return text;
}

class Masks : public testing::TestWithParam<std::string> {
protected:
  Masks() : target(GetParam()) {}
  Target target;

  /// Expects that results and gradients agree with the reference, and bitwise with those of one
  /// thread.
  void expectReference(const MaskForm &form, const MaskCall &call) {
    SCOPED_TRACE(form.source() + std::to_string(call.queries) + " x " + std::to_string(call.keys));
    Target reference("reference");
    const TensorMap inputs = call.draw(form);
    TensorMap expected = reference.run(form.source(), inputs),
              found = target.run(form.source(), inputs),
              again = target.run(form.source(), inputs, 1);
    EXPECT_EQ(mistakesIn(found, expected), "");
    for (const auto &[name, tensor] : found) {
      std::span<const float> x = tensor.values<float>();
      EXPECT_EQ(std::memcmp(x.data(), again.at(name).values<float>().data(), x.size_bytes()), 0)
          << name;
    }
  }
};

TEST_P(Masks, MaskedKeysAreNotRead) {
  const MaskForm forms[] = {
      {"j <= i and j < n[b]", "n"},
      {"j < n[b]", "n"},
      {"j <= i and j < n[b] and (i - j) % 3 != 1", "n"},
      {"j < n[b] and (i + j) % 5 != 1", "n", true, true},
      {"j <= i and j < n[b]", "n", false},
      {"j <= i and j < n[b] and (i - j) % 3 != 1", "n", false, true},
      {"j <= i and kd[b, j] != 0", "kd"},
      {"j <= i and kd[b, j] != 0", "kd", false},
      {"kd[b, j] != 0 and (i + j) % 3 != 1", "kd", true, true},
  };
  const MaskCall calls[] = {{150, 150, {70, 128}}, {40, 200, {199, 0}, 1, 2}};
  for (const MaskForm &form : forms)
    for (const MaskCall &call : calls) {
      const bool isByKey = std::strcmp(form.data, "kd") == 0;
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

//===- The rows of a head in parts -------------------------------------------------===//

/// Calls that are long enough to be split into parts (passes/ToCPU/RowParts.h).
class MasksInParts : public Masks {};

TEST_P(MasksInParts, EveryPartHasTheBlocksOfItsRows) {
  const MaskForm forms[] = {
      {"j <= i and qd[b, i] == kd[b, j]", "qd kd"},                   // states
      {"j <= i and (j < 4 or i - j < 70)", "", true, true},           // the first block and a band
      {"j < i and qd[b, i] == kd[b, j]", "qd kd", false},             //
      {"j < qd[b, i] * 60", "qd"},                                    // increasing bounds
      {"j < (i // 192) % 2 * 300 and j >= i // 100", "", true, true}, // some parts have no keys
      {"i >= hs[h] * 4 and j >= hs[h] and (i + j) % 2 == 0", "hs"},   // states per head
      {"j <= i and j < n[b] and i // 192 != 1", "n"},                 // a part without keys
  };
  // In the first call every part is a work item; in the second an item has all parts of its head.
  const MaskCall calls[] = {{780, 780, {700, 130}, 6, 3, 1}, {530, 600, {600, 0}, 4, 4, 8}};
  for (const MaskForm &form : forms)
    for (const MaskCall &call : calls)
      expectReference(form, call);
}

//===- Faults are detected --------------------------------------------------------===//

/// Replaces elements of a buffer. Without changes, records its elements.
struct Fault {
  std::string buffer; // suffix of its name
  std::vector<int32_t> numbers = {};
  std::vector<std::pair<size_t, int32_t>> changes = {};

  auto apply() {
    return [this](const std::string &name, void *data, int64_t bytes) {
      if (!name.ends_with(buffer))
        return;
      auto *first = static_cast<int32_t *>(data);
      if (changes.empty())
        numbers.assign(first, first + bytes / sizeof(int32_t));
      for (auto [at, number] : changes)
        first[at] = number;
    };
  }
};

/// Runs a mask without a fault, which must be correct, then once per changed element.
class WrongMasks : public testing::TestWithParam<std::string> {
protected:
  /// `change` returns the replacement of an element, or nullopt to keep it.
  void expectCaught(const MaskForm &form, const MaskCall &call, const std::string &buffer,
                    const std::function<std::optional<int32_t>(size_t at, int32_t number)> &change,
                    size_t least) {
    SCOPED_TRACE(form.source() + buffer);
    const TensorMap inputs = call.draw(form);
    TensorMap expected = Target("reference").run(form.source(), inputs);
    Fault fault{buffer};
    Target target(GetParam(), fault.apply());
    EXPECT_EQ(mistakesIn(target.run(form.source(), inputs), expected), "");
    size_t faults = 0;
    for (size_t at = 0; at < fault.numbers.size(); ++at)
      if (auto other = change(at, fault.numbers[at])) {
        fault.changes = {{at, *other}};
        auto found = target.tryRun(form.source(), inputs);
        EXPECT_TRUE(!found || !mistakesIn(*found, expected).empty())
            << "element " << at << ", " << fault.numbers[at] << ", as " << *other;
        ++faults;
      }
    EXPECT_GE(faults, least);
  }
};

TEST_P(WrongMasks, StatesAreDetected) {
  const MaskForm form{"j <= i and qd[b, i] == kd[b, j]", "qd kd"};
  const MaskCall call{230, 230, {}, 1, 3};
  // Changes the first two blocks of every state below the diagonal of the 4x4 blocks of a batch
  // entry.
  for (int32_t state : {0, 1, 2}) {
    int seen = 0;
    auto other = [&](size_t at, int32_t number) -> std::optional<int32_t> {
      if (number != state || at % 4 >= at / 4 % 4 || ++seen > 2)
        return std::nullopt;
      return number == 0 ? 2 : number == 2 ? 0 : seen == 1 ? 0 : 2;
    };
    expectCaught(form, call, "_mask_states", other, 2);
  }
}

TEST_P(WrongMasks, BoundsAreDetected) {
  const MaskForm form{"j < n[b] and j >= i // 3", "n"};
  const MaskCall call{100, 130, {120, 66}};
  for (int32_t by : {-1, 1})
    for (const char *buffer : {"_low_columns", "_high_columns"})
      expectCaught(
          form, call, buffer,
          [&](size_t at, int32_t number) -> std::optional<int32_t> {
            const bool isPicked = at == 40 || at == 177;
            return isPicked && number + by >= 0 ? std::optional(number + by) : std::nullopt;
          },
          2);
}

/// A block of keys that loses its first ticket never takes the next one, so the call deadlocks.
TEST(LostTickets, AreDetected) {
  const MaskForm form{"j <= i and qd[b, i] == kd[b, j]", "qd kd"};
  const MaskCall call{130, 130, {}, 2, 3};
  const TensorMap inputs = call.draw(form);
  Fault fault{"_tickets"};
  Target target("gpu-emulator", fault.apply());
  target.run(form.source(), inputs);
  ASSERT_FALSE(fault.numbers.empty());
  fault.changes = {{0, -1}};
  auto found = target.tryRun(form.source(), inputs);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().getMessage().find("warps wait without end"), std::string::npos)
      << found.error().getMessage();
}

INSTANTIATE_TEST_SUITE_P(Cpu, MasksInParts, testing::Values("cpu"));
INSTANTIATE_TEST_SUITE_P(Targets, WrongMasks, testing::Values("cpu", "gpu-emulator"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name == "gpu-emulator" ? std::string("emulator") : name;
                         });
INSTANTIATE_TEST_SUITE_P(Targets, Masks, testing::Values("loops", "cpu", "gpu-emulator"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name == "gpu-emulator" ? std::string("emulator") : name;
                         });

} // namespace
} // namespace pe::conformance
