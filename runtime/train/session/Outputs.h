//===- Outputs.h - What a run must not replace ------------------*- C++ -*-===//

#ifndef PE_RUNTIME_TRAIN_SESSION_OUTPUTS_H
#define PE_RUNTIME_TRAIN_SESSION_OUTPUTS_H

#include "runtime/train/session/Config.h"

namespace pe::train {

/// An error if --checkpoint, --log or --trace names what an earlier run wrote, unless the run goes
/// on with it (--resume) or may replace it (--overwrite).
Status checkOutputs(const TrainConfig &config);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_OUTPUTS_H
