//===- OpenSession.h - a training run from its flags ---===//
#ifndef PE_RUNTIME_TRAIN_API_OPENSESSION_H
#define PE_RUNTIME_TRAIN_API_OPENSESSION_H

#include "runtime/train/session/Options.h"
#include "runtime/train/session/Session.h"

namespace pe::train {

/// Compiles the encoding in `encodingFile` (or "none") and the kernels, reads the text, and creates
/// the session, whose work runs on `pool`. The hashes of files and text join the options' identity.
Expected<std::unique_ptr<Session>> openSession(TrainOptions &options,
                                               const std::string &encodingFile, ParallelFor &pool);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_API_OPENSESSION_H
