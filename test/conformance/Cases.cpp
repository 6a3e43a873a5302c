//===- Cases.cpp - Case table of the conformance suite --------------------===//

#include "conformance/Cases.h"

#include <algorithm>
#include <iterator>

namespace pe::conformance {

static const EncodingFile kEncodings[] = {
    {"nope", "examples/encodings/nope.mlir"},
    {"log_sum_exp", "examples/encodings/log_sum_exp.mlir"},
    {"alibi", "examples/encodings/alibi.mlir"},
    {"alibi_learned", "examples/encodings/alibi_learned.mlir"},
    {"alibi_bidirectional", "examples/encodings/alibi_bidirectional.mlir"},
    {"rope", "examples/encodings/rope.mlir"},
    {"rope_interleaved", "examples/encodings/rope_interleaved.mlir"},
    {"rope_bidirectional", "examples/encodings/rope_bidirectional.mlir"},
    {"rope_pi", "examples/encodings/rope_pi.mlir"},
    {"rope_ntk", "examples/encodings/rope_ntk.mlir"},
    {"rope_dynamic_ntk", "examples/encodings/rope_dynamic_ntk.mlir"},
    {"rope_yarn", "examples/encodings/rope_yarn.mlir"},
    {"rope_llama3", "examples/encodings/rope_llama3.mlir"},
    {"rope_longrope", "examples/encodings/rope_longrope.mlir"},
    {"rope_proportional", "examples/encodings/rope_proportional.mlir"},
    {"rope_partial", "examples/encodings/rope_partial.mlir"},
    {"rope_values", "examples/encodings/rope_values.mlir"},
    {.name = "mrope", .path = "examples/encodings/mrope.mlir", .placing = Placing::Square},
    {.name = "mrope_interleaved",
     .path = "examples/encodings/mrope_interleaved.mlir",
     .placing = Placing::Square},
    {.name = "rope_2d", .path = "examples/encodings/rope_2d.mlir", .placing = Placing::Square},
    {"rope_table", "examples/encodings/rope_table.mlir"},
    {.name = "rope_per_head", .path = "examples/encodings/rope_per_head.mlir", .isUngrouped = true},
    {.name = "rope_formula", .path = "examples/encodings/rope_formula.mlir", .isUngrouped = true},
    {"t5", "examples/encodings/t5.mlir"},
    {"t5_bidirectional", "examples/encodings/t5_bidirectional.mlir"},
    {"kerple_log", "examples/encodings/kerple_log.mlir"},
    {"kerple_power", "examples/encodings/kerple_power.mlir"},
    {"sandwich", "examples/encodings/sandwich.mlir"},
    {"fire", "examples/encodings/fire.mlir"},
    {"fire_2x32", "examples/encodings/fire_2x32.mlir"},
    {"fire_bidirectional", "examples/encodings/fire_bidirectional.mlir"},
    {"fire_no_threshold", "examples/encodings/fire_no_threshold.mlir"},
    {"fire_no_log", "examples/encodings/fire_no_log.mlir"},
    {"fire_linear", "examples/encodings/fire_linear.mlir"},
    {"fire_final_activation", "examples/encodings/fire_final_activation.mlir"},
    {"fire_gelu", "examples/encodings/fire_gelu.mlir"},
    {"fire_tanh", "examples/encodings/fire_tanh.mlir"},
    {"fire_fixed_threshold", "examples/encodings/fire_fixed_threshold.mlir"},
    {"fire_shared", "examples/encodings/fire_shared.mlir"},
    {"fire_clamped", "examples/encodings/fire_clamped.mlir"},
    {"stick_breaking", "examples/encodings/stick_breaking.mlir"},
    {"rse", "examples/encodings/rse.mlir"},
    {"rse_scaled", "examples/encodings/rse_scaled.mlir"},
    {"sliding_window", "examples/encodings/sliding_window.mlir"},
    {"prefix_lm", "examples/encodings/prefix_lm.mlir"},
    {"relative_table", "examples/encodings/relative_table.mlir"},
    {"custom_bias", "examples/encodings/custom_bias.mlir"},
    {"key_bias", "examples/encodings/key_bias.mlir"},
    {"forgetting", "examples/encodings/forgetting.mlir"},
    {"softcap", "examples/encodings/softcap.mlir"},
    {"score_fn", "examples/encodings/score_fn.mlir"},
    {"sigmoid", "examples/encodings/sigmoid.mlir"},
    {"softpick", "examples/encodings/softpick.mlir"},
    {"shaw", "examples/encodings/shaw.mlir"},
    {"shaw_values", "examples/encodings/shaw_values.mlir"},
    {.name = "music_transformer",
     .path = "examples/encodings/music_transformer.mlir",
     .isTable = true},
    {"transformer_xl", "examples/encodings/transformer_xl.mlir"},
    {"transformer_xl_projected", "examples/encodings/transformer_xl_projected.mlir"},
    {"inkling", "examples/encodings/inkling.mlir"},
    {"inkling_global", "examples/encodings/inkling_global.mlir"},
    {"inkling_window", "examples/encodings/inkling_window.mlir"},
    {"inkling2", "examples/encodings/inkling2.mlir"},
    {"contents", "test/conformance/encodings/contents.mlir"},
    {"content_queries", "test/conformance/encodings/content_queries.mlir"},
    {"own_elements", "test/conformance/encodings/own_elements.mlir"},
    {.name = "panels", .path = "test/conformance/encodings/panels.mlir", .isEarlyOnly = true},
    {"value_contents", "test/conformance/encodings/value_contents.mlir"},
    {"axes", "test/conformance/encodings/axes.mlir"},
    {.name = "row_and_column",
     .path = "test/conformance/encodings/row_and_column.mlir",
     .isEarlyOnly = true},
    {.name = "two_biases",
     .path = "test/conformance/encodings/two_biases.mlir",
     .isEarlyOnly = true},
    {"score_factor", "test/conformance/encodings/score_factor.mlir"},
    {"factors", "test/conformance/encodings/factors.mlir"},
    {"document_mask", "examples/encodings/document_mask.mlir"},
    {"key_padding", "examples/encodings/key_padding.mlir"},
    {"custom_mask", "examples/encodings/custom_mask.mlir"},
    {"sink_window", "examples/encodings/sink_window.mlir"},
    {"neighbourhood_2d", "examples/encodings/neighbourhood_2d.mlir"},
    {.name = "prefix_window",
     .path = "test/conformance/encodings/prefix_window.mlir",
     .isEarlyOnly = true},
    {.name = "mask_code", .path = "test/conformance/encodings/mask_code.mlir", .isEarlyOnly = true},
    {"window_per_head", "test/conformance/encodings/window_per_head.mlir"},
    {"mask_code_mass", "test/conformance/encodings/mask_code_mass.mlir"},
    {"cosines_of_log", "test/conformance/encodings/cosines_of_log.mlir"},
    {"formulas", "test/conformance/encodings/formulas.mlir"},
    {"data_in_pairs", "test/conformance/encodings/data_in_pairs.mlir"},
    {"rope_scaled_short", "test/conformance/encodings/rope_scaled_short.mlir"},
    {.name = "rope_per_head_llama3",
     .path = "test/conformance/encodings/rope_per_head_llama3.mlir",
     .isUngrouped = true},
    {"rope_rotated_keys", "test/conformance/encodings/rope_rotated_keys.mlir"},
    {"rope_long_short", "test/conformance/encodings/rope_long_short.mlir"},
    {"rope_trailing", "test/conformance/encodings/rope_trailing.mlir"},
    {"rope_axes", "test/conformance/encodings/rope_axes.mlir"},
    {"rope_values_axes", "test/conformance/encodings/rope_values_axes.mlir"},
    {"rse_values", "test/conformance/encodings/rse_values.mlir"},
    {"rotation_factors", "test/conformance/encodings/rotation_factors.mlir"},
    {.name = "rotation_matrix",
     .path = "test/conformance/encodings/rotation_matrix.mlir",
     .isUngrouped = true},
    {"rotation_tables_per_batch", "test/conformance/encodings/rotation_tables_per_batch.mlir"},
    {"remainder", "test/conformance/encodings/remainder.mlir"},
    {"attention_sink", "examples/encodings/attention_sink.mlir"},
    {"dropout", "examples/encodings/dropout.mlir"},
    {"sink_and_terms", "test/conformance/encodings/sink_and_terms.mlir"},
    {"dropout_stick_breaking", "test/conformance/encodings/dropout_stick_breaking.mlir"},
    {"many_pieces", "test/conformance/encodings/many_pieces.mlir"},
    {.name = "sinusoidal", .path = "examples/encodings/sinusoidal.mlir", .isEmbedding = true},
    {.name = "learned",
     .path = "examples/encodings/learned.mlir",
     .isEmbedding = true,
     .isTable = true},
    {.name = "algebraic",
     .path = "examples/encodings/algebraic.mlir",
     .isEmbedding = true,
     .isTable = true},
    {.name = "algebraic_normalized",
     .path = "examples/encodings/algebraic_normalized.mlir",
     .isEmbedding = true},
    {.name = "binary", .path = "examples/encodings/binary.mlir", .isEmbedding = true},
    {.name = "mixture",
     .path = "examples/encodings/mixture.mlir",
     .isEmbedding = true,
     .isTable = true},
    {.name = "embeddings",
     .path = "test/conformance/encodings/embeddings.mlir",
     .isEmbedding = true,
     .isTable = true},
    {.name = "embeddings_of_call",
     .path = "test/conformance/encodings/embeddings_of_call.mlir",
     .isEmbedding = true},
    {.name = "embeddings_tables",
     .path = "test/conformance/encodings/embeddings_tables.mlir",
     .isEmbedding = true,
     .isTable = true},
    {.name = "embeddings_dropout",
     .path = "test/conformance/encodings/embeddings_dropout.mlir",
     .isEmbedding = true,
     .isTable = true},
    {.name = "packed_documents",
     .path = "examples/encodings/packed_documents.mlir",
     .isPlaced = true},
    {.name = "explicit_positions",
     .path = "examples/encodings/explicit_positions.mlir",
     .isPlaced = true},
    {.name = "weights_of_positions",
     .path = "test/conformance/encodings/weights_of_positions.mlir",
     .isPlaced = true},
    {"mass_left", "test/conformance/encodings/mass_left.mlir"},
    {"stick_breaking_attend_current", "examples/encodings/stick_breaking_attend_current.mlir"},
    {.name = "stick_breaking_remainder",
     .path = "examples/encodings/stick_breaking_remainder.mlir",
     .placing = Placing::OwnKeys},
    {"stick_breaking_mass", "examples/encodings/stick_breaking_mass.mlir"},
    {.name = "remainder_and_masks",
     .path = "test/conformance/encodings/remainder_and_masks.mlir",
     .placing = Placing::OwnKeys},
    {"stick_breaking_both", "examples/encodings/stick_breaking_both.mlir"},
    {"rse_bidirectional", "examples/encodings/rse_bidirectional.mlir"},
    {.name = "sides_and_terms",
     .path = "test/conformance/encodings/sides_and_terms.mlir",
     .placing = Placing::OwnKeys},
    {"cross_attention", "examples/encodings/cross_attention.mlir"},
    {.name = "merge", .path = "examples/encodings/merge.mlir", .placing = Placing::None},
    {.name = "merge_sink",
     .path = "test/conformance/encodings/merge_sink.mlir",
     .placing = Placing::None},
    {.name = "merge_stick_breaking",
     .path = "examples/encodings/merge_stick_breaking.mlir",
     .placing = Placing::None},
};

static Positions shard(int64_t queryStart, int64_t keyStart, int64_t headStart,
                       int64_t headsTotal) {
  Positions positions;
  positions.queryStart = queryStart;
  positions.keyStart = keyStart;
  positions.headStart = headStart;
  positions.headsTotal = headsTotal;
  return positions;
}

static Positions queriesAt(int64_t queryStart) {
  Positions positions;
  positions.queryStart = queryStart;
  return positions;
}

/// The head dim of every encoding on every device.
constexpr int64_t kFirstDim = 16;

static const Call kCalls[] = {
    // name, B, Hq, Hkv, Sq, Sk, D, Dv
    {"single_pair", 1, 1, 1, 1, 1, 16, 24},
    {"single_query", 2, 3, 1, 1, 37, 64, 64},
    {"odd_heads", 2, 3, 3, 37, 37, 16, 24},
    {"more_keys", 1, 4, 2, 37, 200, 64, 64},
    {"more_queries", 1, 3, 3, 200, 37, 64, 64},
    {"square", 2, 2, 2, 200, 200, 64, 64},
    {"grouped", 1, 6, 2, 200, 200, 8, 16},
    {"shard", 1, 4, 2, 50, 120, 16, 24, shard(300, 211, 2, 8)},
    {"far_keys", 1, 2, 2, 40, 70, 16, 24, shard(500, 100, 0, 2)},
    {"masked_rows", 1, 2, 2, 37, 37, 16, 24, queriesAt(-1000)},
    {"partly_masked_rows", 1, 2, 2, 37, 37, 16, 24, queriesAt(-20)},
    {"no_keys", 1, 2, 2, 37, 0, 16, 24},
    {"no_queries", 1, 2, 2, 0, 37, 16, 24},
    {"no_batch", 0, 2, 2, 37, 37, 16, 24},
    {"far", 1, 2, 1, 37, 70, 16, 24, queriesAt(100000), 1.0, false, true},
    {"late", 1, 2, 2, 40, 70, 16, 24, shard(1000000, 999965, 0, 2), 1.0, false, false, true},
    {"hot", 1, 3, 3, 200, 200, 64, 64, {}, 1e4},
    {"hot_shard", 1, 2, 1, 37, 200, 16, 24, shard(400, 300, 0, 2), 1e4},
    {"long", 1, 2, 1, 1000, 1000, 64, 64, {}, 1.0, true},
    {"long_uneven", 1, 3, 1, 777, 1000, 40, 72, {}, 1.0, true},
    // The CPU's backward pass splits these rows into two or three parts (cpu_schedule, part_rows).
    {"two_parts", 1, 1, 1, 1024, 130, 16, 24, {}, 1.0, true},
    {"three_parts", 1, 1, 1, 1025, 300, 16, 24, queriesAt(75), 1.0, true},
    {"parts_grouped", 1, 6, 2, 400, 300, 16, 24, {}, 1.0, true},
    {"parts_shard", 1, 2, 1, 700, 250, 16, 24, shard(300, 211, 2, 8), 1.0, true},
    {"deep", 1, 2, 1, 70, 130, 128, 128, shard(60, 0, 0, 2), 1.0, true},
    // The second form of forward halves, for few rows: one split of the keys, and several.
    {"few_rows", 1, 6, 2, 8, 130, 8, 16, shard(200, 90, 2, 8)},
    {"few_rows_early", 1, 2, 1, 7, 40, 16, 24, queriesAt(-3)},
    {"one_row_splits", 2, 4, 2, 1, 1100, 64, 64, {}, 1.0, false, false, true},
    {"few_rows_splits", 1, 3, 3, 5, 570, 16, 24, shard(612, 40, 2, 8)},
};

/// Returns a call with B, S and Dm of the tokens.
static Call tokens(std::string_view name, int64_t batch, int64_t length, int64_t width,
                   int64_t start = 0, bool isLong = false) {
  return {name, batch, 1, 1, length, length, width, width, queriesAt(start), 1.0, isLong};
}

// Widths are even because some embeddings require it.
static const Call kEmbeddingCalls[] = {
    tokens("one_token", 1, 1, 8),
    tokens("two_dims", 3, 37, 2),
    tokens("tokens", 2, 37, 64),
    tokens("uneven_width", 3, 200, 70, 5),
    tokens("tokens_shard", 2, 100, 40, 129),
    tokens("no_tokens", 2, 0, 16),
    tokens("no_batch_of_tokens", 0, 37, 16),
    tokens("wide_tokens", 1, 200, 512, 0, true),
    tokens("many_tokens", 2, 1000, 100, 3, true),
    // Not run with tables over positions, which would have a row per position.
    tokens("tokens_at_1e5", 1, 65, 16, 100000),
    tokens("tokens_at_1e6", 1, 130, 40, 1000000),
};
constexpr size_t kFarCalls = 2;

static const ParameterRange kRanges[] = {
    // Thresholds of 25 to 150 positions (the initial length is 512), and of 12 to 150.
    {"L_multiplier", 0.05, 0.3},
    {"log_threshold", 2.5, 5.0},
    {"c", 0.05, 0.2},
    {"decay", 0.005, 0.05},
    {"table", -1.0, 1.0},
    {"tau", 8.0, 24.0},
    {"sink", -2.0, 3.0},
    {"frequency", -120.0, 120.0},
    // Prefixes that cover no, some or all keys.
    {"prefix", -5.0, 150.0},
};

using enum LoopOptions::Owner;
static const LoopChoice kLoopChoices[] = {
    {"1x1-rows", {1, 1, Rows}},     {"1x1-columns", {1, 1, Columns}},
    {"16x16-rows", {16, 16, Rows}}, {"16x16-columns", {16, 16, Columns}},
    {"48x32-rows", {48, 32, Rows}}, {"48x32-columns", {48, 32, Columns}},
};

std::span<const EncodingFile> encodingFiles() { return kEncodings; }
std::span<const Call> calls() { return kCalls; }
std::span<const Call> embeddingCalls() { return kEmbeddingCalls; }

static bool fits(const Call &call, Placing placing) {
  const Positions &positions = call.positions;
  const int64_t keyEnd = positions.keyStart + call.keys;
  const int64_t first = positions.queryStart.value_or(keyEnd - call.queries);
  switch (placing) {
  case Placing::OwnKeys:
    return first >= positions.keyStart && first + call.queries <= keyEnd;
  case Placing::None:
    return !positions.queryStart && positions.keyStart == 0 && positions.headStart == 0;
  case Placing::Square:
    return call.queries == call.keys;
  default:
    return true;
  }
}

/// Returns the calls that fit. A table over distances has no entries for far keys.
static std::vector<Call> callsThatFit(Placing placing, bool isTable = false) {
  std::vector<Call> all;
  std::copy_if(std::begin(kCalls), std::end(kCalls), std::back_inserter(all),
               [&](const Call &call) { return fits(call, placing) && !(isTable && call.isFar); });
  return all;
}

std::span<const Call> callsOf(const EncodingFile &encoding) {
  static const std::vector<Call> byPlacing[] = {
      callsThatFit(Placing::Any), callsThatFit(Placing::OwnKeys), callsThatFit(Placing::None),
      callsThatFit(Placing::Square)};
  static const std::vector<Call> ofTables = callsThatFit(Placing::Any, /*isTable=*/true);
  if (!encoding.isEmbedding && encoding.isTable)
    return ofTables;
  if (!encoding.isEmbedding)
    return byPlacing[static_cast<size_t>(encoding.placing)];
  return embeddingCalls().first(std::size(kEmbeddingCalls) - (encoding.isTable ? kFarCalls : 0));
}
std::span<const ParameterRange> parameterRanges() { return kRanges; }
std::span<const LoopChoice> loopChoices() { return kLoopChoices; }

bool isInTurn(size_t choice, size_t encoding, const Call &call) {
  constexpr size_t kHalf = std::size(kLoopChoices) / 2;
  const bool isSecond = (encoding / kHalf % 2 == 0) != (call.headDim == kFirstDim);
  return choice == encoding % kHalf + (isSecond ? kHalf : 0);
}

bool waitsForTurn(const EncodingFile &encoding, const Call &call, int64_t blockRows) {
  const int64_t rows = (call.queries + blockRows - 1) / blockRows * blockRows;
  return call.batch * call.queryHeads * rows * call.keys > 100000 ||
         (!encoding.isEmbedding && call.headDim != kFirstDim);
}

bool isInTurn(const Turn &turn, size_t encoding, const Call &call) {
  constexpr int64_t dims[] = {kFirstDim, 64, 8, 40, 128};
  const auto found = std::ranges::find(dims, call.headDim);
  return (encoding + size_t(found - std::begin(dims))) % turn.of == turn.number;
}

} // namespace pe::conformance
