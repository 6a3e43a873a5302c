//===- LearnedBias.h - What a session's first layer learned ---===//
#ifndef PE_TOOLS_PE_LEARNEDBIAS_H
#define PE_TOOLS_PE_LEARNEDBIAS_H

#include "runtime/train/api/TrainedEncoding.h"
#include "runtime/train/report/LearnedBias.h"

namespace pe::cli {

/// The bias of the first layer over twice the trained length, by the float64 reference and rounded
/// to six digits. Nothing if there is none that a picture could show: of an encoding that reads
/// data, whose bias depends on the text, or of several attentions in one layer.
Expected<train::LearnedBias> learnedBiasOf(const train::TrainedEncoding &encoding,
                                           train::Session &session);

} // namespace pe::cli

#endif // PE_TOOLS_PE_LEARNEDBIAS_H
