//===- PESynonyms.cpp - Names from the literature -------------------------===//

#include "dialect/PE/PESynonyms.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace {
struct Synonym {
  llvm::StringRef name, meaning, example;
};
} // namespace

static constexpr Synonym kSynonyms[] = {
    {"rope", "pe.rotary", "rope"},
    {"rotary_embedding", "pe.rotary", "rope"},
    {"yarn", "pe.rotary with a scaling", "rope_yarn"},
    {"ntk", "pe.rotary with a scaling", "rope_ntk"},
    {"prope", "pe.rotary of some of the dims", "rope_partial"},
    {"alibi", "pe.linear of pe.distance", "alibi"},
    {"fire", "pe.mlp of pe.progressive", "fire"},
    {"t5", "pe.table of pe.bucket", "t5"},
    {"relative_position_bucket", "pe.bucket", "t5"},
    {"relative_bias", "a pe.bias_fn that reads a table", "relative_table"},
    {"kerple", "pe.linear of pe.log_distance", "kerple_log"},
    {"sandwich", "pe.cosine_sum", "sandwich"},
    {"shaw", "pe.content_fn", "shaw"},
    {"transformer_xl", "pe.content_fn with a shift", "transformer_xl"},
    {"xl", "pe.content_fn with a shift", "transformer_xl"},
    {"music_transformer", "pe.content_fn", "music_transformer"},
    {"sinusoidal", "pe.embedding_fn", "sinusoidal"},
    {"learned", "pe.embedding_fn that reads a table", "learned"},
    {"embedding", "pe.embedding_fn", "learned"},
    {"forgetting", "pe.bias_fn of data over tokens", "forgetting"},
    {"fox", "pe.bias_fn of data over tokens", "forgetting"},
    {"bias", "pe.bias_fn", "custom_bias"},
    {"score", "pe.score_fn", "softcap"},
    {"score_mod", "pe.score_fn or pe.bias_fn", "softcap"},
    {"softcap", "pe.score_fn with cap * tanh(s / cap)", "softcap"},
    {"soft_cap", "pe.score_fn with cap * tanh(s / cap)", "softcap"},
    {"logit_cap", "pe.score_fn with cap * tanh(s / cap)", "softcap"},
    {"attn", "pe.attention", "nope"},
    {"sdpa", "pe.attention", "nope"},
    {"flex_attention", "pe.attention", "nope"},
    {"self_attention", "pe.attention", "nope"},
    {"softmax", "the default normalizer of pe.attention", "nope"},
    {"stick_breaking", "pe.attention {normalizer = #pe.normalizer<stick_breaking>}",
     "stick_breaking"},
    {"softpick", "pe.attention {normalizer = #pe.normalizer<softpick>}", "softpick"},
    {"sigmoid_attention", "pe.attention {normalizer = #pe.normalizer<sigmoid>}", "sigmoid"},
    {"window", "pe.sliding_window", "sliding_window"},
    {"local", "pe.sliding_window", "sliding_window"},
    {"sliding", "pe.sliding_window", "sliding_window"},
    {"mask", "pe.causal, pe.sliding_window or pe.mask_fn", "custom_mask"},
    {"mask_mod", "pe.mask_fn", "custom_mask"},
    {"block_mask", "pe.mask_fn", "custom_mask"},
    {"and", "pe.mask_and", "sink_window"},
    {"or", "pe.mask_or", "sink_window"},
    {"prefix", "pe.mask_fn", "prefix_lm"},
    {"prefix_lm", "pe.mask_fn", "prefix_lm"},
    {"padding", "pe.mask_fn", "key_padding"},
    {"document", "pe.documents, or pe.mask_fn of ids", "document_mask"},
    {"document_mask", "pe.documents, or pe.mask_fn of ids", "document_mask"},
    {"sink", "the clause sink(...) of pe.attention, or pe.sink_fn", "attention_sink"},
    {"dropout", "the clause dropout(...) of pe.attention", "dropout"},
    {"positions", "the clause positions(...) of pe.attention", "explicit_positions"},
    {"relu", "a function in formulas: relu(x) in pe.bias_fn", "custom_bias"},
    {"sigmoid", "a function in formulas: sigmoid(x) in pe.bias_fn", "custom_bias"},
    {"tanh", "a function in formulas: tanh(x) in pe.score_fn", "softcap"},
    {"exp", "a function in formulas: exp(x) in pe.bias_fn", "custom_bias"},
    {"log", "a function in formulas: log(x) in pe.bias_fn", "custom_bias"},
    {"constant", "a number in a formula", "custom_bias"},
    {"multiply", "pe.scale, or a formula in pe.bias_fn", "custom_bias"},
    {"mul", "pe.scale, or a formula in pe.bias_fn", "custom_bias"},
};

std::string mlir::pe::findSynonym(llvm::StringRef name) {
  const llvm::StringRef word = name.contains('.') ? name.split('.').second : name;
  const auto *found = llvm::find_if(
      kSynonyms, [&](const Synonym &known) { return known.name.equals_insensitive(word); });
  if (found == std::end(kSynonyms))
    return {};
  return (word + " is " + found->meaning + ", as in examples/encodings/" + found->example + ".mlir")
      .str();
}
