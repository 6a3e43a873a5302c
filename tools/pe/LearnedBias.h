//===- LearnedBias.h - The learned bias of a session's first layer ---===//
#ifndef PE_TOOLS_PE_LEARNEDBIAS_H
#define PE_TOOLS_PE_LEARNEDBIAS_H

#include "runtime/train/api/TrainedEncoding.h"
#include "runtime/train/report/LearnedBias.h"

namespace pe::cli {

/// Computes the bias of the first layer over twice the trained length with the float64 reference,
/// rounded to six digits. Returns an empty bias if it cannot be plotted: if the encoding reads
/// data, so that its bias depends on the text, or if a layer has several attentions.
Expected<train::LearnedBias> learnedBiasOf(const train::TrainedEncoding &encoding,
                                           train::Session &session);

} // namespace pe::cli

#endif // PE_TOOLS_PE_LEARNEDBIAS_H
