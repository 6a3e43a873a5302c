//===- MatrixMemory.h - Tiles of 8 x 8 halves -------------------*- C++ -*-===//

#ifndef PE_RUNTIME_PTX_MATRIXMEMORY_H
#define PE_RUNTIME_PTX_MATRIXMEMORY_H

#include "runtime/ptx/StepDecoder.h"
#include "runtime/ptx/Warp.h"

namespace pe::ptx {

/// Throws Fault unless all 32 lanes execute an instruction of matrices.
void expectWholeWarp(Warp &warp, Lanes lanes);

/// Adds ldmatrix, stmatrix and movmatrix.
void addMatrixMemory(Opcodes &opcodes);

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_MATRIXMEMORY_H
