//===- PEOps.td - All of the pe dialect, for documentation -----*- tablegen -*-===//
#ifndef PE_OPS_TD
#define PE_OPS_TD

include "dialect/PE/PEAttention.td"
include "dialect/PE/PEBiases.td"
include "dialect/PE/PEContents.td"
include "dialect/PE/PECoordinates.td"
include "dialect/PE/PEEmbeddings.td"
include "dialect/PE/PEGradients.td"
include "dialect/PE/PEMasks.td"
include "dialect/PE/PERotations.td"
include "dialect/PE/PEScalars.td"
include "dialect/PE/PEScores.td"
include "dialect/PE/PETerms.td"
include "dialect/PE/PEWeights.td"

#endif // PE_OPS_TD
