//===- ModelFlags.cpp - Flags for the model -------------------------------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {

using C = TrainConfig;

namespace {

Expected<NormKind> parseNorm(const std::string &name) {
  if (name == "rms")
    return NormKind::Rms;
  if (name == "layer")
    return NormKind::Layer;
  return makeError("expected ", joinChoices({"rms", "layer"}), ", found '", name, "'");
}

Status setActivation(TrainConfig &config, const std::string &value) {
  if (!activationSource(value) && !value.ends_with(".mlir")) {
    std::vector<std::string> choices = activationNames();
    choices.emplace_back("FILE.mlir");
    return makeError("expected ", joinChoices(choices), ", found '", value, "'");
  }
  config.activation = value;
  return Status::success();
}

Status setProjections(TrainConfig &config, const std::string &value) {
  if (value != "scaled" && value != "zero")
    return makeError("expected ", joinChoices({"scaled", "zero"}), ", found '", value, "'");
  config.model.zeroProjections = value == "zero";
  return Status::success();
}

/// Parses NAME=VALUE,...
Expected<std::map<std::string, std::string>> parseAssignments(const std::string &list) {
  std::map<std::string, std::string> result;
  for (const std::string &part : splitList(list)) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      return makeError("expected NAME=VALUE, found '", part, "'");
    if (!result.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      return makeError("'", part.substr(0, equals), "' is given twice");
  }
  return result;
}

Status setInitialTexts(TrainConfig &config, const std::string &list) {
  auto texts = parseAssignments(list);
  if (!texts)
    return texts.takeError();
  config.initialValues = *std::move(texts);
  return Status::success();
}

Status setAttributes(TrainConfig &config, const std::string &list) {
  auto values = parseAssignments(list);
  if (!values)
    return values.takeError();
  config.attributes.assign(values->begin(), values->end());
  return Status::success();
}

} // namespace

// clang-format off
/// Returns the flags for the model.
std::vector<Flag> flagsOfModel() {
  return {
    {"layers", "2",
     "transformer blocks",
     number<int64_t>(1, [](C &c) -> auto & { return c.model.layers; })},
    {"dim", "64", "width of the residual stream",
     number<int64_t>(1, [](C &c) -> auto & { return c.model.dim; })},
    {"heads", "4",
     "query heads; divides --dim",
     number<int64_t>(1, [](C &c) -> auto & { return c.model.heads; })},
    {"kv-heads", "4", "key and value heads; divides --heads",
     number<int64_t>(1, [](C &c) -> auto & { return c.model.keyHeads; })},
    {"activation", "relu2",
     "activation of the feed-forward layer: relu2 (the square of ReLU), gelu, swiglu or a .mlir "
     "file with @activation",
     setActivation},
    {"mlp-hidden-mult", "4",
     "hidden width of the feed-forward layer, in units of --dim; 0: 4, or 8/3 with a gate "
     "(rounded up to multiples of 256, or of 8 below 256)",
     number<int64_t>(0, [](C &c) -> auto & { return c.model.mlpMultiple; })},
    {"norm", "rms", "normalization before every layer: rms or layer, without gain",
     choice(parseNorm, [](C &c) -> auto & { return c.model.norm; })},
    {"tie-head", "off", "on: the output head uses the embedding matrix",
     onOff([](C &c) -> auto & { return c.model.tieHead; })},
    {"share-encoding", "off", "on: all layers use one set of the encoding's parameters",
     onOff([](C &c) -> auto & { return c.model.shareEncoding; })},
    {"init-proj", "scaled", "initial values of the matrices that write to the residual stream: "
     "scaled (by 1 / sqrt(2 layers)) or zero", setProjections},
    {"init", "",
     "NAME=VALUE,...: initial values of the encoding's parameters, instead of their pe.init",
     setInitialTexts},
    {"attr", "",
     "NAME=VALUE,...: attributes (base, factor ...) that replace those in the encoding's file",
     setAttributes},
    {"freeze", "", "regular expression (POSIX extended) of parameters that are not trained",
     text([](C &c) -> auto & { return c.freeze; })},
    {"dropout", "0", "dropout probability in the embedding, in what layers add to the residual "
     "stream, and in the attention weights unless the encoding's file has its own dropout",
     fraction(Range::HalfOpen, [](C &c) -> auto & { return c.model.dropout; })},
    {"recompute", "off", "on: backward recomputes a layer's activations, which saves memory and "
     "gives the same bits", onOff([](C &c) -> auto & { return c.model.recompute; }), false},
  };
}
// clang-format on

} // namespace pe::train
