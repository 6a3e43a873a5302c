//===- Outputs.h - Protection of existing outputs ---------------*- C++ -*-===//

#ifndef PE_RUNTIME_TRAIN_SESSION_OUTPUTS_H
#define PE_RUNTIME_TRAIN_SESSION_OUTPUTS_H

#include "runtime/train/session/Config.h"

namespace pe::train {

/// Returns an error if --checkpoint, --log or --trace names an output of an earlier run, unless the
/// run resumes it (--resume) or may replace it (--overwrite).
Status checkOutputs(const TrainConfig &config);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_OUTPUTS_H
