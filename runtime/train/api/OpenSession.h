//===- OpenSession.h - a training run from its flags ---===//
#ifndef PE_RUNTIME_TRAIN_API_OPENSESSION_H
#define PE_RUNTIME_TRAIN_API_OPENSESSION_H

#include "runtime/train/api/TrainedEncoding.h"
#include "runtime/train/session/Options.h"
#include "runtime/train/session/Session.h"

namespace pe::train {

/// Texts and files are the same by their content, wherever they lie and however that is spelled:
/// adds the hashes of all that a run reads.
Status addContentHashes(const TrainConfig &config, const TrainedEncoding &encoding,
                        const std::vector<std::shared_ptr<const Corpus>> &corpora,
                        Metadata &identity);

/// The encoding in `encodingFile`, compiled with the factor of each phase that has one; empty if
/// none has.
Expected<std::vector<AttentionFactory>> attentionOfPhases(const TrainConfig &config,
                                                          const TrainedEncoding &encoding,
                                                          const std::string &encodingFile,
                                                          ParallelFor &pool);

/// Compiles the encoding in `encodingFile` (or "none") and the kernels, reads the text, and creates
/// the session, whose work runs on `pool`. The hashes of files and text join the options' identity.
Expected<std::unique_ptr<Session>> openSession(TrainOptions &options,
                                               const std::string &encodingFile, ParallelFor &pool);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_OPENSESSION_H
