//===- PE.h - All of the pe dialect -----------------------------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PE_H
#define PE_DIALECT_PE_PE_H

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PEBiases.h"
#include "dialect/PE/PEContents.h"
#include "dialect/PE/PECoordinates.h"
#include "dialect/PE/PEEmbeddings.h"
#include "dialect/PE/PEGradients.h"
#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PERotations.h"
#include "dialect/PE/PEScalars.h"
#include "dialect/PE/PEScores.h"
#include "dialect/PE/PETerms.h"
#include "dialect/PE/PEWeights.h"

#endif // PE_DIALECT_PE_PE_H
