//===- OpenSession.cpp - Open a training run from its flags ---------------===//
#include "runtime/train/api/OpenSession.h"

#include "runtime/core/Hash.h"
#include "runtime/train/trainer/WarmStart.h"

namespace pe::train {

Status addContentHashes(const TrainConfig &config, const TrainedEncoding &encoding,
                        const std::vector<std::shared_ptr<const Corpus>> &corpora,
                        Metadata &identity) {
  std::string texts, steps;
  for (size_t phase = 0; phase < corpora.size(); ++phase) {
    // The same bytes in one file or in several files are split differently into training and
    // held-out text.
    const bool isText = !TokenFile::isName(config.phases[phase].data);
    texts += corpora[phase]->sha256 + (isText && corpora[phase]->holdsOutTails ? " tails\n" : "\n");
    steps += std::to_string(config.phases[phase].steps) + config.phases[phase].more + "\n";
  }
  identity["pe.train.data.sha256"] = sha256(texts);
  if (!identity["pe.train.phases"].empty())
    identity["pe.train.phases.sha256"] = sha256(steps);
  if (!config.from.empty()) {
    auto start = digestOfWarmStart(config.from, config.keepsOptimizer);
    if (!start)
      return start.takeError().within("--from");
    identity["pe.train.from.sha256"] = sha256(*start);
  }
  identity["pe.train.encoding.sha256"] = sha256(encoding.text);
  auto activation = readActivation(config.activation);
  if (!activation)
    return activation.takeError();
  identity["pe.train.activation.sha256"] = sha256(*activation);
  return Status::success();
}

Expected<std::vector<AttentionFactory>> attentionOfPhases(const TrainConfig &config,
                                                          const TrainedEncoding &encoding,
                                                          const std::string &encodingFile,
                                                          ParallelFor &pool) {
  std::vector<AttentionFactory> result;
  bool hasOwn = false;
  for (const PhaseConfig &phase : config.phases)
    hasOwn |= phase.factor.has_value();
  for (size_t i = 0; hasOwn && i < config.phases.size(); ++i) {
    if (!config.phases[i].factor) {
      result.push_back(encoding.attentionFactory(pool));
      continue;
    }
    TrainConfig scaled = config;
    scaled.rotationFactor = config.phases[i].factor;
    auto compiled = compileEncoding(encodingFile, scaled);
    if (!compiled)
      return compiled.takeError().within("--phases: phase " + std::to_string(i + 1));
    result.push_back(compiled->attentionFactory(pool));
  }
  return result;
}

Expected<std::unique_ptr<Session>> openSession(TrainOptions &options,
                                               const std::string &encodingFile, ParallelFor &pool) {
  const TrainConfig &config = options.config;
  auto encoding = compileEncoding(encodingFile, config);
  if (!encoding)
    return encoding.takeError();
  auto kernels = prepareTraining(config.activation);
  if (!kernels)
    return kernels.takeError();
  auto corpora = readCorpora(config.phases, config.vocabulary);
  if (!corpora)
    return corpora.takeError();
  if (Status added = addContentHashes(config, *encoding, *corpora, options.identity); !added)
    return added.takeError();
  auto phases = attentionOfPhases(config, *encoding, encodingFile, pool);
  if (!phases)
    return phases.takeError();
  return Session::create(config,
                         {*kernels, encoding->attentionFactory(pool), pool,
                          encoding->embeddingFactory(pool), *std::move(phases)},
                         *corpora, options.identity);
}

} // namespace pe::train
