//===- Encodings.cpp - The encodings of the contract, as programs ---------===//

#include "reference/Encodings.h"

#include "runtime/core/Random.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace pe::test {
namespace {

constexpr int64_t H = ProgramBuilder::heads;
using Json = nlohmann::json;
using Options = ProgramBuilder::AttentionOptions;

const Json minusOne = {{"factor", -1.0}, {"operandSegmentSizes", {1, 1, 0}}};

int causal(ProgramBuilder &f) { return f.mask("pe.causal"); }

int slopesByRule(ProgramBuilder &f, const char *rule) {
  Json attributes = {{"factor", -1.0},
                     {"rule", std::string("#pe.slope_rule<") + rule + ">"},
                     {"operandSegmentSizes", {1, 0, 0}}};
  return f.bias("pe.linear", {f.coordinate("pe.distance")}, attributes);
}

int learnedSlopes(ProgramBuilder &f) {
  return f.bias("pe.linear", {f.coordinate("pe.distance"), f.parameter("slopes", {H})}, minusOne);
}

int bucketTable(ProgramBuilder &f, bool bidirectional) {
  int table = f.parameter("table", {32, H}, -0.5, 0.5);
  int x = f.coordinate("pe.bucket", {},
                       {{"buckets", 32}, {"max_distance", 128}, {"bidirectional", bidirectional}});
  return f.bias("pe.table", {x, table});
}

int kerpleLog(ProgramBuilder &f) {
  int r1 = f.parameter("r1", {H}, 0.01, 2.0), r2 = f.parameter("r2", {H}, 0.01, 1.0);
  return f.bias("pe.linear", {f.coordinate("pe.log_distance", {r2}), r1}, minusOne);
}

int kerplePower(ProgramBuilder &f) {
  int r1 = f.parameter("r1", {H}, 0.01, 2.0), r2 = f.parameter("r2", {H}, 0.01, 1.0);
  return f.bias("pe.power", {f.coordinate("pe.distance"), r2, r1}, {{"factor", -1.0}});
}

int cosines(ProgramBuilder &f) {
  int r1 = f.parameter("r1", {H}, 0.01, 0.1);
  return f.bias("pe.cosine_sum", {f.coordinate("pe.relative"), r1},
                {{"terms", 64}, {"operandSegmentSizes", {1, 1}}});
}

int progressive(ProgramBuilder &f, bool withC, bool withThreshold, double initialLength) {
  std::vector<int> operands;
  if (withC)
    operands.push_back(f.parameter("c", {}, 0.05, 0.15));
  if (withThreshold)
    operands.push_back(f.parameter("L_multiplier", {}, 0.9, 1.1));
  return f.coordinate("pe.progressive", operands,
                      {{"initial_length", initialLength},
                       {"epsilon", 1e-6},
                       {"operandSegmentSizes", {withC ? 1 : 0, withThreshold ? 1 : 0}}});
}

/// Adds hidden layers of `width`, drawn like PyTorch's Linear, and a last row per head.
int mlp(ProgramBuilder &f, int x, int64_t width, int hiddenLayers, Json attributes,
        int64_t lastRows = H) {
  std::vector<int> operands = {x};
  for (int layer = 1; layer <= hiddenLayers + 1; ++layer) {
    bool isLast = layer == hiddenLayers + 1;
    int64_t rows = isLast ? lastRows : width;
    std::string number = std::to_string(layer);
    double range = layer == 1 ? 1.0 : 1.0 / std::sqrt(static_cast<double>(width));
    std::vector<int64_t> dims = {rows};
    if (layer > 1)
      dims.push_back(width);
    operands.push_back(f.parameter("w" + number, dims, -range, range));
    operands.push_back(f.parameter("b" + number, {rows}, -range, range));
  }
  return f.bias("pe.mlp", operands, std::move(attributes));
}

Json activation(const char *name) {
  return {{"activation", std::string("#pe.activation<") + name + ">"}};
}

/// Adds amp[h] * exp(-|i - j| / tau[h]).
int customRegion(ProgramBuilder &f) {
  int amp = f.parameter("amp", {H}, 0.5, 1.5), tau = f.parameter("tau", {H}, 4.0, 16.0);
  return f.biasFunction({amp, tau}, [&](const std::vector<int> &a) {
    int d = f.scalar("arith.subi", {a[2], a[3]}, "index");
    int d64 = f.scalar("arith.index_cast", {d}, "i64");
    int x = f.scalar("math.absf", {f.scalar("arith.sitofp", {d64})});
    int scaled = f.scalar("arith.divf", {x, f.scalar("pe.read", {a[5], a[1]})});
    int decay = f.scalar("math.exp", {f.scalar("arith.negf", {scaled})});
    return f.scalar("arith.mulf", {f.scalar("pe.read", {a[4], a[1]}), decay});
  });
}

std::string scaling(const std::string &kind, const std::string &more, int64_t length = 30) {
  return "#pe.rope_scaling<" + kind +
         ", factor = 3.0, original_length = " + std::to_string(length) + more + ">";
}

int rotary(ProgramBuilder &f, bool interleaved) {
  return f.rotation("pe.rotary", {{"base", 10000.0}, {"interleaved", interleaved}});
}

Options stickBreaking() {
  Options options;
  options.normalizer = "stick_breaking";
  return options;
}

using Write = std::function<void(ProgramBuilder &)>;

/// Returns a function that adds an attention with one bias.
Write withBias(std::function<int(ProgramBuilder &)> bias, bool isCausal = true) {
  return [=](ProgramBuilder &f) {
    int value = bias(f);
    f.attention({value}, {}, isCausal ? causal(f) : ProgramBuilder::noMask);
  };
}

Write fire(bool withC, bool withThreshold, int64_t width, int hiddenLayers, Json attributes,
           bool isCausal = true) {
  return withBias(
      [=](ProgramBuilder &f) {
        return mlp(f, progressive(f, withC, withThreshold, 512.0), width, hiddenLayers, attributes);
      },
      isCausal);
}

struct Entry {
  const char *name;
  Write write;
};

std::vector<Entry> additiveEncodings() {
  return {
      {"nope", [](ProgramBuilder &f) { f.attention({}, {}, causal(f)); }},
      {"bidirectional", [](ProgramBuilder &f) { f.attention({}, {}, f.noMask); }},
      {"log_sum_exp",
       [](ProgramBuilder &f) {
         Options options;
         options.lseName = "lse";
         f.attention({}, {}, causal(f), options);
       }},
      {"sliding_window",
       [](ProgramBuilder &f) {
         int window = f.mask("pe.sliding_window", {}, {{"left", 3}});
         f.attention({}, {}, f.mask("pe.mask_and", {causal(f), window}));
       }},
      {"alibi", withBias([](auto &f) { return slopesByRule(f, "geometric"); })},
      {"alibi_interleaved", withBias([](auto &f) { return slopesByRule(f, "interleaved"); })},
      {"alibi_learned", withBias(learnedSlopes)},
      {"alibi_bidirectional",
       withBias([](auto &f) { return slopesByRule(f, "geometric"); }, false)},
      {"t5", withBias([](auto &f) { return bucketTable(f, false); })},
      {"t5_bidirectional", withBias([](auto &f) { return bucketTable(f, true); }, false)},
      {"kerple_log", withBias(kerpleLog)},
      {"kerple_power", withBias(kerplePower)},
      {"sandwich", withBias(cosines)},
      {"custom_bias", withBias(customRegion)},
      {"squashed_score",
       [](ProgramBuilder &f) {
         int g = f.parameter("g", {H}, 0.5, 1.5);
         Options options;
         options.score = f.scoreFunction({g}, [&](const std::vector<int> &a) {
           int scaled = f.scalar("arith.mulf", {a[0], f.scalar("pe.read", {a[5], a[2]})});
           return f.scalar("math.tanh", {scaled});
         });
         f.attention({learnedSlopes(f)}, {}, causal(f), options);
       }},
      // Compositions that are not published encodings: functions of a learned coordinate.
      {"cosines_of_log", withBias([](ProgramBuilder &f) {
         int c = f.parameter("c", {H}, 0.5, 2.0), r1 = f.parameter("r1", {H}, 0.01, 0.1);
         return f.bias("pe.cosine_sum", {f.coordinate("pe.log_distance", {c}), r1},
                       {{"terms", 8}, {"base", 2.0}, {"operandSegmentSizes", {1, 1}}});
       })},
      {"power_of_log", withBias([](ProgramBuilder &f) {
         int c = f.parameter("c", {H}, 0.5, 2.0);
         int r2 = f.parameter("r2", {H}, 0.3, 1.5), r1 = f.parameter("r1", {H}, 0.1, 1.0);
         return f.bias("pe.power", {f.coordinate("pe.log_distance", {c}), r2, r1},
                       {{"factor", -1.0}});
       })},
      {"two_biases",
       [](ProgramBuilder &f) {
         int a = kerpleLog(f);
         int b = f.bias("pe.scale", {bucketTable(f, false)}, {{"factor", 0.5}});
         int sum = f.bias("pe.add", {a, b});
         f.attention({sum, learnedSlopes(f)}, {}, causal(f));
       }},
  };
}

std::vector<Entry> mlpEncodings(int64_t width) {
  return {
      {"fire", fire(true, true, width, 1, activation("relu"))},
      {"fire_2x32", fire(true, true, width, 2, activation("relu"))},
      {"fire_gelu", fire(true, true, width, 1, activation("gelu"))},
      {"fire_tanh", fire(true, true, width, 1, activation("tanh"))},
      {"fire_final_activation", fire(true, true, width, 1,
                                     {{"activation", "#pe.activation<relu>"},
                                      {"final_activation", "#pe.activation<relu>"}})},
      {"fire_no_threshold", fire(true, false, width, 1, activation("relu"))},
      {"fire_no_log", fire(false, false, width, 1, activation("relu"))},
      {"fire_linear", fire(true, true, width, 0, Json::object())},
      {"fire_bidirectional", fire(true, true, width, 1, activation("relu"), false)},
      // A threshold inside the sequence: later rows are normalized by their position.
      {"fire_short", withBias([=](auto &f) {
         return mlp(f, progressive(f, true, true, 3.0), width, 1, activation("relu"));
       })},
      {"fire_clamped", withBias([=](auto &f) {
         int threshold = f.parameter("log_threshold", {H}, 1.0, 3.0);
         int t = f.coordinate("pe.clamped_log", {threshold});
         return mlp(f, t, width, 1, activation("gelu"), 1);
       })},
  };
}

std::function<void(ProgramBuilder &)> scaledRotary(const std::string &scaling) {
  return [=](ProgramBuilder &f) {
    const Json attributes = {{"scaling", "#pe.rope_scaling<" + scaling + ">"}};
    f.attention({}, {f.rotation("pe.rotary", attributes)}, causal(f));
  };
}

std::vector<Entry> moreRotaryEncodings() {
  return {
      {"rope_longrope_learned",
       [](ProgramBuilder &f) {
         const std::string lists = ", short_factor = [1.0, 1.5], long_factor = [2.0, 3.0]";
         int rotation =
             f.rotation("pe.rotary", {{"rotary_dims", 4}, {"scaling", scaling("longrope", lists)}},
                        {f.parameter("base", {}, 20.0, 40.0)});
         f.attention({}, {rotation}, causal(f));
       }},
      {"rope_proportional",
       scaledRotary("proportional, factor = 1.0, partial_rotary_factor = 0.25")},
      {"rope_proportional_half",
       scaledRotary("proportional, factor = 2.0, partial_rotary_factor = 0.5")},
      {"rope_trailing",
       [](ProgramBuilder &f) {
         int rotation = f.rotation("pe.rotary", {{"rotary_dims", 2}, {"trailing", true}});
         f.attention({}, {rotation}, causal(f));
       }},
      {"rope_values",
       [](ProgramBuilder &f) {
         Options options;
         options.valueRotation = rotary(f, false);
         f.attention({}, {options.valueRotation}, causal(f), options);
       }},
      {"rope_values_two_dims",
       [](ProgramBuilder &f) {
         Options options;
         options.valueRotation =
             f.rotation("pe.rotary", {{"rotary_dims", 2}, {"base", 3.0}, {"interleaved", true}});
         f.attention({}, {rotary(f, false)}, causal(f), options);
       }},
  };
}

std::vector<Entry> rotaryEncodings() {
  return {
      {"rope", [](auto &f) { f.attention({}, {rotary(f, false)}, causal(f)); }},
      {"rope_interleaved", [](auto &f) { f.attention({}, {rotary(f, true)}, causal(f)); }},
      {"rope_pi", scaledRotary("linear, factor = 4.0")},
      {"rope_ntk", scaledRotary("ntk, factor = 4.0")},
      {"rope_dynamic_ntk", scaledRotary("dynamic_ntk, factor = 4.0, original_length = 2048")},
      {"rope_yarn", scaledRotary("yarn, factor = 4.0, original_length = 2048")},
      {"rope_llama3", scaledRotary("llama3, factor = 8.0, original_length = 8192")},
      {"rope_two_dims",
       [](ProgramBuilder &f) {
         int rotation = f.rotation("pe.rotary", {{"rotary_dims", 2}});
         f.attention({}, {rotation}, causal(f));
       }},
      {"rope_yarn_learned",
       [](ProgramBuilder &f) {
         int rotation = f.rotation("pe.rotary", {{"scaling", scaling("yarn", ", beta_slow = 0.5")}},
                                   {f.parameter("base", {}, 20.0, 40.0)});
         f.attention({}, {rotation}, causal(f));
       }},
      {"rope_llama3_learned",
       [](ProgramBuilder &f) {
         int rotation =
             f.rotation("pe.rotary", {{"scaling", scaling("llama3", ", low = 0.1, high = 9.0")}},
                        {f.parameter("base", {1}, 20.0, 40.0)});
         f.attention({}, {rotation}, f.noMask);
       }},
      {"rope_dynamic_ntk_learned",
       [](ProgramBuilder &f) {
         int rotation = f.rotation("pe.rotary", {{"scaling", scaling("dynamic_ntk", "", 400)}},
                                   {f.parameter("base", {}, 20.0, 40.0)});
         f.attention({}, {rotation}, causal(f));
       }},
      {"rope_table_two_dims",
       [](ProgramBuilder &f) {
         int cosines = f.parameter("cos", {400, 1}), sines = f.parameter("sin", {400, 1});
         int rotation = f.rotation("pe.rotation_table", {{"rotary_dims", 2}}, {cosines, sines});
         f.attention({}, {rotation}, causal(f));
       }},
  };
}

std::vector<Entry> otherEncodings() {
  return {
      {"rope_bidirectional", [](auto &f) { f.attention({}, {rotary(f, false)}, f.noMask); }},
      {"stick_breaking",
       [](ProgramBuilder &f) { f.attention({}, {}, causal(f), stickBreaking()); }},
      {"log_of_mass_left",
       [](ProgramBuilder &f) {
         Options options = stickBreaking();
         options.lseName = "r";
         f.attention({}, {}, causal(f), options);
       }},
      {"stick_breaking_own",
       [](ProgramBuilder &f) {
         Options options = stickBreaking();
         options.lseName = "r";
         options.attributes = {{"attend_current", true}, {"remainder", "#pe.remainder<value>"}};
         f.attention({learnedSlopes(f)}, {}, causal(f), options);
       }},
      {"both_sides_and_remainder",
       [](ProgramBuilder &f) {
         Options options = stickBreaking();
         options.attributes = {{"direction", "#pe.direction<both>"},
                               {"remainder", "#pe.remainder<value>"}};
         f.attention({learnedSlopes(f)}, {rotary(f, false)}, f.noMask, options);
       }},
      {"rse",
       [](ProgramBuilder &f) {
         int decay = f.parameter("decay", {H}, 0.01, 0.1);
         int bias = f.bias("pe.linear", {f.coordinate("pe.relative"), decay}, minusOne);
         f.attention({bias}, {rotary(f, false)}, causal(f), stickBreaking());
       }},
      {"two_attentions",
       [](ProgramBuilder &f) {
         int bias = kerpleLog(f), mask = causal(f);
         Options first, second;
         first.name = "";
         first.q = f.attention({bias}, {}, mask, first);
         second.q = first.q;
         second.lseName = "lse";
         f.attention({bias, learnedSlopes(f)}, {}, mask, second);
       }},
  };
}

} // namespace

