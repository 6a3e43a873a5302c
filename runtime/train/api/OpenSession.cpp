//===- OpenSession.cpp - a training run from its flags ---===//
#include "runtime/train/api/OpenSession.h"

#include "runtime/core/Hash.h"
#include "runtime/train/api/TrainedEncoding.h"

namespace pe::train {

/// Texts and files are the same by their content, wherever they lie and however that is spelled.
static Status addContentHashes(const TrainConfig &config, const TrainedEncoding &encoding,
                               const std::vector<std::shared_ptr<const Corpus>> &corpora,
                               Metadata &identity) {
  std::string texts, steps;
  for (size_t phase = 0; phase < corpora.size(); ++phase) {
    texts += corpora[phase]->sha256 + "\n";
    steps += std::to_string(config.phases[phase].steps) + "\n";
  }
  identity["pe.train.data.sha256"] = sha256(texts);
  if (!identity["pe.train.phases"].empty())
    identity["pe.train.phases.sha256"] = sha256(steps);
  identity["pe.train.encoding.sha256"] = sha256(encoding.text);
  auto activation = readActivation(config.activation);
  if (!activation)
    return activation.takeError();
  identity["pe.train.activation.sha256"] = sha256(*activation);
  return Status::success();
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
  return Session::create(
      config, {*kernels, encoding->attentionFactory(pool), pool, encoding->embeddingFactory(pool)},
      *corpora, options.identity);
}

} // namespace pe::train
