//===- OpenSession.h - Open a training run from its flags -------*- C++ -*-===//
#ifndef PE_RUNTIME_TRAIN_API_OPENSESSION_H
#define PE_RUNTIME_TRAIN_API_OPENSESSION_H

#include "runtime/train/api/TrainedEncoding.h"
#include "runtime/train/session/Options.h"
#include "runtime/train/session/Session.h"

namespace pe::train {

/// Adds the hashes of everything a run reads to `identity`, so that files are compared by content,
/// not by path.
Status addContentHashes(const TrainConfig &config, const TrainedEncoding &encoding,
                        const std::vector<std::shared_ptr<const Corpus>> &corpora,
                        Metadata &identity);

/// Compiles the encoding in `encodingFile` once for each phase that has its own rotation factor.
/// The result is empty if no phase has one.
Expected<std::vector<AttentionFactory>> attentionOfPhases(const TrainConfig &config,
                                                          const TrainedEncoding &encoding,
                                                          const std::string &encodingFile,
                                                          ParallelFor &pool);

/// Compiles the encoding in `encodingFile` (or "none") and the kernels, reads the text, and creates
/// the session, whose work runs on `pool`. Adds the hashes of the files and the text to the
/// identity in `options`.
Expected<std::unique_ptr<Session>> openSession(TrainOptions &options,
                                               const std::string &encodingFile, ParallelFor &pool);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_OPENSESSION_H