std::vector<Encoding> allEncodings(int64_t layerWidth) {
  std::vector<Encoding> encodings;
  for (auto &list : {additiveEncodings(), mlpEncodings(layerWidth), rotaryEncodings(),
                     moreRotaryEncodings(), otherEncodings()})
    for (const Entry &entry : list) {
      ProgramBuilder builder;
      entry.write(builder);
      encodings.push_back({entry.name, builder.finish(), builder.parameters()});
    }
  return encodings;
}

Encoding encodingNamed(const std::string &name, int64_t layerWidth) {
  for (Encoding &encoding : allEncodings(layerWidth))
    if (encoding.name == name)
      return std::move(encoding);
  std::fprintf(stderr, "no encoding '%s'\n", name.c_str());
  std::exit(1);
}

TensorMap randomInputs(const Encoding &encoding, const CallShape &shape, uint64_t seed, DType dtype,
                       double logits) {
  TensorMap inputs;
  auto normal = [&](const std::string &name, Shape dims, double deviation) {
    inputs[name] = Tensor::zeros(dtype, std::move(dims));
    Random(seed, name).fillNormal(inputs[name], 0.0, deviation);
  };
  double size = std::sqrt(logits);
  normal("q", {shape.batch, shape.queryHeads, shape.queries, shape.headDim}, size);
  normal("k", {shape.batch, shape.keyHeads, shape.keys, shape.headDim}, size);
  normal("v", {shape.batch, shape.keyHeads, shape.keys, shape.valueDim}, 1.0);
  for (const ProgramBuilder::Parameter &parameter : encoding.parameters) {
    Shape dims = parameter.dims;
    for (int64_t &dim : dims)
      dim = dim == H ? shape.queryHeads : dim;
    Tensor tensor = Tensor::zeros(dtype, dims);
    Random(seed, parameter.name).fillUniform(tensor, parameter.low, parameter.high);
    inputs[parameter.name] = tensor;
  }
  for (const reference::Return &result : encoding.program.returns) {
    Shape dims = {shape.batch, shape.queryHeads, shape.queries};
    if (encoding.program.typeOf(result.id) == "tensor<?x?x?x?xf32>")
      dims.push_back(shape.valueDim);
    normal("d_" + result.name, dims, 1.0);
  }
  return inputs;
}

} // namespace pe::test
