//===- Composition.cpp - Composition of attention features ----------------===//

#include "conformance/Composition.h"

#include <algorithm>
#include <set>

namespace pe::conformance {
namespace {

constexpr Feature kFeatures[] = {
    {"mask: a range of i - j", Slot::Mask, "%band", "",
     "  %band = pe.sliding_window {left = 40, right = 40}\n"},
    {"mask: an interval of keys", Slot::Mask, "%padding",
     ", %n: tensor<?xi32> {pe.name = \"n\", pe.axes = [\"batch\"], pe.init = \"integers(50,68)\"}",
     "  %padding = pe.mask_fn(%n : tensor<?xi32>) expr \"j < n[b]\"\n"},
    {"mask: code with states of blocks", Slot::Mask, "%same",
     ", %qd: tensor<?x?xi32> {pe.name = \"qd\", pe.axes = [\"batch\", \"query\"], "
     "pe.init = \"integers(0,2)\"}, %kd: tensor<?x?xi32> {pe.name = \"kd\", "
     "pe.axes = [\"batch\", \"key\"], pe.init = \"integers(0,2)\"}",
     "  %same = pe.mask_fn(%qd, %kd : tensor<?x?xi32>, tensor<?x?xi32>)\n"
     "      expr \"qd[b, i] == kd[b, j]\"\n"},
    {"mask_or", Slot::Mask, "%either", "",
     "  %near = pe.sliding_window {left = 9, right = 9}\n"
     "  %third = pe.mask_fn expr \"(i + j) % 3 == 0\"\n"
     "  %either = pe.mask_or %near, %third\n"},
    {"window per head", Slot::Mask, "%reach",
     ", %width: tensor<?xi32> {pe.name = \"width\", pe.init = \"integers(1,70)\"}",
     "  %reach = pe.mask_fn(%width : tensor<?xi32>) expr \"abs(i - j) < width[h]\"\n"},
    {"documents", Slot::Mask, "%documents",
     ", %cu: tensor<?xi32> {pe.name = \"cu\", pe.axes = [\"boundaries\"]}",
     "  %documents = pe.documents %cu : tensor<?xi32>\n"},
    {"documents, restart", Slot::Mask, "%restarts",
     ", %begins: tensor<?xi32> {pe.name = \"begins\", pe.axes = [\"beginnings\"]}",
     "  %restarts = pe.documents %begins : tensor<?xi32> {restart = true}\n"},
    {"positions", Slot::Positions, "%q_pos, %k_pos : tensor<?x?xi32>, tensor<?x?xi32>",
     ", %q_pos: tensor<?x?xi32> {pe.name = \"q_pos\", pe.init = \"integers(20,90)\"}, "
     "%k_pos: tensor<?x?xi32> {pe.name = \"k_pos\", pe.init = \"integers(0,70)\"}"},
    {"rotation", Slot::Rotation, "%rotary", "", "  %rotary = pe.rotary\n"},
    {"rotation table", Slot::Rotation, "%turns",
     ", %cos: tensor<?x?xf32> {pe.name = \"cos\"}, %sin: tensor<?x?xf32> {pe.name = \"sin\"}",
     "  %turns = pe.rotation_table %cos, %sin : tensor<?x?xf32>, tensor<?x?xf32>\n"},
    {"rotation formula", Slot::Rotation, "%formula",
     ", %stretch: tensor<?xf32> {pe.name = \"stretch\", pe.init = \"uniform(1,2)\"}",
     "  %formula = pe.rotation_fn(%stretch : tensor<?xf32>)\n"
     "      expr \"select(p < n - 1, 100 ^ (-p / n) / stretch[p], 0)\"\n"},
    {"rotation by axes", Slot::Rotation, "%axes",
     ", %qp: tensor<3x?x?xi32> {pe.name = \"qp\", pe.init = \"integers(0,90)\"}, "
     "%kp: tensor<3x?x?xi32> {pe.name = \"kp\", pe.init = \"integers(0,90)\"}",
     "  %axes = pe.rotary positions(%qp, %kp : tensor<3x?x?xi32>, tensor<3x?x?xi32>)\n"
     "      {sections = [3, 2, 3], sections_of = 8}\n"},
    {"rotated values", Slot::ValueRotation, "%turned", "",
     "  %turned = pe.rotary {base = 100.0}\n"},
    {"query shift", Slot::Prologue, "%shift",
     ", %u: tensor<?x?xf32> {pe.name = \"u\", pe.axes = [\"head\", \"depth\"], "
     "pe.init = \"normal(0.3)\"}",
     "  %shift = pe.query_shift %u : tensor<?x?xf32>\n"},
    {"content, near", Slot::Content, "%vectors",
     ", %rel: tensor<9x?xf32> {pe.name = \"rel\", pe.axes = [\"offset\", \"depth\"], "
     "pe.init = \"normal(0.3)\"}",
     "  %vectors = pe.content_fn(%rel : tensor<9x?xf32>) expr \"rel[clamp(i - j, -4, 4) + 4, "
     "d]\"\n"},
    {"content, angles", Slot::Content, "%waves", "",
     "  %waves = pe.content_fn expr \"let w = 1 / (1 + d // 2) in "
     "select(d % 2 == 0, sin((i - j) * w), cos((i - j) * w))\"\n"},
    {"content, panel", Slot::Content, "%vector_per_distance",
     ", %er: tensor<400x?xf32> {pe.name = \"er\", pe.axes = [\"offset\", \"depth\"], "
     "pe.init = \"normal(0.3)\"}",
     "  %vector_per_distance = pe.content_fn(%er : tensor<400x?xf32>)\n"
     "      expr \"er[clamp(i - j, -199, 199) + 200, d]\"\n"},
    {"content, given queries", Slot::Content, "%profile",
     ", %own: tensor<?x?x?x16xf32> {pe.name = \"own\", pe.axes = [\"batch\", \"head\", \"query\", "
     "\"rank\"]}, %p: tensor<16x30xf32> {pe.name = \"p\", pe.axes = [\"rank\", \"offset\"], "
     "pe.init = \"normal(0.3)\"}",
     "  %profile_factor = pe.factor_fn expr \"1 + 0.1 * log(max(1, (i + 1) / 8))\"\n"
     "  %profile = pe.content_fn(%p : tensor<16x30xf32>) times(%profile_factor) extent(30)\n"
     "      expr \"p[d, abs(i - j)]\"\n",
     "", "%own : tensor<?x?x?x16xf32>"},
    {"value content", Slot::ValueContent, "%moved",
     ", %rel_v: tensor<9x?xf32> {pe.name = \"rel_v\", pe.axes = [\"offset\", \"value_depth\"], "
     "pe.init = \"normal(0.3)\"}",
     "  %moved = pe.content_fn(%rel_v : tensor<9x?xf32>)\n"
     "      expr \"rel_v[clamp(i - j, -4, 4) + 4, d]\"\n"},
    {"score function", Slot::Score, "%cap", "",
     "  %cap = pe.score_fn expr \"10 * tanh(s / 10)\"\n"},
    {"factor of the score", Slot::Score, "%longer",
     ", %gain: tensor<?xf32> {pe.name = \"gain\", pe.init = 1.0}",
     "  %longer = pe.score_fn(%gain : tensor<?xf32>) expr \"s * log(2 + i) * gain[h]\"\n"},
    {"sink", Slot::Sink, "%sink : tensor<?xf32>",
     ", %sink: tensor<?xf32> {pe.name = \"sink\", pe.init = 0.0}"},
    {"factor", Slot::Factor, "%fade",
     ", %rate: tensor<?xf32> {pe.name = \"rate\", pe.init = \"uniform(0.01,0.1)\"}",
     "  %fade = pe.factor_fn(%rate : tensor<?xf32>) expr \"exp(-(rate[h] * abs(i - j)))\"\n"},
    {"factor of a row", Slot::Factor, "%gated",
     ", %gate: tensor<?x?x?xf32> {pe.name = \"gate\", pe.axes = [\"batch\", \"head\", \"query\"]}",
     "  %gated = pe.factor_fn(%gate : tensor<?x?x?xf32>) expr \"sigmoid(gate[b, h, i])\"\n"},
    {"dropout", Slot::Dropout, "0.25, %seed : tensor<i64>",
     ", %seed: tensor<i64> {pe.name = \"seed\"}"},
    {"bias: a row", Slot::Bias, "%rows",
     ", %row: tensor<?x?xf32> {pe.name = \"row\", pe.axes = [\"batch\", \"query\"]}",
     "  %rows = pe.bias_fn(%row : tensor<?x?xf32>) expr \"0.5 * row[b, i]\"\n"},
    {"bias: a column", Slot::Bias, "%columns",
     ", %column: tensor<?x?xf32> {pe.name = \"column\", pe.axes = [\"batch\", \"key\"]}",
     "  %columns = pe.bias_fn(%column : tensor<?x?xf32>) expr \"0.5 * column[b, j]\"\n"},
    {"bias: a row and a column", Slot::Bias, "%lines",
     ", %f: tensor<?x?x?xf32> {pe.name = \"f\", pe.axes = [\"batch\", \"head\", \"key\"]}, "
     "%f_q: tensor<?x?x?xf32> {pe.name = \"f_q\", pe.axes = [\"batch\", \"head\", \"query\"], "
     "pe.absent = \"f\"}",
     "  %lines = pe.bias_fn(%f, %f_q : tensor<?x?x?xf32>, tensor<?x?x?xf32>)\n"
     "      expr \"f_q[b, h, i] - f[b, h, j]\"\n"},
    {"bias: a multiple of i - j", Slot::Bias, "%line",
     ", %slope: tensor<?xf32> {pe.name = \"slope\", pe.init = 0.02}",
     "  %apart = pe.relative\n"
     "  %line = pe.linear %apart slope(%slope : tensor<?xf32>) {factor = -1.0}\n"},
    {"bias: a function of i - j", Slot::Bias, "%distances",
     ", %table: tensor<?x41xf32> {pe.name = \"table\", pe.init = \"normal(0.5)\"}",
     "  %distances = pe.bias_fn(%table : tensor<?x41xf32>)\n"
     "      expr \"table[h, clamp(i - j, -20, 20) + 20]\"\n"},
    {"bias: segments", Slot::Bias, "%fire",
     ", %c: tensor<f32> {pe.name = \"c\", pe.init = 0.1}, "
     "%w1: tensor<4xf32> {pe.name = \"w1\", pe.init = \"linear\"}, "
     "%b1: tensor<4xf32> {pe.name = \"b1\", pe.init = \"linear\"}, "
     "%w2: tensor<?x4xf32> {pe.name = \"w2\", pe.init = \"linear\"}, "
     "%b2: tensor<?xf32> {pe.name = \"b2\", pe.init = \"linear(4)\"}",
     "  %t = pe.progressive c(%c : tensor<f32>)\n"
     "  %fire = pe.mlp %t layers(%w1, %b1, %w2, %b2\n"
     "      : tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<?xf32>)\n"},
    {"bias: per pair", Slot::Bias, "%pairs",
     ", %amp: tensor<?xf32> {pe.name = \"amp\", pe.init = 1.0}",
     "  %pairs = pe.bias_fn(%amp : tensor<?xf32>) expr \"amp[h] * sin(0.01 * i * j)\"\n"},
    {"stick-breaking", Slot::Attribute, "normalizer = #pe.normalizer<stick_breaking>"},
    {"attend_current", Slot::Attribute, "attend_current", "", "", "stick-breaking"},
    {"remainder = value", Slot::Attribute, "remainder = #pe.remainder<value>", "", "",
     "stick-breaking"},
    {"direction = both", Slot::Attribute, "direction = #pe.direction<both>", "", "",
     "stick-breaking"},
    {"sigmoid", Slot::Attribute, "normalizer = #pe.normalizer<sigmoid>"},
    {"softpick", Slot::Attribute, "normalizer = #pe.normalizer<softpick>"},
    {"log-sum-exp", Slot::Result},
    {"merge of shards", Slot::Merge, "", "", "", "log-sum-exp"},
};

constexpr Refusal kRefusals[] = {
    {"sink", "stick-breaking", "sink-C1",
     "stick-breaking has no denominator to which a sink could be added"},
    {"sink", "sigmoid", "sink-C1", "sigmoid has no denominator to which a sink could be added"},
    {"sink", "softpick", "sink-C1", "only keys join the denominator of softpick"},
    {"stick-breaking", "sigmoid", "duplicate key 'normalizer'", "an attention has one normalizer"},
    {"stick-breaking", "softpick", "duplicate key 'normalizer'", "an attention has one normalizer"},
    {"sigmoid", "softpick", "duplicate key 'normalizer'", "an attention has one normalizer"},
    {"log-sum-exp", "sigmoid", "normalizer-C1", "sigmoid and softpick have no statistic of a row"},
    {"log-sum-exp", "softpick", "normalizer-C1", "sigmoid and softpick have no statistic of a row"},
    {"positions", "stick-breaking", "positions-C2", "stick-breaking processes keys in row order"},
    {"positions", "query shift", "positions-C3",
     "a prologue is precomputed per row and can read the row's position"},
    {"positions", "content, near", "positions-C3",
     "near terms assume one key per distance, but explicit positions can repeat"},
    {"positions", "content, angles", "positions-C3", "queries are rotated by row index"},
    {"positions", "content, panel", "positions-C3",
     "panels assume distances that follow from rows and columns, but explicit positions are "
     "arbitrary"},
    {"positions", "content, given queries", "positions-C3",
     "panels assume distances that follow from rows and columns, but explicit positions are "
     "arbitrary"},
    {"content, near", "content, given queries", "query-C1",
     "the queries of all content terms are given, or of none"},
    {"content, angles", "content, given queries", "query-C1",
     "the queries of all content terms are given, or of none"},
    {"content, panel", "content, given queries", "query-C1",
     "the queries of all content terms are given, or of none"},
    {"direction = both", "content, given queries", "stick_breaking-C5",
     "a content term is precomputed before a single pass and accumulated after it"},
    {"direction = both", "content, panel", "stick_breaking-C5",
     "a content term is precomputed before a single pass and accumulated after it"},
    {"positions", "value content", "positions-C3",
     "near terms assume one key per distance, but explicit positions can repeat"},
    {"stick-breaking", "value content", "value_content-C1",
     "the vectors of a row are added after the division by its sum"},
    {"sigmoid", "value content", "value_content-C1",
     "the vectors of a row are added after the division by its sum"},
    {"softpick", "value content", "value_content-C1",
     "the vectors of a row are added after the division by its sum"},
    {"factor", "value content", "dataflow-C23",
     "the stream stores logarithms of near weights, which cannot represent a sign"},
    {"factor of a row", "value content", "dataflow-C23",
     "the check precedes the analysis that finds factors of rows"},
    {"positions", "documents, restart", "documents-C3",
     "positions are either explicit or restart per document"},
    {"positions", "rotation table", "positions-C8",
     "rotation tables are indexed by the positions of rows"},
    {"documents, restart", "rotation table", "positions-C8",
     "rotation tables are indexed by the positions of rows"},
    {"documents, restart", "query shift", "documents-C4",
     "a prologue is precomputed per row and can read the row's position"},
    {"direction = both", "log-sum-exp", "stick_breaking-C2", "each side has its own mass"},
    {"direction = both", "content, near", "stick_breaking-C5",
     "a content term is precomputed before a single pass and accumulated after it"},
    {"direction = both", "content, angles", "stick_breaking-C5",
     "a content term is precomputed before a single pass and accumulated after it"},
    {"remainder = value", "merge of shards", "stick_breaking-C6",
     "only one shard contains the value at a query's own position", /*isOfCall=*/true},
    {"rotation", "rotation table", "clause-C3", "an attention has one rotation"},
    {"rotation", "rotation formula", "clause-C3", "an attention has one rotation"},
    {"rotation table", "rotation formula", "clause-C3", "an attention has one rotation"},
    {"rotation", "rotation by axes", "clause-C3", "an attention has one rotation"},
    {"rotation table", "rotation by axes", "clause-C3", "an attention has one rotation"},
    {"rotation formula", "rotation by axes", "clause-C3", "an attention has one rotation"},
    {"rotated values", "value content", "rotate_values-C1",
     "the rotation of the output would turn the vectors of the distance"},
    {"score function", "factor of the score", "clause-C3",
     "an attention has one score function; combine both in one formula"},
};

std::string join(const Composition &chosen, Slot slot, std::string_view separator) {
  std::string text;
  for (size_t n : chosen)
    if (kFeatures[n].slot == slot)
      text += (text.empty() ? "" : std::string(separator)) + std::string(kFeatures[n].operand);
  return text;
}

/// Joins the masks and stores the name of the result in `whole`. Adds a causal mask unless the
/// program attends to both sides.
std::string maskCode(const Composition &chosen, std::string &whole) {
  std::string code;
  if (!has(chosen, "direction = both")) {
    code += "  %causal = pe.causal\n";
    whole = "%causal";
  }
  int number = 0;
  for (size_t n : chosen) {
    if (kFeatures[n].slot != Slot::Mask)
      continue;
    const std::string mask(kFeatures[n].operand);
    if (whole.empty()) {
      whole = mask;
      continue;
    }
    const std::string both = "%masks" + std::to_string(number++);
    code += "  " + both + " = pe.mask_and " + whole + ", " + mask + "\n";
    whole = both;
  }
  return code;
}

/// Prints every clause, in the order that the parser requires.
std::string clausesOf(const Composition &chosen, const std::string &mask, bool withSink) {
  std::string text;
  auto list = [&](std::string_view word, Slot slot) {
    if (const std::string operands = join(chosen, slot, ", "); !operands.empty())
      text += " " + std::string(word) + "(" + operands + ")";
  };
  auto each = [&](std::string_view word, Slot slot) {
    for (size_t n : chosen)
      if (kFeatures[n].slot == slot)
        text += " " + std::string(word) + "(" + std::string(kFeatures[n].operand) + ")";
  };
  list("bias", Slot::Bias);
  list("prologue", Slot::Prologue);
  each("rotate", Slot::Rotation);
  each("rotate_values", Slot::ValueRotation);
  list("content", Slot::Content);
  for (size_t n : chosen)
    if (!kFeatures[n].query.empty())
      text += " query(" + std::string(kFeatures[n].query) + ")";
  each("value_content", Slot::ValueContent);
  each("score", Slot::Score);
  if (withSink)
    each("sink", Slot::Sink);
  list("factor", Slot::Factor);
  each("dropout", Slot::Dropout);
  each("positions", Slot::Positions);
  return mask.empty() ? text : text + " mask(" + mask + ")";
}

} // namespace

std::span<const Feature> features() { return kFeatures; }

size_t featureNamed(std::string_view name) {
  return std::ranges::find(kFeatures, name, &Feature::name) - std::begin(kFeatures);
}

bool has(const Composition &chosen, std::string_view feature) {
  return std::ranges::binary_search(chosen, featureNamed(feature));
}

Composition closureOf(Composition chosen) {
  for (size_t k = 0; k < chosen.size(); ++k)
    if (std::string_view implied = kFeatures[chosen[k]].implied; !implied.empty())
      if (size_t other = featureNamed(implied); std::ranges::find(chosen, other) == chosen.end())
        chosen.push_back(other);
  std::ranges::sort(chosen);
  return chosen;
}

const Refusal *refusalOf(size_t first, size_t second) {
  const Composition left = closureOf({first}), right = closureOf({second});
  for (const Refusal &refusal : kRefusals) {
    auto isBetween = [&](const Composition &a, const Composition &b) {
      return has(a, refusal.first) && has(b, refusal.second);
    };
    if (isBetween(left, right) || isBetween(right, left))
      return &refusal;
  }
  return nullptr;
}

std::vector<Composition> compositions() {
  constexpr size_t kMost = 9; // features per program; more are slow to compile
  const size_t count = std::size(kFeatures);
  std::set<std::pair<size_t, size_t>> missing;
  for (size_t a = 0; a < count; ++a)
    for (size_t b = a + 1; b < count; ++b)
      if (!refusalOf(a, b))
        missing.insert({a, b});
  std::vector<Composition> programs;
  while (!missing.empty()) {
    Composition chosen = closureOf({missing.begin()->first, missing.begin()->second});
    auto gainOf = [&](size_t candidate) {
      size_t gain = 0;
      if (std::ranges::find(chosen, candidate) != chosen.end())
        return gain;
      for (size_t added : closureOf({candidate}))
        for (size_t n : chosen) {
          if (refusalOf(n, added))
            return size_t(0);
          gain += missing.contains(std::minmax(n, added));
        }
      return gain;
    };
    while (chosen.size() < kMost) {
      size_t best = 0, most = 0;
      for (size_t candidate = 0; candidate < count; ++candidate)
        if (size_t gain = gainOf(candidate); gain > most)
          best = candidate, most = gain;
      if (most == 0)
        break;
      chosen.push_back(best);
      chosen = closureOf(std::move(chosen));
    }
    for (size_t a : chosen)
      for (size_t b : chosen)
        missing.erase({a, b});
    programs.push_back(std::move(chosen));
  }
  return programs;
}

std::string programOf(const Composition &chosen, bool withSink) {
  std::string arguments, code, mask;
  for (size_t n : chosen) {
    const Feature &feature = kFeatures[n];
    if (feature.slot == Slot::Sink && !withSink)
      continue;
    arguments += feature.arguments;
    code += feature.code;
  }
  code += maskCode(chosen, mask);
  const bool hasLse = has(chosen, "log-sum-exp");
  const std::string attributes = join(chosen, Slot::Attribute, ", ");
  const std::string lse = hasLse ? ", tensor<?x?x?xf32>" : "";
  return "!t = tensor<?x?x?x?xf32>\nfunc.func @attention(%q: !t {pe.name = \"q\"}, %k: !t {pe.name "
         "= \"k\"}, %v: !t {pe.name = \"v\"}" +
         arguments + ")\n    -> (!t {pe.name = \"o\"}" +
         (hasLse ? ", tensor<?x?x?xf32> {pe.name = \"lse\"}" : "") + ") {\n" + code +
         (hasLse ? "  %o, %lse" : "  %o") + " = pe.attention %q, %k, %v" +
         clausesOf(chosen, mask, withSink) + (attributes.empty() ? "" : " {" + attributes + "}") +
         " : (!t, !t, !t) -> !t" + lse + "\n  return %o" + (hasLse ? ", %lse" : "") + " : !t" +
         lse + "\n}\n";
}

std::string mergeOf(const Composition &chosen) {
  const bool hasSink = has(chosen, "sink");
  const std::string sink(kFeatures[featureNamed("sink")].operand);
  return "!o = tensor<?x?x?x?xf32>\n!r = tensor<?x?x?xf32>\nfunc.func @merge(%o1: !o {pe.name = "
         "\"o1\"}, %l1: !r {pe.name = \"lse1\"}, %o2: !o {pe.name = \"o2\"}, %l2: !r {pe.name = "
         "\"lse2\"}" +
         (hasSink ? std::string(kFeatures[featureNamed("sink")].arguments) : "") +
         ")\n    -> (!o {pe.name = \"o\"}, !r {pe.name = \"lse\"}) {\n"
         "  %o, %lse = pe.merge %o1, %l1, %o2, %l2" +
         (hasSink ? " sink(" + sink + ")" : "") +
         (has(chosen, "stick-breaking") ? " {normalizer = #pe.normalizer<stick_breaking>}" : "") +
         " : (!o, !r, !o, !r) -> !o, !r\n  return %o, %lse : !o, !r\n}\n";
}

std::string compositionPage() {
  const size_t count = std::size(kFeatures);
  std::string page =
      "# Composition of features\n\n"
      "Two features of an attention either work together, in the results and in every "
      "gradient, or are rejected before any work\nby a message with a label of the "
      "[spec](spec.md). `conformance-composition-test` generates this page and checks "
      "every\ncell: `+` is compared with the float64 reference as loops, on the CPU and on the "
      "GPU emulator, and a letter is rejected\nby all of them. Each test program has up to "
      "nine features. The diagonal tests each feature by itself, in bf16.\n\nWith "
      "[pages](c-api.md#pages), forward, every feature has the bits of contiguous keys "
      "(`conformance-pages-test`), except for rotations\nwithout `rotated_keys`, rotated values, "
      "prologues and `remainder = value`, which pages refuse (pages-C3 to -C5, "
      "rotate_values-C2).\n\n";
  std::string head = "| | |", line = "|-|-|";
  for (size_t n = 1; n <= count; ++n) {
    head += std::to_string(n) + "|";
    line += "-|";
  }
  page += head + "\n" + line + "\n";
  std::vector<const Refusal *> named;
  for (size_t a = 0; a < count; ++a) {
    page += "| " + std::to_string(a + 1) + " | " + std::string(kFeatures[a].name) + " |";
    for (size_t b = 0; b <= a; ++b) {
      const Refusal *refusal = b < a ? refusalOf(a, b) : nullptr;
      if (!refusal) {
        page += "+|";
        continue;
      }
      auto same = std::ranges::find_if(named, [&](const Refusal *other) {
        return other->label == refusal->label && other->reason == refusal->reason;
      });
      const auto letter = static_cast<char>('a' + (same - named.begin()));
      if (same == named.end())
        named.push_back(refusal);
      page += std::string(1, letter) + "|";
    }
    page += "\n";
  }
  page += "\n| | label | reason |\n|---|---|---|\n";
  for (size_t n = 0; n < named.size(); ++n)
    page += std::string("| ") + static_cast<char>('a' + n) + " | " + std::string(named[n]->label) +
            " | " + std::string(named[n]->reason) + " |\n";
  return page;
}

} // namespace pe::conformance
